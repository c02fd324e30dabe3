// SPDX-License-Identifier: GPL-2.0-only
/*
 * The agent reads what the host writes: each shipped job's plan, and the
 * parameters of its cases. The agent's reader is compiled in here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include "../../daemon/host/guest.h"
#include "../../daemon/util/buf.h"
#include "../../jobs/agent/plan.c"

static char dir[] = "/tmp/fl-test-agent-plan-XXXXXX";
static struct fl_plan plan;

/* Stands for the list of the agent, which is not linked with the tests. */
const struct fl_workload *fl_workload_find(const char *name)
{
	static const struct fl_workload file = { .name = "f", .file = true };
	static const struct fl_workload other = { .name = "o" };
	static const char *const files[] = {
		"page_fault2",	    "page_fault3",     "page_fault4",
		"file_read_shared", "madvise_pageout", "trouble_sigbus"
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(files); i++)
		if (!strcmp(files[i], name))
			return &file;
	return &other;
}

static int read_text(const char *text, char why[FL_REASON_MAX])
{
	_cleanup_free_ char *path = fl_path_join(dir, "plan");

	memset(&plan, 0, sizeof(plan));
	assert_int_equal(fl_fs_write(path, text, strlen(text), NULL), 0);
	return fl_plan_read(path, &plan, why);
}

/* One case with these words after its name. */
static int read_words(const char *words, char why[FL_REASON_MAX])
{
	_cleanup_free_ char *text = fl_asprintf(
		FL_PLAN_MAGIC "\nclock wall\nphase_ns 0\ncase c %s\nend\n",
		words);

	return read_text(text, why);
}

static void test_reads_shipped_jobs(void **state _unused_)
{
	struct fl_host host = { .clock = FL_CLOCK_EXACT, .memory_mb = 2048 };
	_cleanup_strv_ struct fl_strv jobs = { 0 };
	DIR *d = opendir("jobs");
	struct dirent *e;
	size_t n = 0;

	if (!d)
		skip();
	fl_strv_add(&jobs, "jobs");
	while ((e = readdir(d))) {
		_cleanup_(fl_job_freep) struct fl_job *job = NULL;
		_cleanup_free_ const struct fl_case **list = NULL;
		_cleanup_free_ char *text = NULL;
		struct fl_boot boot = { .host = &host };
		char why[FL_REASON_MAX] = "";

		if (!strstr(e->d_name, ".json"))
			continue;
		assert_int_equal(fl_job_load(e->d_name, &jobs, &job, NULL), 0);
		list = fl_calloc(job->ncases, sizeof(*list));
		for (size_t i = 0; i < job->ncases; i++)
			list[i] = &job->cases[i];
		boot.cases = list;
		boot.ncases = job->ncases;
		text = fl_guest_plan(&boot);
		if (read_text(text, why) < 0)
			fail_msg("%s: %s", e->d_name, why);
		assert_int_equal(plan.ncases, job->ncases);
		for (size_t i = 0; i < job->ncases; i++)
			assert_string_equal(plan.cases[i].name,
					    job->cases[i].name);
		n++;
	}
	closedir(d);
	assert_true(n >= 3);
}

#define REST " memsize=4096 warmup=0 samples=1"

static void test_parameters(void **state _unused_)
{
	char why[FL_REASON_MAX] = "";
	const struct fl_plan_case *c = &plan.cases[0];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	assert_int_equal(read_words("program=page_fault4 mode=thread "
				    "nr_task=200% fs=xfs pin=smt "
				    "cache=dropped" REST,
				    why),
			 0);
	assert_true(c->thread);
	assert_true(c->dropped);
	assert_int_equal(c->pin, FL_PIN_SMT);
	assert_int_equal(c->nr_task, 2 * cpus);
	assert_string_equal(c->thp, "");
	/* At least one task, and the defaults. */
	assert_int_equal(read_words("program=page_fault1 mode=process "
				    "nr_task=1% thp=madvise" REST,
				    why),
			 0);
	assert_int_equal(c->nr_task, cpus < 200 ? 1 : cpus / 100);
	assert_false(c->thread);
	assert_false(c->dropped);
	assert_int_equal(c->pin, FL_PIN_CORE);
	assert_string_equal(c->thp, "madvise");
}

static void test_refuses(void **state _unused_)
{
	static const char *const bad[] = {
		"program=page_fault1 mode=fibre nr_task=1" REST,
		"program=page_fault1 nr_task=0" REST,
		"program=page_fault1 nr_task=%" REST,
		"program=page_fault1 nr_task=" REST,
		"program=page_fault1 nr_task=5000" REST,
		"program=page_fault1 nr_task=5%%" REST,
		"program=page_fault1 nr_task=1 pin=socket" REST,
		"program=page_fault1 nr_task=1 cache=cold" REST,
		"program=page_fault1 nr_task=1 thp=on" REST,
		"program=page_fault1 nr_task=1 speed=1" REST,
		"program=page_fault1 nr_task=1 fs=xfs" REST,
		"program=page_fault3 nr_task=1" REST,
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(bad); i++) {
		char why[FL_REASON_MAX] = "";

		if (!read_words(bad[i], why))
			fail_msg("accepted: %s", bad[i]);
		assert_non_null(strstr(why, "plan line 4"));
	}
}

static int setup(void **state _unused_)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state _unused_)
{
	return fl_fs_remove(dir, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_shipped_jobs),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_refuses),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}

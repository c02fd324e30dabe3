// SPDX-License-Identifier: GPL-2.0-or-later
/* Jobs that run programs of others: cases, KPIs, files, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "../../daemon/host/events.h"
#include "../../daemon/host/guest.h"
#include "../../daemon/job.h"
#include "../../daemon/util/json.h"

static char dir[] = "/tmp/fl-test-exec-XXXXXX";
static struct fl_strv dirs;

static void save(const char *name, const char *text, mode_t mode)
{
	_cleanup_free_ char *path = fl_path_join(dir, name);

	assert_int_equal(fl_fs_write(path, text, strlen(text), NULL), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static int load(const char *text, struct fl_job **ret, struct fl_err *err)
{
	*ret = NULL;
	save("t.json", text, 0644);
	return fl_job_load("t", &dirs, ret, err);
}

#define KPI(name)                                                    \
	"{\"name\": \"" name "\", \"unit\": \"ops/s\", \"better\": " \
	"\"higher\", \"pattern\": \"" name ":([0-9.]+)\"}"
#define EXEC(members)                                            \
	"{\"program\": \"exec\", \"name\": \"p\", \"command\": " \
	"[\"prog\", \"-t\", \"${nr_task}\"], \"matrix\": "       \
	"{\"nr_task\": [1, 2]}, \"kpis\": [" KPI("avg") "]" members "}"
#define JOB(entry) "{\"cases\": [" entry "]}"
#define FIRST(members) "{\"program\": \"exec\", \"name\": \"p\", " members "}"

static void test_expands(void **state _unused_)
{
	static const char *const want[] = { "exec/p/nr_task=1/tmpfs",
					    "exec/p/nr_task=1/xfs",
					    "exec/p/nr_task=2/tmpfs",
					    "exec/p/nr_task=2/xfs",
					    "page_fault1/process/nr_task=1" };
	_cleanup_(fl_job_freep) struct fl_job *job = NULL;
	struct fl_err err = { 0 };
	const json_t *p;

	if (load(JOB(EXEC(
			 ", \"fs\": [\"tmpfs\", \"xfs\"], \"time_limit\": 90,"
			 " \"space_mb\": 5, \"files\": [\"data\"]") ","
								    "{\"program\": \"page_fault1\"}"),
		 &job, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(job->ncases, FL_ARRAY_SIZE(want));
	for (size_t i = 0; i < job->ncases; i++)
		assert_string_equal(job->cases[i].name, want[i]);
	p = job->cases[3].params;
	assert_true(fl_case_is_exec(p));
	p = json_object_get(p, "command");
	assert_string_equal(json_string_value(json_array_get(p, 0)),
			    "/job/prog");
	assert_string_equal(json_string_value(json_array_get(p, 2)), "2");
	/* the script, the shell that it names, the data; libraries too */
	p = job->cases[0].pack;
	assert_true(json_array_size(p) > 3);
	assert_string_equal(fl_json_str_or(json_array_get(p, 0), "to", ""),
			    "job/prog");
	assert_int_equal(fl_json_int_or(json_array_get(p, 0), "mode", 0), 0755);
	assert_string_equal(fl_json_str_or(json_array_get(p, 1), "to", ""),
			    "bin/sh");
	assert_null(job->cases[4].pack);
	/* silent until it ends: the guest does not count as hung before */
	assert_int_equal(job->timeout_s, 150);
}

static void test_kpis(void **state _unused_)
{
	_cleanup_(fl_job_freep) struct fl_job *job = NULL;
	size_t n = 0, fixed = 0;

	assert_int_equal(load(JOB(EXEC("")), &job, NULL), 0);
	while (fl_kpi_at(fixed))
		fixed++;
	while (fl_job_kpi_at(job, n))
		n++;
	assert_int_equal(n, fixed + 1);
	assert_string_equal(fl_job_kpi_at(job, fixed)->name, "avg");
	assert_int_equal(fl_job_kpi_find(job, "avg")->better, 1);
	assert_string_equal(fl_job_kpi_find(job, "avg")->unit, "ops/s");
	assert_null(fl_job_kpi_find(job, "speed"));
	assert_null(fl_kpi_find("avg"));
	assert_non_null(fl_job_kpi_find(job, "per_process_ops"));
}

/* Another content is another series, under the same name. */
static void test_content(void **state _unused_)
{
	_cleanup_(fl_job_freep) struct fl_job *a = NULL, *b = NULL;

	assert_int_equal(load(JOB(EXEC("")), &a, NULL), 0);
	save("prog", "#!/bin/sh\necho avg:2\n", 0755);
	assert_int_equal(load(JOB(EXEC("")), &b, NULL), 0);
	save("prog", "#!/bin/sh\necho avg:1\n", 0755);
	assert_string_equal(a->cases[0].name, b->cases[0].name);
	assert_false(json_equal(a->cases[0].params, b->cases[0].params));
	assert_string_not_equal(a->hash, b->hash);
}

static const struct {
	const char *text, *error;
} wrong[] = {
	{ FIRST("\"mode\": \"process\""), "cases[0].mode: unknown key" },
	{ "{\"program\": \"exec\"}", "cases[0]: name: expected letters" },
	{ FIRST("\"name\": \"a/b\""), "duplicate" },
	{ FIRST("\"kpis\": []"), "cases[0]: kpis: expected 1 to 16" },
	{ EXEC(", \"output\": \"xml\""), "cases[0]: output: expected one of" },
	{ EXEC(", \"output\": \"json-lines\""),
	  "cases[0].kpis[0]: pattern: JSON lines are read without" },
	{ FIRST("\"kpis\": [1]"), "cases[0].kpis[0]: expected an object" },
	{ FIRST("\"kpis\": [{\"name\": \"a\"}]"),
	  "cases[0].kpis[0].unit: expected a string" },
	{ FIRST("\"kpis\": [{\"name\": \"A\", \"unit\": \"s\"}]"),
	  "cases[0].kpis[0]: name: expected small letters" },
	{ FIRST("\"kpis\": [{\"name\": \"a\", \"unit\": \"s\"}]"),
	  "cases[0].kpis[0]: better: expected \"higher\"" },
	{ FIRST("\"kpis\": [{\"name\": \"a\", \"unit\": \"s\", \"better\": "
		"\"lower\"}]"),
	  "cases[0].kpis[0]: pattern: expected a regular expression" },
	{ FIRST("\"kpis\": [{\"name\": \"a\", \"unit\": \"s\", \"better\": "
		"\"lower\", \"pattern\": \"(\"}]"),
	  "cases[0].kpis[0]: pattern: Unmatched" },
	{ FIRST("\"kpis\": [{\"name\": \"a\", \"unit\": \"s\", \"better\": "
		"\"lower\", \"pattern\": \"a\"}]"),
	  "cases[0].kpis[0]: pattern: expected one group, has 0" },
	{ FIRST("\"kpis\": [{\"name\": \"per_process_ops\", \"unit\": \"s\", "
		"\"better\": \"higher\", \"pattern\": \"(a)\"}]"),
	  "KPI 'per_process_ops' is known with another unit" },
	{ FIRST("\"kpis\": [" KPI("a") "," KPI("a") "]"),
	  "cases[0].kpis[1]: KPI 'a' is there twice" },
	{ FIRST("\"kpis\": [" KPI("a") "]"),
	  "cases[0]: command: expected 1 to 256" },
	{ FIRST("\"kpis\": [" KPI("a") "], \"command\": [\"prog\", 1]"),
	  "cases[0].command[1]: expected a string" },
	{ FIRST("\"kpis\": [" KPI("a") "], \"command\": [\"prog\", \"${x}\"]"),
	  "cases[0].command[1]: '${x}' is not in the matrix" },
	{ FIRST("\"kpis\": [" KPI("a") "], \"command\": [\"prog\", \"${x\"]"),
	  "cases[0].command[1]: '${' without '}'" },
	{ FIRST("\"kpis\": [" KPI("a") "], \"command\": [\"prog\"], "
				       "\"matrix\": {\"n\": [1]}"),
	  "cases[0]: matrix.n: no word of the command uses '${n}'" },
	{ FIRST("\"kpis\": [" KPI("a") "], \"command\": [\"prog\"], "
				       "\"matrix\": {\"n\": 1}"),
	  "cases[0]: matrix.n: expected an array" },
	{ FIRST("\"kpis\": [" KPI("a") "], \"command\": [\"prog\"], "
				       "\"matrix\": {\"n\": [\"a b\"]}"),
	  "cases[0]: matrix.n[0]: expected a number" },
	{ FIRST("\"kpis\": [" KPI("a") "], \"command\": [\"nothing\"]"),
	  "cases[0].command[0]: cannot read" },
	{ FIRST("\"kpis\": [" KPI("a") "], \"command\": [\"../prog\"]"),
	  "cases[0].command[0]: expected the path of a file, without '..'" },
	{ FIRST("\"kpis\": [" KPI("a") "], \"command\": [\"\"]"),
	  "cases[0].command[0]: expected the path of a file" },
	{ FIRST("\"kpis\": [" KPI("a") "], \"command\": [\"data\"]"),
	  "cases[0].command[0]: 'data' is not executable" },
	{ FIRST("\"kpis\": [" KPI("a") "], \"command\": [\"/proc/self/exe\"]"),
	  "'/proc/self/exe' cannot be there in the guest" },
	{ EXEC(", \"files\": \"data\""), "cases[0]: files: expected an array" },
	{ EXEC(", \"files\": [\"data\", 1]"),
	  "cases[0].files[1]: expected a path" },
	{ EXEC(", \"files\": [\"/dev/null\"]"),
	  "cases[0].files[0]: '/dev/null' is not a regular file" },
	{ EXEC(", \"fs\": \"btrfs\""), "cases[0]: fs: expected" },
	{ EXEC(", \"fs\": []"), "cases[0]: fs: expected" },
	{ EXEC(", \"fs\": [\"xfs\", \"xfs\"]"), "is there twice" },
	{ EXEC(", \"time_limit\": 0"), "cases[0].time_limit: expected" },
	{ EXEC(", \"space_mb\": \"x\""), "cases[0].space_mb: expected" },
	{ EXEC("") "], \"timeout\": 60, \"x\": [", "x: unknown key" },
};

static void test_wrong(void **state _unused_)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(wrong); i++) {
		_cleanup_free_ char *text =
			fl_asprintf("{\"cases\": [%s]}", wrong[i].text);
		_cleanup_(fl_job_freep) struct fl_job *job = NULL;
		struct fl_err err = { 0 };

		assert_true(load(text, &job, &err) < 0);
		if (!strstr(err.text, wrong[i].error) || err.class != FL_E_USER)
			fail_msg("%zu: %s", i, err.text);
	}
}

static void test_timeout(void **state _unused_)
{
	_cleanup_(fl_job_freep) struct fl_job *job = NULL;
	struct fl_err err = { 0 };

	assert_int_equal(load("{\"cases\": [" EXEC("") "], \"timeout\": 60}",
			      &job, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "timeout: has to be longer than a "
					 "time_limit of 60"));
	assert_int_equal(
		load("{\"cases\": [" EXEC(
			     "") "], \"timeout\": 61, "
				 "\"thresholds\": [{\"kpi\": \"avg\", \"wall\": "
				 "9}]}",
		     &job, &err),
		0);
}

/* What goes to the agent, and what comes back from it. */
static void test_guest(void **state _unused_)
{
	struct fl_host host = { .clock = FL_CLOCK_EXACT, .memory_mb = 2048 };
	_cleanup_(fl_job_freep) struct fl_job *job = NULL;
	_cleanup_(fl_initramfs_freep) struct fl_initramfs *fs =
		fl_initramfs_new();
	const struct fl_case *list[1];
	struct fl_boot boot = { .host = &host, .cases = list, .ncases = 1 };
	_cleanup_free_ char *plan = NULL;
	struct fl_err err = { 0 };

	assert_int_equal(load(JOB(EXEC(", \"fs\": \"xfs\"")), &job, NULL), 0);
	list[0] = &job->cases[1];
	plan = fl_guest_plan(&boot);
	assert_non_null(strstr(plan, "\ndisk xfs /dev/ram1 /xfs.img\n"
				     "exec exec/p/nr_task=2/xfs xfs /exec/0\n"
				     "end\n"));
	assert_int_equal(fl_guest_exec_files(&boot, fs, &err), 0);
	save("prog", "#!/bin/sh\necho avg:3\n", 0755);
	assert_int_equal(fl_guest_exec_files(&boot, fs, &err), -ESTALE);
	assert_non_null(strstr(err.text, "has changed since the job was"));
	save("prog", "#!/bin/sh\necho avg:1\n", 0755);
}

static const struct {
	const char *kpis, *bad; /* NULL: taken */
} events[] = {
	{ "{\"avg\": [1, 2]}", NULL },
	{ "{}", "expected 1 kpis" },
	{ "{\"avg\": []}", "kpi 'avg': expected 1 to" },
	{ "{\"avg\": [0]}", "kpi 'avg': sample 0 is no valid number" },
	{ "{\"other\": [1]}", "kpi 'avg': expected 1 to" },
	{ "{\"avg\": [1], \"per_process_ops\": [1]}", "expected 1 kpis" },
	{ "[1]", "expected 1 kpis" },
};

static void test_events(void **state _unused_)
{
	_cleanup_(fl_job_freep) struct fl_job *job = NULL;
	const struct fl_case *list[1];

	assert_int_equal(load(JOB(EXEC("")), &job, NULL), 0);
	list[0] = &job->cases[0];
	for (size_t i = 0; i < FL_ARRAY_SIZE(events); i++) {
		_cleanup_free_ char *text = fl_asprintf(
			"{\"event\":\"agent_start\",\"env\":{}}\n"
			"{\"event\":\"case_start\",\"case\":\"%s\"}\n"
			"{\"event\":\"case_done\",\"case\":\"%s\",\"kpis\":%s,"
			"\"output\":\"\"}\n{\"event\":\"end\"}\n",
			list[0]->name, list[0]->name, events[i].kpis);
		_cleanup_(fl_events_clear) struct fl_events ev;

		fl_events_read(text, strlen(text), FL_CLOCK_EXACT, list, 1,
			       &ev);
		if (!events[i].bad != !ev.bad ||
		    (ev.bad && !strstr(ev.bad, events[i].bad)))
			fail_msg("%zu: %s", i, ev.bad ? ev.bad : "taken");
		assert_int_equal(ev.done, !events[i].bad);
	}
}

static void test_shipped_job(void **state _unused_)
{
	_cleanup_(fl_job_freep) struct fl_job *job = NULL;
	_cleanup_strv_ struct fl_strv here = { 0 };
	struct fl_err err = { 0 };

	if (!fl_fs_is_dir("jobs"))
		skip();
	fl_strv_add(&here, "jobs");
	if (fl_job_load("exec-example", &here, &job, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(job->ncases, 6);
}

static int set_up(void **state _unused_)
{
	if (!mkdtemp(dir))
		return -1;
	fl_strv_add(&dirs, dir);
	save("prog", "#!/bin/sh\necho avg:1\n", 0755);
	save("data", "x", 0644);
	return 0;
}

static int tear_down(void **state _unused_)
{
	fl_strv_clear(&dirs);
	return fl_fs_remove(dir, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expands),
		cmocka_unit_test(test_kpis),
		cmocka_unit_test(test_content),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_guest),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_shipped_job),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Jobs: expansion, names, hashes, and every way to be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../../daemon/job.h"
#include "../../daemon/util/json.h"

static char dir[] = "/tmp/fl-test-job-XXXXXX";
static struct fl_strv dirs;

static int load(const char *text, struct fl_job **ret, struct fl_err *err)
{
	_cleanup_free_ char *path = fl_path_join(dir, "t.json");

	*ret = NULL;
	assert_int_equal(fl_fs_write(path, text, strlen(text), NULL), 0);
	return fl_job_load("t", &dirs, ret, err);
}

static void test_expands(void **state _unused_)
{
	static const char *const want[] = {
		"page_fault1/process/nr_task=1",
		"page_fault2/process/nr_task=1/ext4/memsize=64M",
		"page_fault2/process/nr_task=1/ext4/memsize=8K",
		"page_fault2/process/nr_task=4/ext4/memsize=64M",
		"page_fault2/process/nr_task=4/ext4/memsize=8K",
		"page_fault3/process/nr_task=1/tmpfs/samples=9",
	};
	_cleanup_(fl_job_freep) struct fl_job *job = NULL;
	struct fl_err err = { 0 };

	assert_int_equal(
		load("{\"cases\": [{\"program\": \"page_fault1\"},"
		     "{\"program\": \"page_fault2\", \"nr_task\": [1, 4],"
		     " \"fs\": \"ext4\", \"memsize\": [\"64M\", 8192]},"
		     "{\"program\": [\"page_fault3\"], \"samples\": 9,"
		     " \"memsize\": \"131072K\"}],"
		     "\"kconfig\": [\"CONFIG_EXT4_FS=y\"],"
		     "\"control\": \"page_fault1/process/nr_task=1\","
		     "\"thresholds\": [{\"kpi\": \"instructions_per_op\","
		     " \"case\": \"page_fault2/*\", \"exact\": 0.2}]}",
		     &job, &err),
		0);
	assert_int_equal(job->ncases, FL_ARRAY_SIZE(want));
	for (size_t i = 0; i < FL_ARRAY_SIZE(want); i++) {
		assert_string_equal(job->cases[i].name, want[i]);
		assert_ptr_equal(fl_job_case(job, want[i]), &job->cases[i]);
	}
	assert_null(fl_job_case(job, "page_fault1"));
	assert_string_equal(job->name, "t");
	assert_string_equal(job->control, want[0]);
	assert_string_equal(job->kconfig.s[0], "CONFIG_EXT4_FS=y");
	assert_int_equal(job->timeout_s, 60);
	assert_int_equal(json_array_size(job->thresholds), 1);
}

/* New parameters are named when they say something, and only then. */
static void test_names(void **state _unused_)
{
	static const char *const want[] = {
		"page_fault4/thread/nr_task=50%/xfs/pin=smt/cache=dropped",
		"page_fault4/thread/nr_task=50%/xfs/cache=dropped",
		"page_fault4/thread/nr_task=2/xfs/pin=smt/cache=dropped",
		"page_fault4/thread/nr_task=2/xfs/cache=dropped",
		"page_fault1/process/nr_task=1/thp=always",
		"page_fault1/process/nr_task=1/thp=never",
		"madvise_pageout/process/nr_task=1/ext4",
		"page_fault3/process/nr_task=1/tmpfs",
	};
	_cleanup_(fl_job_freep) struct fl_job *job = NULL;
	struct fl_err err = { 0 };
	const json_t *last;

	if (load("{\"cases\": [{\"program\": \"page_fault4\","
		 " \"mode\": \"thread\", \"nr_task\": [\"50%\", 2],"
		 " \"fs\": \"xfs\", \"pin\": [\"smt\", \"core\"],"
		 " \"cache\": \"dropped\"},"
		 "{\"program\": \"page_fault1\","
		 " \"thp\": [\"always\", \"never\"]},"
		 "{\"program\": \"madvise_pageout\"},"
		 "{\"program\": \"page_fault3\", \"pin\": \"core\","
		 " \"cache\": \"warm\"}]}",
		 &job, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(job->ncases, FL_ARRAY_SIZE(want));
	for (size_t i = 0; i < FL_ARRAY_SIZE(want); i++)
		assert_string_equal(job->cases[i].name, want[i]);
	/* One case has one form: its rows are those of older jobs. */
	last = job->cases[job->ncases - 1].params;
	assert_int_equal(json_object_size(last), 7);
	assert_null(json_object_get(last, "pin"));
	assert_null(json_object_get(last, "cache"));
}

static void test_fills_defaults(void **state _unused_)
{
	_cleanup_(fl_job_freep) struct fl_job *job = NULL;
	const json_t *p;

	assert_int_equal(load("{\"cases\": [{\"program\": \"page_fault4\"},"
			      "{\"program\": \"page_fault1\"}]}",
			      &job, NULL),
			 0);
	p = job->cases[0].params;
	assert_string_equal(fl_json_str_or(p, "program", ""), "page_fault4");
	assert_string_equal(fl_json_str_or(p, "mode", ""), "process");
	assert_string_equal(fl_json_str_or(p, "fs", ""), "tmpfs");
	assert_int_equal(fl_json_int_or(p, "nr_task", 0), 1);
	assert_int_equal(fl_json_int_or(p, "memsize", 0), 128 << 20);
	assert_int_equal(fl_json_int_or(p, "warmup", 0), 1);
	assert_int_equal(fl_json_int_or(p, "samples", 0), 3);
	assert_null(json_object_get(job->cases[1].params, "fs"));
	assert_null(job->control);
	assert_null(job->thresholds);
}

/* The hash is of what is asked for, not of how it is written down. */
static void test_hash(void **state _unused_)
{
	static const char *const text[] = {
		"{\"cases\": [{\"program\": \"page_fault1\"}]}",
		"{\"description\": \"x\", \"cases\": [{\"memsize\": \"128M\","
		" \"program\": [\"page_fault1\"]}], \"timeout\": 60}",
		"{\"cases\": [{\"program\": \"page_fault1\", \"nr_task\": 2}]}",
		"{\"cases\": [{\"program\": \"page_fault1\"}],"
		" \"kconfig\": [\"CONFIG_XFS_FS=y\"]}",
	};
	char hash[4][FL_HASH_HEX];

	for (size_t i = 0; i < 4; i++) {
		_cleanup_(fl_job_freep) struct fl_job *job = NULL;

		assert_int_equal(load(text[i], &job, NULL), 0);
		memcpy(hash[i], job->hash, FL_HASH_HEX);
	}
	assert_string_equal(hash[0], hash[1]);
	assert_string_not_equal(hash[0], hash[2]);
	assert_string_not_equal(hash[0], hash[3]);
}

#define CASE(members) "{\"cases\": [{\"program\": \"page_fault3\"" members "}]}"
#define WITH(members) \
	"{\"cases\": [{\"program\": \"page_fault1\"}], " members "}"

static const struct {
	const char *text, *error;
} wrong[] = {
	{ "{\n\"cases\": [\n}", "line 3" },
	{ "[]", "expected an object" },
	{ "{}", "cases: expected an array" },
	{ "{\"cases\": []}", "cases: expected an array" },
	{ "{\"cases\": [1]}", "cases[0]: expected an object" },
	{ "{\"cases\": [{}]}", "cases[0]: missing key 'program'" },
	{ WITH("\"hosts\": 1"), "hosts: unknown key" },
	{ CASE(", \"tasks\": 1"), "cases[0].tasks: unknown key" },
	{ CASE(", \"nr_task\": 0"), "cases[0].nr_task: expected a whole" },
	{ CASE(", \"nr_task\": [1, \"2\"]"), "cases[0].nr_task[1]: expected" },
	{ CASE(", \"nr_task\": []"), "cases[0].nr_task: expected at least" },
	{ CASE(", \"mode\": \"fibre\""),
	  "cases[0].mode: expected one of \"process\", \"thread\"" },
	{ CASE(", \"nr_task\": \"0%\""),
	  "cases[0].nr_task: expected a number" },
	{ CASE(", \"nr_task\": \"1001%\""), "cases[0].nr_task: expected" },
	{ CASE(", \"nr_task\": \"50\""), "cases[0].nr_task: expected" },
	{ CASE(", \"nr_task\": \"50%%\""), "cases[0].nr_task: expected" },
	{ CASE(", \"nr_task\": \"-5%\""), "cases[0].nr_task: expected" },
	{ CASE(", \"pin\": \"socket\""), "cases[0].pin: expected one of" },
	{ CASE(", \"pin\": [\"core\", \"core\"]"), "is there twice" },
	{ CASE(", \"cache\": \"dropped\""),
	  "cases[0]: \"cache\" dropped needs \"fs\" ext4 or xfs" },
	{ CASE(", \"cache\": \"cold\""), "cases[0].cache: expected one of" },
	{ CASE(", \"thp\": true"), "cases[0].thp: expected one of" },
	{ CASE(", \"fs\": \"xfs\", \"thp\": \"always\""),
	  "cases[0]: \"thp\" says nothing of files on xfs" },
	{ "{\"cases\": [{\"program\": \"page_fault1\","
	  " \"cache\": \"dropped\"}]}",
	  "cases[0]: 'page_fault1' does not fault on a file" },
	{ "{\"cases\": [{\"program\": \"madvise_pageout\","
	  " \"fs\": \"tmpfs\"}]}",
	  "cases[0]: 'madvise_pageout' needs \"fs\" ext4 or xfs" },
	{ "{\"cases\": [{\"program\": \"fork\", \"mode\": \"thread\"}]}",
	  "cases[0]: 'fork' copies the memory of all threads" },
	{ "{\"cases\": [{\"program\": \"munmap\", \"fs\": \"ext4\"}]}",
	  "cases[0]: 'munmap' uses no file" },
	{ CASE(", \"fs\": \"btrfs\""),
	  "cases[0].fs: expected one of \"tmpfs\"" },
	{ CASE(", \"fs\": [\"xfs\", \"xfs\"]"), "is there twice" },
	{ CASE(", \"memsize\": 5000"), "cases[0].memsize: expected a size" },
	{ CASE(", \"memsize\": \"1T\""), "cases[0].memsize: expected a size" },
	{ CASE(", \"memsize\": \"-1M\""), "cases[0].memsize: expected a size" },
	{ CASE(", \"memsize\": \"99999999999999999999G\""), "expected a size" },
	{ CASE(", \"memsize\": \"1048577G\""), "expected a size" },
	{ CASE(", \"memsize\": 1e9"), "expected a size" },
	{ CASE(", \"samples\": 0"), "cases[0].samples: expected a whole" },
	{ "{\"cases\": [{\"program\": \"page_fault1\", \"fs\": \"xfs\"}]}",
	  "cases[0]: 'page_fault1' uses no file" },
	{ "{\"cases\": [{\"program\": \"page_fault9\"}]}",
	  "cases[0].program: expected a program" },
	{ WITH("\"kconfig\": \"CONFIG_X=y\""), "kconfig: expected an array" },
	{ WITH("\"kconfig\": [\"X=y\"]"), "kconfig[0]: expected an option" },
	{ WITH("\"kconfig\": [\"CONFIG_X=\"]"), "kconfig[0]: expected" },
	{ WITH("\"kconfig\": [\"CONFIG_X=y\\nCONFIG_Y=y\"]"),
	  "kconfig[0]: exp" },
	{ WITH("\"timeout\": 0"), "timeout: expected a whole number" },
	{ WITH("\"timeout\": \"60\""), "timeout: expected a whole number" },
	{ WITH("\"control\": \"page_fault1\""), "control: expected the name" },
	{ WITH("\"control\": 1"), "control: expected the name" },
	{ WITH("\"description\": 1"), "description: expected a string" },
	{ WITH("\"thresholds\": {}"), "thresholds: expected an array" },
	{ WITH("\"thresholds\": [{\"kpi\": \"speed\", \"exact\": 1}]"),
	  "thresholds[0]: unknown KPI 'speed'" },
	{ WITH("\"thresholds\": [{\"kpi\": \"per_process_ops\"}]"),
	  "thresholds[0]: expected \"exact\" or \"wall\"" },
	{ WITH("\"thresholds\": [{\"kpi\": \"per_process_ops\","
	       " \"wall\": -1}]"),
	  "thresholds[0].wall: expected per cent" },
	{ WITH("\"thresholds\": [{\"kpi\": \"per_process_ops\","
	       " \"wall\": 1, \"case\": 3}]"),
	  "thresholds[0]: case: expected a pattern" },
};

static void test_says_what_is_wrong(void **state _unused_)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(wrong); i++) {
		struct fl_err err = { 0 };
		struct fl_job *job;

		if (load(wrong[i].text, &job, &err) == 0)
			fail_msg("accepted: %s", wrong[i].text);
		assert_null(job);
		assert_int_equal(err.class, FL_E_USER);
		if (!strstr(err.text, wrong[i].error) ||
		    !strstr(err.text, "t.json"))
			fail_msg("%s: said '%s'", wrong[i].text, err.text);
	}
}

static void test_too_many_cases(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	struct fl_err err = { 0 };
	struct fl_job *job;

	fl_buf_puts(&b, "{\"cases\": [{\"program\": \"page_fault1\", "
			"\"nr_task\": [1");
	for (int i = 2; i <= 600; i++)
		fl_buf_printf(&b, ", %d", i);
	fl_buf_puts(&b, "]}]}");
	assert_int_equal(load(b.s, &job, &err), -EINVAL);
	assert_non_null(strstr(err.text, "more than 512 cases"));
}

static void test_lists_jobs(void **state _unused_)
{
	_cleanup_(fl_job_freep) struct fl_job *job = NULL;
	struct fl_err err = { 0 };

	assert_int_equal(load(WITH("\"timeout\": 5"), &job, &err), 0);
	assert_int_equal(job->timeout_s, 5);
	assert_int_equal(fl_job_load("nothing", &dirs, &job, &err), -ENOENT);
	assert_string_equal(err.text, "no job 'nothing'; there is: t");
	assert_int_equal(fl_job_load("/no/such.json", &dirs, &job, &err),
			 -ENOENT);
	assert_int_equal(err.class, FL_E_USER);
}

static void test_kpis(void **state _unused_)
{
	assert_int_equal(fl_kpi_find("instructions_per_op")->better, -1);
	assert_int_equal(fl_kpi_find("per_process_ops")->better, 1);
	assert_string_equal(fl_kpi_find("minor_faults_per_op")->unit, "faults");
	assert_null(fl_kpi_find("speed"));
	assert_int_equal(fl_kpi_find("threads_idle")->better, 0);
	for (size_t i = 0; i < 9; i++)
		assert_ptr_equal(fl_kpi_find(fl_kpi_at(i)->name), fl_kpi_at(i));
	assert_null(fl_kpi_at(9));
}

static void test_primary_kpi(void **state _unused_)
{
	json_auto_t *process = json_pack("{s:s}", "mode", "process");
	json_auto_t *thread = json_pack("{s:s}", "mode", "thread");

	assert_string_equal(fl_kpi_primary("exact", process),
			    "instructions_per_op");
	assert_string_equal(fl_kpi_primary("exact", thread),
			    "instructions_per_op");
	assert_string_equal(fl_kpi_primary("wall", process), "per_process_ops");
	assert_string_equal(fl_kpi_primary("wall", thread), "per_thread_ops");
	assert_string_equal(fl_kpi_primary("wall", NULL), "per_process_ops");
}

/* The jobs that are shipped load, and have the cases that are promised. */
static void test_shipped_jobs(void **state _unused_)
{
	static const struct {
		const char *name;
		size_t ncases;
	} shipped[] = {
		{ "pagefault", 9 },	  { "smoke", 2 },
		{ "trouble", 9 },	  { "file-matrix", 24 },
		{ "threads", 16 },	  { "regions", 13 },
		{ "major-faults", 10 },	  { "thp", 14 },
		{ "pagefault-wall", 24 },
	};
	_cleanup_strv_ struct fl_strv here = { 0 };

	if (!fl_fs_is_dir("jobs"))
		skip();
	fl_strv_add(&here, "jobs");
	for (size_t i = 0; i < FL_ARRAY_SIZE(shipped); i++) {
		_cleanup_(fl_job_freep) struct fl_job *job = NULL;
		struct fl_err err = { 0 };

		if (fl_job_load(shipped[i].name, &here, &job, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(job->ncases, shipped[i].ncases);
	}
}

static int setup(void **state _unused_)
{
	if (!mkdtemp(dir))
		return -1;
	fl_strv_add(&dirs, dir);
	return 0;
}

static int teardown(void **state _unused_)
{
	fl_strv_clear(&dirs);
	return fl_fs_remove(dir, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expands),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_fills_defaults),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_says_what_is_wrong),
		cmocka_unit_test(test_too_many_cases),
		cmocka_unit_test(test_lists_jobs),
		cmocka_unit_test(test_kpis),
		cmocka_unit_test(test_primary_kpi),
		cmocka_unit_test(test_shipped_jobs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Jobs of lkp-tests: what becomes of each key, and every way to be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../../daemon/job.h"
#include "../../daemon/lkp-import.h"
#include "../../daemon/util/json.h"

static char dir[] = "/tmp/fl-test-lkp-XXXXXX";
static struct fl_lkp_result result;
static struct fl_err err;

static char *at(const char *name)
{
	return fl_path_join(dir, name);
}

static void put(const char *name, const char *text)
{
	_cleanup_free_ char *path = at(name), *folder = fl_strdup(path);

	*strrchr(folder, '/') = '\0';
	assert_int_equal(fl_fs_mkdirs(folder, NULL), 0);
	assert_int_equal(fl_fs_write(path, text, strlen(text), NULL), 0);
}

static int import_file(const char *name, const char *src)
{
	_cleanup_free_ char *path = at(name);

	fl_lkp_result_clear(&result);
	err = (struct fl_err){ 0 };
	return fl_lkp_import(path, src, &result, &err);
}

static int import(const char *text)
{
	put("t.yaml", text);
	return import_file("t.yaml", NULL);
}

/* The job loads with the product's loader. Its cases' names, one a line. */
static char *cases(void)
{
	_cleanup_(fl_job_freep) struct fl_job *job = NULL;
	_cleanup_free_ char *path = at("job.json");
	struct fl_strv none = { 0 };
	struct fl_buf b = { 0 };

	if (!result.job)
		return fl_strdup("none");
	assert_int_equal(fl_json_save(path, result.job, NULL), 0);
	if (fl_job_load(path, &none, &job, &err) < 0)
		fail_msg("the job does not load: %s", err.text);
	for (size_t i = 0; i < job->ncases; i++)
		fl_buf_printf(&b, "%s\n", job->cases[i].name);
	return fl_buf_steal(&b);
}

static void assert_cases(const char *want)
{
	_cleanup_free_ char *got = cases();

	assert_string_equal(got, want);
}

/* The entry of a key and value (NULL: not given) in a list, or NULL. */
static const json_t *entry(const json_t *list, const char *key,
			   const char *value)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *e = json_array_get(list, i);
		const char *v = fl_json_str_or(e, "value", NULL);

		if (!strcmp(fl_json_str_or(e, "key", ""), key) &&
		    (value ? v && !strcmp(v, value) : !v))
			return e;
	}
	return NULL;
}

static void assert_said(const json_t *list, const char *key, const char *value,
			const char *member, const char *text)
{
	const json_t *e = entry(list, key, value);

	if (!e)
		fail_msg("no entry for %s = %s", key,
			 value ? value : "nothing");
	if (!strstr(fl_json_str_or(e, member, ""), text))
		fail_msg("%s says '%s', not '%s'", key,
			 fl_json_str_or(e, member, ""), text);
}

#define HEAD "suite: will-it-scale\ntestcase: will-it-scale\n"
#define SHORT "mode: process\nruntime: 9\nnr_task: 1\n"
#define WIS "will-it-scale:\n"

/* ---- what is carried over --------------------------------------------------- */

static void test_matrix(void **state _unused_)
{
	_cleanup_free_ char *kconfig = NULL;

	assert_int_equal(import(HEAD "category: benchmark\n"
				     "nr_task:\n  - 1\n  - 4\n"
				     "fs: [ext4, xfs]\ndisk: 1BRD\n"
				     "runtime: 1m\n" WIS "  mode: process\n"
				     "  test:\n    - page_fault1\n"
				     "    - page_fault3\n    - pipe1\n"),
			 0);
	assert_cases("page_fault1/process/nr_task=1/warmup=6/samples=55\n"
		     "page_fault1/process/nr_task=4/warmup=6/samples=55\n"
		     "page_fault3/process/nr_task=1/ext4/warmup=6/samples=55\n"
		     "page_fault3/process/nr_task=1/xfs/warmup=6/samples=55\n"
		     "page_fault3/process/nr_task=4/ext4/warmup=6/samples=55\n"
		     "page_fault3/process/nr_task=4/xfs/warmup=6/samples=55\n");
	assert_int_equal(json_array_size(json_object_get(result.job, "cases")),
			 2);
	assert_int_equal(fl_json_int_or(result.job, "timeout", 0), 121);
	assert_said(result.carried, "will-it-scale.test", "page_fault3", "as",
		    "program page_fault3");
	assert_said(result.changed, "fs", "xfs", "as", "fs xfs");
	assert_said(result.changed, "fs", NULL, "how", "'page_fault1' uses");
	assert_said(result.changed, "disk", "1BRD", "how", "RAM disk");
	assert_said(result.changed, "runtime", "1m", "as",
		    "warmup 6, samples 55");
	assert_said(result.left_out, "will-it-scale.test", "pipe1", "why",
		    "no program for");
	assert_int_equal(fl_json_int_or(entry(result.left_out,
					      "will-it-scale.test", "pipe1"),
					"line", 0),
			 15);
	kconfig = fl_json_text(json_object_get(result.job, "kconfig"));
	assert_string_equal(kconfig, "[\"CONFIG_BLK_DEV_RAM=y\","
				     "\"CONFIG_EXT4_FS=y\","
				     "\"CONFIG_XFS_FS=y\"]");
}

/* Whatever the job loader takes is carried over, and only that. */
static void test_follows_the_loader(void **state _unused_)
{
	static const struct {
		const char *line, *key, *value, *ours;
	} asked[] = {
		{ "mode: thread", "mode", "thread", "\"mode\": \"thread\"" },
		{ "nr_task: 50%", "nr_task", "50%", "\"nr_task\": \"50%\"" },
		{ "smt: 1", "smt", "1", "\"pin\": \"smt\"" },
		{ "no_affinity: 1", "no_affinity", "1", "\"pin\": \"none\"" },
		{ "transparent_hugepage:\n  thp_enabled: never",
		  "transparent_hugepage.thp_enabled", "never",
		  "\"thp\": \"never\"" },
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(asked); i++) {
		_cleanup_free_ char *job = fl_asprintf(
			"{\"cases\": [{\"program\": \"page_fault3\", %s}]}",
			asked[i].ours);
		_cleanup_free_ char *text = fl_asprintf(
			HEAD "%s\n" WIS "  test: page_fault3\n", asked[i].line);
		_cleanup_free_ char *path = at("probe.json"), *made = NULL;
		_cleanup_(fl_job_freep) struct fl_job *loaded = NULL;
		struct fl_strv none = { 0 };
		bool loads;

		put("probe.json", job);
		loads = !fl_job_load(path, &none, &loaded, NULL);
		assert_int_equal(import(text), 0);
		assert_int_equal(entry(result.carried, asked[i].key,
				       asked[i].value) ||
					 entry(result.changed, asked[i].key,
					       asked[i].value),
				 loads);
		assert_int_equal(!!entry(result.left_out, asked[i].key,
					 asked[i].value),
				 !loads);
		made = result.job ? json_dumps(result.job, JSON_INDENT(1)) :
				    fl_strdup("");
		assert_int_equal(!!strstr(made, asked[i].ours), loads);
	}
}

/* The values that lkp-tests takes when a job gives none. */
static void test_absent(void **state _unused_)
{
	_cleanup_free_ char *got = NULL;

	assert_int_equal(import(HEAD WIS "  test: page_fault1\n  mode:\n"), 0);
	got = cases();
	assert_non_null(strstr(
		got, "page_fault1/process/nr_task=1/warmup=6/samples=295"));
	assert_said(result.changed, "will-it-scale.mode", NULL, "how", "both");
	assert_said(result.changed, "will-it-scale.runtime", NULL, "how",
		    "300s");
	assert_int_equal(fl_json_int_or(result.job, "timeout", 0), 361);
}

/* A value that decides and cannot be had takes its cases with it. */
static void test_no_silent_defaults(void **state _unused_)
{
	assert_int_equal(import(HEAD SHORT "fs: [btrfs, ext4]\n" WIS
					   "  test: page_fault2\n"),
			 0);
	assert_cases("page_fault2/process/nr_task=1/ext4/warmup=6/samples=4\n");
	assert_said(result.left_out, "fs", "btrfs", "why", "fs btrfs: ");

	assert_int_equal(import(HEAD SHORT "fs: btrfs\n" WIS
					   "  test: page_fault2\n"),
			 0);
	assert_null(result.job);
	assert_int_equal(import(HEAD "nr_task: {{ nr_cpu / 2 }}\n" WIS
				     "  test: page_fault2\n"),
			 0);
	assert_null(result.job);
	assert_said(result.left_out, "nr_task", "{{ nr_cpu / 2 }}", "why",
		    "expected a number");
}

static void test_kconfig(void **state _unused_)
{
	static const char want[] =
		"[\"CONFIG_A=y\",\"CONFIG_B=y\",\"CONFIG_C=n\","
		"\"CONFIG_D=0x10\",\"CONFIG_E=y\",\"CONFIG_F=200\","
		"\"CONFIG_NLS=\\\"utf8\\\"\"]";
	_cleanup_free_ char *got = NULL;

	assert_int_equal(import(HEAD SHORT
				"need_kconfig:\n- A\n- B: m\n- C: n\n"
				"- D: \"0x10\"\n- E=y\n"
				"- F: [200, x86_64]\n- NLS: utf8\n"
				"- OLD: y, v5.1\n- I: y, i386\n- BAD!: y\n"
				"- A: n\n- A: y\n" WIS "  test: page_fault1\n"),
			 0);
	got = fl_json_text(json_object_get(result.job, "kconfig"));
	assert_string_equal(got, want);
	assert_said(result.carried, "need_kconfig.A", "A", "as",
		    "kconfig CONFIG_A=y");
	assert_said(result.changed, "need_kconfig.B", "m", "how", "built in");
	assert_said(result.left_out, "need_kconfig.OLD", "y, v5.1", "why",
		    "some versions");
	assert_said(result.left_out, "need_kconfig.I", "y, i386", "why",
		    "i386");
	assert_said(result.left_out, "need_kconfig.BAD!", "y", "why",
		    "no kernel option");
	assert_said(result.left_out, "need_kconfig.A", "n", "why",
		    "another value");
	assert_cases("page_fault1/process/nr_task=1/warmup=6/samples=4\n");
}

/* ---- documents and includes ------------------------------------------------- */

static void test_documents(void **state _unused_)
{
	assert_int_equal(import("---\n" HEAD SHORT "need_kconfig: A\n"
				"---\n" WIS "  test: page_fault1\n"
				"---\nnr_task+: 2\nneed_kconfig:\n- B\n"
				"will-it-scale.test: page_fault2\n"
				"---\nfs: xfs\nruntime-:\nruntime+: 7\n" WIS
				"  test: [page_fault2, page_fault3]\n---\n"),
			 0);
	assert_cases("page_fault1/process/nr_task=1/warmup=6/samples=4\n"
		     "page_fault2/process/nr_task=1/tmpfs/warmup=6/samples=4\n"
		     "page_fault2/process/nr_task=2/tmpfs/warmup=6/samples=4\n"
		     "page_fault2/process/nr_task=1/xfs/warmup=6/samples=2\n"
		     "page_fault3/process/nr_task=1/xfs/warmup=6/samples=2\n");
	assert_non_null(entry(result.carried, "need_kconfig.B", "B"));
}

static void test_aliases(void **state _unused_)
{
	assert_int_equal(
		import(HEAD "defaults: &d\n  mode: process\n  nr_task: 3\n"
			    "runtime: &t 10\n" WIS
			    "  <<: *d\n  nr_task: 2\n  test: page_fault1\n"),
		0);
	assert_cases("page_fault1/process/nr_task=2/warmup=6/samples=5\n");
}

static void test_includes(void **state _unused_)
{
	_cleanup_free_ char *src = at("src");

	put("src/jobs/base.yaml",
	    HEAD SHORT "swap:\n  priority: 1\n" WIS "  test: page_fault1\n"
		       "---\n" WIS "  test: page_fault2\n");
	put("src/jobs/deep/part.yaml", "<<: base.yaml\nfs: ext4\n");
	put("src/jobs/deep/only.yaml",
	    "<<: {file: part.yaml, ignore: [swap], nr_task: 7}\n");
	put("away.yaml", "<<: 'part.yaml'   # as it is\n");
	put("near.yaml", "<<: src/jobs/base.yaml\nnr_task: 2\n");

	/* What follows an include belongs to its last document. */
	assert_int_equal(import_file("src/jobs/deep/part.yaml", NULL), 0);
	assert_cases("page_fault1/process/nr_task=1/warmup=6/samples=4\n"
		     "page_fault2/process/nr_task=1/ext4/warmup=6/samples=4\n");
	assert_non_null(strstr(fl_json_str_or(entry(result.carried,
						    "will-it-scale.test",
						    "page_fault1"),
					      "file", ""),
			       "src/jobs/base.yaml"));

	/* Options of an include hold for each document. */
	assert_int_equal(import_file("src/jobs/deep/only.yaml", NULL), 0);
	assert_cases("page_fault1/process/nr_task=7/warmup=6/samples=4\n"
		     "page_fault2/process/nr_task=7/ext4/warmup=6/samples=4\n");
	assert_said(result.left_out, "nr_task", "1", "why", "which counts");

	assert_int_equal(import_file("away.yaml", src), 0);
	assert_non_null(result.job);
	assert_int_equal(import_file("away.yaml", NULL), -EINVAL);
	assert_non_null(strstr(err.text, "away.yaml' line 1: included file "
					 "'part.yaml' is not found"));
	assert_int_equal(import_file("near.yaml", NULL), 0);
	assert_cases(
		"page_fault1/process/nr_task=1/warmup=6/samples=4\n"
		"page_fault2/process/nr_task=2/tmpfs/warmup=6/samples=4\n");
}

/* ---- nothing is dropped silently -------------------------------------------- */

static bool listed(const char *value)
{
	const json_t *const lists[] = { result.carried, result.changed,
					result.left_out };

	for (size_t i = 0; i < FL_ARRAY_SIZE(lists); i++) {
		_cleanup_free_ char *text = fl_json_text(lists[i]);

		if (strstr(text, value))
			return true;
	}
	return false;
}

/* Each value of this job has a digit group of its own: each is listed. */
static void test_nothing_is_dropped(void **state _unused_)
{
	assert_int_equal(
		import(":#! a comment, which is a key: \n" HEAD
		       "mode: process\nruntime: 1001\nnr_task: 1002\n"
		       "fs2: v1003\nmystery: {a: {b: [v1004, v1005]}}\n"
		       "boot_params:\n  bp1_memmap: v1006\n"
		       "transparent_hugepage:\n  thp_defrag: v1007\n"
		       "need_memory: v1008\nperf-profile:\n  delay: 1009\n"
		       "vmstat:\ndisk: v1010\nneed_kconfig:\n- X: 1011\n"
		       "nr_task: 1012\n" WIS
		       "  test: [page_fault1, v1013]\n  depth: v1014\n"
		       "  nr_task: 1015\n"
		       "---\nsuite: v1016\nv1016:\n  test: v1017\n"
		       "size: v1018\nwill-it-scale:\nruntime: 1019\n"),
		0);
	for (int i = 1001; i <= 1019; i++) {
		_cleanup_free_ char *value = fl_asprintf("%d", i);

		if (!listed(value))
			fail_msg("the value with %d is in no list", i);
	}
	assert_false(listed("a comment"));
	assert_said(result.left_out, "nr_task", "1002", "why", "which counts");
	assert_said(result.left_out, "nr_task", "1012", "why", "no case");
	assert_said(result.left_out, "fs2", "v1003", "why", "one file system");
	assert_cases("page_fault1/process/nr_task=1015/warmup=6/samples=996\n");
}

static void test_other_suites(void **state _unused_)
{
	assert_int_equal(import("suite: vm-scalability\nruntime: 300s\n"
				"vm-scalability:\n  test:\n  - anon-w-seq\n"),
			 0);
	assert_null(result.job);
	assert_said(result.left_out, "vm-scalability", NULL, "why",
		    "a suite that Faultline does not have");
	assert_said(result.left_out, "runtime", "300s", "why", "no case");
}

/* ---- what is refused --------------------------------------------------------- */

static const struct {
	const char *text, *error;
} wrong[] = {
	{ "", "line 1: no job" },
	{ "# only this\n", "line 1: no job" },
	{ "just words\n", "line 1: no job: expected lines like" },
	{ "- a\n", "line 1: no job: expected lines like" },
	{ "a: 1\n---\nb\n", "line 3: no job" },
	{ "a: 1\nb:\n\tc: 2\n", "line 3: found character that cannot start "
				"any token: YAML indents by blanks, not tabs" },
	{ "a: [1\nb: 2\n", "line 2: did not find expected" },
	{ "a: 1\nb: *c\n", "line 2: '*c' names nothing" },
	{ "a: &a\n  b: *a\n", "line 2: '*a' stands inside '&a'" },
	{ "a: 1\nb: !ruby/object:Set {}\n", "line 2: unknown tag" },
	{ "? [a]\n: b\n", "line 1: expected a word as a key" },
	{ "a: 1\nb: \x01\n", "line 2: no text: there is a byte 0x01" },
	{ "a: 1\nb: \xff\xfe\n", "line 2: no text: it is not UTF-8" },
	{ "a: 1\nb: <%= 2 %>\n", "line 2: an ERB template" },
	{ "a: 1\n% if b\n", "line 2: an ERB template" },
	{ "a:\n  - {{ b\n", "line 2: '{{' has no '}}'" },
	{ "a: 1\n<<: none.yaml\n", "line 2: included file 'none.yaml' is not" },
	{ "<<: /dev/zero\n", "line 1: included file '/dev/zero' is not" },
	{ "a:\n  <<: t.yaml\n", "more than 8 includes in each other" },
	{ "<<: [a]\n", "line 1: '<<' expects a file or a map" },
	{ "a: 1\nwill-it-scale: page_fault1\n",
	  "line 2: will-it-scale: expected lines like 'test: page_fault1'" },
	{ "will-it-scale: [page_fault1]\n", "line 1: will-it-scale: expected" },
};

static void test_says_what_is_wrong(void **state _unused_)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(wrong); i++) {
		if (!import(wrong[i].text))
			fail_msg("accepted: %s", wrong[i].text);
		assert_int_equal(err.class, FL_E_USER);
		assert_null(result.job);
		if (!strstr(err.text, wrong[i].error) ||
		    !strstr(err.text, "t.yaml'") || strchr(err.text, '\n'))
			fail_msg("%s: said '%s'", wrong[i].text, err.text);
	}
}

/* Lines stay what they are behind Ruby of several lines. */
static void test_ruby_keeps_lines(void **state _unused_)
{
	assert_int_equal(import("a: {{\n  it's\n  'ruby'\n}}\nb: *c\n"),
			 -EINVAL);
	assert_non_null(strstr(err.text, "line 5: '*c' names nothing"));
	assert_int_equal(import(HEAD SHORT
				"load: {{\n  it's\n  'ruby'\n}}\n" WIS
				"  test: page_fault1\n"),
			 0);
	assert_said(result.left_out, "load", "{{ it's 'ruby' }}", "why",
		    "unknown");
}

static void repeat(struct fl_buf *b, const char *text, int n)
{
	while (n--)
		fl_buf_puts(b, text);
}

/* Each level names the one before it ten times: 10^6 values, if one let it. */
static void test_expansion_is_bounded(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	fl_buf_puts(&b, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 6; i++) {
		fl_buf_printf(&b, "a%d: &a%d [", i, i);
		for (int k = 0; k < 10; k++)
			fl_buf_printf(&b, "%s*a%d", k ? ", " : "", i - 1);
		fl_buf_puts(&b, "]\n");
	}
	assert_int_equal(import(b.s), -EINVAL);
	assert_non_null(strstr(err.text, "line 4: more than 5000 values after "
					 "aliases are expanded"));
}

static void test_sizes_are_bounded(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf deep = { 0 }, wide = { 0 }, docs = { 0 },
				    huge = { 0 }, cases_ = { 0 };

	fl_buf_puts(&deep, "a: ");
	repeat(&deep, "[", 100000);
	assert_int_equal(import(deep.s), -EINVAL);
	assert_non_null(strstr(err.text, "more than 32 levels of nesting"));
	repeat(&wide, "- x\n", 100000);
	assert_int_equal(import(wide.s), -EINVAL);
	assert_non_null(strstr(err.text, "more than 5000 values"));
	repeat(&docs, "---\na: 1\n", 100);
	assert_int_equal(import(docs.s), -EINVAL);
	assert_non_null(strstr(err.text, "more than 64 documents"));
	fl_buf_repeat(&huge, '#', (1 << 20) + 1);
	assert_int_equal(import(huge.s), -EFBIG);
	assert_int_equal(err.class, FL_E_USER);
	fl_buf_puts(&cases_, HEAD "mode: process\n" WIS "  test: page_fault1\n"
				  "  nr_task: [1");
	for (int i = 2; i < 600; i++)
		fl_buf_printf(&cases_, ", %d", i);
	fl_buf_puts(&cases_, "]\n");
	assert_int_equal(import(cases_.s), -EINVAL);
	assert_non_null(strstr(err.text, "more than 512 cases"));
}

static int setup(void **state _unused_)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state _unused_)
{
	fl_lkp_result_clear(&result);
	return fl_fs_remove(dir, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matrix),
		cmocka_unit_test(test_follows_the_loader),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_no_silent_defaults),
		cmocka_unit_test(test_kconfig),
		cmocka_unit_test(test_documents),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_includes),
		cmocka_unit_test(test_nothing_is_dropped),
		cmocka_unit_test(test_other_suites),
		cmocka_unit_test(test_says_what_is_wrong),
		cmocka_unit_test(test_ruby_keeps_lines),
		cmocka_unit_test(test_expansion_is_bounded),
		cmocka_unit_test(test_sizes_are_bounded),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}

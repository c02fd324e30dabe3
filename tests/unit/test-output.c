// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers out of what programs print, and texts that hold none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../../daemon/util/err.h"
#include "../../jobs/agent/output.c" /* the agent is another program */
#include "random.h"

#define WIS "average:([0-9.]+)"

static const struct {
	const char *text, *pattern;
	double want[3];
	const char *why;
} texts[] = {
	{ "testcase:x\nwarmup\nmin:1 max:9 total:9\naverage:134183\n",
	  WIS,
	  { 134183 },
	  NULL },
	{ "average:1\r\naverage:2.5\naverage:3", WIS, { 1, 2.5, 3 }, NULL },
	{ "average:1 average:2\n", WIS, { 1 }, NULL },
	{ "took 1.25e-3 s", "took ([0-9.e+-]+) s", { 0.00125 }, NULL },
	{ "average:0\n", WIS, { 0 }, "k: the program printed 0, and" },
	{ "average:5\naverage:0\n", WIS, { 0 }, "k: the program printed 0" },
	{ "x -3 y", "x (.*) y", { 0 }, "k: the program printed -3" },
	{ "", WIS, { 0 }, "k: nothing that it printed fits the pattern" },
	{ "average:\n", WIS, { 0 }, "k: nothing that it printed fits" },
	{ "average:1.2.3\n", WIS, { 0 }, "k: '1.2.3' is no number" },
	{ "rate 1,234 x\n", "rate (.*) x", { 0 }, "k: '1,234' is no number" },
	{ "rate inf x\n", "rate (.*) x", { 0 }, "k: 'inf' is no number" },
	{ "rate nan x\n", "rate (.*) x", { 0 }, "k: 'nan' is no number" },
	{ "rate 0x10 x\n", "rate (.*) x", { 0 }, "k: '0x10' is no number" },
	{ "rate 1e999 x\n", "rate (.*) x", { 0 }, "k: '1e999' is no number" },
	{ "rate  x\n", "rate (.*) x", { 0 }, "k: '' is no number" },
	{ "b\n", "(a)|b", { 0 }, "k: nothing that it printed fits" },
	{ "5\n", "(5", { 0 }, "k: no pattern" },
	{ "5\n", "5", { 0 }, "k: nothing that it printed fits" },
	/* JSON lines */
	{ "log\n{\"k\": 1.5}\n {\"x\": [1, {\"k\": 9}], \"k\": 2}\n",
	  NULL,
	  { 1.5, 2 },
	  NULL },
	{ "{\"a\": \"}{\\\"k\\\":7\", \"k\": 3, \"z\": null}",
	  NULL,
	  { 3 },
	  NULL },
	{ "{}\n{\"k\": 4}\n", NULL, { 4 }, NULL },
	{ "{\"k\": 0}\n", NULL, { 0 }, "k: the program printed 0" },
	{ "{\"k\": \"5\"}\n", NULL, { 0 }, "k: nothing that it printed has" },
	{ "{\"kk\": 5}\n", NULL, { 0 }, "k: nothing that it printed has" },
	{ "{\"k\": true}\n", NULL, { 0 }, "k: nothing that it printed has" },
	{ "{\"k\": 5\n", NULL, { 0 }, "no JSON object: '{\"k\": 5'" },
	{ "{\"k\": 5} x\n", NULL, { 0 }, "no JSON object" },
	{ "{\"k\": 5,}\n", NULL, { 0 }, "no JSON object" },
	{ "{\"k\": }\n", NULL, { 0 }, "no JSON object" },
	{ "{\"k\" 5}\n", NULL, { 0 }, "no JSON object" },
	{ "{k: 5}\n", NULL, { 0 }, "no JSON object" },
	{ "{\"k\\", NULL, { 0 }, "no JSON object" },
	{ "{\"k\": [[5}\n", NULL, { 0 }, "no JSON object" },
};

static bool read_one(const char *text, size_t len, const char *pattern,
		     struct fl_output_kpi *k, char why[256])
{
	char *copy = malloc(len + 1); /* its exact size, for the sanitizers */
	bool ok;

	memcpy(copy, text, len);
	copy[len] = '\0';
	*k = (struct fl_output_kpi){ .name = "k", .pattern = pattern };
	why[0] = '\0';
	ok = fl_output_read(copy, len, k, 1, why, 256);
	free(copy);
	return ok;
}

static void test_texts(void **state _unused_)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(texts); i++) {
		struct fl_output_kpi k;
		char why[256];
		bool ok = read_one(texts[i].text, strlen(texts[i].text),
				   texts[i].pattern, &k, why);
		size_t n = 0;

		if (ok == !!texts[i].why ||
		    (!ok && strncmp(why, texts[i].why, strlen(texts[i].why))))
			fail_msg("text %zu: %d: %s", i, ok, why);
		while (ok && n < 3 && texts[i].want[n] > 0)
			n++;
		if (ok && k.n != n)
			fail_msg("text %zu: %zu values", i, k.n);
		for (size_t j = 0; j < n; j++)
			assert_true(k.value[j] == texts[i].want[j]);
	}
}

/* A NUL ends a line, and each KPI reads the whole text. */
static void test_several(void **state _unused_)
{
	char text[] = "a=1\0a=2\nb=3 a=4\n";
	struct fl_output_kpi k[2] = { { .name = "a", .pattern = "a=(.)" },
				      { .name = "b", .pattern = "b=(.)" } };
	char why[256] = "";

	assert_true(fl_output_read(text, sizeof(text) - 1, k, 2, why, 256));
	assert_int_equal(k[0].n, 3);
	assert_true(k[0].value[1] == 2 && k[0].value[2] == 4);
	assert_int_equal(k[1].n, 1);
}

static void test_too_many(void **state _unused_)
{
	char text[2 * (FL_OUTPUT_VALUES + 1)], why[256];
	struct fl_output_kpi k;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? '\n' : '1';
	assert_true(read_one(text, sizeof(text) - 2, "(1)", &k, why));
	assert_int_equal(k.n, FL_OUTPUT_VALUES);
	assert_false(read_one(text, sizeof(text), "(1)", &k, why));
	assert_string_equal(why, "k: more than 128 values");
}

static void test_deep(void **state _unused_)
{
	_cleanup_free_ char *text = fl_malloc(100000);
	double v;

	memset(text, '[', 99999);
	memcpy(text, "{\"a\":", 5);
	text[99999] = '\0';
	assert_int_equal(fl_output_json(text, "k", &v), -1);
}

/* Any bytes give an answer, and every answer is a sample or a reason. */
static void test_random(void **state _unused_)
{
	static const char bits[] = "{}[]\"\\:, k15.e-\n\r\ta";
	rng = 20260501;

	for (int i = 0; i < 20000; i++) {
		char text[40], why[256];
		struct fl_output_kpi k;
		size_t n = (size_t)below((int)sizeof(text));

		for (size_t j = 0; j < n; j++)
			text[j] = bits[below((int)sizeof(bits))];
		if (read_one(text, n, i % 2 ? NULL : "k=*(.*)", &k, why))
			assert_true(k.n && k.value[0] > 0);
		else
			assert_true(*why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),	 cmocka_unit_test(test_several),
		cmocka_unit_test(test_too_many), cmocka_unit_test(test_deep),
		cmocka_unit_test(test_random),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

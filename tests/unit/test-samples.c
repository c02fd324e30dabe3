// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of a guest: what is taken, what is refused, and what they become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "../../daemon/host/samples.h"
#include "../../jobs/agent/protocol.h"

#define HEAD                                                  \
	"\"case\":\"a\",\"period_ns\":100000,\"samples\":10," \
	"\"user\":1,\"lost\":0"

static int event(json_t *list, const char *text)
{
	json_auto_t *e = json_loads(text, 0, NULL);

	assert_non_null(e);
	return fl_samples_event(list, e, NULL);
}

static void test_in_parts(void **state _unused_)
{
	json_auto_t *list = json_array();
	const json_t *nodes;

	assert_int_equal(event(list, "{" HEAD ",\"first\":0,\"nodes\":"
				     "[[-1,256,0],[0,16,4]]}"),
			 0);
	assert_int_equal(event(list, "{" HEAD ",\"first\":2,\"nodes\":"
				     "[[0,32,5]]}"),
			 0);
	assert_int_equal(json_array_size(list), 1);
	nodes = json_object_get(json_array_get(list, 0), "nodes");
	assert_int_equal(json_array_size(nodes), 3);
	/* out of turn, again, unknown */
	assert_true(event(list, "{" HEAD ",\"first\":2,\"nodes\":[]}") < 0);
	assert_true(event(list, "{" HEAD ",\"first\":0,\"nodes\":[]}") < 0);
	assert_true(event(list, "{\"case\":\"b\",\"first\":3,\"nodes\":[]}") <
		    0);
	assert_int_equal(json_array_size(nodes), 3);
}

static void test_refused_events(void **state _unused_)
{
	static const char *const nodes[] = {
		"[[0,1,1]]", /* its own parent */
		"[[1,1,1]]", /* a parent that comes later */
		"[[-2,1,1]]",
		"[[-1,-1,1]]",
		"[[-1,4294967296,1]]",
		"[[-1,1,-1]]",
		"[[-1,1,1000000000000]]",
		"[[-1,1]]",
		"[[-1,1,1,1]]",
		"[[-1,1,1.5]]",
		"[[-1,\"1\",1]]",
		"[5]",
	};
	static const char *const heads[] = {
		"\"case\":\"a\"",
		"\"case\":\"a\",\"period_ns\":1,\"samples\":-1,\"user\":0,"
		"\"lost\":0",
		"\"case\":\"a\",\"period_ns\":1,\"samples\":1e3,\"user\":0,"
		"\"lost\":0",
	};
	char text[400];

	for (size_t i = 0; i < FL_ARRAY_SIZE(nodes); i++) {
		json_auto_t *list = json_array();

		snprintf(text, sizeof(text),
			 "{" HEAD ",\"first\":0,\"nodes\":%s}", nodes[i]);
		assert_true(event(list, text) < 0);
	}
	for (size_t i = 0; i < FL_ARRAY_SIZE(heads); i++) {
		json_auto_t *list = json_array();

		snprintf(text, sizeof(text), "{%s,\"first\":0,\"nodes\":[]}",
			 heads[i]);
		assert_true(event(list, text) < 0);
	}
}

/* A chain of callers that never ends is cut off. */
static void test_too_deep(void **state _unused_)
{
	json_auto_t *list = json_array();
	int r = 0, n = 0;

	for (; !r && n < 1000; n++) {
		char text[300];

		snprintf(text, sizeof(text),
			 "{" HEAD ",\"first\":%d,\"nodes\":[[%d,1,0]]}", n,
			 n - 1);
		r = event(list, text);
	}
	assert_true(r < 0);
	assert_int_equal(n - 1, FL_SAMPLES_DEPTH);
}

static void test_rep(void **state _unused_)
{
	static const struct {
		unsigned char code[8];
		size_t n;
		bool rep;
	} cases[] = {
		{ { 0xf3, 0xa4 }, 2, true }, /* rep movsb */
		{ { 0xf3, 0x48, 0xa5 }, 3, true }, /* rep movsq */
		{ { 0xf3, 0x48, 0xab }, 3, true }, /* rep stosq */
		{ { 0xf3, 0xaa }, 2, true }, /* rep stosb */
		{ { 0x66, 0xf3, 0xa5 }, 3, true }, /* rep movsw */
		{ { 0xf2, 0xae }, 2, true }, /* repne scasb */
		{ { 0xf3, 0x6d }, 2, true }, /* rep insl */
		{ { 0xa4 }, 1, false }, /* movsb, once */
		{ { 0x48, 0xab }, 2, false },
		{ { 0xf3, 0xc3 }, 2, false }, /* rep ret */
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, 4, false }, /* endbr64 */
		{ { 0xf3, 0x90 }, 2, false }, /* pause */
		{ { 0xf3, 0x48, 0x0f, 0xbc, 0xc7 }, 5, false }, /* tzcnt */
		{ { 0xf0, 0x48, 0xa5 }, 3, false }, /* lock */
		{ { 0xf3, 0x48 }, 2, false }, /* cut off */
		{ { 0 }, 0, false },
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(cases); i++)
		assert_int_equal(fl_code_is_rep(cases[i].code, cases[i].n),
				 cases[i].rep);
}

static const char map[] = "ffffffff81000000 T _text\n"
			  "ffffffff81000100 T outer\n"
			  "ffffffff81000200 T inner\n"
			  "ffffffff81000300 T next\n"
			  "ffffffff81000400 T _etext\n";

/* The last word of the call in outer is at 0x1000110, inner clears with rep. */
static void make_code(unsigned char code[0x400])
{
	memset(code, 0x90, 0x400);
	code[0x10b] = 0xe8;
	code[0x2fb] = 0xe8; /* a call that does not return: next comes next */
	code[0x220] = 0xf3;
	code[0x221] = 0xaa;
}

#define AT(offset) (0x1000000 + (offset))

static json_t *raw(int total)
{
	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:[[iii],[iii],[iii],"
			 "[iii],[iii],[iii]]}",
			 "case", "a", "period_ns", 100, "samples", total,
			 "user", 2, "lost", 1, "nodes", -1, AT(0x110), 0, 0,
			 AT(0x220), 5, 0, AT(0x230), 3, /* one function twice */
			 -1, AT(0x300), 0, /* inner, by its last call */
			 3, AT(0x390), 4, /* next */
			 -1, 7, 6 /* nowhere */);
}

static int64_t number(const json_t *nodes, size_t i, size_t k)
{
	return json_integer_value(json_array_get(json_array_get(nodes, i), k));
}

static const char *name_of(const json_t *nodes, size_t i)
{
	return json_string_value(json_array_get(json_array_get(nodes, i), 1));
}

static void test_functions(void **state _unused_)
{
	_cleanup_(fl_symbols_freep) struct fl_symbols *s = NULL;
	unsigned char bytes[0x400];
	struct fl_code code = { 0xffffffff81000000ULL, bytes, sizeof(bytes) };
	json_auto_t *in = raw(20), *out = NULL;
	const json_t *nodes;

	make_code(bytes);
	assert_int_equal(fl_symbols_read(map, strlen(map), &s, NULL), 0);
	assert_int_equal(fl_samples_functions(in, s, &code, &out, NULL), 0);
	nodes = json_object_get(out, "nodes");
	assert_int_equal(json_array_size(nodes), 5);
	assert_string_equal(name_of(nodes, 0), "outer");
	assert_int_equal(number(nodes, 0, 2), 0);
	assert_string_equal(name_of(nodes, 1), "inner");
	assert_int_equal(number(nodes, 1, 0), 0);
	assert_int_equal(number(nodes, 1, 2), 8);
	assert_int_equal(number(nodes, 1, 3), 5);
	assert_string_equal(name_of(nodes, 2), "inner");
	assert_int_equal(number(nodes, 2, 0), -1);
	assert_string_equal(name_of(nodes, 3), "next");
	assert_int_equal(number(nodes, 3, 0), 2);
	assert_string_equal(name_of(nodes, 4), "[unknown]");
	assert_int_equal(json_integer_value(json_object_get(out, "rep")), 5);
}

/* Without code, or with code of another kernel, nothing is said of rep. */
static void test_no_code(void **state _unused_)
{
	_cleanup_(fl_symbols_freep) struct fl_symbols *s = NULL;
	unsigned char bytes[0x400];
	struct fl_code code = { 0xffffffff81000000ULL, bytes, sizeof(bytes) };
	json_auto_t *in = raw(20), *a = NULL, *b = NULL;

	memset(bytes, 0xf3, sizeof(bytes));
	assert_int_equal(fl_symbols_read(map, strlen(map), &s, NULL), 0);
	assert_int_equal(fl_samples_functions(in, s, NULL, &a, NULL), 0);
	assert_true(json_is_null(json_object_get(a, "rep")));
	assert_int_equal(fl_samples_functions(in, s, &code, &b, NULL), 0);
	assert_true(json_is_null(json_object_get(b, "rep")));
}

static void test_counts_must_add_up(void **state _unused_)
{
	_cleanup_(fl_symbols_freep) struct fl_symbols *s = NULL;

	assert_int_equal(fl_symbols_read(map, strlen(map), &s, NULL), 0);
	for (int total = 19; total <= 21; total++) {
		json_auto_t *in = raw(total), *out = NULL;

		assert_int_equal(!fl_samples_functions(in, s, NULL, &out, NULL),
				 total == 20);
	}
}

static void test_code_range(void **state _unused_)
{
	static const struct {
		const char *map;
		bool ok;
	} cases[] = {
		{ map, true },
		{ "ffffffff81000000 T _text\n", false },
		{ "ffffffff81000400 T _etext\n", false },
		{ "ffffffff81000400 T _text\nffffffff81000000 T _etext\n",
		  false },
		{ "0000000000001000 T _text\n0000000000002000 T _etext\n",
		  false },
		{ "ffffffff81000000 T _text\nffffffffc1000000 T _etext\n",
		  false }, /* a gigabyte */
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(cases); i++) {
		_cleanup_(fl_symbols_freep) struct fl_symbols *s = NULL;
		uint64_t virt, phys, n;

		assert_int_equal(fl_symbols_read(cases[i].map,
						 strlen(cases[i].map), &s,
						 NULL),
				 0);
		assert_int_equal(fl_samples_code(s, &virt, &phys, &n),
				 cases[i].ok);
		if (cases[i].ok) {
			assert_true(phys == 0x1000000);
			assert_true(n == 0x400);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_parts),
		cmocka_unit_test(test_refused_events),
		cmocka_unit_test(test_too_deep),
		cmocka_unit_test(test_rep),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_no_code),
		cmocka_unit_test(test_counts_must_add_up),
		cmocka_unit_test(test_code_range),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* System.map: what is found, what is left out, and hostile files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "../../daemon/host/symbols.h"
#include "random.h"

#define BASE 0xffffffff81000000ULL

static struct fl_symbols *read_map(const char *text)
{
	struct fl_symbols *s = NULL;

	assert_int_equal(fl_symbols_read(text, strlen(text), &s, NULL), 0);
	return s;
}

static void is_at(const struct fl_symbols *s, uint64_t addr, const char *name)
{
	const char *got = fl_symbols_find(s, addr);

	if (!name)
		assert_null(got);
	else
		assert_string_equal(got ? got : "(none)", name);
}

static void test_lookup(void **state _unused_)
{
	_cleanup_(fl_symbols_freep) struct fl_symbols *s =
		read_map("0000000000000000 D __per_cpu_start\n"
			 "ffffffff81000100 T finish_fault\n"
			 "ffffffff81000000 T _text\n"
			 "ffffffff81000000 T _stext\n"
			 "ffffffff81000000 T startup_64\n"
			 "ffffffff81000180 t set_pte_range.isra.0\n"
			 "ffffffff81000200 t do_fault.part.0.cold\n"
			 "ffffffff81000210 T __pfx_hidden\n"
			 "ffffffff81000300 W __memcpy\n"
			 "ffffffff81000300 W memcpy\n"
			 "ffffffff81000400 T _etext\n"
			 "ffffffff81001000 D jiffies\n");

	is_at(s, 0, NULL);
	is_at(s, BASE - 1, NULL); /* behind data */
	is_at(s, BASE, "startup_64");
	is_at(s, BASE + 0xff, "startup_64");
	is_at(s, BASE + 0x100, "finish_fault");
	is_at(s, BASE + 0x17f, "finish_fault");
	is_at(s, BASE + 0x180, "set_pte_range");
	is_at(s, BASE + 0x215, "do_fault"); /* paddings are no functions */
	is_at(s, BASE + 0x301, "memcpy");
	is_at(s, BASE + 0x400, NULL);
	is_at(s, BASE + 0x1000, NULL);
	is_at(s, UINT64_MAX, NULL);
	assert_true(fl_symbols_address(s, "_etext") == BASE + 0x400);
	assert_true(fl_symbols_address(s, "_text") == BASE);
	assert_true(fl_symbols_address(s, "set_pte_range.isra.0") ==
		    BASE + 0x180);
	assert_true(!fl_symbols_address(s, "nothing"));
}

/* Before the first symbol there is none. */
static void test_before_first(void **state _unused_)
{
	_cleanup_(fl_symbols_freep) struct fl_symbols *s =
		read_map("ffffffff81000000 T a\nffffffff81000010 T b");

	is_at(s, BASE - 1, NULL);
	is_at(s, BASE + 0x10, "b"); /* the last line needs no end */
}

static void test_refused(void **state _unused_)
{
	static const char *const bad[] = {
		"",
		"\n\n\n",
		"ffffffff81000000",
		"ffffffff81000000 ",
		"ffffffff81000000 T",
		"ffffffff81000000 T ",
		"ffffffff81000000T name",
		"ffffffff81000000 TT name",
		"1ffffffff81000000 T name", /* 17 digits */
		" T name",
		"xyz T name",
		"ffffffff81000000 T na me",
		"ffffffff81000000 T a;b", /* a frame of a folded stack */
		"ffffffff81000000 T \x1b[31mred",
		"ffffffff81000000 T na\xc3\xa4me",
	};
	char text[400];

	for (size_t i = 0; i < FL_ARRAY_SIZE(bad); i++) {
		struct fl_symbols *s = NULL;

		assert_true(fl_symbols_read(bad[i], strlen(bad[i]), &s, NULL) <
			    0);
		assert_null(s);
	}
	for (size_t len = FL_SYMBOL_MAX; len <= FL_SYMBOL_MAX + 1; len++) {
		struct fl_symbols *s = NULL;
		int n = snprintf(text, sizeof(text), "ffffffff81000000 T ");

		memset(text + n, 'a', len);
		assert_int_equal(!fl_symbols_read(text, (size_t)n + len, &s,
						  NULL),
				 len == FL_SYMBOL_MAX);
		fl_symbols_free(s);
	}
}

/* Any bytes: no crash, and what is found is a name that was allowed. */
static void test_noise(void **state _unused_)
{
	static const char pieces[][8] = { "ffff", " ",	"T ", "\n",  "0",
					  "name", "\0", ";",  ".co", "_e" };

	rng = 4;
	for (int round = 0; round < 3000; round++) {
		struct fl_symbols *s = NULL;
		char text[200];
		size_t n = 0;

		while (n < sizeof(text) - 8) {
			size_t k = (size_t)below(FL_ARRAY_SIZE(pieces));
			size_t len = k == 6 ? 1 : strlen(pieces[k]);

			memcpy(text + n, pieces[k], len);
			n += len;
		}
		if (fl_symbols_read(text, n, &s, NULL) < 0)
			continue;
		for (int i = 0; i < 20; i++) {
			const char *name = fl_symbols_find(
				s, (uint64_t)(uniform() * 0x1p64) >> below(64));

			assert_true(!name || (*name && !strpbrk(name, "; \n")));
		}
		fl_symbols_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_before_first),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_noise),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

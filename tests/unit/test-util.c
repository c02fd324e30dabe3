// SPDX-License-Identifier: GPL-2.0-or-later
/* The L0 helpers: buf, strv, err, clock, fs, json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "../../daemon/util/buf.h"
#include "../../daemon/util/clock.h"
#include "../../daemon/util/err.h"
#include "../../daemon/util/fs.h"
#include "../../daemon/util/json.h"
#include "../../daemon/util/strv.h"

static char *tmp; /* a folder of this run */

/* A path in tmp; kept until the next dozen. */
static const char *at(const char *name)
{
	static char ring[12][4096];
	static int i;

	i = (i + 1) % 12;
	snprintf(ring[i], sizeof(ring[i]), "%s/%s", tmp, name);
	return ring[i];
}

static void put(const char *path, const char *text)
{
	struct fl_err err;

	assert_int_equal(fl_fs_write(path, text, strlen(text), &err), 0);
}

static void expect_file(const char *path, const char *want)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	struct fl_err err;

	assert_int_equal(fl_fs_read(path, 1 << 20, &b, &err), 0);
	assert_string_equal(fl_buf_str(&b), want);
}

static void buf_grows(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	char *s;

	assert_string_equal(fl_buf_str(&b), "");
	fl_buf_add(&b, NULL, 0);
	assert_string_equal(b.s, "");
	fl_buf_puts(&b, "a");
	fl_buf_putc(&b, 'b');
	fl_buf_repeat(&b, 'c', 3);
	fl_buf_printf(&b, "%d|%s", 42, "");
	fl_buf_add(&b, "x\0y", 3);
	assert_int_equal(b.len, 11);
	assert_memory_equal(b.s, "abccc42|x\0y", 12);
	s = fl_buf_steal(&b);
	assert_null(b.s);
	assert_int_equal(b.len + b.cap, 0);
	free(s);
	s = fl_buf_steal(&b);
	assert_string_equal(s, "");
	free(s);
}

static void buf_holds_much(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	for (int i = 0; i < 100000; i++)
		fl_buf_printf(&b, "%06d\n", i);
	assert_int_equal(b.len, 700000);
	assert_string_equal(b.s + b.len - 7, "099999\n");
	assert_memory_equal(b.s + (size_t)7 * 4321, "004321\n", 7);
}

static void text_becomes_plain(void **state _unused_)
{
	char s[] = "a\033[2J\tb\177\nc\302\233d \303\251 \302\240\r";

	fl_text_plain(s, "\n\t");
	assert_string_equal(s, "a?[2J\tb?\nc??d \303\251 \302\240?");
	fl_text_plain(s, "");
	assert_string_equal(s, "a?[2J?b??c??d \303\251 \302\240?");
}

static void strv_is_an_argv(void **state _unused_)
{
	_cleanup_strv_ struct fl_strv v = { 0 }, w = { 0 };

	assert_false(fl_strv_has(&v, "a"));
	fl_strv_sort(&v);
	for (int i = 0; i < 100; i++) {
		fl_strv_addf(&v, "%02d", 99 - i);
		assert_null(v.s[v.n]);
	}
	fl_strv_sort(&v);
	assert_string_equal(v.s[0], "00");
	assert_string_equal(v.s[99], "99");
	assert_true(fl_strv_has(&v, "42"));
	fl_strv_addl(&w, "x", "y", NULL);
	fl_strv_extend(&v, &w);
	assert_int_equal(v.n, 102);
	assert_string_equal(v.s[101], "y");
	assert_null(v.s[102]);
	assert_ptr_not_equal(v.s[101], w.s[1]);
}

static void strv_splits(void **state _unused_)
{
	_cleanup_strv_ struct fl_strv v = { 0 };

	fl_strv_split(&v, "", ":");
	fl_strv_split(&v, "::", ":");
	assert_int_equal(v.n, 0);
	fl_strv_split(&v, ":a::b c/d:", ": ");
	assert_int_equal(v.n, 3);
	assert_string_equal(v.s[0], "a");
	assert_string_equal(v.s[1], "b");
	assert_string_equal(v.s[2], "c/d");
}

static void err_carries_a_reason(void **state _unused_)
{
	struct fl_err err = { 0 };

	assert_int_equal(fl_err_set(NULL, -5, FL_E_BUG, "x"), -5);
	assert_int_equal(fl_err_set(&err, -EIO, FL_E_INFRA, "no '%s'", "disk"),
			 -EIO);
	assert_int_equal(fl_err_prefix(&err, "host '%s'", "a"), -EIO);
	assert_string_equal(err.text, "host 'a': no 'disk'");
	assert_int_equal(err.class, FL_E_INFRA);
	assert_true(fl_err_prefix(NULL, "x") < 0);
	assert_string_equal(fl_err_class_str(FL_E_USER), "user");
}

static void err_is_bounded(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	struct fl_err err;

	fl_buf_repeat(&b, 'x', 5000);
	fl_err_set(&err, -1, FL_E_BUG, "%s", b.s);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	for (int i = 0; i < 10; i++)
		fl_err_prefix(&err, "%s", b.s);
	assert_true(strlen(err.text) < sizeof(err.text));
}

static void clock_formats(void **state _unused_)
{
	static const struct {
		double s;
		const char *text;
	} t[] = {
		{ -3, "0 s" },		{ 0.4, "0 s" },
		{ 59.4, "59 s" },	{ 59.6, "1 min 00 s" },
		{ 205, "3 min 25 s" },	{ 3599.6, "1 h 00 min" },
		{ 7500, "2 h 05 min" }, { 360000, "100 h 00 min" },
	};
	char out[24];

	for (size_t i = 0; i < FL_ARRAY_SIZE(t); i++)
		assert_string_equal(fl_clock_span(t[i].s, out, sizeof(out)),
				    t[i].text);
	assert_string_equal(fl_clock_format(1796052420, out, sizeof(out)),
			    "2026-11-30 15:27");
	assert_string_equal(fl_clock_format(0, out, sizeof(out)),
			    "1970-01-01 00:00");
	assert_string_equal(fl_clock_format(INT64_MAX, out, sizeof(out)), "?");
}

static void clock_can_be_set(void **state _unused_)
{
	int64_t a = fl_clock_mono_ms();

	setenv("FAULTLINE_NOW", "1234567890", 1);
	assert_int_equal(fl_clock_now(), 1234567890);
	unsetenv("FAULTLINE_NOW");
	assert_true(fl_clock_now() > 1600000000);
	assert_true(fl_clock_mono_ms() >= a);
}

static void paths_join(void **state _unused_)
{
	_cleanup_free_ char *a = fl_path_join("d", "n");
	_cleanup_free_ char *b = fl_path_join("d", "/n");

	assert_string_equal(a, "d/n");
	assert_string_equal(b, "/n");
}

static void fs_makes_folders(void **state _unused_)
{
	struct fl_err err = { 0 };

	assert_int_equal(fl_fs_mkdirs(at("a/b/c"), &err), 0);
	assert_int_equal(fl_fs_mkdirs(at("a/b/c/"), &err), 0);
	assert_true(fl_fs_is_dir(at("a/b/c")));
	assert_int_equal(fl_fs_mkdirs("", &err), 0);
	assert_int_equal(fl_fs_mkdirs("/", &err), 0);
	put(at("a/file"), "x");
	assert_false(fl_fs_is_dir(at("a/file")));
	assert_true(fl_fs_exists(at("a/file")));
	/* A file in the way is an error, on the way and at the end. */
	assert_int_equal(fl_fs_mkdirs(at("a/file"), &err), -ENOTDIR);
	assert_non_null(strstr(err.text, "a/file'"));
	assert_int_equal(fl_fs_mkdirs(at("a/file/b"), &err), -ENOTDIR);
}

static void fs_removes_without_following(void **state _unused_)
{
	struct fl_err err;

	assert_int_equal(fl_fs_mkdirs(at("keep"), &err), 0);
	put(at("keep/file"), "x");
	assert_int_equal(fl_fs_mkdirs(at("gone/deep/er"), &err), 0);
	put(at("gone/deep/file"), "x");
	assert_int_equal(symlink(at("keep"), at("gone/link")), 0);
	assert_int_equal(symlink("nowhere", at("gone/dangling")), 0);
	assert_int_equal(fl_fs_remove(at("gone"), &err), 0);
	assert_false(fl_fs_exists(at("gone")));
	expect_file(at("keep/file"), "x");
	assert_int_equal(fl_fs_remove(at("gone"), &err), 0);
	/* A link itself, and a plain file. */
	assert_int_equal(symlink(at("keep"), at("link")), 0);
	assert_int_equal(fl_fs_remove(at("link"), &err), 0);
	assert_int_equal(fl_fs_remove(at("keep/file"), &err), 0);
	assert_true(fl_fs_is_dir(at("keep")));
}

static void fs_reads_are_bounded(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	struct fl_err err;

	put(at("ten"), "0123456789");
	assert_int_equal(fl_fs_read(at("ten"), 10, &b, &err), 0);
	assert_int_equal(fl_fs_read(at("ten"), 9, &b, &err), -EFBIG);
	assert_non_null(strstr(err.text, "ten' is larger than 9 bytes"));
	assert_int_equal(fl_fs_read(at("none"), 9, &b, &err), -ENOENT);
	assert_int_equal(fl_fs_read(tmp, 9, &b, &err), -EISDIR);
	/* Appends, and nothing when it fails. */
	assert_string_equal(b.s, "0123456789");
	assert_int_equal(fl_fs_read_tail(at("ten"), 3, &b, &err), 0);
	assert_int_equal(fl_fs_read_tail(at("ten"), 30, &b, &err), 0);
	assert_string_equal(b.s, "01234567897890123456789");
	/* No size to seek by, and more of it than is asked for. */
	fl_buf_clear(&b);
	assert_int_equal(fl_fs_read_tail("/dev/zero", 70000, &b, &err), 0);
	assert_int_equal(b.len, 70000);
}

static void fs_reads_what_has_no_size(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	struct fl_err err;

	assert_int_equal(fl_fs_read("/proc/self/comm", 100, &b, &err), 0);
	assert_string_equal(b.s, "test-util\n");
	fl_buf_clear(&b);
	put(at("empty"), "");
	assert_int_equal(fl_fs_read(at("empty"), 0, &b, &err), 0);
	assert_string_equal(b.s, "");
}

static void fs_replaces(void **state _unused_)
{
	struct fl_err err;
	struct stat a, b;

	put(at("r"), "old text");
	assert_int_equal(link(at("r"), at("witness")), 0);
	assert_int_equal(stat(at("r"), &a), 0);
	put(at("r"), "new");
	assert_int_equal(stat(at("r"), &b), 0);
	expect_file(at("r"), "new");
	/* By rename: whoever has the old file open still sees it whole. */
	expect_file(at("witness"), "old text");
	assert_true(a.st_ino != b.st_ino);
	assert_int_equal(fl_fs_write(at("no/r"), "x", 1, &err), -ENOENT);
	assert_true(fl_fs_write(at("keep"), "x", 1, &err) < 0);
	assert_non_null(strstr(err.text, "cannot write '"));
}

static void fs_leaves_no_temporary_file(void **state _unused_)
{
	_cleanup_free_ char *name = fl_asprintf("d.%d.tmp", getpid());
	struct fl_err err;

	assert_int_equal(fl_fs_mkdirs(at("d"), &err), 0);
	assert_true(fl_fs_write(at("d"), "x", 1, &err) < 0);
	assert_false(fl_fs_exists(at(name)));
}

static void fs_copies(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf big = { 0 }, got = { 0 };
	struct fl_err err;

	for (int i = 0; i < 40000; i++)
		fl_buf_printf(&big, "%d,", i);
	put(at("from"), big.s);
	put(at("to"), "something longer before? no, shorter");
	assert_int_equal(fl_fs_copy(at("from"), at("to"), &err), 0);
	assert_int_equal(fl_fs_read(at("to"), 1 << 20, &got, &err), 0);
	assert_string_equal(got.s, big.s);
	assert_int_equal(fl_fs_copy(at("none"), at("to"), &err), -ENOENT);
	assert_int_equal(fl_fs_copy(at("from"), at("no/to"), &err), -ENOENT);
	assert_non_null(strstr(err.text, "no/to'"));
	/* A full disk is said, not swallowed. */
	assert_int_equal(fl_fs_copy(at("from"), "/dev/full", &err), -ENOSPC);
	assert_true(fl_fs_free_bytes(tmp) > 0);
	assert_int_equal(fl_fs_free_bytes(at("none")), -1);
}

static void hashes(void **state _unused_)
{
	static const char abc[] = "ba7816bf8f01cfea414140de5dae2223"
				  "b00361a396177a9cb410ff61f20015ad";
	static const char empty[] = "e3b0c44298fc1c149afbf4c8996fb924"
				    "27ae41e4649b934ca495991b7852b855";
	char h[FL_HASH_HEX];
	struct fl_err err;

	fl_hash_bytes("abc", 3, h);
	assert_string_equal(h, abc);
	fl_hash_bytes("", 0, h);
	assert_string_equal(h, empty);
	put(at("abc"), "abc");
	assert_int_equal(fl_hash_file(at("abc"), h, &err), 0);
	assert_string_equal(h, abc);
	assert_int_equal(fl_hash_file(at("none"), h, &err), -ENOENT);
	assert_int_equal(fl_hash_file(tmp, h, &err), -EISDIR);
}

static void json_loads_strictly(void **state _unused_)
{
	static const struct {
		const char *text, *error;
	} t[] = {
		{ "{\n\"a\": 1,\n}", "line 3: " },
		{ "{\"a\": 1, \"a\": 2}", "line 1: duplicate object key" },
		{ "", "line 1: " },
		{ "[1] x", "line 1: " },
		{ "[\"\xff\"]", "line 1: " },
		{ "[NaN]", "line 1: " },
	};
	json_t *j = NULL;
	struct fl_err err;

	for (size_t i = 0; i < FL_ARRAY_SIZE(t); i++) {
		put(at("j"), t[i].text);
		assert_int_equal(fl_json_load(at("j"), 1000, &j, &err),
				 -EINVAL);
		assert_non_null(strstr(err.text, "j' "));
		assert_non_null(strstr(err.text, t[i].error));
		assert_int_equal(err.class, FL_E_USER);
		assert_null(j);
	}
	assert_int_equal(fl_json_load(at("j"), 3, &j, &err), -EFBIG);
}

static void json_saves(void **state _unused_)
{
	json_auto_t *j =
		json_pack("{s:[i,i], s:s}", "b", 1, 2, "a", "\xc3\xa4");
	json_auto_t *back = NULL;
	_cleanup_free_ char *text = fl_json_text(j);
	struct fl_err err;

	assert_string_equal(text, "{\"a\":\"\xc3\xa4\",\"b\":[1,2]}");
	assert_int_equal(fl_json_save(at("j"), j, &err), 0);
	expect_file(at("j"), "{\n  \"a\": \"\xc3\xa4\",\n  \"b\": [\n    1,\n"
			     "    2\n  ]\n}\n");
	assert_int_equal(fl_json_load(at("j"), 1000, &back, &err), 0);
	assert_true(json_equal(j, back));
}

static void json_members(void **state _unused_)
{
	json_auto_t *j = json_pack("{s:s, s:i, s:f, s:n}", "s", "x", "i", 7,
				   "f", 1.5, "n");
	static const char *const known[] = { "s", "i", "f", "n", NULL };
	static const char *const fewer[] = { "s", "i", "n", NULL };
	const char *s = NULL;
	struct fl_err err;
	double d = 0;
	int64_t i = 0;

	assert_int_equal(fl_json_str(j, "s", "", &s, &err), 0);
	assert_string_equal(s, "x");
	assert_int_equal(fl_json_int(j, "i", "", 7, 7, &i, &err), 0);
	assert_int_equal(i, 7);
	assert_int_equal(fl_json_num(j, "i", "", &d, &err), 0);
	assert_true(d == 7);
	assert_int_equal(fl_json_num(j, "f", "", &d, &err), 0);
	assert_true(d == 1.5);
	assert_int_equal(fl_json_str(j, "i", "cases[3]", &s, &err), -EINVAL);
	assert_string_equal(err.text, "cases[3].i: expected a string");
	assert_int_equal(fl_json_str(j, "none", "", &s, &err), -EINVAL);
	assert_string_equal(err.text, "none: expected a string");
	assert_int_equal(fl_json_int(j, "f", "", 0, 9, &i, &err), -EINVAL);
	assert_int_equal(fl_json_int(j, "i", "", 0, 6, &i, &err), -EINVAL);
	assert_string_equal(err.text, "i: expected a whole number from 0 to 6");
	assert_int_equal(fl_json_int(j, "i", "", 8, 9, &i, &err), -EINVAL);
	assert_int_equal(fl_json_num(j, "s", "", &d, &err), -EINVAL);
	assert_int_equal(i, 7);
	assert_int_equal(fl_json_only(j, "", known, &err), 0);
	assert_int_equal(fl_json_only(j, "top", fewer, &err), -EINVAL);
	assert_string_equal(err.text, "top.f: unknown key");
	assert_int_equal(fl_json_only(json_object_get(j, "i"), "", known, &err),
			 -EINVAL);
	assert_string_equal(err.text, "top level: expected an object");
}

static void json_defaults(void **state _unused_)
{
	json_auto_t *j =
		json_pack("{s:s, s:i, s:f}", "s", "x", "i", 7, "f", 1.5);

	assert_string_equal(fl_json_str_or(j, "s", "d"), "x");
	assert_string_equal(fl_json_str_or(j, "i", "d"), "d");
	assert_int_equal(fl_json_int_or(j, "i", 1), 7);
	assert_int_equal(fl_json_int_or(j, "f", 1), 1);
	assert_int_equal(fl_json_int_or(NULL, "f", 1), 1);
	assert_true(fl_json_num_or(j, "i", 1) == 7);
	assert_true(fl_json_num_or(j, "s", 1) == 1);
}

static void json_takes_any_bytes(void **state _unused_)
{
#define BAD "\xef\xbf\xbd"
	static const struct {
		const char *in;
		size_t n;
		const char *out;
	} t[] = {
		{ "", 0, "" },
		{ "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 10,
		  "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "a\0b", 3, "a" BAD "b" },
		{ "\xc3", 1, BAD },
		{ "\xe2\x82", 2, BAD BAD },
		{ "\xc3(", 2, BAD "(" },
		{ "\xa4\xc3\xa4", 3, BAD "\xc3\xa4" },
		{ "\xc0\x80", 2, BAD BAD }, /* overlong */
		{ "\xed\xa0\x80", 3, BAD BAD BAD }, /* surrogate */
		{ "\xf5\x80\x80\x80", 4, BAD BAD BAD BAD },
		{ "\xff\xfe", 2, BAD BAD },
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(t); i++) {
		json_auto_t *j = fl_json_text_value(t[i].in, t[i].n);

		assert_non_null(j);
		assert_string_equal(json_string_value(j), t[i].out);
	}
}

static int make_tmp(void **state _unused_)
{
	char tmpl[] = "/tmp/faultline-test-util-XXXXXX";

	tmp = fl_strdup(mkdtemp(tmpl));
	return tmp ? 0 : -1;
}

static int remove_tmp(void **state _unused_)
{
	int r = fl_fs_remove(tmp, NULL);

	free(tmp);
	return r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_grows),
		cmocka_unit_test(buf_holds_much),
		cmocka_unit_test(text_becomes_plain),
		cmocka_unit_test(strv_is_an_argv),
		cmocka_unit_test(strv_splits),
		cmocka_unit_test(err_carries_a_reason),
		cmocka_unit_test(err_is_bounded),
		cmocka_unit_test(clock_formats),
		cmocka_unit_test(clock_can_be_set),
		cmocka_unit_test(paths_join),
		cmocka_unit_test(fs_makes_folders),
		cmocka_unit_test(fs_removes_without_following),
		cmocka_unit_test(fs_reads_are_bounded),
		cmocka_unit_test(fs_reads_what_has_no_size),
		cmocka_unit_test(fs_replaces),
		cmocka_unit_test(fs_leaves_no_temporary_file),
		cmocka_unit_test(fs_copies),
		cmocka_unit_test(hashes),
		cmocka_unit_test(json_loads_strictly),
		cmocka_unit_test(json_saves),
		cmocka_unit_test(json_members),
		cmocka_unit_test(json_defaults),
		cmocka_unit_test(json_takes_any_bytes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_tmp, remove_tmp);
}

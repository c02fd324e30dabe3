// SPDX-License-Identifier: GPL-2.0-or-later
/* What ELF files need: a good one, and everything that can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../daemon/elf-needs.h"
#include "../../daemon/util/fs.h"
#include "random.h"

static char dir[] = "/tmp/fl-test-elf-XXXXXX";

/* A file as small as it can be: headers, a dynamic section, its strings. */
struct image {
	Elf64_Ehdr e;
	Elf64_Phdr ph[3];
	Elf64_Dyn dyn[6];
	char names[96];
};

#define BASE 0x400000

static void make(struct image *m, const char *runpath, const char *const *libs)
{
	size_t at = 1, d = 0;

	memset(m, 0, sizeof(*m));
	memcpy(m->e.e_ident, ELFMAG, SELFMAG);
	m->e.e_ident[EI_CLASS] = ELFCLASS64;
	m->e.e_ident[EI_DATA] = ELFDATA2LSB;
	m->e.e_type = ET_DYN;
	m->e.e_machine = EM_X86_64;
	m->e.e_phoff = offsetof(struct image, ph);
	m->e.e_phentsize = sizeof(Elf64_Phdr);
	m->e.e_phnum = 2;
	m->ph[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
				 .p_vaddr = BASE,
				 .p_filesz = sizeof(*m) };
	m->ph[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				 .p_offset = offsetof(struct image, dyn),
				 .p_filesz = sizeof(m->dyn) };
	m->dyn[d++] = (Elf64_Dyn){ .d_tag = DT_STRTAB,
				   .d_un.d_ptr = BASE + offsetof(struct image,
								 names) };
	if (runpath) {
		m->dyn[d++] =
			(Elf64_Dyn){ .d_tag = DT_RUNPATH, .d_un.d_val = at };
		strcpy(m->names + at, runpath);
		at += strlen(runpath) + 1;
	}
	for (size_t i = 0; libs[i]; i++) {
		m->dyn[d++] =
			(Elf64_Dyn){ .d_tag = DT_NEEDED, .d_un.d_val = at };
		strcpy(m->names + at, libs[i]);
		at += strlen(libs[i]) + 1;
	}
}

static void save(const char *name, const void *data, size_t n)
{
	_cleanup_free_ char *path = fl_path_join(dir, name);

	assert_int_equal(fl_fs_write(path, data, n, NULL), 0);
}

static void test_reads(void **state _unused_)
{
	static const char *const libs[] = { "liba.so", "libb.so.1", NULL };
	_cleanup_(fl_elf_clear) struct fl_elf e = { 0 };
	struct image m;

	make(&m, "$ORIGIN/lib", libs);
	assert_int_equal(fl_elf_read(&m, sizeof(m), &e, NULL), 0);
	assert_null(e.interp);
	assert_null(e.rpath);
	assert_string_equal(e.runpath, "$ORIGIN/lib");
	assert_int_equal(e.needed.n, 2);
	assert_string_equal(e.needed.s[1], "libb.so.1");
}

/* This test itself: dynamic, with a loader and the C library. */
static void test_needs_of_a_real_one(void **state _unused_)
{
	_cleanup_strv_ struct fl_strv all = { 0 };
	struct fl_err err = { 0 };
	bool libc = false, loader = false, unwinder = false;

	if (fl_elf_needs("/proc/self/exe", &all, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(all.s[0], "/proc/self/exe");
	for (size_t i = 1; i < all.n; i++) {
		assert_int_equal(all.s[i][0], '/');
		assert_int_equal(access(all.s[i], R_OK), 0);
		libc |= strstr(all.s[i], "/libc.so.6") != NULL;
		loader |= strstr(all.s[i], "/ld-linux-x86-64") != NULL;
		unwinder |= strstr(all.s[i], "/libgcc_s.so.1") != NULL;
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(all.s[i], all.s[j]);
	}
	assert_true(libc && loader && unwinder);
}

/* Libraries that need each other end; $ORIGIN is the folder of each file. */
static void test_loop(void **state _unused_)
{
	static const char *const first[] = { "liba.so", NULL };
	static const char *const second[] = { "libb.so", "liba.so", NULL };
	_cleanup_free_ char *prog = fl_path_join(dir, "prog");
	_cleanup_free_ char *lib = fl_path_join(dir, "lib");
	_cleanup_strv_ struct fl_strv all = { 0 };
	struct fl_err err = { 0 };
	struct image m;

	assert_int_equal(fl_fs_mkdirs(lib, NULL), 0);
	make(&m, "/nowhere:${ORIGIN}/lib/../lib", first);
	save("prog", &m, sizeof(m));
	make(&m, "$ORIGIN", second);
	save("lib/liba.so", &m, sizeof(m));
	save("lib/libb.so", &m, sizeof(m));
	if (fl_elf_needs(prog, &all, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(all.n, 3);
	assert_non_null(strstr(all.s[1], "/lib/liba.so"));
	assert_null(strstr(all.s[1], ".."));
	assert_non_null(strstr(all.s[2], "/lib/libb.so"));
}

static void test_missing(void **state _unused_)
{
	static const char *const libs[] = { "libnone.so", NULL };
	static const char *const slash[] = { "x/libnone.so", NULL };
	_cleanup_free_ char *prog = fl_path_join(dir, "missing");
	_cleanup_strv_ struct fl_strv all = { 0 };
	struct fl_err err = { 0 };
	struct image m;

	make(&m, "$LIB:$ORIGIN", libs);
	save("missing", &m, sizeof(m));
	assert_int_equal(fl_elf_needs(prog, &all, &err), -ENOENT);
	assert_int_equal(err.class, FL_E_USER);
	assert_non_null(
		strstr(err.text, "/missing' needs 'libnone.so', which is not"));
	make(&m, NULL, slash);
	save("missing", &m, sizeof(m));
	fl_strv_clear(&all);
	assert_int_equal(fl_elf_needs(prog, &all, &err), -ENOENT);
	fl_strv_clear(&all);
	assert_int_equal(fl_elf_needs("/nowhere", &all, &err), -ENOENT);
	assert_int_equal(fl_elf_needs("/dev/null", &all, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not a regular file"));
}

static void test_script(void **state _unused_)
{
	static const char text[] = "#! /bin/sh -e\nexit\n";
	_cleanup_free_ char *prog = fl_path_join(dir, "script");
	_cleanup_strv_ struct fl_strv all = { 0 };

	save("script", text, sizeof(text) - 1);
	assert_int_equal(fl_elf_needs(prog, &all, NULL), 0);
	assert_true(all.n > 2);
	assert_string_equal(all.s[1], "/bin/sh");
}

static int read_error(const struct image *m, struct fl_err *err)
{
	_cleanup_(fl_elf_clear) struct fl_elf e = { 0 };

	return fl_elf_read(m, sizeof(*m), &e, err);
}

static void test_hostile(void **state _unused_)
{
	static const char *const libs[] = { "liba.so", NULL };
	struct image good, m;
	struct fl_err err = { 0 };

	make(&good, NULL, libs);
	assert_int_equal(read_error(&good, &err), 0);
#define REFUSED(change, what)                                    \
	do {                                                     \
		m = good;                                        \
		change;                                          \
		assert_int_equal(read_error(&m, &err), -EINVAL); \
		if (!strstr(err.text, what))                     \
			fail_msg("%s: %s", #change, err.text);   \
	} while (0)
	REFUSED(m.e.e_ident[0] = 0, "no header");
	REFUSED(m.e.e_ident[EI_CLASS] = ELFCLASS32, "another machine");
	REFUSED(m.e.e_machine = EM_AARCH64, "another machine");
	REFUSED(m.e.e_type = ET_REL, "neither a program nor a library");
	REFUSED(m.e.e_phentsize = 1, "program headers");
	REFUSED(m.e.e_phnum = PN_XNUM, "program headers");
	REFUSED(m.e.e_phnum = 60000, "headers are cut off");
	REFUSED(m.e.e_phoff = UINT64_MAX - 8, "headers are cut off");
	REFUSED(m.ph[1].p_filesz = UINT64_MAX, "section is cut off");
	REFUSED(m.ph[1].p_offset = UINT64_MAX, "section is cut off");
	REFUSED(m.dyn[1].d_un.d_val = UINT64_MAX, "a name");
	REFUSED(m.dyn[1].d_un.d_val = sizeof(m), "a name");
	REFUSED(m.dyn[0].d_un.d_ptr = UINT64_MAX, "a name");
	REFUSED(m.dyn[0].d_un.d_ptr = 0, "a name");
	REFUSED(memset(m.names, 'x', sizeof(m.names)), "a name");
	REFUSED((m.e.e_phnum = 3, m.ph[2].p_type = PT_INTERP,
		 m.ph[2].p_offset = offsetof(struct image, names) + 1),
		"path of its loader");
	REFUSED((m.e.e_phnum = 3, m.ph[2].p_type = PT_INTERP,
		 m.ph[2].p_offset = UINT64_MAX),
		"path of its loader");
#undef REFUSED
}

/* A table that says DT_NEEDED a thousand times. */
static void test_too_many(void **state _unused_)
{
	static const char *const libs[] = { "liba.so", NULL };
	const size_t n = 1000;
	size_t size = sizeof(struct image) + n * sizeof(Elf64_Dyn);
	_cleanup_free_ char *file = fl_calloc(1, size);
	_cleanup_(fl_elf_clear) struct fl_elf e = { 0 };
	struct fl_err err = { 0 };
	struct image m;

	make(&m, NULL, libs);
	m.ph[1].p_offset = sizeof(m);
	m.ph[1].p_filesz = n * sizeof(Elf64_Dyn);
	memcpy(file, &m, sizeof(m));
	memcpy(file + sizeof(m), &m.dyn[0], sizeof(Elf64_Dyn));
	for (size_t i = 1; i < n; i++)
		memcpy(file + sizeof(m) + i * sizeof(Elf64_Dyn), &m.dyn[1],
		       sizeof(Elf64_Dyn));
	assert_int_equal(fl_elf_read(file, size, &e, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too many libraries"));
}

/* Cut anywhere, or with any byte changed: it ends, inside of its bytes. */
static void test_mutants(void **state _unused_)
{
	static const char *const libs[] = { "liba.so", NULL };
	struct image good;
	rng = 20260502;

	make(&good, "$ORIGIN", libs);
	for (int i = 0; i < 20000; i++) {
		size_t n = i < (int)sizeof(good) ? (size_t)i : sizeof(good);
		char *copy = malloc(n ? n : 1); /* exact, for sanitizers */
		struct fl_elf e;

		memcpy(copy, &good, n);
		for (int k = 0; n == sizeof(good) && k < 4; k++)
			copy[below((int)n)] = (char)below(256);
		if (!fl_elf_read(copy, n, &e, NULL))
			fl_elf_clear(&e);
		free(copy);
	}
}

static void test_normal(void **state _unused_)
{
	static const char *const paths[][2] = {
		{ "/a//b/./c/../d", "/a/b/d" },
		{ "/../a", "/a" },
		{ "a/b/..", "a" },
		{ "./a", "a" },
		{ "/", "" },
		{ "", "" },
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(paths); i++) {
		_cleanup_free_ char *s = fl_elf_normal(paths[i][0]);

		assert_string_equal(s, paths[i][1]);
	}
}

static int set_up(void **state _unused_)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state _unused_)
{
	return fl_fs_remove(dir, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_needs_of_a_real_one),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_script),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_mutants),
		cmocka_unit_test(test_normal),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kbuild's pure parts: the line of a log that says why, what counts as the
 * machine's fault, .cmd files, which commits can change an image, and config
 * fragments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "../../daemon/kbuild-internal.h"
#include "../../daemon/kconfig.h"

static void first_error_of_each_tool(void **state)
{
	static const struct {
		const char *log, *want;
	} t[] = {
		/* gcc, among the lines of other jobs */
		{ "  CC      fs/xfs/xfs_filestream.o\n"
		  "  CC      mm/mmap.o\n"
		  "/build/src/fs/xfs/xfs_filestream.c: In function 'f':\n"
		  "/build/src/fs/xfs/xfs_filestream.c:395:16: error: too many arguments to function 'g'\n"
		  "  395 |         return g(&mp, \"error: no\");\n"
		  "make[4]: *** [/build/src/scripts/Makefile.build:229: fs/xfs/xfs_filestream.o] Error 1\n"
		  "make: *** [Makefile:224: __sub-make] Error 2\n",
		  "fs/xfs/xfs_filestream.c:395:16: error: too many arguments to function 'g'" },
		{ "../mm/a.c:1:10: fatal error: linux/b.h: No such file or directory\n",
		  "mm/a.c:1:10: fatal error: linux/b.h: No such file or directory" },
		/* an excerpt alone must not count as the error */
		{ "   12 | \"x: error: y\"\n/build/src/a.c:13:1: error: z\n",
		  "a.c:13:1: error: z" },
		/* linker */
		{ "  LD      vmlinux\n"
		  "ld: mm/memory.o: in function `do_fault':\n"
		  "memory.c:(.text+0x12): undefined reference to `gone'\n"
		  "make[2]: *** [../scripts/Makefile.vmlinux:34: vmlinux] Error 1\n",
		  "memory.c:(.text+0x12): undefined reference to `gone'" },
		{ "ld: fs/b.o:(.bss+0x0): multiple definition of `x'; fs/a.o:(.bss+0x0): first defined here\n",
		  "ld: fs/b.o:(.bss+0x0): multiple definition of `x'; fs/a.o:(.bss+0x0): first defined here" },
		/* assembler */
		{ "/build/src/arch/x86/entry/entry_64.S: Assembler messages:\n"
		  "/build/src/arch/x86/entry/entry_64.S:88: Error: no such instruction: `foo'\n",
		  "arch/x86/entry/entry_64.S:88: Error: no such instruction: `foo'" },
		/* objtool and modpost */
		{ "mm/a.o: error: objtool: f() falls through to next function g()\n"
		  "make: *** [Makefile:1: a] Error 255\n",
		  "mm/a.o: error: objtool: f() falls through to next function g()" },
		{ "ERROR: modpost: \"f\" [fs/x.ko] undefined!\n",
		  "ERROR: modpost: \"f\" [fs/x.ko] undefined!" },
		/* kconfig */
		{ "mm/Kconfig:12: syntax error\nmm/Kconfig:11: unknown statement \"foo\"\n"
		  "make[2]: *** [scripts/kconfig/Makefile:85: tinyconfig] Error 1\n",
		  "mm/Kconfig:12: syntax error" },
		{ "error: recursive dependency detected!\n\tsymbol A depends on B\n",
		  "error: recursive dependency detected!" },
		/* make itself, in the order of what helps */
		{ "make[1]: *** [Makefile:9: all] Error 2\n"
		  "make[2]: *** No rule to make target 'mm/x.o', needed by 'mm/built-in.a'.  Stop.\n",
		  "make[2]: *** No rule to make target 'mm/x.o', needed by 'mm/built-in.a'.  Stop." },
		{ "  GEN     foo\nmake[1]: *** [/build/src/Makefile:9: foo] Error 1\nmake: *** [b] Error 2\n",
		  "make[1]: *** [Makefile:9: foo] Error 1" },
		{ "one\ntwo\n\n", "two" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < FL_ARRAY_SIZE(t); i++) {
		_cleanup_free_ char *s = fl_kbuild_first_error(t[i].log);

		assert_string_equal(s, t[i].want);
	}
}

static void first_error_is_bounded(void **state)
{
	_cleanup_buf_ struct fl_buf log = { 0 };
	_cleanup_free_ char *s = NULL;

	(void)state;
	fl_buf_puts(&log, "a.c:1:1: error: \x1b[31m");
	for (int i = 0; i < 1000; i++)
		fl_buf_puts(&log, "\xc3\xa4"); /* two bytes each */
	s = fl_kbuild_first_error(log.s);
	assert_in_range(strlen(s), 250, 300);
	assert_null(strchr(s, '\x1b'));
	/* it ends with a whole character */
	assert_int_equal((unsigned char)s[strlen(s) - 1], 0xa4);
}

static void machine_trouble_is_told_apart(void **state)
{
	static const char *const ours[] = {
		"fatal error: error writing to /tmp/x.s: No space left on device\n",
		"gcc: fatal error: Killed signal terminated program cc1\n",
		"bwrap: setting up uid map: Permission denied\n",
		"/bin/sh: 1: flex: not found\n",
		"cc1: out of memory allocating 65536 bytes\n",
	};
	static const char *const theirs[] = {
		"a.c:1:1: error: x\n",
		"  CC      mm/Input/output error.o\n",
		"make: *** [a] Error 2\n",
		"",
	};

	(void)state;
	for (size_t i = 0; i < FL_ARRAY_SIZE(ours); i++) {
		_cleanup_free_ char *s = fl_kbuild_machine_trouble(ours[i]);

		assert_non_null(s);
	}
	for (size_t i = 0; i < FL_ARRAY_SIZE(theirs); i++)
		assert_null(fl_kbuild_machine_trouble(theirs[i]));
}

static void cmd_files_name_sources(void **state)
{
	static const char text[] =
		"savedcmd_mm/memory.o := gcc -Wp,-MMD,mm/.memory.o.d -I/build/src/include -include /build/src/include/linux/kconfig.h -c -o mm/memory.o /build/src/mm/memory.c  ; sh /build/src/scripts/x.sh; true\n"
		"\n"
		"source_mm/memory.o := /build/src/mm/memory.c\n"
		"\n"
		"deps_mm/memory.o := \\\n"
		"    $(wildcard include/config/NUMA) \\\n"
		"  /build/src/arch/x86/lib/../include/asm/./insn.h \\\n"
		"  include/generated/bounds.h \\\n"
		"  /build/src/../../etc/passwd \\\n"
		"  /usr/lib/gcc/include/stddef.h \\\n"
		"\n"
		"mm/memory.o: $(deps_mm/memory.o)\n";
	_cleanup_strv_ struct fl_strv v = { 0 };

	(void)state;
	fl_kbuild_parse_cmd(text, "mm", &v);
	assert_true(fl_strv_has(&v, "mm/memory.c"));
	assert_true(fl_strv_has(&v, "include/linux/kconfig.h"));
	assert_true(fl_strv_has(&v, "scripts/x.sh"));
	assert_true(fl_strv_has(&v, "arch/x86/include/asm/insn.h"));
	assert_true(fl_strv_has(&v, "mm/Makefile"));
	for (size_t i = 0; i < v.n; i++) {
		assert_null(strstr(v.s[i], "generated"));
		assert_null(strstr(v.s[i], "stddef"));
		assert_null(strstr(v.s[i], "passwd"));
		assert_true(v.s[i][0] != '/');
	}
}

static void kconfig_deps_are_read(void **state)
{
	static const char text[] = "autoconfig := include/config/auto.conf\n\n"
				   "deps_config := \\\n"
				   "\tKconfig \\\n"
				   "\tscripts/Kconfig.include \\\n"
				   "\t../escape \\\n"
				   "\tinit/Kconfig\n\n"
				   "ifneq \"$(ARCH)\" \"x86\"\n";
	_cleanup_strv_ struct fl_strv v = { 0 };

	(void)state;
	fl_kbuild_parse_kconfig_deps(text, &v);
	assert_int_equal(v.n, 3);
	assert_string_equal(v.s[0], "Kconfig");
	assert_string_equal(v.s[2], "init/Kconfig");
	fl_kbuild_parse_kconfig_deps("deps_config := \\\n\tKconfig", &v);
	assert_int_equal(v.n, 4);
	fl_kbuild_parse_kconfig_deps("nothing of it", &v);
	assert_int_equal(v.n, 4);
}

static bool matters(const char *deps, const char *path)
{
	_cleanup_strv_ struct fl_strv v = { 0 };

	fl_strv_add(&v, path);
	return fl_kbuild_matters(&v, deps);
}

static void only_what_was_read_matters(void **state)
{
	static const char *const read_paths =
		"Kconfig\narch/x86/Makefile\narch/x86/include/asm/page.h\n"
		"arch/x86/kernel/setup.c\ndrivers/Makefile\n"
		"drivers/base/Makefile\ndrivers/base/base.h\n"
		"drivers/base/core.c\ndrivers/tty/vt/vt.c\nfs/xfs/xfs_super.c\n"
		"fs/xfs/libxfs/xfs_bit.h\ninclude/asm-generic/bug.h\n"
		"include/linux/mm.h\ninclude/uapi/linux/fs.h\ninit/Kconfig\n"
		"lib/vsprintf.c\nmm/Kconfig\nmm/Makefile\nmm/memory.c\n";
	static const struct {
		const char *path;
		bool want;
	} t[] = {
		{ "mm/memory.c", true },
		{ "mm/hugetlb.c", false },
		{ "Documentation/mm/page_tables.rst", false },
		{ "drivers/nvme/host/pci.c", false },
		{ "drivers/nvme/host/nvme.h", false },
		{ "drivers/nvme/host/Makefile", false },
		{ "drivers/base/Makefile", true },
		{ "mm/Kconfig", true },
		{ "arch/arm64/Kconfig", false },
		{ "arch/arm64/mm/fault.c", false },
		{ "arch/x86/kvm/mmu.c", false },
		{ "arch/x86/entry/syscalls/syscall_64.tbl", true },
		{ "arch/x86/Makefile.um", true },
		{ "Makefile", true },
		{ "scripts/link-vmlinux.sh", true },
		{ "scripts/checkpatch.pl", false },
		{ "tools/objtool/check.c", true },
		{ "tools/perf/perf.c", false },
		{ "tools/lib/string.c", true },
		{ "MAINTAINERS", false },
		{ "fs/xfs/.gitignore", false },
		/* new headers that would be found before one that was read */
		{ "include/linux/fs.h", true },
		{ "arch/x86/include/asm/bug.h", true },
		{ "include/linux/netdevice.h", false },
		{ "fs/xfs/xfs_bit.h", true },
		/* no C source, and beside code that was compiled */
		{ "drivers/tty/vt/cp437.uni", true },
		{ "drivers/gpu/drm/x.fw", false },
		{ "kernel/time/timeconst.bc", true },
	};
	char deps[] = "/tmp/fl-deps-XXXXXX";
	int fd = mkstemp(deps);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, read_paths, strlen(read_paths)),
			 strlen(read_paths));
	close(fd);
	for (size_t i = 0; i < FL_ARRAY_SIZE(t); i++)
		if (matters(deps, t[i].path) != t[i].want)
			fail_msg("%s: expected %s", t[i].path,
				 t[i].want ? "yes" : "no");
	unlink(deps);
	assert_true(matters(deps, "Documentation/x.rst")); /* no deps file */
}

static void merge_and_check_config(void **state)
{
	static const char fragment[] = "# a comment\n\n"
				       "CONFIG_A=y\n"
				       "# CONFIG_B is not set\n"
				       "CONFIG_S=\"a # b\"\n"
				       "CONFIG_OLD=y # optional\n"
				       "CONFIG_C=n\n";
	static const char final[] =
		"CONFIG_A=y\nCONFIG_S=\"a # b\"\nCONFIG_LONGER_A=m\n";
	_cleanup_(fl_kopts_clear) struct fl_kopts o = { 0 };
	_cleanup_buf_ struct fl_buf out = { 0 };
	char *s;

	(void)state;
	assert_int_equal(fl_kopts_parse(&o, "dir/x.config", fragment, NULL), 0);
	fl_kopts_merge(&o,
		       "# head\nCONFIG_B=y\nCONFIG_A=m\nCONFIG_KEEP=7\n"
		       "# CONFIG_C is not set\n# CONFIG_D is not set\n",
		       &out);
	assert_string_equal(out.s, "CONFIG_KEEP=7\n# CONFIG_D is not set\n"
				   "CONFIG_A=y\n# CONFIG_B is not set\n"
				   "CONFIG_S=\"a # b\"\nCONFIG_OLD=y\n"
				   "# CONFIG_C is not set\n");
	assert_null(fl_kopts_missing(&o, final));
	s = fl_kopts_missing(&o, "CONFIG_S=\"a # b\"\n# CONFIG_A is not set\n");
	assert_string_equal(
		s,
		"option CONFIG_A=y of 'x.config' is not in the final .config");
	free(s);
	s = fl_kopts_missing(&o, "CONFIG_A=m\nCONFIG_S=\"a # b\"\n");
	assert_string_equal(
		s,
		"option CONFIG_A=y of 'x.config' is 'm' in the final .config");
	free(s);
	s = fl_kopts_missing(&o,
			     "CONFIG_A=y\nCONFIG_B=y\nCONFIG_S=\"a # b\"\n");
	assert_string_equal(
		s,
		"option CONFIG_B of 'x.config' should not be set but is 'y' in the final .config");
	free(s);
	/* a later fragment overrides an earlier one */
	assert_int_equal(fl_kopts_parse(&o, "y.config", "CONFIG_A=m\n", NULL),
			 0);
	s = fl_kopts_missing(&o, final);
	assert_string_equal(
		s,
		"option CONFIG_A=m of 'y.config' is 'y' in the final .config");
	free(s);
}

static void bad_fragments_are_named(void **state)
{
	static const char *const bad[] = { "CONFIG_A=y\nCONFIG_B\n", "FOO=y\n",
					   "CONFIG_A=y yes\n",
					   "CONFIG_A=\"open\n", "CONFIG_A=\n" };

	(void)state;
	for (size_t i = 0; i < FL_ARRAY_SIZE(bad); i++) {
		_cleanup_(fl_kopts_clear) struct fl_kopts o = { 0 };
		struct fl_err err = { 0 };

		assert_int_equal(fl_kopts_parse(&o, "f.config", bad[i], &err),
				 -EINVAL);
		assert_int_equal(err.class, FL_E_USER);
		assert_non_null(strstr(err.text, i ? "'f.config' line 1" :
						     "'f.config' line 2"));
	}
}

static void needs_are_the_jobs(void **state)
{
	_cleanup_(fl_kopts_clear) struct fl_kopts o = { 0 };
	_cleanup_strv_ struct fl_strv needs = { 0 };
	struct fl_kconfig c = { "tinyconfig", NULL, &needs };
	_cleanup_free_ char *s = NULL;

	(void)state;
	fl_strv_add(&needs, "CONFIG_XFS_FS=y");
	assert_int_equal(fl_kconfig_needed(&c, &o, NULL), 0);
	s = fl_kopts_missing(&o, "CONFIG_EXT4_FS=y\n");
	assert_string_equal(
		s,
		"option CONFIG_XFS_FS=y that the job needs is not in the final .config");
}

static void config_hash_sees_every_part(void **state)
{
	_cleanup_strv_ struct fl_strv needs = { 0 }, none = { 0 };
	struct fl_kconfig a = { "tinyconfig", &none, &needs },
			  b = { "defconfig", &none, &needs }, c = a;
	char h[4][FL_HASH_HEX];
	struct fl_err err = { 0 };

	(void)state;
	assert_int_equal(fl_kconfig_hash(&a, h[0], NULL), 0);
	assert_int_equal(fl_kconfig_hash(&b, h[1], NULL), 0);
	fl_strv_add(&needs, "CONFIG_A=y");
	assert_int_equal(fl_kconfig_hash(&a, h[2], NULL), 0);
	c.needs = NULL;
	assert_int_equal(fl_kconfig_hash(&c, h[3], NULL), 0);
	assert_string_not_equal(h[0], h[1]);
	assert_string_not_equal(h[0], h[2]);
	assert_string_equal(h[0], h[3]);
	c.base = "file:/nonexistent/.config";
	assert_int_equal(fl_kconfig_hash(&c, h[3], &err), -ENOENT);
	assert_int_equal(err.class, FL_E_USER);
}

static void put(const char *dir, const char *name, time_t mtime)
{
	_cleanup_free_ char *path = fl_path_join(dir, name);
	struct timespec t[2] = { { mtime, 0 }, { mtime, 0 } };

	assert_int_equal(fl_fs_write(path, "x", 1, NULL), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static bool there(const char *dir, const char *name)
{
	_cleanup_free_ char *path = fl_path_join(dir, name);

	return fl_fs_exists(path);
}

static void killed_builds_are_repaired(void **state)
{
	char dir[] = "/tmp/fl-out-XXXXXX";
	_cleanup_free_ char *out = NULL, *mark = NULL;

	(void)state;
	assert_non_null(mkdtemp(dir));
	out = fl_path_join(dir, "out");
	mark = fl_path_join(dir, "building");
	assert_int_equal(fl_fs_mkdirs(out, NULL), 0);
	put(out, "old.o", 1000); /* before this make */
	put(out, ".old.o.cmd", 900);
	put(out, "done.o", 2100);
	put(out, ".done.o.cmd", 2100);
	put(out, "half.o", 2100); /* made again, and not finished */
	put(out, ".half.o.cmd", 1000);
	put(out, "bounds.h", 2050); /* no record: renamed into place */
	put(out, "late.o", 2200);
	put(out, ".late.o.cmd", 2201);
	/* no mark: nothing happened, nothing is touched */
	assert_int_equal(fl_kbuild_repair(out, mark, NULL), 0);
	assert_true(there(out, "half.o"));
	put(dir, "building", 2000);
	assert_int_equal(fl_kbuild_repair(out, mark, NULL), 0);
	assert_true(there(out, "old.o"));
	assert_true(there(out, "done.o"));
	assert_true(there(out, "bounds.h"));
	assert_false(there(out, "half.o"));
	assert_false(there(out, "late.o"));
	assert_false(there(dir, "building"));
	assert_int_equal(fl_fs_remove(dir, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_error_of_each_tool),
		cmocka_unit_test(first_error_is_bounded),
		cmocka_unit_test(machine_trouble_is_told_apart),
		cmocka_unit_test(cmd_files_name_sources),
		cmocka_unit_test(kconfig_deps_are_read),
		cmocka_unit_test(only_what_was_read_matters),
		cmocka_unit_test(merge_and_check_config),
		cmocka_unit_test(bad_fragments_are_named),
		cmocka_unit_test(needs_are_the_jobs),
		cmocka_unit_test(killed_builds_are_repaired),
		cmocka_unit_test(config_hash_sees_every_part),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

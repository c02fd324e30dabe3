// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fl_kbuild() on a tree of three files whose Makefile knows the targets that
 * a kernel has: outcomes, the sandbox, ccache, and what a slot remembers.
 * The real thing, with make, gcc and bubblewrap, in a second.
 */
#include "git-fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "../../daemon/kbuild-internal.h"
#include "../../daemon/sys/proc.h"

/* "do" holds shell text that bzImage runs first. */
static const char makefile[] =
	"SUBLEVEL = 1\n"
	"tinyconfig:\n"
	"\techo 'CONFIG_CC_VERSION_TEXT=\"gcc 1.2\"' > $(O)/.config\n"
	"\techo '# CONFIG_B is not set' >> $(O)/.config\n"
	"olddefconfig:\n"
	"\tgrep -v CONFIG_GONE $(O)/.config > $(O)/x; mv $(O)/x $(O)/.config\n"
	"bzImage:\n"
	"\t. ./do\n"
	"\tmkdir -p $(O)/arch/x86/boot $(O)/include/config\n"
	"\techo 6.99.1 > $(O)/include/config/kernel.release\n"
	"\tprintf 'deps_config := \\\\\\n\\tKconfig\\n' > "
	"$(O)/include/config/auto.conf.cmd\n"
	"\tcp payload $(O)/payload\n"
	"\t$(CC) -Wp,-MMD,$(O)/.piggy.d -c $(CURDIR)/piggy.S -o $(O)/piggy.o\n"
	"\techo 'source_piggy.o := $(CURDIR)/piggy.S' > $(O)/.piggy.o.cmd\n"
	"\tcp $(O)/piggy.o $(O)/arch/x86/boot/bzImage\n"
	"\techo map > $(O)/System.map\n"
	"\t. ./after\n";

static struct fl_git *repo;
static int commits;

/* A commit on top of the last; its number. */
static int commit(const char *payload, const char *before, const char *after)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	int n = ++commits;

	fx_commit(&b, n, 0, 0, "a commit\n");
	fx_file(&b, "100644", "Makefile", makefile);
	fx_file(&b, "100644", "Kconfig", "config A\n");
	fx_file(&b, "100644", "payload", payload);
	fx_file(&b, "100644", "do", before);
	fx_file(&b, "100644", "after", after);
	fx_file(&b, "100644", "piggy.S",
		".section .rodata\n.incbin \"/build/out/payload\"\n");
	fx_file(&b, "100644", "broken.c", "int f(void) { return g; }\n");
	fx_import("r.git", &b);
	return n;
}

static int start(void **state)
{
	static char *const probe[] = { (char *)"bwrap",
				       (char *)"--unshare-all",
				       (char *)"--ro-bind",
				       (char *)"/",
				       (char *)"/",
				       (char *)"true",
				       NULL };
	_cleanup_buf_ struct fl_buf out = { 0 };

	if (fl_proc_capture(probe, 100, &out, NULL) < 0) {
		printf("1..0 # SKIP bwrap cannot make a sandbox here\n");
		exit(77);
	}
	if (fx_start(state))
		return -1;
	commit("one", "true\n", "true\n");
	repo = fx_open("r.git");
	return 0;
}

static int stop(void **state)
{
	fl_git_free(repo);
	return fx_stop(state);
}

struct setup {
	const char *slot, *fragment, *base;
	bool cache;
	double timeout_s;
};

/* Builds commit n; the log goes to `log` when that is not NULL. */
static int build(int n, const struct setup *s, struct fl_build_result *ret,
		 struct fl_buf *log, struct fl_err *err)
{
	_cleanup_free_ char *name = fl_asprintf("c%d", n);
	_cleanup_free_ char *slot = fx_path(s->slot ? s->slot : "slot");
	_cleanup_free_ char *dir = fx_path("result");
	_cleanup_free_ char *cache = fx_path("cache");
	_cleanup_free_ char *frag = fx_path("small.config");
	_cleanup_free_ char *log_path = fx_path("result/build.log");
	_cleanup_strv_ struct fl_strv frags = { 0 };
	const char *text = s->fragment ? s->fragment : "CONFIG_A=y\n";
	char sha[FL_SHA_HEX];
	struct fl_build b = { .git = repo,
			      .sha = sha,
			      .slot = slot,
			      .dir = dir,
			      .ccache_dir = s->cache ? cache : NULL,
			      .jobs = 1,
			      .timeout_s = s->timeout_s ? s->timeout_s : 60 };
	int r;

	assert_int_equal(fl_fs_remove(dir, NULL), 0);
	assert_int_equal(fl_fs_mkdirs(dir, NULL), 0);
	assert_int_equal(fl_fs_write(frag, text, strlen(text), NULL), 0);
	fl_strv_add(&frags, frag);
	b.config.base = s->base ? s->base : "tinyconfig";
	b.config.fragments = &frags;
	assert_int_equal(fl_git_resolve(repo, name, sha, err), 0);
	r = fl_kbuild(&b, ret, err);
	if (log)
		fl_fs_read(log_path, 1 << 20, log, NULL);
	return r;
}

static void must_build(int n, const struct setup *s,
		       struct fl_build_result *ret, struct fl_buf *log)
{
	struct fl_err err = { .text = "" };

	if (build(n, s, ret, log, &err) < 0)
		fail_msg("%s", err.text);
	if (ret->outcome != FL_BUILD_BUILT)
		fail_msg("%s: %s", fl_build_outcome_str(ret->outcome),
			 ret->reason);
}

static void a_build_leaves_its_results(void **state)
{
	_cleanup_(fl_build_result_clear) struct fl_build_result r = { 0 };
	_cleanup_free_ char *image = fx_path("result/bzImage");
	_cleanup_free_ char *config = fx_path("result/config");
	_cleanup_free_ char *deps = fx_path("result/deps");
	_cleanup_free_ char *map = fx_path("result/System.map");
	_cleanup_buf_ struct fl_buf text = { 0 };
	char hash[FL_HASH_HEX];

	(void)state;
	must_build(1, &(struct setup){ 0 }, &r, NULL);
	assert_string_equal(r.reason, "");
	assert_string_equal(r.release, "6.99.1");
	assert_string_equal(r.compiler, "gcc 1.2");
	assert_int_equal(fl_hash_file(image, hash, NULL), 0);
	assert_string_equal(r.image_hash, hash);
	assert_int_equal(fl_hash_file(config, hash, NULL), 0);
	assert_string_equal(r.config_hash, hash);
	assert_true(fl_fs_exists(map));
	fl_fs_read(config, 1000, &text, NULL);
	assert_non_null(strstr(text.s, "CONFIG_A=y\n"));
	fl_buf_clear(&text);
	fl_fs_read(deps, 1000, &text, NULL);
	assert_string_equal(text.s, "Kconfig\npiggy.S\n");
}

/* The cache must not answer for what .incbin brings in. */
static void each_commit_gets_its_own_image(void **state)
{
	int other = commit("two", "true\n", "true\n");
	char hash[FL_HASH_HEX];

	(void)state;
	for (int cache = 0; cache < 2; cache++) {
		_cleanup_(fl_build_result_clear) struct fl_build_result
			a = { 0 },
			b = { 0 }, again = { 0 }, moved = { 0 };
		struct setup s = { .cache = cache };

		must_build(1, &s, &a, NULL);
		must_build(other, &s, &b, NULL);
		must_build(1, &s, &again, NULL);
		s.slot = "another/slot/of/longer/name";
		must_build(1, &s, &moved, NULL);
		assert_string_not_equal(a.image_hash, b.image_hash);
		assert_string_equal(a.image_hash, again.image_hash);
		assert_string_equal(a.image_hash, moved.image_hash);
		if (cache) /* it changes no image */
			assert_string_equal(a.image_hash, hash);
		memcpy(hash, a.image_hash, sizeof(hash));
	}
}

/* Which of the two steps the log shows: 't'inyconfig, 'o'lddefconfig. */
static void check_steps(int n, const struct setup *s, bool tiny, bool old)
{
	_cleanup_(fl_build_result_clear) struct fl_build_result r = { 0 };
	_cleanup_buf_ struct fl_buf log = { 0 };

	must_build(n, s, &r, &log);
	assert_int_equal(strstr(log.s, " tinyconfig\n") != NULL, tiny);
	assert_int_equal(strstr(log.s, " olddefconfig\n") != NULL, old);
}

static int commit_files(const char *mk, const char *kconfig)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	int n = ++commits;

	fx_commit(&b, n, 1, 0, "a commit\n");
	fx_file(&b, "100644", "Makefile", mk);
	fx_file(&b, "100644", "Kconfig", kconfig);
	fx_import("r.git", &b);
	return n;
}

static void config_is_made_when_something_changed(void **state)
{
	_cleanup_free_ char *mk2 = fl_strdup(makefile);
	_cleanup_free_ char *mk3 = fl_asprintf("%s\t@true\n", makefile);
	struct setup s = { .slot = "config-slot" };

	(void)state;
	*strchr(mk2, '1') = '2'; /* SUBLEVEL */
	check_steps(1, &s, true, true);
	check_steps(1, &s, false, false);
	check_steps(commit_files(mk2, "config A\n"), &s, false, true);
	check_steps(commit_files(mk2, "config A2\n"), &s, true, true);
	check_steps(commit_files(mk3, "config A2\n"), &s, true, true);
	s.fragment = "CONFIG_A=y\nCONFIG_MORE=y\n";
	check_steps(commits, &s, true, true);
	check_steps(commits, &s, false, false);
}

static void a_config_file_is_a_base(void **state)
{
	_cleanup_(fl_build_result_clear) struct fl_build_result r = { 0 };
	_cleanup_free_ char *path = fx_path("users.config");
	_cleanup_free_ char *base = fl_asprintf("file:%s", path);
	_cleanup_free_ char *config = fx_path("result/config");
	_cleanup_buf_ struct fl_buf text = { 0 };
	struct setup s = { .base = base };
	struct fl_err err = { 0 };

	(void)state;
	assert_int_equal(fl_fs_write(path, "CONFIG_MINE=7\n", 14, NULL), 0);
	must_build(1, &s, &r, NULL);
	fl_fs_read(config, 1000, &text, NULL);
	assert_string_equal(text.s, "CONFIG_MINE=7\nCONFIG_A=y\n");
	fl_build_result_clear(&r);
	s.base = "--eval=x";
	assert_int_equal(build(1, &s, &r, NULL, &err), -EINVAL);
	assert_int_equal(err.class, FL_E_USER);
}

static void expect(int n, const struct setup *s, enum fl_build_outcome want,
		   const char *reason)
{
	_cleanup_(fl_build_result_clear) struct fl_build_result r = { 0 };
	struct fl_err err = { .text = "" };

	if (build(n, s, &r, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r.outcome, want);
	if (strcmp(r.reason, reason))
		fail_msg("'%s' instead of '%s'", r.reason, reason);
}

static void failures_are_outcomes(void **state)
{
	static const struct setup plain = { 0 },
				  gone = { .fragment = "CONFIG_GONE=y\n" },
				  brief = { .timeout_s = 1 };
	int broken = commit(
		"x", "gcc -c $PWD/broken.c -o /dev/null || exit 1\n", "");
	int hang = commit("x", "sleep 600\n", "");

	(void)state;
	expect(broken, &plain, FL_BUILD_FAILED,
	       "broken.c:1:22: error: 'g' undeclared (first use in this function)");
	expect(1, &gone, FL_BUILD_FAILED,
	       "option CONFIG_GONE=y of 'small.config' is not in the final .config");
	expect(hang, &brief, FL_BUILD_TIMEOUT, "make did not end within 1 s");
	expect(1, &plain, FL_BUILD_BUILT, "");
}

static void machine_trouble_is_an_error(void **state)
{
	int full = commit("x",
			  "echo 'ld: cannot write: No space left on device'\n"
			  "exit 1\n",
			  "");
	struct fl_build_result r = { 0 };
	struct fl_err err = { 0 };

	(void)state;
	assert_int_equal(build(full, &(struct setup){ 0 }, &r, NULL, &err),
			 -EIO);
	assert_int_equal(err.class, FL_E_INFRA);
	fx_says(&err, "No space left on device");
	fl_build_result_clear(&r);
}

/* What make leaves is taken only where no link leads. */
static void links_are_not_followed(void **state)
{
	static const struct {
		const char *slot, *after, *reason;
	} t[] = {
		{ "link-file", "ln -sf /etc/passwd $O/arch/x86/boot/bzImage\n",
		  "make succeeded but left no 'arch/x86/boot/bzImage'" },
		{ "link-dir",
		  "mv $O/arch/x86/boot $O/b; ln -s $O/b $O/arch/x86/boot\n",
		  "make succeeded but left no 'arch/x86/boot/bzImage'" },
		{ "fifo", "rm $O/System.map; mkfifo $O/System.map\n",
		  "make succeeded but left no 'System.map'" },
	};

	(void)state;
	for (size_t i = 0; i < FL_ARRAY_SIZE(t); i++)
		expect(commit("x", "true\n", t[i].after),
		       &(struct setup){ .slot = t[i].slot }, FL_BUILD_FAILED,
		       t[i].reason);
}

static void the_tree_is_locked_in(void **state)
{
	_cleanup_(fl_build_result_clear) struct fl_build_result r = { 0 };
	_cleanup_buf_ struct fl_buf log = { 0 };
	_cleanup_free_ char *cmd = fl_asprintf(
		"touch new 2>/dev/null && echo BAD source is writable\n"
		"test -e %s && echo BAD the workspace is visible\n"
		"test -n \"$FL_SECRET\" && echo BAD environment\n"
		"test \"$(ls /sys/class/net 2>/dev/null)\" && echo BAD network\n"
		"test $(ls -d /proc/[0-9]* | wc -l) -lt 10 || echo BAD processes\n"
		"echo looked around\n",
		fx_root);

	(void)state;
	setenv("FL_SECRET", "x", 1);
	must_build(commit("x", cmd, "true\n"), &(struct setup){ 0 }, &r, &log);
	unsetenv("FL_SECRET");
	assert_non_null(strstr(log.s, "\nlooked around\n"));
	assert_null(strstr(log.s, "\nBAD"));
}

/* A worker that is killed takes make along, and its slot builds again. */
static void a_killed_build_leaves_nothing_behind(void **state)
{
	int slow = commit("x", "echo begun > $O/begun; sleep 600\n", "");
	_cleanup_free_ char *begun = fx_path("killed/out/begun");
	_cleanup_free_ char *mark = fx_path("killed/building");
	_cleanup_(fl_build_result_clear) struct fl_build_result r = { 0 };
	struct setup s = { .slot = "killed" };
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		struct fl_err err;

		build(slow, &s, &r, NULL, &err);
		_exit(0);
	}
	for (int i = 0; i < 600 && !fl_fs_exists(begun); i++)
		usleep(50000);
	assert_true(fl_fs_exists(begun));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(fl_fs_exists(mark));
	must_build(1, &s, &r, NULL);
	assert_false(fl_fs_exists(begun)); /* it was in doubt */
	assert_false(fl_fs_exists(mark));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_build_leaves_its_results),
		cmocka_unit_test(each_commit_gets_its_own_image),
		cmocka_unit_test(config_is_made_when_something_changed),
		cmocka_unit_test(a_config_file_is_a_base),
		cmocka_unit_test(failures_are_outcomes),
		cmocka_unit_test(machine_trouble_is_an_error),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(the_tree_is_locked_in),
		cmocka_unit_test(a_killed_build_leaves_nothing_behind),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, stop);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The work tree mover: incremental, crash-safe, and closed to hostile trees. */
#include "git-fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static struct fl_git *repo;

static void build_history(void)
{
	_cleanup_buf_ struct fl_buf b = { 0 }, big = { 0 };

	fx_commit(&b, 1, 0, 0, "one\n");
	fx_file(&b, "100644", "keep/same.c", "same\n");
	fx_file(&b, "100644", "mm/memory.c", "one\n");
	fx_file(&b, "100644", "only/in/one", "x\n");
	fx_file(&b, "100755", "tool", "#!/bin/sh\n");
	fx_file(&b, "120000", "link", "keep/same.c");
	fx_file(&b, "100644", "swap", "a file\n");
	fx_file(&b, "100644", "paws/a/b", "a folder\n");
	fx_file(&b, "100644", "mode", "m\n");
	fx_file(&b, "100644", "empty", "");
	fx_commit(&b, 2, 1, 0, "two\n");
	fx_file(&b, "100644", "mm/memory.c", "two\n");
	fx_drop(&b, "only/in/one");
	fx_drop(&b, "swap");
	fx_file(&b, "100644", "swap/now/a", "folder\n");
	fx_drop(&b, "paws/a/b");
	fx_file(&b, "100644", "paws", "now a file\n");
	fx_file(&b, "120000", "link", "mm/memory.c");
	fx_file(&b, "100755", "mode", "m\n");
	fx_file(&b, "100644", "new/file", "n\n");
	fl_buf_repeat(&big, 'x', 20000);
	fx_commit(&b, 3, 2, 0, "three\n");
	fx_file(&b, "100644", "mm/memory.c", fl_buf_str(&big));
	fx_import("r.git", &b);
}

static int start(void **state)
{
	if (fx_start(state))
		return -1;
	build_history();
	repo = fx_open("r.git");
	return 0;
}

static int stop(void **state)
{
	fl_git_free(repo);
	return fx_stop(state);
}

static int checkout(const char *rev, const char *dir, struct fl_err *err)
{
	_cleanup_free_ char *path = fx_path(dir);

	return fl_git_checkout(repo, rev, path, NULL, NULL, err);
}

static void move_to(const char *rev, const char *dir)
{
	struct fl_err err = { .text = "" };

	if (checkout(rev, dir, &err) < 0)
		fail_msg("%s", err.text);
}

/* git itself is the judge: names, kinds, exec bits and content. */
static void holds(const char *dir, const char *rev)
{
	fx_sh("rm -f idx; export GIT_INDEX_FILE=$PWD/idx; "
	      "git -C r.git read-tree %s && "
	      "git --git-dir=r.git --work-tree=%s update-index -q --refresh; "
	      "git --git-dir=r.git --work-tree=%s diff-files --exit-code && "
	      "test -z \"$(git --git-dir=r.git --work-tree=%s ls-files -o)\"",
	      rev, dir, dir, dir);
}

static bool exists(const char *path)
{
	_cleanup_free_ char *full = fx_path(path);
	struct stat st;

	return !lstat(full, &st);
}

/* Long ago, so that any rewrite shows. */
static void age(const char *dir)
{
	fx_sh("find %s -exec touch -h -d 2020-01-01 {} +", dir);
}

static bool is_old(const char *path)
{
	_cleanup_free_ char *full = fx_path(path);
	struct stat st;

	assert_int_equal(lstat(full, &st), 0);
	return st.st_mtim.tv_sec == 1577836800;
}

static void test_first_and_back(void **state _unused_)
{
	setenv("TZ", "UTC", 1);
	move_to("c1", "a/b/wt");
	holds("a/b/wt", "c1");
	assert_false(exists("a/b/wt/.git"));
	assert_true(exists("a/b/wt.state"));
	age("a/b/wt");
	move_to("c2", "a/b/wt");
	holds("a/b/wt", "c2");
	assert_true(is_old("a/b/wt/keep/same.c"));
	assert_true(is_old("a/b/wt/tool"));
	assert_true(is_old("a/b/wt/empty"));
	assert_true(is_old("a/b/wt/mode")); /* content is the same */
	assert_false(is_old("a/b/wt/mm/memory.c"));
	assert_false(exists("a/b/wt/only"));
	age("a/b/wt");
	move_to("c2", "a/b/wt/");
	assert_true(is_old("a/b/wt/mm/memory.c"));
	move_to("c1", "a/b/wt");
	holds("a/b/wt", "c1");
	assert_true(is_old("a/b/wt/keep/same.c"));
	assert_true(is_old("a/b/wt/mode"));
}

struct seen {
	uint64_t last, total;
	int calls;
};

static void on_progress(const char *unit, uint64_t done, uint64_t total,
			void *arg)
{
	struct seen *s = arg;

	assert_string_equal(unit, "files");
	assert_true(done >= s->last && done <= total);
	s->last = done;
	s->total = total;
	s->calls++;
}

static void test_progress(void **state _unused_)
{
	_cleanup_free_ char *path = fx_path("pwt");
	struct seen s = { 0 };
	struct fl_err err;

	assert_int_equal(
		fl_git_checkout(repo, "c1", path, on_progress, &s, &err), 0);
	assert_true(s.calls > 0);
	assert_int_equal(s.last, 9);
	assert_int_equal(s.total, 9);
}

/* What a kill leaves: the state says so, files are half of each. */
static void test_interrupted(void **state _unused_)
{
	move_to("c1", "iwt");
	age("iwt");
	fx_sh("sed -i s/holds/moving/ iwt.state && grep -q moving iwt.state");
	fx_sh("cd iwt && printf tw > mm/memory.c && rm swap && mkdir swap && "
	      "ln -sf nowhere link && rm only/in/one && chmod -x tool && "
	      "mkfifo fifo && rm keep/same.c && printf 'same\\n' > keep/same.c "
	      "&& touch -d 2020-01-01 keep/same.c && mkdir junk && "
	      "touch junk/x .hidden && rm empty && mkfifo empty");
	move_to("c2", "iwt");
	holds("iwt", "c2");
	assert_true(is_old("iwt/keep/same.c"));
	assert_true(is_old("iwt/tool"));
	assert_false(exists("iwt/junk"));
	assert_false(exists("iwt/.hidden"));
	assert_false(exists("iwt/fifo"));
}

/* Killed for real at many moments, the next move always ends right. */
static void test_killed(void **state _unused_)
{
	_cleanup_free_ char *path = fx_path("kwt");

	for (int i = 0; i < 40; i++) {
		const struct timespec t = { .tv_nsec = i * 50 * 1000 };
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			for (int k = 0;; k++)
				fl_git_checkout(repo, k % 2 ? "c2" : "c1", path,
						NULL, NULL, NULL);
		}
		nanosleep(&t, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		move_to(i % 3 ? "c2" : "c1", "kwt");
		holds("kwt", i % 3 ? "c2" : "c1");
	}
}

/* After a power cut, file content is not what the state file believes. */
static void test_other_boot(void **state _unused_)
{
	move_to("c1", "bwt");
	age("bwt");
	fx_sh("sed -i 's/^boot .*/boot earlier/' bwt.state && "
	      ": > bwt/keep/same.c");
	move_to("c1", "bwt");
	holds("bwt", "c1");
	assert_true(is_old("bwt/mm/memory.c"));
	fx_sh(": > bwt.state && : > bwt/keep/same.c");
	move_to("c1", "bwt");
	holds("bwt", "c1");
}

static void test_vanished(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	/* The folder went, its state stayed. */
	move_to("c1", "vwt");
	fx_sh("rm -rf vwt");
	move_to("c1", "vwt");
	holds("vwt", "c1");
	/* The commit it holds is no longer in the repository. */
	fx_sh("sed -i 's/^holds .*/holds %040d/' vwt.state", 7);
	move_to("c2", "vwt");
	holds("vwt", "c2");
}

static void test_foreign_folder(void **state _unused_)
{
	struct fl_err err;

	fx_sh("mkdir mine && touch mine/thesis");
	assert_int_equal(checkout("c1", "mine", &err), -EEXIST);
	assert_int_equal(err.class, FL_E_USER);
	fx_says(&err, "is not empty");
	assert_true(exists("mine/thesis"));
	assert_false(exists("mine/tool"));
	fx_sh("echo text > mine.state");
	assert_int_equal(checkout("c1", "mine", &err), -EINVAL);
	assert_true(exists("mine/thesis"));
}

static void test_errors(void **state _unused_)
{
	_cleanup_free_ char *path = fx_path("bwt");
	_cleanup_close_ int fd = -1;
	struct fl_err err;

	assert_int_equal(checkout("nope", "ewt", &err), -ENOENT);
	assert_false(exists("ewt"));
	fx_sh("touch plain");
	assert_true(checkout("c1", "plain", &err) < 0);
	assert_int_equal(err.class, FL_E_INFRA);
	/* One mover at a time. */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(checkout("c2", "bwt", &err), -EBUSY);
	fx_says(&err, "by another process");
}

/* No room is the machine's fault, and the next move repairs what it left. */
static void test_no_room(void **state _unused_)
{
	struct rlimit old, small;
	struct fl_err err;
	int r;

	move_to("c1", "fwt");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 10000;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	r = checkout("c3", "fwt", &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(r, -EFBIG);
	assert_int_equal(err.class, FL_E_INFRA);
	fx_says(&err, "cannot write 'mm/memory.c'");
	move_to("c1", "fwt");
	holds("fwt", "c1");
	move_to("c3", "fwt");
	holds("fwt", "c3");
}

/* A build replaced a folder by a link out of the work tree. */
static void test_link_left_behind(void **state _unused_)
{
	move_to("c1", "lwt");
	fx_sh("mkdir -p out && echo precious > out/memory.c && "
	      "rm -rf lwt/mm lwt/only/in && ln -s ../out lwt/mm && "
	      "echo y > out/one && ln -s ../../out lwt/only/in");
	move_to("c2", "lwt");
	fx_sh("test \"$(cat out/memory.c)\" = precious && test -f out/one && "
	      "test ! -L lwt/mm && test \"$(cat lwt/mm/memory.c)\" = two");
	/* A link in the place of a file is replaced, not written through. */
	fx_sh("rm lwt/mm/memory.c && ln -s ../../out/memory.c lwt/mm");
	move_to("c1", "lwt");
	fx_sh("test \"$(cat out/memory.c)\" = precious && "
	      "test ! -L lwt/mm/memory.c");
	/* The same while everything is compared. */
	fx_sh("sed -i s/holds/moving/ lwt.state && rm -rf lwt/keep && "
	      "echo same > out/same.c && ln -s ../out lwt/keep && "
	      "rm -r lwt/paws && ln -s ../out lwt/paws");
	move_to("c2", "lwt");
	holds("lwt", "c2");
	fx_sh("test -f out/same.c && test -f out/one && test -f out/memory.c");
}

/* Stores the bytes as an object that git itself would refuse to write. */
static void store(const char *type, struct fl_buf *raw, char sha[FL_SHA_HEX])
{
	_cleanup_free_ char *in = fx_path("raw"), *out = fx_path("sha");
	_cleanup_buf_ struct fl_buf b = { 0 };

	assert_int_equal(fl_fs_write(in, fl_buf_str(raw), raw->len, NULL), 0);
	fx_sh("git -C r.git hash-object -t %s -w --literally ../raw > sha",
	      type);
	assert_int_equal(fl_fs_read(out, 100, &b, NULL), 0);
	assert_int_equal(b.len, 41);
	snprintf(sha, FL_SHA_HEX, "%.40s", fl_buf_str(&b));
	fl_buf_clear(raw);
}

static void store_text(const char *type, const char *text, char sha[FL_SHA_HEX])
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	fl_buf_puts(&b, text);
	store(type, &b, sha);
}

static void add_entry(struct fl_buf *tree, const char *mode, const char *name,
		      const char *sha)
{
	fl_buf_printf(tree, "%s %s", mode, name);
	fl_buf_putc(tree, '\0');
	for (int i = 0; i < 40; i += 2) {
		char two[3] = { sha[i], sha[i + 1], '\0' };

		fl_buf_putc(tree, (char)strtol(two, NULL, 16));
	}
}

static void store_commit(const char *branch, struct fl_buf *tree)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	char sha[FL_SHA_HEX];

	store("tree", tree, sha);
	fl_buf_printf(&b,
		      "tree %s\nauthor A <a> 1 +0000\n"
		      "committer A <a> 1 +0000\n\nx\n",
		      sha);
	store("commit", &b, sha);
	fx_sh("git -C r.git update-ref refs/heads/%s %s", branch, sha);
}

static void test_hostile_names(void **state _unused_)
{
	static const char *const names[] = {
		"..",	"../evil",  "/tmp/evil", ".",  "a/../../evil", ".git",
		".GIT", "a/.git/x", "a//b",	 "a/", ".git/hook",
	};
	char blob[FL_SHA_HEX];

	store_text("blob", "evil\n", blob);
	for (size_t i = 0; i < FL_ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *ref = fl_asprintf("bad%zu", i);
		_cleanup_buf_ struct fl_buf tree = { 0 };
		struct fl_err err = { .text = "" };
		int r;

		add_entry(&tree, "100644", names[i], blob);
		store_commit(ref, &tree);
		r = checkout(ref, "hwt", &err);
		if (r != -EINVAL)
			fail_msg("'%s' gives %d", names[i], r);
		assert_int_equal(err.class, FL_E_USER);
		fx_says(&err, "unsafe path");
	}
	assert_false(exists("evil"));
	fx_sh("test -z \"$(ls -A hwt)\"");
	/* The folder is as usable as before. */
	move_to("c1", "hwt");
	holds("hwt", "c1");
}

/* A link and a folder of the same name, in one tree: write through it? */
static void test_hostile_link(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf tree = { 0 };
	char link[FL_SHA_HEX], blob[FL_SHA_HEX], sub[FL_SHA_HEX];
	struct fl_err err = { .text = "" };

	fx_sh("mkdir -p target");
	store_text("blob", "../target", link);
	store_text("blob", "evil\n", blob);
	add_entry(&tree, "100644", "file", blob);
	store("tree", &tree, sub);
	add_entry(&tree, "120000", "x", link);
	add_entry(&tree, "40000", "x", sub);
	store_commit("dup", &tree);
	assert_int_equal(checkout("dup", "dwt", &err), 0);
	fx_sh("test -z \"$(ls -A target)\" && test ! -L dwt/x");
	/* Link targets that no file system takes. */
	store_text("blob", "", link);
	add_entry(&tree, "120000", "x", link);
	store_commit("nolink", &tree);
	assert_int_equal(checkout("nolink", "nwt", &err), -EINVAL);
}

/* Folders within folders without end must not end the process. */
static void test_hostile_depth(void **state _unused_)
{
	struct fl_err err = { .text = "" };
	char sha[FL_SHA_HEX];
	_cleanup_buf_ struct fl_buf tree = { 0 };

	store_text("blob", "x\n", sha);
	add_entry(&tree, "100644", "d", sha);
	for (int i = 0; i < 100; i++) {
		store("tree", &tree, sha);
		add_entry(&tree, "40000", "d", sha);
	}
	store_commit("deep", &tree);
	assert_int_equal(checkout("deep", "deepwt", &err), -E2BIG);
	assert_int_equal(err.class, FL_E_USER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_and_back),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_other_boot),
		cmocka_unit_test(test_vanished),
		cmocka_unit_test(test_foreign_folder),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_link_left_behind),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_hostile_link),
		cmocka_unit_test(test_hostile_depth),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, stop);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Mirrors: the first, updates, force-pushes, and remotes that are no good. */
#include "git-fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include "../../daemon/sys/proc.h"
#include "../../daemon/util/clock.h"

static int mirror(const char *name, const char *url, struct fl_err *err)
{
	_cleanup_free_ char *path = fx_path(name);
	_cleanup_free_ char *full = url[0] == '@' ? fx_path(url + 1) :
						    fl_strdup(url);

	return fl_git_mirror(path, full, NULL, NULL, err);
}

static void must_mirror(const char *name, const char *url)
{
	struct fl_err err = { .text = "" };

	if (mirror(name, url, &err) < 0)
		fail_msg("%s", err.text);
}

/* The mirror's branches and tags are the remote's, and whole. */
static void equal(const char *name, const char *remote)
{
	fx_sh("git -C %s for-each-ref refs/heads refs/tags > ra && "
	      "git -C %s for-each-ref refs/heads refs/tags > rb && "
	      "cmp ra rb && git -C %s fsck --strict",
	      remote, name, name);
}

/* A remote with a history of n commits, one file changing. */
static void make_remote(const char *name, int n)
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	for (int i = 1; i <= n; i++) {
		_cleanup_free_ char *text = fl_asprintf("line %d\n", i);

		fx_commit(&b, i, i - 1, 0, "change\n");
		fx_file(&b, "100644", "f", text);
		if (i == 1)
			fx_file(&b, "100644", "dir/same", "same\n");
	}
	fx_ref(&b, "refs/tags/v6.9", 1);
	fx_import(name, &b);
	fx_sh("git -C %s -c user.name=T -c user.email=t@x tag -a -m x v6.10 "
	      "c%d",
	      name, n);
}

static int start(void **state)
{
	if (fx_start(state))
		return -1;
	make_remote("r.git", 4);
	return 0;
}

static bool same_file(const char *a, const char *b)
{
	_cleanup_free_ char *pa = fx_path(a), *pb = fx_path(b);
	struct stat sa, sb;

	return !stat(pa, &sa) && !stat(pb, &sb) && sa.st_ino == sb.st_ino;
}

static void test_first_is_linked(void **state _unused_)
{
	_cleanup_free_ char *packs = fx_path("packs");
	_cleanup_free_ char *url = fl_asprintf("file://%s/r.git", fx_root);
	_cleanup_buf_ struct fl_buf b = { 0 };
	_cleanup_strv_ struct fl_strv v = { 0 };

	fx_sh("git -C r.git repack -q -a -d");
	must_mirror("deep/er/m.git", url);
	equal("deep/er/m.git", "r.git");
	fx_sh("cd r.git/objects && ls pack/*.pack pack/*.idx > ../../packs");
	assert_int_equal(fl_fs_read(packs, 4096, &b, NULL), 0);
	fl_strv_split(&v, fl_buf_str(&b), "\n");
	assert_int_equal(v.n, 2);
	for (size_t i = 0; i < v.n; i++) {
		_cleanup_free_ char *x =
			fl_asprintf("r.git/objects/%s", v.s[i]);
		_cleanup_free_ char *y =
			fl_asprintf("deep/er/m.git/objects/%s", v.s[i]);

		assert_true(same_file(x, y));
	}
	fx_sh("test \"$(git -C deep/er/m.git symbolic-ref HEAD)\" = "
	      "refs/heads/c1");
	must_mirror("deep/er/m.git", url);
	equal("deep/er/m.git", "r.git");
}

static void test_loose_and_borrowed(void **state _unused_)
{
	_cleanup_free_ char *url =
		fl_asprintf("file://%s/with%%20space.git", fx_root);

	/* A clone with loose objects that borrows the others. */
	fx_sh("git clone -q --bare --shared r.git b.git && cd b.git && "
	      "git -c user.name=T -c user.email=t@x commit-tree -p c4 -m l "
	      "c4^{tree} > ../loose && git update-ref refs/heads/l "
	      "$(cat ../loose)");
	must_mirror("mb.git", "@b.git");
	/* Linked from both, and independent of them. */
	fx_sh("(cd r.git/objects/pack; ls *.pack *.idx) > pa && "
	      "(cd mb.git/objects/pack; ls *.pack *.idx) > pb && "
	      "grep -q pack pa && cmp pa pb");
	fx_sh("mv r.git away");
	fx_sh("git -C mb.git fsck --strict && git -C mb.git log l");
	fx_sh("mv away r.git");
	equal("mb.git", "b.git");
	fx_sh("cp -a b.git 'with space.git'");
	must_mirror("mb.git", url);
}

static void test_update(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	make_remote("u.git", 3);
	fx_sh("git -C u.git repack -q -a -d");
	must_mirror("mu.git", "@u.git");
	fx_commit(&b, 9, 3, 0, "more\n");
	fx_file(&b, "100644", "f", "more\n");
	fx_file(&b, "100644", "new/dir/file", "more\n");
	fx_commit(&b, 10, 9, 1, "merge\n");
	fx_import("u.git", &b);
	fx_sh("cd u.git && git update-ref -d refs/heads/c2 && "
	      "git -c user.name=T -c user.email=t@x tag -a -m x v6.11 c10 && "
	      "git -c user.name=T -c user.email=t@x tag -a -m x nested v6.11 &&"
	      "git tag -d v6.9");
	must_mirror("mu.git", "@u.git");
	equal("mu.git", "u.git");
	/* What was there is not packed again. */
	fx_sh("cd mu.git && for i in objects/pack/*.idx; do git show-index "
	      "< $i; done > ../all && cut -d' ' -f2 ../all | sort | uniq -d > "
	      "../twice && test $(wc -l < ../twice) -eq 0");
	fx_sh("git -C u.git tag a-tree c10^{tree} && "
	      "git -C u.git tag a-file c10:f");
	must_mirror("mu.git", "@u.git");
	equal("mu.git", "u.git");
	/* A branch in the place of a folder of branches, and back. */
	fx_sh("cd u.git && git update-ref -d refs/heads/c9 && "
	      "git update-ref refs/heads/c9/x c10");
	must_mirror("mu.git", "@u.git");
	equal("mu.git", "u.git");
	fx_sh("cd u.git && git update-ref -d refs/heads/c9/x && "
	      "git update-ref refs/heads/c9 c10");
	must_mirror("mu.git", "@u.git");
	equal("mu.git", "u.git");
}

static void test_force_push(void **state _unused_)
{
	_cleanup_(fl_git_freep) struct fl_git *g = NULL;
	_cleanup_buf_ struct fl_buf b = { 0 };
	char kept[FL_SHA_HEX], sha[FL_SHA_HEX];
	struct fl_err err;

	make_remote("p.git", 3);
	must_mirror("mp.git", "@p.git");
	g = fx_open("mp.git");
	assert_int_equal(fl_git_resolve(g, "c3", kept, &err), 0);
	assert_int_equal(fl_git_keep(g, kept, &err), 0);
	fx_commit(&b, 20, 2, 0, "rewritten\n");
	fx_file(&b, "100644", "f", "rewritten\n");
	fx_import("p.git", &b);
	fx_sh("cd p.git && git update-ref refs/heads/c3 c20 && "
	      "git tag -d v6.10 && git reflog expire --expire=now --all && "
	      "git gc -q --prune=now && ! git cat-file -e %s",
	      kept);
	must_mirror("mp.git", "@p.git");
	equal("mp.git", "p.git");
	assert_int_equal(fl_git_resolve(g, "c3", sha, &err), 0);
	assert_string_not_equal(sha, kept);
	/* Also after the mirror itself was cleaned. */
	fx_sh("git -C mp.git gc -q --prune=now");
	assert_int_equal(fl_git_resolve(g, kept, sha, &err), 0);
	assert_string_equal(sha, kept);
}

static void test_interrupted(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	/* What kills at several places leave behind. */
	make_remote("i.git", 3);
	fx_sh("mkdir -p mi.git.new/objects && touch mi.git.new/HEAD");
	must_mirror("mi.git", "@i.git");
	fx_sh("test ! -e mi.git.new");
	fx_commit(&b, 9, 3, 0, "more\n");
	fx_file(&b, "100644", "f", "more\n");
	fx_import("i.git", &b);
	fx_sh("cd mi.git && touch packed-refs.lock HEAD.lock config.lock "
	      "refs/heads/c9.lock objects/pack/pack_git2_1234 && "
	      "mkdir -p refs/heads/a && touch refs/heads/a/b.lock");
	fx_sh("git -C i.git branch a/b c2");
	must_mirror("mi.git", "@i.git");
	equal("mi.git", "i.git");
	fx_sh("test ! -e mi.git/objects/pack/pack_git2_1234");
}

/* Killed for real at many moments; the next fetch always ends right. */
static void test_killed(void **state _unused_)
{
	make_remote("k.git", 3);
	for (int i = 0; i < 30; i++) {
		const struct timespec t = { .tv_nsec = i * 300 * 1000 };
		_cleanup_buf_ struct fl_buf b = { 0 };
		pid_t pid;

		fx_commit(&b, 100 + i, 3, 0, "more\n");
		fx_file(&b, "100644", i % 2 ? "f" : "g", "more\n");
		fx_import("k.git", &b);
		if (i % 5 == 0)
			fx_sh("rm -rf mk5.git");
		pid = fork();
		assert_true(pid >= 0);
		if (!pid) {
			mirror("mk5.git", "@k.git", NULL);
			_exit(0);
		}
		nanosleep(&t, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		must_mirror("mk5.git", "@k.git");
		equal("mk5.git", "k.git");
	}
}

static void bad_remote(const char *url, const char *words)
{
	_cleanup_free_ char *left = fx_path("mx.git");
	struct fl_err err = { .text = "" };

	assert_true(mirror("mx.git", url, &err) < 0);
	assert_int_equal(err.class, FL_E_INFRA);
	fx_says(&err, words);
	assert_null(strchr(err.text, '\n'));
	assert_false(fl_fs_exists(left));
}

static void test_bad_remotes(void **state _unused_)
{
	_cleanup_free_ char *url = fl_asprintf("file://%s/r.git", fx_root);

	bad_remote("/nonexistent/linux.git",
		   "cannot read remote '/nonexistent/linux.git'");
	bad_remote("file:///nonexistent/linux.git", "cannot read remote");
	bad_remote("https://user:secret@127.0.0.1:9/x.git",
		   "cannot read remote 'https://user:***@127.0.0.1:9/x.git'");
	bad_remote("https://user@127.0.0.1:9/x.git", "https://user@127");
	bad_remote("nonsense", "cannot read remote 'nonsense'");
	bad_remote("foo://bar", "cannot read remote 'foo://bar'");
	fx_sh("mkdir not-git");
	bad_remote("@not-git", "not a git repository");
	fx_sh("git init -q --bare none.git");
	bad_remote("@none.git", "has no branches and no tags");
	fx_sh("git clone -q --depth 1 --bare -b c4 %s s.git", url);
	bad_remote("@s.git", "is a shallow clone");
}

/* A remote that is empty for a moment must not cost the mirror its refs. */
static void test_bad_update(void **state _unused_)
{
	struct fl_err err = { .text = "" };

	must_mirror("mk.git", "@r.git");
	fx_sh("git init -q --bare void.git");
	assert_true(mirror("mk.git", "@void.git", &err) < 0);
	equal("mk.git", "r.git");
	assert_true(mirror("mk.git", "/nonexistent", &err) < 0);
	equal("mk.git", "r.git");
	/* The remote moved: the new address is used from now on. */
	make_remote("moved.git", 5);
	must_mirror("mk.git", "@moved.git");
	equal("mk.git", "moved.git");
}

static void test_not_ours(void **state _unused_)
{
	_cleanup_free_ char *file = fx_path("mz.git.lock");
	_cleanup_close_ int fd = -1;
	struct fl_err err = { .text = "" };

	fx_sh("git clone -q --bare r.git mine.git && "
	      "git -C mine.git branch precious c2");
	assert_int_equal(mirror("mine.git", "@r.git", &err), -EEXIST);
	assert_int_equal(err.class, FL_E_USER);
	fx_sh("git -C mine.git rev-parse -q --verify precious");
	fx_sh("mkdir thesis && touch thesis/text");
	assert_int_equal(mirror("thesis", "@r.git", &err), -EEXIST);
	fx_sh("test -f thesis/text");
	/* One fetch at a time. */
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(mirror("mz.git", "@r.git", &err), -EBUSY);
	assert_int_equal(err.class, FL_E_INFRA);
}

/* A port of the loopback interface that is free now. */
static int free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	_cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	return ntohs(a.sin_port);
}

static pid_t start_server(int port)
{
	_cleanup_strv_ struct fl_strv argv = { 0 };
	_cleanup_free_ char *log = fx_path("daemon.log");
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	int64_t deadline = fl_clock_mono_ms() + 20000;
	struct fl_proc_spec spec = { .log = log };
	struct fl_err err;
	pid_t pid;

	fl_strv_addl(&argv, "git", "daemon", "--listen=127.0.0.1",
		     "--export-all", NULL);
	fl_strv_addf(&argv, "--port=%d", port);
	fl_strv_addf(&argv, "--base-path=%s", fx_root);
	fl_strv_add(&argv, fx_root);
	spec.argv = argv.s;
	assert_int_equal(fl_proc_spawn(&spec, &pid, &err), 0);
	while (fl_clock_mono_ms() < deadline) {
		_cleanup_close_ int fd =
			socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (!connect(fd, (struct sockaddr *)&a, sizeof(a)))
			return pid;
		nanosleep(&pause, NULL);
	}
	fl_proc_kill(pid, 0);
	fail_msg("git daemon does not answer on port %d", port);
	return -1;
}

/* The same over git's protocol, from another process. */
static void test_network(void **state _unused_)
{
	int port = free_port();
	_cleanup_free_ char *url =
		fl_asprintf("git://127.0.0.1:%d/n.git", port);
	_cleanup_free_ char *cut =
		fl_asprintf("git://127.0.0.1:%d/ns.git", port);
	_cleanup_free_ char *none =
		fl_asprintf("git://127.0.0.1:%d/none-such.git", port);
	_cleanup_buf_ struct fl_buf b = { 0 };
	pid_t pid;

	make_remote("n.git", 3);
	fx_sh("git clone -q --depth 1 --bare -b c3 file://%s/n.git ns.git",
	      fx_root);
	pid = start_server(port);
	must_mirror("mn.git", url);
	equal("mn.git", "n.git");
	fx_commit(&b, 9, 2, 0, "rewritten\n");
	fx_file(&b, "100644", "f", "more\n");
	fx_import("n.git", &b);
	fx_sh("cd n.git && git update-ref refs/heads/c3 c9 && "
	      "git update-ref -d refs/heads/c1 && git tag v7.0 c9");
	must_mirror("mn.git", url);
	equal("mn.git", "n.git");
	bad_remote(cut, "is a shallow clone");
	bad_remote(none, "cannot read remote 'git://127.0.0.1");
	fl_proc_kill(pid, 2000);
}

/* A cut history gives no answer rather than a wrong one. */
static void test_shallow_in_place(void **state _unused_)
{
	_cleanup_(fl_git_range_clear) struct fl_git_range r = { 0 };
	_cleanup_(fl_git_freep) struct fl_git *g = NULL;
	char sha[FL_SHA_HEX];
	struct fl_err err;

	fx_sh("git clone -q --depth 2 -b c4 file://%s/r.git sh", fx_root);
	g = fx_open("sh");
	assert_int_equal(fl_git_resolve(g, "HEAD", sha, &err), 0);
	assert_int_equal(fl_git_range(g, "HEAD~1", "HEAD", &r, &err), -ENODATA);
	assert_int_equal(err.class, FL_E_INFRA);
	fx_says(&err, "shallow");
	assert_int_equal(fl_git_is_ancestor(g, "HEAD", "HEAD~1", &err),
			 -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_is_linked),
		cmocka_unit_test(test_loose_and_borrowed),
		cmocka_unit_test(test_update),
		cmocka_unit_test(test_force_push),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_bad_remotes),
		cmocka_unit_test(test_bad_update),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_shallow_in_place),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, fx_stop);
}

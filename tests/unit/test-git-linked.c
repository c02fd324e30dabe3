// SPDX-License-Identifier: GPL-2.0-or-later
/* Work trees for commands that ask git: linked ones, never the user's own. */
#include "git-fixture.h"

#include <errno.h>
#include <sys/stat.h>

static struct fl_git *repo;
static char *dir;

static void build_history(void)
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	fx_commit(&b, 1, 0, 0, "one\n");
	fx_file(&b, "100644", "same.c", "same\n");
	fx_file(&b, "100644", "moved.c", "one\n");
	fx_file(&b, "100644", "only/in/one", "x\n");
	fx_commit(&b, 2, 1, 0, "two\n");
	fx_file(&b, "100644", "moved.c", "two\n");
	fx_drop(&b, "only/in/one");
	fx_file(&b, "100644", "new/two.c", "n\n");
	/* a side branch, and the merge that brings it */
	fx_commit(&b, 3, 1, 0, "side\n");
	fx_file(&b, "100644", "side.c", "s\n");
	fx_commit(&b, 4, 2, 3, "merge\n");
	fx_file(&b, "100644", "side.c", "s\n");
	fx_commit(&b, 5, 4, 0, "five\n");
	fx_file(&b, "100644", "moved.c", "five\n");
	fx_import("bare.git", &b);
	fx_sh("git clone -q bare.git work && cd work && git checkout -q -b mine"
	      " && echo staged > staged && git add staged");
}

static int start(void **state)
{
	if (fx_start(state))
		return -1;
	build_history();
	repo = fx_open("work");
	dir = fx_path("tree");
	return 0;
}

static int stop(void **state)
{
	fl_git_free(repo);
	free(dir);
	return fx_stop(state);
}

static void go(const char *rev)
{
	struct fl_err err = { .text = "" };
	char sha[FL_SHA_HEX];

	assert_int_equal(fl_git_resolve(repo, rev, sha, &err), 0);
	if (fl_git_linked(repo, "fl-test", dir, sha, &err) < 0)
		fail_msg("%s", err.text);
}

/* What git says in there is that commit, whole and clean. */
static void is_at(const char *rev)
{
	fx_sh("test \"$(git -C tree rev-parse HEAD)\" = "
	      "\"$(git -C work rev-parse %s)\"",
	      rev);
	fx_sh("test -z \"$(git -C tree status --porcelain -uno)\"");
	fx_sh("git -C tree diff --quiet HEAD");
}

static int64_t written(const char *name)
{
	_cleanup_free_ char *path = fl_path_join(dir, name);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static void moves_and_keeps(void **state _unused_)
{
	int64_t same;

	go("origin/c1");
	is_at("origin/c1");
	same = written("same.c");
	fx_sh("mkdir -p tree/out && echo built > tree/out/o");
	go("origin/c2");
	is_at("origin/c2");
	assert_int_equal(written("same.c"), same);
	fx_sh("test ! -e tree/only && test -e tree/new/two.c");
	fx_sh("grep -q built tree/out/o");
	go("origin/c2");
	is_at("origin/c2");
}

static void puts_right_what_a_command_did(void **state _unused_)
{
	go("origin/c1");
	fx_sh("cd tree && echo patched > same.c && rm moved.c && "
	      "git add same.c");
	go("origin/c2");
	is_at("origin/c2");
	fx_sh("grep -q same tree/same.c");
	fx_sh("cd tree && echo again > same.c");
	go("origin/c2"); /* also without a move */
	fx_sh("grep -q same tree/same.c");
	fx_sh("rm -rf tree/* && touch tree/new");
	go("origin/c5");
	is_at("origin/c5");
	fx_sh("touch work/.git/worktrees/fl-test/index.lock");
	go("origin/c1");
	is_at("origin/c1");
	fx_sh("rm tree/.git");
	go("origin/c2");
	is_at("origin/c2");
}

/* A merge that stopped half-way, and a branch that was checked out in there. */
static void moves_no_branch(void **state _unused_)
{
	go("origin/c1");
	fx_sh("git -C work branch -f spare origin/c2 && "
	      "git -C tree checkout -q spare");
	fx_sh("cd tree && echo mine > moved.c && "
	      "git -c user.name=x -c user.email=x@x commit -qam mine && "
	      "git -C ../work rev-parse spare > ../spare && "
	      "! git -c user.name=x -c user.email=x@x merge origin/c5");
	go("origin/c5");
	is_at("origin/c5");
	fx_sh("test \"$(git -C work rev-parse spare)\" = \"$(cat spare)\"");
	fx_sh("! git -C tree symbolic-ref -q HEAD");
}

static void leaves_the_users_own(void **state _unused_)
{
	fx_sh("git -C work status --porcelain -b > before; cp work/.git/HEAD h");
	go("origin/c1");
	go("origin/c5");
	fx_sh("git -C work status --porcelain -b > after; cmp before after");
	fx_sh("cmp work/.git/HEAD h; git -C work diff --cached --name-only | "
	      "grep -qx staged");
	fx_sh("test \"$(git -C work worktree list | wc -l)\" = 2");
}

/* Else new/two.c would stay, and a build by wildcard would take it in. */
static void completes_a_killed_move(void **state _unused_)
{
	go("origin/c1");
	fx_sh("git -C work rev-parse origin/c2 > "
	      "work/.git/worktrees/fl-test/faultline-moving");
	fx_sh("mkdir -p tree/new && echo n > tree/new/two.c");
	go("origin/c1");
	is_at("origin/c1");
	fx_sh("test ! -e tree/new/two.c && test -e tree/only/in/one");
	fx_sh("test ! -e work/.git/worktrees/fl-test/faultline-moving");
}

static void goes_away(void **state _unused_)
{
	struct fl_err err = { .text = "" };

	go("origin/c1");
	assert_int_equal(fl_git_linked_remove(repo, "fl-test", dir, &err), 0);
	fx_sh("test ! -e tree && test \"$(git -C work worktree list | wc -l)\""
	      " = 1 && git -C work fsck");
	assert_int_equal(fl_git_linked_remove(repo, "fl-test", dir, &err), 0);
}

static void works_in_a_bare_repository(void **state _unused_)
{
	struct fl_git *mine = repo;

	repo = fx_open("bare.git");
	go("c2");
	is_at("origin/c2");
	assert_int_equal(fl_git_linked_remove(repo, "fl-test", dir, NULL), 0);
	fl_git_free(repo);
	repo = mine;
}

/* core.worktree names the submodule's own files, which are somebody's. */
static void works_in_a_submodule(void **state _unused_)
{
	struct fl_git *mine = repo;

	fx_sh("git init -q super && cd super && git -c "
	      "protocol.file.allow=always submodule --quiet add -b c5 ../bare.git "
	      "sub && echo mine >> sub/same.c");
	fx_sh("test -n \"$(git -C super/sub config core.worktree)\"");
	repo = fx_open("super/sub");
	go("origin/c1");
	fx_sh("grep -q one tree/moved.c && grep -q mine super/sub/same.c && "
	      "grep -q five super/sub/moved.c");
	fx_sh("test \"$(git -C tree rev-parse HEAD)\" = "
	      "\"$(git -C work rev-parse origin/c1)\"");
	assert_int_equal(fl_git_linked_remove(repo, "fl-test", dir, NULL), 0);
	fx_sh("grep -q mine super/sub/same.c");
	fl_git_free(repo);
	repo = mine;
}

static void finds_the_repository_above(void **state _unused_)
{
	_cleanup_free_ char *below = fx_path("work/a/b");
	_cleanup_(fl_git_freep) struct fl_git *g = NULL;
	struct fl_err err = { .text = "" };

	fx_sh("mkdir -p work/a/b");
	assert_int_equal(fl_git_discover(below, &g, &err), 0);
	assert_string_equal(fl_git_path(g), fl_git_path(repo));
	assert_int_equal(fl_git_open(below, &g, &err), -ENOENT);
	assert_int_equal(fl_git_discover(fx_root, &g, &err), -ENOENT);
	fx_says(&err, "is not in a git repository");
}

static void walks_first_parents(void **state _unused_)
{
	_cleanup_(fl_git_range_clear) struct fl_git_range r = { 0 };
	struct fl_err err = { .text = "" };

	assert_int_equal(fl_git_range_first_parent(repo, "origin/c1",
						   "origin/c5", &r, &err),
			 0);
	assert_int_equal(r.n, 3);
	assert_string_equal(r.commits[0].subject, "two");
	assert_string_equal(r.commits[1].subject, "merge");
	/* the merge stands for what it brings */
	assert_int_equal(r.touched[1].n, 1);
	assert_string_equal(r.touched[1].s[0], "side.c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves_and_keeps),
		cmocka_unit_test(puts_right_what_a_command_did),
		cmocka_unit_test(moves_no_branch),
		cmocka_unit_test(leaves_the_users_own),
		cmocka_unit_test(completes_a_killed_move),
		cmocka_unit_test(goes_away),
		cmocka_unit_test(works_in_a_bare_repository),
		cmocka_unit_test(works_in_a_submodule),
		cmocka_unit_test(finds_the_repository_above),
		cmocka_unit_test(walks_first_parents),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, stop);
}

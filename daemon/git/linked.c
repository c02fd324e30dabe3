// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linked work trees, of the kind that `git worktree add --detach` makes: the
 * files gitdir, commondir and HEAD below <repository>/worktrees/NAME, and a
 * file .git in the work tree that points there. For commands of the user's
 * own, which may ask git what they run on: HEAD and index are the work tree's,
 * never the user's. Kernels are checked out by checkout.c instead.
 *
 * "faultline-moving" beside them names the commit that a move goes to. A move
 * that was killed is completed first: else the next one would take the files
 * that it brought for somebody else's and leave them.
 */
#include "internal.h"

#include <errno.h>
#include <string.h>
#include "../util/fs.h"

struct linked {
	char *admin; /* <repository>/worktrees/NAME */
	char *moving;
	git_repository *repo;
};

static void linked_clear(struct linked *l)
{
	free(l->admin);
	free(l->moving);
	git_repository_free(l->repo);
}

/* Writes "<text>\n" unless the file says so already. */
static int put(const char *dir, const char *name, const char *text,
	       struct fl_err *err)
{
	_cleanup_free_ char *path = fl_path_join(dir, name);
	_cleanup_free_ char *line = fl_asprintf("%s\n", text);
	_cleanup_buf_ struct fl_buf old = { 0 };

	if (!fl_fs_read(path, 1 << 16, &old, NULL) &&
	    !strcmp(fl_buf_str(&old), line))
		return 0;
	return fl_fs_write(path, line, strlen(line), err);
}

static void drop(const char *dir, const char *name)
{
	_cleanup_free_ char *path = fl_path_join(dir, name);

	unlink(path);
}

/* What follows overwrites files: never those of another work tree, whatever
 * core.worktree says in the repository's configuration. */
static int is_at(git_repository *repo, const char *dir, struct fl_err *err)
{
	const char *at = git_repository_workdir(repo);
	struct stat a, b;

	if (at && !stat(at, &a) && !stat(dir, &b) && a.st_dev == b.st_dev &&
	    a.st_ino == b.st_ino)
		return 0;
	return fl_err_set(err, -EXDEV, FL_E_INFRA,
			  "'%s' is not taken for a work tree of its own", dir);
}

static int prepare(struct fl_git *g, const char *name, const char *dir,
		   const char *sha, struct linked *l, struct fl_err *err)
{
	_cleanup_free_ char *link = fl_path_join(dir, ".git");
	_cleanup_free_ char *head = NULL, *to = NULL;
	int r;

	l->admin = fl_asprintf("%s/worktrees/%s", g->path, name);
	l->moving = fl_path_join(l->admin, "faultline-moving");
	head = fl_path_join(l->admin, "HEAD");
	to = fl_asprintf("gitdir: %s", l->admin);
	r = fl_fs_mkdirs(l->admin, err);
	if (!r)
		r = fl_fs_mkdirs(dir, err);
	if (!r)
		r = put(l->admin, "commondir", "../..", err);
	if (!r)
		r = put(l->admin, "gitdir", link, err);
	if (!r && !fl_fs_exists(head))
		r = put(l->admin, "HEAD", sha, err);
	if (!r)
		r = put(dir, ".git", to, err);
	if (r < 0)
		return r;
	/* Left by a command that was killed; nobody else works here. */
	drop(l->admin, "index.lock");
	drop(l->admin, "HEAD.lock");
	r = git_repository_open_ext(&l->repo, dir,
				    GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);
	if (r < 0)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot open work tree '%s'", dir);
	return is_at(l->repo, dir, err);
}

/* What a merge or a cherry-pick in there left half done. */
static void forget_conflicts(git_repository *repo)
{
	_cleanup_(git_index_freep) git_index *index = NULL;

	git_repository_state_cleanup(repo);
	if (!git_repository_index(&index, repo) &&
	    git_index_has_conflicts(index) &&
	    !git_index_conflict_cleanup(index))
		git_index_write(index);
}

static int move(struct linked *l, const char *sha, const char *dir,
		struct fl_err *err)
{
	_cleanup_(git_object_freep) git_object *o = NULL;
	git_checkout_options opts;
	int r = git_checkout_options_init(&opts, GIT_CHECKOUT_OPTIONS_VERSION);

	if (r == 0)
		r = git_revparse_single(&o, l->repo, sha);
	opts.checkout_strategy = GIT_CHECKOUT_FORCE;
	if (r == 0)
		r = git_checkout_tree(l->repo, o, &opts);
	/* Detached whatever it was: a branch of the user's never moves. */
	if (r == 0)
		r = git_repository_set_head_detached(l->repo, git_object_id(o));
	return r < 0 ? fl_git_fail(err, r, FL_E_INFRA,
				   "cannot check out '%.12s' in '%s'", sha,
				   dir) :
		       0;
}

int fl_git_linked(struct fl_git *g, const char *name, const char *dir,
		  const char *sha, struct fl_err *err)
{
	_cleanup_(linked_clear) struct linked l = { 0 };
	_cleanup_buf_ struct fl_buf killed = { 0 };
	int r = prepare(g, name, dir, sha, &l, err);

	if (r < 0)
		return r;
	forget_conflicts(l.repo);
	if (!fl_fs_read(l.moving, FL_SHA_HEX + 1, &killed, NULL) &&
	    killed.len == FL_SHA_HEX) {
		killed.s[FL_SHA_HEX - 1] = '\0';
		r = move(&l, killed.s, dir, err);
	}
	if (!r)
		r = put(l.admin, "faultline-moving", sha, err);
	if (!r)
		r = move(&l, sha, dir, err);
	if (!r)
		unlink(l.moving);
	return r;
}

int fl_git_linked_remove(struct fl_git *g, const char *name, const char *dir,
			 struct fl_err *err)
{
	_cleanup_free_ char *admin =
		fl_asprintf("%s/worktrees/%s", g->path, name);
	int r = fl_fs_remove(dir, err);

	return r < 0 ? r : fl_fs_remove(admin, err);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel trees through libgit2: the only includer of <git2.h>. No shell-out
 * to git. A tree is a bare mirror made by us, or an existing clone used in
 * place (then nothing is fetched into it unless asked, and only refs under
 * refs/faultline/ are written).
 *
 * Blocking calls; the daemon calls the slow ones (fetch, checkout, pick) from
 * worker children only. Texts from commits are returned as valid UTF-8.
 */
#ifndef FL_GIT_GIT_H
#define FL_GIT_GIT_H

#include <stdbool.h>
#include <stdint.h>
#include "../util/buf.h"
#include "../util/err.h"
#include "../util/strv.h"

#define FL_SHA_HEX 41 /* 40 hex digits and a NUL */

struct fl_git; /* one open repository */

struct fl_git_commit {
	char sha[FL_SHA_HEX];
	char tree[FL_SHA_HEX];
	char (*parents)[FL_SHA_HEX];
	size_t nparents;
	int64_t commit_time; /* UTC seconds */
	char *subject, *message; /* message: whole, subject included */
	char *author_name, *author_email;
};

void fl_git_commit_clear(struct fl_git_commit *c);

/* Library set-up and tear-down, once per process. */
void fl_git_init(void);
void fl_git_shutdown(void);

/* Progress of fetch and checkout: done of total in `unit`. May be NULL. */
typedef void (*fl_git_progress_fn)(const char *unit, uint64_t done,
				   uint64_t total, void *arg);

/*
 * Makes or updates the bare mirror at path from url (https, ssh, git, file
 * URL or a local path): all branches to refs/heads/, all tags, pruning what
 * vanished, forced updates allowed. A local remote is hard-linked when the
 * mirror is new. A fetch killed at any point is done again by the next one.
 * INFRA error with the remote's words when it is unreadable, shallow or empty;
 * -EBUSY INFRA while another process updates the mirror; -EEXIST USER when
 * path is something else than a mirror made by this function.
 */
int fl_git_mirror(const char *path, const char *url, fl_git_progress_fn fn,
		  void *arg, struct fl_err *err);

/*
 * A bare repository, a clone or a work tree, by its folder or its .git (no
 * search upwards). -ENOENT USER when path is none.
 */
int fl_git_open(const char *path, struct fl_git **ret, struct fl_err *err);
/* The same, searched for upwards from path as git does. */
int fl_git_discover(const char *path, struct fl_git **ret, struct fl_err *err);
void fl_git_free(struct fl_git *g);
FL_DEFINE_FREEP(fl_git_free, struct fl_git)
/* The repository's own folder (…/.git or the bare folder); owned by g. */
const char *fl_git_path(const struct fl_git *g);

/*
 * Any revision syntax to the commit it names. -ENOENT USER "tree '…' has no
 * revision '…'" when there is none.
 */
int fl_git_resolve(struct fl_git *g, const char *rev, char sha[FL_SHA_HEX],
		   struct fl_err *err);
int fl_git_commit(struct fl_git *g, const char *sha, struct fl_git_commit *ret,
		  struct fl_err *err);

/*
 * The tag that matches the fnmatch pattern (with glibc's extensions, such as
 * "v6.!(*-rc*)") and is newest in version order (fl_version_cmp). Tags that
 * name no commit do not count. -ENOENT USER when none matches. `tag` is heap.
 */
int fl_git_newest_tag(struct fl_git *g, const char *pattern, char **tag,
		      char sha[FL_SHA_HEX], struct fl_err *err);
/* Short tag names matching pattern, oldest first in version order. */
int fl_git_tags(struct fl_git *g, const char *pattern, struct fl_strv *ret,
		struct fl_err *err);
/* A readable name: the tag that points at sha, else its first 12 digits. */
char *fl_git_describe(struct fl_git *g, const char *sha);

/*
 * -ENOENT USER when the two histories are unrelated. A shallow clone used in
 * place is -ENODATA INFRA here, in fl_git_is_ancestor() and fl_git_range():
 * a cut history gives no answer rather than a wrong one.
 */
int fl_git_merge_base(struct fl_git *g, const char *a, const char *b,
		      char sha[FL_SHA_HEX], struct fl_err *err);
/* 1 = a is an ancestor of b or b itself, 0 = not, negative = error. */
int fl_git_is_ancestor(struct fl_git *g, const char *a, const char *b,
		       struct fl_err *err);

/*
 * The commits reachable from bad and not from good, parents before children
 * (topological), bad last. Parents that lie outside of the range are not
 * listed. `touched` of each: paths that differ from the first parent (for a
 * merge: that differ from every parent); both sides of a rename.
 */
struct fl_git_range {
	struct fl_git_commit *commits;
	struct fl_strv *touched;
	size_t n;
};

int fl_git_range(struct fl_git *g, const char *good, const char *bad,
		 struct fl_git_range *ret, struct fl_err *err);
/*
 * The same along first parents alone: one line of commits, `touched` of each
 * as against its first parent, so that a merge stands for all that it brought.
 */
int fl_git_range_first_parent(struct fl_git *g, const char *good,
			      const char *bad, struct fl_git_range *ret,
			      struct fl_err *err);
void fl_git_range_clear(struct fl_git_range *r);

/*
 * Moves the work tree at dir (made when missing; it is not a git work tree
 * of the mirror: no .git inside) to sha. Files that are equal in both keep
 * their time stamps, so that make stays incremental; files that vanished are
 * removed. A state file beside dir ("<dir>.state") names the commit it holds; a
 * killed checkout, or a machine that was booted since, is noticed there and
 * repaired by comparing content. -EEXIST USER when dir holds files and there
 * is no state, -EBUSY INFRA while another process moves it, -EINVAL USER when
 * the commit holds a path that leads out of dir or is named .git. Submodules
 * are left out.
 */
int fl_git_checkout(struct fl_git *g, const char *sha, const char *dir,
		    fl_git_progress_fn fn, void *arg, struct fl_err *err);

/*
 * For commands of the user's own: a linked work tree of g at dir (absolute) as
 * `git worktree add --detach` makes it, so that git commands in there see
 * commit sha. HEAD and index are its own; no branch is touched. Made when
 * missing, moved otherwise, a killed move completed. Tracked files are as in
 * the commit afterwards, whoever changed them; those that were so already keep
 * their time stamps, and untracked files stay. Submodules and contents behind
 * external filters (git-lfs) are left as they are. `name` is its name in
 * <repository>/worktrees; the caller sees to it that one process uses it.
 */
int fl_git_linked(struct fl_git *g, const char *name, const char *dir,
		  const char *sha, struct fl_err *err);
int fl_git_linked_remove(struct fl_git *g, const char *name, const char *dir,
			 struct fl_err *err);

/* One file of a commit; -ENOENT when it is not there, bounded by max. */
int fl_git_read_file(struct fl_git *g, const char *sha, const char *path,
		     size_t max, struct fl_buf *out, struct fl_err *err);

/*
 * Writes the commit "base with pick on top" (a cherry-pick; a merge is
 * picked against its first parent) and returns its id. Author, dates and
 * message are the pick's, so the id is the same every time and doing it twice
 * is fine. Nothing refers to the new commit until fl_git_keep() does. -EUCLEAN USER with the first conflicting path when
 * it does not apply.
 */
int fl_git_pick(struct fl_git *g, const char *pick, const char *base,
		char sha[FL_SHA_HEX], struct fl_err *err);

/* refs/faultline/keep/<sha>: survives force-pushes and gc. Idempotent. */
int fl_git_keep(struct fl_git *g, const char *sha, struct fl_err *err);

/*
 * Linux version order on tag names: v6.10 after v6.9, -rc10 after -rc9,
 * v6.18 after v6.18-rc7, v6.17.5 after v6.17. <0, 0, >0.
 */
int fl_version_cmp(const char *a, const char *b);

/*
 * git-config syntax (faultline.conf): calls fn for every entry in file order.
 * section and key are lower case, subsection keeps its case and is NULL when
 * there is none; value is "" when the entry has none. fn's nonzero return
 * stops and is returned. -EINVAL USER for a syntax error (names the line), an
 * include or a key outside of any section; only this one file is read.
 */
typedef int (*fl_gitconfig_fn)(const char *section, const char *subsection,
			       const char *key, const char *value, void *arg);
int fl_gitconfig_foreach(const char *path, fl_gitconfig_fn fn, void *arg,
			 struct fl_err *err);

#endif

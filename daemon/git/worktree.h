/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Safe writes below one folder whose names and content come from other
 * people: every path is walked component by component without following
 * links, so neither a hostile tree nor a link that a build left behind can
 * lead a write or a removal out of the folder. Private to daemon/git.
 *
 * Paths are relative; ".", "..", ".git" (in any case) and empty components
 * are refused with -EINVAL. Functions return -errno and set no fl_err.
 */
#ifndef FL_GIT_WORKTREE_H
#define FL_GIT_WORKTREE_H

#include "internal.h"

#define FL_WORKTREE_DEPTH 64

struct fl_worktree {
	int root;
	/* The folders that are open now: those of the last path. */
	int fds[FL_WORKTREE_DEPTH];
	char *names[FL_WORKTREE_DEPTH];
	size_t depth;
};

/* Opens dir (which exists) and locks it; -EBUSY when another holds it. */
int fl_worktree_init(struct fl_worktree *w, const char *dir);
void fl_worktree_clear(struct fl_worktree *w);

bool fl_worktree_path_ok(const char *path);
/* What is in the way is removed first. Missing folders are made. */
int fl_worktree_put(struct fl_worktree *w, const char *path,
		    git_filemode_t mode, const void *data, size_t size);
/* 1 when path has this content (its mode is set right then), else 0. */
int fl_worktree_same(struct fl_worktree *w, const char *path,
		     git_filemode_t mode, const git_oid *id, size_t size);
/* Removes a file and the folders that are empty then; missing is fine. */
int fl_worktree_drop(struct fl_worktree *w, const char *path);
/* Removes everything whose name or kind is not in tree. */
int fl_worktree_sweep(struct fl_worktree *w, git_repository *repo,
		      git_tree *tree);
/* 1 when there is nothing in the folder, 0 when there is. */
int fl_worktree_empty(const struct fl_worktree *w);

#endif

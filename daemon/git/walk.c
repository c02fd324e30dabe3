// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares one tree with any number of others, side by side and top down. An
 * entry that equals its counterpart in one of the others ends the descent
 * there, so that a merge costs as little as the few files it really touched.
 * Trees are other people's data: depth and number of files are bounded.
 */
#include "internal.h"

#include <errno.h>
#include <string.h>

#define MAX_DEPTH 64
#define MAX_FILES 4000000
#define MAX_PATH 4096

struct walk {
	struct fl_git *g;
	size_t n; /* trees side by side: the new one first */
	fl_git_walk_fn fn;
	void *arg;
	struct fl_buf path;
	size_t files;
	struct fl_err *err;
};

static bool is_dir(const git_tree_entry *e)
{
	return git_tree_entry_filemode(e) == GIT_FILEMODE_TREE;
}

/* git sorts a folder as if its name ended in a slash. */
static int order(const git_tree_entry *a, const git_tree_entry *b)
{
	const char *na = git_tree_entry_name(a), *nb = git_tree_entry_name(b);
	size_t la = strlen(na), lb = strlen(nb), n = la < lb ? la : lb;
	int r = memcmp(na, nb, n), ca, cb;

	if (r)
		return r;
	ca = na[n] ? (unsigned char)na[n] : is_dir(a) ? '/' : 0;
	cb = nb[n] ? (unsigned char)nb[n] : is_dir(b) ? '/' : 0;
	if (ca != cb)
		return ca - cb;
	return (la > lb) - (la < lb);
}

static bool same(const git_tree_entry *a, const git_tree_entry *b)
{
	if (!a || !b)
		return a == b;
	return git_oid_equal(git_tree_entry_id(a), git_tree_entry_id(b)) &&
	       git_tree_entry_filemode(a) == git_tree_entry_filemode(b);
}

static int level(struct walk *w, git_tree *const *trees, int depth);

static int descend(struct walk *w, const git_tree_entry *const *e, int depth)
{
	git_tree **sub = fl_calloc(w->n, sizeof(git_tree *));
	int r = 0;

	for (size_t i = 0; i < w->n && !r; i++)
		if (e[i])
			r = git_tree_lookup(&sub[i], w->g->repo,
					    git_tree_entry_id(e[i]));
	if (r < 0)
		r = fl_git_fail(w->err, r, FL_E_INFRA,
				"cannot read folder '%s' in tree '%s'",
				fl_buf_str(&w->path), w->g->path);
	else
		r = level(w, sub, depth + 1);
	for (size_t i = 0; i < w->n; i++)
		git_tree_free(sub[i]);
	free(sub);
	return r;
}

/* e: one name in all trees, NULL where a tree has it not. */
static int visit(struct walk *w, const git_tree_entry *const *e,
		 const git_tree_entry *any, int depth)
{
	size_t len = w->path.len;
	int r;

	for (size_t i = 1; i < w->n; i++)
		if (same(e[0], e[i]))
			return 0;
	fl_buf_puts(&w->path, git_tree_entry_name(any));
	if (depth >= MAX_DEPTH || w->path.len >= MAX_PATH ||
	    w->files >= MAX_FILES) {
		r = fl_err_set(w->err, -E2BIG, FL_E_USER,
			       "tree '%s' holds a folder of unreasonable size "
			       "at '%.200s'",
			       w->g->path, fl_buf_str(&w->path));
	} else if (is_dir(any)) {
		fl_buf_putc(&w->path, '/');
		r = descend(w, e, depth);
	} else {
		w->files++;
		r = w->fn(fl_buf_str(&w->path), e[0], w->n > 1 ? e[1] : NULL,
			  w->arg);
	}
	w->path.len = len;
	w->path.s[len] = '\0';
	return r;
}

static int level(struct walk *w, git_tree *const *trees, int depth)
{
	const git_tree_entry **e = fl_calloc(w->n, sizeof(*e));
	size_t *at = fl_calloc(w->n, sizeof(*at));
	int r = 0;

	while (!r) {
		const git_tree_entry *min = NULL;

		for (size_t i = 0; i < w->n; i++) {
			e[i] = trees[i] ?
				       git_tree_entry_byindex(trees[i], at[i]) :
				       NULL;
			if (e[i] && (!min || order(e[i], min) < 0))
				min = e[i];
		}
		if (!min)
			break;
		for (size_t i = 0; i < w->n; i++) {
			if (e[i] && order(e[i], min) == 0)
				at[i]++;
			else
				e[i] = NULL;
		}
		r = visit(w, e, min, depth);
	}
	free(at);
	free(e);
	return r;
}

int fl_git_walk(struct fl_git *g, git_tree *now, git_tree *const *was, size_t n,
		fl_git_walk_fn fn, void *arg, struct fl_err *err)
{
	struct walk w = { .g = g, .n = n + 1, .fn = fn, .arg = arg, .err = err };
	git_tree **all = fl_calloc(n + 1, sizeof(git_tree *));
	int r;

	all[0] = now;
	for (size_t i = 0; i < n; i++)
		all[i + 1] = was[i];
	r = level(&w, all, 0);
	free(all);
	fl_buf_clear(&w.path);
	return r;
}

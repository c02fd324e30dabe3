// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The commits between two points, parents first, each with the paths it
 * touched: what the bisection searches. Nothing is written. Memory grows with
 * the range (about 3 KB a commit of linux.git).
 */
#include "internal.h"

#include <errno.h>
#include <string.h>

/* An octopus merge in linux.git has 66 parents; more is no honest merge. */
#define MAX_PARENTS 256

static int add_path(const char *path, const git_tree_entry *now _unused_,
		    const git_tree_entry *was _unused_, void *arg)
{
	_cleanup_free_ char *text = fl_git_utf8(path, NULL);
	struct fl_strv *v = arg;

	/* A file that became a folder of the same name comes twice. */
	if (!v->n || strcmp(v->s[v->n - 1], text))
		fl_strv_add(v, text);
	return 0;
}

static int touched(struct fl_git *g, const git_commit *c, bool first,
		   struct fl_strv *ret, struct fl_err *err)
{
	unsigned int n = git_commit_parentcount(c), got = 0;
	_cleanup_(git_tree_freep) git_tree *now = NULL;
	git_tree *was[MAX_PARENTS] = { NULL };
	int r;

	if (n > MAX_PARENTS)
		return fl_err_set(err, -E2BIG, FL_E_USER,
				  "a commit of tree '%s' has %u parents",
				  g->path, n);
	if (first && n)
		n = 1;
	r = git_commit_tree(&now, c);
	for (; r == 0 && got < n; got++) {
		_cleanup_(git_commit_freep) git_commit *p = NULL;

		r = git_commit_parent(&p, c, got);
		if (r == 0)
			r = git_commit_tree(&was[got], p);
	}
	if (r < 0)
		r = fl_git_fail(err, r, FL_E_INFRA,
				"cannot read the history of tree '%s'",
				g->path);
	else
		r = fl_git_walk(g, now, was, n, add_path, ret, err);
	for (unsigned int i = 0; i < got; i++)
		git_tree_free(was[i]);
	return r;
}

static int add_commit(struct fl_git *g, const git_oid *id, bool first,
		      struct fl_git_range *ret, size_t *cap, struct fl_err *err)
{
	_cleanup_(git_commit_freep) git_commit *c = NULL;
	int r = git_commit_lookup(&c, g->repo, id);

	if (r < 0)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot read a commit of tree '%s'",
				   g->path);
	if (ret->n == *cap) {
		*cap = *cap ? 2 * *cap : 64;
		ret->commits =
			fl_realloc(ret->commits, *cap * sizeof(*ret->commits));
		ret->touched =
			fl_realloc(ret->touched, *cap * sizeof(*ret->touched));
	}
	fl_git_fill(c, &ret->commits[ret->n]);
	ret->touched[ret->n] = (struct fl_strv){ 0 };
	return touched(g, c, first, &ret->touched[ret->n++], err);
}

static int walk(struct fl_git *g, const git_commit *good, const git_commit *bad,
		bool first, struct fl_git_range *range, struct fl_err *err)
{
	_cleanup_(git_revwalk_freep) git_revwalk *walk = NULL;
	size_t cap = 0;
	git_oid id;
	int r = git_revwalk_new(&walk, g->repo);

	if (r == 0)
		r = git_revwalk_sorting(walk, GIT_SORT_TOPOLOGICAL |
						      GIT_SORT_REVERSE);
	if (r == 0 && first)
		r = git_revwalk_simplify_first_parent(walk);
	if (r == 0)
		r = git_revwalk_push(walk, git_commit_id(bad));
	if (r == 0)
		r = git_revwalk_hide(walk, git_commit_id(good));
	while (r == 0 && (r = git_revwalk_next(&id, walk)) == 0) {
		r = add_commit(g, &id, first, range, &cap, err);
		if (r < 0)
			return r;
	}
	if (r < 0 && r != GIT_ITEROVER)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot walk the history of tree '%s'",
				   g->path);
	return 0;
}

static int range_of(struct fl_git *g, const char *good, const char *bad,
		    bool first, struct fl_git_range *ret, struct fl_err *err)
{
	_cleanup_(fl_git_range_clear) struct fl_git_range range = { 0 };
	_cleanup_(git_commit_freep) git_commit *cg = NULL, *cb = NULL;
	int r = fl_git_whole(g, err);

	if (r == 0)
		r = fl_git_lookup(g, good, &cg, err);
	if (r == 0)
		r = fl_git_lookup(g, bad, &cb, err);
	if (r == 0)
		r = walk(g, cg, cb, first, &range, err);
	if (r < 0)
		return r;
	*ret = range;
	range = (struct fl_git_range){ 0 };
	return 0;
}

int fl_git_range(struct fl_git *g, const char *good, const char *bad,
		 struct fl_git_range *ret, struct fl_err *err)
{
	return range_of(g, good, bad, false, ret, err);
}

int fl_git_range_first_parent(struct fl_git *g, const char *good,
			      const char *bad, struct fl_git_range *ret,
			      struct fl_err *err)
{
	return range_of(g, good, bad, true, ret, err);
}

void fl_git_range_clear(struct fl_git_range *r)
{
	for (size_t i = 0; i < r->n; i++) {
		fl_git_commit_clear(&r->commits[i]);
		fl_strv_clear(&r->touched[i]);
	}
	free(r->commits);
	free(r->touched);
	*r = (struct fl_git_range){ 0 };
}

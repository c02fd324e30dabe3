// SPDX-License-Identifier: GPL-2.0-or-later
/* From a range of commits to the graph that is searched. See bisect-run.h. */
#include "bisect-run.h"

#include <errno.h>
#include <string.h>

/* A merge that changes no file by itself can still join two changes that do
 * not go together; that is rare. */
#define CLEAN_MERGE_PRIOR 0.05

static int by_sha(const void *a, const void *b)
{
	return strcmp(((const struct fl_brun_place *)a)->sha,
		      ((const struct fl_brun_place *)b)->sha);
}

/* Sorted by id; -1 until a commit has got its node. */
static struct fl_brun_place *places_of(const struct fl_git_range *r,
				       const char *good)
{
	struct fl_brun_place *p = fl_calloc(r->n + 1, sizeof(*p));

	for (size_t i = 0; i < r->n; i++) {
		memcpy(p[i].sha, r->commits[i].sha, FL_SHA_HEX);
		p[i].node = -1;
	}
	memcpy(p[r->n].sha, good, FL_SHA_HEX);
	p[r->n].node = 0;
	qsort(p, r->n + 1, sizeof(*p), by_sha);
	return p;
}

static struct fl_brun_place *place_of(struct fl_brun_place *p, size_t n,
				      const char *sha)
{
	struct fl_brun_place key = { 0 };

	memcpy(key.sha, sha, FL_SHA_HEX);
	return bsearch(&key, p, n, sizeof(*p), by_sha);
}

static bool below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (!path[n] || path[n] == '/');
}

static bool matters(const struct fl_strv *touched, const struct fl_strv *paths)
{
	if (!paths->n)
		return touched->n > 0;
	for (size_t i = 0; i < touched->n; i++)
		for (size_t j = 0; j < paths->n; j++)
			if (below(touched->s[i], paths->s[j]))
				return true;
	return false;
}

/* Does node `from` contain node `to` (below it)? seen: room for n. */
static bool contains(const struct fl_brun_graph *g, int from, int to,
		     bool *seen)
{
	memset(seen, 0, (size_t)g->n * sizeof(*seen));
	seen[from] = true;
	for (int i = from; i > to; i--)
		for (int j = 0; seen[i] && j < g->node[i].nparents; j++)
			seen[g->node[i].parents[j]] = true;
	return seen[to];
}

/* Leaves out parents that another one contains: they add nothing. */
static int drop_contained(const struct fl_brun_graph *g, int *parents, int n)
{
	_cleanup_free_ bool *seen = fl_calloc((size_t)g->n + 1, sizeof(*seen));

	for (int i = 0; i < n; i++) {
		bool gone = false;

		for (int j = 0; j < n && !gone; j++)
			gone = parents[j] > parents[i] &&
			       contains(g, parents[j], parents[i], seen);
		if (gone)
			parents[i--] = parents[--n];
	}
	return n;
}

/* Nodes of the parents inside of the range, each once. */
static int parents_of(const struct fl_git_commit *c, bool first,
		      struct fl_brun_place *p, size_t n, int *out)
{
	size_t all = first && c->nparents ? 1 : c->nparents;
	int got = 0;

	for (size_t i = 0; i < all; i++) {
		const struct fl_brun_place *at = place_of(p, n, c->parents[i]);
		int j = 0;

		if (!at)
			continue;
		while (j < got && out[j] != at->node)
			j++;
		if (j == got)
			out[got++] = at->node;
	}
	return got;
}

static struct fl_brun_node *add(struct fl_brun_graph *g,
				struct fl_git_commit *c, double prior)
{
	struct fl_brun_node *node = &g->node[g->n++];

	*node = (struct fl_brun_node){ .commit = *c, .prior = prior };
	*c = (struct fl_git_commit){ 0 };
	g->candidates += prior > 0;
	return node;
}

static void build(struct fl_git_range *r, const struct fl_brun_opts *opts,
		  struct fl_brun_place *places, struct fl_brun_graph *g)
{
	for (size_t i = 0; i < r->n; i++) {
		struct fl_git_commit *c = &r->commits[i];
		struct fl_brun_place *at = place_of(places, r->n + 1, c->sha);
		int *parents = fl_calloc(c->nparents + 1, sizeof(*parents));
		int n = parents_of(c, opts->first_parent, places, r->n + 1,
				   parents);
		struct fl_brun_node *node;
		bool does = matters(&r->touched[i], &opts->paths);

		if (n > 1)
			n = drop_contained(g, parents, n);
		if (!does && n == 1 && i + 1 < r->n) {
			at->node = parents[0];
			free(parents);
			continue;
		}
		at->node = g->n;
		node = add(g, c, does ? 1 : n > 1 ? CLEAN_MERGE_PRIOR : 0);
		node->parents = parents;
		node->nparents = n;
	}
}

static int load_range(struct fl_git *git, const char *good, const char *bad,
		      const struct fl_brun_opts *opts, struct fl_git_range *r,
		      struct fl_err *err)
{
	int got = opts->first_parent ?
			  fl_git_range_first_parent(git, good, bad, r, err) :
			  fl_git_range(git, good, bad, r, err);

	if (got < 0 || !opts->first_parent)
		return got;
	if (!r->n || !r->commits[0].nparents ||
	    strcmp(r->commits[0].parents[0], good) != 0)
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"'%.12s' is not on the first-parent line of '%.12s', which it joins at '%.12s': start there, or leave out --first-parent",
			good, bad,
			r->n && r->commits[0].nparents ?
				r->commits[0].parents[0] :
				bad);
	return 0;
}

int fl_brun_graph_load(struct fl_git *git, const char *good, const char *bad,
		       const struct fl_brun_opts *opts,
		       struct fl_brun_graph *ret, struct fl_err *err)
{
	_cleanup_(fl_git_range_clear) struct fl_git_range range = { 0 };

	struct fl_git_commit first = { 0 };
	int r = load_range(git, good, bad, opts, &range, err);

	if (!r)
		r = fl_git_commit(git, good, &first, err);
	if (r < 0)
		return r;
	ret->commits = (int)range.n;
	ret->node = fl_calloc(range.n + 1, sizeof(*ret->node));
	ret->place = places_of(&range, good);
	ret->nplaces = (int)range.n + 1;
	add(ret, &first, 0);
	build(&range, opts, ret->place, ret);
	if (ret->candidates)
		return 0;
	return fl_err_set(
		err, -EINVAL, FL_E_USER, "no commit between '%s' and '%s' %s",
		opts->good, opts->bad,
		opts->paths.n ?
			"touches what --path names (paths from the top of the repository)" :
			"changes a file");
}

const char *fl_brun_graph_beside(const struct fl_brun_graph *g, int i,
				 int child)
{
	const struct fl_git_commit *c;

	if (child < 0 || i == child)
		return g->node[i].commit.sha;
	c = &g->node[child].commit;
	for (size_t k = 0; k < c->nparents; k++) {
		const struct fl_brun_place *at =
			place_of(g->place, (size_t)g->nplaces, c->parents[k]);

		if (at && at->node == i)
			return at->sha;
	}
	return g->node[i].commit.sha;
}

int fl_brun_graph_find(const struct fl_brun_graph *g, const char *sha)
{
	for (int i = 0; i < g->n; i++)
		if (!strcmp(g->node[i].commit.sha, sha))
			return i;
	return -1;
}

void fl_brun_graph_clear(struct fl_brun_graph *g)
{
	for (int i = 0; i < g->n; i++) {
		struct fl_brun_node *node = &g->node[i];

		fl_git_commit_clear(&node->commit);
		free(node->parents);
		free(node->value[0].v);
		free(node->value[1].v);
		free(node->why);
	}
	free(g->node);
	free(g->place);
	*g = (struct fl_brun_graph){ 0 };
}

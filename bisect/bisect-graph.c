// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ancestry of the range as bits, sums over ancestors, distances, and classes
 * of candidates that no test can separate. Called by the engine only; inputs
 * were checked by bisect.c, nothing here fails.
 */
#include "bisect-internal.h"

#include <math.h>
#include <string.h>
#include "../daemon/util/err.h"

/* Beyond this many steps a neighbour weighs less than 0.004. */
#define NEAR_STEPS 64

static void copy_edges(struct fl_bisect *b,
		       const struct fl_bisect_commit *commits)
{
	int n = b->n, edges = 0, *fill;

	for (int i = 0; i < n; i++)
		edges += commits[i].nparents;
	b->par_start = fl_calloc((size_t)n + 1, sizeof(int));
	b->chi_start = fl_calloc((size_t)n + 2, sizeof(int));
	b->par = fl_calloc((size_t)edges, sizeof(int));
	b->chi = fl_calloc((size_t)edges, sizeof(int));
	for (int i = 0, e = 0; i < n; i++) {
		b->par_start[i] = e;
		for (int k = 0; k < commits[i].nparents; k++, e++) {
			b->par[e] = commits[i].parents[k];
			b->chi_start[b->par[e] + 2]++;
		}
	}
	b->par_start[n] = edges;
	/* Shifted by one, so that filling leaves every start in place. */
	fill = b->chi_start + 1;
	for (int i = 0; i < n; i++)
		fill[i + 1] += fill[i];
	for (int i = 0; i < n; i++)
		for (int e = b->par_start[i]; e < b->par_start[i + 1]; e++)
			b->chi[fill[b->par[e]]++] = i;
}

static void fill_bits(struct fl_bisect *b)
{
	int n = b->n;
	size_t words = 0;

	b->nblocks = (n + 63) / 64;
	b->block_off = fl_calloc((size_t)b->nblocks, sizeof(*b->block_off));
	for (int j = 0; j < b->nblocks; j++) {
		b->block_off[j] = words;
		words += (size_t)(n - 64 * j);
	}
	b->bits = fl_calloc(words, sizeof(*b->bits));
	for (int j = 0; j < b->nblocks; j++) {
		uint64_t *row = b->bits + b->block_off[j];
		int first = 64 * j;

		for (int x = first; x < n; x++) {
			uint64_t w = 0;

			for (int e = b->par_start[x]; e < b->par_start[x + 1];
			     e++)
				if (b->par[e] >= first)
					w |= row[b->par[e] - first];
			if (x - first < 64)
				w |= (uint64_t)1 << (x - first);
			row[x - first] = w;
		}
	}
}

bool fl_bisect_graph_init(struct fl_bisect *b,
			  const struct fl_bisect_commit *commits)
{
	copy_edges(b, commits);
	fill_bits(b);
	for (int c = 1; c < b->n; c++)
		if (!fl_bisect_has(b, b->n - 1, c))
			return false;
	return true;
}

void fl_bisect_graph_clear(struct fl_bisect *b)
{
	free(b->par_start);
	free(b->par);
	free(b->chi_start);
	free(b->chi);
	free(b->block_off);
	free(b->bits);
}

static void add_lanes(double *to, const double *from)
{
	for (int l = 0; l < FL_LANES; l++)
		to[l] += from[l];
}

/* tab[byte][value]: the sum over the set bits of a byte of a word. Each entry
 * is an earlier one plus a single weight. */
static void fill_table(double tab[8][256][FL_LANES], const double *w, int count)
{
	for (int k = 0; k < 8; k++) {
		memset(tab[k][0], 0, sizeof(tab[k][0]));
		for (int v = 1; v < 256; v++) {
			int bit = __builtin_ctz((unsigned int)v);
			int c = 8 * k + bit;

			memcpy(tab[k][v], tab[k][v & (v - 1)],
			       sizeof(tab[k][v]));
			if (c < count)
				add_lanes(tab[k][v], w + (size_t)c * FL_LANES);
		}
	}
}

static bool any_lane(const double *v)
{
	for (int l = 0; l < FL_LANES; l++)
		if (v[l] != 0)
			return true;
	return false;
}

static bool is_merge(const struct fl_bisect *b, int x)
{
	return b->par_start[x + 1] - b->par_start[x] > 1;
}

/* Adds the weights of block j to the merges below it. */
static void block_sums(const struct fl_bisect *b, int j, const double *w,
		       double *out)
{
	const uint64_t *row = fl_bisect_block(b, j);
	int first = 64 * j, count = b->n - first < 64 ? b->n - first : 64;
	uint64_t full = count == 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
	double tab[8][256][FL_LANES], all[FL_LANES] = { 0 };
	bool have_table = false;

	/* Commit 0 carries no weight, and is missing above side branches. */
	if (!j)
		full &= ~(uint64_t)1;
	for (int c = 0; c < count; c++)
		add_lanes(all, w + (size_t)(first + c) * FL_LANES);
	if (!any_lane(all))
		return;
	for (int x = first; x < b->n; x++) {
		double *o = out + (size_t)x * FL_LANES;

		if (!is_merge(b, x))
			continue;
		if ((row[x] & full) == full) {
			add_lanes(o, all);
			continue;
		}
		if (!(row[x] & full))
			continue;
		if (!have_table) {
			fill_table(tab, w + (size_t)first * FL_LANES, count);
			have_table = true;
		}
		for (int k = 0; k < 8; k++)
			add_lanes(o, tab[k][row[x] >> (8 * k) & 255]);
	}
}

void fl_bisect_graph_sums(const struct fl_bisect *b, const double *w,
			  double *out)
{
	memset(out, 0, (size_t)b->n * FL_LANES * sizeof(*out));
	for (int j = 0; j < b->nblocks; j++)
		block_sums(b, j, w, out);
	/* The others contain what their parent does, and themselves. */
	for (int x = 1; x < b->n; x++) {
		double *o = out + (size_t)x * FL_LANES;

		if (is_merge(b, x))
			continue;
		if (b->par_start[x + 1] > b->par_start[x])
			add_lanes(o, out + (size_t)b->par[b->par_start[x]] *
						     FL_LANES);
		add_lanes(o, w + (size_t)x * FL_LANES);
	}
}

/* Appends the neighbours of i that have no distance yet; returns the tail. */
static int reach(const struct fl_bisect *b, int i, int *dist, int *queue,
		 int tail)
{
	for (int e = b->par_start[i]; e < b->par_start[i + 1]; e++) {
		if (dist[b->par[e]] >= 0)
			continue;
		dist[b->par[e]] = dist[i] + 1;
		queue[tail++] = b->par[e];
	}
	for (int e = b->chi_start[i]; e < b->chi_start[i + 1]; e++) {
		if (dist[b->chi[e]] >= 0)
			continue;
		dist[b->chi[e]] = dist[i] + 1;
		queue[tail++] = b->chi[e];
	}
	return tail;
}

void fl_bisect_graph_near(struct fl_bisect *b, int i, bool skip)
{
	_cleanup_free_ int *queue = fl_calloc((size_t)b->n, sizeof(int));
	_cleanup_free_ int *dist = fl_calloc((size_t)b->n, sizeof(int));
	int head = 0, tail = 0;

	for (int x = 0; x < b->n; x++)
		dist[x] = -1;
	dist[i] = 0;
	queue[tail++] = i;
	while (head < tail) {
		int x = queue[head++];
		double weight = exp2(-dist[x] / 8.0);

		if (skip)
			b->obs[x].near_skip += weight;
		else
			b->obs[x].near_test += weight;
		if (dist[x] < NEAR_STEPS)
			tail = reach(b, x, dist, queue, tail);
	}
}

/*
 * Classes. Two candidates are inseparable when the same testable commits
 * descend from both. Those sets are equal when their first members are: the
 * frontier of a candidate, the testable commits that are met first on the way
 * down. A testable commit is its own frontier.
 */
struct frontier {
	int *at, n, cap;
};

static int cmp_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static void frontier_add(struct frontier *f, int x)
{
	if (f->n == f->cap) {
		f->cap = f->cap ? 2 * f->cap : 4;
		f->at = fl_realloc(f->at, (size_t)f->cap * sizeof(int));
	}
	f->at[f->n++] = x;
}

/* Sorts and drops members that descend from another one. */
static void frontier_reduce(const struct fl_bisect *b, struct frontier *f)
{
	int kept = 0;

	if (f->n > 1)
		qsort(f->at, (size_t)f->n, sizeof(int), cmp_int);
	for (int i = 0; i < f->n; i++) {
		bool below = false;

		for (int k = 0; k < kept && !below; k++)
			below = fl_bisect_has(b, f->at[i], f->at[k]);
		if (!below)
			f->at[kept++] = f->at[i];
	}
	f->n = kept;
}

/* The class of a frontier with several or no members: compared with those
 * met before, which are few. */
static int find_class(struct fl_bisect *b, const struct frontier *all,
		      const int *seen, int nseen, int c)
{
	for (int k = 0; k < nseen; k++) {
		const struct frontier *o = &all[seen[k]];

		if (o->n == all[c].n &&
		    (!o->n ||
		     !memcmp(o->at, all[c].at, (size_t)o->n * sizeof(int))))
			return b->class_of[seen[k]];
	}
	return -1;
}

static void frontier_of(const struct fl_bisect *b, struct frontier *all, int c)
{
	if (fl_bisect_testable(b, c)) {
		frontier_add(&all[c], c);
		return;
	}
	for (int e = b->chi_start[c]; e < b->chi_start[c + 1]; e++) {
		const struct frontier *f = &all[b->chi[e]];

		for (int k = 0; k < f->n; k++)
			frontier_add(&all[c], f->at[k]);
	}
	frontier_reduce(b, &all[c]);
}

void fl_bisect_graph_classes(struct fl_bisect *b)
{
	size_t n = (size_t)b->n;
	struct frontier *all = fl_calloc(n, sizeof(*all));
	_cleanup_free_ int *single = fl_calloc(n, sizeof(int));
	_cleanup_free_ int *seen = fl_calloc(n, sizeof(int));
	int nseen = 0;

	b->nclasses = 0;
	for (int c = 0; c < b->n; c++)
		single[c] = b->class_of[c] = -1;
	for (int c = b->n - 1; c > 0; c--) {
		int *slot = NULL, id = -1;

		frontier_of(b, all, c);
		if (b->prior[c] <= 0)
			continue;
		if (all[c].n == 1) {
			slot = &single[all[c].at[0]];
			id = *slot;
		} else {
			id = find_class(b, all, seen, nseen, c);
			if (id < 0)
				seen[nseen++] = c;
		}
		if (id < 0)
			id = b->nclasses++;
		if (slot)
			*slot = id;
		b->class_of[c] = id;
	}
	for (int c = 0; c < b->n; c++)
		free(all[c].at);
	free(all);
	b->classes_stale = false;
}

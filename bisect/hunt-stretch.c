// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stretches of a hunt: parts of the graph with an engine of their own,
 * fed with what was measured before, and which of them to search when one
 * step does not explain everything. Called by hunt.c; cannot fail.
 */
#include "hunt-internal.h"

#include <math.h>
#include <string.h>
#include "../daemon/util/err.h"

/* Standard errors that a stretch must move by to be worth its gate; fewer when
 * it is known that something is missing. */
#define MOVES_T 2.3
#define MISSING_T 1.2
#define DRIFTS_T 1

/* has[i]: i is x or above it. */
static bool *ancestors(const struct fl_hunt *h, int x)
{
	bool *has = fl_calloc((size_t)h->n, sizeof(bool));

	if (x < 0)
		return has;
	has[x] = true;
	for (int i = x; i >= 0; i--)
		for (int k = 0; has[i] && k < h->commits[i].nparents; k++)
			has[h->commits[i].parents[k]] = true;
	return has;
}

bool fl_hunt_contains(const struct fl_hunt *h, int x, int c)
{
	_cleanup_free_ bool *has = ancestors(h, x);

	return has[c];
}

/* The youngest commit that both contain; the good end when there is none. */
static int fork_of(const struct fl_hunt *h, int x, int y)
{
	_cleanup_free_ bool *a = ancestors(h, x);
	_cleanup_free_ bool *b = ancestors(h, y);
	int i = x < y ? x : y;

	while (i > 0 && !(a[i] && b[i]))
		i--;
	return i;
}

/* Numbers the commits of the stretch, good first. */
static void select_commits(struct fl_hunt *h)
{
	_cleanup_free_ bool *in = ancestors(h, h->now.bad);
	_cleanup_free_ bool *good = ancestors(h, h->now.good);
	_cleanup_free_ bool *minus = ancestors(h, h->now.minus);
	_cleanup_free_ bool *has = fl_calloc((size_t)h->n, sizeof(bool));

	h->nlocal = 0;
	for (int i = 0; i < h->n; i++) {
		h->local[i] = -1;
		h->blind[i] = false;
	}
	h->local[h->now.good] = h->nlocal;
	h->global[h->nlocal++] = h->now.good;
	has[h->now.good] = true;
	for (int i = 0; i < h->n; i++) {
		const struct fl_bisect_commit *c = &h->commits[i];

		if (!in[i] || good[i] || minus[i])
			continue;
		h->local[i] = h->nlocal;
		h->global[h->nlocal++] = i;
		for (int k = 0; k < c->nparents; k++)
			has[i] |= has[c->parents[k]];
		/* What forked before the whole range is like its good end. */
		h->blind[i] = !has[i] && h->now.good > 0;
	}
}

static struct fl_bisect *make_engine(struct fl_hunt *h)
{
	size_t edges = 0, n = (size_t)h->nlocal;
	_cleanup_free_ struct fl_bisect_commit *c = fl_calloc(n, sizeof(*c));
	_cleanup_free_ int *parents = NULL;
	struct fl_bisect_params p = h->params.search;

	p.max_runs = 0;
	p.by_period = h->drifts;
	for (size_t i = 0; i < n; i++)
		edges += (size_t)h->commits[h->global[i]].nparents;
	parents = fl_calloc(edges + 1, sizeof(int));
	edges = 0;
	for (size_t i = 0; i < n; i++) {
		const struct fl_bisect_commit *from = &h->commits[h->global[i]];

		c[i].parents = parents + edges;
		c[i].prior = i ? from->prior : 0;
		for (int k = 0; i && k < from->nparents; k++) {
			int at = h->local[from->parents[k]];

			if (at < 0)
				continue;
			parents[edges++] = at;
			c[i].nparents++;
		}
	}
	return fl_bisect_new(c, h->nlocal, &h->noise, &p);
}

void fl_hunt_leave(struct fl_hunt *h)
{
	struct fl_bisect_levels l;

	if (h->engine) {
		fl_bisect_get_levels(h->engine, &l);
		h->drifts = h->drifts || l.drift >= 0.5;
	}
	fl_bisect_free(h->engine);
	h->engine = NULL;
	h->third = -1;
	h->confirming = false;
}

void fl_hunt_feed(struct fl_hunt *h, const struct fl_hunt_event *e)
{
	int at = h->local[e->commit];

	if (at < 0 || h->blind[e->commit])
		return;
	if (e->skip) {
		fl_bisect_skip(h->engine, at);
	} else if (e->searched) {
		fl_bisect_period(h->engine, e->period);
		fl_bisect_add(h->engine, at, e->value);
	}
}

bool fl_hunt_enter(struct fl_hunt *h, const struct fl_hunt_stretch *s)
{
	struct fl_bisect *b;

	fl_hunt_leave(h);
	h->now = *s;
	select_commits(h);
	if (h->nlocal < 2)
		return false;
	b = h->engine = make_engine(h);
	if (!b)
		return false;
	for (int i = 0; i < h->nlocal; i++) {
		int x = h->global[i];

		fl_bisect_cost(b, i, h->build_s[x], h->run_s[x]);
		fl_bisect_pending(b, i, h->pending[FL_HUNT_SEARCH][x]);
		if (h->blind[x])
			fl_bisect_skip(b, i);
	}
	for (int i = 0; i < h->done; i++)
		fl_hunt_feed(h, &h->log[i]);
	h->rejects = 0;
	h->entered = h->worked;
	return true;
}

void fl_hunt_push(struct fl_hunt *h, struct fl_hunt_stretch s)
{
	if (h->ntodo == h->cap_todo) {
		h->cap_todo = h->cap_todo ? 2 * h->cap_todo : 8;
		h->todo = fl_realloc(h->todo,
				     (size_t)h->cap_todo * sizeof(*h->todo));
	}
	h->todo[h->ntodo++] = s;
}

bool fl_hunt_moves(const struct fl_hunt *h, int a, int b, double t)
{
	struct fl_hunt_mean ma = fl_hunt_mean_of(h, a, false);
	struct fl_hunt_mean mb = fl_hunt_mean_of(h, b, false);
	double least, d = fabs(mb.mean - ma.mean), dof, se;

	if (a == b || !ma.n || !mb.n)
		return false;
	least = h->params.rest * fabs(fl_hunt_mean_of(h, h->n - 1, false).mean -
				      fl_hunt_mean_of(h, 0, false).mean);
	if (h->params.search.exact)
		return d >= fmax(least, h->params.search.min_effect);
	se = sqrt(fl_hunt_variance(h, &dof) *
		  (1.0 / ma.n + 1.0 / mb.n + 2 * h->noise.lambda));
	return d > t * se && d + 2 * se > least;
}

/* Worth its gate, which has the last word? */
static bool worth(const struct fl_hunt *h, int a, int b)
{
	/* On a host that drifts they were not measured at the same time. */
	double t = h->drifts ? DRIFTS_T : h->missing ? MISSING_T : MOVES_T;

	return fl_hunt_moves(h, a, b, t);
}

/* Does the first culprit leave out a part of the whole change? At two thirds
 * of the way to the end of the 95 % interval, which is nine in ten. */
static bool part_missing(const struct fl_hunt *h)
{
	const struct fl_hunt_culprit *c = &h->culprits[h->nculprits - 1];
	double off = fabs(c->share - 1);
	double reach = c->share < 1 ? c->share_hi - c->share :
				      c->share - c->share_lo;

	return h->nculprits == 1 && off > h->params.rest && off > reach * 2 / 3;
}

static void push_if_worth(struct fl_hunt *h, int good, int bad)
{
	struct fl_hunt_stretch s = { good, bad, -1, false, -1, -1 };

	if (worth(h, good, bad))
		fl_hunt_push(h, s);
}

/* A stretch whose ends are alike can still have gone up and down. */
static void push_side(struct fl_hunt *h, int good, int bad)
{
	struct fl_hunt_stretch s = { good, bad, -1, false, -1, -1 };
	bool third = false;

	if (h->third >= 0 && good != bad) {
		_cleanup_free_ bool *above = ancestors(h, bad);
		_cleanup_free_ bool *below = ancestors(h, h->third);

		third = above[h->third] && below[good] && h->third != bad;
	}
	if (worth(h, good, bad)) {
		fl_hunt_push(h, s);
	} else if (third) {
		push_if_worth(h, h->third, bad);
		push_if_worth(h, good, h->third);
	}
}

void fl_hunt_push_around(struct fl_hunt *h)
{
	int c = h->members[h->nparents], main_line = h->members[0];

	h->missing = part_missing(h);
	push_side(h, c, h->now.bad);
	/* What only a further parent of a merge contains. Where nobody has
	 * measured the fork, the good end stands in. */
	for (int i = h->nparents - 1; i > 0; i--) {
		int p = h->members[i], fork = fork_of(h, main_line, p);
		struct fl_hunt_stretch s = { fork, p, main_line, false, -1, -1 };
		bool known = fl_hunt_mean_of(h, fork, false).n > 0;

		if (worth(h, known ? fork : h->now.good, p))
			fl_hunt_push(h, s);
	}
	push_side(h, h->now.good, main_line);
	h->missing = false;
}

/*
 * A merge brought in commits that lack the good end of this stretch: a boot of
 * them lacks a step that was found before. Between the fork and the tip of
 * their branch they can be told apart.
 */
void fl_hunt_push_inside(struct fl_hunt *h, int culprit)
{
	const struct fl_bisect_commit *merge =
		&h->commits[h->members[h->nparents]];
	struct fl_hunt_stretch s = { .unsplit = true,
				     .inside = culprit,
				     .unless = -1 };
	int tips = 0;

	for (int k = 0; k < merge->nparents; k++) {
		int p = merge->parents[k];

		if (h->local[p] < 0 || !h->blind[p])
			continue;
		tips++;
		s.bad = p;
	}
	s.minus = h->members[0];
	s.good = fork_of(h, s.minus, s.bad);
	if (tips == 1)
		fl_hunt_push(h, s);
}

void fl_hunt_push_halves(struct fl_hunt *h)
{
	struct fl_hunt_stretch again = h->now, first = h->now, second = h->now;

	/* When neither half holds a step, the third level was a mistake. */
	again.unsplit = true;
	again.unless = h->nculprits;
	first.bad = h->third;
	second.good = h->third;
	first.unless = second.unless = -1;
	fl_hunt_push(h, again);
	fl_hunt_push(h, second);
	fl_hunt_push(h, first);
}

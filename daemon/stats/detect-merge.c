// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which cuts of a history are worth keeping, and how exactly each is known.
 * Called by detect.c; pure.
 */
#define MATHLIB_STANDALONE 1
#include <Rmath.h>
#include "detect-internal.h"

#include <math.h>
#include "../util/err.h"

struct fl_boundary fl_detect_test(const struct fl_sums *s, size_t from,
				  size_t at, size_t to,
				  const struct fl_noise *noise)
{
	double n1 = (double)(at - from), n2 = (double)(to - at);
	double w = noise->weight, var;
	struct fl_boundary b;

	b.df = n1 + n2 - 2 + w;
	var = (fl_sums_sse(s, from, at) + fl_sums_sse(s, at, to) + w) / b.df;
	b.effect = fl_sums_mean(s, at, to) - fl_sums_mean(s, from, at);
	b.se = sqrt(var * (1 / n1 + 1 / n2) * noise->inflation);
	b.p = b.effect == 0 ? 1 : 2 * pt(-fabs(b.effect) / b.se, b.df, 1, 0);
	return b;
}

/* A cut with its neighbours, in a binary heap by strength. */
struct cut {
	size_t at, before, after; /* indices; 0 and k + 1 are the ends */
	double strength; /* t over the least that is kept */
	size_t place; /* in the heap */
};

struct merge {
	const struct fl_sums *s;
	const struct fl_noise *noise;
	struct cut *cuts; /* 0 .. k + 1 */
	size_t k;
	size_t *heap, n;
};

static double strength(const struct merge *m, size_t i)
{
	const struct cut *c = &m->cuts[i];
	struct fl_boundary b = fl_detect_test(m->s, m->cuts[c->before].at,
					      c->at, m->cuts[c->after].at,
					      m->noise);

	return b.effect == 0 ? 0 :
			       fabs(b.effect) / b.se /
				       qt(1 - FL_DETECT_ALPHA / 2, b.df, 1, 0);
}

static void put(struct merge *m, size_t place, size_t i)
{
	m->heap[place] = i;
	m->cuts[i].place = place;
}

static void settle(struct merge *m, size_t i)
{
	double own = m->cuts[i].strength;
	size_t at = m->cuts[i].place;

	for (; at && m->cuts[m->heap[(at - 1) / 2]].strength > own;
	     at = (at - 1) / 2)
		put(m, at, m->heap[(at - 1) / 2]);
	for (size_t down; (down = 2 * at + 1) < m->n; at = down) {
		if (down + 1 < m->n && m->cuts[m->heap[down + 1]].strength <
					       m->cuts[m->heap[down]].strength)
			down++;
		if (m->cuts[m->heap[down]].strength >= own)
			break;
		put(m, at, m->heap[down]);
	}
	put(m, at, i);
}

static void renew(struct merge *m, size_t i)
{
	if (i == 0 || i == m->k + 1)
		return;
	m->cuts[i].strength = strength(m, i);
	settle(m, i);
}

static void drop_weakest(struct merge *m)
{
	size_t i = m->heap[0], last = m->heap[--m->n];
	struct cut *c = &m->cuts[i];

	m->cuts[c->before].after = c->after;
	m->cuts[c->after].before = c->before;
	if (last != i) {
		put(m, 0, last);
		settle(m, last);
	}
	renew(m, c->before);
	renew(m, c->after);
}

size_t fl_detect_place(const struct fl_sums *s, size_t from, size_t to,
		       double rho, double more, size_t *lo, size_t *hi)
{
	size_t first = from + FL_PARTITION_MIN, end = to - FL_PARTITION_MIN;
	size_t best = first;
	double least = INFINITY;

	for (size_t i = first; i <= end; i++) {
		double cost = fl_sums_step(s, from, i, to, rho);

		if (cost < least) {
			least = cost;
			best = i;
		}
	}
	*lo = *hi = best;
	for (size_t i = first; i <= end; i++) {
		if (fl_sums_step(s, from, i, to, rho) > least + more)
			continue;
		if (i < *lo)
			*lo = i;
		*hi = i;
	}
	return best;
}

/* One pass over all cuts; returns how many are left. */
static size_t drop_weak(const struct fl_sums *s, size_t *cuts, size_t k,
			const struct fl_noise *noise)
{
	struct merge m = { .s = s, .noise = noise, .k = k };
	size_t left = 0;

	m.cuts = fl_calloc(k + 2, sizeof(*m.cuts));
	m.heap = fl_calloc(k + 1, sizeof(*m.heap));
	m.cuts[k + 1].at = s->n;
	for (size_t i = 1; i <= k; i++)
		m.cuts[i] = (struct cut){ .at = cuts[i - 1],
					  .before = i - 1,
					  .after = i + 1 };
	m.cuts[0].after = 1;
	m.cuts[k + 1].before = k;
	for (size_t i = 1; i <= k; i++) {
		m.cuts[i].strength = strength(&m, i);
		m.cuts[i].place = m.n++;
		settle(&m, i);
	}
	while (m.n && m.cuts[m.heap[0]].strength < 1)
		drop_weakest(&m);
	for (size_t i = m.cuts[0].after; i <= k; i = m.cuts[i].after)
		cuts[left++] = m.cuts[i].at;
	free(m.cuts);
	free(m.heap);
	return left;
}

static double step(const struct fl_sums *s, size_t from, size_t at, size_t to)
{
	return fabs(fl_sums_mean(s, at, to) - fl_sums_mean(s, from, at));
}

/*
 * Two changes in a row that are too small, and one that is large enough
 * without the stretch between them: a slope, or a change that took two nights.
 */
static size_t join(const struct fl_sums *s, size_t *cuts, size_t k,
		   double delta)
{
	size_t left = 0;

	for (size_t i = 0; i < k; i++) {
		size_t from = left ? cuts[left - 1] : 0;
		size_t to = i + 1 < k ? cuts[i + 1] : s->n;
		size_t end = i + 2 < k ? cuts[i + 2] : s->n;

		cuts[left] = cuts[i];
		if (i + 1 < k && step(s, from, cuts[i], to) < delta &&
		    step(s, cuts[i], to, end) < delta &&
		    step(s, from, cuts[i], end) >= delta) {
			cuts[i + 1] = cuts[i];
			continue;
		}
		left++;
	}
	return left;
}

size_t fl_detect_merge(const struct fl_sums *s, size_t *cuts, size_t k,
		       double delta, const struct fl_noise *noise)
{
	size_t left = join(s, cuts, drop_weak(s, cuts, k, noise), delta);
	size_t lo, hi;

	/* The longer stretches know better where they meet. */
	while (left < k) {
		k = left;
		for (size_t i = 0; i < k; i++)
			cuts[i] = fl_detect_place(
				s, i ? cuts[i - 1] : 0,
				i + 1 < k ? cuts[i + 1] : s->n, 0, 0, &lo, &hi);
		left = drop_weak(s, cuts, k, noise);
	}
	return left;
}

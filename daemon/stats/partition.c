// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Optimal partitioning with functional pruning (Maidstone, Hocking, Rigaill
 * and Fearnhead 2017), with a shortest stretch. Time grows with the number of
 * candidates alive, some ten to thirty, also where nothing changes: pruning by
 * cost alone (PELT) drops nothing there and takes time n squared.
 */
#include "partition.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "../util/err.h"

void fl_sums_init(struct fl_sums *s, const double *y, size_t n)
{
	s->n = n;
	s->y = y;
	s->s1 = fl_calloc(n + 1, sizeof(*s->s1));
	s->s2 = fl_calloc(n + 1, sizeof(*s->s2));
	s->s11 = fl_calloc(n + 1, sizeof(*s->s11));
	for (size_t i = 0; i < n; i++) {
		long double v = y[i];

		s->s1[i + 1] = s->s1[i] + v;
		s->s2[i + 1] = s->s2[i] + v * v;
		s->s11[i + 1] = s->s11[i] + (i ? v * y[i - 1] : 0);
	}
}

void fl_sums_clear(struct fl_sums *s)
{
	free(s->s1);
	free(s->s2);
	free(s->s11);
	*s = (struct fl_sums){ 0 };
}

double fl_sums_mean(const struct fl_sums *s, size_t from, size_t to)
{
	return (double)((s->s1[to] - s->s1[from]) / (long double)(to - from));
}

double fl_sums_sse(const struct fl_sums *s, size_t from, size_t to)
{
	long double sum = s->s1[to] - s->s1[from];
	long double sse =
		s->s2[to] - s->s2[from] - sum * sum / (long double)(to - from);

	return sse > 0 ? (double)sse : 0;
}

/* Innovations within one stretch, but for its first value. */
static double innovations(const struct fl_sums *s, size_t from, size_t to,
			  double rho)
{
	double mean = fl_sums_mean(s, from, to), sse = fl_sums_sse(s, from, to);
	double first = s->y[from] - mean, last = s->y[to - 1] - mean, product;

	product = (double)(s->s11[to] - s->s11[from + 1] -
			   mean * (s->s1[to] - s->s1[from + 1] + s->s1[to - 1] -
				   s->s1[from]) +
			   (long double)(to - from - 1) * mean * mean);
	return (1 + rho * rho) * sse - first * first - rho * rho * last * last -
	       2 * rho * product;
}

double fl_sums_step(const struct fl_sums *s, size_t from, size_t at, size_t to,
		    double rho)
{
	double old = s->y[at - 1] - fl_sums_mean(s, from, at);
	double new = s->y[at] - fl_sums_mean(s, at, to);
	double first = s->y[from] - fl_sums_mean(s, from, at);

	if (!(rho > 0))
		return fl_sums_sse(s, from, at) + fl_sums_sse(s, at, to);
	return first * first +
	       (innovations(s, from, at, rho) + innovations(s, at, to, rho) +
		(new - rho *old) * (new - rho *old)) /
		       (1 - rho * rho);
}

/* Levels [lo, hi] for which the last cut is best at `cut`. */
struct piece {
	double lo, hi;
	size_t cut;
};

struct pieces {
	struct piece *p;
	size_t n, cap;
};

static void add_piece(struct pieces *l, double lo, double hi, size_t cut)
{
	if (!(hi > lo))
		return;
	if (l->n && l->p[l->n - 1].cut == cut && l->p[l->n - 1].hi == lo) {
		l->p[l->n - 1].hi = hi;
		return;
	}
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->p = fl_realloc(l->p, l->cap * sizeof(*l->p));
	}
	l->p[l->n++] = (struct piece){ lo, hi, cut };
}

/*
 * A new candidate c against an old one, s: what comes after c costs both the
 * same at a given level, so s stays better exactly where the values between
 * them lie so close to the level that they cost less than F(c) - F(s).
 */
static void admit(const struct fl_sums *s, const double *best, size_t c,
		  const struct pieces *old, struct pieces *new)
{
	new->n = 0;
	for (size_t i = 0; i < old->n; i++) {
		const struct piece *p = &old->p[i];
		double room =
			best[c] - best[p->cut] - fl_sums_sse(s, p->cut, c);
		double mean, half, lo, hi;

		if (!(room > 0)) {
			add_piece(new, p->lo, p->hi, c);
			continue;
		}
		mean = fl_sums_mean(s, p->cut, c);
		half = sqrt(room / (double)(c - p->cut));
		lo = fmin(fmax(p->lo, mean - half), p->hi);
		hi = fmax(fmin(p->hi, mean + half), lo);
		add_piece(new, p->lo, lo, c);
		add_piece(new, lo, hi, p->cut);
		add_piece(new, hi, p->hi, c);
	}
}

/* The cheapest last cut of the first t values. */
static double cheapest(const struct fl_sums *s, const double *best,
		       double penalty, size_t t, const struct pieces *l,
		       size_t *from)
{
	double least = INFINITY;

	for (size_t i = 0; i < l->n; i++) {
		size_t c = l->p[i].cut;
		double cost = best[c] + penalty + fl_sums_sse(s, c, t);

		if (cost < least) {
			least = cost;
			*from = c;
		}
	}
	return least;
}

static size_t trace(const size_t *from, size_t n, size_t *cuts)
{
	size_t k = 0;

	for (size_t t = from[n]; t; t = from[t])
		cuts[k++] = t;
	for (size_t i = 0; i < k / 2; i++) {
		size_t x = cuts[i];

		cuts[i] = cuts[k - 1 - i];
		cuts[k - 1 - i] = x;
	}
	return k;
}

size_t fl_partition(const struct fl_sums *s, double penalty, size_t *cuts)
{
	_cleanup_free_ double *best = fl_calloc(s->n + 1, sizeof(*best));
	_cleanup_free_ size_t *from = fl_calloc(s->n + 1, sizeof(*from));
	struct pieces now = { 0 }, next = { 0 };
	const size_t min = FL_PARTITION_MIN;
	size_t k;

	if (s->n < 2 * min)
		return 0;
	best[0] = -penalty;
	add_piece(&now, -HUGE_VAL, HUGE_VAL, 0);
	for (size_t t = min; t <= s->n; t++) {
		/* Cuts at 1 and 2 would leave too short a beginning. */
		if (t >= 2 * min) {
			struct pieces swap = now;

			admit(s, best, t - min, &now, &next);
			now = next;
			next = swap;
		}
		best[t] = cheapest(s, best, penalty, t, &now, &from[t]);
	}
	k = trace(from, s->n, cuts);
	free(now.p);
	free(next.p);
	return k;
}

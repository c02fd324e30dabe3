// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The permutation test on the difference of two means, within strata. Called
 * by verdict.c and by whoever judges boot values; pure, random splits come
 * from the caller's seed; nothing here fails.
 *
 * With values centred in each stratum the weighted difference of means is a
 * fixed multiple of the sum of one side, so that sums are compared instead.
 */
#include "strata.h"

#include <math.h>
#include <stdlib.h>
#include "../util/err.h"

#define EXACT_MAX 200000.0
#define RANDOM_SPLITS 20000
/* Work bound of the random test: sides of more than 10,000 values get fewer
 * splits. */
#define RANDOM_WORK 200000000.0

/* A stratum with both sides: the smaller one is drawn. */
struct part {
	double *v;
	size_t n, k;
	double sign; /* of the drawn side's sum in the sum of side b */
	double *sums; /* of every split (all_splits), signed */
	size_t nsums;
};

struct pool {
	struct part *part;
	size_t n;
	size_t drawn; /* sum of k */
	double observed; /* |sum of side b| */
	double slack; /* rounding: sums this close count as equal */
	double hits;
};

/* splitmix64: one 64-bit state, any seed is fine. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static size_t random_below(uint64_t *state, size_t n)
{
	return (size_t)(((unsigned __int128)next_random(state) * n) >> 64);
}

/* C(n, k), or infinity once it passes the limit. */
static double splits(size_t n, size_t k)
{
	double c = 1;

	for (size_t i = 1; i <= k; i++) {
		c = c * (double)(n - k + i) / (double)i;
		if (c > 1e12)
			return HUGE_VAL;
	}
	return c;
}

static bool extreme(const struct pool *p, double sum)
{
	return fabs(sum) >= p->observed - p->slack;
}

/* The sum of every choice of k out of the part's n values. */
static void list_sums(struct part *p, size_t total)
{
	_cleanup_free_ size_t *at = fl_calloc(p->k, sizeof(*at));
	_cleanup_free_ double *sum = fl_calloc(p->k + 1, sizeof(*sum));
	size_t i = 0;

	p->sums = fl_calloc(total, sizeof(*p->sums));
	/* sum[i] is that of the first i members; only those behind the member
	 * that moved are summed anew. */
	for (;;) {
		for (; i < p->k; i++) {
			sum[i + 1] = sum[i] + p->v[at[i]];
			if (i + 1 < p->k)
				at[i + 1] = at[i] + 1;
		}
		p->sums[p->nsums++] = p->sign * sum[p->k];
		while (i > 0 && at[i - 1] == p->n - p->k + i - 1)
			i--;
		if (!i)
			break;
		at[--i]++;
	}
}

/* Every combination of the parts' splits; at most 17 parts deep. */
static void combine(struct pool *p, size_t at, double sum)
{
	const struct part *part = &p->part[at];

	for (size_t i = 0; i < part->nsums; i++) {
		if (at + 1 < p->n)
			combine(p, at + 1, sum + part->sums[i]);
		else
			p->hits += extreme(p, sum + part->sums[i]);
	}
}

static double random_splits(struct pool *p, size_t m, uint64_t seed)
{
	for (size_t s = 0; s < m; s++) {
		double sum = 0;

		for (size_t j = 0; j < p->n; j++) {
			struct part *q = &p->part[j];
			double drawn = 0;

			for (size_t i = 0; i < q->k; i++) {
				size_t o = i + random_below(&seed, q->n - i);
				double t = q->v[i];

				q->v[i] = q->v[o];
				q->v[o] = t;
				drawn += q->v[i];
			}
			sum += q->sign * drawn;
		}
		p->hits += extreme(p, sum);
	}
	return (p->hits + 1) / (double)(m + 1);
}

/* Returns the number of splits; *mirrored: each has its mirror image. */
static double fill_pool(struct pool *p, const struct fl_strata *s,
			bool *mirrored)
{
	double total = 1, sum = 0, scale = 0;

	*p = (struct pool){ .part = fl_calloc(s->n + 1, sizeof(*p->part)) };
	*mirrored = true;
	for (size_t i = 0; i < s->n; i++) {
		const struct fl_stratum *t = &s->s[i];
		struct part *q = &p->part[p->n];
		bool draw_a = t->na < t->nb;

		if (!t->na || !t->nb)
			continue;
		p->n++;
		*q = (struct part){ .v = t->a,
				    .n = t->na + t->nb,
				    .k = draw_a ? t->na : t->nb,
				    .sign = draw_a ? -1 : 1 };
		*mirrored &= t->na == t->nb;
		p->drawn += q->k;
		total *= splits(q->n, q->k);
		for (size_t j = 0; j < q->n; j++)
			scale += fabs(t->a[j]);
		for (size_t j = 0; j < t->nb; j++)
			sum += t->b[j];
	}
	p->observed = fabs(sum);
	p->slack = 1e-12 * scale;
	return total;
}

double fl_strata_permutation(struct fl_strata *s, uint64_t seed, double *min_p)
{
	size_t m = RANDOM_SPLITS;
	struct pool p;
	bool mirrored;
	double total, r = 1, least = 1;

	total = fill_pool(&p, s, &mirrored);
	if (!p.n || !isfinite(p.slack)) {
		/* nothing to deal out, or no numbers */
	} else if (total <= EXACT_MAX) {
		for (size_t i = 0; i < p.n; i++)
			list_sums(&p.part[i],
				  (size_t)splits(p.part[i].n, p.part[i].k));
		combine(&p, 0, 0);
		r = p.hits / total;
		least = (mirrored ? 2 : 1) / total;
	} else {
		if ((double)p.drawn * (double)m > RANDOM_WORK)
			m = (size_t)(RANDOM_WORK / (double)p.drawn);
		if (m < 999)
			m = 999;
		r = random_splits(&p, m, seed);
		least = 1 / (double)(m + 1);
	}
	for (size_t i = 0; i < p.n; i++)
		free(p.part[i].sums);
	free(p.part);
	if (min_p)
		*min_p = least;
	return r;
}

double fl_stats_permutation_blocks(const double *a, const int *block_a,
				   size_t na, const double *b,
				   const int *block_b, size_t nb, uint64_t seed,
				   double *min_p)
{
	const struct fl_side sa = { a, block_a, NULL, na };
	const struct fl_side sb = { b, block_b, NULL, nb };
	struct fl_strata s;
	double p;

	fl_strata_init(&s, &sa, &sb);
	p = fl_strata_permutation(&s, seed, min_p);
	fl_strata_clear(&s);
	return p;
}

double fl_stats_permutation(const double *a, size_t na, const double *b,
			    size_t nb, uint64_t seed, double *min_p)
{
	return fl_stats_permutation_blocks(a, NULL, na, b, NULL, nb, seed,
					   min_p);
}

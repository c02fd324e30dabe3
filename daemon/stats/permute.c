// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The permutation test on the difference of two means. Called by verdict.c
 * and by whoever judges boot values; pure, random splits come from the
 * caller's seed; nothing here fails.
 */
#include "stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "../util/err.h"

#define EXACT_MAX 200000.0
#define RANDOM_SPLITS 20000
/* Work bound of the random test: sides of more than 10,000 values get fewer
 * splits. */
#define RANDOM_WORK 200000000.0

/* All values around their common mean; the smaller side is the one drawn. */
struct pool {
	double *v;
	size_t n, k;
	double observed; /* |sum of the drawn side| */
	double slack; /* rounding: sums this close count as equal */
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

/*
 * With the values centred, the difference of means is a fixed multiple of the
 * drawn side's sum, so that sums can be compared instead.
 */
static bool extreme(const struct pool *p, double sum)
{
	return fabs(sum) >= p->observed - p->slack;
}

static double all_splits(const struct pool *p, double total)
{
	_cleanup_free_ size_t *at = fl_calloc(p->k, sizeof(*at));
	_cleanup_free_ double *sum = fl_calloc(p->k + 1, sizeof(*sum));
	size_t i = 0;
	double hits = 0;

	/* sum[i] is that of the first i members; only those behind the member
	 * that moved are summed anew. */
	for (;;) {
		for (; i < p->k; i++) {
			sum[i + 1] = sum[i] + p->v[at[i]];
			if (i + 1 < p->k)
				at[i + 1] = at[i] + 1;
		}
		hits += extreme(p, sum[p->k]);
		while (i > 0 && at[i - 1] == p->n - p->k + i - 1)
			i--;
		if (!i)
			break;
		at[--i]++;
	}
	return hits / total;
}

static double random_splits(struct pool *p, size_t m, uint64_t seed)
{
	size_t hits = 0;

	for (size_t s = 0; s < m; s++) {
		double sum = 0;

		for (size_t i = 0; i < p->k; i++) {
			size_t j = i + random_below(&seed, p->n - i);
			double t = p->v[i];

			p->v[i] = p->v[j];
			p->v[j] = t;
			sum += p->v[i];
		}
		hits += extreme(p, sum);
	}
	return (double)(hits + 1) / (double)(m + 1);
}

static void fill_pool(struct pool *p, const double *a, size_t na,
		      const double *b, size_t nb)
{
	double mean = 0, scale = 0, sum = 0;

	p->n = na + nb;
	p->k = na;
	p->v = fl_calloc(p->n, sizeof(*p->v));
	memcpy(p->v, a, na * sizeof(*a));
	memcpy(p->v + na, b, nb * sizeof(*b));
	for (size_t i = 0; i < p->n; i++)
		mean += (p->v[i] - mean) / (double)(i + 1);
	for (size_t i = 0; i < p->n; i++) {
		p->v[i] -= mean;
		scale += fabs(p->v[i]);
	}
	for (size_t i = 0; i < na; i++)
		sum += p->v[i];
	p->observed = fabs(sum);
	p->slack = 1e-12 * scale;
}

double fl_stats_permutation(const double *a, size_t na, const double *b,
			    size_t nb, uint64_t seed, double *min_p)
{
	size_t k = na < nb ? na : nb, m = RANDOM_SPLITS;
	struct pool p;
	double total, r;

	if (min_p)
		*min_p = 1;
	if (!na || !nb)
		return 1;
	if (na <= nb)
		fill_pool(&p, a, na, b, nb);
	else
		fill_pool(&p, b, nb, a, na);
	total = splits(na + nb, k);
	if (total <= EXACT_MAX) {
		r = all_splits(&p, total);
		/* Of equal sides each split has a mirror image. */
		if (min_p)
			*min_p = (na == nb ? 2 : 1) / total;
	} else {
		if ((double)k * (double)m > RANDOM_WORK)
			m = (size_t)(RANDOM_WORK / (double)k);
		if (m < 999)
			m = 999;
		r = random_splits(&p, m, seed);
		if (min_p)
			*min_p = 1 / (double)(m + 1);
	}
	free(p.v);
	return r;
}

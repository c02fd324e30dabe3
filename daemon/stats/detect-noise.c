// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a history scatters, from differences of neighbours (which a change of
 * level hardly touches), and its single spikes. Called by detect.c; pure.
 */
#include "detect-internal.h"

#include <math.h>
#include <stdlib.h>
#include "stats.h"
#include "../util/err.h"

#define MAD 0.6745
#define FAR_LAG 5
#define MAX_RHO 0.9
/* Fewer values say nothing of correlation: each change would spoil most of
 * the differences over FAR_LAG. */
#define MIN_FOR_RHO 60

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Variance of y[t+lag] - y[t], robust, over a few lags that tell the same:
 * one alone wastes a quarter of the precision. */
static double lag_variance(const double *y, size_t n, size_t first, size_t last,
			   bool *equal)
{
	_cleanup_free_ double *d = NULL;
	double m, keep = 0;
	size_t k = 0;

	d = fl_calloc((last - first + 1) * n + 1, sizeof(*d));
	for (size_t lag = first; lag <= last; lag++)
		for (size_t i = lag; i < n; i++)
			d[k++] = fabs(y[i] - y[i - lag]);
	if (!k)
		return 0;
	m = fl_stats_median(d, k) / MAD;
	*equal = !(m > 0);
	if (!*equal)
		return m * m;
	/* More than half are equal: rounded values, or no noise at all. The
	 * smaller nine tenths have the steps left out. */
	qsort(d, k, sizeof(*d), ascending);
	k = k * 9 / 10;
	for (size_t i = 0; i < k; i++)
		keep += d[i] * d[i];
	return k ? keep / (double)k : 0;
}

/* (1 - r) / (1 - r^5) falls from 1 at r = 0 to 0.244 at 0.9. */
static double solve_rho(double ratio)
{
	double lo = 0, hi = MAX_RHO;

	for (int i = 0; i < 40; i++) {
		double r = (lo + hi) / 2;

		if ((1 - r) / (1 - pow(r, FAR_LAG)) > ratio)
			lo = r;
		else
			hi = r;
	}
	return lo < 1e-9 ? 0 : lo;
}

void fl_detect_noise(const double *y, size_t n, double floor,
		     struct fl_detection *ret)
{
	bool equal = true;
	double near = lag_variance(y, n, 1, 1, &equal), far;

	ret->rho = 0;
	ret->sigma = sqrt(near / 2);
	if (n < MIN_FOR_RHO && !equal) {
		ret->sigma = sqrt(lag_variance(y, n, 1, 2, &equal) / 2);
	} else if (!equal) {
		far = lag_variance(y, n, FAR_LAG - 1, FAR_LAG + 1, &equal);
		if (far > 0)
			ret->rho = solve_rho(near / far);
		ret->sigma = sqrt(far / 2 / (1 - pow(ret->rho, FAR_LAG)));
	}
	if (floor > 0 && isfinite(floor))
		ret->sigma = fmax(ret->sigma, floor);
	ret->inflation = (1 + ret->rho) / (1 - ret->rho);
}

static double median3(const double *v, size_t n)
{
	if (n == 3)
		return fmax(fmin(v[0], v[1]), fmin(fmax(v[0], v[1]), v[2]));
	return n == 2 ? (v[0] + v[1]) / 2 : v[0];
}

/* Which side of the neighbours [from, to) y[i] lies on, when far off. */
static int far_off(const double *y, size_t i, size_t from, size_t to,
		   double limit)
{
	double d = y[i] - median3(y + from, to - from);

	return fabs(d) > limit ? (d > 0 ? 1 : -1) : 0;
}

/* The newest three are far off on one side: a level, and not set aside. */
static bool new_level(const double *y, size_t n, double limit)
{
	int side = 0;

	for (size_t i = n - 3; i < n; i++)
		side += far_off(y, i, n - 3 - FL_DETECT_SIDE, n - 3, limit);
	return abs(side) == 3;
}

/*
 * One window over both sides, as Hampel has it, would take the first values
 * of a new level at the end of the series for spikes; so both sides have to
 * agree, and the newest two values, of which only the past is known, are only
 * set aside.
 */
void fl_detect_spikes(const double *y, size_t n, double sigma, bool *out)
{
	const size_t side = FL_DETECT_SIDE;
	double limit = FL_DETECT_SPIKE * sigma;
	size_t hits = 0;

	for (size_t i = 0; i < n; i++)
		out[i] = false;
	if (n < 2 * side || !(sigma > 0))
		return;
	for (size_t i = 0; i < n - 2; i++) {
		size_t left = i < side ? 0 : i - side;
		size_t right = i + 1 + side > n ? n : i + 1 + side;
		int b = far_off(y, i, i + 1, right, limit);

		out[i] = b && (!i || far_off(y, i, left, i, limit) == b);
		hits += out[i];
	}
	/* What is that common is no exception. */
	for (size_t i = 0; i < n && hits > n / 4; i++)
		out[i] = false;
	for (size_t i = n - 2; i < n && !new_level(y, n, limit); i++)
		out[i] = far_off(y, i, n - 2 - side, n - 2, limit);
}

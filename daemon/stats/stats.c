// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mean, median and spread. Called wherever samples become one number; pure,
 * nothing here fails.
 */
#include "stats.h"

#include <math.h>
#include <string.h>
#include "../util/err.h"

double fl_stats_mean(const double *v, size_t n)
{
	double mean = 0;

	/* Running, so that large sums neither overflow nor lose digits. */
	for (size_t i = 0; i < n; i++)
		mean += (v[i] - mean) / (double)(i + 1);
	return n ? mean : NAN;
}

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double fl_stats_median(const double *v, size_t n)
{
	_cleanup_free_ double *s = NULL;
	double m;

	if (!n)
		return NAN;
	s = fl_calloc(n, sizeof(*s));
	memcpy(s, v, n * sizeof(*s));
	qsort(s, n, sizeof(*s), cmp_double);
	if (n % 2)
		return s[n / 2];
	m = s[n / 2 - 1];
	return m + (s[n / 2] - m) / 2;
}

double fl_stats_sd(const double *v, size_t n)
{
	double mean = fl_stats_mean(v, n), ss = 0;

	if (n < 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		ss += (v[i] - mean) * (v[i] - mean);
	return sqrt(ss / (double)(n - 1));
}

double fl_stats_mad_sd(const double *v, size_t n)
{
	_cleanup_free_ double *off = NULL;
	double m;

	if (n < 2)
		return 0;
	off = fl_calloc(n, sizeof(*off));
	m = fl_stats_median(v, n);
	for (size_t i = 0; i < n; i++)
		off[i] = fabs(v[i] - m);
	return fl_stats_median(off, n) / 0.6745;
}

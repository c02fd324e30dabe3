/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Optimal partitioning of a series into stretches of one level each: the
 * exact minimum, over all ways to cut, of the squares around the means of the
 * stretches plus a penalty per cut. Called by detect.c; pure, cannot fail.
 */
#ifndef FL_STATS_PARTITION_H
#define FL_STATS_PARTITION_H

#include <stddef.h>

/* Prefix sums of n values, of their squares and of products of neighbours:
 * entry i is the sum over the first i. Extended precision, since squares are
 * differences of two large numbers. */
struct fl_sums {
	const double *y; /* borrowed */
	long double *s1, *s2, *s11;
	size_t n;
};

void fl_sums_init(struct fl_sums *s, const double *y, size_t n);
void fl_sums_clear(struct fl_sums *s);
/* Mean and sum of squares around it of the values [from, to), to > from. */
double fl_sums_mean(const struct fl_sums *s, size_t from, size_t to);
double fl_sums_sse(const struct fl_sums *s, size_t from, size_t to);
/*
 * Squares of innovations, e[t] - rho e[t-1] with e around the mean of [from,
 * at) or of [at, to): what a first-order autoregression leaves of a step at
 * `at`, relative to (1 - rho squared). rho = 0: the sum of the two sse.
 */
double fl_sums_step(const struct fl_sums *s, size_t from, size_t at, size_t to,
		    double rho);

/* The shortest stretch. */
#define FL_PARTITION_MIN 3

/*
 * Writes the cuts, ascending, each the index of the first value after it, to
 * cuts (room for n / FL_PARTITION_MIN entries). Returns their number; 0 when
 * n < 2 * FL_PARTITION_MIN. Values should be near 0 and of the order of 1 to
 * 1e6 (the sums lose digits otherwise); penalty > 0.
 */
size_t fl_partition(const struct fl_sums *s, double penalty, size_t *cuts);

#endif

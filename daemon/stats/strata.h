/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two sides of boot values, sorted into strata (blocks of time, and modes
 * within them). What the t-test and the permutation test of this folder share;
 * nobody else's.
 */
#ifndef FL_STATS_STRATA_H
#define FL_STATS_STRATA_H

#include <stdbool.h>
#include "stats.h"

/* One side: n values, and their keys or NULL (all alike). */
struct fl_side {
	const double *v;
	const int *block, *mode;
	size_t n;
};

struct fl_stratum {
	double *a, *b; /* its values, centred on its mean; in fl_strata.v */
	size_t na, nb;
	double diff; /* mean(b) - mean(a) of the values; 0 unless both */
	double weight; /* na nb / (na + nb) */
	double ss; /* squares of the values around their side's mean */
};

struct fl_strata {
	struct fl_stratum *s;
	size_t n;
	double *v;
	size_t values;
	double effect; /* mean of diff, by weight; NaN when none is mixed */
	double weight; /* sum */
	double ss; /* residual squares, and their degrees of freedom */
	double df;
};

/* Copies; fl_strata_clear() frees. */
void fl_strata_init(struct fl_strata *s, const struct fl_side *a,
		    const struct fl_side *b);
void fl_strata_clear(struct fl_strata *s);

/* See fl_stats_blocked_t() and fl_stats_permutation_blocks(). The latter
 * shuffles the values of s within their strata. df_image: degrees of freedom
 * behind var_image; 0: it is known. */
struct fl_ttest fl_strata_t(const struct fl_strata *s, double s0sq, double d0,
			    double var_image, double df_image, double level);
double fl_strata_permutation(struct fl_strata *s, uint64_t seed, double *min_p);

#endif

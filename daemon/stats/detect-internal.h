/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between detect.c, detect-noise.c and detect-merge.c. */
#ifndef FL_STATS_DETECT_INTERNAL_H
#define FL_STATS_DETECT_INTERNAL_H

#include "detect.h"
#include "partition.h"

#define FL_DETECT_SPIKE 4.0 /* standard deviations */
#define FL_DETECT_SIDE 3 /* neighbours on either side */

/* What a boundary is tested against, in a series in units of its sigma. */
struct fl_noise {
	double rho, inflation;
	double weight; /* values that sigma counts for */
};

/* Sets sigma, rho and inflation; floor as in fl_detect_params. */
void fl_detect_noise(const double *y, size_t n, double floor,
		     struct fl_detection *ret);
/* out[i]: value i stands alone. The newest two only against their past. */
void fl_detect_spikes(const double *y, size_t n, double sigma, bool *out);

struct fl_boundary {
	double effect, se, df, p;
};
/* The levels of [from, at) and [at, to). */
struct fl_boundary fl_detect_test(const struct fl_sums *s, size_t from,
				  size_t at, size_t to,
				  const struct fl_noise *noise);
/*
 * Drops cuts, the weakest first, until each is real (FL_DETECT_ALPHA); joins
 * two that are below delta where together they are not; moves each to where
 * it is cheapest between its neighbours. Returns how many are left, ascending
 * in cuts.
 */
size_t fl_detect_merge(const struct fl_sums *s, size_t *cuts, size_t k,
		       double delta, const struct fl_noise *noise);
/* The cheapest cut between from and to, and the range of those that cost at
 * most `more` above it (fl_sums_step()). */
size_t fl_detect_place(const struct fl_sums *s, size_t from, size_t to,
		       double rho, double more, size_t *lo, size_t *hi);

#endif

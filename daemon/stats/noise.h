/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The noise model of one series (host, case, KPI, recipe): how much
 * repetitions, boots and images differ by themselves, and what that lets a
 * comparison see. All on the log scale. Pure; formulas and sources:
 * docs/STATISTICS.md, "The model".
 */
#ifndef FL_STATS_NOISE_H
#define FL_STATS_NOISE_H

#include <stddef.h>
#include <stdint.h>
#include "modes.h"

struct fl_noise_obs {
	int64_t image, boot;
	double value; /* log of one repetition, or of the boot's number */
};

/* How image noise is estimated. */
enum fl_noise_images {
	/* from the spread of image means: no-op rebuilds, or levels that
	 * have no step and no trend */
	FL_NOISE_SPREAD,
	/* from squared differences of neighbours, by their median: a history
	 * with a few steps */
	FL_NOISE_NEIGHBOURS,
	/* not at all: kernels of many branches, in no order */
	FL_NOISE_UNRELATED,
};

struct fl_noise_params {
	int mean; /* a boot's number is 0: the median, 1: the mean */
	enum fl_noise_images images;
	/* Prior on the variance of boot values, for the exact clock, where
	 * replays agree to the last digit: FL_NOISE_EXACT_S0SQ weighing as
	 * much as floor_nu0 boots. 0: none. */
	double floor_s0sq, floor_nu0;
};

/* A third of the smallest reportable shift of the exact clock, 0.05 %. */
#define FL_NOISE_EXACT_S0SQ (0.0005 / 3 * (0.0005 / 3))

struct fl_noise {
	size_t images, boots, values;
	double reps; /* mean repetitions a boot */
	double c_r; /* 1.57: median of 3 or more; 1: mean, one or two */
	/* Variances: of repetitions within a boot, of boots beyond that, of
	 * images beyond that. se2 is 0 without repetitions. Without two boots
	 * of any image boots and images cannot be told apart: all of it is
	 * su2, sa2 is 0 and df_u is 0. */
	double se2, su2, sa2;
	/* Degrees of freedom behind each. df_a is that of the spread of the
	 * levels, cut by the part of sa2 in it (Satterthwaite 1946). */
	double df_e, df_u, df_a;
	/* How likely images that are all alike look as different as these:
	 * F test of df_a and df_u; 1 when nothing is known. */
	double p_a;
	double var_y; /* of a boot value: su2 + c_r se2 / reps */
	double lambda; /* sa2 / var_y; 0 when var_y is 0 */
	double s0sq, d0; /* prior for comparisons, from the images' variances */
	struct fl_modes modes;
};

/*
 * Observations in order: all repetitions of a boot adjacent, all boots of an
 * image adjacent, images as in history. Only stretches without a step, or
 * rebuilds of one commit (FL_NOISE_NEIGHBOURS bears a few steps). Balanced or
 * not; values that are not finite are left out. Returns 0, or -ENODATA with
 * *ret zeroed when fewer than two boots are left, or no two of one image for
 * FL_NOISE_UNRELATED.
 */
int fl_noise_fit(const struct fl_noise_obs *obs, size_t n,
		 const struct fl_noise_params *params, struct fl_noise *ret);

/* Sets c_r, var_y and lambda of a model that was kept elsewhere, from its reps
 * and variances: boots are taken to have had medians, all of as many. */
void fl_noise_derive(struct fl_noise *m);

/*
 * Prior (s0sq, d0) of the variance from past variances s2[i] with df[i]
 * degrees of freedom each, by the method of moments on log s2 (Smyth 2004,
 * limma's fitFDist). d0 is at most the sum of df. Fewer than three usable
 * ones, or all zero: s0sq = d0 = 0, no prior. s0sq > 0 whenever d0 > 0.
 */
void fl_noise_prior(const double *s2, const double *df, size_t n, double *s0sq,
		    double *d0);

/* Repetitions a boot that tell most for a given time (Kalibera and Jones
 * 2013); costs in any one unit, both > 0. 1 to max; max when boots agree. */
size_t fl_noise_best_reps(const struct fl_noise *m, double cost_boot,
			  double cost_rep, size_t max);

/*
 * The smallest effect (|log ratio|) that n boots a side detect at two-sided
 * alpha with this power. The offset of the two images is part of it, and does
 * not shrink with n. Infinite for n < 2.
 */
double fl_noise_resolves(const struct fl_noise *m, size_t n, double alpha,
			 double power);

/* Boots a side for that effect, 2 to max; 0: not even max resolve it. */
size_t fl_noise_boots_needed(const struct fl_noise *m, double effect,
			     double alpha, double power, size_t max);

/* Exact clock: the smallest reportable |log ratio|, max(log 1.0005, 3 x the
 * spread of a boot value over boots and images). */
double fl_noise_exact_floor(const struct fl_noise *m);

#endif

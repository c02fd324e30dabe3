/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Boots that fall into two modes (a fast and a slow one, by luck of the
 * boot): found in the history of a series, used to judge a pair. Pure.
 */
#ifndef FL_STATS_MODES_H
#define FL_STATS_MODES_H

#include <stddef.h>

#define FL_MODES_MIN 20 /* residuals below which nothing is called bimodal */

struct fl_modes {
	int bimodal; /* 0: one mode, the rest is not meant */
	double cut; /* residual between the modes */
	double low, high; /* their centres, as residuals */
	double upper; /* share of boots in the higher one */
	double sd; /* within a mode */
	double within; /* share of the variance that is within the modes */
};

/*
 * Residuals (log value minus the level of its image or stretch). Two normal
 * components of one variance, fitted by EM, against one normal and one t with
 * 3 degrees of freedom, by BIC; fires on less than 1 % of normal and t3 noise
 * at n = 60. Of more than 1,000 values the quantiles are fitted. Fewer than
 * FL_MODES_MIN values, constant or not finite: none.
 */
void fl_modes_find(const double *residuals, size_t n, struct fl_modes *ret);

/*
 * Which of n pooled log values lie in the higher mode: the common level is
 * the likeliest one given the modes. Sides play no part, so permuting labels
 * afterwards is fair. upper[i] is set to 0 or 1.
 */
void fl_modes_assign(const struct fl_modes *modes, const double *v, size_t n,
		     int *upper);

/*
 * Two-sided Fisher's exact test: ka of na and kb of nb boots in one mode
 * (Fisher 1935: all tables that are at most as likely). 1 for an empty side
 * or counts that cannot be.
 */
double fl_modes_fisher(size_t ka, size_t na, size_t kb, size_t nb);

#endif

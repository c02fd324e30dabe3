/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much a host's numbers differ by themselves: the noise model of each case
 * and KPI, made from all boots of the series and kept as rows. Comparisons and
 * bisections take their priors from it.
 */
#ifndef FL_NOISE_H
#define FL_NOISE_H

#include "plan-need.h"
#include "stats/noise.h"

/* As a prior the history weighs at most this many degrees of freedom: it may
 * not outvote the boots at hand. */
#define FL_NOISE_MAX_NU0 20

/* Makes the rows of every case and KPI of the target's job anew. */
int fl_noise_refresh(struct fl_target *t, struct fl_err *err);

/*
 * What is known of one series; all zero (no prior, one mode) before its first
 * update. sa2 counts only where df_a is positive.
 */
int fl_noise_known(struct fl_target *t, int64_t case_id, int64_t kpi_id,
		   struct fl_noise *ret, struct fl_err *err);

#endif

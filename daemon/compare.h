/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A comparison: two kernels, one host, one job. Measures what is missing,
 * judges every case and KPI, and under the exact clock looks again at what
 * moved with the string instructions shown to the guest.
 */
#ifndef FL_COMPARE_H
#define FL_COMPARE_H

#include "plan-need.h"
#include "stats/looks.h"

/*
 * Call until it is not PENDING. READY: the rows of *id are final.
 * UNAVAILABLE: one side does not build or boot; the comparison's row is
 * failed and says which and why. boots: a side; 0 under the wall clock: as
 * many as it takes, at the looks of stats/looks.h. Under the wall clock both
 * sides are measured afresh and in turn; under the exact clock earlier boots
 * count, since they would repeat.
 */
int fl_compare_advance(struct fl_target *t, const char *base_sha,
		       const char *head_sha, int64_t boots, int64_t *id,
		       struct fl_err *err);

/* ---- compare-judge.c ---------------------------------------------------- */

/* The plan of a comparison's boots; NULL: a fixed number. */
const struct fl_looks *fl_compare_looks(const struct fl_comparison *c);

/*
 * Judges every KPI of every case by the boots of the looks up to `look` and
 * writes the rows. Cases that moved are added to moved; unclear becomes the
 * set of those that the next look might decide. Returns 0.
 */
int fl_compare_judge(struct fl_target *t, const struct fl_comparison *c,
		     size_t look, struct fl_caseset *moved,
		     struct fl_caseset *unclear, struct fl_err *err);

/* |log ratio| that matters for this case and KPI. */
double fl_compare_threshold(const struct fl_target *t, const char *case_name,
			    const char *kpi);

/* The smallest |log ratio| an exact comparison may report, given the spread
 * of perturbed runs (STATISTICS, exact clock). */
double fl_compare_exact_floor(double spread);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bisection as rows: the graph between two commits, what was measured, what
 * is believed, and the culprit with its evidence. The engine (bisect/) is
 * fed from rows at every call, so that nothing is lost by a kill.
 */
#ifndef FL_BISECTION_H
#define FL_BISECTION_H

#include "plan-need.h"

struct fl_bisection_new {
	int64_t comparison_id, case_id, kpi_id;
	const char *side; /* "head" or "base" */
	const char *good_sha, *bad_sha; /* good: an ancestor of bad */
	int64_t parent_id; /* the bisection of which this is a stretch, or 0 */
};

/* Makes the row and its graph (or finds them). */
int fl_bisection_open(struct fl_target *t, const struct fl_bisection_new *n,
		      int64_t *id, struct fl_err *err);

/*
 * Opens the stretches before and after a culprit that explains clearly less
 * than the change, or more, for one of these rows (FL_ROWS_BISECTIONS_OF).
 * Returns how many were opened.
 */
int fl_bisection_open_rest(struct fl_target *t, const json_t *bisections,
			   struct fl_err *err);

/*
 * One look: takes in what was measured since, writes steps, asks for the
 * next boots (at most `parallel` commits at once, with the cases of watch
 * beside its own and the control), verifies a candidate. READY when the
 * bisection's status is final.
 */
int fl_bisection_advance(struct fl_target *t, int64_t id,
			 const struct fl_caseset *watch, int parallel,
			 struct fl_err *err);

/* ---- bisection-verify.c ------------------------------------------------- */

/* The whole change and what noise it was seen through. */
struct fl_bisection_change {
	double effect, se; /* bad minus good, log ratio */
	double floor; /* exact clock: smallest reportable; 0: wall clock */
};

/*
 * Culprit (b->culprit_sha) against each parent, in boots that the search has
 * not seen, on every case that moved; and on top of the other side. READY:
 * b->status, reason and shares are set: found (attribution rows are written)
 * or not-verified.
 */
int fl_bisection_verify(struct fl_target *t, struct fl_bisection *b,
			const struct fl_bisection_change *change,
			struct fl_err *err);

#endif

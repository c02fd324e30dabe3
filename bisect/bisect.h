/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bisection engine: which commit moved a number, how sure are we, what
 * to measure next. Pure: no I/O, no clock, no randomness, no threads; the same
 * calls give the same answers, so it can be simulated a million times.
 *
 * Commits are indices 0 … n-1 in topological order, parents first. Index 0 is
 * the good end point (it cannot be the culprit), n-1 the bad one. Hypothesis
 * c: every commit that has c as ancestor-or-self is on the bad level, all
 * others on the good level. Both levels and the noise variance are unknown
 * and integrated out (docs/STATISTICS.md, "Bisection").
 *
 * Values are natural logarithms of KPI values: effects are ratios.
 */
#ifndef FL_BISECT_BISECT_H
#define FL_BISECT_BISECT_H

#include <stdbool.h>
#include <stddef.h>

struct fl_bisect;

struct fl_bisect_commit {
	/* indices below its own; those outside of the range are left out */
	const int *parents;
	int nparents;
	/* relative prior weight >= 0; 0: cannot change the image */
	double prior;
};

/* The noise model: prior on the variance of one boot value. */
struct fl_bisect_noise {
	double s0sq; /* > 0: prior variance (log scale) */
	double nu0; /* >= 0: its weight in degrees of freedom */
	double lambda; /* sa² ÷ boot variance: layout noise of an image */
};

struct fl_bisect_params {
	bool exact; /* exact clock: the gate of that clock */
	double confidence; /* stop at this class mass, e.g. 0.95 */
	double min_effect; /* |log ratio| below which the gate says no */
	int gate_min_boots; /* boots an end point needs: exact 2, wall 5 */
	int gate_max_boots; /* per end point; then DOES_NOT_REPRODUCE */
	double gate_t; /* wall clock: |t| needed, e.g. 4 */
	int max_runs; /* budget of boots; 0 = none */
	/* the host is known to drift: the gate compares boots of the same
	 * period only */
	bool by_period;
};

/* n >= 2. parents and prior are copied. NULL when the graph is malformed
 * (a parent at or above its child, a negative or non-finite prior, no
 * candidate with a positive prior) or the noise model is out of its range.
 * Commits that are not ancestors-or-self of n-1, index 0 apart, are malformed
 * too. */
struct fl_bisect *fl_bisect_new(const struct fl_bisect_commit *commits, int n,
				const struct fl_bisect_noise *noise,
				const struct fl_bisect_params *params);
void fl_bisect_free(struct fl_bisect *b);

/* One boot value of commit i. Non-finite values are refused: -1. The gate
 * looks after each value of an end point: after a restart add them in the
 * order in which they were measured. */
int fl_bisect_add(struct fl_bisect *b, int i, double log_value);
/*
 * Boots that are added from now on belong to this period (0 to begin with,
 * never falling). Within a period the host is taken to be steady; from one to
 * the next it may have drifted, and then that is part of the model. next()
 * begins a period with an end point, or both. Do not use with replays: the exact
 * clock does not drift.
 */
void fl_bisect_period(struct fl_bisect *b, int period);
/* i cannot be tested (does not build or boot); it can still be the culprit.
 * An end point that is skipped before the gate ends the search. */
void fl_bisect_skip(struct fl_bisect *b, int i);
/* Seconds to test i once more: run_s, plus build_s when it has no image. */
void fl_bisect_cost(struct fl_bisect *b, int i, double build_s, double run_s);
/* boots of i are under way and will be added or skipped later: next chooses
 * what is best beside them. Set to 0 when they are back. */
void fl_bisect_pending(struct fl_bisect *b, int i, int boots);

enum fl_bisect_state {
	FL_BISECT_GATE, /* the end points are being measured */
	FL_BISECT_SEARCH,
	FL_BISECT_FOUND, /* one class holds >= confidence */
	FL_BISECT_SHORTLIST, /* budget spent, or nothing left to test */
	FL_BISECT_DOES_NOT_REPRODUCE, /* the end points do not differ */
};
const char *fl_bisect_state_str(enum fl_bisect_state s);

/* Recomputes everything below from what was added. */
enum fl_bisect_state fl_bisect_update(struct fl_bisect *b);

/* n values that sum to 1 over the candidates; owned by b, valid until the
 * next update. */
const double *fl_bisect_posterior(const struct fl_bisect *b);

/* Probability that commit i is on the bad level; NaN for no commit. */
double fl_bisect_p_bad(const struct fl_bisect *b, int i);

/*
 * The best commits to boot next, most useful first: at most k, written to
 * out; the same commit may appear twice (end points at the gate). 0 when the
 * state is final. Skipped commits never appear; tested ones do when another
 * boot of them tells most (exact clock: perturb it, a replay tells nothing).
 */
int fl_bisect_next(const struct fl_bisect *b, int k, int *out);

/*
 * The answer: the smallest set of classes whose mass reaches confidence,
 * most probable first. A class holds candidates that no testable commit
 * separates. Writes at most max indices to out; returns how many there are;
 * *mass is their summed posterior. None when the end points do not differ.
 */
int fl_bisect_answer(const struct fl_bisect *b, int max, int *out,
		     double *mass);

/* Levels (log values) and noise as believed now, given the most probable
 * hypothesis. */
struct fl_bisect_levels {
	double good, bad; /* means */
	double sigma; /* standard deviation of one boot value */
	double t; /* end points' difference over its standard error */
	bool third_level; /* some tested commit is > 4 SE from both */
	int third_commit; /* which, or -1 */
	double drift; /* probability that the host drifts; good and bad are
		       * then the levels of the last period */
};
void fl_bisect_get_levels(const struct fl_bisect *b,
			  struct fl_bisect_levels *ret);

/* Boots added so far, of i or (i < 0) of all. */
int fl_bisect_boots(const struct fl_bisect *b, int i);

#endif

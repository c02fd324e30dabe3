/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics of comparisons: the only includer of <Rmath.h>. Pure functions
 * of their arguments; random permutations take a seed. Formulas and sources:
 * docs/STATISTICS.md.
 */
#ifndef FL_STATS_STATS_H
#define FL_STATS_STATS_H

#include <stddef.h>
#include <stdint.h>

double fl_stats_mean(const double *v, size_t n);
/* Median of n >= 1 values; v is not changed. */
double fl_stats_median(const double *v, size_t n);
/* Sample standard deviation; 0 for n < 2. */
double fl_stats_sd(const double *v, size_t n);
/* Scaled median absolute deviation (0.6745); 0 for n < 2. */
double fl_stats_mad_sd(const double *v, size_t n);

/*
 * Two-sided permutation test on the difference of means. All splits when
 * there are at most 200,000 (exact), else 20,000 random ones with
 * p = (b+1)/(m+1). Returns p in (0, 1]; 1 when na or nb is 0.
 * min_p (may be NULL): the smallest p that these sizes allow.
 */
double fl_stats_permutation(const double *a, size_t na, const double *b,
			    size_t nb, uint64_t seed, double *min_p);

/*
 * Moderated t (Smyth 2004): variance pooled with the prior (s0sq, d0).
 * d0 = 0: Welch-free ordinary pooled t. Values are logs; effect = mean(b) -
 * mean(a).
 */
struct fl_ttest {
	double effect, se, df, t, p; /* p two-sided */
	double lo, hi; /* confidence interval at `level` */
};
/* level e.g. 0.95. na, nb >= 1; with d0 = 0 na + nb >= 3, else all NaN. Without
 * any spread and prior t is infinite, p 0 and the interval a point. */
struct fl_ttest fl_stats_moderated_t(const double *a, size_t na,
				     const double *b, size_t nb, double s0sq,
				     double d0, double level);

enum fl_verdict { FL_SAME, FL_BETTER, FL_WORSE, FL_UNCLEAR };
const char *fl_verdict_str(enum fl_verdict v); /* "same", "better", … */
int fl_verdict_parse(const char *s); /* negative when unknown */

struct fl_compare_params {
	int better; /* +1 higher is better, -1 lower, 0: never judged */
	double delta; /* |log ratio| that matters (the threshold) */
	double alpha; /* significance, e.g. 0.05 */
	/* exact clock: the smallest reportable |log ratio|
	 * (max(log 1.0005, 3 x spread of perturbed runs)); 0: wall clock */
	double exact_floor;
	double s0sq, d0; /* prior of the noise model */
	uint64_t seed;
};

struct fl_compare_result {
	enum fl_verdict verdict;
	/* log ratio head/base and its 1-alpha interval; exact clock: at least
	 * +-exact_floor. All NaN when there is nothing to compare. */
	double effect, lo, hi;
	double p; /* permutation p; NaN under the exact clock */
	double sd_a, sd_b; /* of the log values */
	/* unclear: the largest |effect| that could still hide (may be
	 * infinite); else 0 */
	double hidden;
	int shift; /* 1: real and at least delta; never when better is 0 */
};

/*
 * Boot values (logs, one a boot) of base (a) and head (b).
 * Wall clock: STATISTICS "Two kernels": better/worse when the permutation p
 * (where it can) and the moderated t are below alpha and |effect| >= delta;
 * same when the 1-2*alpha interval lies inside +-delta; else unclear.
 * Exact clock: the spread over perturbed runs is the noise; better/worse when
 * |effect| >= max(delta, exact_floor) - a shift -; same when below.
 */
void fl_stats_compare(const double *a, size_t na, const double *b, size_t nb,
		      const struct fl_compare_params *params,
		      struct fl_compare_result *ret);

/*
 * Does a culprit differ from one parent, in fresh interleaved boots (logs)?
 * `total` is the effect that was bisected, bad minus good, with its standard
 * error. Wall clock: moderated t below alpha (plan at least 8 boots a side and
 * look once). Exact clock (exact_floor > 0): |effect| >= exact_floor. Either
 * way in the direction of the total.
 */
struct fl_verify_params {
	double total, total_se;
	double alpha;
	double exact_floor;
	double s0sq, d0; /* prior of the noise model */
};

struct fl_verify_result {
	double effect, lo, hi, p; /* culprit minus parent, log ratio */
	/* Part of the total with its interval (Fieller); the interval is
	 * unbounded where the total is not clearly different from zero. */
	double share, share_lo, share_hi;
	int confirmed;
};

void fl_stats_verify(const double *parent, size_t np, const double *culprit,
		     size_t nc, const struct fl_verify_params *params,
		     struct fl_verify_result *ret);

#endif

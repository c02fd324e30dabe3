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
#include "looks.h"
#include "modes.h"

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
 * The same with boots in blocks: labels are dealt anew only within a block,
 * so that drift between blocks cannot look like an effect. block_a[na] and
 * block_b[nb] are ids; NULL: one block. The statistic is the sum over blocks
 * of the values around their block's mean. A block with boots of one side
 * only adds nothing; when there are no others, p = min_p = 1.
 */
double fl_stats_permutation_blocks(const double *a, const int *block_a,
				   size_t na, const double *b,
				   const int *block_b, size_t nb, uint64_t seed,
				   double *min_p);

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

/*
 * The same within blocks: the effect is the mean of the blocks' differences,
 * each weighted by na*nb/(na+nb) of that block, and the level of every block
 * is estimated (two-way analysis of variance without interaction). NULL: one
 * block, as above. var_image is the variance of an image's own offset
 * (sa2 of the noise model): boots do not average it away, so twice that is
 * added to se squared. All NaN when no block holds both sides.
 */
struct fl_ttest fl_stats_blocked_t(const double *a, const int *block_a,
				   size_t na, const double *b,
				   const int *block_b, size_t nb, double s0sq,
				   double d0, double var_image, double level);

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
	/* What follows may be zero: one look, one block, images without an
	 * offset of their own, one mode. */
	const struct fl_looks *looks; /* NULL: one look with all of alpha */
	const int *block_a, *block_b; /* ids parallel to a and b, or NULL */
	/* sa2 and df_a of the noise model; df_image 0: sa2 is known */
	double var_image, df_image;
	const struct fl_modes *modes; /* of the history, or NULL */
};

struct fl_compare_result {
	enum fl_verdict verdict;
	/* log ratio head/base and its 1-alpha interval; exact clock: at least
	 * +-exact_floor. All NaN when there is nothing to compare. With looks
	 * alpha is that of this look (wider; holds over all looks together).
	 * With modes: within the modes, unless their shares moved. */
	double effect, lo, hi;
	double p; /* permutation p; NaN under the exact clock */
	double sd_a, sd_b; /* of the log values */
	/* unclear: the largest |effect| that could still hide (may be
	 * infinite); else 0 */
	double hidden;
	int shift; /* 1: real and at least delta; never when better is 0 */

	double p_t; /* of the moderated t; NaN under the exact clock */
	/* p_t / share of this look, at most 1: a p that may be compared with
	 * all of alpha, and with other series (fdr.h) */
	double p_look;
	double p_adjusted; /* set by fl_fdr_results(); else NaN */
	int look; /* index of this look, 0 without a plan; -1: too few boots */
	double alpha; /* of this look */
	size_t next; /* boots a side of the next look; 0: there is none */
	size_t more; /* the same when it is wanted: judged, and unclear */
	/* 1: the boots spread far more than the prior says (F-test, 10 %); it
	 * was dropped, and the verdict stands on these boots alone. */
	int noisy;
	/* With modes: boots in the higher one and Fisher's p of these counts;
	 * by_modes: the shift is one of the shares. Else 0, NaN, 0. */
	size_t upper_a, upper_b;
	double p_modes;
	int by_modes;
};

/*
 * Boot values (logs, one a boot) of base (a) and head (b).
 * Wall clock: STATISTICS "Two kernels": better/worse when the permutation p
 * (where it can) and the moderated t are below alpha and |effect| >= delta;
 * same when the 1-2*alpha interval lies inside +-delta; else unclear. With
 * looks, alpha is this look's share and "unclear" says in `more` how many
 * boots a side to have before calling again; call once a look. With blocks of
 * which none holds both sides the verdict is unclear: drift and effect cannot
 * be told apart. Without any spread and prior the permutation decides alone.
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine's files share. bisect.c owns the object and the states,
 * bisect-gate.c the gate, bisect-graph.c ancestry, distances and classes,
 * bisect-belief.c the posterior, bisect-drift.c the one of a host that drifts,
 * bisect-choice.c the next test, bisect-batch.c the next few and
 * bisect-answer.c what is said. Nothing outside bisect/ and its unit tests
 * includes this.
 */
#ifndef FL_BISECT_INTERNAL_H
#define FL_BISECT_INTERNAL_H

#include <stdint.h>
#include "bisect.h"

/* Sums over hypotheses are taken for this many weightings at once. */
#define FL_LANES 8
/* Lanes of fl_bisect.side: p, and the levels' first and second moments
 * around the end points' means. */
enum { LANE_P, LANE_B, LANE_BB, LANE_G, LANE_GG };

/* The boots of one commit in one period. */
struct fl_cell {
	int period, n;
	double mean, ss;
};

struct fl_obs {
	int boots;
	double mean, ss; /* of the boot values; squares around the mean */
	struct fl_cell *cell; /* in order of time */
	int ncells;
	double adjusted; /* the mean, less what the host has drifted since */
	double build_s, run_s;
	bool skipped;
	int pending;
	/* Sum of 2^(-distance/8) over skipped and over tested commits. */
	double near_skip, near_test;
};

/* The values of an end point, in order of size. */
struct fl_end {
	double *v;
	int n, cap;
	int since; /* boots of other commits since its last */
};

struct fl_bisect {
	int n;
	struct fl_bisect_noise noise;
	struct fl_bisect_params params;

	/* Edges in both directions: those of i are [start[i], start[i+1]). */
	int *par_start, *par, *chi_start, *chi;
	/*
	 * Ancestors-or-self, 64 hypotheses a block: bit c % 64 of
	 * block(c / 64)[x] says that c is an ancestor of x or x. Rows above a
	 * block's first commit are zero and not stored.
	 */
	int nblocks;
	size_t *block_off;
	uint64_t *bits;

	double *prior; /* sums to 1; 0 for index 0 */
	struct fl_obs *obs;
	struct fl_end ends[2]; /* good, bad */
	int total; /* boots of all commits */
	bool gate_passed;
	int period; /* of the boots that are added now */
	bool periods; /* there has been more than one */
	double cell_ss; /* squares within commits and periods */
	int cell_dof;

	/* Results of the last update. */
	enum fl_bisect_state state;
	bool measured; /* both ends have values: the posterior is one */
	double *post, *level_b, *level_g; /* by hypothesis, levels centred */
	double *mass_b, *mass_g; /* O_b, O_g */
	double drift; /* probability that the host drifts */
	double centre; /* what was subtracted from the values */
	double ref_b, ref_g; /* end points' means, centred */
	double var, var_level_b, var_level_g; /* expected over hypotheses */
	int map; /* the most probable hypothesis */
	double map_var;
	double *side; /* n x FL_LANES: sums over the ancestors of x */
	double lane_total[FL_LANES];
	double *bound; /* upper bound of the score of each commit */
	int best; /* commit to test next, or -1 */
	double best_info; /* nats of one boot of it */

	/* Classes of inseparable candidates. */
	bool classes_stale;
	int *class_of; /* by commit; -1: no candidate */
	int nclasses;
	double *class_mass;
	int best_class;
};

/* True when tests can tell sides at i: it was measured or still can be. */
static inline bool fl_bisect_testable(const struct fl_bisect *b, int i)
{
	return !b->obs[i].skipped || b->obs[i].boots > 0;
}

/* Words of block j, indexed by commit; valid from commit 64 * j on. */
static inline const uint64_t *fl_bisect_block(const struct fl_bisect *b, int j)
{
	return b->bits + b->block_off[j] - (size_t)64 * j;
}

static inline bool fl_bisect_has(const struct fl_bisect *b, int x, int c)
{
	return x >= c && (fl_bisect_block(b, c / 64)[x] >> (c % 64) & 1);
}

/* bisect-graph.c. graph_init takes parents that were checked; false when a
 * commit other than 0 is no ancestor of the last. */
bool fl_bisect_graph_init(struct fl_bisect *b,
			  const struct fl_bisect_commit *commits);
void fl_bisect_graph_clear(struct fl_bisect *b);
/* out[x] = sum of w[c] over the candidates c at or above x, each lane. */
void fl_bisect_graph_sums(const struct fl_bisect *b, const double *w,
			  double *out);
/* A commit became tested or skipped: adds its weight to those near it. */
void fl_bisect_graph_near(struct fl_bisect *b, int i, bool skip);
void fl_bisect_graph_classes(struct fl_bisect *b);

/* bisect-gate.c. ends_differ: bad minus good, and its standard error, which
 * is 0 while unknown. gate_look: a value of end point i was added. */
double fl_bisect_ends_differ(const struct fl_bisect *b, double *se);
void fl_bisect_gate_look(struct fl_bisect *b, int i, double value);
enum fl_bisect_state fl_bisect_gate_state(const struct fl_bisect *b);
int fl_bisect_gate_next(const struct fl_bisect *b, int k, int *out);
int fl_bisect_ends_due(const struct fl_bisect *b, int k, int *out);
bool fl_bisect_budget_spent(const struct fl_bisect *b);
/* A t value as the normal deviate of the same tail, so that "4 standard
 * errors" means the same with few degrees of freedom (Wallace 1959). */
double fl_bisect_t_to_z(double t, double dof);

/* bisect-belief.c */
void fl_bisect_believe(struct fl_bisect *b);

/*
 * bisect-drift.c. Arrays by hypothesis like those of fl_bisect, levels as they
 * are now; weight: the posterior; evidence: log marginal likelihood, on the
 * scale of the sum of bisect-belief.c's log weights. False, and nothing is
 * filled, when there is but one period.
 */
struct fl_drift {
	double *weight, *var, *level_b, *level_g, *mass_b, *mass_g;
	double evidence;
};
bool fl_bisect_drift_weigh(struct fl_bisect *b, struct fl_drift *d);

/* Hypotheses below this are left out of the sums: they move no choice, and
 * whole blocks of them are skipped. */
#define FL_NEGLIGIBLE 1e-13

/* How commit x splits the hypotheses, and what its values would look like. */
struct fl_split {
	double q; /* P(x is bad) */
	double d; /* between the sides' expected values */
	double spread_g, spread_b; /* variance of the level within a side */
	double level; /* variance of a level given the hypothesis */
	double h; /* share of a level that shows through x's own offset */
	double entropy; /* of q, in nats */
};

/* bisect-choice.c. noise_of: variance of the mean of r more boots, given
 * hypothesis and data. */
void fl_bisect_choose(struct fl_bisect *b);
struct fl_split fl_bisect_split(const struct fl_bisect *b, int x);
double fl_bisect_noise_of(const struct fl_bisect *b, const struct fl_split *s,
			  int r);
double fl_bisect_fail_chance(const struct fl_obs *o);
/* bisect-batch.c */
int fl_bisect_choose_batch(const struct fl_bisect *b, int k, int *out);
/* Mutual information in nats between a side (second with probability q) and
 * a measurement distributed N(0, v0) on the first, N(d, v1) on the second. */
double fl_bisect_information(double q, double d, double v0, double v1);

#endif

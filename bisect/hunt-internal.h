/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the hunt's files share. hunt.c owns the object and the log of what was
 * measured, hunt-state.c the states, hunt-stretch.c the part of the graph that
 * is being searched, hunt-verify.c candidates, verification and shares.
 * Nothing outside bisect/ includes this.
 */
#ifndef FL_BISECT_HUNT_INTERNAL_H
#define FL_BISECT_HUNT_INTERNAL_H

#include "hunt.h"

/* A merge of more lines than this is measured against the first ones. */
#define FL_HUNT_PARENTS 15
/* Rejected candidates of one search, after which it gives up. */
#define FL_HUNT_REJECTS 6
/* Boots that the search of a further stretch may take: its gate may have been
 * opened by chance, and then nothing in there can be found. */
#define FL_HUNT_STRETCH_BOOTS 80

/* One thing that came in. The log keeps their order. */
struct fl_hunt_event {
	bool skip;
	int commit;
	enum fl_hunt_role role;
	double value;
	bool searched; /* a value that the searches may use */
	int period; /* of the host's drift */
};

/*
 * A part of the graph to be searched: what bad contains and neither good nor
 * minus do. Only commits that contain good can be told apart by a boot: the
 * others lack whatever else good contains.
 */
struct fl_hunt_stretch {
	int good, bad;
	int minus; /* -1: nothing */
	bool unsplit; /* is not split at a third level */
	int inside; /* the culprit whose set this refines, or -1 */
	int unless; /* >= 0: only while there are no more culprits than that */
};

struct fl_hunt {
	int n;
	struct fl_bisect_commit *commits; /* as given, copied */
	int *parents;
	struct fl_bisect_noise noise;
	struct fl_hunt_params params;

	struct fl_hunt_event *log;
	int nlog, cap_log, done; /* those before `done` were worked off */
	int boots;
	int started; /* values before the first gate opened, or -1 */
	int worked; /* values that were worked off */
	bool drifts; /* some search found that the host does */
	bool missing; /* a part of the change is known to be unexplained */

	/* By commit. */
	bool *skipped;
	double *build_s, *run_s, *post;
	int *pending[2]; /* by role */

	/* The search that goes on, or was the last. */
	struct fl_hunt_stretch now;
	struct fl_bisect *engine;
	int *global, *local, nlocal; /* local: -1 outside of the stretch */
	bool *blind; /* by commit: a boot of it tells nothing here */
	int third; /* commit on a third level, or -1 */
	bool confirming; /* boots of `third` are wanted */
	int rejects, entered; /* boots when it began */

	/* Stretches that wait; the last is next. */
	struct fl_hunt_stretch *todo;
	int ntodo, cap_todo;

	/* Verification: the parents, then the candidate. */
	int members[FL_HUNT_PARENTS + 1], nparents;
	struct fl_hunt_culprit candidate;

	enum fl_hunt_state state;
	enum fl_hunt_end end;
	struct fl_bisect_levels levels;
	struct fl_hunt_culprit *culprits, *sorted;
	int nculprits;
	bool open_rest; /* a stretch that moves was left unexplained */
};

struct fl_hunt_mean {
	int n;
	double mean;
};

/* Of the values of a commit that searches may use, or of the fresh ones. */
struct fl_hunt_mean fl_hunt_mean_of(const struct fl_hunt *h, int commit,
				    bool fresh);
/* Variance of one boot value from the spread within commits and the prior, and
 * its degrees of freedom. */
double fl_hunt_variance(const struct fl_hunt *h, double *dof);
/* The t value that is exceeded with probability p, both sides together. */
double fl_hunt_t_quantile(double p, double dof);
/* Interval at t of x / y, independent and normal (Fieller 1954); unbounded
 * when y may be 0. */
void fl_hunt_ratio(double x, double var_x, double y, double var_y, double t,
		   double *lo, double *hi);

/* hunt-stretch.c. enter: makes the engine of a stretch and feeds it; false
 * when there is nothing to search in it. */
bool fl_hunt_enter(struct fl_hunt *h, const struct fl_hunt_stretch *s);
void fl_hunt_leave(struct fl_hunt *h);
/* c is x or above it. */
bool fl_hunt_contains(const struct fl_hunt *h, int x, int c);
void fl_hunt_feed(struct fl_hunt *h, const struct fl_hunt_event *e);
void fl_hunt_push(struct fl_hunt *h, struct fl_hunt_stretch s);
/* Does the number move from a to b, as far as is known: by more than t standard
 * errors (exact clock: the smallest effect), and not clearly by less than the
 * part that may stay unexplained? */
bool fl_hunt_moves(const struct fl_hunt *h, int a, int b, double t);
/* What else may have moved it before and after a confirmed candidate; inside
 * of the set of the culprit with that index; both halves at `third`. */
void fl_hunt_push_around(struct fl_hunt *h);
void fl_hunt_push_inside(struct fl_hunt *h, int culprit);
void fl_hunt_push_halves(struct fl_hunt *h);

/* hunt-verify.c. candidate: members and candidate from the engine's answer,
 * which is owned by candidate.set; false when it cannot be measured. */
bool fl_hunt_candidate(struct fl_hunt *h);
bool fl_hunt_is_member(const struct fl_hunt *h, int commit);
/* Do all members have their fresh boots? */
bool fl_hunt_measured(const struct fl_hunt *h);
/* Is the candidate different from each parent? Fills effect and share. */
bool fl_hunt_confirm(struct fl_hunt *h);
int fl_hunt_verify_next(const struct fl_hunt *h, int k,
			struct fl_hunt_ask *out);

#endif

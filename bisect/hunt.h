/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hunt: the whole procedure around the engine, for callers that measure one
 * number. Gate, search, verification of each candidate against its parents in
 * fresh boots, and, where one step does not explain the whole change, the
 * stretches before and after it. Pure like the engine: the same calls give the
 * same answers, so a caller may stop, and go on later by replaying what it
 * measured.
 *
 * The caller's loop: fl_hunt_update(), then fl_hunt_next() says what to boot
 * and why; each value comes back through fl_hunt_add() with that same reason,
 * in the order in which it was asked for where several are under way.
 */
#ifndef FL_BISECT_HUNT_H
#define FL_BISECT_HUNT_H

#include "bisect.h"

/* Why a boot was asked for. Values of verification never count as search
 * values of the same candidate, nor the other way round. */
enum fl_hunt_role {
	FL_HUNT_SEARCH, /* end points and commits between them */
	FL_HUNT_VERIFY, /* the candidate or a parent of it, fresh */
};

struct fl_hunt_ask {
	int commit;
	enum fl_hunt_role role;
};

struct fl_hunt_params {
	/* of every search; max_runs is the budget of the whole hunt */
	struct fl_bisect_params search;
	int verify_boots; /* a side: wall clock 8, exact clock 2 */
	double verify_p; /* two-sided, in the direction of the change: 0.02 */
	/* part of the whole change (0 … 1) that must be unexplained for the
	 * stretches around a culprit to be searched as well, e.g. 0.2 */
	double rest;
	int max_culprits; /* then the rest is left unexplained */
	/* wall clock: boots after which the end points are measured once more,
	 * so that a drift of the host shows; 0: 20, negative: never */
	int recheck;
};

enum fl_hunt_state {
	FL_HUNT_GATE,
	FL_HUNT_SEARCHING,
	FL_HUNT_VERIFYING,
	FL_HUNT_DONE,
};

/*
 * One step that was found: a commit, or a set that no test separates. Of a set
 * the step as a whole is verified: the first commit that boots and contains
 * one of it against what boots above all of it.
 */
struct fl_hunt_culprit {
	int commit; /* the most probable one of the set */
	const int *set; /* most probable first; owned by the hunt */
	int nset;
	double confidence; /* posterior mass of the set before verification */
	/* Against every parent, or what is above a parent that cannot be
	 * tested; a set of one only. */
	bool verified;
	int parent; /* the nearest parent in value; -1: not measured */
	double effect, lo, hi; /* culprit minus parent, log ratio, 95 % */
	/* Of the whole change (Fieller 1954): negative when it goes the other
	 * way; infinite where the whole change may be nil. NaN like effect
	 * while nothing was measured. */
	double share, share_lo, share_hi;
};

enum fl_hunt_end {
	FL_HUNT_OPEN, /* not done yet */
	FL_HUNT_FOUND, /* every culprit verified, the change explained */
	FL_HUNT_PARTLY, /* culprits verified, a part stays unexplained */
	FL_HUNT_SET, /* budget spent or nothing left to test: a short list */
	FL_HUNT_NOT_VERIFIED, /* the best candidate is no different */
	FL_HUNT_DOES_NOT_REPRODUCE, /* the end points do not differ */
	FL_HUNT_UNTESTABLE, /* an end point cannot be tested */
};
const char *fl_hunt_end_str(enum fl_hunt_end e);

struct fl_hunt;

/* As fl_bisect_new(); NULL for the same reasons. */
struct fl_hunt *fl_hunt_new(const struct fl_bisect_commit *commits, int n,
			    const struct fl_bisect_noise *noise,
			    const struct fl_hunt_params *params);
void fl_hunt_free(struct fl_hunt *h);

/* One boot value (log) of a commit. -1: not finite. To go on after a restart
 * add and skip in the order in which things were measured; updates between
 * them change nothing. */
int fl_hunt_add(struct fl_hunt *h, int commit, enum fl_hunt_role role,
		double log_value);
/* The commit cannot be tested. */
void fl_hunt_skip(struct fl_hunt *h, int commit);
void fl_hunt_cost(struct fl_hunt *h, int commit, double build_s, double run_s);
/* Boots of the commit under way in that role; 0 when they are back. */
void fl_hunt_pending(struct fl_hunt *h, int commit, enum fl_hunt_role role,
		     int boots);

enum fl_hunt_state fl_hunt_update(struct fl_hunt *h);
/* At most k, most useful first; 0 when done or all is under way. */
int fl_hunt_next(const struct fl_hunt *h, int k, struct fl_hunt_ask *out);

/* Of the search that is going on (or was the last), over all n commits. */
const double *fl_hunt_posterior(const struct fl_hunt *h);
/* The levels and noise of the whole range, when it was searched last. */
void fl_hunt_levels(const struct fl_hunt *h, struct fl_bisect_levels *ret);
enum fl_hunt_end fl_hunt_ended(const struct fl_hunt *h);
/* In order of the commits; valid until the next update. With NOT_VERIFIED the
 * last candidate that was rejected. */
const struct fl_hunt_culprit *fl_hunt_culprits(const struct fl_hunt *h, int *n);
/* Boots so far, verification included. */
int fl_hunt_boots(const struct fl_hunt *h);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `faultline bisect run`: which commit of any git repository moved the number
 * that a command prints? The hunt (bisect/hunt.h) decides, this measures, one
 * run after the other, in a work tree of its own, and writes a journal from
 * which a hunt that was interrupted goes on. No workspace, no database.
 *
 *   bisect-run.c          the loop, and the end points that are not a line
 *   bisect-run-take.c     what came in, new or from the journal
 *   bisect-run-model.c    the noise, and the hunt itself
 *   bisect-run-graph.c    a range of commits to what the hunt searches
 *   bisect-run-command.c  one run of the command: a number, or why not
 *   bisect-run-journal.c  the folder of one hunt: lock, journal
 *   bisect-run-view.c     what is seen while it goes on
 *   bisect-run-result.c   what was found, as one JSON object
 *
 * Values are above zero and are looked at as logarithms: changes are ratios.
 */
#ifndef FL_BISECT_RUN_H
#define FL_BISECT_RUN_H

#include "../bisect/hunt.h"
#include "git/git.h"
#include "util/json.h"

struct fl_brun_opts {
	const char *good, *bad; /* revisions, as the user wrote them */
	const char *repo; /* a folder in it */
	const char *state; /* NULL: in the repository's own folder */
	struct fl_strv paths; /* empty: every commit is a candidate */
	bool first_parent, exact, resume, restart;
	double confidence; /* 0.5 ... 1 */
	double threshold; /* smallest change of interest: 0.02 is 2 % */
	double timeout_s; /* of one run; 0: none */
	int max_runs;
	char **command; /* ended by NULL */
};

/*
 * The whole: *ret is the result of the hunt, or, where good is no ancestor of
 * bad, {"merge_base": …, "sides": [result, result]}. -EINTR when a signal
 * ended it (what was measured is in the journal, and a line said how to go
 * on). A USER error when nothing can be hunted.
 */
int fl_brun(const struct fl_brun_opts *opts, json_t **ret, struct fl_err *err);

/* The smallest budget that lets the end points be told apart. */
int fl_brun_min_runs(bool exact);

/* ---- inside bisect-run*.c only ------------------------------------------ */

struct fl_brun_values {
	double *v; /* as printed */
	int n, cap;
};

struct fl_brun_node {
	struct fl_git_commit commit;
	int *parents;
	int nparents;
	double prior;
	struct fl_brun_values value[2]; /* by enum fl_hunt_role */
	/* runs of a left-out commit in its place: log values */
	int beside;
	double beside_sum;
	int failures; /* runs without a number */
	bool skipped;
	char *why; /* of the last failure, or NULL */
};

/* ---- bisect-run-graph.c --------------------------------------------------- */

struct fl_brun_place {
	char sha[FL_SHA_HEX];
	int node; /* that stands for it */
};

/*
 * Commits that cannot change the number (no file of theirs differs, or none
 * below paths) are left out: their children hang on their parent instead.
 */
struct fl_brun_graph {
	struct fl_brun_node *node; /* good first, bad last */
	int n;
	int commits; /* in the range, good apart */
	int candidates; /* of them, those that can be the culprit */
	struct fl_brun_place *place; /* every commit of the range, by id */
	int nplaces;
};

int fl_brun_graph_load(struct fl_git *g, const char *good, const char *bad,
		       const struct fl_brun_opts *opts,
		       struct fl_brun_graph *ret, struct fl_err *err);
void fl_brun_graph_clear(struct fl_brun_graph *g);
int fl_brun_graph_find(const struct fl_brun_graph *g, const char *sha);
/*
 * What to check out for node i where `child` is compared with its parents: the
 * parent itself, for which i may only stand. Were leaving it out wrong, the
 * comparison would show it.
 */
const char *fl_brun_graph_beside(const struct fl_brun_graph *g, int i,
				 int child);

/* ---- bisect-run-command.c ------------------------------------------------- */

struct fl_brun_run {
	double value; /* NaN: none */
	char unit[24]; /* what followed the number, "" for nothing */
	char *why; /* why there is none */
	bool never; /* exit status 125: do not try this commit again */
	bool relative; /* a program that the work tree does not have */
	double seconds;
};
void fl_brun_run_clear(struct fl_brun_run *r);

struct fl_brun_command {
	char **argv;
	const char *dir; /* where it runs */
	const char *state; /* folder of its output */
	const char *repo, *sha; /* told to it in the environment */
	double timeout_s;
	/* several times a second; may be NULL */
	void (*tick)(double seconds, void *arg);
	void *arg;
};

/* 0 also when the run failed; -EINTR when a signal stopped it. */
int fl_brun_command(const struct fl_brun_command *c, struct fl_brun_run *ret,
		    struct fl_err *err);
/* SIGINT, SIGTERM and SIGHUP end a run, not this process, from now on. */
void fl_brun_catch_signals(void);
bool fl_brun_stopped(void);
/* Ends what a run in this state folder left behind when we were killed. */
void fl_brun_end_leftovers(const char *state);
/*
 * Exactly one number at the last line that is not blank, and a unit after it
 * or not. *why is heap when there is none; values must be above zero.
 */
bool fl_brun_parse(const char *text, double *value, char *unit, size_t size,
		   char **why);

/* ---- bisect-run-journal.c ------------------------------------------------- */

struct fl_brun_state {
	char *dir, *tree; /* tree: the work tree */
	char *name; /* of the work tree in the repository */
	int lock;
	int journal;
	json_t *entries; /* what was read from it */
};

/*
 * Makes or opens the folder of the hunt that `header` describes and locks it.
 * Without resume or restart, a journal with entries is read all the same.
 */
int fl_brun_state_open(const char *base, const json_t *header, bool restart,
		       struct fl_brun_state *ret, struct fl_err *err);
int fl_brun_state_add(struct fl_brun_state *s, const json_t *entry,
		      struct fl_err *err);
void fl_brun_state_clear(struct fl_brun_state *s);

/* ---- one hunt --------------------------------------------------------------- */

struct fl_brun_hunt {
	const struct fl_brun_opts *opts;
	const char *good, *bad; /* names of the two ends */
	struct fl_git *git;
	struct fl_brun_graph graph;
	struct fl_brun_state state;
	struct fl_hunt *hunt;
	/* all that it was told, until the noise is known */
	struct fl_brun_told *told;
	int ntold;
	bool tuned;
	double image_sd; /* between commits that are the same, log scale */
	double min_effect; /* log ratio */
	char unit[24];
	bool have_unit;
	int runs, tested; /* with a number; commits among them */
	int failed; /* runs without a number */
	double seconds; /* all runs together */
	/* sums over runs that followed one of the same commit, or not */
	double again_s, first_s;
	int again, first, current; /* current: what the work tree holds */
	bool replaying;
	struct fl_hunt_ask ask; /* under way */
	enum fl_hunt_state stage; /* what was said last */

	int candidate; /* that is being verified, or -1 */
	bool said_ends, said_columns;
	int said_culprits;
};

/* ---- bisect-run-model.c --------------------------------------------------- */

struct fl_brun_told {
	int commit;
	enum fl_hunt_role role;
	double value; /* log; NaN: cannot be tested */
};

/* Makes h->hunt. BUG error: the graph is no graph. */
int fl_brun_model(struct fl_brun_hunt *h, struct fl_err *err);
/*
 * Tells the hunt. Once both ends have been measured often enough for the noise
 * to be known, it is made anew with it and told all once more, at the same run
 * whether live or in a replay.
 */
void fl_brun_tell(struct fl_brun_hunt *h, int commit, enum fl_hunt_role role,
		  double log_value);

/* ---- bisect-run-take.c ---------------------------------------------------- */

/* One line of the journal, new or replayed. USER error: it does not fit. */
int fl_brun_take(struct fl_brun_hunt *h, const json_t *entry,
		 struct fl_err *err);
int fl_brun_most_probable(const struct fl_brun_hunt *h);
/* Geometric mean of the values of one role, or of both (role < 0). */
double fl_brun_mean(const struct fl_brun_node *node, int role);
/* Spread of one run, log scale, pooled over all commits; NaN: unknown. */
double fl_brun_sigma(const struct fl_brun_hunt *h);
const char *fl_brun_name(const struct fl_brun_hunt *h, int i, char out[16]);

/* ---- bisect-run-view.c ---------------------------------------------------- */

void fl_brun_view_start(const struct fl_brun_hunt *h);
void fl_brun_view_tick(const struct fl_brun_hunt *h, double seconds);
/* After each run; value NaN: failed. */
void fl_brun_view_ran(struct fl_brun_hunt *h, const struct fl_brun_run *run);
void fl_brun_view_stage(struct fl_brun_hunt *h, enum fl_hunt_state stage);
void fl_brun_view_end(void);
/* Appends "+19.4 %" of a log ratio, digits as its size needs. */
void fl_brun_percent(struct fl_buf *b, double log_ratio);
/* Appends a probability in per cent; what is not 100 % is not shown as it. */
void fl_brun_probability(struct fl_buf *b, double p);
/* "0.4 s", then as fl_clock_span(). */
char *fl_brun_span(double seconds, char *out, size_t n);

/* ---- bisect-run-result.c -------------------------------------------------- */

json_t *fl_brun_result(const struct fl_brun_hunt *h);

#endif

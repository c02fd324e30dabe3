/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The planner: one loop for the daemon and the one-shot verbs. A request is
 * advanced by a state machine that only looks at rows and makes rows ("what
 * do I still need?"), again and again, until it says that it is done; work
 * rows become worker children; their bundles become rows. Nothing lives in
 * memory that a kill could lose.
 *
 *            advance()                    dispatch               ingest
 *   request ──────────► work (queued) ──────────► (running) ──────────► rows
 *      ▲                                                                  │
 *      └──────────────────────── advance() again ◄──────────────────────┘
 */
#ifndef FL_PLAN_H
#define FL_PLAN_H

#include "conf.h"
#include "exec/exec.h"
#include "git/git.h"
#include "store/store.h"
#include "sys/loop.h"

enum fl_ready {
	FL_READY,
	FL_PENDING, /* rows of work exist; ask again when something ended */
	FL_UNAVAILABLE, /* it cannot be had: an outcome of a kernel */
};

#define FL_PLAN_CHILDREN 64

struct fl_plan_child {
	pid_t pid;
	int64_t work_id, attempt, subject_id;
	char kind[8];
	char *dir, *label;
	int slot; /* builds: which slot */
	bool exclusive; /* a wall-clock run: nothing beside it */
	int64_t started_ms;
	double expected_s;
};

struct fl_target; /* plan-need.h */

struct fl_plan {
	struct fl_conf *conf;
	struct fl_store *store;
	const struct fl_exec_ops *exec;
	struct fl_loop *loop;
	struct fl_plan_child child[FL_PLAN_CHILDREN];
	int nchild;
	int lock_fd;
	struct fl_target *targets; /* opened in this session */
	int64_t started_ms;
	int64_t ended; /* pieces of work in this session */
	/* What the request is at, a word for the progress line. */
	const char *stage;
	/* What the state machines think is still to come, in seconds of
	 * builds and boots; for the estimate only. Reset by each advance. */
	double ahead_build_s;
	struct fl_err failure; /* set once: ends the loop */
	struct fl_request *request;
};

/*
 * Takes the workspace's lock (USER error when another planner runs), brings
 * interrupted work back, ingests finished bundles. conf and store are
 * borrowed and outlive the plan.
 */
int fl_plan_open(struct fl_conf *conf, struct fl_store *store,
		 struct fl_plan **ret, struct fl_err *err);
void fl_plan_close(struct fl_plan *p);
FL_DEFINE_FREEP(fl_plan_close, struct fl_plan)

/*
 * Makes (or continues) the request and runs the loop until it is done.
 * key: what makes two requests the same. doc: arguments. *done holds the
 * final request; its doc carries results (comparison ids, …). An error when
 * the request failed or work of the harness failed for good.
 */
int fl_plan_request(struct fl_plan *p, const char *kind, const char *key,
		    const json_t *doc, struct fl_request *done,
		    struct fl_err *err);

/* One kind of request. advance: FL_READY when over, FL_PENDING, negative.
 * It may change r->doc (written back in the same transaction). */
struct fl_request_ops {
	const char *kind;
	int (*advance)(struct fl_plan *p, struct fl_request *r,
		       struct fl_err *err);
};
extern const struct fl_request_ops fl_request_fetch, fl_request_build,
	fl_request_run, fl_request_compare, fl_request_bisect,
	fl_request_nightly, fl_request_profile;

/* Absolute path of a workspace-relative one; heap. */
char *fl_plan_path(const struct fl_plan *p, const char *relative);

/* ---- plan-ingest.c: bundles to rows --------------------------------------- */

/*
 * Reads the bundle of an ended worker and writes its rows and the work's end in
 * one transaction; artefacts move to var/kernels or var/runs. exit_text says
 * how the worker ended, for a bundle that is missing. p->failure is set when
 * the work failed for good. Negative: the database failed.
 */
int fl_plan_ingest(struct fl_plan *p, const struct fl_work *w, const char *dir,
		   const char *exit_text, struct fl_err *err);
/* Removes folders of work that ended, left by a kill between the commit and
 * their removal. Those of work that failed stay, for their logs. */
int fl_plan_sweep(struct fl_plan *p, struct fl_err *err);
/* var/work/<id>.<attempt>, heap. */
char *fl_plan_work_dir(const struct fl_plan *p, int64_t id, int64_t attempt);

/* ---- plan-progress.c --------------------------------------------------------- */

void fl_plan_progress(struct fl_plan *p);

#endif

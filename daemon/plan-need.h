/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What state machines ask the planner for. Every function can be called again
 * and again: it looks whether the thing is there, else makes the rows that
 * lead to it, and says how far it is (enum fl_ready; negative = error).
 */
#ifndef FL_PLAN_NEED_H
#define FL_PLAN_NEED_H

#include "plan.h"

/* A tree, a host and a job, resolved to rows; and how kernels are built. */
struct fl_target {
	struct fl_target *next;
	char *key;
	struct fl_plan *p;
	const struct fl_conf_tree *tree;
	struct fl_git *git;
	const struct fl_host *host; /* NULL: only builds */
	const struct fl_host_ops *ops;
	struct fl_job *job; /* NULL: only builds */
	int64_t tree_id, host_id, job_id, config_id;
	int64_t recipe[2]; /* by enum fl_isa */
	int64_t profile_recipe; /* 0: not asked for yet */
	int64_t *case_ids; /* parallel to job->cases */
	char *compiler;
	const char *builder;
	bool exact;
};

/*
 * Opened once a session and kept: *ret is owned by the plan. job NULL: only
 * builds; host NULL: the first one.
 */
int fl_target_open(struct fl_plan *p, const char *tree, const char *host,
		   const char *job, struct fl_target **ret, struct fl_err *err);
void fl_target_free(struct fl_target *t);
FL_DEFINE_FREEP(fl_target_free, struct fl_target)

/* The work that updates a tree's mirror for this request. */
int fl_need_fetch(struct fl_plan *p, const char *tree, int64_t request_id,
		  int64_t *tree_id, struct fl_err *err);
/* READY when the tree was fetched for this request, or is used in place. */
int fl_plan_fetched(struct fl_plan *p, const struct fl_request *q,
		    const char *tree, int64_t *tree_id, struct fl_err *err);

/* Revision to sha, with its commit row made. */
int fl_target_resolve(struct fl_target *t, const char *rev,
		      char sha[FL_SHA_HEX], struct fl_err *err);
/* q->doc.<key> as a commit: resolved once and kept in doc.<key>_sha, so that a
 * branch that moves changes nothing. */
int fl_plan_rev(struct fl_target *t, struct fl_request *q, const char *key,
		char sha[FL_SHA_HEX], struct fl_err *err);
/* Makes the commit's row. */
int fl_target_commit(struct fl_target *t, const char *sha, struct fl_err *err);

enum fl_priority {
	FL_PRIO_AHEAD = -10,
	FL_PRIO_NIGHTLY = 0,
	FL_PRIO_BISECT = 10
};

/* READY: built. UNAVAILABLE: does not build; k->reason says why. */
int fl_need_kernel(struct fl_target *t, const char *sha, int priority,
		   struct fl_kernel *k, struct fl_err *err);

/*
 * A set of cases of the job, by index: true = wanted.
 */
struct fl_caseset {
	bool *want;
	size_t n;
};
void fl_caseset_init(struct fl_caseset *c, const struct fl_target *t);
void fl_caseset_clear(struct fl_caseset *c);
/* Adds by database id; ids that the job lacks are ignored. */
void fl_caseset_add(struct fl_caseset *c, const struct fl_target *t,
		    int64_t case_id);
void fl_caseset_add_control(struct fl_caseset *c, const struct fl_target *t);
void fl_caseset_add_all(struct fl_caseset *c);

/*
 * At least n boots of kernel, later than the run `after`, that measured each
 * wanted case. UNAVAILABLE:
 * the kernel does not come through (panic, hang, …). A case that fails by
 * itself on a kernel counts as answered.
 */
int fl_need_boots(struct fl_target *t, int64_t kernel_id, enum fl_isa isa,
		  const struct fl_caseset *cases, int64_t n, int64_t after,
		  int priority, struct fl_err *err);

/*
 * At least n profiling boots of kernel with each wanted case, plain
 * instruction set; t->profile_recipe is set. Else as fl_need_boots().
 */
int fl_need_profiles(struct fl_target *t, int64_t kernel_id,
		     const struct fl_caseset *cases, int64_t n, int priority,
		     struct fl_err *err);

/* Boot values as natural logs; zero or negative values give -ERANGE. */
int fl_target_logs(struct fl_target *t, int64_t kernel_id, enum fl_isa isa,
		   int64_t case_id, int64_t kpi_id, struct fl_span span,
		   struct fl_boots *ret, struct fl_err *err);
/* Their mean; NaN when there are none or err. */
double fl_target_level(struct fl_target *t, int64_t kernel_id, enum fl_isa isa,
		       int64_t case_id, int64_t kpi_id, struct fl_span span);

/* base with pick on top: READY and sha, PENDING, UNAVAILABLE (conflict). */
int fl_need_pick(struct fl_target *t, const char *pick, const char *base,
		 char sha[FL_SHA_HEX], struct fl_err *err);

#endif

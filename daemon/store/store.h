/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * results.db: the only includer of <sqlite3.h>. One writer at a time (the
 * planner); readers open the same file. Rows are made by "get or make"
 * functions that are safe to call twice, so state machines can be run again
 * from the top. Strings in returned structs are heap, released by _clear.
 *
 * The listings (fl_store_rows) give JSON arrays of row objects: the CLI, the
 * API and the reports read the same queries.
 */
#ifndef FL_STORE_STORE_H
#define FL_STORE_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "../util/err.h"
#include "../util/json.h"

struct fl_store;

/* Opens, checks whose it is, migrates. create: make it when missing. */
int fl_store_open(const char *path, bool create, struct fl_store **ret,
		  struct fl_err *err);
void fl_store_close(struct fl_store *s);
FL_DEFINE_FREEP(fl_store_close, struct fl_store)

/* Transactions nest; only the outermost counts. rollback undoes all. */
int fl_store_begin(struct fl_store *s, struct fl_err *err);
int fl_store_commit(struct fl_store *s, struct fl_err *err);
void fl_store_rollback(struct fl_store *s);

/* ---- trees and commits -------------------------------------------------- */

int fl_store_tree(struct fl_store *s, const char *name, const char *url,
		  const char *path, int64_t *id, struct fl_err *err);
/* error: "" after a fetch that went well. */
int fl_store_tree_fetched(struct fl_store *s, int64_t id, const char *error,
			  struct fl_err *err);

struct fl_commit_row {
	const char *sha, *described, *subject, *message;
	const char *author_name, *author_email;
	int64_t commit_time;
};
/* A later call may improve `described` (a tag appeared). */
int fl_store_commit_info(struct fl_store *s, const struct fl_commit_row *c,
			 struct fl_err *err);
/* Heap; the sha's first 12 digits when the commit is unknown. */
char *fl_store_described(struct fl_store *s, const char *sha);

/* ---- kernels ------------------------------------------------------------- */

struct fl_kernel {
	int64_t id, tree_id, config_id;
	char *sha, *builder, *compiler;
	char *status, *reason; /* queued | built | failed | timeout */
	char *release, *image_hash, *final_config_hash, *dir;
	double make_s;
};
void fl_kernel_clear(struct fl_kernel *k);

int fl_store_config(struct fl_store *s, const char *hash, const json_t *doc,
		    int64_t *id, struct fl_err *err);
/* Get or make; a new one has status queued. */
int fl_store_kernel(struct fl_store *s, int64_t tree_id, const char *sha,
		    const char *builder, int64_t config_id,
		    const char *compiler, struct fl_kernel *ret,
		    struct fl_err *err);
/* The kernel if it is there: 1, else 0. */
int fl_store_kernel_find(struct fl_store *s, const char *sha,
			 const char *builder, int64_t config_id,
			 const char *compiler, struct fl_kernel *ret,
			 struct fl_err *err);
int fl_store_kernel_by_id(struct fl_store *s, int64_t id, struct fl_kernel *ret,
			  struct fl_err *err);

struct fl_kernel_end {
	const char *status, *reason, *release, *image_hash;
	const char *final_config_hash, *dir;
	double checkout_s, make_s;
};
int fl_store_kernel_finish(struct fl_store *s, int64_t id,
			   const struct fl_kernel_end *end, struct fl_err *err);
/* Mean make seconds of the newest builds; fallback when there are none. */
double fl_store_mean_make_s(struct fl_store *s, double fallback);

/* status "" = not tried yet. */
struct fl_pick {
	char *status, *sha, *reason;
};
void fl_pick_clear(struct fl_pick *p);
int fl_store_pick(struct fl_store *s, const char *pick_sha,
		  const char *base_sha, struct fl_pick *ret,
		  struct fl_err *err);
int fl_store_pick_set(struct fl_store *s, int64_t tree_id, const char *pick_sha,
		      const char *base_sha, const char *status, const char *sha,
		      const char *reason, struct fl_err *err);

/* ---- what is measured, and how ------------------------------------------- */

int fl_store_host(struct fl_store *s, const char *name, const char *driver,
		  const char *clock, int64_t *id, struct fl_err *err);
int fl_store_job(struct fl_store *s, const char *name, const char *hash,
		 const json_t *doc, int64_t *id, struct fl_err *err);
int fl_store_case(struct fl_store *s, const char *name, const json_t *params,
		  int64_t *id, struct fl_err *err);
/* -EEXIST USER error when it is there with another unit or direction. */
int fl_store_kpi(struct fl_store *s, const char *name, const char *unit,
		 int better, int64_t *id, struct fl_err *err);
bool fl_store_kpi_known(struct fl_store *s, const char *name);
/* The hash is made here from the canonical text. */
int fl_store_recipe(struct fl_store *s, const json_t *doc, int64_t *id,
		    struct fl_err *err);

/* ---- runs and samples ----------------------------------------------------- */

struct fl_run_new {
	int64_t kernel_id, host_id, job_id, recipe_id;
	const char *isa; /* "plain" or "strings" */
	const char *purpose; /* "measure" or "profile" */
	int64_t boot_no;
	const int64_t *cases;
	size_t ncases;
};
int fl_store_run_new(struct fl_store *s, const struct fl_run_new *run,
		     int64_t *id, struct fl_err *err);

struct fl_run_end {
	const char *status, *reason, *dir;
	const json_t *env, *cases; /* as in host/host.h */
	double boot_s, total_s;
};
/*
 * Ends a queued run: outcome, environment, cases, samples, in one
 * transaction. 1 when it was queued, 0 when it had ended before (nothing
 * changes): no run is counted twice. Cases and KPIs that the run was not
 * asked for are an -EINVAL USER error.
 */
int fl_store_run_finish(struct fl_store *s, int64_t id,
			const struct fl_run_end *end, struct fl_err *err);

/*
 * The profiles of a profiling run that has just ended, as in host/samples.h;
 * NULL: none. Cases that the run was not asked for, nodes that cannot be and
 * counts that do not add up are an -EINVAL USER error.
 */
int fl_store_profiles(struct fl_store *s, int64_t run_id,
		      const json_t *profiles, struct fl_err *err);

/* Which boots count: after < run id, and run id <= until unless that is 0. */
struct fl_span {
	int64_t after, until;
};

/* Boot values with the runs they come from, oldest first. */
struct fl_boots {
	double *v;
	int64_t *run;
	size_t n;
};
void fl_boots_clear(struct fl_boots *b);

/*
 * One value per finished boot (the median of its samples) of this case and
 * KPI, over all kernels with kernel's image.
 */
int fl_store_boots(struct fl_store *s, int64_t kernel_id, int64_t recipe_id,
		   int64_t case_id, int64_t kpi_id, struct fl_span span,
		   struct fl_boots *ret, struct fl_err *err);

/* How far the boots of one kernel (by image) and case are. */
struct fl_boot_count {
	int64_t done; /* case measured */
	int64_t queued; /* asked for, not ended */
	int64_t case_failed; /* boot went through, the case did not */
	int64_t broken; /* panic, hang, oom, no-boot; of all times */
	int64_t next_boot_no; /* free perturbation number */
};
int fl_store_boot_count(struct fl_store *s, int64_t kernel_id,
			int64_t recipe_id, int64_t case_id, int64_t after,
			struct fl_boot_count *ret, struct fl_err *err);
/* The newest run's id; 0 when there is none. */
int fl_store_last_run(struct fl_store *s, int64_t *ret, struct fl_err *err);
/* Status and reason of the newest broken run of a kernel; "" when none. */
int fl_store_broken_why(struct fl_store *s, int64_t kernel_id,
			int64_t recipe_id, char **status, char **reason,
			struct fl_err *err);
/* Mean total seconds of runs with about ncases cases; host 0: any. */
double fl_store_mean_run_s(struct fl_store *s, int64_t host_id, size_t ncases,
			   double fallback);

/* ---- work ----------------------------------------------------------------- */

struct fl_work {
	int64_t id, subject_id, attempt, created;
	char *kind; /* fetch | build | run | pick */
	json_t *spec;
};
void fl_work_clear(struct fl_work *w);

/* One open row per (kind, subject): a second call changes nothing. */
int fl_store_work_add(struct fl_store *s, const char *kind, int64_t subject_id,
		      const json_t *spec, int64_t priority, struct fl_err *err);
/* 1 and the next queued work of kind that is due, 0 when there is none. */
int fl_store_work_next(struct fl_store *s, const char *kind,
		       struct fl_work *ret, struct fl_err *err);
/* queued -> running, attempt + 1 (written to w). */
int fl_store_work_start(struct fl_store *s, struct fl_work *w,
			struct fl_err *err);
/*
 * running -> done | failed | queued (again, not before delay_s). 1 when the
 * row was in this attempt, 0 when this end comes too late or twice.
 */
int fl_store_work_end(struct fl_store *s, int64_t id, int64_t attempt,
		      const char *state, const char *error, double seconds,
		      int64_t delay_s, struct fl_err *err);
/* What a killed planner left running, one after the other (after_id). */
int fl_store_work_running(struct fl_store *s, int64_t after_id,
			  struct fl_work *ret, struct fl_err *err);
/* Rows of kind ("" = all) in a state. */
int64_t fl_store_work_count(struct fl_store *s, const char *kind,
			    const char *state);
/* How often work of kind was done whose spec names this request. */
int fl_store_work_done_for(struct fl_store *s, const char *kind,
			   int64_t request_id, int64_t *n, struct fl_err *err);
bool fl_store_work_is(struct fl_store *s, int64_t id, const char *state);
/* Unix time at which the next delayed work is due; 0 = none waits. */
int64_t fl_store_work_due(struct fl_store *s);

/* ---- requests --------------------------------------------------------------- */

struct fl_request {
	int64_t id;
	char *kind, *state, *reason;
	json_t *doc;
};
void fl_request_clear(struct fl_request *r);

/* An open request of this kind whose doc.key equals key is continued. */
int fl_store_request(struct fl_store *s, const char *kind, const char *key,
		     const json_t *doc, struct fl_request *ret,
		     struct fl_err *err);
int fl_store_request_update(struct fl_store *s, int64_t id, const json_t *doc,
			    const char *state, const char *reason,
			    struct fl_err *err);

/* ---- comparisons ------------------------------------------------------------ */

struct fl_comparison {
	int64_t id, base_kernel_id, head_kernel_id, host_id, job_id, recipe_id;
	int64_t boots; /* a side; 0: as many as it takes */
	int64_t after_run; /* for a new one; then what the row says */
	char *status, *reason;
};
void fl_comparison_clear(struct fl_comparison *c);

/* Get or make; the key fields of c are read, all are filled in. */
int fl_store_comparison(struct fl_store *s, struct fl_comparison *c,
			struct fl_err *err);
/* 1 when two commits were compared on this host and recipe before, else 0. */
int fl_store_compared(struct fl_store *s, const char *base_sha,
		      const char *head_sha, int64_t host_id, int64_t recipe_id,
		      struct fl_err *err);
int fl_store_comparison_finish(struct fl_store *s, int64_t id,
			       const char *status, const char *reason,
			       struct fl_err *err);

int fl_store_comparison_config_diff(struct fl_store *s, int64_t id,
				    const char *diff, struct fl_err *err);

struct fl_result_row {
	int64_t case_id, kpi_id;
	double base_value, head_value, base_sd, head_sd;
	int64_t base_boots, head_boots;
	double effect, lo, hi, p, p_t, p_fdr, threshold, hidden;
	const char *verdict;
	int shift, modes;
	const char *second_isa; /* NULL: not looked at */
	const char *reason;
};
/* Replaces an earlier row of the same case and KPI. */
int fl_store_result(struct fl_store *s, int64_t comparison_id,
		    const struct fl_result_row *row, struct fl_err *err);

/* ---- noise ------------------------------------------------------------------ */

struct fl_noise_row {
	int64_t images, boots;
	double repetitions, se2, su2, sa2, df_a, s0sq, d0;
	json_t *modes; /* owned by the row; NULL: one mode */
};

struct fl_noise_key {
	int64_t host_id, case_id, kpi_id, recipe_id;
};

int fl_store_noise_set(struct fl_store *s, const struct fl_noise_key *key,
		       const struct fl_noise_row *row, struct fl_err *err);
/* 1 and *ret, or 0 when nothing is known. */
int fl_store_noise_get(struct fl_store *s, const struct fl_noise_key *key,
		       struct fl_noise_row *ret, struct fl_err *err);

struct fl_noise_sample {
	int64_t image, run; /* image: the first kernel with that image */
	double value;
};
/*
 * The newest boots of a series, at most max_runs, all samples of a boot and all
 * boots of an image together. neighbours: only the commits that bisections
 * tested, in the order of their graphs. *ret is heap.
 */
int fl_store_noise_samples(struct fl_store *s, const struct fl_noise_key *key,
			   bool neighbours, int64_t max_runs,
			   struct fl_noise_sample **ret, size_t *n,
			   struct fl_err *err);

/* ---- bisections --------------------------------------------------------------- */

struct fl_bisection {
	int64_t id, comparison_id, case_id, kpi_id, tree_id;
	char *side, *good_sha, *bad_sha, *status, *reason, *culprit_sha;
	double good_value, bad_value, sigma, confidence;
	double share, share_lo, share_hi;
	int64_t parent_id; /* 0: of the whole range */
	int64_t after_run; /* boots up to it do not count */
	int64_t verify_after; /* -1: no candidate is being verified */
	int64_t refuted;
	double s0sq, nu0, lambda; /* NaN: nothing was known */
};
void fl_bisection_clear(struct fl_bisection *b);

int fl_store_bisection(struct fl_store *s, struct fl_bisection *b,
		       struct fl_err *err);
int fl_store_bisection_by_id(struct fl_store *s, int64_t id,
			     struct fl_bisection *ret, struct fl_err *err);
/* Writes status, reason, values, culprit; sets finished unless open. */
int fl_store_bisection_update(struct fl_store *s, const struct fl_bisection *b,
			      struct fl_err *err);
int fl_store_bisection_commit(struct fl_store *s, int64_t bisection_id,
			      int64_t idx, const char *sha,
			      const json_t *parents, double prior,
			      struct fl_err *err);
/* One boot that came in, or a commit that cannot be tested. */
struct fl_step_row {
	int64_t idx, kernel_id, run_id; /* run_id 0: it did not build */
	int64_t boots, candidates;
	const char *outcome;
	double value;
	const json_t *posterior;
};
int fl_store_bisection_step(struct fl_store *s, int64_t bisection_id,
			    const struct fl_step_row *step, struct fl_err *err);
/* How many steps the bisection has. */
int fl_store_bisection_steps(struct fl_store *s, int64_t bisection_id,
			     int64_t *n, struct fl_err *err);

struct fl_attribution_row {
	int64_t case_id, kpi_id, boots;
	double parent_value, culprit_value, on_base_value, share;
	int explained;
};
int fl_store_attribution(struct fl_store *s, int64_t bisection_id,
			 const struct fl_attribution_row *row,
			 struct fl_err *err);

/* ---- reports -------------------------------------------------------------------- */

struct fl_report {
	int64_t id, bisection_id, created;
	char *message_id, *subject, *mail_from, *body, *message, *state, *file;
	char *reason;
};
void fl_report_clear(struct fl_report *r);

/* A report already made for the bisection: 1 and *ret, else 0. */
int fl_store_report_of(struct fl_store *s, int64_t bisection_id,
		       struct fl_report *ret, struct fl_err *err);
int fl_store_report_by_id(struct fl_store *s, int64_t id, struct fl_report *ret,
			  struct fl_err *err);
/* Reads r->id again. */
int fl_store_report_reload(struct fl_store *s, struct fl_report *r,
			   struct fl_err *err);
/* state of r is ignored: new reports are held. Sets r->id. */
int fl_store_report_new(struct fl_store *s, struct fl_report *r,
			struct fl_err *err);
int fl_store_recipient(struct fl_store *s, int64_t report_id, const char *field,
		       const char *mailbox, const char *why,
		       struct fl_err *err);
/*
 * from -> to; 1 when the report was in `from`, 0 when not (nothing changes):
 * two senders cannot both take it.
 */
int fl_store_report_move(struct fl_store *s, int64_t id, const char *from,
			 const char *to, const char *reason,
			 struct fl_err *err);

/* ---- listings ---------------------------------------------------------------------- */

enum fl_rows {
	FL_ROWS_TREES,
	FL_ROWS_KERNELS,
	FL_ROWS_HOSTS,
	FL_ROWS_RUNS,
	FL_ROWS_RUN, /* id */
	FL_ROWS_RUN_CASES, /* run id */
	FL_ROWS_RUN_ENV, /* kernel, recipe: the newest env of its image */
	FL_ROWS_RESULTS, /* comparison id */
	FL_ROWS_SHIFTS, /* comparison id: what bisections explain */
	FL_ROWS_COMPARISON, /* id */
	FL_ROWS_BISECTIONS,
	FL_ROWS_BISECTION, /* id */
	FL_ROWS_BISECTIONS_OF, /* comparison id */
	FL_ROWS_BISECTION_COMMITS, /* bisection id */
	FL_ROWS_BISECTION_STEPS, /* bisection id */
	FL_ROWS_BISECTION_TESTED, /* bisection id: its steps by commit */
	FL_ROWS_ATTRIBUTIONS, /* bisection id */
	FL_ROWS_REPORTS,
	FL_ROWS_RECIPIENTS, /* report id */
	FL_ROWS_HEADS, /* host, recipe: heads of comparisons that are done */
	FL_ROWS_NOISE, /* kpi, case pattern (GLOB), host ("" = any) */
	FL_ROWS_TREND, /* kpi, case pattern (GLOB), host ("" = any), since */
	FL_ROWS_COMMIT, /* sha (text) */
	FL_ROWS_RECIPE, /* id */
	FL_ROWS_KERNEL_VALUES, /* kernel id, recipe id */
	FL_ROWS_CONFIG, /* kernel id */
	FL_ROWS_PROFILES, /* kernel, recipe, case pattern (GLOB) */
	FL_ROWS_PROFILES_OF, /* run id */
	FL_ROWS_PROFILE_NODES, /* run id, case id: in the order of nodes */
	FL_ROWS_SAME_CULPRIT, /* bisection id: reports of its culprit */
	FL_ROWS_N,
};

/* types and arguments as the query takes: 'i' int64_t, 's' text. */
int fl_store_rows(struct fl_store *s, enum fl_rows what, json_t **ret,
		  struct fl_err *err, const char *types, ...);

#endif

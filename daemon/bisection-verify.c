// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is it really that commit? Culprit against each parent, on every case that
 * moved, and the other side with the commit on top. See bisection.h.
 */
#include "bisection.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "compare.h"
#include "stats/stats.h"

#define WALL_BOOTS 8 /* STATISTICS: a fixed number, no peeking */
#define WALL_P 0.01
#define SHARE_EXPLAINED 0.8
#define SHARE_MIN 0.2

struct evidence {
	struct fl_target *t;
	struct fl_bisection *b;
	struct fl_caseset cases;
	json_t *shifts; /* rows of FL_ROWS_SHIFTS */
	int64_t boots;
	int64_t culprit, parent[16], on_base; /* kernel ids; on_base 0: none */
	int nparents;
};

static void evidence_clear(struct evidence *e)
{
	fl_caseset_clear(&e->cases);
	json_decref(e->shifts);
}

static void conclude(struct fl_bisection *b, const char *status, char *reason)
{
	free(b->status);
	free(b->reason);
	b->status = fl_strdup(status);
	b->reason = reason;
}

/* Builds and boots one commit on every case; its kernel id. */
static int need_measured(struct evidence *e, const char *sha, int64_t *kernel,
			 struct fl_err *err)
{
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	int r = fl_need_kernel(e->t, sha, FL_PRIO_BISECT, &k, err);

	*kernel = k.id;
	if (r != FL_READY)
		return r;
	return fl_need_boots(e->t, k.id, FL_ISA_PLAIN, &e->cases, e->boots,
			     FL_PRIO_BISECT, err);
}

static int need_culprit_and_parents(struct evidence *e, struct fl_err *err)
{
	_cleanup_(fl_git_commit_clear) struct fl_git_commit c = { 0 };
	int worst, r = fl_git_commit(e->t->git, e->b->culprit_sha, &c, err);

	if (r < 0)
		return r;
	worst = need_measured(e, e->b->culprit_sha, &e->culprit, err);
	for (size_t i = 0; i < c.nparents && worst >= 0; i++) {
		if (e->nparents == FL_ARRAY_SIZE(e->parent))
			return fl_err_set(err, -E2BIG, FL_E_USER,
					  "'%s' has more than %zu parents",
					  e->b->culprit_sha,
					  FL_ARRAY_SIZE(e->parent));
		r = need_measured(e, c.parents[i], &e->parent[e->nparents++],
				  err);
		if (r < 0 || r > worst)
			worst = r;
	}
	return worst;
}

/* The end of the comparison that lacks the culprit, with it on top. */
static int need_on_base(struct evidence *e, struct fl_err *err)
{
	bool on_head = !strcmp(e->b->side, "base");
	json_auto_t *rows = NULL;
	char sha[FL_SHA_HEX];
	const json_t *c;
	int r = fl_store_rows(e->t->p->store, FL_ROWS_COMPARISON, &rows, err,
			      "i", e->b->comparison_id);

	if (r < 0)
		return r;
	c = json_array_get(rows, 0);
	r = fl_need_pick(e->t, e->b->culprit_sha,
			 fl_json_str_or(c, on_head ? "head_sha" : "base_sha",
					""),
			 sha, err);
	if (r == FL_READY)
		r = need_measured(e, sha, &e->on_base, err);
	if (r == FL_UNAVAILABLE)
		e->on_base = 0;
	return r;
}

/* Mean of the logs of a kernel; NaN when it was not measured. */
static double level(struct evidence *e, int64_t kernel, int64_t case_id,
		    int64_t kpi_id)
{
	_cleanup_free_ double *v = NULL;
	size_t n = 0;

	if (!kernel ||
	    fl_target_logs(e->t, kernel, FL_ISA_PLAIN, case_id, kpi_id, &v, &n,
			   NULL) < 0 ||
	    !n)
		return NAN;
	return fl_stats_mean(v, n);
}

/* Of several parents the one that is nearest to the culprit. */
static double parent_level(struct evidence *e, double culprit, int64_t case_id,
			   int64_t kpi_id, int64_t *which)
{
	double best = NAN;

	for (int i = 0; i < e->nparents; i++) {
		double v = level(e, e->parent[i], case_id, kpi_id);

		if (isnan(best) || fabs(culprit - v) < fabs(culprit - best)) {
			best = v;
			*which = e->parent[i];
		}
	}
	return best;
}

static int attribute(struct evidence *e, const json_t *shift,
		     struct fl_err *err)
{
	int64_t case_id = fl_json_int_or(shift, "case_id", 0), parent;
	int64_t kpi_id = fl_json_int_or(shift, "kpi_id", 0);
	double total = fl_json_num_or(shift, "effect", 0);
	double c = level(e, e->culprit, case_id, kpi_id);
	double p = parent_level(e, c, case_id, kpi_id, &parent);
	struct fl_attribution_row row = { .case_id = case_id,
					  .kpi_id = kpi_id,
					  .boots = e->boots };

	if (isnan(c) || isnan(p) || total == 0)
		return 0;
	/* A culprit on the base's side moved the base away from the head. */
	if (!strcmp(e->b->side, "base"))
		total = -total;
	row.parent_value = exp(p);
	row.culprit_value = exp(c);
	row.on_base_value = exp(level(e, e->on_base, case_id, kpi_id));
	row.share = (c - p) / total;
	row.explained = row.share >= SHARE_EXPLAINED;
	return fl_store_attribution(e->t->p->store, e->b->id, &row, err);
}

/* Is culprit against parent real, on the bisection's own case? */
static bool differs(struct evidence *e, int64_t parent, double floor)
{
	_cleanup_free_ double *a = NULL, *b = NULL;
	struct fl_ttest tt;
	size_t na = 0, nb = 0;

	if (fl_target_logs(e->t, parent, FL_ISA_PLAIN, e->b->case_id,
			   e->b->kpi_id, &a, &na, NULL) < 0 ||
	    fl_target_logs(e->t, e->culprit, FL_ISA_PLAIN, e->b->case_id,
			   e->b->kpi_id, &b, &nb, NULL) < 0 ||
	    !na || !nb)
		return false;
	if (e->t->exact)
		return fabs(fl_stats_mean(b, nb) - fl_stats_mean(a, na)) >=
		       floor;
	tt = fl_stats_moderated_t(a, na, b, nb, 0, 0, 0.95);
	return tt.p < WALL_P;
}

static void verdict(struct evidence *e, double effect, double floor)
{
	struct fl_bisection *b = e->b;
	double c = level(e, e->culprit, b->case_id, b->kpi_id), p;
	int64_t parent = 0;

	p = parent_level(e, c, b->case_id, b->kpi_id, &parent);
	b->share = (c - p) / effect;
	if (isnan(b->share) || !differs(e, parent, floor) || b->share <= 0)
		conclude(
			b, "not-verified",
			fl_asprintf(
				"%.12s does not differ from its parent in the direction of the change",
				b->culprit_sha));
	else if (b->share < SHARE_MIN)
		conclude(
			b, "not-verified",
			fl_asprintf("%.12s explains only %.0f %% of the change",
				    b->culprit_sha, 100 * b->share));
	else
		conclude(b, "found", fl_strdup(""));
}

int fl_bisection_verify(struct fl_target *t, struct fl_bisection *b,
			double effect, double floor, struct fl_err *err)
{
	_cleanup_(evidence_clear) struct evidence e = {
		.t = t,
		.b = b,
		.boots = t->exact ? t->p->conf->boots_exact : WALL_BOOTS,
	};
	json_t *v;
	size_t i;
	int r = fl_store_rows(t->p->store, FL_ROWS_SHIFTS, &e.shifts, err, "i",
			      b->comparison_id);

	if (r < 0)
		return r;
	fl_caseset_init(&e.cases, t);
	fl_caseset_add(&e.cases, t, b->case_id);
	fl_caseset_add_control(&e.cases, t);
	json_array_foreach(e.shifts, i, v)
		fl_caseset_add(&e.cases, t, fl_json_int_or(v, "case_id", 0));
	r = need_culprit_and_parents(&e, err);
	if (r == FL_UNAVAILABLE) {
		conclude(
			b, "not-verified",
			fl_asprintf(
				"%.12s or a parent of it does not build or boot",
				b->culprit_sha));
		return FL_READY;
	}
	if (r != FL_READY)
		return r;
	verdict(&e, effect, floor);
	if (strcmp(b->status, "found"))
		return FL_READY;
	r = need_on_base(&e, err);
	if (r == FL_PENDING || r < 0) {
		conclude(b, "open", fl_strdup(""));
		return r;
	}
	json_array_foreach(e.shifts, i, v) {
		r = attribute(&e, v, err);
		if (r < 0)
			return r;
	}
	return FL_READY;
}

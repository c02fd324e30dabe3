// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is it really that commit? Culprit against each parent, on every case that
 * moved, and the other side with the commit on top. See bisection.h.
 */
#include "bisection.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "stats/stats.h"

#define WALL_BOOTS 8 /* STATISTICS: a fixed number, no peeking */
#define WALL_P 0.02
#define SHARE_EXPLAINED 0.8
#define SHARE_MIN 0.2

/* Culprit first, then its parents. */
#define MAX_KERNELS 17

struct evidence {
	struct fl_target *t;
	struct fl_bisection *b;
	const struct fl_bisection_change *change;
	struct fl_caseset cases;
	json_t *shifts; /* rows of FL_ROWS_SHIFTS */
	int64_t boots;
	struct fl_span span; /* boots that may speak */
	int64_t kernel[MAX_KERNELS], on_base; /* ids; on_base 0: none */
	int n;
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

/* The culprit and its parents, built. */
static int need_built(struct evidence *e, struct fl_err *err)
{
	_cleanup_(fl_git_commit_clear) struct fl_git_commit c = { 0 };
	int worst = FL_READY,
	    r = fl_git_commit(e->t->git, e->b->culprit_sha, &c, err);

	if (!r && c.nparents >= MAX_KERNELS)
		r = fl_err_set(err, -E2BIG, FL_E_USER,
			       "'%s' has more than %d parents",
			       e->b->culprit_sha, MAX_KERNELS - 1);
	if (r < 0)
		return r;
	for (size_t i = 0; i <= c.nparents; i++) {
		_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };

		r = fl_need_kernel(e->t, i ? c.parents[i - 1] : c.sha,
				   FL_PRIO_BISECT, &k, err);
		if (r < 0)
			return r;
		e->kernel[e->n++] = k.id;
		if (r > worst)
			worst = r;
	}
	return worst;
}

/* Boot by boot in turn, forth and back, so that drift falls on all alike. */
static int need_booted(struct evidence *e, struct fl_err *err)
{
	int worst = FL_READY;

	for (int64_t boot = 1; boot <= e->boots; boot++) {
		for (int i = 0; i < e->n; i++) {
			int at = boot % 2 ? i : e->n - 1 - i;
			int r = fl_need_boots(e->t, e->kernel[at], FL_ISA_PLAIN,
					      &e->cases, boot, e->span.after,
					      FL_PRIO_BISECT, err);

			if (r < 0)
				return r;
			if (r > worst)
				worst = r;
		}
	}
	return worst;
}

/* The end of the comparison that lacks the culprit, with it on top. */
static int need_on_base(struct evidence *e, struct fl_err *err)
{
	bool on_head = !strcmp(e->b->side, "base");
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
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
		r = fl_need_kernel(e->t, sha, FL_PRIO_BISECT, &k, err);
	if (r == FL_READY)
		r = fl_need_boots(e->t, k.id, FL_ISA_PLAIN, &e->cases, e->boots,
				  e->span.after, FL_PRIO_BISECT, err);
	if (r == FL_READY)
		e->on_base = k.id;
	return r;
}

static double level(struct evidence *e, int64_t kernel, int64_t case_id,
		    int64_t kpi_id)
{
	return kernel ? fl_target_level(e->t, kernel, FL_ISA_PLAIN, case_id,
					kpi_id, e->span) :
			NAN;
}

/* Of several parents the one that is nearest to the culprit. */
static double parent_level(struct evidence *e, double culprit, int64_t case_id,
			   int64_t kpi_id)
{
	double best = NAN;

	for (int i = 1; i < e->n; i++) {
		double v = level(e, e->kernel[i], case_id, kpi_id);

		if (isnan(best) || fabs(culprit - v) < fabs(culprit - best))
			best = v;
	}
	return best;
}

static int attribute(struct evidence *e, const json_t *shift,
		     struct fl_err *err)
{
	int64_t case_id = fl_json_int_or(shift, "case_id", 0);
	int64_t kpi_id = fl_json_int_or(shift, "kpi_id", 0);
	double total = fl_json_num_or(shift, "effect", 0);
	double c = level(e, e->kernel[0], case_id, kpi_id);
	double p = parent_level(e, c, case_id, kpi_id);
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

/* Culprit against one parent on the bisection's own case. */
static struct fl_verify_result against(struct evidence *e, int64_t parent)
{
	_cleanup_(fl_boots_clear) struct fl_boots p = { 0 }, c = { 0 };
	const struct fl_bisection *b = e->b;
	struct fl_verify_result res = { .share = NAN };
	struct fl_verify_params par = {
		.total = e->change->effect,
		.total_se = e->change->se,
		.alpha = WALL_P,
		.exact_floor = e->change->floor,
	};

	if (fl_target_logs(e->t, parent, FL_ISA_PLAIN, b->case_id, b->kpi_id,
			   e->span, &p, NULL) < 0 ||
	    fl_target_logs(e->t, e->kernel[0], FL_ISA_PLAIN, b->case_id,
			   b->kpi_id, e->span, &c, NULL) < 0 ||
	    !p.n || !c.n)
		return res;
	if (!isnan(b->s0sq)) {
		par.s0sq = b->s0sq;
		par.d0 = b->nu0;
	}
	fl_stats_verify(p.v, p.n, c.v, c.n, &par, &res);
	return res;
}

/* It must differ from every parent; its share is that of the nearest. */
static void verdict(struct evidence *e)
{
	struct fl_bisection *b = e->b;
	struct fl_verify_result nearest = { .share = NAN };
	bool confirmed = e->n > 1;

	for (int i = 1; i < e->n; i++) {
		struct fl_verify_result res = against(e, e->kernel[i]);

		confirmed &= res.confirmed;
		if (isnan(nearest.share) ||
		    fabs(res.effect) < fabs(nearest.effect))
			nearest = res;
	}
	b->share = nearest.share;
	b->share_lo = nearest.share_lo;
	b->share_hi = nearest.share_hi;
	if (!confirmed)
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
			const struct fl_bisection_change *change,
			struct fl_err *err)
{
	_cleanup_(evidence_clear) struct evidence e = {
		.t = t,
		.b = b,
		.change = change,
		.boots = t->exact ? t->p->conf->boots_exact : WALL_BOOTS,
		/* Exact boots repeat: those of the search will do. */
		.span.after = t->exact ? 0 : b->verify_after,
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
	r = need_built(&e, err);
	if (r == FL_READY)
		r = need_booted(&e, err);
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
	verdict(&e);
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

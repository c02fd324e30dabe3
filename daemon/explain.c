// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which commits moved what moved: see fl_explain_advance() in nightly.h.
 *
 * Shifts of one program in one direction are taken to have one cause until a
 * culprit shows otherwise: the largest of them is bisected, and the culprit is
 * then measured on all of them. What it does not explain is bisected next.
 */
#include "nightly.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "bisection.h"
#include "compare.h"
#include "report.h"
#include "stats/stats.h"
#include "util/log.h"

#define EXPLAINED 0.8
/* A side whose share of the change is below this is not bisected. */
#define SIDE_SHARE 0.2
#define FORK_BOOTS 8 /* on the wall clock, where the ends took what they took */

struct explain {
	struct fl_target *t;
	int64_t comparison;
	int64_t after_run; /* boots that count come later */
	json_t *row; /* FL_ROWS_COMPARISON */
	json_t *shifts; /* FL_ROWS_SHIFTS */
	json_t *bisections; /* FL_ROWS_BISECTIONS_OF */
	char fork[FL_SHA_HEX]; /* merge base */
	int64_t fork_kernel; /* 0: base is an ancestor of head */
};

static void explain_clear(struct explain *e)
{
	json_decref(e->row);
	json_decref(e->shifts);
	json_decref(e->bisections);
}

static const char *base_sha(const struct explain *e)
{
	return fl_json_str_or(e->row, "base_sha", "");
}

static const char *head_sha(const struct explain *e)
{
	return fl_json_str_or(e->row, "head_sha", "");
}

static int load(struct explain *e, struct fl_err *err)
{
	struct fl_store *s = e->t->p->store;
	json_auto_t *rows = NULL;
	int r = fl_store_rows(s, FL_ROWS_COMPARISON, &rows, err, "i",
			      e->comparison);

	if (!r)
		e->row = json_incref(json_array_get(rows, 0));
	e->after_run = fl_json_int_or(e->row, "after_run", 0);
	if (!r)
		r = fl_store_rows(s, FL_ROWS_SHIFTS, &e->shifts, err, "i",
				  e->comparison);
	if (!r)
		r = fl_store_rows(s, FL_ROWS_BISECTIONS_OF, &e->bisections, err,
				  "i", e->comparison);
	if (!r)
		r = fl_git_merge_base(e->t->git, base_sha(e), head_sha(e),
				      e->fork, err);
	return r;
}

/* As many as the two ends had, within a side's first look. */
static int64_t fork_boots(const struct explain *e)
{
	int64_t n = fl_json_int_or(e->row, "boots", 0);

	return n ? n : FORK_BOOTS;
}

/* Where the two histories meet, measured on what moved. */
static int need_fork(struct explain *e, struct fl_err *err)
{
	_cleanup_(fl_caseset_clear) struct fl_caseset cases = { 0 };
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	json_t *v;
	size_t i;
	int r;

	if (!strcmp(e->fork, base_sha(e)) || !strcmp(e->fork, head_sha(e)))
		return FL_READY;
	r = fl_need_kernel(e->t, e->fork, FL_PRIO_NIGHTLY, &k, err);
	if (r != FL_READY)
		return r;
	e->fork_kernel = k.id;
	fl_caseset_init(&cases, e->t);
	fl_caseset_add_control(&cases, e->t);
	json_array_foreach(e->shifts, i, v)
		fl_caseset_add(&cases, e->t, fl_json_int_or(v, "case_id", 0));
	return fl_need_boots(e->t, k.id, FL_ISA_PLAIN, &cases, fork_boots(e),
			     e->after_run, FL_PRIO_NIGHTLY, err);
}

static double mean_log(struct explain *e, int64_t kernel, const json_t *shift)
{
	return fl_target_level(e->t, kernel, FL_ISA_PLAIN,
			       fl_json_int_or(shift, "case_id", 0),
			       fl_json_int_or(shift, "kpi_id", 0),
			       (struct fl_span){ e->after_run, 0 });
}

/* Opens the bisections of one shift: one for each side that moved. */
static int open_shift(struct explain *e, const json_t *shift,
		      struct fl_err *err)
{
	double total = fl_json_num_or(shift, "effect", 0), fork, share[2];
	const char *const side[2] = { "head", "base" };
	const char *const tip[2] = { head_sha(e), base_sha(e) };
	struct fl_bisection_new n = {
		.comparison_id = e->comparison,
		.case_id = fl_json_int_or(shift, "case_id", 0),
		.kpi_id = fl_json_int_or(shift, "kpi_id", 0),
		.good_sha = e->fork,
	};
	int64_t id;
	int r = 0;

	if (!e->fork_kernel) { /* a line: one of the two is the fork */
		share[0] = strcmp(e->fork, head_sha(e)) != 0;
		share[1] = !share[0];
	} else {
		fork = mean_log(e, e->fork_kernel, shift);
		share[0] =
			(mean_log(e,
				  fl_json_int_or(e->row, "head_kernel_id", 0),
				  shift) -
			 fork) /
			total;
		share[1] = 1 - share[0];
		if (isnan(fork))
			share[0] = share[1] = 1;
	}
	for (int i = 0; !r && i < 2; i++) {
		if (share[i] < SIDE_SHARE)
			continue;
		n.side = side[i];
		n.bad_sha = tip[i];
		fl_info("bisecting %s of %s on the side of %s",
			fl_json_str_or(shift, "kpi", ""),
			fl_json_str_or(shift, "case", ""),
			fl_json_str_or(e->row, side[i], ""));
		r = fl_bisection_open(e->t, &n, &id, err);
	}
	return r;
}

/* Programs of others go by the name that their job gives them. */
static const char *program(const json_t *shift)
{
	const json_t *params = json_object_get(shift, "params");

	return fl_json_str_or(params,
			      fl_case_is_exec(params) ? "name" : "program", "");
}

static bool explained(const json_t *shift)
{
	return fl_json_num_or(shift, "explained", 0) >= EXPLAINED;
}

/*
 * The KPI of its clock is what is bisected; others follow from it. Of the KPIs
 * that a program of others prints none stands above the others.
 */
static bool is_primary(const struct explain *e, const json_t *shift)
{
	const json_t *params = json_object_get(shift, "params");

	return fl_case_is_exec(params) ||
	       !strcmp(fl_json_str_or(shift, "kpi", ""),
		       fl_kpi_primary(fl_json_str_or(e->row, "clock", ""),
				      params));
}

/* Would an earlier shift of the list stand for this one? */
static bool stood_for(const struct explain *e, size_t at)
{
	const json_t *me = json_array_get(e->shifts, at);
	double effect = fl_json_num_or(me, "effect", 0);

	for (size_t i = 0; i < json_array_size(e->shifts); i++) {
		const json_t *v = json_array_get(e->shifts, i);
		bool opposite = fl_json_num_or(v, "effect", 0) * effect < 0;

		if (i == at || opposite || explained(v) ||
		    is_primary(e, v) != is_primary(e, me) ||
		    strcmp(program(v), program(me)))
			continue;
		/* One that is being bisected, or that comes before. */
		if (fl_json_int_or(v, "tried", 0) || i < at)
			return true;
	}
	return false;
}

static size_t open_count(const struct explain *e)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(e->bisections); i++)
		n += !strcmp(fl_json_str_or(json_array_get(e->bisections, i),
					    "status", ""),
			     "open");
	return n;
}

/*
 * First round: a representative of each program and direction. Later, with
 * none open: what no culprit explained, one after the other.
 */
static int open_next(struct explain *e, struct fl_err *err)
{
	bool first = !json_array_size(e->bisections);
	int64_t max = e->t->p->conf->max_culprits;
	int opened = 0;

	if (open_count(e))
		return 0;
	/* Primary KPIs first; others only where no primary one moved. */
	for (int pass = 0; pass < 2 && !opened; pass++) {
		for (size_t i = 0; i < json_array_size(e->shifts); i++) {
			const json_t *v = json_array_get(e->shifts, i);
			int r;

			if (is_primary(e, v) != !pass || explained(v) ||
			    fl_json_int_or(v, "tried", 0))
				continue;
			if ((first && stood_for(e, i)) || (!first && opened) ||
			    (int64_t)json_array_size(e->bisections) + opened >=
				    max)
				continue;
			r = open_shift(e, v, err);
			if (r < 0)
				return r;
			opened++;
		}
	}
	return opened;
}

/* What another bisection's culprit explains need not be searched further. */
static int close_explained(struct explain *e, int64_t id, bool *closed,
			   struct fl_err *err)
{
	_cleanup_(fl_bisection_clear) struct fl_bisection b = { 0 };
	json_t *v;
	size_t i;
	int r = fl_store_bisection_by_id(e->t->p->store, id, &b, err);

	*closed = false;
	if (r < 0)
		return r;
	json_array_foreach(e->shifts, i, v) {
		if (fl_json_int_or(v, "case_id", 0) != b.case_id ||
		    fl_json_int_or(v, "kpi_id", 0) != b.kpi_id || !explained(v))
			continue;
		free(b.status);
		b.status = fl_strdup("explained");
		*closed = true;
		return fl_store_bisection_update(e->t->p->store, &b, err);
	}
	return 0;
}

static int advance_bisections(struct explain *e, struct fl_err *err)
{
	_cleanup_(fl_caseset_clear) struct fl_caseset watch;
	size_t open = open_count(e), i;
	int worst = FL_READY;
	json_t *v;

	fl_caseset_init(&watch, e->t);
	json_array_foreach(e->bisections, i, v) {
		_cleanup_(fl_bisection_clear) struct fl_bisection b = { 0 };

		if (!fl_store_bisection_by_id(e->t->p->store,
					      fl_json_int_or(v, "id", 0), &b,
					      NULL) &&
		    !strcmp(b.status, "open"))
			fl_caseset_add(&watch, e->t, b.case_id);
	}
	json_array_foreach(e->bisections, i, v) {
		int64_t id = fl_json_int_or(v, "id", 0);
		bool closed = false;
		int r = 0;

		if (!strcmp(fl_json_str_or(v, "status", ""), "open"))
			r = close_explained(e, id, &closed, err);
		if (r >= 0 && !closed)
			r = fl_bisection_advance(e->t, id, &watch,
						 open > 1 ? 1 : 2, err);
		if (r == FL_READY)
			r = fl_report_make(e->t->p, id, err);
		if (r < 0)
			return r;
		if (r == FL_PENDING)
			worst = r;
	}
	return worst;
}

static int reload(struct explain *e, struct fl_err *err)
{
	struct explain again = { .t = e->t, .comparison = e->comparison };

	explain_clear(e);
	*e = again;
	return load(e, err);
}

int fl_explain_follow(struct fl_target *t, int64_t comparison_id,
		      struct fl_err *err)
{
	for (;;) {
		_cleanup_(explain_clear) struct explain e = {
			.t = t, .comparison = comparison_id
		};
		int r = load(&e, err);

		if (r >= 0)
			r = advance_bisections(&e, err);
		if (r != FL_READY)
			return r;
		r = reload(&e, err);
		if (!r)
			r = fl_bisection_open_rest(t, e.bisections, err);
		if (r <= 0)
			return r < 0 ? r : FL_READY;
	}
}

int fl_explain_advance(struct fl_target *t, int64_t comparison_id,
		       struct fl_err *err)
{
	t->p->stage = "bisecting";
	/* Each round ends in work, or opens bisections, of which there are
	 * finitely many. */
	for (;;) {
		_cleanup_(explain_clear) struct explain e = {
			.t = t, .comparison = comparison_id
		};
		int r = load(&e, err);

		if (r < 0)
			return r;
		if (!json_array_size(e.shifts))
			return FL_READY;
		r = need_fork(&e, err);
		if (r < 0 || r == FL_PENDING)
			return r;
		r = advance_bisections(&e, err);
		if (r != FL_READY)
			return r;
		r = reload(&e, err);
		if (!r)
			r = need_fork(&e, err); /* sets fork_kernel again */
		if (r < 0 || r == FL_PENDING)
			return r;
		r = fl_bisection_open_rest(t, e.bisections, err);
		if (!r)
			r = open_next(&e, err);
		if (r <= 0)
			return r < 0 ? r : FL_READY;
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* See bisection.h. */
#include "bisection-search.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "compare.h"
#include "noise.h"
#include "stats/stats.h"

#define POSTERIOR_MIN 1e-6
/* Candidates that may fail their verification before the search ends. */
#define MAX_REFUTED 3
#define AGAIN 100 /* beside enum fl_ready: look at the rows once more */

/* ---- steps ----------------------------------------------------------------- */

static json_t *posterior_json(const struct fl_search *s)
{
	const double *p = fl_bisect_posterior(s->engine);
	json_t *j = json_object();

	for (int i = 0; i < s->n; i++) {
		char key[16];

		if (p[i] < POSTERIOR_MIN)
			continue;
		snprintf(key, sizeof(key), "%d", i);
		json_object_set_new(j, key, json_real(p[i]));
	}
	return j;
}

/* Tells the engine what is new, one by one, and writes what it believes. */
static int write_steps(struct fl_search *s, struct fl_err *err)
{
	_cleanup_free_ int64_t *boots = fl_calloc((size_t)s->n, sizeof(*boots));
	int r = 0;

	for (size_t i = 0; !r && i < s->nevents; i++) {
		const struct fl_search_event *e = &s->event[i];
		const struct fl_search_node *node = &s->node[e->node];
		json_auto_t *posterior = NULL;
		double mass;
		struct fl_step_row step = {
			.idx = e->node,
			.kernel_id = node->kernel.id,
			.run_id = e->run,
			.boots = boots[e->node] += e->run > 0,
			.outcome = e->run ? "measured" : node->skip,
			.value = e->run ? exp(e->value) : NAN,
		};

		if (e->step)
			continue;
		fl_search_hear(s, e);
		fl_bisect_update(s->engine);
		posterior = posterior_json(s);
		step.posterior = posterior;
		step.candidates = fl_bisect_answer(s->engine, 0, NULL, &mass);
		r = fl_store_bisection_step(s->t->p->store, s->row->id, &step,
					    err);
	}
	return r;
}

/* ---- what next --------------------------------------------------------------- */

static int ask_for(struct fl_search *s, int i, const struct fl_caseset *cases,
		   struct fl_err *err)
{
	struct fl_search_node *node = &s->node[s->node[i].stand_in];
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	int r = fl_need_kernel(s->t, node->sha, FL_PRIO_BISECT, &k, err);

	if (r != FL_READY)
		return r;
	return fl_need_boots(s->t, k.id, FL_ISA_PLAIN, cases,
			     (int64_t)node->boots.n + 1, s->row->after_run,
			     FL_PRIO_BISECT, err);
}

static int go_on(struct fl_search *s, const struct fl_caseset *watch,
		 int parallel, struct fl_err *err)
{
	_cleanup_(fl_caseset_clear) struct fl_caseset cases;
	int pick[8], n, busy = 0, r = 0;

	fl_caseset_init(&cases, s->t);
	for (size_t i = 0; i < cases.n; i++)
		cases.want[i] = watch && watch->want[i];
	fl_caseset_add(&cases, s->t, s->row->case_id);
	fl_caseset_add_control(&cases, s->t);
	/* What is under way; asked for again, should its work have failed. */
	for (int i = 0; r >= 0 && i < s->n; i++) {
		if (s->node[i].queued) {
			busy++;
		} else if (s->node[i].kernel.id && !s->node[i].skipped &&
			   strcmp(s->node[i].kernel.status, "built")) {
			busy++;
			r = ask_for(s, i, &cases, err);
		}
	}
	n = fl_bisect_next(s->engine, parallel < 8 ? parallel : 8, pick);
	for (int i = 0; r >= 0 && i < n && busy < parallel; i++, busy++)
		r = ask_for(s, pick[i], &cases, err);
	if (r < 0)
		return r;
	s->t->p->ahead_build_s +=
		log2(s->n + 1) * fl_store_mean_make_s(s->t->p->store, 30) / 2;
	if (!n && !busy)
		return fl_err_set(
			err, -EDEADLK, FL_E_BUG,
			"bisection %lld has nothing to test and no answer",
			(long long)s->row->id);
	return FL_PENDING;
}

static void set_status(struct fl_bisection *b, const char *status,
		       const char *reason)
{
	free(b->status);
	free(b->reason);
	b->status = fl_strdup(status);
	b->reason = fl_strdup(reason);
}

static void set_shortlist(struct fl_search *s, const int *set, int n,
			  double mass)
{
	_cleanup_buf_ struct fl_buf text = { 0 };
	int skipped = 0;

	for (int i = 0; i < s->n; i++)
		skipped += s->node[i].skipped;
	fl_buf_printf(&text, "one of %d commits (%.0f %%)", n, 100 * mass);
	for (int i = 0; i < n && i < 8; i++)
		fl_buf_printf(&text, "%s%.12s", i ? ", " : ": ",
			      s->node[set[i]].sha);
	if (n > 8)
		fl_buf_puts(&text, ", ...");
	if (skipped)
		fl_buf_printf(
			&text,
			"; of those between the end points %d do%s not build or boot",
			skipped, skipped == 1 ? "es" : "");
	set_status(s->row, "shortlist", fl_buf_str(&text));
}

/* The change that is to be explained: between the end points themselves. The
 * engine's levels lie within it where there is a third one. */
static struct fl_bisection_change
whole_change(const struct fl_search *s, const struct fl_bisect_levels *lev)
{
	const struct fl_boots *good = &s->node[0].boots;
	const struct fl_boots *bad = &s->node[s->n - 1].boots;

	return (struct fl_bisection_change){
		.effect = fl_stats_mean(bad->v, bad->n) -
			  fl_stats_mean(good->v, good->n),
		.se = lev->sigma *
		      sqrt(1 / (double)good->n + 1 / (double)bad->n),
		.floor = s->t->exact ? fl_compare_exact_floor(s->sd) : 0,
	};
}

/*
 * Boots of the verification are kept from the search. A candidate that fails
 * gives them back, and the search goes on with them; under the exact clock
 * they would say the same again.
 */
static int verify(struct fl_search *s, const struct fl_bisect_levels *lev,
		  struct fl_err *err)
{
	struct fl_bisection *b = s->row;
	const struct fl_bisection_change change = whole_change(s, lev);
	int r = 0;

	if (b->verify_after < 0)
		r = fl_store_last_run(s->t->p->store, &b->verify_after, err);
	if (!r)
		r = fl_bisection_verify(s->t, b, &change, err);
	if (r != FL_READY || strcmp(b->status, "not-verified") || s->t->exact ||
	    b->refuted >= MAX_REFUTED)
		return r;
	b->refuted++;
	b->verify_after = -1;
	set_status(b, "open", "");
	return AGAIN;
}

static int found(struct fl_search *s, struct fl_err *err)
{
	_cleanup_free_ int *set = fl_calloc((size_t)s->n, sizeof(*set));
	struct fl_bisect_levels lev;
	double mass;
	int n = fl_bisect_answer(s->engine, s->n, set, &mass);

	s->row->confidence = mass;
	if (n != 1) {
		set_shortlist(s, set, n, mass);
		return FL_READY;
	}
	fl_bisect_get_levels(s->engine, &lev);
	free(s->row->culprit_sha);
	s->row->culprit_sha = fl_strdup(s->node[set[0]].sha);
	return verify(s, &lev, err);
}

static double end_value(const struct fl_search_node *end, double believed)
{
	return exp(end->boots.n ? fl_stats_mean(end->boots.v, end->boots.n) :
				  believed);
}

static int judge(struct fl_search *s, const struct fl_caseset *watch,
		 int parallel, struct fl_err *err)
{
	_cleanup_free_ int *set = fl_calloc((size_t)s->n, sizeof(*set));
	enum fl_bisect_state state;
	struct fl_bisect_levels lev;
	_cleanup_free_ char *text = NULL;
	double mass;
	int r = write_steps(s, err), n;

	if (r < 0)
		return r;
	state = fl_bisect_update(s->engine);
	fl_bisect_get_levels(s->engine, &lev);
	s->row->good_value = end_value(&s->node[0], lev.good);
	s->row->bad_value = end_value(&s->node[s->n - 1], lev.bad);
	s->row->sigma = lev.sigma;
	switch (state) {
	case FL_BISECT_FOUND:
		return found(s, err);
	case FL_BISECT_DOES_NOT_REPRODUCE:
		text = fl_asprintf(
			"the end points do not differ by more than the noise: %.6g and %.6g after %d boots",
			s->row->good_value, s->row->bad_value,
			fl_bisect_boots(s->engine, -1));
		set_status(s->row, "does-not-reproduce", text);
		return FL_READY;
	case FL_BISECT_SHORTLIST:
		n = fl_bisect_answer(s->engine, s->n, set, &mass);
		s->row->confidence = mass;
		set_shortlist(s, set, n, mass);
		return FL_READY;
	default:
		return go_on(s, watch, parallel, err);
	}
}

static int look(struct fl_target *t, struct fl_bisection *row,
		const struct fl_caseset *watch, int parallel,
		struct fl_err *err)
{
	_cleanup_(fl_search_clear) struct fl_search s = { .t = t, .row = row };
	int ready, r = fl_search_load(&s, err);

	if (r < 0)
		return r;
	ready = judge(&s, watch, parallel, err);
	if (ready < 0)
		return ready;
	r = fl_store_bisection_update(t->p->store, row, err);
	return r < 0 ? r : ready;
}

int fl_bisection_advance(struct fl_target *t, int64_t id,
			 const struct fl_caseset *watch, int parallel,
			 struct fl_err *err)
{
	_cleanup_(fl_bisection_clear) struct fl_bisection row = { 0 };
	int r = fl_store_bisection_by_id(t->p->store, id, &row, err);

	if (r < 0)
		return r;
	if (strcmp(row.status, "open"))
		return FL_READY;
	do
		r = look(t, &row, watch, parallel, err);
	while (r == AGAIN);
	if (r == FL_READY)
		r = fl_noise_refresh(t, err);
	return r < 0 ? fl_err_prefix(err, "bisection %lld", (long long)id) : r;
}

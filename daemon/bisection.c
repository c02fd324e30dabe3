// SPDX-License-Identifier: GPL-2.0-or-later
/* See bisection.h. */
#include "bisection-search.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "compare.h"

#define POSTERIOR_MIN 1e-6

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

/* A row for every commit that was tested; later boots update its value. */
static int write_steps(struct fl_search *s, struct fl_err *err)
{
	json_auto_t *posterior = posterior_json(s);
	double mass;
	int left = fl_bisect_answer(s->engine, 0, NULL, &mass);

	for (int i = 0; i < s->n; i++) {
		const struct fl_search_node *node = &s->node[i];
		struct fl_step_row step = {
			.idx = i,
			.kernel_id = node->kernel.id,
			.boots = (int64_t)node->nvalues,
			.candidates = left,
			.outcome = node->skipped ? node->skip : "measured",
			.value = NAN,
			.posterior = posterior,
		};
		double mean = 0;
		int r;

		if (!node->nvalues && !node->skipped)
			continue;
		for (size_t j = 0; j < node->nvalues; j++)
			mean += node->values[j] / (double)node->nvalues;
		if (node->nvalues)
			step.value = exp(mean);
		r = fl_store_bisection_step(s->t->p->store, s->row->id, &step,
					    err);
		if (r < 0)
			return r;
	}
	return 0;
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
			     (int64_t)node->nvalues + 1, FL_PRIO_BISECT, err);
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

static int found(struct fl_search *s, struct fl_err *err)
{
	_cleanup_free_ int *set = fl_calloc((size_t)s->n, sizeof(*set));
	struct fl_bisect_levels lev;
	double mass;
	int n = fl_bisect_answer(s->engine, s->n, set, &mass), r;

	s->row->confidence = mass;
	if (n != 1) {
		set_shortlist(s, set, n, mass);
		return FL_READY;
	}
	fl_bisect_get_levels(s->engine, &lev);
	free(s->row->culprit_sha);
	s->row->culprit_sha = fl_strdup(s->node[set[0]].sha);
	r = fl_bisection_verify(s->t, s->row, lev.bad - lev.good,
				fl_compare_exact_floor(s->sd), err);
	return r;
}

static int judge(struct fl_search *s, const struct fl_caseset *watch,
		 int parallel, struct fl_err *err)
{
	_cleanup_free_ int *set = fl_calloc((size_t)s->n, sizeof(*set));
	enum fl_bisect_state state = fl_bisect_update(s->engine);
	struct fl_bisect_levels lev;
	_cleanup_free_ char *text = NULL;
	double mass;
	int r = write_steps(s, err), n;

	if (r < 0)
		return r;
	fl_bisect_get_levels(s->engine, &lev);
	s->row->good_value = exp(lev.good);
	s->row->bad_value = exp(lev.bad);
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

int fl_bisection_advance(struct fl_target *t, int64_t id,
			 const struct fl_caseset *watch, int parallel,
			 struct fl_err *err)
{
	_cleanup_(fl_bisection_clear) struct fl_bisection row = { 0 };
	_cleanup_(fl_search_clear) struct fl_search s = { .t = t, .row = &row };
	int ready, r = fl_store_bisection_by_id(t->p->store, id, &row, err);

	if (r < 0)
		return r;
	if (strcmp(row.status, "open"))
		return FL_READY;
	r = fl_search_load(&s, err);
	if (r < 0)
		return fl_err_prefix(err, "bisection %lld", (long long)id);
	ready = judge(&s, watch, parallel, err);
	if (ready < 0)
		return fl_err_prefix(err, "bisection %lld", (long long)id);
	r = fl_store_bisection_update(t->p->store, &row, err);
	return r < 0 ? r : ready;
}

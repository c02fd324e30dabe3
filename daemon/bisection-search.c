// SPDX-License-Identifier: GPL-2.0-or-later
/* A bisection's rows, and the engine that is fed with them. */
#include "bisection-search.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "compare.h"
#include "noise.h"
#include "stats/stats.h"

/* Perturbed runs of one image agree better than two images do. */
#define EXACT_MIN_SD 1e-5
#define EXACT_IMAGE_SD 1e-4
#define EXACT_NU0 4
/* Without history: a tenth of the variance is the image's. */
#define WALL_LAMBDA 0.1
#define WALL_MIN_VAR 1e-8
#define RECHECK 20 /* boots between two looks at the end points */
#define WALL_NU0 1

void fl_search_clear(struct fl_search *s)
{
	for (int i = 0; i < s->n; i++) {
		free(s->node[i].sha);
		free(s->node[i].parents);
		fl_boots_clear(&s->node[i].boots);
		fl_kernel_clear(&s->node[i].kernel);
	}
	free(s->node);
	free(s->event);
	fl_bisect_free(s->engine);
	*s = (struct fl_search){ .t = s->t, .row = s->row };
}

/* ---- from rows to the engine -------------------------------------------- */

/*
 * A commit that cannot change the image is stood in for by its parent, as far
 * down as that goes: whatever the culprit is, both are on the same side.
 */
static int stand_in(const struct fl_search_node *node, int n, int i)
{
	while (i > 0 && i < n - 1 && node[i].prior <= 0 &&
	       node[i].nparents == 1)
		i = node[i].parents[0];
	return i;
}

static int load_graph(struct fl_search *s, struct fl_err *err)
{
	json_auto_t *rows = NULL;
	json_t *v, *p;
	size_t i, j;
	int r = fl_store_rows(s->t->p->store, FL_ROWS_BISECTION_COMMITS, &rows,
			      err, "i", s->row->id);

	if (r < 0)
		return r;
	s->n = (int)json_array_size(rows);
	s->node = fl_calloc((size_t)s->n, sizeof(*s->node));
	json_array_foreach(rows, i, v) {
		struct fl_search_node *node = &s->node[i];
		json_t *parents = json_object_get(v, "parents");

		node->sha = fl_strdup(fl_json_str_or(v, "sha", ""));
		node->prior = fl_json_num_or(v, "prior", 1);
		node->nparents = (int)json_array_size(parents);
		node->parents =
			fl_calloc((size_t)node->nparents + 1, sizeof(int));
		json_array_foreach(parents, j, p)
			node->parents[j] = (int)json_integer_value(p);
		node->stand_in = stand_in(s->node, s->n, (int)i);
	}
	return 0;
}

/* Boots that the search may know: see fl_bisection.verify_after. */
static struct fl_span search_span(const struct fl_bisection *row)
{
	return (struct fl_span){ row->after_run, row->verify_after >= 0 ?
							 row->verify_after :
							 0 };
}

static int load_node(struct fl_search *s, struct fl_search_node *node,
		     struct fl_err *err)
{
	struct fl_target *t = s->t;
	struct fl_boot_count c;
	int r = fl_store_kernel_find(t->p->store, node->sha, t->builder,
				     t->config_id, t->compiler, &node->kernel,
				     err);

	if (r <= 0)
		return r;
	if (!strcmp(node->kernel.status, "failed") ||
	    !strcmp(node->kernel.status, "timeout")) {
		node->skipped = true;
		node->skip = "build-failed";
	}
	if (strcmp(node->kernel.status, "built"))
		return 0;
	r = fl_store_boot_count(t->p->store, node->kernel.id, t->recipe[0],
				s->row->case_id, s->row->after_run, &c, err);
	if (r < 0)
		return r;
	node->queued = c.queued;
	r = fl_target_logs(t, node->kernel.id, FL_ISA_PLAIN, s->row->case_id,
			   s->row->kpi_id, search_span(s->row), &node->boots,
			   err);
	if (r < 0 && r != -ERANGE)
		return r;
	if (!node->boots.n && (c.broken || c.case_failed) && !c.queued) {
		node->skipped = true;
		node->skip = "boot-failed";
	}
	return 0;
}

/* An image that is equal to its parent's cannot have moved anything. */
static void merge_equal_images(struct fl_search *s)
{
	for (int i = 1; i < s->n - 1; i++) {
		struct fl_search_node *node = &s->node[i];
		const struct fl_search_node *up;

		if (node->nparents != 1 || !node->kernel.image_hash)
			continue;
		up = &s->node[s->node[node->parents[0]].stand_in];
		if (!up->kernel.image_hash ||
		    strcmp(up->kernel.image_hash, node->kernel.image_hash))
			continue;
		node->prior = 0;
		node->stand_in = (int)(up - s->node);
		/* Its boots are its parent's. */
		fl_boots_clear(&node->boots);
	}
}

/* ---- events --------------------------------------------------------------- */

static void add_event(struct fl_search *s, int node, int64_t run, double value)
{
	s->event = fl_realloc(s->event, (s->nevents + 1) * sizeof(*s->event));
	s->event[s->nevents++] =
		(struct fl_search_event){ node, run, value, 0 };
}

/* Those with rows in the order of these, then the new ones: commits that
 * cannot be tested first, then boots in the order of their runs. */
static int cmp_event(const void *a, const void *b)
{
	const struct fl_search_event *x = a, *y = b;

	if (x->step != y->step)
		return !x->step - !y->step ?: (x->step > y->step ? 1 : -1);
	if (x->run != y->run)
		return x->run > y->run ? 1 : -1;
	return x->node - y->node;
}

static int load_events(struct fl_search *s, struct fl_err *err)
{
	json_auto_t *rows = NULL;
	json_t *v;
	size_t at;
	int r;

	for (int i = 0; i < s->n; i++) {
		const struct fl_search_node *node = &s->node[i];

		if (node->skipped)
			add_event(s, i, 0, NAN);
		for (size_t j = 0; j < node->boots.n; j++)
			add_event(s, i, node->boots.run[j], node->boots.v[j]);
	}
	r = fl_store_rows(s->t->p->store, FL_ROWS_BISECTION_STEPS, &rows, err,
			  "i", s->row->id);
	json_array_foreach(rows, at, v) {
		int node = (int)fl_json_int_or(v, "idx", -1);
		int64_t run =
			strcmp(fl_json_str_or(v, "outcome", ""), "measured") ?
				0 :
				fl_json_int_or(v, "run_id", 0);

		for (size_t i = 0; i < s->nevents; i++)
			if (s->event[i].node == node && s->event[i].run == run)
				s->event[i].step = fl_json_int_or(v, "n", 0);
	}
	if (s->nevents)
		qsort(s->event, s->nevents, sizeof(*s->event), cmp_event);
	return r;
}

/* On the wall clock the end points are measured anew once in a while: then a
 * machine that drifts shows, and the engine allows for it. */
static void set_period(struct fl_search *s)
{
	if (!s->t->exact)
		fl_bisect_period(s->engine,
				 fl_bisect_boots(s->engine, -1) / RECHECK);
}

void fl_search_hear(struct fl_search *s, const struct fl_search_event *e)
{
	if (e->run)
		fl_bisect_add(s->engine, e->node, e->value);
	else
		fl_bisect_skip(s->engine, e->node);
	set_period(s);
}

/* Spread between boots of one image, pooled over all that were measured. */
static double pooled_sd(const struct fl_search *s)
{
	double ss = 0;
	size_t df = 0;

	for (int i = 0; i < s->n; i++) {
		const struct fl_boots *boots = &s->node[i].boots;
		size_t own = boots->n ? boots->n - 1 : 0;
		double sd = fl_stats_sd(boots->v, boots->n);

		ss += (double)own * sd * sd;
		df += own;
	}
	return df ? sqrt(ss / (double)df) : 0;
}

static int make_engine(struct fl_search *s, struct fl_err *err)
{
	const struct fl_conf *conf = s->t->p->conf;
	_cleanup_free_ struct fl_bisect_commit *c =
		fl_calloc((size_t)s->n, sizeof(*c));
	double sd = s->sd = pooled_sd(s), make_s, run_s;
	struct fl_bisect_noise noise;
	struct fl_bisect_params par = {
		.exact = s->t->exact,
		.confidence = conf->confidence,
		.min_effect = fl_compare_exact_floor(sd),
		.gate_min_boots = s->t->exact ? (int)conf->boots_exact : 5,
		.gate_max_boots = s->t->exact ? 6 : 40,
		.gate_t = 4,
		.max_runs = (int)conf->max_runs,
	};

	if (s->t->exact) {
		sd = fmax(sd, EXACT_MIN_SD);
		noise = (struct fl_bisect_noise){
			sd * sd, EXACT_NU0,
			EXACT_IMAGE_SD * EXACT_IMAGE_SD / (sd * sd)
		};
	} else {
		/* What the host showed in other boots; else these ones. */
		bool known = !isnan(s->row->s0sq);

		noise = (struct fl_bisect_noise){
			fmax(known ? s->row->s0sq : sd * sd, WALL_MIN_VAR),
			known ? s->row->nu0 : WALL_NU0,
			isnan(s->row->lambda) ? WALL_LAMBDA : s->row->lambda
		};
	}
	for (int i = 0; i < s->n; i++)
		c[i] = (struct fl_bisect_commit){ s->node[i].parents,
						  s->node[i].nparents,
						  i ? s->node[i].prior : 0 };
	s->engine = fl_bisect_new(c, s->n, &noise, &par);
	if (!s->engine)
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"no commit between '%s' and '%s' can change the image",
			s->row->good_sha, s->row->bad_sha);
	make_s = fl_store_mean_make_s(s->t->p->store, 30);
	run_s = fl_store_mean_run_s(s->t->p->store, s->t->host_id, 3, 12);
	for (int i = 0; i < s->n; i++) {
		struct fl_search_node *node = &s->node[i];
		const struct fl_search_node *built = &s->node[node->stand_in];

		fl_bisect_cost(s->engine, i,
			       built->kernel.image_hash ? 0 : make_s, run_s);
		/* What stands in for it will not build or boot. */
		if (!node->skipped && built->skipped && !node->boots.n)
			fl_bisect_skip(s->engine, i);
		if (node->queued)
			fl_bisect_pending(s->engine, i, (int)node->queued);
		else if (node->kernel.id && !node->skipped &&
			 strcmp(node->kernel.status, "built"))
			fl_bisect_pending(s->engine, i, 1);
	}
	for (size_t i = 0; i < s->nevents && s->event[i].step; i++)
		fl_search_hear(s, &s->event[i]);
	return 0;
}

int fl_search_load(struct fl_search *s, struct fl_err *err)
{
	int r = load_graph(s, err);

	for (int i = 0; !r && i < s->n; i++)
		r = load_node(s, &s->node[i], err);
	if (r < 0)
		return r;
	merge_equal_images(s);
	r = load_events(s, err);
	return r < 0 ? r : make_engine(s, err);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* See bisection.h. */
#include "bisection.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "../bisect/bisect.h"
#include "compare.h"
#include "kbuild.h"
#include "util/fs.h"
#include "util/log.h"

/* A merge that changes no file by itself can still join two changes that do
 * not go together; that is rare. */
#define CLEAN_MERGE_PRIOR 0.05
/* Perturbed runs of one image agree better than two images do. */
#define EXACT_MIN_SD 1e-5
#define EXACT_IMAGE_SD 1e-4
#define EXACT_NU0 4
#define WALL_LAMBDA 0.1
#define POSTERIOR_MIN 1e-6

struct node {
	char *sha;
	int *parents;
	int nparents;
	double prior;
	int stand_in; /* the commit that is built in its place: same image */
	struct fl_kernel kernel; /* id 0: never asked for */
	bool skipped;
	const char *skip; /* "build-failed" or "boot-failed" */
	double *values;
	size_t nvalues;
	int64_t queued;
};

struct search {
	struct fl_target *t;
	struct fl_bisection *row;
	struct node *node;
	int n;
	double sd; /* between boots, log scale */
	struct fl_bisect *engine;
};

static void search_clear(struct search *s)
{
	for (int i = 0; i < s->n; i++) {
		free(s->node[i].sha);
		free(s->node[i].parents);
		free(s->node[i].values);
		fl_kernel_clear(&s->node[i].kernel);
	}
	free(s->node);
	fl_bisect_free(s->engine);
}

/* ---- the graph ---------------------------------------------------------- */

static int deps_path(struct fl_target *t, const char *sha, char **ret,
		     struct fl_err *err)
{
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	_cleanup_free_ char *dir = NULL;
	int r = fl_store_kernel_find(t->p->store, sha, t->builder, t->config_id,
				     t->compiler, &k, err);

	*ret = NULL;
	if (r <= 0 || !k.dir)
		return r < 0 ? r : 0;
	dir = fl_plan_path(t->p, k.dir);
	*ret = fl_path_join(dir, "deps");
	return 0;
}

static int index_of(const struct fl_git_range *g, const char *sha)
{
	for (size_t i = 0; i < g->n; i++)
		if (!strcmp(g->commits[i].sha, sha))
			return (int)i + 1;
	return -1;
}

static int write_graph(struct fl_target *t, int64_t id, const char *good,
		       const struct fl_git_range *g, char *const deps[2],
		       struct fl_err *err)
{
	json_auto_t *none = json_array();
	int r = fl_store_bisection_commit(t->p->store, id, 0, good, none, 0,
					  err);

	for (size_t i = 0; !r && i < g->n; i++) {
		const struct fl_git_commit *c = &g->commits[i];
		json_auto_t *parents = json_array();
		bool matters = fl_kbuild_matters(&g->touched[i], deps[0]) ||
			       fl_kbuild_matters(&g->touched[i], deps[1]);
		double prior = matters	       ? 1 :
			       c->nparents > 1 ? CLEAN_MERGE_PRIOR :
						 0;

		for (size_t p = 0; p < c->nparents; p++) {
			int at = strcmp(c->parents[p], good) ?
					 index_of(g, c->parents[p]) :
					 0;

			if (at >= 0)
				json_array_append_new(parents,
						      json_integer(at));
		}
		r = fl_target_commit(t, c->sha, err);
		if (!r)
			r = fl_store_bisection_commit(t->p->store, id,
						      (int64_t)i + 1, c->sha,
						      parents, prior, err);
	}
	return r;
}

int fl_bisection_open(struct fl_target *t, const struct fl_bisection_new *n,
		      int64_t *id, struct fl_err *err)
{
	_cleanup_(fl_git_range_clear) struct fl_git_range range = { 0 };
	_cleanup_(fl_bisection_clear) struct fl_bisection b = {
		.comparison_id = n->comparison_id,
		.case_id = n->case_id,
		.kpi_id = n->kpi_id,
		.tree_id = t->tree_id,
		.side = fl_strdup(n->side),
		.good_sha = fl_strdup(n->good_sha),
		.bad_sha = fl_strdup(n->bad_sha),
	};
	_cleanup_free_ char *good_deps = NULL, *bad_deps = NULL;
	int r = fl_store_bisection(t->p->store, &b, err);

	if (!r)
		r = fl_git_range(t->git, n->good_sha, n->bad_sha, &range, err);
	if (!r && !range.n)
		r = fl_err_set(err, -EINVAL, FL_E_USER,
			       "there is no commit between '%s' and '%s'",
			       n->good_sha, n->bad_sha);
	if (!r)
		r = deps_path(t, n->good_sha, &good_deps, err);
	if (!r)
		r = deps_path(t, n->bad_sha, &bad_deps, err);
	if (!r)
		r = write_graph(t, b.id, n->good_sha, &range,
				(char *[]){ good_deps, bad_deps }, err);
	*id = b.id;
	return r;
}

/* ---- from rows to the engine -------------------------------------------- */

/*
 * A commit that cannot change the image is stood in for by its parent, as far
 * down as that goes: whatever the culprit is, both are on the same side.
 */
static int stand_in(const struct node *node, int n, int i)
{
	while (i > 0 && i < n - 1 && node[i].prior <= 0 &&
	       node[i].nparents == 1)
		i = node[i].parents[0];
	return i;
}

static int load_graph(struct search *s, struct fl_err *err)
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
		struct node *node = &s->node[i];
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

static int load_node(struct search *s, struct node *node, struct fl_err *err)
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
				s->row->case_id, &c, err);
	if (r < 0)
		return r;
	node->queued = c.queued;
	r = fl_target_logs(t, node->kernel.id, FL_ISA_PLAIN, s->row->case_id,
			   s->row->kpi_id, &node->values, &node->nvalues, err);
	if (r < 0 && r != -ERANGE)
		return r;
	if (!node->nvalues && (c.broken || c.case_failed) && !c.queued) {
		node->skipped = true;
		node->skip = "boot-failed";
	}
	return 0;
}

/* Spread between boots of one image, pooled over all that were measured. */
static double pooled_sd(const struct search *s)
{
	double ss = 0;
	size_t df = 0;

	for (int i = 0; i < s->n; i++) {
		const struct node *node = &s->node[i];
		double mean = 0;

		for (size_t j = 0; j < node->nvalues; j++)
			mean += node->values[j] / (double)node->nvalues;
		for (size_t j = 0; j < node->nvalues; j++)
			ss += (node->values[j] - mean) *
			      (node->values[j] - mean);
		df += node->nvalues ? node->nvalues - 1 : 0;
	}
	return df ? sqrt(ss / (double)df) : 0;
}

static int make_engine(struct search *s, struct fl_err *err)
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
		sd = fmax(sd, 1e-4);
		noise = (struct fl_bisect_noise){ sd * sd, EXACT_NU0,
						  WALL_LAMBDA };
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
		struct node *node = &s->node[i];
		const struct node *built = &s->node[node->stand_in];

		fl_bisect_cost(s->engine, i,
			       built->kernel.image_hash ? 0 : make_s, run_s);
		for (size_t j = 0; j < node->nvalues; j++)
			fl_bisect_add(s->engine, i, node->values[j]);
		if (node->skipped)
			fl_bisect_skip(s->engine, i);
		else if (built->skipped && !node->nvalues)
			fl_bisect_skip(s->engine, i);
		if (node->queued)
			fl_bisect_pending(s->engine, i, (int)node->queued);
		else if (node->kernel.id && !node->skipped &&
			 strcmp(node->kernel.status, "built"))
			fl_bisect_pending(s->engine, i, 1);
	}
	return 0;
}

/* ---- steps ----------------------------------------------------------------- */

static json_t *posterior_json(const struct search *s)
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
static int write_steps(struct search *s, struct fl_err *err)
{
	json_auto_t *posterior = posterior_json(s);
	double mass;
	int left = fl_bisect_answer(s->engine, 0, NULL, &mass);

	for (int i = 0; i < s->n; i++) {
		const struct node *node = &s->node[i];
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

static int ask_for(struct search *s, int i, const struct fl_caseset *cases,
		   struct fl_err *err)
{
	struct node *node = &s->node[s->node[i].stand_in];
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	int r = fl_need_kernel(s->t, node->sha, FL_PRIO_BISECT, &k, err);

	if (r != FL_READY)
		return r;
	return fl_need_boots(s->t, k.id, FL_ISA_PLAIN, cases,
			     (int64_t)node->nvalues + 1, FL_PRIO_BISECT, err);
}

static int go_on(struct search *s, const struct fl_caseset *watch, int parallel,
		 struct fl_err *err)
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

static void set_shortlist(struct search *s, const int *set, int n, double mass)
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

static int found(struct search *s, struct fl_err *err)
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

static int judge(struct search *s, const struct fl_caseset *watch, int parallel,
		 struct fl_err *err)
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
	_cleanup_(search_clear) struct search s = { .t = t, .row = &row };
	int ready, r = fl_store_bisection_by_id(t->p->store, id, &row, err);

	if (r < 0)
		return r;
	if (strcmp(row.status, "open"))
		return FL_READY;
	r = load_graph(&s, err);
	for (int i = 0; !r && i < s.n; i++)
		r = load_node(&s, &s.node[i], err);
	if (!r)
		r = make_engine(&s, err);
	if (r < 0)
		return fl_err_prefix(err, "bisection %lld", (long long)id);
	ready = judge(&s, watch, parallel, err);
	if (ready < 0)
		return fl_err_prefix(err, "bisection %lld", (long long)id);
	r = fl_store_bisection_update(t->p->store, &row, err);
	return r < 0 ? r : ready;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* From a range of commits to rows, and from rows to the engine. */
#include "bisection-search.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "compare.h"
#include "kbuild.h"

/* A merge that changes no file by itself can still join two changes that do
 * not go together; that is rare. */
#define CLEAN_MERGE_PRIOR 0.05
/* Perturbed runs of one image agree better than two images do. */
#define EXACT_MIN_SD 1e-5
#define EXACT_IMAGE_SD 1e-4
#define EXACT_NU0 4
#define WALL_LAMBDA 0.1
void fl_search_clear(struct fl_search *s)
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
static double pooled_sd(const struct fl_search *s)
{
	double ss = 0;
	size_t df = 0;

	for (int i = 0; i < s->n; i++) {
		const struct fl_search_node *node = &s->node[i];
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
		struct fl_search_node *node = &s->node[i];
		const struct fl_search_node *built = &s->node[node->stand_in];

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

int fl_search_load(struct fl_search *s, struct fl_err *err)
{
	int r = load_graph(s, err);

	for (int i = 0; !r && i < s->n; i++)
		r = load_node(s, &s->node[i], err);
	return r < 0 ? r : make_engine(s, err);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* From a range of commits to the rows of a bisection, and to those of the
 * stretches that a culprit leaves over. See bisection.h. */
#include "bisection.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "kbuild.h"
#include "noise.h"
#include "util/fs.h"
#include "util/log.h"

/* A merge that changes no file by itself can still join two changes that do
 * not go together; that is rare. */
#define CLEAN_MERGE_PRIOR 0.05
#define EXPLAINED 0.8 /* of the change: the rest is not searched for */

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

/* Kept in the row: what other searches learn meanwhile does not change it. */
static int take_noise(struct fl_target *t, struct fl_bisection *b,
		      struct fl_err *err)
{
	struct fl_noise m;
	int r = fl_noise_known(t, b->case_id, b->kpi_id, &m, err);

	b->s0sq = m.d0 > 0 ? m.s0sq : NAN;
	b->nu0 = m.d0 > 0 ? fmin(m.d0, FL_NOISE_MAX_NU0) : NAN;
	b->lambda = m.df_a > 0 ? m.lambda : NAN;
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
		.parent_id = n->parent_id,
	};
	_cleanup_free_ char *good_deps = NULL, *bad_deps = NULL;
	int r = 0;

	if (!t->exact)
		r = fl_store_last_run(t->p->store, &b.after_run, err);
	if (!r)
		r = take_noise(t, &b, err);
	if (!r)
		r = fl_store_bisection(t->p->store, &b, err);
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

/* ---- what a culprit leaves over -------------------------------------------- */

/* Does the culprit explain clearly less, or clearly more, than the whole? */
static bool partial(const struct fl_target *t, const struct fl_bisection *b)
{
	double lo = t->exact ? b->share : b->share_lo;
	double hi = t->exact ? b->share : b->share_hi;

	return !strcmp(b->status, "found") &&
	       (hi < EXPLAINED || lo > 2 - EXPLAINED);
}

static bool has_parts(const json_t *bisections, int64_t id)
{
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)bisections, i, v)
		if (fl_json_int_or(v, "parent_id", 0) == id)
			return true;
	return false;
}

/* The stretches before and after the culprit; the gate of each says whether
 * anything moved there. Returns how many were opened. */
static int open_parts(struct fl_target *t, const struct fl_bisection *b,
		      struct fl_err *err)
{
	_cleanup_(fl_git_commit_clear) struct fl_git_commit c = { 0 };
	struct fl_bisection_new n = {
		.comparison_id = b->comparison_id,
		.case_id = b->case_id,
		.kpi_id = b->kpi_id,
		.side = b->side,
		.good_sha = b->good_sha,
		.parent_id = b->id,
	};
	int64_t id;
	int opened = 0, r = fl_git_commit(t->git, b->culprit_sha, &c, err);

	for (size_t i = 0; r >= 0 && i < c.nparents && !opened; i++) {
		if (!strcmp(c.parents[i], b->good_sha))
			continue;
		r = fl_git_is_ancestor(t->git, b->good_sha, c.parents[i], err);
		if (r <= 0)
			continue;
		n.bad_sha = c.parents[i];
		r = fl_bisection_open(t, &n, &id, err);
		opened++;
	}
	if (r >= 0 && strcmp(b->culprit_sha, b->bad_sha)) {
		n.good_sha = b->culprit_sha;
		n.bad_sha = b->bad_sha;
		r = fl_bisection_open(t, &n, &id, err);
		opened++;
	}
	if (r >= 0 && opened)
		fl_info("%.12s explains %.0f %% of the change; searching before and after it",
			b->culprit_sha, 100 * b->share);
	return r < 0 ? r : opened;
}

int fl_bisection_open_rest(struct fl_target *t, const json_t *bisections,
			   struct fl_err *err)
{
	int64_t max = t->p->conf->max_culprits;
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)bisections, i, v) {
		_cleanup_(fl_bisection_clear) struct fl_bisection b = { 0 };
		int64_t id = fl_json_int_or(v, "id", 0);
		int r;

		if ((int64_t)json_array_size(bisections) >= max)
			return 0;
		if (strcmp(fl_json_str_or(v, "status", ""), "found") ||
		    has_parts(bisections, id))
			continue;
		r = fl_store_bisection_by_id(t->p->store, id, &b, err);
		if (!r && partial(t, &b))
			r = open_parts(t, &b, err);
		if (r)
			return r;
	}
	return 0;
}

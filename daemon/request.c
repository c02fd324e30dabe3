// SPDX-License-Identifier: GPL-2.0-or-later
/* The requests of the single steps: fetch, build, run, compare, bisect. */
#include <errno.h>
#include <string.h>
#include "bisection.h"
#include "compare.h"
#include "nightly.h"
#include "plan-need.h"

int fl_plan_fetched(struct fl_plan *p, const struct fl_request *q,
		    const char *tree, int64_t *tree_id, struct fl_err *err)
{
	const struct fl_conf_tree *t;
	int64_t done;
	int r = fl_conf_tree(p->conf, tree, &t, err);

	if (!r)
		r = fl_store_tree(p->store, t->name, t->url, t->path, tree_id,
				  err);
	if (r < 0 || !t->url) /* a clone in place is as it is */
		return r < 0 ? r : FL_READY;
	r = fl_store_work_done_for(p->store, "fetch", q->id, &done, err);
	if (r < 0)
		return r;
	if (done)
		return FL_READY;
	r = fl_need_fetch(p, tree, q->id, tree_id, err);
	return r < 0 ? r : FL_PENDING;
}

static int fetch_advance(struct fl_plan *p, struct fl_request *q,
			 struct fl_err *err)
{
	int64_t id;

	return fl_plan_fetched(p, q, fl_json_str_or(q->doc, "tree", NULL), &id,
			       err);
}

static int open_target(struct fl_plan *p, const struct fl_request *q,
		       struct fl_target **ret, struct fl_err *err)
{
	return fl_target_open(p, fl_json_str_or(q->doc, "tree", NULL),
			      fl_json_str_or(q->doc, "host", NULL),
			      fl_json_str_or(q->doc, "job", NULL), ret, err);
}

int fl_plan_rev(struct fl_target *t, struct fl_request *q, const char *key,
		char sha[FL_SHA_HEX], struct fl_err *err)
{
	_cleanup_free_ char *fixed = fl_asprintf("%s_sha", key);
	const char *known = fl_json_str_or(q->doc, fixed, NULL);
	int r;

	if (known) {
		snprintf(sha, FL_SHA_HEX, "%s", known);
		return 0;
	}
	r = fl_target_resolve(t, fl_json_str_or(q->doc, key, ""), sha, err);
	if (!r)
		json_object_set_new(q->doc, fixed, json_string(sha));
	return r;
}

static int build_advance(struct fl_plan *p, struct fl_request *q,
			 struct fl_err *err)
{
	struct fl_target *t;
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	char sha[FL_SHA_HEX];
	int r = open_target(p, q, &t, err);

	if (!r)
		r = fl_plan_rev(t, q, "rev", sha, err);
	if (!r)
		r = fl_need_kernel(t, sha, FL_PRIO_NIGHTLY, &k, err);
	if (r >= 0)
		json_object_set_new(q->doc, "kernel", json_integer(k.id));
	return r;
}

static int run_advance(struct fl_plan *p, struct fl_request *q,
		       struct fl_err *err)
{
	struct fl_target *t;
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	_cleanup_(fl_caseset_clear) struct fl_caseset all = { 0 };
	char sha[FL_SHA_HEX];
	int r = open_target(p, q, &t, err);

	if (!r)
		r = fl_plan_rev(t, q, "rev", sha, err);
	if (!r)
		r = fl_need_kernel(t, sha, FL_PRIO_NIGHTLY, &k, err);
	if (r < 0)
		return r;
	json_object_set_new(q->doc, "kernel", json_integer(k.id));
	json_object_set_new(q->doc, "recipe", json_integer(t->recipe[0]));
	if (r != FL_READY)
		return r;
	fl_caseset_init(&all, t);
	fl_caseset_add_all(&all);
	return fl_need_boots(t, k.id, FL_ISA_PLAIN, &all,
			     fl_json_int_or(q->doc, "boots", 1), 0,
			     FL_PRIO_NIGHTLY, err);
}

static int64_t boots_of(const struct fl_target *t, const struct fl_request *q)
{
	return fl_json_int_or(q->doc, "boots",
			      t->exact ? t->p->conf->boots_exact :
					 t->p->conf->boots_wall);
}

static int compare_ends(struct fl_target *t, struct fl_request *q,
			const char *base, const char *head, int64_t *id,
			struct fl_err *err)
{
	char a[FL_SHA_HEX], b[FL_SHA_HEX];
	int r = fl_plan_rev(t, q, base, a, err);

	if (!r)
		r = fl_plan_rev(t, q, head, b, err);
	if (!r)
		r = fl_compare_advance(t, a, b, boots_of(t, q), id, err);
	if (r >= 0)
		json_object_set_new(q->doc, "comparison", json_integer(*id));
	return r;
}

static int compare_advance(struct fl_plan *p, struct fl_request *q,
			   struct fl_err *err)
{
	struct fl_target *t;
	int64_t id = 0;
	int r = open_target(p, q, &t, err);

	return r < 0 ? r : compare_ends(t, q, "base", "head", &id, err);
}

/* The largest shift that the arguments allow; NULL when nothing moved. */
static const json_t *choose_shift(const json_t *shifts, const json_t *doc)
{
	const char *kpi = fl_json_str_or(doc, "kpi", NULL);
	const char *name = fl_json_str_or(doc, "case", NULL);
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)shifts, i, v)
		if ((!kpi || !strcmp(fl_json_str_or(v, "kpi", ""), kpi)) &&
		    (!name || !strcmp(fl_json_str_or(v, "case", ""), name)))
			return v;
	return NULL;
}

/* What can be said before anything is measured. */
static int check_bisect(struct fl_target *t, struct fl_request *q,
			struct fl_err *err)
{
	const char *name = fl_json_str_or(q->doc, "case", NULL);
	char good[FL_SHA_HEX], bad[FL_SHA_HEX], fork[FL_SHA_HEX];
	int r = fl_plan_rev(t, q, "good", good, err);

	if (!r)
		r = fl_plan_rev(t, q, "bad", bad, err);
	if (r < 0)
		return r;
	if (name && !fl_job_case(t->job, name))
		return fl_err_set(
			err, -ENOENT, FL_E_USER,
			"job '%s' has no case '%s'; one of its %zu cases is '%s'",
			t->job->name, name, t->job->ncases,
			t->job->cases[0].name);
	if (!strcmp(good, bad))
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"'%s' and '%s' are the same commit; there is nothing to bisect",
			fl_json_str_or(q->doc, "good", ""),
			fl_json_str_or(q->doc, "bad", ""));
	r = fl_git_merge_base(t->git, good, bad, fork, err);
	if (!r && !strcmp(fork, bad))
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"'%s' comes before '%s'; name the older one first, whichever of them is better",
			fl_json_str_or(q->doc, "bad", ""),
			fl_json_str_or(q->doc, "good", ""));
	return r;
}

static int bisect_advance(struct fl_plan *p, struct fl_request *q,
			  struct fl_err *err)
{
	struct fl_target *t;
	struct fl_bisection_new n = { .side = "head" };
	json_auto_t *shifts = NULL;
	const json_t *shift;
	int64_t id = 0;
	int r = open_target(p, q, &t, err);

	if (!r)
		r = check_bisect(t, q, err);
	if (!r)
		r = compare_ends(t, q, "good", "bad", &n.comparison_id, err);
	if (r != FL_READY)
		return r;
	n.good_sha = fl_json_str_or(q->doc, "good_sha", "");
	n.bad_sha = fl_json_str_or(q->doc, "bad_sha", "");
	r = fl_git_is_ancestor(t->git, n.good_sha, n.bad_sha, err);
	if (r < 0)
		return r;
	if (!r) { /* two branches: explain measures the merge base */
		json_object_set_new(q->doc, "branches", json_true());
		return fl_explain_advance(t, n.comparison_id, err);
	}
	r = fl_store_rows(p->store, FL_ROWS_SHIFTS, &shifts, err, "i",
			  n.comparison_id);
	if (r < 0)
		return r;
	shift = choose_shift(shifts, q->doc);
	if (!shift)
		return FL_READY;
	n.case_id = fl_json_int_or(shift, "case_id", 0);
	n.kpi_id = fl_json_int_or(shift, "kpi_id", 0);
	r = fl_bisection_open(t, &n, &id, err);
	if (r < 0)
		return r;
	json_object_set_new(q->doc, "bisection", json_integer(id));
	return fl_explain_follow(t, n.comparison_id, err);
}

const struct fl_request_ops fl_request_fetch = { "fetch", fetch_advance };
const struct fl_request_ops fl_request_build = { "build", build_advance };
const struct fl_request_ops fl_request_run = { "run", run_advance };
const struct fl_request_ops fl_request_compare = { "compare", compare_advance };
const struct fl_request_ops fl_request_bisect = { "bisect", bisect_advance };

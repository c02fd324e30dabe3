// SPDX-License-Identifier: GPL-2.0-or-later
/* See plan-need.h. */
#include "plan-need.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "kbuild.h"
#include "stats/stats.h"
#include "util/fs.h"
#include "util/log.h"

char *fl_plan_path(const struct fl_plan *p, const char *relative)
{
	return fl_path_join(p->conf->dir, relative);
}

int fl_need_fetch(struct fl_plan *p, const char *name, int64_t request_id,
		  int64_t *tree_id, struct fl_err *err)
{
	const struct fl_conf_tree *t;
	json_auto_t *spec = NULL;
	int r = fl_conf_tree(p->conf, name, &t, err);

	if (!r)
		r = fl_store_tree(p->store, t->name, t->url, t->path, tree_id,
				  err);
	if (r < 0 || !t->url)
		return r;
	spec = json_pack("{s:s, s:s, s:s, s:s, s:I}", "kind", "fetch", "name",
			 t->name, "path", t->path, "url", t->url, "request",
			 (json_int_t)request_id);
	return fl_store_work_add(p->store, "fetch", *tree_id, spec, 100, err);
}

/* Rows of job, host, cases, KPIs and both recipes. */
static int open_measure(struct fl_target *t, const char *config_hash,
			struct fl_err *err)
{
	struct fl_store *s = t->p->store;
	int r = fl_store_host(s, t->host->name, t->host->driver,
			      fl_clock_kind_str(t->host->clock), &t->host_id,
			      err);

	if (!r)
		r = fl_store_job(s, t->job->name, t->job->hash, t->job->doc,
				 &t->job_id, err);
	if (!r && t->exact && t->job->longest_s)
		fl_info("job '%s': under the exact clock the times that programs of others print are guest time",
			t->job->name);
	t->case_ids = fl_calloc(t->job->ncases, sizeof(*t->case_ids));
	for (size_t i = 0; !r && i < t->job->ncases; i++)
		r = fl_store_case(s, t->job->cases[i].name,
				  t->job->cases[i].params, &t->case_ids[i],
				  err);
	for (size_t i = 0; !r && fl_job_kpi_at(t->job, i); i++) {
		const struct fl_kpi *k = fl_job_kpi_at(t->job, i);
		int64_t id;

		r = fl_store_kpi(s, k->name, k->unit, k->better, &id, err);
	}
	for (int isa = 0; !r && isa < 2; isa++) {
		json_auto_t *doc = NULL, *host = NULL;

		r = t->ops->recipe(t->host, (enum fl_isa)isa, &host, err);
		if (r < 0)
			return r;
		doc = json_pack("{s:s, s:O, s:s, s:s}", "host", t->host->name,
				"machine", host, "config", config_hash,
				"compiler", t->compiler);
		r = fl_store_recipe(s, doc, &t->recipe[isa], err);
	}
	return r;
}

static int open_config(struct fl_target *t, char hash[FL_HASH_HEX],
		       struct fl_err *err)
{
	static const struct fl_strv none;
	const struct fl_conf *c = t->p->conf;
	struct fl_kconfig kc = { c->config_base, &c->fragments,
				 t->job ? &t->job->kconfig : &none };
	json_auto_t *doc = json_pack("{s:s, s:[], s:[]}", "base", kc.base,
				     "fragments", "needs");
	int r = 0;

	t->builder = t->ops ? t->ops->builder : "kbuild";
	if (!strcmp(t->builder, "kbuild")) {
		r = fl_kconfig_hash(&kc, hash, err);
		if (!r)
			r = fl_kbuild_compiler(&t->compiler, err);
	} else {
		fl_hash_bytes(t->builder, strlen(t->builder), hash);
		t->compiler = fl_strdup(t->builder);
	}
	for (size_t i = 0; i < kc.fragments->n; i++)
		json_array_append_new(json_object_get(doc, "fragments"),
				      json_string(kc.fragments->s[i]));
	for (size_t i = 0; i < kc.needs->n; i++)
		json_array_append_new(json_object_get(doc, "needs"),
				      json_string(kc.needs->s[i]));
	if (!r)
		r = fl_store_config(t->p->store, hash, doc, &t->config_id, err);
	return r;
}

static int make_target(struct fl_plan *p, const char *tree, const char *host,
		       const char *job, struct fl_target **ret,
		       struct fl_err *err)
{
	_cleanup_(fl_target_freep) struct fl_target *t =
		fl_calloc(1, sizeof(*t));
	_cleanup_strv_ struct fl_strv dirs = { 0 };
	char hash[FL_HASH_HEX];
	int r = fl_conf_tree(p->conf, tree, &t->tree, err);

	t->p = p;
	if (!r)
		r = fl_store_tree(p->store, t->tree->name, t->tree->url,
				  t->tree->path, &t->tree_id, err);
	if (!r && !fl_fs_exists(t->tree->path))
		r = fl_err_set(
			err, -ENOENT, FL_E_USER,
			t->tree->url ?
				"tree '%s' has no repository at '%s'; run 'faultline fetch'" :
				"tree '%s' has no repository at its path '%s'; correct the path, or give a url to mirror",
			t->tree->name, t->tree->path);
	if (!r)
		r = fl_git_open(t->tree->path, &t->git, err);
	/* The host decides which builder makes its images. */
	if (!r && (job || host || p->conf->nhosts)) {
		r = fl_conf_host(p->conf, host, &t->host, err);
		if (!r) {
			t->ops = fl_host_driver(t->host->driver);
			t->exact = t->host->clock == FL_CLOCK_EXACT;
		}
	}
	if (!r && job) {
		fl_conf_job_dirs(p->conf, &dirs);
		r = fl_job_load(job, &dirs, &t->job, err);
		if (!r)
			r = t->ops->check(t->host, err);
	}
	if (!r)
		r = open_config(t, hash, err);
	if (!r && job)
		r = open_measure(t, hash, err);
	if (r < 0)
		return r;
	*ret = fl_steal(t);
	return 0;
}

/* Asking qemu, gcc and the sandbox costs a while: once is enough. */
int fl_target_open(struct fl_plan *p, const char *tree, const char *host,
		   const char *job, struct fl_target **ret, struct fl_err *err)
{
	_cleanup_free_ char *key = fl_asprintf(
		"%s/%s/%s", tree ? tree : "", host ? host : "", job ? job : "");
	struct fl_target *t;
	int r;

	for (t = p->targets; t; t = t->next) {
		if (!strcmp(t->key, key)) {
			*ret = t;
			return 0;
		}
	}
	r = make_target(p, tree, host, job, &t, err);
	if (r < 0)
		return r;
	t->key = fl_steal(key);
	t->next = p->targets;
	p->targets = t;
	*ret = t;
	return 0;
}

void fl_target_free(struct fl_target *t)
{
	if (!t)
		return;
	fl_git_free(t->git);
	fl_job_free(t->job);
	free(t->key);
	free(t->case_ids);
	free(t->compiler);
	free(t);
}

int fl_target_commit(struct fl_target *t, const char *sha, struct fl_err *err)
{
	_cleanup_(fl_git_commit_clear) struct fl_git_commit c = { 0 };
	_cleanup_free_ char *described = NULL;
	struct fl_commit_row row;
	int r = fl_git_commit(t->git, sha, &c, err);

	if (r < 0)
		return r;
	described = fl_git_describe(t->git, sha);
	row = (struct fl_commit_row){
		.sha = c.sha,
		.described = described,
		.subject = c.subject,
		.message = c.message,
		.author_name = c.author_name,
		.author_email = c.author_email,
		.commit_time = c.commit_time,
	};
	return fl_store_commit_info(t->p->store, &row, err);
}

int fl_target_resolve(struct fl_target *t, const char *rev,
		      char sha[FL_SHA_HEX], struct fl_err *err)
{
	int r = fl_git_resolve(t->git, rev, sha, err);

	return r < 0 ? r : fl_target_commit(t, sha, err);
}

static int add_build(struct fl_target *t, const char *sha, int64_t kernel_id,
		     int priority, struct fl_err *err)
{
	const struct fl_conf *c = t->p->conf;
	_cleanup_free_ char *cache = fl_conf_cache_dir();
	_cleanup_free_ char *ccache = fl_path_join(cache, "ccache");
	json_auto_t *fragments = json_array(), *needs = json_array();
	json_auto_t *spec = NULL;
	int r = fl_git_keep(t->git, sha, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < c->fragments.n; i++)
		json_array_append_new(fragments,
				      json_string(c->fragments.s[i]));
	for (size_t i = 0; t->job && i < t->job->kconfig.n; i++)
		json_array_append_new(needs, json_string(t->job->kconfig.s[i]));
	spec = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O, s:O, s:s*, s:I, s:I}",
			 "kind", "build", "builder", t->builder, "repo",
			 fl_git_path(t->git), "sha", sha, "config_base",
			 c->config_base, "fragments", fragments, "needs", needs,
			 "ccache_dir", c->build_ccache ? ccache : NULL, "jobs",
			 (json_int_t)c->build_jobs, "timeout_s",
			 (json_int_t)c->build_timeout_s);
	return fl_store_work_add(t->p->store, "build", kernel_id, spec,
				 priority, err);
}

int fl_need_kernel(struct fl_target *t, const char *sha, int priority,
		   struct fl_kernel *k, struct fl_err *err)
{
	struct fl_store *s = t->p->store;
	int r = fl_store_kernel_find(s, sha, t->builder, t->config_id,
				     t->compiler, k, err);

	if (!r) {
		r = fl_target_commit(t, sha, err);
		if (!r)
			r = fl_store_kernel(s, t->tree_id, sha, t->builder,
					    t->config_id, t->compiler, k, err);
	}
	if (r < 0)
		return r;
	if (!strcmp(k->status, "built"))
		return FL_READY;
	if (!strcmp(k->status, "failed") || !strcmp(k->status, "timeout"))
		return FL_UNAVAILABLE;
	r = add_build(t, sha, k->id, priority, err);
	return r < 0 ? r : FL_PENDING;
}

void fl_caseset_init(struct fl_caseset *c, const struct fl_target *t)
{
	c->n = t->job->ncases;
	c->want = fl_calloc(c->n, sizeof(*c->want));
}

void fl_caseset_clear(struct fl_caseset *c)
{
	free(c->want);
	*c = (struct fl_caseset){ 0 };
}

void fl_caseset_add(struct fl_caseset *c, const struct fl_target *t,
		    int64_t case_id)
{
	for (size_t i = 0; i < c->n; i++)
		if (t->case_ids[i] == case_id)
			c->want[i] = true;
}

void fl_caseset_add_control(struct fl_caseset *c, const struct fl_target *t)
{
	for (size_t i = 0; i < c->n && t->job->control; i++)
		if (!strcmp(t->job->cases[i].name, t->job->control))
			c->want[i] = true;
}

void fl_caseset_add_all(struct fl_caseset *c)
{
	memset(c->want, true, c->n * sizeof(*c->want));
}

int fl_target_logs(struct fl_target *t, int64_t kernel_id, enum fl_isa isa,
		   int64_t case_id, int64_t kpi_id, struct fl_span span,
		   struct fl_boots *ret, struct fl_err *err)
{
	int r = fl_store_boots(t->p->store, kernel_id, t->recipe[isa], case_id,
			       kpi_id, span, ret, err);

	for (size_t i = 0; !r && i < ret->n; i++) {
		if (!(ret->v[i] > 0))
			r = -ERANGE;
		else
			ret->v[i] = log(ret->v[i]);
	}
	if (r == -ERANGE)
		fl_boots_clear(ret);
	return r;
}

double fl_target_level(struct fl_target *t, int64_t kernel_id, enum fl_isa isa,
		       int64_t case_id, int64_t kpi_id, struct fl_span span)
{
	_cleanup_(fl_boots_clear) struct fl_boots b = { 0 };

	if (fl_target_logs(t, kernel_id, isa, case_id, kpi_id, span, &b, NULL) <
		    0 ||
	    !b.n)
		return NAN;
	return fl_stats_mean(b.v, b.n);
}

int fl_need_pick(struct fl_target *t, const char *pick, const char *base,
		 char sha[FL_SHA_HEX], struct fl_err *err)
{
	_cleanup_(fl_pick_clear) struct fl_pick p = { 0 };
	json_auto_t *spec = NULL;
	int r = fl_store_pick(t->p->store, pick, base, &p, err);

	if (r < 0)
		return r;
	if (!strcmp(p.status, "applies")) {
		snprintf(sha, FL_SHA_HEX, "%s", p.sha);
		return FL_READY;
	}
	if (*p.status)
		return FL_UNAVAILABLE;
	spec = json_pack("{s:s, s:s, s:s, s:s, s:I}", "kind", "pick", "repo",
			 fl_git_path(t->git), "pick", pick, "base", base,
			 "tree_id", (json_int_t)t->tree_id);
	/* Its subject is the request: one pick at a time is plenty. */
	r = fl_store_work_add(t->p->store, "pick", t->p->request->id, spec,
			      FL_PRIO_BISECT, err);
	return r < 0 ? r : FL_PENDING;
}

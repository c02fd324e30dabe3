// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a worker's bundle to rows, once. Artefacts are renamed into place
 * before the transaction commits: after a kill in between, the same ingest
 * finds them there and goes on. What a bundle says is checked, not believed.
 */
#include "plan.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include "host/host.h"
#include "kbuild.h"
#include "util/fs.h"
#include "util/log.h"
#include "worker.h"

#define MAX_RESULT (16u << 20)
#define MAX_ATTEMPTS 3
#define RETRY_PAUSE_S 5

/* Moves dir/out to the place of record; fine when it was moved before. */
static int keep_artefacts(struct fl_plan *p, const char *dir, const char *place,
			  struct fl_err *err)
{
	_cleanup_free_ char *from = fl_path_join(dir, FL_WORKER_OUT);
	_cleanup_free_ char *to = fl_plan_path(p, place);
	_cleanup_free_ char *parent = fl_strdup(to);
	int r;

	if (!fl_fs_is_dir(from))
		return 0;
	*strrchr(parent, '/') = '\0';
	r = fl_fs_mkdirs(parent, err);
	if (!r)
		r = fl_fs_remove(to, err);
	if (!r && rename(from, to) < 0)
		r = fl_err_set(err, -errno, FL_E_INFRA,
			       "cannot move '%s' to '%s': %s", from, to,
			       strerror(errno));
	return r;
}

static int ingest_fetch(struct fl_plan *p, const struct fl_work *w,
			const json_t *res _unused_, const char *dir _unused_,
			struct fl_err *err)
{
	return fl_store_tree_fetched(p->store, w->subject_id, "", err);
}

static int ingest_pick(struct fl_plan *p, const struct fl_work *w,
		       const json_t *res, const char *dir _unused_,
		       struct fl_err *err)
{
	const char *sha = fl_json_str_or(res, "sha", NULL);
	const char *status = fl_json_str_or(res, "pick", "");

	if (strcmp(status, "conflict") &&
	    (!sha || strlen(sha) != FL_SHA_HEX - 1))
		return fl_err_set(err, -EINVAL, FL_E_BUG,
				  "a pick without a commit id");
	return fl_store_pick_set(p->store,
				 fl_json_int_or(w->spec, "tree_id", 0),
				 fl_json_str_or(w->spec, "pick", ""),
				 fl_json_str_or(w->spec, "base", ""), status,
				 sha, fl_json_str_or(res, "reason", ""), err);
}

static int ingest_build(struct fl_plan *p, const struct fl_work *w,
			const json_t *res, const char *dir, struct fl_err *err)
{
	_cleanup_free_ char *place =
		fl_asprintf("var/kernels/%lld", (long long)w->subject_id);
	int outcome = fl_build_outcome_parse(fl_json_str_or(res, "build", ""));
	bool built = outcome == FL_BUILD_BUILT;
	struct fl_kernel_end end = {
		.reason = fl_json_str_or(res, "reason", ""),
		.release = fl_json_str_or(res, "release", NULL),
		.image_hash = built ? fl_json_str_or(res, "image_hash", NULL) :
				      NULL,
		.final_config_hash = fl_json_str_or(res, "config_hash", NULL),
		.dir = place,
		.checkout_s = fl_json_num_or(res, "checkout_s", 0),
		.make_s = fl_json_num_or(res, "make_s", 0),
	};
	int r;

	if (outcome < 0)
		return fl_err_set(err, -EINVAL, FL_E_BUG,
				  "a build bundle without an outcome");
	end.status = fl_build_outcome_str((enum fl_build_outcome)outcome);
	if (built && (!end.image_hash || strlen(end.image_hash) != 64))
		return fl_err_set(err, -EINVAL, FL_E_BUG,
				  "a built kernel without an image hash");
	r = keep_artefacts(p, dir, place, err);
	if (r < 0)
		return r;
	if (!built)
		fl_info("%s: does not build: %s",
			fl_json_str_or(w->spec, "sha", ""), end.reason);
	return fl_store_kernel_finish(p->store, w->subject_id, &end, err);
}

static void drop_kpis(const json_t *cases)
{
	json_t *c;
	size_t i;

	json_array_foreach((json_t *)cases, i, c)
		json_object_del(c, "kpis");
}

static int ingest_run(struct fl_plan *p, const struct fl_work *w,
		      const json_t *res, const char *dir, struct fl_err *err)
{
	_cleanup_free_ char *place =
		fl_asprintf("var/runs/%lld", (long long)w->subject_id);
	bool profile = fl_json_int_or(w->spec, "profile_ns", 0) > 0;
	const char *status = fl_json_str_or(res, "run", "");
	struct fl_run_end end = {
		.status = status,
		.reason = fl_json_str_or(res, "reason", ""),
		.dir = place,
		.env = json_object_get(res, "env"),
		.cases = json_object_get(res, "cases"),
		.boot_s = fl_json_num_or(res, "boot_s", 0),
		.total_s = fl_json_num_or(res, "total_s", 0),
	};
	int r;

	if (fl_outcome_parse(status) < 0)
		return fl_err_set(err, -EINVAL, FL_E_BUG,
				  "a run bundle without an outcome");
	if (profile) /* sampling disturbs them */
		drop_kpis(end.cases);
	r = keep_artefacts(p, dir, place, err);
	if (!r)
		r = fl_store_run_finish(p->store, w->subject_id, &end, err);
	if (r > 0 && profile)
		r = fl_store_profiles(p->store, w->subject_id,
				      json_object_get(res, "profiles"), err);
	return r < 0 ? r : 0;
}

static const struct {
	const char *kind;
	int (*ingest)(struct fl_plan *p, const struct fl_work *w,
		      const json_t *res, const char *dir, struct fl_err *err);
} kinds[] = {
	{ "fetch", ingest_fetch },
	{ "pick", ingest_pick },
	{ "build", ingest_build },
	{ "run", ingest_run },
};

static int ingest_done(struct fl_plan *p, const struct fl_work *w,
		       const json_t *res, const char *dir, struct fl_err *err)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].kind, w->kind))
			return kinds[i].ingest(p, w, res, dir, err);
	return fl_err_set(err, -EINVAL, FL_E_BUG, "work of kind '%s'", w->kind);
}

/* The subject learns of work that failed for good. */
static int give_up(struct fl_plan *p, const struct fl_work *w,
		   const char *error, struct fl_err *err)
{
	struct fl_run_end end = { .status = "host-failed", .reason = error };
	int r = 0;

	if (!strcmp(w->kind, "run"))
		r = fl_store_run_finish(p->store, w->subject_id, &end, err);
	else if (!strcmp(w->kind, "fetch"))
		r = fl_store_tree_fetched(p->store, w->subject_id, error, err);
	fl_err_set(&p->failure, -EIO, FL_E_INFRA, "%s failed: %s", w->kind,
		   error);
	return r < 0 ? r : 0;
}

static int end_badly(struct fl_plan *p, const struct fl_work *w,
		     const char *error, bool retry, struct fl_err *err)
{
	int r;

	if (retry && w->attempt < MAX_ATTEMPTS) {
		fl_warn("%s: %s; trying again (%lld of %d)", w->kind, error,
			(long long)w->attempt + 1, MAX_ATTEMPTS);
		r = fl_store_work_end(p->store, w->id, w->attempt, "queued",
				      error, 0, RETRY_PAUSE_S * w->attempt,
				      err);
		return r < 0 ? r : 0;
	}
	r = fl_store_work_end(p->store, w->id, w->attempt, "failed", error, 0,
			      0, err);
	if (r <= 0)
		return r;
	return give_up(p, w, error, err);
}

static int ingest_in_transaction(struct fl_plan *p, const struct fl_work *w,
				 const char *dir, const char *exit_text,
				 struct fl_err *err)
{
	_cleanup_free_ char *path = fl_path_join(dir, FL_WORKER_RESULT);
	const char *status,
		*silent = *exit_text ?
				  exit_text :
				  "a bundle that does not say how it ended";
	struct fl_err trouble = { 0 };
	json_auto_t *res = NULL;
	int r = fl_json_load(path, MAX_RESULT, &res, &trouble);

	if (r < 0)
		return end_badly(p, w,
				 fl_fs_exists(path) ? trouble.text : exit_text,
				 true, err);
	status = fl_json_str_or(res, "status", "");
	if (strcmp(status, "done"))
		return end_badly(p, w, fl_json_str_or(res, "error", silent),
				 !strcmp(status, "retry"), err);
	r = fl_store_work_end(p->store, w->id, w->attempt, "done", "",
			      fl_json_num_or(res, "total_s",
					     fl_json_num_or(res, "make_s", 0)),
			      0, err);
	if (r <= 0)
		return r;
	r = ingest_done(p, w, res, dir, &trouble);
	if (r < 0 && trouble.class != FL_E_INFRA) {
		/* The bundle lies, perhaps against a constraint of the
		 * database: the work is void, the database is not. */
		fl_store_rollback(p->store);
		r = fl_store_begin(p->store, err);
		return r < 0 ? r : end_badly(p, w, trouble.text, false, err);
	}
	if (r < 0 && err)
		*err = trouble;
	return r;
}

int fl_plan_ingest(struct fl_plan *p, const struct fl_work *w, const char *dir,
		   const char *exit_text, struct fl_err *err)
{
	int r = fl_store_begin(p->store, err);

	if (r < 0)
		return r;
	r = ingest_in_transaction(p, w, dir, exit_text, err);
	if (r < 0) {
		fl_store_rollback(p->store);
		return r;
	}
	r = fl_store_commit(p->store, err);
	/* Logs of work that failed are kept. */
	if (!r && !fl_store_work_is(p->store, w->id, "failed"))
		fl_fs_remove(dir, NULL);
	return r;
}

int fl_plan_sweep(struct fl_plan *p, struct fl_err *err)
{
	_cleanup_free_ char *work = fl_plan_path(p, "var/work");
	_cleanup_strv_ struct fl_strv names = { 0 };
	DIR *d = opendir(work);
	struct dirent *e;
	int r = 0;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			fl_strv_add(&names, e->d_name);
	if (d)
		closedir(d);
	for (size_t i = 0; !r && i < names.n; i++) {
		_cleanup_free_ char *dir = fl_path_join(work, names.s[i]);

		if (!fl_store_work_is(p->store, strtoll(names.s[i], NULL, 10),
				      "failed"))
			r = fl_fs_remove(dir, err);
	}
	return r;
}

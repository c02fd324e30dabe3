// SPDX-License-Identifier: GPL-2.0-or-later
/* See worker.h. */
#include "worker.h"

#include <errno.h>
#include <string.h>
#include "git/git.h"
#include "host/fake.h"
#include "host/host.h"
#include "kbuild.h"
#include "util/fs.h"
#include "util/json.h"

#define MAX_SPEC (4u << 20)

struct worker {
	const char *dir;
	char *out;
	json_t *spec, *result;
};

static void note(struct worker *w, const char *step, double share)
{
	_cleanup_free_ char *path = fl_path_join(w->dir, FL_WORKER_PROGRESS);
	_cleanup_fclose_ FILE *f = fopen(path, "we");

	if (f)
		fprintf(f, "%s %.3f\n", step, share);
}

static void on_git(const char *unit, uint64_t done, uint64_t total, void *arg)
{
	static uint64_t last;

	if (total && (done * 50 / total != last || done == total)) {
		last = done * 50 / total;
		note(arg, unit, (double)done / (double)total);
	}
}

static int do_fetch(struct worker *w, struct fl_err *err)
{
	return fl_git_mirror(fl_json_str_or(w->spec, "path", ""),
			     fl_json_str_or(w->spec, "url", ""), on_git, w,
			     err);
}

static int do_pick(struct worker *w, struct fl_err *err)
{
	_cleanup_(fl_git_freep) struct fl_git *g = NULL;
	char sha[FL_SHA_HEX];
	int r = fl_git_open(fl_json_str_or(w->spec, "repo", ""), &g, err);

	if (!r)
		r = fl_git_pick(g, fl_json_str_or(w->spec, "pick", ""),
				fl_json_str_or(w->spec, "base", ""), sha, err);
	if (r == -EUCLEAN) {
		json_object_set_new(w->result, "pick", json_string("conflict"));
		json_object_set_new(w->result, "reason",
				    json_string(err->text));
		return 0;
	}
	if (r < 0)
		return r;
	json_object_set_new(w->result, "pick", json_string("applies"));
	json_object_set_new(w->result, "sha", json_string(sha));
	return fl_git_keep(g, sha, err);
}

static void strings(const json_t *array, struct fl_strv *out)
{
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)array, i, v)
		if (json_is_string(v))
			fl_strv_add(out, json_string_value(v));
}

static void on_build(const char *step, double share, void *arg)
{
	note(arg, step, share);
}

static json_t *text_value(const char *text)
{
	return text ? fl_json_text_value(text, strlen(text)) : json_string("");
}

static int do_build(struct worker *w, struct fl_err *err)
{
	_cleanup_(fl_build_result_clear) struct fl_build_result res = { 0 };
	_cleanup_(fl_git_freep) struct fl_git *g = NULL;
	_cleanup_strv_ struct fl_strv fragments = { 0 }, needs = { 0 };
	struct fl_build b = {
		.sha = fl_json_str_or(w->spec, "sha", ""),
		.config = { fl_json_str_or(w->spec, "config_base", ""),
			    &fragments, &needs },
		.slot = fl_json_str_or(w->spec, "slot", ""),
		.dir = w->out,
		.ccache_dir = fl_json_str_or(w->spec, "ccache_dir", NULL),
		.jobs = (int)fl_json_int_or(w->spec, "jobs", 1),
		.timeout_s = fl_json_num_or(w->spec, "timeout_s", 3600),
		.progress = on_build,
		.arg = w,
	};
	bool fake = !strcmp(fl_json_str_or(w->spec, "builder", ""), "fake");
	int r;

	strings(json_object_get(w->spec, "fragments"), &fragments);
	strings(json_object_get(w->spec, "needs"), &needs);
	r = fl_git_open(fl_json_str_or(w->spec, "repo", ""), &g, err);
	if (r < 0)
		return r;
	b.git = g;
	r = fake ? fl_fake_build(&b, &res, err) : fl_kbuild(&b, &res, err);
	if (r < 0)
		return r;
	json_object_set_new(w->result, "build",
			    json_string(fl_build_outcome_str(res.outcome)));
	json_object_set_new(w->result, "reason", text_value(res.reason));
	json_object_set_new(w->result, "release", json_string(res.release));
	json_object_set_new(w->result, "image_hash",
			    json_string(res.image_hash));
	json_object_set_new(w->result, "config_hash",
			    json_string(res.config_hash));
	json_object_set_new(w->result, "checkout_s", json_real(res.checkout_s));
	json_object_set_new(w->result, "make_s", json_real(res.make_s));
	return 0;
}

static int run_cases(const json_t *spec, struct fl_case **cases,
		     const struct fl_case ***list, size_t *n,
		     struct fl_err *err)
{
	const json_t *array = json_object_get(spec, "cases");
	json_t *v;
	size_t i;

	*n = json_array_size(array);
	if (!*n || *n > 4096)
		return fl_err_set(err, -EINVAL, FL_E_BUG,
				  "a run needs 1 to 4096 cases");
	*cases = fl_calloc(*n, sizeof(**cases));
	*list = fl_calloc(*n, sizeof(**list));
	json_array_foreach((json_t *)array, i, v) {
		(*cases)[i].name = fl_strdup(fl_json_str_or(v, "name", ""));
		(*cases)[i].params = json_object_get(v, "params");
		(*cases)[i].pack = json_object_get(v, "pack");
		(*list)[i] = &(*cases)[i];
	}
	return 0;
}

static void free_cases(struct fl_case *cases, size_t n)
{
	for (size_t i = 0; i < n && cases; i++)
		free(cases[i].name);
	free(cases);
}

static int do_run(struct worker *w, struct fl_err *err)
{
	const json_t *h = json_object_get(w->spec, "host");
	struct fl_host host = {
		.name = fl_json_str_or(h, "name", ""),
		.driver = fl_json_str_or(h, "driver", ""),
		.clock = strcmp(fl_json_str_or(h, "clock", ""), "wall") ?
				 FL_CLOCK_EXACT :
				 FL_CLOCK_WALL,
		.cpu = fl_json_str_or(h, "cpu", NULL),
		.append = fl_json_str_or(h, "append", NULL),
		.memory_mb = fl_json_int_or(h, "memory_mb", 2048),
		.cpus = fl_json_int_or(h, "cpus", 1),
		.options = json_object_get(h, "options"),
	};
	const struct fl_host_ops *ops = fl_host_driver(host.driver);
	_cleanup_(fl_boot_result_clear) struct fl_boot_result res = { 0 };
	_cleanup_free_ const struct fl_case **list = NULL;
	struct fl_case *cases = NULL;
	struct fl_boot b = {
		.host = &host,
		.image = fl_json_str_or(w->spec, "image", ""),
		.agent = fl_json_str_or(w->spec, "agent", ""),
		.dir = w->out,
		.isa = strcmp(fl_json_str_or(w->spec, "isa", ""), "strings") ?
			       FL_ISA_PLAIN :
			       FL_ISA_STRINGS,
		.perturb = (unsigned)fl_json_int_or(w->spec, "boot_no", 0),
		.profile_ns = fl_json_int_or(w->spec, "profile_ns", 0),
		.system_map = fl_json_str_or(w->spec, "system_map", ""),
		.timeout_s = fl_json_num_or(w->spec, "timeout_s", 60),
		.total_s = fl_json_num_or(w->spec, "total_s", 3600),
	};
	int r;

	if (!ops)
		return fl_err_set(err, -EINVAL, FL_E_BUG, "no driver '%s'",
				  host.driver);
	r = run_cases(w->spec, &cases, &list, &b.ncases, err);
	b.cases = list;
	note(w, "boot", 0);
	if (!r)
		r = ops->boot(&b, &res, err);
	if (!r && res.outcome == FL_RUN_HOST_FAILED)
		r = fl_err_set(err, -EIO, FL_E_INFRA, "%s", res.reason);
	free_cases(cases, b.ncases);
	if (r < 0)
		return r;
	json_object_set_new(w->result, "run",
			    json_string(fl_outcome_str(res.outcome)));
	json_object_set_new(w->result, "reason", text_value(res.reason));
	json_object_set(w->result, "cases", res.cases);
	json_object_set(w->result, "env", res.env);
	if (res.profiles)
		json_object_set(w->result, "profiles", res.profiles);
	json_object_set_new(w->result, "boot_s", json_real(res.boot_s));
	json_object_set_new(w->result, "total_s", json_real(res.total_s));
	return 0;
}

static const struct {
	const char *kind;
	int (*run)(struct worker *w, struct fl_err *err);
} kinds[] = {
	{ "fetch", do_fetch },
	{ "build", do_build },
	{ "run", do_run },
	{ "pick", do_pick },
};

static int work(struct worker *w, struct fl_err *err)
{
	const char *kind = fl_json_str_or(w->spec, "kind", "");
	int r = fl_fs_mkdirs(w->out, err);

	for (size_t i = 0; !r && i < FL_ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].kind, kind))
			return kinds[i].run(w, err);
	return r ? r :
		   fl_err_set(err, -EINVAL, FL_E_BUG, "no work of kind '%s'",
			      kind);
}

int fl_worker_main(const char *dir, struct fl_err *err)
{
	_cleanup_free_ char *spec = fl_path_join(dir, FL_WORKER_SPEC);
	_cleanup_free_ char *result = fl_path_join(dir, FL_WORKER_RESULT);
	_cleanup_free_ char *out = fl_path_join(dir, FL_WORKER_OUT);
	struct worker w = { .dir = dir, .out = out };
	struct fl_err trouble = { 0 };
	int r = fl_json_load(spec, MAX_SPEC, &w.spec, err);

	if (r < 0)
		return r;
	fl_git_init();
	w.result = json_object();
	r = work(&w, &trouble);
	json_object_set_new(w.result, "status",
			    json_string(!r ? "done" :
					trouble.class == FL_E_INFRA ?
					     "retry" :
					     "failed"));
	json_object_set_new(w.result, "kind",
			    json_string(fl_json_str_or(w.spec, "kind", "")));
	if (r < 0)
		json_object_set_new(w.result, "error",
				    fl_json_text_value(trouble.text,
						       strlen(trouble.text)));
	r = fl_json_save(result, w.result, err);
	json_decref(w.spec);
	json_decref(w.result);
	fl_git_shutdown();
	return r;
}

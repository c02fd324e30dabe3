// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Boots, to measure or to profile: how many there are, and the rows of those
 * that are missing. See plan-need.h.
 */
#include "plan-need.h"

#include <string.h>
#include "../jobs/agent/protocol.h"
#include "host/samples.h"
#include "util/fs.h"

/* On the wall clock a kernel that did not come through gets a second chance;
 * under the exact clock it would do the same again. */
#define MAX_BROKEN 2

static json_t *host_json(const struct fl_host *h)
{
	return json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:I, s:I, s:O*}", "name",
			 h->name, "driver", h->driver, "clock",
			 fl_clock_kind_str(h->clock), "cpu", h->cpu, "append",
			 h->append, "memory_mb", (json_int_t)h->memory_mb,
			 "cpus", (json_int_t)h->cpus, "options", h->options);
}

struct boot_plan {
	int64_t kernel_id, boot_no, recipe_id;
	enum fl_isa isa;
	int64_t profile_ns; /* 0: it measures */
	const bool *cases;
	size_t n; /* how many of them are true */
	int priority;
};

/* Sampling takes its time: twice that of measuring is allowed. */
static void want_profile(json_t *spec, int64_t profile_ns, const char *dir)
{
	static const char *const limits[] = { "timeout_s", "total_s" };
	_cleanup_free_ char *map = fl_path_join(dir, "System.map");
	_cleanup_free_ char *agent =
		fl_asprintf("%s-profile", fl_json_str_or(spec, "agent", ""));

	json_object_set_new(spec, "profile_ns", json_integer(profile_ns));
	json_object_set_new(spec, "system_map", json_string(map));
	json_object_set_new(spec, "agent", json_string(agent));
	for (size_t i = 0; i < FL_ARRAY_SIZE(limits); i++)
		json_object_set_new(
			spec, limits[i],
			json_integer(2 * fl_json_int_or(spec, limits[i], 0)));
}

static int add_boot(struct fl_target *t, const struct boot_plan *b,
		    struct fl_err *err)
{
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	_cleanup_free_ int64_t *ids = fl_calloc(b->n + 1, sizeof(*ids));
	_cleanup_free_ char *image = NULL, *dir = NULL,
			    *agent = fl_conf_agent();
	struct fl_run_new run = {
		.kernel_id = b->kernel_id,
		.host_id = t->host_id,
		.job_id = t->job_id,
		.recipe_id = b->recipe_id,
		.isa = b->isa == FL_ISA_PLAIN ? "plain" : "strings",
		.purpose = b->profile_ns ? "profile" : "measure",
		.boot_no = b->boot_no,
		.cases = ids,
	};
	json_auto_t *cases = json_array(), *spec = NULL;
	int64_t id;
	int r = fl_store_kernel_by_id(t->p->store, b->kernel_id, &k, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < t->job->ncases; i++) {
		if (!b->cases[i])
			continue;
		ids[run.ncases++] = t->case_ids[i];
		json_array_append_new(cases,
				      json_pack("{s:s, s:O, s:O*}", "name",
						t->job->cases[i].name, "params",
						t->job->cases[i].params, "pack",
						t->job->cases[i].pack));
	}
	dir = fl_plan_path(t->p, k.dir);
	image = fl_path_join(dir, "bzImage");
	spec = json_pack(
		"{s:s, s:o, s:s, s:s, s:O, s:s, s:I, s:I, s:I}", "kind", "run",
		"host", host_json(t->host), "image", image, "agent", agent,
		"cases", cases, "isa", run.isa, "boot_no",
		(json_int_t)b->boot_no, "timeout_s",
		(json_int_t)t->job->timeout_s, "total_s",
		(json_int_t)(t->job->timeout_s * (int64_t)(run.ncases + 2)));
	if (b->profile_ns)
		want_profile(spec, b->profile_ns, dir);
	r = fl_store_begin(t->p->store, err);
	if (!r)
		r = fl_store_run_new(t->p->store, &run, &id, err);
	if (!r)
		r = fl_store_work_add(t->p->store, "run", id, spec, b->priority,
				      err);
	if (r < 0) {
		fl_store_rollback(t->p->store);
		return r;
	}
	return fl_store_commit(t->p->store, err);
}

/* kind: all of it but the cases and the boot number. */
static int need_boots(struct fl_target *t, const struct boot_plan *kind,
		      const struct fl_caseset *set, int64_t n, int64_t after,
		      struct fl_err *err)
{
	_cleanup_free_ bool *missing = fl_calloc(set->n, sizeof(*missing));
	struct boot_plan b = *kind;
	bool pending = false;
	int64_t short_by = 0;

	b.cases = missing;
	for (size_t i = 0; i < set->n; i++) {
		struct fl_boot_count c;
		int r;

		if (!set->want[i])
			continue;
		r = fl_store_boot_count(t->p->store, b.kernel_id, b.recipe_id,
					t->case_ids[i], after, &c, err);
		if (r < 0)
			return r;
		if (c.broken >= MAX_BROKEN || (t->exact && c.broken && !c.done))
			return FL_UNAVAILABLE;
		if (c.done + c.case_failed >= n)
			continue;
		pending = true;
		if (c.done + c.case_failed + c.queued >= n)
			continue;
		missing[i] = true;
		b.n++;
		if (n - c.done - c.case_failed - c.queued > short_by)
			short_by = n - c.done - c.case_failed - c.queued;
		if (c.next_boot_no > b.boot_no)
			b.boot_no = c.next_boot_no;
	}
	for (; b.n && short_by > 0; short_by--, b.boot_no++) {
		int r = add_boot(t, &b, err);

		if (r < 0)
			return r;
	}
	return pending ? FL_PENDING : FL_READY;
}

int fl_need_boots(struct fl_target *t, int64_t kernel_id, enum fl_isa isa,
		  const struct fl_caseset *set, int64_t n, int64_t after,
		  int priority, struct fl_err *err)
{
	struct boot_plan b = { .kernel_id = kernel_id,
			       .recipe_id = t->recipe[isa],
			       .isa = isa,
			       .priority = priority };

	return need_boots(t, &b, set, n, after, err);
}

/*
 * Sampling decides numbers too: profiling boots have a recipe of their own,
 * and so count for nothing that is measured.
 */
static int profile_recipe(struct fl_target *t, int64_t period_ns,
			  struct fl_err *err)
{
	json_auto_t *rows = NULL, *doc = NULL;
	int r;

	if (t->profile_recipe)
		return 0;
	r = fl_store_rows(t->p->store, FL_ROWS_RECIPE, &rows, err, "i",
			  t->recipe[FL_ISA_PLAIN]);
	if (r < 0)
		return r;
	doc = json_deep_copy(json_object_get(json_array_get(rows, 0), "doc"));
	json_object_set_new(doc, "profile_ns", json_integer(period_ns));
	json_object_set_new(doc, "profiler", json_integer(FL_PROFILER_VERSION));
	return fl_store_recipe(t->p->store, doc, &t->profile_recipe, err);
}

int fl_need_profiles(struct fl_target *t, int64_t kernel_id,
		     const struct fl_caseset *set, int64_t n, int priority,
		     struct fl_err *err)
{
	struct boot_plan b = { .kernel_id = kernel_id,
			       .isa = FL_ISA_PLAIN,
			       .profile_ns = t->exact ? FL_PROFILE_NS_EXACT :
							FL_PROFILE_NS_WALL,
			       .priority = priority };
	int r = profile_recipe(t, b.profile_ns, err);

	b.recipe_id = t->profile_recipe;
	return r < 0 ? r : need_boots(t, &b, set, n, 0, err);
}

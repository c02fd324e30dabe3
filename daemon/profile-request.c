// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The request for profiles: of one kernel (rev), or of two (base, head). A
 * profiling boot is one of its own, so that no boot that measures is touched.
 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include "plan-need.h"

/* Cases whose names match the pattern, or all of them. Programs of others are
 * left out: they do not sample themselves. */
static int choose_cases(struct fl_target *t, const char *pattern,
			struct fl_caseset *set, struct fl_err *err)
{
	size_t n = 0, others = 0;

	fl_caseset_init(set, t);
	for (size_t i = 0; i < set->n; i++) {
		bool like = !pattern ||
			    !fnmatch(pattern, t->job->cases[i].name, 0);

		set->want[i] = like &&
			       !fl_case_is_exec(t->job->cases[i].params);
		n += set->want[i];
		others += like && !set->want[i];
	}
	if (n)
		return 0;
	if (others)
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "programs of others cannot be profiled");
	return fl_err_set(
		err, -ENOENT, FL_E_USER,
		"job '%s' has no case like '%s'; one of its %zu cases is '%s'",
		t->job->name, pattern, t->job->ncases, t->job->cases[0].name);
}

/* The verbs print these; the kernel may have profiles of other jobs too. */
static json_t *names_of(const struct fl_target *t, const struct fl_caseset *set)
{
	json_t *names = json_array();

	for (size_t i = 0; i < set->n; i++)
		if (set->want[i])
			json_array_append_new(
				names, json_string(t->job->cases[i].name));
	return names;
}

/* One side: its kernel, then its boots; doc learns "<key>_kernel". */
static int need_side(struct fl_target *t, struct fl_request *q, const char *key,
		     const struct fl_caseset *set, struct fl_err *err)
{
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	_cleanup_free_ char *member = fl_asprintf("%s_kernel", key);
	char sha[FL_SHA_HEX];
	int r = fl_plan_rev(t, q, key, sha, err);

	if (!r)
		r = fl_need_kernel(t, sha, FL_PRIO_NIGHTLY, &k, err);
	if (r < 0)
		return r;
	json_object_set_new(q->doc, member, json_integer(k.id));
	if (r != FL_READY)
		return r;
	r = fl_need_profiles(t, k.id, set, fl_json_int_or(q->doc, "boots", 1),
			     FL_PRIO_NIGHTLY, err);
	json_object_set_new(q->doc, "recipe", json_integer(t->profile_recipe));
	return r;
}

static int profile_advance(struct fl_plan *p, struct fl_request *q,
			   struct fl_err *err)
{
	static const char *const keys[] = { "rev", "base", "head" };
	_cleanup_(fl_caseset_clear) struct fl_caseset set = { 0 };
	struct fl_target *t;
	bool pending = false;
	int r = fl_target_open(p, fl_json_str_or(q->doc, "tree", NULL),
			       fl_json_str_or(q->doc, "host", NULL),
			       fl_json_str_or(q->doc, "job", NULL), &t, err);

	if (!r)
		r = choose_cases(t, fl_json_str_or(q->doc, "case", NULL), &set,
				 err);
	if (r < 0)
		return r;
	json_object_set_new(q->doc, "cases", names_of(t, &set));
	json_object_set_new(q->doc, "measured",
			    json_integer(t->recipe[FL_ISA_PLAIN]));
	/* Both sides at once: they may build and boot beside each other. */
	for (size_t i = 0; i < FL_ARRAY_SIZE(keys); i++) {
		if (!json_object_get(q->doc, keys[i]))
			continue;
		r = need_side(t, q, keys[i], &set, err);
		if (r < 0)
			return r;
		pending |= r == FL_PENDING;
	}
	return pending ? FL_PENDING : FL_READY;
}

const struct fl_request_ops fl_request_profile = { "profile", profile_advance };

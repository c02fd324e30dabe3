// SPDX-License-Identifier: GPL-2.0-or-later
/* See compare.h. The verdicts are made in compare-judge.c. */
#include "compare.h"

#include <errno.h>
#include <string.h>
#include "noise.h"
#include "util/fs.h"

#define MAX_CONFIG (4u << 20)

static int sorted_lines(const char *path, struct fl_strv *lines)
{
	_cleanup_buf_ struct fl_buf text = { 0 };
	int r = fl_fs_read(path, MAX_CONFIG, &text, NULL);

	fl_strv_split(lines, fl_buf_str(&text), "\n");
	fl_strv_sort(lines);
	return r;
}

/* Options that only one of two final configs has, '-' and '+' in front;
 * NULL when a file cannot be read. */
static char *config_diff(const char *base, const char *head)
{
	_cleanup_strv_ struct fl_strv a = { 0 }, b = { 0 };
	struct fl_buf out = { 0 };

	if (sorted_lines(base, &a) < 0 || sorted_lines(head, &b) < 0)
		return NULL;
	for (size_t i = 0, j = 0; i < a.n || j < b.n;) {
		int d = i == a.n ? 1 : j == b.n ? -1 : strcmp(a.s[i], b.s[j]);
		const char *line = d > 0 ? b.s[j] : a.s[i];

		if (d && strstr(line, "CONFIG_"))
			fl_buf_printf(&out, "%c%s\n", d < 0 ? '-' : '+', line);
		i += d <= 0;
		j += d >= 0;
	}
	return fl_buf_steal(&out);
}

static int finish(struct fl_target *t, const struct fl_comparison *c,
		  const struct fl_kernel k[2], struct fl_err *err)
{
	_cleanup_free_ char *base_dir = fl_plan_path(t->p, k[0].dir);
	_cleanup_free_ char *head_dir = fl_plan_path(t->p, k[1].dir);
	_cleanup_free_ char *base = fl_path_join(base_dir, "config");
	_cleanup_free_ char *head = fl_path_join(head_dir, "config");
	_cleanup_free_ char *diff = config_diff(base, head);
	int r = fl_store_comparison_config_diff(t->p->store, c->id, diff, err);

	return r < 0 ? r :
		       fl_store_comparison_finish(t->p->store, c->id, "done",
						  "", err);
}

/* Interleaved, ABBA: drift of the machine falls on both sides alike. */
static int need_both(struct fl_target *t, const struct fl_comparison *c,
		     const struct fl_caseset *set, enum fl_isa isa,
		     int64_t boots, int *which, struct fl_err *err)
{
	int worst = FL_READY;

	for (int64_t n = 1; n <= boots; n++) {
		for (int i = 0; i < 2; i++) {
			int side = n % 2 ? i : 1 - i;
			int r = fl_need_boots(
				t, side ? c->head_kernel_id : c->base_kernel_id,
				isa, set, n, c->after_run, FL_PRIO_NIGHTLY,
				err);

			if (r < 0)
				return r;
			if (r == FL_UNAVAILABLE) {
				*which = side;
				return r;
			}
			if (r == FL_PENDING)
				worst = r;
		}
	}
	return worst;
}

static int give_up(struct fl_target *t, const struct fl_comparison *c,
		   const struct fl_kernel *k, struct fl_err *err)
{
	_cleanup_free_ char *name = fl_store_described(t->p->store, k->sha);
	_cleanup_free_ char *status = NULL, *why = NULL, *text = NULL;
	int r;

	if (strcmp(k->status, "built")) {
		text = fl_asprintf("%s does not build: %s", name, k->reason);
	} else {
		r = fl_store_broken_why(t->p->store, k->id, t->recipe[0],
					&status, &why, err);
		if (r < 0)
			return r;
		text = fl_asprintf("%s does not come through (%s): %s", name,
				   status, why);
	}
	r = fl_store_comparison_finish(t->p->store, c->id, "failed", text, err);
	return r < 0 ? r : FL_UNAVAILABLE;
}

static bool any(const struct fl_caseset *set)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->want[i])
			return true;
	return false;
}

/*
 * Look by look: all cases at the first, then those that are unclear. What an
 * earlier look decided is decided by the same boots each time.
 */
static int measure_looks(struct fl_target *t, const struct fl_comparison *c,
			 struct fl_caseset *moved, int *which,
			 struct fl_err *err)
{
	_cleanup_(fl_caseset_clear) struct fl_caseset want;
	const struct fl_looks *plan = fl_compare_looks(c);
	int r = FL_READY;

	fl_caseset_init(&want, t);
	fl_caseset_add_all(&want);
	for (size_t look = 0; r == FL_READY && any(&want); look++) {
		fl_caseset_add_control(&want, t);
		r = need_both(t, c, &want, FL_ISA_PLAIN,
			      plan ? (int64_t)plan->boots[look] : c->boots,
			      which, err);
		if (r == FL_READY)
			r = fl_compare_judge(t, c, look, moved, &want, err);
	}
	return r;
}

static int measure(struct fl_target *t, const struct fl_comparison *c,
		   const struct fl_kernel k[2], struct fl_err *err)
{
	_cleanup_(fl_caseset_clear) struct fl_caseset moved, rest;
	int which = 0, r;

	fl_caseset_init(&moved, t);
	fl_caseset_init(&rest, t);
	r = measure_looks(t, c, &moved, &which, err);
	if (r == FL_UNAVAILABLE)
		return give_up(t, c, &k[which], err);
	if (r != FL_READY)
		return r;
	if (t->exact) {
		r = need_both(t, c, &moved, FL_ISA_STRINGS, 1, &which, err);
		if (r == FL_PENDING || r < 0)
			return r;
		/* With both views of what moved, the rows are final. */
		r = fl_compare_judge(t, c, 0, &moved, &rest, err);
	}
	if (!r)
		r = finish(t, c, k, err);
	return r < 0 ? r : fl_noise_refresh(t, err);
}

int fl_compare_advance(struct fl_target *t, const char *base_sha,
		       const char *head_sha, int64_t boots, int64_t *id,
		       struct fl_err *err)
{
	const char *const sha[2] = { base_sha, head_sha };
	struct fl_kernel k[2] = { { 0 }, { 0 } };
	_cleanup_(fl_comparison_clear) struct fl_comparison c = {
		.host_id = t->host_id,
		.job_id = t->job_id,
		.recipe_id = t->recipe[FL_ISA_PLAIN],
		.boots = boots,
	};
	int ready[2] = { 0, 0 }, r = 0;

	if (!t->exact)
		r = fl_store_last_run(t->p->store, &c.after_run, err);
	for (int i = 0; r >= 0 && i < 2; i++)
		r = ready[i] =
			fl_need_kernel(t, sha[i], FL_PRIO_NIGHTLY, &k[i], err);
	if (r < 0)
		goto out;
	c.base_kernel_id = k[0].id;
	c.head_kernel_id = k[1].id;
	r = fl_store_comparison(t->p->store, &c, err);
	if (r < 0)
		goto out;
	*id = c.id;
	if (!strcmp(c.status, "done"))
		r = FL_READY;
	else if (ready[0] == FL_UNAVAILABLE || ready[1] == FL_UNAVAILABLE)
		r = give_up(t, &c, &k[ready[0] != FL_UNAVAILABLE], err);
	else if (ready[0] == FL_READY && ready[1] == FL_READY)
		r = measure(t, &c, k, err);
	else
		r = FL_PENDING;
	/* A base that is built first can boot while the head builds. */
	if (r == FL_PENDING && ready[0] == FL_READY && ready[1] == FL_PENDING &&
	    t->exact) {
		_cleanup_(fl_caseset_clear) struct fl_caseset all;
		int early;

		fl_caseset_init(&all, t);
		fl_caseset_add_all(&all);
		early = fl_need_boots(t, k[0].id, FL_ISA_PLAIN, &all, boots, 0,
				      FL_PRIO_NIGHTLY, err);
		if (early < 0)
			r = early;
	}
out:
	fl_kernel_clear(&k[0]);
	fl_kernel_clear(&k[1]);
	return r;
}

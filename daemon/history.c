// SPDX-License-Identifier: GPL-2.0-or-later
/* See history.h. */
#include "history.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "compare.h"
#include "nightly.h"
#include "noise.h"
#include "stats/detect.h"

/* Of a branch; older heads say little about today's level. */
#define MAX_HEADS 200
/* Heads back from the newest in which a change is looked into. */
#define RECENT 6

/* Heads on the way to the newest one, oldest first. */
struct heads {
	int64_t *kernel;
	char (*sha)[FL_SHA_HEX];
	size_t n;
};

static void heads_clear(struct heads *h)
{
	free(h->kernel);
	free(h->sha);
}

static int load_heads(struct fl_target *t, const char *head_sha,
		      struct heads *h, struct fl_err *err)
{
	json_auto_t *rows = NULL;
	size_t i, total;
	json_t *v;
	int r = fl_store_rows(t->p->store, FL_ROWS_HEADS, &rows, err, "ii",
			      t->host_id, t->recipe[FL_ISA_PLAIN]);

	if (r < 0)
		return r;
	total = json_array_size(rows);
	h->kernel = fl_calloc(total + 1, sizeof(*h->kernel));
	h->sha = fl_calloc(total + 1, sizeof(*h->sha));
	json_array_foreach(rows, i, v) {
		const char *sha = fl_json_str_or(v, "sha", "");

		/* A head that was forced away is an ancestor of nothing. */
		if (i + MAX_HEADS < total ||
		    fl_git_is_ancestor(t->git, sha, head_sha, NULL) <= 0)
			continue;
		h->kernel[h->n] = fl_json_int_or(v, "kernel_id", 0);
		snprintf(h->sha[h->n++], FL_SHA_HEX, "%s", sha);
	}
	return 0;
}

/* The scatter that is known of the mean of one head. */
static double known_sd(struct fl_target *t, int64_t case_id, int64_t kpi_id)
{
	struct fl_noise m;

	if (fl_noise_known(t, case_id, kpi_id, &m, NULL) < 0)
		return 0;
	if (t->exact)
		return fl_noise_exact_floor(&m) / 3;
	return sqrt(m.var_y / (double)fl_looks_default.boots[0] + m.sa2);
}

static bool known_pair(const json_t *list, const char *from, const char *to)
{
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)list, i, v)
		if (!strcmp(fl_json_str_or(v, "from", ""), from) &&
		    !strcmp(fl_json_str_or(v, "to", ""), to))
			return true;
	return false;
}

/* The heads from and to, or where one was not measured the next one outwards;
 * unless this pair is there, or was compared on an earlier night. */
static int add_pair(struct fl_target *t, const struct heads *h, const double *y,
		    size_t from, size_t to, const char *name,
		    const struct fl_kpi *kpi, json_t *list, struct fl_err *err)
{
	int r;

	while (from > 0 && isnan(y[from]))
		from--;
	while (to + 1 < h->n && isnan(y[to]))
		to++;
	if (isnan(y[from]) || isnan(y[to]) ||
	    json_array_size(list) == FL_MAX_SUSPECTS ||
	    known_pair(list, h->sha[from], h->sha[to]))
		return 0;
	r = fl_store_compared(t->p->store, h->sha[from], h->sha[to], t->host_id,
			      t->recipe[FL_ISA_PLAIN], err);
	if (r)
		return r < 0 ? r : 0;
	json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "case",
					      name, "kpi", kpi->name, "from",
					      h->sha[from], "to", h->sha[to]));
	return 0;
}

/*
 * The newest values when they are suspect, else a change that is recent: a
 * small shift shows only when a few values are on the new level.
 */
static int look_at(struct fl_target *t, const struct heads *h, size_t at,
		   const struct fl_kpi *kpi, json_t *list, struct fl_err *err)
{
	_cleanup_free_ double *y = fl_calloc(h->n, sizeof(*y));
	const char *name = t->job->cases[at].name;
	int64_t case_id = t->case_ids[at], kpi_id;
	struct fl_detection d = { 0 };
	struct fl_detect_params par;
	int r = fl_store_kpi(t->p->store, kpi->name, kpi->unit, kpi->better,
			     &kpi_id, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < h->n; i++)
		y[i] = fl_target_level(t, h->kernel[i], FL_ISA_PLAIN, case_id,
				       kpi_id, (struct fl_span){ 0, 0 });
	par = (struct fl_detect_params){
		.floor = known_sd(t, case_id, kpi_id),
		.delta = fl_compare_threshold(t, name, kpi->name),
	};
	fl_detect(y, h->n, &par, &d);
	if (d.suspect.n && d.suspect.at)
		r = add_pair(t, h, y, d.suspect.at - 1, h->n - 1, name, kpi,
			     list, err);
	for (size_t i = 0; !r && i < d.nchanges; i++) {
		const struct fl_change *c = &d.changes[i];

		if (!c->small && c->lo && c->hi + RECENT >= h->n)
			r = add_pair(t, h, y, c->lo - 1, c->hi, name, kpi, list,
				     err);
	}
	fl_detection_clear(&d);
	return r;
}

int fl_history_suspects(struct fl_target *t, const char *head_sha, json_t **ret,
			struct fl_err *err)
{
	_cleanup_(heads_clear) struct heads h = { 0 };
	json_auto_t *list = json_array();
	int r = load_heads(t, head_sha, &h, err);

	for (size_t at = 0; !r && h.n && at < t->job->ncases; at++)
		for (size_t k = 0; !r && fl_job_kpi_at(t->job, k); k++)
			if (fl_job_kpi_at(t->job, k)->better)
				r = look_at(t, &h, at, fl_job_kpi_at(t->job, k),
					    list, err);
	if (!r)
		*ret = json_incref(list);
	return r;
}

int fl_history_advance(struct fl_target *t, json_t *suspects, int64_t boots,
		       struct fl_err *err)
{
	int worst = FL_READY;
	json_t *v;
	size_t i;

	json_array_foreach(suspects, i, v) {
		int64_t id = 0;
		int r = fl_compare_advance(t, fl_json_str_or(v, "from", ""),
					   fl_json_str_or(v, "to", ""), boots,
					   &id, err);

		if (r >= 0)
			json_object_set_new(v, "comparison", json_integer(id));
		if (r == FL_READY)
			r = fl_explain_advance(t, id, err);
		if (r < 0)
			return r;
		if (r == FL_PENDING)
			worst = r;
	}
	return worst;
}

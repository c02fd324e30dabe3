// SPDX-License-Identifier: GPL-2.0-or-later
/* The nightly request: fetch, compare every host and job, explain, report. */
#include "nightly.h"

#include <errno.h>
#include <string.h>
#include "compare.h"
#include "history.h"
#include "util/log.h"

/* The newest tag for a pattern; a value without wildcards is a revision. */
static int resolve_end(struct fl_git *git, const char *value, bool stable,
		       char sha[FL_SHA_HEX], struct fl_err *err)
{
	_cleanup_strv_ struct fl_strv tags = { 0 };
	int r;

	if (!strpbrk(value, "*?["))
		return fl_git_resolve(git, value, sha, err);
	r = fl_git_tags(git, value, &tags, err);
	if (r < 0)
		return r;
	for (size_t i = tags.n; i-- > 0;) {
		if (stable && strstr(tags.s[i], "-rc") && !strstr(value, "-rc"))
			continue;
		return fl_git_resolve(git, tags.s[i], sha, err);
	}
	return fl_err_set(
		err, -ENOENT, FL_E_USER,
		"no tag of '%s' matches '%s'%s; fetch the tags or change the pair's pattern",
		fl_git_path(git), value,
		stable ? " (release candidates left aside)" : "");
}

int fl_pair_resolve(struct fl_git *git, const struct fl_conf_pair *pair,
		    char base[FL_SHA_HEX], char head[FL_SHA_HEX],
		    struct fl_err *err)
{
	int r = resolve_end(git, pair->base, true, base, err);

	if (!r)
		r = resolve_end(git, pair->head, false, head, err);
	return r < 0 ? fl_err_prefix(err, "pair '%s'", pair->name) : 0;
}

static int fetch_first(struct fl_plan *p, struct fl_request *q,
		       const char *tree, struct fl_err *err)
{
	int64_t tree_id;
	int r;

	if (json_object_get(q->doc, "fetched"))
		return FL_READY;
	r = fl_plan_fetched(p, q, tree, &tree_id, err);
	if (r == FL_READY)
		json_object_set_new(q->doc, "fetched", json_true());
	return r;
}

/* Fixed for the whole request: a tag that appears meanwhile has to wait. */
static int fix_ends(struct fl_plan *p, struct fl_request *q,
		    const struct fl_conf_pair *pair, struct fl_err *err)
{
	struct fl_target *t;
	char base[FL_SHA_HEX], head[FL_SHA_HEX], fork[FL_SHA_HEX];
	int r;

	if (json_object_get(q->doc, "base"))
		return 0;
	r = fl_target_open(p, pair->tree, NULL, NULL, &t, err);
	if (!r)
		r = fl_pair_resolve(t->git, pair, base, head, err);
	if (!r)
		r = fl_git_merge_base(t->git, base, head, fork, err) < 0 ?
			    fl_err_prefix(err, "pair '%s'", pair->name) :
			    0;
	if (!r)
		r = fl_target_commit(t, base, err);
	if (!r)
		r = fl_target_commit(t, head, err);
	if (r < 0)
		return r;
	json_object_set_new(q->doc, "base", json_string(base));
	json_object_set_new(q->doc, "head", json_string(head));
	json_object_set_new(q->doc, "fork", json_string(fork));
	return 0;
}

/* The build slot is idle while the two ends boot: the merge base is likely
 * to be wanted next. */
static int build_ahead(struct fl_target *t, const char *fork,
		       struct fl_err *err)
{
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	int r = fl_need_kernel(t, fork, FL_PRIO_AHEAD, &k, err);

	return r < 0 ? r : 0;
}

/* Suspects are chosen once: what is measured next would change the series. */
static int advance_history(struct fl_target *t, struct fl_request *q,
			   const char *key, int64_t boots, struct fl_err *err)
{
	json_t *all = json_object_get(q->doc, "suspects"), *mine;
	int r;

	if (!all) {
		all = json_object();
		json_object_set_new(q->doc, "suspects", all);
	}
	mine = json_object_get(all, key);
	if (!mine) {
		r = fl_history_suspects(t, fl_json_str_or(q->doc, "head", ""),
					&mine, err);
		if (r < 0)
			return r;
		json_object_set_new(all, key, mine);
	}
	return fl_history_advance(t, mine, boots, err);
}

static int advance_one(struct fl_plan *p, struct fl_request *q,
		       const struct fl_conf_pair *pair, const char *host,
		       const char *job, struct fl_err *err)
{
	struct fl_target *t;
	_cleanup_free_ char *key = NULL;
	int64_t id = 0, boots;
	int r = fl_target_open(p, pair->tree, host, job, &t, err);

	if (r < 0)
		return r;
	p->stage = "comparing";
	boots = t->exact ? p->conf->boots_exact : p->conf->boots_wall;
	r = fl_compare_advance(t, fl_json_str_or(q->doc, "base", ""),
			       fl_json_str_or(q->doc, "head", ""), boots, &id,
			       err);
	key = fl_asprintf("%s %s", t->host->name, t->job->name);
	if (r >= 0)
		json_object_set_new(json_object_get(q->doc, "comparisons"), key,
				    json_integer(id));
	if (r == FL_PENDING) {
		int ahead =
			build_ahead(t, fl_json_str_or(q->doc, "fork", ""), err);

		return ahead < 0 ? ahead : r;
	}
	if (r == FL_READY)
		r = fl_explain_advance(t, id, err);
	if (r == FL_READY)
		r = advance_history(t, q, key, boots, err);
	return r;
}

static int nightly_advance(struct fl_plan *p, struct fl_request *q,
			   struct fl_err *err)
{
	static char *const any[] = { NULL };
	const struct fl_conf_pair *pair;
	int worst = FL_READY, r;

	r = fl_conf_pair(p->conf, fl_json_str_or(q->doc, "pair", NULL), &pair,
			 err);
	if (!r)
		r = fetch_first(p, q, pair->tree, err);
	if (r != FL_READY)
		return r;
	r = fix_ends(p, q, pair, err);
	if (r < 0)
		return r;
	if (!json_object_get(q->doc, "comparisons"))
		json_object_set_new(q->doc, "comparisons", json_object());
	for (size_t h = 0; h < (pair->hosts.n ? pair->hosts.n : 1); h++) {
		const char *host = pair->hosts.n ? pair->hosts.s[h] : any[0];

		for (size_t j = 0; j < pair->jobs.n; j++) {
			r = advance_one(p, q, pair, host, pair->jobs.s[j], err);
			if (r < 0)
				return r;
			if (r == FL_PENDING)
				worst = r;
		}
	}
	return worst;
}

const struct fl_request_ops fl_request_nightly = { "nightly", nightly_advance };

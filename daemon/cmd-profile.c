// SPDX-License-Identifier: GPL-2.0-or-later
/* profile, profile show, profile diff: where the time of a case goes. */
#include "cmd-profile.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define TOP 20

static void set_clear(struct fl_profile_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		free(set->v[i].name);
		fl_profile_clear(&set->v[i].p);
	}
	free(set->v);
	free(set->label);
}

static bool has(const json_t *names, const char *name)
{
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)names, i, v)
		if (!strcmp(json_string_value(v), name))
			return true;
	return false;
}

/* Rows of FL_ROWS_PROFILES(_OF): several runs of one case follow each other.
 * names: the cases that are wanted; NULL: all. */
static int load(struct fl_cli *cli, const json_t *rows, const json_t *names,
		struct fl_profile_set *set, struct fl_err *err)
{
	json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i, row) {
		const char *name = fl_json_str_or(row, "case", "");
		json_auto_t *nodes = NULL;
		int r;

		if (names && !has(names, name))
			continue;
		r = fl_store_rows(cli->store, FL_ROWS_PROFILE_NODES, &nodes,
				  err, "ii", fl_json_int_or(row, "run_id", 0),
				  fl_json_int_or(row, "case_id", 0));
		if (r < 0)
			return r;
		if (!set->n || strcmp(set->v[set->n - 1].name, name) != 0) {
			set->v = fl_realloc(set->v,
					    (set->n + 1) * sizeof(*set->v));
			set->v[set->n++] = (struct fl_profile_case){
				.name = fl_strdup(name), .kpi = NAN
			};
		}
		fl_profile_add(&set->v[set->n - 1].p, row, nodes);
	}
	return 0;
}

/* What the same kernel takes when nobody samples it. */
static int load_kpis(struct fl_cli *cli, const struct fl_request *q,
		     int64_t kernel, struct fl_profile_set *set,
		     struct fl_err *err)
{
	json_auto_t *rows = NULL;
	json_t *row;
	size_t i;
	int r = fl_store_rows(cli->store, FL_ROWS_KERNEL_VALUES, &rows, err,
			      "ii", kernel,
			      fl_json_int_or(q->doc, "measured", 0));

	if (r < 0)
		return r;
	json_array_foreach(rows, i, row)
		for (size_t k = 0; k < set->n; k++)
			if (!strcmp(fl_json_str_or(row, "kpi", ""),
				    "instructions_per_op") &&
			    !strcmp(fl_json_str_or(row, "case", ""),
				    set->v[k].name))
				set->v[k].kpi =
					fl_json_num_or(row, "value", NAN);
	return 0;
}

/* Why there is nothing to show of this kernel. */
static int no_profile(struct fl_cli *cli, const struct fl_request *q,
		      const struct fl_kernel *k, const char *rev,
		      struct fl_err *err)
{
	_cleanup_free_ char *status = NULL, *why = NULL;
	int r;

	if (strcmp(k->status, "built") != 0)
		return fl_err_set(err, -EIO, FL_E_USER, "%s does not build: %s",
				  rev, k->reason);
	r = fl_store_broken_why(cli->store, k->id,
				fl_json_int_or(q->doc, "recipe", 0), &status,
				&why, err);
	if (r < 0)
		return r;
	if (*status)
		return fl_err_set(err, -EIO, FL_E_USER, "%s: %s: %.*s", rev,
				  status, (int)strcspn(why, "\n"), why);
	return fl_err_set(
		err, -EIO, FL_E_USER,
		"%s: no case came through; 'faultline runs' and 'faultline runs RUN' say why",
		rev);
}

static int take_side(struct fl_cli *cli, const struct fl_request *q,
		     const char *key, struct fl_profile_set *set,
		     struct fl_err *err)
{
	_cleanup_free_ char *member = fl_asprintf("%s_kernel", key);
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	const char *pattern = fl_cli_opt(cli, "case");
	const char *rev = fl_json_str_or(q->doc, key, "");
	json_auto_t *rows = NULL;
	int r = fl_store_kernel_by_id(
		cli->store, fl_json_int_or(q->doc, member, 0), &k, err);

	if (!r)
		r = fl_store_rows(cli->store, FL_ROWS_PROFILES, &rows, err,
				  "iis", k.id,
				  fl_json_int_or(q->doc, "recipe", 0),
				  pattern ? pattern : "*");
	if (!r)
		r = load(cli, rows, json_object_get(q->doc, "cases"), set, err);
	if (!r)
		r = load_kpis(cli, q, k.id, set, err);
	set->label = fl_strdup(rev);
	return r < 0 || set->n ? r : no_profile(cli, q, &k, rev, err);
}

static int ask(struct fl_cli *cli, json_t *doc, struct fl_request *q,
	       int64_t *top, struct fl_err *err)
{
	static const char *const take[] = { "tree", "job", "host", "case",
					    NULL };
	_cleanup_free_ char *key = NULL;
	int64_t boots = 1;
	int r = fl_cli_int(cli, "top", 1, 100000, TOP, top, err);

	if (!r)
		r = fl_cli_int(cli, "boots", 1, 1000, 1, &boots, err);
	if (r < 0)
		return r;
	if (!fl_cli_opt(cli, "job"))
		return fl_cli_usage(err, "%s needs --job", cli->verb->name);
	fl_cli_take(cli, doc, take);
	json_object_set_new(doc, "boots", json_integer(boots));
	key = fl_json_text(doc);
	return fl_cli_request(cli, "profile", key, doc, q, err);
}

/* --folded writes one case. NULL: not asked for. */
static int open_folded(struct fl_cli *cli, size_t cases, FILE **f,
		       struct fl_err *err)
{
	const char *path = fl_cli_opt(cli, "folded");

	*f = NULL;
	if (!path)
		return 0;
	if (cases != 1)
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"--folded writes one case, and there are %zu; choose with --case",
			cases);
	*f = fopen(path, "we");
	return *f ? 0 :
		    fl_err_set(err, -errno, FL_E_USER, "cannot write '%s': %s",
			       path, strerror(errno));
}

static int close_folded(struct fl_cli *cli, FILE *f, struct fl_err *err)
{
	bool bad = f && ferror(f);

	if (f && (fclose(f) || bad))
		return fl_err_set(err, -EIO, FL_E_USER, "cannot write '%s'",
				  fl_cli_opt(cli, "folded"));
	return 0;
}

static int show(struct fl_cli *cli, const struct fl_profile_set *set,
		size_t top, struct fl_err *err)
{
	json_auto_t *all = json_array();
	FILE *f;
	int r = open_folded(cli, set->n, &f, err);

	if (r < 0)
		return r;
	if (f)
		fl_profile_fold(f, &set->v[0].p);
	for (size_t i = 0; i < set->n; i++) {
		if (cli->json)
			json_array_append_new(all, fl_profile_json(&set->v[i]));
		else
			fl_profile_print(&set->v[i], set->label, top);
	}
	if (cli->json)
		fl_cli_print_json(all);
	return close_folded(cli, f, err);
}

static int run_profile(struct fl_cli *cli, struct fl_err *err)
{
	_cleanup_(fl_request_clear) struct fl_request q = { 0 };
	_cleanup_(set_clear) struct fl_profile_set set = { 0 };
	json_auto_t *doc = json_pack("{s:s}", "rev", cli->args[0]);
	int64_t top = TOP;
	int r = ask(cli, doc, &q, &top, err);

	if (!r)
		r = take_side(cli, &q, "rev", &set, err);
	return r < 0 ? r : show(cli, &set, (size_t)top, err);
}

static int run_show(struct fl_cli *cli, struct fl_err *err)
{
	_cleanup_(set_clear) struct fl_profile_set set = { 0 };
	json_auto_t *rows = NULL;
	int64_t id = 0, top = TOP;
	int r = fl_cli_open(cli, err);

	if (!r)
		r = fl_cli_id(cli, 0, &id, err);
	if (!r)
		r = fl_cli_int(cli, "top", 1, 100000, TOP, &top, err);
	if (!r)
		r = fl_store_rows(cli->store, FL_ROWS_PROFILES_OF, &rows, err,
				  "i", id);
	if (!r && !json_array_size(rows))
		return fl_err_set(
			err, -ENOENT, FL_E_USER,
			"run %lld has no profile; 'faultline profile REV --job J' makes one",
			(long long)id);
	if (!r)
		r = load(cli, rows, NULL, &set, err);
	if (r < 0)
		return r;
	set.label = fl_asprintf("run %lld (%s)", (long long)id,
				fl_json_str_or(json_array_get(rows, 0),
					       "version", "?"));
	return show(cli, &set, (size_t)top, err);
}

/* The cases that both sides have, in pairs; both sets are sorted by name. */
static size_t pair_up(struct fl_profile_set *base, struct fl_profile_set *head)
{
	size_t n = 0, k = 0;

	for (size_t i = 0; i < base->n; i++) {
		struct fl_profile_case b, h;

		while (k < head->n &&
		       strcmp(head->v[k].name, base->v[i].name) < 0)
			k++;
		if (k == head->n ||
		    strcmp(head->v[k].name, base->v[i].name) != 0)
			continue;
		b = base->v[n];
		h = head->v[n];
		base->v[n] = base->v[i];
		head->v[n] = head->v[k];
		base->v[i] = b;
		head->v[k] = h;
		n++;
	}
	return n;
}

static int run_diff(struct fl_cli *cli, struct fl_err *err)
{
	_cleanup_(fl_request_clear) struct fl_request q = { 0 };
	_cleanup_(set_clear) struct fl_profile_set a = { 0 }, b = { 0 };
	json_auto_t *doc = json_pack("{s:s, s:s}", "base", cli->args[0], "head",
				     cli->args[1]);
	json_auto_t *all = json_array();
	size_t n = 0;
	int64_t top = TOP;
	FILE *f = NULL;
	int r = ask(cli, doc, &q, &top, err);

	if (!r)
		r = take_side(cli, &q, "base", &a, err);
	if (!r)
		r = take_side(cli, &q, "head", &b, err);
	if (!r) {
		n = pair_up(&a, &b);
		r = open_folded(cli, n, &f, err);
	}
	if (r < 0)
		return r;
	if (f)
		fl_profile_fold_diff(f, &a.v[0].p, &b.v[0].p);
	for (size_t i = 0; i < n; i++) {
		if (cli->json)
			json_array_append_new(
				all, fl_profile_diff_json(&a.v[i], &b.v[i]));
		else
			fl_profile_diff_print(&a.v[i], a.label, &b.v[i],
					      b.label, (size_t)top,
					      fl_cli_opt(cli, "instructions"));
	}
	if (cli->json)
		fl_cli_print_json(all);
	return close_folded(cli, f, err);
}

#define MAKE_OPTS                                                           \
	{ "tree", "TREE", "which tree (when there are several)" },          \
		{ "job", "JOB", "what to run" },                            \
		{ "case", "CASE", "which cases (a pattern; default all)" }, \
		{ "host", "HOST", "which host (default: the first)" },      \
	{                                                                   \
		"boots", "N", "profiling boots of a kernel (default 1)"     \
	}
#define SHOW_OPTS                                                       \
	{ "top", "N", "how many functions (default 20)" },              \
	{                                                               \
		"folded", "FILE", "stacks of one case for flame graphs" \
	}

const struct fl_verb fl_verbs_profile[] = {
	{ .name = "profile",
	  .args = "REV --job J [--case C] [--host H]",
	  .help = "where the time of a case goes, by function",
	  .more = "Samples are taken in boots of their own, which measure nothing.\n"
		  "See also 'profile show RUN' and 'profile diff BASE HEAD'.",
	  .min_args = 1,
	  .max_args = 1,
	  .opts = { MAKE_OPTS, SHOW_OPTS },
	  .run = run_profile },
	{ .name = "profile show",
	  .args = "RUN [--top N] [--folded FILE]",
	  .help = "the profile of a run that is there",
	  .min_args = 1,
	  .max_args = 1,
	  .opts = { SHOW_OPTS },
	  .run = run_show },
	{ .name = "profile diff",
	  .args = "BASE HEAD --job J [--case C] [--host H]",
	  .help = "functions whose share differs between two kernels",
	  .min_args = 2,
	  .max_args = 2,
	  .opts = { MAKE_OPTS,
		    SHOW_OPTS,
		    { "instructions", NULL,
		      "per operation, of measured kernels, not in points" } },
	  .run = run_diff },
	{ .name = NULL },
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* compare and nightly: what they print when the planner is done. */
#include "cmd-compare.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "util/log.h"

static void print_csv(const json_t *rows)
{
	static const char *const keys[] = {
		"case",	   "kpi",     "unit",	    "base_value", "head_value",
		"base_sd", "head_sd", "base_boots", "head_boots", "effect",
		"lo",	   "hi",      "p",	    "verdict"
	};
	json_t *v;
	size_t i;

	for (size_t k = 0; k < FL_ARRAY_SIZE(keys); k++)
		printf("%s%s", k ? "," : "", keys[k]);
	putchar('\n');
	json_array_foreach((json_t *)rows, i, v) {
		for (size_t k = 0; k < FL_ARRAY_SIZE(keys); k++) {
			const json_t *c = json_object_get(v, keys[k]);

			printf("%s", k ? "," : "");
			if (json_is_string(c))
				fl_cli_safe(json_string_value(c));
			else if (json_is_integer(c))
				printf("%lld",
				       (long long)json_integer_value(c));
			else if (json_is_real(c))
				printf("%.10g", json_real_value(c));
		}
		putchar('\n');
	}
}

static int load(struct fl_store *s, int64_t id, json_t **comparison,
		json_t **results, struct fl_err *err)
{
	json_auto_t *rows = NULL;
	int r = fl_store_rows(s, FL_ROWS_COMPARISON, &rows, err, "i", id);

	if (!r)
		r = fl_store_rows(s, FL_ROWS_RESULTS, results, err, "i", id);
	if (r < 0)
		return r;
	*comparison = json_incref(json_array_get(rows, 0));
	return 0;
}

static int print_comparison(struct fl_cli *cli, int64_t id, struct fl_err *err)
{
	json_auto_t *cmp = NULL, *results = NULL;
	const char *format = fl_cli_opt(cli, "format");
	int r = load(cli->store, id, &cmp, &results, err);

	if (r < 0)
		return r;
	if (!strcmp(fl_json_str_or(cmp, "status", ""), "failed"))
		return fl_err_set(err, -EIO, FL_E_USER, "%s",
				  fl_json_str_or(cmp, "reason", ""));
	if (cli->json || (format && !strcmp(format, "json"))) {
		json_object_set(cmp, "results", results);
		fl_cli_print_json(cmp);
		return 0;
	}
	if (format && !strcmp(format, "csv")) {
		print_csv(results);
		return 0;
	}
	printf("%s against %s on host %s, %s clock\n",
	       fl_json_str_or(cmp, "head", ""), fl_json_str_or(cmp, "base", ""),
	       fl_json_str_or(cmp, "host", ""),
	       fl_json_str_or(cmp, "clock", ""));
	putchar('\n');
	if (json_array_size(results))
		fl_print_results(results, true);
	else
		puts("No case was measured.");
	return 0;
}

int fl_cmd_compare(struct fl_cli *cli, struct fl_err *err)
{
	static const char *const take[] = { "tree", "job", "host", NULL };
	static const char *const formats[] = { "table", "json", "csv" };
	json_auto_t *doc = json_pack("{s:s, s:s}", "base", cli->args[0], "head",
				     cli->args[1]);
	_cleanup_(fl_request_clear) struct fl_request q = { 0 };
	const char *format = fl_cli_opt(cli, "format");
	_cleanup_free_ char *key = NULL;
	bool known = !format;
	int64_t boots;
	int r = fl_cli_int(cli, "boots", 1, 1000, 0, &boots, err);

	if (r < 0)
		return r;
	for (size_t i = 0; format && i < FL_ARRAY_SIZE(formats); i++)
		known |= !strcmp(format, formats[i]);
	if (!known)
		return fl_cli_usage(err, "--format is table, json or csv");
	if (!fl_cli_opt(cli, "job"))
		return fl_cli_usage(err, "compare needs --job");
	fl_cli_take(cli, doc, take);
	if (boots)
		json_object_set_new(doc, "boots", json_integer(boots));
	key = fl_json_text(doc);
	r = fl_cli_request(cli, "compare", key, doc, &q, err);
	if (r < 0)
		return r;
	return print_comparison(cli, fl_json_int_or(q.doc, "comparison", 0),
				err);
}

/* ---- nightly ------------------------------------------------------------------ */

/* Its own, or else the one that told of the same commit before. */
static const json_t *mail_of(const json_t *b, const json_t *reports)
{
	static const char *const keys[] = { "culprit_sha", "host", "kpi" };
	const json_t *other = NULL;
	json_t *v;
	size_t i, same;

	json_array_foreach((json_t *)reports, i, v) {
		if (fl_json_int_or(v, "bisection_id", 0) ==
		    fl_json_int_or(b, "id", -1))
			return v;
		for (same = 0; same < FL_ARRAY_SIZE(keys); same++)
			if (strcmp(fl_json_str_or(v, keys[same], ""),
				   fl_json_str_or(b, keys[same], "")))
				break;
		if (!other && same == FL_ARRAY_SIZE(keys))
			other = v;
	}
	return other;
}

static void print_bisection(const json_t *b, const json_t *reports)
{
	const char *status = fl_json_str_or(b, "status", "");
	const char *sha = fl_json_str_or(b, "culprit_sha", NULL);
	const json_t *mail;

	bool part = fl_json_int_or(b, "parent_id", 0) > 0;

	if (strcmp(status, "found")) {
		/* Nothing more before or after a culprit is no news. */
		if (strcmp(status, "explained") &&
		    !(part && !strcmp(status, "does-not-reproduce")))
			printf("  bisection %lld of %s: %s: %s\n",
			       (long long)fl_json_int_or(b, "id", 0),
			       fl_json_str_or(b, "case", ""), status,
			       fl_json_str_or(b, "reason", ""));
		return;
	}
	printf("  commit %.12s (\"", sha ? sha : "");
	fl_cli_safe(fl_json_str_or(b, "culprit_subject", ""));
	printf("\")\n    explains %.0f %% of %s%s\n    %s; found among %lld commits, of which %lld were tested, in %lld boots\n",
	       100 * fl_json_num_or(b, "share", 0),
	       part ? "what is left of " : "", fl_json_str_or(b, "case", ""),
	       fl_json_str_or(b, "kpi", ""),
	       (long long)fl_json_int_or(b, "commits", 0),
	       (long long)fl_json_int_or(b, "steps", 0),
	       (long long)fl_json_int_or(b, "boots", 0));
	mail = mail_of(b, reports);
	if (mail)
		printf("    mail %lld (%s): %s\n",
		       (long long)fl_json_int_or(mail, "id", 0),
		       fl_json_str_or(mail, "state", ""),
		       fl_json_str_or(mail, "file", ""));
}

static size_t count_not_same(const json_t *results)
{
	size_t n = 0, i;
	json_t *v;

	json_array_foreach((json_t *)results, i, v)
		n += strcmp(fl_json_str_or(v, "verdict", ""), "same") != 0;
	return n;
}

static int print_night(struct fl_cli *cli, int64_t id, int *mails,
		       struct fl_err *err)
{
	json_auto_t *cmp = NULL, *results = NULL, *bis = NULL, *reports = NULL;
	json_t *v;
	size_t i;
	int r = load(cli->store, id, &cmp, &results, err);

	if (!r)
		r = fl_store_rows(cli->store, FL_ROWS_BISECTIONS_OF, &bis, err,
				  "i", id);
	if (!r)
		r = fl_store_rows(cli->store, FL_ROWS_REPORTS, &reports, err,
				  "");
	if (r < 0)
		return r;
	printf("\n%s against %s on host %s, job %s:\n",
	       fl_json_str_or(cmp, "head", ""), fl_json_str_or(cmp, "base", ""),
	       fl_json_str_or(cmp, "host", ""), fl_json_str_or(cmp, "job", ""));
	if (!strcmp(fl_json_str_or(cmp, "status", ""), "failed")) {
		printf("  not compared: %s\n",
		       fl_json_str_or(cmp, "reason", ""));
		return 0;
	}
	if (!count_not_same(results)) {
		printf("  nothing moved: %zu KPIs of %s stayed within their thresholds\n",
		       json_array_size(results),
		       fl_json_str_or(cmp, "job", ""));
		return 0;
	}
	fl_print_results(results, false);
	putchar('\n');
	json_array_foreach(bis, i, v) {
		print_bisection(v, reports);
		*mails += !strcmp(fl_json_str_or(v, "status", ""), "found");
	}
	return 0;
}

/* Heads that left the level of their series, and what re-runs say of them. */
static int print_suspects(struct fl_cli *cli, const json_t *suspects,
			  const char *key, int *mails, struct fl_err *err)
{
	const json_t *list = json_object_get(suspects, key);
	json_t *v;
	size_t i;
	int r = 0;

	json_array_foreach((json_t *)list, i, v) {
		int64_t id = fl_json_int_or(v, "comparison", 0);

		printf("\n%s of %s left the level of its history; measured again:\n",
		       fl_json_str_or(v, "kpi", ""),
		       fl_json_str_or(v, "case", ""));
		if (!r && id)
			r = print_night(cli, id, mails, err);
	}
	return r;
}

int fl_cmd_nightly(struct fl_cli *cli, struct fl_err *err)
{
	json_auto_t *doc = json_object();
	_cleanup_(fl_request_clear) struct fl_request q = { 0 };
	const struct fl_conf_pair *pair = NULL;
	const char *key;
	int mails = 0, r = fl_cli_open(cli, err);
	json_t *v;

	if (!r)
		r = fl_conf_pair(cli->conf, cli->nargs ? cli->args[0] : NULL,
				 &pair, err);
	if (r < 0 || !pair)
		return r;
	json_object_set_new(doc, "pair", json_string(pair->name));
	r = fl_cli_request(cli, "nightly", pair->name, doc, &q, err);
	if (r < 0)
		return r;
	if (cli->json) {
		fl_cli_print_json(q.doc);
		return 0;
	}
	json_object_foreach(json_object_get(q.doc, "comparisons"), key, v) {
		r = print_night(cli, json_integer_value(v), &mails, err);
		if (!r)
			r = print_suspects(cli,
					   json_object_get(q.doc, "suspects"),
					   key, &mails, err);
		if (r < 0)
			return r;
	}
	if (mails)
		puts("\nNext: 'faultline report list', 'faultline report show 1',\n"
		     "      'faultline bisect show 1', 'faultline trend --help'");
	return 0;
}

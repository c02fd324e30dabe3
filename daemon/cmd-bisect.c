// SPDX-License-Identifier: GPL-2.0-or-later
/* bisect GOOD BAD, bisect list, bisect show N. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "cli.h"
#include "report-words.h"
#include "cmd-bisect-run.h"

static int list(struct fl_cli *cli, struct fl_err *err)
{
	static const struct fl_column columns[] = {
		{ "id", "id", 'i' },
		{ "case", "case", 's' },
		{ "kpi", "KPI", 's' },
		{ "commits", "commits", 'i' },
		{ "steps", "steps", 'i' },
		{ "status", "status", 's' },
		{ "culprit_sha", "culprit", 'h' },
		{ "share", "share", 'g' },
	};

	return fl_cli_list(cli, FL_ROWS_BISECTIONS, columns,
			   FL_ARRAY_SIZE(columns), "Nothing was bisected yet.",
			   err);
}

/* The newest posterior of commit idx; its bar is ten characters. */
static double belief(const json_t *steps, size_t idx)
{
	const json_t *last = json_array_get(steps, json_array_size(steps) - 1);
	char key[24];

	snprintf(key, sizeof(key), "%zu", idx);
	return fl_json_num_or(json_object_get(last, "posterior"), key, 0);
}

/* What the boots of commit idx gave, in words; "" when it had none. */
static void measured(const json_t *tested, size_t idx, char *out, size_t size)
{
	json_t *v;
	size_t i;

	*out = 0;
	json_array_foreach((json_t *)tested, i, v) {
		int64_t boots = fl_json_int_or(v, "boots", 0);
		int n;

		if (fl_json_int_or(v, "idx", -1) != (int64_t)idx)
			continue;
		if (!boots) {
			snprintf(out, size, "%s",
				 fl_json_str_or(v, "outcome", ""));
			return;
		}
		n = snprintf(out, size, "%.7g",
			     fl_json_num_or(v, "value", NAN));
		if (boots > 1)
			snprintf(out + n, size - (size_t)n, " (%lld)",
				 (long long)boots);
		return;
	}
}

static void print_graph(const json_t *b, const json_t *commits,
			const json_t *steps, const json_t *tested)
{
	const char *culprit = fl_json_str_or(b, "culprit_sha", "");
	json_t *v;
	size_t i;

	printf("\n   %-12s  %-15s  %-6s  %s\n", "commit", "mean (boots)",
	       "belief", "subject");
	json_array_foreach((json_t *)commits, i, v) {
		double p = belief(steps, i);
		char value[48], share[16] = "";

		measured(tested, i, value, sizeof(value));
		if (!*value && i && fl_json_num_or(v, "prior", 1) == 0)
			snprintf(value, sizeof(value), "(not compiled)");
		if (p >= 0.0005)
			snprintf(share, sizeof(share), "%.3f", p);
		printf("%s %.12s  %-15s  %-6s  ",
		       !strcmp(culprit, fl_json_str_or(v, "sha", "")) ? "=>" :
									"  ",
		       fl_json_str_or(v, "sha", ""), value, share);
		fl_cli_safe(fl_json_str_or(v, "subject", ""));
		putchar('\n');
	}
}

/* The likeliest commit after a step, and how likely. */
static size_t favourite(const json_t *step, double *p)
{
	const char *key;
	json_t *v;
	size_t best = 0;

	*p = 0;
	json_object_foreach(json_object_get(step, "posterior"), key, v) {
		if (json_number_value(v) > *p) {
			*p = json_number_value(v);
			best = strtoul(key, NULL, 10);
		}
	}
	return best;
}

static void print_step(const json_t *s, const json_t *commits)
{
	const char *outcome = fl_json_str_or(s, "outcome", "");
	size_t idx = (size_t)fl_json_int_or(s, "idx", 0);
	size_t last = json_array_size(commits) - 1, best;
	int64_t left = fl_json_int_or(s, "candidates", 0);
	double p;

	printf("  %3lld. %.12s  ", (long long)fl_json_int_or(s, "n", 0),
	       fl_json_str_or(s, "sha", ""));
	if (!strcmp(outcome, "measured"))
		printf("%12.7g  %-8s", fl_json_num_or(s, "value", NAN),
		       !idx	   ? "good end" :
		       idx == last ? "bad end" :
				     "");
	else
		printf("%-22.22s", outcome);
	best = favourite(s, &p);
	printf("  %lld left", (long long)left);
	if (p > 0)
		printf(", best %.12s %.0f %%",
		       fl_json_str_or(json_array_get(commits, best), "sha", ""),
		       100 * p);
	putchar('\n');
	if (strcmp(outcome, "measured"))
		printf("       %.70s\n", fl_json_str_or(s, "why", ""));
}

static void print_story(const json_t *steps, const json_t *commits)
{
	json_t *s;
	size_t i;

	puts("\nBoot by boot, and what was believed after each:");
	json_array_foreach((json_t *)steps, i, s)
		print_step(s, commits);
}

static void print_attributions(const json_t *rows)
{
	json_t *v;
	size_t i;

	if (json_array_size(rows))
		puts("\nThe commit against its parent, on all that moved:");
	json_array_foreach((json_t *)rows, i, v)
		printf("  %-37s %-19s\n      %.7g -> %.7g, %.0f %% of the change\n",
		       fl_json_str_or(v, "case", ""),
		       fl_json_str_or(v, "kpi", ""),
		       fl_json_num_or(v, "parent_value", NAN),
		       fl_json_num_or(v, "culprit_value", NAN),
		       round(100 * fl_json_num_or(v, "share", NAN)) + 0.0);
}

static void print_verdict(const json_t *b)
{
	const char *status = fl_json_str_or(b, "status", "");
	const char *reason = fl_json_str_or(b, "reason", "");
	double lo = fl_json_num_or(b, "share_lo", NAN);
	double hi = fl_json_num_or(b, "share_hi", NAN);
	int64_t refuted = fl_json_int_or(b, "refuted", 0);
	_cleanup_buf_ struct fl_buf out = { 0 };
	char range[48] = "";

	/* Under the exact clock both round to the share itself. */
	if (hi - lo >= 0.01)
		snprintf(range, sizeof(range), " (%.0f to %.0f %%)", 100 * lo,
			 100 * hi);
	putchar('\n');
	if (refuted)
		fl_word_para(
			&out,
			"Before it %lld candidate%s failed in fresh boots, and the search went on with these.",
			(long long)refuted, refuted == 1 ? "" : "s");
	if (!strcmp(status, "found"))
		fl_word_para(
			&out,
			"Verdict: found: %.12s explains %.0f %%%s of the change. Its probability was %.3f before it was verified against its parents.",
			fl_json_str_or(b, "culprit_sha", ""),
			100 * fl_json_num_or(b, "share", NAN), range,
			fl_json_num_or(b, "confidence", NAN));
	else
		fl_word_para(&out, "Verdict: %s%s%s", status,
			     *reason ? ": " : "", reason);
	fputs(fl_buf_str(&out), stdout);
}

static int show(struct fl_cli *cli, int64_t id, struct fl_err *err)
{
	json_auto_t *rows = NULL, *commits = NULL, *steps = NULL, *att = NULL;
	json_auto_t *tested = NULL;
	struct fl_store *s = cli->store;
	json_t *b;
	int r = fl_store_rows(s, FL_ROWS_BISECTION, &rows, err, "i", id);

	if (!r && !json_array_size(rows))
		return fl_err_set(
			err, -ENOENT, FL_E_USER,
			"there is no bisection %lld; 'faultline bisect list' shows them",
			(long long)id);
	if (!r)
		r = fl_store_rows(s, FL_ROWS_BISECTION_COMMITS, &commits, err,
				  "i", id);
	if (!r)
		r = fl_store_rows(s, FL_ROWS_BISECTION_STEPS, &steps, err, "i",
				  id);
	if (!r)
		r = fl_store_rows(s, FL_ROWS_BISECTION_TESTED, &tested, err,
				  "i", id);
	if (!r)
		r = fl_store_rows(s, FL_ROWS_ATTRIBUTIONS, &att, err, "i", id);
	if (r < 0)
		return r;
	b = json_array_get(rows, 0);
	if (cli->json) {
		json_object_set(b, "graph", commits);
		json_object_set(b, "path", steps);
		json_object_set(b, "attributions", att);
		fl_cli_print_json(b);
		return 0;
	}
	printf("Bisection %lld: %s of %s on host %s\n", (long long)id,
	       fl_json_str_or(b, "kpi", ""), fl_json_str_or(b, "case", ""),
	       fl_json_str_or(b, "host", ""));
	if (fl_json_int_or(b, "parent_id", 0))
		printf("a stretch of bisection %lld, whose culprit left something over\n",
		       (long long)fl_json_int_or(b, "parent_id", 0));
	printf("good %s (%.7g), bad %s (%.7g), %lld commits\n",
	       fl_json_str_or(b, "good", ""),
	       fl_json_num_or(b, "good_value", NAN),
	       fl_json_str_or(b, "bad", ""),
	       fl_json_num_or(b, "bad_value", NAN),
	       (long long)fl_json_int_or(b, "commits", 0));
	print_graph(b, commits, steps, tested);
	print_story(steps, commits);
	print_attributions(att);
	print_verdict(b);
	return 0;
}

/* Of two branches: all that the comparison led to. */
static int show_branches(struct fl_cli *cli, int64_t comparison,
			 struct fl_err *err)
{
	json_auto_t *rows = NULL;
	json_t *v;
	size_t i;
	int r = fl_store_rows(cli->store, FL_ROWS_BISECTIONS_OF, &rows, err,
			      "i", comparison);

	if (!r && cli->json) {
		fl_cli_print_json(rows);
		return 0;
	}
	if (!r && !json_array_size(rows))
		puts("Nothing moved between the two; there is nothing to bisect.");
	json_array_foreach(rows, i, v) {
		if (i)
			putchar('\n');
		if (!r)
			r = show(cli, fl_json_int_or(v, "id", 0), err);
	}
	return r;
}

/* Why there is none, or the bisection itself. */
static int show_outcome(struct fl_cli *cli, const struct fl_request *q,
			struct fl_err *err)
{
	int64_t comparison = fl_json_int_or(q->doc, "comparison", 0);
	int64_t id = fl_json_int_or(q->doc, "bisection", 0);
	json_auto_t *rows = NULL;
	const json_t *c;
	int r = fl_store_rows(cli->store, FL_ROWS_COMPARISON, &rows, err, "i",
			      comparison);

	if (r < 0)
		return r;
	c = json_array_get(rows, 0);
	if (!strcmp(fl_json_str_or(c, "status", ""), "failed"))
		return fl_err_set(err, -EIO, FL_E_USER, "%s",
				  fl_json_str_or(c, "reason", ""));
	if (json_object_get(q->doc, "branches"))
		return show_branches(cli, comparison, err);
	if (id)
		return show(cli, id, err);
	printf("%s moved between the two; there is nothing to bisect.\n",
	       fl_cli_opt(cli, "kpi") || fl_cli_opt(cli, "case") ?
		       "Of what was asked for, nothing" :
		       "Nothing");
	return 0;
}

/* The job may declare KPIs of its own. */
static int check_kpi(struct fl_cli *cli, const char *kpi, struct fl_err *err)
{
	_cleanup_(fl_job_freep) struct fl_job *job = NULL;
	_cleanup_strv_ struct fl_strv dirs = { 0 };
	int r;

	if (!kpi || fl_kpi_find(kpi))
		return 0;
	r = fl_cli_open(cli, err);
	if (r < 0)
		return r;
	fl_conf_job_dirs(cli->conf, &dirs);
	r = fl_job_load(fl_cli_opt(cli, "job"), &dirs, &job, err);
	if (!r && !fl_job_kpi_find(job, kpi))
		r = fl_cli_usage(err, "there is no KPI '%s'", kpi);
	return r;
}

static int bisect(struct fl_cli *cli, struct fl_err *err)
{
	static const char *const take[] = { "tree", "job",  "host",
					    "kpi",  "case", NULL };
	json_auto_t *doc = json_pack("{s:s, s:s}", "good", cli->args[0], "bad",
				     cli->args[1]);
	_cleanup_(fl_request_clear) struct fl_request q = { 0 };
	const char *kpi = fl_cli_opt(cli, "kpi");
	_cleanup_free_ char *key = NULL;
	int r;

	if (!fl_cli_opt(cli, "job"))
		return fl_cli_usage(err, "bisect needs --job");
	r = check_kpi(cli, kpi, err);
	if (r < 0)
		return r;
	fl_cli_take(cli, doc, take);
	key = fl_json_text(doc);
	r = fl_cli_request(cli, "bisect", key, doc, &q, err);
	return r < 0 ? r : show_outcome(cli, &q, err);
}

static int run_bisect(struct fl_cli *cli, struct fl_err *err)
{
	int64_t id = 0;
	int r = 0;

	if (!strcmp(cli->args[0], "list") || !strcmp(cli->args[0], "show")) {
		bool one = !strcmp(cli->args[0], "show");

		if (cli->nargs != 1 + one)
			return fl_cli_usage(err, "faultline bisect %s%s",
					    cli->args[0], one ? " N" : "");
		r = fl_cli_open(cli, err);
		if (!r && one)
			r = fl_cli_id(cli, 1, &id, err);
		return r < 0 ? r : one ? show(cli, id, err) : list(cli, err);
	}
	if (cli->nargs != 2)
		return fl_cli_usage(err, "faultline bisect GOOD BAD --job J");
	return bisect(cli, err);
}

const struct fl_verb fl_verbs_bisect[] = {
	{ .name = "bisect",
	  .args = "GOOD BAD --job J [--kpi K] [--case C] | list | show N",
	  .help = "find the commit that moved a KPI, or show how it was found",
	  .min_args = 1,
	  .max_args = 2,
	  .opts = { { "job", "JOB", "what to measure" },
		    { "kpi", "KPI", "which KPI (default: what moved most)" },
		    { "case", "CASE", "which case (default: what moved most)" },
		    { "host", "HOST", "which host (default: the first)" },
		    { "tree", "TREE", "which tree (when there are several)" } },
	  .run = run_bisect },
	{ .name = "bisect run",
	  .args = "--good REV [--bad REV] [options] -- CMD...",
	  .help = "find the commit that moved the number CMD prints, anywhere",
	  .more = "Works in any git repository and needs no workspace. CMD runs in a work tree\n"
		  "of its own; the last line it prints has to be one number above zero (and a\n"
		  "unit, perhaps). Exit status 125, any other failure, or no number: this commit\n"
		  "cannot be tested. The number may be noisy and may rise or fall.",
	  .max_args = 0,
	  .opts = { { "good", "REV", "from here (the older end)" },
		    { "bad", "REV", "to here (default: HEAD)" },
		    { "repo", "DIR", "the repository (default: this folder)" },
		    { "path", "P,...",
		      "only commits that touch these can do it" },
		    { "first-parent", NULL, "merges stand for their branches" },
		    { "exact", NULL, "the number repeats: few runs will do" },
		    { "threshold", "X%",
		      "smallest change of interest (2%; exact 0.1%)" },
		    { "confidence", "P", "probability to stop at (0.95)" },
		    { "max-runs", "N", "budget (200)" },
		    { "timeout", "SEC", "of one run (default: none)" },
		    { "state", "DIR",
		      "journal and work tree (default: in .git)" },
		    { "resume", NULL, "go on with a hunt that was interrupted" },
		    { "restart", NULL, "begin it anew" } },
	  .run = fl_cmd_bisect_run,
	  .command = true },
	{ .name = NULL },
};

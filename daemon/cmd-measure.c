// SPDX-License-Identifier: GPL-2.0-or-later
/* build, kernels, run, runs, hosts: single kernels. */
#include <errno.h>
#include <string.h>
#include "cli.h"
#include "cmd-compare.h"

static int run_build(struct fl_cli *cli, struct fl_err *err)
{
	static const char *const take[] = { "tree", "job", "host", NULL };
	_cleanup_free_ char *key = fl_asprintf("build %s", cli->args[0]);
	json_auto_t *doc = json_pack("{s:s}", "rev", cli->args[0]);
	_cleanup_(fl_request_clear) struct fl_request q = { 0 };
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	int r;

	fl_cli_take(cli, doc, take);
	r = fl_cli_request(cli, "build", key, doc, &q, err);
	if (!r)
		r = fl_store_kernel_by_id(cli->store,
					  fl_json_int_or(q.doc, "kernel", 0),
					  &k, err);
	if (r < 0)
		return r;
	if (k.status && !strcmp(k.status, "built")) {
		printf("built kernel %lld: %s/bzImage (%s)\n", (long long)k.id,
		       k.dir, k.release ? k.release : "");
		return 0;
	}
	return fl_err_set(err, -EIO, FL_E_USER,
			  "%s does not build: %s (log: %s/build.log)",
			  cli->args[0], k.reason, k.dir);
}

static int run_kernels(struct fl_cli *cli, struct fl_err *err)
{
	static const struct fl_column columns[] = {
		{ "id", "id", 'i' },	     { "version", "version", 's' },
		{ "sha", "commit", 'h' },    { "status", "status", 's' },
		{ "make_s", "make", 'd' },   { "image_hash", "image", 'h' },
		{ "reason", "reason", 's' },
	};

	return fl_cli_list(cli, FL_ROWS_KERNELS, columns,
			   FL_ARRAY_SIZE(columns), "No kernel was built yet.",
			   err);
}

static int print_boots(struct fl_cli *cli, const struct fl_request *q,
		       struct fl_err *err)
{
	static const struct fl_column columns[] = {
		{ "case", "case", 's' },   { "kpi", "KPI", 's' },
		{ "value", "value", 'g' }, { "spread", "spread %", 'g' },
		{ "boots", "boots", 'i' }, { "unit", "unit", 's' },
	};
	json_auto_t *rows = NULL;
	int r = fl_store_rows(cli->store, FL_ROWS_KERNEL_VALUES, &rows, err,
			      "ii", fl_json_int_or(q->doc, "kernel", 0),
			      fl_json_int_or(q->doc, "recipe", 0));

	if (!r)
		fl_cli_print(cli, rows, columns, FL_ARRAY_SIZE(columns),
			     "No case was measured.");
	return r;
}

static int run_run(struct fl_cli *cli, struct fl_err *err)
{
	static const char *const take[] = { "tree", "job", "host", NULL };
	const char *job = fl_cli_opt(cli, "job");
	json_auto_t *doc = json_pack("{s:s}", "rev", cli->args[0]);
	_cleanup_(fl_request_clear) struct fl_request q = { 0 };
	_cleanup_(fl_kernel_clear) struct fl_kernel k = { 0 };
	_cleanup_free_ char *key = NULL, *status = NULL, *why = NULL;
	int64_t boots;
	int r = fl_cli_int(cli, "boots", 1, 1000, 1, &boots, err);

	if (r < 0)
		return r;
	if (!job)
		return fl_cli_usage(err, "run needs --job");
	fl_cli_take(cli, doc, take);
	json_object_set_new(doc, "boots", json_integer(boots));
	key = fl_json_text(doc);
	r = fl_cli_request(cli, "run", key, doc, &q, err);
	if (!r)
		r = fl_store_kernel_by_id(cli->store,
					  fl_json_int_or(q.doc, "kernel", 0),
					  &k, err);
	if (r < 0)
		return r;
	if (!k.status || strcmp(k.status, "built"))
		return fl_err_set(err, -EIO, FL_E_USER, "%s does not build: %s",
				  cli->args[0], k.reason);
	r = fl_store_broken_why(cli->store, k.id,
				fl_json_int_or(q.doc, "recipe", 0), &status,
				&why, err);
	if (!r)
		r = print_boots(cli, &q, err);
	if (!r && *status)
		/* A panic's reason is its whole text; the log has the rest. */
		r = fl_err_set(err, -EIO, FL_E_USER, "%s: %s: %.*s",
			       cli->args[0], status, (int)strcspn(why, "\n"),
			       why);
	return r;
}

static int run_runs(struct fl_cli *cli, struct fl_err *err)
{
	static const struct fl_column columns[] = {
		{ "id", "id", 'i' },	     { "version", "version", 's' },
		{ "host", "host", 's' },     { "job", "job", 's' },
		{ "isa", "isa", 's' },	     { "purpose", "purpose", 's' },
		{ "boot_no", "boot", 'i' },  { "cases", "cases", 'i' },
		{ "status", "status", 's' }, { "total_s", "took", 'd' },
		{ "reason", "reason", 's' },
	};
	static const struct fl_column case_columns[] = {
		{ "case", "case", 's' }, { "status", "status", 's' },
		{ "kpi", "KPI", 's' },	 { "value", "value", 'g' },
		{ "unit", "unit", 's' }, { "reason", "reason", 's' },
	};
	json_auto_t *rows = NULL;
	int64_t id;
	int r = fl_cli_open(cli, err);

	if (!r && cli->nargs) {
		r = fl_cli_id(cli, 0, &id, err);
		if (!r)
			r = fl_store_rows(cli->store, FL_ROWS_RUN_CASES, &rows,
					  err, "i", id);
		if (!r && !json_array_size(rows))
			r = fl_err_set(
				err, -ENOENT, FL_E_USER,
				"there is no run %lld; 'faultline runs' shows them",
				(long long)id);
		if (!r)
			fl_cli_print(cli, rows, case_columns,
				     FL_ARRAY_SIZE(case_columns), "");
		return r;
	}
	return r < 0 ? r :
		       fl_cli_list(cli, FL_ROWS_RUNS, columns,
				   FL_ARRAY_SIZE(columns),
				   "Nothing was run yet.", err);
}

static int run_hosts(struct fl_cli *cli, struct fl_err *err)
{
	static const struct fl_column columns[] = {
		{ "name", "host", 's' },     { "driver", "driver", 's' },
		{ "clock", "clock", 's' },   { "runs", "runs", 'i' },
		{ "last", "last run", 't' },
	};
	int r = fl_cli_open(cli, err);

	for (size_t i = 0; !r && i < cli->conf->nhosts; i++) {
		const struct fl_host *h = &cli->conf->hosts[i].host;
		int64_t id;

		r = fl_store_host(cli->store, h->name, h->driver,
				  fl_clock_kind_str(h->clock), &id, err);
	}
	return r < 0 ? r :
		       fl_cli_list(cli, FL_ROWS_HOSTS, columns,
				   FL_ARRAY_SIZE(columns),
				   "No host is configured.", err);
}

#define TREE_OPT                                                      \
	{                                                             \
		"tree", "TREE", "which tree (when there are several)" \
	}
#define HOST_OPT                                                  \
	{                                                         \
		"host", "HOST", "which host (default: the first)" \
	}

const struct fl_verb fl_verbs_measure[] = {
	{ .name = "build",
	  .args = "REV [--tree T] [--job J]",
	  .help = "build one kernel",
	  .min_args = 1,
	  .max_args = 1,
	  .opts = { TREE_OPT,
		    { "job", "JOB", "with the options that this job needs" },
		    HOST_OPT },
	  .run = run_build },
	{ .name = "kernels",
	  .args = "[--json]",
	  .help = "list what was built, and how it ended",
	  .run = run_kernels },
	{ .name = "run",
	  .args = "REV --job J [--host H] [--boots N]",
	  .help = "measure one kernel",
	  .min_args = 1,
	  .max_args = 1,
	  .opts = { TREE_OPT,
		    { "job", "JOB", "what to measure" },
		    HOST_OPT,
		    { "boots", "N", "how many boots (default 1)" } },
	  .run = run_run },
	{ .name = "runs",
	  .args = "[RUN] [--json]",
	  .help = "list runs, or the cases of one run",
	  .max_args = 1,
	  .run = run_runs },
	{ .name = "hosts",
	  .args = "[--json]",
	  .help = "list the machines on which kernels boot",
	  .run = run_hosts },
	{ .name = "compare",
	  .args = "BASE HEAD --job J [--host H] [--boots N]",
	  .help = "measure two kernels and say what differs",
	  .min_args = 2,
	  .max_args = 2,
	  .opts = { TREE_OPT,
		    { "job", "JOB", "what to measure" },
		    HOST_OPT,
		    { "boots", "N", "boots of each kernel" },
		    { "format", "F", "table, json or csv" } },
	  .run = fl_cmd_compare },
	{ .name = "nightly",
	  .args = "[PAIR]",
	  .help = "the whole chain: fetch, build, boot, compare, bisect, report",
	  .more = "Goes on where an earlier one was stopped. The mails wait in\n"
		  "var/outbox: see 'faultline report list'.",
	  .max_args = 1,
	  .run = fl_cmd_nightly },
	{ .name = "trend",
	  .args = "--kpi K [--case C] [--host H] [--since 90d]",
	  .help = "the history of a KPI",
	  .opts = { { "kpi", "KPI", "which KPI" },
		    { "case", "CASE", "which cases (a pattern; default all)" },
		    { "host", "HOST", "which host (default: all)" },
		    { "since", "SPAN", "measured since, e.g. 90d or 12h" } },
	  .run = fl_cmd_trend },
	{ .name = "noise",
	  .args = "[--kpi K] [--case C] [--host H]",
	  .help = "how much each KPI differs by itself, and what that hides",
	  .opts = { { "kpi", "KPI", "which KPI (default: all)" },
		    { "case", "CASE", "which cases (a pattern; default all)" },
		    { "host", "HOST", "which host (default: all)" } },
	  .run = fl_cmd_noise },
	{ .name = NULL },
};

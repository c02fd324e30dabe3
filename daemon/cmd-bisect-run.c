// SPDX-License-Identifier: GPL-2.0-or-later
/* bisect run: its options. What it prints is in cmd-bisect-run-print.c. */
#include "cmd-bisect-run.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "bisect-run.h"

#define DEFAULT_THRESHOLD 0.02
#define DEFAULT_EXACT_THRESHOLD 0.001
#define DEFAULT_CONFIDENCE 0.95
#define DEFAULT_MAX_RUNS 200
#define INTERRUPTED 130

/* "5%" (in per cent) or "0.05". */
static int take_threshold(struct fl_cli *cli, double *ret, struct fl_err *err)
{
	const char *text = fl_cli_opt(cli, "threshold");
	char *end;
	double v;

	if (!text)
		return 0;
	v = strtod(text, &end);
	if (end != text && *end == '%') {
		v /= 100;
		end++;
	}
	if (end == text || *end || !(v > 0 && v < 10))
		return fl_cli_usage(
			err,
			"--threshold '%s': expected a percentage such as 5%%",
			text);
	*ret = v;
	return 0;
}

static int take_number(struct fl_cli *cli, const char *name, double min,
		       double max, double *ret, struct fl_err *err)
{
	const char *text = fl_cli_opt(cli, name);
	char *end;
	double v;

	if (!text)
		return 0;
	v = strtod(text, &end);
	if (end == text || *end || !(v >= min && v <= max))
		return fl_cli_usage(
			err, "--%s '%s': expected a number from %g to %g", name,
			text, min, max);
	*ret = v;
	return 0;
}

/* From the top of the repository, without "./" and slashes at the end. */
static int take_paths(struct fl_cli *cli, struct fl_strv *ret,
		      struct fl_err *err)
{
	const char *text = fl_cli_opt(cli, "path");
	_cleanup_strv_ struct fl_strv parts = { 0 };

	if (!text)
		return 0;
	fl_strv_split(&parts, text, ",");
	for (size_t i = 0; i < parts.n; i++) {
		char *s = parts.s[i];
		size_t n;

		while (!strncmp(s, "./", 2))
			s += 2;
		for (n = strlen(s); n && s[n - 1] == '/'; n--)
			s[n - 1] = '\0';
		if (!*s || *s == '.')
			return fl_cli_usage(
				err,
				"--path '%s': expected files or folders, from the top of the repository, with commas between them",
				text);
		fl_strv_add(ret, s);
	}
	fl_strv_sort(ret);
	return parts.n ? 0 : fl_cli_usage(err, "--path is empty");
}

static int check(struct fl_cli *cli, const struct fl_brun_opts *o,
		 struct fl_err *err)
{
	if (!o->good)
		return fl_cli_usage(
			err,
			"bisect run needs --good REV (--bad is HEAD unless it is given)");
	if (!cli->command || !cli->command[0] || !*cli->command[0])
		return fl_cli_usage(
			err,
			"bisect run needs a command that prints a number, after '--'");
	if (o->resume && o->restart)
		return fl_cli_usage(err, "--resume or --restart, not both");
	if (o->max_runs < fl_brun_min_runs(o->exact))
		return fl_cli_usage(
			err,
			"--max-runs %d is too small: both ends and a verification need %d",
			o->max_runs, fl_brun_min_runs(o->exact));
	return 0;
}

static int take_options(struct fl_cli *cli, struct fl_brun_opts *o,
			struct fl_err *err)
{
	const char *bad = fl_cli_opt(cli, "bad");
	const char *repo = fl_cli_opt(cli, "repo");
	int64_t runs = 0;
	int r;

	o->exact = fl_cli_opt(cli, "exact") != NULL;
	o->first_parent = fl_cli_opt(cli, "first-parent") != NULL;
	o->resume = fl_cli_opt(cli, "resume") != NULL;
	o->restart = fl_cli_opt(cli, "restart") != NULL;
	o->good = fl_cli_opt(cli, "good");
	o->bad = bad ? bad : "HEAD";
	o->repo = repo ? repo : cli->dir;
	o->state = fl_cli_opt(cli, "state");
	o->command = cli->command;
	o->confidence = DEFAULT_CONFIDENCE;
	o->threshold = o->exact ? DEFAULT_EXACT_THRESHOLD : DEFAULT_THRESHOLD;
	r = take_threshold(cli, &o->threshold, err);
	if (!r)
		r = take_number(cli, "confidence", 0.5, 0.9999, &o->confidence,
				err);
	if (!r)
		r = take_number(cli, "timeout", 0.1, 1e7, &o->timeout_s, err);
	if (!r)
		r = take_paths(cli, &o->paths, err);
	if (!r)
		r = fl_cli_int(cli, "max-runs", 1, 1 << 20, DEFAULT_MAX_RUNS,
			       &runs, err);
	if (r < 0)
		return r;
	o->max_runs = (int)runs;
	return check(cli, o, err);
}

int fl_cmd_bisect_run(struct fl_cli *cli, struct fl_err *err)
{
	struct fl_brun_opts o = { 0 };
	json_auto_t *result = NULL;
	int r = take_options(cli, &o, err);

	if (!r)
		r = fl_brun(&o, &result, err);
	fl_strv_clear(&o.paths);
	if (r == -EINTR) /* it was said already */
		return INTERRUPTED;
	if (r < 0)
		return r;
	if (cli->json)
		fl_cli_print_json(result);
	else
		fl_cmd_bisect_run_print(result);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line: one table of verbs serves the parser and --help. A verb
 * writes data on stdout and returns 0, or an error: USER errors of usage
 * (-EINVAL from fl_cli_usage) exit with 2, others with 1.
 */
#ifndef FL_CLI_H
#define FL_CLI_H

#include "conf.h"
#include "plan.h"
#include "store/store.h"

struct fl_opt {
	const char *name; /* without the dashes */
	const char *arg; /* name of its value, NULL: a flag */
	const char *help;
};

#define FL_CLI_OPTS 14
#define FL_CLI_ARGS 32

struct fl_cli;

struct fl_verb {
	const char *name; /* one word, or two: "bisect run" */
	const char *args; /* for the usage line */
	const char *help; /* one line */
	const char *more; /* further lines of --help, or NULL */
	int min_args, max_args;
	struct fl_opt opts[FL_CLI_OPTS];
	int (*run)(struct fl_cli *cli, struct fl_err *err);
	bool hidden;
	bool command; /* takes "-- CMD …" */
};

struct fl_cli {
	const struct fl_verb *verb;
	const char *dir; /* -C */
	bool json;
	int nargs;
	const char *args[FL_CLI_ARGS];
	char **command; /* what stands after "--", ended by NULL; or NULL */
	const char *values[FL_CLI_OPTS]; /* parallel to verb->opts */
	struct fl_conf *conf;
	struct fl_store *store;
};

/* The value of an option; NULL when it was not given ("" for a flag). */
const char *fl_cli_opt(const struct fl_cli *cli, const char *name);
/* A whole number in an option; the default when it was not given. */
int fl_cli_int(const struct fl_cli *cli, const char *name, int64_t min,
	       int64_t max, int64_t d, int64_t *ret, struct fl_err *err);
/* args[i] as the number of a row. */
int fl_cli_id(const struct fl_cli *cli, int i, int64_t *ret,
	      struct fl_err *err);
int fl_cli_usage(struct fl_err *err, const char *fmt, ...) _printf_(2, 3);

/* Configuration and database of the workspace; owned by cli. */
int fl_cli_open(struct fl_cli *cli, struct fl_err *err);

/* Opens the workspace, plans the request, runs it to its end. */
int fl_cli_request(struct fl_cli *cli, const char *kind, const char *key,
		   const json_t *doc, struct fl_request *done,
		   struct fl_err *err);
/* Adds options that were given to doc under their own names. */
void fl_cli_take(const struct fl_cli *cli, json_t *doc,
		 const char *const *names);

/* ---- cli-table.c ---------------------------------------------------------- */

struct fl_column {
	const char *key, *title;
	/* 's' text, 'i' number, 'g' %.6g, 't' time, 'd' seconds,
	 * 'h' first 12 digits of an id, '%' log ratio as a percentage */
	char form;
};

/* rows as JSON with --json, else as a table; empty: the text `none`. */
void fl_cli_print(const struct fl_cli *cli, const json_t *rows,
		  const struct fl_column *columns, size_t n, const char *none);
/* Opens the workspace and prints one listing that takes no argument. */
int fl_cli_list(struct fl_cli *cli, enum fl_rows what,
		const struct fl_column *columns, size_t n, const char *none,
		struct fl_err *err);
void fl_cli_print_json(const json_t *j);
/* Control characters of untrusted text are shown as '?'. */
void fl_cli_safe(const char *text);

/* All verbs, ended by a NULL name. */
extern const struct fl_verb fl_verbs_setup[], fl_verbs_tree[],
	fl_verbs_measure[], fl_verbs_bisect[], fl_verbs_report[],
	fl_verbs_stat[], fl_verbs_import[], fl_verbs_profile[];

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* faultline: finds the verb, parses its options, runs it, says how it went. */
#include <errno.h>
#include <string.h>
#include "cli.h"
#include "git/git.h"
#include "util/log.h"

static const struct fl_verb *const groups[] = {
	fl_verbs_setup,	 fl_verbs_tree, fl_verbs_measure, fl_verbs_bisect,
	fl_verbs_report, fl_verbs_stat, fl_verbs_profile, fl_verbs_import,
};

static void print_help(FILE *f)
{
	fputs("usage: faultline [-C DIR] <verb> [options]\n\n"
	      "Finds performance changes in the Linux kernel's page-fault path and\n"
	      "names the commit that caused each.\n\n",
	      f);
	for (size_t g = 0; g < FL_ARRAY_SIZE(groups); g++)
		for (const struct fl_verb *v = groups[g]; v->name; v++)
			if (!v->hidden)
				fprintf(f, "  %-12s %s\n", v->name, v->help);
	fputs("\n  -C DIR     the workspace (default: this folder)\n"
	      "  -q         no progress, only warnings and errors\n\n"
	      "'faultline <verb> --help' says more. First steps: faultline(1).\n",
	      f);
}

static void print_verb_help(const struct fl_verb *v)
{
	printf("usage: faultline %s%s%s\n\n%s\n", v->name, *v->args ? " " : "",
	       v->args, v->help);
	if (v->more)
		printf("\n%s\n", v->more);
	if (v->opts[0].name)
		puts("");
	for (int i = 0; i < FL_CLI_OPTS && v->opts[i].name; i++) {
		const struct fl_opt *o = &v->opts[i];
		int n = printf("  --%s%s%s", o->name, o->arg ? " " : "",
			       o->arg ? o->arg : "");

		printf("%*s %s\n", n < 22 ? 22 - n : 0, "", o->help);
	}
}

static const struct fl_verb *verb_named(const char *name)
{
	for (size_t g = 0; g < FL_ARRAY_SIZE(groups); g++)
		for (const struct fl_verb *v = groups[g]; v->name; v++)
			if (!strcmp(v->name, name))
				return v;
	return NULL;
}

/* A verb of two words, such as "bisect run", or of one; *used counts them. */
static const struct fl_verb *find_verb(int argc, char **argv, int *used)
{
	const struct fl_verb *v = NULL;

	if (argc > 1) {
		_cleanup_free_ char *two =
			fl_asprintf("%s %s", argv[0], argv[1]);

		v = verb_named(two);
	}
	*used = v ? 2 : 1;
	return v ? v : verb_named(argv[0]);
}

/* "--name", "--name=value" or "--name value". Returns arguments used. */
static int take_option(struct fl_cli *cli, int left, char **argv,
		       struct fl_err *err)
{
	const char *text = argv[0] + 2, *eq = strchr(text, '=');
	size_t n = eq ? (size_t)(eq - text) : strlen(text);

	if (!strcmp(text, "json")) {
		cli->json = true;
		return 1;
	}
	for (int i = 0; i < FL_CLI_OPTS && cli->verb->opts[i].name; i++) {
		const struct fl_opt *o = &cli->verb->opts[i];

		if (strlen(o->name) != n || strncmp(o->name, text, n))
			continue;
		if (!o->arg && eq)
			return fl_cli_usage(err, "--%s takes no value",
					    o->name);
		if (o->arg && !eq && left < 2)
			return fl_cli_usage(err, "--%s needs a value (%s)",
					    o->name, o->arg);
		cli->values[i] = !o->arg ? "" : eq ? eq + 1 : argv[1];
		return o->arg && !eq ? 2 : 1;
	}
	return fl_cli_usage(err, "'%s' has no option '%s'", cli->verb->name,
			    argv[0]);
}

static int parse(struct fl_cli *cli, int argc, char **argv, struct fl_err *err)
{
	for (int i = 0; i < argc;) {
		int used = 1;

		if (cli->verb->command && !strcmp(argv[i], "--")) {
			cli->command = argv + i + 1;
			break;
		}
		if (!strncmp(argv[i], "--", 2) && argv[i][2]) {
			used = take_option(cli, argc - i, argv + i, err);
			if (used < 0)
				return used;
		} else if (cli->nargs == FL_CLI_ARGS) {
			return fl_cli_usage(err, "too many arguments");
		} else {
			cli->args[cli->nargs++] = argv[i];
		}
		i += used;
	}
	if (cli->nargs < cli->verb->min_args ||
	    cli->nargs > cli->verb->max_args)
		return fl_cli_usage(err, "usage: faultline %s %s",
				    cli->verb->name, cli->verb->args);
	return 0;
}

static int run(struct fl_cli *cli, int argc, char **argv, struct fl_err *err)
{
	int r;

	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			print_verb_help(cli->verb);
			return 0;
		}
	}
	r = parse(cli, argc, argv, err);
	if (r < 0)
		return r;
	fl_git_init();
	r = cli->verb->run(cli, err);
	fl_store_close(cli->store);
	fl_conf_free(cli->conf);
	fl_git_shutdown();
	return r;
}

int main(int argc, char **argv)
{
	struct fl_cli cli = { .dir = "." };
	struct fl_err err = { 0 };
	int i = 1, used, r;

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "-C") && i + 1 < argc) {
			cli.dir = argv[++i];
		} else if (!strcmp(argv[i], "-q")) {
			fl_log_set_level(FL_LOG_WARN);
		} else if (!strcmp(argv[i], "--help") ||
			   !strcmp(argv[i], "-h")) {
			print_help(stdout);
			return 0;
		} else {
			fl_error(
				!strcmp(argv[i], "-C") ?
					"option '%s' needs a folder" :
					"there is no option '%s'; 'faultline help' lists them",
				argv[i]);
			return 2;
		}
	}
	if (i == argc) {
		print_help(stderr);
		return 2;
	}
	if (!strcmp(argv[i], "help")) {
		print_help(stdout);
		return 0;
	}
	cli.verb = find_verb(argc - i, argv + i, &used);
	if (!cli.verb) {
		fl_error("there is no verb '%s'; 'faultline help' lists them",
			 argv[i]);
		return 2;
	}
	r = run(&cli, argc - i - used, argv + i + used, &err);
	if (r < 0)
		fl_error("%s", err.text);
	if (fflush(stdout) && r >= 0) {
		fl_error("cannot write to standard output: %s",
			 strerror(errno));
		return 1;
	}
	return r >= 0						? r :
	       r == -EINVAL && !strncmp(err.text, "usage: ", 7) ? 2 :
								  1;
}

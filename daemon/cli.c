// SPDX-License-Identifier: GPL-2.0-or-later
/* What all verbs share. See cli.h. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include "util/fs.h"
#include "util/log.h"

const char *fl_cli_opt(const struct fl_cli *cli, const char *name)
{
	for (int i = 0; i < FL_CLI_OPTS && cli->verb->opts[i].name; i++)
		if (!strcmp(cli->verb->opts[i].name, name))
			return cli->values[i];
	return NULL;
}

int fl_cli_usage(struct fl_err *err, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* main() tells usage errors by this word. */
	return fl_err_set(err, -EINVAL, FL_E_USER, "%s%s",
			  strncmp(text, "usage: ", 7) ? "usage: " : "", text);
}

static int number(const char *text, int64_t min, int64_t max, int64_t *ret)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (end == text || *end || errno || v < min || v > max)
		return -EINVAL;
	*ret = v;
	return 0;
}

int fl_cli_int(const struct fl_cli *cli, const char *name, int64_t min,
	       int64_t max, int64_t d, int64_t *ret, struct fl_err *err)
{
	const char *text = fl_cli_opt(cli, name);

	*ret = d;
	if (text && number(text, min, max, ret) < 0)
		return fl_cli_usage(
			err,
			"--%s '%s': expected a whole number from %lld to %lld",
			name, text, (long long)min, (long long)max);
	return 0;
}

int fl_cli_id(const struct fl_cli *cli, int i, int64_t *ret, struct fl_err *err)
{
	if (i >= cli->nargs || number(cli->args[i], 1, INT64_MAX, ret) < 0)
		return fl_cli_usage(err, "'%s': expected a number",
				    i < cli->nargs ? cli->args[i] : "");
	return 0;
}

int fl_cli_open(struct fl_cli *cli, struct fl_err *err)
{
	_cleanup_free_ char *db = NULL;
	int r = 0;

	if (!cli->conf)
		r = fl_conf_load(cli->dir, &cli->conf, err);
	if (r < 0 || cli->store)
		return r;
	db = fl_path_join(cli->conf->dir, "results.db");
	return fl_store_open(db, false, &cli->store, err);
}

int fl_cli_request(struct fl_cli *cli, const char *kind, const char *key,
		   const json_t *doc, struct fl_request *done,
		   struct fl_err *err)
{
	_cleanup_(fl_plan_closep) struct fl_plan *p = NULL;
	int r = fl_cli_open(cli, err);

	if (!r)
		r = fl_plan_open(cli->conf, cli->store, &p, err);
	if (!r)
		r = fl_plan_request(p, kind, key, doc, done, err);
	return r;
}

void fl_cli_take(const struct fl_cli *cli, json_t *doc,
		 const char *const *names)
{
	for (size_t i = 0; names[i]; i++) {
		const char *v = fl_cli_opt(cli, names[i]);

		if (v)
			json_object_set_new(doc, names[i], json_string(v));
	}
}

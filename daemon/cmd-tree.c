// SPDX-License-Identifier: GPL-2.0-or-later
/* fetch, trees, pairs: what is watched. */
#include <errno.h>
#include <string.h>
#include "cli.h"
#include "nightly.h"
#include "util/log.h"

/* One request a tree: a fetch that fails says so for its tree alone. */
static int run_fetch(struct fl_cli *cli, struct fl_err *err)
{
	int r = fl_cli_open(cli, err), worst = 0;

	if (r < 0)
		return r;
	if (!cli->nargs && !cli->conf->ntrees)
		return fl_err_set(err, -ENOENT, FL_E_USER,
				  "'%s' has no [tree \"…\"] section",
				  cli->conf->file);
	for (size_t i = 0; i < cli->conf->ntrees; i++) {
		_cleanup_(fl_request_clear) struct fl_request q = { 0 };
		const char *name = cli->conf->trees[i].name;
		json_auto_t *doc = json_pack("{s:s}", "tree", name);

		if (cli->nargs && strcmp(cli->args[0], name))
			continue;
		r = 0;
		if (cli->conf->trees[i].url)
			r = fl_cli_request(cli, "fetch", name, doc, &q, err);
		if (r < 0 && !worst)
			worst = r;
		if (!r)
			printf("%s: %s\n", name,
			       cli->conf->trees[i].url ? "up to date" :
							 "used in place");
	}
	if (!worst && cli->nargs) {
		const struct fl_conf_tree *t;

		return fl_conf_tree(cli->conf, cli->args[0], &t, err);
	}
	return worst;
}

static int run_trees(struct fl_cli *cli, struct fl_err *err)
{
	static const struct fl_column columns[] = {
		{ "name", "tree", 's' },
		{ "url", "url", 's' },
		{ "fetched", "fetched", 't' },
		{ "kernels", "kernels", 'i' },
		{ "fetch_error", "trouble", 's' },
	};
	int r = fl_cli_open(cli, err);
	int64_t id;

	for (size_t i = 0; !r && i < cli->conf->ntrees; i++)
		r = fl_store_tree(cli->store, cli->conf->trees[i].name,
				  cli->conf->trees[i].url,
				  cli->conf->trees[i].path, &id, err);
	return r < 0 ? r :
		       fl_cli_list(cli, FL_ROWS_TREES, columns,
				   FL_ARRAY_SIZE(columns),
				   "No tree is configured.", err);
}

static json_t *pair_row(struct fl_cli *cli, const struct fl_conf_pair *p)
{
	char base[FL_SHA_HEX], head[FL_SHA_HEX], fork[FL_SHA_HEX] = "";
	_cleanup_(fl_git_freep) struct fl_git *g = NULL;
	_cleanup_free_ char *b = NULL, *h = NULL, *m = NULL;
	const struct fl_conf_tree *t;
	struct fl_err err = { 0 };
	int r = fl_conf_tree(cli->conf, p->tree, &t, &err);

	if (!r)
		r = fl_git_open(t->path, &g, &err);
	if (!r)
		r = fl_pair_resolve(g, p, base, head, &err);
	if (!r)
		r = fl_git_merge_base(g, base, head, fork, &err);
	if (r < 0)
		return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "pair",
				 p->name, "tree", p->tree, "base", "", "head",
				 "", "fork", "", "trouble", err.text);
	b = fl_git_describe(g, base);
	h = fl_git_describe(g, head);
	m = fl_git_describe(g, fork);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "pair",
			 p->name, "tree", p->tree, "base", b, "head", h, "fork",
			 m, "trouble", "", "base_sha", base, "head_sha", head);
}

static int run_pairs(struct fl_cli *cli, struct fl_err *err)
{
	static const struct fl_column columns[] = {
		{ "pair", "pair", 's' },    { "tree", "tree", 's' },
		{ "base", "base", 's' },    { "head", "head", 's' },
		{ "fork", "meet at", 's' }, { "trouble", "trouble", 's' },
	};
	json_auto_t *rows = json_array();
	int r = fl_cli_open(cli, err);

	for (size_t i = 0; !r && i < cli->conf->npairs; i++)
		json_array_append_new(rows,
				      pair_row(cli, &cli->conf->pairs[i]));
	if (!r)
		fl_cli_print(cli, rows, columns, FL_ARRAY_SIZE(columns),
			     "No pair is configured.");
	return r;
}

const struct fl_verb fl_verbs_tree[] = {
	{ .name = "fetch",
	  .args = "[TREE]",
	  .help = "update the mirrors of the configured trees",
	  .max_args = 1,
	  .run = run_fetch },
	{ .name = "trees",
	  .args = "[--json]",
	  .help = "list the trees that are watched",
	  .run = run_trees },
	{ .name = "pairs",
	  .args = "[--json]",
	  .help = "list what is compared, and which commits that means now",
	  .run = run_pairs },
	{ .name = NULL },
};

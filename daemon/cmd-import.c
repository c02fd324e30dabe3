// SPDX-License-Identifier: GPL-2.0-or-later
/* import-lkp: a job of lkp-tests becomes a job of ours, and a report. */
#include <errno.h>
#include <string.h>
#include "cli.h"
#include "lkp-import.h"
#include "util/json.h"
#include "util/log.h"

#define VALUE 40 /* bytes of a value that the report shows */
#define COLUMNS 79

/* Text of strangers; their values may be long. */
static void put_value(struct fl_buf *b, const json_t *value)
{
	_cleanup_free_ char *json = json_is_string(value) ? NULL :
							    fl_json_text(value);
	const char *text = json ? json : json_string_value(value);
	size_t n = strlen(text);

	if (n <= VALUE) {
		fl_buf_puts(b, text);
		return;
	}
	for (n = VALUE; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
		n--; /* not in the middle of a character */
	fl_buf_add(b, text, n);
	fl_buf_puts(b, "...");
}

static int64_t line_of(const json_t *e)
{
	return fl_json_int_or(e, "line", 0);
}

static const char *str(const json_t *e, const char *key)
{
	return fl_json_str_or(e, key, "");
}

/*
 * "line 12: nr_task = 4", or "lines 12 to 14: nr_task = 4, 8, 16" for entries
 * that differ in their value only. Other files than the job's by their name.
 */
static char *place(const json_t *const *e, size_t n, const char *path)
{
	struct fl_buf b = { 0 };

	if (line_of(e[0]) && strcmp(str(e[0], "file"), path) != 0)
		fl_buf_printf(&b, "%s ", str(e[0], "file"));
	if (line_of(e[0]) != line_of(e[n - 1]))
		fl_buf_printf(&b,
			      "lines %lld to %lld: ", (long long)line_of(e[0]),
			      (long long)line_of(e[n - 1]));
	else if (line_of(e[0]))
		fl_buf_printf(&b, "line %lld: ", (long long)line_of(e[0]));
	fl_buf_puts(&b, str(e[0], "key"));
	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_object_get(e[i], "value");

		if (json_is_null(value))
			continue;
		fl_buf_puts(&b, i ? ", " : " = ");
		put_value(&b, value);
	}
	fl_text_plain(b.s, "");
	return fl_buf_steal(&b);
}

/* A line of the report, continued below itself where the terminal ends. */
static void note_line(size_t indent, const char *text)
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	fl_buf_repeat(&b, ' ', indent);
	for (bool first = true; *text; first = false) {
		size_t n = strcspn(text, " ");

		if (!first && b.len + 1 + n > COLUMNS) {
			fl_note("%s", fl_buf_str(&b));
			fl_buf_clear(&b);
			fl_buf_repeat(&b, ' ', indent + 4);
		} else if (!first) {
			fl_buf_putc(&b, ' ');
		}
		fl_buf_add(&b, text, n);
		text += n + strspn(text + n, " ");
	}
	fl_note("%s", fl_buf_str(&b));
}

static void note(const json_t *e, const char *path)
{
	_cleanup_free_ char *at = place(&e, 1, path), *line = NULL;
	_cleanup_free_ char *text = fl_asprintf(
		"%s%s%s", str(e, "as"),
		*str(e, "as") && *str(e, "how") ? ": " : "", str(e, "how"));

	line = fl_asprintf("%s -> %s", at, text);
	fl_text_plain(line, "");
	note_line(2, line);
}

/* The entries at or after i that are shown with it; marked in done. */
static size_t gather(const json_t *list, size_t i, bool *done,
		     const json_t **ret)
{
	const json_t *first = json_array_get(list, i);
	size_t n = 0;

	for (; i < json_array_size(list); i++) {
		const json_t *e = json_array_get(list, i);

		if (done[i] || strcmp(str(e, "why"), str(first, "why")) != 0 ||
		    strcmp(str(e, "key"), str(first, "key")) != 0 ||
		    strcmp(str(e, "file"), str(first, "file")) != 0)
			continue;
		done[i] = true;
		ret[n++] = e;
	}
	return n;
}

/* All entries of one reason stand below it. */
static void note_left_out(const json_t *list, const char *path)
{
	size_t n = json_array_size(list);
	_cleanup_free_ bool *done = fl_calloc(n + 1, sizeof(*done));
	_cleanup_free_ const json_t **e = fl_calloc(n + 1, sizeof(*e));

	for (size_t i = 0; i < n; i++) {
		const char *why = str(json_array_get(list, i), "why");
		_cleanup_free_ char *plain = fl_asprintf("%s:", why);

		if (done[i])
			continue;
		fl_text_plain(plain, "");
		note_line(2, plain);
		for (size_t k = i; k < n; k++) {
			_cleanup_free_ char *at = NULL;

			if (done[k] ||
			    strcmp(str(json_array_get(list, k), "why"), why) !=
				    0)
				continue;
			at = place(e, gather(list, k, done, e), path);
			note_line(4, at);
		}
	}
}

static void report(const struct fl_lkp_result *r, const char *path)
{
	size_t left = json_array_size(r->left_out);

	if (json_array_size(r->carried))
		fl_note("carried over:");
	for (size_t i = 0; i < json_array_size(r->carried); i++)
		note(json_array_get(r->carried, i), path);
	if (json_array_size(r->changed))
		fl_note("changed:");
	for (size_t i = 0; i < json_array_size(r->changed); i++)
		note(json_array_get(r->changed, i), path);
	if (left)
		fl_note("left out:");
	note_left_out(r->left_out, path);
	if (left && r->job)
		fl_warn("'%s': %zu value%s left out", path, left,
			left == 1 ? " was" : "s were");
}

static json_t *as_object(const struct fl_lkp_result *r)
{
	return json_pack("{s:O?, s:O, s:O, s:O}", "job", r->job, "carried",
			 r->carried, "changed", r->changed, "left_out",
			 r->left_out);
}

static int write_job(const struct fl_cli *cli, const char *to,
		     const json_t *job, struct fl_err *err)
{
	_cleanup_free_ char *text = json_dumps(job, JSON_INDENT(2));
	_cleanup_free_ char *lines = fl_asprintf("%s\n", text);
	bool there = fl_fs_exists(to);
	int r;

	if (there && !fl_cli_opt(cli, "force"))
		return fl_err_set(err, -EEXIST, FL_E_USER,
				  "'%s' is there already; --force replaces it",
				  to);
	r = fl_fs_write(to, lines, strlen(lines), err);
	if (!r)
		fl_info("%s '%s'", there ? "replaced" : "written", to);
	return r;
}

static int import_lkp(struct fl_cli *cli, struct fl_err *err)
{
	_cleanup_(fl_lkp_result_clear) struct fl_lkp_result result = { 0 };
	const char *path = cli->args[0], *to = fl_cli_opt(cli, "output");
	int r = fl_lkp_import(path, fl_cli_opt(cli, "lkp-src"), &result, err);

	if (r < 0)
		return r;
	if (cli->json) {
		json_auto_t *all = as_object(&result);

		fl_cli_print_json(all);
	} else {
		report(&result, path);
	}
	if (!result.job)
		return fl_err_set(err, -ENOENT, FL_E_USER,
				  "'%s': none of its cases can be carried over",
				  path);
	if (to)
		return write_job(cli, to, result.job, err);
	if (!cli->json)
		fl_cli_print_json(result.job);
	return 0;
}

const struct fl_verb fl_verbs_import[] = {
	{ .name = "import-lkp",
	  .args = "FILE.yaml [--output JOB.json] [--lkp-src DIR] [--json]",
	  .help = "turn a job of lkp-tests into a job of Faultline",
	  .more = "The job goes to standard output, or to --output. What was "
		  "carried over, changed\nand left out, with the reasons, goes "
		  "to standard error; with --json all of it is\none object. "
		  "Exits with 1 when no case remains.",
	  .min_args = 1,
	  .max_args = 1,
	  .opts = { { "output", "FILE", "write the job there" },
		    { "force", NULL, "replace that file" },
		    { "lkp-src", "DIR",
		      "a checkout of lkp-tests, for included files" } },
	  .run = import_lkp },
	{ .name = NULL },
};

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cases that run programs of others (`"program": "exec"`): the command with
 * its matrix, the KPIs that it prints. Called by job-case.c; job-pack.c finds
 * the files that go into the guest.
 */
#include "job-internal.h"

#include <errno.h>
#include <regex.h>
#include <string.h>
#include "../jobs/agent/protocol.h"
#include "util/json.h"

#define ARGS_MAX 256
#define ARG_BYTES 4096
#define COMMAND_BYTES 16384 /* with the patterns: less than a spec holds */
#define PATTERN_BYTES 1000
#define MATRIX_MAX 8
#define LIMIT_S 60

static const char word_chars[] = "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";

static bool word(const char *s, size_t max)
{
	size_t n = s ? strspn(s, word_chars) : 0;

	return n && n <= max && !s[n];
}

/* ---- KPIs ---------------------------------------------------------------- */

static int check_pattern(const json_t *kpi, bool json_lines, const char *path,
			 struct fl_err *err)
{
	const json_t *v = json_object_get(kpi, "pattern");
	const char *s = json_string_value(v);
	char text[200];
	regex_t re;
	int r;

	if (json_lines)
		return !v ? 0 :
			    FL_JOB_BAD(err, path,
				       "pattern: JSON lines are read without");
	if (!s || !*s || strlen(s) > PATTERN_BYTES)
		return FL_JOB_BAD(err, path,
				  "pattern: expected a regular expression");
	r = regcomp(&re, s, REG_EXTENDED);
	if (r) {
		regerror(r, &re, text, sizeof(text));
		return FL_JOB_BAD(err, path, "pattern: %s", text);
	}
	r = re.re_nsub == 1 ? 0 :
			      FL_JOB_BAD(err, path,
					 "pattern: expected one group, has %zu",
					 re.re_nsub);
	regfree(&re);
	return r;
}

static int read_better(const json_t *kpi, const char *path, int *ret,
		       struct fl_err *err)
{
	static const char *const words[] = { "lower", "none", "higher" };
	const char *s = fl_json_str_or(kpi, "better", "");

	for (int i = 0; i < 3; i++) {
		if (!strcmp(words[i], s)) {
			*ret = i - 1;
			return 0;
		}
	}
	return FL_JOB_BAD(err, path,
			  "better: expected \"higher\", \"lower\" or \"none\"");
}

/* One name means one thing in the whole database. */
static int declare(struct fl_job *job, const struct fl_kpi *kpi,
		   const char *path, struct fl_err *err)
{
	const struct fl_kpi *known = fl_job_kpi_find(job, kpi->name);

	if (known && (known->better != kpi->better ||
		      strcmp(known->unit, kpi->unit) != 0))
		return FL_JOB_BAD(err, path,
				  "KPI '%s' is known with another unit or "
				  "direction: %s, %s is better",
				  kpi->name, known->unit,
				  known->better > 0 ? "higher" :
				  known->better < 0 ? "lower" :
						      "none");
	if (known)
		return 0;
	job->kpis =
		fl_realloc(job->kpis, (job->nkpis + 1) * sizeof(*job->kpis));
	job->kpis[job->nkpis++] = *kpi;
	return 0;
}

static int read_kpi(struct fl_job *job, const json_t *v, bool json_lines,
		    const char *path, struct fl_err *err)
{
	static const char *const known[] = { "name", "unit", "better",
					     "pattern", NULL };
	struct fl_kpi kpi = { 0 };
	int r = fl_json_only(v, path, known, err);

	if (!r)
		r = fl_json_str(v, "name", path, &kpi.name, err);
	if (!r)
		r = fl_json_str(v, "unit", path, &kpi.unit, err);
	if (r < 0)
		return r;
	if (!word(kpi.name, 64) || strpbrk(kpi.name, "ABCDEFGHIJKLMNOPQRSTUV"
						     "WXYZ.+-"))
		return FL_JOB_BAD(err, path,
				  "name: expected small letters, digits and _");
	if (!*kpi.unit || strlen(kpi.unit) > 32)
		return FL_JOB_BAD(err, path, "unit: expected 1 to 32 bytes");
	r = read_better(v, path, &kpi.better, err);
	if (!r)
		r = check_pattern(v, json_lines, path, err);
	return r < 0 ? r : declare(job, &kpi, path, err);
}

static int read_kpis(struct fl_job *job, const json_t *entry, const char *path,
		     struct fl_err *err)
{
	const json_t *list = json_object_get(entry, "kpis");
	const char *output = fl_json_str_or(entry, "output", "text");
	bool json_lines = !strcmp(output, "json-lines");
	_cleanup_strv_ struct fl_strv names = { 0 };
	size_t n = json_array_size(list);
	int r = 0;

	if (!json_lines && strcmp(output, "text") != 0)
		return FL_JOB_BAD(
			err, path,
			"output: expected one of \"text\", \"json-lines\"");
	if (!n || n > FL_EXEC_KPIS)
		return FL_JOB_BAD(err, path, "kpis: expected 1 to %d KPIs",
				  FL_EXEC_KPIS);
	for (size_t i = 0; !r && i < n; i++) {
		_cleanup_free_ char *at = fl_asprintf("%s.kpis[%zu]", path, i);
		const json_t *v = json_array_get(list, i);
		const char *name = fl_json_str_or(v, "name", "");

		if (fl_strv_has(&names, name))
			return FL_JOB_BAD(err, at, "KPI '%s' is there twice",
					  name);
		fl_strv_add(&names, name);
		r = read_kpi(job, v, json_lines, at, err);
	}
	return r;
}

/* ---- the command ------------------------------------------------------------- */

/* ${key} becomes its value in the matrix; *used gets the keys. */
static int substitute(const char *s, const json_t *values, json_t *used,
		      const char *path, char **ret, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	const char *from;

	for (; (from = strstr(s, "${")); s = strchr(from, '}') + 1) {
		_cleanup_free_ char *key = NULL;
		const char *v;

		if (!strchr(from, '}'))
			return FL_JOB_BAD(err, path, "'${' without '}'");
		key = fl_strndup(from + 2, strcspn(from + 2, "}"));
		v = fl_json_str_or(values, key, NULL);
		if (!v)
			return FL_JOB_BAD(err, path,
					  "'${%s}' is not in the matrix", key);
		json_object_set_new(used, key, json_true());
		fl_buf_add(&b, s, (size_t)(from - s));
		fl_buf_puts(&b, v);
	}
	fl_buf_puts(&b, s);
	*ret = fl_buf_steal(&b);
	return 0;
}

static int make_command(const json_t *entry, const json_t *values,
			const char *path, json_t *ret, struct fl_err *err)
{
	const json_t *list = json_object_get(entry, "command");
	json_auto_t *used = json_object();
	size_t n = json_array_size(list), total = 0;
	const char *key;
	json_t *v;

	if (!n || n > ARGS_MAX)
		return FL_JOB_BAD(err, path,
				  "command: expected 1 to %d strings",
				  ARGS_MAX);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *at =
			fl_asprintf("%s.command[%zu]", path, i);
		const char *s = json_string_value(json_array_get(list, i));
		_cleanup_free_ char *arg = NULL;
		int r;

		if (!s || strlen(s) > ARG_BYTES)
			return FL_JOB_BAD(err, at, "expected a string");
		r = substitute(s, values, used, at, &arg, err);
		if (r < 0)
			return r;
		total += strlen(arg);
		json_array_append_new(ret, json_string(arg));
	}
	if (total > COMMAND_BYTES)
		return FL_JOB_BAD(err, path, "command: more than %d bytes",
				  COMMAND_BYTES);
	json_object_foreach((json_t *)values, key, v)
		if (!json_object_get(used, key))
			return FL_JOB_BAD(
				err, path,
				"matrix.%s: no word of the command uses '${%s}'",
				key, key);
	return 0;
}

/* ---- cases --------------------------------------------------------------------- */

/* exec/NAME, then each value of the matrix as key=value, then the fs. */
static char *exec_name(const json_t *p)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	const char *key;
	json_t *v;

	fl_buf_printf(&b, "exec/%s", fl_json_str_or(p, "name", ""));
	json_object_foreach(json_object_get(p, "matrix"), key, v)
		fl_buf_printf(&b, "/%s=%s", key, json_string_value(v));
	fl_buf_printf(&b, "/%s", fl_json_str_or(p, "fs", ""));
	return fl_buf_steal(&b);
}

static int add_case(struct fl_job *job, const json_t *entry,
		    const json_t *values, const char *fs, const char *path,
		    struct fl_err *err)
{
	json_auto_t *command = json_array(), *pack = NULL, *p = NULL;
	char content[FL_HASH_HEX], *name;
	int64_t limit = LIMIT_S, space = 0;
	int r = make_command(entry, values, path, command, err);

	if (!r && json_object_get(entry, "time_limit"))
		r = fl_json_int(entry, "time_limit", path, 1, 86400, &limit,
				err);
	if (!r && json_object_get(entry, "space_mb"))
		r = fl_json_int(entry, "space_mb", path, 1, 1 << 20, &space,
				err);
	if (!r)
		r = fl_job_pack(job, command, json_object_get(entry, "files"),
				path, &pack, content, err);
	if (r < 0)
		return r;
	p = json_pack("{s:s, s:O, s:O, s:O, s:O, s:s, s:s, s:I}", "program",
		      "exec", "name", json_object_get(entry, "name"), "command",
		      command, "kpis", json_object_get(entry, "kpis"), "matrix",
		      values, "fs", fs, "content", content, "time_limit",
		      (json_int_t)limit);
	if (space)
		json_object_set_new(p, "space_mb", json_integer(space));
	if (limit > job->longest_s)
		job->longest_s = limit;
	name = exec_name(p);
	return fl_job_add_case(job, name, fl_steal(p), fl_steal(pack), path,
			       err);
}

static int each_fs(struct fl_job *job, const json_t *entry,
		   const json_t *values, const char *path, struct fl_err *err)
{
	static const char *const known[] = { "tmpfs", "ext4", "xfs" };
	json_t *fs = json_object_get(entry, "fs");
	size_t n = json_is_array(fs) ? json_array_size(fs) : 1;
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		const char *s = json_string_value(
			json_is_array(fs) ? json_array_get(fs, i) : fs);
		bool ok = !fs;

		for (size_t k = 0; s && k < FL_ARRAY_SIZE(known); k++)
			ok |= !strcmp(known[k], s);
		if (!ok)
			break;
		r = add_case(job, entry, values, fs ? s : known[0], path, err);
		if (r < 0 || i + 1 == n)
			return r;
	}
	return FL_JOB_BAD(err, path,
			  "fs: expected of \"tmpfs\", \"ext4\" and \"xfs\"");
}

/* Strings, and whole numbers as they are written. */
static char *value_text(const json_t *v)
{
	if (json_is_integer(v))
		return fl_asprintf("%lld", (long long)json_integer_value(v));
	return fl_strdup(json_string_value(v));
}

/* Keys 0 to k-1 have their values; arrays multiply. */
static int each_value(struct fl_job *job, const json_t *entry,
		      const struct fl_strv *keys, size_t k,
		      const json_t *so_far, const char *path,
		      struct fl_err *err)
{
	const json_t *list;
	int r = 0;

	if (k == keys->n)
		return each_fs(job, entry, so_far, path, err);
	list = json_object_get(json_object_get(entry, "matrix"), keys->s[k]);
	for (size_t i = 0; !r && i < json_array_size(list); i++) {
		json_auto_t *next = json_copy((json_t *)so_far);
		_cleanup_free_ char *text = value_text(json_array_get(list, i));

		if (!word(text, 40))
			return FL_JOB_BAD(
				err, path,
				"matrix.%s[%zu]: expected a number, or a "
				"string of letters, digits and ._+-",
				keys->s[k], i);
		json_object_set_new(next, keys->s[k], json_string(text));
		r = each_value(job, entry, keys, k + 1, next, path, err);
	}
	return r;
}

static int read_matrix(const json_t *entry, const char *path,
		       struct fl_strv *keys, struct fl_err *err)
{
	json_t *m = json_object_get(entry, "matrix"), *v;
	const char *key;

	if (m && (!json_is_object(m) || json_object_size(m) > MATRIX_MAX))
		return FL_JOB_BAD(
			err, path,
			"matrix: expected an object of up to %d arrays",
			MATRIX_MAX);
	json_object_foreach(m, key, v) {
		if (!word(key, 32) || !json_array_size(v))
			return FL_JOB_BAD(
				err, path,
				"matrix.%.32s: expected an array of values",
				key);
		fl_strv_add(keys, key);
	}
	return 0;
}

int fl_job_expand_exec(struct fl_job *job, const json_t *entry,
		       const char *path, struct fl_err *err)
{
	static const char *const known[] = { "program",	 "name",   "command",
					     "files",	 "matrix", "fs",
					     "kpis",	 "output", "time_limit",
					     "space_mb", NULL };
	_cleanup_strv_ struct fl_strv keys = { 0 };
	json_auto_t *none = json_object();
	int r = fl_json_only(entry, path, known, err);

	if (!r && !word(fl_json_str_or(entry, "name", NULL), 40))
		r = FL_JOB_BAD(err, path,
			       "name: expected letters, digits and ._+-, as in "
			       "\"dd\"");
	if (!r)
		r = read_kpis(job, entry, path, err);
	if (!r)
		r = read_matrix(entry, path, &keys, err);
	return r < 0 ? r : each_value(job, entry, &keys, 0, none, path, err);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cases of a job: what a parameter may be, how arrays expand and what a
 * case is called. Called by job.c when a job is loaded.
 */
#include "job-internal.h"

#include <errno.h>
#include <string.h>
#include "util/json.h"

#define CASES_MAX 512
#define NAME_MAX_BYTES 150
#define MIB (INT64_C(1) << 20)

/* What the guest agent can run; see jobs/pagefault/. */
static const struct program {
	const char *name;
	bool file; /* works on a file, so a file system is chosen */
} programs[] = {
	{ "page_fault1", false },   { "page_fault2", true },
	{ "page_fault3", true },    { "page_fault4", true },
	{ "trouble_panic", false }, { "trouble_hang", false },
	{ "trouble_oom", false },   { "trouble_sigbus", true },
	{ "trouble_flood", false }, { "trouble_idle", false },
};

static const char *const modes[] = { "process", NULL };
static const char *const file_systems[] = { "tmpfs", "ext4", "xfs", NULL };

static const struct program *find_program(const char *name)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(programs); i++)
		if (!strcmp(programs[i].name, name))
			return &programs[i];
	return NULL;
}

static int take_program(const json_t *v, const char *path, json_t **ret,
			struct fl_err *err)
{
	const char *s = json_string_value(v);

	if (!s || !find_program(s))
		return FL_JOB_BAD(
			err, path,
			"expected a program, page_fault1 to page_fault4");
	*ret = json_string(s);
	return 0;
}

static int take_word(const json_t *v, const char *path,
		     const char *const *words, json_t **ret, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf list = { 0 };
	const char *s = json_string_value(v);

	for (size_t i = 0; words[i]; i++) {
		if (s && !strcmp(s, words[i])) {
			*ret = json_string(s);
			return 0;
		}
		fl_buf_printf(&list, "%s\"%s\"", i ? ", " : "", words[i]);
	}
	return FL_JOB_BAD(err, path, "expected %s%s", words[1] ? "one of " : "",
			  fl_buf_str(&list));
}

static int take_mode(const json_t *v, const char *path, json_t **ret,
		     struct fl_err *err)
{
	return take_word(v, path, modes, ret, err);
}

static int take_fs(const json_t *v, const char *path, json_t **ret,
		   struct fl_err *err)
{
	return take_word(v, path, file_systems, ret, err);
}

static int take_int(const json_t *v, const char *path, int64_t min, int64_t max,
		    json_t **ret, struct fl_err *err)
{
	int64_t i = json_integer_value(v);

	if (!json_is_integer(v) || i < min || i > max)
		return FL_JOB_BAD(err, path,
				  "expected a whole number from %lld to %lld",
				  (long long)min, (long long)max);
	*ret = json_integer(i);
	return 0;
}

static int take_tasks(const json_t *v, const char *path, json_t **ret,
		      struct fl_err *err)
{
	return take_int(v, path, 1, 4096, ret, err);
}

static int take_seconds(const json_t *v, const char *path, json_t **ret,
			struct fl_err *err)
{
	return take_int(v, path, 0, 3600, ret, err);
}

static int take_samples(const json_t *v, const char *path, json_t **ret,
			struct fl_err *err)
{
	return take_int(v, path, 1, 3600, ret, err);
}

/* Bytes, or a string with K, M or G. */
static int take_size(const json_t *v, const char *path, json_t **ret,
		     struct fl_err *err)
{
	static const char units[] = "KMG";
	const char *s = json_string_value(v), *unit;
	int64_t n = json_is_integer(v) ? json_integer_value(v) : -1;
	char *end;

	if (s && *s >= '1' && *s <= '9') {
		errno = 0;
		n = strtoll(s, &end, 10);
		unit = *end ? strchr(units, *end) : NULL;
		if (errno || n > 1 << 20 || !unit || end[1])
			n = -1;
		else
			n <<= 10 * (unit - units + 1);
	}
	if (n < 4096 || n % 4096 || n > INT64_C(1) << 40)
		return FL_JOB_BAD(
			err, path,
			"expected a size in whole pages of 4096 bytes, like \"128M\"");
	*ret = json_integer(n);
	return 0;
}

/* The parameters of a case, in the order in which arrays expand. */
static const struct param {
	const char *name;
	int (*take)(const json_t *v, const char *path, json_t **ret,
		    struct fl_err *err);
	int64_t def; /* -1: no numeric default */
} params[] = {
	{ "program", take_program, -1 },     { "mode", take_mode, -1 },
	{ "nr_task", take_tasks, 1 },	     { "fs", take_fs, -1 },
	{ "memsize", take_size, 128 * MIB }, { "warmup", take_seconds, 1 },
	{ "samples", take_samples, 3 },
};

#define NPARAMS FL_ARRAY_SIZE(params)

static char *size_text(int64_t n)
{
	static const char units[] = "\0KMG";
	int u = 0;

	while (u < 3 && n % 1024 == 0) {
		n /= 1024;
		u++;
	}
	return u ? fl_asprintf("%lld%c", (long long)n, units[u]) :
		   fl_asprintf("%lld", (long long)n);
}

/* program/mode/nr_task=N[/fs], then what differs from its default. */
static char *case_name(const json_t *p)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	const char *fs = fl_json_str_or(p, "fs", NULL);

	fl_buf_printf(&b, "%s/%s/nr_task=%lld",
		      fl_json_str_or(p, "program", ""),
		      fl_json_str_or(p, "mode", ""),
		      (long long)fl_json_int_or(p, "nr_task", 1));
	if (fs)
		fl_buf_printf(&b, "/%s", fs);
	for (size_t i = 4; i < NPARAMS; i++) {
		int64_t v = fl_json_int_or(p, params[i].name, params[i].def);
		_cleanup_free_ char *text = NULL;

		if (v == params[i].def)
			continue;
		text = params[i].take == take_size ?
			       size_text(v) :
			       fl_asprintf("%lld", (long long)v);
		fl_buf_printf(&b, "/%s=%s", params[i].name, text);
	}
	return fl_buf_steal(&b);
}

/* Takes p. */
static int add_case(struct fl_job *job, json_t *p, const char *path,
		    struct fl_err *err)
{
	_cleanup_free_ char *name = NULL;
	json_auto_t *own = p;
	bool file = find_program(fl_json_str_or(p, "program", ""))->file;

	if (!file && json_object_get(p, "fs"))
		return FL_JOB_BAD(err, path,
				  "'%s' uses no file: leave \"fs\" out",
				  fl_json_str_or(p, "program", ""));
	if (file && !json_object_get(p, "fs"))
		json_object_set_new(p, "fs", json_string("tmpfs"));
	name = case_name(p);
	if (fl_job_case(job, name))
		return FL_JOB_BAD(err, path, "case '%s' is there twice", name);
	if (job->ncases == CASES_MAX)
		return FL_JOB_BAD(err, path, "more than %d cases", CASES_MAX);
	job->cases =
		fl_realloc(job->cases, (job->ncases + 1) * sizeof(*job->cases));
	job->cases[job->ncases++] = (struct fl_case){
		.name = fl_steal(name),
		.params = fl_steal(own),
	};
	return 0;
}

static int expand(struct fl_job *job, const json_t *entry, size_t k,
		  const json_t *so_far, const char *path, struct fl_err *err);

/* Gives parameter k the value v and goes on with the next. */
static int expand_value(struct fl_job *job, const json_t *entry, size_t k,
			const json_t *so_far, const json_t *v,
			const char *value_path, const char *path,
			struct fl_err *err)
{
	json_auto_t *next = json_copy((json_t *)so_far);
	json_t *value;
	int r = params[k].take(v, value_path, &value, err);

	if (r < 0)
		return r;
	json_object_set_new(next, params[k].name, value);
	return expand(job, entry, k + 1, next, path, err);
}

static int expand_default(struct fl_job *job, const json_t *entry, size_t k,
			  const json_t *so_far, const char *path,
			  struct fl_err *err)
{
	json_auto_t *next = json_copy((json_t *)so_far);

	if (params[k].take == take_program)
		return FL_JOB_BAD(err, path, "missing key 'program'");
	if (params[k].take == take_mode)
		json_object_set_new(next, "mode", json_string(modes[0]));
	else if (params[k].def >= 0)
		json_object_set_new(next, params[k].name,
				    json_integer(params[k].def));
	return expand(job, entry, k + 1, next, path, err);
}

/* Parameters 0 to k-1 are in so_far; arrays multiply. */
static int expand(struct fl_job *job, const json_t *entry, size_t k,
		  const json_t *so_far, const char *path, struct fl_err *err)
{
	_cleanup_free_ char *here = NULL;
	const json_t *v;
	int r = 0;

	if (k == NPARAMS)
		return add_case(job, json_copy((json_t *)so_far), path, err);
	v = json_object_get(entry, params[k].name);
	if (!v)
		return expand_default(job, entry, k, so_far, path, err);
	here = fl_asprintf("%s.%s", path, params[k].name);
	if (!json_is_array(v))
		return expand_value(job, entry, k, so_far, v, here, path, err);
	if (!json_array_size(v))
		return FL_JOB_BAD(err, here, "expected at least one value");
	for (size_t i = 0; !r && i < json_array_size(v); i++) {
		_cleanup_free_ char *item = fl_asprintf("%s[%zu]", here, i);

		r = expand_value(job, entry, k, so_far, json_array_get(v, i),
				 item, path, err);
	}
	return r;
}

int fl_job_expand(struct fl_job *job, struct fl_err *err)
{
	const json_t *list = json_object_get(job->doc, "cases");
	json_auto_t *none = json_object();
	const char *known[NPARAMS + 1] = { 0 };
	int r = 0;

	for (size_t i = 0; i < NPARAMS; i++)
		known[i] = params[i].name;
	if (!json_is_array(list) || !json_array_size(list))
		return FL_JOB_BAD(err, "cases", "expected an array of cases");
	for (size_t i = 0; !r && i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		_cleanup_free_ char *path = fl_asprintf("cases[%zu]", i);

		r = fl_json_only(entry, path, known, err);
		if (!r)
			r = expand(job, entry, 0, none, path, err);
	}
	for (size_t i = 0; !r && i < job->ncases; i++)
		if (strlen(job->cases[i].name) > NAME_MAX_BYTES)
			r = FL_JOB_BAD(err, "cases", "name '%s' is too long",
				       job->cases[i].name);
	return r;
}

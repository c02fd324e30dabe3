// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See job.h. The format is documented in schema/job.schema.json. Loading is
 * strict: the first thing that is not understood is an error with its path.
 */
#include "job-internal.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include "util/json.h"

#define JOB_MAX (1 << 20)

static const struct fl_kpi kpis[] = {
	{ "instructions_per_op", "instructions", -1 },
	{ "per_process_ops", "ops/s", +1 },
	{ "per_thread_ops", "ops/s", +1 },
	{ "workload", "ops/s", +1 },
	{ "scalability", "ratio", +1 },
	{ "processes_idle", "%", 0 },
	{ "threads_idle", "%", 0 },
	{ "minor_faults_per_op", "faults", -1 },
	{ "major_faults_per_op", "faults", -1 },
};

const struct fl_kpi *fl_kpi_at(size_t i)
{
	return i < FL_ARRAY_SIZE(kpis) ? &kpis[i] : NULL;
}

const struct fl_kpi *fl_kpi_find(const char *name)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(kpis); i++)
		if (!strcmp(kpis[i].name, name))
			return &kpis[i];
	return NULL;
}

const char *fl_kpi_primary(const char *clock, const json_t *params)
{
	if (!strcmp(clock, "exact"))
		return "instructions_per_op";
	return strcmp(fl_json_str_or(params, "mode", ""), "thread") ?
		       "per_process_ops" :
		       "per_thread_ops";
}

const struct fl_kpi *fl_job_kpi_at(const struct fl_job *job, size_t i)
{
	const size_t n = FL_ARRAY_SIZE(kpis);

	return i < n ? &kpis[i] : i - n < job->nkpis ? &job->kpis[i - n] : NULL;
}

const struct fl_kpi *fl_job_kpi_find(const struct fl_job *job, const char *name)
{
	const struct fl_kpi *k;

	for (size_t i = 0; (k = fl_job_kpi_at(job, i)); i++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

bool fl_case_is_exec(const json_t *params)
{
	return !strcmp(fl_json_str_or(params, "program", ""), "exec");
}

static bool valid_option(const char *s)
{
	size_t n;

	if (!s || strncmp(s, "CONFIG_", 7) != 0)
		return false;
	n = strspn(s + 7, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			  "abcdefghijklmnopqrstuvwxyz0123456789_");
	return n && n < 100 && s[7 + n] == '=' && s[8 + n] &&
	       !strpbrk(s, " \t\r\n") && strlen(s) < 200;
}

static int read_kconfig(struct fl_job *job, struct fl_err *err)
{
	const json_t *list = json_object_get(job->doc, "kconfig");

	if (list && !json_is_array(list))
		return FL_JOB_BAD(err, "kconfig",
				  "expected an array of strings");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *s = json_string_value(json_array_get(list, i));
		_cleanup_free_ char *path = fl_asprintf("kconfig[%zu]", i);

		if (!valid_option(s))
			return FL_JOB_BAD(
				err, path,
				"expected an option like \"CONFIG_EXT4_FS=y\"");
		fl_strv_add(&job->kconfig, s);
	}
	return 0;
}

static int check_percent(const json_t *t, const char *key, const char *path,
			 struct fl_err *err)
{
	double v;

	if (!json_object_get(t, key))
		return 0;
	if (fl_json_num(t, key, path, &v, err) < 0)
		return -EINVAL;
	if (v <= 0 || v > 1000)
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "%s.%s: expected per cent, above 0 to 1000",
				  path, key);
	return 0;
}

static int read_thresholds(struct fl_job *job, struct fl_err *err)
{
	static const char *const known[] = { "kpi", "case", "exact", "wall",
					     NULL };
	json_t *list = json_object_get(job->doc, "thresholds");

	if (list && !json_is_array(list))
		return FL_JOB_BAD(err, "thresholds",
				  "expected an array of objects");
	for (size_t i = 0; i < json_array_size(list); i++) {
		_cleanup_free_ char *path = fl_asprintf("thresholds[%zu]", i);
		const json_t *t = json_array_get(list, i), *pattern;
		const char *kpi = NULL;
		int r = fl_json_only(t, path, known, err);

		if (!r)
			r = fl_json_str(t, "kpi", path, &kpi, err);
		if (!r && !fl_job_kpi_find(job, kpi))
			r = FL_JOB_BAD(err, path, "unknown KPI '%s'", kpi);
		pattern = json_object_get(t, "case");
		if (!r && pattern && !json_is_string(pattern))
			r = FL_JOB_BAD(err, path, "case: expected a pattern");
		if (!r)
			r = check_percent(t, "exact", path, err);
		if (!r)
			r = check_percent(t, "wall", path, err);
		if (!r && !json_object_get(t, "exact") &&
		    !json_object_get(t, "wall"))
			r = FL_JOB_BAD(err, path,
				       "expected \"exact\" or \"wall\"");
		if (r < 0)
			return r;
	}
	job->thresholds = json_incref(list);
	return 0;
}

static int read_rest(struct fl_job *job, struct fl_err *err)
{
	const json_t *control = json_object_get(job->doc, "control");
	const json_t *text = json_object_get(job->doc, "description");
	int r = 0;

	if (text && !json_is_string(text))
		return FL_JOB_BAD(err, "description", "expected a string");
	job->description = fl_strdup(text ? json_string_value(text) : "");
	job->timeout_s = 60;
	/* A program is silent until it ends. */
	if (job->longest_s)
		job->timeout_s += job->longest_s;
	if (json_object_get(job->doc, "timeout"))
		r = fl_json_int(job->doc, "timeout", "", 1, 86400,
				&job->timeout_s, err);
	if (!r && job->timeout_s <= job->longest_s)
		r = FL_JOB_BAD(err, "timeout",
			       "has to be longer than a time_limit of %lld",
			       (long long)job->longest_s);
	if (r < 0 || !control)
		return r;
	job->control = fl_strdup(json_string_value(control));
	if (!job->control || !fl_job_case(job, job->control))
		return FL_JOB_BAD(err, "control",
				  "expected the name of a case, like '%s'",
				  job->cases[0].name);
	return 0;
}

static void hash_job(struct fl_job *job)
{
	json_auto_t *j = json_object(), *cases = json_array();
	_cleanup_free_ char *text = NULL;
	static const char *const copied[] = { "kconfig", "thresholds" };

	for (size_t i = 0; i < job->ncases; i++)
		json_array_append(cases, job->cases[i].params);
	json_object_set_new(j, "name", json_string(job->name));
	json_object_set(j, "cases", cases);
	json_object_set_new(j, "timeout", json_integer(job->timeout_s));
	if (job->control)
		json_object_set_new(j, "control", json_string(job->control));
	for (size_t i = 0; i < FL_ARRAY_SIZE(copied); i++) {
		json_t *v = json_object_get(job->doc, copied[i]);

		if (v)
			json_object_set(j, copied[i], v);
	}
	text = fl_json_text(j);
	fl_hash_bytes(text, strlen(text), job->hash);
}

static char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *s = slash ? slash + 1 : path;
	size_t n = strlen(s);

	return fl_strndup(s, n > 5 && !strcmp(s + n - 5, ".json") ? n - 5 : n);
}

static void list_dir(const char *dir, struct fl_strv *names)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (n > 5 && !strcmp(e->d_name + n - 5, ".json")) {
			_cleanup_free_ char *name = base_name(e->d_name);

			fl_strv_add(names, name);
		}
	}
	if (d)
		closedir(d);
}

static int find_job(const char *name, const struct fl_strv *dirs, char **ret,
		    struct fl_err *err)
{
	_cleanup_strv_ struct fl_strv names = { 0 };
	_cleanup_buf_ struct fl_buf list = { 0 };

	if (strchr(name, '/') || fl_fs_exists(name)) {
		*ret = fl_strdup(name);
		return 0;
	}
	for (size_t i = 0; i < dirs->n; i++) {
		_cleanup_free_ char *base = base_name(name);
		_cleanup_free_ char *file =
			fl_asprintf("%s/%s.json", dirs->s[i], base);

		if (fl_fs_exists(file)) {
			*ret = fl_steal(file);
			return 0;
		}
		list_dir(dirs->s[i], &names);
	}
	fl_strv_sort(&names);
	for (size_t i = 0; i < names.n; i++)
		fl_buf_printf(&list, "%s%s", i ? ", " : "", names.s[i]);
	return fl_err_set(err, -ENOENT, FL_E_USER, "no job '%s'; there is: %s",
			  name, names.n ? fl_buf_str(&list) : "none");
}

static int read_job(struct fl_job *job, struct fl_err *err)
{
	static const char *const known[] = { "$schema",	   "description",
					     "cases",	   "kconfig",
					     "timeout",	   "control",
					     "thresholds", NULL };
	int r = fl_json_load(job->path, JOB_MAX, &job->doc, err);

	if (r == -ENOENT || r == -EACCES)
		err->class = FL_E_USER;
	if (r < 0)
		return r;
	r = fl_json_only(job->doc, "", known, err);
	if (!r)
		r = fl_job_expand(job, err);
	if (!r)
		r = read_kconfig(job, err);
	if (!r)
		r = read_thresholds(job, err);
	if (!r)
		r = read_rest(job, err);
	if (r < 0)
		return fl_err_prefix(err, "'%s'", job->path);
	hash_job(job);
	return 0;
}

int fl_job_load(const char *name, const struct fl_strv *dirs,
		struct fl_job **ret, struct fl_err *err)
{
	_cleanup_(fl_job_freep) struct fl_job *job = fl_calloc(1, sizeof(*job));
	struct fl_err own;
	int r;

	if (!err)
		err = &own;
	r = find_job(name, dirs, &job->path, err);
	if (r < 0)
		return r;
	job->name = base_name(job->path);
	r = read_job(job, err);
	if (r < 0)
		return r;
	*ret = fl_steal(job);
	return 0;
}

const struct fl_case *fl_job_case(const struct fl_job *job, const char *name)
{
	for (size_t i = 0; i < job->ncases; i++)
		if (!strcmp(job->cases[i].name, name))
			return &job->cases[i];
	return NULL;
}

void fl_job_free(struct fl_job *job)
{
	if (!job)
		return;
	for (size_t i = 0; i < job->ncases; i++) {
		free(job->cases[i].name);
		json_decref(job->cases[i].params);
		json_decref(job->cases[i].pack);
	}
	free(job->cases);
	free(job->kpis);
	free(job->name);
	free(job->path);
	free(job->description);
	free(job->control);
	json_decref(job->doc);
	json_decref(job->thresholds);
	fl_strv_clear(&job->kconfig);
	free(job);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cases of a job: how arrays of parameters expand. Called by job.c when a
 * job is loaded; job-param.c knows the parameters.
 */
#include "job-internal.h"

#include <errno.h>
#include <string.h>
#include "util/json.h"

#define CASES_MAX 512
#define NAME_MAX_BYTES 150
#define PARAMS_MAX 32

int fl_job_add_case(struct fl_job *job, char *name, json_t *p, json_t *pack,
		    const char *path, struct fl_err *err)
{
	struct fl_case c = { name, p, pack };
	int r = 0;

	if (fl_job_case(job, name))
		r = FL_JOB_BAD(err, path, "case '%s' is there twice", name);
	else if (job->ncases == CASES_MAX)
		r = FL_JOB_BAD(err, path, "more than %d cases", CASES_MAX);
	if (r < 0) {
		free(name);
		json_decref(p);
		json_decref(pack);
		return r;
	}
	job->cases =
		fl_realloc(job->cases, (job->ncases + 1) * sizeof(*job->cases));
	job->cases[job->ncases++] = c;
	return 0;
}

/* Takes p. */
static int add_case(struct fl_job *job, json_t *p, const char *path,
		    struct fl_err *err)
{
	_cleanup_free_ char *name = NULL;
	json_auto_t *own = p;
	int r = fl_job_params_settle(own, path, err);

	if (r < 0)
		return r;
	name = fl_job_case_name(own);
	return fl_job_add_case(job, fl_steal(name), fl_steal(own), NULL, path,
			       err);
}

static int expand(struct fl_job *job, const json_t *entry, size_t k,
		  const json_t *so_far, const char *path, struct fl_err *err);

/* Gives parameter k the value v, or its default, and goes on with the next. */
static int expand_value(struct fl_job *job, const json_t *entry, size_t k,
			const json_t *so_far, const json_t *v,
			const char *value_path, const char *path,
			struct fl_err *err)
{
	json_auto_t *next = json_copy((json_t *)so_far);
	int r = v ? fl_job_param_take(k, v, value_path, next, err) :
		    fl_job_param_default(k, path, next, err);

	return r < 0 ? r : expand(job, entry, k + 1, next, path, err);
}

/* Parameters 0 to k-1 are in so_far; arrays multiply. */
static int expand(struct fl_job *job, const json_t *entry, size_t k,
		  const json_t *so_far, const char *path, struct fl_err *err)
{
	_cleanup_free_ char *here = NULL;
	const json_t *v;
	int r = 0;

	if (!fl_job_param(k))
		return add_case(job, json_copy((json_t *)so_far), path, err);
	v = json_object_get(entry, fl_job_param(k));
	here = fl_asprintf("%s.%s", path, fl_job_param(k));
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
	const char *known[PARAMS_MAX + 1] = { 0 };
	int r = 0;

	for (size_t i = 0; i < PARAMS_MAX && fl_job_param(i); i++)
		known[i] = fl_job_param(i);
	if (!json_is_array(list) || !json_array_size(list))
		return FL_JOB_BAD(err, "cases", "expected an array of cases");
	for (size_t i = 0; !r && i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		_cleanup_free_ char *path = fl_asprintf("cases[%zu]", i);

		if (fl_case_is_exec(entry)) {
			r = fl_job_expand_exec(job, entry, path, err);
			continue;
		}
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

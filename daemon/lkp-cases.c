// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cases of an lkp-tests job. A document is a matrix of choices, with one
 * dimension for each key of fl_lkp_params[]; each combination that the job
 * loader takes becomes a case. In the end the cases are matrices again.
 */
#include "lkp-internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "job.h"
#include "util/json.h"

#define DIMENSIONS 16
#define COMBINATIONS_MAX 20000
#define CASES_MAX 2000 /* the loader has a bound of its own below that */

struct dimension {
	json_t *choices; /* array of objects of parameters */
	struct fl_lkp_node *node; /* NULL: not given */
	char *path;
};

struct matrix {
	struct dimension dim[DIMENSIONS];
};

/* ---- what the job loader takes --------------------------------------------- */

char *fl_lkp_refusal(const json_t *job)
{
	_cleanup_close_ int fd = memfd_create("job", MFD_CLOEXEC);
	_cleanup_(fl_job_freep) struct fl_job *loaded = NULL;
	_cleanup_free_ char *text = json_dumps(job, JSON_COMPACT);
	_cleanup_free_ char *path = fl_asprintf("/proc/self/fd/%d", fd);
	struct fl_strv none = { 0 };
	struct fl_err err = { 0 };
	const char *reason, *colon;

	if (fd < 0 || !text ||
	    write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return fl_asprintf("cannot check the job: %s", strerror(errno));
	if (!fl_job_load(path, &none, &loaded, &err))
		return NULL;
	reason = strstr(err.text, "': ");
	reason = reason ? reason + 3 : err.text;
	/* "cases[0].mode: expected …": the place is ours, not the reader's. */
	colon = strncmp(reason, "cases[", 6) ? NULL : strstr(reason, ": ");
	return fl_strdup(colon ? colon + 2 : reason);
}

static char *case_refusal(const json_t *params)
{
	json_auto_t *job = json_pack("{s:[O]}", "cases", params);

	return fl_lkp_refusal(job);
}

/* A value by itself, in a case of a program that takes every parameter. */
static char *choice_refusal(const json_t *params)
{
	json_auto_t *probe = json_pack("{s:s}", "program", "page_fault3");

	json_object_update(probe, (json_t *)params);
	return case_refusal(probe);
}

/* ---- dimensions ------------------------------------------------------------ */

static void matrix_clear(struct matrix *m)
{
	for (size_t k = 0; k < DIMENSIONS; k++) {
		json_decref(m->dim[k].choices);
		free(m->dim[k].path);
	}
}

/* One text of a key; node NULL: what lkp-tests takes when it is not given. */
static void take_text(struct fl_lkp_cases *c, const struct fl_lkp_param *p,
		      struct dimension *dim, struct fl_lkp_node *node,
		      const char *text)
{
	json_auto_t *choices = json_array();
	const char *why = p->take(text, choices);

	if (why && node)
		fl_lkp_left_out(c->r, node, dim->path, why);
	for (size_t i = 0; !why && i < json_array_size(choices); i++) {
		json_t *params = json_array_get(choices, i);
		_cleanup_free_ char *no = choice_refusal(params);
		_cleanup_free_ char *as = fl_lkp_as(params);
		_cleanup_free_ char *reason = NULL;

		if (no) {
			reason = fl_asprintf("%s: %s", as, no);
			fl_lkp_left_out(c->r, node, dim->path, reason);
			continue;
		}
		json_array_append(dim->choices, params);
		if (!node)
			fl_lkp_changed(c->r, NULL, dim->path, as,
				       p->absent_how);
		else if (p->how)
			fl_lkp_changed(c->r, node, dim->path, as, p->how);
		else
			fl_lkp_carried(c->r, node, dim->path, as);
	}
}

/* The value of a parameter: the program's own, else the job's. */
static struct fl_lkp_node *find_param(const struct fl_lkp_node *doc,
				      const struct fl_lkp_param *p, char **path)
{
	const char *dot = strchr(p->key, '.');
	struct fl_lkp_node *v;

	if (dot) {
		_cleanup_free_ char *map =
			fl_strndup(p->key, (size_t)(dot - p->key));

		*path = fl_strdup(p->key);
		return fl_lkp_get(fl_lkp_get(doc, map), dot + 1);
	}
	v = fl_lkp_get(fl_lkp_get(doc, FL_LKP_PROGRAM), p->key);
	if (!fl_lkp_none(v) || fl_lkp_none(fl_lkp_get(doc, p->key))) {
		*path = fl_asprintf("%s.%s", FL_LKP_PROGRAM, p->key);
		return v;
	}
	*path = fl_strdup(p->key);
	return fl_lkp_get(doc, p->key);
}

/* False: the job says something that decides and cannot be carried over. */
static bool take_param(struct fl_lkp_cases *c, const struct fl_lkp_node *doc,
		       const struct fl_lkp_param *p, struct dimension *dim)
{
	_cleanup_strv_ struct fl_strv absent = { 0 };
	struct fl_lkp_node *v = find_param(doc, p, &dim->path);

	dim->choices = json_array();
	if (fl_lkp_none(v)) {
		fl_strv_split(&absent, p->absent ? p->absent : "", ",");
		for (size_t i = 0; i < absent.n; i++)
			take_text(c, p, dim, NULL, absent.s[i]);
		return true;
	}
	dim->node = v;
	if (v->kind == FL_LKP_TEXT)
		take_text(c, p, dim, v, v->text);
	else if (v->kind == FL_LKP_MAP)
		fl_lkp_left_out(c->r, v, dim->path, "expected a word");
	for (size_t i = 0; v->kind == FL_LKP_LIST && i < v->n; i++) {
		struct fl_lkp_node *item = v->item[i].value;

		if (item->kind == FL_LKP_TEXT && item->text)
			take_text(c, p, dim, item, item->text);
		else if (!fl_lkp_none(item))
			fl_lkp_left_out(c->r, item, dim->path,
					"expected a word");
	}
	return json_array_size(dim->choices) || !p->decides;
}

/* ---- cases ----------------------------------------------------------------- */

static int add_case(struct fl_lkp_cases *c, json_t *params)
{
	_cleanup_free_ char *text = fl_json_text(params);

	if (fl_strv_has(&c->seen, text))
		return 0;
	if (c->seen.n == CASES_MAX)
		return fl_err_set(c->err, -EFBIG, FL_E_USER,
				  "'%s': more than %d cases", c->name,
				  CASES_MAX);
	fl_strv_add(&c->seen, text);
	json_array_append(c->cases, params);
	return 0;
}

/* Says that a case does without a parameter that the job gives. */
static void say_without(struct fl_lkp_cases *c, const struct dimension *dim,
			const json_t *params, const char *name, const char *no)
{
	_cleanup_free_ char *how =
		fl_asprintf("not for %s: %s",
			    fl_json_str_or(params, "program", "a program"), no);

	for (size_t k = 0; k < DIMENSIONS; k++)
		if (json_object_get(json_array_get(dim[k].choices, 0), name))
			fl_lkp_changed(c->r, dim[k].node, dim[k].path, NULL,
				       how);
}

/*
 * One combination. What means nothing to its program, such as a file system
 * to one that works on no file, is taken out.
 */
static int take_case(struct fl_lkp_cases *c, const struct dimension *dim,
		     struct fl_lkp_node *program, json_t *params)
{
	static const char *const optional[] = { "thp", "fs" };
	_cleanup_free_ char *no = case_refusal(params), *why = NULL;
	_cleanup_free_ char *as = fl_lkp_as(params);

	for (size_t i = 0; no && i < FL_ARRAY_SIZE(optional); i++) {
		json_auto_t *less = json_copy(params);
		_cleanup_free_ char *still = NULL;

		if (json_object_del(less, optional[i]) < 0)
			continue;
		still = case_refusal(less);
		if (still && !strcmp(still, no))
			continue;
		say_without(c, dim, params, optional[i], no);
		json_object_del(params, optional[i]);
		free(no);
		no = fl_steal(still);
	}
	if (!no)
		return add_case(c, params);
	why = fl_asprintf("%s: %s", as, no);
	fl_lkp_left_out(c->r, program, FL_LKP_PROGRAM, why);
	return 0;
}

static int combine(struct fl_lkp_cases *c, const struct dimension *dim,
		   struct fl_lkp_node *program, size_t k, const json_t *so_far)
{
	int r = 0;

	if (k == DIMENSIONS) {
		json_auto_t *params = json_copy((json_t *)so_far);

		if (++c->tried > COMBINATIONS_MAX)
			return fl_err_set(c->err, -EFBIG, FL_E_USER,
					  "'%s': more than %d combinations",
					  c->name, COMBINATIONS_MAX);
		return take_case(c, dim, program, params);
	}
	if (!json_array_size(dim[k].choices))
		return combine(c, dim, program, k + 1, so_far);
	for (size_t i = 0; !r && i < json_array_size(dim[k].choices); i++) {
		json_auto_t *next = json_copy((json_t *)so_far);

		json_object_update(next, json_array_get(dim[k].choices, i));
		r = combine(c, dim, program, k + 1, next);
	}
	return r;
}

/* ---- documents ------------------------------------------------------------- */

int fl_lkp_cases_take(struct fl_lkp_cases *c, const struct fl_lkp_node *doc)
{
	_cleanup_(matrix_clear) struct matrix m = { 0 };
	struct fl_lkp_node *program = fl_lkp_get(doc, FL_LKP_PROGRAM);
	json_auto_t *none = json_object();
	bool all = true;

	if (program->kind == FL_LKP_LIST || program->text)
		return FL_LKP_BAD(
			c->err, program->file, program->line,
			"%s: expected lines like 'test: page_fault1' below it",
			FL_LKP_PROGRAM);
	if (fl_lkp_none(fl_lkp_get(program, "test")) &&
	    fl_lkp_none(fl_lkp_get(doc, "test"))) {
		fl_lkp_left_out(c->r, program, FL_LKP_PROGRAM,
				"no 'test' is named");
		return 0;
	}
	for (size_t k = 0; fl_lkp_params[k].key; k++)
		all &= take_param(c, doc, &fl_lkp_params[k], &m.dim[k]);
	for (size_t i = 0; i < program->n; i++) {
		_cleanup_free_ char *path = fl_asprintf("%s.%s", FL_LKP_PROGRAM,
							program->item[i].key);
		struct fl_lkp_node *v = program->item[i].value;
		bool known = false;

		for (size_t k = 0; fl_lkp_params[k].key; k++)
			known |= !strcmp(fl_lkp_params[k].key,
					 program->item[i].key);
		if (!known)
			fl_lkp_left_out(c->r, v, path,
					"no option that Faultline has");
	}
	program->said = true;
	return all && json_array_size(m.dim[0].choices) ?
		       combine(c, m.dim, program, 0, none) :
		       0;
}

/* ---- back to matrices ------------------------------------------------------ */

/* Every case without one parameter, as texts. */
static void rests(const json_t *cases, const char *name, struct fl_strv *ret)
{
	for (size_t i = 0; i < json_array_size(cases); i++) {
		json_auto_t *rest = json_copy(json_array_get(cases, i));
		_cleanup_free_ char *text = NULL;

		/* Without the parameter is not the same as with some value. */
		if (json_object_del(rest, name) < 0)
			json_object_set_new(rest, "without", json_null());
		text = fl_json_text(rest);
		fl_strv_add(ret, text);
	}
}

/* Cases that differ in one parameter only become one with an array. */
static json_t *fold(json_t *cases, const char *name)
{
	_cleanup_strv_ struct fl_strv rest = { 0 };
	_cleanup_free_ size_t *at =
		fl_calloc(json_array_size(cases) + 1, sizeof(*at));
	json_t *out = json_array();

	rests(cases, name, &rest);
	for (size_t i = 0; i < rest.n; i++) {
		json_t *v = json_array_get(cases, i);
		size_t k = 0;

		while (k < i && strcmp(rest.s[k], rest.s[i]) != 0)
			k++;
		at[i] = k < i ? at[k] : json_array_size(out);
		if (k < i)
			json_array_extend(
				json_object_get(json_array_get(out, at[i]),
						name),
				json_object_get(v, name));
		else
			json_array_append(out, v);
	}
	json_decref(cases);
	return out;
}

json_t *fl_lkp_matrices(const json_t *cases)
{
	static const char *const last = "program";
	json_t *out = json_deep_copy(cases), *v;
	json_auto_t *names = json_object();
	const char *name;
	void *next;

	for (size_t i = 0; i < json_array_size(out); i++) {
		json_object_foreach(json_array_get(out, i), name, v) {
			json_t *list = json_pack("[O]", v);

			json_object_set_new(json_array_get(out, i), name, list);
			json_object_set_new(names, name, json_null());
		}
	}
	json_object_del(names, last);
	json_object_foreach(names, name, v)
		out = fold(out, name);
	out = fold(out, last);
	for (size_t i = 0; i < json_array_size(out); i++) {
		json_object_foreach_safe(json_array_get(out, i), next, name, v)
		{
			if (json_array_size(v) == 1)
				json_object_set(json_array_get(out, i), name,
						json_array_get(v, 0));
		}
	}
	return out;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* See lkp-import.h: the job around its cases, and a place for every key. */
#include "lkp-internal.h"

#include <errno.h>
#include <string.h>
#include "util/json.h"

#define SILENCE_S 60 /* a job's default timeout */

struct import {
	struct fl_lkp_docs d;
	struct fl_lkp_result *r;
	struct fl_lkp_cases c;
	json_t *kconfig;
};

static void import_clear(struct import *im)
{
	fl_lkp_docs_clear(&im->d);
	fl_strv_clear(&im->c.seen);
	json_decref(im->c.cases);
	json_decref(im->kconfig);
}

/* ---- kernel options -------------------------------------------------------- */

/* False when the option is there with another value: *other. */
static bool add_option(json_t *kconfig, const char *option, const char **other)
{
	size_t n = strcspn(option, "=") + 1;

	for (size_t i = 0; i < json_array_size(kconfig); i++) {
		*other = json_string_value(json_array_get(kconfig, i));
		if (!strncmp(*other, option, n))
			return !strcmp(*other, option);
	}
	json_array_append_new(kconfig, json_string(option));
	return true;
}

static void take_option(struct import *im, struct fl_lkp_node *v,
			const char *name, const char *value)
{
	_cleanup_free_ char *path = fl_asprintf("need_kconfig.%s", name);
	const char *how, *why, *other = NULL;
	_cleanup_free_ char *option = fl_lkp_kconfig(name, value, &how, &why);
	_cleanup_free_ char *as = fl_asprintf("kconfig %s", option);

	if (!option)
		fl_lkp_left_out(im->r, v, path, why);
	else if (!add_option(im->kconfig, option, &other))
		fl_lkp_left_out(im->r, v, path,
				"the option is needed with another value");
	else if (how)
		fl_lkp_changed(im->r, v, path, as, how);
	else
		fl_lkp_carried(im->r, v, path, as);
}

/* "X", "X=y", a map of "X: y", "X: [y, x86_64]", or a list of these. */
static void take_kconfig(struct import *im, struct fl_lkp_node *v)
{
	for (size_t i = 0; v->kind == FL_LKP_LIST && i < v->n; i++)
		take_kconfig(im, v->item[i].value);
	for (size_t i = 0; v->kind == FL_LKP_MAP && i < v->n; i++) {
		struct fl_lkp_node *x = v->item[i].value;
		_cleanup_buf_ struct fl_buf words = { 0 };

		fl_buf_puts(&words, x->text ? x->text : "");
		for (size_t k = 0; k < x->n; k++)
			fl_buf_printf(&words, "%s, ",
				      x->item[k].value->text ?
					      x->item[k].value->text :
					      "?");
		take_option(im, x, v->item[i].key, fl_buf_str(&words));
	}
	if (v->kind == FL_LKP_TEXT && v->text) {
		size_t n = strcspn(v->text, "=");
		_cleanup_free_ char *name = fl_strndup(v->text, n);

		take_option(im, v, name, v->text[n] ? v->text + n + 1 : NULL);
	}
}

static void add_fs_options(struct import *im)
{
	for (size_t i = 0; i < json_array_size(im->c.cases); i++) {
		const json_t *c = json_array_get(im->c.cases, i);
		const char *fs = fl_json_str_or(c, "fs", NULL), *other;
		const char *const *option = fl_lkp_fs_kconfig(fs ? fs : "");
		_cleanup_free_ char *how =
			fl_asprintf("added: cases on %s need it", fs);

		for (; *option; option++) {
			_cleanup_free_ char *as =
				fl_asprintf("kconfig %s", *option);
			size_t n = json_array_size(im->kconfig);

			add_option(im->kconfig, *option, &other);
			if (json_array_size(im->kconfig) > n)
				fl_lkp_changed(im->r, NULL, "kconfig", as, how);
		}
	}
}

/* ---- all other keys -------------------------------------------------------- */

/* With all that lies in it, which shares the entry. */
static void leave_out(struct import *im, struct fl_lkp_node *v,
		      const char *path, const char *why)
{
	fl_lkp_left_out(im->r, v, path, why);
	fl_lkp_say(v);
}

static bool is_param(const char *key)
{
	for (const struct fl_lkp_param *p = fl_lkp_params; p->key; p++)
		if (!strcmp(p->key, key))
			return true;
	return false;
}

/* Is it a map of which some keys are parameters? */
static bool holds_params(const char *key, const struct fl_lkp_node *v)
{
	size_t n = strlen(key);

	for (const struct fl_lkp_param *p = fl_lkp_params; p->key; p++)
		if (v->kind == FL_LKP_MAP && !strncmp(p->key, key, n) &&
		    p->key[n] == '.')
			return true;
	return false;
}

static void take_rest_of_map(struct import *im, const char *key,
			     const struct fl_lkp_node *map)
{
	for (size_t i = 0; i < map->n; i++) {
		_cleanup_free_ char *path =
			fl_asprintf("%s.%s", key, map->item[i].key);
		struct fl_lkp_node *v = map->item[i].value;

		if (!is_param(path) && !fl_lkp_none(v))
			leave_out(im, v, path, fl_lkp_other(path, false));
	}
}

static bool on_disk(const json_t *cases, size_t from)
{
	for (size_t i = from; i < json_array_size(cases); i++)
		if (strcmp(fl_json_str_or(json_array_get(cases, i), "fs",
					  "tmpfs"),
			   "tmpfs") != 0)
			return true;
	return false;
}

/* A key that is not the program; first: of the document's first case. */
static void take_key(struct import *im, const struct fl_lkp_node *doc,
		     const char *key, struct fl_lkp_node *v, size_t first)
{
	bool cases = json_array_size(im->c.cases) > first;
	const char *suite = NULL;

	for (int i = 0; i < 2; i++) {
		const struct fl_lkp_node *named =
			fl_lkp_get(doc, i ? "testcase" : "suite");

		if (named && named->text && !strcmp(named->text, key))
			suite = named->text;
	}
	if (is_param(key))
		return; /* taken, or the sweep says that it is not */
	if (!strcmp(key, "need_kconfig")) {
		if (cases)
			take_kconfig(im, v);
	} else if (holds_params(key, v)) {
		take_rest_of_map(im, key, v);
	} else if (!strcmp(key, "disk")) {
		if (!on_disk(im->c.cases, first))
			return; /* perhaps in another document */
		fl_lkp_changed(im->r, v, key, NULL,
			       "the file system lies on a RAM disk");
		fl_lkp_say(v);
	} else {
		leave_out(im, v, key, fl_lkp_other(key, suite != NULL));
	}
}

/* What nothing was said of: every value has its place in a list. */
static void sweep(struct import *im, struct fl_lkp_node *v, const char *path)
{
	if (v->said || fl_lkp_none(v))
		return;
	if (v->kind == FL_LKP_TEXT) {
		fl_lkp_left_out(im->r, v, path, "takes part in no case");
		return;
	}
	for (size_t i = 0; i < v->n; i++) {
		const char *key = v->item[i].key;
		_cleanup_free_ char *below =
			!key  ? fl_strdup(path) :
			*path ? fl_asprintf("%s.%s", path, key) :
				fl_strdup(key);

		if (!strcmp(below, "disk") && !v->item[i].value->said)
			leave_out(im, v->item[i].value, below,
				  fl_lkp_other(below, false));
		if (*path || !fl_lkp_comment(below))
			sweep(im, v->item[i].value, below);
	}
}

static void say_hidden(struct import *im)
{
	for (size_t i = 0; i < im->d.nhidden; i++) {
		struct fl_lkp_hidden *h = &im->d.hidden[i];
		_cleanup_free_ char *why =
			fl_asprintf("'%s' line %zu says it again, which counts",
				    h->by->file, h->by->line);

		if (!h->value->said)
			leave_out(im, h->value, h->key, why);
	}
}

/* ---- the job --------------------------------------------------------------- */

static int take_doc(struct import *im, const struct fl_lkp_node *doc)
{
	size_t first = json_array_size(im->c.cases);
	int r = 0;

	if (fl_lkp_get(doc, FL_LKP_PROGRAM))
		r = fl_lkp_cases_take(&im->c, doc);
	for (size_t i = 0; !r && i < doc->n; i++)
		if (strcmp(doc->item[i].key, FL_LKP_PROGRAM) != 0)
			take_key(im, doc, doc->item[i].key, doc->item[i].value,
				 first);
	return r;
}

/* A guest says nothing while it measures: that is no hang. */
static void add_timeout(struct import *im, json_t *job)
{
	int64_t most = 0;

	for (size_t i = 0; i < json_array_size(im->c.cases); i++) {
		const json_t *c = json_array_get(im->c.cases, i);
		int64_t s = fl_json_int_or(c, "warmup", 0) +
			    fl_json_int_or(c, "samples", 0);

		most = s > most ? s : most;
	}
	if (most > SILENCE_S / 2) {
		_cleanup_free_ char *as = fl_asprintf(
			"timeout %lld", (long long)(most + SILENCE_S));

		json_object_set_new(job, "timeout",
				    json_integer(most + SILENCE_S));
		fl_lkp_changed(im->r, NULL, "timeout", as,
			       "added: a guest says nothing while it measures");
	}
}

static int make_job(struct import *im, const char *path, struct fl_err *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	_cleanup_free_ char *text =
		fl_asprintf("Imported from the lkp-tests job %s", name);
	json_auto_t *job = json_object();
	_cleanup_free_ char *no = NULL;

	json_object_set_new(job, "description",
			    fl_json_text_value(text, strlen(text)));
	json_object_set_new(job, "cases", fl_lkp_matrices(im->c.cases));
	add_fs_options(im);
	if (json_array_size(im->kconfig))
		json_object_set(job, "kconfig", im->kconfig);
	add_timeout(im, job);
	no = fl_lkp_refusal(job);
	if (no)
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "'%s' makes no valid job: %s", path, no);
	im->r->job = json_incref(job);
	return 0;
}

int fl_lkp_import(const char *path, const char *src, struct fl_lkp_result *ret,
		  struct fl_err *err)
{
	_cleanup_(import_clear) struct import im = { .r = ret };
	int r;

	*ret = (struct fl_lkp_result){ .carried = json_array(),
				       .changed = json_array(),
				       .left_out = json_array() };
	im.c = (struct fl_lkp_cases){
		.r = ret, .cases = json_array(), .name = path, .err = err
	};
	im.kconfig = json_array();
	r = fl_lkp_docs_load(path, src, &im.d, err);
	for (size_t i = 0; !r && i < im.d.docs.n; i++) {
		const struct fl_lkp_node *base = NULL;

		if (i)
			base = fl_lkp_revise(&im.d, NULL, im.d.docs.v[0]);
		r = take_doc(&im, fl_lkp_revise(&im.d, base, im.d.docs.v[i]));
	}
	if (r < 0)
		return r;
	say_hidden(&im);
	for (size_t i = 0; i < im.d.docs.n; i++)
		sweep(&im, im.d.docs.v[i], "");
	return json_array_size(im.c.cases) ? make_job(&im, path, err) : 0;
}

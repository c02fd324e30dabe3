// SPDX-License-Identifier: GPL-2.0-or-later
/* The three lists of lkp-import.h. */
#include "lkp-internal.h"

#include <string.h>
#include "util/json.h"

/* Takes entry; the same thing is said once. */
static void add(json_t *list, json_t *entry)
{
	int64_t line = fl_json_int_or(entry, "line", 0);

	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *old = json_array_get(list, i);

		/* Most differ in their line: that is quicker to see. */
		if (fl_json_int_or(old, "line", 0) == line &&
		    json_equal(old, entry)) {
			json_decref(entry);
			return;
		}
	}
	json_array_append_new(list, entry);
}

static json_t *entry(struct fl_lkp_node *v, const char *key)
{
	if (v)
		v->said = true;
	return json_pack("{s:o, s:I, s:s, s:o}", "file",
			 v ? fl_json_text_value(v->file, strlen(v->file)) :
			     json_null(),
			 "line", v ? (json_int_t)v->line : 0, "key", key,
			 "value", fl_lkp_json(v));
}

void fl_lkp_carried(struct fl_lkp_result *r, struct fl_lkp_node *v,
		    const char *key, const char *as)
{
	json_t *e = entry(v, key);

	json_object_set_new(e, "as", json_string(as));
	add(r->carried, e);
}

void fl_lkp_changed(struct fl_lkp_result *r, struct fl_lkp_node *v,
		    const char *key, const char *as, const char *how)
{
	json_t *e = entry(v, key);

	if (as)
		json_object_set_new(e, "as", json_string(as));
	json_object_set_new(e, "how", json_string(how));
	add(r->changed, e);
}

void fl_lkp_left_out(struct fl_lkp_result *r, struct fl_lkp_node *v,
		     const char *key, const char *why)
{
	json_t *e = entry(v, key);

	json_object_set_new(e, "why", json_string(why));
	add(r->left_out, e);
}

void fl_lkp_say(struct fl_lkp_node *v)
{
	v->said = true;
	for (size_t i = 0; i < v->n; i++)
		fl_lkp_say(v->item[i].value);
}

char *fl_lkp_as(const json_t *params)
{
	struct fl_buf b = { 0 };
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)params, name, v) {
		_cleanup_free_ char *text = json_is_string(v) ? NULL :
								fl_json_text(v);

		fl_buf_printf(&b, "%s%s %s", b.len ? ", " : "", name,
			      text ? text : json_string_value(v));
	}
	return b.len ? fl_buf_steal(&b) : fl_strdup("the default");
}

void fl_lkp_result_clear(struct fl_lkp_result *r)
{
	json_decref(r->job);
	json_decref(r->carried);
	json_decref(r->changed);
	json_decref(r->left_out);
	*r = (struct fl_lkp_result){ 0 };
}

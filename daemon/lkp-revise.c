// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A job file of several documents is several jobs: the first, and the first
 * with each of the others on top. What "on top" means for a key:
 *   key      takes the place of the old value; need_* lists grow instead
 *   a.b      sets b in map a
 *   a[.b]+   adds, a[.b]- takes out
 */
#include "lkp-internal.h"

#include <string.h>

/* These two are one value; every other need_* is a list that grows. */
static bool grows(const char *key)
{
	return !strncmp(key, "need_", 5) && strcmp(key, "need_memory") != 0 &&
	       strcmp(key, "need_cpu") != 0;
}

static struct fl_lkp_node *clone(struct fl_lkp_docs *d,
				 const struct fl_lkp_node *from)
{
	struct fl_lkp_node *v = fl_lkp_new(d, from->kind, from);

	v->text = fl_strdup(from->text);
	for (size_t i = 0; i < from->n; i++)
		fl_lkp_add(v, from->item[i].key, from->item[i].value);
	return v;
}

/* Maps get the other's keys, everything else becomes one list. */
static struct fl_lkp_node *join(struct fl_lkp_docs *d, struct fl_lkp_node *a,
				struct fl_lkp_node *b)
{
	struct fl_lkp_node *v;

	if (fl_lkp_none(a) || fl_lkp_none(b))
		return fl_lkp_none(a) ? b : a;
	if (a->kind == FL_LKP_MAP && b->kind == FL_LKP_MAP) {
		v = clone(d, a);
		for (size_t i = 0; i < b->n; i++)
			fl_lkp_put(v, b->item[i].key, b->item[i].value);
		return v;
	}
	v = fl_lkp_new(d, FL_LKP_LIST, a);
	for (int side = 0; side < 2; side++) {
		struct fl_lkp_node *from = side ? b : a;

		if (from->kind != FL_LKP_LIST)
			fl_lkp_add(v, NULL, from);
		for (size_t i = 0; from->kind == FL_LKP_LIST && i < from->n;
		     i++)
			fl_lkp_add(v, NULL, from->item[i].value);
	}
	return v;
}

static bool named(const struct fl_lkp_node *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct fl_lkp_node *v = list->item[i].value;

		if (list->kind == FL_LKP_MAP ?
			    !strcmp(list->item[i].key, text) :
			    v->text && !strcmp(v->text, text))
			return true;
	}
	return list->text && !strcmp(list->text, text);
}

/* What is left of `from` without what b names; NULL: nothing. */
static struct fl_lkp_node *without(struct fl_lkp_docs *d,
				   const struct fl_lkp_node *from,
				   const struct fl_lkp_node *b)
{
	struct fl_lkp_node *v;

	if (!from || fl_lkp_none(b) || from->kind == FL_LKP_TEXT)
		return NULL;
	v = fl_lkp_new(d, from->kind, from);
	for (size_t i = 0; i < from->n; i++) {
		const struct fl_lkp_item *item = &from->item[i];
		const char *name = item->key ? item->key : item->value->text;

		if (!name || !named(b, name))
			fl_lkp_add(v, item->key, item->value);
	}
	return v->n ? v : NULL;
}

/* Revises one key of map; path is left of what the key says. */
static void revise_key(struct fl_lkp_docs *d, struct fl_lkp_node *map,
		       const char *path, int sign, struct fl_lkp_node *v)
{
	const char *dot = strchr(path, '.');
	_cleanup_free_ char *key =
		dot ? fl_strndup(path, (size_t)(dot - path)) : fl_strdup(path);
	struct fl_lkp_node *old = fl_lkp_get(map, key);

	if (dot) {
		bool is_map = old && old->kind == FL_LKP_MAP;

		if (!is_map && sign == '-')
			return;
		/* Earlier documents keep their own map. */
		old = is_map ? clone(d, old) : fl_lkp_new(d, FL_LKP_MAP, v);
		revise_key(d, old, dot + 1, sign, v);
		fl_lkp_put(map, key, old);
		return;
	}
	if (sign == '-') {
		v = without(d, old, v);
		if (v)
			fl_lkp_put(map, key, v);
		else
			fl_lkp_remove(map, key);
		return;
	}
	fl_lkp_put(map, key, sign == '+' || grows(key) ? join(d, old, v) : v);
}

struct fl_lkp_node *fl_lkp_revise(struct fl_lkp_docs *d,
				  const struct fl_lkp_node *base,
				  const struct fl_lkp_node *doc)
{
	struct fl_lkp_node *map = base ? clone(d, base) :
					 fl_lkp_new(d, FL_LKP_MAP, doc);

	for (size_t i = 0; i < doc->n; i++) {
		const char *key = doc->item[i].key;
		size_t n = strlen(key);
		int last = n > 1 ? key[n - 1] : 0;
		int sign = last == '+' || last == '-' ? last : 0;
		_cleanup_free_ char *path = fl_strndup(key, n - !!sign);

		if (fl_lkp_comment(key))
			continue;
		revise_key(d, map, path, sign, doc->item[i].value);
	}
	return map;
}

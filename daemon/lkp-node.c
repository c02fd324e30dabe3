// SPDX-License-Identifier: GPL-2.0-or-later
/* The trees of lkp-yaml.h: nodes of one pool, freed together. */
#include "lkp-yaml.h"

#include <string.h>

struct fl_lkp_node *fl_lkp_new_at(struct fl_lkp_docs *d, enum fl_lkp_kind kind,
				  const char *file, size_t line)
{
	struct fl_lkp_node *v = fl_calloc(1, sizeof(*v));

	*v = (struct fl_lkp_node){
		.kind = kind, .file = file, .line = line, .next = d->pool
	};
	d->pool = v;
	d->nodes++;
	return v;
}

struct fl_lkp_node *fl_lkp_new(struct fl_lkp_docs *d, enum fl_lkp_kind kind,
			       const struct fl_lkp_node *at)
{
	return fl_lkp_new_at(d, kind, at->file, at->line);
}

struct fl_lkp_node *fl_lkp_get(const struct fl_lkp_node *map, const char *key)
{
	for (size_t i = 0; map && map->kind == FL_LKP_MAP && i < map->n; i++)
		if (!strcmp(map->item[i].key, key))
			return map->item[i].value;
	return NULL;
}

bool fl_lkp_none(const struct fl_lkp_node *v)
{
	return !v || (v->kind == FL_LKP_TEXT && !v->text);
}

void fl_lkp_add(struct fl_lkp_node *to, const char *key,
		struct fl_lkp_node *value)
{
	if (to->n == to->cap) {
		to->cap = to->cap ? 2 * to->cap : 4;
		to->item = fl_realloc(to->item, to->cap * sizeof(*to->item));
	}
	to->item[to->n++] =
		(struct fl_lkp_item){ .key = fl_strdup(key), .value = value };
}

void fl_lkp_put(struct fl_lkp_node *map, const char *key,
		struct fl_lkp_node *value)
{
	for (size_t i = 0; i < map->n; i++) {
		if (!strcmp(map->item[i].key, key)) {
			map->item[i].value = value;
			return;
		}
	}
	fl_lkp_add(map, key, value);
}

void fl_lkp_put_over(struct fl_lkp_docs *d, struct fl_lkp_node *map,
		     const char *key, struct fl_lkp_node *value)
{
	struct fl_lkp_node *old = fl_lkp_get(map, key);

	if (!fl_lkp_none(old)) {
		d->hidden = fl_realloc(d->hidden,
				       (d->nhidden + 1) * sizeof(*d->hidden));
		d->hidden[d->nhidden++] = (struct fl_lkp_hidden){
			.key = fl_strdup(key), .value = old, .by = value
		};
	}
	fl_lkp_put(map, key, value);
}

void fl_lkp_remove(struct fl_lkp_node *map, const char *key)
{
	for (size_t i = 0; i < map->n; i++) {
		if (strcmp(map->item[i].key, key) != 0)
			continue;
		free(map->item[i].key);
		memmove(&map->item[i], &map->item[i + 1],
			(map->n - i - 1) * sizeof(*map->item));
		map->n--;
		return;
	}
}

json_t *fl_lkp_json(const struct fl_lkp_node *v)
{
	json_t *j;

	if (fl_lkp_none(v))
		return json_null();
	if (v->kind == FL_LKP_TEXT)
		return json_string(v->text);
	j = v->kind == FL_LKP_MAP ? json_object() : json_array();
	for (size_t i = 0; i < v->n; i++) {
		json_t *child = fl_lkp_json(v->item[i].value);

		if (v->kind == FL_LKP_MAP)
			json_object_set_new(j, v->item[i].key, child);
		else
			json_array_append_new(j, child);
	}
	return j;
}

void fl_lkp_list_add(struct fl_lkp_list *l, struct fl_lkp_node *v)
{
	l->v = fl_realloc(l->v, (l->n + 1) * sizeof(struct fl_lkp_node *));
	l->v[l->n++] = v;
}

void fl_lkp_list_clear(struct fl_lkp_list *l)
{
	free(l->v);
	*l = (struct fl_lkp_list){ 0 };
}

void fl_lkp_docs_clear(struct fl_lkp_docs *d)
{
	for (struct fl_lkp_node *v = d->pool, *next; v; v = next) {
		next = v->next;
		for (size_t i = 0; i < v->n; i++)
			free(v->item[i].key);
		free(v->item);
		free(v->text);
		free(v);
	}
	for (size_t i = 0; i < d->nhidden; i++)
		free(d->hidden[i].key);
	free(d->hidden);
	fl_lkp_list_clear(&d->docs);
	fl_strv_clear(&d->files);
	*d = (struct fl_lkp_docs){ 0 };
}

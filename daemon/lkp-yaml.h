/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * YAML as lkp-tests writes it, read into trees that know where each value
 * stands. Includes ("<<: FILE", "<<: {file: FILE, key: value}") and YAML
 * merges ("<<: *name") are resolved; "{{ ruby }}" stays as text. Everything
 * is bounded: bytes, files, nesting, and values after aliases are expanded.
 */
#ifndef FL_LKP_YAML_H
#define FL_LKP_YAML_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "util/buf.h"
#include "util/err.h"
#include "util/strv.h"

enum fl_lkp_kind { FL_LKP_TEXT, FL_LKP_LIST, FL_LKP_MAP };

struct fl_lkp_item {
	char *key; /* NULL in lists */
	struct fl_lkp_node *value; /* never NULL, owned by the pool */
};

struct fl_lkp_node {
	enum fl_lkp_kind kind;
	const char *file; /* owned by the documents */
	size_t line; /* of the key in maps, else of the value; from 1 */
	char *text; /* of a TEXT; NULL: nothing is given ("key:", "~") */
	bool alias; /* it was "*name" */
	bool said; /* for the reader of the trees: it is in the report */
	struct fl_lkp_item *item;
	size_t n, cap;
	struct fl_lkp_node *next; /* in the pool */
};

/* A value that a later one of the same key took the place of. */
struct fl_lkp_hidden {
	char *key;
	struct fl_lkp_node *value;
	const struct fl_lkp_node *by;
};

/* Nodes that the pool owns. */
struct fl_lkp_list {
	struct fl_lkp_node **v;
	size_t n;
};

struct fl_lkp_docs {
	struct fl_lkp_list docs; /* MAPs, in the order of the stream */
	struct fl_lkp_hidden *hidden;
	size_t nhidden;
	struct fl_strv files; /* [0]: the job's own, then what it includes */
	size_t bytes, nodes; /* so far */
	struct fl_lkp_node *pool;
};

/*
 * Reads a job file. src: a checkout of lkp-tests in which includes are looked
 * for as well, or NULL. Errors (USER) name the file and the line.
 */
int fl_lkp_docs_load(const char *path, const char *src, struct fl_lkp_docs *ret,
		     struct fl_err *err);
void fl_lkp_docs_clear(struct fl_lkp_docs *d);

/* NULL when map is no map or has no such key. */
struct fl_lkp_node *fl_lkp_get(const struct fl_lkp_node *map, const char *key);
/* Is nothing there: no node, or an empty value? */
bool fl_lkp_none(const struct fl_lkp_node *v);
/* A node that stands where `at` stands. */
struct fl_lkp_node *fl_lkp_new(struct fl_lkp_docs *d, enum fl_lkp_kind kind,
			       const struct fl_lkp_node *at);
struct fl_lkp_node *fl_lkp_new_at(struct fl_lkp_docs *d, enum fl_lkp_kind kind,
				  const char *file, size_t line);
/* Appends; key NULL in lists. */
void fl_lkp_add(struct fl_lkp_node *to, const char *key,
		struct fl_lkp_node *value);
/* Replaces or appends; put_over notes in d->hidden what was replaced. */
void fl_lkp_put(struct fl_lkp_node *map, const char *key,
		struct fl_lkp_node *value);
void fl_lkp_put_over(struct fl_lkp_docs *d, struct fl_lkp_node *map,
		     const char *key, struct fl_lkp_node *value);
void fl_lkp_remove(struct fl_lkp_node *map, const char *key);
/* Texts become strings, nothing null. New. */
json_t *fl_lkp_json(const struct fl_lkp_node *v);

void fl_lkp_list_add(struct fl_lkp_list *l, struct fl_lkp_node *v);
void fl_lkp_list_clear(struct fl_lkp_list *l);

/* A USER error about a place in a file. */
#define FL_LKP_BAD(err, file, line, fmt, ...)                            \
	fl_err_set(err, -EINVAL, FL_E_USER, "'%s' line %zu: " fmt, file, \
		   (size_t)(line), ##__VA_ARGS__)

/* ---- stages of fl_lkp_docs_load() ------------------------------------------ */

#define FL_LKP_FILE_MAX ((size_t)1 << 20)

/*
 * lkp-text.c: appends the file's text, which is checked to be text and no ERB
 * template, with "{{ … }}" put into quotes and each line where it was.
 */
int fl_lkp_text_read(const char *path, struct fl_buf *ret, struct fl_err *err);
/*
 * lkp-yaml.c: appends the documents of a text, "<<" still in them, to ret.
 * file has to live as long as d.
 */
int fl_lkp_yaml_parse(struct fl_lkp_docs *d, const char *file, const char *text,
		      size_t n, struct fl_lkp_list *ret, struct fl_err *err);

#endif

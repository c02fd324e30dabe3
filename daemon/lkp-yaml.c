// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * YAML text to trees, see lkp-yaml.h. libyaml's events become nodes of one pool; an alias is a
 * copy, so that what reads the trees meets no sharing and no loops, and the
 * bound on nodes holds for what aliases expand to.
 */
#include "lkp-yaml.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#define NODES_MAX 5000
#define DEPTH_MAX 32 /* of values in values */
#define DOCS_MAX 64
#define ANCHORS_MAX 256

struct anchor {
	char *name;
	struct fl_lkp_node *node;
	bool open; /* we are inside of it */
};

/* One file on its way into documents. */
struct reader {
	yaml_parser_t parser;
	struct fl_lkp_docs *d;
	const char *file;
	struct anchor anchor[ANCHORS_MAX];
	size_t nanchors;
	struct fl_lkp_list *docs;
	struct fl_err *err;
};

/* ---- events ---------------------------------------------------------------- */

static int parser_error(const struct reader *rd)
{
	const yaml_parser_t *p = &rd->parser;
	const char *what = p->problem ? p->problem : "no YAML";
	bool tab = p->buffer.pointer && *p->buffer.pointer == '\t';

	return FL_LKP_BAD(rd->err, rd->file, p->problem_mark.line + 1, "%s%s",
			  what,
			  tab ? ": YAML indents by blanks, not tabs" : "");
}

static int next_event(struct reader *rd, yaml_event_t *e)
{
	if (!yaml_parser_parse(&rd->parser, e)) {
		*e = (yaml_event_t){ 0 };
		return parser_error(rd);
	}
	return 0;
}

static int too_much(const struct reader *rd, size_t line, const char *what,
		    size_t max)
{
	return FL_LKP_BAD(rd->err, rd->file, line, "more than %zu %s", max,
			  what);
}

/* Ruby objects and the like are not for us; "!!str 8" is a text. */
static int check_tag(const struct reader *rd, const yaml_char_t *tag,
		     size_t line)
{
	static const char *const plain[] = { "str",  "int", "float", "bool",
					     "null", "map", "seq" };
	static const char core[] = "tag:yaml.org,2002:";
	const char *s = (const char *)tag;

	if (!s)
		return 0;
	for (size_t i = 0; i < FL_ARRAY_SIZE(plain); i++)
		if (!strncmp(s, core, sizeof(core) - 1) &&
		    !strcmp(s + sizeof(core) - 1, plain[i]))
			return 0;
	return FL_LKP_BAD(rd->err, rd->file, line, "unknown tag '%.60s'", s);
}

/* ---- anchors --------------------------------------------------------------- */

static int open_anchor(struct reader *rd, const yaml_char_t *name,
		       struct fl_lkp_node *v)
{
	if (!name)
		return 0;
	if (rd->nanchors == ANCHORS_MAX)
		return too_much(rd, v->line, "anchors", ANCHORS_MAX);
	rd->anchor[rd->nanchors++] = (struct anchor){
		.name = fl_strdup((const char *)name), .node = v, .open = true
	};
	return 0;
}

static void close_anchor(struct reader *rd, const struct fl_lkp_node *v)
{
	for (size_t i = 0; i < rd->nanchors; i++)
		if (rd->anchor[i].node == v)
			rd->anchor[i].open = false;
}

static void forget_anchors(struct reader *rd)
{
	for (size_t i = 0; i < rd->nanchors; i++)
		free(rd->anchor[i].name);
	rd->nanchors = 0;
}

static int copy_node(struct reader *rd, const struct fl_lkp_node *from,
		     size_t line, struct fl_lkp_node **ret)
{
	struct fl_lkp_node *v;

	if (rd->d->nodes >= NODES_MAX)
		return too_much(rd, line, "values after aliases are expanded",
				NODES_MAX);
	v = fl_lkp_new(rd->d, from->kind, from);
	v->text = fl_strdup(from->text);
	v->alias = from->alias;
	for (size_t i = 0; i < from->n; i++) {
		struct fl_lkp_node *child;
		int r = copy_node(rd, from->item[i].value, line, &child);

		if (r < 0)
			return r;
		fl_lkp_add(v, from->item[i].key, child);
	}
	*ret = v;
	return 0;
}

static int take_alias(struct reader *rd, const char *name, size_t line,
		      struct fl_lkp_node **ret)
{
	for (size_t i = rd->nanchors; i-- > 0;) {
		const struct anchor *a = &rd->anchor[i];

		if (strcmp(a->name, name) != 0)
			continue;
		if (a->open)
			return FL_LKP_BAD(rd->err, rd->file, line,
					  "'*%.60s' stands inside '&%.60s'",
					  name, name);
		return copy_node(rd, a->node, line, ret);
	}
	return FL_LKP_BAD(
		rd->err, rd->file, line,
		"'*%.60s' names nothing: there is no '&%.60s' before it", name,
		name);
}

static int compose(struct reader *rd, const yaml_event_t *e, int depth,
		   struct fl_lkp_node **ret);

/* "<<" stays an item of the map: lkp-include.c resolves it. */
static int map_item(struct reader *rd, struct fl_lkp_node *map,
		    const yaml_event_t *e, int depth)
{
	const char *key = (const char *)e->data.scalar.value;
	struct fl_lkp_node *value = NULL;
	size_t line = e->start_mark.line + 1;
	yaml_event_t next;
	int r;

	if (e->type != YAML_SCALAR_EVENT)
		return FL_LKP_BAD(rd->err, rd->file, line,
				  "expected a word as a key");
	r = next_event(rd, &next);
	if (!r)
		r = compose(rd, &next, depth, &value);
	if (!r && next.type == YAML_ALIAS_EVENT)
		value->alias = true;
	else if (!r)
		value->line = line;
	if (!r)
		fl_lkp_add(map, key, value);
	yaml_event_delete(&next);
	return r;
}

static int compose_list(struct reader *rd, struct fl_lkp_node *v, int depth)
{
	for (;;) {
		struct fl_lkp_node *child = NULL;
		yaml_event_t e;
		bool end;
		int r = next_event(rd, &e);

		end = e.type == YAML_SEQUENCE_END_EVENT;
		if (!r && !end)
			r = compose(rd, &e, depth + 1, &child);
		yaml_event_delete(&e);
		if (r < 0 || end)
			return r;
		fl_lkp_add(v, NULL, child);
	}
}

static int compose_map(struct reader *rd, struct fl_lkp_node *v, int depth)
{
	for (;;) {
		yaml_event_t e;
		bool end;
		int r = next_event(rd, &e);

		end = e.type == YAML_MAPPING_END_EVENT;
		if (!r && !end)
			r = map_item(rd, v, &e, depth + 1);
		yaml_event_delete(&e);
		if (r < 0 || end)
			return r;
	}
}

static char *scalar_text(const yaml_event_t *e)
{
	const char *s = (const char *)e->data.scalar.value;
	bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (plain && (!*s || !strcmp(s, "~") || !strcmp(s, "null")))
		return NULL;
	return fl_strdup(s);
}

/* depth: 1 for the root of a document. */
static int compose(struct reader *rd, const yaml_event_t *e, int depth,
		   struct fl_lkp_node **ret)
{
	size_t line = e->start_mark.line + 1;
	bool text = e->type == YAML_SCALAR_EVENT;
	bool list = e->type == YAML_SEQUENCE_START_EVENT;
	const yaml_char_t *anchor, *tag;
	struct fl_lkp_node *v;
	int r;

	if (e->type == YAML_ALIAS_EVENT)
		return take_alias(rd, (const char *)e->data.alias.anchor, line,
				  ret);
	if (depth > DEPTH_MAX)
		return too_much(rd, line, "levels of nesting", DEPTH_MAX);
	if (rd->d->nodes >= NODES_MAX)
		return too_much(rd, line, "values", NODES_MAX);
	anchor = text ? e->data.scalar.anchor :
		 list ? e->data.sequence_start.anchor :
			e->data.mapping_start.anchor;
	tag = text ? e->data.scalar.tag :
	      list ? e->data.sequence_start.tag :
		     e->data.mapping_start.tag;
	v = fl_lkp_new_at(rd->d,
			  text ? FL_LKP_TEXT :
			  list ? FL_LKP_LIST :
				 FL_LKP_MAP,
			  rd->file, line);
	r = check_tag(rd, tag, line);
	if (!r)
		r = open_anchor(rd, anchor, v);
	if (!r && text)
		v->text = scalar_text(e);
	else if (!r && list)
		r = compose_list(rd, v, depth);
	else if (!r)
		r = compose_map(rd, v, depth);
	close_anchor(rd, v);
	*ret = v;
	return r;
}

/* ---- documents ------------------------------------------------------------- */

static int add_doc(struct reader *rd, struct fl_lkp_node *map)
{
	if (rd->docs->n == DOCS_MAX)
		return too_much(rd, map->line, "documents", DOCS_MAX);
	fl_lkp_list_add(rd->docs, map);
	return 0;
}

static int add_root(struct reader *rd, struct fl_lkp_node *root)
{
	if (!root || fl_lkp_none(root))
		return 0; /* nothing between two "---" */
	if (root->kind != FL_LKP_MAP)
		return FL_LKP_BAD(
			rd->err, rd->file, root->line,
			"no job: expected lines like 'key: value', there is a %s",
			root->kind == FL_LKP_LIST ? "list" : "text");
	return add_doc(rd, root);
}

static int read_stream(struct reader *rd)
{
	for (;;) {
		struct fl_lkp_node *root = NULL;
		bool end, value;
		yaml_event_t e;
		int r = next_event(rd, &e);

		end = e.type == YAML_STREAM_END_EVENT;
		if (e.type == YAML_DOCUMENT_END_EVENT)
			forget_anchors(rd);
		value = !r && !end && e.type != YAML_STREAM_START_EVENT &&
			e.type != YAML_DOCUMENT_START_EVENT &&
			e.type != YAML_DOCUMENT_END_EVENT;
		if (value)
			r = compose(rd, &e, 1, &root);
		yaml_event_delete(&e);
		if (!r && value)
			r = add_root(rd, root);
		if (r < 0 || end)
			return r;
	}
}

int fl_lkp_yaml_parse(struct fl_lkp_docs *d, const char *file, const char *text,
		      size_t n, struct fl_lkp_list *ret, struct fl_err *err)
{
	_cleanup_free_ struct reader *rd = fl_calloc(1, sizeof(*rd));
	int r;

	*rd = (struct reader){ .d = d, .file = file, .docs = ret, .err = err };
	if (!yaml_parser_initialize(&rd->parser))
		abort(); /* out of memory */
	yaml_parser_set_encoding(&rd->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&rd->parser, (const yaml_char_t *)text, n);
	r = read_stream(rd);
	yaml_parser_delete(&rd->parser);
	forget_anchors(rd);
	return r;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* See samples.h. */
#include "samples.h"

#include <errno.h>
#include <string.h>
#include "../../jobs/agent/protocol.h"
#include "../util/fs.h"
#include "../util/json.h"

#define MAP_MAX (64 << 20)
#define CODE_MAX (256u << 20)
#define SAMPLES_MAX 100000000
#define NODE_PARENT 0
#define NODE_WHAT 1
#define NODE_COUNT 2

static int64_t member(const json_t *node, size_t i)
{
	return json_integer_value(json_array_get(node, i));
}

static int bad(struct fl_err *err, const char *what)
{
	return fl_err_set(err, -EINVAL, FL_E_INFRA, "profile: %s", what);
}

/* ---- events ----------------------------------------------------------------- */

static int begin(json_t *list, const json_t *event, struct fl_err *err)
{
	static const char *const keys[] = { "period_ns", "samples", "user",
					    "lost" };
	json_t *entry = json_object();

	json_array_append_new(list, entry);
	json_object_set_new(entry, "nodes", json_array());
	json_object_set(entry, "case", json_object_get(event, "case"));
	for (size_t i = 0; i < FL_ARRAY_SIZE(keys); i++) {
		int64_t v;
		int r = fl_json_int(event, keys[i], "profile", 0, SAMPLES_MAX,
				    &v, err);

		if (r < 0)
			return r;
		json_object_set_new(entry, keys[i], json_integer(v));
	}
	return 0;
}

static json_t *entry_of(json_t *list, const json_t *event)
{
	const char *name = fl_json_str_or(event, "case", "");
	json_t *e;
	size_t i;

	json_array_foreach(list, i, e)
		if (!strcmp(fl_json_str_or(e, "case", ""), name))
			return e;
	return NULL;
}

static bool shallow(const json_t *nodes, int64_t i)
{
	int depth = 0;

	for (; i >= 0 && depth < FL_SAMPLES_DEPTH; depth++)
		i = member(json_array_get(nodes, (size_t)i), NODE_PARENT);
	return depth < FL_SAMPLES_DEPTH;
}

static bool good_node(const json_t *node, const json_t *before)
{
	size_t index = json_array_size(before);

	if (json_array_size(node) != 3)
		return false;
	for (size_t i = 0; i < 3; i++)
		if (!json_is_integer(json_array_get(node, i)))
			return false;
	if (!shallow(before, member(node, NODE_PARENT)))
		return false;
	return member(node, NODE_PARENT) >= -1 &&
	       member(node, NODE_PARENT) < (int64_t)index &&
	       member(node, NODE_WHAT) >= 0 &&
	       member(node, NODE_WHAT) <= UINT32_MAX &&
	       member(node, NODE_COUNT) >= 0 &&
	       member(node, NODE_COUNT) <= SAMPLES_MAX;
}

int fl_samples_event(json_t *list, const json_t *event, struct fl_err *err)
{
	json_t *entry = entry_of(list, event), *nodes, *node;
	const json_t *more = json_object_get(event, "nodes");
	int64_t first = fl_json_int_or(event, "first", -1);
	size_t i;

	if (!first && !entry) {
		int r = begin(list, event, err);

		if (r < 0)
			return r;
		entry = json_array_get(list, json_array_size(list) - 1);
	}
	nodes = json_object_get(entry, "nodes");
	if (!entry || first != (int64_t)json_array_size(nodes))
		return bad(err, "nodes out of turn");
	if (json_array_size(nodes) + json_array_size(more) > FL_SAMPLES_NODES)
		return bad(err, "too many nodes");
	json_array_foreach((json_t *)more, i, node) {
		if (!good_node(node, nodes))
			return bad(err, "a node that cannot be");
		json_array_append(nodes, node);
	}
	return 0;
}

/* ---- code ------------------------------------------------------------------- */

bool fl_code_is_rep(const unsigned char *p, size_t n)
{
	bool repeat = false;

	for (size_t i = 0; i < n && i < 15; i++) {
		unsigned char c = p[i];

		if (c == 0xf2 || c == 0xf3) {
			repeat = true;
			continue;
		}
		/* operand and address size, segments, REX */
		if (c == 0x66 || c == 0x67 || c == 0x2e || c == 0x36 ||
		    c == 0x3e || c == 0x26 || c == 0x64 || c == 0x65 ||
		    (c & 0xf0) == 0x40)
			continue;
		/* ins, outs; movs, cmps; stos, lods, scas */
		return repeat &&
		       ((c >= 0x6c && c <= 0x6f) || (c >= 0xa4 && c <= 0xa7) ||
			(c >= 0xaa && c <= 0xaf));
	}
	return false;
}

static const unsigned char *code_at(const struct fl_code *code, uint64_t addr,
				    size_t *left)
{
	if (!code || addr < code->base || addr - code->base >= code->n)
		return NULL;
	*left = code->n - (size_t)(addr - code->base);
	return code->bytes + (addr - code->base);
}

/*
 * Does this code belong to these samples? Then most callers stand right
 * behind a near call; of other bytes hardly any would.
 */
static bool code_fits(const json_t *nodes, const struct fl_code *code)
{
	size_t i, calls = 0, callers = 0, left;
	json_t *node;

	json_array_foreach((json_t *)nodes, i, node) {
		uint64_t addr =
			FL_PROFILE_BASE + (uint64_t)member(node, NODE_WHAT);
		const unsigned char *p = code_at(code, addr - 5, &left);

		if (member(node, NODE_COUNT) || !p || left < 5)
			continue;
		callers++;
		calls += p[0] == 0xe8;
	}
	return callers && calls * 2 > callers;
}

/* ---- functions -------------------------------------------------------------- */

struct merge {
	const struct fl_symbols *symbols;
	const struct fl_code *code;
	json_t *out; /* the new nodes */
	int64_t *map; /* raw node to new one */
	int64_t *first, *next; /* children of a new node; [0]: of none */
};

/* The new node of this function below parent; made when it is not there. */
static int64_t child(struct merge *m, int64_t parent, const char *name)
{
	int64_t n = (int64_t)json_array_size(m->out), i;

	for (i = m->first[parent + 1]; i >= 0; i = m->next[i])
		if (!strcmp(json_string_value(json_array_get(
				    json_array_get(m->out, (size_t)i), 1)),
			    name))
			return i;
	json_array_append_new(m->out,
			      json_pack("[I, s, i, i]", (json_int_t)parent,
					name, 0, 0));
	m->next[n] = m->first[parent + 1];
	m->first[parent + 1] = n;
	m->first[n + 1] = -1;
	return n;
}

static void add_to(json_t *node, size_t i, int64_t count)
{
	json_array_set_new(node, i, json_integer(member(node, i) + count));
}

/* Returns how many of the node's samples are on string instructions. */
static int64_t merge_node(struct merge *m, const json_t *raw, size_t i)
{
	uint64_t addr = FL_PROFILE_BASE + (uint64_t)member(raw, NODE_WHAT);
	int64_t parent = member(raw, NODE_PARENT);
	int64_t count = member(raw, NODE_COUNT), rep = 0;
	const unsigned char *p;
	const char *name;
	size_t left = 0;
	json_t *node;

	/* A caller is known by where it goes on, behind its call. */
	name = fl_symbols_find(m->symbols, count ? addr : addr - 1);
	m->map[i] = child(m, parent < 0 ? -1 : m->map[parent],
			  name ? name : "[unknown]");
	node = json_array_get(m->out, (size_t)m->map[i]);
	p = count ? code_at(m->code, addr, &left) : NULL;
	if (p && fl_code_is_rep(p, left))
		rep = count;
	add_to(node, 2, count);
	add_to(node, 3, rep);
	return rep;
}

int fl_samples_functions(const json_t *raw, const struct fl_symbols *symbols,
			 const struct fl_code *code, json_t **ret,
			 struct fl_err *err)
{
	const json_t *nodes = json_object_get(raw, "nodes");
	size_t n = json_array_size(nodes), i;
	bool fits = code && code_fits(nodes, code);
	_cleanup_free_ int64_t *map = fl_calloc(n + 1, sizeof(*map));
	_cleanup_free_ int64_t *first = fl_calloc(n + 2, sizeof(*first));
	_cleanup_free_ int64_t *next = fl_calloc(n + 1, sizeof(*next));
	struct merge m = { symbols,	 fits ? code : NULL,
			   json_array(), map,
			   first,	 next };
	int64_t total = fl_json_int_or(raw, "user", 0), rep = 0;
	json_t *node;

	first[0] = -1;
	json_array_foreach((json_t *)nodes, i, node) {
		rep += merge_node(&m, node, i);
		total += member(node, NODE_COUNT);
	}
	*ret = json_pack("{s:O, s:I, s:I, s:I, s:I, s:o, s:o}", "case",
			 json_object_get(raw, "case"), "period_ns",
			 (json_int_t)fl_json_int_or(raw, "period_ns", 0),
			 "samples",
			 (json_int_t)fl_json_int_or(raw, "samples", 0), "user",
			 (json_int_t)fl_json_int_or(raw, "user", 0), "lost",
			 (json_int_t)fl_json_int_or(raw, "lost", 0), "rep",
			 fits ? json_integer(rep) : json_null(), "nodes",
			 m.out);
	if (total == fl_json_int_or(raw, "samples", -1))
		return 0;
	json_decref(*ret);
	*ret = NULL;
	return bad(err, "the nodes hold another number of samples");
}

/* ---- files ------------------------------------------------------------------ */

bool fl_samples_code(const struct fl_symbols *symbols, uint64_t *virt,
		     uint64_t *phys, uint64_t *n)
{
	uint64_t end = fl_symbols_address(symbols, "_etext");

	*virt = fl_symbols_address(symbols, "_text");
	*phys = *virt - FL_PROFILE_BASE;
	*n = end - *virt;
	return *virt >= FL_PROFILE_BASE && end > *virt && *n <= CODE_MAX;
}

int fl_samples_symbols(const char *system_map, struct fl_symbols **ret,
		       struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf text = { 0 };
	int r = fl_fs_read(system_map, MAP_MAX, &text, err);

	if (!r)
		r = fl_symbols_read(fl_buf_str(&text), text.len, ret, err);
	return r < 0 ? fl_err_prefix(err, "'%s'", system_map) : 0;
}

int fl_samples_name(const json_t *list, const char *system_map,
		    const char *code_file, json_t **ret, struct fl_err *err)
{
	_cleanup_(fl_symbols_freep) struct fl_symbols *symbols = NULL;
	_cleanup_buf_ struct fl_buf bytes = { 0 };
	json_auto_t *out = json_array();
	struct fl_code code = { 0 };
	uint64_t phys, len;
	bool known;
	json_t *raw;
	size_t i;
	int r = fl_samples_symbols(system_map, &symbols, err);

	if (r < 0)
		return r;
	known = code_file &&
		fl_samples_code(symbols, &code.base, &phys, &len) &&
		!fl_fs_read(code_file, CODE_MAX, &bytes, NULL);
	code.bytes = (const unsigned char *)bytes.s;
	code.n = bytes.len;
	json_array_foreach((json_t *)list, i, raw) {
		json_t *named;

		if (!fl_samples_functions(raw, symbols, known ? &code : NULL,
					  &named, NULL))
			json_array_append_new(out, named);
	}
	*ret = fl_steal(out);
	return 0;
}

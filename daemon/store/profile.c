// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of profiles: what a bundle holds, checked. See store.h. */
#include "db.h"

#include <errno.h>
#include <string.h>

#define NODES_MAX 65536
#define DEPTH_MAX 128
#define NAME_MAX_BYTES 255
#define COUNT_MAX 1000000000

static const char SQL_CASE_OF[] =
	"SELECT c.id FROM run_case rc JOIN \"case\" c ON c.id = rc.case_id "
	"WHERE rc.run_id = ? AND c.name = ?";
static const char SQL_PROFILE[] =
	"INSERT INTO profile (run_id, case_id, period_ns, samples, user, rep, "
	"lost) VALUES (?1, ?2, ?3, ?4, ?5, iif(?6 < 0, NULL, ?6), ?7)";
static const char SQL_FUNCTION[] =
	"INSERT INTO function (name) VALUES (?) "
	"ON CONFLICT (name) DO UPDATE SET name = name RETURNING id";
static const char SQL_NODE[] =
	"INSERT INTO profile_node (run_id, case_id, node, parent, function_id, "
	"self, rep) VALUES (?, ?, ?, ?, ?, ?, ?)";

/* One node, taken apart. */
struct node {
	int64_t parent, self, rep;
	const char *name;
	int depth;
};

static bool count_at(const json_t *array, size_t i, int64_t *ret)
{
	const json_t *v = json_array_get(array, i);

	*ret = json_integer_value(v);
	return json_is_integer(v) && *ret >= 0 && *ret <= COUNT_MAX;
}

/* Frames and counts of folded stacks are parted by ';' and ' '. */
static bool good_name(const char *s)
{
	size_t n = s ? strlen(s) : 0;

	for (size_t i = 0; i < n; i++)
		if (s[i] <= 0x20 || s[i] >= 0x7f || s[i] == ';')
			return false;
	return n && n <= NAME_MAX_BYTES;
}

static bool read_node(const json_t *v, const int *depth, size_t index,
		      struct node *n)
{
	const json_t *parent = json_array_get(v, 0);

	n->parent = json_integer_value(parent);
	n->name = json_string_value(json_array_get(v, 1));
	if (json_array_size(v) != 4 || !json_is_integer(parent) ||
	    n->parent < -1 || n->parent >= (int64_t)index ||
	    !good_name(n->name) || !count_at(v, 2, &n->self) ||
	    !count_at(v, 3, &n->rep) || n->rep > n->self)
		return false;
	n->depth = n->parent < 0 ? 1 : depth[n->parent] + 1;
	return n->depth <= DEPTH_MAX;
}

static int add_nodes(struct fl_store *s, int64_t run, int64_t case_id,
		     const json_t *nodes, int64_t *total, struct fl_err *err)
{
	size_t n = json_array_size(nodes), i;
	_cleanup_free_ int *depth = NULL;
	json_t *v;

	if (n > NODES_MAX)
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "a profile with %zu nodes", n);
	depth = fl_calloc(n + 1, sizeof(*depth));
	json_array_foreach((json_t *)nodes, i, v) {
		struct node node;
		int64_t function;
		int r;

		if (!read_node(v, depth, i, &node))
			return fl_err_set(err, -EINVAL, FL_E_USER,
					  "a profile whose node %zu cannot be",
					  i);
		depth[i] = node.depth;
		*total += node.self;
		r = fl_db_int(s, &function, err, SQL_FUNCTION, "s", node.name);
		if (!r)
			r = fl_db_exec(s, err, SQL_NODE, "iiiiiii", run,
				       case_id, (int64_t)i, node.parent,
				       function, node.self, node.rep);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_profile(struct fl_store *s, int64_t run, const json_t *p,
		       struct fl_err *err)
{
	const char *name = fl_json_str_or(p, "case", "");
	int64_t case_id, period, samples = 0, user = 0, lost, total;
	int r = fl_db_int(s, &case_id, err, SQL_CASE_OF, "is", run, name);

	if (r == -ENOENT)
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "the run was not asked for case '%s'", name);
	if (!r)
		r = fl_json_int(p, "period_ns", name, 1, COUNT_MAX, &period,
				err);
	if (!r)
		r = fl_json_int(p, "samples", name, 0, COUNT_MAX, &samples,
				err);
	if (!r)
		r = fl_json_int(p, "user", name, 0, samples, &user, err);
	if (!r)
		r = fl_json_int(p, "lost", name, 0, COUNT_MAX, &lost, err);
	if (!r)
		r = fl_db_exec(s, err, SQL_PROFILE, "iiiiiii", run, case_id,
			       period, samples, user,
			       fl_json_int_or(p, "rep", -1), lost);
	total = user;
	if (!r)
		r = add_nodes(s, run, case_id, json_object_get(p, "nodes"),
			      &total, err);
	if (!r && total != samples)
		r = fl_err_set(err, -EINVAL, FL_E_USER,
			       "a profile of '%s' whose counts do not add up",
			       name);
	return r;
}

int fl_store_profiles(struct fl_store *s, int64_t run_id,
		      const json_t *profiles, struct fl_err *err)
{
	json_t *p;
	size_t i;
	int r = fl_store_begin(s, err);

	if (r < 0)
		return r;
	json_array_foreach((json_t *)profiles, i, p)
		if (!r)
			r = add_profile(s, run_id, p, err);
	if (r < 0) {
		fl_store_rollback(s);
		return r;
	}
	return fl_store_commit(s, err);
}

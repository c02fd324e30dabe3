// SPDX-License-Identifier: GPL-2.0-or-later
/* Profiles of the fake host: the "profile" lines of fake.h as a tree. */
#include <fnmatch.h>
#include <string.h>
#include "../util/json.h"
#include "../util/strv.h"
#include "fake.h"
#include "samples.h"

/* The node of this function below parent; made when it is not there. */
static int64_t child(json_t *nodes, int64_t parent, const char *name)
{
	json_t *n;
	size_t i;

	json_array_foreach(nodes, i, n)
		if (json_integer_value(json_array_get(n, 0)) == parent &&
		    !strcmp(json_string_value(json_array_get(n, 1)), name))
			return (int64_t)i;
	json_array_append_new(nodes, json_pack("[I, s, i, i]",
					       (json_int_t)parent, name, 0, 0));
	return (int64_t)json_array_size(nodes) - 1;
}

static void add_to(json_t *node, size_t i, int64_t count)
{
	int64_t v = json_integer_value(json_array_get(node, i));

	json_array_set_new(node, i, json_integer(v + count));
}

/* Returns how many of the samples are on a string instruction. */
static int64_t add_stack(json_t *nodes, char *stack, int64_t count)
{
	_cleanup_strv_ struct fl_strv frames = { 0 };
	size_t n = strlen(stack);
	bool rep = n && stack[n - 1] == '*';
	int64_t at = -1;

	if (rep)
		stack[n - 1] = '\0';
	fl_strv_split(&frames, stack, ";");
	for (size_t i = 0; i < frames.n; i++)
		at = child(nodes, at, frames.s[i]);
	if (at >= 0)
		add_to(json_array_get(nodes, (size_t)at), 2, count);
	if (at >= 0 && rep)
		add_to(json_array_get(nodes, (size_t)at), 3, count);
	return rep ? count : 0;
}

json_t *fl_fake_profile(const char *kernel, const char *case_name,
			int64_t period_ns)
{
	_cleanup_strv_ struct fl_strv lines = { 0 };
	int64_t samples = 0, user = 0, rep = 0;
	json_t *nodes = json_array();

	fl_strv_split(&lines, kernel, "\n");
	for (size_t i = 0; i < lines.n; i++) {
		_cleanup_strv_ struct fl_strv word = { 0 };
		char *stack;
		int64_t count;

		fl_strv_split(&word, lines.s[i], " ");
		if (word.n != 4 || strcmp(word.s[0], "profile") != 0 ||
		    fnmatch(word.s[1], case_name, 0))
			continue;
		stack = word.s[2];
		count = strtoll(word.s[3], NULL, 10);
		samples += count;
		if (!strcmp(stack, "[user]"))
			user += count;
		else
			rep += add_stack(nodes, stack, count);
	}
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "case",
			 case_name, "period_ns", (json_int_t)period_ns,
			 "samples", (json_int_t)samples, "user",
			 (json_int_t)user, "lost", (json_int_t)0, "rep",
			 (json_int_t)rep, "nodes", nodes);
}

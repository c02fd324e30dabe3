// SPDX-License-Identifier: GPL-2.0-or-later
/* See kconfig.h. */
#include "kconfig.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define MAX_CONFIG (4 << 20) /* an allmodconfig has 0.4 MB */

void fl_kopts_clear(struct fl_kopts *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->v[i].name);
		free(o->v[i].value);
		free(o->v[i].from);
	}
	free(o->v);
	*o = (struct fl_kopts){ 0 };
}

/* Length of the "CONFIG_X" that s starts with; 0 when it does not. */
static size_t name_len(const char *s)
{
	size_t n = 7;

	if (strncmp(s, "CONFIG_", n) != 0)
		return 0;
	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n > 7 ? n : 0;
}

/* Length of the value at s: a quoted string, or up to a space. */
static size_t value_len(const char *s)
{
	size_t n = 1;

	if (*s != '"')
		return strcspn(s, " \t");
	while (s[n] && s[n] != '"')
		n += s[n] == '\\' && s[n + 1] ? 2 : 1;
	return s[n] ? n + 1 : 0;
}

/* Parses a line of a .config or a fragment; false = it sets nothing. */
static bool parse_line(const char *line, struct fl_kopt *ret, const char **rest)
{
	static const char not_set[] = " is not set";
	const char *s = line;
	bool unset = !strncmp(s, "# CONFIG_", 9);
	size_t n, v;

	if (unset)
		s += 2;
	n = name_len(s);
	if (!n)
		return false;
	if (unset) {
		if (strncmp(s + n, not_set, sizeof(not_set) - 1) != 0)
			return false;
		*rest = s + n + sizeof(not_set) - 1;
		*ret = (struct fl_kopt){ .name = fl_strndup(s, n) };
		return true;
	}
	if (s[n] != '=')
		return false;
	v = value_len(s + n + 1);
	if (!v)
		return false;
	*rest = s + n + 1 + v;
	*ret = (struct fl_kopt){ .name = fl_strndup(s, n) };
	if (v != 1 || s[n + 1] != 'n') /* "=n" is another "is not set" */
		ret->value = fl_strndup(s + n + 1, v);
	return true;
}

static char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return fl_strdup(slash ? slash + 1 : path);
}

static int take_line(struct fl_kopts *o, const char *name, size_t number,
		     const char *line, struct fl_err *err)
{
	static const char mark[] = "# optional";
	struct fl_kopt opt;
	const char *rest = "";
	const char *s = line + strspn(line, " \t");

	if (!parse_line(s, &opt, &rest)) {
		if (!*s || *s == '#')
			return 0;
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"'%s' line %zu: expected CONFIG_X=value or '# CONFIG_X is not set'",
			name, number);
	}
	rest += strspn(rest, " \t");
	if (*rest && *rest != '#') {
		free(opt.name);
		free(opt.value);
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "'%s' line %zu: '%s' after the value", name,
				  number, rest);
	}
	opt.optional = !strncmp(rest, mark, sizeof(mark) - 1);
	opt.from = base_name(name);
	o->v = fl_realloc(o->v, (o->n + 1) * sizeof(*o->v));
	o->v[o->n++] = opt;
	return 0;
}

int fl_kopts_parse(struct fl_kopts *o, const char *name, const char *text,
		   struct fl_err *err)
{
	for (size_t number = 1; *text; number++) {
		size_t n = strcspn(text, "\n");
		_cleanup_free_ char *line = fl_strndup(text, n);
		int r = take_line(o, name, number, line, err);

		if (r < 0)
			return r;
		text += n + (text[n] == '\n');
	}
	return 0;
}

/* The last setting of a name: later fragments win. */
static const struct fl_kopt *find(const struct fl_kopts *o, const char *name)
{
	for (size_t i = o->n; i > 0; i--)
		if (!strcmp(o->v[i - 1].name, name))
			return &o->v[i - 1];
	return NULL;
}

void fl_kopts_merge(const struct fl_kopts *o, const char *base,
		    struct fl_buf *out)
{
	while (*base) {
		size_t n = strcspn(base, "\n");
		_cleanup_free_ char *line = fl_strndup(base, n);
		struct fl_kopt opt;
		const char *rest;

		if (parse_line(line, &opt, &rest)) {
			if (!find(o, opt.name))
				fl_buf_printf(out, "%s\n", line);
			free(opt.name);
			free(opt.value);
		}
		base += n + (base[n] == '\n');
	}
	for (size_t i = 0; i < o->n; i++) {
		const struct fl_kopt *k = &o->v[i];

		if (find(o, k->name) != k)
			continue;
		if (k->value)
			fl_buf_printf(out, "%s=%s\n", k->name, k->value);
		else
			fl_buf_printf(out, "# %s is not set\n", k->name);
	}
}

/* The raw value of name in a .config (heap); NULL = not set or not there. */
static char *raw_value(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = text; s; s = strchr(s, '\n')) {
		s += *s == '\n';
		if (!strncmp(s, name, n) && s[n] == '=')
			return fl_strndup(s + n + 1, strcspn(s + n + 1, "\n"));
	}
	return NULL;
}

static char *missing_text(const struct fl_kopt *k, const char *have)
{
	_cleanup_free_ char *who = k->from ? fl_asprintf("of '%s'", k->from) :
					     fl_strdup("that the job needs");

	if (!k->value)
		return fl_asprintf(
			"option %s %s should not be set but is '%s' in the final .config",
			k->name, who, have);
	if (!have)
		return fl_asprintf(
			"option %s=%s %s is not in the final .config", k->name,
			k->value, who);
	return fl_asprintf("option %s=%s %s is '%s' in the final .config",
			   k->name, k->value, who, have);
}

char *fl_kopts_missing(const struct fl_kopts *o, const char *final)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct fl_kopt *k = &o->v[i];
		_cleanup_free_ char *have = NULL;

		if (k->optional || find(o, k->name) != k)
			continue;
		have = raw_value(final, k->name);
		if (!k->value && !have)
			continue;
		if (!k->value || !have || strcmp(have, k->value) != 0)
			return missing_text(k, have);
	}
	return NULL;
}

static int read_text(const char *path, struct fl_buf *out, struct fl_err *err)
{
	int r = fl_fs_read(path, MAX_CONFIG, out, err);

	if (r == -ENOENT && err)
		err->class = FL_E_USER; /* a name from the configuration */
	return r;
}

int fl_kconfig_wanted(const struct fl_kconfig *c, struct fl_kopts *ret,
		      struct fl_err *err)
{
	int r = 0;

	for (size_t i = 0; !r && c->fragments && i < c->fragments->n; i++) {
		const char *path = c->fragments->s[i];
		_cleanup_buf_ struct fl_buf text = { 0 };

		r = read_text(path, &text, err);
		if (!r)
			r = fl_kopts_parse(ret, path, fl_buf_str(&text), err);
	}
	return r;
}

int fl_kconfig_needed(const struct fl_kconfig *c, struct fl_kopts *ret,
		      struct fl_err *err)
{
	int r = 0;

	for (size_t i = 0; !r && c->needs && i < c->needs->n; i++)
		r = fl_kopts_parse(ret, "the job's needs", c->needs->s[i], err);
	for (size_t i = 0; i < ret->n; i++) {
		free(ret->v[i].from);
		ret->v[i].from = NULL;
	}
	return r;
}

const char *fl_kconfig_base_file(const struct fl_kconfig *c)
{
	return strncmp(c->base, "file:", 5) ? NULL : c->base + 5;
}

char *fl_kconfig_value(const char *text, const char *name)
{
	char *v = raw_value(text, name);
	size_t n = v ? strlen(v) : 0;

	if (n >= 2 && v[0] == '"' && v[n - 1] == '"') {
		v[n - 1] = '\0';
		memmove(v, v + 1, n - 1);
	}
	return v;
}

/* Length first, so that two texts cannot run into each other. */
static void add_part(struct fl_buf *all, const char *what, const char *text)
{
	fl_buf_printf(all, "%s %zu\n%s\n", what, strlen(text), text);
}

int fl_kconfig_hash(const struct fl_kconfig *c, char out[FL_HASH_HEX],
		    struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf all = { 0 }, text = { 0 };
	const char *file = fl_kconfig_base_file(c);
	int r = file ? read_text(file, &text, err) : 0;

	if (r < 0)
		return r;
	if (file)
		add_part(&all, "file", fl_buf_str(&text));
	else
		add_part(&all, "target", c->base);
	for (size_t i = 0; c->fragments && i < c->fragments->n; i++) {
		fl_buf_clear(&text);
		r = read_text(c->fragments->s[i], &text, err);
		if (r < 0)
			return r;
		add_part(&all, "fragment", fl_buf_str(&text));
	}
	for (size_t i = 0; c->needs && i < c->needs->n; i++)
		add_part(&all, "need", c->needs->s[i]);
	fl_hash_bytes(all.s, all.len, out);
	return 0;
}

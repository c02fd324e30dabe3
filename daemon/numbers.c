// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers in text files. See numbers.h. */
#include "numbers.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "util/fs.h"

#define SHOWN 32 /* characters of a bad field in a message */

static int slurp(const char *path, struct fl_numbers *n, struct fl_err *err)
{
	bool std = !strcmp(path, "-");
	_cleanup_fclose_ FILE *f = std ? NULL : fopen(path, "re");
	FILE *from = std ? stdin : f;
	char block[1 << 16];
	size_t got;

	n->path = fl_strdup(std ? "standard input" : path);
	if (!from)
		return fl_err_set(err, -errno, FL_E_USER,
				  "cannot open '%s': %s", n->path,
				  strerror(errno));
	while ((got = fread(block, 1, sizeof(block), from))) {
		fl_buf_add(&n->text, block, got);
		if (n->text.len > FL_NUMBERS_MAX)
			return fl_err_set(err, -EFBIG, FL_E_USER,
					  "'%s' is larger than %u MB", n->path,
					  FL_NUMBERS_MAX >> 20);
	}
	if (ferror(from))
		return fl_err_set(err, -errno, FL_E_USER,
				  "cannot read '%s': %s", n->path,
				  strerror(errno));
	return 0;
}

static int bad(const struct fl_numbers *n, size_t line, struct fl_err *err,
	       const char *expected, const char *field)
{
	_cleanup_free_ char *shown = fl_strndup(field, SHOWN);

	for (char *c = shown; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return fl_err_set(err, -EBADMSG, FL_E_USER,
			  "'%s' line %zu: expected %s, found '%s%s'", n->path,
			  line, expected, shown,
			  strlen(field) > SHOWN ? "..." : "");
}

/* Without the blanks around it, in place. */
static char *trim(char *s)
{
	size_t n;

	s += strspn(s, " \t\r");
	n = strlen(s);
	while (n && strchr(" \t\r", s[n - 1]))
		n--;
	s[n] = '\0';
	return s;
}

/* Splits off the label; returns the value's field, NULL at bad quotes or a
 * third field. */
static char *split(char *text, char **label)
{
	char *rest;

	*label = NULL;
	if (*text == '"') {
		char *end = strchr(text + 1, '"');

		if (!end)
			return NULL;
		rest = end + 1 + strspn(end + 1, " ");
		if (!*rest) { /* one value, in quotes */
			*end = '\0';
			return trim(text + 1);
		}
		if (*rest != ',' && *rest != '\t')
			return NULL;
		*end = '\0';
		*label = text + 1;
		rest++;
	} else {
		rest = strpbrk(text, ",\t");
		if (!rest)
			return text;
		*rest++ = '\0';
		*label = trim(text);
	}
	rest = trim(rest);
	if (*rest == '"' && rest[1] && rest[strlen(rest) - 1] == '"') {
		rest[strlen(rest) - 1] = '\0';
		rest++;
	}
	fl_text_plain(*label, "");
	return strpbrk(rest, ",\t") ? NULL : rest;
}

/* A decimal number and nothing else, with room for sums of squares. */
static bool parse(const char *text, double *ret)
{
	char *end;

	if (!*text || text[strspn(text, "+-.0123456789eE")])
		return false;
	*ret = strtod(text, &end);
	return !*end && fabs(*ret) <= FL_NUMBERS_HUGE;
}

/* Does this look like a heading, and not like a number gone wrong? */
static bool is_word(const char *text)
{
	static const char *const numbers[] = { "nan", "inf", "-inf", "infinity",
					       "-infinity" };

	for (size_t i = 0; i < FL_ARRAY_SIZE(numbers); i++)
		if (strcasecmp(text, numbers[i]) == 0)
			return false;
	return *text && !strpbrk(text, "0123456789");
}

static void add(struct fl_numbers *n, double v, const char *label, size_t line)
{
	/* Powers of two: room is there until n is one. */
	if (!(n->n & (n->n - 1)) || !n->n) {
		size_t cap = n->n ? 2 * n->n : 1;

		n->v = fl_realloc(n->v, cap * sizeof(*n->v));
		n->line = fl_realloc(n->line, cap * sizeof(*n->line));
		if (label || n->label)
			n->label = fl_realloc((void *)n->label,
					      cap * sizeof(*n->label));
	}
	n->v[n->n] = v;
	n->line[n->n] = line;
	if (n->label)
		n->label[n->n] = label;
	n->n++;
}

static int take_line(struct fl_numbers *n, char *text, size_t line,
		     bool *header, struct fl_err *err)
{
	_cleanup_free_ char *whole = NULL;
	char *label, *field;
	double v;

	text = trim(text);
	if (!*text || *text == '#')
		return 0;
	if (strpbrk(text, ",\t\""))
		whole = fl_strndup(text, SHOWN + 1);
	field = split(text, &label);
	if (!field)
		return bad(n, line, err, "'label,value' or one value",
			   whole ? whole : text);
	if (!n->n && !*header && is_word(field)) {
		*header = true;
		return 0;
	}
	if (!parse(field, &v))
		return bad(n, line, err, "a number (up to 1e100)", field);
	if (n->n && !label != !n->label)
		return bad(n, line, err,
			   n->label ? "'label,value' as above" :
				      "one value as above",
			   whole ? whole : text);
	add(n, v, label, line);
	return 0;
}

int fl_numbers_read(const char *path, struct fl_numbers *ret,
		    struct fl_err *err)
{
	bool header = false;
	char *next, *end;
	int r;

	*ret = (struct fl_numbers){ 0 };
	r = slurp(path, ret, err);
	if (r < 0)
		return r;
	next = ret->text.s;
	end = next + ret->text.len;
	if (ret->text.len >= 3 && !memcmp(next, "\xef\xbb\xbf", 3))
		next += 3;
	for (size_t line = 1; ret->text.len && next < end; line++) {
		char *eol = memchr(next, '\n', (size_t)(end - next));
		size_t len = (size_t)((eol ? eol : end) - next);

		if (memchr(next, '\0', len))
			return fl_err_set(
				err, -EBADMSG, FL_E_USER,
				"'%s' line %zu: expected text, found a zero byte",
				ret->path, line);
		next[len] = '\0';
		r = take_line(ret, next, line, &header, err);
		if (r < 0)
			return r;
		next += len + 1;
	}
	if (!ret->n)
		return fl_err_set(err, -ENODATA, FL_E_USER,
				  "'%s' holds no numbers", ret->path);
	return 0;
}

void fl_numbers_clear(struct fl_numbers *n)
{
	free(n->path);
	free(n->v);
	free((void *)n->label);
	free(n->line);
	fl_buf_clear(&n->text);
	*n = (struct fl_numbers){ 0 };
}

bool fl_numbers_positive(const struct fl_numbers *n)
{
	for (size_t i = 0; i < n->n; i++)
		if (!(n->v[i] > 0))
			return false;
	return true;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file of an lkp-tests job as text: what is no text, or is a template, is
 * refused with its line. Called by lkp-include.c.
 */
#include "lkp-yaml.h"

#include <errno.h>
#include <string.h>
#include "util/fs.h"

static bool is_comment(const char *s, size_t n)
{
	size_t blank = 0;

	while (blank < n && (s[blank] == ' ' || s[blank] == '\t'))
		blank++;
	return blank < n && s[blank] == '#';
}

static bool starts(const char *s, size_t n, const char *word)
{
	size_t len = strlen(word);

	return n >= len && !memcmp(s, word, len);
}

/* The first byte that text does not hold, NULL when there is none. */
static const char *odd_byte(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((c < 0x20 && c != '\t' && c != '\r') || c == 0x7f)
			return s + i;
	}
	return NULL;
}

static int check_line(const char *path, size_t line, const char *s, size_t n,
		      struct fl_err *err)
{
	const char *odd = odd_byte(s, n);
	json_auto_t *utf8 = NULL;

	if (odd)
		return FL_LKP_BAD(err, path, line,
				  "no text: there is a byte 0x%02x",
				  (unsigned char)*odd);
	utf8 = json_stringn(s, n);
	if (!utf8)
		return FL_LKP_BAD(err, path, line, "no text: it is not UTF-8");
	if (is_comment(s, n))
		return 0;
	if ((*s == '%' && n && !starts(s, n, "%YAML") &&
	     !starts(s, n, "%TAG")) ||
	    memmem(s, n, "<%", 2))
		return FL_LKP_BAD(
			err, path, line,
			"an ERB template, which needs Ruby: import what 'lkp split-job' makes of it");
	return 0;
}

/* "{{" as a value: after ": " or "- ". NULL when the line has none. */
static const char *expression(const char *s, size_t n)
{
	for (size_t i = 2; i + 2 <= n; i++) {
		size_t before = i;

		if (s[i] != '{' || s[i + 1] != '{')
			continue;
		while (before &&
		       (s[before - 1] == ' ' || s[before - 1] == '\t'))
			before--;
		if (before && before < i &&
		    (s[before - 1] == ':' || s[before - 1] == '-'))
			return s + i;
	}
	return NULL;
}

/*
 * Ruby between double braces would be nested maps to YAML: it becomes one
 * quoted text on its first line, and the lines that it took become empty.
 * Returns what follows it.
 */
static const char *quote(const char *s, const char *end, struct fl_buf *out)
{
	size_t lines = 0;
	bool blank = false;

	fl_buf_putc(out, '\'');
	for (; s < end; s++) {
		if (*s == '\n')
			lines++;
		if (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n') {
			blank = true;
			continue;
		}
		if (blank)
			fl_buf_putc(out, ' ');
		blank = false;
		if (*s == '\'')
			fl_buf_putc(out, '\'');
		fl_buf_putc(out, *s);
	}
	fl_buf_putc(out, '\'');
	fl_buf_repeat(out, '\n', lines);
	return end;
}

/*
 * Appends the line at s, and as many more as an expression takes, to out.
 * Returns the start of the next line; NULL on errors. *line counts lines.
 */
static const char *copy_line(const char *path, const char *s, const char *end,
			     size_t *line, struct fl_buf *out,
			     struct fl_err *err)
{
	const char *nl = memchr(s, '\n', (size_t)(end - s));
	size_t n = (size_t)((nl ? nl : end) - s);
	const char *from = is_comment(s, n) ? NULL : expression(s, n), *to;

	if (check_line(path, *line, s, n, err) < 0)
		return NULL;
	if (from) {
		to = memmem(from, (size_t)(end - from), "}}", 2);
		if (!to) {
			FL_LKP_BAD(err, path, *line,
				   "'{{' has no '}}' after it");
			return NULL;
		}
		for (const char *p = from; p < to; p++)
			*line += *p == '\n';
		fl_buf_add(out, s, (size_t)(from - s));
		s = quote(from, to + 2, out);
		nl = memchr(s, '\n', (size_t)(end - s));
		n = (size_t)((nl ? nl : end) - s);
	}
	fl_buf_add(out, s, n);
	fl_buf_putc(out, '\n');
	(*line)++;
	return s + n + !!nl;
}

int fl_lkp_text_read(const char *path, struct fl_buf *ret, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf raw = { 0 };
	int r = fl_fs_read(path, FL_LKP_FILE_MAX, &raw, err);
	const char *s, *end;
	size_t line = 1;

	if (r < 0) {
		if (err) /* whoever named the file can repair it */
			err->class = FL_E_USER;
		return r;
	}
	s = fl_buf_str(&raw);
	end = s + raw.len;
	while (s && s < end)
		s = copy_line(path, s, end, &line, ret, err);
	return s ? 0 : -EINVAL;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From libgit2's world into ours: error codes and words, and the bytes of
 * commits (any encoding, or none) into valid UTF-8. Used by all of daemon/git.
 */
#include "internal.h"

#include <errno.h>
#include <iconv.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include "../util/json.h"

static int to_errno(int r)
{
	switch (r) {
	case GIT_ENOTFOUND:
	case GIT_EINVALIDSPEC:
	case GIT_EUNBORNBRANCH:
		return -ENOENT;
	case GIT_EEXISTS:
		return -EEXIST;
	case GIT_EAMBIGUOUS:
		return -EINVAL;
	case GIT_ELOCKED:
		return -EBUSY;
	case GIT_EAUTH:
	case GIT_ECERTIFICATE:
		return -EACCES;
	case GIT_ECONFLICT:
		return -EUCLEAN;
	default:
		return -EIO;
	}
}

int fl_git_fail(struct fl_err *err, int r, enum fl_err_class class,
		const char *fmt, ...)
{
	const git_error *e = git_error_last();
	_cleanup_free_ char *words = fl_git_utf8(
		e && e->message ? e->message : "unknown error", NULL);
	size_t n = strlen(words);
	char head[512];
	va_list ap;

	/* One line without a full stop, whatever the library or remote says. */
	while (n && strchr(". \n\r", words[n - 1]))
		words[--n] = '\0';
	for (char *p = words; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	return fl_err_set(err, to_errno(r), class, "%s: %s", head, words);
}

/* NULL when iconv does not know the encoding or the text is not in it. */
static char *convert(const char *text, const char *encoding)
{
	iconv_t cd = iconv_open("UTF-8", encoding);
	size_t left = strlen(text), room = 4 * left + 8;
	char *in = (char *)text, *start, *out;

	if (cd == (iconv_t)-1)
		return NULL;
	start = out = fl_malloc(room + 1);
	if (iconv(cd, &in, &left, &out, &room) == (size_t)-1) {
		free(start);
		start = NULL;
	} else {
		*out = '\0';
	}
	iconv_close(cd);
	return start;
}

char *fl_git_utf8(const char *text, const char *encoding)
{
	json_auto_t *whole = json_string(text);
	json_auto_t *mended = NULL;
	char *s;

	/* Some commits call themselves Latin-1 and are UTF-8 all the same. */
	if (whole)
		return fl_strdup(text);
	if (encoding && strcasecmp(encoding, "UTF-8")) {
		s = convert(text, encoding);
		if (s)
			return s;
	}
	mended = fl_json_text_value(text, strlen(text));
	return fl_strdup(mended ? json_string_value(mended) : "");
}

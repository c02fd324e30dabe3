// SPDX-License-Identifier: GPL-2.0-or-later
/* See err.h. */
#include "err.h"

#include <stdarg.h>
#include <string.h>

int fl_err_set(struct fl_err *err, int code, enum fl_err_class class,
	       const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	err->class = class;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

int fl_err_prefix(struct fl_err *err, const char *fmt, ...)
{
	char old[sizeof(err->text)], head[256];
	va_list ap;

	if (!err)
		return -1;
	memcpy(old, err->text, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	/* The reason outweighs its context: cut the tail, not overflow. */
	snprintf(err->text, sizeof(err->text), "%s: %.*s", head,
		 (int)(sizeof(err->text) - sizeof(head) - 3), old);
	return err->code;
}

const char *fl_err_class_str(enum fl_err_class class)
{
	switch (class) {
	case FL_E_USER:
		return "user";
	case FL_E_INFRA:
		return "infra";
	case FL_E_BUG:
		return "bug";
	}
	return "?";
}

static void *must(void *p)
{
	if (!p) {
		fputs("faultline: out of memory\n", stderr);
		abort();
	}
	return p;
}

void *fl_malloc(size_t size)
{
	return must(malloc(size ? size : 1));
}

void *fl_calloc(size_t n, size_t size)
{
	return must(calloc(n ? n : 1, size ? size : 1));
}

void *fl_realloc(void *p, size_t size)
{
	return must(realloc(p, size ? size : 1));
}

char *fl_strdup(const char *s)
{
	return s ? must(strdup(s)) : NULL;
}

char *fl_strndup(const char *s, size_t n)
{
	return must(strndup(s, n));
}

char *fl_asprintf(const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	va_end(ap);
	return must(s);
}

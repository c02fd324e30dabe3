// SPDX-License-Identifier: GPL-2.0-or-later
/* See strv.h. */
#include "strv.h"

#include <stdarg.h>
#include <string.h>
#include "err.h"

void fl_strv_clear(struct fl_strv *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->s[i]);
	free(v->s);
	*v = (struct fl_strv){ 0 };
}

static void push(struct fl_strv *v, char *owned)
{
	if (v->n + 2 > v->cap) {
		v->cap = v->cap ? v->cap * 2 : 8;
		v->s = fl_realloc(v->s, v->cap * sizeof(*v->s));
	}
	v->s[v->n++] = owned;
	v->s[v->n] = NULL;
}

void fl_strv_add(struct fl_strv *v, const char *s)
{
	push(v, fl_strdup(s));
}

void fl_strv_addf(struct fl_strv *v, const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		abort();
	va_end(ap);
	push(v, s);
}

void fl_strv_addl(struct fl_strv *v, const char *first, ...)
{
	va_list ap;

	va_start(ap, first);
	for (const char *s = first; s; s = va_arg(ap, const char *))
		fl_strv_add(v, s);
	va_end(ap);
}

void fl_strv_extend(struct fl_strv *v, const struct fl_strv *more)
{
	for (size_t i = 0; i < more->n; i++)
		fl_strv_add(v, more->s[i]);
}

bool fl_strv_has(const struct fl_strv *v, const char *s)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->s[i], s))
			return true;
	return false;
}

void fl_strv_split(struct fl_strv *v, const char *s, const char *seps)
{
	for (;;) {
		size_t n;

		s += strspn(s, seps);
		n = strcspn(s, seps);
		if (!n)
			return;
		push(v, fl_strndup(s, n));
		s += n;
	}
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void fl_strv_sort(struct fl_strv *v)
{
	if (v->n)
		qsort(v->s, v->n, sizeof(*v->s), by_bytes);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* See buf.h. */
#include "buf.h"

#include <stdarg.h>
#include <string.h>
#include "err.h"

static void reserve(struct fl_buf *b, size_t n)
{
	size_t need = b->len + n + 1;

	if (need <= b->cap)
		return;
	b->cap = need + need / 2 + 32;
	b->s = fl_realloc(b->s, b->cap);
}

void fl_buf_clear(struct fl_buf *b)
{
	free(b->s);
	*b = (struct fl_buf){ 0 };
}

void fl_buf_add(struct fl_buf *b, const void *data, size_t n)
{
	reserve(b, n);
	if (n)
		memcpy(b->s + b->len, data, n);
	b->len += n;
	b->s[b->len] = '\0';
}

void fl_buf_puts(struct fl_buf *b, const char *s)
{
	fl_buf_add(b, s, strlen(s));
}

void fl_buf_putc(struct fl_buf *b, char c)
{
	fl_buf_add(b, &c, 1);
}

void fl_buf_repeat(struct fl_buf *b, char c, size_t n)
{
	while (n--)
		fl_buf_putc(b, c);
}

void fl_buf_printf(struct fl_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	reserve(b, (size_t)n);
	va_start(ap, fmt);
	vsnprintf(b->s + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

const char *fl_buf_str(const struct fl_buf *b)
{
	return b->s ? b->s : "";
}

char *fl_buf_steal(struct fl_buf *b)
{
	char *s = b->s ? b->s : fl_strdup("");

	*b = (struct fl_buf){ 0 };
	return s;
}

void fl_text_plain(char *s, const char *keep)
{
	for (unsigned char *p = (unsigned char *)s; *p; p++) {
		if ((*p < 0x20 && !strchr(keep, *p)) || *p == 0x7f)
			*p = '?';
		else if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			p[0] = p[1] = '?';
	}
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing byte string, always NUL-terminated once touched. Zero-initialise
 * it; fl_buf_clear() releases it. fl_buf_steal() hands out the heap string
 * (never NULL) and leaves the buffer empty.
 */
#ifndef FL_UTIL_BUF_H
#define FL_UTIL_BUF_H

#include <stddef.h>
#include "cleanup.h"

struct fl_buf {
	char *s;
	size_t len, cap;
};

void fl_buf_clear(struct fl_buf *b);
void fl_buf_add(struct fl_buf *b, const void *data, size_t n);
void fl_buf_puts(struct fl_buf *b, const char *s);
void fl_buf_putc(struct fl_buf *b, char c);
void fl_buf_repeat(struct fl_buf *b, char c, size_t n);
void fl_buf_printf(struct fl_buf *b, const char *fmt, ...) _printf_(2, 3);
/* The text so far, "" when empty; owned by the buffer. */
const char *fl_buf_str(const struct fl_buf *b);
char *fl_buf_steal(struct fl_buf *b);

/* In place: control characters (C0 but for those in keep, DEL, C1 in UTF-8)
 * become '?', so that text of strangers does nothing to a terminal. */
void fl_text_plain(char *s, const char *keep);

#define _cleanup_buf_ _cleanup_(fl_buf_clear)

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Header lines of a message, for compose.c and smtp.c only. Each call writes
 * one whole field, encoded (RFC 2047) and folded, or fails with -EINVAL and
 * writes nothing: a line break inside a value is always an error.
 */
#ifndef FL_MAIL_HEADER_H
#define FL_MAIL_HEADER_H

#include "../util/buf.h"
#include "../util/err.h"

/* Free text, e.g. a subject. */
int fl_header_text(struct fl_buf *out, const char *name, const char *value,
		   struct fl_err *err);

/* n >= 1 mailboxes, "Name <addr>" or addr. */
int fl_header_mailboxes(struct fl_buf *out, const char *name,
			char *const *boxes, size_t n, struct fl_err *err);

/* A message id without <>; they are added. */
int fl_header_msgid(struct fl_buf *out, const char *name, const char *id,
		    struct fl_err *err);

/* s with every byte that is not UTF-8 replaced by U+FFFD; heap. */
char *fl_mail_utf8(const char *s);

#endif

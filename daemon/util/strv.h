/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing list of heap strings with a NULL after the last, so that
 * `v.s` can be an argv. Zero-initialise; fl_strv_clear() releases all.
 */
#ifndef FL_UTIL_STRV_H
#define FL_UTIL_STRV_H

#include <stdbool.h>
#include <stddef.h>
#include "cleanup.h"

struct fl_strv {
	char **s;
	size_t n, cap;
};

void fl_strv_clear(struct fl_strv *v);
void fl_strv_add(struct fl_strv *v, const char *s);
void fl_strv_addf(struct fl_strv *v, const char *fmt, ...) _printf_(2, 3);
/* Adds every argument up to a NULL. */
void fl_strv_addl(struct fl_strv *v, const char *first, ...)
	__attribute__((sentinel));
void fl_strv_extend(struct fl_strv *v, const struct fl_strv *more);
bool fl_strv_has(const struct fl_strv *v, const char *s);
/* Appends the parts of s between any of seps; empty parts are left out. */
void fl_strv_split(struct fl_strv *v, const char *s, const char *seps);
/* Byte order (strcmp), in place. */
void fl_strv_sort(struct fl_strv *v);

#define _cleanup_strv_ _cleanup_(fl_strv_clear)

#endif

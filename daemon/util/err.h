/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors that end up in front of people or in a database row.
 *
 * Functions that can fail return 0 or -errno and take a `struct fl_err *`
 * last (NULL is allowed). The layer that knows the name of the thing composes
 * the text once: lower case, no full stop, the subject in single quotes.
 * Callers only put context in front (fl_err_prefix). What a *kernel* does
 * wrong (does not build, panics) is an outcome, never an fl_err.
 */
#ifndef FL_UTIL_ERR_H
#define FL_UTIL_ERR_H

#include "cleanup.h"

enum fl_err_class {
	FL_E_USER, /* the input or the configuration is wrong: exit 1 or 2 */
	FL_E_INFRA, /* the machine is in trouble: worth a retry */
	FL_E_BUG, /* ours */
};

struct fl_err {
	int code; /* negative errno */
	enum fl_err_class class;
	char text[1024];
};

/* Fills err (if not NULL) and returns code, so that it can be returned. */
int fl_err_set(struct fl_err *err, int code, enum fl_err_class class,
	       const char *fmt, ...) _printf_(4, 5);

/* Puts "<context>: " in front of the text. Returns err->code. */
int fl_err_prefix(struct fl_err *err, const char *fmt, ...) _printf_(2, 3);

const char *fl_err_class_str(enum fl_err_class class);

/* Memory: running out of it aborts; state lives in the database. */
void *fl_malloc(size_t size);
void *fl_calloc(size_t n, size_t size);
void *fl_realloc(void *p, size_t size);
char *fl_strdup(const char *s); /* NULL in, NULL out */
char *fl_strndup(const char *s, size_t n);
char *fl_asprintf(const char *fmt, ...) _printf_(1, 2);

#endif

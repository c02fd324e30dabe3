/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jansson with our errors, and readers that are strict about what comes from
 * outside: a missing key, a wrong type or a number out of range is an error
 * that names the key path ("cases[3].value").
 */
#ifndef FL_UTIL_JSON_H
#define FL_UTIL_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "err.h"

/* Parses a bounded file; a syntax error names the line. *ret is new. */
int fl_json_load(const char *path, size_t max, json_t **ret,
		 struct fl_err *err);
/* Sorted keys, indented by two, a newline at the end, by rename. */
int fl_json_save(const char *path, const json_t *j, struct fl_err *err);
/* Compact, keys sorted: the same value always gives the same text (heap). */
char *fl_json_text(const json_t *j);

/* Required members of obj; path names obj in errors. */
int fl_json_str(const json_t *obj, const char *key, const char *path,
		const char **ret, struct fl_err *err);
int fl_json_int(const json_t *obj, const char *key, const char *path,
		int64_t min, int64_t max, int64_t *ret, struct fl_err *err);
/* Finite numbers only. */
int fl_json_num(const json_t *obj, const char *key, const char *path,
		double *ret, struct fl_err *err);

/* Optional members: the default when missing or of another type. */
const char *fl_json_str_or(const json_t *obj, const char *key, const char *d);
int64_t fl_json_int_or(const json_t *obj, const char *key, int64_t d);
double fl_json_num_or(const json_t *obj, const char *key, double d);

/* Every key of obj must be in known (NULL-terminated), else -EINVAL. */
int fl_json_only(const json_t *obj, const char *path, const char *const *known,
		 struct fl_err *err);

/* Any bytes to valid UTF-8 (bad bytes become U+FFFD); new json string. */
json_t *fl_json_text_value(const char *bytes, size_t n);

#endif

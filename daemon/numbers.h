/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers that people bring along: text files with one value a line, or
 * "label,value". Called by the verbs `stat`. What is wrong in a file is a USER
 * error that names file, line and what was expected there.
 */
#ifndef FL_NUMBERS_H
#define FL_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include "util/buf.h"
#include "util/err.h"

struct fl_numbers {
	char *path; /* as given, or "standard input" */
	double *v; /* n finite values in the order of the file */
	const char **label; /* parallel, into text; NULL: one value a line */
	size_t *line; /* parallel, from 1 */
	size_t n;
	struct fl_buf text;
};

/* A longer file and a larger number are refused. */
#define FL_NUMBERS_MAX (256u << 20)
#define FL_NUMBERS_HUGE 1e100

/*
 * Reads a file; "-" is standard input. Empty lines and lines that begin with
 * '#' are skipped, and a first line whose last field is a word is a header.
 * A tab separates as a comma does; a label may stand in double quotes, and its
 * control characters are replaced. Hexadecimal numbers, NaN and infinities are
 * refused. At least one value, else an error. fl_numbers_clear() releases ret,
 * also after an error.
 */
int fl_numbers_read(const char *path, struct fl_numbers *ret,
		    struct fl_err *err);
void fl_numbers_clear(struct fl_numbers *n);

bool fl_numbers_positive(const struct fl_numbers *n);

#define _cleanup_numbers_ _cleanup_(fl_numbers_clear)

#endif

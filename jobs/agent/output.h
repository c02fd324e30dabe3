/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers out of what a program printed. Pure, and bounded by what is given:
 * the text may be anything. Compiled into the agent and into its test.
 */
#ifndef FL_AGENT_OUTPUT_H
#define FL_AGENT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#define FL_OUTPUT_VALUES 128 /* of one KPI */
#define FL_OUTPUT_NAME 65 /* with the NUL */

struct fl_output_kpi {
	char name[FL_OUTPUT_NAME];
	/* POSIX extended, one group; NULL: the member `name` of JSON lines. */
	const char *pattern;
	double value[FL_OUTPUT_VALUES];
	size_t n;
};

/*
 * Fills value[] of each KPI, in the order of the text: one value from each line
 * that fits. Lines end with \n or \r\n; a pattern sees one line at a time. JSON
 * lines are those that start with '{'. False, with the reason in why, when a
 * pattern is none, a KPI has no value or too many, or a value is no number
 * above zero. text[len] is a NUL; text is changed.
 */
bool fl_output_read(char *text, size_t len, struct fl_output_kpi *kpis,
		    size_t nkpis, char *why, size_t why_size);

/*
 * The number that member `name` of a flat reading of a JSON object holds: 1
 * and *v, 0 when it is not there or no number, -1 when the text is no object.
 */
int fl_output_json(const char *text, const char *name, double *v);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* See output.h. Called by the agent when a program has ended. */
#include "output.h"

#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

struct reading {
	struct fl_output_kpi *kpi;
	char *why;
	size_t why_size;
};

/* A decimal number and nothing else: no "inf", no "0x10", no "1,234". */
static bool number(const char *s, size_t n, double *v)
{
	char copy[64], *end;

	if (!n || n >= sizeof(copy) ||
	    strspn(s, "0123456789+-.eE") < n) /* s ends, or goes on, after n */
		return false;
	memcpy(copy, s, n);
	copy[n] = '\0';
	*v = strtod(copy, &end);
	return end == copy + n && isfinite(*v);
}

/* A text of strangers within a reason: short. */
static bool not_a_number(struct reading *r, const char *s, size_t n)
{
	snprintf(r->why, r->why_size, "%s: '%.*s' is no number", r->kpi->name,
		 (int)(n < 40 ? n : 40), s);
	return false;
}

static bool take(struct reading *r, double v)
{
	if (v <= 0) {
		snprintf(
			r->why, r->why_size,
			"%s: the program printed %g, and a result is above zero",
			r->kpi->name, v);
		return false;
	}
	if (r->kpi->n == FL_OUTPUT_VALUES) {
		snprintf(r->why, r->why_size, "%s: more than %d values",
			 r->kpi->name, FL_OUTPUT_VALUES);
		return false;
	}
	r->kpi->value[r->kpi->n++] = v;
	return true;
}

/* ---- JSON lines --------------------------------------------------------------- */

static const char *space(const char *s)
{
	return s + strspn(s, " \t");
}

/* Past a string that starts at s; NULL when it does not end. */
static const char *string_end(const char *s)
{
	if (*s++ != '"')
		return NULL;
	for (; *s && *s != '"'; s++)
		if (*s == '\\' && !*++s)
			return NULL;
	return *s ? s + 1 : NULL;
}

/* Past any value: what is inside of brackets is only counted. */
static const char *value_end(const char *s)
{
	int depth = 0;

	do {
		s = space(s);
		if (*s == '"') {
			s = string_end(s);
			if (!s)
				return NULL;
		} else if (*s == '{' || *s == '[') {
			if (++depth > DEPTH_MAX)
				return NULL;
			s++;
		} else if (*s == '}' || *s == ']' || *s == ',' || *s == ':') {
			if (!depth)
				return NULL;
			depth -= *s == '}' || *s == ']';
			s++;
		} else {
			size_t n = strcspn(s, " \t,:{}[]\"");

			if (!n)
				return NULL;
			s += n;
		}
	} while (depth);
	return s;
}

int fl_output_json(const char *text, const char *name, double *v)
{
	size_t len = strlen(name);
	const char *s = space(text);
	int found = 0;

	if (*s != '{')
		return -1;
	s = space(s + 1);
	for (bool more = *s != '}'; more;) {
		const char *key = s + 1, *end = string_end(s), *value;
		bool mine;

		if (!end)
			return -1;
		mine = (size_t)(end - key) == len + 1 &&
		       !memcmp(key, name, len);
		s = space(end);
		if (*s != ':')
			return -1;
		value = space(s + 1);
		s = value_end(value);
		if (!s)
			return -1;
		if (mine)
			found = number(value, (size_t)(s - value), v);
		s = space(s);
		more = *s == ',';
		if (more)
			s = space(s + 1);
		else if (*s != '}')
			return -1;
	}
	return *space(s + 1) ? -1 : found;
}

static bool read_json(struct reading *r, const char *line)
{
	double v;
	int found;

	if (*space(line) != '{')
		return true;
	found = fl_output_json(line, r->kpi->name, &v);
	if (found < 0) {
		snprintf(r->why, r->why_size, "no JSON object: '%.60s'", line);
		return false;
	}
	return !found || take(r, v);
}

/* ---- patterns ------------------------------------------------------------------ */

static bool read_pattern(struct reading *r, const regex_t *re, const char *line)
{
	regmatch_t m[2];
	double v;
	size_t n;

	/* Without a group in it, or with one that stayed out: -1. */
	if (regexec(re, line, 2, m, 0) || m[1].rm_so < 0)
		return true;
	n = (size_t)(m[1].rm_eo - m[1].rm_so);
	if (!number(line + m[1].rm_so, n, &v))
		return not_a_number(r, line + m[1].rm_so, n);
	return take(r, v);
}

static bool read_kpi(struct reading *r, char *text, size_t len)
{
	regex_t re;
	bool ok = true;

	if (r->kpi->pattern && regcomp(&re, r->kpi->pattern, REG_EXTENDED)) {
		snprintf(r->why, r->why_size, "%s: no pattern", r->kpi->name);
		return false;
	}
	/* A line ends at its \n, or at a NUL in it. */
	for (size_t at = 0, n; ok && at < len; at += n + 1) {
		for (n = 0; at + n < len && text[at + n];)
			n++;
		ok = r->kpi->pattern ? read_pattern(r, &re, text + at) :
				       read_json(r, text + at);
	}
	if (r->kpi->pattern)
		regfree(&re);
	if (ok && !r->kpi->n) {
		snprintf(r->why, r->why_size, "%s: nothing that it printed %s",
			 r->kpi->name,
			 r->kpi->pattern ? "fits the pattern" :
					   "has such a number");
		return false;
	}
	return ok;
}

bool fl_output_read(char *text, size_t len, struct fl_output_kpi *kpis,
		    size_t nkpis, char *why, size_t why_size)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\n' || text[i] == '\r')
			text[i] = '\0';
	for (size_t i = 0; i < nkpis; i++) {
		struct reading r = { &kpis[i], why, why_size };

		if (!read_kpi(&r, text, len))
			return false;
	}
	return true;
}

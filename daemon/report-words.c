// SPDX-License-Identifier: GPL-2.0-or-later
/* See report-words.h. */
#include "report-words.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define WIDTH 75

const char *fl_word_str(const json_t *row, const char *key)
{
	return fl_json_str_or(row, key, "");
}

double fl_word_num(const json_t *row, const char *key)
{
	return fl_json_num_or(row, key, NAN);
}

/* "+12.3%" of a log ratio. */
char *fl_word_percent(double log_ratio, char *out, size_t n)
{
	double pct = 100 * expm1(log_ratio);

	snprintf(out, n, fabs(pct) < 1 ? "%+.2f%%" : "%+.1f%%", pct);
	return out;
}

char *fl_word_value(double v, char *out, size_t n)
{
	if (isnan(v))
		snprintf(out, n, "-");
	else
		snprintf(out, n, fabs(v) < 10 ? "%.4f" : "%.3f", v);
	return out;
}

/* Fills paragraphs to WIDTH; words longer than that stand alone. */
void fl_word_paragraph(struct fl_buf *out, const char *text)
{
	size_t col = 0;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " ");

		if (col && col + 1 + n > WIDTH) {
			fl_buf_putc(out, '\n');
			col = 0;
		} else if (col) {
			fl_buf_putc(out, ' ');
			col++;
		}
		fl_buf_add(out, p, n);
		col += n;
		p += n;
		p += strspn(p, " ");
	}
	fl_buf_puts(out, "\n\n");
}

void fl_word_para(struct fl_buf *out, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	fl_word_paragraph(out, text);
	free(text);
}

bool fl_report_is_exact(const struct fl_report_data *d)
{
	return !strcmp(fl_word_str(d->comparison, "clock"), "exact");
}

bool fl_report_on_base_side(const struct fl_report_data *d)
{
	return !strcmp(fl_word_str(d->bisection, "side"), "base");
}

/* The row of the bisection's own case and KPI. */
const json_t *fl_report_main_row(const struct fl_report_data *d)
{
	json_t *a;
	size_t i;

	json_array_foreach(d->attributions, i, a)
		if (!strcmp(fl_word_str(a, "case"),
			    fl_word_str(d->bisection, "case")) &&
		    !strcmp(fl_word_str(a, "kpi"),
			    fl_word_str(d->bisection, "kpi")))
			return a;
	return json_array_get(d->attributions, 0);
}

/* The log ratio between the end that has the culprit and the one without. */
double fl_report_effect(const struct fl_report_data *d, const json_t *row)
{
	return fl_word_num(row, "effect") *
	       (fl_report_on_base_side(d) ? -1 : 1);
}

/* By the case that was bisected; others may have moved the other way. */
bool fl_report_is_regression(const struct fl_report_data *d)
{
	return !strcmp(fl_word_str(fl_report_main_row(d), "verdict"),
		       fl_report_on_base_side(d) ? "better" : "worse");
}

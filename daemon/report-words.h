/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts of a report and how figures are written, for report*.c; the filling of
 * paragraphs also for verbs. */
#ifndef FL_REPORT_WORDS_H
#define FL_REPORT_WORDS_H

#include "report.h"
#include "util/buf.h"

/* Members of a row: "" and NaN when missing. */
const char *fl_word_str(const json_t *row, const char *key);
double fl_word_num(const json_t *row, const char *key);
/* "+12.3%" of a log ratio, and a KPI value; both return out. */
char *fl_word_percent(double log_ratio, char *out, size_t n);
char *fl_word_value(double v, char *out, size_t n);
/* Fills a paragraph to the width of mails; an empty line follows. */
void fl_word_paragraph(struct fl_buf *out, const char *text);
void fl_word_para(struct fl_buf *out, const char *fmt, ...) _printf_(2, 3);

bool fl_report_is_exact(const struct fl_report_data *d);
/* Does the base hold the culprit, and the head not? */
bool fl_report_on_base_side(const struct fl_report_data *d);
/* The row of the bisection's own case and KPI. */
const json_t *fl_report_main_row(const struct fl_report_data *d);
/* The log ratio between the end that has the culprit and the one without. */
double fl_report_effect(const struct fl_report_data *d, const json_t *row);
bool fl_report_is_regression(const struct fl_report_data *d);

/* report-table.c: a table a KPI, and what their columns mean. */
void fl_report_tables(struct fl_buf *out, const struct fl_report_data *d);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* The KPI tables of a report: base, head, and base with the commit on top. */
#include "report-words.h"

#include <math.h>
#include <string.h>

/* Of a case's change; what the commit has less to do with is only counted. */
#define SHARE_SHOWN 0.2

static void change_cell(struct fl_buf *out, double v, double base)
{
	char text[32], pct[32], cell[64];

	if (isnan(v)) {
		fl_buf_printf(out, "  %20s", "-");
		return;
	}
	snprintf(cell, sizeof(cell), "%s %9s",
		 fl_word_value(v, text, sizeof(text)),
		 fl_word_percent(log(v / base), pct, sizeof(pct)));
	fl_buf_printf(out, "  %20s", cell);
}

static void write_table_head(struct fl_buf *out, const struct fl_report_data *d,
			     const json_t *row, int width)
{
	_cleanup_free_ char *on_top = fl_asprintf(
		"%.11s+commit",
		fl_word_str(d->comparison,
			    fl_report_on_base_side(d) ? "head" : "base"));

	fl_buf_printf(out, "%s [%s], %s is better\n", fl_word_str(row, "kpi"),
		      fl_word_str(row, "unit"),
		      fl_word_num(row, "better") > 0 ? "higher" : "lower");
	fl_buf_printf(out, "  %-*s  %10.10s  %20.20s  %20.20s  %11s\n", width,
		      "case", fl_word_str(d->comparison, "base"),
		      fl_word_str(d->comparison, "head"), on_top, "boots");
}

/* Does the commit have a part in this row's change? */
static bool concerned(const json_t *row)
{
	return fabs(fl_word_num(row, "share")) >= SHARE_SHOWN;
}

static const char *note_of(const json_t *row)
{
	if (fl_word_num(row, "share") < 0)
		return "  (b)";
	return fl_json_int_or(row, "explained", 0) ? "" : "  (a)";
}

static void write_table(struct fl_buf *out, const struct fl_report_data *d,
			const char *kpi)
{
	bool headed = false;
	int width = 4;
	json_t *a;
	size_t i;

	json_array_foreach(d->attributions, i, a)
		if (concerned(a) && (int)strlen(fl_word_str(a, "case")) > width)
			width = (int)strlen(fl_word_str(a, "case"));
	json_array_foreach(d->attributions, i, a) {
		double base = fl_word_num(a, "base_value");
		char v[32];

		if (strcmp(fl_word_str(a, "kpi"), kpi) || !concerned(a))
			continue;
		if (!headed)
			write_table_head(out, d, a, width);
		headed = true;
		fl_buf_printf(out, "  %-*s  %10s", width,
			      fl_word_str(a, "case"),
			      fl_word_value(base, v, sizeof(v)));
		change_cell(out, fl_word_num(a, "head_value"), base);
		change_cell(out, fl_word_num(a, "on_base_value"), base);
		fl_buf_printf(out, "  %3lld+%lld+%lld%s\n",
			      (long long)fl_json_int_or(a, "base_boots", 0),
			      (long long)fl_json_int_or(a, "head_boots", 0),
			      (long long)fl_json_int_or(a, "boots", 0),
			      note_of(a));
	}
	fl_buf_putc(out, '\n');
}

void fl_report_tables(struct fl_buf *out, const struct fl_report_data *d)
{
	_cleanup_strv_ struct fl_strv kpis = { 0 };
	size_t other = 0;
	bool partly = false, against = false;
	double sd = 0;
	json_t *a;
	size_t i;

	fl_strv_add(&kpis, fl_word_str(fl_report_main_row(d), "kpi"));
	json_array_foreach(d->attributions, i, a) {
		other += !concerned(a);
		if (!concerned(a))
			continue;
		if (!fl_strv_has(&kpis, fl_word_str(a, "kpi")))
			fl_strv_add(&kpis, fl_word_str(a, "kpi"));
		partly |= !strcmp(note_of(a), "  (a)");
		against |= !strcmp(note_of(a), "  (b)");
		sd = fmax(sd, fmax(fl_json_num_or(a, "base_sd", 0),
				   fl_json_num_or(a, "head_sd", 0)));
	}
	for (i = 0; i < kpis.n; i++)
		write_table(out, d, kpis.s[i]);
	if (partly)
		fl_word_paragraph(
			out,
			"(a) the commit explains only part of this change.");
	if (against)
		fl_word_paragraph(
			out,
			"(b) the commit by itself moves this the other way; something else outweighs it.");
	if (other)
		fl_word_para(
			out,
			"%zu further figure%s moved between the two kernels for other reasons.",
			other, other == 1 ? "" : "s");
	fl_word_para(
		out,
		"Percentages are against %s. Boots of one kernel agree within %.4f %% (largest standard deviation between boots). The smallest change that is reported here is %.2f %%.",
		fl_word_str(d->comparison, "base"), 100 * sd,
		100 * expm1(fl_word_num(fl_report_main_row(d), "threshold")));
}

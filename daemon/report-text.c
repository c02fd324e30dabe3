// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The words of a report, from rows only. The order is the one that readers of
 * kernel performance mails know: what was seen, which commit, the machine,
 * the parameters, the table, how it was found, how to see it again.
 */
#include "report.h"

#include <math.h>
#include <string.h>
#include "util/buf.h"
#include "util/clock.h"

#define WIDTH 75

void fl_report_data_clear(struct fl_report_data *d)
{
	json_decref(d->bisection);
	json_decref(d->comparison);
	json_decref(d->culprit);
	json_decref(d->attributions);
	json_decref(d->steps);
	json_decref(d->env);
	json_decref(d->recipe);
	json_decref(d->config);
	*d = (struct fl_report_data){ 0 };
}

/* The first row of a listing; an empty object when there is none. */
static json_t *first(json_t *rows)
{
	json_t *row = json_incref(json_array_get(rows, 0));

	json_decref(rows);
	return row ? row : json_object();
}

#define LOAD(field, what, types, ...)                               \
	do {                                                        \
		json_t *rows_ = NULL;                               \
		int r_ = fl_store_rows(s, what, &rows_, err, types, \
				       __VA_ARGS__);                \
		if (r_ < 0)                                         \
			return r_;                                  \
		field = rows_;                                      \
	} while (0)

int fl_report_data_load(struct fl_store *s, int64_t bisection_id,
			struct fl_report_data *d, struct fl_err *err)
{
	json_t *env;
	int64_t head;

	LOAD(d->bisection, FL_ROWS_BISECTION, "i", bisection_id);
	d->bisection = first(d->bisection);
	LOAD(d->comparison, FL_ROWS_COMPARISON, "i",
	     fl_json_int_or(d->bisection, "comparison_id", 0));
	d->comparison = first(d->comparison);
	LOAD(d->culprit, FL_ROWS_COMMIT, "s",
	     fl_json_str_or(d->bisection, "culprit_sha", ""));
	d->culprit = first(d->culprit);
	LOAD(d->attributions, FL_ROWS_ATTRIBUTIONS, "i", bisection_id);
	LOAD(d->steps, FL_ROWS_BISECTION_STEPS, "i", bisection_id);
	head = fl_json_int_or(d->comparison, "head_kernel_id", 0);
	LOAD(d->recipe, FL_ROWS_RECIPE, "i",
	     fl_json_int_or(d->comparison, "recipe_id", 0));
	d->recipe = first(d->recipe);
	LOAD(d->config, FL_ROWS_CONFIG, "i", head);
	d->config = first(d->config);
	LOAD(d->env, FL_ROWS_RUN_ENV, "ii", head,
	     fl_json_int_or(d->comparison, "recipe_id", 0));
	env = first(d->env);
	d->env = json_incref(json_object_get(env, "env"));
	json_decref(env);
	if (!d->env)
		d->env = json_object();
	return 0;
}

/* ---- small words ------------------------------------------------------------ */

static const char *str(const json_t *row, const char *key)
{
	return fl_json_str_or(row, key, "");
}

static double num(const json_t *row, const char *key)
{
	return fl_json_num_or(row, key, NAN);
}

/* "+12.3%" of a log ratio; "14.9 x" when a percentage says little. */
static char *percent(double log_ratio, char *out, size_t n)
{
	double pct = 100 * expm1(log_ratio);

	snprintf(out, n, fabs(pct) < 1 ? "%+.2f%%" : "%+.1f%%", pct);
	return out;
}

static char *value(double v, char *out, size_t n)
{
	if (isnan(v))
		snprintf(out, n, "-");
	else
		snprintf(out, n, fabs(v) < 10 ? "%.4f" : "%.3f", v);
	return out;
}

/* Fills paragraphs to WIDTH; words longer than that stand alone. */
static void paragraph(struct fl_buf *out, const char *text)
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

static void para(struct fl_buf *out, const char *fmt, ...) _printf_(2, 3);

static void para(struct fl_buf *out, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	paragraph(out, text);
	free(text);
}

static bool is_exact(const struct fl_report_data *d)
{
	return !strcmp(str(d->comparison, "clock"), "exact");
}

static bool on_base_side(const struct fl_report_data *d)
{
	return !strcmp(str(d->bisection, "side"), "base");
}

/* The row of the bisection's own case and KPI. */
static const json_t *main_row(const struct fl_report_data *d)
{
	json_t *a;
	size_t i;

	json_array_foreach(d->attributions, i, a)
		if (!strcmp(str(a, "case"), str(d->bisection, "case")) &&
		    !strcmp(str(a, "kpi"), str(d->bisection, "kpi")))
			return a;
	return json_array_get(d->attributions, 0);
}

/* The log ratio between the end that has the culprit and the one without. */
static double effect_of(const struct fl_report_data *d, const json_t *row)
{
	return num(row, "effect") * (on_base_side(d) ? -1 : 1);
}

/* By the case that was bisected; others may have moved the other way. */
static bool is_regression(const struct fl_report_data *d)
{
	return !strcmp(str(main_row(d), "verdict"),
		       on_base_side(d) ? "better" : "worse");
}

char *fl_report_subject(const struct fl_report_data *d)
{
	const json_t *a = main_row(d);
	char pct[32];

	return fl_asprintf(
		"%s%s: %s %s in %s, bisected to %.12s (\"%s\")",
		is_regression(d) ? "[REGRESSION] " : "",
		fl_json_str_or(json_object_get(a, "params"), "program",
			       str(a, "case")),
		str(a, "kpi"), percent(effect_of(d, a), pct, sizeof(pct)),
		str(d->comparison, on_base_side(d) ? "base" : "head"),
		str(d->culprit, "sha"), str(d->culprit, "subject"));
}

/* ---- what was seen ------------------------------------------------------------ */

static void count_explained(const struct fl_report_data *d, size_t *cases,
			    double *least, double *most)
{
	const json_t *m = main_row(d);
	json_t *a;
	size_t i;

	*cases = 0;
	*least = *most = effect_of(d, m);
	json_array_foreach(d->attributions, i, a) {
		double e = effect_of(d, a);

		if (strcmp(str(a, "kpi"), str(m, "kpi")) ||
		    !fl_json_int_or(a, "explained", 0) || e * *most < 0)
			continue;
		(*cases)++;
		if (fabs(e) < fabs(*least))
			*least = e;
		if (fabs(e) > fabs(*most))
			*most = e;
	}
}

/* "12.3 %": the direction is in the words around it. */
static void size_of(double log_ratio, char *out, size_t n)
{
	double pct = fabs(100 * expm1(log_ratio));

	snprintf(out, n, pct < 1 ? "%.2f %%" : "%.1f %%", pct);
}

static void write_opening(struct fl_buf *out, const struct fl_report_data *d)
{
	const json_t *m = main_row(d);
	bool worse = is_regression(d);
	double least, most, e = effect_of(d, m);
	char a[32], b[32], range[128];
	size_t cases;

	count_explained(d, &cases, &least, &most);
	size_of(least, a, sizeof(a));
	size_of(most, b, sizeof(b));
	if (cases > 1 && strcmp(a, b))
		snprintf(range, sizeof(range), "by %s to %s in %zu cases", a, b,
			 cases);
	else if (cases > 1)
		snprintf(range, sizeof(range), "by %s in %zu cases", b, cases);
	else
		snprintf(range, sizeof(range), "by %s", b);
	fl_buf_printf(out, "Hi %s,\n\n", str(d->culprit, "author_name"));
	para(out,
	     "%s: from %s to %s, %s %s %s (%s is better), first of all in %s, on host '%s' (%s clock). A bisection of the %lld commits %s shows that this commit is the first to cause it:",
	     worse ? "this is a regression" :
		     "good news: this is an improvement",
	     str(d->comparison, on_base_side(d) ? "head" : "base"),
	     str(d->comparison, on_base_side(d) ? "base" : "head"),
	     str(m, "kpi"), e > 0 ? "rose" : "fell", range,
	     num(m, "better") > 0 ? "higher" : "lower", str(m, "case"),
	     str(d->comparison, "host"), str(d->comparison, "clock"),
	     (long long)fl_json_int_or(d->bisection, "commits", 0),
	     on_base_side(d) ? "on the side of the base" :
			       "on the side of the head");
	fl_buf_printf(out, "commit: %s (\"%s\")\n", str(d->culprit, "sha"),
		      str(d->culprit, "subject"));
	fl_buf_printf(out, "tree: %s\n\n",
		      *str(d->comparison, "url") ? str(d->comparison, "url") :
						   str(d->comparison, "tree"));
	if (fl_json_int_or(d->bisection, "culprit_parents", 1) > 1)
		paragraph(
			out,
			"Note that this commit is a merge. All of its parents were measured, and none of them shows the change: it is in what the merge itself does, or it takes both sides together.");
	if (!worse)
		paragraph(
			out,
			"Thank you for it. This mail is for your information; nothing needs to be done.");
}

static void write_evidence(struct fl_buf *out, const struct fl_report_data *d)
{
	const json_t *m = main_row(d);
	double share = num(d->bisection, "share");
	char p[32], c[32], pct[32];
	double pv = num(m, "parent_value"), cv = num(m, "culprit_value");

	para(out,
	     "%s. Measured anew, %lld boots a side: %s of %s is %s on the commit's parent and %s on the commit (%s): %.0f %% of the change between the two end points. The bisection held this commit to be the cause with a probability of %.3f.",
	     share >= 0.8 ? "The commit explains the change" :
			    "The commit explains part of the change",
	     (long long)fl_json_int_or(m, "boots", 0), str(m, "kpi"),
	     str(m, "case"), value(pv, p, sizeof(p)), value(cv, c, sizeof(c)),
	     percent(log(cv / pv), pct, sizeof(pct)), 100 * share,
	     num(d->bisection, "confidence"));
}

/* ---- tables --------------------------------------------------------------------- */

static void change_cell(struct fl_buf *out, double v, double base)
{
	char text[32], pct[32], cell[64];

	if (isnan(v)) {
		fl_buf_printf(out, "  %20s", "-");
		return;
	}
	snprintf(cell, sizeof(cell), "%s %9s", value(v, text, sizeof(text)),
		 percent(log(v / base), pct, sizeof(pct)));
	fl_buf_printf(out, "  %20s", cell);
}

static void write_table_head(struct fl_buf *out, const struct fl_report_data *d,
			     const json_t *row, int width)
{
	_cleanup_free_ char *on_top = fl_asprintf(
		"%.11s+commit",
		str(d->comparison, on_base_side(d) ? "head" : "base"));

	fl_buf_printf(out, "%s [%s], %s is better\n", str(row, "kpi"),
		      str(row, "unit"),
		      num(row, "better") > 0 ? "higher" : "lower");
	fl_buf_printf(out, "  %-*s  %10.10s  %20.20s  %20.20s  %11s\n", width,
		      "case", str(d->comparison, "base"),
		      str(d->comparison, "head"), on_top, "boots");
}

static void write_table(struct fl_buf *out, const struct fl_report_data *d,
			const char *kpi)
{
	bool headed = false;
	int width = 4;
	json_t *a;
	size_t i;

	json_array_foreach(d->attributions, i, a)
		if ((int)strlen(str(a, "case")) > width)
			width = (int)strlen(str(a, "case"));
	json_array_foreach(d->attributions, i, a) {
		double base = num(a, "base_value");
		char v[32];

		if (strcmp(str(a, "kpi"), kpi))
			continue;
		if (!headed)
			write_table_head(out, d, a, width);
		headed = true;
		fl_buf_printf(out, "  %-*s  %10s", width, str(a, "case"),
			      value(base, v, sizeof(v)));
		change_cell(out, num(a, "head_value"), base);
		change_cell(out, num(a, "on_base_value"), base);
		fl_buf_printf(out, "  %3lld+%lld+%lld%s\n",
			      (long long)fl_json_int_or(a, "base_boots", 0),
			      (long long)fl_json_int_or(a, "head_boots", 0),
			      (long long)fl_json_int_or(a, "boots", 0),
			      fl_json_int_or(a, "explained", 0) ? "" : "  (a)");
	}
	fl_buf_putc(out, '\n');
}

static void write_tables(struct fl_buf *out, const struct fl_report_data *d)
{
	_cleanup_strv_ struct fl_strv kpis = { 0 };
	bool other = false;
	double sd = 0;
	json_t *a;
	size_t i;

	fl_strv_add(&kpis, str(main_row(d), "kpi"));
	json_array_foreach(d->attributions, i, a) {
		if (!fl_strv_has(&kpis, str(a, "kpi")))
			fl_strv_add(&kpis, str(a, "kpi"));
		if (!fl_json_int_or(a, "explained", 0))
			other = true;
		sd = fmax(sd, fmax(fl_json_num_or(a, "base_sd", 0),
				   fl_json_num_or(a, "head_sd", 0)));
	}
	for (i = 0; i < kpis.n; i++)
		write_table(out, d, kpis.s[i]);
	if (other)
		paragraph(
			out,
			"(a) also moved between the two kernels, but this commit does not explain it.");
	para(out,
	     "Percentages are against %s. Boots of one kernel agree within %.4f %% (largest standard deviation between boots). The smallest change that is reported here is %.2f %%.",
	     str(d->comparison, "base"), 100 * sd,
	     100 * expm1(num(main_row(d), "threshold")));
}

/* ---- machine, parameters, how to see it again -------------------------------------- */

static void line(struct fl_buf *out, const char *key, const char *text)
{
	if (*text)
		fl_buf_printf(out, "  %-22s %s\n", key, text);
}

static void env_line(struct fl_buf *out, const struct fl_report_data *d,
		     const char *label, const char *key)
{
	const json_t *v = json_object_get(d->env, key);
	char n[32];

	if (json_is_integer(v)) {
		snprintf(n, sizeof(n), "%lld",
			 (long long)json_integer_value(v));
		line(out, label, n);
	} else if (json_is_string(v)) {
		line(out, label, json_string_value(v));
	}
}

static void write_machine(struct fl_buf *out, const struct fl_report_data *d)
{
	const json_t *doc = json_object_get(d->recipe, "doc");
	const json_t *machine = json_object_get(doc, "machine");
	const char *key;
	json_t *v;

	fl_buf_printf(out, "Host %s:\n", str(d->comparison, "host"));
	env_line(out, d, "Model name:", "cpu_model");
	env_line(out, d, "CPU(s):", "cpus");
	env_line(out, d, "Online memory (MiB):", "memory_mb");
	json_object_foreach((json_t *)machine, key, v) {
		_cleanup_free_ char *label = fl_asprintf("%s:", key);
		_cleanup_free_ char *text =
			json_is_string(v) ? fl_strdup(json_string_value(v)) :
					    fl_json_text(v);

		line(out, label, text);
	}
	fl_buf_puts(out, "\nKernel and environment:\n");
	line(out, "Compiler:", str(d->config, "compiler"));
	env_line(out, d, "Release:", "release");
	env_line(out, d, "Command line:", "cmdline");
	env_line(out, d, "Transparent huge pages:", "thp");
	env_line(out, d, "File systems:", "file_systems");
	env_line(out, d, "Mitigations:", "mitigations");
	line(out, "Config hash:", str(d->config, "final_config_hash"));
	fl_buf_putc(out, '\n');
}

static void write_parameters(struct fl_buf *out, const struct fl_report_data *d)
{
	const json_t *params = json_object_get(main_row(d), "params");
	const char *key;
	json_t *v;

	fl_buf_printf(out, "Test parameters of %s:\n",
		      str(main_row(d), "case"));
	json_object_foreach((json_t *)params, key, v) {
		_cleanup_free_ char *label = fl_asprintf("%s:", key);
		_cleanup_free_ char *text =
			json_is_string(v) ? fl_strdup(json_string_value(v)) :
					    fl_json_text(v);

		line(out, label, text);
	}
	line(out, "job:", str(d->comparison, "job"));
	fl_buf_putc(out, '\n');
}

static void write_config_diff(struct fl_buf *out,
			      const struct fl_report_data *d)
{
	const char *diff = str(d->comparison, "config_diff");
	size_t lines = 0;

	if (!*diff)
		return;
	fl_buf_printf(
		out, "Final kernel configs differ (- %s, + %s), first lines:\n",
		str(d->comparison, "base"), str(d->comparison, "head"));
	for (const char *p = diff; *p && lines < 20; lines++) {
		size_t n = strcspn(p, "\n");

		fl_buf_printf(out, "  %.*s\n", (int)n, p);
		p += n + (p[n] == '\n');
	}
	fl_buf_putc(out, '\n');
}

static void write_path(struct fl_buf *out, const struct fl_report_data *d)
{
	json_t *s;
	size_t i;

	fl_buf_printf(out, "How it was found (%s of %s):\n",
		      str(d->bisection, "kpi"), str(d->bisection, "case"));
	json_array_foreach(d->steps, i, s) {
		char v[32];

		fl_buf_printf(out, "  %2lld. %.12s  %-12s  %.40s\n",
			      (long long)fl_json_int_or(s, "n", 0),
			      str(s, "sha"),
			      strcmp(str(s, "outcome"), "measured") ?
				      str(s, "outcome") :
				      value(num(s, "value"), v, sizeof(v)),
			      str(s, "subject"));
	}
	fl_buf_putc(out, '\n');
}

static void write_steps(struct fl_buf *out, const struct fl_report_data *d)
{
	const char *sha = str(d->culprit, "sha");

	fl_buf_puts(out, "Steps to reproduce:\n");
	fl_buf_puts(out, "  1. mkdir repro && cd repro && faultline init\n");
	fl_buf_printf(
		out,
		"  2. git config -f faultline.conf tree.linux.url \\\n       %s\n",
		*str(d->comparison, "url") ? str(d->comparison, "url") :
					     "<your clone of the tree>");
	fl_buf_puts(out, "  3. faultline fetch linux\n");
	fl_buf_printf(
		out,
		"  4. faultline compare %.12s^ %.12s \\\n       --job %s --host %s\n\n",
		sha, sha, str(d->comparison, "job"),
		str(d->comparison, "host"));
	paragraph(
		out,
		"The kernel config of the head is attached; the host and the compiler above decide the exact figures, not the direction.");
}

static void write_limits(struct fl_buf *out, const struct fl_report_data *d)
{
	bool second = !strcmp(str(main_row(d), "second_isa"), "holds");

	if (!is_exact(d))
		return;
	para(out,
	     "About the exact clock: the guest's time is a count of executed instructions, so the figures repeat and small changes of the path length are seen. It does not see caches, TLBs or true parallelism; whether users feel the change has to be measured on hardware.%s",
	     second ?
		     " The change is there under a second CPU model too, which shows erms and fsrm: it is not made of string instructions that count differently." :
		     "");
}

char *fl_report_body(const struct fl_report_data *d)
{
	struct fl_buf out = { 0 };

	write_opening(&out, d);
	write_evidence(&out, d);
	write_tables(&out, d);
	write_machine(&out, d);
	write_parameters(&out, d);
	write_config_diff(&out, d);
	write_path(&out, d);
	write_limits(&out, d);
	write_steps(&out, d);
	if (is_regression(d))
		fl_buf_printf(
			&out,
			"If you fix this, please name the commit:\n\nFixes: %.12s (\"%s\")\n\n",
			str(d->culprit, "sha"), str(d->culprit, "subject"));
	fl_buf_puts(&out,
		    "-- \nFaultline, kernel performance regression harness\n");
	return fl_buf_steal(&out);
}

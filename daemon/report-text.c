// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The words of a report, from rows only. The order is the one that readers of
 * kernel performance mails know: what was seen, which commit, the machine,
 * the parameters, the table, how it was found, how to see it again.
 */
#include "report-words.h"

#include <math.h>
#include <string.h>

void fl_report_data_clear(struct fl_report_data *d)
{
	json_decref(d->bisection);
	json_decref(d->comparison);
	json_decref(d->culprit);
	json_decref(d->attributions);
	json_decref(d->tested);
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
	LOAD(d->tested, FL_ROWS_BISECTION_TESTED, "i", bisection_id);
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

char *fl_report_subject(const struct fl_report_data *d)
{
	const json_t *a = fl_report_main_row(d);
	char pct[32];

	return fl_asprintf(
		"%s%s: %s %s in %s, bisected to %.12s (\"%s\")",
		fl_report_is_regression(d) ? "[REGRESSION] " : "",
		fl_json_str_or(json_object_get(a, "params"), "program",
			       fl_word_str(a, "case")),
		fl_word_str(a, "kpi"),
		fl_word_percent(fl_report_effect(d, a), pct, sizeof(pct)),
		fl_word_str(d->comparison,
			    fl_report_on_base_side(d) ? "base" : "head"),
		fl_word_str(d->culprit, "sha"),
		fl_word_str(d->culprit, "subject"));
}

/* ---- what was seen ------------------------------------------------------------ */

static void count_explained(const struct fl_report_data *d, size_t *cases,
			    double *least, double *most)
{
	const json_t *m = fl_report_main_row(d);
	json_t *a;
	size_t i;

	*cases = 0;
	*least = *most = fl_report_effect(d, m);
	json_array_foreach(d->attributions, i, a) {
		double e = fl_report_effect(d, a);

		if (strcmp(fl_word_str(a, "kpi"), fl_word_str(m, "kpi")) ||
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
	const json_t *m = fl_report_main_row(d);
	bool worse = fl_report_is_regression(d);
	double least, most, e = fl_report_effect(d, m);
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
	fl_buf_printf(out, "Hi %s,\n\n",
		      fl_word_str(d->culprit, "author_name"));
	fl_word_para(
		out,
		"%s: from %s to %s, %s %s %s (%s is better), first of all in %s, on host '%s' (%s clock). A bisection of the %lld commits %s shows that this commit is the first to cause it:",
		worse ? "this is a regression" : "good news, an improvement",
		fl_word_str(d->comparison,
			    fl_report_on_base_side(d) ? "head" : "base"),
		fl_word_str(d->comparison,
			    fl_report_on_base_side(d) ? "base" : "head"),
		fl_word_str(m, "kpi"), e > 0 ? "rose" : "fell", range,
		fl_word_num(m, "better") > 0 ? "higher" : "lower",
		fl_word_str(m, "case"), fl_word_str(d->comparison, "host"),
		fl_word_str(d->comparison, "clock"),
		(long long)fl_json_int_or(d->bisection, "commits", 0),
		fl_report_on_base_side(d) ? "on the side of the base" :
					    "on the side of the head");
	fl_buf_printf(out, "commit: %s (\"%s\")\n",
		      fl_word_str(d->culprit, "sha"),
		      fl_word_str(d->culprit, "subject"));
	fl_buf_printf(out, "tree: %s\n\n",
		      *fl_word_str(d->comparison, "url") ?
			      fl_word_str(d->comparison, "url") :
			      fl_word_str(d->comparison, "tree"));
	if (fl_json_int_or(d->bisection, "culprit_parents", 1) > 1)
		fl_word_paragraph(
			out,
			"Note that this commit is a merge. All of its parents were measured, and none of them shows the change: it is in what the merge itself does, or it takes both sides together.");
	if (!worse)
		fl_word_paragraph(
			out,
			"Thank you for it. This mail is for your information; nothing needs to be done.");
}

static void write_evidence(struct fl_buf *out, const struct fl_report_data *d)
{
	const json_t *m = fl_report_main_row(d);
	double share = fl_word_num(m, "share"); /* of the whole change */
	char p[32], c[32], pct[32];
	double pv = fl_word_num(m, "parent_value"),
	       cv = fl_word_num(m, "culprit_value");

	fl_word_para(
		out,
		"%s. Compared directly, %lld boots a side: %s of %s is %s on the commit's parent and %s on the commit (%s): %.0f %% of the change between base and head. The bisection held this commit to be the cause with a probability of %.3f.",
		share >= 0.8 ? "The commit explains the change" :
			       "The commit explains part of the change",
		(long long)fl_json_int_or(m, "boots", 0), fl_word_str(m, "kpi"),
		fl_word_str(m, "case"), fl_word_value(pv, p, sizeof(p)),
		fl_word_value(cv, c, sizeof(c)),
		fl_word_percent(log(cv / pv), pct, sizeof(pct)), 100 * share,
		fl_word_num(d->bisection, "confidence"));
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

	if (json_is_number(v)) {
		snprintf(n, sizeof(n), "%.0f", json_number_value(v));
		line(out, label, n);
	} else if (json_is_string(v)) {
		line(out, label, json_string_value(v));
	}
}

/* Every member that starts with prefix: "on ext4: …", "spectre_v1: …". */
static void env_prefix(struct fl_buf *out, const struct fl_report_data *d,
		       const char *prefix, const char *word)
{
	size_t n = strlen(prefix);
	const char *key;
	json_t *v;

	json_object_foreach(d->env, key, v) {
		_cleanup_free_ char *label = NULL;

		if (strncmp(key, prefix, n) || !json_is_string(v))
			continue;
		label = fl_asprintf("%s%s:", word, key + n);
		line(out, label, json_string_value(v));
	}
}

/* A line for every member of an object. */
static void members(struct fl_buf *out, const json_t *object)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)object, key, v) {
		_cleanup_free_ char *label = fl_asprintf("%s:", key);
		_cleanup_free_ char *text =
			json_is_string(v) ? fl_strdup(json_string_value(v)) :
					    fl_json_text(v);

		line(out, label, text);
	}
}

static void write_machine(struct fl_buf *out, const struct fl_report_data *d)
{
	const json_t *doc = json_object_get(d->recipe, "doc");
	const json_t *machine = json_object_get(doc, "machine");

	fl_buf_printf(out, "Host %s:\n", fl_word_str(d->comparison, "host"));
	env_line(out, d, "Model name:", "cpu_model");
	env_line(out, d, "CPU(s):", "cpus");
	env_line(out, d, "Online memory (MiB):", "memory_mb");
	members(out, machine);
	fl_buf_puts(out, "\nKernel and environment:\n");
	line(out, "Compiler:", fl_word_str(d->config, "compiler"));
	env_line(out, d, "Release:", "release");
	env_line(out, d, "Command line:", "cmdline");
	env_line(out, d, "Transparent huge pages:", "thp");
	env_prefix(out, d, "fs_", "on ");
	env_prefix(out, d, "vuln_", "");
	line(out, "Config hash:", fl_word_str(d->config, "final_config_hash"));
	fl_buf_putc(out, '\n');
}

static void write_parameters(struct fl_buf *out, const struct fl_report_data *d)
{
	const json_t *params = json_object_get(fl_report_main_row(d), "params");

	fl_buf_printf(out, "Test parameters of %s:\n",
		      fl_word_str(fl_report_main_row(d), "case"));
	members(out, params);
	line(out, "job:", fl_word_str(d->comparison, "job"));
	fl_buf_putc(out, '\n');
}

static void write_config_diff(struct fl_buf *out,
			      const struct fl_report_data *d)
{
	const char *diff = fl_word_str(d->comparison, "config_diff");
	size_t lines = 0;

	if (!*diff)
		return;
	fl_buf_printf(
		out, "Final kernel configs differ (- %s, + %s), first lines:\n",
		fl_word_str(d->comparison, "base"),
		fl_word_str(d->comparison, "head"));
	for (const char *p = diff; *p && lines < 20; lines++) {
		size_t n = strcspn(p, "\n");

		fl_buf_printf(out, "  %.*s\n", (int)n, p);
		p += n + (p[n] == '\n');
	}
	fl_buf_putc(out, '\n');
}

/* The commits in the order in which they were first tested. */
static void write_path(struct fl_buf *out, const struct fl_report_data *d)
{
	json_t *s;
	size_t i;

	fl_buf_printf(out, "How it was found (%s of %s):\n",
		      fl_word_str(d->bisection, "kpi"),
		      fl_word_str(d->bisection, "case"));
	json_array_foreach(d->tested, i, s) {
		int64_t boots = fl_json_int_or(s, "boots", 0);
		char v[32], of[32] = "";

		if (boots > 1)
			snprintf(of, sizeof(of), " (%lld boots)",
				 (long long)boots);
		fl_buf_printf(out, "  %2zu. %.12s  %-12s  %.40s%s\n", i + 1,
			      fl_word_str(s, "sha"),
			      boots ? fl_word_value(fl_word_num(s, "value"), v,
						    sizeof(v)) :
				      fl_word_str(s, "outcome"),
			      fl_word_str(s, "subject"), of);
	}
	fl_buf_putc(out, '\n');
}

static void write_steps(struct fl_buf *out, const struct fl_report_data *d)
{
	const char *sha = fl_word_str(d->culprit, "sha");

	fl_buf_puts(out, "Steps to reproduce:\n");
	fl_buf_puts(out, "  1. mkdir repro && cd repro && faultline init\n");
	fl_buf_printf(
		out,
		"  2. git config -f faultline.conf tree.linux.url \\\n       %s\n",
		*fl_word_str(d->comparison, "url") ?
			fl_word_str(d->comparison, "url") :
			"<your clone of the tree>");
	fl_buf_puts(out, "  3. faultline fetch linux\n");
	fl_buf_printf(
		out,
		"  4. faultline compare %.12s^ %.12s \\\n       --job %s --host %s\n\n",
		sha, sha, fl_word_str(d->comparison, "job"),
		fl_word_str(d->comparison, "host"));
	fl_word_paragraph(
		out,
		"The kernel config of the head is attached; the host and the compiler above decide the exact figures, not the direction.");
}

static void write_limits(struct fl_buf *out, const struct fl_report_data *d)
{
	bool second = !strcmp(fl_word_str(fl_report_main_row(d), "second_isa"),
			      "holds");

	if (!fl_report_is_exact(d))
		return;
	fl_word_para(
		out,
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
	fl_report_tables(&out, d);
	write_machine(&out, d);
	write_parameters(&out, d);
	write_config_diff(&out, d);
	write_path(&out, d);
	write_limits(&out, d);
	write_steps(&out, d);
	if (fl_report_is_regression(d))
		fl_buf_printf(
			&out,
			"If you fix this, please name the commit:\n\nFixes: %.12s (\"%s\")\n\n",
			fl_word_str(d->culprit, "sha"),
			fl_word_str(d->culprit, "subject"));
	fl_buf_puts(&out,
		    "-- \nFaultline, kernel performance regression harness\n");
	return fl_buf_steal(&out);
}

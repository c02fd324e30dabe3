// SPDX-License-Identifier: GPL-2.0-or-later
/* bisect run: the answer in words. Texts of commits were made printable. */
#include "cmd-bisect-run.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include "bisect-run.h"
#include "util/clock.h"

#define WIDTH 79
#define LABEL 14
#define SHOWN 10
#define GLUE '\1' /* a blank at which no line is broken */

static const char *str(const json_t *j, const char *key)
{
	return fl_json_str_or(j, key, "");
}

static double num(const json_t *j, const char *key)
{
	return fl_json_num_or(j, key, NAN);
}

static int whole(const json_t *j, const char *key)
{
	return (int)fl_json_int_or(j, key, 0);
}

static int columns(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

/* A label, and beside it a text that is broken at blanks. */
static void row(const char *label, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void row(const char *label, const char *fmt, ...)
{
	char *text = NULL, *save = NULL;
	int at = printf("%-*s", LABEL, label);
	bool first = true;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	for (char *w = strtok_r(text, " ", &save); w;
	     w = strtok_r(NULL, " ", &save)) {
		if (!first && at + 1 + columns(w) > WIDTH) {
			at = printf("\n%*s", LABEL, "") - 1;
			first = true;
		}
		for (char *g = w; (g = strchr(g, GLUE));)
			*g = ' ';
		at += columns(w) + !first;
		printf("%s%s", first ? "" : " ", w);
		first = false;
	}
	putchar('\n');
	free(text);
}

/* No exponent where a person would write none. */
static void put_value(struct fl_buf *b, double v)
{
	int digits = v > 0 ? 4 - (int)floor(log10(v)) : 0;

	if (isnan(v))
		fl_buf_puts(b, "?");
	else if (digits > 8 || digits < -11)
		fl_buf_printf(b, "%.4e", v);
	else
		fl_buf_printf(b, "%.*f", digits > 0 ? digits : 0, v);
}

/* "+19.4 % (95 %: +18.1 to +20.7 %)" of an interval in per cent. */
static void put_interval(struct fl_buf *b, const json_t *i)
{
	double mid = num(i, "value"), lo = num(i, "lo"), hi = num(i, "hi");
	double width = isnan(hi - lo) ? fabs(mid) / 10 : hi - lo;
	int digits = width > 0 ? 1 - (int)floor(log10(width)) : 4;

	digits = digits < 0 ? 0 : digits > 4 ? 4 : digits;
	if (isnan(mid)) {
		fl_buf_putc(b, '?');
		return;
	}
	fl_buf_printf(b, "%+.*f%c%%", digits, mid, GLUE);
	if (width > 1e-6 && !isnan(hi - lo))
		fl_buf_printf(b, " (95%c%%:%c%+.*f%cto%c%+.*f%c%%)", GLUE, GLUE,
			      digits, lo, GLUE, GLUE, digits, hi, GLUE);
}

/* "101.3 -> 120.98 ms, +19.4 % (95 %: +18.1 to +20.7 %)" */
static void put_change(struct fl_buf *b, const json_t *result, double from,
		       double to, const json_t *interval)
{
	const char *unit = str(result, "unit");

	put_value(b, from);
	fl_buf_printf(b, "%c->%c", GLUE, GLUE);
	put_value(b, to);
	if (*unit)
		fl_buf_printf(b, "%s%s", *unit == '%' ? "" : "\1", unit);
	fl_buf_puts(b, ", ");
	put_interval(b, interval);
}

static const char *rev_of(const json_t *result, const char *end)
{
	return str(json_object_get(result, end), "rev");
}

static void print_commit(const json_t *c)
{
	char when[32];

	printf("\n%s\n  %s\n  %s <%s>, %s\n", str(c, "commit"),
	       str(c, "subject"), str(c, "author"), str(c, "email"),
	       fl_clock_format((int64_t)num(c, "date"), when, sizeof(when)));
}

static void print_effect(const json_t *result, const json_t *c)
{
	const json_t *share = json_object_get(c, "share");
	_cleanup_buf_ struct fl_buf b = { 0 }, s = { 0 };

	put_change(&b, result, num(c, "before"), num(c, "after"),
		   json_object_get(c, "effect_percent"));
	row("  number", "%s", fl_buf_str(&b));
	fl_buf_printf(&s, "%.0f%c%% of the change from %s to %s",
		      100 * num(share, "value"), GLUE, rev_of(result, "good"),
		      rev_of(result, "bad"));
	if (round(100 * num(share, "lo")) < round(100 * num(share, "hi")))
		fl_buf_printf(&s, " (95%c%%: %.0f to %.0f%c%%)", GLUE,
			      100 * num(share, "lo"), 100 * num(share, "hi"),
			      GLUE);
	row("  share", "%s", fl_buf_str(&s));
}

static void print_set(const json_t *set)
{
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)set, i, v) {
		_cleanup_buf_ struct fl_buf p = { 0 };

		if (i == SHOWN) {
			printf("  and %zu more (--json has them)\n",
			       json_array_size(set) - i);
			break;
		}
		fl_brun_probability(&p, num(v, "probability"));
		printf("  %7s  %.12s  %.*s%s\n", fl_buf_str(&p),
		       str(v, "commit"), 54, str(v, "subject"),
		       strlen(str(v, "subject")) > 54 ? ".." : "");
	}
}

static void print_culprit(const json_t *result, const json_t *c)
{
	const char *beside = str(c, "parent");
	size_t n = json_array_size(json_object_get(c, "set"));
	_cleanup_buf_ struct fl_buf p = { 0 };
	int fresh = whole(c, "fresh_runs");

	fl_brun_probability(&p, num(c, "confidence"));
	if (n > 1) {
		printf(*beside ?
			       "\nOne of these %zu commits (together %s):\n\n" :
			       "\nIf one commit did it, one of these %zu (together %s), not verified:\n\n",
		       n, fl_buf_str(&p));
		print_set(json_object_get(c, "set"));
		if (*beside)
			putchar('\n');
	} else {
		if (!json_is_true(json_object_get(c, "verified")))
			printf("\nIf one commit did it, then most probably (%s) this one, not verified:\n",
			       fl_buf_str(&p));
		print_commit(c);
		if (*beside)
			putchar('\n');
	}
	if (*beside)
		print_effect(result, c);
	if (json_is_true(json_object_get(c, "verified")))
		row("  probability",
		    "%s; confirmed in %d + %d fresh runs beside %.12s",
		    fl_buf_str(&p), fresh, fresh, beside);
	else if (n > 1 && *beside)
		row("  measured",
		    "in %d + %d fresh runs, before and after them", fresh,
		    fresh);
}

static void print_ends(const json_t *result)
{
	const json_t *a = json_object_get(result, "good");
	const json_t *b = json_object_get(result, "bad");
	_cleanup_buf_ struct fl_buf t = { 0 };

	put_change(&t, result, num(a, "value"), num(b, "value"),
		   json_object_get(result, "change_percent"));
	if (!isnan(num(result, "noise_percent")))
		fl_buf_printf(&t, "; noise of one run %.2g\1%%",
			      num(result, "noise_percent"));
	row("whole change", "%s to %s: %s", str(a, "rev"), str(b, "rev"),
	    fl_buf_str(&t));
}

static void print_untestable(const json_t *result)
{
	const json_t *list = json_object_get(result, "untestable");
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)list, i, v) {
		if (i == SHOWN) {
			row("", "and %zu more", json_array_size(list) - i);
			break;
		}
		row(i ? "" : "not testable", "%.12s %s: %s", str(v, "commit"),
		    str(v, "subject"), str(v, "failed"));
	}
}

static void print_work(const json_t *result)
{
	int commits = whole(result, "commits"), runs = whole(result, "runs");
	int may = whole(result, "candidates"),
	    bad = whole(result, "failed_runs");
	_cleanup_buf_ struct fl_buf t = { 0 };
	char span[32];

	fl_buf_printf(&t, "%d run%s of %d commits (of %d", runs,
		      runs == 1 ? "" : "s", whole(result, "tested"),
		      commits + 1);
	if (may != commits)
		fl_buf_printf(&t, ", %d candidate%s", may, may == 1 ? "" : "s");
	fl_buf_printf(&t, ") in %s",
		      fl_brun_span(num(result, "seconds"), span, sizeof(span)));
	if (bad)
		fl_buf_printf(&t, "; %d run%s failed", bad,
			      bad == 1 ? "" : "s");
	if (json_is_true(json_object_get(result, "measured_before")))
		fl_buf_puts(&t, "; all of it before: --restart measures anew");
	row("measured", "%s", fl_buf_str(&t));
}

static bool budget_spent(const json_t *result)
{
	return whole(result, "runs") >= whole(result, "max_runs");
}

/* The ends do not differ, as far as can be told. */
static void print_same(const json_t *result, int a, int b)
{
	const json_t *change = json_object_get(result, "change_percent");
	double max = num(result, "threshold_percent");

	if (num(change, "lo") > -max && num(change, "hi") < max)
		row("no change",
		    "as large as %.3g\1%% (--threshold) in %d + %d runs", max,
		    a, b);
	else
		row("no answer",
		    "%d + %d runs do not show beyond doubt that the two ends differ; a change of %.2g\1%% or more most likely would have shown. Longer or quieter runs show more.",
		    a, b, num(result, "resolved_percent"));
}

/* Why there is no commit to name, or not the whole answer. */
static void print_why(const json_t *result, const char *end)
{
	const char *good = rev_of(result, "good"), *bad = rev_of(result, "bad");
	int a = whole(json_object_get(result, "good"), "runs");
	int b = whole(json_object_get(result, "bad"), "runs");

	if (!strcmp(end, "does-not-reproduce"))
		print_same(result, a, b);
	else if (!strcmp(end, "not-verified"))
		row("nobody",
		    "%s and %s differ, but no commit does from its parents in fresh runs: many small steps, a number that drifts%s. Nothing is named rather than the wrong one.",
		    good, bad,
		    json_array_size(json_object_get(result, "paths")) ?
			    ", or a commit that --path leaves out" :
			    "");
	else if (!strcmp(end, "untestable"))
		row("no answer", "one of the two ends cannot be tested");
	else if (!strcmp(end, "partly"))
		row("and more",
		    "a part of the change is not explained by this: many small steps, or %s",
		    budget_spent(result) ? "the budget (--max-runs) was spent" :
					   "too small to be told from noise");
	else if (budget_spent(result))
		row("why not sure",
		    "the budget of %d runs is spent; more of --max-runs with --resume goes on",
		    whole(result, "max_runs"));
	else
		row("why not one", "no commit between these can be tested");
}

/* As many as fit into a line that can be copied. */
static void print_next(const json_t *culprits)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	json_t *c, *v;
	size_t i, j;
	int n = 0;

	json_array_foreach((json_t *)culprits, i, c)
		json_array_foreach(json_object_get(c, "set"), j, v)
			if (n++ < 4)
				fl_buf_printf(&b, " %.12s", str(v, "commit"));
	if (n)
		printf("%-*sgit show%s\n", LABEL, "what next", fl_buf_str(&b));
}

static void print_one(const json_t *result)
{
	const json_t *list = json_object_get(result, "culprits");
	const char *end = str(result, "end");
	json_t *c;
	size_t i;

	json_array_foreach((json_t *)list, i, c)
		print_culprit(result, c);
	putchar('\n');
	if (strcmp(end, "found") != 0)
		print_why(result, end);
	print_ends(result);
	print_work(result);
	print_untestable(result);
	print_next(list);
}

void fl_cmd_bisect_run_print(const json_t *result)
{
	const json_t *sides = json_object_get(result, "sides");
	json_t *v;
	size_t i;

	if (!sides)
		print_one(result);
	json_array_foreach((json_t *)sides, i, v) {
		printf("%sFrom %s, where they meet, to %s:\n", i ? "\n" : "",
		       rev_of(v, "good"), rev_of(v, "bad"));
		print_one(v);
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trend: the history of a KPI as a table with a small chart, and where its
 * level changed.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "cmd-compare.h"
#include "cmd-stat.h"
#include "stats/stats.h"
#include "util/clock.h"

#define BAR 30
/* What the exact clock resolves, in standard deviations of one value. */
#define EXACT_FLOOR (0.0005 / 3)

/*
 * Rows [from, to) are one series. Mainline and each stable branch have a
 * level of their own, so changes are looked for in one line at a time: its n
 * rows at[0] to at[n-1].
 */
struct series {
	json_t *rows;
	size_t from, to;
	size_t *at, n;
	struct fl_scale scale;
	struct fl_detection d;
	struct fl_buf notes; /* what is written below the table */
};

static int parse_since(const char *text, int64_t *ret, struct fl_err *err)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = { { 'h', 3600 },
		      { 'd', 86400 },
		      { 'w', 7 * INT64_C(86400) },
		      { 'y', 365 * INT64_C(86400) } };
	char *end;
	long long n;

	*ret = 0;
	if (!text)
		return 0;
	n = strtoll(text, &end, 10);
	for (size_t i = 0; n > 0 && i < FL_ARRAY_SIZE(units); i++)
		if (end[0] == units[i].unit && !end[1] && n < 100000) {
			*ret = fl_clock_now() - n * units[i].seconds;
			return 0;
		}
	return fl_cli_usage(err, "--since '%s': expected e.g. 12h, 90d, 8w, 2y",
			    text);
}

static bool same_series(const json_t *a, const json_t *b)
{
	return !strcmp(fl_json_str_or(a, "host", ""),
		       fl_json_str_or(b, "host", "")) &&
	       !strcmp(fl_json_str_or(a, "case", ""),
		       fl_json_str_or(b, "case", "")) &&
	       fl_json_int_or(a, "case_id", 0) ==
		       fl_json_int_or(b, "case_id", 0) &&
	       fl_json_int_or(a, "recipe_id", 0) ==
		       fl_json_int_or(b, "recipe_id", 0);
}

static json_t *row_of(const struct series *s, size_t i)
{
	return json_array_get(s->rows, s->at[i]);
}

static const char *version_of(const struct series *s, size_t i)
{
	return fl_json_str_or(row_of(s, i), "version", "");
}

/* "v6.12.y" for a release of a stable branch, else "mainline". */
static json_t *line_of(const json_t *row)
{
	const char *version = fl_json_str_or(row, "version", "");
	const char *dot = *version == 'v' ? strchr(version, '.') : NULL;

	if (dot)
		dot = strchr(dot + 1, '.');
	/* v6.12-rc1 has but one dot, v6.12.1-rc1 is stable. */
	if (dot && strtoul(dot + 1, NULL, 10) > 0)
		return json_sprintf("%.*s.y", (int)(dot - version), version);
	return json_string("mainline");
}

static void find_changes(struct series *s, const struct fl_conf *conf)
{
	size_t n = s->n;
	_cleanup_free_ double *y = fl_calloc(n, sizeof(*y));
	bool exact =
		!strcmp(fl_json_str_or(row_of(s, 0), "clock", ""), "exact");
	double threshold = exact ? conf->threshold_exact : conf->threshold_wall;
	struct fl_detect_params p = { 0 };

	s->scale.log = true;
	for (size_t i = 0; i < n; i++) {
		y[i] = fl_json_num_or(row_of(s, i), "value", NAN);
		s->scale.log &= !(y[i] <= 0);
	}
	p.delta = s->scale.log ? log1p(threshold) :
				 threshold * fabs(fl_stats_median(y, n));
	for (size_t i = 0; i < n; i++)
		y[i] = fl_scale_to(&s->scale, y[i]);
	if (exact && s->scale.log)
		p.floor = EXACT_FLOOR;
	fl_detect(y, n, &p, &s->d);
}

static json_t *change_json(const struct series *s, const struct fl_change *c)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "after",
			 version_of(s, c->lo - 1), "before",
			 version_of(s, c->hi), "effect",
			 fl_json_real_or_null(c->effect), "lo",
			 fl_json_real_or_null(c->effect_lo), "hi",
			 fl_json_real_or_null(c->effect_hi), "p",
			 fl_json_real_or_null(c->p));
}

/* The marks become members of the rows. */
static void mark_rows(const struct series *s)
{
	const struct fl_suspect *q = &s->d.suspect;

	for (size_t i = 0; i < s->d.n; i++)
		json_object_update_new(row_of(s, i),
				       json_pack("{s:n, s:n, s:n}", "change",
						 "spike", "suspect"));
	for (size_t i = 0; i < s->d.nchanges; i++)
		if (!s->d.changes[i].small)
			json_object_set_new(row_of(s, s->d.changes[i].at),
					    "change",
					    change_json(s, &s->d.changes[i]));
	for (size_t i = 0; i < s->d.nspikes; i++)
		if (!s->d.spikes[i].small)
			json_object_set_new(
				row_of(s, s->d.spikes[i].at), "spike",
				json_pack("{s:o}", "effect",
					  fl_json_real_or_null(
						  s->d.spikes[i].effect)));
	if (q->n)
		json_object_set_new(
			row_of(s, q->at), "suspect",
			json_pack("{s:I, s:o, s:o, s:o, s:o}", "values",
				  (json_int_t)q->n, "effect",
				  fl_json_real_or_null(q->effect), "lo",
				  fl_json_real_or_null(q->effect_lo), "hi",
				  fl_json_real_or_null(q->effect_hi), "p",
				  fl_json_real_or_null(q->p)));
}

static char mark_of(const json_t *row)
{
	return json_is_object(json_object_get(row, "change"))  ? '^' :
	       json_is_object(json_object_get(row, "suspect")) ? '?' :
	       json_is_object(json_object_get(row, "spike"))   ? 'x' :
								 ' ';
}

static void note_marks(struct series *s)
{
	const struct fl_suspect *q = &s->d.suspect;
	char e[FL_EFFECT], lo[FL_EFFECT], hi[FL_EFFECT];

	for (size_t i = 0; i < s->d.nchanges; i++) {
		const struct fl_change *c = &s->d.changes[i];

		if (c->small)
			continue;
		fl_buf_printf(&s->notes,
			      "^ change %s (95 %%: %s to %s)\n"
			      "  somewhere between %s and %s\n",
			      fl_effect(&s->scale, c->effect, e),
			      fl_effect(&s->scale, c->effect_lo, lo),
			      fl_effect(&s->scale, c->effect_hi, hi),
			      version_of(s, c->lo - 1), version_of(s, c->hi));
	}
	for (size_t i = 0; i < s->d.nspikes; i++)
		if (!s->d.spikes[i].small)
			fl_buf_printf(&s->notes, "x spike %s at %s alone\n",
				      fl_effect(&s->scale,
						s->d.spikes[i].effect, e),
				      version_of(s, s->d.spikes[i].at));
	if (q->n)
		fl_buf_printf(&s->notes,
			      "? suspect %s from %s on (95 %%: %s to %s)\n"
			      "  re-run both sides before believing it\n",
			      fl_effect(&s->scale, q->effect, e),
			      version_of(s, q->at),
			      fl_effect(&s->scale, q->effect_lo, lo),
			      fl_effect(&s->scale, q->effect_hi, hi));
}

/* One series: a dot per kernel between the extremes of all. */
static void print_series(const struct series *s)
{
	const json_t *first = json_array_get(s->rows, s->from);
	double low = INFINITY, high = -INFINITY, before = NAN;
	int width = 7;

	for (size_t i = s->from; i < s->to; i++) {
		const json_t *v = json_array_get(s->rows, i);
		int n = (int)strlen(fl_json_str_or(v, "version", ""));

		low = fmin(low, fl_json_num_or(v, "value", NAN));
		high = fmax(high, fl_json_num_or(v, "value", NAN));
		width = n > width ? n : width;
	}
	printf("%s %s on %s [%s, %s is better, %s clock]\n",
	       fl_json_str_or(first, "kpi", ""),
	       fl_json_str_or(first, "case", ""),
	       fl_json_str_or(first, "host", ""),
	       fl_json_str_or(first, "unit", ""),
	       fl_json_int_or(first, "better", 0) > 0 ? "higher" : "lower",
	       fl_json_str_or(first, "clock", ""));
	for (size_t i = s->from; i < s->to; i++) {
		const json_t *v = json_array_get(s->rows, i);
		double x = fl_json_num_or(v, "value", NAN);
		int at = high > low ? (int)((x - low) / (high - low) * BAR) : 0;
		char change[32] = "";

		if (!isnan(before))
			snprintf(change, sizeof(change), "%+.2f%%",
				 100 * (x / before - 1));
		before = x;
		printf("%c %-*s  %12.7g  %10s  |%*s*%*s|  %lld boot%s\n",
		       mark_of(v), width, fl_json_str_or(v, "version", ""), x,
		       change, at, "", BAR - at, "",
		       (long long)fl_json_int_or(v, "boots", 0),
		       fl_json_int_or(v, "boots", 0) == 1 ? "" : "s");
	}
	puts(fl_buf_str(&s->notes));
}

/* Gives each row its line, and marks line by line. */
static void mark_series(struct series *s, const struct fl_conf *conf)
{
	_cleanup_free_ bool *done = fl_calloc(s->to - s->from, sizeof(*done));

	s->at = fl_calloc(s->to - s->from, sizeof(*s->at));
	for (size_t i = s->from; i < s->to; i++) {
		json_t *row = json_array_get(s->rows, i);

		json_object_update_new(row,
				       json_pack("{s:o, s:n, s:n, s:n}", "line",
						 line_of(row), "change",
						 "spike", "suspect"));
	}
	for (size_t i = s->from; i < s->to; i++) {
		const char *line =
			fl_json_str_or(json_array_get(s->rows, i), "line", "");

		s->n = 0;
		for (size_t j = i; j < s->to && !done[i - s->from]; j++)
			if (!strcmp(line,
				    fl_json_str_or(json_array_get(s->rows, j),
						   "line", "")))
				s->at[s->n++] = j;
		for (size_t j = 0; j < s->n; j++)
			done[s->at[j] - s->from] = true;
		if (!s->n)
			continue;
		find_changes(s, conf);
		mark_rows(s);
		note_marks(s);
		fl_detection_clear(&s->d);
	}
}

/* Marks and, unless it is for --json, prints each series. */
static void each_series(const struct fl_cli *cli, json_t *rows)
{
	for (size_t from = 0, to; from < json_array_size(rows); from = to) {
		struct series s = { .rows = rows, .from = from };

		for (to = from + 1; to < json_array_size(rows) &&
				    same_series(json_array_get(rows, from),
						json_array_get(rows, to));)
			to++;
		s.to = to;
		mark_series(&s, cli->conf);
		if (!cli->json)
			print_series(&s);
		fl_buf_clear(&s.notes);
		free(s.at);
	}
}

int fl_cmd_trend(struct fl_cli *cli, struct fl_err *err)
{
	const char *kpi = fl_cli_opt(cli, "kpi");
	const char *pattern = fl_cli_opt(cli, "case");
	const char *host = fl_cli_opt(cli, "host");
	json_auto_t *rows = NULL;
	int64_t since;
	int r = parse_since(fl_cli_opt(cli, "since"), &since, err);

	if (r < 0)
		return r;
	if (!kpi)
		return fl_cli_usage(err, "trend needs --kpi");
	r = fl_cli_open(cli, err);
	if (!r && !fl_kpi_find(kpi) && !fl_store_kpi_known(cli->store, kpi))
		r = fl_cli_usage(err, "there is no KPI '%s'", kpi);
	if (!r)
		r = fl_store_rows(cli->store, FL_ROWS_TREND, &rows, err, "sssi",
				  kpi, pattern ? pattern : "*",
				  host ? host : "", since);
	if (r < 0)
		return r;
	each_series(cli, rows);
	if (cli->json)
		fl_cli_print_json(rows);
	else if (!json_array_size(rows))
		puts("Nothing was measured that fits.");
	return 0;
}

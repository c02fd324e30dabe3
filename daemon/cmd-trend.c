// SPDX-License-Identifier: GPL-2.0-or-later
/* trend: the history of a KPI as a table with a small chart. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "cmd-compare.h"
#include "util/clock.h"

#define BAR 30

static int parse_since(const char *text, int64_t *ret, struct fl_err *err)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = { { 'h', 3600 },
		      { 'd', 86400 },
		      { 'w', 7 * 86400 },
		      { 'y', 365 * 86400 } };
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
	       fl_json_int_or(a, "recipe_id", 0) ==
		       fl_json_int_or(b, "recipe_id", 0);
}

/* One series: rows [from, to), a bar per kernel between its extremes. */
static void print_series(const json_t *rows, size_t from, size_t to)
{
	const json_t *first = json_array_get(rows, from);
	double low = INFINITY, high = -INFINITY, before = NAN;
	int width = 7;

	for (size_t i = from; i < to; i++) {
		const json_t *v = json_array_get(rows, i);
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
	for (size_t i = from; i < to; i++) {
		const json_t *v = json_array_get(rows, i);
		double x = fl_json_num_or(v, "value", NAN);
		int at = high > low ? (int)((x - low) / (high - low) * BAR) : 0;
		char change[32] = "";

		if (!isnan(before))
			snprintf(change, sizeof(change), "%+.2f%%",
				 100 * (x / before - 1));
		before = x;
		printf("  %-*s  %12.7g  %10s  |%*s*%*s|  %lld boot%s\n", width,
		       fl_json_str_or(v, "version", ""), x, change, at, "",
		       BAR - at, "", (long long)fl_json_int_or(v, "boots", 0),
		       fl_json_int_or(v, "boots", 0) == 1 ? "" : "s");
	}
	putchar('\n');
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
	if (!fl_kpi_find(kpi))
		return fl_cli_usage(err, "there is no KPI '%s'", kpi);
	r = fl_cli_open(cli, err);
	if (!r)
		r = fl_store_rows(cli->store, FL_ROWS_TREND, &rows, err, "sssi",
				  kpi, pattern ? pattern : "*",
				  host ? host : "", since);
	if (r < 0)
		return r;
	if (cli->json) {
		fl_cli_print_json(rows);
		return 0;
	}
	if (!json_array_size(rows))
		puts("Nothing was measured that fits.");
	for (size_t from = 0, to; from < json_array_size(rows); from = to) {
		for (to = from + 1; to < json_array_size(rows) &&
				    same_series(json_array_get(rows, from),
						json_array_get(rows, to));)
			to++;
		print_series(rows, from, to);
	}
	return 0;
}

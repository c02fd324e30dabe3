// SPDX-License-Identifier: GPL-2.0-or-later
/* noise: how much each series differs by itself, and what that hides. */
#include <math.h>
#include <string.h>
#include "cmd-compare.h"
#include "stats/looks.h"
#include "stats/noise.h"

#define ALPHA 0.05
#define POWER 0.8

static struct fl_noise model(const json_t *v)
{
	double se = fl_json_num_or(v, "repetition_sd", 0);
	double su = fl_json_num_or(v, "boot_sd", 0);
	double sa = fl_json_num_or(v, "image_sd", 0);
	struct fl_noise m = {
		.images = (size_t)fl_json_int_or(v, "images", 0),
		.boots = (size_t)fl_json_int_or(v, "boots", 0),
		.reps = fl_json_num_or(v, "repetitions", 1),
		.se2 = se * se,
		.su2 = su * su,
		.sa2 = sa * sa,
		.df_a = fl_json_num_or(v, "df_a", 0),
		.s0sq = fl_json_num_or(v, "s0sq", 0),
		.d0 = fl_json_num_or(v, "d0", 0),
	};

	fl_noise_derive(&m);
	return m;
}

/* Adds to each row what a number of boots a side can tell from noise. */
static void add_resolution(json_t *rows)
{
	static const struct fl_looks *const plan = &fl_looks_default;
	const size_t first = plan->boots[0], last = plan->boots[plan->n - 1];
	json_t *v;
	size_t i;

	json_array_foreach(rows, i, v) {
		struct fl_noise m = model(v);
		bool exact = !strcmp(fl_json_str_or(v, "clock", ""), "exact");
		double few = fl_noise_resolves(&m, first, ALPHA, POWER);
		double many = fl_noise_resolves(&m, last, ALPHA, POWER);

		if (exact)
			few = many = fl_noise_exact_floor(&m);
		if (isfinite(few))
			json_object_set_new(v, "resolves_first_look",
					    json_real(expm1(few)));
		if (isfinite(many))
			json_object_set_new(v, "resolves_last_look",
					    json_real(expm1(many)));
	}
}

static void percent(const json_t *v, const char *key)
{
	double d = 100 * fl_json_num_or(v, key, NAN);

	if (isnan(d))
		printf("  %7s", "-");
	else
		printf("  %6.*f%%", d < 0.1 ? 4 : d < 10 ? 2 : 1, d);
}

static bool same_group(const json_t *a, const json_t *b)
{
	return a &&
	       !strcmp(fl_json_str_or(a, "host", ""),
		       fl_json_str_or(b, "host", "")) &&
	       !strcmp(fl_json_str_or(a, "kpi", ""),
		       fl_json_str_or(b, "kpi", "")) &&
	       fl_json_int_or(a, "recipe_id", 0) ==
		       fl_json_int_or(b, "recipe_id", 0);
}

static void print_head(const json_t *v, bool first)
{
	bool exact = !strcmp(fl_json_str_or(v, "clock", ""), "exact");
	char see[2][16] = { "smallest", "" };

	if (!exact)
		for (int i = 0; i < 2; i++)
			snprintf(
				see[i], sizeof(see[i]), "%zu boots",
				fl_looks_default
					.boots[i ? fl_looks_default.n - 1 : 0]);
	printf("%s%s on %s [%s clock, recipe %lld]\n", first ? "" : "\n",
	       fl_json_str_or(v, "kpi", ""), fl_json_str_or(v, "host", ""),
	       fl_json_str_or(v, "clock", ""),
	       (long long)fl_json_int_or(v, "recipe_id", 0));
	printf("  %-35s  %5s  %7s  %7s %8s %8s\n", "", "boots", "boot sd",
	       "image", see[0], see[1]);
}

static void print_row(const json_t *v)
{
	bool exact = !strcmp(fl_json_str_or(v, "clock", ""), "exact");
	double upper = fl_json_num_or(v, "upper_share", NAN);

	printf("  %-35.35s  %5lld", fl_json_str_or(v, "case", ""),
	       (long long)fl_json_int_or(v, "boots", 0));
	percent(v, "boot_sd");
	if (fl_json_num_or(v, "df_a", 0) > 0)
		percent(v, "image_sd");
	else
		printf("  %7s", "-");
	percent(v, "resolves_first_look");
	if (!exact)
		percent(v, "resolves_last_look");
	putchar('\n');
	if (!isnan(upper))
		printf("      two modes: %.0f %% of the boots are %.1f %% higher than the others\n",
		       100 * upper,
		       100 * expm1(fl_json_num_or(v, "modes_apart", 0)));
}

static void print_legend(const json_t *rows)
{
	bool wall = false, exact = false;
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)rows, i, v) {
		bool e = !strcmp(fl_json_str_or(v, "clock", ""), "exact");

		exact |= e;
		wall |= !e;
	}
	puts("\nboot sd: standard deviation from boot to boot. image: from build to build,\n"
	     "\"-\" where too few neighbouring commits were measured.");
	if (wall)
		printf("N boots: the change that as many boots a side find four times of five.\n");
	if (exact)
		puts("smallest: the smallest change that is reported.");
}

int fl_cmd_noise(struct fl_cli *cli, struct fl_err *err)
{
	const char *kpi = fl_cli_opt(cli, "kpi");
	const char *pattern = fl_cli_opt(cli, "case");
	const char *host = fl_cli_opt(cli, "host");
	json_auto_t *rows = NULL;
	const json_t *before = NULL;
	json_t *v;
	size_t i;
	int r;

	r = fl_cli_open(cli, err);
	if (!r && kpi && !fl_kpi_find(kpi) &&
	    !fl_store_kpi_known(cli->store, kpi))
		r = fl_cli_usage(err, "there is no KPI '%s'", kpi);
	if (!r)
		r = fl_store_rows(cli->store, FL_ROWS_NOISE, &rows, err, "sss",
				  kpi ? kpi : "", pattern ? pattern : "*",
				  host ? host : "");
	if (r < 0)
		return r;
	add_resolution(rows);
	if (cli->json) {
		fl_cli_print_json(rows);
		return 0;
	}
	if (!json_array_size(rows)) {
		puts("Nothing is known yet: the noise model is made when a comparison ends.");
		return 0;
	}
	json_array_foreach(rows, i, v) {
		if (!same_group(before, v))
			print_head(v, !before);
		print_row(v);
		before = v;
	}
	print_legend(rows);
	return 0;
}

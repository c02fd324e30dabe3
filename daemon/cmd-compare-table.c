// SPDX-License-Identifier: GPL-2.0-or-later
/* The results of a comparison as a person reads them, in 80 columns. */
#include <math.h>
#include <string.h>
#include "cmd-compare.h"

static const char *str(const json_t *v, const char *key)
{
	return fl_json_str_or(v, key, "");
}

static double num(const json_t *v, const char *key)
{
	return fl_json_num_or(v, key, NAN);
}

/* A log ratio in per cent. */
static const char *percent(double log_ratio, char *out, size_t n)
{
	double p = 100 * expm1(log_ratio);

	if (isnan(p))
		snprintf(out, n, "-");
	else
		snprintf(out, n, "%+.*f%%",
			 fabs(p) < 1	? 3 :
			 fabs(p) < 10	? 2 :
			 fabs(p) < 1000 ? 1 :
					  0,
			 p);
	return out;
}

/* An end of the interval, a digit finer than the change itself. */
static const char *bound(double log_ratio, char *out, size_t n)
{
	snprintf(out, n, "%+.*f%%", fabs(expm1(log_ratio)) < 1 ? 2 : 1,
		 100 * expm1(log_ratio));
	return out;
}

static const char *verdict(const json_t *v)
{
	return strcmp(str(v, "second_isa"), "artefact") ? str(v, "verdict") :
							  "artefact";
}

static void print_spread(const json_t *v)
{
	printf("%lld+%lld boots, spread %.2g and %.2g %%",
	       (long long)fl_json_int_or(v, "base_boots", 0),
	       (long long)fl_json_int_or(v, "head_boots", 0),
	       100 * num(v, "base_sd"), 100 * num(v, "head_sd"));
}

/* How sure it is; nothing for what stayed the same. */
static void print_evidence(const json_t *v)
{
	char lo[32], hi[32];
	bool unclear = !strcmp(str(v, "verdict"), "unclear");
	double hidden = num(v, "hidden");

	if (!strcmp(str(v, "verdict"), "same"))
		return;
	if (*str(v, "reason"))
		printf("      %s\n", str(v, "reason"));
	if (isnan(num(v, "effect")))
		return;
	printf("      %s to %s; ", bound(num(v, "lo"), lo, sizeof(lo)),
	       bound(num(v, "hi"), hi, sizeof(hi)));
	print_spread(v);
	putchar('\n');
	if (unclear && isfinite(hidden))
		printf("      a change of up to %.2g %% can hide in this noise\n",
		       100 * expm1(hidden));
	if (fl_json_int_or(v, "modes", 0))
		puts("      the boots fall into two modes, compared one by one");
	if (!strcmp(verdict(v), "artefact"))
		puts("      only in string instructions, as this machine counts them");
}

void fl_print_results(const json_t *rows, bool all)
{
	_cleanup_strv_ struct fl_strv kpis = { 0 };
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)rows, i, v)
		if (!fl_strv_has(&kpis, str(v, "kpi")) &&
		    (all || strcmp(verdict(v), "same")))
			fl_strv_add(&kpis, str(v, "kpi"));
	for (size_t k = 0; k < kpis.n; k++) {
		bool head = false;

		json_array_foreach((json_t *)rows, i, v) {
			int64_t better = fl_json_int_or(v, "better", 0);
			char change[32];

			if (strcmp(str(v, "kpi"), kpis.s[k]) ||
			    (!all && !strcmp(verdict(v), "same")))
				continue;
			if (!head)
				printf("%s%s (%s)\n", k ? "\n" : "", kpis.s[k],
				       better > 0 ? "higher is better" :
				       better < 0 ? "lower is better" :
						    "not judged");
			head = true;
			printf("  %-37s %10.7g %10.7g %9s  %s\n",
			       str(v, "case"), num(v, "base_value"),
			       num(v, "head_value"),
			       percent(num(v, "effect"), change,
				       sizeof(change)),
			       verdict(v));
			print_evidence(v);
		}
	}
}

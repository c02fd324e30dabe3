// SPDX-License-Identifier: GPL-2.0-or-later
/* stat compare: two samples from files; and what the stat verbs share. */
#include "cmd-stat.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "stats/stats.h"

#define ALPHA 0.05
#define MANY_BOOTS 1000
#define JUDGED 4000 /* means of boots a side */
#define FEW 20
#define NAME 36 /* characters of a file's name */

/* ---- scales --------------------------------------------------------------- */

int fl_scale_take(const struct fl_cli *cli, bool positive, double middle,
		  const char *threshold, struct fl_scale *ret,
		  struct fl_err *err)
{
	const char *text = fl_cli_opt(cli, "threshold");
	bool percent;
	char *end;
	double v;

	ret->log = positive && !fl_cli_opt(cli, "linear");
	ret->forced = !ret->log && !fl_cli_opt(cli, "linear");
	if (!text)
		text = threshold;
	v = strtod(text, &end);
	percent = end != text && *end == '%';
	if (end == text || end[percent] || !(v >= 0 && isfinite(v)) ||
	    ((percent || ret->log) && v / (percent ? 100 : 1) >= 10))
		return fl_cli_usage(
			err,
			"--threshold '%s': expected a percentage such as 5%%",
			text);
	if (percent)
		v /= 100;
	ret->delta = ret->log ? log1p(v) : percent ? v * fabs(middle) : v;
	return 0;
}

double fl_scale_to(const struct fl_scale *s, double v)
{
	return s->log ? log(v) : v;
}

double fl_scale_from(const struct fl_scale *s, double y)
{
	return s->log ? exp(y) : y;
}

char *fl_effect(const struct fl_scale *s, double effect, char out[FL_EFFECT])
{
	double percent = 100 * expm1(effect);

	if (!s->log)
		snprintf(out, FL_EFFECT, "%+.4g", effect);
	else if (fabs(percent) >= 1000)
		snprintf(out, FL_EFFECT, "%+.3g%%", percent);
	else
		snprintf(out, FL_EFFECT,
			 fabs(percent) < 1 ? "%+.3f%%" : "%+.2f%%", percent);
	return out;
}

char *fl_spread(const struct fl_scale *s, double sd, char out[FL_EFFECT])
{
	snprintf(out, FL_EFFECT, s->log ? "%.3g%%" : "%.4g",
		 s->log ? 100 * expm1(sd) : sd);
	return out;
}

json_t *fl_json_real_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* ---- compare -------------------------------------------------------------- */

/* One side: a value for each boot. */
struct side {
	struct fl_numbers file;
	double *boot;
	size_t n;
	double sd; /* of the boots */
	/* What is judged: the boots, or means of so many in a row that the
	 * permutations of a huge sample take a second. */
	double *judged;
	size_t njudged;
	double level; /* of the boots, as in the file */
};

static void side_clear(struct side *s)
{
	fl_numbers_clear(&s->file);
	free(s->boot);
	free(s->judged);
}

struct labelled {
	const char *label;
	double v;
};

static int by_label(const void *a, const void *b)
{
	return strcmp(((const struct labelled *)a)->label,
		      ((const struct labelled *)b)->label);
}

/* The values of a boot become their median. */
static void reduce(struct side *s, const struct fl_scale *scale)
{
	size_t n = s->file.n;
	_cleanup_free_ struct labelled *all = fl_calloc(n, sizeof(*all));
	_cleanup_free_ double *v = fl_calloc(n, sizeof(*v));

	s->boot = fl_calloc(n, sizeof(*s->boot));
	for (size_t i = 0; i < n; i++) {
		all[i].label = s->file.label ? s->file.label[i] : "";
		all[i].v = fl_scale_to(scale, s->file.v[i]);
	}
	if (s->file.label)
		qsort(all, n, sizeof(*all), by_label);
	for (size_t i = 0, to; i < n; i = to) {
		for (to = i; to < n &&
			     (to == i ||
			      (s->file.label && !by_label(&all[i], &all[to])));
		     to++)
			v[to - i] = all[to].v;
		s->boot[s->n++] = fl_stats_median(v, to - i);
	}
	s->level = fl_scale_from(scale, fl_stats_mean(s->boot, s->n));
	s->sd = fl_stats_sd(s->boot, s->n);
}

/* Both sides alike: means of unequal numbers scatter differently. */
static void bundle(struct side *s, size_t size)
{
	s->judged = fl_calloc(s->n, sizeof(*s->judged));
	for (size_t i = 0; i + size <= s->n; i += size)
		s->judged[s->njudged++] = fl_stats_mean(s->boot + i, size);
}

struct outcome {
	struct fl_compare_result r;
	double min_p;
	const char *verdict;
	bool none; /* nothing to compute: too few boots */
	double boots; /* a side that would settle it; 0: not needed or unknown */
};

/*
 * Boots a side until the interval fits inside the threshold or excludes 0, in
 * four of five cases; normal quantiles, since it is a plan and no verdict.
 */
static double boots_to_settle(const struct side *a, const struct side *b,
			      const struct fl_compare_result *r, double delta)
{
	double na = (double)a->n - 1, nb = (double)b->n - 1, sd, gap, n;

	if (na + nb < 1)
		return 0;
	sd = sqrt((na * a->sd * a->sd + nb * b->sd * b->sd) / (na + nb));
	if (fabs(r->effect) >= delta)
		gap = fabs(r->effect) / (1.960 + 0.842);
	else
		gap = (delta - fabs(r->effect)) / (1.645 + 0.842);
	n = ceil(2 * sd * sd / (gap * gap));
	return isfinite(n) ? fmax(n, fmax(na, nb) + 2) : INFINITY;
}

static int take_better(const struct fl_cli *cli, int *ret, struct fl_err *err)
{
	const char *text = fl_cli_opt(cli, "better");

	*ret = 0;
	if (!text)
		return 0;
	if (!strcmp(text, "higher"))
		*ret = 1;
	else if (!strcmp(text, "lower"))
		*ret = -1;
	else
		return fl_cli_usage(err, "--better is higher or lower");
	return 0;
}

static void judge(const struct side *a, const struct side *b, int better,
		  const struct fl_scale *scale, struct outcome *o)
{
	struct fl_compare_params p = { .better = better ? better : 1,
				       .delta = scale->delta,
				       .alpha = ALPHA,
				       .seed = 1 };

	fl_stats_compare(a->judged, a->njudged, b->judged, b->njudged, &p,
			 &o->r);
	/* Of larger samples the least p is too small to be worth a word. */
	if (a->n <= 10 && b->n <= 10)
		fl_stats_permutation(a->judged, a->n, b->judged, b->n, 1,
				     &o->min_p);
	o->none = isnan(o->r.lo);
	o->verdict = fl_verdict_str(o->r.verdict);
	if (!better && o->r.shift)
		o->verdict = o->r.effect > 0 ? "up" : "down";
	o->boots = o->r.verdict == FL_UNCLEAR && !o->none ?
			   boots_to_settle(a, b, &o->r, scale->delta) :
			   0;
}

static json_t *side_json(const struct side *s)
{
	return json_pack("{s:o, s:I, s:I, s:o, s:o}", "file",
			 fl_json_text_value(s->file.path, strlen(s->file.path)),
			 "values", (json_int_t)s->file.n, "boots",
			 (json_int_t)s->n, "level",
			 fl_json_real_or_null(s->level), "sd",
			 fl_json_real_or_null(s->n > 1 ? s->sd : NAN));
}

static void print_json(const struct side *a, const struct side *b,
		       const struct fl_scale *scale, const struct outcome *o)
{
	json_auto_t *j = json_pack(
		"{s:o, s:o, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o}",
		"a", side_json(a), "b", side_json(b), "scale",
		scale->log ? "log" : "linear", "threshold", scale->delta,
		"effect", fl_json_real_or_null(o->r.effect), "lo",
		fl_json_real_or_null(o->r.lo), "hi",
		fl_json_real_or_null(o->r.hi), "p_permutation",
		fl_json_real_or_null(o->none ? NAN : o->r.p), "p_t",
		fl_json_real_or_null(o->r.p_t), "verdict", o->verdict, "hidden",
		fl_json_real_or_null(o->r.hidden), "boots_to_settle",
		fl_json_real_or_null(o->boots > 0 ? o->boots : NAN));

	fl_cli_print_json(j);
}

static void print_side(const struct side *s, const struct fl_scale *scale)
{
	_cleanup_free_ char *name = fl_strdup(s->file.path);
	char spread[FL_EFFECT] = "-";
	size_t n;

	fl_text_plain(name, "");
	n = strlen(name); /* the end of a long path tells more */
	if (s->n > 1)
		fl_spread(scale, s->sd, spread);
	printf("  %-*s %8zu %8zu %12.7g %9s\n", NAME,
	       n > NAME ? name + n - NAME : name, s->n, s->file.n, s->level,
	       spread);
}

static void print_unclear(const struct fl_scale *scale, const struct outcome *o)
{
	char hidden[FL_EFFECT];

	if (isfinite(o->r.hidden))
		printf("         a change of up to %s could still hide\n",
		       fl_effect(scale, o->r.hidden, hidden) + 1);
	if (o->boots > MANY_BOOTS)
		printf("         more than %d boots a side would be needed to "
		       "settle it\n",
		       MANY_BOOTS);
	else if (o->boots > 0)
		printf("         about %.0f boots a side would settle it\n",
		       o->boots);
}

static void print_text(const struct side *a, const struct side *b,
		       const struct fl_scale *scale, const struct outcome *o)
{
	char delta[FL_EFFECT], effect[FL_EFFECT], lo[FL_EFFECT], hi[FL_EFFECT];

	printf("  %-*s %8s %8s %12s %9s\n", NAME, "", "boots", "values",
	       scale->log ? "geom. mean" : "mean", "spread");
	print_side(a, scale);
	print_side(b, scale);
	if (scale->forced)
		printf("A value is not positive: differences, no ratios.\n");
	if (a->njudged < a->n)
		printf("So many boots are judged by the means of %zu in a row.\n",
		       a->n / a->njudged);
	if (o->none) {
		printf("\nverdict  unclear: %zu + %zu boots can show nothing, "
		       "two a side is the least\n",
		       a->n, b->n);
		return;
	}
	printf("\neffect   %s, between %s and %s (%g %%)\n",
	       fl_effect(scale, o->r.effect, effect),
	       fl_effect(scale, o->r.lo, lo), fl_effect(scale, o->r.hi, hi),
	       100 * (1 - ALPHA));
	printf("p        %.2g by permutation%s, %.2g by t\n", o->r.p,
	       o->min_p > 0 && o->r.p <= o->min_p * 1.0000001 ?
		       " (the least these boots can reach)" :
		       "",
	       o->r.p_t);
	printf("verdict  %s (threshold %s)\n", o->verdict,
	       fl_effect(scale, scale->delta, delta) + 1);
	if (o->r.verdict == FL_UNCLEAR)
		print_unclear(scale, o);
}

static int stat_compare(struct fl_cli *cli, struct fl_err *err)
{
	_cleanup_(side_clear) struct side a = { 0 }, b = { 0 };
	struct fl_scale scale = { 0 };
	struct outcome o = { 0 };
	size_t size;
	int better, r = take_better(cli, &better, err);

	if (!r && !strcmp(cli->args[0], "-") && !strcmp(cli->args[1], "-"))
		return fl_cli_usage(err, "only one of the two may be '-'");
	if (!r)
		r = fl_numbers_read(cli->args[0], &a.file, err);
	if (!r)
		r = fl_numbers_read(cli->args[1], &b.file, err);
	if (!r)
		r = fl_scale_take(cli,
				  fl_numbers_positive(&a.file) &&
					  fl_numbers_positive(&b.file),
				  fl_stats_median(a.file.v, a.file.n), "5%",
				  &scale, err);
	if (r)
		return r;
	reduce(&a, &scale);
	reduce(&b, &scale);
	for (size = 1; a.n / size > JUDGED || b.n / size > JUDGED;)
		size++;
	if (a.n / size < FEW || b.n / size < FEW)
		size = 1;
	bundle(&a, size);
	bundle(&b, size);
	judge(&a, &b, better, &scale, &o);
	if (cli->json)
		print_json(&a, &b, &scale, &o);
	else
		print_text(&a, &b, &scale, &o);
	return 0;
}

#define THRESHOLD_OPT(d)                                                      \
	{                                                                     \
		"threshold", "X%", "the smallest change that matters (" d ")" \
	}
#define LINEAR_OPT                                              \
	{                                                       \
		"linear", NULL, "judge differences, not ratios" \
	}

const struct fl_verb fl_verbs_stat[] = {
	{ .name = "stat compare",
	  .args = "A.csv B.csv [--threshold 5%] [--better WAY] [--json]",
	  .help = "do two samples differ, each boot one observation?",
	  .more = "One value a line, each a boot of its own, or 'boot,value': "
		  "the values of\na boot become their median. '-' is standard "
		  "input.",
	  .min_args = 2,
	  .max_args = 2,
	  .opts = { THRESHOLD_OPT("default 5%"),
		    { "better", "WAY", "higher or lower (default: up, down)" },
		    LINEAR_OPT },
	  .run = stat_compare },
	{ .name = "stat detect",
	  .args = "SERIES.csv [--threshold X%] [--json]",
	  .help = "where did the level of a series change?",
	  .more = "One value a line, or 'label,value', oldest first. "
		  "'-' is standard input.",
	  .min_args = 1,
	  .max_args = 1,
	  .opts = { THRESHOLD_OPT("default: any"), LINEAR_OPT },
	  .run = fl_cmd_stat_detect },
	{ .name = NULL },
};

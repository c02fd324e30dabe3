// SPDX-License-Identifier: GPL-2.0-or-later
/* stat detect: the history of a series that comes in a file. */
#include "cmd-stat.h"

#include <math.h>
#include <string.h>
#include "stats/stats.h"

#define PLACE 18 /* characters of a label in a table */
#define LISTED 10 /* spikes */
#define CHART_FROM 8 /* values */

struct series {
	struct fl_numbers file;
	struct fl_scale scale;
	double *y;
	struct fl_detection d;
};

static void series_clear(struct series *s)
{
	fl_numbers_clear(&s->file);
	free(s->y);
	fl_detection_clear(&s->d);
}

/* How the file calls value i: its label or its line; short. */
static char *place(const struct series *s, size_t i, char out[PLACE * 4 + 1])
{
	const char *label = s->file.label ? s->file.label[i] : NULL;
	size_t n = 0, chars = 0;

	if (!label || !*label) {
		snprintf(out, PLACE * 4 + 1, "line %zu", s->file.line[i]);
		return out;
	}
	for (; n < (size_t)PLACE * 4 && label[n]; n++) {
		chars += ((unsigned char)label[n] & 0xc0) != 0x80;
		if (chars > PLACE)
			break;
		out[n] = label[n];
	}
	out[n] = '\0';
	if (label[n] && n > 2)
		memcpy(out + n - 2, "..", 2);
	return out;
}

static void print_segments(const struct series *s)
{
	printf("\n  %-*s %-*s %7s %12s %8s %9s\n", PLACE, "from", PLACE, "to",
	       "values", "level", "spread", "change");
	for (size_t i = 0; i < s->d.nsegments; i++) {
		const struct fl_segment *g = &s->d.segments[i];
		char from[PLACE * 4 + 1], to[PLACE * 4 + 1];
		char sd[FL_EFFECT] = "-", change[FL_EFFECT];

		if (g->n > 1)
			fl_spread(&s->scale, g->sd, sd);
		printf("  %-*s %-*s %7zu %12.7g %8s", PLACE,
		       place(s, g->from, from), PLACE, place(s, g->to - 1, to),
		       g->n, fl_scale_from(&s->scale, g->level), sd);
		if (i)
			printf(" %9s",
			       fl_effect(&s->scale, s->d.changes[i - 1].effect,
					 change));
		putchar('\n');
	}
}

static void print_changes(const struct series *s)
{
	size_t small = 0;

	for (size_t i = 0; i < s->d.nchanges; i++) {
		const struct fl_change *c = &s->d.changes[i];
		char at[PLACE * 4 + 1], before[PLACE * 4 + 1];
		char e[FL_EFFECT], lo[FL_EFFECT], hi[FL_EFFECT];

		small += c->small;
		if (c->small)
			continue;
		printf("change   %s at %s (95 %%: %s to %s)\n",
		       fl_effect(&s->scale, c->effect, e), place(s, c->at, at),
		       fl_effect(&s->scale, c->effect_lo, lo),
		       fl_effect(&s->scale, c->effect_hi, hi));
		printf("         somewhere between %s and %s\n",
		       place(s, c->lo - 1, before), place(s, c->hi, at));
	}
	if (small == s->d.nchanges)
		printf("change   none\n");
	if (small)
		printf("         %zu below the threshold: the other steps "
		       "above\n",
		       small);
}

static void print_apart(const struct series *s)
{
	const struct fl_suspect *q = &s->d.suspect;
	size_t listed = 0;
	char at[PLACE * 4 + 1], e[FL_EFFECT], lo[FL_EFFECT], hi[FL_EFFECT];

	for (size_t i = 0; i < s->d.nspikes; i++)
		if (!s->d.spikes[i].small && listed++ < LISTED)
			printf("spike    %s at %s\n",
			       fl_effect(&s->scale, s->d.spikes[i].effect, e),
			       place(s, s->d.spikes[i].at, at));
	if (listed > LISTED)
		printf("         and %zu more (--json lists all)\n",
		       listed - LISTED);
	if (!q->n)
		return;
	printf("suspect  %s from %s on (95 %%: %s to %s), %s\n",
	       fl_effect(&s->scale, q->effect, e), place(s, q->at, at),
	       fl_effect(&s->scale, q->effect_lo, lo),
	       fl_effect(&s->scale, q->effect_hi, hi),
	       q->n == 1 ? "one value" : "two values");
	printf("         re-run both sides before believing it\n");
}

static void print_text(const struct series *s)
{
	char sd[FL_EFFECT], delta[FL_EFFECT];

	fl_cli_safe(s->file.path);
	printf(": %zu value%s, %s\n", s->file.n, s->file.n == 1 ? "" : "s",
	       s->scale.log ?
		       "changes as ratios" :
	       s->scale.forced ?
		       "changes as differences (a value is not positive)" :
		       "changes as differences");
	printf("noise    %s a value", fl_spread(&s->scale, s->d.sigma, sd));
	if (s->d.rho >= 0.005)
		printf(", neighbours correlate by %.2f", s->d.rho);
	printf("; threshold %s\n",
	       s->scale.delta > 0 ?
		       fl_effect(&s->scale, s->scale.delta, delta) + 1 :
		       "none");
	print_segments(s);
	putchar('\n');
	if (s->file.n >= CHART_FROM) {
		fl_stat_chart(s->y, s->file.n, &s->d, &s->scale);
		putchar('\n');
	}
	print_changes(s);
	print_apart(s);
}

/* ---- JSON ----------------------------------------------------------------- */

/* The line and the label of value i. */
static json_t *where(const struct series *s, size_t i)
{
	const char *label = s->file.label ? s->file.label[i] : NULL;

	return json_pack(
		"{s:I, s:o}", "line", (json_int_t)s->file.line[i], "label",
		label ? fl_json_text_value(label, strlen(label)) : json_null());
}

static json_t *changes_json(const struct series *s)
{
	json_t *all = json_array();

	for (size_t i = 0; i < s->d.nchanges; i++) {
		const struct fl_change *c = &s->d.changes[i];

		json_array_append_new(
			all,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
				  "at", where(s, c->at), "after",
				  where(s, c->lo - 1), "before",
				  where(s, c->hi), "effect",
				  fl_json_real_or_null(c->effect), "lo",
				  fl_json_real_or_null(c->effect_lo), "hi",
				  fl_json_real_or_null(c->effect_hi), "p",
				  fl_json_real_or_null(c->p), "below_threshold",
				  (int)c->small));
	}
	return all;
}

static json_t *segments_json(const struct series *s)
{
	json_t *all = json_array();

	for (size_t i = 0; i < s->d.nsegments; i++) {
		const struct fl_segment *g = &s->d.segments[i];

		json_array_append_new(
			all,
			json_pack("{s:o, s:o, s:I, s:o, s:o}", "from",
				  where(s, g->from), "to", where(s, g->to - 1),
				  "values", (json_int_t)g->n, "level",
				  fl_json_real_or_null(
					  fl_scale_from(&s->scale, g->level)),
				  "sd", fl_json_real_or_null(g->sd)));
	}
	return all;
}

static json_t *spikes_json(const struct series *s)
{
	json_t *all = json_array();

	for (size_t i = 0; i < s->d.nspikes; i++)
		json_array_append_new(
			all,
			json_pack("{s:o, s:o}", "at",
				  where(s, s->d.spikes[i].at), "effect",
				  fl_json_real_or_null(s->d.spikes[i].effect)));
	return all;
}

static json_t *suspect_json(const struct series *s)
{
	const struct fl_suspect *q = &s->d.suspect;

	if (!q->n)
		return json_null();
	return json_pack("{s:o, s:I, s:o, s:o, s:o, s:o}", "at",
			 where(s, q->at), "values", (json_int_t)q->n, "effect",
			 fl_json_real_or_null(q->effect), "lo",
			 fl_json_real_or_null(q->effect_lo), "hi",
			 fl_json_real_or_null(q->effect_hi), "p",
			 fl_json_real_or_null(q->p));
}

static void print_json(const struct series *s)
{
	json_auto_t *j = json_pack(
		"{s:o, s:I, s:s, s:o, s:o, s:f, s:o, s:o, s:o, s:o}", "file",
		fl_json_text_value(s->file.path, strlen(s->file.path)),
		"values", (json_int_t)s->file.n, "scale",
		s->scale.log ? "log" : "linear", "noise",
		fl_json_real_or_null(s->d.sigma), "correlation",
		fl_json_real_or_null(s->d.rho), "threshold", s->scale.delta,
		"segments", segments_json(s), "changes", changes_json(s),
		"spikes", spikes_json(s), "suspect", suspect_json(s));

	fl_cli_print_json(j);
}

int fl_cmd_stat_detect(struct fl_cli *cli, struct fl_err *err)
{
	_cleanup_(series_clear) struct series s = { 0 };
	struct fl_detect_params p = { 0 };
	int r = fl_numbers_read(cli->args[0], &s.file, err);

	if (!r)
		r = fl_scale_take(cli, fl_numbers_positive(&s.file),
				  fl_stats_median(s.file.v, s.file.n), "0%",
				  &s.scale, err);
	if (r < 0)
		return r;
	s.y = fl_calloc(s.file.n, sizeof(*s.y));
	for (size_t i = 0; i < s.file.n; i++)
		s.y[i] = fl_scale_to(&s.scale, s.file.v[i]);
	p.delta = s.scale.delta;
	fl_detect(s.y, s.file.n, &p, &s.d);
	if (cli->json)
		print_json(&s);
	else
		print_text(&s);
	return 0;
}

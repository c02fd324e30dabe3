// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is seen while it goes on, on stderr: on a terminal a block of lines in
 * place with the best candidates; elsewhere one line a run. What happened
 * once (the ends differ, a commit cannot be tested) stays in both.
 */
#include "bisect-run.h"

#include <math.h>
#include <string.h>
#include "util/clock.h"
#include "util/log.h"

#define SHOWN 3

void fl_brun_percent(struct fl_buf *b, double log_ratio)
{
	double p = 100 * expm1(log_ratio), a = fabs(p);
	int digits = a >= 99.95 ? 0 : a >= 1 ? 1 : a >= 0.1 ? 2 : 4;

	fl_buf_printf(b, "%+.*f %%", digits, p);
}

void fl_brun_probability(struct fl_buf *b, double p)
{
	if (p > 0.999)
		fl_buf_puts(b, ">99.9 %");
	else if (p >= 0.995)
		fl_buf_printf(b, "%.1f %%", 100 * p);
	else
		fl_buf_printf(b, "%.*f %%", p < 0.0995, 100 * p);
}

char *fl_brun_span(double seconds, char *out, size_t n)
{
	if (seconds >= 9.95)
		return fl_clock_span(seconds, out, n);
	snprintf(out, n, "%.1f s", seconds);
	return out;
}

static void put_value(struct fl_buf *b, const struct fl_brun_hunt *h, double v)
{
	if (h->opts->exact || v >= 1e5)
		fl_buf_printf(b, v < 1e12 && v >= 1e5 ? "%.0f" : "%.9g", v);
	else
		fl_buf_printf(b, "%.5g", v);
	if (h->unit[0])
		fl_buf_printf(b, "%s%s", h->unit[0] == '%' ? "" : " ", h->unit);
}

static int best_of(const struct fl_brun_hunt *h, int out[SHOWN])
{
	const double *p = fl_hunt_posterior(h->hunt);
	int n = 0;

	for (int i = 0; p && i < h->graph.n; i++) {
		int at = n;

		while (at && p[out[at - 1]] < p[i])
			at--;
		if (at == SHOWN || p[i] < 0.005)
			continue;
		n += n < SHOWN;
		memmove(out + at + 1, out + at,
			(size_t)(n - at - 1) * sizeof(*out));
		out[at] = i;
	}
	return n;
}

/* Fresh runs of the candidate and its parents that are not there yet. */
static double verify_left(const struct fl_brun_hunt *h, int each)
{
	const struct fl_brun_node *c = &h->graph.node[h->candidate];
	int left = each - c->value[FL_HUNT_VERIFY].n;

	for (int i = 0; i < c->nparents; i++)
		left += each -
			h->graph.node[c->parents[i]].value[FL_HUNT_VERIFY].n;
	return left > 1 ? left : 1;
}

/*
 * Runs still to come: bits that are open over bits a run brings (the two-level
 * channel's capacity, docs/STATISTICS.md), and the verification.
 */
static double runs_left(const struct fl_brun_hunt *h)
{
	static const double d_at[] = { 0, 1, 2, 3, 5, 8 };
	static const double bits_at[] = { 0.02, 0.161, 0.486, 0.76, 0.975, 1 };
	const double *p = fl_hunt_posterior(h->hunt);
	int verify = h->opts->exact ? 4 : 16;
	struct fl_bisect_levels l;
	double open = 0, d, rate = 1;

	if (h->stage == FL_HUNT_VERIFYING)
		return verify_left(h, verify / 2);
	if (h->stage != FL_HUNT_SEARCHING || !p)
		return NAN;
	fl_hunt_levels(h->hunt, &l);
	d = fabs(l.bad - l.good) / fmax(l.sigma, 1e-9);
	for (size_t i = 1; i < FL_ARRAY_SIZE(d_at); i++) {
		if (d >= d_at[i] || d < d_at[i - 1])
			continue;
		rate = bits_at[i - 1] + (bits_at[i] - bits_at[i - 1]) *
						(d - d_at[i - 1]) /
						(d_at[i] - d_at[i - 1]);
	}
	for (int i = 0; i < h->graph.n; i++)
		open -= p[i] > 0 ? p[i] * log2(p[i]) : 0;
	return verify + ceil(open / rate);
}

static void put_status(struct fl_buf *b, const struct fl_brun_hunt *h,
		       double seconds)
{
	static const char *const word[] = { "measuring both ends", "searching",
					    "verifying", "done" };
	double left = runs_left(h), each;
	char span[32];

	fl_buf_printf(b, "%d run%s of %d commit%s in %s; %s", h->runs,
		      h->runs == 1 ? "" : "s", h->tested,
		      h->tested == 1 ? "" : "s",
		      fl_brun_span(h->seconds + seconds, span, sizeof(span)),
		      word[h->stage]);
	if (isnan(left))
		return;
	each = h->runs ? h->seconds / (h->runs + h->failed) : 0;
	fl_buf_printf(b, ", about %.0f run%s to go (%s)", left,
		      left > 1 ? "s" : "",
		      fl_brun_span(left * each, span, sizeof(span)));
}

void fl_brun_view_tick(const struct fl_brun_hunt *h, double seconds)
{
	static double last;
	const double *p = fl_hunt_posterior(h->hunt);
	_cleanup_buf_ struct fl_buf b = { 0 };
	int best[SHOWN], n = best_of(h, best);
	const struct fl_brun_node *node;
	char name[16], span[32];

	/* Once a second is enough, and at once when a run begins. */
	if (!fl_progress_live() || (seconds > 0 && seconds - last < 1))
		return;
	last = seconds;
	put_status(&b, h, seconds);
	for (int i = 0; i < n && h->stage != FL_HUNT_GATE; i++) {
		_cleanup_buf_ struct fl_buf share = { 0 };

		node = &h->graph.node[best[i]];
		fl_brun_probability(&share, p[best[i]]);
		fl_buf_printf(&b, "\n  %7s  %.12s  %s", fl_buf_str(&share),
			      node->commit.sha, node->commit.subject);
	}
	node = &h->graph.node[h->ask.commit];
	fl_buf_printf(&b, "\n  running  %-12s  %s",
		      fl_brun_name(h, h->ask.commit, name),
		      node->commit.subject);
	if (seconds >= 1)
		fl_buf_printf(&b, " (%s)",
			      fl_brun_span(seconds, span, sizeof(span)));
	fl_progress_block(fl_buf_str(&b));
}

void fl_brun_view_start(const struct fl_brun_hunt *h)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	int others = h->graph.commits - h->graph.candidates;

	fl_buf_printf(&b, "%s to %s: %d commit%s", h->good, h->bad,
		      h->graph.commits, h->graph.commits == 1 ? "" : "s");
	if (others)
		fl_buf_printf(&b, ", %d of them %s", h->graph.candidates,
			      h->opts->paths.n ? "on --path" : "with changes");
	if (h->runs + h->failed)
		fl_buf_printf(&b, "; %d run%s before now", h->runs + h->failed,
			      h->runs + h->failed == 1 ? "" : "s");
	fl_note("%s", fl_buf_str(&b));
}

/* A line of --no terminal: what came out, and what is believed now. */
static void plain_line(struct fl_brun_hunt *h, double value, double seconds)
{
	const double *p = fl_hunt_posterior(h->hunt);
	_cleanup_buf_ struct fl_buf number = { 0 }, b = { 0 };
	int best[SHOWN], n = h->stage ? best_of(h, best) : 0;
	char name[16];

	if (!h->said_columns)
		fl_note("  run  %-12s  %14s  %8s  %s", "commit", "number",
			"took", "most probable");
	h->said_columns = true;
	put_value(&number, h, value);
	fl_buf_printf(&b, "  %3d  %-12s  %14s  %6.1f s", h->runs,
		      fl_brun_name(h, h->ask.commit, name), fl_buf_str(&number),
		      seconds);
	for (int i = 0; i < n && i < 2; i++) {
		fl_buf_puts(&b, i ? ", " : "  ");
		fl_brun_probability(&b, p[best[i]]);
		fl_buf_printf(&b, " %.7s", h->graph.node[best[i]].commit.sha);
	}
	fl_note("%s", fl_buf_str(&b));
}

void fl_brun_view_ran(struct fl_brun_hunt *h, const struct fl_brun_run *run)
{
	const struct fl_brun_node *node = &h->graph.node[h->ask.commit];
	char name[16];

	if (!run->why) {
		if (!fl_progress_live())
			plain_line(h, run->value, run->seconds);
		return;
	}
	fl_note("       %-12s  %s: %s", fl_brun_name(h, h->ask.commit, name),
		node->skipped ? "cannot be tested" : "a run failed", run->why);
}

static void say_ends_differ(const struct fl_brun_hunt *h)
{
	double a = fl_brun_mean(&h->graph.node[0], -1);
	double b = fl_brun_mean(&h->graph.node[h->graph.n - 1], -1);
	_cleanup_buf_ struct fl_buf t = { 0 };
	double sigma = fl_brun_sigma(h);

	fl_buf_printf(&t, "The number %s from ", b > a ? "rises" : "falls");
	put_value(&t, h, a);
	fl_buf_puts(&t, " to ");
	put_value(&t, h, b);
	fl_buf_puts(&t, " (");
	fl_brun_percent(&t, log(b / a));
	if (isfinite(sigma) && !h->opts->exact)
		fl_buf_printf(&t, "; noise of one run %.2g %%", 100 * sigma);
	fl_buf_puts(&t, ").");
	fl_note("%s", fl_buf_str(&t));
}

static void say_candidate(const struct fl_brun_hunt *h)
{
	double p = fl_hunt_posterior(h->hunt)[h->candidate];
	_cleanup_buf_ struct fl_buf share = { 0 };

	if (p < h->opts->confidence) {
		fl_note("No test tells the most probable ones apart: now fresh runs around them.");
		return;
	}
	fl_brun_probability(&share, p);
	fl_note("Candidate %.12s (%s): now fresh runs beside its parent.",
		h->graph.node[h->candidate].commit.sha, fl_buf_str(&share));
}

void fl_brun_view_stage(struct fl_brun_hunt *h, enum fl_hunt_state stage)
{
	int culprits = 0;

	if (!h->said_ends && stage != FL_HUNT_GATE && stage != FL_HUNT_DONE) {
		h->said_ends = true;
		say_ends_differ(h);
	} else if (h->stage == FL_HUNT_VERIFYING && stage < FL_HUNT_VERIFYING) {
		fl_hunt_culprits(h->hunt, &culprits);
		fl_note(culprits > h->said_culprits ?
				"Verified. Is there more before or after it?" :
				"Not confirmed: on with all that is known.");
		h->said_culprits = culprits;
	}
	if (stage == FL_HUNT_VERIFYING)
		say_candidate(h);
}

void fl_brun_view_end(void)
{
	fl_progress_end();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Benchmark of the bisection engine: simulated ranges with fixed seeds, our
 * engine and plain bisection side by side. Prints tables on stdout; the first
 * argument scales the trials (1 = the published tables, 0.1 = a quick look).
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "../../bisect/bisect.h"
#include "../../daemon/stats/stats.h"
#include "../../daemon/util/err.h"
#include "../unit/random.h"

#define MAX_ANSWER 2048
#define VERIFY_BOOTS 8

enum noise { GAUSS, HEAVY, BIMODAL };

/* One range with ancestry as a byte matrix: plain, and not the engine's. */
struct range {
	int n;
	struct fl_bisect_commit *commits;
	int (*parents)[2];
	bool *anc; /* anc[x * n + c]: c is an ancestor of x, or x */
};

struct trial {
	const struct range *r;
	enum noise noise;
	double d;
	int culprit[3], nculprits;
	bool *broken, *built;
	int runs, builds;
};

struct tally {
	int trials, right, wrong, none;
	double runs, builds, size;
};

static double scale = 1;
static void seed(uint64_t s)
{
	rng = s * 0x9e3779b97f4a7c15u + 1;
	for (int i = 0; i < 20; i++)
		uniform();
}

static int count(int trials)
{
	int n = (int)(trials * scale);

	return n < 10 ? 10 : n;
}

/* Unit variance each: normal; t with 3 degrees of freedom; 80 % fast mode and
 * 20 % slow mode, 4 of their own deviations apart. */
static double draw(enum noise kind)
{
	double a, b, c, w = 1 / sqrt(1 + 0.16 * 16);

	switch (kind) {
	case GAUSS:
		break;
	case HEAVY:
		a = gauss();
		b = gauss();
		c = gauss();
		return gauss() / sqrt(a * a + b * b + c * c);
	case BIMODAL:
		return w * (gauss() + (uniform() < 0.2 ? 3.2 : -0.8));
	}
	return gauss();
}

static void range_init(struct range *r, int n)
{
	size_t size = (size_t)n;

	r->n = n;
	r->commits = fl_calloc(size, sizeof(*r->commits));
	r->parents = fl_calloc(size, sizeof(*r->parents));
	r->anc = fl_calloc(size * size, sizeof(bool));
	for (int i = 0; i < n; i++) {
		r->parents[i][0] = i - 1;
		r->commits[i].parents = r->parents[i];
		r->commits[i].nparents = i > 0;
		r->commits[i].prior = 1;
	}
}

static void range_close(struct range *r)
{
	size_t n = (size_t)r->n;

	for (size_t x = 0; x < n; x++) {
		bool *row = r->anc + x * n;

		row[x] = true;
		for (int k = 0; k < r->commits[x].nparents; k++)
			for (size_t c = 0; c < x; c++)
				row[c] |=
					r->anc[(size_t)r->parents[x][k] * n + c];
	}
}

static bool ancestor(const struct range *r, int c, int x)
{
	return r->anc[(size_t)x * (size_t)r->n + (size_t)c];
}

static void range_line(struct range *r, int n)
{
	range_init(r, n);
	range_close(r);
}

/* Topic branches of one to six commits, up to eight open at a time, some
 * forked before the good end: about 30 % of the commits are merges. */
static void range_graph(struct range *r, int n)
{
	int tip[8], open = 0, master = 0;

	range_init(r, n);
	seed(925);
	for (int i = 1; i < n; i++) {
		double u = uniform();
		int k;

		if (open && (u < 0.31 || n - i <= open)) {
			k = below(open);
			r->parents[i][0] = master;
			r->parents[i][1] = tip[k];
			r->commits[i].nparents = 2;
			tip[k] = tip[--open];
			master = i;
		} else if (open < 8 && n - i > open + 1 && u < 0.62) {
			r->parents[i][0] = u < 0.34 ? 0 : master;
			r->commits[i].nparents = u >= 0.32;
			tip[open++] = i;
		} else if (open && u < 0.9) {
			k = below(open);
			r->parents[i][0] = tip[k];
			tip[k] = i;
		} else {
			r->parents[i][0] = master;
			master = i;
		}
	}
	range_close(r);
}

static void range_clear(struct range *r)
{
	free(r->commits);
	free(r->parents);
	free(r->anc);
}

static void trial_init(struct trial *t, const struct range *r, enum noise kind,
		       double d, double broken)
{
	*t = (struct trial){ .r = r, .noise = kind, .d = d, .nculprits = 1 };
	t->broken = fl_calloc((size_t)r->n, sizeof(bool));
	t->built = fl_calloc((size_t)r->n, sizeof(bool));
	t->culprit[0] = 1 + below(r->n - 1);
	for (int i = 1; i < r->n - 1; i++)
		t->broken[i] = broken > 0 && uniform() < broken;
}

static void trial_clear(struct trial *t)
{
	free(t->broken);
	free(t->built);
}

static double boot(struct trial *t, int x)
{
	double y = draw(t->noise);

	t->runs++;
	t->builds += !t->built[x];
	t->built[x] = true;
	for (int k = 0; k < t->nculprits; k++)
		if (ancestor(t->r, t->culprit[k], x))
			y += t->d;
	return y;
}

/* --- plain bisection: the midpoint of the end points' means decides ------ */

static double mean_of(struct trial *t, int x, int boots)
{
	double sum = 0;

	for (int i = 0; i < boots; i++)
		sum += boot(t, x);
	return sum / boots;
}

/* The testable commit that halves the candidates best, as git does. */
static int halving(const struct trial *t, const bool *in, int size)
{
	const struct range *r = t->r;
	int best = -1, best_score = 0;

	for (int x = 1; x < r->n; x++) {
		int above = 0, score;

		if (!in[x] || t->broken[x])
			continue;
		for (int c = 1; c <= x; c++)
			above += in[c] && ancestor(r, c, x);
		score = above < size - above ? above : size - above;
		if (score > best_score) {
			best_score = score;
			best = x;
		}
	}
	return best;
}

static void plain(struct trial *t, int boots, struct tally *tally)
{
	const struct range *r = t->r;
	_cleanup_free_ bool *in = fl_calloc((size_t)r->n, sizeof(bool));
	double good = mean_of(t, 0, 10), bad = mean_of(t, r->n - 1, 10);
	int size = r->n - 1, x;

	for (int c = 1; c < r->n; c++)
		in[c] = true;
	while ((x = halving(t, in, size)) >= 0) {
		double y = mean_of(t, x, boots);
		bool is_bad = fabs(y - bad) < fabs(y - good);

		size = 0;
		for (int c = 1; c < r->n; c++) {
			in[c] = in[c] && ancestor(r, c, x) == is_bad;
			size += in[c];
		}
	}
	tally->right += in[t->culprit[0]];
	tally->wrong += !in[t->culprit[0]];
	tally->size += size;
}

/* --- our engine ----------------------------------------------------------- */

struct setup {
	bool gate, verify;
	double build; /* in boots */
	int max_runs;
};

/* The prior on the variance is wrong by a factor of 2.25 and weighs one
 * boot: what a fresh installation knows. */
static const struct fl_bisect_noise model = { 2.25, 1, 0 };

static struct fl_bisect *engine(const struct trial *t, const struct setup *s)
{
	struct fl_bisect_params p = { .confidence = 0.95,
				      .gate_min_boots = 5,
				      .gate_max_boots = s->gate ? 20 : 5,
				      .gate_t = s->gate ? 4 : 0,
				      .max_runs = s->max_runs };
	struct fl_bisect *b = fl_bisect_new(t->r->commits, t->r->n, &model, &p);

	for (int i = 0; i < t->r->n; i++)
		fl_bisect_cost(b, i, s->build, 1);
	return b;
}

static enum fl_bisect_state search(struct trial *t, struct fl_bisect *b)
{
	enum fl_bisect_state state;
	int x;

	while ((state = fl_bisect_update(b)) == FL_BISECT_GATE ||
	       state == FL_BISECT_SEARCH) {
		if (!fl_bisect_next(b, 1, &x))
			break;
		if (t->broken[x])
			fl_bisect_skip(b, x);
		else
			fl_bisect_add(b, x, boot(t, x));
	}
	return state;
}

/* The nearest commit above p that boots; the good end for what forked
 * before it. */
static int testable_above(const struct trial *t, int p)
{
	while (p > 0 && t->broken[p])
		p = t->r->commits[p].nparents ? t->r->parents[p][0] : 0;
	return p;
}

/* Fresh interleaved boots of x and its parents; all are fed back to the engine
 * when a parent does not differ. */
static bool verify_against(struct trial *t, struct fl_bisect *b, int x,
			   const int *parent, int n)
{
	double y[3][VERIFY_BOOTS];
	struct fl_bisect_levels l;
	struct fl_verify_params v = { .alpha = 0.05 };
	struct fl_verify_result r;
	bool confirmed = true;

	for (int i = 0; i < VERIFY_BOOTS; i++)
		for (int k = 0; k <= n; k++)
			y[k][i] = boot(t, k < n ? parent[k] : x);
	fl_bisect_get_levels(b, &l);
	v.total = l.bad - l.good;
	for (int k = 0; k < n; k++) {
		fl_stats_verify(y[k], VERIFY_BOOTS, y[n], VERIFY_BOOTS, &v, &r);
		confirmed = confirmed && r.confirmed;
	}
	for (int i = 0; i < VERIFY_BOOTS && !confirmed; i++)
		for (int k = 0; k <= n; k++)
			fl_bisect_add(b, k < n ? parent[k] : x, y[k][i]);
	return confirmed;
}

/* x: the member of the class that boots, and what is above the class. */
static bool verify(struct trial *t, struct fl_bisect *b, const int *out, int n)
{
	const struct range *r = t->r;
	int x = -1, parent[2] = { 0 }, np;

	for (int i = 0; i < n; i++)
		if (!t->broken[out[i]])
			x = out[i];
	if (x < 0)
		return true;
	np = r->commits[x].nparents;
	for (int k = 0; k < np; k++)
		parent[k] = testable_above(t, r->parents[x][k]);
	if (np == 2 && parent[0] == parent[1])
		np = 1;
	return verify_against(t, b, x, parent, np ? np : 1);
}

static bool contains(const int *out, int n, int c)
{
	for (int i = 0; i < n; i++)
		if (out[i] == c)
			return true;
	return false;
}

/* Search, verify, feed back. right: a confirmed class with the culprit. */
static void ours(struct trial *t, const struct setup *s, struct tally *tally)
{
	struct fl_bisect *b = engine(t, s);
	int out[MAX_ANSWER], n = 0;
	double mass;

	for (int attempt = 0; attempt < 6; attempt++) {
		if (search(t, b) != FL_BISECT_FOUND)
			break;
		n = fl_bisect_answer(b, MAX_ANSWER, out, &mass);
		if (!s->verify || verify(t, b, out, n))
			break;
		n = 0;
	}
	if (!n)
		tally->none++;
	else if (contains(out, n, t->culprit[0]))
		tally->right++;
	else
		tally->wrong++;
	tally->size += n;
	fl_bisect_free(b);
}

/* --- tables --------------------------------------------------------------- */

struct method {
	const char *name;
	int plain; /* boots a step; 0: ours */
	struct setup setup;
};

static const struct method methods[] = {
	{ "git bisect, 1 run a step", 1, { 0 } },
	{ "git bisect, mean of 5", 5, { 0 } },
	{ "git bisect, mean of 10", 10, { 0 } },
	{ "engine alone, ends 5 + 5 runs", 0, { .max_runs = 2000 } },
	{ "gate, build = 5 runs, verify",
	  0,
	  { .gate = true, .verify = true, .build = 5, .max_runs = 400 } },
};

static void cell(const struct method *m, const struct range *r, enum noise kind,
		 double d, double broken, int trials)
{
	struct tally tally = { 0 };

	seed(20 + (uint64_t)(d * 10) + 1000 * (uint64_t)kind);
	for (int i = 0; i < trials; i++) {
		struct trial t;

		trial_init(&t, r, kind, d, broken);
		if (m->plain)
			plain(&t, m->plain, &tally);
		else
			ours(&t, &m->setup, &tally);
		tally.runs += t.runs;
		tally.builds += t.builds;
		trial_clear(&t);
	}
	printf(" %5.1f %5.1f %5.1f %5.2f |", 100.0 * tally.right / trials,
	       tally.runs / trials, tally.builds / trials,
	       tally.size / (trials - tally.none + DBL_MIN));
	fflush(stdout);
}

static void table(const char *title, const struct range *r, enum noise kind,
		  double from, double broken, int trials)
{
	static const double shifts[] = { 1, 2, 3, 5 };

	printf("\n%s, %d trials a cell\n%-31s|", title, trials, "");
	for (size_t k = 0; k < FL_ARRAY_SIZE(shifts); k++)
		if (shifts[k] >= from)
			printf("          d = %g          |", shifts[k]);
	printf("\n%-31s|", "");
	for (size_t k = 0; k < FL_ARRAY_SIZE(shifts); k++)
		if (shifts[k] >= from)
			printf(" right  runs build   set |");
	printf("\n");
	for (size_t i = 0; i < FL_ARRAY_SIZE(methods); i++) {
		printf("%-31s|", methods[i].name);
		for (size_t k = 0; k < FL_ARRAY_SIZE(shifts); k++)
			if (shifts[k] >= from)
				cell(&methods[i], r, kind, shifts[k], broken,
				     trials);
		printf("\n");
	}
}

static void no_shift(const struct range *r, enum noise kind, const char *name,
		     int trials)
{
	const struct method *m = &methods[4];
	struct tally tally = { 0 };

	seed(7 + (uint64_t)kind);
	for (int i = 0; i < trials; i++) {
		struct trial t;

		trial_init(&t, r, kind, 0, 0);
		ours(&t, &m->setup, &tally);
		tally.runs += t.runs;
		trial_clear(&t);
	}
	printf("no shift, %-12s %d trials: %d name a culprit, %.1f runs\n",
	       name, trials, tally.right + tally.wrong, tally.runs / trials);
}

/* What is stated against what is true, at random moments of a search. */
static void calibration(const struct range *r, enum noise kind,
			const char *name, int trials)
{
	static const double edge[] = { 0, 0.5, 0.8, 0.95, 1.1 };
	struct setup s = { .max_runs = 400 };
	double said[4] = { 0 };
	int n[4] = { 0 }, right[4] = { 0 };

	seed(99 + (uint64_t)kind);
	for (int i = 0; i < trials; i++) {
		struct trial t;
		struct fl_bisect *b;
		int top = 0, k = 0;

		trial_init(&t, r, kind, 1 + 4 * uniform(), 0);
		/* One in two is stopped early. */
		s.max_runs = i % 2 ? 12 + below(60) : 2000;
		b = engine(&t, &s);
		search(&t, b);
		for (int c = 1; c < r->n; c++)
			if (fl_bisect_posterior(b)[c] >
			    fl_bisect_posterior(b)[top])
				top = c;
		while (fl_bisect_posterior(b)[top] >= edge[k + 1])
			k++;
		said[k] += fl_bisect_posterior(b)[top];
		n[k]++;
		right[k] += top == t.culprit[0];
		fl_bisect_free(b);
		trial_clear(&t);
	}
	printf("%-12s", name);
	for (int k = 0; k < 4; k++)
		printf(" | %4d said %4.1f right %4.1f", n[k],
		       100 * said[k] / (n[k] + DBL_MIN),
		       100 * right[k] / (n[k] + DBL_MIN));
	printf("\n");
}

/* Effects of 0.5 % to 300 % on the exact clock: noise 2e-5. */
static void exact(const struct range *r, const char *name, double broken,
		  int trials)
{
	static const double effect[] = { 0.005, 0.02, -0.1, 0.5, 1.386 };
	struct fl_bisect_noise noise = { 4e-10, 4, 0 };
	struct fl_bisect_params p = { .exact = true,
				      .confidence = 0.95,
				      .min_effect = 0.0005,
				      .gate_min_boots = 2,
				      .gate_max_boots = 2 };
	int worst = 0, right = 0, out[MAX_ANSWER], n;
	double steps = 0, size = 0, mass;

	seed(1234);
	for (int i = 0; i < trials; i++) {
		struct trial t;
		struct fl_bisect *b;
		int x;

		trial_init(&t, r, GAUSS, effect[i % 5] / 2e-5, broken);
		b = fl_bisect_new(r->commits, r->n, &noise, &p);
		while (fl_bisect_update(b) <= FL_BISECT_SEARCH &&
		       fl_bisect_next(b, 1, &x)) {
			if (t.broken[x])
				fl_bisect_skip(b, x);
			else
				fl_bisect_add(b, x, 8.1 + 2e-5 * boot(&t, x));
		}
		n = fl_bisect_answer(b, MAX_ANSWER, out, &mass);
		right += contains(out, n, t.culprit[0]);
		size += n;
		steps += t.runs - 4;
		worst = t.runs - 4 > worst ? t.runs - 4 : worst;
		fl_bisect_free(b);
		trial_clear(&t);
	}
	printf("exact clock, %-34s %d of %d right, set %.2f, steps %.1f, "
	       "at most %d (log2 N = %.1f)\n",
	       name, right, trials, size / trials, steps / trials, worst,
	       log2(r->n));
}

int main(int argc, char **argv)
{
	struct range line, graph, small;
	int merges = 0;

	if (argc > 1)
		scale = strtod(argv[1], NULL);
	if (argc > 2 || !(scale > 0 && scale <= 100)) {
		fprintf(stderr, "usage: bench-bisect [SCALE]\n");
		return 2;
	}
	range_line(&line, 1000);
	range_line(&small, 24);
	range_graph(&graph, 925);
	for (int i = 0; i < graph.n; i++)
		merges += graph.commits[i].nparents == 2;
	printf("right: %% of trials whose answer holds the culprit; runs and "
	       "builds: means;\nset: mean size of the answer; d: shift in "
	       "standard deviations of one boot.\n");
	table("Line of 1000, normal noise", &line, GAUSS, 1, 0, count(1000));
	table("Line of 1000, heavy tails (t, 3 df)", &line, HEAVY, 2, 0,
	      count(500));
	table("Line of 1000, bimodal 80/20", &line, BIMODAL, 2, 0, count(500));
	printf("\nGraph: %d commits, %d merges", graph.n, merges);
	table("Graph, normal noise, 10 % unbuildable", &graph, GAUSS, 2, 0.1,
	      count(300));
	printf("\n");
	no_shift(&line, GAUSS, "normal:", count(500));
	no_shift(&line, HEAVY, "heavy tails:", count(500));
	no_shift(&line, BIMODAL, "bimodal:", count(500));
	printf("\n");
	exact(&small, "line of 24:", 0, count(500));
	exact(&line, "line of 1000:", 0, count(500));
	exact(&graph, "graph:", 0, count(500));
	exact(&graph, "graph, 10 % unbuildable:", 0.1, count(500));
	printf("\nStated and true %% right, most probable commit, d = 1 to 5, "
	       "line of 1000\n");
	calibration(&line, GAUSS, "normal", count(2000));
	calibration(&line, HEAVY, "heavy tails", count(1000));
	calibration(&line, BIMODAL, "bimodal", count(1000));
	range_clear(&line);
	range_clear(&small);
	range_clear(&graph);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Benchmark of comparisons: simulated two-level data with fixed seeds, our
 * verdicts beside the usual tests. Prints tables on stdout; the first argument
 * scales the trials (1 = the published tables, 0.1 = a quick look).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../../daemon/stats/fdr.h"
#include "../../daemon/stats/stats.h"
#include "sim-compare.h"

#define ALPHA 0.05

enum method { WITH, WITHOUT, SEQUENTIAL, T_ALONE, RANKS, POOLED, METHODS };
static const char *const methods[] = { "history", "none",      "sequential",
				       "t alone", "M-Whitney", "pooled" };

static double scale = 1;

static int count(int trials)
{
	int n = (int)(trials * scale);

	return n < 10 ? 10 : n;
}

static struct fl_compare_params
params(const struct trial *t, const struct setting *s, enum method method)
{
	struct fl_compare_params p = {
		.better = 1, .delta = s->delta, .alpha = ALPHA, .seed = 7
	};

	if (s->blocks)
		p.block_a = p.block_b = t->block;
	if (method == WITHOUT)
		return p;
	p.s0sq = t->history.s0sq;
	p.d0 = t->history.d0;
	p.var_image = s->image > 0 ? t->history.sa2 : 0;
	p.df_image = t->history.df_a;
	if (!s->plain)
		p.modes = &t->history.modes;
	if (method == SEQUENTIAL)
		p.looks = &fl_looks_default;
	return p;
}

/* Boots a side come as the verdict asks for them. Returns how many. */
static size_t sequential(const struct trial *t, const struct setting *s,
			 struct fl_compare_result *r)
{
	struct fl_compare_params p = params(t, s, SEQUENTIAL);
	size_t n = fl_looks_next(p.looks, 0, 0);

	for (;;) {
		fl_stats_compare(t->y[0], n, t->y[1], n, &p, r);
		if (!r->more)
			return n;
		n = r->more;
	}
}

/* The exact permutation test on ranks is Mann and Whitney's. */
static double ranks_p(const struct trial *t, size_t n)
{
	double v[2 * BOOTS], rank[2 * BOOTS] = { 0 };

	memcpy(v, t->y[0], n * sizeof(*v));
	memcpy(v + n, t->y[1], n * sizeof(*v));
	for (size_t i = 0; i < 2 * n; i++)
		for (size_t k = 0; k < 2 * n; k++)
			rank[i] += v[k] < v[i];
	return fl_stats_permutation(rank, n, rank + n, n, 1, NULL);
}

static int changed(const struct trial *t, const struct setting *s,
		   enum method method, size_t n, double *boots)
{
	struct fl_compare_result r = { 0 };
	struct fl_compare_params p = params(t, s, method);
	size_t all = n * (size_t)s->reps;

	*boots += method == SEQUENTIAL ? 0 : (double)n;
	switch (method) {
	case SEQUENTIAL:
		*boots += (double)sequential(t, s, &r);
		return r.shift;
	case POOLED:
		return fl_stats_moderated_t(t->rep[0], all, t->rep[1], all, 0,
					    0, 0.95)
			       .p < ALPHA;
	case T_ALONE:
		return fl_stats_moderated_t(t->y[0], n, t->y[1], n, p.s0sq,
					    p.d0, 0.95)
			       .p < ALPHA;
	case RANKS:
		return ranks_p(t, n) < ALPHA;
	default:
		fl_stats_compare(t->y[0], n, t->y[1], n, &p, &r);
		return r.shift;
	}
}

static void row(const char *name, const struct setting *s, size_t n, int trials)
{
	int hits[METHODS] = { 0 };
	double boots[METHODS] = { 0 };
	struct trial t = { 0 };

	for (int i = 0; i < trials; i++) {
		fill(&t, s);
		for (enum method m = 0; m < METHODS; m++)
			hits[m] += changed(&t, s, m, n, &boots[m]);
	}
	printf("%-30s", name);
	for (enum method m = 0; m < METHODS; m++) {
		char text[32];
		int len = snprintf(text, sizeof(text), "%.1f",
				   100.0 * hits[m] / trials);

		if (m == SEQUENTIAL)
			snprintf(text + len, sizeof(text) - (size_t)len,
				 " (%.1f)", boots[m] / trials);
		printf(" %12s", text);
	}
	printf("\n");
	fflush(stdout);
}

static void head(const char *title)
{
	printf("\n%-30s", title);
	for (enum method m = 0; m < METHODS; m++)
		printf(" %12s", methods[m]);
	printf("\n");
}

static void repetitions(const char *title, double effect, int trials)
{
	static const int reps[] = { 1, 5, 10, 30 };

	head(title);
	for (size_t i = 0; i < FL_ARRAY_SIZE(reps); i++) {
		struct setting s = { .reps = reps[i], .effect = effect };
		char name[32];

		seed(100 + i);
		snprintf(name, sizeof(name), "%d repetitions a boot", reps[i]);
		row(name, &s, 5, trials);
	}
}

static void shapes(size_t n, double effect, int trials)
{
	char title[64];

	snprintf(title, sizeof(title), "%s, %zu v %zu",
		 effect == 0 ? "No effect" : "1 deviation", n, n);
	head(title);
	for (enum noise k = GAUSS; k < NOISES; k++) {
		struct setting s = { .noise = k, .reps = 10, .effect = effect };

		seed(200 + k);
		row(noises[k], &s, n, trials);
		if (k < BIMODAL)
			continue;
		s.plain = 1;
		seed(200 + k);
		row("  modes ignored", &s, n, trials);
	}
}

static void drift(double effect, int trials)
{
	head(effect == 0 ? "Drift, no effect, 6 v 6" :
			   "Drift, 2 deviations, 6 v 6");
	for (int blocks = 0; blocks < 2; blocks++) {
		for (int d = 0; d < 2; d++) {
			struct setting s = { .reps = 10,
					     .effect = effect,
					     .drift = d,
					     .blocks = blocks };
			char name[48];

			seed(300 + (uint64_t)d);
			snprintf(name, sizeof(name), "%s drift, blocks %s",
				 d ? "large" : "no",
				 blocks ? "told" : "not told");
			row(name, &s, 6, trials);
		}
	}
}

static void louder(int trials)
{
	struct setting s = { .reps = 10, .louder = 2, .blocks = 1 };

	head("Twice as noisy as in history");
	seed(340);
	row("no effect, 3 v 3, blocks", &s, 3, trials);
	row("no effect, 12 v 12, blocks", &s, 12, trials);
}

static void image_noise(int images, int trials)
{
	struct setting s = { .reps = 10, .image = 0.5, .images = images };
	char title[64];

	snprintf(title, sizeof(title), "Images 0.5 apart, %d known", images);
	head(title);
	seed(350);
	row("no effect, 5 v 5", &s, 5, trials);
	row("no effect, 20 v 20", &s, 20, trials);
	s.effect = -3;
	row("3 deviations, 5 v 5", &s, 5, trials);
}

/* How often "same" is said, of a true effect of exactly delta and of none. */
static void equivalence(enum noise noise, double effect, int trials)
{
	static const size_t sizes[] = { 5, 10, 20 };
	struct setting s = {
		.noise = noise, .reps = 10, .effect = effect, .delta = log(1.05)
	};
	struct fl_compare_result r;
	int same[4] = { 0 }, called[4] = { 0 };
	double boots = 0;
	struct trial t = { 0 };

	seed(400 + noise);
	for (int i = 0; i < trials; i++) {
		struct fl_compare_params p;

		fill(&t, &s);
		p = params(&t, &s, WITH);
		for (size_t k = 0; k < 3; k++) {
			fl_stats_compare(t.y[0], sizes[k], t.y[1], sizes[k], &p,
					 &r);
			same[k] += r.verdict == FL_SAME;
			called[k] += r.shift;
		}
		boots += (double)sequential(&t, &s, &r);
		same[3] += r.verdict == FL_SAME;
		called[3] += r.shift;
	}
	printf("%-23s %-6s", noises[noise], effect > 0 ? "delta" : "none");
	for (int k = 0; k < 4; k++)
		printf("  %5.1f / %-5.1f", 100.0 * same[k] / trials,
		       100.0 * called[k] / trials);
	printf(" %6.1f\n", boots / trials);
	fflush(stdout);
}

/* A pair of kernels with 40 series, some of which moved by 3 deviations. */
static void many(int moved, int trials)
{
	int any[2] = { 0 }, hits[2] = { 0 }, wrong[2] = { 0 };
	struct fl_compare_result r[40];
	double share[2] = { 0 };
	struct trial t = { 0 };

	seed(500 + (uint64_t)moved);
	for (int i = 0; i < trials; i++) {
		for (int k = 0; k < 40; k++) {
			struct setting s = { .reps = 5,
					     .effect = k < moved ? -3 : 0 };
			struct fl_compare_params p;

			fill(&t, &s);
			p = params(&t, &s, WITH);
			fl_stats_compare(t.y[0], 6, t.y[1], 6, &p, &r[k]);
		}
		for (int bh = 0; bh < 2; bh++) {
			int good = 0, bad = 0;

			if (bh)
				fl_fdr_results(r, 40, 0.05);
			for (int k = 0; k < 40; k++)
				*(k < moved ? &good : &bad) += r[k].shift;
			any[bh] += bad > 0;
			hits[bh] += good;
			wrong[bh] += bad;
			share[bh] += good + bad ? (double)bad / (good + bad) :
						  0;
		}
	}
	for (int bh = 0; bh < 2; bh++)
		printf("%2d of 40 moved, %-10s pairs with a false one %5.1f %%, "
		       "false among reported %4.1f %%, found %5.1f %%\n",
		       moved,
		       bh ? "q = 0.05:" : "p < 0.05:", 100.0 * any[bh] / trials,
		       100 * share[bh] / trials,
		       moved ? 100.0 * hits[bh] / trials / moved : 0);
	fflush(stdout);
}

static double laplace(void)
{
	double u = uniform() - 0.5;

	return u < 0 ? log(1 + 2 * u) : -log(1 - 2 * u);
}

/* How often residuals of n boots are called bimodal. */
static void modes(size_t n, int trials)
{
	int fired[5] = { 0 };
	double v[200];
	struct fl_modes m;

	seed(600 + n);
	for (int i = 0; i < trials; i++) {
		for (int k = 0; k < 5; k++) {
			for (size_t j = 0; j < n; j++)
				v[j] = k == 3 ? laplace() :
				       k == 4 ? exp(0.5 * gauss()) :
						draw((enum noise)k);
			fl_modes_find(v, n, &m);
			fired[k] += m.bimodal;
		}
	}
	printf("%4zu boots: normal %.2f, t3 %.2f, Laplace %.2f, log-normal "
	       "(0.5) %.2f, bimodal 80/20 %.1f\n",
	       n, 100.0 * fired[0] / trials, 100.0 * fired[1] / trials,
	       100.0 * fired[3] / trials, 100.0 * fired[4] / trials,
	       100.0 * fired[2] / trials);
	fflush(stdout);
}

static void timing(size_t n, int blocks)
{
	double v[2 * BOOTS];
	int id[BOOTS];
	struct timespec t0, t1;

	seed(700);
	for (size_t i = 0; i < FL_ARRAY_SIZE(v); i++)
		v[i] = gauss();
	for (int i = 0; i < BOOTS; i++)
		id[i] = blocks ? i / 2 : 0;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
	for (int i = 0; i < 10; i++)
		fl_stats_permutation_blocks(v, id, n, v + n, id, n, 1, NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
	printf("permutation, %2zu + %2zu boots, %2d blocks: %.1f ms\n", n, n,
	       blocks ? (int)(n / 2) : 1,
	       100 * (double)(t1.tv_sec - t0.tv_sec) +
		       1e-7 * (double)(t1.tv_nsec - t0.tv_nsec));
}

int main(int argc, char **argv)
{
	if (argc > 1)
		scale = strtod(argv[1], NULL);
	if (argc > 2 || !(scale > 0 && scale <= 100)) {
		fprintf(stderr, "usage: bench-compare [SCALE]\n");
		return 2;
	}
	printf("%% of trials with a change called at alpha 0.05; in brackets "
	       "boots a side.\n");
	repetitions("No effect, 5 v 5", 0, count(2000));
	repetitions("Effect 5 %, 5 v 5", log(1.05), count(1000));
	shapes(5, 0, count(2000));
	shapes(5, -1, count(1000));
	shapes(12, 0, count(1000));
	shapes(12, -1, count(1000));
	drift(0, count(2000));
	drift(-2, count(1000));
	louder(count(2000));
	image_noise(IMAGES, count(1000));
	image_noise(MAX_IMAGES, count(1000));
	printf("\nThreshold 5 %%: %% \"same\" / %% changed\n%-30s  %-13s  "
	       "%-13s  %-13s  %-13s %6s\n",
	       "noise, true effect", "5 v 5", "10 v 10", "20 v 20",
	       "sequential", "boots");
	for (enum noise k = GAUSS; k < NOISES; k++) {
		equivalence(k, log(1.05), count(2000));
		equivalence(k, 0, count(1000));
	}
	printf("\n40 series of one pair, 6 v 6\n");
	many(0, count(400));
	many(4, count(400));
	printf("\nCalled bimodal, %%\n");
	modes(60, count(5000));
	modes(200, count(1000));
	printf("\n");
	timing(10, 0);
	timing(10, 1);
	timing(20, 0);
	timing(20, 1);
	return 0;
}

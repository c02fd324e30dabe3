// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Several boots at once: which commits are best together. Called by the engine
 * when more than one is asked for or some are under way; works on the beliefs
 * of the last update and cannot fail.
 */
#include "bisect-internal.h"

#include <math.h>
#include <string.h>
#include "../daemon/util/err.h"

/* The choice is among the best commits of this many bins of P(bad). */
#define BINS 256

/*
 * Batches. The outcomes of the tests chosen so far (and of those in flight)
 * are unknown: each lane holds the hypotheses as they would be after one
 * pattern of outcomes, a side being read wrongly with the chance that its
 * noise gives. The next commit is best on average over the patterns; the
 * eight most probable ones are kept.
 */
struct batch {
	const struct fl_bisect *b;
	double *w, *next, *sums; /* n x FL_LANES */
	double mass[FL_LANES];
	int lanes;
	bool *building;
	int pick[2 * BINS];
	int npick;
};

static void batch_sums(struct batch *t)
{
	memset(t->mass, 0, sizeof(t->mass));
	for (int c = 1; c < t->b->n; c++)
		for (int l = 0; l < FL_LANES; l++)
			t->mass[l] += t->w[(size_t)c * FL_LANES + l];
	fl_bisect_graph_sums(t->b, t->w, t->sums);
}

/* The best commit of each bin, tested and untested ones apart. */
static void batch_candidates(struct batch *t)
{
	const struct fl_bisect *b = t->b;
	int bin[2 * BINS];

	for (int i = 0; i < 2 * BINS; i++)
		bin[i] = -1;
	for (int x = 0; x < b->n; x++) {
		struct fl_split s = fl_bisect_split(b, x);
		int i = (int)fmin(s.q * BINS, BINS - 1);

		if (b->obs[x].boots)
			i += BINS;
		if (b->bound[x] > 0 &&
		    (bin[i] < 0 || b->bound[x] > b->bound[bin[i]]))
			bin[i] = x;
	}
	t->npick = 0;
	for (int i = 0; i < 2 * BINS; i++)
		if (bin[i] >= 0)
			t->pick[t->npick++] = bin[i];
}

static double batch_score(const struct batch *t, int x)
{
	const struct fl_bisect *b = t->b;
	const struct fl_obs *o = &b->obs[x];
	struct fl_split s = fl_bisect_split(b, x);
	double v = fl_bisect_noise_of(b, &s, 1), gain = 0, cost;

	for (int l = 0; l < t->lanes; l++) {
		double q = t->sums[(size_t)x * FL_LANES + l] / t->mass[l];

		if (q > 0 && q < 1)
			gain += t->mass[l] *
				fl_bisect_information(q, s.d, v, v);
	}
	cost = o->run_s + (t->building[x] || o->boots ? 0 : o->build_s);
	return gain * (1 - fl_bisect_fail_chance(o)) / cost;
}

/* Splits every lane by the outcome of x and keeps the heaviest. */
static void batch_split(struct batch *t, int x)
{
	const struct fl_bisect *b = t->b;
	struct fl_split s = fl_bisect_split(b, x);
	double wrong =
		0.5 * erfc(fabs(s.d) / sqrt(fl_bisect_noise_of(b, &s, 1)) /
			   (2 * M_SQRT2));
	double mass[2 * FL_LANES] = { 0 };
	int order[2 * FL_LANES] = { 0 }, n = 2 * t->lanes;

	for (int i = 0; i < n; i++) {
		double bad = t->sums[(size_t)x * FL_LANES + i / 2];
		double good = t->mass[i / 2] - bad;
		double read = i % 2 ? wrong : 1 - wrong;

		mass[i] = read * bad + (1 - read) * good;
	}
	for (int i = 0; i < n; i++) {
		int k = i;

		for (; k > 0 && mass[order[k - 1]] < mass[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	while (n > FL_LANES || (n > 1 && mass[order[n - 1]] < FL_NEGLIGIBLE))
		n--;
	memset(t->next, 0, (size_t)b->n * FL_LANES * sizeof(double));
	for (int c = 1; c < b->n; c++) {
		double hit = fl_bisect_has(b, x, c) ? 1 - wrong : wrong;
		const double *from = t->w + (size_t)c * FL_LANES;
		double *to = t->next + (size_t)c * FL_LANES;

		for (int i = 0; i < n; i++)
			to[i] = from[order[i] / 2] *
				(order[i] % 2 ? 1 - hit : hit);
	}
	memcpy(t->w, t->next, (size_t)b->n * FL_LANES * sizeof(double));
	t->lanes = n;
	t->building[x] = true;
	batch_sums(t);
}

static int batch_run(struct batch *t, int k, int *out)
{
	const struct fl_bisect *b = t->b;
	int n = 0;

	for (int x = 0; x < b->n; x++)
		for (int i = 0; i < b->obs[x].pending && i < 64; i++)
			batch_split(t, x);
	while (n < k) {
		int best = -1;
		double top = 0;

		for (int i = 0; i < t->npick; i++) {
			double score = batch_score(t, t->pick[i]);

			if (score > top * (1 + 1e-9)) {
				top = score;
				best = t->pick[i];
			}
		}
		if (best < 0)
			break;
		out[n++] = best;
		if (n < k)
			batch_split(t, best);
	}
	return n;
}

int fl_bisect_choose_batch(const struct fl_bisect *b, int k, int *out)
{
	size_t len = (size_t)b->n * FL_LANES;
	_cleanup_free_ double *w = fl_calloc(len, sizeof(double));
	_cleanup_free_ double *next = fl_calloc(len, sizeof(double));
	_cleanup_free_ double *sums = fl_calloc(len, sizeof(double));
	_cleanup_free_ bool *building = fl_calloc((size_t)b->n, sizeof(bool));
	struct batch t = { .b = b,
			   .w = w,
			   .next = next,
			   .sums = sums,
			   .lanes = 1,
			   .building = building };

	for (int c = 1; c < b->n; c++)
		if (b->post[c] >= FL_NEGLIGIBLE)
			w[(size_t)c * FL_LANES] = b->post[c];
	batch_sums(&t);
	batch_candidates(&t);
	return batch_run(&t, k, out);
}

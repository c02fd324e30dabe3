/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Simulated ranges for the benchmark of bisect/: graphs, noise, drift, boots,
 * and plain bisection. Ancestry is a byte matrix, not the engine's bits. The
 * noise of one boot has unit variance.
 */
#ifndef FL_TESTS_SIM_H
#define FL_TESTS_SIM_H

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "../../bisect/bisect.h"
#include "../../daemon/util/err.h"
#include "../unit/random.h"

#define MAX_CULPRITS 3

enum noise { GAUSS, HEAVY, BIMODAL };
enum drift { STEADY, WALK, RAMP, STEP };

struct range {
	int n;
	struct fl_bisect_commit *commits;
	int (*parents)[2];
	bool *anc; /* anc[x * n + c]: c is an ancestor of x, or x */
};

struct trial {
	const struct range *r;
	enum noise noise;
	enum drift drift;
	double effect[MAX_CULPRITS];
	int culprit[MAX_CULPRITS], nculprits;
	double breaking; /* chance that a commit does not build */
	bool *broken, *built;
	int runs, builds;
	double offset; /* of the host, now */
	int step_at;
};

static inline void seed(uint64_t s)
{
	rng = s * 0x9e3779b97f4a7c15u + 1;
	for (int i = 0; i < 20; i++)
		uniform();
}

/* Normal; t with 3 degrees of freedom; 80 % fast mode and 20 % slow mode, 4 of
 * their own deviations apart. */
static inline double draw(enum noise kind)
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

static inline void range_init(struct range *r, int n)
{
	size_t size = (size_t)n;

	r->n = n;
	r->commits = fl_calloc(size, sizeof(*r->commits));
	r->parents = fl_calloc(size, sizeof(*r->parents));
	r->anc = NULL;
	for (int i = 0; i < n; i++) {
		r->parents[i][0] = i - 1;
		r->commits[i].parents = r->parents[i];
		r->commits[i].nparents = i > 0;
		r->commits[i].prior = 1;
	}
}

static inline void range_close(struct range *r)
{
	size_t n = (size_t)r->n;

	r->anc = fl_calloc(n * n, sizeof(bool));
	for (size_t x = 0; x < n; x++) {
		bool *row = r->anc + x * n;

		row[x] = true;
		for (int k = 0; k < r->commits[x].nparents; k++) {
			size_t p = (size_t)r->parents[x][k];

			for (size_t c = 0; c < x; c++)
				row[c] |= r->anc[p * n + c];
		}
	}
}

static inline bool ancestor(const struct range *r, int c, int x)
{
	return r->anc[(size_t)x * (size_t)r->n + (size_t)c];
}

static inline void range_line(struct range *r, int n)
{
	range_init(r, n);
	range_close(r);
}

/* Topic branches of one to six commits, up to eight open at a time, some
 * forked before the good end: about 30 % of the commits are merges. No ancestry: that takes n^2 bytes. */
static inline void range_shape(struct range *r, int n)
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
}

static inline void range_graph(struct range *r, int n)
{
	range_shape(r, n);
	range_close(r);
}

static inline void range_clear(struct range *r)
{
	free(r->commits);
	free(r->parents);
	free(r->anc);
}

/* Sizes and number of the culprits are the caller's; they are drawn anew,
 * all different. */
static inline void trial_init(struct trial *t)
{
	const struct range *r = t->r;

	t->broken = fl_calloc((size_t)r->n, sizeof(bool));
	t->built = fl_calloc((size_t)r->n, sizeof(bool));
	t->runs = t->builds = 0;
	t->offset = 0;
	t->step_at = 5 + below(40);
	for (int k = 0; k < t->nculprits; k++) {
		bool again = true;

		while (again) {
			t->culprit[k] = 1 + below(r->n - 1);
			again = false;
			for (int i = 0; i < k; i++)
				again |= t->culprit[i] == t->culprit[k];
		}
	}
	for (int i = 1; i < r->n - 1; i++)
		t->broken[i] = t->breaking > 0 && uniform() < t->breaking;
}

static inline void trial_clear(struct trial *t)
{
	free(t->broken);
	free(t->built);
}

/* A deviation in 20 runs on average, as a random walk or steadily; or two at
 * once somewhere in the first 45 runs. */
static inline void drift_on(struct trial *t)
{
	switch (t->drift) {
	case STEADY:
		break;
	case WALK:
		t->offset += gauss() / sqrt(20);
		break;
	case RAMP:
		t->offset += 0.05;
		break;
	case STEP:
		t->offset = t->runs >= t->step_at ? 2 : 0;
		break;
	}
}

static inline double boot(struct trial *t, int x)
{
	double y = draw(t->noise);

	drift_on(t);
	t->runs++;
	t->builds += !t->built[x];
	t->built[x] = true;
	for (int k = 0; k < t->nculprits; k++)
		if (ancestor(t->r, t->culprit[k], x))
			y += t->effect[k];
	return y + t->offset;
}

/* --- plain bisection: the midpoint of the end points' means decides ------ */

static inline double mean_of(struct trial *t, int x, int boots)
{
	double sum = 0;

	for (int i = 0; i < boots; i++)
		sum += boot(t, x);
	return sum / boots;
}

/* The testable commit that halves the candidates best, as git does. */
static inline int halving(const struct trial *t, const bool *in, int size)
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

/* What is left holds the culprit? *left: how many there are. */
static inline bool plain(struct trial *t, int boots, int *left)
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
	*left = size;
	return in[t->culprit[0]];
}

#endif

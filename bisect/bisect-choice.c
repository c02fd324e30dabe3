// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What to boot next: the commit whose value tells most about the culprit for
 * each second it costs. Called by the engine; works on the beliefs of the last
 * update and cannot fail.
 */
#include "bisect-internal.h"

#include <math.h>
#include <string.h>
#include "../daemon/util/err.h"

#define STEP 0.4
#define REACH 13 /* +-5.2 standard deviations */

static double log1pexp(double x)
{
	return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

/* E[log(N_own / mixture)] over N(0, v) against another component at d. */
static double component(double q, double d, double v, double other)
{
	double sum = 0, norm = 0, odds = log((1 - q) / q);
	double sd = sqrt(v), half = 0.5 * log(v / other);

	for (int i = -REACH; i <= REACH; i++) {
		double z = i * STEP, w = exp(-z * z / 2);
		double y = z * sd - d;

		sum -= w *
		       log1pexp(odds + half + z * z / 2 - y * y / (2 * other));
		norm += w;
	}
	return sum / norm - log(q);
}

double fl_bisect_information(double q, double d, double v0, double v1)
{
	double info;

	if (q < 1e-12 || q > 1 - 1e-12)
		return 0;
	info = q * component(q, d, v1, v0) +
	       (1 - q) * component(1 - q, d, v0, v1);
	return info > 0 ? info : 0;
}

static double entropy(double q)
{
	if (q <= 0 || q >= 1)
		return 0;
	return -q * log(q) - (1 - q) * log1p(-q);
}

struct fl_split fl_bisect_split(const struct fl_bisect *b, int x)
{
	const double *s = b->side + (size_t)x * FL_LANES;
	const double *all = b->lane_total;
	double q = fmin(fmax(s[LANE_P] / all[LANE_P], 0), 1), p;
	struct fl_split r = { .q = q, .d = b->ref_b - b->ref_g, .h = 1 };
	double mb = 0, mg = 0;

	p = s[LANE_P];
	if (p > FL_NEGLIGIBLE) {
		mb = s[LANE_B] / p;
		r.spread_b = fmax(s[LANE_BB] / p - mb * mb, 0);
	}
	p = all[LANE_P] - s[LANE_P];
	if (p > FL_NEGLIGIBLE) {
		mg = (all[LANE_G] - s[LANE_G]) / p;
		r.spread_g = fmax((all[LANE_GG] - s[LANE_GG]) / p - mg * mg, 0);
	}
	r.d += mb - mg;
	r.entropy = entropy(q);
	r.level = q * b->var_level_b + (1 - q) * b->var_level_g;
	/* What x showed before belongs in part to its own layout. */
	r.h = 1 / (1 + b->noise.lambda * b->obs[x].boots);
	r.d *= r.h;
	r.spread_b *= r.h * r.h;
	r.spread_g *= r.h * r.h;
	r.level *= r.h * r.h;
	return r;
}

double fl_bisect_noise_of(const struct fl_bisect *b, const struct fl_split *s,
			  int r)
{
	double v = b->var * (1.0 / r + b->noise.lambda * s->h) + s->level;

	return fmax(v, 1e-300);
}

/* Within a side the hypotheses differ in where they put the level: what a
 * value tells about that, to second order. */
static double level_info(const struct fl_split *s, double v)
{
	return 0.5 * (s->q * log1p(s->spread_b / v) +
		      (1 - s->q) * log1p(s->spread_g / v));
}

/* I(c; Y) = I(side; Y) + I(c; Y | side), the first by quadrature. */
static double info_of(const struct fl_split *s, double v)
{
	return fl_bisect_information(s->q, s->d, v + s->spread_g,
				     v + s->spread_b) +
	       level_info(s, v);
}

/* No measurement tells more than the side's entropy, nor more than a
 * Gaussian of the mixture's variance. log1p(x) <= x saves most logarithms. */
static double info_bound(const struct fl_split *s, double v)
{
	double spread = s->q * (1 - s->q) * s->d * s->d;
	double own = s->q * s->spread_b + (1 - s->q) * s->spread_g;
	double gauss = 0.5 * (spread + own) / v;

	if (gauss > 0.05)
		gauss = 0.5 * log1p(2 * gauss);
	return fmin(gauss, s->entropy + 0.5 * own / v);
}

double fl_bisect_fail_chance(const struct fl_obs *o)
{
	if (o->boots)
		return 0;
	return (0.05 + o->near_skip) / (1 + o->near_skip + o->near_test);
}

static double build_cost(const struct fl_obs *o)
{
	return o->boots ? 0 : o->build_s;
}

/*
 * Score of x: nats a second. An image that must be built first is judged by
 * the best number of boots of it, since later boots need no build.
 */
static double score_of(const struct fl_bisect *b, int x,
		       double (*info)(const struct fl_split *s, double v))
{
	static const int repeats[] = { 1, 2, 3, 4, 6, 8, 12 };
	const struct fl_obs *o = &b->obs[x];
	double build = build_cost(o), best = 0;
	struct fl_split s = fl_bisect_split(b, x);

	for (size_t i = 0; i < FL_ARRAY_SIZE(repeats); i++) {
		int r = repeats[i];
		double gain = info(&s, fl_bisect_noise_of(b, &s, r));
		double score = gain / (build + r * o->run_s);

		if (score <= best)
			break;
		best = score;
		if (build <= 0)
			break;
	}
	return best * (1 - fl_bisect_fail_chance(o));
}

static void fill_lanes(const struct fl_bisect *b, double *w)
{
	for (int c = 1; c < b->n; c++) {
		double *l = w + (size_t)c * FL_LANES, p = b->post[c];
		double mb = b->level_b[c] - b->ref_b;
		double mg = b->level_g[c] - b->ref_g;

		if (p < FL_NEGLIGIBLE)
			continue;
		l[LANE_P] = p;
		l[LANE_B] = p * mb;
		l[LANE_BB] = p * mb * mb;
		l[LANE_G] = p * mg;
		l[LANE_GG] = p * mg * mg;
	}
}

/* Strictly better, or equal and met earlier in the history. */
static bool beats(double score, int x, double best, int best_x)
{
	if (best_x < 0)
		return score > 0;
	if (score > best * (1 + 1e-9))
		return true;
	return x < best_x && score >= best * (1 - 1e-9);
}

static void find_best(struct fl_bisect *b)
{
	int top = -1;
	double best;

	b->best = -1;
	for (int x = 0; x < b->n; x++) {
		b->bound[x] = b->obs[x].skipped ? 0 :
						  score_of(b, x, info_bound);
		if (b->bound[x] > 0 && (top < 0 || b->bound[x] > b->bound[top]))
			top = x;
	}
	if (top < 0)
		return;
	/* A good score first: then most bounds are below it. */
	b->best = top;
	best = score_of(b, top, info_of);
	for (int x = 0; x < b->n; x++) {
		double score;

		if (x == top || b->bound[x] < best * (1 - 1e-9) ||
		    b->bound[x] <= 0)
			continue;
		score = score_of(b, x, info_of);
		if (beats(score, x, best, b->best)) {
			b->best = x;
			best = score;
		}
	}
}

void fl_bisect_choose(struct fl_bisect *b)
{
	_cleanup_free_ double *w =
		fl_calloc((size_t)b->n * FL_LANES, sizeof(double));
	struct fl_split s;

	fill_lanes(b, w);
	memset(b->lane_total, 0, sizeof(b->lane_total));
	for (int c = 1; c < b->n; c++)
		for (int l = 0; l < FL_LANES; l++)
			b->lane_total[l] += w[(size_t)c * FL_LANES + l];
	fl_bisect_graph_sums(b, w, b->side);
	b->best_info = 0;
	find_best(b);
	if (b->best < 0)
		return;
	s = fl_bisect_split(b, b->best);
	b->best_info = info_of(&s, fl_bisect_noise_of(b, &s, 1));
}

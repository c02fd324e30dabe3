// SPDX-License-Identifier: GPL-2.0-or-later
/* See noise.h. */
#define MATHLIB_STANDALONE 1
#include <Rmath.h>
#include "noise.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include "../util/err.h"
#include "stats.h"

#define C_MEDIAN (M_PI / 2) /* of a median's variance against a mean's */
#define CHI2_MEDIAN 0.454936 /* median of chi-square with 1 df */
#define MAD_EFFICIENCY 0.37 /* Rousseeuw and Croux 1993 */
#define OWN_LEVEL 8 /* boots from which an image has a level of its own */
#define HALF_WINDOW 7 /* boots either side, else */
#define EXACT_SPREADS 3
#define MIN_REPORTABLE 0.0005
#define MAX_NCP 37.0 /* pnt() of Rmath ends there */

/* Boots as numbers, and where each image starts among them. */
struct boots {
	double *y, *c; /* value; c_r / r, the share of se2 in it */
	size_t n;
	size_t *start; /* [images + 1] */
	size_t images;
	double *level; /* of an image: mean of its boots */
	double ss, df; /* of boots around their image's level */
};

static void boots_clear(struct boots *b)
{
	free(b->y);
	free(b->c);
	free(b->start);
	free(b->level);
}

/* One boot's finite repetitions v[r], r >= 1. */
static void add_boot(struct boots *b, const double *v, size_t r,
		     const struct fl_noise_params *p, struct fl_noise *out)
{
	double sd = fl_stats_sd(v, r);
	double c = p->mean || r < 3 ? 1 : C_MEDIAN;

	b->y[b->n] = p->mean ? fl_stats_mean(v, r) : fl_stats_median(v, r);
	b->c[b->n++] = c / (double)r;
	out->values += r;
	out->df_e += (double)(r - 1);
	out->se2 += sd * sd * (double)(r - 1);
	if (r >= 3 && !p->mean)
		out->c_r = C_MEDIAN;
}

static void gather(const struct fl_noise_obs *obs, size_t n,
		   const struct fl_noise_params *p, struct boots *b,
		   struct fl_noise *out)
{
	_cleanup_free_ double *v = fl_calloc(n + 1, sizeof(*v));
	int64_t image = 0;

	b->y = fl_calloc(n + 1, sizeof(*b->y));
	b->c = fl_calloc(n + 1, sizeof(*b->c));
	b->start = fl_calloc(n + 2, sizeof(*b->start));
	out->c_r = 1;
	for (size_t i = 0, end; i < n; i = end) {
		size_t r = 0;

		for (end = i; end < n && obs[end].image == obs[i].image &&
			      obs[end].boot == obs[i].boot;
		     end++)
			if (isfinite(obs[end].value))
				v[r++] = obs[end].value;
		if (!r)
			continue;
		if (!b->images || obs[i].image != image)
			b->start[b->images++] = b->n;
		image = obs[i].image;
		add_boot(b, v, r, p, out);
	}
	b->start[b->images] = b->n;
	out->images = b->images;
	out->boots = b->n;
	if (out->df_e > 0)
		out->se2 /= out->df_e;
}

static void levels(struct boots *b)
{
	b->level = fl_calloc(b->images + 1, sizeof(*b->level));
	for (size_t i = 0; i < b->images; i++) {
		size_t n = b->start[i + 1] - b->start[i];
		double sd = fl_stats_sd(b->y + b->start[i], n);

		b->level[i] = fl_stats_mean(b->y + b->start[i], n);
		b->ss += sd * sd * (double)(n - 1);
		b->df += (double)(n - 1);
	}
}

/* Variance of an image's level around a common one, its boots' noise
 * included. */
static double spread_of_levels(const struct boots *b)
{
	double sd = fl_stats_sd(b->level, b->images);

	return sd * sd;
}

/* The same from differences of neighbours. Squared and halved they estimate
 * the variance; a step spoils one of them, which a median does not mind
 * (von Neumann 1941 for the differences). */
static double spread_of_neighbours(const struct boots *b)
{
	_cleanup_free_ double *d2 = fl_calloc(b->images, sizeof(*d2));

	for (size_t i = 0; i + 1 < b->images; i++) {
		double d = b->level[i + 1] - b->level[i];

		d2[i] = d * d;
	}
	return fl_stats_median(d2, b->images - 1) / CHI2_MEDIAN / 2;
}

static double with_floor(double var, double df, const struct fl_noise_params *p)
{
	if (!(p->floor_nu0 > 0))
		return var;
	return (var * df + p->floor_s0sq * p->floor_nu0) / (df + p->floor_nu0);
}

/* Splits what is seen into var_y and sa2; e_part is what repetitions explain
 * of a boot value. */
static void split_noise(const struct boots *b, double e_part,
			const struct fl_noise_params *p, struct fl_noise *out)
{
	double boots_part = 0, seen = 0;

	if (b->images >= 2 && p->images != FL_NOISE_UNRELATED) {
		out->df_a = (double)(b->images - 1);
		seen = spread_of_levels(b);
	}
	if (b->images >= 2 && p->images == FL_NOISE_NEIGHBOURS) {
		out->df_a *= MAD_EFFICIENCY;
		seen = spread_of_neighbours(b);
	}
	out->df_u = b->df;
	if (!(b->df > 0)) { /* one boot an image: no telling them apart */
		out->var_y = with_floor(fmax(seen, e_part), out->df_a, p);
		return;
	}
	out->var_y = with_floor(fmax(b->ss / b->df, e_part), b->df, p);
	for (size_t i = 0; i < b->images; i++)
		boots_part += 1 / (double)(b->start[i + 1] - b->start[i]) /
			      (double)b->images;
	if (out->df_a > 0 && out->var_y > 0) {
		out->sa2 = fmax(0, seen - out->var_y * boots_part);
		out->p_a = pf(seen / (out->var_y * boots_part), out->df_a,
			      out->df_u, 0, 0);
	}
	if (out->sa2 > 0)
		out->df_a *= out->sa2 / seen * out->sa2 / seen;
}

static size_t at_most(size_t a, size_t b)
{
	return a < b ? a : b;
}

void fl_noise_derive(struct fl_noise *m)
{
	m->c_r = m->reps >= 3 ? C_MEDIAN : 1;
	m->var_y = m->su2 + m->c_r * m->se2 / fmax(m->reps, 1);
	m->lambda = m->var_y > 0 ? m->sa2 / m->var_y : 0;
}

/* Boots minus the level around them, for the modes: that of their image, or
 * of its neighbours where there are any. */
static void find_modes(const struct boots *b, bool neighbours,
		       struct fl_modes *modes)
{
	_cleanup_free_ double *res = fl_calloc(b->n + 1, sizeof(*res));
	size_t n = 0;

	for (size_t i = 0; i < b->images; i++) {
		size_t from = b->start[i], to = b->start[i + 1];
		bool own = to - from >= OWN_LEVEL;

		for (size_t k = from; k < to && (own || neighbours); k++) {
			size_t lo = own ? from : k - at_most(k, HALF_WINDOW);
			size_t hi = own ? to :
					  at_most(b->n, k + HALF_WINDOW + 1);

			res[n++] =
				b->y[k] - fl_stats_median(b->y + lo, hi - lo);
		}
	}
	fl_modes_find(res, n, modes);
}

static void history_prior(const struct boots *b,
			  const struct fl_noise_params *p, struct fl_noise *out)
{
	_cleanup_free_ double *s2 = fl_calloc(b->images + 1, sizeof(*s2));
	_cleanup_free_ double *df = fl_calloc(b->images + 1, sizeof(*df));

	for (size_t i = 0; i < b->images; i++) {
		size_t n = b->start[i + 1] - b->start[i];
		double sd = fl_stats_sd(b->y + b->start[i], n);

		s2[i] = sd * sd;
		df[i] = (double)(n - 1);
	}
	fl_noise_prior(s2, df, b->images, &out->s0sq, &out->d0);
	if (p->floor_nu0 > 0) {
		/* Replays: the pooled variance says all there is. */
		out->s0sq = out->var_y;
		out->d0 = p->floor_nu0;
	}
}

int fl_noise_fit(const struct fl_noise_obs *obs, size_t n,
		 const struct fl_noise_params *params, struct fl_noise *ret)
{
	struct boots b = { 0 };
	double e_part = 0;
	int r = -ENODATA;

	*ret = (struct fl_noise){ 0 };
	gather(obs, n, params, &b, ret);
	if (b.n < 2) {
		*ret = (struct fl_noise){ 0 };
		goto out;
	}
	ret->p_a = 1;
	ret->reps = (double)ret->values / (double)ret->boots;
	levels(&b);
	if (params->images == FL_NOISE_UNRELATED && !(b.df > 0)) {
		*ret = (struct fl_noise){ 0 };
		goto out;
	}
	for (size_t i = 0; i < b.n; i++)
		e_part += ret->se2 * b.c[i] / (double)b.n;
	split_noise(&b, e_part, params, ret);
	ret->su2 = fmax(0, ret->var_y - e_part);
	ret->lambda = ret->var_y > 0 ? ret->sa2 / ret->var_y : 0;
	find_modes(&b, params->images != FL_NOISE_UNRELATED, &ret->modes);
	history_prior(&b, params, ret);
	r = 0;
out:
	boots_clear(&b);
	return r;
}

/* Solves trigamma(x) = y, y > 0 (Newton, as in limma's trigammaInverse). */
static double trigamma_inverse(double y)
{
	double x = 0.5 + 1 / y;

	if (y > 1e7)
		return 1 / sqrt(y);
	if (y < 1e-6)
		return 1 / y;
	for (int i = 0; i < 50; i++) {
		double tri = trigamma(x);
		double d = tri * (1 - tri / y) / psigamma(x, 2);

		x += d;
		if (-d / x < 1e-8)
			break;
	}
	return x;
}

/*
 * Past variances that can be used. A zero has no logarithm, and next to one a
 * log is an outlier: none counts as smaller than the smallest that chance
 * would make of m variances like the median one. Returns their number.
 */
static size_t usable(const double *s2, const double *df, size_t n, double *to_s,
		     double *to_df)
{
	double median;
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		if (!(df[i] > 0) || !isfinite(df[i]) || !(s2[i] >= 0) ||
		    !isfinite(s2[i]))
			continue;
		to_s[m] = s2[i];
		to_df[m++] = df[i];
	}
	median = m ? fl_stats_median(to_s, m) : 0;
	for (size_t i = 0; i < m; i++) {
		double least = qchisq(0.5 / (double)m, to_df[i], 1, 0);

		to_s[i] = fmax(to_s[i], median * least / to_df[i]);
	}
	return median > 0 ? m : 0;
}

void fl_noise_prior(const double *s2, const double *df, size_t n, double *s0sq,
		    double *d0)
{
	_cleanup_free_ double *s = fl_calloc(n + 1, sizeof(*s));
	_cleanup_free_ double *f = fl_calloc(n + 1, sizeof(*f));
	double mean, sd, extra, tri = 0, most = 0;
	size_t m = usable(s2, df, n, s, f);

	*s0sq = *d0 = 0;
	if (m < 3)
		return;
	for (size_t i = 0; i < m; i++) {
		s[i] = log(s[i]) - digamma(f[i] / 2) + log(f[i] / 2);
		tri += trigamma(f[i] / 2) / (double)m;
		most += f[i];
	}
	mean = fl_stats_mean(s, m);
	sd = fl_stats_sd(s, m);
	extra = sd * sd - tri;
	/* No more scatter than chance has: one variance for all, known as
	 * well as all of the past together tells it. */
	*d0 = most;
	if (extra > 0)
		*d0 = fmin(most, 2 * trigamma_inverse(extra));
	*s0sq = exp(mean + digamma(*d0 / 2) - log(*d0 / 2));
	if (!isfinite(*s0sq) || !(*s0sq > 0) || !(*d0 > 0))
		*s0sq = *d0 = 0;
}

size_t fl_noise_best_reps(const struct fl_noise *m, double cost_boot,
			  double cost_rep, size_t max)
{
	double r = sqrt(m->c_r * m->se2 / m->su2 * cost_boot / cost_rep);

	if (!(m->se2 > 0))
		return 1;
	if (!(r < (double)max)) /* su2 may be 0 */
		return max;
	return r < 1 ? 1 : (size_t)lround(r);
}

/* Standard errors that an effect must have for this power: the noncentral t
 * of which `power` lies above the critical value. */
static double distance(double df, double alpha, double power)
{
	double crit = qt(1 - alpha / 2, df, 1, 0), lo = 0, hi = MAX_NCP;

	if (!(crit < MAX_NCP))
		return HUGE_VAL;
	for (int i = 0; i < 60; i++) {
		double mid = (lo + hi) / 2;

		if (pnt(crit, df, mid, 0, 0) < power)
			lo = mid;
		else
			hi = mid;
	}
	return hi < MAX_NCP * 0.999 ? hi : HUGE_VAL;
}

double fl_noise_resolves(const struct fl_noise *m, size_t n, double alpha,
			 double power)
{
	double v = 2 * (m->sa2 + m->var_y / (double)n);

	if (n < 2 || !(alpha > 0 && alpha < 1) || !(power > 0 && power < 1))
		return HUGE_VAL;
	return sqrt(v) * distance(2 * (double)n - 2 + m->d0, alpha, power);
}

size_t fl_noise_boots_needed(const struct fl_noise *m, double effect,
			     double alpha, double power, size_t max)
{
	size_t lo = 2, hi = max;

	if (max < 2 || !(fl_noise_resolves(m, max, alpha, power) <= effect))
		return 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (fl_noise_resolves(m, mid, alpha, power) <= effect)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

double fl_noise_exact_floor(const struct fl_noise *m)
{
	return fmax(log1p(MIN_REPORTABLE),
		    EXACT_SPREADS * sqrt(m->var_y + m->sa2));
}

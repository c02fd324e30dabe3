// SPDX-License-Identifier: GPL-2.0-or-later
/* See modes.h. */
#define MATHLIB_STANDALONE 1
#include <Rmath.h>
#include "modes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "../util/err.h"
#include "stats.h"

#define EM_STEPS 200
/* Gain of the log likelihood that ends EM: to choose a start, and at last. */
#define EM_ROUGH 0.02
#define EM_DONE 1e-5
#define T_DF 3.0
#define T_STEPS 25
/* Both modes hold at least this many boots and this share of them. */
#define MIN_COUNT 4
#define MIN_SHARE 0.07
/* Nearer than this (in deviations within a mode) they are one broad mode. */
#define MIN_GAP 3.0
/* Bayes factor of 20, "strong" in Kass and Raftery 1995. */
#define MIN_BIC 6.0
#define MAX_VALUES 1000 /* of more, the quantiles */
#define STARTS 16
#define LEVEL_STEPS 30

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double *sorted(const double *v, size_t n)
{
	double *s = fl_calloc(n + 1, sizeof(*s));

	memcpy(s, v, n * sizeof(*s));
	qsort(s, n, sizeof(*s), cmp_double);
	return s;
}

/* -2 log likelihood of one normal at its best. */
static double fit_normal(const double *v, size_t n)
{
	double mean = fl_stats_mean(v, n), ss = 0;

	for (size_t i = 0; i < n; i++)
		ss += (v[i] - mean) * (v[i] - mean);
	return (double)n * (log(2 * M_PI * ss / (double)n) + 1);
}

/* -2 log likelihood of one t, location and scale by EM (Lange et al. 1989):
 * heavy tails are one mode, however lonely their values lie. */
static double fit_t(const double *v, size_t n)
{
	double m = fl_stats_median(v, n), s2 = 0, l = 0;

	for (size_t i = 0; i < n; i++)
		s2 += (v[i] - m) * (v[i] - m) / (double)n;
	for (int step = 0; step < T_STEPS; step++) {
		double sw = 0, swv = 0, sws = 0;

		for (size_t i = 0; i < n; i++) {
			double z2 = (v[i] - m) * (v[i] - m) / s2;
			double w = (T_DF + 1) / (T_DF + z2);

			sw += w;
			swv += w * (v[i] - m);
			sws += w * z2 * s2;
		}
		m += swv / sw;
		s2 = fmax(sws / (double)n, 1e-12 * s2);
	}
	for (size_t i = 0; i < n; i++)
		l += dt((v[i] - m) / sqrt(s2), T_DF, 1) - log(s2) / 2;
	return -2 * l;
}

/* P(upper | v), and the log density of the mixture. */
static double upper_share(const struct fl_modes *m, double v, double *logp)
{
	double a = log1p(-m->upper) + dnorm(v, m->low, m->sd, 1);
	double b = log(m->upper) + dnorm(v, m->high, m->sd, 1);
	double top = fmax(a, b);
	double sum = exp(a - top) + exp(b - top);

	*logp = top + log(sum);
	return exp(b - top) / sum;
}

/*
 * EM from a first guess in *m (McLachlan and Peel 2000, ch. 3). One variance
 * for both: with two, a mixture always finds a few close values that it likes.
 * Returns -2 log likelihood.
 */
static double fit_mixture(const double *v, size_t n, double floor_sd,
			  double done, struct fl_modes *m)
{
	double last = -HUGE_VAL, l = 0;

	for (int step = 0; step < EM_STEPS; step++) {
		double w = 0, low = 0, high = 0, ss = 0;

		l = 0;
		for (size_t i = 0; i < n; i++) {
			double logp, g = upper_share(m, v[i], &logp);

			l += logp;
			w += g;
			high += g * v[i];
			low += (1 - g) * v[i];
			ss += g * (v[i] - m->high) * (v[i] - m->high) +
			      (1 - g) * (v[i] - m->low) * (v[i] - m->low);
		}
		if (w < 1e-6 || w > (double)n - 1e-6 || l - last < done)
			break;
		last = l;
		m->low = low / ((double)n - w);
		m->high = high / w;
		m->upper = w / (double)n;
		m->sd = fmax(sqrt(ss / (double)n), floor_sd);
	}
	return -2 * l;
}

/* Where both modes are equally likely. */
static double cut_of(const struct fl_modes *m)
{
	double mid = (m->low + m->high) / 2;

	return mid + m->sd * m->sd / (m->high - m->low) *
			     (log1p(-m->upper) - log(m->upper));
}

static bool convincing(const struct fl_modes *m, size_t n)
{
	double least = fmin(m->upper, 1 - m->upper);

	return least * (double)n >= MIN_COUNT && least >= MIN_SHARE &&
	       m->high - m->low >= MIN_GAP * m->sd;
}

/* Splits the sorted values behind the k lowest and fits from there. */
static double fit_from(const double *s, size_t n, size_t k, double sd,
		       struct fl_modes *m)
{
	*m = (struct fl_modes){ .low = fl_stats_mean(s, k),
				.high = fl_stats_mean(s + k, n - k),
				.upper = (double)(n - k) / (double)n,
				.sd = sd / 3 };
	return fit_mixture(s, n, 1e-4 * sd, EM_ROUGH, m);
}

void fl_modes_find(const double *residuals, size_t n, struct fl_modes *ret)
{
	static const double part[] = { 0.1, 0.25, 0.5, 0.75, 0.9 };
	_cleanup_free_ double *s = NULL;
	struct fl_modes m, best = { 0 };
	double sd, one, two = HUGE_VAL;

	*ret = (struct fl_modes){ 0 };
	if (n < FL_MODES_MIN)
		return;
	s = sorted(residuals, n);
	if (n > MAX_VALUES) {
		for (size_t i = 0; i < MAX_VALUES; i++)
			s[i] = s[(2 * i + 1) * n / MAX_VALUES / 2];
		n = MAX_VALUES;
	}
	sd = fl_stats_sd(s, n);
	if (!isfinite(sd) || !(sd > 0))
		return;
	for (size_t i = 0; i < FL_ARRAY_SIZE(part); i++) {
		size_t k = (size_t)(part[i] * (double)n);
		double fit = fit_from(s, n, k, sd, &m);

		if (fit < two) {
			two = fit;
			best = m;
		}
	}
	/* BIC: the mixture has two parameters more. */
	one = fit_normal(s, n) - 2 * log((double)n) - MIN_BIC;
	if (!(two < one)) /* rough is near enough to turn most away */
		return;
	two = fit_mixture(s, n, 1e-4 * sd, EM_DONE, &best);
	one = fmin(one, fit_t(s, n) - 2 * log((double)n) - MIN_BIC);
	if (!(two < one) || !convincing(&best, n))
		return;
	*ret = best;
	ret->bimodal = 1;
	ret->cut = cut_of(&best);
	ret->within = fmin(best.sd * best.sd / (sd * sd), 1);
}

/* Climbs from a level; returns the log likelihood of v there. */
static double climb(const struct fl_modes *m, const double *v, size_t n,
		    double *level)
{
	double l = -HUGE_VAL;

	for (int step = 0; step < LEVEL_STEPS; step++) {
		double sum = 0, logp, off = 0;

		for (size_t i = 0; i < n; i++) {
			double g = upper_share(m, v[i] - *level, &logp);

			sum += logp;
			off += v[i] - g * m->high - (1 - g) * m->low - *level;
		}
		if (sum - l < EM_DONE)
			break;
		l = sum;
		*level += off / (double)n;
	}
	return l;
}

void fl_modes_assign(const struct fl_modes *modes, const double *v, size_t n,
		     int *upper)
{
	_cleanup_free_ double *s = sorted(v, n);
	double level = 0, best = -HUGE_VAL;
	size_t step = n / STARTS + 1;

	for (size_t i = 0; i < n; i += step) {
		double from[2] = { s[i] - modes->low, s[i] - modes->high };

		for (int k = 0; k < 2; k++) {
			double l = climb(modes, s, n, &from[k]);

			if (l > best) {
				best = l;
				level = from[k];
			}
		}
	}
	for (size_t i = 0; i < n; i++)
		upper[i] = v[i] - level > modes->cut;
}

double fl_modes_fisher(size_t ka, size_t na, size_t kb, size_t nb)
{
	double k = (double)(ka + kb), p = 0, observed;
	size_t least = ka + kb > nb ? ka + kb - nb : 0;
	size_t most = ka + kb < na ? ka + kb : na;

	if (!na || !nb || ka > na || kb > nb)
		return 1;
	observed = dhyper((double)ka, (double)na, (double)nb, k, 0);
	for (size_t i = least; i <= most; i++) {
		double d = dhyper((double)i, (double)na, (double)nb, k, 0);

		/* Rounding: as likely counts as at most as likely. */
		if (d <= observed * (1 + 1e-7))
			p += d;
	}
	return fmin(p, 1);
}

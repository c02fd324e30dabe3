// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The history of a series, from values to changes: drop what is missing,
 * learn the noise, set single spikes aside, cut, keep the cuts that are real
 * and large enough, look at the newest values. Called by trend and `stat
 * detect`; pure.
 */
#define MATHLIB_STANDALONE 1
#include <Rmath.h>
#include "detect-internal.h"

#include <math.h>
#include "stats.h"
#include "../util/err.h"

/* Two hypotheses whose squares differ by this many variances have a
 * likelihood ratio of 20. */
#define INTERVAL (2 * log(20))
#define PENALTY 3.0
#define PRIOR_WEIGHT 10.0
/* As many of the values so far may have been as far off as a suspect; one in
 * the first few is no habit. */
#define SUSPECT_SHARE 0.002
#define FEW 60

/* The series on its way: finite values, and those that are cut. */
struct series {
	double *x; /* finite values */
	size_t *at; /* their place in the caller's series */
	bool *spike;
	size_t n;
	double *z; /* without spikes, around 0, in units of sigma */
	size_t *from; /* their place in x */
	size_t m;
	double centre, unit;
	double *off; /* x minus the level of its segment, in units */
	struct fl_sums sums; /* of z */
	size_t *cuts, k; /* in z */
};

static void series_clear(struct series *s)
{
	free(s->x);
	free(s->at);
	free(s->spike);
	free(s->z);
	free(s->from);
	free(s->cuts);
	free(s->off);
	fl_sums_clear(&s->sums);
}

static void take_finite(struct series *s, const double *y, size_t n)
{
	s->x = fl_calloc(n + 1, sizeof(*s->x));
	s->at = fl_calloc(n + 1, sizeof(*s->at));
	s->spike = fl_calloc(n + 1, sizeof(*s->spike));
	for (size_t i = 0; i < n; i++) {
		if (!(fabs(y[i]) <= FL_DETECT_HUGE))
			continue;
		s->x[s->n] = y[i];
		s->at[s->n++] = i;
	}
}

/*
 * Without any noise a step would be infinitely many standard deviations, so a
 * millionth of the range stands for it.
 */
static double unit_of(const struct series *s, double sigma)
{
	double lo = INFINITY, hi = -INFINITY;

	for (size_t i = 0; i < s->n; i++) {
		if (s->spike[i])
			continue;
		lo = fmin(lo, s->x[i]);
		hi = fmax(hi, s->x[i]);
	}
	return fmax(sigma, hi > lo ? 1e-6 * (hi - lo) : 0);
}

static void standardise(struct series *s, double sigma)
{
	s->z = fl_calloc(s->n + 1, sizeof(*s->z));
	s->from = fl_calloc(s->n + 1, sizeof(*s->from));
	s->cuts = fl_calloc(s->n + 1, sizeof(*s->cuts));
	s->centre = fl_stats_median(s->x, s->n);
	s->unit = unit_of(s, sigma);
	if (!(s->unit > 0))
		s->unit = 1;
	for (size_t i = 0; i < s->n; i++) {
		if (s->spike[i])
			continue;
		s->z[s->m] = (s->x[i] - s->centre) / s->unit;
		s->from[s->m++] = i;
	}
	fl_sums_init(&s->sums, s->z, s->m);
}

/* A short history tells little of its noise. */
static struct fl_noise noise_of(const struct series *s,
				const struct fl_detection *d, double floor)
{
	struct fl_noise noise = { d->rho, d->inflation, PRIOR_WEIGHT };

	if (d->sigma > floor)
		noise.weight = fmin(PRIOR_WEIGHT, (double)s->n / 4);
	return noise;
}

/* Cut i of series s as the caller counts: 0 and k + 1 are the two ends. */
static size_t cut_at(const struct series *s, size_t i)
{
	return i == 0 ? 0 : i > s->k ? s->m : s->cuts[i - 1];
}

static size_t outside(const struct series *s, size_t cut, size_t n)
{
	return cut == 0 ? 0 : cut >= s->m ? n : s->at[s->from[cut]];
}

static void fill_segments(const struct series *s, struct fl_detection *d)
{
	d->nsegments = s->k + 1;
	d->segments = fl_calloc(d->nsegments, sizeof(*d->segments));
	for (size_t i = 0; i <= s->k; i++) {
		size_t a = cut_at(s, i), b = cut_at(s, i + 1);
		double sse = fl_sums_sse(&s->sums, a, b);

		d->segments[i] = (struct fl_segment){
			.from = outside(s, a, d->n),
			.to = outside(s, b, d->n),
			.level = s->centre +
				 s->unit * fl_sums_mean(&s->sums, a, b),
			.sd = b - a > 1 ? s->unit * sqrt(sse /
							 (double)(b - a - 1)) :
					  0,
			.n = b - a,
		};
	}
}

static void fill_changes(const struct series *s, double delta,
			 const struct fl_noise *noise, struct fl_detection *d)
{
	d->nchanges = s->k;
	d->changes = fl_calloc(s->k + 1, sizeof(*d->changes));
	for (size_t i = 0; i < s->k; i++) {
		size_t a = cut_at(s, i), b = cut_at(s, i + 2);
		size_t at = s->cuts[i], lo, hi;
		struct fl_boundary t =
			fl_detect_test(&s->sums, a, at, b, noise);
		double half = t.se * qt(0.975, t.df, 1, 0);

		fl_detect_place(&s->sums, a, b, noise->rho, INTERVAL, &lo, &hi);
		/* Placed by plain squares, which do as well; the range is that
		 * of the innovations, which know how sure that is. */
		d->changes[i] = (struct fl_change){
			.at = outside(s, at, d->n),
			.lo = outside(s, lo < at ? lo : at, d->n),
			.hi = outside(s, hi > at ? hi : at, d->n),
			.effect = s->unit * t.effect,
			.effect_lo = s->unit * (t.effect - half),
			.effect_hi = s->unit * (t.effect + half),
			.p = t.p,
			.small = fabs(s->unit * t.effect) < delta,
		};
	}
}

static void residuals(struct series *s)
{
	s->off = fl_calloc(s->n + 1, sizeof(*s->off));
	for (size_t g = 0, i = 0; g <= s->k; g++) {
		size_t a = cut_at(s, g), b = cut_at(s, g + 1);
		size_t end = b == s->m ? s->n : s->from[b];
		double level = fl_sums_mean(&s->sums, a, b);

		for (; i < end; i++)
			s->off[i] = (s->x[i] - s->centre) / s->unit - level;
	}
}

/* The least of k neighbours' distances; 0 when they lie on both sides. */
static double least_off(const double *off, size_t k)
{
	double least = fabs(off[0]);

	for (size_t i = 1; i < k; i++) {
		if ((off[i] > 0) != (off[0] > 0))
			return 0;
		least = fmin(least, fabs(off[i]));
	}
	return least;
}

/*
 * Noise is not normal. Where k values in a row have been this far off before,
 * in a share of all places that is worth no second look, they are no news.
 */
static bool happens(const struct series *s, size_t k)
{
	double least = least_off(s->off + s->n - k, k);
	size_t hits = 0, places = s->n - 2 * k + 1;

	for (size_t i = 0; i < places; i++)
		hits += least_off(s->off + i, k) >= least;
	return hits > (places < FEW ? 1u : 0u) &&
	       (double)(hits + 1) > SUSPECT_SHARE * (double)places;
}

/* Are the newest k values off the last level? */
static bool look_at_newest(const struct series *s, size_t k, double delta,
			   const struct fl_noise *noise, struct fl_suspect *ret)
{
	size_t a = cut_at(s, s->k), e = s->m;
	double n1, mean = 0, var, df, se, half, effect;

	while (e > a && s->from[e - 1] + k >= s->n)
		e--;
	if (e < a + FL_PARTITION_MIN)
		return false;
	n1 = (double)(e - a);
	for (size_t i = s->n - k; i < s->n; i++)
		mean += (s->x[i] - s->centre) / s->unit / (double)k;
	effect = mean - fl_sums_mean(&s->sums, a, e);
	df = n1 - 1 + noise->weight;
	var = (fl_sums_sse(&s->sums, a, e) + noise->weight) / df;
	se = sqrt(var * (noise->inflation / n1 +
			 (1 + (double)(k - 1) * noise->rho) / (double)k));
	half = s->unit * se * qt(0.975, df, 1, 0);
	effect *= s->unit;
	*ret = (struct fl_suspect){
		s->at[s->n - k], k,
		effect,		 effect - half,
		effect + half,	 2 * pt(-fabs(effect / s->unit) / se, df, 1, 0)
	};
	/* Each of them has to lie nearer to the new level than to the old. */
	return ret->p < FL_DETECT_ALPHA && fabs(effect) >= delta &&
	       s->unit * least_off(s->off + s->n - k, k) >= fabs(effect) / 2 &&
	       !happens(s, k);
}

static void fill_newest(const struct series *s, double delta,
			const struct fl_noise *noise, struct fl_detection *d)
{
	struct fl_suspect found;

	for (size_t k = 2; k >= 1; k--) {
		if (look_at_newest(s, k, delta, noise, &found)) {
			d->suspect = found;
			return;
		}
	}
}

static void fill_spikes(const struct series *s, double delta,
			struct fl_detection *d)
{
	d->spikes = fl_calloc(s->n - s->m + 1, sizeof(*d->spikes));
	for (size_t i = 0; i < s->n; i++) {
		if (!s->spike[i] || (d->suspect.n && s->at[i] >= d->suspect.at))
			continue;
		d->spikes[d->nspikes++] =
			(struct fl_spike){ s->at[i], s->unit * s->off[i],
					   fabs(s->unit * s->off[i]) < delta };
	}
}

void fl_detect(const double *y, size_t n, const struct fl_detect_params *params,
	       struct fl_detection *ret)
{
	struct series s = { 0 };
	struct fl_noise noise;
	double delta = params->delta > 0 ? params->delta : 0;

	*ret = (struct fl_detection){ .n = n, .inflation = 1 };
	take_finite(&s, y, n);
	ret->missing = n - s.n;
	if (s.n) {
		fl_detect_noise(s.x, s.n, params->floor, ret);
		fl_detect_spikes(s.x, s.n, ret->sigma, s.spike);
		standardise(&s, ret->sigma);
		noise = noise_of(&s, ret, params->floor);
		s.k = fl_partition(&s.sums,
				   PENALTY * noise.inflation * log((double)s.m),
				   s.cuts);
		s.k = fl_detect_merge(&s.sums, s.cuts, s.k, delta / s.unit,
				      &noise);
		residuals(&s);
		fill_segments(&s, ret);
		fill_changes(&s, delta, &noise, ret);
		if (s.n > 4)
			fill_newest(&s, delta, &noise, ret);
		fill_spikes(&s, delta, ret);
	}
	series_clear(&s);
}

void fl_detection_clear(struct fl_detection *d)
{
	free(d->segments);
	free(d->changes);
	free(d->spikes);
	*d = (struct fl_detection){ 0 };
}

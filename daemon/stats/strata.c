// SPDX-License-Identifier: GPL-2.0-or-later
/* See strata.h; and the t-test over strata. */
#define MATHLIB_STANDALONE 1
#include <Rmath.h>
#include "strata.h"

#include <math.h>
#include <stdlib.h>
#include "../util/err.h"

struct item {
	int block, mode, side;
	double v;
};

static int cmp_item(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int d = (x->block > y->block) - (x->block < y->block);

	if (!d)
		d = x->mode - y->mode;
	return d ? d : x->side - y->side;
}

static void add_side(struct item *to, const struct fl_side *from, int side)
{
	for (size_t i = 0; i < from->n; i++)
		to[i] = (struct item){ from->block ? from->block[i] : 0,
				       from->mode ? from->mode[i] : 0, side,
				       from->v[i] };
}

static double squares(const double *v, size_t n)
{
	double mean = fl_stats_mean(v, n), s = 0;

	for (size_t i = 0; i < n; i++)
		s += (v[i] - mean) * (v[i] - mean);
	return s;
}

/* The values of s->a (and s->b behind them) are in place, not yet centred. */
static void finish_stratum(struct fl_stratum *s)
{
	size_t n = s->na + s->nb;
	double mean;

	s->b = s->a + s->na;
	s->ss = squares(s->a, s->na) + squares(s->b, s->nb);
	if (s->na && s->nb) {
		s->diff =
			fl_stats_mean(s->b, s->nb) - fl_stats_mean(s->a, s->na);
		s->weight = (double)s->na * (double)s->nb / (double)n;
	}
	mean = fl_stats_mean(s->a, n);
	for (size_t i = 0; i < n; i++)
		s->a[i] -= mean;
}

void fl_strata_init(struct fl_strata *s, const struct fl_side *a,
		    const struct fl_side *b)
{
	size_t n = a->n + b->n;
	_cleanup_free_ struct item *item = fl_calloc(n + 1, sizeof(*item));

	*s = (struct fl_strata){ .values = n, .effect = NAN };
	s->s = fl_calloc(n + 1, sizeof(*s->s));
	s->v = fl_calloc(n + 1, sizeof(*s->v));
	add_side(item, a, 0);
	add_side(item + a->n, b, 1);
	qsort(item, n, sizeof(*item), cmp_item);
	for (size_t i = 0; i < n; i++) {
		if (!i || item[i].block != item[i - 1].block ||
		    item[i].mode != item[i - 1].mode)
			s->s[s->n++].a = s->v + i;
		s->v[i] = item[i].v;
		if (item[i].side)
			s->s[s->n - 1].nb++;
		else
			s->s[s->n - 1].na++;
	}
	for (size_t i = 0; i < s->n; i++) {
		struct fl_stratum *t = &s->s[i];

		finish_stratum(t);
		s->weight += t->weight;
		if (t->weight > 0 && s->weight == t->weight)
			s->effect = t->diff;
		else if (t->weight > 0)
			s->effect +=
				(t->diff - s->effect) * t->weight / s->weight;
	}
	for (size_t i = 0; i < s->n; i++) {
		double off = s->s[i].diff - s->effect;

		s->ss += s->s[i].ss;
		if (s->s[i].weight > 0)
			s->ss += s->s[i].weight * off * off;
	}
	s->df = (double)n - (double)s->n - 1;
}

void fl_strata_clear(struct fl_strata *s)
{
	free(s->s);
	free(s->v);
	*s = (struct fl_strata){ 0 };
}

struct fl_ttest fl_strata_t(const struct fl_strata *s, double s0sq, double d0,
			    double var_image, double df_image, double level)
{
	const struct fl_ttest nothing = { NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	struct fl_ttest r = nothing;
	double var, image = 2 * var_image, half;

	if (!(s->weight > 0) || !(d0 >= 0) || (d0 > 0 && !(s0sq >= 0)) ||
	    !(var_image >= 0) || !(level > 0 && level < 1))
		return r;
	r.df = fmax(s->df, 0) + d0;
	if (r.df <= 0)
		return nothing;
	r.effect = s->effect;
	if (isinf(d0))
		var = s0sq;
	else if (d0 > 0)
		var = (s->ss + d0 * s0sq) / r.df;
	else
		var = s->ss / r.df;
	var /= s->weight;
	r.se = sqrt(var + image);
	/* A sum of two estimated variances (Satterthwaite 1946). */
	if (image > 0 && df_image > 0)
		r.df = (var + image) * (var + image) /
		       (var * var / r.df + image * image / df_image);
	if (isnan(r.effect) || isnan(r.se))
		return nothing;
	if (r.effect == 0)
		r.t = 0;
	else
		r.t = r.effect / r.se; /* infinite without any spread */
	r.p = 2 * pt(-fabs(r.t), r.df, 1, 0);
	half = r.se * qt(0.5 + level / 2, r.df, 1, 0);
	r.lo = r.effect - half;
	r.hi = r.effect + half;
	return r;
}

struct fl_ttest fl_stats_blocked_t(const double *a, const int *block_a,
				   size_t na, const double *b,
				   const int *block_b, size_t nb, double s0sq,
				   double d0, double var_image, double level)
{
	const struct fl_side sa = { a, block_a, NULL, na };
	const struct fl_side sb = { b, block_b, NULL, nb };
	struct fl_strata s;
	struct fl_ttest r;

	fl_strata_init(&s, &sa, &sb);
	r = fl_strata_t(&s, s0sq, d0, var_image, 0, level);
	fl_strata_clear(&s);
	return r;
}

struct fl_ttest fl_stats_moderated_t(const double *a, size_t na,
				     const double *b, size_t nb, double s0sq,
				     double d0, double level)
{
	return fl_stats_blocked_t(a, NULL, na, b, NULL, nb, s0sq, d0, 0, level);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two kernels: the moderated t-test, the verdict, and the verification of a
 * culprit against its parent. Called by the compare and bisect state machines;
 * pure, and bad input gives NaN and "unclear", never an error.
 */
#define MATHLIB_STANDALONE 1
#include <Rmath.h>
#include "stats.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static double squares(const double *v, size_t n)
{
	double mean = fl_stats_mean(v, n), s = 0;

	for (size_t i = 0; i < n; i++)
		s += (v[i] - mean) * (v[i] - mean);
	return s;
}

static struct fl_ttest nothing(void)
{
	return (struct fl_ttest){ NAN, NAN, NAN, NAN, NAN, NAN, NAN };
}

struct fl_ttest fl_stats_moderated_t(const double *a, size_t na,
				     const double *b, size_t nb, double s0sq,
				     double d0, double level)
{
	struct fl_ttest r = nothing();
	double own, var, half;

	if (!na || !nb || !(d0 >= 0) || (d0 > 0 && !(s0sq >= 0)) ||
	    !(level > 0 && level < 1))
		return r;
	own = (double)(na + nb) - 2;
	if (own + d0 <= 0)
		return r;
	r.effect = fl_stats_mean(b, nb) - fl_stats_mean(a, na);
	if (isinf(d0))
		var = s0sq;
	else if (d0 > 0)
		var = (squares(a, na) + squares(b, nb) + d0 * s0sq) /
		      (own + d0);
	else
		var = (squares(a, na) + squares(b, nb)) / own;
	r.df = own + d0;
	r.se = sqrt(var * (1 / (double)na + 1 / (double)nb));
	if (isnan(r.effect) || isnan(r.se))
		return nothing();
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

static const char *const verdicts[] = { [FL_SAME] = "same",
					[FL_BETTER] = "better",
					[FL_WORSE] = "worse",
					[FL_UNCLEAR] = "unclear" };

const char *fl_verdict_str(enum fl_verdict v)
{
	if ((unsigned int)v > FL_UNCLEAR)
		return "?";
	return verdicts[v];
}

int fl_verdict_parse(const char *s)
{
	for (int i = FL_SAME; i <= FL_UNCLEAR; i++)
		if (s && !strcmp(s, verdicts[i]))
			return i;
	return -1;
}

static bool all_finite(const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(v[i]))
			return false;
	return true;
}

static void say_changed(const struct fl_compare_params *p,
			struct fl_compare_result *r)
{
	if (!p->better)
		return;
	r->verdict = (r->effect > 0) == (p->better > 0) ? FL_BETTER : FL_WORSE;
	r->shift = 1;
}

/*
 * The spread over perturbed runs is in exact_floor; it is also the least that
 * the interval may claim to know.
 */
static void compare_exact(const struct fl_ttest *t,
			  const struct fl_compare_params *p,
			  struct fl_compare_result *r)
{
	r->p = NAN;
	r->lo = fmin(t->lo, r->effect - p->exact_floor);
	r->hi = fmax(t->hi, r->effect + p->exact_floor);
	if (fabs(r->effect) >= fmax(p->delta, p->exact_floor))
		say_changed(p, r);
	else
		r->verdict = FL_SAME;
}

static void compare_wall(const double *a, size_t na, const double *b, size_t nb,
			 const struct fl_ttest *t,
			 const struct fl_compare_params *p,
			 struct fl_compare_result *r)
{
	struct fl_ttest tost;
	double min_p;
	bool real;

	r->p = fl_stats_permutation(a, na, b, nb, p->seed, &min_p);
	if (isnan(t->p)) {
		r->hidden = HUGE_VAL;
		return;
	}
	/* Few boots cannot reach alpha by permutation: t decides alone. */
	real = t->p < p->alpha && (min_p > p->alpha || r->p < p->alpha);
	tost = fl_stats_moderated_t(a, na, b, nb, p->s0sq, p->d0,
				    1 - 2 * p->alpha);
	if (real && fabs(r->effect) >= p->delta)
		say_changed(p, r);
	else if (tost.lo > -p->delta && tost.hi < p->delta)
		r->verdict = FL_SAME;
	if (r->verdict == FL_UNCLEAR)
		r->hidden = fmax(fabs(t->lo), fabs(t->hi));
}

void fl_stats_compare(const double *a, size_t na, const double *b, size_t nb,
		      const struct fl_compare_params *params,
		      struct fl_compare_result *ret)
{
	struct fl_ttest t;

	*ret = (struct fl_compare_result){ .verdict = FL_UNCLEAR,
					   .effect = NAN,
					   .lo = NAN,
					   .hi = NAN,
					   .p = NAN,
					   .sd_a = NAN,
					   .sd_b = NAN,
					   .hidden = HUGE_VAL };
	if (!na || !nb || !all_finite(a, na) || !all_finite(b, nb))
		return;
	ret->hidden = 0;
	ret->effect = fl_stats_mean(b, nb) - fl_stats_mean(a, na);
	ret->sd_a = fl_stats_sd(a, na);
	ret->sd_b = fl_stats_sd(b, nb);
	t = fl_stats_moderated_t(a, na, b, nb, params->s0sq, params->d0,
				 1 - params->alpha);
	ret->lo = t.lo;
	ret->hi = t.hi;
	if (params->exact_floor > 0)
		compare_exact(&t, params, ret);
	else
		compare_wall(a, na, b, nb, &t, params, ret);
}

/*
 * Ratio of two independent normal estimates x/y with standard errors (Fieller
 * 1954): the values r for which x - r*y is within z standard errors of zero.
 */
static void ratio_interval(double x, double sx, double y, double sy, double z,
			   double *lo, double *hi)
{
	double a = y * y - z * z * sy * sy;
	double b = x * y;
	double c = x * x - z * z * sx * sx;
	double root = b * b - a * c;

	*lo = -HUGE_VAL;
	*hi = HUGE_VAL;
	/* The total itself may be nil: no bounded interval exists. */
	if (a <= 0 || root < 0)
		return;
	*lo = (b - sqrt(root)) / a;
	*hi = (b + sqrt(root)) / a;
}

void fl_stats_verify(const double *parent, size_t np, const double *culprit,
		     size_t nc, const struct fl_verify_params *params,
		     struct fl_verify_result *ret)
{
	struct fl_ttest t;
	double z = qnorm(1 - params->alpha / 2, 0, 1, 1, 0);
	bool real, sign;

	*ret = (struct fl_verify_result){ NAN, NAN,	  NAN,	    NAN,
					  NAN, -HUGE_VAL, HUGE_VAL, 0 };
	if (!np || !nc || !all_finite(parent, np) || !all_finite(culprit, nc) ||
	    !isfinite(params->total) || params->total == 0)
		return;
	ret->effect = fl_stats_mean(culprit, nc) - fl_stats_mean(parent, np);
	ret->share = ret->effect / params->total;
	t = fl_stats_moderated_t(parent, np, culprit, nc, params->s0sq,
				 params->d0, 1 - params->alpha);
	ret->lo = t.lo;
	ret->hi = t.hi;
	ret->p = t.p;
	sign = (ret->effect > 0) == (params->total > 0);
	if (params->exact_floor > 0)
		real = fabs(ret->effect) >= params->exact_floor;
	else
		real = t.p < params->alpha;
	ret->confirmed = sign && real;
	if (isfinite(t.se))
		ratio_interval(ret->effect, t.se, params->total,
			       params->total_se, z, &ret->share_lo,
			       &ret->share_hi);
}

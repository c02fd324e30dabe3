// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two kernels: the verdict, and the verification of a culprit against its
 * parent. Called by the compare and bisect state machines;
 * pure, and bad input gives NaN and "unclear", never an error.
 */
#define MATHLIB_STANDALONE 1
#include <Rmath.h>
#include "stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "../util/err.h"
#include "strata.h"

/* Log values that spread less than this do not spread: no t-test is built on
 * the rounding of a clock. */
#define NO_SPREAD 1e-9
/* The prior is dropped when chance would give boots that spread so much more
 * than it says in fewer cases than this. */
#define DOUBT 0.1
/* Of alpha, when boots have two modes: for a shift within them, the rest for
 * their shares. */
#define WITHIN_SHARE 0.8

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
	r->lo = fmin(t->lo, r->effect - p->exact_floor);
	r->hi = fmax(t->hi, r->effect + p->exact_floor);
	if (fabs(r->effect) >= fmax(p->delta, p->exact_floor))
		say_changed(p, r);
	else
		r->verdict = FL_SAME;
}

/* Both tests on one way of pairing like with like. */
struct look {
	struct fl_ttest t, tost;
	double p, min_p;
	double alpha;
	bool noisy; /* the prior was dropped */
};

/* F-test of these boots' variance against the prior's. */
static bool doubtful(const struct fl_strata *s, double s0sq, double d0)
{
	return d0 > 0 && s0sq > 0 && s->df > 0 &&
	       pf(s->ss / s->df / s0sq, s->df, d0, 0, 0) < DOUBT;
}

static void take_look(struct fl_strata *s, const struct fl_compare_params *p,
		      double s0sq, double alpha, struct look *l)
{
	double d0 = p->d0;

	l->alpha = alpha;
	l->noisy = doubtful(s, s0sq, d0);
	if (l->noisy)
		d0 = 0;
	l->t = fl_strata_t(s, s0sq, d0, p->var_image, p->df_image, 1 - alpha);
	l->tost = fl_strata_t(s, s0sq, d0, p->var_image, p->df_image,
			      1 - 2 * alpha);
	l->p = fl_strata_permutation(s, p->seed, &l->min_p);
}

static bool real(const struct look *l)
{
	if (isnan(l->t.p))
		return false;
	/* Without any spread t knows nothing. */
	if (l->t.se < NO_SPREAD)
		return l->p < l->alpha;
	/* Few boots cannot reach alpha by permutation: t decides alone. */
	return l->t.p < l->alpha && (l->min_p >= l->alpha || l->p < l->alpha);
}

static bool same(const struct look *l, double delta)
{
	/* Without spread: as many boots as would have shown a difference. */
	if (l->t.se < NO_SPREAD && l->min_p >= l->alpha)
		return false;
	return l->tost.lo > -delta && l->tost.hi < delta;
}

/* The two sides of a wall-clock comparison. */
struct pair {
	struct fl_side a, b;
	const struct fl_compare_params *params;
	struct fl_compare_result *ret;
	double alpha;
};

static void show(struct fl_compare_result *r, const struct look *l)
{
	r->lo = l->t.lo;
	r->hi = l->t.hi;
	r->p = l->p;
	r->p_t = l->t.se < NO_SPREAD ? l->p : l->t.p;
	if (!isnan(l->t.effect))
		r->effect = l->t.effect;
}

/*
 * Two modes: like is compared with like, and the shares of the modes by
 * themselves; *whole is the look at the plain means.
 */
static void compare_modes(struct pair *c, const int *upper,
			  const struct look *whole)
{
	const struct fl_compare_params *p = c->params;
	struct fl_compare_result *r = c->ret;
	size_t na = c->a.n, nb = c->b.n;
	struct fl_strata s;
	struct look in;

	c->a.mode = upper;
	c->b.mode = upper + na;
	for (size_t i = 0; i < na; i++)
		r->upper_a += (size_t)upper[i];
	for (size_t i = 0; i < nb; i++)
		r->upper_b += (size_t)upper[na + i];
	r->p_modes = fl_modes_fisher(r->upper_a, na, r->upper_b, nb);
	fl_strata_init(&s, &c->a, &c->b);
	take_look(&s, p, p->s0sq * p->modes->within, WITHIN_SHARE * c->alpha,
		  &in);
	fl_strata_clear(&s);
	if (r->p_modes < (1 - WITHIN_SHARE) * c->alpha) {
		if (fabs(whole->t.effect) >= p->delta)
			say_changed(p, r);
		r->by_modes = r->shift;
	} else if (!isnan(in.t.p)) {
		show(r, &in);
		if (real(&in) && fabs(in.t.effect) >= p->delta)
			say_changed(p, r);
	}
	r->p_t = fmin(r->p_modes / (1 - WITHIN_SHARE), 1);
	if (!isnan(in.t.p))
		r->p_t = fmin(r->p_t, in.t.p / WITHIN_SHARE);
}

static void compare_wall(struct pair *c)
{
	const struct fl_compare_params *p = c->params;
	struct fl_compare_result *r = c->ret;
	size_t n = c->a.n + c->b.n;
	struct fl_strata s;
	struct look whole;

	fl_strata_init(&s, &c->a, &c->b);
	take_look(&s, p, p->s0sq, c->alpha, &whole);
	fl_strata_clear(&s);
	show(r, &whole);
	r->noisy = whole.noisy;
	if (p->modes && p->modes->bimodal) {
		_cleanup_free_ int *upper = fl_calloc(n, sizeof(*upper));
		_cleanup_free_ double *v = fl_calloc(n, sizeof(*v));

		memcpy(v, c->a.v, c->a.n * sizeof(*v));
		memcpy(v + c->a.n, c->b.v, c->b.n * sizeof(*v));
		fl_modes_assign(p->modes, v, n, upper);
		compare_modes(c, upper, &whole);
	} else if (real(&whole) && fabs(r->effect) >= p->delta) {
		say_changed(p, r);
	}
	if (!r->shift && same(&whole, p->delta))
		r->verdict = FL_SAME;
	if (r->verdict == FL_UNCLEAR)
		r->hidden = isnan(whole.t.lo) ?
				    HUGE_VAL :
				    fmax(fabs(whole.t.lo), fabs(whole.t.hi));
}

/* Of which look these boots are, and what it may spend. */
static double share_of_look(const struct fl_compare_params *p, size_t na,
			    size_t nb, struct fl_compare_result *r)
{
	double share = 1;

	r->look = fl_looks_at(p->looks, na, nb);
	r->next = fl_looks_next(p->looks, na, nb);
	if (p->looks && p->looks->n)
		share = p->looks->share[r->look < 0 ? 0 : r->look];
	r->alpha = p->alpha * share;
	return share;
}

void fl_stats_compare(const double *a, size_t na, const double *b, size_t nb,
		      const struct fl_compare_params *params,
		      struct fl_compare_result *ret)
{
	struct pair c = { .a = { a, params->block_a, NULL, na },
			  .b = { b, params->block_b, NULL, nb },
			  .params = params,
			  .ret = ret };
	double share;

	*ret = (struct fl_compare_result){ .verdict = FL_UNCLEAR,
					   .effect = NAN,
					   .lo = NAN,
					   .hi = NAN,
					   .p = NAN,
					   .sd_a = NAN,
					   .sd_b = NAN,
					   .p_t = NAN,
					   .p_look = NAN,
					   .p_adjusted = NAN,
					   .p_modes = NAN,
					   .hidden = HUGE_VAL };
	share = share_of_look(params, na, nb, ret);
	if (!all_finite(a, na) || !all_finite(b, nb))
		return;
	if (params->better)
		ret->more = ret->next;
	if (!na || !nb)
		return;
	ret->hidden = 0;
	ret->effect = fl_stats_mean(b, nb) - fl_stats_mean(a, na);
	ret->sd_a = fl_stats_sd(a, na);
	ret->sd_b = fl_stats_sd(b, nb);
	if (params->exact_floor > 0) {
		struct fl_ttest t =
			fl_stats_moderated_t(a, na, b, nb, params->s0sq,
					     params->d0, 1 - params->alpha);

		ret->alpha = params->alpha;
		compare_exact(&t, params, ret);
		ret->more = ret->next = 0;
		return;
	}
	c.alpha = ret->alpha;
	compare_wall(&c);
	if (ret->look < 0) {
		/* Before the first look nothing is decided. */
		ret->verdict = FL_UNCLEAR;
		ret->shift = ret->by_modes = 0;
		ret->hidden = HUGE_VAL;
	}
	if (ret->look >= 0 && !isnan(ret->p_t))
		ret->p_look = fmin(1, ret->p_t / share);
	if (ret->verdict != FL_UNCLEAR)
		ret->more = 0;
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

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The gate: do the end points differ at all, in this setup? Called by the
 * engine at every value of an end point; cannot fail.
 */
#include "bisect-internal.h"

#include <math.h>
#include <string.h>
#include "../daemon/util/err.h"

/* An end point that was booted this few boots ago says where the host is. */
#define RECENT 20
#define NEARLY 0.5
/* Half as likely again as before anything is measured. */
#define SUSPECT 0.075

bool fl_bisect_budget_spent(const struct fl_bisect *b)
{
	return b->params.max_runs > 0 && b->total >= b->params.max_runs;
}

static const struct fl_cell *cell_of(const struct fl_obs *o, int period)
{
	for (int i = 0; i < o->ncells; i++)
		if (o->cell[i].period == period)
			return &o->cell[i];
	return NULL;
}

/* On a host that drifts only boots of the same period are compared. */
static double differ_by_period(const struct fl_bisect *b, double *se)
{
	const struct fl_obs *g = &b->obs[0], *d = &b->obs[b->n - 1];
	double dof = b->noise.nu0, ss = dof * b->noise.s0sq, w = 0, sum = 0;

	*se = 0;
	for (int i = 0; i < g->ncells; i++) {
		const struct fl_cell *x = &g->cell[i];
		const struct fl_cell *y = cell_of(d, x->period);
		double wi;

		if (!y)
			continue;
		wi = 1 / (1.0 / x->n + 1.0 / y->n);
		w += wi;
		sum += wi * (y->mean - x->mean);
		ss += x->ss + y->ss;
		dof += x->n + y->n - 2;
	}
	if (w <= 0 || dof <= 0)
		return 0;
	ss = fmax(ss / dof, 1e-12 * b->noise.s0sq);
	*se = sqrt(ss * (1 / w + 2 * b->noise.lambda));
	return sum / w;
}

double fl_bisect_ends_differ(const struct fl_bisect *b, double *se)
{
	const struct fl_obs *g = &b->obs[0], *d = &b->obs[b->n - 1];
	double dof = g->boots + d->boots - 2 + b->noise.nu0, var;

	if (b->params.by_period || b->drift >= 0.5)
		return differ_by_period(b, se);
	*se = 0;
	if (!g->boots || !d->boots)
		return 0;
	if (dof > 0) {
		var = (g->ss + d->ss + b->noise.nu0 * b->noise.s0sq) / dof;
		var = fmax(var, 1e-12 * b->noise.s0sq);
		*se = sqrt(var * (1.0 / g->boots + 1.0 / d->boots +
				  2 * b->noise.lambda));
	}
	return d->mean - g->mean;
}

/* Sorted, because trimming needs the order. */
static void keep_value(struct fl_end *e, double value)
{
	int i = e->n;

	if (e->n == e->cap) {
		e->cap = e->cap ? 2 * e->cap : 16;
		e->v = fl_realloc(e->v, (size_t)e->cap * sizeof(double));
	}
	for (; i > 0 && e->v[i - 1] > value; i--)
		e->v[i] = e->v[i - 1];
	e->v[i] = value;
	e->n++;
}

/* A fifth of the values off each end: the mean of the others, its squared
 * error, and the degrees of freedom. */
static double trimmed(const struct fl_end *e, double lambda, double *var,
		      double *dof)
{
	int cut = e->n / 5, left = e->n - 2 * cut;
	double mean = 0, centre = 0, ss = 0;

	for (int i = cut; i < e->n - cut; i++)
		mean += (e->v[i] - mean) / (i - cut + 1);
	/* Cut values count as the nearest one that was kept. */
	for (int i = 0; i < e->n; i++) {
		int k = i < cut ? cut : i;

		k = k >= e->n - cut ? e->n - cut - 1 : k;
		centre += (e->v[k] - centre) / (i + 1);
		ss += (e->v[k] - mean) * (e->v[k] - mean);
	}
	ss -= e->n * (centre - mean) * (centre - mean);
	*dof = left - 1;
	*var = left > 1 ? fmax(ss, 0) / (left * (left - 1.0)) : 0;
	*var *= 1 + lambda * left;
	return mean;
}

double fl_bisect_t_to_z(double t, double dof)
{
	double scale = (8 * dof + 1) / (8 * dof + 3);

	return scale * sqrt(dof * log1p(t * t / dof));
}

/*
 * Two boots out of twenty that took twice as long hide a clear shift from a
 * t-test, not from one on trimmed means (Yuen 1974). As a normal deviate.
 */
static double trimmed_z(const struct fl_bisect *b)
{
	double vg, vb, dg, db, var, dof, diff;

	if (b->ends[0].n < 5 || b->ends[1].n < 5)
		return 0;
	diff = trimmed(&b->ends[0], b->noise.lambda, &vg, &dg) -
	       trimmed(&b->ends[1], b->noise.lambda, &vb, &db);
	var = vg + vb;
	/* Without spread the ordinary t, which knows the prior, decides. */
	if (var <= 1e-12 * b->noise.s0sq)
		return 0;
	dof = var * var / (vg * vg / dg + vb * vb / db);
	return fl_bisect_t_to_z(diff / sqrt(var), dof);
}

static bool significant(const struct fl_bisect *b, double ease)
{
	double dof = b->ends[0].n + b->ends[1].n - 2 + b->noise.nu0;
	double se, effect, need;

	effect = fabs(fl_bisect_ends_differ(b, &se));
	if (se > 0 && effect / se >= ease * b->params.gate_t)
		return true;
	if (b->params.gate_t <= 0)
		return true;
	if (b->params.by_period || b->drift >= 0.5)
		return false;
	/* The same tail as the ordinary t at these numbers of boots. */
	need = fl_bisect_t_to_z(ease * b->params.gate_t, fmax(dof, 1));
	return trimmed_z(b) >= need;
}

/*
 * Evaluated at each value of an end point, so that the answer depends on what
 * was measured and in which order, never on when somebody looked. Once open
 * the gate closes again only when later boots contradict it.
 */
void fl_bisect_gate_look(struct fl_bisect *b, int i, double value)
{
	const struct fl_bisect_params *p = &b->params;
	double ease = b->gate_passed ? 0.5 : 1, se, effect;

	keep_value(&b->ends[i > 0], value);
	effect = fabs(fl_bisect_ends_differ(b, &se));
	b->gate_passed = b->obs[0].boots >= p->gate_min_boots &&
			 b->obs[b->n - 1].boots >= p->gate_min_boots &&
			 effect > 0 && effect >= ease * p->min_effect &&
			 (p->exact || significant(b, ease));
}

/* An end point that cannot be booted once more. */
static bool end_closed(const struct fl_bisect *b, int i, int boots)
{
	return b->obs[i].skipped || b->obs[i].boots >= boots;
}

enum fl_bisect_state fl_bisect_gate_state(const struct fl_bisect *b)
{
	int min = b->params.gate_min_boots, bad = b->n - 1;
	int max = b->params.exact ? min : b->params.gate_max_boots;
	int least = b->obs[0].boots < b->obs[bad].boots ? b->obs[0].boots :
							  b->obs[bad].boots;

	/* Nothing says that they differ, nor that they do not. */
	if (least < min && (b->obs[0].skipped || b->obs[bad].skipped))
		return FL_BISECT_SHORTLIST;
	if (fl_bisect_budget_spent(b) ||
	    (end_closed(b, 0, max) && end_closed(b, bad, max)))
		return FL_BISECT_DOES_NOT_REPRODUCE;
	if (least >= min && (b->obs[0].skipped || b->obs[bad].skipped))
		return FL_BISECT_DOES_NOT_REPRODUCE;
	return FL_BISECT_GATE;
}

/* Boots of an end point, those under way included, that the gate counts. */
static int gate_boots(const struct fl_bisect *b, int i)
{
	const struct fl_obs *o = &b->obs[i];
	const struct fl_cell *c = cell_of(o, b->period);

	if (b->params.by_period)
		return (c ? c->n : 0) + o->pending;
	return o->boots + o->pending;
}

/* A B B A …: a drift of the host hits both ends alike. */
int fl_bisect_gate_next(const struct fl_bisect *b, int k, int *out)
{
	int bad = b->n - 1, n = 0;
	int good_n = gate_boots(b, 0), bad_n = gate_boots(b, bad);
	int min = b->params.gate_min_boots, stop;

	stop = good_n < min || bad_n < min ? min : b->params.gate_max_boots;
	while (n < k && (good_n < stop || bad_n < stop)) {
		bool good = good_n < bad_n ||
			    (good_n == bad_n && good_n % 2 == 0);

		out[n++] = good ? 0 : bad;
		if (good)
			good_n++;
		else
			bad_n++;
	}
	return n;
}

/* A new period: has the host drifted? An end point that has no value in it nor
 * a recent one; in turn while nothing points to a drift, both when it may. */
int fl_bisect_ends_due(const struct fl_bisect *b, int k, int *out)
{
	int n = 0;

	/* Almost done: what comes next is interleaved anyway. */
	if (b->class_mass[b->best_class] > NEARLY)
		return 0;
	for (int e = 0; e < 2 && b->periods && n < k; e++) {
		int x = e ? b->n - 1 : 0;
		const struct fl_obs *o = &b->obs[x];

		if (b->drift < SUSPECT && b->period % 2 == e)
			continue;
		if (!o->skipped && !o->pending && b->ends[e].since >= RECENT &&
		    !cell_of(o, b->period))
			out[n++] = x;
	}
	return n;
}

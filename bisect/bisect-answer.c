// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the engine says about its beliefs: the answer as a set of classes, the
 * two levels, and the guard against a third one. See bisect.h.
 */
#include "bisect-internal.h"

#include <math.h>
#include <string.h>
#include "../daemon/util/err.h"

struct member {
	int commit, class;
	double mass, own;
};

/* Heavy classes first, and within a class its heavy members. */
static int cmp_member(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->mass != y->mass)
		return x->mass < y->mass ? 1 : -1;
	if (x->class != y->class)
		return x->class < y->class ? 1 : -1;
	if (x->own != y->own)
		return x->own < y->own ? 1 : -1;
	return x->commit - y->commit;
}

int fl_bisect_answer(const struct fl_bisect *b, int max, int *out, double *mass)
{
	_cleanup_free_ struct member *m = fl_calloc((size_t)b->n, sizeof(*m));
	int n = 0, count = 0, last = -1;
	double sum = 0;

	*mass = 0;
	if (b->state == FL_BISECT_DOES_NOT_REPRODUCE)
		return 0;
	for (int c = 1; c < b->n; c++) {
		int k = b->class_of[c];

		if (k < 0)
			continue;
		m[n++] = (struct member){ c, k, b->class_mass[k], b->post[c] };
	}
	qsort(m, (size_t)n, sizeof(*m), cmp_member);
	for (int i = 0; i < n; i++) {
		if (m[i].class != last) {
			if (sum >= b->params.confidence)
				break;
			sum += m[i].mass;
			last = m[i].class;
		}
		if (count < max)
			out[count] = m[i].commit;
		count++;
	}
	*mass = fmin(sum, 1);
	return count;
}

/* Mean of x as it would be now, centred. */
static double mean_now(const struct fl_bisect *b, int x)
{
	const struct fl_obs *o = &b->obs[x];

	return (b->drift < 0.5 ? o->mean : o->adjusted) - b->centre;
}

/* Distance of x from a level made of the other commits on that side, in
 * standard errors; *off is the distance itself. 0 when no other is there. */
static double stray(const struct fl_bisect *b, int x, bool bad, double var,
		    double dof, double *off)
{
	double w = 0, sum = 0, lambda = b->noise.lambda, se;
	const struct fl_obs *o = b->obs;

	for (int i = 0; i < b->n; i++) {
		double wi = o[i].boots / (1 + lambda * o[i].boots);

		if (i == x || !o[i].boots || fl_bisect_has(b, i, b->map) != bad)
			continue;
		w += wi;
		sum += wi * mean_now(b, i);
	}
	*off = 0;
	if (w <= 0)
		return 0;
	*off = fabs(mean_now(b, x) - sum / w);
	se = sqrt(var * (1.0 / o[x].boots + lambda + 1 / w));
	return fl_bisect_t_to_z(*off / se, dof);
}

/*
 * The scale is the spread within commits (and the prior): a third level
 * inflates the residuals of the two-level fit and would hide itself. With no
 * repetition anywhere there is no such scale, and the guard is silent.
 */
static void find_third(const struct fl_bisect *b, struct fl_bisect_levels *ret)
{
	double ss = b->noise.nu0 * b->noise.s0sq, dof = b->noise.nu0, top = 4;

	for (int i = 0; i < b->n && b->drift < 0.5; i++) {
		if (!b->obs[i].boots)
			continue;
		ss += b->obs[i].ss;
		dof += b->obs[i].boots - 1;
	}
	if (b->drift >= 0.5) {
		ss += b->cell_ss;
		dof += b->cell_dof;
	}
	if (dof <= 0)
		return;
	ss = fmax(ss / dof, 1e-12 * b->noise.s0sq);
	for (int i = 1; i < b->n - 1; i++) {
		double off_g, off_b, z;

		if (!b->obs[i].boots)
			continue;
		z = fmin(stray(b, i, false, ss, dof, &off_g),
			 stray(b, i, true, ss, dof, &off_b));
		if (z <= top || fmin(off_g, off_b) < b->params.min_effect)
			continue;
		top = z;
		ret->third_level = true;
		ret->third_commit = i;
	}
}

void fl_bisect_get_levels(const struct fl_bisect *b,
			  struct fl_bisect_levels *ret)
{
	const struct fl_obs *g = &b->obs[0], *d = &b->obs[b->n - 1];
	double se, effect = fl_bisect_ends_differ(b, &se);

	*ret = (struct fl_bisect_levels){ .good = NAN,
					  .bad = NAN,
					  .third_commit = -1 };
	ret->drift = b->drift;
	ret->sigma = sqrt(b->map_var);
	ret->t = se > 0 ? effect / se : 0;
	if (b->measured) {
		ret->good = b->centre + b->level_g[b->map];
		ret->bad = b->centre + b->level_b[b->map];
		find_third(b, ret);
		return;
	}
	if (g->boots)
		ret->good = g->mean;
	if (d->boots)
		ret->bad = d->mean;
}

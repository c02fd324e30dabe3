// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The posterior over hypotheses: both levels and the variance integrated out
 * (docs/STATISTICS.md, "Bisection"). Called by fl_bisect_update(); cannot
 * fail: variances are floored, weights are normalised in logs.
 */
#include "bisect-internal.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include "../daemon/util/err.h"

/* Before anything is measured: a host that drifts is the exception. */
#define DRIFT_PRIOR 0.05

/* What the tested commits sum to, whatever the hypothesis. */
struct data {
	double n; /* boots */
	double within; /* W: squares around each commit's mean */
	double weight; /* sum of w_x */
	double sum, squares; /* of w_x * mean and w_x * mean^2, centred */
};

static double weight_of(const struct fl_bisect *b, int x)
{
	double boots = b->obs[x].boots;

	return boots / (1 + b->noise.lambda * boots);
}

/* Values far from zero would lose their digits in squares. */
static void centre_data(struct fl_bisect *b, struct data *d)
{
	double sum = 0;

	memset(d, 0, sizeof(*d));
	for (int x = 0; x < b->n; x++) {
		if (!b->obs[x].boots)
			continue;
		d->weight += weight_of(b, x);
		sum += weight_of(b, x) * b->obs[x].mean;
	}
	b->centre = d->weight > 0 ? sum / d->weight : 0;
	for (int x = 0; x < b->n; x++) {
		double w = weight_of(b, x), y = b->obs[x].mean - b->centre;

		if (!b->obs[x].boots)
			continue;
		d->n += b->obs[x].boots;
		d->within += b->obs[x].ss;
		d->sum += w * y;
		d->squares += w * y * y;
	}
}

/* O_b and M_b of every hypothesis: each tested commit adds to its ancestors. */
static void add_bad(struct fl_bisect *b, int x)
{
	double w = weight_of(b, x), wy = w * (b->obs[x].mean - b->centre);

	for (int j = 0; j <= x / 64; j++) {
		uint64_t bits = fl_bisect_block(b, j)[x];

		for (; bits; bits &= bits - 1) {
			int c = 64 * j + __builtin_ctzll(bits);

			b->mass_b[c] += w;
			b->level_b[c] += wy;
		}
	}
}

/* Log weight of c; turns the sums of c into levels and returns its variance
 * in *var. */
static double weigh(struct fl_bisect *b, const struct data *d, int c,
		    double *var)
{
	double dof = d->n - 2 + b->noise.nu0, s0 = b->noise.s0sq;
	double og = fmax(d->weight - b->mass_b[c], weight_of(b, 0));
	double ob = b->mass_b[c];
	double mg = d->sum - b->level_b[c], mb = b->level_b[c];
	double ss = d->within + d->squares - mg * mg / og - mb * mb / ob;

	/* Rounding may leave less than what no hypothesis can explain. */
	ss = fmax(ss, d->within) + b->noise.nu0 * s0;
	ss = fmax(ss, fmax(1e-12 * s0, DBL_MIN));
	b->mass_g[c] = og;
	b->level_g[c] = mg / og;
	b->level_b[c] = mb / ob;
	*var = ss / dof;
	return log(b->prior[c]) - 0.5 * log(og * ob) - dof / 2 * log(ss);
}

static void expectations(struct fl_bisect *b)
{
	b->var_level_b = b->var_level_g = 0;
	for (int c = 1; c < b->n; c++) {
		if (b->post[c] <= 0)
			continue;
		b->var_level_b += b->post[c] / b->mass_b[c];
		b->var_level_g += b->post[c] / b->mass_g[c];
	}
	b->var_level_b *= b->var;
	b->var_level_g *= b->var;
}

/*
 * The host drifts or it does not: both posteriors, weighted by how well either
 * explains the data. Levels are those of the likelier one.
 */
static void mix_drift(struct fl_bisect *b, double evidence, double *var)
{
	size_t n = (size_t)b->n, size = n * sizeof(double);
	_cleanup_free_ double *mem = fl_calloc(6 * n, sizeof(double));
	struct fl_drift d = {
		mem,	     mem + n, mem + 2 * n, mem + 3 * n, mem + 4 * n,
		mem + 5 * n, 0
	};

	if (!fl_bisect_drift_weigh(b, &d))
		return;
	b->drift = 1 / (1 + exp(evidence - d.evidence) * (1 - DRIFT_PRIOR) /
				    DRIFT_PRIOR);
	for (size_t c = 1; c < n; c++)
		b->post[c] += b->drift * (d.weight[c] - b->post[c]);
	if (b->drift < 0.5)
		return;
	memcpy(var, d.var, size);
	memcpy(b->level_b, d.level_b, size);
	memcpy(b->level_g, d.level_g, size);
	memcpy(b->mass_b, d.mass_b, size);
	memcpy(b->mass_g, d.mass_g, size);
}

/* bound[] serves as scratch for each hypothesis's variance until the choice
 * fills it. */
static void weigh_all(struct fl_bisect *b, const struct data *d)
{
	double top = -HUGE_VAL, sum = 0, *var = b->bound;

	for (int c = 1; c < b->n; c++) {
		if (b->prior[c] <= 0)
			continue;
		b->post[c] = weigh(b, d, c, &var[c]);
		top = fmax(top, b->post[c]);
	}
	for (int c = 1; c < b->n; c++) {
		if (b->prior[c] <= 0)
			continue;
		b->post[c] = exp(b->post[c] - top);
		sum += b->post[c];
	}
	for (int c = 1; c < b->n; c++)
		b->post[c] /= sum;
	if (b->periods)
		mix_drift(b, top + log(sum), var);
	b->var = 0;
	b->map = 0;
	for (int c = 1; c < b->n; c++) {
		if (b->prior[c] <= 0)
			continue;
		if (!b->map || b->post[c] > b->post[b->map])
			b->map = c;
		b->var += b->post[c] * var[c];
	}
	b->map_var = var[b->map];
	expectations(b);
}

static void believe_prior(struct fl_bisect *b, const struct data *d)
{
	double dof = d->n - 1 + b->noise.nu0;

	b->map = 0;
	for (int c = 1; c < b->n; c++) {
		b->post[c] = b->prior[c];
		b->level_b[c] = b->level_g[c] = 0;
		if (!b->map || b->prior[c] > b->prior[b->map])
			b->map = c;
	}
	b->var = dof > 0 && d->n > 1 ?
			 (d->within + b->noise.nu0 * b->noise.s0sq) / dof :
			 b->noise.s0sq;
	b->map_var = b->var;
	b->var_level_b = b->var_level_g = b->var;
}

static void sum_classes(struct fl_bisect *b)
{
	memset(b->class_mass, 0, (size_t)b->n * sizeof(double));
	for (int c = 1; c < b->n; c++)
		if (b->class_of[c] >= 0)
			b->class_mass[b->class_of[c]] += b->post[c];
	b->best_class = 0;
	for (int k = 1; k < b->nclasses; k++)
		if (b->class_mass[k] > b->class_mass[b->best_class])
			b->best_class = k;
}

void fl_bisect_believe(struct fl_bisect *b)
{
	int bad = b->n - 1;
	struct data d;

	centre_data(b, &d);
	b->drift = 0;
	memset(b->post, 0, (size_t)b->n * sizeof(double));
	memset(b->mass_b, 0, (size_t)b->n * sizeof(double));
	memset(b->level_b, 0, (size_t)b->n * sizeof(double));
	/* Without a value at both ends one level has no data under some
	 * hypothesis, and the flat priors do not integrate. */
	b->measured = b->obs[0].boots && b->obs[bad].boots &&
		      d.n - 2 + b->noise.nu0 > 0;
	if (b->measured) {
		for (int x = 1; x < b->n; x++)
			if (b->obs[x].boots)
				add_bad(b, x);
		weigh_all(b, &d);
		b->ref_g = b->obs[0].mean - b->centre;
		b->ref_b = b->obs[bad].mean - b->centre;
	} else {
		believe_prior(b, &d);
		b->ref_b = b->ref_g = 0;
	}
	if (b->classes_stale)
		fl_bisect_graph_classes(b);
	sum_classes(b);
}

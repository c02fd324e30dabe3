// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The posterior when the host may drift: each period has an offset of its own,
 * a random walk from one to the next that is integrated out together with the
 * levels (docs/STATISTICS.md, "Drift"). Called by bisect-belief.c; cannot
 * fail.
 */
#include "bisect-internal.h"

#include <math.h>
#include <string.h>
#include "../daemon/util/err.h"

/* Variance of a step of the walk from one period to the next, in variances of
 * a boot: a host that drifts is thought to move by about one deviation. */
#define WALK 1.0
/* More than this are not modelled. */
#define MAX_PERIODS 64

/*
 * Linear model y = Z m + bad * delta + noise: column 0 is the good level in
 * the first period, column j the offset of period j against it. Flat prior on
 * column 0 and delta.
 */
struct model {
	int k; /* columns, one a period */
	int period[MAX_PERIODS];
	double a[MAX_PERIODS][MAX_PERIODS]; /* Z'WZ + prior, then Cholesky */
	double m[MAX_PERIODS]; /* Z'Wy, then the solution without delta */
	double now[MAX_PERIODS]; /* A^-1 times the row of a boot now */
	double var_now;
	double log_det; /* of A, less that of the prior */
	double rest; /* squares left without delta */
};

static int column(const struct model *m, int period)
{
	int j = 0;

	while (j < m->k && m->period[j] != period)
		j++;
	return j;
}

static void add_period(struct model *m, int period)
{
	int j = m->k;

	if (column(m, period) < m->k || m->k >= MAX_PERIODS)
		return;
	for (; j > 0 && m->period[j - 1] > period; j--)
		m->period[j] = m->period[j - 1];
	m->period[j] = period;
	m->k++;
}

/* False when one period holds everything, or there are too many. */
static bool find_periods(const struct fl_bisect *b, struct model *m)
{
	m->k = 0;
	add_period(m, b->period);
	for (int x = 0; x < b->n; x++)
		for (int i = 0; i < b->obs[x].ncells; i++)
			add_period(m, b->obs[x].cell[i].period);
	return m->k > 1 && m->k < MAX_PERIODS;
}

/* Row of one value, added to `to` with weight w. */
static void add_row(double *to, int j, double w)
{
	to[0] += w;
	if (j)
		to[j] += w;
}

/* What commit x adds to the normal equations; z and y become the sums of its
 * rows and values, weighted as its boots share one offset of the image. */
static void add_commit(const struct fl_bisect *b, struct model *m, int x,
		       double *z, double *y)
{
	const struct fl_obs *o = &b->obs[x];
	double kappa = b->noise.lambda / (1 + b->noise.lambda * o->boots);

	memset(z, 0, (size_t)m->k * sizeof(*z));
	*y = 0;
	for (int i = 0; i < o->ncells; i++) {
		const struct fl_cell *c = &o->cell[i];
		double value = c->mean - b->centre;
		int j = column(m, c->period);

		add_row(z, j, c->n);
		*y += c->n * value;
		m->a[0][0] += c->n;
		if (j) {
			m->a[j][0] += c->n;
			m->a[j][j] += c->n;
		}
		add_row(m->m, j, c->n * value);
		m->rest += c->n * value * value;
	}
	for (int i = 0; i < m->k; i++)
		for (int j = 0; j <= i; j++)
			m->a[i][j] -= kappa * z[i] * z[j];
	for (int i = 0; i < m->k; i++)
		m->m[i] -= kappa * z[i] * *y;
	m->rest -= kappa * *y * *y;
	for (int i = 0; i < m->k; i++)
		z[i] /= 1 + b->noise.lambda * o->boots;
	*y /= 1 + b->noise.lambda * o->boots;
}

/* The walk: precision of each step, which ties a period to the one before. */
static void add_walk(struct model *m)
{
	for (int j = 1; j < m->k; j++) {
		double gap = WALK * (m->period[j] - m->period[j - 1]);

		m->a[j][j] += 1 / gap;
		m->log_det += log(gap);
		if (j < 2)
			continue;
		m->a[j - 1][j - 1] += 1 / gap;
		m->a[j][j - 1] -= 1 / gap;
	}
}

static void factorise(struct model *m)
{
	for (int i = 0; i < m->k; i++) {
		for (int j = 0; j <= i; j++) {
			double s = m->a[i][j];

			for (int l = 0; l < j; l++)
				s -= m->a[i][l] * m->a[j][l];
			m->a[i][j] = i > j ? s / m->a[j][j] :
					     sqrt(fmax(s, 1e-12));
		}
		m->log_det += 2 * log(m->a[i][i]);
	}
}

/* L t = v, in place. */
static void forward(const struct model *m, double *v)
{
	for (int i = 0; i < m->k; i++) {
		for (int l = 0; l < i; l++)
			v[i] -= m->a[i][l] * v[l];
		v[i] /= m->a[i][i];
	}
}

static void backward(const struct model *m, double *v)
{
	for (int i = m->k - 1; i >= 0; i--) {
		for (int l = i + 1; l < m->k; l++)
			v[i] -= m->a[l][i] * v[l];
		v[i] /= m->a[i][i];
	}
}

static double dot(const double *a, const double *b, int k)
{
	double sum = 0;

	for (int i = 0; i < k; i++)
		sum += a[i] * b[i];
	return sum;
}

static void solve(const struct fl_bisect *b, struct model *m)
{
	add_walk(m);
	factorise(m);
	forward(m, m->m);
	m->rest = fmax(m->rest - dot(m->m, m->m, m->k), 0);
	backward(m, m->m);
	add_row(m->now, column(m, b->period), 1);
	forward(m, m->now);
	m->var_now = dot(m->now, m->now, m->k);
	backward(m, m->now);
}

/* u = Z'W bad, s = bad'W bad, y = bad'Wy: the hypothesis's own column. */
static void weigh(const struct fl_bisect *b, const struct model *m, int c,
		  const double *u, double s, double y, struct fl_drift *d)
{
	double dof = b->total - 2 + b->noise.nu0, t[MAX_PERIODS], ss, delta;
	double left, tie = dot(m->now, u, m->k);
	int j = column(m, b->period);

	memcpy(t, u, (size_t)m->k * sizeof(*t));
	forward(m, t);
	left = fmax(s - dot(t, t, m->k), 1e-12 * s);
	delta = (y - dot(m->m, u, m->k)) / left;
	ss = fmax(m->rest - delta * delta * left, 0) + b->cell_ss;
	ss += b->noise.nu0 * b->noise.s0sq;
	ss = fmax(ss, fmax(1e-12 * b->noise.s0sq, 1e-300));
	d->weight[c] = log(b->prior[c]) - 0.5 * (m->log_det + log(left)) -
		       dof / 2 * log(ss);
	d->var[c] = ss / dof;
	d->level_g[c] = m->m[0] + (j ? m->m[j] : 0) - tie * delta;
	d->level_b[c] = d->level_g[c] + delta;
	d->mass_g[c] = 1 / (m->var_now + tie * tie / left);
	d->mass_b[c] = 1 / (m->var_now + (1 - tie) * (1 - tie) / left);
}

/* Adds what x tells to every hypothesis under which it is bad. */
static void add_bad(const struct fl_bisect *b, int x, int k, const double *z,
		    double y, double *to)
{
	size_t width = (size_t)k + 2;
	double s = b->obs[x].boots / (1 + b->noise.lambda * b->obs[x].boots);

	for (int j = 0; j <= x / 64; j++) {
		uint64_t bits = fl_bisect_block(b, j)[x];

		for (; bits; bits &= bits - 1) {
			size_t c = (size_t)(64 * j + __builtin_ctzll(bits));
			double *v = to + c * width;

			for (int i = 0; i < k; i++)
				v[i] += z[i];
			v[k] += s;
			v[k + 1] += y;
		}
	}
}

/* Turns log weights into probabilities; returns the log of their sum. */
static double evidence(const struct fl_bisect *b, double *weight)
{
	double top = -HUGE_VAL, sum = 0;

	for (int c = 1; c < b->n; c++)
		if (b->prior[c] > 0)
			top = fmax(top, weight[c]);
	for (int c = 1; c < b->n; c++) {
		weight[c] = b->prior[c] > 0 ? exp(weight[c] - top) : 0;
		sum += weight[c];
	}
	for (int c = 1; c < b->n; c++)
		weight[c] /= sum;
	return sum > 0 ? top + log(sum) : top;
}

/* Expected offset of each period against the one that goes on, and what each
 * commit would have shown in that one. */
static void adjust(struct fl_bisect *b, const struct model *m,
		   const struct fl_drift *d, const double *sums)
{
	double v[MAX_PERIODS] = { 0 }, now;
	int j = column(m, b->period);

	for (int c = 1; c < b->n; c++) {
		double w = d->weight[c] * (d->level_b[c] - d->level_g[c]);

		for (int i = 0; i < m->k && w != 0; i++)
			v[i] += w *
				sums[(size_t)c * ((size_t)m->k + 2) + (size_t)i];
	}
	forward(m, v);
	backward(m, v);
	for (int i = 0; i < m->k; i++)
		v[i] = m->m[i] - v[i];
	v[0] = 0;
	now = v[j];
	for (int x = 0; x < b->n; x++) {
		struct fl_obs *o = &b->obs[x];

		o->adjusted = o->mean;
		for (int i = 0; i < o->ncells; i++)
			o->adjusted += (now - v[column(m, o->cell[i].period)]) *
				       o->cell[i].n / o->boots;
	}
}

bool fl_bisect_drift_weigh(struct fl_bisect *b, struct fl_drift *d)
{
	_cleanup_free_ struct model *m = fl_calloc(1, sizeof(*m));
	_cleanup_free_ double *sums = NULL;
	double z[MAX_PERIODS], y;
	size_t width;

	if (!find_periods(b, m))
		return false;
	width = (size_t)m->k + 2;
	sums = fl_calloc((size_t)b->n * width, sizeof(double));
	for (int x = 0; x < b->n; x++) {
		if (!b->obs[x].boots)
			continue;
		add_commit(b, m, x, z, &y);
		if (x)
			add_bad(b, x, m->k, z, y, sums);
	}
	solve(b, m);
	for (int c = 1; c < b->n; c++) {
		const double *v = sums + (size_t)c * width;

		if (b->prior[c] > 0)
			weigh(b, m, c, v, v[m->k], v[m->k + 1], d);
	}
	d->evidence = evidence(b, d->weight);
	adjust(b, m, d, sums);
	return true;
}

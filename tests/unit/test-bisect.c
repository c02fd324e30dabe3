// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bisect/: the posterior against integration by brute force and against
 * prefix sums, its invariances, classes, the gate, and hostile input. Whole
 * searches are in test-bisect-search.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include "../../bisect/bisect-internal.h"
#include "../../daemon/util/err.h"
#include "random.h"

static void assert_near(double a, double b, double tol)
{
	if (!(fabs(a - b) <= tol))
		fail_msg("%.12g is not %.12g within %g", a, b, tol);
}

#define MAXN 64

/* A range small enough to write down. */
struct range {
	int n;
	struct fl_bisect_commit commits[MAXN];
	int parents[MAXN][3];
};

static void range_line(struct range *r, int n)
{
	memset(r, 0, sizeof(*r));
	r->n = n;
	for (int i = 0; i < n; i++) {
		r->parents[i][0] = i - 1;
		r->commits[i].parents = r->parents[i];
		r->commits[i].nparents = i > 0;
		r->commits[i].prior = 1;
	}
}

/* 0-1-3-5-6-8, with 1-2-4-6 merged and 7, forked before 0, merged into 8. */
static void range_merges(struct range *r)
{
	static const int parents[9][3] = {
		{ -1 },	   { 0, -1 },	 { 1, -1 }, { 1, -1 },	 { 2, -1 },
		{ 3, -1 }, { 5, 4, -1 }, { -1 },    { 6, 7, -1 }
	};

	memset(r, 0, sizeof(*r));
	r->n = 9;
	for (int i = 0; i < r->n; i++) {
		memcpy(r->parents[i], parents[i], sizeof(parents[i]));
		while (r->parents[i][r->commits[i].nparents] >= 0)
			r->commits[i].nparents++;
		r->commits[i].parents = r->parents[i];
		r->commits[i].prior = 1 + 0.25 * i;
	}
}

static bool is_ancestor(const struct range *r, int a, int x)
{
	if (a == x)
		return true;
	for (int k = 0; k < r->commits[x].nparents; k++)
		if (is_ancestor(r, a, r->parents[x][k]))
			return true;
	return false;
}

static const struct fl_bisect_noise noise = { 1, 2, 0.2 };

static struct fl_bisect_params params(void)
{
	return (struct fl_bisect_params){ .confidence = 0.95,
					  .gate_min_boots = 1,
					  .gate_max_boots = 20 };
}

static struct fl_bisect *engine(const struct range *r,
				const struct fl_bisect_noise *m)
{
	struct fl_bisect_params p = params();
	struct fl_bisect *b = fl_bisect_new(r->commits, r->n, m, &p);

	assert_non_null(b);
	return b;
}

/* Values of a few boots of every commit. */
struct table {
	int boots[MAXN];
	double y[MAXN][4];
};

static void fill(struct table *t, const struct range *r, int culprit, double d)
{
	memset(t, 0, sizeof(*t));
	for (int i = 0; i < r->n; i++) {
		t->boots[i] = (int)(uniform() * 4);
		if (!i || i == r->n - 1)
			t->boots[i] = 2;
		for (int k = 0; k < t->boots[i]; k++)
			t->y[i][k] =
				gauss() + (is_ancestor(r, culprit, i) ? d : 0);
	}
}

static void feed(struct fl_bisect *b, const struct table *t, int n,
		 double scale, double shift)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < t->boots[i]; k++)
			assert_int_equal(
				fl_bisect_add(b, i, t->y[i][k] * scale + shift),
				0);
	fl_bisect_update(b);
}

/* Density of the boots of x at level mu and variance v; the boots share an
 * offset of variance lambda * v. */
static double log_density(const struct table *t, int x, double mu, double v,
			  double lambda)
{
	double n = t->boots[x], sum = 0, squares = 0;

	for (int k = 0; k < t->boots[x]; k++) {
		sum += t->y[x][k] - mu;
		squares += (t->y[x][k] - mu) * (t->y[x][k] - mu);
	}
	return -0.5 * (n * log(v) + log(1 + lambda * n) +
		       (squares - lambda * sum * sum / (1 + lambda * n)) / v);
}

/* Integral over one level of the density of all commits on a side. */
static double side_integral(const struct range *r, const struct table *t, int c,
			    bool bad, double v, double lambda)
{
	double sum = 0, step = 0.08 * sqrt(v), span = 14 * sqrt(v) + 8;
	int steps = (int)ceil(span / step);

	for (int i = -steps; i <= steps; i++) {
		double log_l = 0, mu = i * step;

		for (int x = 0; x < r->n; x++)
			if (is_ancestor(r, c, x) == bad)
				log_l += log_density(t, x, mu, v, lambda);
		sum += exp(log_l) * step;
	}
	return sum;
}

static void brute_posterior(const struct range *r, const struct table *t,
			    const struct fl_bisect_noise *m, double *post)
{
	double total = 0;

	for (int c = 1; c < r->n; c++) {
		post[c] = 0;
		for (int i = -50; i <= 70; i++) {
			double u = 0.1 * i, v = exp(u), prior;

			/* scaled inverse chi-square in v, times dv/du */
			prior = exp(-m->nu0 / 2 * u -
				    m->nu0 * m->s0sq / (2 * v));
			post[c] += prior *
				   side_integral(r, t, c, false, v, m->lambda) *
				   side_integral(r, t, c, true, v, m->lambda);
		}
		post[c] *= r->commits[c].prior;
		total += post[c];
	}
	for (int c = 1; c < r->n; c++)
		post[c] /= total;
}

static void agrees_with_integration(void **state)
{
	static const struct fl_bisect_noise models[] = { { 1, 3, 0 },
							 { 0.5, 1, 0.3 },
							 { 2, 6, 0.05 } };
	struct range r;
	struct table t;

	(void)state;
	for (size_t k = 0; k < FL_ARRAY_SIZE(models); k++) {
		struct fl_bisect *b;
		double post[MAXN] = { 0 };

		if (k == 1)
			range_line(&r, 6);
		else
			range_merges(&r);
		rng = 100 + k;
		fill(&t, &r, 2, 1.5);
		b = engine(&r, &models[k]);
		feed(b, &t, r.n, 1, 0);
		brute_posterior(&r, &t, &models[k], post);
		for (int c = 1; c < r.n; c++)
			assert_near(fl_bisect_posterior(b)[c], post[c], 1e-4);
		fl_bisect_free(b);
	}
}

/* The formula on a line, written with running sums. */
static void line_posterior(const struct table *t, int n,
			   const struct fl_bisect_noise *m, double *post)
{
	double w[MAXN], mean[MAXN], within = 0, boots = 0, top = -HUGE_VAL;
	double total = 0, og = 0, mg = 0, ob = 0, mb = 0, q = 0;

	for (int i = 0; i < n; i++) {
		mean[i] = 0;
		for (int k = 0; k < t->boots[i]; k++)
			mean[i] += t->y[i][k] / t->boots[i];
		for (int k = 0; k < t->boots[i]; k++)
			within += pow(t->y[i][k] - mean[i], 2);
		w[i] = t->boots[i] / (1 + m->lambda * t->boots[i]);
		boots += t->boots[i];
		ob += w[i];
		mb += w[i] * mean[i];
		q += w[i] * mean[i] * mean[i];
	}
	for (int c = 1; c < n; c++) {
		double ss;

		og += w[c - 1];
		mg += w[c - 1] * mean[c - 1];
		ob -= w[c - 1];
		mb -= w[c - 1] * mean[c - 1];
		ss = within + q - mg * mg / og - mb * mb / ob;
		post[c] = -0.5 * log(og * ob) -
			  (boots - 2 + m->nu0) / 2 * log(ss + m->nu0 * m->s0sq);
		top = fmax(top, post[c]);
	}
	for (int c = 1; c < n; c++)
		total += post[c] = exp(post[c] - top);
	for (int c = 1; c < n; c++)
		post[c] /= total;
}

static void agrees_with_prefix_sums(void **state)
{
	struct range r;
	struct table t;

	(void)state;
	range_line(&r, MAXN);
	for (int round = 0; round < 20; round++) {
		struct fl_bisect *b = engine(&r, &noise);
		double post[MAXN] = { 0 };

		fill(&t, &r, 1 + round * 3, 0.2 * round);
		feed(b, &t, r.n, 1, 0);
		line_posterior(&t, r.n, &noise, post);
		for (int c = 1; c < r.n; c++)
			assert_near(fl_bisect_posterior(b)[c], post[c], 1e-9);
		fl_bisect_free(b);
	}
}

static void invariant_under_shift_and_scale(void **state)
{
	static const double scale[] = { 1, 1, 1e-6, 1e6, -3 };
	static const double shift[] = { 0, 1000, 0, -1e6, 50 };
	struct range r;
	struct table t;
	double want[MAXN] = { 0 };
	int first = -1;

	(void)state;
	range_merges(&r);
	rng = 4;
	fill(&t, &r, 3, 2);
	for (size_t k = 0; k < FL_ARRAY_SIZE(scale); k++) {
		struct fl_bisect_noise m = noise;
		struct fl_bisect *b;
		int next;

		m.s0sq *= scale[k] * scale[k];
		b = engine(&r, &m);
		feed(b, &t, r.n, scale[k], shift[k]);
		assert_int_equal(fl_bisect_next(b, 1, &next), 1);
		if (!k) {
			memcpy(want, fl_bisect_posterior(b),
			       sizeof(double) * (size_t)r.n);
			first = next;
		}
		assert_int_equal(next, first);
		for (int c = 1; c < r.n; c++)
			assert_near(fl_bisect_posterior(b)[c], want[c], 1e-7);
		fl_bisect_free(b);
	}
}

static void invariant_under_relabelling(void **state)
{
	/* The same graph in another topological order: new[old]. */
	static const int new[] = { 1, 2, 5, 3, 6, 4, 7, 0, 8 };
	struct range r, s;
	struct table t, u = { 0 };
	struct fl_bisect *a, *b;

	(void)state;
	range_merges(&r);
	/* Commit 7 has no parents: 0 must stay the good end. */
	s = r;
	for (int i = 0; i < r.n; i++) {
		int to = new[i] == 0 ? 1 : new[i] == 1 ? 0 : new[i];

		s.commits[to] = r.commits[i];
		s.commits[to].parents = s.parents[to];
		for (int k = 0; k < r.commits[i].nparents; k++) {
			int p = new[r.parents[i][k]];

			s.parents[to][k] = p == 0 ? 1 : p == 1 ? 0 : p;
		}
	}
	fill(&t, &r, 4, 1.5);
	for (int i = 0; i < r.n; i++) {
		int to = new[i] == 0 ? 1 : new[i] == 1 ? 0 : new[i];

		u.boots[to] = t.boots[i];
		memcpy(u.y[to], t.y[i], sizeof(t.y[i]));
	}
	a = engine(&r, &noise);
	b = engine(&s, &noise);
	feed(a, &t, r.n, 1, 0);
	feed(b, &u, r.n, 1, 0);
	for (int c = 1; c < r.n; c++) {
		int to = new[c] == 0 ? 1 : new[c];

		assert_near(fl_bisect_posterior(a)[c],
			    fl_bisect_posterior(b)[to], 1e-12);
		assert_near(fl_bisect_p_bad(a, c), fl_bisect_p_bad(b, to),
			    1e-12);
	}
	fl_bisect_free(a);
	fl_bisect_free(b);
}

/* Fine Riemann sum of H(side) - H(side | y). */
static double slow_information(double q, double d, double v0, double v1)
{
	double step = 1e-3 * sqrt(fmin(v0, v1)), sum = 0;
	double lo = fmin(-9 * sqrt(v0), d - 9 * sqrt(v1));
	double hi = fmax(9 * sqrt(v0), d + 9 * sqrt(v1));

	for (int i = 0; i < (int)((hi - lo) / step); i++) {
		double y = lo + i * step,
		       g = exp(-y * y / 2 / v0) / sqrt(2 * M_PI * v0);
		double b =
			exp(-(y - d) * (y - d) / 2 / v1) / sqrt(2 * M_PI * v1);
		double m = q * b + (1 - q) * g;

		if (g > 0)
			sum += step * (1 - q) * g * log(g / m);
		if (b > 0)
			sum += step * q * b * log(b / m);
	}
	return sum;
}

static void information_of_a_boot(void **state)
{
	static const double q[] = { 0.5, 0.02, 0.7, 0.999 };
	static const double d[] = { 0.1, 1, -2, 5, 20 };

	(void)state;
	for (size_t i = 0; i < FL_ARRAY_SIZE(q); i++)
		for (size_t k = 0; k < FL_ARRAY_SIZE(d); k++) {
			assert_near(fl_bisect_information(q[i], d[k], 1, 1),
				    slow_information(q[i], d[k], 1, 1), 5e-4);
			assert_near(fl_bisect_information(q[i], d[k], 1, 2),
				    slow_information(q[i], d[k], 1, 2), 5e-4);
		}
	/* Bits a run, as known for equal sides at d = 1, 2, 3, 5. */
	assert_near(fl_bisect_information(0.5, 1, 1, 1) / M_LN2, 0.161, 1e-3);
	assert_near(fl_bisect_information(0.5, 2, 1, 1) / M_LN2, 0.486, 1e-3);
	assert_near(fl_bisect_information(0.5, 3, 1, 1) / M_LN2, 0.760, 2e-3);
	assert_near(fl_bisect_information(0.5, 5, 1, 1) / M_LN2, 0.975, 2e-3);
	/* Far apart a boot tells the side and no more: 14 % of a bit. */
	assert_near(fl_bisect_information(0.02, 100, 1, 1) / M_LN2, 0.1414,
		    1e-3);
	assert_near(fl_bisect_information(0.5, 1e9, 1, 1), M_LN2, 1e-9);
	assert_near(fl_bisect_information(0, 3, 1, 1), 0, 0);
}

static void sums_agree_with_the_graph(void **state)
{
	static double w[MAXN * FL_LANES], out[MAXN * FL_LANES];
	struct range r;
	struct fl_bisect *b;

	(void)state;
	range_merges(&r);
	b = engine(&r, &noise);
	for (int c = 1; c < r.n; c++)
		for (int l = 0; l < FL_LANES; l++)
			w[c * FL_LANES + l] = gauss();
	fl_bisect_graph_sums(b, w, out);
	for (int x = 0; x < r.n; x++)
		for (int l = 0; l < FL_LANES; l++) {
			double sum = 0;

			for (int c = 1; c < r.n; c++)
				if (is_ancestor(&r, c, x))
					sum += w[c * FL_LANES + l];
			assert_near(out[x * FL_LANES + l], sum, 1e-12);
		}
	fl_bisect_free(b);
}

static void refuses_malformed_graphs(void **state)
{
	struct fl_bisect_params p = params();
	struct fl_bisect_noise m = noise;
	struct range r;

	(void)state;
	range_line(&r, 5);
	assert_null(fl_bisect_new(r.commits, 1, &m, &p));
	r.parents[2][0] = 2;
	assert_null(fl_bisect_new(r.commits, 5, &m, &p));
	r.parents[2][0] = -1;
	assert_null(fl_bisect_new(r.commits, 5, &m, &p));
	range_line(&r, 5);
	r.commits[3].prior = -1;
	assert_null(fl_bisect_new(r.commits, 5, &m, &p));
	r.commits[3].prior = NAN;
	assert_null(fl_bisect_new(r.commits, 5, &m, &p));
	for (int i = 1; i < 5; i++)
		r.commits[i].prior = 0;
	assert_null(fl_bisect_new(r.commits, 5, &m, &p));
	/* Commit 2 leads nowhere. */
	range_line(&r, 5);
	r.parents[3][0] = 1;
	assert_null(fl_bisect_new(r.commits, 5, &m, &p));
	range_line(&r, 5);
	m.s0sq = 0;
	assert_null(fl_bisect_new(r.commits, 5, &m, &p));
	fl_bisect_free(NULL);
}

static void assert_sane(struct fl_bisect *b, int n)
{
	const double *post = fl_bisect_posterior(b);
	struct fl_bisect_levels l;
	double sum = 0;
	int next[4], k = fl_bisect_next(b, 4, next);

	for (int c = 0; c < n; c++) {
		assert_true(isfinite(post[c]) && post[c] >= 0);
		sum += post[c];
	}
	assert_near(sum, 1, 1e-9);
	fl_bisect_get_levels(b, &l);
	assert_true(isfinite(l.good) && isfinite(l.bad));
	assert_true(isfinite(l.sigma) && !isnan(l.t));
	for (int i = 0; i < k; i++)
		assert_in_range(next[i], 0, n - 1);
}

/* Identical replays, huge levels, tiny and huge noise: never NaN. */
static void never_nan(void **state)
{
	static const double level[] = { 0, 5e-324, 1e-300, 8.13, 745, 1e99 };
	static const double s0[] = { 1e-300, 4e-10, 1, 1e200 };
	struct range r;

	(void)state;
	range_line(&r, 20);
	for (size_t i = 0; i < FL_ARRAY_SIZE(level) * 8; i++) {
		struct fl_bisect_noise m = { s0[i / 2 % 4], i % 2 ? 0.5 : 4,
					     i % 3 ? 0 : 0.1 };
		double bad = level[i / 8], good = i % 5 ? -bad : 0;
		struct fl_bisect *b = engine(&r, &m);

		fl_bisect_add(b, 0, good);
		fl_bisect_add(b, 19, bad);
		for (int k = 0; k < 12; k++) {
			int next = 10;

			fl_bisect_update(b);
			assert_sane(b, 20);
			if (!fl_bisect_next(b, 1, &next))
				next = k;
			fl_bisect_add(b, next, next >= 7 ? bad : good);
		}
		fl_bisect_free(b);
	}
}

static void refuses_values(void **state)
{
	struct range r;
	struct fl_bisect *b;

	(void)state;
	range_line(&r, 4);
	b = engine(&r, &noise);
	assert_int_equal(fl_bisect_add(b, 1, NAN), -1);
	assert_int_equal(fl_bisect_add(b, 1, HUGE_VAL), -1);
	assert_int_equal(fl_bisect_add(b, 1, -HUGE_VAL), -1);
	assert_int_equal(fl_bisect_add(b, 4, 1), -1);
	assert_int_equal(fl_bisect_add(b, -1, 1), -1);
	assert_int_equal(fl_bisect_boots(b, -1), 0);
	assert_int_equal(fl_bisect_add(b, 1, 1), 0);
	assert_int_equal(fl_bisect_boots(b, 1), 1);
	assert_int_equal(fl_bisect_boots(b, 9), 0);
	fl_bisect_free(b);
}

static void classes_follow_the_graph(void **state)
{
	struct range r;
	struct fl_bisect *b;

	(void)state;
	range_merges(&r);
	b = engine(&r, &noise);
	assert_int_equal(b->nclasses, 8);
	/* 3 leads to 5 only: a test of 5 says the same of both. */
	fl_bisect_skip(b, 3);
	fl_bisect_update(b);
	assert_int_equal(b->class_of[3], b->class_of[5]);
	assert_int_equal(b->nclasses, 7);
	/* 2 and 4 are reached through 6 alone, and so are 3 and 5. */
	fl_bisect_skip(b, 2);
	fl_bisect_skip(b, 4);
	fl_bisect_skip(b, 5);
	fl_bisect_update(b);
	assert_int_equal(b->class_of[2], b->class_of[6]);
	assert_int_equal(b->class_of[4], b->class_of[3]);
	assert_int_not_equal(b->class_of[1], b->class_of[6]);
	/* Without 6 all of them are seen in 8; 1 is still its own. */
	fl_bisect_skip(b, 6);
	fl_bisect_update(b);
	assert_int_equal(b->class_of[2], b->class_of[8]);
	assert_int_not_equal(b->class_of[7], b->class_of[8]);
	/* 1 is seen in the same commits as the side branch 7 once 7 fails. */
	fl_bisect_skip(b, 7);
	fl_bisect_skip(b, 1);
	fl_bisect_update(b);
	assert_int_equal(b->nclasses, 1);
	fl_bisect_free(b);
	/* Two frontiers of several members, equal and not. */
	b = engine(&r, &noise);
	fl_bisect_skip(b, 1);
	fl_bisect_update(b);
	assert_int_equal(b->nclasses, 8);
	/* A commit that did boot before it was given up still separates. */
	fl_bisect_add(b, 3, 1);
	fl_bisect_skip(b, 3);
	fl_bisect_update(b);
	assert_int_equal(b->nclasses, 8);
	fl_bisect_free(b);
}

static void gate_wall(void **state)
{
	struct fl_bisect_params p = { .confidence = 0.95,
				      .min_effect = 0.01,
				      .gate_min_boots = 5,
				      .gate_max_boots = 8,
				      .gate_t = 4 };
	struct fl_bisect_noise m = { 1e-4, 1, 0 };
	struct range r;
	struct fl_bisect *b;
	int next[16];
	double mass;

	(void)state;
	range_line(&r, 10);
	b = fl_bisect_new(r.commits, 10, &m, &p);
	assert_int_equal(fl_bisect_update(b), FL_BISECT_GATE);
	assert_int_equal(fl_bisect_next(b, 16, next), 10);
	assert_int_equal(next[0], 0);
	assert_int_equal(next[1], 9);
	assert_int_equal(next[2], 9);
	assert_int_equal(next[3], 0);
	/* Two under way leave eight. */
	fl_bisect_pending(b, 0, 1);
	fl_bisect_pending(b, 9, 1);
	assert_int_equal(fl_bisect_next(b, 16, next), 8);
	fl_bisect_pending(b, 0, 0);
	fl_bisect_pending(b, 9, 0);
	rng = 9;
	for (int i = 0; i < 8; i++) {
		fl_bisect_add(b, 0, 0.01 * gauss());
		fl_bisect_add(b, 9, 0.01 * gauss());
		assert_int_equal(fl_bisect_update(b),
				 i < 7 ? FL_BISECT_GATE :
					 FL_BISECT_DOES_NOT_REPRODUCE);
	}
	assert_int_equal(fl_bisect_next(b, 4, next), 0);
	assert_int_equal(fl_bisect_answer(b, 16, next, &mass), 0);
	fl_bisect_free(b);
	b = fl_bisect_new(r.commits, 10, &m, &p);
	for (int i = 0; i < 5; i++) {
		fl_bisect_add(b, 0, 0.01 * gauss());
		fl_bisect_add(b, 9, 0.1 + 0.01 * gauss());
	}
	assert_int_equal(fl_bisect_update(b), FL_BISECT_SEARCH);
	/* Later boots that take the difference away close it again. */
	for (int i = 0; i < 3; i++)
		fl_bisect_add(b, 9, -0.16 + 0.01 * gauss());
	assert_int_not_equal(fl_bisect_update(b), FL_BISECT_SEARCH);
	fl_bisect_free(b);
}

/* Two slow boots must not hide a shift of eight deviations of the others. */
static void gate_outliers(void **state)
{
	struct fl_bisect_params p = { .confidence = 0.95,
				      .gate_min_boots = 5,
				      .gate_max_boots = 20,
				      .gate_t = 4 };
	struct fl_bisect_noise m = { 1e-4, 1, 0 };
	struct fl_bisect_levels l;
	struct fl_bisect *b;
	struct range r;

	(void)state;
	range_line(&r, 10);
	rng = 31;
	for (int shift = 0; shift < 2; shift++) {
		b = fl_bisect_new(r.commits, 10, &m, &p);
		for (int i = 0; i < 10; i++) {
			fl_bisect_add(b, 0, i == 1 ? 1.5 : 0.01 * gauss());
			fl_bisect_add(b, 9,
				      i == 3 ? 1.2 :
					       0.08 * shift + 0.01 * gauss());
		}
		assert_int_equal(fl_bisect_update(b),
				 shift ? FL_BISECT_SEARCH : FL_BISECT_GATE);
		fl_bisect_get_levels(b, &l);
		assert_true(fabs(l.t) < 1);
		fl_bisect_free(b);
	}
}

static void gate_exact(void **state)
{
	struct fl_bisect_params p = { .exact = true,
				      .confidence = 0.95,
				      .min_effect = 0.0005,
				      .gate_min_boots = 2,
				      .gate_max_boots = 2 };
	struct fl_bisect_noise m = { 4e-10, 4, 0 };
	struct range r;
	struct fl_bisect *b;
	int next[4];

	(void)state;
	range_line(&r, 10);
	for (int k = 0; k < 2; k++) {
		b = fl_bisect_new(r.commits, 10, &m, &p);
		assert_int_equal(fl_bisect_next(b, 9, next), 4);
		/* Bit-identical replays are no reason to divide by zero. */
		for (int i = 0; i < 2; i++) {
			fl_bisect_add(b, 0, 8.1);
			fl_bisect_add(b, 9, k ? 8.1 : 8.101);
		}
		assert_int_equal(fl_bisect_update(b),
				 k ? FL_BISECT_DOES_NOT_REPRODUCE :
				     FL_BISECT_SEARCH);
		fl_bisect_free(b);
	}
	/* An end that cannot boot: nothing is known, nothing is claimed. */
	b = fl_bisect_new(r.commits, 10, &m, &p);
	fl_bisect_add(b, 0, 8.1);
	fl_bisect_skip(b, 9);
	assert_int_equal(fl_bisect_update(b), FL_BISECT_SHORTLIST);
	assert_int_equal(fl_bisect_next(b, 4, next), 0);
	fl_bisect_free(b);
}

static void states_have_names(void **state)
{
	(void)state;
	for (int s = FL_BISECT_GATE; s <= FL_BISECT_DOES_NOT_REPRODUCE; s++)
		assert_true(strlen(fl_bisect_state_str(
				    (enum fl_bisect_state)s)) > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_integration),
		cmocka_unit_test(agrees_with_prefix_sums),
		cmocka_unit_test(invariant_under_shift_and_scale),
		cmocka_unit_test(invariant_under_relabelling),
		cmocka_unit_test(information_of_a_boot),
		cmocka_unit_test(sums_agree_with_the_graph),
		cmocka_unit_test(refuses_malformed_graphs),
		cmocka_unit_test(never_nan),
		cmocka_unit_test(refuses_values),
		cmocka_unit_test(classes_follow_the_graph),
		cmocka_unit_test(gate_wall),
		cmocka_unit_test(gate_outliers),
		cmocka_unit_test(gate_exact),
		cmocka_unit_test(states_have_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

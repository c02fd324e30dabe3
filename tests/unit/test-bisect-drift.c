// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bisect/: a host that drifts. The posterior against the same model written
 * as one dense covariance, what is noticed and what is not, and when the end
 * points are asked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "../../bisect/bisect-internal.h"
#include "../../daemon/util/err.h"
#include "random.h"

#define N 7
#define BOOTS 24

static void assert_near(double a, double b, double tol)
{
	if (!(fabs(a - b) <= tol))
		fail_msg("%.12g is not %.12g within %g", a, b, tol);
}

/* 0-1-2-4-6 with 3, forked from 1, and 5 merged into 6. */
static const int parents[N][2] = { { 0 },    { 0 },    { 1 },	{ 1 },
				   { 2, 3 }, { 3, 0 }, { 4, 5 } };
static const int nparents[N] = { 0, 1, 1, 1, 2, 1, 2 };
static const struct fl_bisect_noise noise = { 1.5, 3, 0.2 };

static struct fl_bisect *engine(double gate_t)
{
	struct fl_bisect_commit c[N];
	struct fl_bisect_params p = { .confidence = 0.95,
				      .gate_min_boots = 2,
				      .gate_max_boots = 20,
				      .gate_t = gate_t };
	struct fl_bisect *b;

	for (int i = 0; i < N; i++)
		c[i] = (struct fl_bisect_commit){ parents[i], nparents[i],
						  1 + i % 3 };
	b = fl_bisect_new(c, N, &noise, &p);
	assert_non_null(b);
	return b;
}

static bool contains(int x, int c)
{
	if (x == c)
		return true;
	for (int k = 0; k < nparents[x]; k++)
		if (contains(parents[x][k], c))
			return true;
	return false;
}

struct boot {
	int commit, period;
	double y;
};

/* Lower Cholesky factor in place; returns the log determinant. */
static double factor(double *a, int n)
{
	double log_det = 0;

	for (int i = 0; i < n; i++)
		for (int j = 0; j <= i; j++) {
			double s = a[i * n + j];

			for (int k = 0; k < j; k++)
				s -= a[i * n + k] * a[j * n + k];
			a[i * n + j] = i == j ? sqrt(s) : s / a[j * n + j];
			log_det += i == j ? log(s) : 0;
		}
	return log_det;
}

static void whiten(const double *a, int n, double *v)
{
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < i; k++)
			v[i] -= a[i * n + k] * v[k];
		v[i] /= a[i * n + i];
	}
}

/*
 * log p(data | c): generalised least squares with covariance 1 + lambda for
 * boots of the same commit + walk times the earlier period for each pair.
 */
static double dense(const struct boot *t, int c, double walk)
{
	double v[BOOTS * BOOTS], one[BOOTS], bad[BOOTS], y[BOOTS], log_det;
	double oo = 0, ob = 0, bb = 0, oy = 0, by = 0, yy = 0, det, m, d, ss;

	for (int i = 0; i < BOOTS; i++) {
		for (int j = 0; j < BOOTS; j++)
			v[i * BOOTS + j] =
				(i == j) +
				noise.lambda * (t[i].commit == t[j].commit) +
				walk * fmin(t[i].period, t[j].period);
		one[i] = 1;
		bad[i] = contains(t[i].commit, c);
		y[i] = t[i].y;
	}
	log_det = factor(v, BOOTS);
	whiten(v, BOOTS, one);
	whiten(v, BOOTS, bad);
	whiten(v, BOOTS, y);
	for (int i = 0; i < BOOTS; i++) {
		oo += one[i] * one[i];
		ob += one[i] * bad[i];
		bb += bad[i] * bad[i];
		oy += one[i] * y[i];
		by += bad[i] * y[i];
		yy += y[i] * y[i];
	}
	det = oo * bb - ob * ob;
	m = (bb * oy - ob * by) / det;
	d = (oo * by - ob * oy) / det;
	ss = yy - m * oy - d * by + noise.nu0 * noise.s0sq;
	return -0.5 * (log_det + log(det)) -
	       (BOOTS - 2 + noise.nu0) / 2 * log(ss);
}

static void fill(struct boot *t, double d, double drift)
{
	for (int i = 0; i < BOOTS; i++) {
		t[i].commit = i < 4 ? (i % 2) * (N - 1) : below(N);
		t[i].period = i < 8 ? 0 : i / 6;
		t[i].y = gauss() + drift * t[i].period +
			 (contains(t[i].commit, 4) ? d : 0);
	}
}

static void agrees_with_dense_covariance(void **state)
{
	(void)state;
	rng = 3;
	for (int round = 0; round < 30; round++) {
		struct fl_bisect *b = engine(0);
		double lp[2][N] = { { 0 } }, sum[2] = { 0, 0 }, prior[N], all;
		double shift = round % 3 ? 0 : 1000;
		struct boot t[BOOTS];
		double w;

		fill(t, round % 4, 0.3 * (round % 5));
		for (int i = 0; i < BOOTS; i++) {
			fl_bisect_period(b, t[i].period);
			assert_int_equal(fl_bisect_add(b, t[i].commit,
						       t[i].y + shift),
					 0);
		}
		fl_bisect_update(b);
		all = 0;
		for (int c = 1; c < N; c++)
			all += prior[c] = 1 + c % 3;
		for (int k = 0; k < 2; k++)
			for (int c = 1; c < N; c++) {
				lp[k][c] = prior[c] / all *
					   exp(dense(t, c, k) + 20);
				sum[k] += lp[k][c];
			}
		w = 0.05 * sum[1] / (0.05 * sum[1] + 0.95 * sum[0]);
		assert_near(b->drift, w, 1e-7);
		for (int c = 1; c < N; c++)
			assert_near(fl_bisect_posterior(b)[c],
				    w * lp[1][c] / sum[1] +
					    (1 - w) * lp[0][c] / sum[0],
				    1e-7);
		fl_bisect_free(b);
	}
}

/* Four boots of either end and one of commit 3 a period. */
static double drift_seen(double per_period)
{
	struct fl_bisect *b = engine(0);
	struct fl_bisect_levels l;

	for (int p = 0; p < 5; p++) {
		fl_bisect_period(b, p);
		for (int i = 0; i < 9; i++) {
			int x = i == 8 ? 3 : (i % 2) * (N - 1);

			fl_bisect_add(b, x,
				      gauss() + per_period * p +
					      (contains(x, 4) ? 4 : 0));
		}
	}
	fl_bisect_update(b);
	fl_bisect_get_levels(b, &l);
	/* The levels of the last period. */
	if (l.drift > 0.5) {
		assert_near(l.good, 4 * per_period, 1.5);
		assert_near(l.bad, 4 + 4 * per_period, 1.5);
	}
	assert_false(l.third_level);
	fl_bisect_free(b);
	return l.drift;
}

static void drift_is_noticed(void **state)
{
	int steady = 0, drifting = 0;

	(void)state;
	rng = 8;
	for (int i = 0; i < 40; i++) {
		steady += drift_seen(0) > 0.5;
		drifting += drift_seen(1.5) > 0.5;
	}
	assert_in_range(steady, 0, 2);
	assert_in_range(drifting, 38, 40);
}

static void ends_begin_a_period(void **state)
{
	struct fl_bisect *b = engine(4);
	int next[3];

	(void)state;
	rng = 2;
	for (int i = 0; i < 4; i++) {
		fl_bisect_add(b, 0, 0.2 * gauss());
		fl_bisect_add(b, N - 1, 4 + 0.2 * gauss());
	}
	for (int i = 0; i < 24; i++)
		fl_bisect_add(b, 2 + i % 2, 2 + 0.1 * gauss());
	assert_int_equal(fl_bisect_update(b), FL_BISECT_SEARCH);
	fl_bisect_next(b, 1, next);
	assert_true(next[0] > 0 && next[0] < N - 1);
	/* One end, then the other, while nothing points to a drift. */
	fl_bisect_period(b, 1);
	fl_bisect_update(b);
	assert_int_equal(fl_bisect_next(b, 3, next), 1);
	assert_int_equal(next[0], 0);
	/* What is under way need not be asked for again. */
	fl_bisect_pending(b, 0, 1);
	assert_int_equal(fl_bisect_next(b, 1, next), 1);
	assert_true(next[0] > 0 && next[0] < N - 1);
	fl_bisect_pending(b, 0, 0);
	fl_bisect_add(b, 0, 0.1);
	assert_int_equal(fl_bisect_update(b), FL_BISECT_SEARCH);
	if (b->drift >= 0.07)
		fail_msg("drift %g", b->drift);
	for (int i = 0; i < 24; i++)
		fl_bisect_add(b, 2 + i % 2, 2 + 0.1 * gauss());
	fl_bisect_period(b, 2);
	fl_bisect_update(b);
	assert_int_equal(fl_bisect_next(b, 3, next), 1);
	assert_int_equal(next[0], N - 1);
	/* All have gone up: both, from now on. */
	fl_bisect_add(b, N - 1, 8);
	for (int i = 0; i < 24; i++)
		fl_bisect_add(b, 2 + i % 2, 6 + 0.1 * gauss());
	fl_bisect_period(b, 3);
	fl_bisect_update(b);
	assert_true(b->drift > 0.1);
	assert_int_equal(fl_bisect_next(b, 3, next), 2);
	assert_int_equal(next[0], 0);
	assert_int_equal(next[1], N - 1);
	fl_bisect_free(b);
}

/* Known to drift: old values of one end against new ones of the other say
 * nothing, those of one period do. */
static void gate_by_period(void **state)
{
	struct fl_bisect *b = engine(4);
	int next[4];

	(void)state;
	rng = 5;
	b->params.by_period = true;
	for (int i = 0; i < 6; i++)
		fl_bisect_add(b, 0, 0.1 * gauss());
	fl_bisect_period(b, 2);
	for (int i = 0; i < 6; i++)
		fl_bisect_add(b, N - 1, 5 + 0.1 * gauss());
	assert_int_equal(fl_bisect_update(b), FL_BISECT_GATE);
	/* Two are the least. */
	assert_int_equal(fl_bisect_next(b, 4, next), 2);
	assert_true(next[0] == 0 && next[1] == 0);
	for (int i = 0; i < 4; i++)
		fl_bisect_add(b, 0, 5 + 0.1 * gauss());
	assert_int_equal(fl_bisect_update(b), FL_BISECT_GATE);
	fl_bisect_free(b);
	b = engine(4);
	b->params.by_period = true;
	fl_bisect_add(b, 0, 0);
	fl_bisect_period(b, 1);
	for (int i = 0; i < 6; i++) {
		fl_bisect_add(b, 0, 20 + gauss());
		fl_bisect_add(b, N - 1, 26 + gauss());
	}
	assert_int_equal(fl_bisect_update(b), FL_BISECT_SEARCH);
	fl_bisect_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_dense_covariance),
		cmocka_unit_test(drift_is_noticed),
		cmocka_unit_test(ends_begin_a_period),
		cmocka_unit_test(gate_by_period),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

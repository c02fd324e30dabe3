// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * daemon/stats: location and spread, the permutation test against brute
 * force, the moderated t against tabled values, verdicts, false alarm rates.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include "../../daemon/util/cleanup.h"
#include "../../daemon/stats/stats.h"
#include "random.h"

static void assert_near(double a, double b, double tol)
{
	if (!(fabs(a - b) <= tol))
		fail_msg("%.12g is not %.12g within %g", a, b, tol);
}

static void location_and_spread(void **state)
{
	double v[] = { 3, 1, 4, 1, 5 }, w[] = { 2, 8, 4, 6 }, one = 7;
	double big[] = { 1e308, 1.2e308 };

	(void)state;
	assert_near(fl_stats_mean(v, 5), 2.8, 1e-12);
	assert_near(fl_stats_median(v, 5), 3, 0);
	assert_near(v[0], 3, 0);
	assert_near(fl_stats_median(w, 4), 5, 0);
	assert_near(fl_stats_sd(v, 5), sqrt(3.2), 1e-12);
	assert_near(fl_stats_sd(&one, 1), 0, 0);
	assert_near(fl_stats_median(&one, 1), 7, 0);
	assert_near(fl_stats_mad_sd(&one, 1), 0, 0);
	/* median 3; distances 0 2 1 2 2; their median 2 */
	assert_near(fl_stats_mad_sd(v, 5), 2 / 0.6745, 1e-12);
	assert_near(fl_stats_mean(big, 2), 1.1e308, 1e294);
	assert_near(fl_stats_median(big, 2), 1.1e308, 1e294);
}

/* All splits by bit masks, the difference of means computed plainly. */
static double brute_p(const double *v, size_t na, size_t n)
{
	double observed = 0, hits = 0, total = 0;

	for (size_t i = 0; i < n; i++)
		observed += i < na ? v[i] / (double)na :
				     -v[i] / (double)(n - na);
	for (uint32_t m = 0; m < 1u << n; m++) {
		double d = 0;

		if ((size_t)__builtin_popcount(m) != na)
			continue;
		for (size_t i = 0; i < n; i++)
			d += m >> i & 1 ? v[i] / (double)na :
					  -v[i] / (double)(n - na);
		total++;
		if (fabs(d) >= fabs(observed) - 1e-9)
			hits++;
	}
	return hits / total;
}

static void permutation_is_exact(void **state)
{
	static const size_t sizes[][2] = { { 1, 1 }, { 1, 6 }, { 3, 3 },
					   { 5, 5 }, { 7, 4 }, { 4, 9 } };

	(void)state;
	for (size_t s = 0; s < FL_ARRAY_SIZE(sizes); s++) {
		size_t na = sizes[s][0], nb = sizes[s][1];
		double v[16];

		for (int shift = 0; shift < 5; shift++) {
			/* Rounded: ties must count. */
			for (size_t i = 0; i < na + nb; i++)
				v[i] = 100 + round(2 * gauss()) +
				       (i < na ? 0 : shift);
			assert_near(fl_stats_permutation(v, na, v + na, nb, 1,
							 NULL),
				    brute_p(v, na, na + nb), 1e-12);
		}
	}
}

static void permutation_smallest_p(void **state)
{
	double a[10], b[10], min_p, p;
	struct timespec t0, t1;

	(void)state;
	for (int i = 0; i < 10; i++) {
		a[i] = i * 0.01;
		b[i] = 5 + i * 0.013;
	}
	p = fl_stats_permutation(a, 5, b, 5, 1, &min_p);
	assert_near(p, 2.0 / 252, 1e-12);
	assert_near(min_p, 2.0 / 252, 1e-12);
	p = fl_stats_permutation(a, 6, b, 6, 1, &min_p);
	assert_near(p, 2.0 / 924, 1e-12);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
	p = fl_stats_permutation(a, 10, b, 10, 1, &min_p);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
	assert_near(p, 2.0 / 184756, 1e-12);
	assert_near(min_p, p, 1e-12);
	/* 4 ms; the limit leaves room for sanitizers and a busy machine */
	assert_true((double)(t1.tv_sec - t0.tv_sec) +
			    1e-9 * (double)(t1.tv_nsec - t0.tv_nsec) <
		    0.5);
	assert_near(fl_stats_permutation(a, 0, b, 5, 1, &min_p), 1, 0);
	assert_near(min_p, 1, 0);
}

static void permutation_random(void **state)
{
	double a[12], b[12], c[40], d[40], min_p, p;

	(void)state;
	for (int i = 0; i < 40; i++) {
		c[i] = gauss();
		d[i] = gauss() + 0.55;
	}
	memcpy(a, c, sizeof(a));
	memcpy(b, d, sizeof(b));
	p = fl_stats_permutation(a, 12, b, 12, 9, &min_p);
	assert_near(min_p, 1.0 / 20001, 1e-12);
	/* The same seed, the same answer; another seed, nearly the same. */
	assert_near(fl_stats_permutation(a, 12, b, 12, 9, NULL), p, 0);
	assert_near(fl_stats_permutation(a, 12, b, 12, 10, NULL), p,
		    4 * sqrt(p / 20000) + 1e-4);
	/* Many boots: close to the t-test's p. */
	p = fl_stats_permutation(c, 40, d, 40, 3, NULL);
	assert_near(p, fl_stats_moderated_t(c, 40, d, 40, 0, 0, 0.95).p, 0.01);
}

static void permutation_degenerate(void **state)
{
	double same[] = { 2, 2, 2, 2, 2, 2 };
	double far[] = { 1e15,	   1e15 + 1,  1e15 + 2,
			 1e15 + 9, 1e15 + 10, 1e15 + 11 };

	(void)state;
	assert_near(fl_stats_permutation(same, 3, same + 3, 3, 1, NULL), 1, 0);
	assert_near(fl_stats_permutation(far, 3, far + 3, 3, 1, NULL), 0.1,
		    1e-12);
}

static void moderated_t(void **state)
{
	/* Student's sleep data, pooled: t = 1.8608, df 18, p = 0.07919,
	 * interval -0.2039 .. 3.3639. */
	double a[] = { 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0 };
	double b[] = { 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4 };
	struct fl_ttest t = fl_stats_moderated_t(a, 10, b, 10, 0, 0, 0.95), u;
	double s2;

	(void)state;
	assert_near(t.t, 1.8608, 5e-5);
	assert_near(t.df, 18, 0);
	assert_near(t.p, 0.07919, 5e-6);
	assert_near(t.lo, -0.2039, 5e-5);
	assert_near(t.hi, 3.3639, 5e-5);
	/* The prior enters as d0 more degrees of freedom of variance s0sq. */
	s2 = t.se * t.se * 5;
	u = fl_stats_moderated_t(a, 10, b, 10, 1.5, 6, 0.95);
	assert_near(u.df, 24, 0);
	assert_near(u.se * u.se * 5, (6 * 1.5 + 18 * s2) / 24, 1e-12);
	/* The prior alone carries single boots. */
	u = fl_stats_moderated_t(a, 1, b, 1, 0.04, 8, 0.95);
	assert_near(u.se, 0.2 * sqrt(2) * sqrt(8.0 / 8), 1e-12);
	assert_near(u.effect, 1.2, 1e-12);
	assert_true(isnan(fl_stats_moderated_t(a, 1, b, 1, 0, 0, 0.95).t));
	assert_true(isnan(fl_stats_moderated_t(a, 0, b, 5, 1, 1, 0.95).t));
	u = fl_stats_moderated_t(a, 5, b, 5, 0.04, HUGE_VAL, 0.95);
	assert_near(u.hi - u.effect, 1.959964 * 0.2 * sqrt(0.4), 1e-6);
}

static void moderated_t_no_spread(void **state)
{
	double a[] = { 1, 1, 1 }, b[] = { 2, 2, 2 };
	struct fl_ttest t = fl_stats_moderated_t(a, 3, b, 3, 0, 0, 0.95);

	(void)state;
	assert_near(t.p, 0, 0);
	assert_near(t.lo, 1, 0);
	assert_near(t.hi, 1, 0);
	t = fl_stats_moderated_t(a, 3, a, 3, 0, 0, 0.95);
	assert_near(t.t, 0, 0);
	assert_near(t.p, 1, 0);
}

static void verdict_words(void **state)
{
	(void)state;
	for (int v = FL_SAME; v <= FL_UNCLEAR; v++)
		assert_int_equal(
			fl_verdict_parse(fl_verdict_str((enum fl_verdict)v)),
			v);
	assert_true(fl_verdict_parse("Same") < 0);
	assert_true(fl_verdict_parse(NULL) < 0);
}

static struct fl_compare_params wall(void)
{
	return (struct fl_compare_params){
		.better = 1, .delta = log(1.05), .alpha = 0.05, .seed = 5
	};
}

static void draw(double *v, int n, double mean, double sd)
{
	for (int i = 0; i < n; i++)
		v[i] = mean + sd * gauss();
}

static void compare_wall(void **state)
{
	struct fl_compare_params p = wall();
	struct fl_compare_result r;
	double a[8], b[8];

	(void)state;
	rng = 3;
	draw(a, 8, 12, 0.01);
	draw(b, 8, 12.2, 0.01);
	fl_stats_compare(a, 8, b, 8, &p, &r);
	assert_int_equal(r.verdict, FL_BETTER);
	assert_int_equal(r.shift, 1);
	assert_near(r.effect, 0.2, 0.02);
	assert_true(r.lo < r.effect && r.effect < r.hi && r.p < 0.001);
	p.better = -1;
	fl_stats_compare(a, 8, b, 8, &p, &r);
	assert_int_equal(r.verdict, FL_WORSE);
	p.better = 0;
	fl_stats_compare(a, 8, b, 8, &p, &r);
	assert_int_equal(r.shift, 0);
	p = wall();
	/* Real but small: 1 % is not worth a word at a threshold of 5 %. */
	draw(b, 8, 12.01, 0.003);
	draw(a, 8, 12, 0.003);
	fl_stats_compare(a, 8, b, 8, &p, &r);
	assert_int_equal(r.verdict, FL_SAME);
	assert_true(r.p < 0.05);
	/* Too noisy to say, and it says what may hide. */
	draw(a, 4, 12, 0.2);
	draw(b, 4, 12, 0.2);
	fl_stats_compare(a, 4, b, 4, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	assert_near(r.hidden, fmax(fabs(r.lo), fabs(r.hi)), 1e-12);
	assert_true(r.hidden > p.delta);
}

static void compare_bad_input(void **state)
{
	struct fl_compare_params p = wall();
	struct fl_compare_result r;
	double a[] = { 1, NAN, 2 }, b[] = { 1, 2, 3 };

	(void)state;
	fl_stats_compare(a, 3, b, 3, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	assert_true(isnan(r.effect));
	fl_stats_compare(b, 0, b, 3, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	fl_stats_compare(b, 1, b + 1, 1, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	assert_true(isinf(r.hidden));
	assert_near(r.effect, 1, 0);
}

static void compare_exact(void **state)
{
	struct fl_compare_params p = { .better = -1,
				       .delta = log(1.005),
				       .alpha = 0.05,
				       .exact_floor = log(1.0005) };
	struct fl_compare_result r;
	double a[] = { log(3412.298), log(3412.301) };
	double b[] = { log(3412.298 * 1.006), log(3412.305 * 1.006) };

	(void)state;
	fl_stats_compare(a, 2, b, 2, &p, &r);
	assert_int_equal(r.verdict, FL_WORSE);
	assert_int_equal(r.shift, 1);
	assert_true(isnan(r.p));
	assert_true(r.hi - r.effect >= p.exact_floor * (1 - 1e-9));
	/* One boot a side is enough. */
	fl_stats_compare(b, 1, a, 1, &p, &r);
	assert_int_equal(r.verdict, FL_BETTER);
	assert_true(isfinite(r.lo) && isfinite(r.hi));
	p.delta = log(1.007);
	fl_stats_compare(a, 2, b, 2, &p, &r);
	assert_int_equal(r.verdict, FL_SAME);
	/* Below the floor nothing is reported, whatever the threshold. */
	p.delta = 0;
	p.exact_floor = log(1.01);
	fl_stats_compare(a, 2, b, 2, &p, &r);
	assert_int_equal(r.verdict, FL_SAME);
}

/* 600 pairs without a difference: at most 1.5 x alpha get a verdict. */
static void false_alarms(void **state)
{
	struct fl_compare_params p = wall();
	struct fl_compare_result r;
	int alarms = 0;

	(void)state;
	rng = 77;
	p.delta = 0;
	for (int i = 0; i < 600; i++) {
		double a[6], b[6];

		draw(a, 6, 3, 0.1);
		draw(b, 6, 3, 0.1);
		fl_stats_compare(a, 6, b, 6, &p, &r);
		alarms += r.shift;
	}
	assert_true(alarms <= 45);
	assert_true(alarms >= 8);
}

static void verify(void **state)
{
	struct fl_verify_params p = { .total = 0.1,
				      .total_se = 0.005,
				      .alpha = 0.05 };
	struct fl_verify_result r;
	double a[8], b[8];

	(void)state;
	rng = 11;
	draw(a, 8, 5, 0.01);
	draw(b, 8, 5.08, 0.01);
	fl_stats_verify(a, 8, b, 8, &p, &r);
	assert_int_equal(r.confirmed, 1);
	assert_near(r.share, 0.8, 0.15);
	assert_true(r.share_lo < r.share && r.share < r.share_hi);
	assert_true(r.share_lo > 0.5 && r.share_hi < 1.1);
	/* The wrong direction is no confirmation. */
	p.total = -0.1;
	fl_stats_verify(a, 8, b, 8, &p, &r);
	assert_int_equal(r.confirmed, 0);
	/* Nor is no difference, and a doubtful total has no share. */
	p.total = 0.1;
	p.total_se = 0.2;
	draw(b, 8, 5, 0.01);
	fl_stats_verify(a, 8, b, 8, &p, &r);
	assert_int_equal(r.confirmed, 0);
	assert_true(isinf(r.share_lo) && isinf(r.share_hi));
	p.exact_floor = 0.0005;
	b[0] = a[0] + 0.01;
	fl_stats_verify(a, 1, b, 1, &p, &r);
	assert_int_equal(r.confirmed, 1);
	assert_near(r.share, 0.1, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(location_and_spread),
		cmocka_unit_test(permutation_is_exact),
		cmocka_unit_test(permutation_smallest_p),
		cmocka_unit_test(permutation_random),
		cmocka_unit_test(permutation_degenerate),
		cmocka_unit_test(moderated_t),
		cmocka_unit_test(moderated_t_no_spread),
		cmocka_unit_test(verdict_words),
		cmocka_unit_test(compare_wall),
		cmocka_unit_test(compare_bad_input),
		cmocka_unit_test(compare_exact),
		cmocka_unit_test(false_alarms),
		cmocka_unit_test(verify),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

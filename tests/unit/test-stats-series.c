// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * daemon/stats: finding two modes and telling them from one; Fisher's test;
 * many series of one pair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "../../daemon/stats/fdr.h"
#include "../../daemon/stats/modes.h"
#include "../../daemon/stats/stats.h"
#include "random.h"

static void assert_near(double a, double b, double tol)
{
	if (!(fabs(a - b) <= tol))
		fail_msg("%.12g is not %.12g within %g", a, b, tol);
}

static void draw(double *v, int n, double mean, double sd)
{
	for (int i = 0; i < n; i++)
		v[i] = mean + sd * gauss();
}

static struct fl_compare_params wall(void)
{
	return (struct fl_compare_params){
		.better = 1, .delta = log(1.05), .alpha = 0.05, .seed = 5
	};
}

/* 80 % of the boots fast, 20 % slow, `gap` of their own deviations apart. */
static void two_modes(double *v, size_t n, double gap)
{
	for (size_t i = 0; i < n; i++)
		v[i] = 0.01 * (gauss() + (uniform() < 0.2 ? gap : 0));
}

static double t3(void)
{
	double a = gauss(), b = gauss(), c = gauss();

	return gauss() / sqrt(a * a + b * b + c * c);
}

static void modes_found(void **state)
{
	static double many[50000];
	struct fl_modes m;
	double v[60];
	int found = 0;

	(void)state;
	rng = 17;
	for (int i = 0; i < 40; i++) {
		two_modes(v, 60, 6);
		fl_modes_find(v, 60, &m);
		found += m.bimodal;
		if (!m.bimodal)
			continue;
		assert_true(m.low < m.cut && m.cut < m.high);
		assert_near(m.high - m.low, 0.06, 0.015);
		assert_near(m.sd, 0.01, 0.004);
		assert_near(m.upper, 0.2, 0.17);
		assert_true(m.within > 0.05 && m.within < 0.5);
	}
	assert_true(found >= 36);
	/* Ten years of boots: found as well, and in no time. */
	two_modes(many, FL_ARRAY_SIZE(many), 5);
	fl_modes_find(many, FL_ARRAY_SIZE(many), &m);
	assert_int_equal(m.bimodal, 1);
	assert_near(m.upper, 0.2, 0.01);
	assert_near(m.high - m.low, 0.05, 0.001);
}

/* At most 1 % of one mode's noise: 1 of 300 is expected, 8 are too many. */
static void one_mode_is_one(void **state)
{
	int fired[2] = { 0 };
	struct fl_modes m;
	double v[60];

	(void)state;
	rng = 18;
	for (int i = 0; i < 300; i++) {
		draw(v, 60, 2, 0.1);
		fl_modes_find(v, 60, &m);
		fired[0] += m.bimodal;
		for (int k = 0; k < 60; k++)
			v[k] = t3();
		fl_modes_find(v, 60, &m);
		fired[1] += m.bimodal;
	}
	assert_true(fired[0] < 8);
	assert_true(fired[1] < 8);
}

static void modes_bad_input(void **state)
{
	double same[30], two[30], inf[30];
	struct fl_modes m = { .bimodal = 1 };

	(void)state;
	for (int i = 0; i < 30; i++) {
		same[i] = 4;
		two[i] = i % 3 ? 1 : 2;
		inf[i] = i ? i : HUGE_VAL;
	}
	fl_modes_find(same, 30, &m);
	assert_int_equal(m.bimodal, 0);
	fl_modes_find(inf, 30, &m);
	assert_int_equal(m.bimodal, 0);
	inf[0] = NAN;
	fl_modes_find(inf, 30, &m);
	assert_int_equal(m.bimodal, 0);
	fl_modes_find(two, FL_MODES_MIN - 1, &m);
	assert_int_equal(m.bimodal, 0);
	fl_modes_find(NULL, 0, &m);
	assert_int_equal(m.bimodal, 0);
	/* Two values without any spread are two modes. */
	fl_modes_find(two, 30, &m);
	assert_int_equal(m.bimodal, 1);
	assert_true(m.cut > 1 && m.cut < 2 && m.sd > 0 && m.within > 0);
}

static void modes_assigned(void **state)
{
	struct fl_modes m = { 1, 0.2, 0, 0.4, 0.2, 0.02, 0.02 };
	double v[] = { 5.01, 5.39, 4.98, 5.0, 5.42, 5.02 };
	double one[] = { 5.4, 5.41, 5.38, 5.4, 5.42, 5.4 };
	static const int want[] = { 0, 1, 0, 0, 1, 0 };
	int upper[6];

	(void)state;
	fl_modes_assign(&m, v, 6, upper);
	assert_memory_equal(upper, want, sizeof(upper));
	/* All alike: the more frequent mode, whatever the level. */
	fl_modes_assign(&m, one, 6, upper);
	for (int i = 0; i < 6; i++)
		assert_int_equal(upper[i], 0);
	m.upper = 0.8;
	fl_modes_assign(&m, one, 6, upper);
	for (int i = 0; i < 6; i++)
		assert_int_equal(upper[i], 1);
}

static void fisher(void **state)
{
	(void)state;
	/* The lady tasting tea; 0 of 6 against 5 of 6. */
	assert_near(fl_modes_fisher(3, 4, 1, 4), 0.485714, 1e-6);
	assert_near(fl_modes_fisher(0, 6, 5, 6), 0.015152, 1e-6);
	assert_near(fl_modes_fisher(5, 6, 0, 6), 0.015152, 1e-6);
	assert_near(fl_modes_fisher(0, 6, 0, 6), 1, 1e-12);
	assert_near(fl_modes_fisher(0, 0, 3, 6), 1, 0);
	assert_near(fl_modes_fisher(9, 6, 3, 6), 1, 0);
}

static void many_series(void **state)
{
	/* Benjamini and Hochberg 1995, section 4: four are kept. */
	double p[] = { 0.0459, 0.0001, 0.3240, 0.0004, 0.0019, NAN,
		       0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.4262,
		       0.5719, 0.6528, 0.7590, 1.0000 };
	double equal[] = { 0.01, 0.04, 0.03, 0.02, 0.05 }, adjusted[16];
	int keep[16], n = 0;

	(void)state;
	assert_int_equal((int)fl_fdr(p, 16, 0.05, adjusted, keep), 4);
	for (int i = 0; i < 16; i++)
		n += keep[i];
	assert_int_equal(n, 4);
	assert_true(keep[1] && keep[3] && keep[4] && keep[6]);
	assert_true(isnan(adjusted[5]) && !keep[5]);
	assert_near(adjusted[1], 0.0015, 1e-12);
	assert_near(adjusted[6], 0.0095 * 15 / 4, 1e-12);
	assert_int_equal((int)fl_fdr(equal, 5, 0.05, adjusted, NULL), 5);
	for (int i = 0; i < 5; i++)
		assert_near(adjusted[i], 0.05, 1e-12);
	assert_int_equal((int)fl_fdr(NULL, 0, 0.05, NULL, NULL), 0);
}

static void many_results(void **state)
{
	struct fl_compare_params p = wall();
	struct fl_compare_result r[20];
	double a[6], b[6];

	(void)state;
	rng = 6;
	p.looks = &fl_looks_default;
	for (int i = 0; i < 20; i++) {
		draw(a, 6, 3, 0.05);
		draw(b, 6, i ? 3 : 4, 0.05);
		fl_stats_compare(a, 6, b, 6, &p, &r[i]);
	}
	/* Just past its own look, but not past twenty series. */
	r[7].verdict = FL_WORSE;
	r[7].shift = 1;
	r[7].p_look = 0.04;
	r[7].more = 0;
	/* The exact clock has no p. */
	r[8].verdict = FL_WORSE;
	r[8].shift = 1;
	r[8].p_look = NAN;
	assert_int_equal((int)fl_fdr_results(r, 20, 0.05), 1);
	assert_int_equal(r[0].shift, 1);
	assert_int_equal(r[7].verdict, FL_UNCLEAR);
	assert_int_equal((int)r[7].more, 8);
	assert_true(r[7].hidden > 0 && r[7].p_adjusted > 0.05);
	assert_int_equal(r[8].shift, 1);
	assert_true(isnan(r[8].p_adjusted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_found),
		cmocka_unit_test(one_mode_is_one),
		cmocka_unit_test(modes_bad_input),
		cmocka_unit_test(modes_assigned),
		cmocka_unit_test(fisher),
		cmocka_unit_test(many_series),
		cmocka_unit_test(many_results),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

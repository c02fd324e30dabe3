// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * daemon/stats/noise: variances by hand and by simulation, the prior, what
 * they let a comparison see, the exact clock, degenerate histories.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include "../../daemon/stats/noise.h"
#include "random.h"

#define MAX_OBS 20000

static struct fl_noise_obs obs[MAX_OBS];
static const struct fl_noise_params medians;

static void assert_near(double a, double b, double tol)
{
	if (!(fabs(a - b) <= tol))
		fail_msg("%.12g is not %.12g within %g", a, b, tol);
}

static void by_hand(void **state)
{
	static const struct fl_noise_obs two[] = {
		{ 1, 1, 1 },  { 1, 1, 3 },  { 1, 2, 4 },  { 1, 2, 6 },
		{ 2, 1, 11 }, { 2, 1, 13 }, { 2, 2, 10 }, { 2, 2, 12 },
	};
	struct fl_noise m;

	(void)state;
	/* Boots 2, 5 and 12, 11; images 3.5 and 11.5. */
	assert_int_equal(fl_noise_fit(two, 8, &medians, &m), 0);
	assert_int_equal((int)m.images, 2);
	assert_int_equal((int)m.boots, 4);
	assert_int_equal((int)m.values, 8);
	assert_near(m.reps, 2, 0);
	assert_near(m.c_r, 1, 0);
	assert_near(m.se2, 2, 1e-12);
	assert_near(m.df_e, 4, 0);
	assert_near(m.var_y, 2.5, 1e-12);
	assert_near(m.df_u, 2, 0);
	assert_near(m.su2, 1.5, 1e-12);
	assert_near(m.sa2, 32 - 1.25, 1e-12);
	assert_near(m.df_a, 30.75 / 32 * 30.75 / 32, 1e-12);
	assert_near(m.lambda, 30.75 / 2.5, 1e-12);
	assert_int_equal(m.modes.bimodal, 0);
	/* Two images are no history. */
	assert_near(m.d0, 0, 0);
}

struct world {
	int images, boots, reps; /* boots 0: 1 to 4, reps 0: 1 to 9 */
	double su, se, sa, step;
};

static size_t make(const struct world *w)
{
	size_t n = 0;

	for (int i = 0; i < w->images; i++) {
		double a = 8 + w->sa * gauss() +
			   (i >= w->images / 2 ? w->step : 0);
		int boots = w->boots ? w->boots : 1 + below(4);

		for (int b = 0; b < boots; b++) {
			double u = a + w->su * gauss();
			int reps = w->reps ? w->reps : 1 + below(9);

			for (int r = 0; r < reps; r++)
				obs[n++] = (struct fl_noise_obs){
					i, b, u + w->se * gauss()
				};
		}
	}
	return n;
}

static void by_simulation(void **state)
{
	struct world w = { 300, 4, 5, 0.02, 0.03, 0.01, 0 };
	struct fl_noise_params mean = { .mean = 1 };
	struct fl_noise m;

	(void)state;
	rng = 5;
	assert_int_equal(fl_noise_fit(obs, make(&w), &medians, &m), 0);
	assert_near(m.c_r, 1.5708, 1e-4);
	assert_near(sqrt(m.se2), 0.03, 0.001);
	assert_near(sqrt(m.su2), 0.02, 0.002);
	assert_near(sqrt(m.sa2), 0.01, 0.003);
	assert_near(m.var_y, m.su2 + m.c_r * m.se2 / 5, 1e-12);
	/* One variance for all images: the prior weighs much. */
	assert_near(m.s0sq / m.var_y, 1, 0.15);
	assert_true(m.d0 > 10 && m.d0 <= 900);
	assert_int_equal(fl_noise_fit(obs, make(&w), &mean, &m), 0);
	assert_near(m.c_r, 1, 0);
	assert_near(sqrt(m.su2), 0.02, 0.002);
	/* Neither boots nor repetitions balanced. */
	w.boots = w.reps = 0;
	w.images = 800;
	assert_int_equal(fl_noise_fit(obs, make(&w), &medians, &m), 0);
	assert_near(sqrt(m.se2), 0.03, 0.001);
	assert_near(sqrt(m.su2), 0.02, 0.003);
	assert_near(sqrt(m.sa2), 0.01, 0.004);
}

/* A step of ten deviations in the middle of the history. */
static void step_in_history(void **state)
{
	struct world w = { 200, 3, 1, 0.02, 0, 0.03, 0.3 };
	struct fl_noise_params p = { .images = FL_NOISE_NEIGHBOURS };
	struct fl_noise m;
	size_t n;

	(void)state;
	rng = 6;
	n = make(&w);
	assert_int_equal(fl_noise_fit(obs, n, &p, &m), 0);
	assert_near(sqrt(m.sa2), 0.03, 0.008);
	assert_int_equal(m.modes.bimodal, 0);
	assert_int_equal(fl_noise_fit(obs, n, &medians, &m), 0);
	assert_true(sqrt(m.sa2) > 0.1);
	/* One boot an image: all of it is noise of boots. */
	w.boots = 1;
	assert_int_equal(fl_noise_fit(obs, make(&w), &p, &m), 0);
	assert_near(m.sa2, 0, 0);
	assert_near(m.df_u, 0, 0);
	assert_near(sqrt(m.su2), hypot(0.02, 0.03), 0.01);
}

/* Releases of two branches: only what happens within an image counts. */
static void unrelated_images(void **state)
{
	struct world w = { 60, 4, 1, 0.02, 0, 0, 0 };
	struct fl_noise_params p = { .images = FL_NOISE_UNRELATED };
	struct fl_noise m;
	size_t n;

	(void)state;
	rng = 8;
	n = make(&w);
	for (size_t i = 0; i < n; i++)
		obs[i].value += obs[i].image % 2 ? 0.4 : 0;
	assert_int_equal(fl_noise_fit(obs, n, &p, &m), 0);
	assert_near(sqrt(m.var_y), 0.02, 0.002);
	assert_near(m.sa2, 0, 0);
	assert_near(m.df_a, 0, 0);
	assert_int_equal(m.modes.bimodal, 0);
	/* One boot each says nothing about boots. */
	w.boots = 1;
	assert_int_equal(fl_noise_fit(obs, make(&w), &p, &m), -ENODATA);
}

/* Image noise that is there is told from none. */
static void are_images_alike(void **state)
{
	struct world w = { 40, 3, 1, 0.02, 0, 0, 0 };
	int called = 0;
	struct fl_noise m;

	(void)state;
	rng = 9;
	for (int i = 0; i < 200; i++) {
		assert_int_equal(fl_noise_fit(obs, make(&w), &medians, &m), 0);
		called += m.p_a < 0.05;
	}
	assert_in_range(called, 2, 22); /* 10 expected */
	w.sa = 0.02;
	assert_int_equal(fl_noise_fit(obs, make(&w), &medians, &m), 0);
	assert_true(m.p_a < 0.001);
}

static void modes_of_history(void **state)
{
	struct world w = { 40, 4, 1, 0.005, 0, 0.002, 0.1 };
	struct fl_noise m;
	size_t n;

	(void)state;
	rng = 7;
	n = make(&w);
	for (size_t i = 0; i < n; i++)
		obs[i].value += uniform() < 0.2 ? 0.05 : 0;
	assert_int_equal(fl_noise_fit(obs, n, &medians, &m), 0);
	assert_int_equal(m.modes.bimodal, 1);
	assert_near(m.modes.high - m.modes.low, 0.05, 0.01);
}

static void prior(void **state)
{
	double s2[500], df[500], s0sq, d0;
	double four[] = { 4, 4, 4 }, df4[] = { 4, 4, 4 };

	(void)state;
	/* No scatter at all: log 4 - psi(2) + log 2 + psi(6) - log 6, and the
	 * weight of all that was seen. */
	fl_noise_prior(four, df4, 3, &s0sq, &d0);
	assert_near(d0, 12, 0);
	assert_near(s0sq, 4.8115, 1e-3);
	/* True variances 0.01 x 8 / chi2(8), seen with 4 degrees of freedom. */
	rng = 9;
	for (int i = 0; i < 500; i++) {
		double c8 = 0, c4 = 0;

		for (int k = 0; k < 8; k++)
			c8 += pow(gauss(), 2);
		for (int k = 0; k < 4; k++)
			c4 += pow(gauss(), 2);
		s2[i] = 0.01 * 8 / c8 * c4 / 4;
		df[i] = 4;
	}
	fl_noise_prior(s2, df, 500, &s0sq, &d0);
	assert_near(d0, 8, 2.5);
	assert_near(s0sq, 0.01, 0.001);
	/* A zero, a NaN and an image with one boot do no harm. */
	s2[0] = 0;
	s2[1] = NAN;
	df[2] = 0;
	fl_noise_prior(s2, df, 500, &s0sq, &d0);
	assert_near(d0, 8, 2.5);
	assert_near(s0sq, 0.01, 0.001);
}

static void no_prior(void **state)
{
	double zero[] = { 0, 0, 0, 0 }, df[] = { 3, 3, 3, 3 };
	double wild[] = { 1e-30, 1e30, 1, 1e-20 }, s0sq, d0;

	(void)state;
	fl_noise_prior(zero, df, 4, &s0sq, &d0);
	assert_near(d0, 0, 0);
	assert_near(s0sq, 0, 0);
	fl_noise_prior(df, df, 2, &s0sq, &d0);
	assert_near(d0, 0, 0);
	fl_noise_prior(df, zero, 4, &s0sq, &d0);
	assert_near(d0, 0, 0);
	fl_noise_prior(NULL, NULL, 0, &s0sq, &d0);
	assert_near(d0, 0, 0);
	fl_noise_prior(wild, df, 4, &s0sq, &d0);
	assert_true(isfinite(s0sq) && isfinite(d0) && d0 >= 0);
	assert_true(d0 == 0 || s0sq > 0);
}

static void what_can_be_seen(void **state)
{
	struct fl_noise m = { .var_y = 1, .c_r = 1, .se2 = 4, .su2 = 1 };

	(void)state;
	/* R: power.t.test(n = 20, delta = 1) 0.8689528;
	 * power.t.test(power = 0.9, delta = 1) n = 22.02110. */
	assert_near(fl_noise_resolves(&m, 20, 0.05, 0.8689528), 1, 1e-4);
	assert_int_equal((int)fl_noise_boots_needed(&m, 1, 0.05, 0.9, 100), 23);
	assert_int_equal((int)fl_noise_boots_needed(&m, 1, 0.05, 0.9, 22), 0);
	assert_true(isinf(fl_noise_resolves(&m, 1, 0.05, 0.8)));
	/* A prior is worth boots. */
	m.d0 = 20;
	assert_true(fl_noise_resolves(&m, 3, 0.05, 0.8) <
		    0.8 * fl_noise_resolves(&(struct fl_noise){ .var_y = 1 }, 3,
					    0.05, 0.8));
	/* An image's own offset never averages away: 2.80 x sqrt(2 x 0.25). */
	m.sa2 = 0.25;
	assert_near(fl_noise_resolves(&m, 1000000, 0.05, 0.8), 1.981, 0.001);
	assert_int_equal((int)fl_noise_boots_needed(&m, 1.9, 0.05, 0.8, 10000),
			 0);
	/* sqrt(4 / 1 x 25 / 1) */
	assert_int_equal((int)fl_noise_best_reps(&m, 25, 1, 99), 10);
	assert_int_equal((int)fl_noise_best_reps(&m, 25, 1, 7), 7);
	assert_int_equal((int)fl_noise_best_reps(&m, 1, 25, 99), 1);
	m.su2 = 0;
	assert_int_equal((int)fl_noise_best_reps(&m, 25, 1, 99), 99);
	m.se2 = 0;
	assert_int_equal((int)fl_noise_best_reps(&m, 25, 1, 99), 1);
}

static void exact_clock(void **state)
{
	struct fl_noise_params p = { .floor_s0sq = FL_NOISE_EXACT_S0SQ,
				     .floor_nu0 = 4 };
	struct fl_noise m;

	(void)state;
	/* Replays agree to the last digit; the floor stays. */
	for (int i = 0; i < 8; i++)
		obs[i] = (struct fl_noise_obs){ i / 2, i % 2, 8.135 };
	assert_int_equal(fl_noise_fit(obs, 8, &p, &m), 0);
	assert_near(m.var_y, FL_NOISE_EXACT_S0SQ / 2, 1e-15);
	assert_near(m.s0sq, m.var_y, 0);
	assert_near(m.d0, 4, 0);
	assert_near(fl_noise_exact_floor(&m), log(1.0005), 1e-12);
	/* One boot an image, all alike. */
	for (int i = 0; i < 8; i++)
		obs[i].image = i;
	assert_int_equal(fl_noise_fit(obs, 8, &p, &m), 0);
	assert_true(m.var_y > 0);
	/* Perturbed boots 0.1 % apart: three times what they spread. */
	for (int i = 0; i < 80; i++)
		obs[i] = (struct fl_noise_obs){ i / 8, i % 8,
						8 + 0.0005 * (i % 2 * 2 - 1) };
	assert_int_equal(fl_noise_fit(obs, 80, &p, &m), 0);
	assert_near(fl_noise_exact_floor(&m), 0.0015, 0.0002);
}

static void bad_histories(void **state)
{
	struct fl_noise m;

	(void)state;
	assert_int_equal(fl_noise_fit(NULL, 0, &medians, &m), -ENODATA);
	assert_near(m.var_y, 0, 0);
	for (int i = 0; i < 30; i++)
		obs[i] = (struct fl_noise_obs){ i / 6, i % 6 / 3,
						i % 3 ? NAN : HUGE_VAL };
	assert_int_equal(fl_noise_fit(obs, 30, &medians, &m), -ENODATA);
	obs[4].value = 2;
	assert_int_equal(fl_noise_fit(obs, 30, &medians, &m), -ENODATA);
	assert_int_equal((int)m.boots, 0);
	obs[8].value = 3;
	assert_int_equal(fl_noise_fit(obs, 30, &medians, &m), 0);
	assert_int_equal((int)m.images, 2);
	assert_near(m.var_y, 0.5, 1e-12);
	/* One image only, and constant values. */
	for (int i = 0; i < 30; i++)
		obs[i] = (struct fl_noise_obs){ 1, i, 7 };
	assert_int_equal(fl_noise_fit(obs, 30, &medians, &m), 0);
	assert_near(m.var_y, 0, 0);
	assert_near(m.lambda, 0, 0);
	assert_near(m.d0, 0, 0);
	assert_near(fl_noise_resolves(&m, 5, 0.05, 0.8), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(by_simulation),
		cmocka_unit_test(step_in_history),
		cmocka_unit_test(unrelated_images),
		cmocka_unit_test(are_images_alike),
		cmocka_unit_test(modes_of_history),
		cmocka_unit_test(prior),
		cmocka_unit_test(no_prior),
		cmocka_unit_test(what_can_be_seen),
		cmocka_unit_test(exact_clock),
		cmocka_unit_test(bad_histories),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

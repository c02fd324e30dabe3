// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * daemon/stats: blocks, looks and modes in the verdict; symmetries that every
 * verdict must have; bad input; error rates by simulation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
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

static void blocks_by_hand(void **state)
{
	/* Around the blocks' means B is 1 and 1.5: sums +-2.5 and +-0.5. */
	double a[] = { 1, 20, 7 }, b[] = { 3, 23 }, min_p;
	int one[] = { 1, 2, 3 }, apart[] = { 4, 5 };

	(void)state;
	assert_near(fl_stats_permutation_blocks(a, one, 2, b, one, 2, 1,
						&min_p),
		    0.5, 0);
	assert_near(min_p, 0.5, 0);
	/* A third block without B changes nothing. */
	assert_near(fl_stats_permutation_blocks(a, one, 3, b, one, 2, 1, NULL),
		    0.5, 0);
	/* Nothing to deal out. */
	assert_near(fl_stats_permutation_blocks(a, one, 3, b, apart, 2, 1,
						&min_p),
		    1, 0);
	assert_near(min_p, 1, 0);
	/* A A B in one block, A B in another: 3 x 2 splits, and no other
	 * adds up to 3 + 1. */
	b[0] = 6;
	b[1] = 9;
	one[1] = 1;
	a[1] = 2;
	assert_near(fl_stats_permutation_blocks(a, one, 3, b, (int[]){ 1, 3 },
						2, 1, &min_p),
		    1.0 / 6, 1e-12);
	assert_near(min_p, 1.0 / 6, 1e-12);
}

/* All labellings with as many B in each block as there are. */
static double brute_blocks(const double *v, const int *block, uint32_t real,
			   int n)
{
	double observed = 0, hits = 0, total = 0, centred[16];

	for (int i = 0; i < n; i++) {
		double sum = 0, k = 0;

		for (int j = 0; j < n; j++) {
			if (block[j] == block[i]) {
				sum += v[j];
				k++;
			}
		}
		centred[i] = v[i] - sum / k;
		observed += real >> i & 1 ? centred[i] : 0;
	}
	for (uint32_t m = 0; m < 1u << n; m++) {
		double d = 0;
		int fits = 1;

		for (int k = 0; k < 4; k++) {
			int more = 0;

			for (int i = 0; i < n; i++)
				if (block[i] == k)
					more += (int)(m >> i & 1) -
						(int)(real >> i & 1);
			fits &= !more;
		}
		for (int i = 0; i < n; i++)
			d += m >> i & 1 ? centred[i] : 0;
		total += fits;
		hits += fits && fabs(d) >= fabs(observed) - 1e-9;
	}
	return hits / total;
}

static void blocks_by_brute_force(void **state)
{
	(void)state;
	rng = 21;
	for (int trial = 0; trial < 40; trial++) {
		double v[12], a[12], b[12];
		int block[12], ba[12], bb[12];
		size_t na = 0, nb = 0;
		uint32_t real = 0;

		for (int i = 0; i < 12; i++) {
			block[i] = below(4);
			v[i] = round(3 * gauss()) + 10 * block[i];
			if (below(2)) {
				real |= 1u << i;
				bb[nb] = block[i];
				b[nb++] = v[i];
			} else {
				ba[na] = block[i];
				a[na++] = v[i];
			}
		}
		assert_near(fl_stats_permutation_blocks(a, ba, na, b, bb, nb, 1,
							NULL),
			    brute_blocks(v, block, real, 12), 1e-12);
	}
}

static void blocked_t(void **state)
{
	/* Student's sleep data as ten pairs: t = 4.0621, df 9, p = 0.002833,
	 * interval 0.7001 .. 2.4599. */
	double a[] = { 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0 };
	double b[] = { 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4 };
	int id[] = { 9, 8, 7, 6, 5, 4, 3, 2, 1, 0 }, other[] = { 20 };
	struct fl_ttest t =
		fl_stats_blocked_t(a, id, 10, b, id, 10, 0, 0, 0, 0.95);

	(void)state;
	assert_near(t.t, 4.0621, 5e-5);
	assert_near(t.df, 9, 0);
	assert_near(t.p, 0.002833, 5e-7);
	assert_near(t.lo, 0.7001, 5e-5);
	assert_near(t.hi, 2.4599, 5e-5);
	/* The images' own offsets widen it however many boots there are. */
	assert_near(
		fl_stats_blocked_t(a, id, 10, b, id, 10, 0, 0, 0.5, 0.95).se,
		sqrt(t.se * t.se + 1), 1e-12);
	assert_true(isnan(
		fl_stats_blocked_t(a, id, 10, b, other, 1, 1, 9, 0, 0.95).t));
}

static void looks(void **state)
{
	const struct fl_looks *p = &fl_looks_default;
	double sum = 0;

	(void)state;
	assert_int_equal(fl_looks_at(p, 5, 50), -1);
	assert_int_equal(fl_looks_at(p, 6, 6), 0);
	assert_int_equal(fl_looks_at(p, 11, 8), 1);
	assert_int_equal(fl_looks_at(p, 30, 20), 3);
	assert_int_equal(fl_looks_at(NULL, 3, 3), 0);
	assert_int_equal((int)fl_looks_next(p, 0, 9), 6);
	assert_int_equal((int)fl_looks_next(p, 6, 7), 8);
	assert_int_equal((int)fl_looks_next(p, 12, 12), 20);
	assert_int_equal((int)fl_looks_next(p, 20, 20), 0);
	assert_int_equal((int)fl_looks_next(NULL, 3, 3), 0);
	for (size_t i = 0; i < p->n; i++)
		sum += p->share[i];
	assert_near(sum, 1, 1e-12);
}

static void looks_in_verdict(void **state)
{
	struct fl_compare_params p = wall();
	struct fl_compare_result r;
	double a[20], b[20];

	(void)state;
	rng = 4;
	draw(a, 20, 3, 0.05);
	draw(b, 20, 3, 0.05);
	p.looks = &fl_looks_default;
	p.delta = 0.01;
	fl_stats_compare(a, 0, b, 0, &p, &r);
	assert_int_equal((int)r.more, 6);
	/* Far apart, but too early to say so. */
	draw(b, 5, 9, 0.05);
	fl_stats_compare(a, 5, b, 5, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	assert_int_equal(r.look, -1);
	assert_int_equal((int)r.more, 6);
	assert_true(isnan(r.p_look) && isinf(r.hidden));
	draw(b, 20, 3, 0.05);
	fl_stats_compare(a, 6, b, 6, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	assert_int_equal((int)r.more, 8);
	assert_near(r.alpha, 0.005, 1e-12);
	assert_near(r.p_look, fmin(1, 10 * r.p_t), 1e-12);
	fl_stats_compare(a, 20, b, 20, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	assert_int_equal((int)r.more, 0);
	assert_true(r.hidden > p.delta && isfinite(r.hidden));
	/* Whoever never judges a KPI needs no boots for it. */
	p.better = 0;
	fl_stats_compare(a, 6, b, 6, &p, &r);
	assert_int_equal((int)r.more, 0);
	/* A shift ends it. */
	p.better = -1;
	draw(b, 20, 4, 0.05);
	fl_stats_compare(a, 6, b, 6, &p, &r);
	assert_int_equal(r.verdict, FL_WORSE);
	assert_int_equal((int)r.more, 0);
}

/* How a plan of looks ends for a true effect: share of shifts, of "same". */
static void ends(double effect, double delta, int trials, double *shifts,
		 double *sames)
{
	struct fl_compare_params p = wall();
	struct fl_compare_result r;
	double a[20], b[20];

	p.looks = &fl_looks_default;
	p.delta = delta;
	*shifts = *sames = 0;
	for (int i = 0; i < trials; i++) {
		size_t n = 6;

		draw(a, 20, 3, 0.04);
		draw(b, 20, 3 + effect, 0.04);
		for (;;) {
			fl_stats_compare(a, n, b, n, &p, &r);
			if (!r.more)
				break;
			n = r.more;
		}
		*shifts += (double)r.shift / trials;
		*sames += (double)(r.verdict == FL_SAME) / trials;
	}
}

static void looking_costs_no_more_than_alpha(void **state)
{
	double shifts, sames;

	(void)state;
	rng = 31;
	ends(0, 0, 500, &shifts, &sames);
	assert_true(shifts <= 0.075 && shifts > 0.005);
	/* A true effect of exactly delta called nothing. */
	ends(0.05, 0.05, 500, &shifts, &sames);
	assert_true(sames <= 0.075 && sames > 0.005);
	/* And it does find things. */
	ends(0, 0.05, 200, &shifts, &sames);
	assert_true(sames > 0.7);
	ends(0.08, 0.02, 200, &shifts, &sames);
	assert_true(shifts > 0.9);
}

static void no_spread(void **state)
{
	struct fl_compare_params p = wall();
	struct fl_compare_result r;
	double a[] = { 1, 1, 1, 1, 1, 1 }, b[] = { 2, 2, 2, 2, 2, 2 };

	(void)state;
	/* Two equal values a side are no proof of anything... */
	fl_stats_compare(a, 2, b, 2, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	fl_stats_compare(a, 2, a, 2, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	/* ...six are, by permutation. */
	fl_stats_compare(a, 6, b, 6, &p, &r);
	assert_int_equal(r.verdict, FL_BETTER);
	assert_near(r.p_t, 2.0 / 924, 1e-12);
	fl_stats_compare(a, 6, a, 6, &p, &r);
	assert_int_equal(r.verdict, FL_SAME);
	/* A prior is spread enough. */
	p.s0sq = 0.0001;
	p.d0 = 10;
	fl_stats_compare(a, 2, b, 2, &p, &r);
	assert_int_equal(r.verdict, FL_BETTER);
}

static void bad_input(void **state)
{
	const double bad[] = { NAN, HUGE_VAL, -HUGE_VAL };
	struct fl_modes modes = { 1, 0.2, 0, 0.4, 0.2, 0.05, 0.1 };
	double v[] = { 1, 2, 3, 4, 5, 6 };
	struct fl_compare_result r;
	double min_p;

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		struct fl_compare_params p = wall();
		double w[] = { 1, 2, 3, 4, 5, 6 };

		w[i % 6] = bad[i % 3];
		p.looks = i % 2 ? &fl_looks_default : NULL;
		p.modes = i % 4 > 1 ? &modes : NULL;
		fl_stats_compare(v, 6, w, 6, &p, &r);
		assert_int_equal(r.verdict, FL_UNCLEAR);
		assert_int_equal((int)r.more, 0);
		assert_true(isnan(r.effect) && isnan(r.p_look));
		/* p = 0 out of nothing would be the worst of all. */
		assert_near(fl_stats_permutation(v, 6, w, 6, 1, &min_p), 1, 0);
		/* What is no parameter decides nothing. */
		p.delta = i % 2 ? NAN : 0;
		p.alpha = i % 2 ? 0.05 : NAN;
		fl_stats_compare(v, 3, v + 3, 3, &p, &r);
		assert_int_equal(r.shift, 0);
		p = wall();
		p.s0sq = i % 2 ? NAN : -1;
		p.d0 = 4;
		fl_stats_compare(v, 3, v + 3, 3, &p, &r);
		assert_int_equal(r.verdict, FL_UNCLEAR);
	}
}

static void blocks_in_verdict(void **state)
{
	struct fl_compare_params p = wall();
	struct fl_compare_result r;
	double a[8], b[8];
	int morning[] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	int evening[] = { 2, 2, 2, 2, 2, 2, 2, 2 };
	int pairs[] = { 1, 1, 2, 2, 3, 3, 4, 4 };

	(void)state;
	rng = 8;
	/* A drift that buries an effect of 10 % between the blocks. */
	for (int i = 0; i < 8; i++) {
		double drift = 0.5 * (i / 2);

		a[i] = 3 + drift + 0.01 * gauss();
		b[i] = 3.1 + drift + 0.01 * gauss();
	}
	fl_stats_compare(a, 8, b, 8, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	p.block_a = p.block_b = pairs;
	fl_stats_compare(a, 8, b, 8, &p, &r);
	assert_int_equal(r.verdict, FL_BETTER);
	assert_near(r.effect, 0.1, 0.02);
	/* Base in the morning, head in the evening. */
	p.block_a = morning;
	p.block_b = evening;
	fl_stats_compare(a, 8, b, 8, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	assert_true(isinf(r.hidden));
}

/* A night far noisier than history stands on its own boots. */
static void prior_in_doubt(void **state)
{
	struct fl_compare_params p = wall(), none = wall();
	struct fl_compare_result r, u;
	double a[4] = { 3, 3.1, 3.05, 3.2 }, b[4] = { 3.15, 3.3, 3.2, 3.1 };

	(void)state;
	p.s0sq = 0.005;
	p.d0 = 20;
	fl_stats_compare(a, 4, b, 4, &p, &r);
	fl_stats_compare(a, 4, b, 4, &none, &u);
	assert_int_equal(r.noisy, 0);
	assert_int_equal(u.noisy, 0);
	assert_true(r.p_t != u.p_t);
	p.s0sq = 0.001 * 0.001;
	fl_stats_compare(a, 4, b, 4, &p, &r);
	assert_int_equal(r.noisy, 1);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	assert_near(r.p_t, u.p_t, 0);
	assert_near(r.hi, u.hi, 0);
}

/* What images differ by themselves is no change, however many boots say so. */
static void images_in_verdict(void **state)
{
	struct fl_compare_params p = wall();
	struct fl_compare_result r, u;
	double a[12], b[12], x;

	(void)state;
	rng = 13;
	draw(a, 12, 3, 0.01);
	draw(b, 12, 3.1, 0.01);
	fl_stats_compare(a, 12, b, 12, &p, &r);
	assert_int_equal(r.verdict, FL_BETTER);
	p.var_image = 0.01 * 0.01;
	fl_stats_compare(a, 12, b, 12, &p, &r);
	assert_int_equal(r.verdict, FL_BETTER);
	p.var_image = 0.06 * 0.06;
	fl_stats_compare(a, 12, b, 12, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	assert_true(r.p < 0.001 && r.p_t > 0.05);
	/* Known from few images it counts for more. */
	p.df_image = 3;
	fl_stats_compare(a, 12, b, 12, &p, &u);
	assert_true(u.p_t > r.p_t && u.hi > r.hi);
	/* Little more than 3 df, of which Student's t has a closed form. */
	x = u.effect / sqrt(2 * 0.0036 + 0.0001 / 6) / sqrt(3);
	assert_near(u.p_t, 1 - 2 / M_PI * (atan(x) + x / (1 + x * x)), 0.003);
}

/* Fast boots at 3, slow ones 0.4 above; each with a little noise. */
static void modal(double *v, size_t n, size_t slow, double shift)
{
	for (size_t i = 0; i < n; i++)
		v[i] = 3 + shift + 0.01 * gauss() + (i < slow ? 0.4 : 0);
}

static void modes_in_verdict(void **state)
{
	struct fl_modes modes = { 1, 0.2, 0, 0.4, 0.2, 0.01, 0.05 };
	struct fl_compare_params p = wall();
	struct fl_compare_result r;
	double a[10], b[10];

	(void)state;
	rng = 12;
	p.delta = 0.02;
	modal(a, 10, 2, 0);
	modal(b, 10, 3, 0.06);
	fl_stats_compare(a, 10, b, 10, &p, &r);
	assert_int_equal(r.verdict, FL_UNCLEAR);
	p.modes = &modes;
	fl_stats_compare(a, 10, b, 10, &p, &r);
	assert_int_equal(r.verdict, FL_BETTER);
	assert_int_equal((int)r.upper_a, 2);
	assert_int_equal((int)r.upper_b, 3);
	assert_int_equal(r.by_modes, 0);
	assert_near(r.effect, 0.06, 0.01);
	/* Nothing moved but the share of slow boots. */
	modal(a, 10, 0, 0);
	modal(b, 10, 9, 0);
	fl_stats_compare(a, 10, b, 10, &p, &r);
	assert_int_equal(r.shift, 1);
	assert_int_equal(r.by_modes, 1);
	assert_true(r.p_modes < 0.001);
	assert_near(r.effect, 0.36, 0.02);
	/* All in one mode is not a mode's change but a level's. */
	modal(a, 10, 0, 0);
	modal(b, 10, 0, 0.1);
	fl_stats_compare(a, 10, b, 10, &p, &r);
	assert_int_equal(r.shift, 1);
	assert_int_equal(r.by_modes, 0);
}

/* Swapping the sides turns every sign; a common factor changes nothing. */
static void symmetries(void **state)
{
	struct fl_modes modes = { 1, 0.2, 0, 0.4, 0.2, 0.05, 0.1 };
	static const enum fl_verdict swapped[] = { [FL_SAME] = FL_SAME,
						   [FL_BETTER] = FL_WORSE,
						   [FL_WORSE] = FL_BETTER,
						   [FL_UNCLEAR] = FL_UNCLEAR };
	int id[] = { 1, 1, 2, 2, 3, 3, 3 }, seen[4] = { 0 };

	(void)state;
	rng = 99;
	for (int i = 0; i < 300; i++) {
		struct fl_compare_params p = wall();
		struct fl_compare_result r, s, u;
		double a[7], b[7], a2[7], b2[7];

		draw(a, 7, 3, 0.04);
		draw(b, 7, 3 + (i % 3) * 0.08, 0.01 + 0.03 * (i % 2));
		for (int k = 0; k < 7; k++) {
			a[k] += k == i % 7 && i % 4 > 1 ? 0.4 : 0;
			a2[k] = a[k] - 11;
			b2[k] = b[k] - 11;
		}
		p.looks = i % 5 ? NULL : &fl_looks_default;
		p.block_a = p.block_b = i % 3 ? id : NULL;
		p.modes = i % 4 > 1 ? &modes : NULL;
		fl_stats_compare(a, 7, b, 6, &p, &r);
		fl_stats_compare(b, 6, a, 7, &p, &s);
		fl_stats_compare(a2, 7, b2, 6, &p, &u);
		seen[r.verdict]++;
		assert_int_equal(s.verdict, swapped[r.verdict]);
		assert_near(s.effect, -r.effect, 1e-12);
		assert_near(s.lo, -r.hi, 1e-12);
		assert_near(s.p, r.p, 1e-12);
		assert_near(s.p_t, r.p_t, 1e-12);
		assert_int_equal(u.verdict, r.verdict);
		assert_near(u.effect, r.effect, 1e-12);
		assert_near(u.p, r.p, 1e-12);
		assert_near(u.hi, r.hi, 1e-9);
	}
	for (int v = FL_SAME; v <= FL_UNCLEAR; v++)
		assert_true(v == FL_WORSE || seen[v] > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_by_hand),
		cmocka_unit_test(blocks_by_brute_force),
		cmocka_unit_test(blocked_t),
		cmocka_unit_test(looks),
		cmocka_unit_test(looks_in_verdict),
		cmocka_unit_test(looking_costs_no_more_than_alpha),
		cmocka_unit_test(no_spread),
		cmocka_unit_test(bad_input),
		cmocka_unit_test(blocks_in_verdict),
		cmocka_unit_test(prior_in_doubt),
		cmocka_unit_test(images_in_verdict),
		cmocka_unit_test(modes_in_verdict),
		cmocka_unit_test(symmetries),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * daemon/stats, history: the partition against brute force, steps, spikes and
 * suspects in their places, invariance, hostile input, time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include "../../daemon/stats/detect.h"
#include "../../daemon/stats/partition.h"
#include "../../daemon/util/err.h"
#include "random.h"

#define MAX 2000

static void assert_near(double a, double b, double tol)
{
	if (!(fabs(a - b) <= tol))
		fail_msg("%.12g is not %.12g within %g", a, b, tol);
}

/* ---- partition ---------------------------------------------------------- */

static double plain_sse(const double *y, size_t from, size_t to)
{
	double mean = 0, s = 0;

	for (size_t i = from; i < to; i++)
		mean += y[i] / (double)(to - from);
	for (size_t i = from; i < to; i++)
		s += (y[i] - mean) * (y[i] - mean);
	return s;
}

/* The least cost over all partitions, trying every last cut. */
static double brute_cost(const double *y, size_t n, double penalty)
{
	double best[128];

	best[0] = -penalty;
	for (size_t t = 1; t <= n; t++) {
		best[t] = INFINITY;
		for (size_t s = 0; s + FL_PARTITION_MIN <= t; s++)
			best[t] = fmin(best[t],
				       best[s] + penalty + plain_sse(y, s, t));
	}
	return best[n];
}

static double cost_of(const double *y, size_t n, const size_t *cuts, size_t k,
		      double penalty)
{
	double cost = (double)k * penalty;

	for (size_t i = 0; i <= k; i++) {
		size_t from = i ? cuts[i - 1] : 0, to = i < k ? cuts[i] : n;

		assert_true(to >= from + FL_PARTITION_MIN);
		cost += plain_sse(y, from, to);
	}
	return cost;
}

static void partition_is_optimal(void **state)
{
	size_t cuts[128], with_cuts = 0;

	(void)state;
	rng = 4711;
	for (int trial = 0; trial < 3000; trial++) {
		size_t n = FL_PARTITION_MIN + (size_t)below(60), k;
		double y[64], level = 0, penalty = 0.5 + 20 * uniform();
		struct fl_sums s;

		for (size_t i = 0; i < n; i++) {
			if (uniform() < 0.1)
				level = 4 * gauss();
			y[i] = level + gauss();
			if (trial % 3 == 0)
				y[i] = round(y[i]); /* ties */
		}
		fl_sums_init(&s, y, n);
		k = fl_partition(&s, penalty, cuts);
		assert_near(cost_of(y, n, cuts, k, penalty),
			    brute_cost(y, n, penalty), 1e-9);
		with_cuts += k > 0;
		fl_sums_clear(&s);
	}
	assert_true(with_cuts > 1000);
}

/* ---- detect -------------------------------------------------------------- */

static struct fl_detection found;

static int clear(void **state)
{
	(void)state;
	fl_detection_clear(&found);
	return 0;
}

/* What always holds. */
static void check(const struct fl_detection *d, size_t n)
{
	size_t used = 0, at = 0;

	assert_int_equal(d->n, n);
	assert_int_equal(d->nsegments,
			 d->missing < n ? d->nchanges + 1 : d->nchanges);
	assert_true(d->sigma >= 0 && d->rho >= 0 && d->rho <= 0.9);
	for (size_t i = 0; i < d->nsegments; i++) {
		const struct fl_segment *g = &d->segments[i];

		assert_int_equal(g->from, at);
		assert_true(g->to > g->from && g->n <= g->to - g->from);
		assert_true(isfinite(g->level) && g->sd >= 0);
		at = g->to;
		used += g->n;
	}
	if (d->nsegments)
		assert_int_equal(at, n);
	for (size_t i = 0; i < d->nchanges; i++) {
		const struct fl_change *c = &d->changes[i];

		assert_int_equal(c->at, d->segments[i + 1].from);
		assert_true(c->lo <= c->at && c->at <= c->hi && c->hi < n);
		assert_true(c->effect_lo <= c->effect &&
			    c->effect <= c->effect_hi);
		assert_true(c->p >= 0 && c->p < FL_DETECT_ALPHA);
		assert_near(c->effect,
			    d->segments[i + 1].level - d->segments[i].level,
			    1e-6 * fabs(c->effect));
	}
	for (size_t i = 0; i < d->nspikes; i++)
		assert_true(d->spikes[i].at < n &&
			    (!i || d->spikes[i].at > d->spikes[i - 1].at));
	assert_true(used + d->nspikes + d->suspect.n + d->missing >= n);
	assert_true(d->suspect.n <= 2);
	if (d->suspect.n)
		assert_true(d->suspect.at < n && d->suspect.at + 2 <= n + 1);
}

static void look(const double *y, size_t n, double floor, double delta)
{
	struct fl_detect_params p = { floor, delta };

	fl_detection_clear(&found);
	fl_detect(y, n, &p, &found);
	check(&found, n);
}

static void noise(double *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = gauss();
}

static void steps_are_found(void **state)
{
	double y[120];

	(void)state;
	rng = 0x5eed5ull * 0x9e3779b9;
	noise(y, 120);
	for (int i = 40; i < 120; i++)
		y[i] += i < 80 ? 5 : 2;
	look(y, 120, 0, 0);
	assert_int_equal(found.nchanges, 2);
	assert_int_equal(found.changes[0].at, 40);
	assert_in_range(found.changes[1].at, 77, 83);
	assert_true(found.changes[1].lo <= 80 && found.changes[1].hi >= 80);
	assert_near(found.changes[0].effect, 5, 0.8);
	assert_near(found.sigma, 1, 0.35);
	assert_int_equal(found.suspect.n, 0);
	/* a step of 3 does not matter to who asks for 4 */
	look(y, 120, 0, 4);
	assert_int_equal(found.nchanges, 2);
	assert_int_equal(found.changes[0].at, 40);
	assert_false(found.changes[0].small);
	assert_true(found.changes[1].small);
	for (int i = 0; i < 40; i++)
		y[i] = y[i + 40]; /* now the small one is alone */
	look(y, 120, 0, 4);
	assert_int_equal(found.nchanges, 1);
	assert_true(found.changes[0].small);
	/* two small ones close together are one large one */
	for (int i = 0; i < 120; i++)
		y[i] += i < 60 ? -6 : i < 64 ? -3 : i < 80 ? 0 : 3;
	look(y, 120, 0, 4);
	assert_int_equal(found.nchanges, 1);
	assert_false(found.changes[0].small);
}

static void two_levels_without_noise(void **state)
{
	double y[20];

	(void)state;
	for (int i = 0; i < 20; i++)
		y[i] = i < 13 ? 7 : 7.001;
	look(y, 20, 0, 0);
	assert_int_equal(found.nchanges, 1);
	assert_int_equal(found.changes[0].at, 13);
	assert_int_equal(found.changes[0].lo, 13);
	assert_int_equal(found.changes[0].hi, 13);
	assert_near(found.sigma, 0, 0);
	/* unless the recipe is known to scatter more than that */
	look(y, 20, 0.002, 0);
	assert_int_equal(found.nchanges, 0);
	assert_near(found.sigma, 0.002, 0);
}

static void spikes_stand_apart(void **state)
{
	double y[100];

	(void)state;
	rng = 0x5eed6ull * 0x9e3779b9;
	noise(y, 100);
	y[0] = -30;
	y[50] = 20;
	y[51] = 25; /* two in a row are two spikes, no level */
	look(y, 100, 0, 0);
	assert_int_equal(found.nchanges, 0);
	assert_int_equal(found.nspikes, 3);
	assert_int_equal(found.spikes[0].at, 0);
	assert_int_equal(found.spikes[1].at, 50);
	assert_int_equal(found.spikes[2].at, 51);
	assert_near(found.spikes[1].effect, 20, 1);
	assert_near(found.segments[0].level, 0, 0.4);
}

static void newest_values_are_suspects(void **state)
{
	double y[100];

	(void)state;
	rng = 0x5eed8ull * 0x9e3779b9;
	noise(y, 100);
	for (int n = 1; n <= 4; n++) {
		y[100 - n] += 12;
		look(y, 100, 0, 0);
		assert_int_equal(found.nspikes, 0);
		if (n <= 2) {
			assert_int_equal(found.nchanges, 0);
			assert_int_equal(found.suspect.n, n);
			assert_int_equal(found.suspect.at, 100 - n);
			assert_near(found.suspect.effect, 12, 2);
			assert_true(found.suspect.p < FL_DETECT_ALPHA);
		} else {
			assert_int_equal(found.suspect.n, 0);
			assert_int_equal(found.nchanges, 1);
			assert_int_equal(found.changes[0].at, 100 - n);
		}
	}
	/* the last but one is as it should be */
	noise(y, 100);
	y[98] = 0.5;
	y[99] = 12;
	look(y, 100, 0, 0);
	assert_int_equal(found.suspect.at, 99);
	assert_int_equal(found.suspect.n, 1);
	/* smaller than what matters */
	noise(y, 100);
	y[99] = 12;
	look(y, 100, 0, 15);
	assert_int_equal(found.suspect.n, 0);
	/* this has happened often: no news */
	for (int i = 9; i < 99; i += 15)
		y[i] = 14;
	look(y, 100, 0, 0);
	assert_int_equal(found.suspect.n, 0);
	assert_int_equal(found.spikes[found.nspikes - 1].at, 99);
}

static void missing_values_keep_their_places(void **state)
{
	double y[60], z[120];

	(void)state;
	rng = 0x5eed9ull * 0x9e3779b9;
	for (int i = 0; i < 60; i++)
		y[i] = gauss() + (i >= 30 ? 8 : 0) + (i == 10 ? 30 : 0);
	for (int i = 0; i < 120; i++)
		z[i] = i % 2 ? y[i / 2] :
		       i % 4 ? NAN :
		       i % 8 ? INFINITY :
			       -DBL_MAX;
	look(y, 60, 0, 0);
	assert_int_equal(found.changes[0].at, 30);
	look(z, 120, 0, 0);
	assert_int_equal(found.missing, 60);
	assert_int_equal(found.nchanges, 1);
	assert_int_equal(found.changes[0].at, 61);
	assert_int_equal(found.nspikes, 1);
	assert_int_equal(found.spikes[0].at, 21);
}

/* Other units and another zero change the figures and not the findings. */
static void units_do_not_matter(void **state)
{
	static const double units[][2] = {
		{ 1e-9, 0 }, { -3, 7 }, { 1e6, 1e7 }, { 0.01, 1 }
	};
	double y[300], z[300];
	int checked = 0;

	(void)state;
	rng = 0x5eed10ull * 0x9e3779b9;
	for (int trial = 0; trial < 100; trial++) {
		struct fl_detection plain;
		double level = 0;

		for (int i = 0; i < 300; i++) {
			if (uniform() < 0.02)
				level = 3 * gauss();
			y[i] = level + gauss() + (uniform() < 0.01 ? 15 : 0);
		}
		look(y, 300, 0.5, 1);
		plain = found;
		found = (struct fl_detection){ 0 };
		for (size_t u = 0; u < FL_ARRAY_SIZE(units); u++) {
			double by = units[u][0];

			for (int i = 0; i < 300; i++)
				z[i] = by * y[i] + units[u][1];
			look(z, 300, 0.5 * fabs(by), fabs(by));
			assert_int_equal(found.nchanges, plain.nchanges);
			assert_int_equal(found.nspikes, plain.nspikes);
			assert_int_equal(found.suspect.n, plain.suspect.n);
			for (size_t i = 0; i < plain.nchanges; i++) {
				assert_int_equal(found.changes[i].at,
						 plain.changes[i].at);
				assert_near(found.changes[i].effect / by,
					    plain.changes[i].effect, 1e-6);
				checked++;
			}
		}
		fl_detection_clear(&plain);
	}
	assert_true(checked > 1000);
}

static void hostile(void **state)
{
	static const double bad[] = { NAN,	INFINITY, -INFINITY, DBL_MAX,
				      -DBL_MAX, 1e100,	  -1e100,    5e-324,
				      -DBL_MIN, 0,	  -0.0,	     1e16 };
	static double y[MAX];

	(void)state;
	look(NULL, 0, 0, 0);
	assert_int_equal(found.nsegments, 0);
	rng = 0x5eed11ull * 0x9e3779b9;
	for (int trial = 0; trial < 20000; trial++) {
		size_t n = (size_t)below(40);
		double mix = uniform(), by = pow(10, 300 * uniform() - 200);

		for (size_t i = 0; i < n; i++)
			y[i] = uniform() < mix ?
				       bad[below((int)FL_ARRAY_SIZE(bad))] :
				       by * round(2 * gauss());
		look(y, n, bad[below((int)FL_ARRAY_SIZE(bad))],
		     bad[below((int)FL_ARRAY_SIZE(bad))]);
	}
	for (int kind = 0; kind < 6; kind++) {
		for (int i = 0; i < MAX; i++)
			y[i] = kind == 0 ? 42 :
			       kind == 1 ? i :
			       kind == 2 ? i % 2 :
			       kind == 3 ? i / 20 :
			       kind == 4 ? exp(i * 0.1) :
					   (i ? y[i - 1] + gauss() : 0);
		look(y, MAX, 0, 0);
		if (kind == 0)
			assert_int_equal(found.nchanges, 0);
		if (kind == 3)
			assert_int_equal(found.nchanges, MAX / 20 - 1);
	}
}

static void few_false_alarms(void **state)
{
	static double y[1000];
	size_t alarms = 0, suspects = 0;

	(void)state;
	rng = 0x5eed12ull * 0x9e3779b9;
	for (int trial = 0; trial < 200; trial++) {
		noise(y, 1000);
		look(y, 1000, 0, 0);
		alarms += found.nchanges;
		suspects += found.suspect.n > 0;
	}
	/* at most 0.3 per 1,000 values */
	assert_true(alarms <= 60);
	assert_true(suspects <= 4);
}

/* Correlated neighbours make runs that look like levels. */
static void drifting_noise(void **state)
{
	static double y[1000];
	size_t alarms = 0;
	double rho = 0;

	(void)state;
	rng = 0x5eed13ull * 0x9e3779b9;
	for (int trial = 0; trial < 50; trial++) {
		y[0] = gauss();
		for (int i = 1; i < 1000; i++)
			y[i] = 0.6 * y[i - 1] + 0.8 * gauss();
		look(y, 1000, 0, 0);
		alarms += found.nchanges;
		rho += found.rho / 50;
	}
	assert_true(alarms <= 25);
	assert_near(rho, 0.6, 0.08);
}

static void long_series_are_quick(void **state)
{
	size_t n = 200000;
	_cleanup_free_ double *y = fl_calloc(n, sizeof(*y));
	clock_t start;

	(void)state;
	rng = 0x5eed14ull * 0x9e3779b9;
	noise(y, n);
	start = clock();
	look(y, n, 0, 0);
	/* 0.4 s; a search over all cuts would take a minute */
	assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(partition_is_optimal),
		cmocka_unit_test_teardown(steps_are_found, clear),
		cmocka_unit_test_teardown(two_levels_without_noise, clear),
		cmocka_unit_test_teardown(spikes_stand_apart, clear),
		cmocka_unit_test_teardown(newest_values_are_suspects, clear),
		cmocka_unit_test_teardown(missing_values_keep_their_places,
					  clear),
		cmocka_unit_test_teardown(units_do_not_matter, clear),
		cmocka_unit_test_teardown(hostile, clear),
		cmocka_unit_test_teardown(few_false_alarms, clear),
		cmocka_unit_test_teardown(drifting_noise, clear),
		cmocka_unit_test_teardown(long_series_are_quick, clear),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

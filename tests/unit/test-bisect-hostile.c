// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bisect/: hostile input. Random graphs, noise models, periods and values
 * that are equal, tiny, huge or both: with a prior variance above zero no
 * weight may become infinite or NaN, and every hunt must end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include "../../bisect/hunt.h"
#include "../../daemon/util/err.h"
#include "random.h"

#define MAXN 40

struct range {
	int n;
	struct fl_bisect_commit commits[MAXN];
	int parents[MAXN][2];
};

/* Any topological order that leads to the last commit. */
static void range_random(struct range *r)
{
	bool has_child[MAXN] = { false };

	memset(r, 0, sizeof(*r));
	r->n = 2 + below(MAXN - 2);
	for (int i = 0; i < r->n; i++) {
		r->commits[i].parents = r->parents[i];
		r->commits[i].prior = below(5) ? uniform() : 0;
		if (!i)
			continue;
		r->parents[i][0] = below(3) ? i - 1 : below(i);
		r->commits[i].nparents = 1;
		has_child[r->parents[i][0]] = true;
		/* What nobody has built on is merged. */
		if (!has_child[i - 1] || !below(4)) {
			r->parents[i][1] = has_child[i - 1] ? below(i) : i - 1;
			r->commits[i].nparents = 2;
			has_child[r->parents[i][1]] = true;
		}
	}
	r->commits[r->n - 1].prior = 1;
}

static double hostile(void)
{
	static const double v[] = {
		0,    5e-324, DBL_MIN, 1e-160, DBL_EPSILON, 1, 1 + DBL_EPSILON,
		8.13, 745,    1e15,    1e80,   1e100
	};
	double y = v[below((int)FL_ARRAY_SIZE(v))];

	switch (below(4)) {
	case 0:
		return -y;
	case 1:
		return gauss();
	default:
		return y;
	}
}

static struct fl_bisect_noise hostile_noise(void)
{
	static const double s0[] = { DBL_MIN, 1e-200, 4e-10, 1, 1e100, 1e200 };
	static const double nu[] = { 0, 0.5, 4, 1e6 };
	static const double lambda[] = { 0, 0.1, 100, 1e12 };

	return (struct fl_bisect_noise){
		s0[below((int)FL_ARRAY_SIZE(s0))],
		nu[below((int)FL_ARRAY_SIZE(nu))],
		lambda[below((int)FL_ARRAY_SIZE(lambda))],
	};
}

static void assert_posterior(const double *post, int n)
{
	double sum = 0;

	for (int c = 0; c < n; c++) {
		if (!(isfinite(post[c]) && post[c] >= 0))
			fail_msg("weight %d of %d is %g", c, n, post[c]);
		sum += post[c];
	}
	if (!(fabs(sum - 1) < 1e-9))
		fail_msg("weights sum to %.12g", sum);
}

static void assert_engine(struct fl_bisect *b, int n)
{
	struct fl_bisect_levels l;
	int next[5], k, out[MAXN];
	double mass;

	fl_bisect_update(b);
	assert_posterior(fl_bisect_posterior(b), n);
	fl_bisect_get_levels(b, &l);
	assert_false(isnan(l.sigma) || isnan(l.t) || isnan(l.drift));
	k = fl_bisect_next(b, 5, next);
	for (int i = 0; i < k; i++)
		assert_in_range(next[i], 0, n - 1);
	k = fl_bisect_answer(b, MAXN, out, &mass);
	assert_in_range(k, 0, n - 1);
	assert_true(mass >= 0 && mass <= 1);
	for (int i = 0; i < n; i++)
		assert_true(fl_bisect_p_bad(b, i) >= 0);
}

static void engine_stays_finite(void **state)
{
	(void)state;
	rng = 41;
	for (int round = 0; round < 600; round++) {
		struct fl_bisect_noise noise = hostile_noise();
		struct fl_bisect_params p = { .exact = round % 2,
					      .confidence = 0.95,
					      .gate_min_boots = 1 + below(3),
					      .gate_max_boots = 20,
					      .gate_t = below(5) };
		double same = hostile();
		struct fl_bisect *b;
		struct range r;

		range_random(&r);
		b = fl_bisect_new(r.commits, r.n, &noise, &p);
		assert_non_null(b);
		for (int i = 0; i < 20; i++) {
			int x = below(3) ? below(r.n) : below(2) * (r.n - 1);

			if (!below(6))
				fl_bisect_period(b, i / 3);
			if (!below(9))
				fl_bisect_skip(b, x);
			else
				fl_bisect_add(b, x,
					      round % 3 ? hostile() : same);
			assert_engine(b, r.n);
		}
		fl_bisect_free(b);
	}
}

static void assert_culprits(const struct fl_hunt *h, int n)
{
	int count;
	const struct fl_hunt_culprit *c = fl_hunt_culprits(h, &count);

	for (int i = 0; i < count; i++) {
		assert_in_range(c[i].commit, 1, n - 1);
		assert_in_range(c[i].nset, 1, n - 1);
		assert_true(c[i].confidence >= 0 && c[i].confidence <= 1);
		assert_false(c[i].verified && c[i].parent < 0);
		if (c[i].parent < 0)
			continue;
		assert_in_range(c[i].parent, 0, n - 1);
		assert_true(isfinite(c[i].effect));
		assert_true(c[i].lo <= c[i].effect && c[i].effect <= c[i].hi);
		/* NaN only where the whole change is nil. */
		assert_false(c[i].share_lo > c[i].share_hi);
	}
}

static void hunts_end(void **state)
{
	(void)state;
	rng = 43;
	for (int round = 0; round < 400; round++) {
		struct fl_bisect_noise noise = hostile_noise();
		struct fl_hunt_params p = {
			.search = { .exact = round % 2,
				    .confidence = 0.95,
				    .gate_min_boots = 1 + below(4),
				    .gate_max_boots = 8,
				    .gate_t = below(5),
				    .max_runs = 60 + below(100) },
			.verify_boots = 1 + below(4),
			.verify_p = below(3) ? 0.05 : 1,
			.rest = 0.3 * uniform(),
			.max_culprits = 1 + below(4),
			.recheck = below(3) * 5 - 1,
		};
		struct fl_hunt_ask ask[4];
		struct range r;
		struct fl_hunt *h;
		int asked = 0, k;

		range_random(&r);
		h = fl_hunt_new(r.commits, r.n, &noise, &p);
		assert_non_null(h);
		while (fl_hunt_update(h) != FL_HUNT_DONE) {
			assert_posterior(fl_hunt_posterior(h), r.n);
			k = fl_hunt_next(h, 1 + below(4), ask);
			assert_true(k > 0);
			for (int i = 0; i < k; i++) {
				if (!below(30))
					fl_hunt_skip(h, ask[i].commit);
				else
					fl_hunt_add(h, ask[i].commit,
						    ask[i].role, hostile());
			}
			assert_in_range(++asked, 1, 400);
		}
		assert_int_not_equal(fl_hunt_ended(h), FL_HUNT_OPEN);
		assert_int_equal(fl_hunt_next(h, 4, ask), 0);
		assert_culprits(h, r.n);
		fl_hunt_free(h);
	}
}

static void nonsense_is_refused(void **state)
{
	struct fl_bisect_noise noise = { 1, 1, 0 };
	struct fl_hunt_params p = { .search = { .confidence = 0.95 } };
	struct range r;
	struct fl_hunt *h;

	(void)state;
	range_random(&r);
	h = fl_hunt_new(r.commits, r.n, &noise, &p);
	assert_int_equal(fl_hunt_add(h, -1, FL_HUNT_SEARCH, 1), -1);
	assert_int_equal(fl_hunt_add(h, r.n, FL_HUNT_VERIFY, 1), -1);
	assert_int_equal(fl_hunt_add(h, 0, FL_HUNT_SEARCH, NAN), -1);
	assert_int_equal(fl_hunt_add(h, 0, FL_HUNT_SEARCH, -HUGE_VAL), -1);
	assert_int_equal(fl_hunt_boots(h), 0);
	fl_hunt_skip(h, r.n);
	fl_hunt_cost(h, -1, 1, 1);
	fl_hunt_pending(h, r.n, FL_HUNT_SEARCH, 1);
	fl_hunt_free(h);
	noise.s0sq = 0;
	assert_null(fl_hunt_new(r.commits, r.n, &noise, &p));
	fl_hunt_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engine_stays_finite),
		cmocka_unit_test(hunts_end),
		cmocka_unit_test(nonsense_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

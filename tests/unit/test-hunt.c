// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bisect/hunt: whole hunts with simulated boots: one and several culprits,
 * sets, rejected candidates, budgets, restarts, and what verification says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "../../bisect/hunt-internal.h"
#include "../../daemon/util/err.h"
#include "random.h"

#define MAXN 256

static void assert_near(double a, double b, double tol)
{
	if (!(fabs(a - b) <= tol))
		fail_msg("%.12g is not %.12g within %g", a, b, tol);
}

struct sim {
	int n;
	struct fl_bisect_commit commits[MAXN];
	int parents[MAXN][2];
	bool broken[MAXN];
	double step[MAXN]; /* what a commit adds */
	double level[MAXN], sd;
	struct fl_hunt *h;
	struct fl_hunt_params p;
	struct fl_bisect_noise noise;
	int boots;
};

static void sim_line(struct sim *s, int n)
{
	memset(s, 0, sizeof(*s));
	s->n = n;
	for (int i = 0; i < n; i++) {
		s->parents[i][0] = i - 1;
		s->commits[i].parents = s->parents[i];
		s->commits[i].nparents = i > 0;
		s->commits[i].prior = 1;
	}
}

static void sim_exact(struct sim *s)
{
	s->p = (struct fl_hunt_params){ .search = { .exact = true,
						    .confidence = 0.95,
						    .min_effect = 0.0005,
						    .gate_min_boots = 2,
						    .gate_max_boots = 2 },
					.verify_boots = 2,
					.verify_p = 0.01,
					.rest = 0.2,
					.max_culprits = 4 };
	s->noise = (struct fl_bisect_noise){ 4e-10, 4, 0 };
	s->sd = 2e-5;
}

static void sim_wall(struct sim *s)
{
	s->p = (struct fl_hunt_params){ .search = { .confidence = 0.95,
						    .gate_min_boots = 5,
						    .gate_max_boots = 20,
						    .gate_t = 4,
						    .max_runs = 400 },
					.verify_boots = 8,
					.verify_p = 0.01,
					.rest = 0.2,
					.max_culprits = 4 };
	s->noise = (struct fl_bisect_noise){ 2.25, 1, 0 };
	s->sd = 1;
}

/* What each commit is worth: the steps of all that it contains. */
static void sim_start(struct sim *s)
{
	bool *has = test_malloc((size_t)s->n * sizeof(bool));

	for (int x = 0; x < s->n; x++)
		s->level[x] = 8.1;
	for (int c = 0; c < s->n; c++) {
		memset(has, 0, (size_t)s->n * sizeof(bool));
		has[c] = true;
		for (int x = c; x < s->n && s->step[c] != 0; x++) {
			for (int k = 0; k < s->commits[x].nparents; k++)
				has[x] |= has[s->parents[x][k]];
			s->level[x] += has[x] ? s->step[c] : 0;
		}
	}
	test_free(has);
	fl_hunt_free(s->h);
	s->h = fl_hunt_new(s->commits, s->n, &s->noise, &s->p);
	assert_non_null(s->h);
	s->boots = 0;
}

static void answer(struct sim *s, const struct fl_hunt_ask *a)
{
	assert_in_range(a->commit, 0, s->n - 1);
	if (s->broken[a->commit]) {
		fl_hunt_skip(s->h, a->commit);
		return;
	}
	s->boots++;
	assert_int_equal(fl_hunt_add(s->h, a->commit, a->role,
				     s->level[a->commit] + s->sd * gauss()),
			 0);
}

static enum fl_hunt_end hunt(struct sim *s, int machines)
{
	struct fl_hunt_ask ask[8];

	for (int round = 0; round < 3000; round++) {
		enum fl_hunt_state st = fl_hunt_update(s->h);
		int k = fl_hunt_next(s->h, machines, ask);

		assert_int_equal(k == 0, st == FL_HUNT_DONE);
		assert_int_equal(fl_hunt_ended(s->h) == FL_HUNT_OPEN, k > 0);
		if (!k) {
			assert_int_equal(fl_hunt_boots(s->h), s->boots);
			return fl_hunt_ended(s->h);
		}
		for (int i = 0; i < k; i++)
			answer(s, &ask[i]);
	}
	fail_msg("the hunt does not end");
	return FL_HUNT_OPEN;
}

static const struct fl_hunt_culprit *only(const struct sim *s)
{
	int n;
	const struct fl_hunt_culprit *c = fl_hunt_culprits(s->h, &n);

	assert_int_equal(n, 1);
	return c;
}

static void sim_clear(struct sim *s)
{
	fl_hunt_free(s->h);
	s->h = NULL;
}

static void exact_single(void **state)
{
	const struct fl_hunt_culprit *c;
	struct sim s;

	(void)state;
	sim_line(&s, 200);
	sim_exact(&s);
	for (int at = 1; at < 200; at += 6) {
		s.step[at] = at % 2 ? 0.01 : -0.01;
		sim_start(&s);
		assert_int_equal(hunt(&s, 1), FL_HUNT_FOUND);
		c = only(&s);
		assert_int_equal(c->commit, at);
		assert_true(c->verified && c->nset == 1 && c->set[0] == at);
		assert_int_equal(c->parent, at - 1);
		assert_near(c->effect, s.step[at], 2e-4);
		assert_near(c->share, 1, 0.02);
		assert_true(c->share_lo < c->share && c->share < c->share_hi);
		/* log2, the ends, and two boots of each side. */
		assert_in_range(s.boots, 8, 4 + 4 + 11);
		s.step[at] = 0;
	}
	sim_clear(&s);
}

static void does_not_reproduce(void **state)
{
	struct sim s;
	int n;

	(void)state;
	sim_line(&s, 30);
	sim_exact(&s);
	sim_start(&s);
	assert_int_equal(hunt(&s, 1), FL_HUNT_DOES_NOT_REPRODUCE);
	fl_hunt_culprits(s.h, &n);
	assert_int_equal(n, 0);
	assert_int_equal(s.boots, 4);
	s.broken[29] = true;
	sim_start(&s);
	assert_int_equal(hunt(&s, 1), FL_HUNT_UNTESTABLE);
	sim_clear(&s);
}

static void unbuildable_neighbours(void **state)
{
	const struct fl_hunt_culprit *c;
	struct sim s;

	(void)state;
	sim_line(&s, 64);
	sim_exact(&s);
	s.step[31] = 0.02;
	s.broken[30] = s.broken[31] = true;
	sim_start(&s);
	assert_int_equal(hunt(&s, 1), FL_HUNT_SET);
	c = only(&s);
	assert_int_equal(c->nset, 3);
	assert_false(c->verified);
	assert_int_equal(c->parent, 29);
	assert_near(c->effect, 0.02, 2e-4);
	/* The first commit that boots after a break is told apart from it by
	 * nothing; the one after that is. */
	s.step[31] = 0;
	s.step[33] = 0.02;
	sim_start(&s);
	assert_int_equal(hunt(&s, 1), FL_HUNT_FOUND);
	c = only(&s);
	assert_int_equal(c->commit, 33);
	assert_int_equal(c->parent, 32);
	sim_clear(&s);
}

static void noisy_single(void **state)
{
	struct sim s;
	int right = 0, wrong = 0;

	(void)state;
	rng = 77;
	sim_line(&s, 200);
	sim_wall(&s);
	for (int trial = 0; trial < 60; trial++) {
		int at = 1 + below(199), n;
		const struct fl_hunt_culprit *c;

		s.step[at] = trial % 2 ? 3 : -3;
		sim_start(&s);
		hunt(&s, 1 + trial % 3);
		c = fl_hunt_culprits(s.h, &n);
		for (int i = 0; i < n; i++) {
			right += c[i].commit == at;
			wrong += c[i].commit != at;
		}
		s.step[at] = 0;
	}
	assert_true(right >= 59);
	assert_true(wrong <= 1);
	sim_clear(&s);
}

/* All that was measured, added at once, gives the same answer. */
static void goes_on_after_a_restart(void **state)
{
	struct sim s;

	(void)state;
	rng = 5;
	sim_line(&s, 120);
	sim_wall(&s);
	s.step[40] = 3;
	s.step[90] = 3;
	s.broken[41] = s.broken[70] = true;
	sim_start(&s);
	hunt(&s, 1);
	for (int upto = 1; upto <= s.h->nlog; upto += 7) {
		struct fl_hunt *a = fl_hunt_new(s.commits, s.n, &s.noise, &s.p);
		struct fl_hunt *b = fl_hunt_new(s.commits, s.n, &s.noise, &s.p);
		struct fl_hunt_ask x[3], y[3];
		int k;

		for (int i = 0; i < upto; i++) {
			const struct fl_hunt_event *e = &s.h->log[i];

			if (e->skip) {
				fl_hunt_skip(a, e->commit);
				fl_hunt_skip(b, e->commit);
			} else {
				fl_hunt_add(a, e->commit, e->role, e->value);
				fl_hunt_add(b, e->commit, e->role, e->value);
			}
			fl_hunt_update(a);
		}
		assert_int_equal(fl_hunt_update(a), fl_hunt_update(b));
		k = fl_hunt_next(a, 3, x);
		assert_int_equal(fl_hunt_next(b, 3, y), k);
		for (int i = 0; i < k; i++) {
			assert_int_equal(x[i].commit, y[i].commit);
			assert_int_equal(x[i].role, y[i].role);
		}
		for (int i = 0; i < s.n; i++)
			assert_near(fl_hunt_posterior(a)[i],
				    fl_hunt_posterior(b)[i], 0);
		fl_hunt_free(a);
		fl_hunt_free(b);
	}
	sim_clear(&s);
}

static void numbers(void **state)
{
	double lo, hi;

	(void)state;
	/* Tables of Student's t. */
	assert_near(fl_hunt_t_quantile(0.05, 14), 2.1448, 2e-3);
	assert_near(fl_hunt_t_quantile(0.01, 14), 2.9768, 4e-3);
	assert_near(fl_hunt_t_quantile(0.05, 1e9), 1.95996, 1e-4);
	/* Without doubt about the divisor: the plain interval. */
	fl_hunt_ratio(1, 0.01, 2, 0, 2, &lo, &hi);
	assert_near(lo, 0.4, 1e-12);
	assert_near(hi, 0.6, 1e-12);
	/* Solves (x - r*y)^2 = t^2 * (vx + r^2 * vy). */
	fl_hunt_ratio(1, 0.01, 2, 0.04, 2, &lo, &hi);
	assert_near(pow(1 - 2 * lo, 2), 4 * (0.01 + lo * lo * 0.04), 1e-12);
	assert_near(pow(1 - 2 * hi, 2), 4 * (0.01 + hi * hi * 0.04), 1e-12);
	fl_hunt_ratio(1, 0.01, 0.1, 0.04, 2, &lo, &hi);
	assert_true(isinf(lo) && isinf(hi));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_single),
		cmocka_unit_test(does_not_reproduce),
		cmocka_unit_test(unbuildable_neighbours),
		cmocka_unit_test(noisy_single),
		cmocka_unit_test(goes_on_after_a_restart),
		cmocka_unit_test(numbers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

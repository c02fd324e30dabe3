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

static void several_on_a_line(void **state)
{
	static const double size[][3] = { { 0.01, 0.01, 0.01 },
					  { 0.01, 0.02, 0.04 },
					  { 0.03, -0.01, 0.02 } };
	struct sim s;

	(void)state;
	rng = 11;
	sim_line(&s, 250);
	sim_exact(&s);
	s.p.rest = 0.1;
	for (int trial = 0; trial < 60; trial++) {
		const struct fl_hunt_culprit *c;
		double share = 0;
		int at[3], n;

		at[0] = 1 + below(80);
		at[1] = at[0] + 1 + below(80);
		at[2] = at[1] + 1 + below(80);
		for (int i = 0; i < 3; i++)
			s.step[at[i]] = size[trial % 3][i];
		sim_start(&s);
		assert_int_equal(hunt(&s, 1 + trial % 2), FL_HUNT_FOUND);
		c = fl_hunt_culprits(s.h, &n);
		assert_int_equal(n, 3);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(c[i].commit, at[i]);
			assert_true(c[i].verified);
			assert_near(c[i].effect, s.step[at[i]], 2e-4);
			share += c[i].share;
			s.step[at[i]] = 0;
		}
		assert_near(share, 1, 0.02);
	}
	sim_clear(&s);
}

/*
 *  0 - 1 - 2 - 3 ------- 8 - 9 - 10 - 11
 *       \               /
 *        4 - 5 - 6 - 7
 */
static void sim_branch(struct sim *s)
{
	static const int first[12] = { 0, 0, 1, 2, 1, 4, 5, 6, 3, 8, 9, 10 };

	sim_line(s, 12);
	for (int i = 1; i < 12; i++)
		s->parents[i][0] = first[i];
	s->parents[8][1] = 7;
	s->commits[8].nparents = 2;
}

/* One step on the main line and one on a branch beside it: a boot of either
 * lacks the other, and still each is found. */
static void several_beside_each_other(void **state)
{
	const struct fl_hunt_culprit *c;
	struct sim s;
	int n;

	(void)state;
	sim_branch(&s);
	sim_exact(&s);
	for (int a = 2; a <= 3; a++)
		for (int b = 4; b <= 7; b++)
			for (int k = 1; k < 4; k++) {
				s.step[a] = 0.02 * (k & 1 ? 1 : 2);
				s.step[b] = 0.02 * (k & 2 ? 1 : 2);
				sim_start(&s);
				assert_int_equal(hunt(&s, 1), FL_HUNT_FOUND);
				c = fl_hunt_culprits(s.h, &n);
				assert_int_equal(n, 2);
				assert_int_equal(c[0].commit, a);
				assert_int_equal(c[1].commit, b);
				assert_true(c[0].verified && c[1].verified);
				s.step[a] = s.step[b] = 0;
			}
	/* The merge itself is one of two: neither parent has its step. */
	s.step[3] = 0.02;
	s.step[8] = 0.03;
	sim_start(&s);
	assert_int_equal(hunt(&s, 1), FL_HUNT_FOUND);
	c = fl_hunt_culprits(s.h, &n);
	assert_int_equal(n, 2);
	assert_int_equal(c[0].commit, 3);
	assert_int_equal(c[1].commit, 8);
	sim_clear(&s);
}

/* The merge of two steps differs from both of its parents, and yet it is
 * neither. */
static void a_merge_joins_two_steps(void **state)
{
	const struct fl_hunt_culprit *c;
	int wrong = 0, n;
	struct sim s;

	(void)state;
	rng = 61;
	sim_branch(&s);
	sim_wall(&s);
	s.step[2] = s.step[5] = 4;
	for (int trial = 0; trial < 200; trial++) {
		sim_start(&s);
		hunt(&s, 1);
		c = fl_hunt_culprits(s.h, &n);
		for (int i = 0; i < n; i++)
			wrong += c[i].verified && c[i].commit != 2 &&
				 c[i].commit != 5;
	}
	assert_in_range(wrong, 0, 2);
	sim_clear(&s);
}

static void merge_against_every_parent(void **state)
{
	const struct fl_hunt_culprit *c;
	int seen[12] = { 0 };
	struct sim s;

	(void)state;
	sim_branch(&s);
	sim_exact(&s);
	s.step[8] = -0.05;
	sim_start(&s);
	assert_int_equal(hunt(&s, 1), FL_HUNT_FOUND);
	c = only(&s);
	assert_int_equal(c->commit, 8);
	assert_true(c->verified);
	assert_true(c->parent == 3 || c->parent == 7);
	for (int i = 0; i < s.h->nlog; i++)
		seen[s.h->log[i].commit] += s.h->log[i].role == FL_HUNT_VERIFY;
	for (int i = 0; i < 12; i++)
		assert_int_equal(seen[i], i == 3 || i == 7 || i == 8 ? 2 : 0);
	sim_clear(&s);
}

static void no_more_than_asked_for(void **state)
{
	struct sim s;
	int n;

	(void)state;
	sim_line(&s, 100);
	sim_exact(&s);
	s.p.max_culprits = 1;
	s.step[20] = 0.03;
	s.step[70] = 0.02;
	sim_start(&s);
	assert_int_equal(hunt(&s, 1), FL_HUNT_PARTLY);
	assert_true(only(&s)->verified);
	/* A rest that small was not asked for. */
	s.p.max_culprits = 4;
	s.step[70] = 0.002;
	sim_start(&s);
	assert_int_equal(hunt(&s, 1), FL_HUNT_FOUND);
	assert_int_equal(only(&s)->commit, 20);
	assert_near(only(&s)->share, 0.9375, 0.01);
	s.p.rest = 0.02;
	sim_start(&s);
	assert_int_equal(hunt(&s, 1), FL_HUNT_FOUND);
	fl_hunt_culprits(s.h, &n);
	assert_int_equal(n, 2);
	sim_clear(&s);
}

/* Verification is interleaved, there and back, and nothing else is asked
 * meanwhile; what is under way counts. */
static void verification_alternates(void **state)
{
	static const int want[8] = { 39, 40, 40, 39, 39, 40, 40, 39 };
	struct fl_hunt_ask ask[40];
	struct sim s;
	int k;

	(void)state;
	rng = 9;
	sim_line(&s, 90);
	sim_wall(&s);
	s.step[40] = 8;
	sim_start(&s);
	while (fl_hunt_update(s.h) != FL_HUNT_VERIFYING) {
		assert_int_equal(fl_hunt_next(s.h, 1, ask), 1);
		assert_int_equal(ask[0].role, FL_HUNT_SEARCH);
		answer(&s, ask);
	}
	k = fl_hunt_next(s.h, 40, ask);
	assert_int_equal(k, 16);
	for (int i = 0; i < k; i++) {
		assert_int_equal(ask[i].role, FL_HUNT_VERIFY);
		assert_int_equal(ask[i].commit, want[i % 8]);
	}
	fl_hunt_pending(s.h, 39, FL_HUNT_VERIFY, 8);
	assert_int_equal(fl_hunt_next(s.h, 40, ask), 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(ask[i].commit, 40);
	fl_hunt_pending(s.h, 39, FL_HUNT_VERIFY, 0);
	sim_clear(&s);
}

/* The search is led to a commit that is no different: nobody is accused. */
static void rejected_candidates(void **state)
{
	struct fl_hunt_ask ask;
	int verified = 0, n;
	struct sim s;

	(void)state;
	sim_line(&s, 60);
	sim_exact(&s);
	s.step[25] = 0.02;
	sim_start(&s);
	while (fl_hunt_update(s.h) != FL_HUNT_DONE) {
		assert_int_equal(fl_hunt_next(s.h, 1, &ask), 1);
		s.boots++;
		verified += ask.role == FL_HUNT_VERIFY;
		/* Fresh boots of both sides agree. */
		fl_hunt_add(s.h, ask.commit, ask.role,
			    ask.role == FL_HUNT_VERIFY ? 8.11 + 1e-5 * gauss() :
							 s.level[ask.commit]);
		assert_in_range(s.boots, 1, 200);
	}
	assert_true(fl_hunt_ended(s.h) == FL_HUNT_NOT_VERIFIED ||
		    fl_hunt_ended(s.h) == FL_HUNT_SET);
	assert_in_range(verified, 4, 4 * (FL_HUNT_REJECTS + 1));
	fl_hunt_culprits(s.h, &n);
	for (int i = 0; i < n; i++)
		assert_false(fl_hunt_culprits(s.h, &n)[i].verified);
	sim_clear(&s);
}

/* A change in the other direction than the whole is no confirmation. */
static void wrong_direction(void **state)
{
	struct fl_hunt_ask ask;
	int n;
	struct sim s;

	(void)state;
	sim_line(&s, 30);
	sim_exact(&s);
	s.step[25] = 0.02;
	sim_start(&s);
	while (fl_hunt_update(s.h) != FL_HUNT_DONE) {
		double y;

		assert_int_equal(fl_hunt_next(s.h, 1, &ask), 1);
		y = s.level[ask.commit];
		if (ask.role == FL_HUNT_VERIFY)
			y = 16.2 - y;
		fl_hunt_add(s.h, ask.commit, ask.role, y);
		assert_in_range(fl_hunt_boots(s.h), 1, 300);
	}
	fl_hunt_culprits(s.h, &n);
	for (int i = 0; i < n; i++)
		assert_false(fl_hunt_culprits(s.h, &n)[i].verified);
	sim_clear(&s);
}

static void budget(void **state)
{
	const struct fl_hunt_culprit *c;
	struct fl_hunt_ask ask[30];
	struct sim s;

	(void)state;
	rng = 12;
	sim_line(&s, 200);
	sim_wall(&s);
	s.step[60] = 4;
	s.p.search.max_runs = 14;
	sim_start(&s);
	assert_int_equal(fl_hunt_next(s.h, 30, ask), 10);
	assert_int_equal(hunt(&s, 1), FL_HUNT_SET);
	assert_int_equal(s.boots, 14);
	c = only(&s);
	assert_false(c->verified);
	assert_true(c->nset > 1 && c->confidence >= 0.95 && c->parent < 0);
	/* Spent in the middle of the verification. */
	s.p.search.max_runs = 0;
	sim_start(&s);
	while (fl_hunt_update(s.h) != FL_HUNT_VERIFYING) {
		fl_hunt_next(s.h, 1, ask);
		answer(&s, ask);
	}
	s.h->params.search.max_runs = s.boots + 5;
	assert_int_equal(fl_hunt_next(s.h, 30, ask), 5);
	assert_int_equal(hunt(&s, 1), FL_HUNT_SET);
	assert_false(only(&s)->verified);
	sim_clear(&s);
}

/* A parent turns out not to build: the step is seen against what is above. */
static void parent_fails_in_verification(void **state)
{
	const struct fl_hunt_culprit *c;
	struct fl_hunt_ask ask;
	struct sim s;

	(void)state;
	sim_line(&s, 64);
	sim_exact(&s);
	s.step[32] = 0.02;
	sim_start(&s);
	while (fl_hunt_update(s.h) != FL_HUNT_DONE) {
		assert_int_equal(fl_hunt_next(s.h, 1, &ask), 1);
		if (ask.role == FL_HUNT_VERIFY && ask.commit == 31)
			s.broken[31] = true;
		answer(&s, &ask);
	}
	/* 31 booted once in the search and was good: 32 it is. */
	assert_int_equal(fl_hunt_ended(s.h), FL_HUNT_FOUND);
	c = only(&s);
	assert_int_equal(c->commit, 32);
	assert_int_equal(c->parent, 30);
	sim_clear(&s);
}

/* The host gets slower by a deviation in 20 runs. */
static void drifting_host(void **state)
{
	int right[2] = { 0, 0 }, wrong[2] = { 0, 0 };
	struct sim s;

	(void)state;
	sim_line(&s, 200);
	sim_wall(&s);
	for (int trial = 0; trial < 60; trial++) {
		int at = 1 + (trial / 2 * 37) % 199, n, guard = trial % 2;
		const struct fl_hunt_culprit *c;
		struct fl_hunt_ask ask;

		rng = 900 + (uint64_t)trial / 2;
		s.step[at] = 2.5;
		s.p.recheck = guard ? 0 : -1;
		sim_start(&s);
		while (fl_hunt_update(s.h) != FL_HUNT_DONE) {
			assert_int_equal(fl_hunt_next(s.h, 1, &ask), 1);
			s.boots++;
			fl_hunt_add(s.h, ask.commit, ask.role,
				    s.level[ask.commit] + gauss() +
					    0.05 * s.boots);
		}
		c = fl_hunt_culprits(s.h, &n);
		for (int i = 0; i < n; i++) {
			right[guard] += c[i].verified && c[i].commit == at;
			wrong[guard] += c[i].verified && c[i].commit != at;
		}
		s.step[at] = 0;
	}
	print_message("# drift: right %d of 30 with the guard, %d without\n",
		      right[1], right[0]);
	assert_in_range(right[1], 28, 30);
	assert_in_range(wrong[1], 0, 1);
	assert_true(right[0] < 25);
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
		cmocka_unit_test(several_on_a_line),
		cmocka_unit_test(several_beside_each_other),
		cmocka_unit_test(a_merge_joins_two_steps),
		cmocka_unit_test(merge_against_every_parent),
		cmocka_unit_test(no_more_than_asked_for),
		cmocka_unit_test(verification_alternates),
		cmocka_unit_test(rejected_candidates),
		cmocka_unit_test(wrong_direction),
		cmocka_unit_test(budget),
		cmocka_unit_test(parent_fails_in_verification),
		cmocka_unit_test(drifting_host),
		cmocka_unit_test(numbers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

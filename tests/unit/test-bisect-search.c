// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bisect/: whole searches with simulated boots: exact clock, merges, skips,
 * commits that cannot matter, machines in parallel, noise, budget, speed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <malloc.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include "../../bisect/bisect.h"
#include "../../daemon/util/err.h"
#include "random.h"

/* A range, its culprit and what booting its commits gives. */
struct sim {
	int n, culprit;
	struct fl_bisect_commit *commits;
	int (*parents)[2];
	bool *broken; /* does not build */
	bool *bad; /* descends from the culprit */
	double effect, sd, level;
	int runs, steps; /* boots of all commits, and of those between */
	struct fl_bisect *b;
};

static void sim_init(struct sim *s, int n)
{
	size_t size = (size_t)n;

	memset(s, 0, sizeof(*s));
	s->n = n;
	s->commits = fl_calloc(size, sizeof(*s->commits));
	s->parents = fl_calloc(size, sizeof(*s->parents));
	s->broken = fl_calloc(size, sizeof(bool));
	s->bad = fl_calloc(size, sizeof(bool));
	for (int i = 0; i < n; i++) {
		s->parents[i][0] = i - 1;
		s->commits[i].parents = s->parents[i];
		s->commits[i].nparents = i > 0;
		s->commits[i].prior = 1;
	}
	s->level = 8.1;
}

static void sim_clear(struct sim *s)
{
	fl_bisect_free(s->b);
	free(s->commits);
	free(s->parents);
	free(s->broken);
	free(s->bad);
}

/* A main line with side branches, one in four commits a merge. */
static void sim_merges(struct sim *s)
{
	int open = -1, main_line = 0;

	for (int i = 1; i < s->n; i++) {
		if (open >= 0 && (i % 4 == 0 || i == s->n - 1)) {
			s->parents[i][0] = main_line;
			s->parents[i][1] = open;
			s->commits[i].nparents = 2;
			main_line = i;
			open = -1;
		} else if (i % 4 < 3 && i != s->n - 1) {
			/* A branch forks from anywhere on the main line. */
			s->parents[i][0] = open >= 0 ? open : main_line;
			open = i;
		} else {
			s->parents[i][0] = main_line;
			main_line = i;
		}
	}
}

/* Forty branches side by side that merge with each other now and then: the
 * worst case for sums over ancestors. */
static void sim_wide(struct sim *s)
{
	int tip[40] = { 0 };

	for (int i = 1; i < s->n; i++) {
		int k = below(40), m = below(40);

		/* Towards the end all branches are merged, one a commit. */
		if (s->n - i <= 40) {
			s->parents[i][0] = i == s->n - 40 ? tip[0] : i - 1;
			s->parents[i][1] = tip[s->n - i - 1];
			s->commits[i].nparents = 2;
			continue;
		}
		s->parents[i][0] = tip[k];
		if (i % 4 == 0 && tip[m] != tip[k]) {
			s->parents[i][1] = tip[m];
			s->commits[i].nparents = 2;
		}
		tip[k] = i;
	}
}

static void sim_start(struct sim *s, int culprit, bool exact,
		      const struct fl_bisect_noise *noise, int max_runs)
{
	struct fl_bisect_params p = { .exact = exact,
				      .confidence = 0.95,
				      .min_effect = exact ? 0.0005 : 0,
				      .gate_min_boots = exact ? 2 : 5,
				      .gate_max_boots = exact ? 2 : 20,
				      .gate_t = 4,
				      .max_runs = max_runs };

	fl_bisect_free(s->b);
	s->b = fl_bisect_new(s->commits, s->n, noise, &p);
	assert_non_null(s->b);
	s->culprit = culprit;
	s->runs = s->steps = 0;
	for (int i = 0; i < s->n; i++) {
		s->bad[i] = i == culprit;
		for (int k = 0; k < s->commits[i].nparents; k++)
			s->bad[i] |= s->bad[s->parents[i][k]];
	}
}

static void boot(struct sim *s, int i)
{
	if (s->broken[i]) {
		fl_bisect_skip(s->b, i);
		return;
	}
	s->runs++;
	s->steps += i > 0 && i < s->n - 1;
	fl_bisect_add(s->b, i,
		      s->level + (s->bad[i] ? s->effect : 0) + s->sd * gauss());
}

static enum fl_bisect_state search(struct sim *s, int machines)
{
	int next[16], k;

	for (int round = 0; round < 3000; round++) {
		enum fl_bisect_state st = fl_bisect_update(s->b);

		k = fl_bisect_next(s->b, machines, next);
		if (st != FL_BISECT_GATE && st != FL_BISECT_SEARCH) {
			assert_int_equal(k, 0);
			return st;
		}
		assert_true(k > 0);
		for (int i = 0; i < k; i++)
			boot(s, next[i]);
	}
	fail_msg("the search does not end");
	return FL_BISECT_SEARCH;
}

/* How many the answer holds, and whether the culprit is among them. */
static int answer(struct sim *s, bool *has, double *mass)
{
	int out[2048], n = fl_bisect_answer(s->b, 2048, out, mass);

	*has = false;
	for (int i = 0; i < n; i++) {
		assert_true(s->commits[out[i]].prior > 0);
		*has |= out[i] == s->culprit;
	}
	return n;
}

static void assert_found(struct sim *s, int most)
{
	double mass;
	bool has;
	int n = answer(s, &has, &mass);

	if (!has || n < 1 || n > most || mass < 0.95)
		fail_msg("culprit %d: %d in the answer, %s, mass %g",
			 s->culprit, n, has ? "right" : "wrong", mass);
}

static const struct fl_bisect_noise exact_noise = { 4e-10, 4, 0 };

static void exact_line(void **state)
{
	static const double effect[] = { 0.005, -0.005, 0.3, 1.386, -2.77 };
	static const int size[] = { 24, 1000 };

	(void)state;
	for (size_t k = 0; k < FL_ARRAY_SIZE(size); k++) {
		int limit = (int)floor(log2(size[k])) + 3;
		struct sim s;

		sim_init(&s, size[k]);
		s.sd = 2e-5;
		for (int trial = 0; trial < 60; trial++) {
			int c = 1 + below(s.n - 1);

			if (trial < 2)
				c = trial ? s.n - 1 : 1;
			s.effect = effect[trial % 5];
			sim_start(&s, c, true, &exact_noise, 0);
			assert_int_equal(search(&s, 1), FL_BISECT_FOUND);
			assert_found(&s, 1);
			assert_in_range(s.steps, 0, limit);
			assert_int_equal(s.runs, s.steps + 4);
		}
		sim_clear(&s);
	}
}

/* The same when the real noise is 5 times the prior's, or a 5th. */
static void exact_noise_unknown(void **state)
{
	struct sim s;

	(void)state;
	sim_init(&s, 300);
	s.effect = 0.005;
	for (int trial = 0; trial < 60; trial++) {
		s.sd = trial % 2 ? 1e-4 : 4e-6;
		sim_start(&s, 1 + below(299), true, &exact_noise, 0);
		assert_int_equal(search(&s, 1), FL_BISECT_FOUND);
		assert_found(&s, 1);
		assert_in_range(s.steps, 1, 12);
	}
	sim_clear(&s);
}

static void exact_merges(void **state)
{
	struct sim s;

	(void)state;
	sim_init(&s, 200);
	sim_merges(&s);
	s.sd = 2e-5;
	s.effect = -0.02;
	for (int c = 1; c < s.n; c++) {
		sim_start(&s, c, true, &exact_noise, 0);
		assert_int_equal(search(&s, 1), FL_BISECT_FOUND);
		assert_found(&s, 1);
		assert_in_range(s.steps, 1, 11);
	}
	sim_clear(&s);
}

/* Every third commit does not build, in runs of up to nine. */
static void skips_everywhere(void **state)
{
	struct sim s;

	(void)state;
	sim_init(&s, 120);
	sim_merges(&s);
	s.sd = 2e-5;
	s.effect = 0.01;
	for (int i = 1; i < s.n - 1; i++)
		s.broken[i] = i % 3 == 0 || (i > 60 && i < 70);
	for (int c = 1; c < s.n; c++) {
		sim_start(&s, c, true, &exact_noise, 0);
		assert_int_equal(search(&s, 1), FL_BISECT_FOUND);
		/* The culprit's class, however large, but never another. */
		assert_found(&s, 12);
	}
	sim_clear(&s);
}

/* Culprit beside skipped commits: the class holds both and no more. */
static void skips_beside_the_culprit(void **state)
{
	struct sim s;
	int out[8];
	double mass;

	(void)state;
	sim_init(&s, 64);
	s.sd = 2e-5;
	s.effect = 0.01;
	s.broken[30] = s.broken[31] = true;
	for (int c = 30; c <= 32; c++) {
		sim_start(&s, c, true, &exact_noise, 0);
		assert_int_equal(search(&s, 1), FL_BISECT_FOUND);
		assert_int_equal(fl_bisect_answer(s.b, 8, out, &mass), 3);
		assert_int_equal(out[0] + out[1] + out[2], 30 + 31 + 32);
		assert_true(mass > 0.95);
	}
	sim_start(&s, 29, true, &exact_noise, 0);
	search(&s, 1);
	assert_found(&s, 1);
	sim_start(&s, 33, true, &exact_noise, 0);
	search(&s, 1);
	assert_found(&s, 1);
	sim_clear(&s);
}

static void nothing_builds(void **state)
{
	struct sim s;
	double mass;
	bool has;

	(void)state;
	sim_init(&s, 40);
	s.sd = 2e-5;
	s.effect = 0.01;
	for (int i = 1; i < 39; i++)
		s.broken[i] = true;
	sim_start(&s, 17, true, &exact_noise, 0);
	/* One class that nothing separates: all of it is the answer. */
	assert_int_equal(search(&s, 1), FL_BISECT_FOUND);
	/* The last of them need no try: 38 of 39 hold 0.974 already. */
	assert_in_range(answer(&s, &has, &mass), 38, 39);
	assert_true(has && mass > 0.95);
	assert_int_equal(s.steps, 0);
	sim_clear(&s);
}

static void commits_that_cannot_matter(void **state)
{
	struct sim s;

	(void)state;
	sim_init(&s, 100);
	s.sd = 2e-5;
	s.effect = 0.01;
	for (int i = 1; i < 100; i++)
		s.commits[i].prior = i % 7 == 3 ? 1 + i % 2 : 0;
	for (int c = 3; c < 100; c += 7) {
		sim_start(&s, c, true, &exact_noise, 0);
		assert_int_equal(search(&s, 1), FL_BISECT_FOUND);
		assert_found(&s, 1);
		assert_in_range(s.steps, 1, 6);
	}
	/* The change is in a commit that was ruled out: answer() checks that
	 * it is never named. */
	sim_start(&s, 50, true, &exact_noise, 60);
	search(&s, 1);
	{
		double mass;
		bool has;

		answer(&s, &has, &mass);
		assert_false(has);
	}
	sim_clear(&s);
}

static void does_not_reproduce(void **state)
{
	struct fl_bisect_noise wall = { 1e-4, 2, 0 };
	struct sim s;
	int passed = 0;

	(void)state;
	sim_init(&s, 50);
	s.sd = 2e-5;
	sim_start(&s, 20, true, &exact_noise, 0);
	assert_int_equal(search(&s, 1), FL_BISECT_DOES_NOT_REPRODUCE);
	assert_int_equal(s.runs, 4);
	s.sd = 0.01;
	for (int trial = 0; trial < 100; trial++) {
		sim_start(&s, 20, false, &wall, 60);
		passed += search(&s, 1) != FL_BISECT_DOES_NOT_REPRODUCE;
	}
	assert_in_range(passed, 0, 4);
	sim_clear(&s);
}

static void several_machines(void **state)
{
	struct sim s;
	int next[3];

	(void)state;
	sim_init(&s, 1000);
	s.sd = 2e-5;
	s.effect = 0.01;
	sim_start(&s, 333, true, &exact_noise, 0);
	for (int i = 0; i < 2; i++) {
		boot(&s, 0);
		boot(&s, 999);
	}
	fl_bisect_update(s.b);
	/* Three boots at once: the quarters. */
	assert_int_equal(fl_bisect_next(s.b, 3, next), 3);
	for (int i = 0; i < 3; i++)
		assert_in_range(abs(next[i] % 250 - 125), 110, 125);
	assert_true(next[0] != next[1] && next[1] != next[2] &&
		    next[0] != next[2]);
	/* One is under way: the next is worth most beside it. */
	fl_bisect_pending(s.b, next[0], 1);
	assert_int_equal(fl_bisect_next(s.b, 1, next + 1), 1);
	assert_in_range(abs(next[1] - next[0]), 150, 350);
	fl_bisect_pending(s.b, next[0], 0);
	for (int trial = 0; trial < 30; trial++) {
		sim_start(&s, 1 + below(999), true, &exact_noise, 0);
		assert_int_equal(search(&s, 3), FL_BISECT_FOUND);
		assert_found(&s, 1);
		assert_in_range(s.steps, 5, 18);
	}
	sim_clear(&s);
}

/* Images cost 50 boots, save every tenth which is there already. */
static void costs_matter(void **state)
{
	struct sim s;
	int next, built = 0;

	(void)state;
	sim_init(&s, 200);
	s.sd = 2e-5;
	s.effect = 0.01;
	sim_start(&s, 101, true, &exact_noise, 0);
	for (int i = 0; i < s.n; i++)
		fl_bisect_cost(s.b, i, i % 10 && i < 199 ? 500 : 0, 10);
	for (;;) {
		fl_bisect_update(s.b);
		if (!fl_bisect_next(s.b, 1, &next))
			break;
		built += next % 10 && next < 199;
		boot(&s, next);
	}
	assert_found(&s, 1);
	assert_in_range(built, 1, 4);
	sim_clear(&s);
}

static void budget_gives_a_shortlist(void **state)
{
	struct fl_bisect_noise wall = { 1, 2, 0 };
	struct sim s;
	double mass;
	bool has;
	int n;

	(void)state;
	rng = 21;
	sim_init(&s, 500);
	s.sd = 1;
	s.effect = 4;
	sim_start(&s, 123, false, &wall, 15);
	assert_int_equal(search(&s, 1), FL_BISECT_SHORTLIST);
	assert_int_equal(fl_bisect_boots(s.b, -1), 15);
	n = answer(&s, &has, &mass);
	assert_in_range(n, 2, 400);
	assert_true(has);
	assert_true(mass >= 0.95);
	sim_clear(&s);
}

static void third_level(void **state)
{
	struct fl_bisect_levels l;
	struct sim s;

	(void)state;
	sim_init(&s, 64);
	s.sd = 2e-5;
	s.effect = 0.1;
	sim_start(&s, 40, true, &exact_noise, 0);
	search(&s, 1);
	fl_bisect_get_levels(s.b, &l);
	assert_false(l.third_level);
	assert_int_equal(l.third_commit, -1);
	assert_true(fabs(l.good - 8.1) < 1e-4 && fabs(l.bad - 8.2) < 1e-4);
	assert_true(l.sigma > 5e-6 && l.sigma < 6e-5 && l.t > 1000);
	/* 20 took a third of the step already. */
	fl_bisect_add(s.b, 20, 8.133);
	fl_bisect_update(s.b);
	fl_bisect_get_levels(s.b, &l);
	assert_true(l.third_level);
	assert_int_equal(l.third_commit, 20);
	sim_clear(&s);
}

/* Two culprits: the larger step is found, the other is pointed at. */
static void two_culprits(void **state)
{
	struct sim s;
	int marked = 0;

	(void)state;
	sim_init(&s, 256);
	s.sd = 2e-5;
	for (int trial = 0; trial < 40; trial++) {
		int second = 20 + below(80), first = 130 + below(100);
		struct fl_bisect_levels l;

		s.effect = 0.03;
		sim_start(&s, first, true, &exact_noise, 60);
		for (;;) {
			int next;

			fl_bisect_update(s.b);
			if (!fl_bisect_next(s.b, 1, &next))
				break;
			s.level = next >= second ? 8.11 : 8.1;
			boot(&s, next);
		}
		assert_found(&s, 1);
		fl_bisect_get_levels(s.b, &l);
		marked += l.third_level;
	}
	assert_true(marked >= 36);
	sim_clear(&s);
}

static void success_rate(double d, int trials, double least, double most_runs)
{
	/* The prior is wrong by a factor of 1.5 in the deviation. */
	struct fl_bisect_noise wall = { 2.25, 1, 0 };
	int right = 0;
	double runs = 0;
	struct sim s;

	rng = 1000;
	sim_init(&s, 200);
	s.sd = 1;
	s.effect = d;
	for (int trial = 0; trial < trials; trial++) {
		double mass;
		bool has;

		sim_start(&s, 1 + below(199), false, &wall, 300);
		if (search(&s, 1) == FL_BISECT_FOUND &&
		    answer(&s, &has, &mass) == 1)
			right += has;
		runs += s.runs;
	}
	print_message("# d=%g: %d of %d right in %.1f boots\n", d, right,
		      trials, runs / trials);
	assert_true(right >= least * trials);
	assert_true(runs / trials <= most_runs);
	sim_clear(&s);
}

static void noisy_search(void **state)
{
	(void)state;
	success_rate(2, 300, 0.95, 50);
	success_rate(3, 300, 0.97, 33);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor seconds for one step: many times what it takes. */
#ifdef __SANITIZE_ADDRESS__
#define STEP_LIMIT 10.0
#else
#define STEP_LIMIT 1.0
#endif

/* 15,000 commits, a quarter merges, 40 tested, and still doubt everywhere. */
static void speed(void **state)
{
	struct fl_bisect_noise wall = { 1, 2, 0 };
	double step, batch, mb, top = 0;
	struct mallinfo2 m0, m1;
	struct sim s;
	int next[4];

	(void)state;
	sim_init(&s, 15000);
	sim_wide(&s);
	m0 = mallinfo2();
	sim_start(&s, 9000, false, &wall, 0);
	s.sd = 0.3;
	s.effect = 2;
	for (int i = 0; i < 6; i++) {
		boot(&s, 0);
		boot(&s, s.n - 1);
	}
	s.sd = 3;
	for (int i = 0; i < 40; i++)
		boot(&s, 1 + below(s.n - 2));
	step = seconds();
	assert_int_equal(fl_bisect_update(s.b), FL_BISECT_SEARCH);
	assert_int_equal(fl_bisect_next(s.b, 1, next), 1);
	step = seconds() - step;
	for (int c = 0; c < s.n; c++)
		top = fmax(top, fl_bisect_posterior(s.b)[c]);
	assert_true(top < 0.2);
	batch = seconds();
	assert_int_equal(fl_bisect_next(s.b, 4, next), 4);
	batch = seconds() - batch;
	m1 = mallinfo2();
	mb = (double)(m1.uordblks + m1.hblkhd) - (double)m0.uordblks -
	     (double)m0.hblkhd;
	print_message(
		"# 15,000 commits: %.0f ms, batch of 4 %.0f ms, %.1f MB\n",
		1e3 * step, 1e3 * batch, mb / 1e6);
	assert_true(step < STEP_LIMIT);
	assert_true(batch < 4 * STEP_LIMIT);
	assert_true(mb < 100e6);
	sim_clear(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_line),
		cmocka_unit_test(exact_noise_unknown),
		cmocka_unit_test(exact_merges),
		cmocka_unit_test(skips_everywhere),
		cmocka_unit_test(skips_beside_the_culprit),
		cmocka_unit_test(nothing_builds),
		cmocka_unit_test(commits_that_cannot_matter),
		cmocka_unit_test(does_not_reproduce),
		cmocka_unit_test(several_machines),
		cmocka_unit_test(costs_matter),
		cmocka_unit_test(budget_gives_a_shortlist),
		cmocka_unit_test(third_level),
		cmocka_unit_test(two_culprits),
		cmocka_unit_test(noisy_search),
		cmocka_unit_test(speed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

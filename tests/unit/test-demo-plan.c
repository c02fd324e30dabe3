// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The demo tree's plan for many seeds: the two commits that matter can be
 * isolated, whatever the seed (the sources are included, not linked: the
 * demo's maker is no part of the product).
 */
#include "../demo/changes-harmless.c"
#include "../demo/changes-special.c"
#include "../demo/content.c"
#include "../demo/plan.c"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SEEDS 2000
#define DATE 1794661561

static const struct demo_version base = { 6, 12, 117 };

static void make(struct demo_plan *plan, uint64_t seed, bool no_reg,
		 bool no_gain)
{
	struct demo_options opt = { seed, no_reg, no_gain };

	demo_plan_make(plan, &opt, &base, DATE);
}

static int find_role(const struct demo_plan *plan, enum demo_role role)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->commits[i].change.role == role)
			return (int)i;
	return -1;
}

/* Does commit i contain the fault and not yet its fix? */
static bool broken(const struct demo_plan *plan, int i)
{
	uint64_t a = i < 0 ? 0 : plan->commits[i].applied;

	for (enum demo_role r = DEMO_BREAKS; r <= DEMO_PANICS; r += 2) {
		uint64_t fault = a >> find_role(plan, r) & 1;
		uint64_t fix = a >> find_role(plan, r + 1) & 1;

		if (fault && !fix)
			return true;
	}
	return false;
}

static void culprits_can_be_isolated(void **state)
{
	unsigned int on_side = 0, merges_ok = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct demo_plan plan;

		make(&plan, seed, false, false);
		for (enum demo_role r = DEMO_REGRESSION; r <= DEMO_GAIN; r++) {
			int i = find_role(&plan, r);

			assert_true(i >= 0);
			assert_false(broken(&plan, i));
			assert_false(broken(&plan, plan.commits[i].parent[0]));
			assert_true(plan.commits[plan.dev].applied >> i & 1);
			assert_false(plan.commits[plan.stable].applied >> i &
				     1);
			/* on the side: the merge's first parent lacks it */
			int m = find_role(&plan, DEMO_MERGE);
			int p = plan.commits[m].parent[0];

			if (i < m && !(plan.commits[p].applied >> i & 1))
				on_side++;
		}
		assert_false(broken(&plan, plan.dev));
		assert_false(broken(&plan, plan.stable));
		merges_ok += !broken(&plan, find_role(&plan, DEMO_MERGE));
	}
	assert_int_equal(merges_ok, SEEDS);
	assert_in_range(on_side, SEEDS / 10, SEEDS); /* it does happen */
}

static void shape_is_as_promised(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct demo_plan plan;
		int m;

		make(&plan, seed, false, false);
		m = find_role(&plan, DEMO_MERGE);
		assert_int_equal(plan.n, demo_nharmless + demo_nspecial +
						 demo_nstable + 3);
		/* both sides of the merge bring something of their own */
		uint64_t a = plan.commits[plan.commits[m].parent[0]].applied;
		uint64_t b = plan.commits[plan.commits[m].parent[1]].applied;

		assert_in_range(__builtin_popcountll(a & ~b), 2, 20);
		assert_in_range(__builtin_popcountll(b & ~a), 2, 20);
		for (size_t i = 0; i < plan.n; i++) {
			int p = plan.commits[i].parent[0];
			int64_t before = p < 0 ? plan.root_time :
						 plan.commits[p].time;

			assert_true(p < (int)i);
			assert_true(plan.commits[i].time > before);
			assert_true(plan.commits[i].time <= DATE);
		}
	}
}

static void without_leaves_out(void **state)
{
	struct demo_plan plan;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		make(&plan, seed, true, false);
		assert_int_equal(find_role(&plan, DEMO_REGRESSION), -1);
		assert_true(find_role(&plan, DEMO_GAIN) >= 0);
		make(&plan, seed, true, true);
		assert_int_equal(find_role(&plan, DEMO_GAIN), -1);
		assert_false(broken(&plan, plan.dev));
	}
}

static void same_seed_same_plan(void **state)
{
	struct demo_plan a, b, c;
	bool differs = false;

	(void)state;
	make(&a, 7, false, false);
	make(&b, 7, false, false);
	make(&c, 8, false, false);
	for (size_t i = 0; i < a.n; i++) {
		assert_ptr_equal(a.commits[i].change.body,
				 b.commits[i].change.body);
		assert_int_equal(a.commits[i].time, b.commits[i].time);
		differs |= a.commits[i].change.body != c.commits[i].change.body;
	}
	assert_true(differs);
}

static void anchors_must_be_unique(void **state)
{
	static const struct demo_change c = {
		DEMO_DOC, "a change", NULL, { { "f", "one\n", "two\n" } }
	};
	struct fl_err err = { 0 };
	struct fl_buf text = { 0 };

	(void)state;
	fl_buf_puts(&text, "zero\none\nthree\n");
	assert_int_equal(apply(&c, &c.edits[0], &text, &err), 0);
	assert_string_equal(text.s, "zero\ntwo\nthree\n");
	assert_int_equal(apply(&c, &c.edits[0], &text, &err), -ENOENT);
	assert_non_null(strstr(err.text, "nowhere"));
	fl_buf_puts(&text, "one\none\n");
	assert_int_equal(apply(&c, &c.edits[0], &text, &err), -ENOENT);
	assert_non_null(strstr(err.text, "more than once"));
	fl_buf_clear(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(culprits_can_be_isolated),
		cmocka_unit_test(shape_is_as_promised),
		cmocka_unit_test(without_leaves_out),
		cmocka_unit_test(same_seed_same_plan),
		cmocka_unit_test(anchors_must_be_unique),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

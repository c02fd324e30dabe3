// SPDX-License-Identifier: GPL-2.0-or-later
/* Profiles: self and children, stacks, and what differs between two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../../daemon/profile.h"
#include "../../daemon/util/buf.h"
#include "random.h"

/* One run: rows as the database gives them. */
static void add(struct fl_profile *p, int samples, int user, int rep,
		const char *nodes)
{
	json_auto_t *n = json_loads(nodes, 0, NULL);
	json_auto_t *row = json_pack("{s:i, s:i, s:i, s:o}", "samples", samples,
				     "user", user, "lost", 0, "rep",
				     rep < 0 ? json_null() : json_integer(rep));

	assert_non_null(n);
	fl_profile_add(p, row, n);
}

#define NODE(parent, name, self)                                            \
	"{\"parent\":" #parent ",\"function\":\"" name "\",\"self\":" #self \
	",\"rep\":0}"

static const struct fl_profile_function *find(const struct fl_profile *p,
					      const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->functions[i].name, name))
			return &p->functions[i];
	fail_msg("no function '%s'", name);
	return NULL;
}

/* entry → fault → (entry again) → leaf; recursion counts once. */
#define TREE                                                              \
	"[" NODE(-1, "entry", 1) "," NODE(0, "fault", 2) "," NODE(        \
		1, "entry", 3) "," NODE(2, "leaf", 4) "," NODE(0, "leaf", \
							       5) "]"

static void test_self_and_children(void **state _unused_)
{
	_cleanup_(fl_profile_clear) struct fl_profile p = { 0 };

	add(&p, 20, 5, 0, TREE);
	assert_int_equal(p.samples, 20);
	assert_int_equal(p.n, 4);
	assert_int_equal(find(&p, "entry")->self, 4);
	assert_int_equal(find(&p, "entry")->children, 15);
	assert_int_equal(find(&p, "fault")->self, 2);
	assert_int_equal(find(&p, "fault")->children, 9);
	assert_int_equal(find(&p, "leaf")->self, 9);
	assert_int_equal(find(&p, "leaf")->children, 9);
	assert_int_equal(find(&p, FL_PROFILE_USER)->self, 5);
}

static char *folded(const struct fl_profile *a, const struct fl_profile *b)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (b)
		fl_profile_fold_diff(f, a, b);
	else
		fl_profile_fold(f, a);
	fclose(f);
	return text;
}

static void test_folded(void **state _unused_)
{
	_cleanup_(fl_profile_clear) struct fl_profile a = { 0 }, b = { 0 };
	_cleanup_free_ char *one = NULL, *two = NULL;

	add(&a, 20, 5, 0, TREE);
	add(&a, 20, 5, 0, TREE); /* boots add up */
	add(&b, 9, 0, 0, "[" NODE(-1, "entry", 1) "," NODE(0, "other", 8) "]");
	one = folded(&a, NULL);
	assert_string_equal(one, "[user] 10\n"
				 "entry 2\n"
				 "entry;fault 4\n"
				 "entry;fault;entry 6\n"
				 "entry;fault;entry;leaf 8\n"
				 "entry;leaf 10\n");
	two = folded(&a, &b);
	assert_string_equal(two, "[user] 10 0\n"
				 "entry 2 1\n"
				 "entry;fault 4 0\n"
				 "entry;fault;entry 6 0\n"
				 "entry;fault;entry;leaf 8 0\n"
				 "entry;leaf 10 0\n"
				 "entry;other 0 8\n");
}

/* A boot whose code is not known makes all of it unknown. */
static void test_rep(void **state _unused_)
{
	_cleanup_(fl_profile_clear) struct fl_profile p = { 0 };

	add(&p, 20, 5, 7, TREE);
	assert_int_equal(p.rep, 7);
	add(&p, 20, 5, 8, TREE);
	assert_int_equal(p.rep, 15);
	add(&p, 20, 5, -1, TREE);
	assert_int_equal(p.rep, -1);
	add(&p, 20, 5, 8, TREE);
	assert_int_equal(p.rep, -1);
	assert_int_equal(p.runs, 4);
}

static void two_functions(struct fl_profile *p, int first, int second)
{
	_cleanup_free_ char *nodes = fl_asprintf(
		"[{\"parent\":-1,\"function\":\"outer\",\"self\":0},"
		"{\"parent\":0,\"function\":\"first\",\"self\":%d},"
		"{\"parent\":0,\"function\":\"second\",\"self\":%d}]",
		first, second);

	add(p, first + second, 0, 0, nodes);
}

static void test_diff(void **state _unused_)
{
	_cleanup_(fl_profile_clear) struct fl_profile a = { 0 }, b = { 0 };
	_cleanup_free_ struct fl_profile_move *v = NULL;

	two_functions(&a, 900, 100);
	two_functions(&b, 700, 300);
	assert_int_equal(fl_profile_diff(&a, 1, &b, 1, &v), 3);
	/* Equal moves: what does more itself comes first. */
	assert_string_equal(v[0].name, "first");
	assert_string_equal(v[1].name, "second");
	assert_string_equal(v[2].name, "outer");
	assert_true(fabs(v[0].moved + 0.2) < 1e-12);
	assert_true(fabs(v[1].moved - 0.2) < 1e-12);
	assert_true(v[0].real && v[1].real);
	assert_true(v[2].moved == 0 && !v[2].real);
	assert_true(fl_profile_passes(&v[2]) && !fl_profile_passes(&v[0]));
	/* sqrt(.9*.1/1000 + .7*.3/1000) * 1.96 */
	assert_true(fabs(v[0].margin - 0.0339) < 2e-4);
}

/* Half the work with equal shares: nothing moved in points, all of it in
 * instructions. */
static void test_scaled(void **state _unused_)
{
	_cleanup_(fl_profile_clear) struct fl_profile a = { 0 }, b = { 0 };
	_cleanup_free_ struct fl_profile_move *v = NULL, *w = NULL;

	two_functions(&a, 900, 100);
	two_functions(&b, 900, 100);
	fl_profile_diff(&a, 1, &b, 1, &v);
	for (int i = 0; i < 3; i++)
		assert_true(v[i].moved == 0 && !v[i].real);
	fl_profile_diff(&a, 3000, &b, 1500, &w);
	assert_string_equal(w[0].name, "outer");
	assert_true(w[0].by_children && w[0].real);
	assert_true(fabs(w[0].moved + 1500) < 1e-9);
	assert_string_equal(w[1].name, "first");
	assert_true(fabs(w[1].moved + 1350) < 1e-9);
}

static void test_empty(void **state _unused_)
{
	_cleanup_(fl_profile_clear) struct fl_profile a = { 0 }, b = { 0 };
	_cleanup_free_ struct fl_profile_move *v = NULL, *w = NULL;

	add(&a, 0, 0, 0, "[]");
	two_functions(&b, 900, 100);
	assert_int_equal(fl_profile_diff(&a, 1, &b, 1, &v), 0);
	assert_int_equal(fl_profile_diff(&b, 1, &a, 1, &w), 0);
	assert_true(fl_profile_margin(0, 0) == 1);
	/* Wilson 1927: none of 10 leaves up to 27.8 % */
	assert_true(fabs(2 * fl_profile_margin(0, 10) - 0.2775) < 1e-3);
}

/* 40 functions with the same shares on both sides: one family in a hundred
 * may have a false difference, and rare counts must not make more of them. */
static void test_noise(void **state _unused_)
{
	enum { ROUNDS = 400, FUNCTIONS = 40, SAMPLES = 3000 };
	int families = 0;

	rng = 11;
	for (int round = 0; round < ROUNDS; round++) {
		struct fl_profile p[2] = { 0 };
		_cleanup_free_ struct fl_profile_move *v = NULL;
		bool any = false;
		size_t n;

		for (int side = 0; side < 2; side++) {
			_cleanup_(fl_buf_clear) struct fl_buf b = { 0 };
			int count[FUNCTIONS] = { 0 };

			for (int i = 0; i < SAMPLES; i++) /* geometric */
				count[(int)fmin(-log(uniform()) * 6,
						FUNCTIONS - 1)]++;
			for (int i = 0; i < FUNCTIONS; i++)
				fl_buf_printf(&b,
					      "%s{\"parent\":-1,\"function\":"
					      "\"f%d\",\"self\":%d}",
					      i ? "," : "[", i, count[i]);
			fl_buf_puts(&b, "]");
			add(&p[side], SAMPLES, 0, 0, fl_buf_str(&b));
		}
		n = fl_profile_diff(&p[0], 1, &p[1], 1, &v);
		for (size_t i = 0; i < n; i++)
			any |= v[i].real;
		families += any;
		fl_profile_clear(&p[0]);
		fl_profile_clear(&p[1]);
	}
	print_message("# false families: %d of %d\n", families, ROUNDS);
	assert_true(families <= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self_and_children),
		cmocka_unit_test(test_folded),
		cmocka_unit_test(test_rep),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_scaled),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_noise),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

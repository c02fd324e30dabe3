// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Benchmark of bisect/: simulated ranges with fixed seeds, whole hunts and
 * plain bisection side by side. Prints tables on stdout; the first argument
 * scales the trials (1 = the published tables, 0.1 = a quick look). Sections
 * run two at a time and are printed in order.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "sections.h"
#include "sim-hunt.h"

#define MAX_ANSWER 2048

static double scale = 1;
static uint64_t salt; /* 0, or another draw of the same cell */
static struct range line, graph, small;

static int count(int trials)
{
	int n = (int)(trials * scale);

	return n < 10 ? 10 : n;
}

static void engine_alone(struct trial *t, struct tally *tally)
{
	struct fl_bisect *b = search(t, 2000);
	int out[MAX_ANSWER], n;
	bool hit = false;
	double mass;

	n = fl_bisect_answer(b, MAX_ANSWER, out, &mass);
	for (int i = 0; i < n; i++)
		hit |= out[i] == t->culprit[0];
	tally->right += hit;
	tally->wrong += !hit;
	tally->size += n;
	tally->runs += t->runs;
	tally->builds += t->builds;
	fl_bisect_free(b);
}

/* --- tables of one culprit ------------------------------------------------ */

enum method { PLAIN_1, PLAIN_5, PLAIN_10, ENGINE, WHOLE, METHODS };
static const char *const method_name[METHODS] = {
	"git bisect, 1 run a step", "git bisect, mean of 5",
	"git bisect, mean of 10",   "engine alone, ends 5 + 5 runs",
	"hunt, a build = 5 runs",
};

static void try_plain(struct trial *t, int boots, struct tally *tally)
{
	int left;

	if (plain(t, boots, &left))
		tally->right++;
	else
		tally->wrong++;
	tally->size += left;
	tally->runs += t->runs;
	tally->builds += t->builds;
}

static void cell(enum method m, const struct range *r, enum noise kind,
		 double d, double broken, int trials, struct tally *all)
{
	static const int boots[] = { 1, 5, 10 };
	struct tally tally = { 0 };

	seed(20 + (uint64_t)(d * 10) + 1000 * (uint64_t)kind + salt);
	for (int i = 0; i < trials; i++) {
		struct trial t = { .r = r,
				   .noise = kind,
				   .effect = { d },
				   .nculprits = 1,
				   .breaking = broken };

		trial_init(&t);
		if (m < ENGINE)
			try_plain(&t, boots[m], &tally);
		else if (m == ENGINE)
			engine_alone(&t, &tally);
		else
			hunt(&t, &tally);
		trial_clear(&t);
	}
	all->stated += tally.stated;
	all->stated_right += tally.stated_right;
	printf(" %5.1f %5.1f %5.1f %5.2f |", 100.0 * tally.right / trials,
	       tally.runs / trials, tally.builds / trials,
	       tally.size / (trials - tally.none + DBL_MIN));
}

static void table(const char *title, const struct range *r, enum noise kind,
		  double from, double broken, int trials)
{
	static const double shifts[] = { 1, 2, 3, 5 };
	struct tally all = { 0 };

	printf("\n%s, %d trials a cell\n%-30s|", title, trials, "");
	for (size_t k = 0; k < FL_ARRAY_SIZE(shifts); k++)
		if (shifts[k] >= from)
			printf("          d = %g          |", shifts[k]);
	printf("\n%-30s|", "");
	for (size_t k = 0; k < FL_ARRAY_SIZE(shifts); k++)
		if (shifts[k] >= from)
			printf(" right  runs build   set |");
	printf("\n");
	for (int m = 0; m < METHODS; m++) {
		/* Only the first table shows the engine without the rest. */
		if (m == ENGINE && from > 1)
			continue;
		printf("%-30s|", method_name[m]);
		for (size_t k = 0; k < FL_ARRAY_SIZE(shifts); k++)
			if (shifts[k] >= from)
				cell((enum method)m, r, kind, shifts[k], broken,
				     trials, &all);
		printf("\n");
	}
	printf("of %d culprits that were stated after verification %.2f %% are "
	       "right\n",
	       all.stated, 100.0 * all.stated_right / (all.stated + DBL_MIN));
}

static void line_normal(void)
{
	table("Line of 1000, normal noise", &line, GAUSS, 1, 0, count(600));
}

static void line_normal_2(void)
{
	struct tally all = { 0 };

	printf("\nThe same hunt at d = 2 once more, %d trials:", count(1000));
	salt = 77;
	cell(WHOLE, &line, GAUSS, 2, 0, count(1000), &all);
	printf("\n");
}

static void line_heavy(void)
{
	table("Line of 1000, heavy tails (t, 3 df)", &line, HEAVY, 2, 0,
	      count(300));
}

static void line_bimodal(void)
{
	table("Line of 1000, bimodal 80/20", &line, BIMODAL, 2, 0, count(300));
}

static void graph_normal(void)
{
	table("Graph, normal noise, 10 % unbuildable", &graph, GAUSS, 2, 0.1,
	      count(200));
}

static void graph_heavy(void)
{
	table("Graph, heavy tails, 10 % unbuildable", &graph, HEAVY, 2, 0.1,
	      count(200));
}

static void graph_bimodal(void)
{
	table("Graph, bimodal, 10 % unbuildable", &graph, BIMODAL, 2, 0.1,
	      count(200));
}

/* --- nothing there -------------------------------------------------------- */

static void no_shift(enum noise kind, const char *name)
{
	int trials = count(500);
	struct tally tally = { 0 };

	seed(7 + (uint64_t)kind);
	for (int i = 0; i < trials; i++) {
		struct trial t = { .r = &line, .noise = kind };

		trial_init(&t);
		hunt(&t, &tally);
		trial_clear(&t);
	}
	printf("no shift, %-12s %d trials: %d verify a culprit, %d more give a "
	       "list, %.1f runs\n",
	       name, trials, tally.stated, trials - tally.none - tally.stated,
	       tally.runs / trials);
}

static void nothing_there(void)
{
	printf("\n");
	no_shift(GAUSS, "normal:");
	no_shift(HEAVY, "heavy tails:");
	no_shift(BIMODAL, "bimodal:");
}

/* --- what is stated against what is true ---------------------------------- */

static void calibration(enum noise kind, const char *name, int trials)
{
	static const double edge[] = { 0, 0.5, 0.8, 0.95, 1.1 };
	double said[4] = { 0 };
	int n[4] = { 0 }, right[4] = { 0 };

	seed(99 + (uint64_t)kind);
	for (int i = 0; i < trials; i++) {
		struct trial t = { .r = &line,
				   .noise = kind,
				   .effect = { 1 + 4 * uniform() },
				   .nculprits = 1 };
		const double *post;
		struct fl_bisect *b;
		int top = 0, k = 0;

		trial_init(&t);
		/* One in two is stopped early. */
		b = search(&t, i % 2 ? 12 + below(60) : 2000);
		post = fl_bisect_posterior(b);
		for (int c = 1; c < line.n; c++)
			if (post[c] > post[top])
				top = c;
		while (post[top] >= edge[k + 1])
			k++;
		said[k] += post[top];
		n[k]++;
		right[k] += top == t.culprit[0];
		fl_bisect_free(b);
		trial_clear(&t);
	}
	printf("%-12s", name);
	for (int k = 0; k < 4; k++)
		printf(" | %4d said %4.1f right %4.1f", n[k],
		       100 * said[k] / (n[k] + DBL_MIN),
		       100 * right[k] / (n[k] + DBL_MIN));
	printf("\n");
}

static void calibration_normal(void)
{
	printf("\nStated and true %% right before verification, most probable "
	       "commit, d = 1 to 5, line of 1000\n");
	calibration(GAUSS, "normal", count(2000));
}

static void calibration_others(void)
{
	calibration(HEAVY, "heavy tails", count(600));
	calibration(BIMODAL, "bimodal", count(600));
}

/* --- the exact clock ------------------------------------------------------ */

/* Effects of 0.5 % to 300 %: noise 2e-5; and d = 100, an effect of 0.2 %. */
static void exact(const struct range *r, const char *name, double broken)
{
	static const double effect[] = { 0.002, 0.005, 0.02, -0.1, 0.5, 1.386 };
	struct fl_bisect_noise noise = { 4e-10, 4, 0 };
	struct fl_hunt_params p = whole();
	struct tally tally = { 0 };
	int trials = count(500);

	p.search = (struct fl_bisect_params){ .exact = true,
					      .confidence = 0.95,
					      .min_effect = 0.0005,
					      .gate_min_boots = 2,
					      .gate_max_boots = 2 };
	p.verify_boots = 2;
	seed(1234);
	for (int i = 0; i < trials; i++) {
		struct trial t = { .r = r,
				   .effect = { effect[i % 6] / 2e-5 },
				   .nculprits = 1,
				   .breaking = broken };

		trial_init(&t);
		hunt_on(&t, &noise, &p, 2e-5, &tally);
		trial_clear(&t);
	}
	printf("exact clock, %-24s %d of %d right, set %.2f, %.1f boots with "
	       "verification; between the ends %.1f, at most %d (log2 N + 3 = "
	       "%.1f)\n",
	       name, tally.right, trials, tally.size / trials,
	       tally.runs / trials, (double)tally.steps / trials,
	       tally.most_steps, log2(r->n) + 3);
}

static void exact_clock(void)
{
	printf("\n");
	exact(&small, "line of 24:", 0);
	exact(&line, "line of 1000:", 0);
	exact(&graph, "graph:", 0);
	exact(&graph, "graph, 10 % unbuildable:", 0.1);
}

/* --- several culprits ----------------------------------------------------- */

static void several_row(const char *name, const struct range *r, int n,
			double second, double third)
{
	static const double shifts[] = { 3, 5 };
	int trials = count(200);

	printf("%-36s|", name);
	for (size_t k = 0; k < FL_ARRAY_SIZE(shifts); k++) {
		double d = shifts[k];
		struct tally tally = { 0 };

		seed(300 + (uint64_t)n + k);
		for (int i = 0; i < trials; i++) {
			struct trial t = { .r = r,
					   .effect = { d, second * d,
						       third * d },
					   .nculprits = n };

			trial_init(&t);
			hunt(&t, &tally);
			trial_clear(&t);
		}
		printf(" %5.1f  %5.1f  %5.1f  %5.1f |",
		       100.0 * tally.right / trials,
		       100.0 * tally.wrong / trials, tally.runs / trials,
		       tally.builds / trials);
	}
	printf("\n");
}

static void several_head(void)
{
	printf("\nSeveral culprits, %d trials a cell; d of the smallest\n"
	       "%-36s|           d = 3            |           d = 5"
	       "            |\n%-36s| exact  false   runs  build | exact  "
	       "false   runs  build |\n",
	       count(200), "", "");
	several_row("line, two of a size", &line, 2, 1, 0);
	several_row("line, one twice the other", &line, 2, 2, 0);
	several_row("line, the other way, twice as much", &line, 2, -2, 0);
}

static void several_rest(void)
{
	several_row("line, three of a size", &line, 3, 1, 1);
	several_row("line, three of 1 : 1.5 : 2", &line, 3, 1.5, 2);
	several_row("graph, two of a size", &graph, 2, 1, 0);
	several_row("graph, one twice the other", &graph, 2, 2, 0);
}

/* --- base and head have parted -------------------------------------------- */

/* The larger of two contrasts against the merge base says on which side the
 * change is; then that side is bisected from the merge base. */
static void fork_row(double d)
{
	int trials = count(200), side_right = 0, runs = 0;
	struct tally tally = { 0 };

	seed(61 + (uint64_t)d);
	for (int i = 0; i < trials; i++) {
		bool on_base = i % 2;
		struct trial ends[2]; /* base's and head's side */
		double mean[2], fork;

		for (int k = 0; k < 2; k++) {
			ends[k] = (struct trial){
				.r = k ? &small : &line,
				.effect = { (k == 0) == on_base ? d : 0 },
				.nculprits = 1
			};
			trial_init(&ends[k]);
		}
		fork = mean_of(&ends[0], 0, 8);
		for (int k = 0; k < 2; k++)
			mean[k] = mean_of(&ends[k], ends[k].r->n - 1, 8);
		if ((fabs(mean[0] - fork) > fabs(mean[1] - fork)) == on_base) {
			side_right++;
			hunt(&ends[!on_base], &tally);
			runs += ends[on_base].runs;
		}
		trial_clear(&ends[0]);
		trial_clear(&ends[1]);
	}
	printf("merge base, d = %g: %d trials, right side %.1f %%, culprit "
	       "found %.1f %%, false %.1f %%, %.1f runs\n",
	       d, trials, 100.0 * side_right / trials,
	       100.0 * tally.right / trials, 100.0 * tally.wrong / trials,
	       (tally.runs + runs) / side_right);
}

static void forks(void)
{
	printf("\nBase and head have parted; the culprit is on the base's side "
	       "(1,000 commits) in half of the trials, on the head's (24) in "
	       "the others\n");
	fork_row(2);
	fork_row(3);
	fork_row(5);
}

/* --- drift ---------------------------------------------------------------- */

static void drift_row(enum drift kind, const char *name)
{
	static const double shifts[] = { 2, 3 };
	int trials = count(100);

	printf("%-34s|", name);
	for (size_t k = 0; k < 2 * FL_ARRAY_SIZE(shifts); k++) {
		struct fl_hunt_params p = whole();
		struct tally tally = { 0 };

		p.recheck = k % 2 ? 0 : -1;
		seed(500 + (uint64_t)kind + k / 2);
		for (int i = 0; i < trials; i++) {
			struct trial t = { .r = &line,
					   .effect = { shifts[k / 2] },
					   .nculprits = 1,
					   .drift = kind };

			trial_init(&t);
			hunt_on(&t, &model, &p, 1, &tally);
			trial_clear(&t);
		}
		printf(" %5.1f  %5.1f  %5.1f |", 100.0 * tally.right / trials,
		       100.0 * tally.wrong / trials, tally.runs / trials);
	}
	printf("\n");
}

static void drifts_head(void)
{
	printf("\nA host that drifts, line of 1000, %d trials a cell\n"
	       "%-34s|   d = 2, no guard   |    d = 2, guard     |   d = 3, "
	       "no guard   |    d = 3, guard     |\n%-34s|",
	       count(100), "", "");
	for (int k = 0; k < 4; k++)
		printf(" right  false   runs |");
	printf("\n");
	drift_row(STEADY, "none");
	drift_row(WALK, "random walk, 1 sd in 20 runs");
}

static void drifts_rest(void)
{
	drift_row(RAMP, "ramp, 1 sd in 20 runs");
	drift_row(STEP, "one step of 2 sd");
}

/* --- time and memory ------------------------------------------------------ */

static void speed(void)
{
	struct fl_bisect_params p = { .confidence = 0.95,
				      .gate_min_boots = 5,
				      .gate_max_boots = 20,
				      .gate_t = 4 };
	struct range big;
	struct timespec a, z;
	struct fl_bisect *b;
	int next;

	range_shape(&big, 15000);
	b = fl_bisect_new(big.commits, big.n, &model, &p);
	seed(3);
	for (int i = 0; i < 10; i++)
		fl_bisect_add(b, i % 2 ? big.n - 1 : 0,
			      (i % 2 ? 2 : 0) + 0.3 * gauss());
	for (int i = 0; i < 40; i++)
		fl_bisect_add(b, 1 + below(big.n - 2), 3 * gauss());
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	fl_bisect_update(b);
	fl_bisect_next(b, 1, &next);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &z);
	printf("\none step on 15,000 commits, 40 tested: %.0f ms of processor "
	       "time (memory: test-bisect-search)\n",
	       1e3 * (double)(z.tv_sec - a.tv_sec) +
		       1e-6 * (double)(z.tv_nsec - a.tv_nsec));
	fl_bisect_free(b);
	range_clear(&big);
}

static void (*const section[])(void) = {
	line_normal,  line_normal_2, line_heavy,	 line_bimodal,
	graph_normal, graph_heavy,   graph_bimodal,	 nothing_there,
	exact_clock,  forks,	     calibration_normal, calibration_others,
	several_head, several_rest,  drifts_head,	 drifts_rest,
};

int main(int argc, char **argv)
{
	int merges = 0, bad;

	if (argc > 1)
		scale = strtod(argv[1], NULL);
	if (argc > 2 || !(scale > 0 && scale <= 100)) {
		fprintf(stderr, "usage: bench-bisect [SCALE]\n");
		return 2;
	}
	range_line(&line, 1000);
	range_line(&small, 24);
	range_graph(&graph, 925);
	for (int i = 0; i < graph.n; i++)
		merges += graph.commits[i].nparents == 2;
	printf("right: %% of trials whose answer holds the culprit, and none "
	       "without; runs and builds: means;\nset: mean size of the "
	       "answer; d: shift in standard deviations of one boot. Graph: %d "
	       "commits, %d merges.\n",
	       graph.n, merges);
	fflush(stdout);
	bad = run_sections(section, FL_ARRAY_SIZE(section));
	if (!bad)
		speed();
	range_clear(&line);
	range_clear(&small);
	range_clear(&graph);
	return bad;
}

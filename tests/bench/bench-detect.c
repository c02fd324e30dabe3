// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Benchmark of change points in histories: simulated series with fixed seeds,
 * our detector beside a t-test in a window and recursive splitting with a
 * permutation test (the mean variant of E-divisive, Matteson and James 2014).
 * Prints tables on stdout; the first argument scales the trials (1 = the
 * published tables, 0.1 = a quick look).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "../../daemon/stats/detect.h"
#include "../../daemon/stats/stats.h"
#include "../../daemon/util/err.h"
#include "../unit/random.h"

#define N 1000
#define NEAR 5
#define MAX_CHANGES 400

enum noise { GAUSS, HEAVY, BIMODAL, AR, SPIKES, NOISES };
static const char *const names[] = { "normal", "t, 3 df", "bimodal 80/20",
				     "AR(1) 0.3", "2 % spikes" };
static const double shifts[] = { 0, 1, 2, 3, 5 };

struct tally {
	double hits, found, truth, points;
	double covered, width; /* our intervals */
};

typedef int detector(const double *y, int n, int *at);

static double scale = 1;
static double state; /* of the autoregression */

static void seed(uint64_t s)
{
	rng = s * 0x9e3779b97f4a7c15u + 1;
	for (int i = 0; i < 20; i++)
		uniform();
	state = gauss();
}

static int count(int trials)
{
	int n = (int)(trials * scale);

	return n < 5 ? 5 : n;
}

/* Unit variance each, but for the spikes, which come on top. */
static double draw(enum noise kind)
{
	double x = gauss(), c = 0;

	switch (kind) {
	case HEAVY:
		for (int i = 0; i < 3; i++) {
			double g = gauss();

			c += g * g;
		}
		return x / sqrt(c / 3) / sqrt(3);
	case BIMODAL: /* modes 4 of their own deviations apart */
		x += uniform() < 0.2 ? 4 - 0.8 : -0.8;
		return x / sqrt(1 + 16 * 0.16);
	case AR:
		state = 0.3 * state + sqrt(1 - 0.09) * x;
		return state;
	case SPIKES:
		if (uniform() < 0.02)
			return x + (uniform() < 0.5 ? -1 : 1) *
					   (5 + 10 * uniform());
		return x;
	default:
		return x;
	}
}

/* Ten changes of +-d, 50 to 150 values apart. Returns how many. */
static int make(double *y, enum noise kind, double d, int *truth)
{
	int k = 0, next = 50 + below(100);
	double level = 0;

	for (int i = 0; i < N; i++) {
		if (d > 0 && i == next && i <= N - 50) {
			level += uniform() < 0.5 ? -d : d;
			truth[k++] = i;
			next += 50 + below(101);
		}
		y[i] = level + draw(kind);
	}
	return k;
}

/* ---- detectors --------------------------------------------------------- */

static struct fl_detection last;

static int ours(const double *y, int n, int *at)
{
	struct fl_detect_params p = { 0, 0 };
	int k;

	fl_detection_clear(&last);
	fl_detect(y, (size_t)n, &p, &last);
	for (k = 0; k < (int)last.nchanges && k < MAX_CHANGES; k++)
		at[k] = (int)last.changes[k].at;
	return k;
}

/* Twelve values before against twelve after; the largest |t| above 7. */
static int window(const double *y, int n, int *at)
{
	enum { W = 12 };
	int k = 0, since = -W;
	double best = 0;

	for (int i = W; i <= n - W; i++) {
		double t = fabs(
			fl_stats_moderated_t(y + i - W, W, y + i, W, 0, 0, 0.95)
				.t);

		if (t <= 7 || k == MAX_CHANGES)
			continue;
		if (i - since >= W || t > best) {
			k += i - since >= W;
			at[k - 1] = since = i;
			best = t;
		}
	}
	return k;
}

static double best_split(const double *y, int n, int *at)
{
	double total = 0, left = 0, best = 0;

	for (int i = 0; i < n; i++)
		total += y[i];
	for (int i = 1; i < n; i++) {
		double d;

		left += y[i - 1];
		if (i < 3 || i > n - 3)
			continue;
		d = left / i - (total - left) / (n - i);
		d *= d * i * (n - i) / n;
		if (d > best) {
			best = d;
			*at = i;
		}
	}
	return best;
}

/* Splits at the best place while fewer than 5 of 100 shuffles do as well. */
static int split(const double *y, int from, int n, int *at, int k)
{
	double *v, real;
	int where = 0, worse = 0, ignore;

	if (n < 6 || k >= MAX_CHANGES - 1)
		return k;
	real = best_split(y + from, n, &where);
	v = fl_calloc((size_t)n, sizeof(*v));
	memcpy(v, y + from, (size_t)n * sizeof(*v));
	for (int m = 0; m < 100 && worse < 5; m++) {
		for (int i = n - 1; i > 0; i--) {
			int j = below(i + 1);
			double x = v[i];

			v[i] = v[j];
			v[j] = x;
		}
		worse += best_split(v, n, &ignore) >= real;
	}
	free(v);
	if (worse >= 5 || !where)
		return k;
	k = split(y, from, where, at, k);
	at[k++] = from + where;
	return split(y, from + where, n - where, at, k);
}

static int divisive(const double *y, int n, int *at)
{
	return split(y, 0, n, at, 0);
}

/* ---- recall and precision ---------------------------------------------- */

static void score(struct tally *t, const int *truth, int nt, const int *at,
		  int k, bool intervals)
{
	t->truth += nt;
	t->found += k;
	t->points += N;
	for (int i = 0; i < nt; i++) {
		int best = -1;

		for (int j = 0; j < k; j++)
			if (best < 0 ||
			    abs(at[j] - truth[i]) < abs(at[best] - truth[i]))
				best = j;
		if (best < 0 || abs(at[best] - truth[i]) > NEAR)
			continue;
		t->hits++;
		if (intervals) {
			const struct fl_change *c = &last.changes[best];

			t->covered += (int)c->lo <= truth[i] &&
				      (int)c->hi >= truth[i];
			t->width += (double)(c->hi - c->lo + 1);
		}
	}
}

static void print_cell(const struct tally *t)
{
	double p = t->found ? t->hits / t->found : 1;
	double r = t->truth ? t->hits / t->truth : 1;

	if (!t->truth)
		printf("  %22.2f", 1000 * t->found / t->points);
	else
		printf("  %6.3f %6.3f  %6.3f ", p, r,
		       t->hits ? 2 * p * r / (p + r) : 0);
}

static void table(detector *const *what, int ndetectors, int trials)
{
	printf("\n%-14s %2s  %-22s  %-22s  %-22s\n", "noise", "d", "ours",
	       "t-test, window 12", "splits, permutations");
	printf("%-14s %2s", "", "");
	for (int i = 0; i < ndetectors; i++)
		printf("  %-22s", "precis. recall  F1");
	printf(" interval\n");
	for (int kind = 0; kind < NOISES; kind++) {
		for (size_t d = 0; d < FL_ARRAY_SIZE(shifts); d++) {
			struct tally t[4] = { 0 };

			seed((uint64_t)(100 * kind) + d + 1);
			for (int i = 0; i < trials; i++) {
				int truth[64], at[MAX_CHANGES];
				double y[N];
				int nt = make(y, kind, shifts[d], truth);

				for (int w = 0; w < ndetectors; w++)
					score(&t[w], truth, nt, at,
					      what[w](y, N, at), w == 0);
			}
			printf("%-14s %2.0f", names[kind], shifts[d]);
			for (int w = 0; w < ndetectors; w++)
				print_cell(&t[w]);
			if (t[0].hits)
				printf("  %5.1f %% %5.1f",
				       100 * t[0].covered / t[0].hits,
				       t[0].width / t[0].hits);
			printf("\n");
			fflush(stdout);
		}
	}
}

/* ---- every night ------------------------------------------------------- */

/*
 * Both sides of a suspect are booted anew, 6 to 20 boots each, all looks
 * together at 5 %. Returns whether the change is found again, same direction.
 */
static bool confirm(enum noise kind, double d, int sign)
{
	const struct fl_looks *looks = &fl_looks_default;
	struct fl_compare_params p = {
		.better = 1, .alpha = 0.05, .seed = 1, .looks = looks
	};
	struct fl_compare_result r;
	double a[20], b[20];

	for (int i = 0; i < 20; i++) {
		a[i] = draw(kind);
		b[i] = draw(kind) + d;
	}
	for (size_t i = 0; i < looks->n; i++) {
		fl_stats_compare(a, looks->boots[i], b, looks->boots[i], &p,
				 &r);
		if (r.shift)
			return (r.effect > 0) == (sign > 0);
	}
	return false;
}

/* What the history nominates and nothing within NEAR was nominated before. */
static int nominate(const double *y, int n, int *seen, int nseen, int *sign)
{
	int at[MAX_CHANGES], k = ours(y, n, at);

	for (int i = 0; i <= k; i++) {
		bool known = false;
		int where = i < k ? at[i] : (int)last.suspect.at;

		if (i == k && !last.suspect.n)
			continue;
		for (int j = 0; j < nseen; j++)
			known |= abs(seen[j] - where) <= NEAR;
		if (known || nseen == MAX_CHANGES)
			continue;
		*sign = (i < k ? last.changes[i].effect : last.suspect.effect) >
					0 ?
				1 :
				-1;
		seen[nseen++] = where;
	}
	return nseen;
}

static void nightly(int trials)
{
	enum { START = 50, AB = 20 };

	printf("\nRe-run after every new value, no change: per 1,000 values\n"
	       "%-14s %10s %14s\n",
	       "noise", "suspects", "confirmed");
	for (int kind = 0; kind < NOISES; kind++) {
		double suspects = 0, confirmed = 0, points = 0;

		seed((uint64_t)(1000 + kind));
		for (int i = 0; i < trials; i++) {
			int seen[MAX_CHANGES], nseen = 0, truth[64];
			double y[N];

			make(y, kind, 0, truth);
			for (int n = START; n <= N; n++) {
				int sign = 0;
				int now = nominate(y, n, seen, nseen, &sign);

				suspects += now - nseen;
				/* many A/B each, for a precise mean */
				for (int a = 0; a < AB && now > nseen; a++)
					confirmed += confirm(kind, 0, sign) *
						     (double)(now - nseen) / AB;
				nseen = now;
				points++;
			}
		}
		printf("%-14s %10.2f %14.3f\n", names[kind],
		       1000 * suspects / points, 1000 * confirmed / points);
		fflush(stdout);
	}
}

/* A change of d after 200 values: how many of the new ones it takes. */
static void delay(int trials)
{
	printf("\nNew values until a change is nominated: median (found within "
	       "10), confirmed\n");
	for (int kind = 0; kind < NOISES; kind++) {
		printf("%-14s", names[kind]);
		for (size_t d = 2; d < FL_ARRAY_SIZE(shifts); d++) {
			double took[2000], n = 0, found = 0, sure = 0;

			seed((uint64_t)(2000 + 10 * kind) + d);
			for (int i = 0; i < trials && i < 2000; i++) {
				double y[240];
				int seen[MAX_CHANGES], nseen, sign, t, fresh;

				for (int j = 0; j < 240; j++)
					y[j] = draw(kind) +
					       (j >= 200 ? shifts[d] : 0);
				nseen = nominate(y, 200, seen, 0, &sign);
				/* an earlier false one would hide it */
				if (nseen && seen[nseen - 1] > 190)
					nseen = 0;
				for (t = 1; t <= 40; t++) {
					fresh = nominate(y, 200 + t, seen,
							 nseen, &sign);
					if (fresh > nseen &&
					    abs(seen[fresh - 1] - 200) <= NEAR)
						break;
					nseen = fresh;
				}
				took[(int)n++] = t;
				found += t <= 10;
				sure += confirm(kind, shifts[d], 1);
			}
			printf("  d=%.0f: %2.0f (%5.1f %%) %5.1f %%", shifts[d],
			       fl_stats_median(took, (size_t)n),
			       100 * found / n, 100 * sure / n);
		}
		printf("\n");
		fflush(stdout);
	}
}

/*
 * How well any method can place a change of d: both levels and rho are known,
 * and there is one change.
 */
static void limit(double rho, double d, int trials)
{
	int beyond = 0;

	seed(4000);
	for (int t = 0; t < trials; t++) {
		double y[100], x = gauss(), best = 1e9;
		int where = 0;

		for (int i = 0; i < 100; i++) {
			x = rho * x + sqrt(1 - rho * rho) * gauss();
			y[i] = x + (i >= 50 ? d : 0);
		}
		for (int at = 20; at <= 80; at++) {
			double cost = 0;

			for (int i = 1; i < 100; i++) {
				double e = y[i] - (i >= at ? d : 0) -
					   rho * (y[i - 1] -
						  (i - 1 >= at ? d : 0));

				cost += e * e;
			}
			if (cost < best) {
				best = cost;
				where = at;
			}
		}
		beyond += abs(where - 50) > NEAR;
	}
	printf("AR(1) %.1f, d = %.0f: with both levels known, %.1f %% lie "
	       "within %d values\n",
	       rho, d, 100 - 100.0 * beyond / trials, NEAR);
}

/* A few values, as a new series has: a step in the middle. */
static void short_series(int trials)
{
	static const int lengths[] = { 8, 12, 24, 50 };

	printf("\nShort series: false changes per 1,000 values, %% of steps in "
	       "the middle found\n");
	for (int kind = 0; kind < NOISES; kind++) {
		printf("%-14s", names[kind]);
		for (size_t l = 0; l < FL_ARRAY_SIZE(lengths); l++) {
			double got[4] = { 0 };
			int n = lengths[l], at[MAX_CHANGES];

			seed((uint64_t)(3000 + 10 * kind) + l);
			for (int i = 0; i < trials; i++) {
				double y[50];

				for (int j = 0; j < n; j++)
					y[j] = draw(kind);
				got[0] += ours(y, n, at);
				for (int d = 1; d < 4; d++) {
					static const double by[] = { 0, 3, 2,
								     5 };
					int k;

					for (int j = n / 2; j < n; j++)
						y[j] += by[d];
					k = ours(y, n, at);
					for (int j = 0; j < k; j++)
						got[d] += abs(at[j] - n / 2) <=
							  1;
				}
			}
			printf("  n=%d: %.2f, %.0f %.0f %.0f", n,
			       1000 * got[0] / n / trials,
			       100 * got[1] / trials, 100 * got[2] / trials,
			       100 * got[3] / trials);
		}
		printf("\n");
		fflush(stdout);
	}
	printf("(steps of 3, 5 and 10 deviations, within 1 value)\n");
}

static void timing(int n, bool changes)
{
	double *y = fl_calloc((size_t)n, sizeof(*y)), level = 0, best = 1e9;
	struct fl_detect_params p = { 0, 0 };
	struct fl_detection d;
	size_t found = 0;

	seed(77);
	for (int i = 0; i < n; i++) {
		if (changes && i % 100 == 50)
			level = 3 * gauss();
		y[i] = level + draw(GAUSS);
	}
	for (int i = 0; i < 5; i++) {
		struct timespec a, b;

		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
		fl_detect(y, (size_t)n, &p, &d);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
		best = fmin(best,
			    (double)(b.tv_sec - a.tv_sec) * 1e3 +
				    (double)(b.tv_nsec - a.tv_nsec) / 1e6);
		found = d.nchanges;
		fl_detection_clear(&d);
	}
	printf("%8d values, %4zu changes: %8.2f ms\n", n, found, best);
	free(y);
}

int main(int argc, char **argv)
{
	static detector *const all[] = { ours, window, divisive };
	static const int sizes[] = { 300, 1000, 10000, 100000 };

	if (argc > 1)
		scale = strtod(argv[1], NULL);
	if (argc > 2 || !(scale > 0 && scale <= 100)) {
		fprintf(stderr, "usage: bench-detect [SCALE]\n");
		return 2;
	}
	printf("Series of %d values with a change of d deviations every 50 to "
	       "150; a hit is\nwithin %d values. d = 0: false alarms per 1,000 "
	       "values.\n",
	       N, NEAR);
	table(all, 3, count(100));
	printf("\nThe best that can be had\n");
	for (int d = 1; d <= 3; d++)
		limit(0, d, count(10000));
	for (int d = 1; d <= 3; d++)
		limit(0.3, d, count(10000));
	nightly(count(30));
	delay(count(300));
	short_series(count(1000));
	printf("\nProcessor time, the best of 5\n");
	for (size_t i = 0; i < FL_ARRAY_SIZE(sizes); i++) {
		timing(sizes[i], false);
		timing(sizes[i], true);
	}
	fl_detection_clear(&last);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two-level data for bench-compare: a history of images, and two sides. */
#ifndef FL_TESTS_SIM_COMPARE_H
#define FL_TESTS_SIM_COMPARE_H

#include <math.h>
#include <string.h>
#include "../../daemon/stats/noise.h"
#include "../../daemon/stats/stats.h"
#include "../../daemon/util/err.h"
#include "../unit/random.h"

#define BOOTS 20 /* a side, the most that anything looks at */
#define REPS 30
#define IMAGES 12 /* history; each image has so many boots: */
#define IMAGE_BOOTS 5
#define MAX_IMAGES 40

enum noise { GAUSS, HEAVY, BIMODAL, DISTINCT, NOISES };
static const char *const noises[] = { "normal", "heavy tails (t, 3 df)",
				      "bimodal 80/20, 4 apart",
				      "bimodal 80/20, 12 apart" };

struct setting {
	enum noise noise;
	int reps;
	double effect; /* log ratio; negative: -effect boot deviations */
	double delta;
	double drift; /* deviation of a block's level, in boot deviations */
	double image; /* deviation of an image's level, likewise */
	double louder; /* today's deviations against history's; 0: 1 */
	int images; /* in the history; 0: IMAGES */
	int blocks; /* tell the blocks */
	int plain; /* do not use the modes */
};

struct trial {
	double rep[2][BOOTS * REPS], y[2][BOOTS];
	int block[BOOTS]; /* pairs of boots: A B B A */
	struct fl_noise history;
	unsigned int turn; /* the next combination of deviations */
};

static void seed(uint64_t s)
{
	rng = s * 0x9e3779b97f4a7c15u + 1;
	for (int i = 0; i < 20; i++)
		uniform();
}

/* 80 % in one mode, 20 % in another, `gap` of their own deviations away. */
static double two_modes(double gap)
{
	return (gauss() + gap * (uniform() < 0.2 ? 0.8 : -0.2)) /
	       sqrt(1 + 0.16 * gap * gap);
}

/* Unit variance each; t with 3 degrees of freedom is heavy-tailed. */
static double draw(enum noise kind)
{
	double a, b, c;

	switch (kind) {
	case GAUSS:
		break;
	case HEAVY:
		a = gauss();
		b = gauss();
		c = gauss();
		return gauss() / sqrt(a * a + b * b + c * c);
	case BIMODAL:
		return two_modes(4);
	case DISTINCT:
		return two_modes(12);
	case NOISES:
		break;
	}
	return gauss();
}

static double one_boot(const struct setting *s, double level, double su,
		       double se, double *rep)
{
	double own[REPS], u = level + su * draw(s->noise);

	for (int i = 0; i < s->reps; i++)
		own[i] = u + se * gauss();
	if (rep)
		memcpy(rep, own, sizeof(*rep) * (size_t)s->reps);
	return fl_stats_median(own, (size_t)s->reps);
}

static void fill_history(struct trial *t, const struct setting *s, double su,
			 double se)
{
	struct fl_noise_obs obs[MAX_IMAGES * IMAGE_BOOTS];
	struct fl_noise_params p = { 0 };
	int images = s->images ? s->images : IMAGES;

	for (int i = 0; i < images; i++) {
		/* No two blocks of the past are alike. */
		double f = exp(0.2 * gauss());
		double level = s->image * su * gauss();

		for (int k = 0; k < IMAGE_BOOTS; k++)
			obs[i * IMAGE_BOOTS + k] = (struct fl_noise_obs){
				i, k, one_boot(s, level, f * su, f * se, NULL)
			};
	}
	fl_noise_fit(obs, (size_t)(images * IMAGE_BOOTS), &p, &t->history);
}

/* Coefficients of variation between boots of real benchmarks: their 10, 30,
 * 50, 70 and 90 % points; within boots half, as much or twice that. */
static void fill(struct trial *t, const struct setting *s)
{
	static const double cv[] = { 0.0014, 0.0078, 0.016, 0.04, 0.072 };
	static const double ratio[] = { 0.5, 1, 2 };
	double su = cv[t->turn % 5], se = su * ratio[t->turn / 5 % 3];
	double f = exp(0.2 * gauss()) * (s->louder > 0 ? s->louder : 1);
	double level[BOOTS / 2], image[2];
	double effect = s->effect < 0 ? -s->effect * su : s->effect;

	t->turn++;
	fill_history(t, s, su, se);
	for (int i = 0; i < BOOTS / 2; i++)
		level[i] = 8 + s->drift * su * gauss();
	for (int side = 0; side < 2; side++)
		image[side] = s->image * su * gauss() + side * effect;
	for (int i = 0; i < BOOTS; i++) {
		t->block[i] = i / 2;
		for (int side = 0; side < 2; side++)
			t->y[side][i] = one_boot(s, level[i / 2] + image[side],
						 f * su, f * se,
						 &t->rep[side][i * s->reps]);
	}
}

#endif

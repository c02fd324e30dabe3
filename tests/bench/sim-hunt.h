/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole hunts, and the engine alone, on the simulated ranges of sim.h. */
#ifndef FL_TESTS_SIM_HUNT_H
#define FL_TESTS_SIM_HUNT_H

#include "../../bisect/hunt.h"
#include "sim.h"

/* The prior on the variance is wrong by a factor of 2.25 and weighs one
 * boot: what a fresh installation knows. */
static const struct fl_bisect_noise model = { 2.25, 1, 0 };

struct tally {
	int right, wrong, none; /* trials */
	int stated, stated_right; /* verified culprits */
	double runs, builds, size;
	int steps, most_steps; /* boots of searches between the ends */
};

static inline struct fl_hunt_params whole(void)
{
	return (struct fl_hunt_params){ .search = { .confidence = 0.95,
						    .gate_min_boots = 5,
						    .gate_max_boots = 20,
						    .gate_t = 4,
						    .max_runs = 400 },
					.verify_boots = 8,
					.verify_p = 0.02,
					.rest = 0.2,
					.max_culprits = 4 };
}

static inline bool is_culprit(const struct trial *t,
			      const struct fl_hunt_culprit *c)
{
	for (int i = 0; i < c->nset; i++)
		for (int k = 0; k < t->nculprits; k++)
			if (c->set[i] == t->culprit[k])
				return true;
	return false;
}

/* right: every culprit is in an answer, and no answer is without one. */
static inline void hunt_on(struct trial *t, const struct fl_bisect_noise *noise,
			   const struct fl_hunt_params *p, double unit,
			   struct tally *tally)
{
	const struct range *r = t->r;
	struct fl_hunt *h = fl_hunt_new(r->commits, r->n, noise, p);
	const struct fl_hunt_culprit *c;
	struct fl_hunt_ask a;
	int n, hits = 0, steps = 0;

	for (int i = 0; i < r->n; i++)
		fl_hunt_cost(h, i, 5, 1);
	while (fl_hunt_update(h) != FL_HUNT_DONE && fl_hunt_next(h, 1, &a)) {
		if (t->broken[a.commit]) {
			fl_hunt_skip(h, a.commit);
			continue;
		}
		fl_hunt_add(h, a.commit, a.role, unit * boot(t, a.commit));
		steps += a.role == FL_HUNT_SEARCH && a.commit > 0 &&
			 a.commit < r->n - 1;
	}
	tally->steps += steps;
	if (steps > tally->most_steps)
		tally->most_steps = steps;
	c = fl_hunt_culprits(h, &n);
	for (int i = 0; i < n; i++) {
		bool hit = is_culprit(t, &c[i]);

		hits += hit;
		tally->size += c[i].nset;
		tally->stated += c[i].parent >= 0;
		tally->stated_right += c[i].parent >= 0 && hit;
	}
	tally->none += !n;
	tally->right += n == t->nculprits && hits == n;
	tally->wrong += hits < n;
	tally->runs += t->runs;
	tally->builds += t->builds;
	fl_hunt_free(h);
}

static inline void hunt(struct trial *t, struct tally *tally)
{
	struct fl_hunt_params p = whole();

	hunt_on(t, &model, &p, 1, tally);
}

/* The engine without gate and verification. */
static inline struct fl_bisect *search(struct trial *t, int max_runs)
{
	struct fl_bisect_params p = { .confidence = 0.95,
				      .gate_min_boots = 5,
				      .gate_max_boots = 5,
				      .max_runs = max_runs };
	struct fl_bisect *b = fl_bisect_new(t->r->commits, t->r->n, &model, &p);
	int x;

	while (fl_bisect_update(b) <= FL_BISECT_SEARCH &&
	       fl_bisect_next(b, 1, &x)) {
		if (t->broken[x])
			fl_bisect_skip(b, x);
		else
			fl_bisect_add(b, x, boot(t, x));
	}
	return b;
}

#endif

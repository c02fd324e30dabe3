// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hunt of bisect/ and what it is told of the noise. Any command's number
 * may come with any noise, so nothing is assumed beforehand but a wide prior;
 * the first runs of both ends replace it.
 */
#include "bisect-run.h"

#include <errno.h>
#include <math.h>

#define WALL_SD 0.02
#define NU0 1
/*
 * Two commits that do the same still differ a little: the compiler lays out
 * another binary. How much is not known here, but what the user looks for has
 * to stand out from it, so it is taken to be this part of the threshold.
 */
#define IMAGE_PART 0.125
/* Numbers that repeat: the engine's figures for the exact clock. */
#define EXACT_SD 1e-5
#define EXACT_NU0 4
#define EXACT_LAMBDA 100

static const struct fl_hunt_params wall = {
	.search = { .gate_min_boots = 5, .gate_max_boots = 20, .gate_t = 4 },
	.verify_boots = 8,
	.verify_p = 0.02,
	.rest = 0.2,
	.max_culprits = 4,
};

static const struct fl_hunt_params exact = {
	.search = { .exact = true,
		    .gate_min_boots = 2,
		    .gate_max_boots = 2,
		    .gate_t = 4 },
	.verify_boots = 2,
	.verify_p = 0.02,
	.rest = 0.2,
	.max_culprits = 4,
};

int fl_brun_min_runs(bool is_exact)
{
	const struct fl_hunt_params *p = is_exact ? &exact : &wall;

	return 2 * p->search.gate_min_boots + 2 * p->verify_boots;
}

static struct fl_hunt *make(const struct fl_brun_hunt *h,
			    const struct fl_bisect_noise *noise)
{
	struct fl_hunt_params p = h->opts->exact ? exact : wall;
	_cleanup_free_ struct fl_bisect_commit *c =
		fl_calloc((size_t)h->graph.n, sizeof(*c));

	p.search.confidence = h->opts->confidence;
	p.search.min_effect = h->min_effect;
	p.search.max_runs = h->opts->max_runs;
	for (int i = 0; i < h->graph.n; i++)
		c[i] = (struct fl_bisect_commit){ h->graph.node[i].parents,
						  h->graph.node[i].nparents,
						  h->graph.node[i].prior };
	return fl_hunt_new(c, h->graph.n, noise, &p);
}

int fl_brun_model(struct fl_brun_hunt *h, struct fl_err *err)
{
	struct fl_bisect_noise noise = { WALL_SD * WALL_SD, NU0, 0 };

	h->min_effect = log1p(h->opts->threshold);
	h->image_sd = h->opts->exact ? 0 : IMAGE_PART * h->min_effect;
	noise.lambda = h->image_sd * h->image_sd / noise.s0sq;
	if (h->opts->exact)
		noise = (struct fl_bisect_noise){ EXACT_SD * EXACT_SD,
						  EXACT_NU0, EXACT_LAMBDA };
	h->tuned = h->opts->exact;
	h->hunt = make(h, &noise);
	return h->hunt ?
		       0 :
		       fl_err_set(err, -EINVAL, FL_E_BUG,
				  "cannot search the commits of '%s'", h->bad);
}

static void pass_on(struct fl_brun_hunt *h, const struct fl_brun_told *t)
{
	if (isnan(t->value))
		fl_hunt_skip(h->hunt, t->commit);
	else
		fl_hunt_add(h->hunt, t->commit, t->role, t->value);
}

static void tune(struct fl_brun_hunt *h)
{
	double sigma = fl_brun_sigma(h);
	int dof = 2 * (wall.search.gate_min_boots - 1);
	/* The prior keeps few equal values from looking free of noise. */
	double var =
		(NU0 * WALL_SD * WALL_SD + dof * sigma * sigma) / (NU0 + dof);
	struct fl_bisect_noise noise = { var, NU0,
					 h->image_sd * h->image_sd / var };
	struct fl_hunt *tuned = make(h, &noise);

	h->tuned = true;
	if (!tuned)
		return;
	fl_hunt_free(h->hunt);
	h->hunt = tuned;
	for (int i = 0; i < h->ntold; i++) {
		fl_hunt_update(h->hunt);
		pass_on(h, &h->told[i]);
	}
}

void fl_brun_tell(struct fl_brun_hunt *h, int commit, enum fl_hunt_role role,
		  double log_value)
{
	struct fl_brun_told t = { commit, role, log_value };
	const struct fl_brun_node *first = h->graph.node;
	const struct fl_brun_node *last = &h->graph.node[h->graph.n - 1];

	pass_on(h, &t);
	if (h->tuned)
		return;
	h->told = fl_realloc(h->told, (size_t)(h->ntold + 1) * sizeof(t));
	h->told[h->ntold++] = t;
	if (first->value[FL_HUNT_SEARCH].n >= wall.search.gate_min_boots &&
	    last->value[FL_HUNT_SEARCH].n >= wall.search.gate_min_boots)
		tune(h);
}

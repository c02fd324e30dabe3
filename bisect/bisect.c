// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The engine's object: what was added and the state that follows. See
 * bisect.h; the gate is in bisect-gate.c, the mathematics are in
 * bisect-belief.c and bisect-choice.c.
 */
#include "bisect-internal.h"

#include <math.h>
#include <string.h>
#include "../daemon/util/err.h"

/* Logarithms of doubles stay far below; squares of more would overflow. */
#define VALUE_MAX 1e100
/* Nats: a boot that tells less is not worth starting. */
#define INFO_MIN 1e-6

static bool well_formed(const struct fl_bisect_commit *commits, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		if (!isfinite(commits[i].prior) || commits[i].prior < 0 ||
		    commits[i].nparents < 0)
			return false;
		for (int k = 0; k < commits[i].nparents; k++)
			if (commits[i].parents[k] < 0 ||
			    commits[i].parents[k] >= i)
				return false;
		if (i)
			sum += commits[i].prior;
	}
	return sum > 0 && isfinite(sum);
}

static void copy_prior(struct fl_bisect *b,
		       const struct fl_bisect_commit *commits)
{
	double sum = 0;

	for (int i = 1; i < b->n; i++)
		sum += commits[i].prior;
	b->prior = fl_calloc((size_t)b->n, sizeof(double));
	for (int i = 1; i < b->n; i++)
		b->prior[i] = commits[i].prior / sum;
}

struct fl_bisect *fl_bisect_new(const struct fl_bisect_commit *commits, int n,
				const struct fl_bisect_noise *noise,
				const struct fl_bisect_params *params)
{
	struct fl_bisect *b;
	size_t size = (size_t)n;

	if (n < 2 || !well_formed(commits, n) || !isfinite(noise->s0sq) ||
	    noise->s0sq <= 0 || !isfinite(noise->nu0) || noise->nu0 < 0 ||
	    !isfinite(noise->lambda) || noise->lambda < 0)
		return NULL;
	b = fl_calloc(1, sizeof(*b));
	b->n = n;
	b->noise = *noise;
	b->params = *params;
	if (b->params.gate_min_boots < 1)
		b->params.gate_min_boots = 1;
	if (b->params.gate_max_boots < b->params.gate_min_boots)
		b->params.gate_max_boots = b->params.gate_min_boots;
	b->obs = fl_calloc(size, sizeof(*b->obs));
	for (int i = 0; i < n; i++)
		b->obs[i].run_s = 1;
	copy_prior(b, commits);
	b->post = fl_calloc(size, sizeof(double));
	b->level_b = fl_calloc(size, sizeof(double));
	b->level_g = fl_calloc(size, sizeof(double));
	b->mass_b = fl_calloc(size, sizeof(double));
	b->mass_g = fl_calloc(size, sizeof(double));
	b->side = fl_calloc(size * FL_LANES, sizeof(double));
	b->bound = fl_calloc(size, sizeof(double));
	b->class_of = fl_calloc(size, sizeof(int));
	b->class_mass = fl_calloc(size, sizeof(double));
	b->classes_stale = true;
	b->best = -1;
	if (!fl_bisect_graph_init(b, commits)) {
		fl_bisect_free(b);
		return NULL;
	}
	fl_bisect_update(b);
	return b;
}

void fl_bisect_free(struct fl_bisect *b)
{
	if (!b)
		return;
	fl_bisect_graph_clear(b);
	for (int i = 0; i < b->n; i++)
		free(b->obs[i].cell);
	free(b->prior);
	free(b->obs);
	free(b->ends[0].v);
	free(b->ends[1].v);
	free(b->post);
	free(b->level_b);
	free(b->level_g);
	free(b->mass_b);
	free(b->mass_g);
	free(b->side);
	free(b->bound);
	free(b->class_of);
	free(b->class_mass);
	free(b);
}

static void add_to_cell(struct fl_bisect *b, struct fl_obs *o, double value)
{
	struct fl_cell *c = o->ncells ? &o->cell[o->ncells - 1] : NULL;
	double delta, ss;

	if (!c || c->period != b->period) {
		o->cell = fl_realloc(o->cell, (size_t)(o->ncells + 1) *
						      sizeof(*o->cell));
		c = &o->cell[o->ncells++];
		*c = (struct fl_cell){ .period = b->period };
	}
	c->n++;
	delta = value - c->mean;
	c->mean += delta / c->n;
	ss = delta * (value - c->mean);
	c->ss += ss;
	b->cell_ss += ss;
	b->cell_dof += c->n > 1;
}

int fl_bisect_add(struct fl_bisect *b, int i, double log_value)
{
	struct fl_obs *o;
	double delta;

	if (i < 0 || i >= b->n || !isfinite(log_value) ||
	    fabs(log_value) > VALUE_MAX)
		return -1;
	o = &b->obs[i];
	o->boots++;
	b->total++;
	delta = log_value - o->mean;
	o->mean += delta / o->boots;
	o->ss += delta * (log_value - o->mean);
	add_to_cell(b, o, log_value);
	if (o->boots == 1) {
		fl_bisect_graph_near(b, i, false);
		if (o->skipped)
			b->classes_stale = true;
	}
	b->ends[0].since = i ? b->ends[0].since + 1 : 0;
	b->ends[1].since = i < b->n - 1 ? b->ends[1].since + 1 : 0;
	if (!i || i == b->n - 1)
		fl_bisect_gate_look(b, i, log_value);
	return 0;
}

void fl_bisect_period(struct fl_bisect *b, int period)
{
	if (period <= b->period)
		return;
	b->period = period;
	b->periods = b->total > 0;
}

void fl_bisect_skip(struct fl_bisect *b, int i)
{
	if (i < 0 || i >= b->n || b->obs[i].skipped)
		return;
	b->obs[i].skipped = true;
	b->classes_stale = true;
	fl_bisect_graph_near(b, i, true);
}

void fl_bisect_cost(struct fl_bisect *b, int i, double build_s, double run_s)
{
	if (i < 0 || i >= b->n)
		return;
	if (isfinite(build_s) && build_s >= 0)
		b->obs[i].build_s = build_s;
	if (isfinite(run_s) && run_s >= 0)
		b->obs[i].run_s = fmax(run_s, 1e-3);
}

void fl_bisect_pending(struct fl_bisect *b, int i, int boots)
{
	if (i >= 0 && i < b->n)
		b->obs[i].pending = boots > 0 ? boots : 0;
}

const char *fl_bisect_state_str(enum fl_bisect_state s)
{
	switch (s) {
	case FL_BISECT_GATE:
		return "gate";
	case FL_BISECT_SEARCH:
		return "search";
	case FL_BISECT_FOUND:
		return "found";
	case FL_BISECT_SHORTLIST:
		return "shortlist";
	case FL_BISECT_DOES_NOT_REPRODUCE:
		return "does-not-reproduce";
	}
	return "?";
}

enum fl_bisect_state fl_bisect_update(struct fl_bisect *b)
{
	fl_bisect_believe(b);
	b->best = -1;
	if (!b->gate_passed || !b->measured) {
		b->state = fl_bisect_gate_state(b);
		return b->state;
	}
	/* Also when the search is over: P(bad) of each commit is shown. */
	fl_bisect_choose(b);
	if (b->class_mass[b->best_class] >= b->params.confidence)
		b->state = FL_BISECT_FOUND;
	else if (fl_bisect_budget_spent(b) || b->best < 0 ||
		 b->best_info < INFO_MIN)
		b->state = FL_BISECT_SHORTLIST;
	else
		b->state = FL_BISECT_SEARCH;
	return b->state;
}

const double *fl_bisect_posterior(const struct fl_bisect *b)
{
	return b->post;
}

int fl_bisect_next(const struct fl_bisect *b, int k, int *out)
{
	bool pending = false;
	int count;

	if (k < 1)
		return 0;
	if (b->state == FL_BISECT_GATE)
		return fl_bisect_gate_next(b, k, out);
	if (b->state != FL_BISECT_SEARCH)
		return 0;
	count = fl_bisect_ends_due(b, k, out);
	if (count)
		return count;
	for (int i = 0; i < b->n && !pending; i++)
		pending = b->obs[i].pending > 0;
	if (k == 1 && !pending) {
		out[0] = b->best;
		return 1;
	}
	count = fl_bisect_choose_batch(b, k, out);
	/* Where all sides are clear only the levels are in doubt, which batches
	 * do not look at. */
	if (!count && !pending)
		out[count++] = b->best;
	return count;
}

double fl_bisect_p_bad(const struct fl_bisect *b, int i)
{
	double p = 0;

	if (i < 0 || i >= b->n)
		return NAN;
	for (int c = 1; c <= i; c++)
		if (b->post[c] > 0 && fl_bisect_has(b, i, c))
			p += b->post[c];
	return fmin(p, 1);
}

int fl_bisect_boots(const struct fl_bisect *b, int i)
{
	if (i < 0)
		return b->total;
	return i < b->n ? b->obs[i].boots : 0;
}

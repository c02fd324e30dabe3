// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What came in, a line of the journal at a time: to the hunt, to the costs,
 * and to the sums that are shown. A replay takes the same way.
 */
#include "bisect-run.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A commit that was measured before may fail this often. */
#define MAX_FAILURES 3

double fl_brun_mean(const struct fl_brun_node *node, int role)
{
	double sum = 0;
	int n = 0;

	for (int r = 0; r < 2; r++) {
		if (role >= 0 && role != r)
			continue;
		for (int i = 0; i < node->value[r].n; i++)
			sum += log(node->value[r].v[i]);
		n += node->value[r].n;
	}
	return n ? exp(sum / n) : NAN;
}

double fl_brun_sigma(const struct fl_brun_hunt *h)
{
	double ss = 0;
	int dof = 0;

	for (int i = 0; i < h->graph.n; i++) {
		const struct fl_brun_node *node = &h->graph.node[i];

		for (int r = 0; r < 2; r++) {
			const struct fl_brun_values *v = &node->value[r];
			double mean = log(fl_brun_mean(node, r));

			for (int j = 0; j < v->n; j++)
				ss += pow(log(v->v[j]) - mean, 2);
			dof += v->n ? v->n - 1 : 0;
		}
	}
	return dof ? sqrt(ss / dof) : NAN;
}

const char *fl_brun_name(const struct fl_brun_hunt *h, int i, char out[16])
{
	const char *rev = i == 0	      ? h->good :
			  i == h->graph.n - 1 ? h->bad :
						NULL;

	if (rev && strlen(rev) <= 12)
		return rev;
	snprintf(out, 16, "%.12s", h->graph.node[i].commit.sha);
	return out;
}

int fl_brun_most_probable(const struct fl_brun_hunt *h)
{
	const double *p = fl_hunt_posterior(h->hunt);
	int best = 0;

	for (int i = 1; i < h->graph.n; i++)
		if (p[i] > p[best])
			best = i;
	return best;
}

/* What a run costs where the work tree is, and where it would have to move. */
static void set_costs(struct fl_brun_hunt *h)
{
	double run, build;

	if (!h->first && !h->again)
		return;
	run = h->again ? h->again_s / h->again : h->first_s / h->first;
	build = h->first ? fmax(0, h->first_s / h->first - run) : 0;
	for (int i = 0; i < h->graph.n; i++)
		fl_hunt_cost(h->hunt, i, i == h->current ? 0 : build,
			     fmax(run, 1e-3));
}

static void take_time(struct fl_brun_hunt *h, int commit, double seconds,
		      bool failed)
{
	h->seconds += seconds;
	if (failed) {
		h->current = -1;
		return;
	}
	if (commit == h->current) {
		h->again_s += seconds;
		h->again++;
	} else {
		h->first_s += seconds;
		h->first++;
	}
	h->current = commit;
	set_costs(h);
}

/* Values that were said to repeat, and do not, would be taken for changes. */
static int check_exact(const struct fl_brun_hunt *h, int commit, double value,
		       struct fl_err *err)
{
	const struct fl_brun_node *node = &h->graph.node[commit];
	double first = node->value[0].n ? node->value[0].v[0] :
		       node->value[1].n ? node->value[1].v[0] :
					  value;
	double apart = fabs(log(value / first));

	if (!h->opts->exact || apart < h->min_effect / 3)
		return 0;
	return fl_err_set(
		err, -EINVAL, FL_E_USER,
		"--exact is for numbers that repeat, but '%.12s' gave %.9g and then %.9g (%.2g %% apart, --threshold is %.2g %%); leave it out, or raise --threshold",
		node->commit.sha, first, value, 100 * expm1(apart),
		100 * expm1(h->min_effect));
}

/*
 * A commit that was left out and the one that stands for it must be the same,
 * or the culprit is among those that were left out. Three standard errors
 * and half of the whole change: noise does not do that.
 */
static int check_beside(const struct fl_brun_hunt *h, int commit,
			const char *ran, struct fl_err *err)
{
	const struct fl_brun_node *node = &h->graph.node[commit];
	int n = node->value[FL_HUNT_SEARCH].n;
	double a = log(fl_brun_mean(&h->graph.node[0], FL_HUNT_SEARCH));
	double b = log(
		fl_brun_mean(&h->graph.node[h->graph.n - 1], FL_HUNT_SEARCH));
	double apart, se;

	if (!n || node->beside < (h->opts->exact ? 1 : 4))
		return 0;
	apart = fabs(node->beside_sum / node->beside -
		     log(fl_brun_mean(node, FL_HUNT_SEARCH)));
	se = fl_brun_sigma(h) * sqrt(1.0 / n + 1.0 / node->beside);
	if (apart < fabs(b - a) / 2 || apart < h->min_effect || apart < 3 * se)
		return 0;
	return fl_err_set(
		err, -EINVAL, FL_E_USER,
		"'%.12s' and '%.12s' differ, though no commit between them touches what --path names: the change is in one that does not; leave --path out",
		node->commit.sha, ran);
}

static void take_value(struct fl_brun_hunt *h, struct fl_hunt_ask ask,
		       double value)
{
	struct fl_brun_node *node = &h->graph.node[ask.commit];
	struct fl_brun_values *v = &node->value[ask.role];

	if (v->n == v->cap) {
		v->cap = v->cap ? 2 * v->cap : 8;
		v->v = fl_realloc(v->v, (size_t)v->cap * sizeof(*v->v));
	}
	h->tested += !node->value[0].n && !node->value[1].n;
	v->v[v->n++] = value;
	h->runs++;
	fl_brun_tell(h, ask.commit, ask.role, log(value));
}

/* A commit that gave a number before gets another chance or two. */
static void take_failure(struct fl_brun_hunt *h, int commit, const char *why,
			 bool never)
{
	struct fl_brun_node *node = &h->graph.node[commit];
	bool measured = node->value[0].n || node->value[1].n;

	free(node->why);
	node->why = fl_strdup(why);
	node->failures++;
	h->failed++;
	if (!node->skipped &&
	    (never || !measured || node->failures >= MAX_FAILURES)) {
		node->skipped = true;
		fl_brun_tell(h, commit, FL_HUNT_SEARCH, NAN);
	}
}

int fl_brun_take(struct fl_brun_hunt *h, const json_t *e, struct fl_err *err)
{
	const char *role = fl_json_str_or(e, "role", "search");
	const char *why = fl_json_str_or(e, "failed", NULL);
	const char *ran = fl_json_str_or(e, "ran", NULL);
	double value = fl_json_num_or(e, "value", NAN);
	struct fl_hunt_ask ask = {
		fl_brun_graph_find(&h->graph, fl_json_str_or(e, "commit", "")),
		strcmp(role, "verify") ? FL_HUNT_SEARCH : FL_HUNT_VERIFY,
	};
	int r;

	if (ask.commit < 0 || (!why && !(isfinite(value) && value > 0)))
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"the journal in '%s' has a line that is not of this hunt; begin anew with --restart",
			h->state.dir);
	take_time(h, ask.commit, fl_json_num_or(e, "seconds", 0), why != NULL);
	if (why) {
		take_failure(h, ask.commit, why,
			     json_is_true(json_object_get(e, "never")));
		return 0;
	}
	r = ran ? 0 : check_exact(h, ask.commit, value, err);
	if (r < 0)
		return r;
	if (!h->have_unit)
		snprintf(h->unit, sizeof(h->unit), "%s",
			 fl_json_str_or(e, "unit", ""));
	h->have_unit = true;
	take_value(h, ask, value);
	if (!ran)
		return 0;
	h->graph.node[ask.commit].beside++;
	h->graph.node[ask.commit].beside_sum += log(value);
	return check_beside(h, ask.commit, ran, err);
}

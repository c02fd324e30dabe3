// SPDX-License-Identifier: GPL-2.0-or-later
/* What a hunt ended with, as the JSON object of --json. See faultline(1). */
#include "bisect-run.h"

#include <math.h>

static json_t *number(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static int runs_of(const struct fl_brun_node *node)
{
	return node->value[0].n + node->value[1].n;
}

static json_t *commit_of(const struct fl_brun_hunt *h, int i)
{
	const struct fl_brun_node *node = &h->graph.node[i];
	const struct fl_git_commit *c = &node->commit;
	json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:I, s:i}", "commit",
			      c->sha, "subject", c->subject, "author",
			      c->author_name, "email", c->author_email, "date",
			      (json_int_t)c->commit_time, "runs",
			      runs_of(node));

	json_object_set_new(j, "value", number(fl_brun_mean(node, -1)));
	json_object_set_new(j, "failures", json_integer(node->failures));
	if (node->why)
		json_object_set_new(j, "failed", json_string(node->why));
	return j;
}

static json_t *end_of(const struct fl_brun_hunt *h, int i, const char *rev)
{
	json_t *j = commit_of(h, i);

	json_object_set_new(j, "rev", json_string(rev));
	return j;
}

static json_t *interval(double mid, double lo, double hi)
{
	json_t *j = json_object();

	json_object_set_new(j, "value", number(mid));
	json_object_set_new(j, "lo", number(lo));
	json_object_set_new(j, "hi", number(hi));
	return j;
}

static json_t *percent(double mid, double lo, double hi)
{
	return interval(100 * expm1(mid), 100 * expm1(lo), 100 * expm1(hi));
}

/* The change between the ends, normal 95 % interval, and what would show. */
static void put_change(const struct fl_brun_hunt *h, json_t *j)
{
	const struct fl_brun_node *a = &h->graph.node[0];
	const struct fl_brun_node *b = &h->graph.node[h->graph.n - 1];
	double sigma = fl_brun_sigma(h), t = h->opts->exact ? 0 : 4, se;
	double d = log(fl_brun_mean(b, -1) / fl_brun_mean(a, -1));

	if (!h->opts->exact)
		json_object_set_new(j, "noise_percent",
				    number(100 * expm1(sigma)));
	if (!runs_of(a) || !runs_of(b) || !isfinite(sigma))
		return;
	se = sqrt(sigma * sigma * (1.0 / runs_of(a) + 1.0 / runs_of(b)) +
		  2 * h->image_sd * h->image_sd);
	json_object_set_new(j, "change_percent",
			    percent(d, d - 1.96 * se, d + 1.96 * se));
	json_object_set_new(j, "resolved_percent",
			    number(100 * expm1(fmax(t * se, h->min_effect))));
}

static json_t *culprit_of(const struct fl_brun_hunt *h,
			  const struct fl_hunt_culprit *c)
{
	const double *p = fl_hunt_posterior(h->hunt);
	json_t *j = commit_of(h, c->commit), *set = json_array();
	double before;

	for (int i = 0; i < c->nset; i++) {
		json_t *one = commit_of(h, c->set[i]);

		json_object_set_new(one, "probability",
				    p ? number(p[c->set[i]]) : json_null());
		json_array_append_new(set, one);
	}
	json_object_set_new(j, "set", set);
	json_object_set_new(j, "confidence", number(c->confidence));
	json_object_set_new(j, "verified", json_boolean(c->verified));
	if (c->parent < 0)
		return j;
	json_object_set_new(j, "parent",
			    json_string(fl_brun_graph_beside(
				    &h->graph, c->parent, c->commit)));
	/* A set has its "after" at the first commit that can be tested. */
	before = fl_brun_mean(&h->graph.node[c->parent], FL_HUNT_VERIFY);
	json_object_set_new(j, "before", number(before));
	json_object_set_new(j, "after", number(before * exp(c->effect)));
	json_object_set_new(j, "fresh_runs",
			    json_integer(h->graph.node[c->parent].value[1].n));
	json_object_set_new(j, "effect_percent",
			    percent(c->effect, c->lo, c->hi));
	json_object_set_new(j, "share",
			    interval(c->share, c->share_lo, c->share_hi));
	return j;
}

json_t *fl_brun_result(const struct fl_brun_hunt *h)
{
	json_t *j = json_object(), *list = json_array(), *no = json_array();
	json_t *paths = json_array();
	int n = 0, last = h->graph.n - 1;
	const struct fl_hunt_culprit *c = fl_hunt_culprits(h->hunt, &n);

	json_object_set_new(
		j, "end", json_string(fl_hunt_end_str(fl_hunt_ended(h->hunt))));
	json_object_set_new(j, "good", end_of(h, 0, h->good));
	json_object_set_new(j, "bad", end_of(h, last, h->bad));
	json_object_set_new(j, "unit", json_string(h->unit));
	json_object_set_new(j, "commits", json_integer(h->graph.commits));
	json_object_set_new(j, "candidates", json_integer(h->graph.candidates));
	json_object_set_new(j, "runs", json_integer(h->runs));
	json_object_set_new(j, "failed_runs", json_integer(h->failed));
	json_object_set_new(j, "tested", json_integer(h->tested));
	json_object_set_new(j, "seconds", number(h->seconds));
	json_object_set_new(j, "max_runs", json_integer(h->opts->max_runs));
	json_object_set_new(j, "threshold_percent",
			    number(100 * h->opts->threshold));
	json_object_set_new(j, "state", json_string(h->state.dir));
	for (size_t i = 0; i < h->opts->paths.n; i++)
		json_array_append_new(paths, json_string(h->opts->paths.s[i]));
	json_object_set_new(j, "paths", paths);
	put_change(h, j);
	for (int i = 0; i < n; i++)
		json_array_append_new(list, culprit_of(h, &c[i]));
	json_object_set_new(j, "culprits", list);
	for (int i = 0; i <= last; i++)
		if (h->graph.node[i].skipped)
			json_array_append_new(no, commit_of(h, i));
	json_object_set_new(j, "untestable", no);
	return j;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hunt's object: what comes in, and what is asked for. See hunt.h; the
 * states are in hunt-state.c, the parts of the graph in hunt-stretch.c,
 * verification is in hunt-verify.c.
 */
#include "hunt-internal.h"

#include <math.h>
#include <string.h>
#include "../daemon/util/err.h"

static void copy_commits(struct fl_hunt *h, const struct fl_bisect_commit *from)
{
	size_t edges = 0;

	for (int i = 0; i < h->n; i++)
		edges += (size_t)from[i].nparents;
	h->commits = fl_calloc((size_t)h->n, sizeof(*h->commits));
	h->parents = fl_calloc(edges + 1, sizeof(int));
	edges = 0;
	for (int i = 0; i < h->n; i++) {
		h->commits[i] = from[i];
		h->commits[i].parents = h->parents + edges;
		for (int k = 0; k < from[i].nparents; k++)
			h->parents[edges++] = from[i].parents[k];
	}
}

struct fl_hunt *fl_hunt_new(const struct fl_bisect_commit *commits, int n,
			    const struct fl_bisect_noise *noise,
			    const struct fl_hunt_params *params)
{
	struct fl_hunt_stretch all = { 0, n - 1, -1, false, -1, -1 };
	struct fl_bisect *check =
		fl_bisect_new(commits, n, noise, &params->search);
	struct fl_hunt *h;
	size_t size = (size_t)n;

	if (!check)
		return NULL;
	fl_bisect_free(check);
	h = fl_calloc(1, sizeof(*h));
	h->n = n;
	h->noise = *noise;
	h->params = *params;
	if (h->params.verify_boots < 1)
		h->params.verify_boots = 1;
	if (h->params.max_culprits < 1)
		h->params.max_culprits = 1;
	copy_commits(h, commits);
	h->skipped = fl_calloc(size, sizeof(bool));
	h->blind = fl_calloc(size, sizeof(bool));
	h->build_s = fl_calloc(size, sizeof(double));
	h->run_s = fl_calloc(size, sizeof(double));
	h->post = fl_calloc(size, sizeof(double));
	h->local = fl_calloc(size, sizeof(int));
	h->global = fl_calloc(size, sizeof(int));
	for (int i = 0; i < 2; i++)
		h->pending[i] = fl_calloc(size, sizeof(int));
	for (int i = 0; i < n; i++)
		h->run_s[i] = 1;
	h->third = -1;
	h->started = -1;
	fl_hunt_enter(h, &all);
	fl_hunt_update(h);
	return h;
}

void fl_hunt_free(struct fl_hunt *h)
{
	if (!h)
		return;
	fl_bisect_free(h->engine);
	for (int i = 0; i < h->nculprits; i++)
		free((int *)h->culprits[i].set);
	free((int *)h->candidate.set);
	free(h->culprits);
	free(h->sorted);
	free(h->commits);
	free(h->parents);
	free(h->log);
	free(h->skipped);
	free(h->blind);
	free(h->build_s);
	free(h->run_s);
	free(h->post);
	free(h->pending[0]);
	free(h->pending[1]);
	free(h->local);
	free(h->global);
	free(h->todo);
	free(h);
}

/* ---- what comes in ------------------------------------------------------ */

static void append(struct fl_hunt *h, struct fl_hunt_event e)
{
	if (h->nlog == h->cap_log) {
		h->cap_log = h->cap_log ? 2 * h->cap_log : 64;
		h->log = fl_realloc(h->log,
				    (size_t)h->cap_log * sizeof(*h->log));
	}
	h->log[h->nlog++] = e;
}

int fl_hunt_add(struct fl_hunt *h, int commit, enum fl_hunt_role role,
		double log_value)
{
	if (commit < 0 || commit >= h->n || !isfinite(log_value) ||
	    fabs(log_value) > 1e100)
		return -1;
	append(h, (struct fl_hunt_event){
			  .commit = commit, .role = role, .value = log_value });
	h->boots++;
	return 0;
}

void fl_hunt_skip(struct fl_hunt *h, int commit)
{
	if (commit >= 0 && commit < h->n)
		append(h, (struct fl_hunt_event){ .skip = true,
						  .commit = commit });
}

void fl_hunt_cost(struct fl_hunt *h, int commit, double build_s, double run_s)
{
	if (commit < 0 || commit >= h->n)
		return;
	if (isfinite(build_s) && build_s >= 0)
		h->build_s[commit] = build_s;
	if (isfinite(run_s) && run_s >= 0)
		h->run_s[commit] = run_s;
	if (h->engine && h->local[commit] >= 0)
		fl_bisect_cost(h->engine, h->local[commit], build_s, run_s);
}

void fl_hunt_pending(struct fl_hunt *h, int commit, enum fl_hunt_role role,
		     int boots)
{
	if (commit < 0 || commit >= h->n)
		return;
	h->pending[role][commit] = boots > 0 ? boots : 0;
	if (role == FL_HUNT_SEARCH && h->engine && h->local[commit] >= 0)
		fl_bisect_pending(h->engine, h->local[commit], boots);
}

/* ---- what goes out ------------------------------------------------------ */

static int search_next(const struct fl_hunt *h, int k, struct fl_hunt_ask *out)
{
	_cleanup_free_ int *at = NULL;
	int n = 0;

	if (h->confirming) {
		int have = fl_bisect_boots(h->engine, h->local[h->third]) +
			   h->pending[FL_HUNT_SEARCH][h->third];

		for (; n < k && have + n < h->params.search.gate_min_boots; n++)
			out[n] = (struct fl_hunt_ask){ h->third,
						       FL_HUNT_SEARCH };
		return n;
	}
	at = fl_calloc((size_t)k, sizeof(int));
	n = fl_bisect_next(h->engine, k, at);
	for (int i = 0; i < n; i++)
		out[i] = (struct fl_hunt_ask){ h->global[at[i]],
					       FL_HUNT_SEARCH };
	return n;
}

int fl_hunt_next(const struct fl_hunt *h, int k, struct fl_hunt_ask *out)
{
	if (h->state == FL_HUNT_DONE || k < 1)
		return 0;
	if (h->params.search.max_runs > 0) {
		int left = h->params.search.max_runs - h->boots;

		for (int i = 0; i < h->n; i++)
			left -= h->pending[0][i] + h->pending[1][i];
		k = k < left ? k : left;
	}
	if (k < 1)
		return 0;
	if (h->state == FL_HUNT_VERIFYING)
		return fl_hunt_verify_next(h, k, out);
	return search_next(h, k, out);
}

const double *fl_hunt_posterior(const struct fl_hunt *h)
{
	return h->post;
}

void fl_hunt_levels(const struct fl_hunt *h, struct fl_bisect_levels *ret)
{
	*ret = h->levels;
}

enum fl_hunt_end fl_hunt_ended(const struct fl_hunt *h)
{
	return h->end;
}

const char *fl_hunt_end_str(enum fl_hunt_end e)
{
	switch (e) {
	case FL_HUNT_OPEN:
		return "open";
	case FL_HUNT_FOUND:
		return "found";
	case FL_HUNT_PARTLY:
		return "partly";
	case FL_HUNT_SET:
		return "shortlist";
	case FL_HUNT_NOT_VERIFIED:
		return "not-verified";
	case FL_HUNT_DOES_NOT_REPRODUCE:
		return "does-not-reproduce";
	case FL_HUNT_UNTESTABLE:
		return "untestable";
	}
	return "?";
}

const struct fl_hunt_culprit *fl_hunt_culprits(const struct fl_hunt *h, int *n)
{
	*n = h->nculprits;
	return h->state == FL_HUNT_DONE ? h->sorted : h->culprits;
}

int fl_hunt_boots(const struct fl_hunt *h)
{
	return h->boots;
}

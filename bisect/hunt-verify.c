// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Verification of a candidate: what it is measured against, in which order,
 * and whether it differs; and the few distributions that this needs. Called
 * by hunt.c; cannot fail.
 */
#include "hunt-internal.h"

#include <math.h>
#include <string.h>
#include "bisect-internal.h"
#include "../daemon/util/err.h"

/* ---- numbers ------------------------------------------------------------ */

struct fl_hunt_mean fl_hunt_mean_of(const struct fl_hunt *h, int commit,
				    bool fresh)
{
	struct fl_hunt_mean m = { 0, 0 };

	for (int i = 0; i < h->done; i++) {
		const struct fl_hunt_event *e = &h->log[i];

		if (e->skip || e->commit != commit || e->searched == fresh)
			continue;
		m.n++;
		m.mean += (e->value - m.mean) / m.n;
	}
	return m;
}

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Deviations from the mean of a commit's values so far, each scaled to the
 * variance of one boot. Fresh and other values apart, since those that made it
 * a candidate were selected for where they lay; and periods apart, since the
 * host may have drifted. Returns how many there are, in order of size.
 */
static int deviations(const struct fl_hunt *h, double *dev)
{
	size_t size = 2 * (size_t)h->n;
	_cleanup_free_ struct fl_hunt_mean *m = fl_calloc(size, sizeof(*m));
	_cleanup_free_ int *period = fl_calloc(size, sizeof(int));
	int n = 0;

	for (int i = 0; i < h->done; i++) {
		const struct fl_hunt_event *e = &h->log[i];
		int cell = 2 * e->commit + e->searched;
		struct fl_hunt_mean *at = &m[cell];
		double delta;

		if (e->skip)
			continue;
		if (period[cell] != e->period)
			*at = (struct fl_hunt_mean){ 0, 0 };
		period[cell] = e->period;
		delta = e->value - at->mean;
		at->n++;
		at->mean += delta / at->n;
		if (at->n > 1)
			dev[n++] = fabs(delta) * sqrt((at->n - 1.0) / at->n);
	}
	qsort(dev, (size_t)n, sizeof(*dev), cmp_double);
	return n;
}

/* One boot that took twice as long must not hide what all others say: what
 * lies beyond six deviations, as the median puts them, counts as six. */
double fl_hunt_variance(const struct fl_hunt *h, double *dof)
{
	_cleanup_free_ double *dev =
		fl_calloc((size_t)h->done + 1, sizeof(*dev));
	double ss = h->noise.nu0 * h->noise.s0sq, cap;
	int n = deviations(h, dev);

	cap = n > 4 && dev[n / 2] > 0 ? 6 * 1.4826 * dev[n / 2] : HUGE_VAL;
	for (int i = 0; i < n; i++)
		ss += fmin(dev[i], cap) * fmin(dev[i], cap);
	*dof = h->noise.nu0 + n;
	return *dof > 0 ? fmax(ss / *dof, 1e-12 * h->noise.s0sq) :
			  h->noise.s0sq;
}

/* Upper tail of the normal curve, turned round (Abramowitz and Stegun
 * 26.2.23 to start with, then Newton). */
static double normal_quantile(double tail)
{
	double t = sqrt(-2 * log(tail));
	double z = t -
		   (2.515517 + t * (0.802853 + t * 0.010328)) /
			   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));

	for (int i = 0; i < 4; i++)
		z += (0.5 * erfc(z / M_SQRT2) - tail) * sqrt(2 * M_PI) *
		     exp(z * z / 2);
	return z;
}

/* Wallace's approximation of the other direction, solved for t. */
double fl_hunt_t_quantile(double p, double dof)
{
	double z = normal_quantile(fmin(fmax(p, 1e-12), 0.99) / 2);
	double scaled = z * (8 * dof + 3) / (8 * dof + 1);

	return sqrt(dof * expm1(scaled * scaled / dof));
}

void fl_hunt_ratio(double x, double var_x, double y, double var_y, double t,
		   double *lo, double *hi)
{
	double a = y * y - t * t * var_y, b = x * y, root;

	*lo = -HUGE_VAL;
	*hi = HUGE_VAL;
	root = b * b - a * (x * x - t * t * var_x);
	if (!(a > 0) || !(root >= 0))
		return;
	*lo = (b - sqrt(root)) / a;
	*hi = (b + sqrt(root)) / a;
}

/* ---- the candidate ------------------------------------------------------ */

/* A boot of x can be had, and tells something in this stretch. */
static bool bootable(const struct fl_hunt *h, int x)
{
	return h->local[x] >= 0 && !h->blind[x] && !h->skipped[x];
}

/* The first commit that boots and contains c; -1 when there is none. */
static int seen_in(const struct fl_hunt *h, int c)
{
	_cleanup_free_ bool *has = fl_calloc((size_t)h->n, sizeof(bool));

	has[c] = true;
	for (int x = c; x < h->n; x++) {
		const struct fl_bisect_commit *at = &h->commits[x];

		if (h->local[x] < 0)
			continue;
		for (int k = 0; k < at->nparents && !has[x]; k++)
			has[x] = has[at->parents[k]];
		if (has[x] && bootable(h, x))
			return x;
	}
	return -1;
}

/*
 * What x is measured against: its parents, and where one is of the set or
 * does not boot, that one's parents. The good end for what has none in here.
 */
static void find_parents(struct fl_hunt *h, int x)
{
	const struct fl_hunt_culprit *c = &h->candidate;
	_cleanup_free_ bool *seen = fl_calloc((size_t)h->n, sizeof(bool));
	_cleanup_free_ bool *in_set = fl_calloc((size_t)h->n, sizeof(bool));
	_cleanup_free_ int *queue = fl_calloc((size_t)h->n, sizeof(int));
	int head = 0, tail = 0;

	for (int i = 0; i < c->nset; i++)
		in_set[c->set[i]] = true;
	h->nparents = 0;
	queue[tail++] = x;
	while (head < tail) {
		const struct fl_bisect_commit *at = &h->commits[queue[head++]];

		for (int k = 0; k < at->nparents; k++) {
			int p = at->parents[k];

			if (h->local[p] < 0 || seen[p])
				continue;
			seen[p] = true;
			if (in_set[p] || !bootable(h, p))
				queue[tail++] = p;
			else if (h->nparents < FL_HUNT_PARENTS)
				h->members[h->nparents++] = p;
		}
	}
	if (!h->nparents)
		h->members[h->nparents++] = h->now.good;
}

bool fl_hunt_candidate(struct fl_hunt *h)
{
	struct fl_hunt_culprit *c = &h->candidate;
	int *set = fl_calloc((size_t)h->n, sizeof(int)), x;

	free((int *)c->set);
	*c = (struct fl_hunt_culprit){ .set = set, .parent = -1 };
	c->effect = c->lo = c->hi = NAN;
	c->share = c->share_lo = c->share_hi = NAN;
	c->nset = fl_bisect_answer(h->engine, h->n, set, &c->confidence);
	for (int i = 0; i < c->nset; i++)
		set[i] = h->global[set[i]];
	c->commit = c->nset ? set[0] : h->now.bad;
	x = seen_in(h, c->commit);
	if (x < 0 || h->skipped[h->now.good])
		return false;
	find_parents(h, x);
	h->members[h->nparents] = x;
	return true;
}

bool fl_hunt_is_member(const struct fl_hunt *h, int commit)
{
	for (int i = 0; i <= h->nparents; i++)
		if (h->members[i] == commit)
			return true;
	return false;
}

bool fl_hunt_measured(const struct fl_hunt *h)
{
	for (int i = 0; i <= h->nparents; i++)
		if (fl_hunt_mean_of(h, h->members[i], true).n <
		    h->params.verify_boots)
			return false;
	return true;
}

/* The share of the whole change, whose values are not among the fresh ones. */
static void fill_share(struct fl_hunt *h, double var_effect, double var,
		       double t)
{
	struct fl_hunt_culprit *c = &h->candidate;
	struct fl_hunt_mean good = fl_hunt_mean_of(h, 0, false);
	struct fl_hunt_mean bad = fl_hunt_mean_of(h, h->n - 1, false);
	double whole = bad.mean - good.mean;

	if (!good.n || !bad.n || whole == 0)
		return;
	c->share = c->effect / whole;
	fl_hunt_ratio(c->effect, var_effect, whole,
		      var * (1.0 / good.n + 1.0 / bad.n + 2 * h->noise.lambda),
		      t, &c->share_lo, &c->share_hi);
}

bool fl_hunt_confirm(struct fl_hunt *h)
{
	struct fl_hunt_mean x =
		fl_hunt_mean_of(h, h->members[h->nparents], true);
	double up = fl_hunt_mean_of(h, h->now.bad, false).mean -
		    fl_hunt_mean_of(h, h->now.good, false).mean;
	struct fl_hunt_culprit *c = &h->candidate;
	double dof, var = fl_hunt_variance(h, &dof), var_effect = 0, t;
	double p_max = h->params.verify_p;
	bool all = true;

	/* Most searches have one culprit: a further one needs more evidence. */
	if (h->nculprits)
		p_max /= 10;

	dof = fmax(dof, 1);
	for (int i = 0; i < h->nparents; i++) {
		struct fl_hunt_mean p = fl_hunt_mean_of(h, h->members[i], true);
		double d = x.mean - p.mean, v;

		v = var * (1.0 / x.n + 1.0 / p.n + 2 * h->noise.lambda);
		t = fl_hunt_t_quantile(p_max, dof);
		if (h->params.search.exact)
			all = all && fabs(d) >= h->params.search.min_effect;
		else
			all = all && fabs(d) >= t * sqrt(v);
		all = all && (d > 0) == (up > 0) && d != 0;
		if (c->parent >= 0 && fabs(d) >= fabs(c->effect))
			continue;
		c->parent = h->members[i];
		c->effect = d;
		var_effect = v;
	}
	t = fl_hunt_t_quantile(0.05, dof);
	c->lo = c->effect - t * sqrt(var_effect);
	c->hi = c->effect + t * sqrt(var_effect);
	fill_share(h, var_effect, var, t);
	c->verified = all && c->nset == 1;
	return all;
}

/* There and back again: parents, candidate, candidate, parents. */
int fl_hunt_verify_next(const struct fl_hunt *h, int k, struct fl_hunt_ask *out)
{
	int have[FL_HUNT_PARENTS + 1] = { 0 }, count = h->nparents + 1, n = 0;

	for (int i = 0; i < count; i++)
		have[i] = fl_hunt_mean_of(h, h->members[i], true).n +
			  h->pending[FL_HUNT_VERIFY][h->members[i]];
	while (n < k) {
		int least = have[0], at = -1;

		for (int i = 1; i < count; i++)
			least = have[i] < least ? have[i] : least;
		if (least >= h->params.verify_boots)
			break;
		for (int i = 0; i < count; i++) {
			int j = least % 2 ? count - 1 - i : i;

			if (at < 0 && have[j] == least)
				at = j;
		}
		have[at]++;
		out[n++] =
			(struct fl_hunt_ask){ h->members[at], FL_HUNT_VERIFY };
	}
	return n;
}

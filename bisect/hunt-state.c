// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The states of a hunt. What came in is worked off one by one, so that the
 * answer depends on what was measured and in which order, never on when
 * somebody looked. See hunt.h; cannot fail.
 *
 *     gate -> search -> verify -> (next stretch) gate ... -> done
 *               ^         |
 *               +-- no ---+
 */
#include "hunt-internal.h"

#include <math.h>
#include <string.h>
#include "../daemon/util/err.h"

static bool is_whole(const struct fl_hunt *h)
{
	return h->now.good == 0 && h->now.bad == h->n - 1;
}

static bool out_of_boots(const struct fl_hunt *h)
{
	int max = h->params.search.max_runs;

	return max > 0 && h->worked >= max;
}

/* The budget of the hunt, or what a further stretch may take. */
static bool spent(const struct fl_hunt *h)
{
	return out_of_boots(h) ||
	       (h->nculprits > 0 &&
		h->worked - h->entered >= FL_HUNT_STRETCH_BOOTS);
}

/* The candidate becomes a culprit, or takes the place of one. */
static int record(struct fl_hunt *h, int at)
{
	if (at < 0) {
		at = h->nculprits++;
		h->culprits =
			fl_realloc(h->culprits,
				   (size_t)h->nculprits * sizeof(*h->culprits));
	} else {
		free((int *)h->culprits[at].set);
	}
	h->culprits[at] = h->candidate;
	h->candidate.set = NULL;
	return at;
}

static int cmp_culprit(const void *a, const void *b)
{
	const struct fl_hunt_culprit *x = a, *y = b;

	return x->commit - y->commit;
}

/*
 * A merge that joins two steps differs from each of its parents without being
 * one itself. What the culprits behind its other parents do is taken off.
 */
static void drop_joins(struct fl_hunt *h)
{
	for (int i = h->nculprits - 1; i >= 0; i--) {
		struct fl_hunt_culprit *c = &h->culprits[i];
		double others = 0;

		if (c->parent < 0 || h->commits[c->commit].nparents < 2)
			continue;
		for (int k = 0; k < h->nculprits; k++) {
			const struct fl_hunt_culprit *o = &h->culprits[k];

			if (k != i && o->parent >= 0 &&
			    fl_hunt_contains(h, c->commit, o->commit) &&
			    !fl_hunt_contains(h, c->parent, o->commit))
				others += o->effect;
		}
		if (fabs(c->effect - others) >= fabs(c->effect) / 2)
			continue;
		free((int *)c->set);
		*c = h->culprits[--h->nculprits];
	}
}

static void finish(struct fl_hunt *h)
{
	bool all = true, some = false;
	size_t n;

	drop_joins(h);
	n = (size_t)h->nculprits;
	h->state = FL_HUNT_DONE;
	for (size_t i = 0; i < n; i++) {
		all = all && h->culprits[i].verified;
		some = some || h->culprits[i].verified;
	}
	if (h->end == FL_HUNT_OPEN && !n)
		h->end = FL_HUNT_NOT_VERIFIED;
	else if (h->end == FL_HUNT_OPEN && !some)
		h->end = FL_HUNT_SET;
	else if (h->end == FL_HUNT_OPEN)
		h->end = all && !h->open_rest ? FL_HUNT_FOUND : FL_HUNT_PARTLY;
	h->sorted = fl_calloc(n, sizeof(*h->sorted));
	if (n)
		memcpy(h->sorted, h->culprits, n * sizeof(*h->sorted));
	qsort(h->sorted, n, sizeof(*h->sorted), cmp_culprit);
}

static void next_stretch(struct fl_hunt *h)
{
	while (h->ntodo) {
		struct fl_hunt_stretch s = h->todo[--h->ntodo];

		if (s.unless >= 0 && h->nculprits > s.unless)
			continue;
		if (out_of_boots(h) ||
		    (s.inside < 0 && h->nculprits >= h->params.max_culprits)) {
			h->open_rest = true;
			continue;
		}
		h->state = FL_HUNT_GATE;
		if (fl_hunt_enter(h, &s))
			return;
	}
	finish(h);
}

/* The search ended without a candidate that could be confirmed. */
static void give_up(struct fl_hunt *h, bool keep)
{
	if (h->now.inside < 0) {
		h->open_rest = true;
		/* Beside a culprit a guess is worth nothing. */
		if (keep && !h->nculprits)
			record(h, -1);
	}
	next_stretch(h);
}

/* None of the commits that a merge brought in: the merge itself. */
static void blame_merge(struct fl_hunt *h)
{
	struct fl_hunt_culprit *c = &h->culprits[h->now.inside];
	int last = c->set[0];

	for (int i = 0; i < c->nset; i++)
		last = c->set[i] > last ? c->set[i] : last;
	((int *)c->set)[0] = c->commit = last;
	c->nset = 1;
	c->verified = true;
}

static void gate_says_no(struct fl_hunt *h)
{
	if (is_whole(h) && !h->nculprits && !h->ntodo)
		h->end = FL_HUNT_DOES_NOT_REPRODUCE;
	else if (h->now.inside >= 0)
		blame_merge(h);
	else if (!h->drifts && fl_hunt_moves(h, h->now.good, h->now.bad, 3))
		h->open_rest = true;
	next_stretch(h);
}

/*
 * One commit far from both levels may have been an unlucky boot: it gets as
 * many as an end point. Then it is one, of both halves.
 */
static bool third_wanted(struct fl_hunt *h)
{
	struct fl_bisect_levels l;
	double mean, off;
	int x;

	h->third = -1;
	h->confirming = false;
	if (h->now.unsplit)
		return false;
	fl_bisect_get_levels(h->engine, &l);
	if (!l.third_level)
		return false;
	x = h->global[l.third_commit];
	mean = fl_hunt_mean_of(h, x, false).mean;
	off = fmin(fabs(mean - l.good), fabs(mean - l.bad));
	if (off < h->params.rest / 2 * fabs(l.bad - l.good))
		return false;
	h->confirming = fl_bisect_boots(h->engine, l.third_commit) <
				h->params.search.gate_min_boots &&
			!h->skipped[x];
	h->third = x;
	return h->confirming;
}

static void feed_fresh(struct fl_hunt *h, bool members_too)
{
	for (int i = 0; i < h->done; i++) {
		struct fl_hunt_event *e = &h->log[i];

		if (e->skip || e->searched ||
		    (!members_too && fl_hunt_is_member(h, e->commit)))
			continue;
		e->searched = true;
		fl_hunt_feed(h, e);
	}
}

/* Further stretches are entered on weak evidence: when more boots weaken it
 * they need not go on until the gate's last one. */
static bool no_use(const struct fl_hunt *h)
{
	struct fl_bisect_levels l;
	int enough = 8;

	if (!h->nculprits || h->drifts ||
	    fl_bisect_boots(h->engine, 0) < enough ||
	    fl_bisect_boots(h->engine, h->nlocal - 1) < enough)
		return false;
	fl_bisect_get_levels(h->engine, &l);
	return fabs(l.t) < 1.8;
}

/* The first period is the gate's and the boots after it. */
static int period_of(const struct fl_hunt *h, int run)
{
	int every = h->params.recheck ? h->params.recheck : 20;

	if (h->params.search.exact || every <= 0 || h->started < 0)
		return 0;
	return (run - h->started) / every;
}

/* Looks at the search; true when the hunt moved on. */
static bool look(struct fl_hunt *h)
{
	enum fl_bisect_state s;

	/* The next boot may be the first of a period. */
	fl_bisect_period(h->engine, period_of(h, h->worked));
	s = fl_bisect_update(h->engine);
	if (is_whole(h))
		fl_bisect_get_levels(h->engine, &h->levels);
	switch (s) {
	case FL_BISECT_GATE:
		h->state = FL_HUNT_GATE;
		h->confirming = false;
		if (!spent(h) && !no_use(h))
			return false;
		gate_says_no(h);
		return true;
	case FL_BISECT_DOES_NOT_REPRODUCE:
		gate_says_no(h);
		return true;
	case FL_BISECT_SEARCH:
	case FL_BISECT_FOUND:
	case FL_BISECT_SHORTLIST:
		break;
	}
	h->state = FL_HUNT_SEARCHING;
	if (h->started < 0)
		h->started = h->worked;
	if (s == FL_BISECT_SHORTLIST &&
	    (h->skipped[0] || h->skipped[h->n - 1]) && is_whole(h) &&
	    fl_bisect_boots(h->engine, 0) *
			    fl_bisect_boots(h->engine, h->nlocal - 1) ==
		    0) {
		h->end = FL_HUNT_UNTESTABLE;
		finish(h);
		return true;
	}
	if (third_wanted(h) && !spent(h))
		return false;
	if (s == FL_BISECT_FOUND && fl_hunt_candidate(h)) {
		feed_fresh(h, false);
		h->state = FL_HUNT_VERIFYING;
		return true;
	}
	if (s != FL_BISECT_FOUND && h->third >= 0 && !spent(h)) {
		fl_hunt_push_halves(h);
		next_stretch(h);
		return true;
	}
	if (s == FL_BISECT_SEARCH && !spent(h))
		return false;
	fl_hunt_candidate(h);
	give_up(h, true);
	return true;
}

static void confirmed(struct fl_hunt *h)
{
	int at = record(h, h->now.inside);

	if (h->now.inside < 0) {
		fl_hunt_push_around(h);
		if (h->culprits[at].nset > 1)
			fl_hunt_push_inside(h, at);
	}
	next_stretch(h);
}

/* Looks at the verification, once; true when the hunt moved on. */
static bool judge(struct fl_hunt *h)
{
	bool ok;

	if (!fl_hunt_measured(h)) {
		if (!spent(h))
			return false;
		give_up(h, true);
		return true;
	}
	ok = fl_hunt_confirm(h);
	feed_fresh(h, true);
	if (ok) {
		confirmed(h);
	} else if (++h->rejects <= FL_HUNT_REJECTS) {
		h->state = FL_HUNT_SEARCHING;
	} else {
		if (is_whole(h) && !h->nculprits && !h->ntodo)
			h->end = FL_HUNT_NOT_VERIFIED;
		give_up(h, h->end == FL_HUNT_NOT_VERIFIED);
	}
	return true;
}

static bool nothing_fresh(const struct fl_hunt *h)
{
	for (int i = 0; i <= h->nparents; i++)
		if (fl_hunt_mean_of(h, h->members[i], true).n)
			return false;
	return true;
}

static void work_off(struct fl_hunt *h)
{
	struct fl_hunt_event *e = &h->log[h->done++];
	bool verifying = h->state == FL_HUNT_VERIFYING;

	if (e->skip)
		h->skipped[e->commit] = true;
	else
		e->period = period_of(h, h->worked++);
	if (verifying && e->role == FL_HUNT_VERIFY && !e->skip &&
	    fl_hunt_is_member(h, e->commit))
		return;
	e->searched = !e->skip;
	if (h->engine)
		fl_hunt_feed(h, e);
	/* The search knows more before the verification has begun, or one of
	 * its members failed. */
	if (verifying &&
	    (nothing_fresh(h) || (e->skip && fl_hunt_is_member(h, e->commit))))
		h->state = FL_HUNT_SEARCHING;
}

static void fill_posterior(struct fl_hunt *h)
{
	const double *p = h->engine ? fl_bisect_posterior(h->engine) : NULL;

	if (!p)
		return;
	memset(h->post, 0, (size_t)h->n * sizeof(double));
	for (int i = 0; i < h->nlocal; i++)
		h->post[h->global[i]] = p[i];
}

enum fl_hunt_state fl_hunt_update(struct fl_hunt *h)
{
	bool moved = true;

	while (moved || h->done < h->nlog) {
		if (!moved)
			work_off(h);
		if (h->state == FL_HUNT_DONE)
			moved = false;
		else if (h->state == FL_HUNT_VERIFYING)
			moved = judge(h);
		else
			moved = look(h);
	}
	fill_posterior(h);
	return h->state;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where each commit of the demo tree lies. A seed shuffles the commits, keeps
 * a broken range (a fault, a few harmless commits, its fix) free of the two
 * that matter, and moves a stretch of the history partly to a side branch.
 * Pure: the same seed, version and date give the same plan.
 */
#include "demo.h"

#include <string.h>

/* SplitMix64 (Steele, Lea, Flood 2014): small, seedable, good enough. */
static uint64_t rnd(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t n)
{
	return (size_t)(rnd(state) % n);
}

/* What is placed as one: a commit, or a broken range with its fix. */
struct unit {
	const struct demo_change *c[5];
	size_t n;
	bool side;
};

static void shuffle_changes(uint64_t *state, const struct demo_change **v,
			    size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = below(state, i);
		const struct demo_change *t = v[i - 1];

		v[i - 1] = v[j];
		v[j] = t;
	}
}

static void shuffle_units(uint64_t *state, struct unit *v, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = below(state, i);
		struct unit t = v[i - 1];

		v[i - 1] = v[j];
		v[j] = t;
	}
}

/* fault, zero to two harmless ones, fix */
static void broken_range(uint64_t *state, struct unit *u,
			 const struct demo_change *fault,
			 const struct demo_change **harmless, size_t *left)
{
	size_t inner = below(state, 3);

	*u = (struct unit){ 0 };
	u->c[u->n++] = fault;
	while (inner--)
		u->c[u->n++] = harmless[--*left];
	u->c[u->n++] = fault + 1;
}

static size_t make_units(uint64_t *state, const struct demo_options *opt,
			 struct unit *units)
{
	const struct demo_change *harmless[DEMO_COMMITS] = { 0 };
	size_t left = demo_nharmless, n = 0, kept = 0;

	for (size_t i = 0; i < left; i++)
		harmless[i] = &demo_harmless[i];
	shuffle_changes(state, harmless, left);
	broken_range(state, &units[n++], &demo_special[0], harmless, &left);
	broken_range(state, &units[n++], &demo_special[2], harmless, &left);
	for (size_t i = 4; i < demo_nspecial; i++)
		units[n++] = (struct unit){ { &demo_special[i] }, 1, false };
	while (left)
		units[n++] = (struct unit){ { harmless[--left] }, 1, false };
	shuffle_units(state, units, n);

	/* Left out only now, so that the others keep their order. */
	for (size_t i = 0; i < n; i++) {
		enum demo_role role = units[i].c[0]->role;

		if ((role == DEMO_REGRESSION && opt->without_regression) ||
		    (role == DEMO_GAIN && opt->without_gain))
			continue;
		units[kept++] = units[i];
	}
	return kept;
}

/* Picks a stretch and who of it goes to the side; two on each at least. */
static void choose_side(uint64_t *state, struct unit *units, size_t n,
			size_t *first, size_t *end)
{
	size_t len = 6 + below(state, 4), nside = 0;

	*first = below(state, n - len);
	*end = *first + len;
	for (size_t i = *first; i < *end; i++) {
		size_t rest = *end - i;

		if (nside + rest <= 2)
			units[i].side = true;
		else if (i - *first - nside + rest <= 2)
			units[i].side = false;
		else
			units[i].side = below(state, 2);
		nside += units[i].side;
	}
}

static int add(struct demo_plan *plan, const struct demo_change *change,
	       int parent, int other)
{
	int i = (int)plan->n++;
	struct demo_commit *c = &plan->commits[i];

	*c = (struct demo_commit){ .change = *change,
				   .parent = { parent, other },
				   .applied = (uint64_t)1 << i };
	for (int p = 0; p < 2; p++)
		if (c->parent[p] >= 0)
			c->applied |= plan->commits[c->parent[p]].applied;
	return i;
}

static int add_unit(struct demo_plan *plan, const struct unit *u, int parent)
{
	for (size_t k = 0; k < u->n; k++)
		parent = add(plan, u->c[k], parent, DEMO_NONE);
	return parent;
}

static void add_dev(struct demo_plan *plan, uint64_t *state,
		    const struct demo_options *opt)
{
	static const struct demo_change merge = {
		DEMO_MERGE,
		"Merge branch 'for-next/mm-fs'",
		"Small changes to mm and fs that were ready early.\n",
		{ { 0 } }
	};
	struct unit units[DEMO_COMMITS] = { 0 };
	size_t n = make_units(state, opt, units), first, end;
	int tip = DEMO_ROOT, side;

	choose_side(state, units, n, &first, &end);
	for (size_t i = 0; i < first; i++)
		tip = add_unit(plan, &units[i], tip);
	side = tip;
	for (size_t i = first; i < end; i++) {
		int *to = units[i].side ? &side : &tip;

		*to = add_unit(plan, &units[i], *to);
	}
	tip = add(plan, &merge, tip, side);
	for (size_t i = end; i < n; i++)
		tip = add_unit(plan, &units[i], tip);
	plan->dev = tip;
}

/* The root is VERSION.PATCHLEVEL: no sublevel, like the real merge base. */
static void add_release(struct demo_plan *plan, int *tip, bool rc)
{
	const struct demo_version *v = &plan->base;
	size_t k = rc ? 1 : 0;
	struct demo_change c = { .role = DEMO_RELEASE };
	char *subject = plan->text[k], *put = plan->put[k];

	if (rc) {
		snprintf(subject, sizeof(plan->text[k]), "Linux %u.%u-rc1",
			 v->version, v->patchlevel + 1);
		snprintf(put, sizeof(plan->put[k]),
			 "PATCHLEVEL = %u\nSUBLEVEL = 0\nEXTRAVERSION = -rc1\n",
			 v->patchlevel + 1);
	} else {
		snprintf(subject, sizeof(plan->text[k]), "Linux %u.%u.%u",
			 v->version, v->patchlevel, v->sublevel);
		snprintf(put, sizeof(plan->put[k]),
			 "PATCHLEVEL = %u\nSUBLEVEL = %u\nEXTRAVERSION =\n",
			 v->patchlevel, v->sublevel);
	}
	snprintf(plan->put[2], sizeof(plan->put[2]),
		 "PATCHLEVEL = %u\nSUBLEVEL = 0\nEXTRAVERSION =\n",
		 v->patchlevel);
	c.subject = subject;
	c.edits[0] = (struct demo_edit){ "Makefile", plan->put[2], put };
	*tip = add(plan, &c, *tip, DEMO_NONE);
}

/* Evenly over nine weeks with a few hours of jitter, always forward. */
static void set_dates(struct demo_plan *plan, uint64_t *state, int64_t date)
{
	const int64_t day = (int64_t)24 * 3600, start = date - 70 * day;
	size_t ndev = plan->n - demo_nstable - 1;
	int64_t step = 60 * day / (int64_t)ndev;

	plan->root_time = start;
	for (size_t i = 0; i < plan->n; i++) {
		struct demo_commit *c = &plan->commits[i];
		size_t k = i + 1;

		if (i < ndev)
			c->time = start + (int64_t)k * step -
				  (int64_t)below(state, (size_t)step / 2);
		else /* the stable branch ends at the package's date */
			c->time = date - (int64_t)(plan->n - k) * 3 * day;
		c->author = 1 + (unsigned int)below(state, 12);
	}
}

void demo_plan_make(struct demo_plan *plan, const struct demo_options *opt,
		    const struct demo_version *base, int64_t date)
{
	uint64_t state = opt->seed;
	int tip = DEMO_ROOT;

	memset(plan, 0, sizeof(*plan));
	plan->base = *base;
	if (!plan->base.sublevel) /* a tag beside the base needs a number */
		plan->base.sublevel = 1;
	add_dev(plan, &state, opt);
	add_release(plan, &plan->dev, true);
	for (size_t i = 0; i < demo_nstable; i++)
		tip = add(plan, &demo_stable[i], tip, DEMO_NONE);
	add_release(plan, &tip, false);
	plan->stable = tip;
	set_dates(plan, &state, date);
}

const char *demo_role_str(enum demo_role role)
{
	static const char *const names[] = {
		[DEMO_DOC] = "doc",
		[DEMO_DRIVER] = "driver",
		[DEMO_NEUTRAL] = "neutral",
		[DEMO_BREAKS] = "breaks",
		[DEMO_BREAKS_FIX] = "breaks-fix",
		[DEMO_PANICS] = "panics",
		[DEMO_PANICS_FIX] = "panics-fix",
		[DEMO_REGRESSION] = "regression",
		[DEMO_GAIN] = "gain",
		[DEMO_MERGE] = "merge",
		[DEMO_RELEASE] = "release",
	};

	return names[role];
}

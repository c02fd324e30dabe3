// SPDX-License-Identifier: GPL-2.0-or-later
/* See profile.h. Formulas and sources: docs/STATISTICS.md. */
#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "stats/fdr.h"
#include "util/buf.h"
#include "util/json.h"

#define DEPTH_MAX 128
#define Z95 1.959963984540054

void fl_profile_clear(struct fl_profile *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->functions[i].name);
	for (size_t i = 0; i < p->nstacks; i++)
		free(p->stacks[i].frames);
	free(p->functions);
	free(p->stacks);
	*p = (struct fl_profile){ 0 };
}

/* ---- from rows -------------------------------------------------------------- */

/* Where name is, or where it belongs. */
static size_t position(const struct fl_profile *p, const char *name)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(p->functions[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct fl_profile_function *function(struct fl_profile *p,
					    const char *name)
{
	size_t at = position(p, name);

	if (at < p->n && !strcmp(p->functions[at].name, name))
		return &p->functions[at];
	p->functions =
		fl_realloc(p->functions, (p->n + 1) * sizeof(*p->functions));
	memmove(p->functions + at + 1, p->functions + at,
		(p->n - at) * sizeof(*p->functions));
	p->functions[at] =
		(struct fl_profile_function){ .name = fl_strdup(name) };
	p->n++;
	return &p->functions[at];
}

static const char *name_of(const json_t *nodes, int64_t i)
{
	return fl_json_str_or(json_array_get(nodes, (size_t)i), "function",
			      "[unknown]");
}

/* The nodes from i up to its last caller, nearest first. */
static size_t path_of(const json_t *nodes, int64_t i, int64_t path[DEPTH_MAX])
{
	size_t n = 0;

	while (i >= 0 && n < DEPTH_MAX) {
		path[n++] = i;
		i = fl_json_int_or(json_array_get(nodes, (size_t)i), "parent",
				   -1);
	}
	return n;
}

/* Takes the text of frames. */
static void add_stack(struct fl_profile *p, struct fl_buf *frames,
		      int64_t count)
{
	p->stacks =
		fl_realloc(p->stacks, (p->nstacks + 1) * sizeof(*p->stacks));
	p->stacks[p->nstacks++] =
		(struct fl_profile_stack){ fl_buf_steal(frames), count };
}

static void add_node(struct fl_profile *p, const json_t *nodes, size_t i)
{
	const json_t *node = json_array_get(nodes, i);
	int64_t self = fl_json_int_or(node, "self", 0), path[DEPTH_MAX];
	size_t n = self ? path_of(nodes, (int64_t)i, path) : 0;
	struct fl_profile_function *f = function(p, name_of(nodes, (int64_t)i));
	struct fl_buf frames = { 0 };

	f->self += self;
	f->rep += fl_json_int_or(node, "rep", 0);
	for (size_t k = 0; k < n; k++) {
		const char *name = name_of(nodes, path[k]);
		bool again = false;

		for (size_t j = 0; j < k && !again; j++)
			again = !strcmp(name, name_of(nodes, path[j]));
		if (!again)
			function(p, name)->children += self;
	}
	for (size_t k = n; k; k--)
		fl_buf_printf(&frames, "%s%s", k < n ? ";" : "",
			      name_of(nodes, path[k - 1]));
	if (n)
		add_stack(p, &frames, self);
}

static int by_frames(const void *pa, const void *pb)
{
	const struct fl_profile_stack *a = pa, *b = pb;

	return strcmp(a->frames, b->frames);
}

/* Sorted, each stack once. */
static void tidy_stacks(struct fl_profile *p)
{
	size_t n = 0;

	if (p->nstacks)
		qsort(p->stacks, p->nstacks, sizeof(*p->stacks), by_frames);
	for (size_t i = 0; i < p->nstacks; i++) {
		if (n &&
		    !strcmp(p->stacks[n - 1].frames, p->stacks[i].frames)) {
			p->stacks[n - 1].count += p->stacks[i].count;
			free(p->stacks[i].frames);
		} else {
			p->stacks[n++] = p->stacks[i];
		}
	}
	p->nstacks = n;
}

void fl_profile_add(struct fl_profile *p, const json_t *row,
		    const json_t *nodes)
{
	int64_t user = fl_json_int_or(row, "user", 0);
	int64_t rep = fl_json_int_or(row, "rep", -1);
	struct fl_buf frames = { 0 };

	p->rep = rep < 0 || p->rep < 0 ? -1 : p->rep + rep;
	p->runs++;
	p->samples += fl_json_int_or(row, "samples", 0);
	p->lost += fl_json_int_or(row, "lost", 0);
	p->user += user;
	for (size_t i = 0; i < json_array_size(nodes); i++)
		add_node(p, nodes, i);
	if (user) {
		struct fl_profile_function *f = function(p, FL_PROFILE_USER);

		f->self += user;
		f->children += user;
		fl_buf_puts(&frames, FL_PROFILE_USER);
		add_stack(p, &frames, user);
	}
	tidy_stacks(p);
}

/* ---- shares ----------------------------------------------------------------- */

/* Wilson 1927. */
double fl_profile_margin(int64_t count, int64_t samples)
{
	double n = (double)samples, share = n > 0 ? (double)count / n : 0;

	if (!(n > 0))
		return 1;
	return Z95 / (1 + Z95 * Z95 / n) *
	       sqrt(share * (1 - share) / n + Z95 * Z95 / (4 * n * n));
}

struct side {
	double samples, scale;
};

/*
 * Are two counts, each scaled, the same share? Agresti and Caffo 2000: one
 * sample more of each kind on both sides, so that small counts are judged with
 * caution. Returns p; *margin is half the 95 % interval of the difference.
 */
static double compare(int64_t a, struct side base, int64_t b, struct side head,
		      double *margin)
{
	double na = base.samples + 2, nb = head.samples + 2;
	double pa = ((double)a + 1) / na, pb = ((double)b + 1) / nb;
	double sd = sqrt(base.scale * base.scale * pa * (1 - pa) / na +
			 head.scale * head.scale * pb * (1 - pb) / nb);

	*margin = Z95 * sd;
	return erfc(fabs(head.scale * pb - base.scale * pa) / sd / sqrt(2));
}

static void fill_move(struct fl_profile_move *m,
		      const struct fl_profile_function *a, struct side base,
		      const struct fl_profile_function *b, struct side head)
{
	static const struct fl_profile_function none;
	double per_base = base.scale / base.samples;
	double per_head = head.scale / head.samples;
	double self, children, self_margin, children_margin;

	a = a ? a : &none; /* not both */
	b = b ? b : &none;
	m->name = a->name ? a->name : b->name;
	m->self_base = (double)a->self * per_base;
	m->self_head = (double)b->self * per_head;
	m->children_base = (double)a->children * per_base;
	m->children_head = (double)b->children * per_head;
	m->p_self = compare(a->self, base, b->self, head, &self_margin);
	m->p_children =
		compare(a->children, base, b->children, head, &children_margin);
	self = m->self_head - m->self_base;
	children = m->children_head - m->children_base;
	m->by_children = fabs(children) > fabs(self);
	m->moved = m->by_children ? children : self;
	m->margin = m->by_children ? children_margin : self_margin;
}

bool fl_profile_passes(const struct fl_profile_move *m)
{
	return m->self_base + m->self_head <
	       (m->children_base + m->children_head) / 1000;
}

/* The largest move first; of equal ones what does more itself; by name. */
static int by_move(const void *pa, const void *pb)
{
	const struct fl_profile_move *a = pa, *b = pb;
	double self_a = a->self_base + a->self_head;
	double self_b = b->self_base + b->self_head;
	/* what is equal but for rounding is equal */
	double move_a = round(fabs(a->moved) * 1e9);
	double move_b = round(fabs(b->moved) * 1e9);

	if (move_a != move_b)
		return move_a > move_b ? -1 : 1;
	if (self_a != self_b)
		return self_a > self_b ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Self and children of all functions are one family of tests. */
static void judge(struct fl_profile_move *m, size_t n)
{
	double *p = fl_calloc(2 * n + 1, sizeof(*p));
	int *keep = fl_calloc(2 * n + 1, sizeof(*keep));

	for (size_t i = 0; i < n; i++) {
		p[2 * i] = m[i].p_self;
		p[2 * i + 1] = m[i].p_children;
	}
	fl_fdr(p, 2 * n, FL_PROFILE_Q, NULL, keep);
	for (size_t i = 0; i < n; i++)
		m[i].real = keep[2 * i + m[i].by_children];
	free(p);
	free(keep);
}

size_t fl_profile_diff(const struct fl_profile *base, double scale_base,
		       const struct fl_profile *head, double scale_head,
		       struct fl_profile_move **ret)
{
	struct side a = { (double)base->samples, scale_base };
	struct side b = { (double)head->samples, scale_head };
	size_t n = 0, i = 0, k = 0;

	*ret = fl_calloc(base->n + head->n + 1, sizeof(**ret));
	if (!base->samples || !head->samples)
		return 0;
	while (i < base->n || k < head->n) {
		int c = i == base->n ? 1 :
			k == head->n ? -1 :
				       strcmp(base->functions[i].name,
					      head->functions[k].name);

		fill_move(&(*ret)[n++], c <= 0 ? &base->functions[i] : NULL, a,
			  c >= 0 ? &head->functions[k] : NULL, b);
		i += c <= 0;
		k += c >= 0;
	}
	judge(*ret, n);
	qsort(*ret, n, sizeof(**ret), by_move);
	return n;
}

/* ---- folded stacks ---------------------------------------------------------- */

void fl_profile_fold(FILE *f, const struct fl_profile *p)
{
	for (size_t i = 0; i < p->nstacks; i++)
		fprintf(f, "%s %lld\n", p->stacks[i].frames,
			(long long)p->stacks[i].count);
}

void fl_profile_fold_diff(FILE *f, const struct fl_profile *base,
			  const struct fl_profile *head)
{
	size_t i = 0, k = 0;

	while (i < base->nstacks || k < head->nstacks) {
		int c = i == base->nstacks ? 1 :
			k == head->nstacks ? -1 :
					     strcmp(base->stacks[i].frames,
						    head->stacks[k].frames);

		fprintf(f, "%s %lld %lld\n",
			c <= 0 ? base->stacks[i].frames :
				 head->stacks[k].frames,
			c <= 0 ? (long long)base->stacks[i].count : 0,
			c >= 0 ? (long long)head->stacks[k].count : 0);
		i += c <= 0;
		k += c >= 0;
	}
}

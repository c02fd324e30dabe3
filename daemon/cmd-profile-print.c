// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables and JSON of profiles and of what differs between them. */
#include "cmd-profile.h"

#include <math.h>
#include <string.h>

static double share(int64_t count, int64_t samples)
{
	return samples ? (double)count / (double)samples : 0;
}

/* By self, then by children, then by name. */
static int by_self(const void *pa, const void *pb)
{
	const struct fl_profile_function *a = pa, *b = pb;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->children != b->children)
		return a->children > b->children ? -1 : 1;
	return strcmp(a->name, b->name);
}

static struct fl_profile_function *sorted(const struct fl_profile *p)
{
	size_t size = p->n * sizeof(*p->functions);
	struct fl_profile_function *v = fl_malloc(size + 1);

	if (p->n) {
		memcpy(v, p->functions, size);
		qsort(v, p->n, sizeof(*v), by_self);
	}
	return v;
}

static void set_num(json_t *j, const char *key, double v)
{
	if (isfinite(v))
		json_object_set_new(j, key, json_real(v));
}

/* The KPI when iterations of string instructions are left out. */
static double without_strings(const struct fl_profile_case *c)
{
	if (c->p.rep < 0 || !c->p.samples)
		return NAN;
	return c->kpi * (1 - share(c->p.rep, c->p.samples));
}

static json_t *summary(const struct fl_profile_case *c)
{
	const struct fl_profile *p = &c->p;
	json_t *j = json_pack("{s:I, s:I, s:I, s:I}", "boots",
			      (json_int_t)p->runs, "samples",
			      (json_int_t)p->samples, "user",
			      (json_int_t)p->user, "lost", (json_int_t)p->lost);

	if (p->rep >= 0)
		json_object_set_new(j, "rep", json_integer(p->rep));
	set_num(j, "instructions_per_op", c->kpi);
	set_num(j, "instructions_per_op_without_strings", without_strings(c));
	return j;
}

json_t *fl_profile_json(const struct fl_profile_case *c)
{
	_cleanup_free_ struct fl_profile_function *v = sorted(&c->p);
	json_t *j = summary(c), *list = json_array();

	json_object_set_new(j, "case", json_string(c->name));
	json_object_set_new(j, "functions", list);
	for (size_t i = 0; i < c->p.n; i++)
		json_array_append_new(
			list,
			json_pack("{s:s, s:I, s:I, s:I, s:f, s:f}", "function",
				  v[i].name, "self", (json_int_t)v[i].self,
				  "children", (json_int_t)v[i].children, "rep",
				  (json_int_t)v[i].rep, "self_share",
				  share(v[i].self, c->p.samples),
				  "children_share",
				  share(v[i].children, c->p.samples)));
	return j;
}

static void print_summary(const struct fl_profile_case *c, const char *label)
{
	const struct fl_profile *p = &c->p;
	double plain = without_strings(c);

	printf("%s: ", c->name);
	fl_cli_safe(label);
	printf("\n  %lld samples", (long long)p->samples);
	if (p->runs > 1)
		printf(" of %lld boots", (long long)p->runs);
	if (p->rep >= 0)
		printf(", %.1f%% on string instructions",
		       100 * share(p->rep, p->samples));
	if (p->lost)
		printf(", %lld lost", (long long)p->lost);
	if (isfinite(c->kpi))
		printf("\n  %.1f instructions per operation", c->kpi);
	if (isfinite(plain))
		printf(", %.1f without string iterations", plain);
	puts("");
}

void fl_profile_print(const struct fl_profile_case *c, const char *label,
		      size_t top)
{
	_cleanup_free_ struct fl_profile_function *v = sorted(&c->p);
	const struct fl_profile *p = &c->p;

	print_summary(c, label);
	puts("\n   self %   +-   children %   +-  function");
	for (size_t i = 0; i < p->n && i < top; i++)
		printf("  %6.2f  %4.2f      %6.2f  %4.2f  %.44s\n",
		       100 * share(v[i].self, p->samples),
		       100 * fl_profile_margin(v[i].self, p->samples),
		       100 * share(v[i].children, p->samples),
		       100 * fl_profile_margin(v[i].children, p->samples),
		       v[i].name);
	puts("");
}

static json_t *moves_json(const struct fl_profile_move *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(
			list,
			json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:s, "
				  "s:f, s:f, s:b}",
				  "function", v[i].name, "self_base",
				  v[i].self_base, "self_head", v[i].self_head,
				  "children_base", v[i].children_base,
				  "children_head", v[i].children_head, "p_self",
				  v[i].p_self, "p_children", v[i].p_children,
				  "by", v[i].by_children ? "children" : "self",
				  "moved", v[i].moved, "margin", v[i].margin,
				  "above_noise", v[i].real));
	return list;
}

json_t *fl_profile_diff_json(const struct fl_profile_case *base,
			     const struct fl_profile_case *head)
{
	_cleanup_free_ struct fl_profile_move *v = NULL, *w = NULL;
	size_t n = fl_profile_diff(&base->p, 1, &head->p, 1, &v);
	json_t *j = json_pack("{s:s, s:o, s:o, s:o}", "case", base->name,
			      "base", summary(base), "head", summary(head),
			      "functions", moves_json(v, n));

	if (isfinite(base->kpi) && isfinite(head->kpi)) {
		n = fl_profile_diff(&base->p, base->kpi, &head->p, head->kpi,
				    &w);
		json_object_set_new(j, "instructions", moves_json(w, n));
	}
	return j;
}

static void print_none(const struct fl_profile_move *v, size_t n,
		       const char *unit, double times)
{
	puts("\nNo function moved by more than the noise of the counts.");
	if (n)
		printf("At most: %+.2f +- %.2f %s, %.40s.\n",
		       times * v[0].moved, times * v[0].margin, unit,
		       v[0].name);
	puts("");
}

/* times: from v's unit to the table's. */
static void print_moves(const struct fl_profile_move *v, size_t n, size_t top,
			const char *unit, double times)
{
	size_t real = 0, shown = 0;

	for (size_t i = 0; i < n; i++)
		real += v[i].real;
	if (!real) {
		print_none(v, n, unit, times);
		return;
	}
	printf("\n%9s   +-    self: base   head   children: base   head   function\n",
	       unit);
	for (size_t i = 0; i < n && shown < top; i++) {
		const struct fl_profile_move *m = &v[i];

		if (!m->real || fl_profile_passes(m))
			continue;
		printf("%+9.2f %5.2f   %7.2f %7.2f%c     %7.2f %7.2f%c  %.26s\n",
		       times * m->moved, times * m->margin,
		       times * m->self_base, times * m->self_head,
		       m->by_children ? ' ' : '*', times * m->children_base,
		       times * m->children_head, m->by_children ? '*' : ' ',
		       m->name);
		shown++;
	}
	printf("\n%zu of %zu functions moved by more than the noise of the counts.\n\n",
	       real, n);
}

void fl_profile_diff_print(const struct fl_profile_case *base,
			   const char *base_label,
			   const struct fl_profile_case *head,
			   const char *head_label, size_t top,
			   bool instructions)
{
	bool known = isfinite(base->kpi) && isfinite(head->kpi);
	bool scaled = instructions && known;
	_cleanup_free_ struct fl_profile_move *v = NULL;
	size_t n = fl_profile_diff(&base->p, scaled ? base->kpi : 1, &head->p,
				   scaled ? head->kpi : 1, &v);

	print_summary(base, base_label);
	print_summary(head, head_label);
	if (instructions && !known)
		puts("  (instructions are not known: 'faultline compare' first)");
	print_moves(v, n, top, scaled ? "instr/op" : "points",
		    scaled ? 1 : 100);
}

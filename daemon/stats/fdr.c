// SPDX-License-Identifier: GPL-2.0-or-later
/* See fdr.h. */
#include "fdr.h"

#include <math.h>
#include <stdlib.h>
#include "../util/err.h"
#include "stats.h"

struct ranked {
	double p;
	size_t at;
};

static int cmp_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->p > y->p) - (x->p < y->p);
}

size_t fl_fdr(const double *p, size_t n, double q, double *adjusted, int *keep)
{
	_cleanup_free_ struct ranked *s = fl_calloc(n + 1, sizeof(*s));
	double least = 1;
	size_t m = 0, kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (adjusted)
			adjusted[i] = NAN;
		if (keep)
			keep[i] = 0;
		if (!isnan(p[i]))
			s[m++] = (struct ranked){ p[i], i };
	}
	qsort(s, m, sizeof(*s), cmp_ranked);
	for (size_t i = m; i-- > 0;) {
		least = fmin(least, s[i].p * (double)m / (double)(i + 1));
		if (adjusted)
			adjusted[s[i].at] = least;
		if (keep)
			keep[s[i].at] = least <= q;
		kept += least <= q;
	}
	return kept;
}

size_t fl_fdr_results(struct fl_compare_result *r, size_t n, double q)
{
	_cleanup_free_ double *p = fl_calloc(n + 1, sizeof(*p));
	_cleanup_free_ double *adjusted = fl_calloc(n + 1, sizeof(*adjusted));
	size_t back = 0;

	for (size_t i = 0; i < n; i++)
		p[i] = r[i].p_look;
	fl_fdr(p, n, q, adjusted, NULL);
	for (size_t i = 0; i < n; i++) {
		r[i].p_adjusted = adjusted[i];
		if (!r[i].shift || !(adjusted[i] > q))
			continue;
		r[i].shift = 0;
		r[i].by_modes = 0;
		r[i].verdict = FL_UNCLEAR;
		r[i].hidden = fmax(fabs(r[i].lo), fabs(r[i].hi));
		r[i].more = r[i].next;
		back++;
	}
	return back;
}

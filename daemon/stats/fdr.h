/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many KPIs and cases of one pair: the share of false ones among the changes
 * that are reported is held below q (Benjamini and Hochberg 1995). Pure.
 */
#ifndef FL_STATS_FDR_H
#define FL_STATS_FDR_H

#include <stddef.h>

struct fl_compare_result;

/*
 * adjusted[i]: the smallest q at which p[i] is kept (may be NULL); keep[i]: 1
 * when that is at most q (may be NULL). NaN p are left out: adjusted NaN, not
 * kept, and not counted. Returns how many are kept.
 */
size_t fl_fdr(const double *p, size_t n, double q, double *adjusted, int *keep);

/*
 * The same over results of fl_stats_compare (their p_look), after one look at
 * all series of a pair. Sets p_adjusted of each; a shift that is not kept
 * becomes unclear, with what could hide and the boots of the next look. Exact
 * clock results have no p and stay as they are. Returns how many shifts were
 * taken back.
 */
size_t fl_fdr_results(struct fl_compare_result *r, size_t n, double q);

#endif

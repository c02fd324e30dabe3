/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sequential boots: how many a side a comparison looks at, and how much of
 * its false-alarm rate each look may spend. The shares add up to at most 1,
 * each look is judged at alpha x its own share, so that looking again and
 * again costs no more false alarms than alpha (Bonferroni over the looks).
 */
#ifndef FL_STATS_LOOKS_H
#define FL_STATS_LOOKS_H

#include <stddef.h>

#define FL_LOOKS_MAX 8

struct fl_looks {
	size_t n; /* looks, 1 to FL_LOOKS_MAX */
	size_t boots[FL_LOOKS_MAX]; /* a side, rising */
	double share[FL_LOOKS_MAX]; /* of alpha */
};

/* 6, 8, 12 and 20 boots a side with 0.1, 0.2, 0.3 and 0.4 of alpha. */
extern const struct fl_looks fl_looks_default;

/*
 * Index of the look that na and nb boots belong to: the last one whose boots
 * both sides have; -1 before the first. NULL plan (one look at whatever there
 * is): 0. Take each look once: boots between two looks belong to the earlier.
 */
int fl_looks_at(const struct fl_looks *plan, size_t na, size_t nb);

/* Boots a side that the next look wants; 0: there is none (or no plan). */
size_t fl_looks_next(const struct fl_looks *plan, size_t na, size_t nb);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles as they are read: functions with the samples in themselves and in
 * all that they call, and stacks; and what differs between two of them. Made
 * from rows (FL_ROWS_PROFILES, FL_ROWS_PROFILE_NODES); several boots of one
 * kernel add up. Pure.
 */
#ifndef FL_PROFILE_H
#define FL_PROFILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "util/err.h"

#define FL_PROFILE_USER "[user]" /* stands for all outside of the kernel */
/* Of the differences that are called real, at most so many are not. */
#define FL_PROFILE_Q 0.01

struct fl_profile_function {
	char *name;
	int64_t self; /* samples in it */
	int64_t children; /* in it and in what it calls, recursion once */
	int64_t rep; /* of self, on string instructions */
};

struct fl_profile_stack {
	char *frames; /* "caller;callee;…" */
	int64_t count;
};

struct fl_profile {
	int64_t runs, samples, user, lost;
	int64_t rep; /* -1: not known of every run */
	struct fl_profile_function *functions; /* by name */
	size_t n;
	struct fl_profile_stack *stacks; /* by frames, each once */
	size_t nstacks;
};

void fl_profile_clear(struct fl_profile *p);
/* Adds one run's case: its row, and the rows of its nodes in order. */
void fl_profile_add(struct fl_profile *p, const json_t *row,
		    const json_t *nodes);

/* How sure a share is: half its 95 % interval (Wilson), as a share. */
double fl_profile_margin(int64_t count, int64_t samples);

/*
 * What moved: head minus base, in shares of the samples, or in instructions per
 * operation when shares are multiplied by them.
 */
struct fl_profile_move {
	const char *name; /* owned by one of the profiles */
	double self_base, self_head, children_base, children_head;
	bool by_children; /* which of the two moved more: they rank by it */
	double moved, margin; /* of that one, and half its 95 % interval */
	double p_self, p_children; /* of no difference */
	bool real; /* above the noise of the counts, for FL_PROFILE_Q */
};

/*
 * All functions of either, the largest move first. scale_base, scale_head:
 * what all samples of a side amount to; 1 and 1 for shares. *ret is heap.
 * Nothing when one side has no samples.
 */
size_t fl_profile_diff(const struct fl_profile *base, double scale_base,
		       const struct fl_profile *head, double scale_head,
		       struct fl_profile_move **ret);
/* A function that does nothing itself on either side, and only calls. */
bool fl_profile_passes(const struct fl_profile_move *m);

/* For flame graphs: "frames count" lines, or "frames base head" lines. */
void fl_profile_fold(FILE *f, const struct fl_profile *p);
void fl_profile_fold_diff(FILE *f, const struct fl_profile *base,
			  const struct fl_profile *head);

#endif

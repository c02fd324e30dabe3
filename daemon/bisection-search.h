/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside bisection*.c only: a bisection in memory. Its graph and everything
 * that was measured, read from rows, and the engine that is fed with it.
 */
#ifndef FL_BISECTION_SEARCH_H
#define FL_BISECTION_SEARCH_H

#include "../bisect/bisect.h"
#include "bisection.h"

struct fl_search_node {
	char *sha;
	int *parents;
	int nparents;
	double prior;
	int stand_in; /* the commit that is built in its place: same image */
	struct fl_kernel kernel; /* id 0: never asked for */
	bool skipped;
	const char *skip; /* "build-failed" or "boot-failed" */
	double *values;
	size_t nvalues;
	int64_t queued;
};

struct fl_search {
	struct fl_target *t;
	struct fl_bisection *row;
	struct fl_search_node *node;
	int n;
	double sd; /* between boots, log scale */
	struct fl_bisect *engine;
};

/* s->t and s->row are set by the caller. Rows to graph, values and engine. */
int fl_search_load(struct fl_search *s, struct fl_err *err);
void fl_search_clear(struct fl_search *s);

#endif

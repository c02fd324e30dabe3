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
	struct fl_boots boots; /* logs */
	int64_t queued;
};

/* What came in, in the order in which the engine hears of it. */
struct fl_search_event {
	int node;
	int64_t run; /* 0: a commit that cannot be tested */
	double value; /* log */
	int64_t step; /* its row; 0: not written yet */
};

struct fl_search {
	struct fl_target *t;
	struct fl_bisection *row;
	struct fl_search_node *node;
	int n;
	double sd; /* between boots, log scale */
	struct fl_search_event *event;
	size_t nevents;
	struct fl_bisect *engine; /* heard of the events that have rows */
};

/* s->t and s->row are set by the caller. Rows to graph, values and engine;
 * events without a row, the newest, are left to fl_search_hear(). */
int fl_search_load(struct fl_search *s, struct fl_err *err);
/* Tells the engine of one event. */
void fl_search_hear(struct fl_search *s, const struct fl_search_event *e);
void fl_search_clear(struct fl_search *s);

#endif

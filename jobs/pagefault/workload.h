/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A workload is one const struct in a file of its own, listed in
 * workloads[] (workload.c). A *pass* maps a region, touches each of its
 * pages once and unmaps it; an *operation* is one touched page. The agent
 * repeats passes in each task and divides by the operations counted.
 */
#ifndef FL_WORKLOAD_H
#define FL_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fl_task {
	int fd; /* the task's own file of `memsize` bytes, or -1 */
	size_t memsize; /* bytes in a region; a multiple of the page size */
	size_t page; /* bytes in a page */
	volatile uint64_t *ops; /* shared with the agent, which samples it */
};

struct fl_workload {
	const char *name;
	bool file; /* works on a file: the case names a file system */
	/* Memory a task needs at its peak, in regions (page cache included). */
	unsigned regions;
	/* One pass; adds to *ops per operation. 0 or -errno. */
	int (*pass)(struct fl_task *task);
	/* Optional: run by the agent itself before its tasks start. */
	void (*prepare)(void);
};

/* NULL when there is no such workload. */
const struct fl_workload *fl_workload_find(const char *name);

/* Shared by the page_fault programs: one mapping, one touch per page. */
int fl_sweep(struct fl_task *task, int prot, int flags);

extern const struct fl_workload fl_page_fault1, fl_page_fault2, fl_page_fault3,
	fl_page_fault4, fl_trouble_panic, fl_trouble_hang, fl_trouble_oom,
	fl_trouble_sigbus, fl_trouble_flood, fl_trouble_idle;

#endif

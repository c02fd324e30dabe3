/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A workload is one const struct in a file of its own, listed in
 * workloads[] (workload.c). A *pass* does something to each page of a region
 * once, such as mapping and touching it; an *operation* is one page. The
 * agent repeats passes in each task and divides by the operations counted.
 * With populate() or restore() only the passes themselves are measured.
 */
#ifndef FL_WORKLOAD_H
#define FL_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fl_task {
	int fd; /* the task's own file of `memsize` bytes, or -1 */
	size_t memsize; /* bytes in a region; a multiple of the page size */
	size_t page; /* bytes in a page */
	volatile uint64_t *ops; /* shared with the agent, which samples it */
	bool advise_huge; /* mappings ask for huge pages */
	void *map; /* of fl_populate(), NULL when there is none */
	pid_t child; /* of fork */
};

struct fl_workload {
	const char *name;
	bool file; /* works on a file: the case names a file system */
	/* Memory a task needs at its peak, in regions (page cache included). */
	unsigned regions;
	/* One pass; adds to *ops per operation. 0 or -errno. */
	int (*pass)(struct fl_task *task);
	/* Before and after each pass, not measured; optional, 0 or -errno. */
	int (*populate)(struct fl_task *task);
	int (*restore)(struct fl_task *task);
	/* Optional: run by the agent itself before its tasks start. */
	void (*prepare)(void);
};

/* NULL when there is no such workload. */
const struct fl_workload *fl_workload_find(const char *name);

/* Shared by the page_fault programs: one mapping, one touch per page. */
int fl_sweep(struct fl_task *task, int prot, int flags);
/* The same with huge pages asked for. */
int fl_sweep_huge(struct fl_task *task, int prot, int flags);

/* A pass of either kind; chosen once per pass, outside of the loop. */
static inline int fl_sweep_pass(struct fl_task *task, int prot, int flags)
{
	return task->advise_huge ? fl_sweep_huge(task, prot, flags) :
				   fl_sweep(task, prot, flags);
}

/* Maps a region into task->map and writes (PROT_READ: reads) each page. */
int fl_populate(struct fl_task *task, int prot, int flags);
/* populate() of the programs that work on anonymous memory. */
int fl_populate_anonymous(struct fl_task *task);
/* Unmaps what is left of the region. */
int fl_unpopulate(struct fl_task *task);

extern const struct fl_workload fl_page_fault1, fl_page_fault2, fl_page_fault3,
	fl_page_fault4, fl_file_read_shared, fl_munmap, fl_mprotect, fl_fork,
	fl_madvise_dontneed, fl_madvise_cold, fl_madvise_pageout,
	fl_trouble_panic, fl_trouble_hang, fl_trouble_oom, fl_trouble_sigbus,
	fl_trouble_flood, fl_trouble_idle;

#endif

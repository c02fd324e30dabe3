// SPDX-License-Identifier: GPL-2.0-only
/*
 * The list of workloads, and the sweep that the page_fault programs share.
 * The loop is the measured code: changing it changes every number, see
 * FL_WORKLOAD_VERSION.
 */
#include "workload.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static const struct fl_workload *const workloads[] = {
	&fl_page_fault1,      &fl_page_fault2,
	&fl_page_fault3,      &fl_page_fault4,
	&fl_file_read_shared, &fl_munmap,
	&fl_mprotect,	      &fl_fork,
	&fl_madvise_dontneed, &fl_madvise_cold,
	&fl_madvise_pageout,  &fl_trouble_panic,
	&fl_trouble_hang,     &fl_trouble_oom,
	&fl_trouble_sigbus,   &fl_trouble_flood,
	&fl_trouble_idle,     NULL,
};

const struct fl_workload *fl_workload_find(const char *name)
{
	for (size_t i = 0; workloads[i]; i++)
		if (!strcmp(workloads[i]->name, name))
			return workloads[i];
	return NULL;
}

int fl_sweep(struct fl_task *task, int prot, int flags)
{
	volatile char *p = mmap(NULL, task->memsize, prot, flags, task->fd, 0);
	size_t step = task->page;

	if ((void *)p == MAP_FAILED)
		return -errno;
	/* Two loops, so that the choice is not part of the operation. */
	if (prot & PROT_WRITE) {
		for (size_t i = 0; i < task->memsize; i += step) {
			p[i] = 0;
			(*task->ops)++;
		}
	} else {
		for (size_t i = 0; i < task->memsize; i += step) {
			(void)p[i];
			(*task->ops)++;
		}
	}
	if (munmap((void *)p, task->memsize) < 0)
		return -errno;
	return 0;
}

int fl_populate(struct fl_task *task, int prot, int flags)
{
	volatile char *p = mmap(NULL, task->memsize, prot, flags, task->fd, 0);

	if ((void *)p == MAP_FAILED)
		return -errno;
	task->map = (void *)p;
	if (task->advise_huge &&
	    madvise(task->map, task->memsize, MADV_HUGEPAGE) < 0)
		return -errno;
	for (size_t i = 0; i < task->memsize; i += task->page) {
		if (prot & PROT_WRITE)
			p[i] = 1;
		else
			(void)p[i];
	}
	return 0;
}

int fl_populate_anonymous(struct fl_task *task)
{
	return fl_populate(task, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS);
}

int fl_unpopulate(struct fl_task *task)
{
	void *p = task->map;

	task->map = NULL;
	return p && munmap(p, task->memsize) < 0 ? -errno : 0;
}

int fl_sweep_huge(struct fl_task *task, int prot, int flags)
{
	volatile char *p = mmap(NULL, task->memsize, prot, flags, task->fd, 0);

	if ((void *)p == MAP_FAILED ||
	    madvise((void *)p, task->memsize, MADV_HUGEPAGE) < 0)
		return -errno;
	for (size_t i = 0; i < task->memsize; i += task->page) {
		if (prot & PROT_WRITE)
			p[i] = 0;
		else
			(void)p[i];
		(*task->ops)++;
	}
	return munmap((void *)p, task->memsize) < 0 ? -errno : 0;
}

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
	&fl_page_fault1,
	&fl_page_fault2,
	&fl_page_fault3,
	&fl_page_fault4,
	&fl_trouble_panic,
	&fl_trouble_hang,
	&fl_trouble_oom,
	&fl_trouble_sigbus,
	&fl_trouble_flood,
	&fl_trouble_idle,
	NULL,
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

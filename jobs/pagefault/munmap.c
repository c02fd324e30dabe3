// SPDX-License-Identifier: GPL-2.0-only
/*
 * munmap: each operation unmaps and frees one page of populated anonymous
 * memory. Only the call is measured, not the population.
 */
#include "workload.h"

#include <errno.h>
#include <sys/mman.h>

static int pass(struct fl_task *task)
{
	if (munmap(task->map, task->memsize) < 0)
		return -errno;
	task->map = NULL;
	*task->ops += task->memsize / task->page;
	return 0;
}

const struct fl_workload fl_munmap = {
	.name = "munmap",
	.file = false,
	.regions = 1,
	.populate = fl_populate_anonymous,
	.pass = pass,
	.restore = fl_unpopulate,
};

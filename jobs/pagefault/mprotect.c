// SPDX-License-Identifier: GPL-2.0-only
/*
 * mprotect: each operation changes the protection of one page of populated
 * anonymous memory. A pass takes the right to write away and gives it back:
 * two operations a page.
 */
#include "workload.h"

#include <errno.h>
#include <sys/mman.h>

static int pass(struct fl_task *task)
{
	if (mprotect(task->map, task->memsize, PROT_READ) < 0 ||
	    mprotect(task->map, task->memsize, PROT_READ | PROT_WRITE) < 0)
		return -errno;
	*task->ops += 2 * (task->memsize / task->page);
	return 0;
}

const struct fl_workload fl_mprotect = {
	.name = "mprotect",
	.file = false,
	.regions = 1,
	.populate = fl_populate_anonymous,
	.pass = pass,
	.restore = fl_unpopulate,
};

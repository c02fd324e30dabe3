// SPDX-License-Identifier: GPL-2.0-only
/*
 * madvise_dontneed: each operation frees one page of populated anonymous
 * memory, whose mapping stays.
 */
#include "workload.h"

#include <errno.h>
#include <sys/mman.h>

static int pass(struct fl_task *task)
{
	if (madvise(task->map, task->memsize, MADV_DONTNEED) < 0)
		return -errno;
	*task->ops += task->memsize / task->page;
	return 0;
}

const struct fl_workload fl_madvise_dontneed = {
	.name = "madvise_dontneed",
	.file = false,
	.regions = 1,
	.populate = fl_populate_anonymous,
	.pass = pass,
	.restore = fl_unpopulate,
};

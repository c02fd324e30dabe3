// SPDX-License-Identifier: GPL-2.0-only
/*
 * madvise_cold: each operation makes one page of populated anonymous memory
 * the next choice of reclaim.
 */
#include "workload.h"

#include <errno.h>
#include <sys/mman.h>

static int pass(struct fl_task *task)
{
	if (madvise(task->map, task->memsize, MADV_COLD) < 0)
		return -errno;
	*task->ops += task->memsize / task->page;
	return 0;
}

const struct fl_workload fl_madvise_cold = {
	.name = "madvise_cold",
	.file = false,
	.regions = 1,
	.populate = fl_populate_anonymous,
	.pass = pass,
	.restore = fl_unpopulate,
};

// SPDX-License-Identifier: GPL-2.0-only
/*
 * madvise_pageout: each operation reclaims one clean page of a file that is
 * mapped and in the page cache. What is not on a disk would need swap.
 */
#include "workload.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static int populate(struct fl_task *task)
{
	return fl_populate(task, PROT_READ, MAP_PRIVATE);
}

/* The kernel may leave pages where they are and say nothing. */
static int restore(struct fl_task *task)
{
	size_t n = task->memsize / task->page, left = 0;
	unsigned char *resident = malloc(n);
	int r = -ENOMEM;

	if (resident)
		r = mincore(task->map, task->memsize, resident) < 0 ? -errno :
								      0;
	for (size_t i = 0; !r && i < n; i++)
		left += resident[i] & 1;
	free(resident);
	if (!r && left > n / 10)
		r = -EBUSY;
	return r ? r : fl_unpopulate(task);
}

static int pass(struct fl_task *task)
{
	if (madvise(task->map, task->memsize, MADV_PAGEOUT) < 0)
		return -errno;
	*task->ops += task->memsize / task->page;
	return 0;
}

const struct fl_workload fl_madvise_pageout = {
	.name = "madvise_pageout",
	.file = true,
	.regions = 1,
	.populate = populate,
	.pass = pass,
	.restore = restore,
};

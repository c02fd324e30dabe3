// SPDX-License-Identifier: GPL-2.0-only
/*
 * page_fault4: each operation reads one page of a private file mapping from
 * the page cache. The kernel maps neighbours around a read fault, so most
 * operations cost no fault.
 */
#include "workload.h"

#include <sys/mman.h>

static int pass(struct fl_task *task)
{
	return fl_sweep_pass(task, PROT_READ, MAP_PRIVATE);
}

const struct fl_workload fl_page_fault4 = {
	.name = "page_fault4",
	.file = true,
	.regions = 1,
	.pass = pass,
};

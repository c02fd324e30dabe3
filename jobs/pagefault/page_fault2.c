// SPDX-License-Identifier: GPL-2.0-only
/*
 * page_fault2: each operation writes one page of a private file mapping:
 * find the page in the page cache, allocate another, copy and map it.
 */
#include "workload.h"

#include <sys/mman.h>

static int pass(struct fl_task *task)
{
	return fl_sweep_pass(task, PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

const struct fl_workload fl_page_fault2 = {
	.name = "page_fault2",
	.file = true,
	.regions = 2,
	.pass = pass,
};

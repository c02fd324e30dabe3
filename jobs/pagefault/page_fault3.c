// SPDX-License-Identifier: GPL-2.0-only
/*
 * page_fault3: each operation writes one page of a shared file mapping: find
 * the page in the page cache, make it writable and dirty, and map it.
 */
#include "workload.h"

#include <sys/mman.h>

static int pass(struct fl_task *task)
{
	return fl_sweep_pass(task, PROT_READ | PROT_WRITE, MAP_SHARED);
}

const struct fl_workload fl_page_fault3 = {
	.name = "page_fault3",
	.file = true,
	.regions = 1,
	.pass = pass,
};

// SPDX-License-Identifier: GPL-2.0-only
/*
 * page_fault1: each operation writes one page of fresh anonymous memory:
 * allocate, clear and map a page.
 */
#include "workload.h"

#include <sys/mman.h>

static int pass(struct fl_task *task)
{
	return fl_sweep_pass(task, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS);
}

const struct fl_workload fl_page_fault1 = {
	.name = "page_fault1",
	.file = false,
	.regions = 1,
	.pass = pass,
};

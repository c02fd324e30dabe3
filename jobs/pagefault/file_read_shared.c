// SPDX-License-Identifier: GPL-2.0-only
/*
 * file_read_shared: each operation reads one page of a shared file mapping
 * from the page cache; page_fault4 with the other kind of mapping.
 */
#include "workload.h"

#include <sys/mman.h>

static int pass(struct fl_task *task)
{
	return fl_sweep_pass(task, PROT_READ, MAP_SHARED);
}

const struct fl_workload fl_file_read_shared = {
	.name = "file_read_shared",
	.file = true,
	.regions = 1,
	.pass = pass,
};

// SPDX-License-Identifier: GPL-2.0-only
/*
 * fork: each operation copies the page table entry of one page of populated
 * anonymous memory and makes it copy-on-write. Measured until the parent is
 * back from the call; the child ends at once.
 */
#include "workload.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static int restore(struct fl_task *task)
{
	if (waitpid(task->child, NULL, 0) < 0)
		return -errno;
	return fl_unpopulate(task);
}

static int pass(struct fl_task *task)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid < 0)
		return -errno;
	task->child = pid;
	*task->ops += task->memsize / task->page;
	return 0;
}

const struct fl_workload fl_fork = {
	.name = "fork",
	.file = false,
	.regions = 1,
	.populate = fl_populate_anonymous,
	.pass = pass,
	.restore = restore,
};

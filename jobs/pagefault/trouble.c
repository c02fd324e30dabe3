// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workloads that go wrong on purpose, one per outcome that the harness tells
 * apart: panic, hang, out of memory, a dead task, an endless writer, a task
 * that does nothing. For tests of the harness; they never give a sample.
 */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../agent/protocol.h"

/* The kernel panics when init exits. */
static void panic_now(void)
{
	_exit(7);
}

static void hang_now(void)
{
	for (;;)
		pause();
}

static void flood_now(void)
{
	static char junk[4096];
	int fd = open(FL_EVENT_PORT, O_WRONLY | O_NOCTTY);

	memset(junk, 'x', sizeof(junk));
	for (;;)
		if (write(fd, junk, sizeof(junk)) < 0)
			pause();
}

/* Memory that is written and kept until the OOM killer ends the task. */
static int eat_memory(struct fl_task *task)
{
	for (;;) {
		char *p = mmap(NULL, task->memsize, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return -errno;
		madvise(p, task->memsize, MADV_HUGEPAGE); /* faster, if any */
		for (size_t i = 0; i < task->memsize; i += task->page)
			p[i] = 1;
	}
}

/* The second page lies past the end of the file. */
static int touch_past_end(struct fl_task *task)
{
	if (ftruncate(task->fd, (off_t)task->page) < 0)
		return -errno;
	return fl_sweep(task, PROT_READ | PROT_WRITE, MAP_SHARED);
}

static int do_nothing(struct fl_task *task)
{
	(void)task;
	return 0;
}

const struct fl_workload fl_trouble_panic = {
	.name = "trouble_panic",
	.pass = do_nothing,
	.prepare = panic_now,
};

const struct fl_workload fl_trouble_hang = {
	.name = "trouble_hang",
	.pass = do_nothing,
	.prepare = hang_now,
};

const struct fl_workload fl_trouble_flood = {
	.name = "trouble_flood",
	.pass = do_nothing,
	.prepare = flood_now,
};

const struct fl_workload fl_trouble_oom = {
	.name = "trouble_oom",
	.pass = eat_memory,
};

const struct fl_workload fl_trouble_sigbus = {
	.name = "trouble_sigbus",
	.file = true,
	.regions = 1,
	.pass = touch_past_end,
};

const struct fl_workload fl_trouble_idle = {
	.name = "trouble_idle",
	.pass = do_nothing,
};

// SPDX-License-Identifier: GPL-2.0-only
/*
 * One task of a case, in a process of its own: warm up (with perf counting,
 * as a check of the other counter), wait for the start, repeat passes for the
 * window. All it finds goes into its slot of the shared board.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <x86intrin.h>

static _Noreturn void give_up(struct fl_slot *s, const char *what, int code)
{
	snprintf(s->error, sizeof(s->error), "%s: %s", what, strerror(code));
	_exit(1);
}

static int open_file(const struct fl_plan_case *c, const char *dir,
		     unsigned index, struct fl_slot *s)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/task-%u", dir, index);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		give_up(s, "cannot create its file", errno);
	unlink(path);
	if (ftruncate(fd, (off_t)c->memsize) < 0)
		give_up(s, "cannot size its file", errno);
	return fd;
}

static void run_pass(const struct fl_plan_case *c, struct fl_task *t,
		     struct fl_slot *s)
{
	int r = c->workload->pass(t);

	if (r < 0)
		give_up(s, "a pass failed", -r);
}

static void window(const struct fl_plan *plan, const struct fl_plan_case *c,
		   struct fl_task *t, struct fl_board *board, struct fl_slot *s)
{
	struct rusage before, after;
	uint64_t ops;

	getrusage(RUSAGE_SELF, &before);
	ops = s->ops;
	s->start = __rdtsc();
	do
		run_pass(c, t, s);
	while (plan->exact ? __rdtsc() - s->start < FL_EXACT_WINDOW :
			     !board->stop);
	s->end = __rdtsc();
	s->window_ops = s->ops - ops;
	getrusage(RUSAGE_SELF, &after);
	s->minor = (uint64_t)(after.ru_minflt - before.ru_minflt);
	s->major = (uint64_t)(after.ru_majflt - before.ru_majflt);
}

static void warm_up(const struct fl_plan_case *c, struct fl_task *t,
		    struct fl_slot *s)
{
	struct fl_counter *counter = fl_counter_open();
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	run_pass(c, t, s);
	getrusage(RUSAGE_SELF, &after);
	s->warm_ops = s->ops;
	s->warm_minor = (uint64_t)(after.ru_minflt - before.ru_minflt);
	s->warm_perf = counter ? fl_counter_close(counter) : -1;
}

void fl_task_main(const struct fl_plan *plan, const struct fl_plan_case *c,
		  const char *dir, struct fl_board *board, unsigned index)
{
	struct fl_slot *s = &board->slot[index];
	struct fl_task t = {
		.fd = -1,
		.memsize = c->memsize,
		.page = (size_t)sysconf(_SC_PAGESIZE),
		.ops = &s->ops,
	};
	char byte = 1;

	/* When memory runs out the task goes, and the agent tells of it. */
	fl_sys_write("/proc/self/oom_score_adj", "1000");
	if (dir)
		t.fd = open_file(c, dir, index, s);
	warm_up(c, &t, s);
	if (write(board->ready_fd, &byte, 1) != 1 ||
	    read(board->go_fd, &byte, 1) != 1)
		give_up(s, "lost its parent", errno);
	window(plan, c, &t, board, s);
	_exit(0);
}

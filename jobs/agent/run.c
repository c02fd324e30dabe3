// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures one case: checks that there is room, starts the tasks, opens the
 * window, waits until it is over. A dead task, no room or no operations make
 * the case failed with a reason, never a sample.
 */
#include "profile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1 << 20)

bool fl_run_fail(struct fl_run *r, const char *fmt, ...)
{
	va_list ap;

	if (r->why[0])
		return false;
	va_start(ap, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
	return false;
}

/* Computed before anything starts: running out in the middle lies. */
static bool check_room(struct fl_run *r)
{
	const struct fl_plan_case *c = r->c;
	uint64_t need = c->memsize * c->nr_task,
		 mem = need * (c->workload->regions + c->dropped);
	int64_t has = fl_sys_value("/proc/meminfo", "MemAvailable");
	struct statvfs sv;

	if (has >= 0 && mem > (uint64_t)has * 1024)
		return fl_run_fail(r, "needs %llu MiB of memory, has %lld",
				   (unsigned long long)(mem / MIB),
				   (long long)(has / 1024));
	if (!r->dir)
		return true;
	if (statvfs(r->dir, &sv) < 0)
		return fl_run_fail(r, "cannot examine '%s': %s", r->dir,
				   strerror(errno));
	if (need > (uint64_t)sv.f_bavail * sv.f_frsize)
		return fl_run_fail(r, "needs %llu MiB on %s, has %llu",
				   (unsigned long long)(need / MIB), r->dir,
				   (unsigned long long)sv.f_bavail *
					   sv.f_frsize / MIB);
	return true;
}

static void describe_death(struct fl_run *r, unsigned i, int status)
{
	int64_t kills = fl_sys_value("/proc/vmstat", "oom_kill");
	char who[32] = "the tasks' process";

	/* Threads share a process: any of them may have given up. */
	while (r->c->thread && i + 1 < r->c->nr_task &&
	       !r->board->slot[i].error[0])
		i++;
	if (!r->c->thread || r->board->slot[i].error[0])
		snprintf(who, sizeof(who), "task %u", i + 1);
	if (r->board->slot[i].error[0])
		fl_run_fail(r, "%s: %s", who, r->board->slot[i].error);
	else if (!WIFSIGNALED(status))
		fl_run_fail(r, "%s exited with status %d", who,
			    WEXITSTATUS(status));
	else if (WTERMSIG(status) == SIGKILL && kills > r->oom_kills)
		fl_run_fail(r, "%s was killed: out of memory", who);
	else
		fl_run_fail(r, "%s was killed by signal %d (%s)%s", who,
			    WTERMSIG(status), strsignal(WTERMSIG(status)),
			    WTERMSIG(status) == SIGBUS ?
				    ": file cut short or file system full" :
				    "");
}

bool fl_run_reap(struct fl_run *r, bool wait)
{
	bool ok = true;
	int status;
	pid_t pid;

	while (r->alive &&
	       (pid = waitpid(-1, &status, wait ? 0 : WNOHANG)) > 0) {
		unsigned i = 0;

		while (i < r->nproc && r->pid[i] != pid)
			i++;
		if (i == r->nproc)
			continue; /* an orphan that init inherited */
		r->pid[i] = 0;
		r->alive--;
		if (status) {
			describe_death(r, i, status);
			ok = false;
		}
		wait = false;
	}
	return ok;
}

static bool prepare(struct fl_run *r)
{
	const struct fl_plan_case *c = r->c;

	r->board_size =
		sizeof(struct fl_board) + c->nr_task * sizeof(struct fl_slot);
	r->board = mmap(NULL, r->board_size, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	r->nproc = c->thread ? 1 : c->nr_task;
	r->pid = calloc(r->nproc, sizeof(*r->pid));
	r->sample = calloc(c->samples, sizeof(*r->sample));
	if (r->board == MAP_FAILED || !r->pid || !r->sample ||
	    pipe2(r->ready, O_CLOEXEC) < 0 || pipe2(r->go, O_CLOEXEC) < 0)
		return fl_run_fail(r, "cannot set the case up: %s",
				   strerror(errno));
	r->board->ready_fd = r->ready[1];
	r->board->go_fd = r->go[0];
	r->oom_kills = fl_sys_value("/proc/vmstat", "oom_kill");
	return true;
}

static bool start(struct fl_run *r)
{
	for (unsigned i = 0; i < r->nproc; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return fl_run_fail(r, "cannot start task %u: %s", i + 1,
					   strerror(errno));
		if (!pid && r->c->thread)
			fl_threads_main(r->plan, r->c, r->dir, r->board);
		if (!pid)
			fl_task_main(r->plan, r->c, r->dir, r->board, i);
		r->pid[i] = pid;
		r->alive++;
	}
	return true;
}

/* Until every task is warm: each writes one byte. */
static bool wait_ready(struct fl_run *r)
{
	unsigned ready = 0;
	char bytes[64];

	while (ready < r->c->nr_task) {
		struct pollfd p = { .fd = r->ready[0], .events = POLLIN };

		if (poll(&p, 1, 200) > 0) {
			ssize_t n = read(r->ready[0], bytes, sizeof(bytes));

			ready += n > 0 ? (unsigned)n : 0;
		}
		if (!fl_run_reap(r, false))
			return false;
	}
	return true;
}

static bool release(struct fl_run *r)
{
	fl_thp_mark(r->thp);
	/*
	 * Deferred work of the warm-up ends before the window opens; perf
	 * puts its off for a second. Idle guest time costs no real time
	 * under the exact clock.
	 */
	usleep(r->plan->exact ? 1200000 : 50000);
	for (unsigned i = 0; i < r->c->nr_task; i++)
		if (write(r->go[1], "", 1) != 1)
			return fl_run_fail(r, "cannot start the window: %s",
					   strerror(errno));
	return true;
}

static bool finish(struct fl_run *r)
{
	while (r->alive)
		if (!fl_run_reap(r, true))
			return false;
	return true;
}

static void clean_up(struct fl_run *r)
{
	for (unsigned i = 0; r->pid && i < r->nproc; i++)
		if (r->pid[i]) {
			kill(r->pid[i], SIGKILL);
			waitpid(r->pid[i], NULL, 0);
		}
	for (int i = 0; i < 2; i++) {
		if (r->ready[i] > 0)
			close(r->ready[i]);
		if (r->go[i] > 0)
			close(r->go[i]);
	}
	if (r->board && r->board != MAP_FAILED)
		munmap(r->board, r->board_size);
	free(r->pid);
	free(r->sample);
	fl_thp_free(r->thp);
	if (r->read_ahead >= 0)
		fl_disk_read_ahead(r->plan, r->c->fs, r->read_ahead);
}

static bool measure(struct fl_run *r)
{
	if (!prepare(r) || !start(r) || !wait_ready(r) || !release(r))
		return false;
	return (r->plan->exact || fl_run_sample(r)) && finish(r);
}

/* Read-ahead would turn all but the first major fault into minor ones. */
static bool apply_settings(struct fl_run *r)
{
	if (r->c->dropped) {
		r->read_ahead = fl_disk_read_ahead(r->plan, r->c->fs, 0);
		if (r->read_ahead < 0)
			return fl_run_fail(r,
					   "cannot stop the read-ahead of '%s'",
					   r->c->fs);
	}
	r->thp = fl_thp_apply(r->c, r->why);
	return r->thp != NULL;
}

void fl_run_case(const struct fl_plan *plan, const struct fl_plan_case *c)
{
	static struct fl_line line;
	struct fl_run r = { .plan = plan, .c = c, .read_ahead = -1 };
	bool ok = true;

	fl_report_begin(&line, "case_start");
	fl_report_str(&line, "case", c->name);
	fl_report_send(&line);
	if (c->workload->prepare)
		c->workload->prepare();
	if (c->workload->file) {
		r.dir = fl_disk_dir(plan, c->fs, r.why);
		ok = r.dir != NULL;
	}
	ok = ok && apply_settings(&r) && check_room(&r) && measure(&r);
	if (ok && !fl_profile_report(c))
		ok = fl_run_fail(&r, "a task left no samples");
	ok = ok && fl_run_report(&r, &line);
	if (!ok) {
		fl_report_begin(&line, "case_failed");
		fl_report_str(&line, "case", c->name);
		fl_report_str(&line, "reason", r.why);
		fl_report_send(&line);
	}
	clean_up(&r);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures one case: checks that there is room, starts the tasks, opens the
 * window, samples or waits, and reports. A dead task, no room or no
 * operations make the case failed with a reason, never a sample.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1 << 20)

struct run {
	const struct fl_plan *plan;
	const struct fl_plan_case *c;
	const char *dir; /* of the file system, NULL without a file */
	struct fl_board *board;
	size_t board_size;
	pid_t *pid; /* 0 once reaped */
	unsigned alive;
	int ready[2], go[2];
	int64_t oom_kills; /* before the case */
	double *sample; /* wall clock: operations per second and task */
	char why[FL_REASON_MAX];
};

static bool fail(struct run *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The first reason is the one that is kept. Returns false. */
static bool fail(struct run *r, const char *fmt, ...)
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
static bool check_room(struct run *r)
{
	const struct fl_plan_case *c = r->c;
	uint64_t need = c->memsize * c->nr_task,
		 mem = need * c->workload->regions;
	int64_t has = fl_sys_value("/proc/meminfo", "MemAvailable");
	struct statvfs sv;

	if (has >= 0 && mem > (uint64_t)has * 1024)
		return fail(r, "needs %llu MiB of memory, has %lld",
			    (unsigned long long)(mem / MIB),
			    (long long)(has / 1024));
	if (!r->dir)
		return true;
	if (statvfs(r->dir, &sv) < 0)
		return fail(r, "cannot examine '%s': %s", r->dir,
			    strerror(errno));
	if (need > (uint64_t)sv.f_bavail * sv.f_frsize)
		return fail(r, "needs %llu MiB on %s, has %llu",
			    (unsigned long long)(need / MIB), r->dir,
			    (unsigned long long)sv.f_bavail * sv.f_frsize /
				    MIB);
	return true;
}

static void describe_death(struct run *r, unsigned i, int status)
{
	int64_t kills = fl_sys_value("/proc/vmstat", "oom_kill");

	if (r->board->slot[i].error[0]) {
		fail(r, "task %u: %s", i + 1, r->board->slot[i].error);
	} else if (!WIFSIGNALED(status)) {
		fail(r, "task %u exited with status %d", i + 1,
		     WEXITSTATUS(status));
	} else if (WTERMSIG(status) == SIGKILL && kills > r->oom_kills) {
		fail(r, "task %u was killed: out of memory", i + 1);
	} else {
		fail(r, "task %u was killed by signal %d (%s)%s", i + 1,
		     WTERMSIG(status), strsignal(WTERMSIG(status)),
		     WTERMSIG(status) == SIGBUS ?
			     ": file cut short or file system full" :
			     "");
	}
}

/* Takes what has ended; waits for one when asked to. False on a bad end. */
static bool reap(struct run *r, bool wait)
{
	bool ok = true;
	int status;
	pid_t pid;

	while (r->alive &&
	       (pid = waitpid(-1, &status, wait ? 0 : WNOHANG)) > 0) {
		unsigned i = 0;

		while (i < r->c->nr_task && r->pid[i] != pid)
			i++;
		if (i == r->c->nr_task)
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

static bool prepare(struct run *r)
{
	const struct fl_plan_case *c = r->c;

	r->board_size =
		sizeof(struct fl_board) + c->nr_task * sizeof(struct fl_slot);
	r->board = mmap(NULL, r->board_size, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	r->pid = calloc(c->nr_task, sizeof(*r->pid));
	r->sample = calloc(c->samples, sizeof(*r->sample));
	if (r->board == MAP_FAILED || !r->pid || !r->sample ||
	    pipe2(r->ready, O_CLOEXEC) < 0 || pipe2(r->go, O_CLOEXEC) < 0)
		return fail(r, "cannot set the case up: %s", strerror(errno));
	r->board->ready_fd = r->ready[1];
	r->board->go_fd = r->go[0];
	r->oom_kills = fl_sys_value("/proc/vmstat", "oom_kill");
	return true;
}

static bool start(struct run *r)
{
	for (unsigned i = 0; i < r->c->nr_task; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return fail(r, "cannot start task %u: %s", i + 1,
				    strerror(errno));
		if (!pid)
			fl_task_main(r->plan, r->c, r->dir, r->board, i);
		r->pid[i] = pid;
		r->alive++;
	}
	return true;
}

/* Until every task is warm: each writes one byte. */
static bool wait_ready(struct run *r)
{
	unsigned ready = 0;
	char bytes[64];

	while (ready < r->c->nr_task) {
		struct pollfd p = { .fd = r->ready[0], .events = POLLIN };

		if (poll(&p, 1, 200) > 0) {
			ssize_t n = read(r->ready[0], bytes, sizeof(bytes));

			ready += n > 0 ? (unsigned)n : 0;
		}
		if (!reap(r, false))
			return false;
	}
	return true;
}

static bool release(struct run *r)
{
	/*
	 * Deferred work of the warm-up ends before the window opens; perf
	 * puts its off for a second. Idle guest time costs no real time
	 * under the exact clock.
	 */
	usleep(r->plan->exact ? 1200000 : 50000);
	for (unsigned i = 0; i < r->c->nr_task; i++)
		if (write(r->go[1], "", 1) != 1)
			return fail(r, "cannot start the window: %s",
				    strerror(errno));
	return true;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t total_ops(const struct run *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < r->c->nr_task; i++)
		sum += r->board->slot[i].ops;
	return sum;
}

/* Wall clock: operations counted each second, the first ones discarded. */
static bool sample(struct run *r)
{
	const struct fl_plan_case *c = r->c;
	uint64_t ops = total_ops(r), last;
	double t = now(), t_last;

	for (unsigned i = 0; i < c->warmup + c->samples; i++) {
		last = ops;
		t_last = t;
		usleep(1000000);
		if (!reap(r, false))
			return false;
		ops = total_ops(r);
		t = now();
		if (i < c->warmup)
			continue;
		if (ops == last)
			return fail(r, "no operation was done in a second");
		r->sample[i - c->warmup] =
			(double)(ops - last) / c->nr_task / (t - t_last);
	}
	r->board->stop = 1;
	return true;
}

static bool finish(struct run *r)
{
	while (r->alive)
		if (!reap(r, true))
			return false;
	return true;
}

/* Two independent counts of the same faults: both right, or neither. */
static bool check_counters(struct run *r)
{
	for (unsigned i = 0; i < r->c->nr_task; i++) {
		const struct fl_slot *s = &r->board->slot[i];
		int64_t diff = s->warm_perf - (int64_t)s->warm_minor;

		if (s->warm_perf < 0)
			continue;
		if (llabs(diff) > 16 + (int64_t)s->warm_minor / 200)
			return fail(
				r,
				"minor faults disagree: perf counts %lld, getrusage %llu",
				(long long)s->warm_perf,
				(unsigned long long)s->warm_minor);
	}
	return true;
}

static bool report(struct run *r, struct fl_line *l)
{
	uint64_t ops = 0, minor = 0, major = 0, first = UINT64_MAX, last = 0;
	uint64_t perf = 0, perf_ops = 0;

	for (unsigned i = 0; i < r->c->nr_task; i++) {
		const struct fl_slot *s = &r->board->slot[i];

		if (!s->window_ops)
			return fail(r, "task %u did no operation", i + 1);
		ops += s->window_ops;
		minor += s->minor;
		major += s->major;
		first = s->start < first ? s->start : first;
		last = s->end > last ? s->end : last;
		if (s->warm_perf >= 0) {
			perf += (uint64_t)s->warm_perf;
			perf_ops += s->warm_ops;
		}
	}
	fl_report_begin(l, "case_done");
	fl_report_str(l, "case", r->c->name);
	fl_report_raw(l, ",\"kpis\":{");
	if (r->plan->exact) {
		fl_report_raw(l, "\"instructions_per_op\":[%.6f]",
			      (double)(last - first) / (double)ops);
	} else {
		for (unsigned i = 0; i < r->c->samples; i++)
			fl_report_raw(l, "%s%.3f",
				      i ? "," : "\"per_process_ops\":[",
				      r->sample[i]);
		fl_report_raw(l, "]");
	}
	fl_report_raw(
		l,
		",\"minor_faults_per_op\":[%.9g],\"major_faults_per_op\":[%.9g]}",
		(double)minor / (double)ops, (double)major / (double)ops);
	fl_report_raw(l, ",\"info\":{\"ops\":%llu", (unsigned long long)ops);
	if (perf_ops)
		fl_report_num(l, "perf_minor_faults_per_op",
			      (double)perf / (double)perf_ops);
	fl_report_raw(l, "}");
	fl_report_send(l);
	return true;
}

static void clean_up(struct run *r)
{
	for (unsigned i = 0; r->pid && i < r->c->nr_task; i++)
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
}

static bool measure(struct run *r)
{
	if (!prepare(r) || !start(r) || !wait_ready(r) || !release(r))
		return false;
	if (!r->plan->exact && !sample(r))
		return false;
	return finish(r) && check_counters(r);
}

void fl_run_case(const struct fl_plan *plan, const struct fl_plan_case *c)
{
	static struct fl_line line;
	struct run r = { .plan = plan, .c = c };
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
	ok = ok && check_room(&r) && measure(&r) && report(&r, &line);
	if (!ok) {
		fl_report_begin(&line, "case_failed");
		fl_report_str(&line, "case", c->name);
		fl_report_str(&line, "reason", r.why);
		fl_report_send(&line);
	}
	clean_up(&r);
}

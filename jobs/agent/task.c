// SPDX-License-Identifier: GPL-2.0-only
/*
 * One task of a case, as a process or a thread: warm up (with perf counting,
 * as a check of the other counter), wait for the start, repeat passes for the
 * window. All it finds goes into its slot of the shared board. Who dies takes
 * its process along: threads end together.
 */
#include "profile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define STACK (256 << 10)
/* Passes of a window at least, where some of the time is not measured. */
#define PARTS_MIN 5
/* A whole number of timer ticks at 100, 250, 300 and 1000 Hz, in ns. */
#define PHASES 20000000
#define GOLDEN 12360680 /* PHASES times the golden ratio */
#define SPIN 8000000

struct job {
	const struct fl_plan *plan;
	const struct fl_plan_case *c;
	const char *dir;
	struct fl_board *board;
	unsigned index;
	pthread_t thread;
};

static _Noreturn void give_up(struct fl_slot *s, const char *what, int code)
{
	snprintf(s->error, sizeof(s->error), "%s: %s", what, strerror(code));
	_exit(1);
}

/* The page cache can drop what has a place on the disk. */
static void fill_file(int fd, const struct fl_plan_case *c, struct fl_slot *s)
{
	static const char block[64 << 10] = { 1 };

	for (uint64_t at = 0; at < c->memsize;) {
		size_t n = c->memsize - at < sizeof(block) ?
				   (size_t)(c->memsize - at) :
				   sizeof(block);
		ssize_t done = pwrite(fd, block, n, (off_t)at);

		if (done <= 0)
			give_up(s, "cannot fill its file",
				done ? errno : ENOSPC);
		at += (uint64_t)done;
	}
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
	if (c->dropped)
		fill_file(fd, c, s);
	return fd;
}

static void run_pass(const struct fl_plan_case *c, struct fl_task *t,
		     struct fl_slot *s)
{
	int r = c->workload->pass(t);

	if (r < 0)
		give_up(s, "a pass failed", -r);
}

/* What comes before a pass and is not measured. */
static void before_pass(const struct fl_plan_case *c, struct fl_task *t,
			struct fl_slot *s)
{
	int r = c->workload->populate ? c->workload->populate(t) : 0;

	if (r < 0)
		give_up(s, "cannot populate a region", -r);
	if (!c->dropped)
		return;
	if (fsync(t->fd) < 0)
		give_up(s, "cannot write its file back", errno);
	r = posix_fadvise(t->fd, 0, 0, POSIX_FADV_DONTNEED);
	if (r)
		give_up(s, "cannot drop its file from the page cache", r);
	/* With others it would take away what they are about to map. */
	if (c->nr_task == 1 && !fl_sys_write("/proc/sys/vm/drop_caches", "1"))
		give_up(s, "cannot drop the page cache", errno);
}

static void after_pass(const struct fl_plan_case *c, struct fl_task *t,
		       struct fl_slot *s)
{
	int r = c->workload->restore ? c->workload->restore(t) : 0;

	if (r < 0)
		give_up(s, "a pass left the wrong state", -r);
}

/* A thread's own faults; those of a process are its only thread's. */
static void usage(const struct fl_plan_case *c, struct rusage *ret)
{
	getrusage(c->thread ? RUSAGE_THREAD : RUSAGE_SELF, ret);
}

static void window(const struct fl_plan *plan, const struct fl_plan_case *c,
		   struct fl_task *t, struct fl_board *board, struct fl_slot *s)
{
	struct rusage before, after;
	uint64_t ops;

	usage(c, &before);
	ops = s->ops;
	s->start = __rdtsc();
	do
		run_pass(c, t, s);
	while (plan->exact ? __rdtsc() - s->start < FL_EXACT_WINDOW :
			     !board->stop);
	s->end = __rdtsc();
	s->window_ops = s->ops - ops;
	usage(c, &after);
	s->minor = (uint64_t)(after.ru_minflt - before.ru_minflt);
	s->major = (uint64_t)(after.ru_majflt - before.ru_majflt);
}

/*
 * Nanoseconds. Under the exact clock the CPU time of the task, an instruction
 * each: what other tasks do outside of their measured parts stays out.
 */
static uint64_t part_clock(const struct fl_plan *plan, struct fl_slot *s)
{
	struct timespec t;

	if (clock_gettime(plan->exact ? CLOCK_THREAD_CPUTIME_ID :
					CLOCK_MONOTONIC,
			  &t) < 0)
		give_up(s, "cannot read its clock", errno);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void publish(struct fl_slot *s, uint64_t ops, uint64_t ns)
{
	__atomic_store_n(&s->seq, s->seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	s->part_ops += ops;
	s->part_ns += ns;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&s->seq, s->seq + 1, __ATOMIC_RELAXED);
}

/*
 * A measured part is short, and one timer tick more or less in it is a tenth
 * of a per cent. So pass k begins at a phase of its own against the tick, the
 * same one in each boot, spread evenly over the passes. Work that the
 * population left behind ends while the task sleeps.
 */
static void wait_for_phase(unsigned k)
{
	uint64_t now = __rdtsc(), at = (uint64_t)k * GOLDEN % PHASES;

	at += (now / PHASES + 2) * PHASES; /* one to two periods from now */
	if (at - now > SPIN) {
		struct timespec t = { .tv_nsec = (long)(at - now - SPIN) };

		nanosleep(&t, NULL);
	}
	while (__rdtsc() < at)
		;
}

static void run_part(const struct fl_plan *plan, const struct fl_plan_case *c,
		     struct fl_task *t, struct fl_slot *s, unsigned k)
{
	struct rusage before, after;
	uint64_t ops, start, end;

	before_pass(c, t, s);
	if (plan->exact)
		wait_for_phase(k);
	ops = s->ops;
	usage(c, &before);
	fl_profile_resume();
	start = part_clock(plan, s);
	run_pass(c, t, s);
	end = part_clock(plan, s);
	fl_profile_pause();
	usage(c, &after);
	s->minor += (uint64_t)(after.ru_minflt - before.ru_minflt);
	s->major += (uint64_t)(after.ru_majflt - before.ru_majflt);
	publish(s, s->ops - ops, end - start);
	after_pass(c, t, s);
}

/* Waits until *word has come to value. */
static void wait_word(unsigned *word, unsigned value)
{
	unsigned now;

	while ((now = __atomic_load_n(word, __ATOMIC_SEQ_CST)) < value)
		syscall(SYS_futex, word, FUTEX_WAIT, now, NULL, NULL, 0);
}

static void raise_word(unsigned *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/*
 * Under the exact clock tasks with parts take turns, a pass each: they have
 * one CPU, and where one of them would be interrupted by another's population
 * is chance.
 */
static void take_turn(const struct job *j, unsigned k)
{
	if (j->plan->exact && fl_case_has_parts(j->c))
		wait_word(&j->board->turn, k * j->c->nr_task + j->index);
}

static void pass_turn(const struct job *j)
{
	if (j->plan->exact && fl_case_has_parts(j->c))
		raise_word(&j->board->turn);
}

/* As window(), for passes with parts that are not measured. */
static void window_of_parts(const struct job *j, struct fl_task *t,
			    struct fl_slot *s)
{
	unsigned passes = 0;
	bool stop;

	s->start = __rdtsc();
	do {
		take_turn(j, passes + 1); /* the first one was to warm up */
		run_part(j->plan, j->c, t, s, passes++);
		if (j->plan->exact && !j->index && passes >= PARTS_MIN &&
		    __rdtsc() - s->start >= FL_EXACT_WINDOW)
			j->board->stop = 1;
		stop = j->board->stop;
		pass_turn(j);
	} while (!stop);
	s->end = __rdtsc();
	s->window_ops = s->part_ops;
}

static void warm_up(const struct fl_plan_case *c, struct fl_task *t,
		    struct fl_slot *s)
{
	struct rusage before, after;
	struct fl_counter *counter;

	before_pass(c, t, s);
	counter = fl_counter_open();
	usage(c, &before);
	run_pass(c, t, s);
	usage(c, &after);
	s->warm_ops = s->ops;
	s->warm_minor = (uint64_t)(after.ru_minflt - before.ru_minflt);
	s->warm_perf = counter ? fl_counter_close(counter) : -1;
	after_pass(c, t, s);
}

static void run_task(const struct job *j)
{
	const struct fl_plan_case *c = j->c;
	struct fl_slot *s = &j->board->slot[j->index];
	struct fl_task t = {
		.fd = -1,
		.memsize = c->memsize,
		.page = (size_t)sysconf(_SC_PAGESIZE),
		.ops = &s->ops,
		.advise_huge = !strcmp(c->thp, "madvise"),
	};
	char byte = 1;
	int r;

	if (j->dir)
		t.fd = open_file(c, j->dir, j->index, s);
	r = fl_pin_task(c->pin, j->index);
	if (r < 0)
		give_up(s, "cannot pin it to its CPU", -r);
	take_turn(j, 0);
	warm_up(c, &t, s);
	pass_turn(j);
	if (write(j->board->ready_fd, &byte, 1) != 1 ||
	    read(j->board->go_fd, &byte, 1) != 1)
		give_up(s, "lost its parent", errno);
	fl_profile_begin(j->plan, c, j->index, s);
	if (fl_case_has_parts(c))
		window_of_parts(j, &t, s);
	else
		window(j->plan, c, &t, j->board, s);
	fl_profile_pause();
	/* Nobody cleans up while another one still measures. */
	raise_word(&j->board->finished);
	wait_word(&j->board->finished, c->nr_task);
	fl_profile_end(j->index, s);
}

void fl_task_main(const struct fl_plan *plan, const struct fl_plan_case *c,
		  const char *dir, struct fl_board *board, unsigned index)
{
	struct job j = { plan, c, dir, board, index, 0 };

	/* When memory runs out the task goes, and the agent tells of it. */
	fl_sys_write("/proc/self/oom_score_adj", "1000");
	run_task(&j);
	_exit(0);
}

static void *thread_main(void *arg)
{
	run_task(arg);
	return NULL;
}

void fl_threads_main(const struct fl_plan *plan, const struct fl_plan_case *c,
		     const char *dir, struct fl_board *board)
{
	struct job *j = calloc(c->nr_task, sizeof(*j));
	pthread_attr_t attr;
	int r;

	fl_sys_write("/proc/self/oom_score_adj", "1000");
	if (!j)
		give_up(&board->slot[0], "cannot start", ENOMEM);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (unsigned i = 0; i < c->nr_task; i++) {
		j[i] = (struct job){ plan, c, dir, board, i, 0 };
		r = pthread_create(&j[i].thread, &attr, thread_main, &j[i]);
		if (r)
			give_up(&board->slot[i], "cannot start", r);
	}
	for (unsigned i = 0; i < c->nr_task; i++)
		pthread_join(j[i].thread, NULL);
	_exit(0);
}

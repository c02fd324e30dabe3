// SPDX-License-Identifier: GPL-2.0-only
/*
 * Profiling boots: where the time of a window goes, by a sampling clock with
 * call chains, through libperf. Each task samples itself into a buffer that
 * nobody reads before the window is over, and leaves it in a file; the agent
 * makes one tree of them and sends it. Measuring boots call none of this.
 */
#include "profile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <perf/core.h>
#include <perf/evsel.h>
#include <perf/threadmap.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_BYTES 256 /* an ordinary one */
#define RECORD_MAX 1024
#define BUFFER_MIN (1 << 20)
#define BUFFER_MAX (32 << 20)

uint64_t fl_profile_ns;

static __thread struct perf_evsel *sampler;
static __thread struct perf_thread_map *myself;
static __thread size_t buffer_size;
static __thread uint64_t dice;

/*
 * Under the exact clock what a sample costs depends on what was hit alone, and
 * then samples and operations fall into step: the same few places are hit again
 * and again. So each sample draws the distance of the next one, near the
 * period, and wastes a random time against the steps of 838 ns in which the
 * timer behind it may count. The signal comes on the way back to the program,
 * long before the next sample can. A long system call has one distance for all
 * of its samples, which must not weigh much more or less than others.
 */
static void on_sample(int signo, siginfo_t *si, void *context)
{
	uint64_t period;

	(void)signo;
	(void)context;
	dice ^= dice << 13; /* xorshift64 (Marsaglia 2003) */
	dice ^= dice >> 7;
	dice ^= dice << 17;
	period = fl_profile_ns - fl_profile_ns / 16 +
		 (dice >> 24) % (fl_profile_ns / 8);
	ioctl(si->si_fd, PERF_EVENT_IOC_PERIOD, &period);
	/* A sum of two: no edges, which some length of operation would meet. */
	for (uint64_t n = dice % 4096 + (dice >> 12) % 4096; n; n--)
		__asm__ volatile("");
}

static int ask_for_signals(int fd)
{
	struct sigaction sa = { .sa_sigaction = on_sample,
				.sa_flags = SA_SIGINFO | SA_RESTART };
	struct f_owner_ex me = { F_OWNER_TID, gettid() };
	char path[32], what[32] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, what, sizeof(what) - 1) < 0 ||
	    strcmp(what, "anon_inode:[perf_event]") != 0)
		return -EBADF;
	if (sigaction(SIGIO, &sa, NULL) < 0 ||
	    fcntl(fd, F_SETOWN_EX, &me) < 0 || fcntl(fd, F_SETSIG, SIGIO) < 0 ||
	    fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

/*
 * libperf does not tell its descriptor: it is the lowest that is free, as long
 * as no other task opens one between the two calls.
 */
static int open_sampler(int *fd)
{
	static volatile int lock;
	int r;

	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
	*fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	close(*fd);
	/* No CPU map: one event that follows the task over all CPUs. */
	r = perf_evsel__open(sampler, NULL, myself);
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	return r;
}

static int silent(enum libperf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

int fl_profile_statement(const char *word, const char *rest)
{
	char *last;

	if (strcmp(word, "profile") != 0)
		return 0;
	fl_profile_ns = strtoull(rest, &last, 10);
	return last > rest && !*last && fl_profile_ns >= 10000 &&
			       fl_profile_ns <= 1000000000 ?
		       1 :
		       -1;
}

/* A power of two, with twice the room that the window should need. */
static size_t buffer_for(const struct fl_plan *plan,
			 const struct fl_plan_case *c)
{
	uint64_t ns = plan->exact ? FL_EXACT_WINDOW :
				    (c->warmup + c->samples) * 1000000000ULL;
	/* A case with parts may take its time to get enough of them. */
	uint64_t want = ns / fl_profile_ns * RECORD_BYTES *
			(fl_case_has_parts(c) ? 8 : 2);
	size_t n = BUFFER_MIN;

	while (n < want && n < BUFFER_MAX)
		n *= 2;
	return n;
}

static void stop(void)
{
	perf_evsel__munmap(sampler);
	perf_evsel__close(sampler);
	perf_evsel__delete(sampler);
	perf_thread_map__put(myself);
	sampler = NULL;
}

static int begin(const struct fl_plan *plan, const struct fl_plan_case *c,
		 unsigned index)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = fl_profile_ns,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.wakeup_events = plan->exact ? 1 : UINT32_MAX,
		.disabled = 1,
		.exclude_hv = 1,
		.exclude_callchain_user = 1,
		.sample_max_stack = FL_PROFILE_STACK,
	};
	int fd, r;

	libperf_init(silent);
	dice = 0x9e3779b97f4a7c15ULL + index;
	myself = perf_thread_map__new_dummy();
	sampler = perf_evsel__new(&attr);
	if (!myself || !sampler)
		return ENOMEM;
	perf_thread_map__set_pid(myself, 0, 0);
	buffer_size = buffer_for(plan, c);
	r = open_sampler(&fd);
	if (!r)
		r = perf_evsel__mmap(
			sampler, (int)(buffer_size / (size_t)getpagesize()));
	if (!r && plan->exact)
		r = ask_for_signals(fd);
	if (!r && !fl_case_has_parts(c))
		r = perf_evsel__enable(sampler);
	return r > 0 ? EIO : -r;
}

void fl_profile_resume(void)
{
	perf_evsel__enable(sampler);
}

void fl_profile_pause(void)
{
	perf_evsel__disable(sampler);
}

void fl_profile_file(char out[32], unsigned index)
{
	snprintf(out, 32, "/profile-%u", index);
}

static int write_all(int fd, const void *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w <= 0)
			return w ? -errno : -EIO;
		p = (const char *)p + w;
		n -= (size_t)w;
	}
	return 0;
}

static int end(unsigned index)
{
	struct perf_event_mmap_page *page;
	struct perf_counts_values v = { 0 };
	struct fl_profile_head head = { 0 };
	uint64_t n;
	char path[32];
	int fd, r;

	page = perf_evsel__mmap_base(sampler, 0, 0);
	if (!page || perf_evsel__read(sampler, 0, 0, &v))
		return EIO;
	/* Nobody moved data_tail: the records begin at 0 and never wrap. */
	n = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	head.ran_ns = v.run;
	head.full = n + RECORD_MAX > buffer_size;
	fl_profile_file(path, index);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	r = write_all(fd, &head, sizeof(head));
	if (!r)
		r = write_all(fd, (char *)page + getpagesize(), n);
	close(fd);
	stop();
	return -r;
}

static void check(int code, const char *what, struct fl_slot *s)
{
	if (!code)
		return;
	snprintf(s->error, sizeof(s->error), "%s: %s", what, strerror(code));
	_exit(1);
}

void fl_profile_begin(const struct fl_plan *plan, const struct fl_plan_case *c,
		      unsigned index, struct fl_slot *s)
{
	check(begin(plan, c, index), "cannot sample", s);
}

void fl_profile_end(unsigned index, struct fl_slot *s)
{
	check(end(index), "cannot save its samples", s);
}

void fl_profile_wait(void)
{
	for (;;)
		pause();
}

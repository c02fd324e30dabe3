/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest agent: /init of a measuring boot. It mounts what it needs, reads
 * the plan, runs the cases one after the other and reports one JSON line per
 * event, never inside a timed window. A case that cannot be measured is
 * reported with its reason and the next one starts.
 */
#ifndef FL_AGENT_H
#define FL_AGENT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "protocol.h"
#include "../pagefault/workload.h"

#define FL_REASON_MAX 256

struct fl_plan_disk {
	char type[8], device[32], image[32];
	char error[FL_REASON_MAX]; /* why it is not mounted, or "" */
};

enum fl_pin { FL_PIN_CORE, FL_PIN_SMT, FL_PIN_NONE };

struct fl_plan_case {
	char name[FL_CASE_NAME_MAX];
	const struct fl_workload *workload;
	char fs[8]; /* "" without a file */
	char thp[8]; /* "" leaves the kernel's setting alone */
	uint64_t memsize;
	unsigned nr_task; /* per cents of the CPUs are resolved */
	unsigned warmup, samples; /* wall clock: seconds */
	bool thread; /* tasks are threads of one process */
	bool dropped; /* the file leaves the page cache before each pass */
	enum fl_pin pin;
	char exec[32]; /* of a program of others: its spec's path, or "" */
};

/* Some of the time between passes is not measured. */
static inline bool fl_case_has_parts(const struct fl_plan_case *c)
{
	return c->workload->populate || c->dropped;
}

struct fl_plan {
	bool exact;
	uint64_t phase_ns;
	struct fl_plan_disk disks[2];
	unsigned ndisks;
	struct fl_plan_case cases[FL_PLAN_CASES];
	unsigned ncases;
};

/* plan.c: 0, or -1 with the reason in why. */
int fl_plan_read(const char *path, struct fl_plan *plan,
		 char why[FL_REASON_MAX]);

/* report.c: a line is begun, filled and sent; send waits for the wire. */
struct fl_line {
	char text[FL_EVENT_MAX];
	size_t len;
};

int fl_report_open(void);
void fl_report_begin(struct fl_line *l, const char *event);
void fl_report_raw(struct fl_line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* `,"key":"text"` with text escaped and cut to a sane length. */
void fl_report_str(struct fl_line *l, const char *key, const char *text);
void fl_report_num(struct fl_line *l, const char *key, double v);
void fl_report_send(struct fl_line *l);

/* sys.c: small readers and writers of /proc and /sys. */
bool fl_sys_write(const char *path, const char *text);
/* First line of a file into out, "" when it cannot be read. */
const char *fl_sys_line(const char *path, char *out, size_t n);
/* The number after `key` in a "key value" file, -1 when it is not there. */
int64_t fl_sys_value(const char *path, const char *key);

/* env.c: the members of the agent_start event. */
void fl_env_report(const struct fl_plan *plan, struct fl_line *l);

/* disk.c */
void fl_disk_setup(struct fl_plan *plan);
/* Where a file system is mounted; NULL with the reason when it is not. */
const char *fl_disk_dir(const struct fl_plan *plan, const char *fs,
			char why[FL_REASON_MAX]);

/*
 * Sets how far the kernel reads ahead on the disk of a file system, in KiB.
 * Returns what it was before, -1 when that cannot be done.
 */
int64_t fl_disk_read_ahead(const struct fl_plan *plan, const char *fs,
			   int64_t kb);

/* counters.c: minor faults of the calling task through libperf. */
struct fl_counter;
/* NULL when the kernel does not count them. */
struct fl_counter *fl_counter_open(void);
/* Count of minor faults since open; -1 when reading fails. Closes it. */
int64_t fl_counter_close(struct fl_counter *c);

/* pin.c: ties the calling task to its CPUs; nothing to do with one CPU. */
int fl_pin_task(enum fl_pin pin, unsigned index);

/* thp.c: huge page settings of a case, and what the kernel made of them. */
struct fl_thp;
/* Sets what the case asks for and reads it back; NULL and why when refused. */
struct fl_thp *fl_thp_apply(const struct fl_plan_case *c,
			    char why[FL_REASON_MAX]);
/* The counts that fl_thp_report() takes the difference to. */
void fl_thp_mark(struct fl_thp *t);
/* The member "thp" of a case's info, when there is anything to tell. */
void fl_thp_report(const struct fl_thp *t, struct fl_line *l);
/* Puts the old settings back. */
void fl_thp_free(struct fl_thp *t);

/* exec.c: runs a program of others and reports as fl_run_case() does. */
void fl_exec_case(const struct fl_plan *plan, const struct fl_plan_case *c);

/*
 * tmp.c: mounts a new folder of a file system at /tmp; dir becomes its other
 * path, which fl_tmp_close() removes with all in it ("": nothing). False, with
 * the reason, when it cannot or has less than space bytes left.
 */
#define FL_TMP_DIR 64
bool fl_tmp_open(const struct fl_plan *plan, const char *fs, uint64_t space,
		 char dir[FL_TMP_DIR], char why[FL_REASON_MAX]);
void fl_tmp_close(const char *dir);

/* task.c: the code of the tasks. */
struct fl_slot {
	_Alignas(128) volatile uint64_t ops; /* all of them, ever */
	uint64_t start, end; /* TSC at both ends of the window */
	uint64_t window_ops, minor, major; /* inside the window */
	uint64_t warm_ops, warm_minor; /* of the first pass */
	int64_t warm_perf; /* the same faults by perf; -1: not supported */
	/* Measured parts of the window, under seq (odd: being written) */
	unsigned seq;
	uint64_t part_ops, part_ns;
	char error[FL_REASON_MAX]; /* why it gave up */
};

struct fl_board {
	volatile int stop; /* wall clock: the parent ends the window; exact
			      clock with parts: the first task does */
	int ready_fd, go_fd; /* task writes a byte, task reads a byte */
	unsigned finished; /* tasks that are through with their window */
	unsigned turn; /* exact clock with parts: passes that were made */
	struct fl_slot slot[];
};

/* One task in a process of its own, or all of them as threads of one. */
_Noreturn void fl_task_main(const struct fl_plan *plan,
			    const struct fl_plan_case *c, const char *dir,
			    struct fl_board *board, unsigned index);
_Noreturn void fl_threads_main(const struct fl_plan *plan,
			       const struct fl_plan_case *c, const char *dir,
			       struct fl_board *board);

/* run.c: measures one case and reports case_done or case_failed. */
struct fl_sample {
	double rate; /* operations per second and task */
	double idle; /* per cent of all CPUs; negative: not known */
};

struct fl_run {
	const struct fl_plan *plan;
	const struct fl_plan_case *c;
	const char *dir; /* of the file system, NULL without a file */
	struct fl_board *board;
	size_t board_size;
	pid_t *pid; /* 0 once reaped */
	unsigned nproc, alive; /* processes of the case */
	int ready[2], go[2];
	int64_t oom_kills; /* before the case */
	int64_t read_ahead; /* KiB, to be put back; -1: left alone */
	struct fl_sample *sample; /* wall clock: c->samples of them */
	struct fl_thp *thp;
	char why[FL_REASON_MAX];
};

void fl_run_case(const struct fl_plan *plan, const struct fl_plan_case *c);
/* The first reason is the one that is kept. Returns false. */
bool fl_run_fail(struct fl_run *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Takes what has ended; waits for one when asked to. False on a bad end. */
bool fl_run_reap(struct fl_run *r, bool wait);

/* sample.c: the wall clock's window, a sample a second. */
bool fl_run_sample(struct fl_run *r);
/* result.c: checks what the tasks left and reports case_done. */
bool fl_run_report(struct fl_run *r, struct fl_line *l);

#endif

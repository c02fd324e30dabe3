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

struct fl_plan_case {
	char name[FL_CASE_NAME_MAX];
	const struct fl_workload *workload;
	char fs[8]; /* "" without a file */
	uint64_t memsize;
	unsigned nr_task;
	unsigned warmup, samples; /* wall clock: seconds */
};

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

/* counters.c: minor faults of the calling task through libperf. */
struct fl_counter;
/* NULL when the kernel does not count them. */
struct fl_counter *fl_counter_open(void);
/* Count of minor faults since open; -1 when reading fails. Closes it. */
int64_t fl_counter_close(struct fl_counter *c);

/* run.c: measures one case and reports case_done or case_failed. */
void fl_run_case(const struct fl_plan *plan, const struct fl_plan_case *c);

/* task.c: the code of one task process. */
struct fl_slot {
	_Alignas(128) volatile uint64_t ops; /* all of them, ever */
	uint64_t start, end; /* TSC at both ends of the window */
	uint64_t window_ops, minor, major; /* inside the window */
	uint64_t warm_ops, warm_minor; /* of the first pass */
	int64_t warm_perf; /* the same faults by perf; -1: not supported */
	char error[FL_REASON_MAX]; /* why it gave up */
};

struct fl_board {
	volatile int stop; /* wall clock: the parent ends the window */
	int ready_fd, go_fd; /* task writes a byte, task reads a byte */
	struct fl_slot slot[];
};

_Noreturn void fl_task_main(const struct fl_plan *plan,
			    const struct fl_plan_case *c, const char *dir,
			    struct fl_board *board, unsigned index);

#endif

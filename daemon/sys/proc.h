/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Child processes that cannot outlive us: each gets its own process group,
 * dies with its parent (PR_SET_PDEATHSIG), inherits no descriptor but 0..2
 * and is ended TERM first, KILL after a grace period.
 */
#ifndef FL_SYS_PROC_H
#define FL_SYS_PROC_H

#include <sys/types.h>
#include "../util/buf.h"
#include "../util/err.h"
#include "../util/strv.h"

struct fl_proc_spec {
	char *const *argv; /* argv[0] is looked up in PATH */
	const char *dir; /* working directory, NULL = ours */
	const char *log; /* stdout and stderr are appended here, NULL = ours */
	int stdin_fd; /* 0 or negative: /dev/null */
	int stdout_fd; /* 0 or negative: as log says */
	char *const *env; /* NULL = ours */
};

/*
 * Starts the child; its pid is also its process group. That the program, the
 * folder or the log cannot be opened is found here, and said.
 */
int fl_proc_spawn(const struct fl_proc_spec *spec, pid_t *ret,
		  struct fl_err *err);

enum fl_proc_end { FL_PROC_EXITED, FL_PROC_SIGNALED, FL_PROC_TIMEOUT };

struct fl_proc_result {
	enum fl_proc_end end;
	int code; /* exit status or signal number */
	double seconds; /* wall clock from start to end */
};

/*
 * Starts the child and waits at most timeout_s seconds (0: for ever). Past
 * it the whole group gets TERM, two seconds later KILL, and end is TIMEOUT.
 * When the leader ends, what it left of its group is killed.
 */
int fl_proc_run(const struct fl_proc_spec *spec, double timeout_s,
		struct fl_proc_result *ret, struct fl_err *err);

/*
 * Runs argv for a minute at most and appends its stdout to out, or its stderr
 * when stdout is empty (where some programs tell their version); -EFBIG when
 * that is longer than max. A child that does not exit with 0 is an INFRA
 * error that quotes the end of its stderr.
 */
int fl_proc_capture(char *const *argv, size_t max, struct fl_buf *out,
		    struct fl_err *err);

/* TERM to the group, KILL after grace_ms (0: at once); reaps the leader. */
void fl_proc_kill(pid_t pid, int grace_ms);

/* Where argv0 is in PATH, heap; NULL when it is not there. */
char *fl_proc_which(const char *argv0);

#endif

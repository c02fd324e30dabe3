/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop over sd-event: the only includer of <systemd/sd-event.h>.
 * One loop a process, single-threaded. Callbacks run one at a time from
 * fl_loop_run(), must not block and return nothing; they end the loop with
 * fl_loop_quit(). Children that were handed to it are reaped by it and
 * nowhere else.
 */
#ifndef FL_SYS_LOOP_H
#define FL_SYS_LOOP_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include "../util/err.h"

struct fl_loop;
struct fl_loop_source; /* a child, a timer or a signal; owned by the loop */

/*
 * From new to free, SIGCHLD and the signals that were added are blocked in
 * this process (fl_proc_spawn() unblocks all in the child).
 */
int fl_loop_new(struct fl_loop **ret, struct fl_err *err);
/* Forgets all sources. Children that still run are not ended: do it first. */
void fl_loop_free(struct fl_loop *l);
FL_DEFINE_FREEP(fl_loop_free, struct fl_loop)

/*
 * The child ended, perhaps before it was added: si_code and si_status as in
 * siginfo_t. What it left of its process group was killed and the source is
 * gone when fn is called; the pid itself is released after fn.
 */
typedef void (*fl_loop_child_fn)(pid_t pid, const siginfo_t *si, void *arg);
int fl_loop_add_child(struct fl_loop *l, pid_t pid, fl_loop_child_fn fn,
		      void *arg, struct fl_err *err);

/*
 * First after ms, then every interval_ms (0: once); beats that were missed
 * are not made up for. *ret may be NULL. A timer that fires once is gone when
 * fn is called: forget *ret there.
 */
typedef void (*fl_loop_fn)(void *arg);
int fl_loop_add_timer(struct fl_loop *l, uint64_t ms, uint64_t interval_ms,
		      fl_loop_fn fn, void *arg, struct fl_loop_source **ret,
		      struct fl_err *err);

/* Once, when no other event is waiting; as a timer that fires once. */
int fl_loop_add_idle(struct fl_loop *l, fl_loop_fn fn, void *arg,
		     struct fl_loop_source **ret, struct fl_err *err);

/* Blocks the signal and calls fn in the loop when it arrives. */
typedef void (*fl_loop_signal_fn)(int signo, void *arg);
int fl_loop_add_signal(struct fl_loop *l, int signo, fl_loop_signal_fn fn,
		       void *arg, struct fl_err *err);

/* Removes a timer or idle call, also from within any fn; NULL is fine. */
void fl_loop_remove(struct fl_loop *l, struct fl_loop_source *source);

/*
 * Until fl_loop_quit(); *code is what it was given. The callback that quits
 * is the last one; a quit before the run ends it at once. May be run again.
 */
int fl_loop_run(struct fl_loop *l, int *code, struct fl_err *err);
void fl_loop_quit(struct fl_loop *l, int code);

#endif

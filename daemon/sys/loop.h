/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop over sd-event: the only includer of <systemd/sd-event.h>.
 * One loop a process, single-threaded. Callbacks return nothing; they end
 * the loop with fl_loop_quit(). Children that were handed to it are reaped
 * by it and nowhere else.
 */
#ifndef FL_SYS_LOOP_H
#define FL_SYS_LOOP_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include "../util/err.h"

struct fl_loop;
struct fl_loop_source; /* a child, a timer or a signal; owned by the loop */

int fl_loop_new(struct fl_loop **ret, struct fl_err *err);
void fl_loop_free(struct fl_loop *l);
FL_DEFINE_FREEP(fl_loop_free, struct fl_loop)

/* The child ended: si_code and si_status as in siginfo_t. The source is
 * gone when fn is called. */
typedef void (*fl_loop_child_fn)(pid_t pid, const siginfo_t *si, void *arg);
int fl_loop_add_child(struct fl_loop *l, pid_t pid, fl_loop_child_fn fn,
		      void *arg, struct fl_err *err);

/* First after ms, then every interval_ms (0: once). *ret may be NULL. */
typedef void (*fl_loop_fn)(void *arg);
int fl_loop_add_timer(struct fl_loop *l, uint64_t ms, uint64_t interval_ms,
		      fl_loop_fn fn, void *arg, struct fl_loop_source **ret,
		      struct fl_err *err);

/* Blocks the signal and calls fn in the loop when it arrives. */
typedef void (*fl_loop_signal_fn)(int signo, void *arg);
int fl_loop_add_signal(struct fl_loop *l, int signo, fl_loop_signal_fn fn,
		       void *arg, struct fl_err *err);

/* Removes a timer; NULL is fine. */
void fl_loop_remove(struct fl_loop *l, struct fl_loop_source *source);

/* Until fl_loop_quit(); *code is what it was given. */
int fl_loop_run(struct fl_loop *l, int *code, struct fl_err *err);
void fl_loop_quit(struct fl_loop *l, int code);

#endif

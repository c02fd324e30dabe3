// SPDX-License-Identifier: GPL-2.0-or-later
/* See loop.h. */
#include "loop.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <systemd/sd-event.h>

/* One thing waited for; in the loop's list until it is over. */
struct fl_loop_source {
	struct fl_loop *loop;
	struct fl_loop_source *next;
	sd_event_source *event;
	uint64_t interval_us; /* 0 = once */
	union {
		fl_loop_fn plain;
		fl_loop_child_fn child;
		fl_loop_signal_fn signal;
	} fn;
	void *arg;
};

struct fl_loop {
	sd_event *event;
	struct fl_loop_source *sources;
	sigset_t old_mask;
	bool quit;
	int code;
};

static struct fl_loop_source *add_source(struct fl_loop *l, void *arg)
{
	struct fl_loop_source *s = fl_calloc(1, sizeof(*s));

	s->loop = l;
	s->arg = arg;
	s->next = l->sources;
	l->sources = s;
	return s;
}

static void drop_source(struct fl_loop_source *s)
{
	struct fl_loop_source **p = &s->loop->sources;

	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	sd_event_source_disable_unref(s->event);
	free(s);
}

/* The end of each add function: r is what sd-event said about s. */
static int added(struct fl_loop_source *s, int r, struct fl_loop_source **ret,
		 const char *what, struct fl_err *err)
{
	if (r < 0) {
		drop_source(s);
		return fl_err_set(err, r, FL_E_INFRA, "cannot wait for %s: %s",
				  what, strerror(-r));
	}
	if (ret)
		*ret = s;
	return 0;
}

static void block(int signo)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int fl_loop_new(struct fl_loop **ret, struct fl_err *err)
{
	_cleanup_(fl_loop_freep) struct fl_loop *l = fl_calloc(1, sizeof(*l));
	int r;

	sigprocmask(SIG_SETMASK, NULL, &l->old_mask);
	block(SIGCHLD); /* sd-event insists, pidfd or not */
	r = sd_event_new(&l->event);
	if (r < 0)
		return fl_err_set(err, r, FL_E_INFRA,
				  "cannot make an event loop: %s",
				  strerror(-r));
	*ret = fl_steal(l);
	return 0;
}

void fl_loop_free(struct fl_loop *l)
{
	if (!l)
		return;
	while (l->sources)
		drop_source(l->sources);
	sd_event_unref(l->event);
	sigprocmask(SIG_SETMASK, &l->old_mask, NULL);
	free(l);
}

static int on_child(sd_event_source *event _unused_, const siginfo_t *si,
		    void *userp)
{
	struct fl_loop_source *s = userp, once = *s;

	/* Not reaped yet: the group's id can be nobody else's. */
	kill(-si->si_pid, SIGKILL);
	drop_source(s);
	once.fn.child(si->si_pid, si, once.arg);
	return 0;
}

int fl_loop_add_child(struct fl_loop *l, pid_t pid, fl_loop_child_fn fn,
		      void *arg, struct fl_err *err)
{
	struct fl_loop_source *s = add_source(l, arg);

	s->fn.child = fn;
	return added(s,
		     sd_event_add_child(l->event, &s->event, pid, WEXITED,
					on_child, s),
		     NULL, "a child", err);
}

static int on_time(sd_event_source *event, uint64_t usec _unused_, void *userp)
{
	struct fl_loop_source *s = userp, copy = *s;
	int r = 0;

	if (s->interval_us) {
		r = sd_event_source_set_time_relative(event, s->interval_us);
		if (r >= 0)
			r = sd_event_source_set_enabled(event,
							SD_EVENT_ONESHOT);
	} else {
		drop_source(s);
	}
	copy.fn.plain(copy.arg); /* it may remove s */
	return r;
}

int fl_loop_add_timer(struct fl_loop *l, uint64_t ms, uint64_t interval_ms,
		      fl_loop_fn fn, void *arg, struct fl_loop_source **ret,
		      struct fl_err *err)
{
	struct fl_loop_source *s = add_source(l, arg);

	s->fn.plain = fn;
	s->interval_us = interval_ms * 1000;
	return added(s,
		     sd_event_add_time_relative(l->event, &s->event,
						CLOCK_MONOTONIC, ms * 1000,
						1000, on_time, s),
		     ret, "a timer", err);
}

static int on_idle(sd_event_source *event _unused_, void *userp)
{
	struct fl_loop_source *s = userp, once = *s;

	drop_source(s);
	once.fn.plain(once.arg);
	return 0;
}

int fl_loop_add_idle(struct fl_loop *l, fl_loop_fn fn, void *arg,
		     struct fl_loop_source **ret, struct fl_err *err)
{
	struct fl_loop_source *s = add_source(l, arg);
	int r = sd_event_add_defer(l->event, &s->event, on_idle, s);

	s->fn.plain = fn;
	if (r >= 0)
		r = sd_event_source_set_priority(s->event,
						 SD_EVENT_PRIORITY_IDLE);
	return added(s, r, ret, "idle time", err);
}

static int on_signal(sd_event_source *event _unused_,
		     const struct signalfd_siginfo *si, void *userp)
{
	struct fl_loop_source *s = userp;

	s->fn.signal((int)si->ssi_signo, s->arg);
	return 0;
}

int fl_loop_add_signal(struct fl_loop *l, int signo, fl_loop_signal_fn fn,
		       void *arg, struct fl_err *err)
{
	struct fl_loop_source *s = add_source(l, arg);
	int r;

	s->fn.signal = fn;
	block(signo);
	r = sd_event_add_signal(l->event, &s->event, signo, on_signal, s);
	/* A person who wants to stop comes before all else. */
	if (r >= 0)
		r = sd_event_source_set_priority(s->event,
						 SD_EVENT_PRIORITY_IMPORTANT);
	return added(s, r, NULL, "a signal", err);
}

void fl_loop_remove(struct fl_loop *l, struct fl_loop_source *source)
{
	struct fl_loop_source *s = l->sources;

	while (s && s != source)
		s = s->next;
	if (s)
		drop_source(s);
}

int fl_loop_run(struct fl_loop *l, int *code, struct fl_err *err)
{
	while (!l->quit) {
		int r = sd_event_run(l->event, UINT64_MAX);

		if (r < 0)
			return fl_err_set(err, r, FL_E_INFRA,
					  "event loop failed: %s",
					  strerror(-r));
	}
	l->quit = false;
	*code = l->code;
	return 0;
}

void fl_loop_quit(struct fl_loop *l, int code)
{
	l->quit = true;
	l->code = code;
}

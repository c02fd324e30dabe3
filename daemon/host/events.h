/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the guest agent's events (jobs/agent/protocol.h) from a buffer. The
 * guest is not trusted: unknown cases, events out of order, numbers that are
 * no samples and oversized lines are refused, and what was refused is kept
 * as a reason. Pure.
 */
#ifndef FL_HOST_EVENTS_H
#define FL_HOST_EVENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "host.h"

struct fl_events {
	bool started, ended; /* the agent spoke; it came to its end */
	char *refused; /* why the agent refused its plan, or NULL */
	char *bad; /* the first line that was refused, and why, or NULL */
	ptrdiff_t running; /* index of the case that was begun, or -1 */
	size_t done, failed, lost;
	json_t *cases, *env; /* as in struct fl_boot_result */
	json_t *profiles; /* as the guest sends them: samples.h */
};

/* clock decides which KPI a finished case must have. Never fails. */
void fl_events_read(const char *buf, size_t n, enum fl_clock_kind clock,
		    const struct fl_case *const *cases, size_t ncases,
		    struct fl_events *ret);
void fl_events_clear(struct fl_events *ev);

#endif

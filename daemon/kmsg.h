/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a kernel's console log: did it panic, oops, warn, run out of memory
 * or hang? Pure: a buffer in, findings out; any bytes are allowed. Used by
 * host drivers to classify a boot.
 */
#ifndef FL_KMSG_H
#define FL_KMSG_H

#include <stdbool.h>
#include <stddef.h>
#include "util/cleanup.h"

enum fl_kmsg_kind {
	FL_KMSG_PANIC, /* "Kernel panic - not syncing" */
	FL_KMSG_OOPS, /* a fault in the kernel; fatal to what ran */
	FL_KMSG_BUG, /* "BUG:" or "kernel BUG at" */
	FL_KMSG_WARNING,
	FL_KMSG_OOM, /* the OOM killer took a process */
	FL_KMSG_HUNG, /* lockups, hung tasks, RCU stalls */
	FL_KMSG_KINDS,
};

#define FL_KMSG_TEXT_MAX 4000

struct fl_kmsg {
	unsigned count[FL_KMSG_KINDS];
	char *line[FL_KMSG_KINDS]; /* the first of each kind, or NULL */
	/*
	 * What to show: the first oops or BUG (else the panic, else the
	 * first other finding) with the lines after it, printable ASCII,
	 * time stamps removed, at most FL_KMSG_TEXT_MAX bytes. "" when the
	 * log is clean.
	 */
	char *text;
};

void fl_kmsg_read(const char *log, size_t n, struct fl_kmsg *ret);
void fl_kmsg_clear(struct fl_kmsg *k);
/* The kernel is dead: it panicked, or an oops ended it. */
bool fl_kmsg_fatal(const struct fl_kmsg *k);

#endif

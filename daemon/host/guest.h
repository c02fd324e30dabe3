/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes into a guest (plan, initramfs) and what a finished boot means.
 * Internal to the drivers that boot our own initramfs.
 */
#ifndef FL_HOST_GUEST_H
#define FL_HOST_GUEST_H

#include "../initramfs.h"
#include "../util/buf.h"
#include "events.h"
#include "host.h"

/* The RAM disks' size; the guest never holds more than its memory. */
int64_t fl_guest_disk_mb(const struct fl_host *host);
/* The plan's text (jobs/agent/protocol.h); heap. */
char *fl_guest_plan(const struct fl_boot *boot);
/* Writes the initramfs of a boot to path. */
int fl_guest_initramfs(const struct fl_boot *boot, const char *path,
		       struct fl_err *err);

/* guest-exec.c: the files and specs of programs of others. USER error when a
 * file is not what it was when the job was read. */
int fl_guest_exec_files(const struct fl_boot *boot, struct fl_initramfs *fs,
			struct fl_err *err);
/* The plan's line for such a case, the i-th of the boot. */
void fl_guest_exec_plan(const struct fl_case *c, size_t i, struct fl_buf *b);

/* How the machine stopped. */
enum fl_guest_end {
	FL_GUEST_EXITED, /* by itself; code holds its exit status */
	FL_GUEST_SILENT, /* stopped: nothing new for timeout_s */
	FL_GUEST_LATE, /* stopped: total_s are over */
	FL_GUEST_FLOOD, /* stopped: it wrote too much */
};

struct fl_guest_facts {
	enum fl_guest_end end;
	int code; /* of the emulator: 0, or what it failed with */
	const char *console, *emulator_log;
	size_t console_len;
	double timeout_s, total_s;
};

/*
 * Outcome and reason from facts and events; adds kernel_warnings and
 * kernel_warning to env when the log shows any. Takes ev's cases and env.
 * BUG when the agent refused its plan.
 */
int fl_guest_classify(const struct fl_guest_facts *f, struct fl_events *ev,
		      struct fl_boot_result *ret, struct fl_err *err);

#endif

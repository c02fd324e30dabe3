/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other people's code (make, kernel scripts) and QEMU run under bubblewrap:
 * no network, own process space and /tmp, a read-only system, a cleared
 * environment, no capabilities (also when started by root), and nothing of
 * the home or the workspace but what is named here. Dies with its parent.
 */
#ifndef FL_SYS_SANDBOX_H
#define FL_SYS_SANDBOX_H

#include "../util/strv.h"

struct fl_sandbox {
	struct fl_strv ro; /* visible, read-only (absolute paths) */
	struct fl_strv rw; /* writable */
	struct fl_strv dev; /* device nodes, e.g. /dev/kvm */
	struct fl_strv env; /* NAME=value */
	const char *dir; /* working directory inside */
};

void fl_sandbox_clear(struct fl_sandbox *s);

/* Appends the bwrap command line up to and including "--". */
void fl_sandbox_argv(const struct fl_sandbox *s, struct fl_strv *argv);

#endif

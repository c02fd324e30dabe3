/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The qemu driver's parts: the command line and the boot. Internal to it. */
#ifndef FL_HOST_QEMU_H
#define FL_HOST_QEMU_H

#include <sys/types.h>
#include "host.h"

#define FL_QEMU_PROGRAM "qemu-system-x86_64"

/* Lives as long as one boot; all paths are absolute. */
struct fl_qemu {
	const struct fl_boot *boot;
	char *dir, *image, *initramfs, *console, *events, *log;
	/* Profiling boots: where the code goes, and QEMU's monitor; else -1. */
	char *code;
	int monitor;
	pid_t pid;
	int64_t start_ms;
};

/* "kvm" where it works and the clock is the wall's, else "tcg". */
const char *fl_qemu_accel(const struct fl_host *host);
/* Appends QEMU's command line. */
void fl_qemu_argv(const struct fl_qemu *m, struct fl_strv *argv);
/* See struct fl_host_ops. */
int fl_qemu_recipe(const struct fl_host *host, enum fl_isa isa, json_t **ret,
		   struct fl_err *err);

/* ---- qemu-profile.c: boots with profile_ns --------------------------------- */

/* Has the agent come to its end? Then saves the code and ends the machine. */
void fl_qemu_profile_poll(struct fl_qemu *m);
/* Names what the guest sent (raw: profiles of struct fl_events). */
int fl_qemu_profile_conclude(const struct fl_qemu *m, const json_t *raw,
			     struct fl_boot_result *ret, struct fl_err *err);

#endif

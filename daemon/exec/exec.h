/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where worker children run. The planner hands over a folder with spec.json;
 * the worker writes progress, out/ and, last and by rename, result.json.
 */
#ifndef FL_EXEC_EXEC_H
#define FL_EXEC_EXEC_H

#include <sys/types.h>
#include "../util/err.h"

struct fl_exec_ops {
	const char *name;
	/* Starts `faultline worker dir`; its end is reported by pid. */
	int (*start)(const char *dir, pid_t *pid, struct fl_err *err);
};

extern const struct fl_exec_ops fl_exec_local;

#endif

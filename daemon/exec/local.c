// SPDX-License-Identifier: GPL-2.0-or-later
/* Workers as our own children: they die with us. See exec.h. */
#include "exec.h"

#include "../sys/proc.h"

static int local_start(const char *dir, pid_t *pid, struct fl_err *err)
{
	_cleanup_free_ char *log = fl_asprintf("%s/worker.log", dir);
	_cleanup_strv_ struct fl_strv argv = { 0 };
	struct fl_proc_spec spec = { .log = log };

	fl_strv_addl(&argv, "/proc/self/exe", "worker", dir, NULL);
	spec.argv = argv.s;
	return fl_proc_spawn(&spec, pid, err);
}

const struct fl_exec_ops fl_exec_local = {
	.name = "local",
	.start = local_start,
};

// SPDX-License-Identifier: GPL-2.0-only
/*
 * /init of a measuring boot: mounts, settings, plan, cases, reboot. Under
 * -no-reboot the reboot ends QEMU; nothing is left to sync.
 */
#include "profile.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

/*
 * Nothing periodic may run inside a window: writeback alone spread disk
 * file systems by 3 %, the statistics worker is the next largest. Addresses
 * are the same in each run, as under will-it-scale.
 */
static const struct {
	const char *path, *value;
} settings[] = {
	{ "/proc/sys/vm/dirty_ratio", "95" },
	{ "/proc/sys/vm/dirty_background_ratio", "90" },
	{ "/proc/sys/vm/dirty_writeback_centisecs", "0" },
	{ "/proc/sys/vm/dirty_expire_centisecs", "360000" },
	{ "/proc/sys/vm/stat_interval", "3600" },
	{ "/proc/sys/fs/xfs/xfssyncd_centisecs", "720000" },
	{ "/proc/sys/kernel/randomize_va_space", "0" },
	{ "/proc/sys/vm/drop_caches", "4" }, /* not a word when it is used */
};

static void mount_system(void)
{
	static const char *const fs[][2] = { { "proc", "/proc" },
					     { "sysfs", "/sys" },
					     { "devtmpfs", "/dev" } };

	for (unsigned i = 0; i < sizeof(fs) / sizeof(*fs); i++) {
		mkdir(fs[i][1], 0755);
		mount(fs[i][0], fs[i][1], fs[i][0], 0, NULL);
	}
}

/* The kernel's console, when the initramfs had none to open. */
static void open_console(void)
{
	int fd = open("/dev/console", O_RDWR);

	for (int i = 0; fd >= 0 && i < 3; i++)
		if (fd != i)
			dup2(fd, i);
	if (fd > 2)
		close(fd);
}

/* Shifts everything that follows against the timer tick. */
static void burn(uint64_t ticks)
{
	uint64_t start = __rdtsc();

	while (__rdtsc() - start < ticks)
		;
}

static _Noreturn void leave(void)
{
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

int main(void)
{
	static struct fl_plan plan;
	static struct fl_line line;
	char why[FL_REASON_MAX] = "";

	mount_system();
	open_console();
	if (fl_report_open() < 0) {
		puts("faultline-agent: no " FL_EVENT_PORT);
		leave();
	}
	if (fl_plan_read(FL_PLAN_PATH, &plan, why) < 0) {
		fl_report_begin(&line, "plan_refused");
		fl_report_str(&line, "reason", why);
		fl_report_send(&line);
		leave();
	}
	fl_sys_write("/proc/self/oom_score_adj", "-1000");
	/* Before the mounts: they would arm timers with the old values. */
	for (unsigned i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		fl_sys_write(settings[i].path, settings[i].value);
	fl_disk_setup(&plan);
	fl_report_begin(&line, "agent_start");
	fl_env_report(&plan, &line);
	fl_report_send(&line);
	if (plan.exact)
		burn(plan.phase_ns);
	else
		usleep((useconds_t)(plan.phase_ns / 1000));
	for (unsigned i = 0; i < plan.ncases; i++)
		(plan.cases[i].exec[0] ? fl_exec_case :
					 fl_run_case)(&plan, &plan.cases[i]);
	fl_report_begin(&line, "end");
	fl_report_send(&line);
	fl_profile_wait();
	leave();
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the guest says of itself, once per boot: members of the agent_start
 * event. What cannot be read is left out.
 */
#include "agent.h"

#include <dirent.h>
#include <mntent.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <x86intrin.h>

#define VULN "/sys/devices/system/cpu/vulnerabilities"

static void file_line(struct fl_line *l, const char *key, const char *path)
{
	char text[2048];

	if (fl_sys_line(path, text, sizeof(text))[0])
		fl_report_str(l, key, text);
}

static void cpu_model(struct fl_line *l)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		line[strcspn(line, "\n")] = '\0';
		fl_report_str(l, "cpu_model",
			      colon + 1 + strspn(colon + 1, " "));
		break;
	}
	if (f)
		fclose(f);
}

static void file_systems(struct fl_line *l)
{
	FILE *f = setmntent("/proc/mounts", "re");
	struct mntent *m;

	while (f && (m = getmntent(f))) {
		char key[32], text[512];

		if (strncmp(m->mnt_dir, "/fs/", 4) != 0)
			continue;
		snprintf(key, sizeof(key), "fs_%.16s", m->mnt_dir + 4);
		snprintf(text, sizeof(text), "%s on %s (%s)", m->mnt_fsname,
			 m->mnt_dir, m->mnt_opts);
		fl_report_str(l, key, text);
	}
	if (f)
		endmntent(f);
}

static void mitigations(struct fl_line *l)
{
	DIR *d = opendir(VULN);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char key[64], path[300];

		if (e->d_name[0] == '.')
			continue;
		snprintf(key, sizeof(key), "vuln_%.40s", e->d_name);
		snprintf(path, sizeof(path), VULN "/%s", e->d_name);
		file_line(l, key, path);
	}
	if (d)
		closedir(d);
}

void fl_env_report(const struct fl_plan *plan, struct fl_line *l)
{
	struct utsname u;

	fl_report_raw(l, ",\"env\":{\"agent\":%d",
		      plan->exact ? FL_WORKLOAD_VERSION :
				    FL_WORKLOAD_VERSION_WALL);
	if (!uname(&u)) {
		fl_report_str(l, "release", u.release);
		fl_report_str(l, "version", u.version);
		fl_report_str(l, "arch", u.machine);
	}
	file_line(l, "cmdline", "/proc/cmdline");
	cpu_model(l);
	fl_report_num(l, "cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
	fl_report_num(l, "memory_mb",
		      (double)fl_sys_value("/proc/meminfo", "MemTotal") / 1024);
	file_line(l, "aslr", "/proc/sys/kernel/randomize_va_space");
	file_line(l, "thp", "/sys/kernel/mm/transparent_hugepage/enabled");
	file_line(l, "thp_shmem",
		  "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
	file_line(l, "clocksource",
		  "/sys/devices/system/clocksource/clocksource0/"
		  "current_clocksource");
	file_line(l, "cgroup", "/proc/self/cgroup");
	if (plan->exact) /* since the machine was switched on */
		fl_report_num(l, "boot_instructions", (double)__rdtsc());
	file_systems(l);
	mitigations(l);
	fl_report_raw(l, "}");
}

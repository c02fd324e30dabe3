// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the importer knows of lkp-tests' keys: one table for those that make
 * parameters of a case, one for the others, with the reason why they stay
 * behind. A parameter more is a line more.
 */
#include "lkp-internal.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

/* Seconds: what will-it-scale discards, and what lkp-tests takes off runtime
 * before it hands it to will-it-scale as the time to keep. */
#define DISCARDED 6
#define TAKEN_OFF 5

/* ---- parameters ------------------------------------------------------------ */

static void choose(json_t *choices, const char *name, json_t *value)
{
	json_t *params = json_object();

	if (value)
		json_object_set_new(params, name, value);
	json_array_append_new(choices, params);
}

static const char *take_test(const char *text, json_t *choices)
{
	/* will-it-scale's name, the program's name */
	static const char *const tests[][2] = {
		{ "page_fault1", "page_fault1" },
		{ "page_fault2", "page_fault2" },
		{ "page_fault3", "page_fault3" },
		{ "page_fault4", "page_fault4" },
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(tests); i++) {
		if (strcmp(tests[i][0], text) != 0)
			continue;
		choose(choices, "program", json_string(tests[i][1]));
		return NULL;
	}
	return "a test of will-it-scale that Faultline has no program for";
}

static const char *take_mode(const char *text, json_t *choices)
{
	bool both = !strcmp(text, "both");

	if (both || !strcmp(text, "process"))
		choose(choices, "mode", json_string("process"));
	if (both || !strcmp(text, "thread"))
		choose(choices, "mode", json_string("thread"));
	return json_array_size(choices) ? NULL : "no mode of will-it-scale";
}

/* The digits that text begins with; -1 when there are none, or too many. */
static int64_t leading_number(const char *text, const char **rest)
{
	size_t n = strspn(text, "0123456789");

	*rest = text + n;
	return n && n < 10 ? strtoll(text, NULL, 10) : -1;
}

static const char *take_tasks(const char *text, json_t *choices)
{
	const char *rest;
	int64_t n = leading_number(text, &rest);

	if (n < 0 || (*rest && strcmp(rest, "%") != 0))
		return "expected a number, or a percentage of the CPUs";
	choose(choices, "nr_task", *rest ? json_string(text) : json_integer(n));
	return NULL;
}

static const char *take_fs(const char *text, json_t *choices)
{
	choose(choices, "fs", json_string(text));
	return NULL;
}

static const char *take_runtime(const char *text, json_t *choices)
{
	static const struct {
		const char *unit;
		int64_t seconds;
	} units[] = { { "", 1 },     { "s", 1 },     { "m", 60 },
		      { "h", 3600 }, { "d", 86400 }, { "w", 604800 } };
	const char *rest;
	int64_t n = leading_number(text, &rest);
	size_t u = 0;

	while (u < FL_ARRAY_SIZE(units) && strcmp(units[u].unit, rest) != 0)
		u++;
	if (n < 0 || u == FL_ARRAY_SIZE(units))
		return "expected a time like 300s";
	n = n * units[u].seconds - TAKEN_OFF;
	choose(choices, "warmup", json_integer(DISCARDED));
	json_object_set_new(json_array_get(choices, 0), "samples",
			    json_integer(n > 1 ? n : 1));
	return NULL;
}

static const char *take_thp(const char *text, json_t *choices)
{
	choose(choices, "thp", json_string(text));
	return NULL;
}

/* Tasks are pinned to cores unless one of these says otherwise. */
static const char *take_smt(const char *text, json_t *choices)
{
	choose(choices, "pin", strcmp(text, "0") ? json_string("smt") : NULL);
	return NULL;
}

static const char *take_no_affinity(const char *text, json_t *choices)
{
	choose(choices, "pin", strcmp(text, "0") ? json_string("none") : NULL);
	return NULL;
}

const struct fl_lkp_param fl_lkp_params[] = {
	{ .key = "test", .take = take_test, .decides = true },
	{ .key = "mode",
	  .take = take_mode,
	  .decides = true,
	  .absent = "both",
	  .absent_how = "not given, which means both" },
	{ .key = "nr_task",
	  .take = take_tasks,
	  .decides = true,
	  .absent = "1,100%",
	  .absent_how = "not given: lkp-tests then goes through several counts "
			"that depend on the machine" },
	{ .key = "fs",
	  .take = take_fs,
	  .decides = true,
	  .how = "the test's file lies on it; in lkp-tests it lies in /tmp, "
		 "whatever fs says" },
	{ .key = "runtime",
	  .take = take_runtime,
	  .how = "6 s are discarded and 5 s less than that time are kept, as "
		 "in lkp-tests; only with the wall clock",
	  .absent = "300s",
	  .absent_how = "not given, which means 300s" },
	{ .key = "transparent_hugepage.thp_enabled",
	  .take = take_thp,
	  .how = "of anonymous memory, as in lkp-tests, and of the tmpfs" },
	{ .key = "smt", .take = take_smt },
	{ .key = "no_affinity", .take = take_no_affinity },
	{ .key = NULL },
};

/* ---- what stays behind ----------------------------------------------------- */

#define NAME "a name: a job of Faultline is called after its file"
#define LAB "scheduling and files of a lab"
#define MACHINE "says which machine: that is a host of faultline.conf"
#define KERNEL "says which kernel: that is up to the verb and faultline.conf"
#define SETTING "a setting of the machine that Faultline does not make"
#define MONITOR "a monitor: Faultline records the same things in every run"

static const struct {
	const char *pattern, *why;
} others[] = {
	{ "suite", NAME },
	{ "testcase", NAME },
	{ "category", NAME },
	{ "job_origin", NAME },
	{ "job_file", NAME },
	{ "transparent_hugepage.*", SETTING },
	{ "boot_params",
	  "kernel parameters belong to a host ('append' in faultline.conf)" },
	{ "kernel_cmdline*",
	  "kernel parameters belong to a host ('append' in faultline.conf)" },
	{ "disk", "no case works on a disk file system" },
	{ "fs2", "Faultline mounts one file system for a case" },
	{ "format", "Faultline makes each file system in its own way" },
	{ "mkfs", "Faultline makes each file system in its own way" },
	{ "mount*", "Faultline mounts each file system in its own way" },
	{ "nr_tmpfs", "Faultline mounts one file system for a case" },
	{ "need_*", "a condition on the machine" },
	{ "nr_cpu", MACHINE },
	{ "nr_node", MACHINE },
	{ "memory", MACHINE },
	{ "model", MACHINE },
	{ "brand", MACHINE },
	{ "ucode", MACHINE },
	{ "arch", MACHINE },
	{ "acpi_rsdp", MACHINE },
	{ "testbox", MACHINE },
	{ "tbox_group", MACHINE },
	{ "*_partition", MACHINE },
	{ "*_partitions", MACHINE },
	{ "commit", KERNEL },
	{ "*_commit", KERNEL },
	{ "branch", KERNEL },
	{ "kconfig", KERNEL },
	{ "compiler", KERNEL },
	{ "kernel*", KERNEL },
	{ "cpufreq_governor", SETTING },
	{ "cgroup*", SETTING },
	{ "swap", SETTING },
	{ "iosched", SETTING },
	{ "md", SETTING },
	{ "numactl", SETTING },
	{ "drop_caches", SETTING },
	{ "transparent_hugepage", SETTING },
	{ "perf-*", MONITOR },
	{ "*stat", MONITOR },
	{ "*stats", MONITOR },
	{ "*info", MONITOR },
	{ "numa-*", MONITOR },
	{ "proc-*", MONITOR },
	{ "boot-*", MONITOR },
	{ "kmsg", MONITOR },
	{ "uptime", MONITOR },
	{ "heartbeat", MONITOR },
	{ "interrupts", MONITOR },
	{ "softirqs", MONITOR },
	{ "cpuidle", MONITOR },
	{ "latency_stats", MONITOR },
	{ "lock_stat", MONITOR },
	{ "sched_debug", MONITOR },
	{ "bdi_dev_mapping", MONITOR },
	{ "oom-killer", MONITOR },
	{ "watchdog", MONITOR },
	{ "*queue*", LAB },
	{ "user", LAB },
	{ "rootfs", LAB },
	{ "*initrd*", LAB },
	{ "result_*", LAB },
	{ "LKP_*", LAB },
	{ "lkp_*", LAB },
	{ "id", LAB },
	{ "_*", LAB },
	{ "site", LAB },
	{ "max_uptime", LAB },
	{ "*version", LAB },
	{ "*_server*", LAB },
	{ "job_*", LAB },
	{ "mail_*", LAB },
	{ "time", LAB },
	{ "*_time", LAB },
	{ "submit_*", LAB },
	{ "last_kernel", LAB },
	{ "loadavg", LAB },
	{ "bootloader_*", LAB },
	{ ":*", "a directive of lkp-tests" },
};

const char *fl_lkp_other(const char *key, bool program)
{
	if (program)
		return "a suite that Faultline does not have";
	for (size_t i = 0; i < FL_ARRAY_SIZE(others); i++)
		if (!fnmatch(others[i].pattern, key, 0))
			return others[i].why;
	return "unknown to Faultline";
}

bool fl_lkp_comment(const char *key)
{
	return *key == '#' || !strncmp(key, ":#", 2);
}

/* ---- kernel options -------------------------------------------------------- */

const char *const *fl_lkp_fs_kconfig(const char *fs)
{
	static const char *const tmpfs[] = { "CONFIG_SHMEM=y", "CONFIG_TMPFS=y",
					     NULL };
	static const char *const ext4[] = { "CONFIG_BLK_DEV_RAM=y",
					    "CONFIG_EXT4_FS=y", NULL };
	static const char *const xfs[] = { "CONFIG_BLK_DEV_RAM=y",
					   "CONFIG_XFS_FS=y", NULL };
	static const char *const none[] = { NULL };

	return !strcmp(fs, "tmpfs") ? tmpfs :
	       !strcmp(fs, "ext4")  ? ext4 :
	       !strcmp(fs, "xfs")   ? xfs :
				      none;
}

static bool is_value(const char *s)
{
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	const char *digits = hex ? s + 2 : s;

	return !strcmp(s, "y") || !strcmp(s, "m") || !strcmp(s, "n") ||
	       (*digits &&
		!digits[strspn(digits,
			       hex ? "0123456789abcdefABCDEF" : "0123456789")]);
}

static bool is_version(const char *s)
{
	return s[strcspn(s, "v")] == 'v' && strpbrk(s, "0123456789");
}

char *fl_lkp_kconfig(const char *name, const char *value, const char **how,
		     const char **why)
{
	_cleanup_strv_ struct fl_strv words = { 0 };
	const char *set = "y";
	size_t n;

	*how = *why = NULL;
	if (!strncmp(name, "CONFIG_", 7))
		name += 7;
	n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "abcdefghijklmnopqrstuvwxyz0123456789_");
	if (!n || name[n] || n > 90)
		*why = "no kernel option";
	fl_strv_split(&words, value ? value : "", ", ");
	for (size_t i = 0; !*why && i < words.n; i++) {
		const char *s = words.s[i];

		if (is_value(s))
			set = s;
		else if (!strcmp(s, "utf8"))
			set = "\"utf8\"";
		else if (!strcmp(s, "i386"))
			*why = "needed on i386 only";
		else if (is_version(s) || !strcmp(s, "DEPRECATED"))
			*why = "needed by some versions only; a job's "
			       "kconfig holds for all";
		else if (strcmp(s, "x86_64") != 0)
			*why = "no value of a kernel option";
	}
	if (*why)
		return NULL;
	if (!strcmp(set, "m")) {
		*how = "built in: guests load no modules";
		set = "y";
	}
	return fl_asprintf("CONFIG_%.*s=%s", (int)n, name, set);
}

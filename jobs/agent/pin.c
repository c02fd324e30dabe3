// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which CPUs a task may use, as will-it-scale does it: "core" ties task i to
 * all hardware threads of core i, "smt" to hardware thread i, counted core
 * by core; both begin again when there are more tasks.
 */
#include "agent.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

static bool topology(int cpu, const char *file, cpu_set_t *ret)
{
	char path[128], text[256], *s = text;

	snprintf(path, sizeof(path),
		 "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, file);
	CPU_ZERO(ret);
	/* A list like "0-1,8". */
	for (fl_sys_line(path, text, sizeof(text)); *s;) {
		long from = strtol(s, &s, 10);
		long to = *s == '-' ? strtol(s + 1, &s, 10) : from;

		if (from < 0 || to < from || to >= CPU_SETSIZE)
			return false;
		for (; from <= to; from++)
			CPU_SET((size_t)from, ret);
		if (*s && *s++ != ',')
			return false;
	}
	return CPU_COUNT(ret) > 0;
}

/* The siblings of a CPU among the usable ones; itself where none are told. */
static void siblings(int cpu, const cpu_set_t *usable, cpu_set_t *ret)
{
	if (topology(cpu, "thread_siblings_list", ret))
		CPU_AND(ret, ret, usable);
	else
		CPU_ZERO(ret);
	CPU_SET((size_t)cpu, ret);
}

/* Counts units (cores or hardware threads); the one numbered at into ret. */
static unsigned find_unit(enum fl_pin pin, const cpu_set_t *usable, unsigned at,
			  cpu_set_t *ret)
{
	cpu_set_t left = *usable;
	unsigned n = 0;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		cpu_set_t core;

		if (!CPU_ISSET((size_t)cpu, &left))
			continue;
		siblings(cpu, usable, &core);
		for (int i = cpu; i < CPU_SETSIZE; i++) {
			if (!CPU_ISSET((size_t)i, &core))
				continue;
			CPU_CLR((size_t)i, &left);
			if (pin == FL_PIN_SMT && n++ == at) {
				CPU_ZERO(ret);
				CPU_SET((size_t)i, ret);
			}
		}
		if (pin == FL_PIN_CORE && n++ == at)
			*ret = core;
	}
	return n;
}

int fl_pin_task(enum fl_pin pin, unsigned index)
{
	cpu_set_t usable, unit;
	unsigned n;

	if (pin == FL_PIN_NONE)
		return 0;
	if (sched_getaffinity(0, sizeof(usable), &usable) < 0)
		return -errno;
	if (CPU_COUNT(&usable) < 2)
		return 0;
	n = find_unit(pin, &usable, UINT32_MAX, &unit);
	find_unit(pin, &usable, index % n, &unit);
	return sched_setaffinity(0, sizeof(unit), &unit) < 0 ? -errno : 0;
}

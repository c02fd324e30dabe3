// SPDX-License-Identifier: GPL-2.0-or-later
/* See host.h: the words of outcomes and clocks, and the list of drivers. */
#include "host.h"

#include <string.h>

static const char *const outcomes[] = {
	[FL_RUN_DONE] = "done",
	[FL_RUN_CASE_FAILED] = "case-failed",
	[FL_RUN_PANIC] = "panic",
	[FL_RUN_HANG] = "hang",
	[FL_RUN_OOM] = "oom",
	[FL_RUN_NO_BOOT] = "no-boot",
	[FL_RUN_HOST_FAILED] = "host-failed",
};

const char *fl_outcome_str(enum fl_outcome o)
{
	return outcomes[o];
}

int fl_outcome_parse(const char *s)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(outcomes); i++)
		if (!strcmp(s, outcomes[i]))
			return (int)i;
	return -1;
}

const char *fl_clock_kind_str(enum fl_clock_kind k)
{
	return k == FL_CLOCK_EXACT ? "exact" : "wall";
}

void fl_boot_result_clear(struct fl_boot_result *r)
{
	free(r->reason);
	json_decref(r->cases);
	json_decref(r->env);
	json_decref(r->profiles);
	*r = (struct fl_boot_result){ 0 };
}

const struct fl_host_ops *fl_host_driver(const char *name)
{
	static const struct fl_host_ops *const drivers[] = { &fl_host_qemu,
							     &fl_host_fake };

	for (size_t i = 0; i < FL_ARRAY_SIZE(drivers); i++)
		if (!strcmp(drivers[i]->name, name))
			return drivers[i];
	return NULL;
}

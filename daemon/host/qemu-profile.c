// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profiling boot's end: the agent waits after its last event, until the
 * kernel's code was saved through QEMU's monitor - the code in memory and not
 * that in the image, which the kernel patches for the processor it finds.
 * Then addresses become functions. Called by qemu.c.
 */
#include "qemu.h"

#include <string.h>
#include <sys/socket.h>
#include "../util/fs.h"
#include "../util/json.h"
#include "../util/log.h"
#include "samples.h"

static const char end_line[] = "{\"event\":\"end\"}\n";

void fl_qemu_profile_poll(struct fl_qemu *m)
{
	_cleanup_(fl_symbols_freep) struct fl_symbols *symbols = NULL;
	_cleanup_buf_ struct fl_buf tail = { 0 };
	_cleanup_free_ char *commands = NULL;
	uint64_t virt, phys, n;

	if (fl_fs_read_tail(m->events, strlen(end_line), &tail, NULL) < 0 ||
	    strcmp(fl_buf_str(&tail), end_line) != 0)
		return;
	if (!fl_samples_symbols(m->boot->system_map, &symbols, NULL) &&
	    fl_samples_code(symbols, &virt, &phys, &n))
		commands = fl_asprintf("pmemsave 0x%llx 0x%llx \"%s\"\nquit\n",
				       (unsigned long long)phys,
				       (unsigned long long)n, m->code);
	else
		commands = fl_strdup("quit\n");
	/* A machine that is gone by now is noticed by its end. */
	send(m->monitor, commands, strlen(commands), MSG_NOSIGNAL);
	close(m->monitor);
	m->monitor = -1;
}

static bool has_profile(const json_t *profiles, const char *name)
{
	json_t *p;
	size_t i;

	json_array_foreach((json_t *)profiles, i, p)
		if (!strcmp(fl_json_str_or(p, "case", ""), name))
			return true;
	return false;
}

/* A case that is done, but whose samples did not come, has failed here. */
static void require_profiles(struct fl_boot_result *ret)
{
	static const char why[] = "its profile did not come through";
	json_t *c;
	size_t i;

	json_array_foreach(ret->cases, i, c) {
		const char *name = fl_json_str_or(c, "case", "");

		if (strcmp(fl_json_str_or(c, "status", ""), "done") != 0 ||
		    has_profile(ret->profiles, name))
			continue;
		json_object_set_new(c, "status", json_string("failed"));
		json_object_set_new(c, "reason", json_string(why));
		if (ret->outcome == FL_RUN_DONE) {
			ret->outcome = FL_RUN_CASE_FAILED;
			free(ret->reason);
			ret->reason = fl_asprintf("case '%s': %s", name, why);
		}
	}
}

int fl_qemu_profile_conclude(const struct fl_qemu *m, const json_t *raw,
			     struct fl_boot_result *ret, struct fl_err *err)
{
	int r = fl_samples_name(raw, m->boot->system_map, m->code,
				&ret->profiles, err);

	unlink(m->code);
	if (!r)
		require_profiles(ret);
	return r;
}

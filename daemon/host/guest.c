// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See guest.h: the plan and the initramfs of a boot. Both depend on what is
 * asked for alone, so that the same run is the same run on every machine.
 */
#include "guest.h"

#include <string.h>
#include "../../jobs/agent/protocol.h"
#include "../initramfs.h"
#include "../util/buf.h"
#include "../util/json.h"
#include "fsimage.h"

#define AGENT_MAX (16 << 20)
#define PADDING (61 << 10) /* bytes per step of perturbation */
#define TICK_NS 4000000 /* of a 250 Hz kernel */

/* The guest's disks, in the order of their device numbers. */
static const struct {
	const char *type, *device, *image;
} disks[] = {
	{ "ext4", "/dev/ram0", "ext4.img" },
	{ "xfs", "/dev/ram1", "xfs.img" },
};

int64_t fl_guest_disk_mb(const struct fl_host *host)
{
	return host->memory_mb > 512 ? host->memory_mb : 512;
}

static bool needs_disk(const struct fl_boot *boot, const char *type)
{
	for (size_t i = 0; i < boot->ncases; i++)
		if (!strcmp(fl_json_str_or(boot->cases[i]->params, "fs", ""),
			    type))
			return true;
	return false;
}

/* Steps of the golden ratio: spread evenly over a tick, never on it. */
static uint64_t phase_ns(unsigned perturb)
{
	return (uint64_t)perturb * 2472135 % TICK_NS;
}

char *fl_guest_plan(const struct fl_boot *boot)
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	fl_buf_printf(&b, FL_PLAN_MAGIC "\nclock %s\nphase_ns %llu\n",
		      fl_clock_kind_str(boot->host->clock),
		      (unsigned long long)phase_ns(boot->perturb));
	if (boot->profile_ns)
		fl_buf_printf(&b, "profile %lld\n",
			      (long long)boot->profile_ns);
	for (size_t i = 0; i < FL_ARRAY_SIZE(disks); i++)
		if (needs_disk(boot, disks[i].type))
			fl_buf_printf(&b, "disk %s %s /%s\n", disks[i].type,
				      disks[i].device, disks[i].image);
	for (size_t i = 0; i < boot->ncases; i++) {
		const char *key;
		json_t *v;

		if (fl_case_is_exec(boot->cases[i]->params)) {
			fl_guest_exec_plan(boot->cases[i], i, &b);
			continue;
		}
		fl_buf_printf(&b, "case %s", boot->cases[i]->name);
		json_object_foreach(boot->cases[i]->params, key, v) {
			if (json_is_string(v))
				fl_buf_printf(&b, " %s=%s", key,
					      json_string_value(v));
			else
				fl_buf_printf(&b, " %s=%lld", key,
					      (long long)json_integer_value(v));
		}
		fl_buf_putc(&b, '\n');
	}
	fl_buf_puts(&b, "end\n");
	return fl_buf_steal(&b);
}

/* Bytes that do not compress, the same ones everywhere (xorshift). */
static void add_padding(struct fl_initramfs *fs, unsigned perturb)
{
	size_t n = (size_t)perturb * PADDING;
	_cleanup_free_ unsigned char *data = NULL;
	uint64_t x = 0x9e3779b97f4a7c15ULL;

	if (!n)
		return;
	data = fl_malloc(n);
	for (size_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		data[i] = (unsigned char)(x >> 32);
	}
	fl_initramfs_add(fs, "padding", 0444, data, n);
}

int fl_guest_initramfs(const struct fl_boot *boot, const char *path,
		       struct fl_err *err)
{
	_cleanup_(fl_initramfs_freep) struct fl_initramfs *fs =
		fl_initramfs_new();
	_cleanup_free_ char *plan = fl_guest_plan(boot);
	int r;

	r = fl_initramfs_add_file(fs, "init", 0755, boot->agent, AGENT_MAX,
				  err);
	for (size_t i = 0; !r && i < FL_ARRAY_SIZE(disks); i++) {
		_cleanup_buf_ struct fl_buf image = { 0 };

		if (!needs_disk(boot, disks[i].type))
			continue;
		r = fl_fsimage_make(disks[i].type, boot->dir,
				    (uint64_t)fl_guest_disk_mb(boot->host)
					    << 20,
				    &image, err);
		if (!r)
			fl_initramfs_add(fs, disks[i].image, 0444, image.s,
					 image.len);
	}
	if (!r)
		r = fl_guest_exec_files(boot, fs, err);
	if (r < 0)
		return r;
	fl_initramfs_add(fs, "plan", 0444, plan, strlen(plan));
	add_padding(fs, boot->perturb);
	return fl_initramfs_write(fs, path, false, err);
}

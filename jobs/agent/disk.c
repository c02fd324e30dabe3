// SPDX-License-Identifier: GPL-2.0-only
/*
 * File systems of the cases: a tmpfs, and RAM disks filled from the images
 * in the initramfs. A disk that cannot be set up fails the cases that need
 * it, with its reason, and no others.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_MAX 32

static void mount_dir(const char *fs, char out[DIR_MAX])
{
	snprintf(out, DIR_MAX, "/fs/%s", fs);
}

static int fail(struct fl_plan_disk *d, const char *what, const char *name)
{
	char text[FL_REASON_MAX]; /* name may lie in *d */

	snprintf(text, sizeof(text), "cannot %s '%s': %s", what, name,
		 strerror(errno));
	memcpy(d->error, text, sizeof(text));
	return -1;
}

static bool read_full(int fd, void *p, size_t n)
{
	while (n) {
		ssize_t r = read(fd, p, n);

		if (r <= 0) {
			errno = r ? errno : EINVAL;
			return false;
		}
		p = (char *)p + r;
		n -= (size_t)r;
	}
	return true;
}

/* Copies the records of an image; see protocol.h. */
static int copy_records(struct fl_plan_disk *d, int in, int out)
{
	static char block[64 << 10];
	uint64_t rec[2];
	char magic[8];

	if (!read_full(in, magic, 8) || memcmp(magic, FL_IMAGE_MAGIC, 8) != 0)
		return fail(d, "read", d->image);
	for (;;) {
		if (!read_full(in, rec, sizeof(rec)))
			return fail(d, "read", d->image);
		if (!rec[1])
			return 0;
		while (rec[1]) {
			size_t n = rec[1] < sizeof(block) ? (size_t)rec[1] :
							    sizeof(block);

			if (!read_full(in, block, n))
				return fail(d, "read", d->image);
			if (pwrite(out, block, n, (off_t)rec[0]) != (ssize_t)n)
				return fail(d, "write", d->device);
			rec[0] += n;
			rec[1] -= n;
		}
	}
}

static int fill(struct fl_plan_disk *d)
{
	int in = open(d->image, O_RDONLY | O_CLOEXEC);
	int out = open(d->device, O_WRONLY | O_CLOEXEC), r;

	if (in < 0)
		r = fail(d, "open", d->image);
	else if (out < 0)
		r = fail(d, "open RAM disk (is CONFIG_BLK_DEV_RAM set?)",
			 d->device);
	else
		r = copy_records(d, in, out);
	if (!r && fsync(out) < 0)
		r = fail(d, "write", d->device);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	unlink(d->image); /* gives its memory back */
	return r;
}

/*
 * ext4 otherwise reads its block bitmaps in a thread of its own, at a random
 * moment of its first five seconds: 300,000 instructions in some window.
 * Kernels that do not know the options do not have the thread either.
 */
static int mount_disk(const struct fl_plan_disk *d, const char *dir)
{
	if (!strcmp(d->type, "ext4") &&
	    !mount(d->device, dir, d->type, MS_NOATIME,
		   "noinit_itable,no_prefetch_block_bitmaps"))
		return 0;
	return mount(d->device, dir, d->type, MS_NOATIME, NULL);
}

static void setup_disk(struct fl_plan_disk *d)
{
	char dir[DIR_MAX];

	if (fill(d) < 0)
		return;
	mount_dir(d->type, dir);
	mkdir(dir, 0755);
	if (mount_disk(d, dir) < 0)
		fail(d, "mount", d->type);
}

void fl_disk_setup(struct fl_plan *plan)
{
	bool tmpfs = false;

	mkdir("/fs", 0755);
	for (unsigned i = 0; i < plan->ncases; i++)
		tmpfs |= !strcmp(plan->cases[i].fs, "tmpfs");
	if (tmpfs) {
		mkdir("/fs/tmpfs", 01777);
		mount("tmpfs", "/fs/tmpfs", "tmpfs", MS_NOATIME, NULL);
	}
	for (unsigned i = 0; i < plan->ndisks; i++)
		setup_disk(&plan->disks[i]);
}

const char *fl_disk_dir(const struct fl_plan *plan, const char *fs,
			char why[FL_REASON_MAX])
{
	static char dir[DIR_MAX];
	struct stat here, above;

	for (unsigned i = 0; i < plan->ndisks; i++) {
		const struct fl_plan_disk *d = &plan->disks[i];

		if (!strcmp(d->type, fs) && d->error[0]) {
			snprintf(why, FL_REASON_MAX, "%s", d->error);
			return NULL;
		}
	}
	mount_dir(fs, dir);
	if (stat(dir, &here) < 0 || stat("/fs", &above) < 0 ||
	    here.st_dev == above.st_dev) {
		snprintf(why, FL_REASON_MAX, "file system '%s' is not mounted",
			 fs);
		return NULL;
	}
	return dir;
}

int64_t fl_disk_read_ahead(const struct fl_plan *plan, const char *fs,
			   int64_t kb)
{
	char path[128], text[32], *end;
	int64_t old;

	for (unsigned i = 0; i < plan->ndisks; i++) {
		const struct fl_plan_disk *d = &plan->disks[i];

		if (strcmp(d->type, fs) != 0)
			continue;
		snprintf(path, sizeof(path),
			 "/sys/block/%s/queue/read_ahead_kb",
			 d->device + strlen("/dev/"));
		old = strtoll(fl_sys_line(path, text, sizeof(text)), &end, 10);
		if (end == text)
			return -1;
		snprintf(text, sizeof(text), "%lld", (long long)kb);
		return fl_sys_write(path, text) ? old : -1;
	}
	return -1;
}

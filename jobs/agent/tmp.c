// SPDX-License-Identifier: GPL-2.0-only
/*
 * /tmp of a program of others: a folder on the file system that its case
 * names, gone with all that is in it when the program has ended.
 */
#include "agent.h"

#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MIB (1 << 20)

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static bool fail(char why[FL_REASON_MAX], const char *what)
{
	snprintf(why, FL_REASON_MAX, "cannot %s /tmp: %s", what,
		 strerror(errno));
	return false;
}

bool fl_tmp_open(const struct fl_plan *plan, const char *fs, uint64_t space,
		 char dir[FL_TMP_DIR], char why[FL_REASON_MAX])
{
	const char *top = fl_disk_dir(plan, fs, why);
	struct statvfs sv;
	uint64_t has;

	if (!top)
		return false;
	snprintf(dir, FL_TMP_DIR, "%s/exec", top);
	mkdir("/tmp", 01777);
	if (mkdir(dir, 01777) < 0 || chmod(dir, 01777) < 0 ||
	    mount(dir, "/tmp", NULL, MS_BIND, NULL) < 0)
		return fail(why, "mount");
	if (statvfs("/tmp", &sv) < 0)
		return fail(why, "examine");
	has = (uint64_t)sv.f_bavail * sv.f_frsize;
	if (space <= has)
		return true;
	snprintf(why, FL_REASON_MAX, "needs %llu MiB on /tmp, has %llu",
		 (unsigned long long)(space / MIB),
		 (unsigned long long)(has / MIB));
	return false;
}

void fl_tmp_close(const char *dir)
{
	if (!dir[0])
		return;
	umount2("/tmp", MNT_DETACH);
	nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes a build folder safe after make was killed. A half-written file with a
 * new time stamp would pass for whole, so it has to go; but most of what the
 * killed make wrote is good, and removing a generated header would rebuild
 * everything. kbuild helps: it writes .X.cmd when X is complete.
 */
#include "kbuild-internal.h"

#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

/* Longer than any small file is under way, even on a loaded machine. */
#define MARGIN_S 30

/* nftw has no argument for its callbacks; one walk at a time. */
static struct {
	struct timespec start; /* of the make that was killed */
	struct timespec newest; /* file that it left */
} walk;

static bool before(struct timespec a, struct timespec b)
{
	return a.tv_sec < b.tv_sec ||
	       (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

static int find_newest(const char *path _unused_, const struct stat *st,
		       int type, struct FTW *ftw _unused_)
{
	if (type == FTW_F && before(walk.newest, st->st_mtim))
		walk.newest = st->st_mtim;
	return 0;
}

/* Is the record of X's last making older than X? Then X is half made. */
static bool half_made(const char *path, const struct stat *st, int base)
{
	_cleanup_free_ char *cmd =
		fl_asprintf("%.*s.%s.cmd", base, path, path + base);
	struct stat made;

	return !lstat(cmd, &made) && before(made.st_mtim, st->st_mtim);
}

static int remove_doubtful(const char *path, const struct stat *st, int type,
			   struct FTW *ftw)
{
	struct timespec late = walk.newest;

	late.tv_sec -= MARGIN_S;
	if (type != FTW_F || before(st->st_mtim, walk.start))
		return 0;
	if (before(st->st_mtim, late) && !half_made(path, st, ftw->base))
		return 0;
	return unlink(path);
}

int fl_kbuild_repair(const char *out, const char *mark, struct fl_err *err)
{
	struct stat st;

	if (stat(mark, &st) < 0)
		return 0;
	walk.start = st.st_mtim;
	walk.newest = (struct timespec){ 0 };
	if (nftw(out, find_newest, 32, FTW_PHYS) < 0 ||
	    nftw(out, remove_doubtful, 32, FTW_PHYS) < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot clean '%s' after a killed build: %s",
				  out, strerror(errno));
	unlink(mark);
	return 0;
}

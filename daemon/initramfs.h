/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Initramfs archives: files in memory, written as a newc cpio. The same
 * entries in the same order give the same bytes. The only user of libarchive.
 */
#ifndef FL_INITRAMFS_H
#define FL_INITRAMFS_H

#include <stdbool.h>
#include <stddef.h>
#include "util/cleanup.h"
#include "util/err.h"

struct fl_initramfs;

struct fl_initramfs *fl_initramfs_new(void);
void fl_initramfs_free(struct fl_initramfs *fs);
FL_DEFINE_FREEP(fl_initramfs_free, struct fl_initramfs)

/* A folder; parents come first. */
void fl_initramfs_add_dir(struct fl_initramfs *fs, const char *name);
/* A regular file; data is copied. name has no leading slash. */
void fl_initramfs_add(struct fl_initramfs *fs, const char *name, unsigned mode,
		      const void *data, size_t n);
/* A regular file with the content of path (at most max bytes). */
int fl_initramfs_add_file(struct fl_initramfs *fs, const char *name,
			  unsigned mode, const char *path, size_t max,
			  struct fl_err *err);
/* Writes the archive; gzip: compressed, else as it is. */
int fl_initramfs_write(const struct fl_initramfs *fs, const char *path,
		       bool gzip, struct fl_err *err);

#endif

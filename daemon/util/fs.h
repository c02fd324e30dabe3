/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and folders. Whole-file reads are bounded; whole-file writes appear
 * by rename, so a reader sees the old text or the new, never half of one.
 */
#ifndef FL_UTIL_FS_H
#define FL_UTIL_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "buf.h"
#include "err.h"

/* dir + "/" + name; heap, caller frees. An absolute name is kept as it is. */
char *fl_path_join(const char *dir, const char *name);
bool fl_fs_exists(const char *path);
bool fl_fs_is_dir(const char *path);
/* mkdir -p; existing folders are fine. */
int fl_fs_mkdirs(const char *path, struct fl_err *err);
/* rm -rf without following links; a missing path is fine. */
int fl_fs_remove(const char *path, struct fl_err *err);
/* Appends the file to out; -EFBIG when it is larger than max bytes. */
int fl_fs_read(const char *path, size_t max, struct fl_buf *out,
	       struct fl_err *err);
/* Appends the last max bytes at most. */
int fl_fs_read_tail(const char *path, size_t max, struct fl_buf *out,
		    struct fl_err *err);
/* Replaces path atomically (temporary file, fsync, rename). */
int fl_fs_write(const char *path, const void *data, size_t n,
		struct fl_err *err);
int fl_fs_copy(const char *from, const char *to, struct fl_err *err);
/* Free bytes for an ordinary user on path's file system; -1 when unknown. */
int64_t fl_fs_free_bytes(const char *path);
/* 64 hex digits of the SHA-256, and a NUL. */
#define FL_HASH_HEX 65
void fl_hash_bytes(const void *data, size_t n, char out[FL_HASH_HEX]);
int fl_hash_file(const char *path, char out[FL_HASH_HEX], struct fl_err *err);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File system images for the guest's RAM disks: made with the host's mkfs,
 * the same bytes every time, and only their non-zero blocks are kept, in the
 * form of jobs/agent/protocol.h.
 */
#ifndef FL_HOST_FSIMAGE_H
#define FL_HOST_FSIMAGE_H

#include <stdint.h>
#include "../util/buf.h"
#include "../util/err.h"

/* type: "ext4" or "xfs"; scratch: a folder to work in. Appends to out. */
int fl_fsimage_make(const char *type, const char *scratch, uint64_t size,
		    struct fl_buf *out, struct fl_err *err);
/* USER error that names the package when a mkfs program is missing. */
int fl_fsimage_check(struct fl_err *err);
/* "mke2fs 1.47.0, mkfs.xfs 6.1.0": they decide the layout; heap. */
char *fl_fsimage_tools(void);

/*
 * Sets the times in the inodes of a raw XFS image block to a fixed value and
 * renews their checksums: mkfs.xfs has no option for it. Exposed for tests.
 */
void fl_fsimage_fix_xfs(unsigned char *block, size_t n);
/* Appends the records of one run of bytes at offset, zero blocks left out. */
void fl_fsimage_records(uint64_t offset, const unsigned char *data, size_t n,
			struct fl_buf *out);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an ELF program needs beside itself to run: its loader and its shared
 * libraries. Read from the files' bytes; nothing of them is executed. Formats:
 * elf(5); search order: ld.so(8).
 */
#ifndef FL_ELF_NEEDS_H
#define FL_ELF_NEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include "util/err.h"
#include "util/strv.h"

struct fl_elf {
	char *interp; /* the loader's path; NULL: static, or a library */
	char *rpath, *runpath; /* as they stand there, or NULL */
	struct fl_strv needed; /* names, as DT_NEEDED has them */
};

void fl_elf_clear(struct fl_elf *e);
/* Is it one at all? Only the magic is looked at. */
bool fl_elf_magic(const void *data, size_t n);
/*
 * The needs of one ELF file of n bytes for x86-64. Whatever the bytes are, it
 * ends and stays inside of them: -EINVAL USER error for what is no such file.
 */
int fl_elf_read(const void *data, size_t n, struct fl_elf *ret,
		struct fl_err *err);

/*
 * The file at path, an interpreter that its first line names, the loaders and
 * all shared libraries, each once, in the order found, added to ret: absolute
 * paths (path itself as given). Libraries are looked for by RPATH or RUNPATH
 * and in the loader's own folders; what a program opens while it runs is not
 * known. USER error: a library that is not there, and who needs it.
 */
int fl_elf_needs(const char *path, struct fl_strv *ret, struct fl_err *err);

/* A path without "." and ".." and double slashes; heap. */
char *fl_elf_normal(const char *path);

#endif

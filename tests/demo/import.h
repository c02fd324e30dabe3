/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the demo tree as a git fast-import stream: first the package's files
 * as blobs while the tarball is read, then the root commit that lists them,
 * then the history of the plan.
 */
#ifndef DEMO_IMPORT_H
#define DEMO_IMPORT_H

#include <stdio.h>
#include <sys/types.h>
#include "demo.h"

struct demo_import {
	FILE *out; /* the stream; borrowed */
	struct demo_options opt;
	struct demo_plan plan;
	struct demo_files files;
	struct fl_buf tree; /* the root commit's "M mode :mark path" lines */
	unsigned int marks; /* used so far; the first ones are blobs */
	unsigned int root_mark;
	int64_t date; /* of the package: its newest file */
};

void demo_import_clear(struct demo_import *im);

/* Streams every file of the tarball; ends with all of `files` filled in. */
int demo_import_source(struct demo_import *im, const char *tarball,
		       struct fl_err *err);
/* Makes the plan from the source's version and writes commits and tags. */
int demo_import_history(struct demo_import *im, struct fl_err *err);

/* The mark of commit i of the plan. */
unsigned int demo_import_mark(const struct demo_import *im, int i);

/* Waits for the child; its exit status, 255 when it was killed. */
int demo_wait(pid_t pid);

#endif

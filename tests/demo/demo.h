/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The demo tree: which commits there are (changes-*.c), where a seed puts
 * them (plan.c), what the files look like at each of them (content.c) and how
 * all that becomes a git repository (make-tree.c).
 */
#ifndef DEMO_H
#define DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../daemon/util/buf.h"
#include "../../daemon/util/err.h"

enum demo_role {
	DEMO_DOC, /* documentation only */
	DEMO_DRIVER, /* code that the demo's config does not compile */
	DEMO_NEUTRAL, /* compiled, but nothing that a KPI could see */
	DEMO_BREAKS, /* does not compile from here ... */
	DEMO_BREAKS_FIX, /* ... to before this one */
	DEMO_PANICS, /* panics at boot from here ... */
	DEMO_PANICS_FIX, /* ... to before this one */
	DEMO_REGRESSION, /* file read faults map one page at a time */
	DEMO_GAIN, /* finish_fault() maps whole file folios */
	DEMO_MERGE,
	DEMO_RELEASE,
};

const char *demo_role_str(enum demo_role role);

/* `find` must occur exactly once in the file; it becomes `put`. */
struct demo_edit {
	const char *path, *find, *put;
};

#define DEMO_EDITS 4

struct demo_change {
	enum demo_role role;
	const char *subject, *body;
	struct demo_edit edits[DEMO_EDITS]; /* up to the first without path */
};

/* One of each role, in the order of the tables. */
extern const struct demo_change demo_harmless[], demo_special[], demo_stable[];
extern const size_t demo_nharmless, demo_nspecial, demo_nstable;

/* A commit of the tree: what it does and where it hangs. */
struct demo_commit {
	struct demo_change change; /* strings are borrowed or demo_plan's */
	int parent[2]; /* indices into the plan; -1 = the root, -2 = none */
	uint64_t applied; /* bit i: commit i is an ancestor, or is this one */
	int64_t time; /* committer date, UTC seconds */
	unsigned int author;
};

#define DEMO_COMMITS 64 /* bits in `applied` */
#define DEMO_ROOT (-1)
#define DEMO_NONE (-2)

struct demo_version {
	unsigned int version, patchlevel, sublevel;
};

struct demo_plan {
	struct demo_version base;
	struct demo_commit commits[DEMO_COMMITS];
	size_t n;
	int stable, dev; /* the tips */
	int64_t root_time;
	char text[4][256]; /* the release commits' own strings */
	char put[3][128];
};

struct demo_options {
	uint64_t seed;
	bool without_regression, without_gain;
};

/* date: of the package; the youngest commit gets it. Deterministic. */
void demo_plan_make(struct demo_plan *plan, const struct demo_options *opt,
		    const struct demo_version *base, int64_t date);

/* The files that edits touch, as the package has them. */
struct demo_files {
	struct demo_file {
		const char *path; /* borrowed from the tables */
		char *text;
		size_t len;
	} f[64];
	size_t n;
};

/* Fills in every path that any change touches, without text. */
void demo_files_init(struct demo_files *files);
void demo_files_clear(struct demo_files *files);
struct demo_file *demo_files_find(struct demo_files *files, const char *path);

/* The version in the text of a top-level Makefile. */
int demo_version_parse(const char *makefile, struct demo_version *ret,
		       struct fl_err *err);

/*
 * The text of a file at a commit: the package's with every edit of the
 * commit's ancestors, in the plan's order. USER error that names the commit,
 * the file and the anchor when one is missing or not unique.
 */
int demo_content(const struct demo_plan *plan, struct demo_files *files,
		 uint64_t applied, const char *path, struct fl_buf *out,
		 struct fl_err *err);

#endif

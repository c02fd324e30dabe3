/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel configuration as text: config fragments, laying them over a base
 * .config, and checking that the final .config kept what was asked for
 * (renamed and vanished options only warn in kconfig itself). No processes;
 * kbuild.c runs make.
 */
#ifndef FL_KCONFIG_H
#define FL_KCONFIG_H

#include <stdbool.h>
#include "kbuild.h"
#include "util/buf.h"

/* One line of a fragment. */
struct fl_kopt {
	char *name; /* "CONFIG_X" */
	char *value; /* "y", "17", "\"text\""; NULL = is not set */
	bool optional; /* "# optional" follows: may be missing in the end */
	char *from; /* the fragment's file name, NULL = the job */
};

struct fl_kopts {
	struct fl_kopt *v; /* later ones override earlier ones */
	size_t n;
};

void fl_kopts_clear(struct fl_kopts *o);

/*
 * Appends the lines of a fragment ("CONFIG_X=value", "# CONFIG_X is not set",
 * comments). USER error with the line for anything else.
 */
int fl_kopts_parse(struct fl_kopts *o, const char *name, const char *text,
		   struct fl_err *err);

/* The base .config without the lines that o overrides, then o's lines. */
void fl_kopts_merge(const struct fl_kopts *o, const char *base,
		    struct fl_buf *out);

/*
 * The reason why a final .config does not serve ("option CONFIG_X=y of
 * 'small.config' is not in the final .config"), heap; NULL when it does.
 */
char *fl_kopts_missing(const struct fl_kopts *o, const char *final);

/* All fragments of c, in order. */
int fl_kconfig_wanted(const struct fl_kconfig *c, struct fl_kopts *ret,
		      struct fl_err *err);
/* The lines that the job needs. */
int fl_kconfig_needed(const struct fl_kconfig *c, struct fl_kopts *ret,
		      struct fl_err *err);

/* The path behind "file:PATH", NULL when base is a make target. */
const char *fl_kconfig_base_file(const struct fl_kconfig *c);

/* The value of an option in a .config text without quotes; heap or NULL. */
char *fl_kconfig_value(const char *text, const char *name);

#endif

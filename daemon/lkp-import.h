/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs of lkp-tests (the kernel test robot's suite) become jobs of ours. Each
 * key of the file ends up in one of three lists: nothing is dropped silently.
 * What a case may be is asked of the job loader, so a parameter or value that
 * it learns is carried over from then on.
 */
#ifndef FL_LKP_IMPORT_H
#define FL_LKP_IMPORT_H

#include <jansson.h>
#include "util/err.h"

/* Entries have "file", "line" (0: stands nowhere), "key" (a path with dots)
 * and "value" (texts, null: not given). */
struct fl_lkp_result {
	json_t *job; /* loads with fl_job_load(); NULL: no case remains */
	json_t *carried; /* with "as": "program page_fault3" */
	json_t *changed; /* with "how"; "as" where a case has it */
	json_t *left_out; /* with "why" */
};

/*
 * path: a job file. src: a checkout of lkp-tests, in which included files are
 * looked for, or NULL. USER errors name file and line. *ret is to be cleared.
 */
int fl_lkp_import(const char *path, const char *src, struct fl_lkp_result *ret,
		  struct fl_err *err);
void fl_lkp_result_clear(struct fl_lkp_result *r);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the lkp-*.c files behind lkp-import.h, and by nobody else. */
#ifndef FL_LKP_INTERNAL_H
#define FL_LKP_INTERNAL_H

#include "lkp-import.h"
#include "lkp-yaml.h"

/* ---- lkp-param.c: what is known of the keys -------------------------------- */

#define FL_LKP_PROGRAM "will-it-scale"

/* A key that makes parameters of a case. */
struct fl_lkp_param {
	/* in the program's map or at the top; "map.key": in that map */
	const char *key;
	/*
	 * Appends what a value means to choices: objects of parameters. NULL,
	 * or why it cannot be carried over.
	 */
	const char *(*take)(const char *text, json_t *choices);
	/* A value that cannot be carried over takes its cases with it. */
	bool decides;
	const char *how; /* it is not quite the same; or NULL */
	/* What lkp-tests does when it is not given (values between commas),
	 * and how that came; or NULL. */
	const char *absent, *absent_how;
};
/* The first is the test itself; ended by a NULL key. */
extern const struct fl_lkp_param fl_lkp_params[];

/* Why a top-level key is left out; never NULL. */
const char *fl_lkp_other(const char *key, bool program);
/* A comment that lkp-tests keeps as a key. */
bool fl_lkp_comment(const char *key);
/* The options that cases on this file system need, NULL at the end. */
const char *const *fl_lkp_fs_kconfig(const char *fs);
/*
 * "X", "y, x86_64" of need_kconfig to "CONFIG_X=y" (heap). NULL: *why tells.
 * *how: NULL, or what changed.
 */
char *fl_lkp_kconfig(const char *name, const char *value, const char **how,
		     const char **why);

/* ---- lkp-revise.c: documents on top of each other -------------------------- */

/* base (may be NULL) with the keys of doc, "key+", "key-" and "a.b" among
 * them, on top; neither is changed. */
struct fl_lkp_node *fl_lkp_revise(struct fl_lkp_docs *d,
				  const struct fl_lkp_node *base,
				  const struct fl_lkp_node *doc);

/* ---- lkp-report.c ---------------------------------------------------------- */

/* Adds an entry once; key is not kept. v may be NULL: not given. */
void fl_lkp_carried(struct fl_lkp_result *r, struct fl_lkp_node *v,
		    const char *key, const char *as);
void fl_lkp_changed(struct fl_lkp_result *r, struct fl_lkp_node *v,
		    const char *key, const char *as, const char *how);
void fl_lkp_left_out(struct fl_lkp_result *r, struct fl_lkp_node *v,
		     const char *key, const char *why);
/* Marks v and all that lies in it as said. */
void fl_lkp_say(struct fl_lkp_node *v);
/* "warmup 6, samples 295" (heap). */
char *fl_lkp_as(const json_t *params);

/* ---- lkp-cases.c ----------------------------------------------------------- */

struct fl_lkp_cases {
	const char *name; /* the job's path, for errors */
	struct fl_lkp_result *r;
	json_t *cases; /* array of objects of parameters */
	struct fl_strv seen; /* the same as texts */
	size_t tried;
	struct fl_err *err;
};

/* Adds the cases of a document that holds FL_LKP_PROGRAM. */
int fl_lkp_cases_take(struct fl_lkp_cases *c, const struct fl_lkp_node *doc);
/* The same cases with as few entries as arrays of values allow; new. */
json_t *fl_lkp_matrices(const json_t *cases);
/* Why the loader would refuse this job (heap); NULL: it loads. */
char *fl_lkp_refusal(const json_t *job);

#endif

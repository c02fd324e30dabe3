/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds one commit in a build slot: <slot>/src (work tree, kept and moved
 * between commits), <slot>/out (O= folder). make, kconfig and all scripts of
 * the tree run in the sandbox. Called from worker children.
 */
#ifndef FL_KBUILD_H
#define FL_KBUILD_H

#include <jansson.h>
#include "git/git.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/strv.h"

/* The config as asked for; part of the recipe. */
struct fl_kconfig {
	const char *base; /* make target ("tinyconfig") or "file:PATH" */
	const struct fl_strv *fragments; /* paths, later ones win */
	const struct fl_strv *needs; /* "CONFIG_X=y" a job needs */
};

enum fl_build_outcome {
	FL_BUILD_BUILT,
	FL_BUILD_FAILED, /* the tree does not compile or lacks an option */
	FL_BUILD_TIMEOUT,
};

const char *fl_build_outcome_str(enum fl_build_outcome o);
int fl_build_outcome_parse(const char *s);

struct fl_build {
	struct fl_git *git;
	const char *sha;
	struct fl_kconfig config;
	const char *slot; /* folder of the build slot */
	const char *
		dir; /* existing folder for bzImage, config, System.map, build.log, deps */
	const char *ccache_dir; /* NULL: no ccache */
	int jobs; /* make -j */
	double timeout_s;
	/* step: "checkout", "config", "build"; called as it goes. May be NULL */
	void (*progress)(const char *step, double share, void *arg);
	void *arg;
};

struct fl_build_result {
	enum fl_build_outcome outcome;
	char *reason; /* heap: first error line with its file, or "" */
	char *release; /* include/config/kernel.release, heap, may be NULL */
	char *compiler; /* CONFIG_CC_VERSION_TEXT */
	char image_hash[FL_HASH_HEX];
	char config_hash[FL_HASH_HEX]; /* of the final .config */
	double checkout_s, make_s;
};

void fl_build_result_clear(struct fl_build_result *r);

/*
 * Leaves in b->dir: bzImage, System.map, config (the final one), build.log,
 * and deps: the sorted paths (relative to the tree) that the image was
 * compiled from, one a line, from the .cmd files. 0 also when the kernel does
 * not build (an outcome); negative for our own trouble only.
 */
int fl_kbuild(const struct fl_build *b, struct fl_build_result *ret,
	      struct fl_err *err);

/* Hash of everything that was asked for: base, fragment contents, needs. */
int fl_kconfig_hash(const struct fl_kconfig *c, char out[FL_HASH_HEX],
		    struct fl_err *err);

/* The compiler that builds would use here, "gcc (Debian …) 12.2.0"; heap. */
int fl_kbuild_compiler(char **ret, struct fl_err *err);

/*
 * Can a commit that touches these paths change the image, given the deps of
 * a neighbouring build (path to a deps file)? Errs on the side of yes:
 * Kconfig, Makefile, scripts/, tools/objtool/, include/ not in deps but new,
 * … A missing deps file means yes.
 */
bool fl_kbuild_matters(const struct fl_strv *touched, const char *deps);

#endif

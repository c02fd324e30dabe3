/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of kbuild share: kbuild.c is the flow, the others serve it. */
#ifndef FL_KBUILD_INTERNAL_H
#define FL_KBUILD_INTERNAL_H

#include "kbuild.h"
#include "kconfig.h"

/* Where the slot's folders appear inside the sandbox, whatever the slot. */
#define FL_KBUILD_SRC "/build/src"
#define FL_KBUILD_OUT "/build/out"

/* kbuild-make.c: one command in the sandbox. */
struct fl_kmake {
	const struct fl_build *b;
	const char *src, *out; /* real paths */
	const char *ccache; /* real path or NULL */
	const char *config; /* visible as /build/config; may be NULL */
	const char *log; /* appended to */
	int64_t deadline_ms; /* monotonic; 0 = none */
	const char *step; /* for progress */
	unsigned int expected; /* log lines of work, for the share */
	unsigned int lines; /* so far; set by fl_kmake_run */
};

enum fl_kmake_end { FL_KMAKE_OK, FL_KMAKE_FAILED, FL_KMAKE_TIMEOUT };

/* command: what sh runs in the out folder. Negative for our trouble only. */
int fl_kmake_run(struct fl_kmake *m, const char *command,
		 enum fl_kmake_end *ret, struct fl_err *err);

/* kbuild.c: a build on its way. */
struct fl_kjob {
	const struct fl_build *b;
	struct fl_build_result *ret;
	struct fl_err *err;
	char *slot, *src, *out, *log; /* real paths */
	char *ccache; /* folder of the cache, NULL = compile without */
	struct fl_kopts wanted, needed;
	int64_t deadline_ms;
	unsigned int lines; /* of work in the last make */
};

/*
 * make target in the sandbox; config becomes out/.config first when given.
 * 1 = done, 0 = it failed and the outcome is set, negative = our trouble.
 */
int fl_kjob_make(struct fl_kjob *j, const char *step, unsigned int expected,
		 const char *config, const char *target);
/*
 * A regular file of at most max bytes below out, reached without any link
 * that make may have left there; heap, NULL when there is none.
 */
char *fl_kjob_out_file(const struct fl_kjob *j, const char *name, int64_t max);
/*
 * Appends such a text file. 1 = done, 0 = make succeeded and still left none,
 * which is an outcome and set, negative = our trouble.
 */
int fl_kjob_read_out(struct fl_kjob *j, const char *name, struct fl_buf *text);

/* kbuild-config.c: returns like fl_kjob_make(). */
int fl_kjob_configure(struct fl_kjob *j);
/* After make: remembers what out/.config was made from. */
int fl_kjob_save_config_key(struct fl_kjob *j);

/* kbuild-log.c: pure. The line of a build log that says what went wrong. */
char *fl_kbuild_first_error(const char *log);
/* What in the log is this machine's fault ("No space left …"); NULL = none. */
char *fl_kbuild_machine_trouble(const char *log);

/*
 * kbuild-repair.c: when the file mark exists, make was killed since it was
 * written: removes from out what may be half made, and the mark.
 */
int fl_kbuild_repair(const char *out, const char *mark, struct fl_err *err);

/* kbuild-deps.c */
/* Writes the deps file from the .cmd files below out. */
int fl_kbuild_write_deps(const char *out, const char *deps, struct fl_err *err);
/* Adds the source paths that one .cmd file names; pure. dir: its folder. */
void fl_kbuild_parse_cmd(const char *text, const char *dir,
			 struct fl_strv *ret);
/* Adds the Kconfig files that auto.conf.cmd names; pure. */
void fl_kbuild_parse_kconfig_deps(const char *text, struct fl_strv *ret);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small git repositories for the tests of daemon/git, written by
 * git fast-import in a folder of their own. Included by one test program at a
 * time; any failure of the fixture fails the test.
 */
#ifndef TESTS_GIT_FIXTURE_H
#define TESTS_GIT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "../../daemon/git/git.h"
#include "../../daemon/util/fs.h"

static char fx_root[64];

/* The user's own git settings must not decide a test. */
static _unused_ int fx_start(void **state _unused_)
{
	snprintf(fx_root, sizeof(fx_root), "/tmp/fl-test-git-XXXXXX");
	if (!mkdtemp(fx_root))
		return -1;
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	setenv("HOME", fx_root, 1);
	unsetenv("GIT_DIR");
	unsetenv("GIT_WORK_TREE");
	fl_git_init();
	return 0;
}

static _unused_ int fx_stop(void **state _unused_)
{
	fl_git_shutdown();
	return fl_fs_remove(fx_root, NULL);
}

static _unused_ char *fx_path(const char *name)
{
	return fl_path_join(fx_root, name);
}

/* Runs a shell command in the fixture's folder; it must succeed. */
static _unused_ void _printf_(1, 2) fx_sh(const char *fmt, ...)
{
	_cleanup_free_ char *cmd = NULL, *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	assert_true(vasprintf(&cmd, fmt, ap) >= 0);
	va_end(ap);
	line = fl_asprintf("cd %s && { %s\n} >>log 2>&1", fx_root, cmd);
	if (system(line) != 0)
		fail_msg("fixture: '%s' failed; see %s/log", cmd, fx_root);
}

/*
 * One commit with mark n (and the branch "c<n>" at it); from and merge are
 * marks, 0 for none. Files follow by fx_file() and fx_drop().
 */
static _unused_ void fx_commit(struct fl_buf *b, int n, int from, int merge,
			       const char *message)
{
	fl_buf_printf(b,
		      "commit refs/heads/c%d\nmark :%d\n"
		      "author A U Thor <author@example.org> %d +0200\n"
		      "committer C O Mitter <c@example.org> %d +0000\n"
		      "data %zu\n%s\n",
		      n, n, 1700000000 + n, 1700000100 + n, strlen(message),
		      message);
	if (from)
		fl_buf_printf(b, "from :%d\n", from);
	if (merge)
		fl_buf_printf(b, "merge :%d\n", merge);
}

static _unused_ void fx_file(struct fl_buf *b, const char *mode,
			     const char *path, const char *text)
{
	fl_buf_printf(b, "M %s inline %s\ndata %zu\n%s\n", mode, path,
		      strlen(text), text);
}

static _unused_ void fx_drop(struct fl_buf *b, const char *path)
{
	fl_buf_printf(b, "D %s\n", path);
}

static _unused_ void fx_ref(struct fl_buf *b, const char *ref, int mark)
{
	fl_buf_printf(b, "reset %s\nfrom :%d\n\n", ref, mark);
}

/* Feeds the stream to the bare repository `name`, made when missing. */
static _unused_ void fx_import(const char *name, struct fl_buf *b)
{
	_cleanup_free_ char *stream = fx_path("stream");
	struct fl_err err;

	assert_int_equal(fl_fs_write(stream, fl_buf_str(b), b->len, &err), 0);
	fx_sh("test -d %s || git init -q --bare -b c1 %s", name, name);
	fx_sh("git -C %s fast-import --quiet --force --date-format=raw "
	      "--export-marks=marks --import-marks-if-exists=marks < stream",
	      name);
	fl_buf_clear(b);
}

static _unused_ struct fl_git *fx_open(const char *name)
{
	_cleanup_free_ char *path = fx_path(name);
	struct fl_git *g = NULL;
	struct fl_err err = { .text = "" };

	if (fl_git_open(path, &g, &err) < 0)
		fail_msg("%s", err.text);
	return g;
}

/* err names what the person at the terminal must know. */
static _unused_ void fx_says(const struct fl_err *err, const char *words)
{
	if (!strstr(err->text, words))
		fail_msg("'%s' does not say '%s'", err->text, words);
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an image was made of: the source paths in the .cmd files that kbuild
 * leaves, the Makefile of every folder that it entered and every Kconfig file
 * that was read. From that, whether a commit can change the image at all.
 * The .cmd files are written by the tree's own code: paths are only compared,
 * never opened.
 */
#include "kbuild-internal.h"

#include <ctype.h>
#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_CMD (4 << 20)

/* "a/b/../c" to "a/c", in place; false when it leaves the tree. */
static bool normalize(char *path)
{
	const char *end = path + strlen(path);
	char *w = path;

	for (char *r = path; r < end;) {
		size_t n = strcspn(r, "/");
		bool up = n == 2 && r[0] == '.' && r[1] == '.';
		bool dot = n == 1 && r[0] == '.';
		char *next = r + n + (r[n] == '/');

		if (up) {
			if (w == path)
				return false;
			for (w--; w > path && w[-1] != '/'; w--)
				;
		} else if (n && !dot) {
			memmove(w, r, n);
			w += n;
			*w++ = '/';
		}
		r = next;
	}
	if (w == path)
		return false;
	w[-1] = '\0';
	return true;
}

static void add_path(struct fl_strv *v, const char *s, size_t n)
{
	_cleanup_free_ char *path = fl_strndup(s, n);

	if (n && normalize(path))
		fl_strv_add(v, path);
}

void fl_kbuild_parse_cmd(const char *text, const char *dir, struct fl_strv *ret)
{
	static const char prefix[] = FL_KBUILD_SRC "/";
	static const char space[] = " \t\n";
	size_t n, skip = sizeof(prefix) - 1;

	for (const char *s = text + strspn(text, space); *s;
	     s += n + strspn(s + n, space)) {
		n = strcspn(s, space);
		if (n > skip && !strncmp(s, prefix, skip))
			add_path(ret, s + skip,
				 strcspn(s + skip, " \t\n;)\"'"));
	}
	/* Its folder was entered, so its Makefile was read. */
	if (*dir) {
		fl_strv_addf(ret, "%s/Makefile", dir);
		fl_strv_addf(ret, "%s/Kbuild", dir);
	}
}

void fl_kbuild_parse_kconfig_deps(const char *text, struct fl_strv *ret)
{
	const char *s = strstr(text, "deps_config := \\\n");

	if (!s)
		return;
	for (s = strchr(s, '\n') + 1; *s == '\t'; s++) {
		size_t n = strcspn(s + 1, " \\\n");

		add_path(ret, s + 1, n);
		s += strcspn(s, "\n");
		if (!*s)
			return;
	}
}

/* nftw has no argument for its callback; one walk at a time. */
static struct {
	struct fl_strv *paths;
	const char *root;
	struct fl_err *err;
	int r;
} walk;

static int take_cmd(const char *path, const struct stat *st, int type,
		    struct FTW *ftw)
{
	const char *name = path + ftw->base;
	size_t n = strlen(name), root = strlen(walk.root) + 1;
	bool kconfig = !strcmp(name, "auto.conf.cmd");
	_cleanup_buf_ struct fl_buf text = { 0 };
	_cleanup_free_ char *dir = NULL;

	if (type != FTW_F || !S_ISREG(st->st_mode) || n < 5 ||
	    (!kconfig && name[0] != '.') || strcmp(name + n - 4, ".cmd") != 0)
		return 0;
	walk.r = fl_fs_read(path, MAX_CMD, &text, walk.err);
	if (walk.r < 0)
		return 1;
	if (kconfig) {
		fl_kbuild_parse_kconfig_deps(fl_buf_str(&text), walk.paths);
		return 0;
	}
	dir = (size_t)ftw->base > root ?
		      fl_strndup(path + root, (size_t)ftw->base - root - 1) :
		      fl_strdup("");
	fl_kbuild_parse_cmd(fl_buf_str(&text), dir, walk.paths);
	return 0;
}

int fl_kbuild_write_deps(const char *out, const char *deps, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf lines = { 0 };
	_cleanup_strv_ struct fl_strv paths = { 0 };

	walk.paths = &paths;
	walk.root = out;
	walk.err = err;
	walk.r = 0;
	if (nftw(out, take_cmd, 32, FTW_PHYS) < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot walk '%s': %s", out, strerror(errno));
	if (walk.r < 0)
		return walk.r;
	fl_strv_sort(&paths);
	for (size_t i = 0; i < paths.n; i++)
		if (!i || strcmp(paths.s[i], paths.s[i - 1]) != 0)
			fl_buf_printf(&lines, "%s\n", paths.s[i]);
	return fl_fs_write(deps, fl_buf_str(&lines), lines.len, err);
}

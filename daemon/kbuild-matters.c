// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Can a commit change the image? Answered from the paths that it touches and
 * from what a neighbouring build read (kbuild-deps.c). A wrong "no" hides a
 * culprit, a wrong "yes" costs one build: every doubt is a yes.
 */
#include "kbuild-internal.h"

#include <string.h>

#define MAX_DEPS (16 << 20)

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !strcmp(s + n - m, suffix);
}

static const char *last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Index of the first dep that is not below s in byte order. */
static size_t lower_bound(const struct fl_strv *deps, const char *s)
{
	size_t lo = 0, hi = deps->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(deps->s[mid], s) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool is_dep(const struct fl_strv *deps, const char *path)
{
	size_t i = lower_bound(deps, path);

	return i < deps->n && !strcmp(deps->s[i], path);
}

static bool has_below(const struct fl_strv *deps, const char *dir)
{
	size_t i = lower_bound(deps, dir);

	return i < deps->n && starts(deps->s[i], dir);
}

/* Does any dep lie in the folder of path? */
static bool has_beside(const struct fl_strv *deps, const char *path)
{
	_cleanup_free_ char *dir =
		fl_strndup(path, (size_t)(last(path) - path));

	return has_below(deps, dir);
}

/* Is path below arch/, and of another architecture than the image's? */
static bool other_arch(const struct fl_strv *deps, const char *path)
{
	_cleanup_free_ char *dir = NULL;
	const char *slash;

	if (!starts(path, "arch/") || !(slash = strchr(path + 5, '/')))
		return false;
	dir = fl_strndup(path, (size_t)(slash + 1 - path));
	return has_below(deps, "arch/") && !has_below(deps, dir);
}

/* What follows the include root: "linux/mm.h"; NULL = not below one. */
static const char *header_tail(const char *path)
{
	const char *s = starts(path, "include/") ? path : NULL;

	if (!s && starts(path, "arch/"))
		s = strstr(path, "/include/");
	if (!s)
		return NULL;
	s = strstr(s, "include/") + 8;
	if (starts(s, "uapi/"))
		s += 5;
	return starts(s, "asm-generic/") ? s + 12 :
	       starts(s, "asm/")	 ? s + 4 :
					   s;
}

/*
 * A header that the build did not read matters if it is new and comes before
 * one of the same name that it did read, on the search path or in a folder.
 */
static bool header_may_shadow(const struct fl_strv *deps, const char *path)
{
	const char *tail = header_tail(path);
	size_t top = strcspn(path, "/") + 1;

	for (size_t i = 0; i < deps->n; i++) {
		const char *d = deps->s[i];
		const char *other = ends(d, ".h") ? header_tail(d) : NULL;

		if (tail && other && !strcmp(tail, other))
			return true;
		if (!tail && !strncmp(path, d, top) &&
		    !strcmp(last(path), last(d)))
			return true;
	}
	return false;
}

static bool below_any(const char *path, const char *const *dirs)
{
	for (; *dirs; dirs++)
		if (starts(path, *dirs))
			return true;
	return false;
}

/* Folders where one part of the tree does not serve another. */
static const char *const leaf_dirs[] = { "drivers/", "sound/", "net/", "fs/",
					 NULL };

static bool makefile_matters(const struct fl_strv *deps, const char *path)
{
	const char *name = last(path);

	/* Entered folders are deps; elsewhere an include may hide. */
	if (!strcmp(name, "Makefile") || !strcmp(name, "Kbuild"))
		return !below_any(path, leaf_dirs) ||
		       !has_below(deps, "drivers/Makefile");
	return true;
}

static bool path_matters(const struct fl_strv *deps, const char *path)
{
	static const char *const never[] = {
		"Documentation/",
		"LICENSES/",
		"samples/",
		"scripts/coccinelle/",
		"scripts/gdb/",
		"scripts/checkpatch.pl",
		"scripts/get_maintainer.pl",
		"scripts/spelling.txt",
		"scripts/kernel-doc",
		"MAINTAINERS",
		"CREDITS",
		"COPYING",
		"README",
		NULL,
	};
	static const char *const tools[] = {
		"tools/objtool/",
		"tools/lib/",
		"tools/include/",
		"tools/arch/",
		"tools/build/",
		"tools/scripts/",
		"tools/bpf/resolve_btfids/",
		NULL,
	};
	const char *name = last(path);

	if (is_dep(deps, path))
		return true;
	if (below_any(path, never) || name[0] == '.' || ends(name, ".rst") ||
	    other_arch(deps, path))
		return false;
	if (starts(path, "tools/"))
		return below_any(path, tools);
	if (starts(path, "scripts/"))
		return true;
	if (starts(name, "Kconfig")) /* all that were read are deps */
		return !has_below(deps, "init/Kconfig");
	if (starts(name, "Makefile") || starts(name, "Kbuild"))
		return makefile_matters(deps, path);
	if (ends(name, ".h"))
		return header_may_shadow(deps, path);
	if (ends(name, ".c") || ends(name, ".S") || ends(name, ".rs"))
		return false;
	return !below_any(path, leaf_dirs) || has_beside(deps, path);
}

bool fl_kbuild_matters(const struct fl_strv *touched, const char *deps)
{
	_cleanup_buf_ struct fl_buf text = { 0 };
	_cleanup_strv_ struct fl_strv v = { 0 };

	if (fl_fs_read(deps, MAX_DEPS, &text, NULL) < 0 || !text.len)
		return true;
	fl_strv_split(&v, fl_buf_str(&text), "\n");
	fl_strv_sort(&v);
	for (size_t i = 0; i < touched->n; i++)
		if (path_matters(&v, touched->s[i]))
			return true;
	return false;
}

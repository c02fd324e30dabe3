// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads one file in git-config syntax. The user's and the system's git
 * configuration play no part, and a file that includes another is refused:
 * what a workspace does must be readable in its one faultline.conf.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define MAX_CONFIG (1 << 20)

/* libgit2 takes a missing file for an empty one. */
static int check_file(const char *path, struct fl_err *err)
{
	_cleanup_close_ int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fl_err_set(err, -errno, FL_E_USER,
				  "cannot open '%s': %s", path,
				  strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fl_err_set(err, -EINVAL, FL_E_USER, "'%s' is not a file",
				  path);
	if (st.st_size > MAX_CONFIG)
		return fl_err_set(err, -EFBIG, FL_E_USER,
				  "'%s' is larger than %d bytes", path,
				  MAX_CONFIG);
	return 0;
}

/* name is "section.key" or "section.any.thing.key". */
static int call(const git_config_entry *e, fl_gitconfig_fn fn, void *arg)
{
	_cleanup_free_ char *name = fl_strdup(e->name);
	char *first = strchr(name, '.'), *last = strrchr(name, '.');
	const char *sub = NULL;

	*first = *last = '\0';
	if (last > first)
		sub = first + 1;
	return fn(name, sub, last + 1, e->value ? e->value : "", arg);
}

int fl_gitconfig_foreach(const char *path, fl_gitconfig_fn fn, void *arg,
			 struct fl_err *err)
{
	_cleanup_(git_config_iterator_freep) git_config_iterator *it = NULL;
	_cleanup_(git_config_freep) git_config *config = NULL;
	git_config_entry *e;
	int r = check_file(path, err);

	if (r < 0)
		return r;
	r = git_config_open_ondisk(&config, path);
	if (r == 0)
		r = git_config_iterator_new(&it, config);
	while (r == 0 && (r = git_config_next(&e, it)) == 0) {
		if (e->include_depth || !strncmp(e->name, "include.", 8) ||
		    !strncmp(e->name, "includeif.", 10))
			return fl_err_set(err, -EINVAL, FL_E_USER,
					  "'%s': include is not supported; "
					  "write its lines into this file",
					  path);
		/* git takes a key before the first section; we would lose it. */
		if (!strchr(e->name, '.') || e->name[0] == '.')
			return fl_err_set(err, -EINVAL, FL_E_USER,
					  "'%s': key '%s' is outside of any "
					  "section",
					  path, e->name + (*e->name == '.'));
		r = call(e, fn, arg);
		if (r)
			return r;
	}
	if (r != GIT_ITEROVER) {
		fl_git_fail(err, r, FL_E_USER, "cannot read '%s'", path);
		if (err)
			err->code = -EINVAL;
		return -EINVAL;
	}
	return 0;
}

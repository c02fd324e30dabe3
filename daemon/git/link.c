// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The objects of a repository on this machine become those of a new mirror by
 * hard links: seconds and no space, where packing linux.git again takes
 * an hour. git never changes an object file, it only replaces it, so the two
 * repositories stay independent. Copies where the file system cannot link.
 */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include "../util/fs.h"

#define MAX_ALTERNATES 16

struct link {
	const char *dst; /* objects folder of the mirror */
	fl_git_progress_fn fn;
	void *arg;
	uint64_t files;
	bool missed; /* a file vanished under us: the source was repacked */
	struct fl_strv seen; /* objects folders */
	struct fl_err *err;
};

/* -ENOENT: it vanished, which is no error yet. */
static int link_file(struct link *l, const char *from, const char *to)
{
	_cleanup_free_ char *tmp = NULL;
	int r;

	if (++l->files % 256 == 0 && l->fn)
		l->fn("files", l->files, 0, l->arg);
	if (!link(from, to) || errno == EEXIST)
		return 0;
	if (errno == ENOENT)
		return -ENOENT;
	/* Another file system, another owner, or too many links. */
	tmp = fl_asprintf("%s.tmp", to);
	r = fl_fs_copy(from, tmp, l->err);
	if (r < 0)
		return r;
	if (rename(tmp, to) < 0)
		return fl_err_set(l->err, -errno, FL_E_INFRA,
				  "cannot write '%s': %s", to, strerror(errno));
	return 0;
}

static bool is_hex(const char *s, size_t n)
{
	return strspn(s, "0123456789abcdef") == n && s[n] == '\0';
}

static bool is_object(const char *name)
{
	return is_hex(name, 38);
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && !strcmp(name + n - m, suffix);
}

static bool is_index(const char *name)
{
	return !strncmp(name, "pack-", 5) && has_suffix(name, ".idx");
}

/* An index that is there has a whole pack; without one it would be an error. */
static int link_pack(struct link *l, const char *from, const char *to)
{
	int stem = (int)(strlen(from) - strlen("idx"));
	_cleanup_free_ char *a = fl_asprintf("%.*spack", stem, from);
	_cleanup_free_ char *b =
		fl_asprintf("%.*spack", (int)(strlen(to) - strlen("idx")), to);
	int r = link_file(l, a, b);

	return r ? r : link_file(l, from, to);
}

/* Links what `want` accepts from src/sub to the same place in the mirror. */
static int link_dir(struct link *l, const char *src, const char *sub,
		    bool (*want)(const char *name))
{
	_cleanup_free_ char *from = fl_path_join(src, sub);
	_cleanup_free_ char *to = fl_path_join(l->dst, sub);
	DIR *d = opendir(from);
	struct dirent *e;
	int r;

	if (!d)
		return errno == ENOENT ? 0 :
					 fl_err_set(l->err, -errno, FL_E_INFRA,
						    "cannot read '%s': %s",
						    from, strerror(errno));
	r = fl_fs_mkdirs(to, l->err);
	while (!r && (e = readdir(d))) {
		_cleanup_free_ char *a = NULL, *b = NULL;

		if (!want(e->d_name))
			continue;
		a = fl_path_join(from, e->d_name);
		b = fl_path_join(to, e->d_name);
		r = want == is_index ? link_pack(l, a, b) : link_file(l, a, b);
		if (r == -ENOENT) {
			l->missed = true;
			r = 0;
		}
	}
	closedir(d);
	return r;
}

/* Loose objects before packs: one that moves meanwhile moves into a pack. */
static int link_all(struct link *l, const char *src)
{
	_cleanup_free_ char *from = fl_path_join(src, "info/commit-graph");
	_cleanup_free_ char *to = fl_path_join(l->dst, "info/commit-graph");
	char sub[3];
	int r = 0;

	for (int i = 0; i < 256 && !r; i++) {
		snprintf(sub, sizeof(sub), "%02x", (unsigned char)i);
		r = link_dir(l, src, sub, is_object);
	}
	if (!r)
		r = link_dir(l, src, "pack", is_index);
	/* Only speed: history walks use it. */
	if (!r && l->seen.n == 1 && !link(from, to))
		l->files++;
	return r;
}

static int link_store(struct link *l, const char *src);

/* A clone made with --shared or --reference keeps objects elsewhere. */
static int link_alternates(struct link *l, const char *src)
{
	_cleanup_free_ char *list = fl_path_join(src, "info/alternates");
	_cleanup_buf_ struct fl_buf text = { 0 };
	_cleanup_strv_ struct fl_strv lines = { 0 };
	int r = 0;

	if (!fl_fs_exists(list))
		return 0;
	r = fl_fs_read(list, 65536, &text, l->err);
	if (r < 0)
		return r;
	fl_strv_split(&lines, fl_buf_str(&text), "\n");
	for (size_t i = 0; i < lines.n && !r; i++) {
		_cleanup_free_ char *dir = NULL;

		if (lines.s[i][0] == '#')
			continue;
		dir = fl_path_join(src, lines.s[i]);
		r = link_store(l, dir);
	}
	return r;
}

static int link_store(struct link *l, const char *src)
{
	_cleanup_free_ char *real = realpath(src, NULL);
	int r = 0;

	if (!real)
		return fl_err_set(l->err, -errno, FL_E_INFRA,
				  "cannot read '%s': %s", src, strerror(errno));
	if (fl_strv_has(&l->seen, real))
		return 0;
	if (l->seen.n == MAX_ALTERNATES)
		return fl_err_set(l->err, -ELOOP, FL_E_INFRA,
				  "'%s' borrows objects from too many places",
				  l->seen.s[0]);
	fl_strv_add(&l->seen, real);
	for (int i = 0; i < 5 && !r; i++) {
		l->missed = false;
		r = link_all(l, real);
		if (!l->missed)
			break;
	}
	if (!r && l->missed)
		return fl_err_set(l->err, -EAGAIN, FL_E_INFRA,
				  "'%s' is being repacked; try again later",
				  real);
	return r ? r : link_alternates(l, real);
}

int fl_git_link_objects(git_repository *src, const char *dst,
			fl_git_progress_fn fn, void *arg, struct fl_err *err)
{
	_cleanup_free_ char *objects = fl_path_join(dst, "objects");
	_cleanup_free_ char *info = fl_path_join(objects, "info");
	_cleanup_free_ char *from =
		fl_path_join(git_repository_commondir(src), "objects");
	struct link l = {
		.dst = objects,
		.fn = fn,
		.arg = arg,
		.err = err,
	};
	int r = fl_fs_mkdirs(info, err);

	if (!r)
		r = link_store(&l, from);
	if (!r && fn)
		fn("files", l.files, l.files, arg);
	fl_strv_clear(&l.seen);
	return r;
}

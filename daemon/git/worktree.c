// SPDX-License-Identifier: GPL-2.0-or-later
/* See worktree.h. Used by checkout.c alone; blocking. */
#include "worktree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

int fl_worktree_init(struct fl_worktree *w, const char *dir)
{
	*w = (struct fl_worktree){
		.root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	};
	if (w->root < 0)
		return -errno;
	if (flock(w->root, LOCK_EX | LOCK_NB) < 0) {
		int r = errno == EWOULDBLOCK ? -EBUSY : -errno;

		fl_worktree_clear(w);
		return r;
	}
	return 0;
}

static void leave_to(struct fl_worktree *w, size_t depth)
{
	while (w->depth > depth) {
		w->depth--;
		close(w->fds[w->depth]);
		free(w->names[w->depth]);
	}
}

void fl_worktree_clear(struct fl_worktree *w)
{
	leave_to(w, 0);
	if (w->root >= 0)
		close(w->root);
	w->root = -1;
}

static bool name_ok(const char *s, size_t n)
{
	if (!n || n > NAME_MAX)
		return false;
	if (s[0] == '.' && (n == 1 || (n == 2 && s[1] == '.')))
		return false;
	/* A kernel's scripts ask git, which would run what that one says. */
	return n != 4 || strncasecmp(s, ".git", 4);
}

bool fl_worktree_path_ok(const char *path)
{
	for (;;) {
		size_t n = strcspn(path, "/");

		if (!name_ok(path, n))
			return false;
		if (!path[n])
			return true;
		path += n + 1;
	}
}

static int remove_at(int dir, const char *name, int depth);

static int remove_children(int dir, const char *name, int depth)
{
	int fd = openat(dir, name, DIR_FLAGS), r = 0;
	struct dirent *d;
	DIR *stream;

	if (fd < 0)
		return -errno;
	stream = fdopendir(fd);
	if (!stream) {
		r = -errno;
		close(fd);
		return r;
	}
	while (!r && (d = readdir(stream)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			r = remove_at(fd, d->d_name, depth + 1);
	closedir(stream);
	return r;
}

/* Of whatever kind it is; a link is removed, not what it points at. */
static int remove_at(int dir, const char *name, int depth)
{
	int r;

	if (!unlinkat(dir, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (!unlinkat(dir, name, AT_REMOVEDIR) || errno == ENOENT)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return -errno;
	if (depth > 512) /* one descriptor each */
		return -ELOOP;
	r = remove_children(dir, name, depth);
	if (r < 0)
		return r;
	return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int open_dir(int parent, const char *name, bool create)
{
	int fd = openat(parent, name, DIR_FLAGS);
	int r;

	if (fd >= 0)
		return fd;
	/* A link or a file where a folder belongs. */
	if (errno == ENOTDIR || errno == ELOOP) {
		if (!create)
			return -ENOENT;
		r = remove_at(parent, name, 0);
		if (r < 0)
			return r;
	} else if (errno != ENOENT || !create) {
		return -errno;
	}
	if (mkdirat(parent, name, 0777) < 0)
		return -errno;
	fd = openat(parent, name, DIR_FLAGS);
	return fd < 0 ? -errno : fd;
}

static int top(const struct fl_worktree *w)
{
	return w->depth ? w->fds[w->depth - 1] : w->root;
}

/*
 * Makes the folders of path the open ones; *leaf is its last component. Paths
 * come in sorted order, so most calls find all of them open.
 */
static int enter(struct fl_worktree *w, const char *path, bool create,
		 const char **leaf)
{
	size_t at = 0;

	if (!fl_worktree_path_ok(path))
		return -EINVAL;
	for (;; at++) {
		size_t n = strcspn(path, "/");
		int fd;

		if (!path[n])
			break;
		if (at >= w->depth || strncmp(w->names[at], path, n) ||
		    w->names[at][n]) {
			char *name = fl_strndup(path, n);

			leave_to(w, at);
			fd = at == FL_WORKTREE_DEPTH ?
				     -ENAMETOOLONG :
				     open_dir(top(w), name, create);
			if (fd < 0) {
				free(name);
				return fd;
			}
			w->fds[at] = fd;
			w->names[at] = name;
			w->depth++;
		}
		path += n + 1;
	}
	leave_to(w, at);
	*leaf = path;
	return 0;
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

static int put_link(int dir, const char *name, const void *data, size_t size)
{
	_cleanup_free_ char *target = NULL;

	if (!size || size >= PATH_MAX || memchr(data, 0, size))
		return -EINVAL;
	target = fl_strndup(data, size);
	return symlinkat(target, dir, name) < 0 ? -errno : 0;
}

static int put_file(int dir, const char *name, bool exec, const void *data,
		    size_t size)
{
	int fd = openat(dir, name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			exec ? 0777 : 0666);
	int r;

	if (fd < 0)
		return -errno;
	r = write_all(fd, data, size);
	if (close(fd) < 0 && !r)
		r = -errno;
	return r;
}

int fl_worktree_put(struct fl_worktree *w, const char *path,
		    git_filemode_t mode, const void *data, size_t size)
{
	const char *leaf;
	int r = enter(w, path, true, &leaf);

	/* The first attempt is enough for a new file: nearly all of them. */
	for (int i = 0; i < 2 && !r; i++) {
		if (mode == GIT_FILEMODE_LINK)
			r = put_link(top(w), leaf, data, size);
		else
			r = put_file(top(w), leaf,
				     mode == GIT_FILEMODE_BLOB_EXECUTABLE, data,
				     size);
		if (r != -EEXIST)
			return r;
		r = remove_at(top(w), leaf, 0);
	}
	return r ? r : -EEXIST;
}

static bool same_link(int dir, const char *name, const git_oid *id, size_t size)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));
	git_oid have;

	return n >= 0 && (size_t)n == size &&
	       !git_odb_hash(&have, target, (size_t)n, GIT_OBJECT_BLOB) &&
	       git_oid_equal(&have, id);
}

static bool same_bytes(int fd, const git_oid *id, size_t size)
{
	_cleanup_free_ char *data = fl_malloc(size + 1);
	size_t got = 0;
	git_oid have;

	for (;;) {
		ssize_t n = read(fd, data + got, size + 1 - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (!n)
			break;
		got += (size_t)n;
		if (got > size)
			return false;
	}
	return got == size &&
	       !git_odb_hash(&have, data, got, GIT_OBJECT_BLOB) &&
	       git_oid_equal(&have, id);
}

int fl_worktree_same(struct fl_worktree *w, const char *path,
		     git_filemode_t mode, const git_oid *id, size_t size)
{
	bool exec = mode == GIT_FILEMODE_BLOB_EXECUTABLE;
	_cleanup_close_ int fd = -1;
	const char *leaf;
	struct stat st;

	if (enter(w, path, false, &leaf) < 0)
		return 0;
	if (mode == GIT_FILEMODE_LINK)
		return same_link(top(w), leaf, id, size);
	/* O_NONBLOCK: a build may have left a pipe of this name. */
	fd = openat(top(w), leaf,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (size_t)st.st_size != size || !same_bytes(fd, id, size))
		return 0;
	if (exec != !!(st.st_mode & 0100)) {
		mode_t bits = st.st_mode & 0666;

		if (exec)
			bits |= (bits & 0444) >> 2;
		if (fchmod(fd, bits) < 0)
			return 0;
	}
	return 1;
}

int fl_worktree_drop(struct fl_worktree *w, const char *path)
{
	const char *leaf;
	int r = enter(w, path, false, &leaf);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (unlinkat(top(w), leaf, 0) < 0 && errno != ENOENT) {
		/* A folder that took the file's place is not ours to judge. */
		if (errno != EISDIR && errno != EPERM)
			return -errno;
	}
	while (w->depth) {
		int parent = w->depth > 1 ? w->fds[w->depth - 2] : w->root;

		if (unlinkat(parent, w->names[w->depth - 1], AT_REMOVEDIR) < 0)
			break;
		leave_to(w, w->depth - 1);
	}
	return 0;
}

static int sweep(int dir, git_repository *repo, git_tree *tree, int depth);

static int sweep_entry(int dir, const char *name, unsigned char type,
		       git_repository *repo, git_tree *tree, int depth)
{
	const git_tree_entry *e = git_tree_entry_byname(tree, name);
	git_tree *sub = NULL;
	int fd, r = -EIO;

	if (!e)
		return remove_at(dir, name, 0);
	if (git_tree_entry_type(e) != GIT_OBJECT_TREE)
		return type == DT_DIR ? remove_at(dir, name, 0) : 0;
	fd = openat(dir, name, DIR_FLAGS);
	if (fd < 0)
		return remove_at(dir, name, 0);
	if (git_tree_lookup(&sub, repo, git_tree_entry_id(e)) == 0)
		r = sweep(fd, repo, sub, depth + 1);
	git_tree_free(sub);
	close(fd);
	return r;
}

static int sweep(int dir, git_repository *repo, git_tree *tree, int depth)
{
	int fd = openat(dir, ".", DIR_FLAGS), r = 0;
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!stream) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	if (depth > FL_WORKTREE_DEPTH)
		r = -ELOOP;
	while (!r && (d = readdir(stream)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			r = sweep_entry(fd, d->d_name, d->d_type, repo, tree,
					depth);
	closedir(stream);
	return r;
}

int fl_worktree_sweep(struct fl_worktree *w, git_repository *repo,
		      git_tree *tree)
{
	leave_to(w, 0);
	return sweep(w->root, repo, tree, 0);
}

int fl_worktree_empty(const struct fl_worktree *w)
{
	int fd = openat(w->root, ".", DIR_FLAGS), n = 0;
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (n <= 2 && readdir(stream))
		n++;
	closedir(stream);
	return n <= 2;
}

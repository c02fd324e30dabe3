// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Moves a work tree from commit to commit by writing only what differs, so
 * that make rebuilds only that. "<dir>.state" says what the folder holds:
 *
 *   holds X  ->  moving X  ->  (files)  ->  holds Y
 *
 * Found in "moving", or written under an earlier boot (files without fsync
 * may be lost then), every file is compared with its content. Worker only.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "../util/fs.h"
#include "worktree.h"

#define STATE_HEAD "faultline work tree"
/* No file of a kernel comes near it; the whole blob is in memory. */
#define MAX_BLOB ((size_t)256 << 20)

struct change {
	char *path;
	git_oid id;
	git_filemode_t mode;
	bool gone; /* not in the new commit */
	bool same_id; /* only the mode differs */
};

struct checkout {
	struct fl_git *g;
	const char *dir, *sha;
	char *state;
	struct fl_worktree w;
	struct change *changes;
	size_t n, cap;
	bool verify; /* nothing on disk is trusted */
	git_odb *odb;
	fl_git_progress_fn fn;
	void *arg;
	struct fl_err *err;
};

static void checkout_clear(struct checkout *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->changes[i].path);
	free(c->changes);
	git_odb_free(c->odb);
	fl_worktree_clear(&c->w);
	free(c->state);
}

static int disk_error(struct checkout *c, const char *path, int r)
{
	if (r == -EINVAL)
		return fl_err_set(c->err, r, FL_E_USER,
				  "commit '%.12s' holds the unsafe path "
				  "'%.500s'",
				  c->sha, path);
	return fl_err_set(c->err, r, FL_E_INFRA,
			  "cannot write '%.500s' in work tree '%s': %s", path,
			  c->dir, strerror(-r));
}

static void boot_id(char out[64])
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	if (fl_fs_read("/proc/sys/kernel/random/boot_id", 4096, &b, NULL) < 0)
		fl_buf_puts(&b, "unknown");
	snprintf(out, 64, "%.*s", (int)strcspn(fl_buf_str(&b), "\n"),
		 fl_buf_str(&b));
}

/*
 * By rename, but not synced: a kill needs no more, a power cut is noticed by
 * the boot id, and on ext4 an fsync here waits for all that a build or the
 * checkout itself has just written.
 */
static int write_state(struct checkout *c, const char *verb)
{
	_cleanup_free_ char *tmp = fl_asprintf("%s.tmp", c->state);
	_cleanup_close_ int fd =
		open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	char boot[64];

	boot_id(boot);
	if (fd < 0 ||
	    dprintf(fd, "%s\n%s %s\nboot %s\n", STATE_HEAD, verb, c->sha,
		    boot) < 0 ||
	    rename(tmp, c->state) < 0)
		return fl_err_set(c->err, -errno, FL_E_INFRA,
				  "cannot write '%s': %s", c->state,
				  strerror(errno));
	return 0;
}

/*
 * held becomes the commit that the folder is known to hold, "" when that must
 * be found out by comparing.
 */
static int read_state(struct checkout *c, char held[FL_SHA_HEX])
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	char boot[64], now[64], verb[16];
	int r, fields;

	held[0] = '\0';
	if (fl_worktree_empty(&c->w)) /* whatever the state file says */
		return 0;
	/* A wrong path must not cost anybody their files. */
	if (!fl_fs_exists(c->state))
		return fl_err_set(c->err, -EEXIST, FL_E_USER,
				  "'%s' is not empty and no work tree of ours "
				  "('%s' is missing); name another folder or "
				  "empty it",
				  c->dir, c->state);
	r = fl_fs_read(c->state, 4096, &b, c->err);
	if (r < 0)
		return r;
	if (!b.len) /* what a power cut may make of it */
		return 0;
	if (strncmp(fl_buf_str(&b), STATE_HEAD "\n", strlen(STATE_HEAD) + 1))
		return fl_err_set(c->err, -EINVAL, FL_E_USER,
				  "'%s' is not the state of a work tree; "
				  "remove it together with '%s'",
				  c->state, c->dir);
	fields = sscanf(fl_buf_str(&b) + strlen(STATE_HEAD) + 1,
			"%15s %40s\nboot %63s", verb, held, boot);
	boot_id(now);
	if (fields != 3 || strcmp(verb, "holds") || strcmp(boot, now))
		held[0] = '\0';
	return 0;
}

static int plan(const char *path, const git_tree_entry *now,
		const git_tree_entry *was, void *arg)
{
	struct checkout *c = arg;
	struct change *ch;

	/* A submodule has no files here, before or after. */
	if (now && git_tree_entry_type(now) != GIT_OBJECT_BLOB)
		now = NULL;
	if (was && git_tree_entry_type(was) != GIT_OBJECT_BLOB)
		was = NULL;
	if (!now && !was)
		return 0;
	if (now && !fl_worktree_path_ok(path))
		return disk_error(c, path, -EINVAL);
	if (c->n == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 256;
		c->changes =
			fl_realloc(c->changes, c->cap * sizeof(*c->changes));
	}
	ch = &c->changes[c->n++];
	*ch = (struct change){ .path = fl_strdup(path), .gone = !now };
	if (now) {
		ch->id = *git_tree_entry_id(now);
		ch->mode = git_tree_entry_filemode(now);
		ch->same_id = was &&
			      git_oid_equal(&ch->id, git_tree_entry_id(was));
	}
	return 0;
}

static int tree_of(struct checkout *c, const char *sha, git_tree **ret,
		   struct fl_err *err)
{
	_cleanup_(git_commit_freep) git_commit *commit = NULL;
	int r = fl_git_lookup(c->g, sha, &commit, err);

	if (r < 0)
		return r;
	r = git_commit_tree(ret, commit);
	if (r < 0)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot read commit '%s'", sha);
	return 0;
}

static int put(struct checkout *c, const struct change *ch)
{
	_cleanup_(git_odb_object_freep) git_odb_object *o = NULL;
	git_object_t type;
	size_t size;
	int r = git_odb_read_header(&size, &type, c->odb, &ch->id);

	if (r == 0 && size > MAX_BLOB)
		return fl_err_set(c->err, -EFBIG, FL_E_USER,
				  "'%.500s' in commit '%.12s' is larger than "
				  "%zu bytes",
				  ch->path, c->sha, MAX_BLOB);
	if (r == 0 && (c->verify || ch->same_id) &&
	    fl_worktree_same(&c->w, ch->path, ch->mode, &ch->id, size))
		return 0;
	if (r == 0)
		r = git_odb_read(&o, c->odb, &ch->id);
	if (r < 0)
		return fl_git_fail(c->err, r, FL_E_INFRA,
				   "cannot read '%.300s' of commit '%.12s'",
				   ch->path, c->sha);
	r = fl_worktree_put(&c->w, ch->path, ch->mode, git_odb_object_data(o),
			    git_odb_object_size(o));
	return r < 0 ? disk_error(c, ch->path, r) : 0;
}

/* Removals first: a folder may have to make room for a file of its name. */
static int apply(struct checkout *c)
{
	size_t done = 0;
	int r;

	for (size_t i = 0; i < c->n; i++) {
		if (!c->changes[i].gone)
			continue;
		r = fl_worktree_drop(&c->w, c->changes[i].path);
		if (r < 0)
			return disk_error(c, c->changes[i].path, r);
		done++;
	}
	for (size_t i = 0; i < c->n; i++) {
		if (c->changes[i].gone)
			continue;
		r = put(c, &c->changes[i]);
		if (r < 0)
			return r;
		if (c->fn && (++done % 256 == 0 || done == c->n))
			c->fn("files", done, c->n, c->arg);
	}
	return 0;
}

static int move(struct checkout *c, const char *held)
{
	_cleanup_(git_tree_freep) git_tree *now = NULL, *was = NULL;
	int r = tree_of(c, c->sha, &now, c->err);

	/* After a force-push the old commit may be gone: compare content. */
	if (r == 0 && *held && tree_of(c, held, &was, NULL) < 0)
		held = "";
	c->verify = !*held && !fl_worktree_empty(&c->w);
	if (r == 0)
		r = fl_git_walk(c->g, now, &was, *held ? 1 : 0, plan, c,
				c->err);
	if (r == 0)
		r = write_state(c, "moving");
	if (r == 0 && c->verify) {
		r = fl_worktree_sweep(&c->w, c->g->repo, now);
		if (r < 0)
			return disk_error(c, ".", r);
	}
	if (r == 0)
		r = apply(c);
	if (r == 0)
		r = write_state(c, "holds");
	return r;
}

static int prepare(struct checkout *c, const char *rev, char sha[FL_SHA_HEX])
{
	size_t n = strlen(c->dir);
	int r = fl_git_resolve(c->g, rev, sha, c->err);

	if (r == 0)
		r = fl_fs_mkdirs(c->dir, c->err);
	if (r < 0)
		return r;
	while (n > 1 && c->dir[n - 1] == '/')
		n--;
	c->state = fl_asprintf("%.*s.state", (int)n, c->dir);
	r = fl_worktree_init(&c->w, c->dir);
	if (r == -EBUSY)
		return fl_err_set(c->err, r, FL_E_INFRA,
				  "work tree '%s' is being moved by another "
				  "process",
				  c->dir);
	if (r < 0)
		return fl_err_set(c->err, r, FL_E_INFRA,
				  "cannot open work tree '%s': %s", c->dir,
				  strerror(-r));
	r = git_repository_odb(&c->odb, c->g->repo);
	if (r < 0)
		return fl_git_fail(c->err, r, FL_E_INFRA,
				   "cannot read the objects of '%s'",
				   c->g->path);
	return 0;
}

int fl_git_checkout(struct fl_git *g, const char *sha, const char *dir,
		    fl_git_progress_fn fn, void *arg, struct fl_err *err)
{
	char full[FL_SHA_HEX] = "", held[FL_SHA_HEX] = "";
	_cleanup_(checkout_clear) struct checkout c = {
		.g = g,
		.dir = dir,
		.sha = full,
		.w = { .root = -1 },
		.fn = fn,
		.arg = arg,
		.err = err,
	};
	int r = prepare(&c, sha, full);

	if (r == 0)
		r = read_state(&c, held);
	if (r < 0 || !strcmp(held, full))
		return r;
	return move(&c, held);
}

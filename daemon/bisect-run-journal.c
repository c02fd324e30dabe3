// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The folder of one hunt: `journal` has one JSON object a line, first what
 * the hunt is, then each run, synced before the next one starts; `lock` is
 * held by the process that hunts; `tree` is the work tree.
 */
#include "bisect-run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include "util/fs.h"
#include "util/log.h"

#define MAX_JOURNAL (64 << 20)

static int lock(struct fl_brun_state *s, struct fl_err *err)
{
	_cleanup_free_ char *path = fl_path_join(s->dir, "lock");

	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (s->lock < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot write '%s': %s", path,
				  strerror(errno));
	if (flock(s->lock, LOCK_EX | LOCK_NB) < 0) {
		_cleanup_buf_ struct fl_buf pid = { 0 };

		fl_fs_read(path, 32, &pid, NULL);
		return fl_err_set(err, -EBUSY, FL_E_USER,
				  "process %.*s hunts here already ('%s')",
				  (int)strcspn(fl_buf_str(&pid), "\n"),
				  fl_buf_str(&pid), s->dir);
	}
	if (ftruncate(s->lock, 0) < 0 ||
	    dprintf(s->lock, "%ld\n", (long)getpid()) < 0)
		fl_warn("cannot write '%s': %s", path, strerror(errno));
	return 0;
}

static int bad_line(const char *path, int line, struct fl_err *err)
{
	return fl_err_set(
		err, -EINVAL, FL_E_USER,
		"line %d of '%s' is not of this hunt; begin anew with --restart",
		line, path);
}

/* Whole lines only: what a kill tore off is cut away. */
static int read_entries(struct fl_brun_state *s, const char *path,
			const json_t *header, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	size_t at = 0;
	int r = fl_fs_read(path, MAX_JOURNAL, &b, err);

	if (r < 0)
		return r;
	for (int line = 1; at < b.len; line++) {
		const char *nl = memchr(b.s + at, '\n', b.len - at);
		json_t *v;

		if (!nl)
			break;
		v = json_loadb(b.s + at, (size_t)(nl - b.s) - at, 0, NULL);
		if (!json_is_object(v) ||
		    (line == 1 && !json_equal(v, header))) {
			json_decref(v);
			return bad_line(path, line, err);
		}
		if (line == 1)
			json_decref(v);
		else
			json_array_append_new(s->entries, v);
		at = (size_t)(nl - b.s) + 1;
	}
	if (at < b.len && ftruncate(s->journal, (off_t)at) < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot mend '%s': %s", path,
				  strerror(errno));
	return at ? 0 : fl_brun_state_add(s, header, err);
}

static char *absolute(const char *dir, struct fl_err *err)
{
	char *full = realpath(dir, NULL);

	if (!full)
		fl_err_set(err, -errno, FL_E_INFRA, "cannot use '%s': %s", dir,
			   strerror(errno));
	return full;
}

int fl_brun_state_open(const char *base, const json_t *header, bool restart,
		       struct fl_brun_state *ret, struct fl_err *err)
{
	_cleanup_free_ char *text = fl_json_text(header);
	_cleanup_free_ char *dir = NULL, *path = NULL, *old = NULL;
	char hash[FL_HASH_HEX];
	int r;

	*ret = (struct fl_brun_state){ .lock = -1,
				       .journal = -1,
				       .entries = json_array() };
	fl_hash_bytes(text, strlen(text), hash);
	hash[12] = '\0';
	dir = fl_path_join(base, hash);
	r = fl_fs_mkdirs(dir, err);
	if (r < 0)
		return r;
	ret->dir = absolute(dir, err);
	if (!ret->dir)
		return -EIO;
	ret->tree = fl_path_join(ret->dir, "tree");
	ret->name = fl_asprintf("faultline-%s", hash);
	r = lock(ret, err);
	if (r < 0)
		return r;
	path = fl_path_join(ret->dir, "journal");
	old = fl_path_join(ret->dir, "journal.old");
	if (restart && rename(path, old) < 0 && errno != ENOENT)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot rename '%s': %s", path,
				  strerror(errno));
	ret->journal =
		open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (ret->journal < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot write '%s': %s", path,
				  strerror(errno));
	return read_entries(ret, path, header, err);
}

int fl_brun_state_add(struct fl_brun_state *s, const json_t *entry,
		      struct fl_err *err)
{
	_cleanup_free_ char *text = fl_json_text(entry);
	_cleanup_free_ char *line = fl_asprintf("%s\n", text);
	size_t n = strlen(line), done = 0;

	while (done < n) {
		ssize_t w = write(s->journal, line + done, n - done);

		if (w < 0 && errno != EINTR)
			break;
		done += w > 0 ? (size_t)w : 0;
	}
	if (done < n || fdatasync(s->journal) < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot write the journal in '%s': %s",
				  s->dir, strerror(errno));
	return 0;
}

void fl_brun_state_clear(struct fl_brun_state *s)
{
	free(s->dir);
	free(s->tree);
	free(s->name);
	if (s->lock >= 0)
		close(s->lock);
	if (s->journal >= 0)
		close(s->journal);
	json_decref(s->entries);
	*s = (struct fl_brun_state){ .lock = -1, .journal = -1 };
}

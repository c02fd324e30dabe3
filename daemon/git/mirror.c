// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bare mirror of a tree: made under another name and renamed when it is
 * whole, updated in place under a lock ("<path>.lock"), so that a fetch killed
 * at any point is simply done again. Only repositories made here are touched:
 * mirroring into somebody's clone would overwrite their branches. All errors
 * of a remote are INFRA; called by the worker only.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/file.h>
#include "../util/fs.h"

#define REMOTE "origin"
#define MARK "faultline.mirror"

struct mirror {
	const char *path;
	char *url; /* a path of this machine is absolute */
	char *shown; /* without a password: for errors */
	char *local; /* the remote's path on this machine, or NULL */
	git_repository *repo, *src;
	git_remote *remote;
	git_fetch_options opts;
	bool fresh, asked_agent;
	fl_git_progress_fn fn;
	void *arg;
	struct fl_err *err;
};

static void mirror_clear(struct mirror *m)
{
	git_remote_free(m->remote);
	git_repository_free(m->repo);
	git_repository_free(m->src);
	free(m->url);
	free(m->shown);
	free(m->local);
}

static void set_url(struct mirror *m, const char *url)
{
	_cleanup_free_ char *path = fl_git_url_path(url);

	m->shown = fl_git_url_shown(url);
	if (path)
		m->local = realpath(path, NULL);
	m->url = fl_strdup(m->local ? m->local : path ? path : url);
}

static int refuse_shallow(struct mirror *m)
{
	return fl_err_set(m->err, -ENODATA, FL_E_INFRA,
			  "remote '%s' is a shallow clone whose history is "
			  "cut; complete it with 'git fetch --unshallow' or "
			  "name another remote",
			  m->shown);
}

static int remote_error(struct mirror *m, int r)
{
	const git_error *e = git_error_last();

	/* How libgit2 before 1.7 puts it that the remote is shallow. */
	if (e && e->message && strstr(e->message, "REF pkt-line"))
		return refuse_shallow(m);
	return fl_git_fail(m->err, r, FL_E_INFRA, "cannot read remote '%s'",
			   m->shown);
}

static int on_transfer(const git_indexer_progress *s, void *arg)
{
	struct mirror *m = arg;

	if (m->fn)
		m->fn("objects", s->received_objects, s->total_objects, m->arg);
	return 0;
}

/* No questions: the key of the user's agent, once, or an error. */
static int on_credential(git_credential **ret, const char *url _unused_,
			 const char *user, unsigned int allowed, void *arg)
{
	struct mirror *m = arg;

	if (m->asked_agent)
		return GIT_EAUTH;
	if (allowed & GIT_CREDENTIAL_SSH_KEY) {
		m->asked_agent = true;
		return git_credential_ssh_key_from_agent(ret,
							 user ? user : "git");
	}
	if (allowed & GIT_CREDENTIAL_USERNAME)
		return git_credential_username_new(ret, user ? user : "git");
	return GIT_PASSTHROUGH;
}

static int remove_lock(const char *path, const struct stat *st _unused_,
		       int type, struct FTW *ftw _unused_)
{
	size_t n = strlen(path);

	/* No reference may be called so, hence it is a lock file. */
	if (type == FTW_F && n > 5 && !strcmp(path + n - 5, ".lock"))
		unlink(path);
	return 0;
}

static int remove_temp(const char *path, const struct stat *st _unused_,
		       int type, struct FTW *ftw)
{
	const char *name = path + ftw->base;

	if (type == FTW_F &&
	    (!strncmp(name, "pack_git2_", 10) || !strncmp(name, "tmp_", 4)))
		unlink(path);
	return 0;
}

/*
 * What a killed fetch left. We hold the mirror's lock, and only fetches write
 * these files; refs/faultline/ is left alone, others write there.
 */
static void clean_up(const char *path)
{
	static const char *const dirs[] = { "refs/heads", "refs/tags" };
	static const char *const locks[] = { "packed-refs.lock", "HEAD.lock",
					     "config.lock", "FETCH_HEAD.lock" };
	_cleanup_free_ char *pack = fl_path_join(path, "objects/pack");

	for (size_t i = 0; i < FL_ARRAY_SIZE(dirs); i++) {
		_cleanup_free_ char *p = fl_path_join(path, dirs[i]);

		nftw(p, remove_lock, 16, FTW_PHYS);
	}
	for (size_t i = 0; i < FL_ARRAY_SIZE(locks); i++) {
		_cleanup_free_ char *p = fl_path_join(path, locks[i]);

		unlink(p);
	}
	nftw(pack, remove_temp, 16, FTW_PHYS);
}

/* The remote's default branch becomes HEAD; a remote may have none. */
static int set_head(struct mirror *m)
{
	_cleanup_(git_reference_freep) git_reference *ref = NULL;
	git_buf name = { 0 };
	int r = git_remote_default_branch(&name, m->remote);

	if (r == 0)
		r = git_reference_symbolic_create(&ref, m->repo, "HEAD",
						  name.ptr, 1, NULL);
	git_buf_dispose(&name);
	return r == GIT_ENOTFOUND ? 0 : r;
}

static int connect_remote(struct mirror *m, const git_remote_head ***heads,
			  size_t *n)
{
	int r = git_fetch_options_init(&m->opts, GIT_FETCH_OPTIONS_VERSION);

	if (r == 0)
		r = git_remote_lookup(&m->remote, m->repo, REMOTE);
	if (r < 0)
		return r;
	m->opts.callbacks.transfer_progress = on_transfer;
	m->opts.callbacks.credentials = on_credential;
	m->opts.callbacks.payload = m;
	m->opts.proxy_opts.type = GIT_PROXY_AUTO;
	m->opts.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
	r = git_remote_connect(m->remote, GIT_DIRECTION_FETCH,
			       &m->opts.callbacks, &m->opts.proxy_opts, NULL);
	return r ? r : git_remote_ls(heads, n, m->remote);
}

/*
 * Prune before update: a new branch "a/b" needs the room of an old "a". A
 * thousand references of a new mirror are not synced one by one but as one
 * file, when they are packed.
 */
static int update_refs(struct mirror *m)
{
	git_refdb *refdb = NULL;
	int r = git_remote_prune(m->remote, &m->opts.callbacks);

	if (r == 0 && m->fresh)
		git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 0);
	if (r == 0)
		r = git_remote_update_tips(m->remote, &m->opts.callbacks, 0,
					   GIT_REMOTE_DOWNLOAD_TAGS_NONE, NULL);
	git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
	if (r == 0)
		r = set_head(m);
	if (r == 0 && m->fresh)
		r = git_repository_refdb(&refdb, m->repo);
	if (r == 0 && m->fresh)
		r = git_refdb_compress(refdb);
	git_refdb_free(refdb);
	return r;
}

static int fetch(struct mirror *m)
{
	const git_remote_head **heads = NULL;
	size_t n = 0;
	int r = connect_remote(m, &heads, &n);

	if (r < 0)
		return remote_error(m, r);
	/* Pruning after an empty answer would remove every reference. */
	if (!n)
		return fl_err_set(m->err, -ENODATA, FL_E_INFRA,
				  "remote '%s' has no branches and no tags",
				  m->shown);
	if (m->src)
		r = fl_git_pack_missing(m->src, m->repo, heads, n, m->fn,
					m->arg, m->err);
	if (r < 0)
		return r;
	r = git_remote_download(m->remote, NULL, &m->opts);
	if (r < 0)
		return remote_error(m, r);
	if (git_repository_is_shallow(m->repo) == 1)
		return refuse_shallow(m);
	r = update_refs(m);
	if (r < 0)
		return fl_git_fail(m->err, r, FL_E_INFRA,
				   "cannot update mirror '%s'", m->path);
	return 0;
}

static int configure(struct mirror *m)
{
	_cleanup_(git_config_freep) git_config *config = NULL;
	git_remote *remote = NULL;
	int r = git_remote_create_with_fetchspec(
		&remote, m->repo, REMOTE, m->url, "+refs/heads/*:refs/heads/*");

	git_remote_free(remote);
	if (r == 0)
		r = git_remote_add_fetch(m->repo, REMOTE,
					 "+refs/tags/*:refs/tags/*");
	if (r == 0)
		r = git_repository_config(&config, m->repo);
	if (r == 0)
		r = git_config_set_bool(config, MARK, 1);
	return r;
}

static int create(struct mirror *m)
{
	_cleanup_free_ char *tmp = fl_asprintf("%s.new", m->path);
	int r = fl_fs_remove(tmp, m->err);

	if (r < 0)
		return r;
	m->fresh = true;
	r = git_repository_init(&m->repo, tmp, 1);
	if (r == 0)
		r = configure(m);
	if (r < 0)
		return fl_git_fail(m->err, r, FL_E_INFRA,
				   "cannot create mirror '%s'", m->path);
	if (m->src)
		r = fl_git_link_objects(m->src, tmp, m->fn, m->arg, m->err);
	if (r == 0)
		r = fetch(m);
	if (r == 0 && rename(tmp, m->path) < 0)
		r = fl_err_set(m->err, -errno, FL_E_INFRA,
			       "cannot create mirror '%s': %s", m->path,
			       strerror(errno));
	if (r < 0)
		fl_fs_remove(tmp, NULL);
	return r;
}

static int update(struct mirror *m)
{
	_cleanup_(git_config_freep) git_config *config = NULL;
	int r = git_repository_open_ext(
		&m->repo, m->path,
		GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_BARE, NULL);
	int ours = 0;

	if (r == 0)
		r = git_repository_config(&config, m->repo);
	if (r == 0 && git_config_get_bool(&ours, config, MARK) < 0)
		ours = 0;
	if (r == GIT_ENOTFOUND || (r == 0 && !ours))
		return fl_err_set(m->err, -EEXIST, FL_E_USER,
				  "'%s' exists and is not a mirror of ours; "
				  "remove it, or use it in place without "
				  "fetching",
				  m->path);
	if (r == 0) {
		clean_up(m->path);
		r = git_remote_set_url(m->repo, REMOTE, m->url);
	}
	if (r < 0)
		return fl_git_fail(m->err, r, FL_E_INFRA,
				   "cannot open mirror '%s'", m->path);
	return fetch(m);
}

static int open_source(struct mirror *m)
{
	int r = git_repository_open_ext(&m->src, m->local,
					GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);

	if (r == GIT_ENOTFOUND)
		return fl_err_set(m->err, -ENOENT, FL_E_INFRA,
				  "cannot read remote '%s': not a git "
				  "repository",
				  m->shown);
	if (r < 0)
		return remote_error(m, r);
	return git_repository_is_shallow(m->src) == 1 ? refuse_shallow(m) : 0;
}

static int lock(const char *path, int *fd, struct fl_err *err)
{
	_cleanup_free_ char *file = fl_asprintf("%s.lock", path);
	_cleanup_free_ char *parent = fl_strdup(path);
	char *slash = strrchr(parent, '/');
	int r;

	if (slash && slash > parent) {
		*slash = '\0';
		r = fl_fs_mkdirs(parent, err);
		if (r < 0)
			return r;
	}
	*fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (*fd < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot create '%s': %s", file,
				  strerror(errno));
	if (flock(*fd, LOCK_EX | LOCK_NB) < 0)
		return fl_err_set(err, -EBUSY, FL_E_INFRA,
				  "mirror '%s' is being updated by another "
				  "process",
				  path);
	return 0;
}

int fl_git_mirror(const char *path, const char *url, fl_git_progress_fn fn,
		  void *arg, struct fl_err *err)
{
	_cleanup_(mirror_clear) struct mirror m = {
		.path = path, .fn = fn, .arg = arg, .err = err
	};
	_cleanup_close_ int fd = -1;
	int r;

	set_url(&m, url);
	if (!m.local && m.url[0] == '/')
		return fl_err_set(err, -ENOENT, FL_E_INFRA,
				  "cannot read remote '%s': no such folder",
				  m.shown);
	r = lock(path, &fd, err);
	if (r == 0 && m.local)
		r = open_source(&m);
	if (r < 0)
		return r;
	return fl_fs_exists(path) ? update(&m) : create(&m);
}

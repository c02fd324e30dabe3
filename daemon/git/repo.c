// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One open repository: revisions, commits, single files, merge bases, and the
 * references that keep measured commits alive. Reads only, but for
 * refs/faultline/. A revision that does not exist is the user's error; a
 * repository that cannot be read is infrastructure.
 */
#include "internal.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
/*
 * libgit2 1.5 forgets the match data of every regular expression that does not
 * match (it looks for url.*.insteadOf in each fetch). Leak checks of whatever
 * links this file would report that instead of ours.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpcre2-8.so\n";
}
#endif

void fl_git_init(void)
{
	git_libgit2_init();
	/*
	 * libgit2 refuses repositories of another owner because git would run
	 * hooks and commands that their configuration names. Nothing here runs
	 * anything from a repository, and mirrors are often owned by a service
	 * account while its users (or root) read them.
	 */
	git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
	/*
	 * Packs are verified when they are fetched, and zlib has its own
	 * checksum; hashing every object again on every read doubles the time
	 * of a first checkout. git does not do it either.
	 */
	git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
	/* What a row says was fetched must outlast a power cut. */
	git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
#if LIBGIT2_VER_MAJOR > 1 || LIBGIT2_VER_MINOR >= 7
	git_libgit2_opts(GIT_OPT_SET_SERVER_CONNECT_TIMEOUT, 60 * 1000);
	git_libgit2_opts(GIT_OPT_SET_SERVER_TIMEOUT, 300 * 1000);
#endif
}

void fl_git_shutdown(void)
{
	git_libgit2_shutdown();
}

static int open_repo(const char *path, unsigned int flags, struct fl_git **ret,
		     struct fl_err *err)
{
	_cleanup_(fl_git_freep) struct fl_git *g = fl_calloc(1, sizeof(*g));
	size_t n;
	int r = git_repository_open_ext(&g->repo, path, flags, NULL);

	if (r == GIT_ENOTFOUND)
		return fl_err_set(
			err, -ENOENT, FL_E_USER,
			"'%s' is not %sa git repository", path,
			flags & GIT_REPOSITORY_OPEN_NO_SEARCH ? "" : "in ");
	if (r < 0)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot open repository '%s'", path);
	g->path = fl_strdup(git_repository_commondir(g->repo));
	n = strlen(g->path);
	while (n > 1 && g->path[n - 1] == '/')
		g->path[--n] = '\0';
	*ret = fl_steal(g);
	return 0;
}

int fl_git_open(const char *path, struct fl_git **ret, struct fl_err *err)
{
	/* No search upwards: a wrong path must not open what lies around it. */
	return open_repo(path, GIT_REPOSITORY_OPEN_NO_SEARCH, ret, err);
}

int fl_git_discover(const char *path, struct fl_git **ret, struct fl_err *err)
{
	return open_repo(path, 0, ret, err);
}

void fl_git_free(struct fl_git *g)
{
	if (!g)
		return;
	fl_git_tags_free(g);
	git_repository_free(g->repo);
	free(g->path);
	free(g);
}

const char *fl_git_path(const struct fl_git *g)
{
	return g->path;
}

int fl_git_whole(struct fl_git *g, struct fl_err *err)
{
	if (git_repository_is_shallow(g->repo) != 1)
		return 0;
	return fl_err_set(err, -ENODATA, FL_E_INFRA,
			  "'%s' is a shallow clone whose history is cut; "
			  "complete it with 'git fetch --unshallow'",
			  g->path);
}

int fl_git_lookup(struct fl_git *g, const char *rev, git_commit **ret,
		  struct fl_err *err)
{
	_cleanup_(git_object_freep) git_object *o = NULL;
	git_object *c = NULL;
	int r = git_revparse_single(&o, g->repo, rev);

	if (r == GIT_EAMBIGUOUS)
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "revision '%s' is ambiguous in tree '%s'; "
				  "give more digits",
				  rev, g->path);
	if (r == GIT_ENOTFOUND || r == GIT_EINVALIDSPEC)
		return fl_err_set(err, -ENOENT, FL_E_USER,
				  "tree '%s' has no revision '%s'", g->path,
				  rev);
	if (r < 0)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot look up '%s' in tree '%s'", rev,
				   g->path);
	r = git_object_peel(&c, o, GIT_OBJECT_COMMIT);
	if (r == GIT_EPEEL || r == GIT_EINVALIDSPEC)
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "'%s' in tree '%s' does not name a commit",
				  rev, g->path);
	if (r < 0)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot read '%s' in tree '%s'", rev,
				   g->path);
	*ret = (git_commit *)c;
	return 0;
}

int fl_git_resolve(struct fl_git *g, const char *rev, char sha[FL_SHA_HEX],
		   struct fl_err *err)
{
	_cleanup_(git_commit_freep) git_commit *c = NULL;
	int r = fl_git_lookup(g, rev, &c, err);

	if (r < 0)
		return r;
	git_oid_tostr(sha, FL_SHA_HEX, git_commit_id(c));
	return 0;
}

void fl_git_fill(const git_commit *c, struct fl_git_commit *ret)
{
	const char *enc = git_commit_message_encoding(c);
	const git_signature *a = git_commit_author(c);
	const char *text = git_commit_message(c);

	*ret = (struct fl_git_commit){ 0 };
	git_oid_tostr(ret->sha, FL_SHA_HEX, git_commit_id(c));
	git_oid_tostr(ret->tree, FL_SHA_HEX, git_commit_tree_id(c));
	ret->nparents = git_commit_parentcount(c);
	ret->parents = fl_calloc(ret->nparents, sizeof(*ret->parents));
	for (size_t i = 0; i < ret->nparents; i++)
		git_oid_tostr(ret->parents[i], FL_SHA_HEX,
			      git_commit_parent_id(c, (unsigned int)i));
	ret->commit_time = git_commit_time(c);
	ret->message = fl_git_utf8(text ? text : "", enc);
	ret->subject = fl_strndup(ret->message, strcspn(ret->message, "\r\n"));
	ret->author_name = fl_git_utf8(a && a->name ? a->name : "", enc);
	ret->author_email = fl_git_utf8(a && a->email ? a->email : "", enc);
	fl_text_plain(ret->message, "\r\n\t");
	fl_text_plain(ret->subject, "\t");
	fl_text_plain(ret->author_name, "");
	fl_text_plain(ret->author_email, "");
}

int fl_git_commit(struct fl_git *g, const char *sha, struct fl_git_commit *ret,
		  struct fl_err *err)
{
	_cleanup_(git_commit_freep) git_commit *c = NULL;
	int r = fl_git_lookup(g, sha, &c, err);

	if (r < 0)
		return r;
	fl_git_fill(c, ret);
	return 0;
}

void fl_git_commit_clear(struct fl_git_commit *c)
{
	free(c->parents);
	free(c->subject);
	free(c->message);
	free(c->author_name);
	free(c->author_email);
	*c = (struct fl_git_commit){ 0 };
}

int fl_git_merge_base(struct fl_git *g, const char *a, const char *b,
		      char sha[FL_SHA_HEX], struct fl_err *err)
{
	_cleanup_(git_commit_freep) git_commit *ca = NULL, *cb = NULL;
	git_oid base;
	int r = fl_git_lookup(g, a, &ca, err);

	if (r == 0)
		r = fl_git_lookup(g, b, &cb, err);
	if (r == 0)
		r = fl_git_whole(g, err);
	if (r < 0)
		return r;
	r = git_merge_base(&base, g->repo, git_commit_id(ca),
			   git_commit_id(cb));
	if (r == GIT_ENOTFOUND)
		return fl_err_set(err, -ENOENT, FL_E_USER,
				  "'%s' and '%s' in tree '%s' have no common "
				  "history",
				  a, b, g->path);
	if (r < 0)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot find where '%s' and '%s' meet", a,
				   b);
	git_oid_tostr(sha, FL_SHA_HEX, &base);
	return 0;
}

int fl_git_is_ancestor(struct fl_git *g, const char *a, const char *b,
		       struct fl_err *err)
{
	_cleanup_(git_commit_freep) git_commit *ca = NULL, *cb = NULL;
	int r = fl_git_lookup(g, a, &ca, err);

	if (r == 0)
		r = fl_git_lookup(g, b, &cb, err);
	if (r < 0)
		return r;
	if (git_oid_equal(git_commit_id(ca), git_commit_id(cb)))
		return 1;
	/* In a cut history "no" may only mean "not as far as one sees". */
	r = fl_git_whole(g, err);
	if (r < 0)
		return r;
	r = git_graph_descendant_of(g->repo, git_commit_id(cb),
				    git_commit_id(ca));
	if (r < 0)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot walk from '%s' to '%s'", b, a);
	return r;
}

int fl_git_read_file(struct fl_git *g, const char *sha, const char *path,
		     size_t max, struct fl_buf *out, struct fl_err *err)
{
	_cleanup_(git_tree_entry_freep) git_tree_entry *e = NULL;
	_cleanup_(git_commit_freep) git_commit *c = NULL;
	_cleanup_(git_tree_freep) git_tree *t = NULL;
	_cleanup_(git_blob_freep) git_blob *blob = NULL;
	int r = fl_git_lookup(g, sha, &c, err);

	if (r < 0)
		return r;
	r = git_commit_tree(&t, c);
	if (r == 0)
		r = git_tree_entry_bypath(&e, t, path);
	if (r == GIT_ENOTFOUND)
		return fl_err_set(err, -ENOENT, FL_E_USER,
				  "commit '%s' has no file '%s'", sha, path);
	if (r == 0 && git_tree_entry_type(e) != GIT_OBJECT_BLOB)
		return fl_err_set(err, -EISDIR, FL_E_USER,
				  "'%s' in commit '%s' is not a file", path,
				  sha);
	if (r == 0)
		r = git_blob_lookup(&blob, g->repo, git_tree_entry_id(e));
	if (r < 0)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot read '%s' of commit '%s'", path,
				   sha);
	if (git_blob_rawsize(blob) > max)
		return fl_err_set(err, -EFBIG, FL_E_USER,
				  "'%s' in commit '%s' is larger than %zu "
				  "bytes",
				  path, sha, max);
	fl_buf_add(out, git_blob_rawcontent(blob),
		   (size_t)git_blob_rawsize(blob));
	return 0;
}

int fl_git_keep(struct fl_git *g, const char *sha, struct fl_err *err)
{
	_cleanup_(git_reference_freep) git_reference *ref = NULL;
	const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	_cleanup_(git_commit_freep) git_commit *c = NULL;
	_cleanup_free_ char *lock = NULL;
	char hex[FL_SHA_HEX], name[80];
	git_oid old;
	int r = fl_git_lookup(g, sha, &c, err);

	if (r < 0)
		return r;
	git_oid_tostr(hex, sizeof(hex), git_commit_id(c));
	snprintf(name, sizeof(name), "refs/faultline/keep/%s", hex);
	if (!git_reference_name_to_id(&old, g->repo, name) &&
	    git_oid_equal(&old, git_commit_id(c)))
		return 0;
	for (int i = 0; i < 40; i++) {
		r = git_reference_create(&ref, g->repo, name, git_commit_id(c),
					 1, NULL);
		if (r != GIT_ELOCKED)
			break;
		nanosleep(&pause, NULL);
	}
	if (r == GIT_ELOCKED) {
		/*
		 * Nobody writes 41 bytes for two seconds: the lock was left by
		 * a killed process, which wanted to write what we write.
		 */
		lock = fl_asprintf("%s/%s.lock", g->path, name);
		unlink(lock);
		r = git_reference_create(&ref, g->repo, name, git_commit_id(c),
					 1, NULL);
	}
	if (r < 0)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot write reference '%s' in '%s'", name,
				   g->path);
	return 0;
}

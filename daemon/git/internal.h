/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of daemon/git share and nobody else sees. The only place
 * that includes libgit2's headers.
 */
#ifndef FL_GIT_INTERNAL_H
#define FL_GIT_INTERNAL_H

#include <git2.h>
#include <sys/stat.h>
#include "git.h"

struct fl_git_tag {
	char *name; /* without refs/tags/ */
	git_oid commit;
};

struct fl_git {
	git_repository *repo;
	char *path; /* common folder, without a slash at the end */
	/* All tags that name a commit, in version order; see tag.c. */
	struct fl_git_tag *tags;
	size_t ntags;
	bool tags_loaded;
	struct stat tags_seen[2]; /* packed-refs and refs/tags then */
};

#define FL_GIT_FREEP(func, type)                      \
	static inline _unused_ void func##p(type **p) \
	{                                             \
		func(*p);                             \
	}
FL_GIT_FREEP(git_blob_free, git_blob)
FL_GIT_FREEP(git_commit_free, git_commit)
FL_GIT_FREEP(git_config_free, git_config)
FL_GIT_FREEP(git_config_iterator_free, git_config_iterator)
FL_GIT_FREEP(git_index_free, git_index)
FL_GIT_FREEP(git_index_conflict_iterator_free, git_index_conflict_iterator)
FL_GIT_FREEP(git_object_free, git_object)
FL_GIT_FREEP(git_odb_free, git_odb)
FL_GIT_FREEP(git_odb_object_free, git_odb_object)
FL_GIT_FREEP(git_packbuilder_free, git_packbuilder)
FL_GIT_FREEP(git_reference_free, git_reference)
FL_GIT_FREEP(git_reference_iterator_free, git_reference_iterator)
FL_GIT_FREEP(git_remote_free, git_remote)
FL_GIT_FREEP(git_repository_free, git_repository)
FL_GIT_FREEP(git_revwalk_free, git_revwalk)
FL_GIT_FREEP(git_signature_free, git_signature)
FL_GIT_FREEP(git_tree_free, git_tree)
FL_GIT_FREEP(git_tree_entry_free, git_tree_entry)

/* error.c: "<fmt>: <libgit2's words>"; r is libgit2's code, returns -errno. */
int fl_git_fail(struct fl_err *err, int r, enum fl_err_class class,
		const char *fmt, ...) _printf_(4, 5);
/* Any bytes to a heap string of valid UTF-8; encoding may be NULL. */
char *fl_git_utf8(const char *text, const char *encoding);

/* repo.c: rev to the commit object, with fl_git_resolve()'s errors. */
int fl_git_lookup(struct fl_git *g, const char *rev, git_commit **ret,
		  struct fl_err *err);
/* INFRA error when the history of g is cut, else 0. */
int fl_git_whole(struct fl_git *g, struct fl_err *err);
void fl_git_fill(const git_commit *c, struct fl_git_commit *ret);

/* tag.c */
void fl_git_tags_free(struct fl_git *g);

/*
 * walk.c: calls fn for each file in which `now` differs from all n trees of
 * `was` (n = 0: for each file), in git's order; equal subtrees are not read.
 * was0 is the entry in was[0]; either entry is NULL where there is none.
 * Trees may be NULL (empty). fn's nonzero return ends the walk and is returned
 * (it sets err itself).
 */
typedef int (*fl_git_walk_fn)(const char *path, const git_tree_entry *now,
			      const git_tree_entry *was0, void *arg);
int fl_git_walk(struct fl_git *g, git_tree *now, git_tree *const *was, size_t n,
		fl_git_walk_fn fn, void *arg, struct fl_err *err);

/* url.c, heap. Errors end up in mails: the first hides a password. */
char *fl_git_url_shown(const char *url);
/* The path of a remote on this machine, which may not exist; else NULL. */
char *fl_git_url_path(const char *url);

/* link.c: makes every object of the repository src one of the one at dst. */
int fl_git_link_objects(git_repository *src, const char *dst,
			fl_git_progress_fn fn, void *arg, struct fl_err *err);

/*
 * pack.c: writes one pack into dst with what `heads` of src need and dst does
 * not have; nothing when it has all of them.
 */
int fl_git_pack_missing(git_repository *src, git_repository *dst,
			const git_remote_head **heads, size_t n,
			fl_git_progress_fn fn, void *arg, struct fl_err *err);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * "Base with the commit on top", made in memory and written as objects only:
 * no work tree, no reference. A pick that does not apply is the user's error
 * (a fact about the two commits), not infrastructure.
 */
#include "internal.h"

#include <errno.h>

static int conflict(git_index *index, const char *pick, const char *base,
		    struct fl_err *err)
{
	_cleanup_(git_index_conflict_iterator_freep)
		git_index_conflict_iterator *it = NULL;
	const git_index_entry *e[3] = { NULL }; /* ancestor, ours, theirs */
	_cleanup_free_ char *path = NULL;

	if (git_index_conflict_iterator_new(&it, index) == 0 &&
	    git_index_conflict_next(&e[0], &e[1], &e[2], it) == 0)
		for (int i = 0; i < 3 && !path; i++)
			if (e[i])
				path = fl_git_utf8(e[i]->path, NULL);
	return fl_err_set(err, -EUCLEAN, FL_E_USER,
			  "commit '%.12s' does not apply on '%.12s': "
			  "conflict in '%s'",
			  pick, base, path ? path : "?");
}

static int write_commit(struct fl_git *g, const git_commit *pick,
			const git_commit *base, const git_oid *tree_id,
			git_oid *id)
{
	_cleanup_(git_signature_freep) git_signature *us = NULL;
	_cleanup_(git_tree_freep) git_tree *tree = NULL;
	const git_signature *when = git_commit_committer(pick);
	int r = git_tree_lookup(&tree, g->repo, tree_id);

	/* A fixed name and the pick's date: the id is the same every time. */
	if (r == 0)
		r = git_signature_new(&us, "Faultline", "faultline@localhost",
				      when->when.time, when->when.offset);
	if (r == 0)
		r = git_commit_create_v(id, g->repo, NULL,
					git_commit_author(pick), us,
					git_commit_message_encoding(pick),
					git_commit_message_raw(pick), tree, 1,
					base);
	return r;
}

int fl_git_pick(struct fl_git *g, const char *pick, const char *base,
		char sha[FL_SHA_HEX], struct fl_err *err)
{
	_cleanup_(git_commit_freep) git_commit *cp = NULL, *cb = NULL;
	_cleanup_(git_index_freep) git_index *index = NULL;
	char hex[2][FL_SHA_HEX];
	git_oid tree, id;
	int r = fl_git_lookup(g, pick, &cp, err);

	if (r == 0)
		r = fl_git_lookup(g, base, &cb, err);
	if (r < 0)
		return r;
	git_oid_tostr(hex[0], FL_SHA_HEX, git_commit_id(cp));
	git_oid_tostr(hex[1], FL_SHA_HEX, git_commit_id(cb));
	r = git_cherrypick_commit(&index, g->repo, cp, cb,
				  git_commit_parentcount(cp) > 1, NULL);
	if (r == 0 && git_index_has_conflicts(index))
		return conflict(index, hex[0], hex[1], err);
	if (r == 0)
		r = git_index_write_tree_to(&tree, index, g->repo);
	if (r == 0)
		r = write_commit(g, cp, cb, &tree, &id);
	if (r < 0)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot put commit '%.12s' on '%.12s'",
				   hex[0], hex[1]);
	git_oid_tostr(sha, FL_SHA_HEX, &id);
	return 0;
}

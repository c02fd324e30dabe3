// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Brings a mirror up to date with a repository on this machine: one pack of
 * the new commits and their files. libgit2's own local transport packs every
 * file of every annotated tag again, which for linux.git means all of it.
 */
#include "internal.h"

#include <errno.h>
#include <string.h>
#include "../util/fs.h"

struct pack {
	git_repository *src, *dst;
	git_odb *dst_odb;
	git_revwalk *walk;
	git_packbuilder *pb;
	fl_git_progress_fn fn;
	void *arg;
};

/* Tag objects one by one, then the commit (or tree, or file) they name. */
static int want(struct pack *p, const git_oid *head)
{
	git_oid id = *head;

	for (;;) {
		_cleanup_(git_object_freep) git_object *o = NULL;
		int r;

		if (git_odb_exists(p->dst_odb, &id))
			return 0;
		r = git_object_lookup(&o, p->src, &id, GIT_OBJECT_ANY);
		if (r < 0)
			return r;
		if (git_object_type(o) == GIT_OBJECT_COMMIT)
			return git_revwalk_push(p->walk, &id);
		if (git_object_type(o) != GIT_OBJECT_TAG)
			return git_packbuilder_insert_recur(p->pb, &id, NULL);
		r = git_packbuilder_insert(p->pb, &id, NULL);
		if (r < 0)
			return r;
		id = *git_tag_target_id((git_tag *)o);
	}
}

/* Whatever a reference of the mirror names is there with its whole history. */
static int hide_known(struct pack *p)
{
	_cleanup_(git_reference_iterator_freep)
		git_reference_iterator *it = NULL;
	git_reference *ref;
	int r = git_reference_iterator_new(&it, p->dst);

	while (r == 0 && (r = git_reference_next(&ref, it)) == 0) {
		_cleanup_(git_object_freep) git_object *c = NULL, *here = NULL;

		if (git_reference_peel(&c, ref, GIT_OBJECT_COMMIT) == 0 &&
		    git_object_lookup(&here, p->src, git_object_id(c),
				      GIT_OBJECT_COMMIT) == 0)
			r = git_revwalk_hide(p->walk, git_object_id(c));
		git_reference_free(ref);
		if (r < 0)
			return r;
	}
	return r == GIT_ITEROVER ? 0 : r;
}

static int progress(int stage, uint32_t done, uint32_t total, void *arg)
{
	struct pack *p = arg;

	if (p->fn && stage == GIT_PACKBUILDER_DELTAFICATION)
		p->fn("objects", done, total, p->arg);
	return 0;
}

static int build(struct pack *p, const git_remote_head **heads, size_t n)
{
	_cleanup_free_ char *dir =
		fl_path_join(git_repository_commondir(p->dst), "objects/pack");
	int r = git_packbuilder_set_callbacks(p->pb, progress, p);

	for (size_t i = 0; i < n && r == 0; i++)
		r = want(p, &heads[i]->oid);
	if (r == 0)
		r = hide_known(p);
	if (r == 0)
		r = git_packbuilder_insert_walk(p->pb, p->walk);
	if (r == 0 && git_packbuilder_object_count(p->pb))
		r = git_packbuilder_write(p->pb, dir, 0, NULL, NULL);
	return r;
}

int fl_git_pack_missing(git_repository *src, git_repository *dst,
			const git_remote_head **heads, size_t n,
			fl_git_progress_fn fn, void *arg, struct fl_err *err)
{
	_cleanup_(git_packbuilder_freep) git_packbuilder *pb = NULL;
	_cleanup_(git_revwalk_freep) git_revwalk *walk = NULL;
	_cleanup_(git_odb_freep) git_odb *odb = NULL;
	struct pack p = { .src = src, .dst = dst, .fn = fn, .arg = arg };
	size_t missing = 0;
	int r = git_repository_odb(&odb, dst);

	for (size_t i = 0; i < n && r == 0; i++)
		missing += !git_odb_exists(odb, &heads[i]->oid);
	if (r == 0 && !missing)
		return 0;
	if (r == 0)
		r = git_revwalk_new(&walk, src);
	if (r == 0)
		r = git_packbuilder_new(&pb, src);
	p.dst_odb = odb;
	p.walk = walk;
	p.pb = pb;
	if (r == 0)
		r = build(&p, heads, n);
	if (r == 0)
		r = git_odb_refresh(odb);
	if (r < 0)
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot copy new commits from '%s'",
				   git_repository_path(src));
	return 0;
}

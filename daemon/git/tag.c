// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tags by pattern and version order, and the readable name of a commit. The
 * list of tags is read once and again when packed-refs or refs/tags changed,
 * since a table of runs asks for hundreds of names.
 */
#include "internal.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

void fl_git_tags_free(struct fl_git *g)
{
	for (size_t i = 0; i < g->ntags; i++)
		free(g->tags[i].name);
	free(g->tags);
	g->tags = NULL;
	g->ntags = 0;
	g->tags_loaded = false;
}

static int by_version(const void *a, const void *b)
{
	const struct fl_git_tag *x = a, *y = b;
	int r = fl_version_cmp(x->name, y->name);

	return r ? r : strcmp(x->name, y->name);
}

static int add_tag(const char *name, git_oid *target, void *arg)
{
	_cleanup_(git_object_freep) git_object *o = NULL, *c = NULL;
	struct fl_git *g = arg;

	/* linux.git has tags of trees and keys; those are no kernels. */
	if (git_object_lookup(&o, g->repo, target, GIT_OBJECT_ANY) < 0 ||
	    git_object_peel(&c, o, GIT_OBJECT_COMMIT) < 0)
		return 0;
	if (!(g->ntags & (g->ntags - 1)))
		g->tags = fl_realloc(g->tags, (g->ntags ? 2 * g->ntags : 1) *
						      sizeof(*g->tags));
	g->tags[g->ntags++] = (struct fl_git_tag){
		.name = fl_strdup(name + strlen("refs/tags/")),
		.commit = *git_object_id(c),
	};
	return 0;
}

static void look(const char *dir, const char *name, struct stat *st)
{
	_cleanup_free_ char *path = fl_asprintf("%s/%s", dir, name);

	if (stat(path, st) < 0)
		*st = (struct stat){ 0 };
}

static bool same_stat(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int load(struct fl_git *g, struct fl_err *err)
{
	struct stat seen[2];
	int r;

	look(g->path, "packed-refs", &seen[0]);
	look(g->path, "refs/tags", &seen[1]);
	if (g->tags_loaded && same_stat(&seen[0], &g->tags_seen[0]) &&
	    same_stat(&seen[1], &g->tags_seen[1]))
		return 0;
	fl_git_tags_free(g);
	r = git_tag_foreach(g->repo, add_tag, g);
	if (r < 0) {
		fl_git_tags_free(g);
		return fl_git_fail(err, r, FL_E_INFRA,
				   "cannot list the tags of tree '%s'",
				   g->path);
	}
	if (g->ntags)
		qsort(g->tags, g->ntags, sizeof(*g->tags), by_version);
	memcpy(g->tags_seen, seen, sizeof(seen));
	g->tags_loaded = true;
	return 0;
}

/* Extended patterns too: "v6.!(*-rc*)" leaves the candidates out. */
static bool matches(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, FNM_EXTMATCH);
}

int fl_git_newest_tag(struct fl_git *g, const char *pattern, char **tag,
		      char sha[FL_SHA_HEX], struct fl_err *err)
{
	int r = load(g, err);

	if (r < 0)
		return r;
	for (size_t i = g->ntags; i-- > 0;) {
		if (!matches(pattern, g->tags[i].name))
			continue;
		*tag = fl_strdup(g->tags[i].name);
		git_oid_tostr(sha, FL_SHA_HEX, &g->tags[i].commit);
		return 0;
	}
	if (!g->ntags)
		return fl_err_set(err, -ENOENT, FL_E_USER,
				  "tree '%s' has no tags", g->path);
	return fl_err_set(err, -ENOENT, FL_E_USER,
			  "tree '%s' has no tag that matches '%s'", g->path,
			  pattern);
}

int fl_git_tags(struct fl_git *g, const char *pattern, struct fl_strv *ret,
		struct fl_err *err)
{
	int r = load(g, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < g->ntags; i++)
		if (matches(pattern, g->tags[i].name))
			fl_strv_add(ret, g->tags[i].name);
	return 0;
}

char *fl_git_describe(struct fl_git *g, const char *sha)
{
	git_oid id;

	if (!git_oid_fromstr(&id, sha) && load(g, NULL) == 0)
		for (size_t i = g->ntags; i-- > 0;)
			if (git_oid_equal(&id, &g->tags[i].commit))
				return fl_git_utf8(g->tags[i].name, NULL);
	return fl_strndup(sha, 12);
}

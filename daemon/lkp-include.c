// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that include files: finds them, reads them, and puts their documents
 * where "<<" stands. Entry: fl_lkp_docs_load(), see lkp-yaml.h.
 */
#include "lkp-yaml.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include "util/fs.h"

#define FILES_MAX 32
#define BYTES_MAX (4 * FL_LKP_FILE_MAX)
#define INCLUDES_MAX 8 /* of files in files */
#define SEARCHED_MAX 20000 /* files and folders of one search */

/* ---- where a file is ------------------------------------------------------- */

static char *regular(char *path)
{
	struct stat st;

	if (path && !stat(path, &st) && S_ISREG(st.st_mode))
		return path;
	free(path);
	return NULL;
}

/* The folder of a path; "." when it has none. Heap. */
static char *folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return fl_strdup(".");
	return fl_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* The nearest folder named jobs that the file lies in, heap or NULL. */
static char *jobs_above(const char *file)
{
	_cleanup_free_ char *real = realpath(file, NULL);

	for (char *slash;
	     real && (slash = strrchr(real, '/')) && slash > real;) {
		*slash = '\0';
		slash = strrchr(real, '/');
		if (!strcmp(slash + 1, "jobs"))
			return fl_steal(real);
	}
	return NULL;
}

static bool ends_with_path(const char *path, size_t n, const char *name)
{
	size_t len = strlen(name);

	return n > len && path[n - len - 1] == '/' &&
	       !strcmp(path + n - len, name);
}

/* The first file below root, in byte order, whose path ends with name. */
static char *search_below(const char *root, const char *name)
{
	char *const roots[] = { (char *)root, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	_cleanup_free_ char *best = NULL;
	int seen = 0;

	for (FTSENT *e; fts && (e = fts_read(fts)) && seen < SEARCHED_MAX;
	     seen++) {
		if (e->fts_info != FTS_F ||
		    !ends_with_path(e->fts_path, e->fts_pathlen, name) ||
		    (best && strcmp(best, e->fts_path) <= 0))
			continue;
		free(best);
		best = fl_strdup(e->fts_path);
	}
	if (fts)
		fts_close(fts);
	return fl_steal(best);
}

/*
 * The file that an include means (heap), or NULL: beside the file that
 * includes it, in src and its jobs/, then anywhere below that jobs/. Without
 * src the jobs/ is the one that the including file lies in.
 */
static char *find_file(const char *name, const char *from, const char *src)
{
	_cleanup_free_ char *here = folder(from), *jobs = NULL, *above = NULL;
	bool beside = strchr(from, '/') != NULL;
	char *found =
		regular(beside ? fl_path_join(here, name) : fl_strdup(name));

	if (found || !*name || *name == '/' || !strncmp(name, "./", 2) ||
	    !strncmp(name, "../", 3))
		return found;
	jobs = src ? fl_path_join(src, "jobs") : jobs_above(from);
	if (!jobs)
		return NULL;
	above = folder(jobs);
	found = regular(fl_path_join(above, name));
	if (!found)
		found = regular(fl_path_join(jobs, name));
	return found ? found : search_below(jobs, name);
}

/* ---- what "<<" means ------------------------------------------------------- */

struct job {
	struct fl_lkp_docs *d;
	const char *src;
	struct fl_err *err;
};

static int load(const struct job *j, const char *path, int depth,
		struct fl_lkp_list *ret);

/* The keys beside "file": "ignore" takes some out, others override. */
static void adapt(struct fl_lkp_docs *d, struct fl_lkp_node *doc,
		  const struct fl_lkp_node *options)
{
	const struct fl_lkp_node *ignore = fl_lkp_get(options, "ignore");

	if (ignore && ignore->kind == FL_LKP_TEXT && ignore->text)
		fl_lkp_remove(doc, ignore->text);
	for (size_t i = 0; ignore && i < ignore->n; i++)
		if (ignore->item[i].value->text)
			fl_lkp_remove(doc, ignore->item[i].value->text);
	for (size_t i = 0; options->kind == FL_LKP_MAP && i < options->n; i++)
		if (strcmp(options->item[i].key, "file") != 0 &&
		    strcmp(options->item[i].key, "ignore") != 0)
			fl_lkp_put_over(d, doc, options->item[i].key,
					options->item[i].value);
}

/* The documents of the file that `what` names, adapted. */
static int include(const struct job *j, const struct fl_lkp_node *what,
		   int depth, struct fl_lkp_list *ret)
{
	const struct fl_lkp_node *name =
		what->kind == FL_LKP_MAP ? fl_lkp_get(what, "file") : what;
	_cleanup_free_ char *path = NULL;
	int r;

	if (fl_lkp_none(name) || name->kind != FL_LKP_TEXT)
		return FL_LKP_BAD(j->err, what->file, what->line,
				  "'<<' expects the name of a file");
	path = find_file(name->text, what->file, j->src);
	if (!path)
		return FL_LKP_BAD(
			j->err, what->file, what->line,
			"included file '%.200s' is not found; --lkp-src names a checkout of lkp-tests",
			name->text);
	if (depth == INCLUDES_MAX)
		return FL_LKP_BAD(j->err, what->file, what->line,
				  "more than %d includes in each other",
				  INCLUDES_MAX);
	r = load(j, path, depth + 1, ret);
	for (size_t i = 0; !r && i < ret->n; i++)
		adapt(j->d, ret->v[i], what);
	return r;
}

/* A YAML merge fills what the map does not say itself. */
static int merge(const struct job *j, struct fl_lkp_node *map,
		 const struct fl_lkp_node *from)
{
	int r = 0;

	if (from->kind == FL_LKP_TEXT)
		return FL_LKP_BAD(j->err, from->file, from->line,
				  "'<<' expects a file or a map");
	for (size_t i = 0; !r && i < from->n; i++) {
		const struct fl_lkp_item *item = &from->item[i];

		if (from->kind == FL_LKP_LIST)
			r = merge(j, map, item->value);
		else if (!fl_lkp_get(map, item->key))
			fl_lkp_add(map, item->key, item->value);
	}
	return r;
}

static bool is_include(const struct fl_lkp_node *v)
{
	return !v->alias && (v->kind == FL_LKP_TEXT || fl_lkp_get(v, "file"));
}

/*
 * An include is the text of the file in this place: the first of its
 * documents goes on with *map, and what follows goes on with the last.
 */
static int put_include(const struct job *j, const struct fl_lkp_node *what,
		       int depth, struct fl_lkp_list *roots,
		       struct fl_lkp_node **map)
{
	_cleanup_(fl_lkp_list_clear) struct fl_lkp_list docs = { 0 };
	int r = include(j, what, depth, &docs);

	if (!r && docs.n > 1 && !roots)
		r = FL_LKP_BAD(j->err, what->file, what->line,
			       "the included file holds several documents");
	for (size_t i = 0; !r && i < docs.n; i++) {
		const struct fl_lkp_node *doc = docs.v[i];

		if (i) {
			fl_lkp_list_add(roots, *map);
			*map = fl_lkp_new(j->d, FL_LKP_MAP, doc);
		}
		for (size_t k = 0; k < doc->n; k++)
			fl_lkp_put_over(j->d, *map, doc->item[k].key,
					doc->item[k].value);
	}
	return r;
}

/*
 * The value without any "<<". roots: where the documents of a root go but for
 * the last; NULL for values inside of one.
 */
static int resolve(const struct job *j, struct fl_lkp_node *v, int depth,
		   struct fl_lkp_list *roots, struct fl_lkp_node **ret)
{
	struct fl_lkp_node *map;
	int r = 0;

	*ret = v;
	if (v->kind == FL_LKP_TEXT)
		return 0;
	map = fl_lkp_new(j->d, v->kind, v);
	for (size_t i = 0; !r && i < v->n; i++) {
		const struct fl_lkp_item *item = &v->item[i];
		struct fl_lkp_node *value = item->value;

		if (!item->key || strcmp(item->key, "<<") != 0) {
			r = resolve(j, value, depth, NULL, &value);
			if (item->key)
				fl_lkp_put_over(j->d, map, item->key, value);
			else
				fl_lkp_add(map, NULL, value);
		} else if (is_include(value)) {
			r = put_include(j, value, depth, roots, &map);
		}
	}
	for (size_t i = 0; !r && i < v->n; i++) {
		const struct fl_lkp_item *item = &v->item[i];

		if (item->key && !strcmp(item->key, "<<") &&
		    !is_include(item->value))
			r = merge(j, map, item->value);
	}
	*ret = map;
	return r;
}

static int load(const struct job *j, const char *path, int depth,
		struct fl_lkp_list *ret)
{
	_cleanup_(fl_lkp_list_clear) struct fl_lkp_list docs = { 0 };
	_cleanup_buf_ struct fl_buf text = { 0 };
	int r = fl_lkp_text_read(path, &text, j->err);

	if (r < 0)
		return r;
	j->d->bytes += text.len;
	if (j->d->files.n == FILES_MAX || j->d->bytes > BYTES_MAX)
		return fl_err_set(
			j->err, -EFBIG, FL_E_USER,
			"'%s': more than %d files or %zu bytes in includes",
			path, FILES_MAX, BYTES_MAX);
	fl_strv_add(&j->d->files, path);
	r = fl_lkp_yaml_parse(j->d, j->d->files.s[j->d->files.n - 1],
			      fl_buf_str(&text), text.len, &docs, j->err);
	for (size_t i = 0; !r && i < docs.n; i++) {
		struct fl_lkp_node *last = NULL;

		r = resolve(j, docs.v[i], depth, ret, &last);
		if (!r)
			fl_lkp_list_add(ret, last);
	}
	return r;
}

int fl_lkp_docs_load(const char *path, const char *src, struct fl_lkp_docs *ret,
		     struct fl_err *err)
{
	struct job j = { .d = ret, .src = src, .err = err };
	int r;

	*ret = (struct fl_lkp_docs){ 0 };
	r = load(&j, path, 0, &ret->docs);
	if (!r && !ret->docs.n)
		r = fl_err_set(err, -EINVAL, FL_E_USER,
			       "'%s' line 1: no job: there is nothing in it",
			       path);
	if (r < 0)
		fl_lkp_docs_clear(ret);
	return r;
}

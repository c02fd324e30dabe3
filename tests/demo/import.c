// SPDX-License-Identifier: GPL-2.0-or-later
/* See import.h. */
#include "import.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "../../daemon/util/log.h"

#define MAX_FILE (64 << 20) /* the largest in 6.12 has 24 MB */

void demo_import_clear(struct demo_import *im)
{
	demo_files_clear(&im->files);
	fl_buf_clear(&im->tree);
}

unsigned int demo_import_mark(const struct demo_import *im, int i)
{
	return im->root_mark + 1 + (unsigned int)i;
}

int demo_wait(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 255;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static void put_data(struct demo_import *im, const char *data, size_t n)
{
	fprintf(im->out, "data %zu\n", n);
	fwrite(data, 1, n, im->out);
	fputc('\n', im->out);
}

static void put_blob(struct demo_import *im, const char *mode, const char *path,
		     const char *data, size_t n)
{
	fprintf(im->out, "blob\nmark :%u\n", ++im->marks);
	put_data(im, data, n);
	fl_buf_printf(&im->tree, "M %s :%u %s\n", mode, im->marks, path);
}

/* The package ignores everything in its top folder; a kernel tree does not. */
static void cut_ignore_all(struct fl_buf *text)
{
	char *all = text->len ? strstr(text->s, "\n#\n# Debian packaging:") :
				NULL;

	if (all) {
		text->len = (size_t)(all + 1 - text->s);
		text->s[text->len] = '\0';
	}
}

/* v6.12 is where both branches start: the root carries no sublevel. */
static int base_makefile(struct fl_buf *text, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf out = { 0 };
	struct demo_version v;
	const char *line, *rest;
	int r = demo_version_parse(fl_buf_str(text), &v, err);

	if (r < 0)
		return r;
	line = strstr(fl_buf_str(text), "\nSUBLEVEL = ");
	if (!line) /* demo_version_parse() has found it */
		abort();
	rest = line + 1 + strcspn(line + 1, "\n");
	fl_buf_add(&out, text->s, (size_t)(line - text->s));
	fl_buf_puts(&out, "\nSUBLEVEL = 0");
	fl_buf_puts(&out, rest);
	fl_buf_clear(text);
	*text = out;
	out = (struct fl_buf){ 0 };
	return 0;
}

static int take_file(struct demo_import *im, const char *path, bool exec,
		     struct fl_buf *text, struct fl_err *err)
{
	struct demo_file *f = demo_files_find(&im->files, path);
	int r = 0;

	if (!strcmp(path, ".gitignore"))
		cut_ignore_all(text);
	if (!strcmp(path, "Makefile")) {
		r = demo_version_parse(fl_buf_str(text), &im->plan.base, err);
		if (!r)
			r = base_makefile(text, err);
	}
	if (r < 0)
		return r;
	put_blob(im, exec ? "100755" : "100644", path, fl_buf_str(text),
		 text->len);
	if (f) {
		f->len = text->len;
		free(f->text);
		f->text = fl_buf_steal(text);
	}
	return 0;
}

static int read_error(struct archive *a, const char *tarball,
		      struct fl_err *err)
{
	const char *why = archive_error_string(a);

	return fl_err_set(err, -EIO, FL_E_USER, "cannot read '%s': %s", tarball,
			  why ? why : "unknown reason");
}

static int read_text(struct archive *a, struct archive_entry *e,
		     const char *tarball, struct fl_buf *text,
		     struct fl_err *err)
{
	const void *data;
	la_int64_t offset;
	size_t n;
	int r;

	if (archive_entry_size(e) > MAX_FILE)
		return fl_err_set(err, -EFBIG, FL_E_USER,
				  "'%s' in '%s' is larger than %d bytes",
				  archive_entry_pathname(e), tarball, MAX_FILE);
	text->len = 0;
	fl_buf_add(text, "", 0);
	while ((r = archive_read_data_block(a, &data, &n, &offset)) ==
	       ARCHIVE_OK)
		fl_buf_add(text, data, n);
	return r == ARCHIVE_EOF ? 0 : read_error(a, tarball, err);
}

static int take_entry(struct demo_import *im, struct archive *a,
		      struct archive_entry *e, const char *tarball,
		      struct fl_buf *text, struct fl_err *err)
{
	const char *full = archive_entry_pathname(e);
	const char *path = full ? strchr(full, '/') : NULL;
	mode_t type = archive_entry_filetype(e);
	int r;

	if (archive_entry_mtime(e) > im->date)
		im->date = archive_entry_mtime(e);
	if (!path || !path[1] || type == S_IFDIR)
		return 0; /* the package's own top folder, or any other */
	path++;
	if (strchr(path, '\n') || *path == '"')
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"'%s' has a file name that cannot be streamed",
			tarball);
	if (type == S_IFLNK) {
		const char *to = archive_entry_symlink(e);

		put_blob(im, "120000", path, to, strlen(to));
		return 0;
	}
	r = read_text(a, e, tarball, text, err);
	if (r < 0)
		return r;
	return take_file(im, path, archive_entry_perm(e) & 0100, text, err);
}

static int stream_entries(struct demo_import *im, struct archive *a,
			  const char *tarball, int64_t size, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf text = { 0 };
	struct archive_entry *e;
	unsigned int n = 0;
	int r;

	while ((r = archive_read_next_header(a, &e)) == ARCHIVE_OK) {
		r = take_entry(im, a, e, tarball, &text, err);
		if (r < 0)
			return r;
		if (ferror(im->out))
			return fl_err_set(err, -EPIPE, FL_E_INFRA,
					  "git stopped reading");
		if (++n % 256 == 0)
			fl_progress("reading the kernel source: %d %%",
				    (int)(100 * archive_filter_bytes(a, -1) /
					  size));
	}
	return r == ARCHIVE_EOF ? 0 : read_error(a, tarball, err);
}

int demo_import_source(struct demo_import *im, const char *tarball,
		       struct fl_err *err)
{
	struct archive *a = archive_read_new();
	struct stat st = { 0 };
	int r;

	if (!a)
		abort();
	demo_files_init(&im->files);
	archive_read_support_filter_all(a);
	archive_read_support_format_tar(a);
	if (stat(tarball, &st) < 0)
		r = fl_err_set(err, -errno, FL_E_USER,
			       "cannot open the kernel source '%s': %s",
			       tarball, strerror(errno));
	else if (archive_read_open_filename(a, tarball, 1 << 18) != ARCHIVE_OK)
		r = read_error(a, tarball, err);
	else
		r = stream_entries(im, a, tarball, st.st_size ? st.st_size : 1,
				   err);
	archive_read_free(a);
	return r;
}

static void put_person(struct demo_import *im, const char *what,
		       const char *name, const char *mail, int64_t when)
{
	fprintf(im->out, "%s %s <%s@demo.example> %" PRId64 " +0000\n", what,
		name, mail, when);
}

static void put_maintainer(struct demo_import *im, const char *what,
			   int64_t when)
{
	put_person(im, what, "Demo Maintainer", "maintainer", when);
}

static void put_message(struct demo_import *im, const struct demo_commit *c,
			bool own)
{
	_cleanup_buf_ struct fl_buf msg = { 0 };

	fl_buf_printf(&msg, "%s\n\n", c->change.subject);
	if (c->change.body)
		fl_buf_printf(&msg, "%s\n", c->change.body);
	if (!own)
		fl_buf_printf(
			&msg,
			"Signed-off-by: Demo Author %u <author%u@demo.example>\n",
			c->author, c->author);
	fl_buf_puts(
		&msg,
		"Signed-off-by: Demo Maintainer <maintainer@demo.example>\n");
	put_data(im, msg.s, msg.len);
}

static void put_root(struct demo_import *im)
{
	const struct demo_version *v = &im->plan.base;
	_cleanup_free_ char *msg = fl_asprintf(
		"Linux %u.%u\n\n"
		"The files of Debian's package of %u.%u.%u, without their\n"
		"history. What follows was made up for a demonstration.\n",
		v->version, v->patchlevel, v->version, v->patchlevel,
		v->sublevel);

	im->root_mark = ++im->marks;
	fprintf(im->out, "commit refs/heads/master\nmark :%u\n", im->root_mark);
	put_maintainer(im, "author", im->plan.root_time);
	put_maintainer(im, "committer", im->plan.root_time);
	put_data(im, msg, strlen(msg));
	fwrite(im->tree.s, 1, im->tree.len, im->out);
	fputc('\n', im->out);
}

static unsigned int parent_mark(const struct demo_import *im, int parent)
{
	return parent == DEMO_ROOT ? im->root_mark :
				     demo_import_mark(im, parent);
}

/* Every file that the first parent has differently. */
static int put_changes(struct demo_import *im, const struct demo_commit *c,
		       struct fl_err *err)
{
	uint64_t news = c->applied;
	const char *done[DEMO_COMMITS * DEMO_EDITS];
	size_t ndone = 0;

	if (c->parent[0] >= 0)
		news &= ~im->plan.commits[c->parent[0]].applied;
	for (size_t i = 0; i < im->plan.n; i++) {
		const struct demo_edit *e = im->plan.commits[i].change.edits;

		for (size_t k = 0; k < DEMO_EDITS && e[k].path; k++) {
			_cleanup_buf_ struct fl_buf text = { 0 };
			size_t d = 0;
			int r;

			while (d < ndone && strcmp(done[d], e[k].path) != 0)
				d++;
			if (!(news >> i & 1) || d < ndone)
				continue;
			done[ndone++] = e[k].path;
			r = demo_content(&im->plan, &im->files, c->applied,
					 e[k].path, &text, err);
			if (r < 0)
				return r;
			fprintf(im->out, "M 100644 inline %s\n", e[k].path);
			put_data(im, text.s, text.len);
		}
	}
	return 0;
}

static int put_commit(struct demo_import *im, int i, const char *branch,
		      struct fl_err *err)
{
	const struct demo_commit *c = &im->plan.commits[i];
	bool own = c->change.role == DEMO_MERGE ||
		   c->change.role == DEMO_RELEASE;
	_cleanup_free_ char *name = fl_asprintf("Demo Author %u", c->author);
	_cleanup_free_ char *mail = fl_asprintf("author%u", c->author);
	int r;

	fprintf(im->out, "commit refs/heads/%s\nmark :%u\n", branch,
		demo_import_mark(im, i));
	if (own)
		put_maintainer(im, "author", c->time);
	else /* written a few hours before it was taken */
		put_person(im, "author", name, mail,
			   c->time - 3600 * (int64_t)c->author);
	put_maintainer(im, "committer", c->time);
	put_message(im, c, own);
	fprintf(im->out, "from :%u\n", parent_mark(im, c->parent[0]));
	if (c->parent[1] != DEMO_NONE)
		fprintf(im->out, "merge :%u\n", parent_mark(im, c->parent[1]));
	r = put_changes(im, c, err);
	fputc('\n', im->out);
	return r;
}

static void put_tag(struct demo_import *im, unsigned int mark, int64_t when,
		    const char *name)
{
	_cleanup_free_ char *msg = fl_asprintf("Linux %s\n", name + 1);

	fprintf(im->out, "tag %s\nfrom :%u\n", name, mark);
	put_maintainer(im, "tagger", when);
	put_data(im, msg, strlen(msg));
}

static void put_tags(struct demo_import *im, const char *stable)
{
	const struct demo_plan *p = &im->plan;
	const struct demo_version *v = &p->base;
	char name[64];

	snprintf(name, sizeof(name), "v%u.%u", v->version, v->patchlevel);
	put_tag(im, im->root_mark, p->root_time, name);
	snprintf(name, sizeof(name), "v%u.%u.%u", v->version, v->patchlevel,
		 v->sublevel);
	put_tag(im, demo_import_mark(im, p->stable), p->commits[p->stable].time,
		name);
	snprintf(name, sizeof(name), "v%u.%u-rc1", v->version,
		 v->patchlevel + 1);
	put_tag(im, demo_import_mark(im, p->dev), p->commits[p->dev].time,
		name);
	fprintf(im->out, "reset refs/heads/%s\nfrom :%u\n\n", stable,
		demo_import_mark(im, p->stable));
	fprintf(im->out, "reset refs/heads/master\nfrom :%u\n\n",
		demo_import_mark(im, p->dev));
}

int demo_import_history(struct demo_import *im, struct fl_err *err)
{
	const struct demo_version v = im->plan.base;
	char stable[64];

	if (!v.version)
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "the kernel source has no file 'Makefile'");
	demo_plan_make(&im->plan, &im->opt, &v, im->date);
	snprintf(stable, sizeof(stable), "linux-%u.%u.y", v.version,
		 v.patchlevel);
	put_root(im);
	for (int i = 0; i < (int)im->plan.n; i++) {
		bool dev = im->plan.commits[im->plan.dev].applied >> i & 1;
		int r = put_commit(im, i, dev ? "master" : stable, err);

		if (r < 0)
			return r;
	}
	im->marks = demo_import_mark(im, (int)im->plan.n);
	put_tags(im, stable);
	fputs("done\n", im->out);
	if (fflush(im->out) || ferror(im->out))
		return fl_err_set(err, -EPIPE, FL_E_INFRA,
				  "git stopped reading");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the edited files of the demo tree look like at each commit. Edits are
 * found by their text, never by line, so that a newer package still works or
 * says which anchor went away.
 */
#include "demo.h"

#include <errno.h>
#include <string.h>

static void note_paths(struct demo_files *files, const struct demo_change *c,
		       size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < DEMO_EDITS && c[i].edits[k].path; k++)
			if (!demo_files_find(files, c[i].edits[k].path))
				files->f[files->n++].path = c[i].edits[k].path;
}

void demo_files_init(struct demo_files *files)
{
	memset(files, 0, sizeof(*files));
	files->f[files->n++].path = "Makefile";
	note_paths(files, demo_harmless, demo_nharmless);
	note_paths(files, demo_special, demo_nspecial);
	note_paths(files, demo_stable, demo_nstable);
}

void demo_files_clear(struct demo_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->f[i].text);
	files->n = 0;
}

struct demo_file *demo_files_find(struct demo_files *files, const char *path)
{
	for (size_t i = 0; i < files->n; i++)
		if (!strcmp(files->f[i].path, path))
			return &files->f[i];
	return NULL;
}

int demo_version_parse(const char *makefile, struct demo_version *ret,
		       struct fl_err *err)
{
	static const char *const names[] = { "\nVERSION = ", "\nPATCHLEVEL = ",
					     "\nSUBLEVEL = " };
	unsigned int *const values[] = { &ret->version, &ret->patchlevel,
					 &ret->sublevel };

	for (size_t i = 0; i < FL_ARRAY_SIZE(names); i++) {
		const char *s = strstr(makefile, names[i]);
		char *end = NULL;

		if (s)
			*values[i] = (unsigned int)strtoul(s + strlen(names[i]),
							   &end, 10);
		if (!end || *end != '\n')
			return fl_err_set(
				err, -EINVAL, FL_E_USER,
				"the source's 'Makefile' states no version");
	}
	return 0;
}

static int apply(const struct demo_change *c, const struct demo_edit *e,
		 struct fl_buf *text, struct fl_err *err)
{
	const char *hit = strstr(fl_buf_str(text), e->find);
	_cleanup_buf_ struct fl_buf out = { 0 };
	size_t before, n = strlen(e->find);

	if (!hit || strstr(hit + 1, e->find))
		return fl_err_set(
			err, -ENOENT, FL_E_USER,
			"cannot plant '%s': '%s' has this text %s (the kernel source is too different): %.200s",
			c->subject, e->path, hit ? "more than once" : "nowhere",
			e->find);
	before = (size_t)(hit - text->s);
	fl_buf_add(&out, text->s, before);
	fl_buf_puts(&out, e->put);
	fl_buf_add(&out, hit + n, text->len - before - n);
	fl_buf_clear(text);
	*text = out;
	out = (struct fl_buf){ 0 };
	return 0;
}

int demo_content(const struct demo_plan *plan, struct demo_files *files,
		 uint64_t applied, const char *path, struct fl_buf *out,
		 struct fl_err *err)
{
	struct demo_file *f = demo_files_find(files, path);

	if (!f || !f->text)
		return fl_err_set(err, -ENOENT, FL_E_USER,
				  "the kernel source has no file '%s'", path);
	fl_buf_add(out, f->text, f->len);
	for (size_t i = 0; i < plan->n; i++) {
		const struct demo_change *c = &plan->commits[i].change;

		if (!(applied >> i & 1))
			continue;
		for (size_t k = 0; k < DEMO_EDITS && c->edits[k].path; k++) {
			int r;

			if (strcmp(c->edits[k].path, path) != 0)
				continue;
			r = apply(c, &c->edits[k], out, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

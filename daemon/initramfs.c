// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See initramfs.h. Called by host drivers before a boot. Owners, times and
 * inode numbers are fixed, so that an archive depends on its entries alone.
 */
#include "initramfs.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "util/buf.h"
#include "util/fs.h"

struct entry {
	char *name;
	unsigned mode; /* with its type */
	char *data;
	size_t size;
};

struct fl_initramfs {
	struct entry *entries;
	size_t n;
};

static void free_archive(struct archive *a)
{
	archive_write_free(a);
}

FL_DEFINE_FREEP(free_archive, struct archive)
FL_DEFINE_FREEP(archive_entry_free, struct archive_entry)

struct fl_initramfs *fl_initramfs_new(void)
{
	return fl_calloc(1, sizeof(struct fl_initramfs));
}

void fl_initramfs_free(struct fl_initramfs *fs)
{
	if (!fs)
		return;
	for (size_t i = 0; i < fs->n; i++) {
		free(fs->entries[i].name);
		free(fs->entries[i].data);
	}
	free(fs->entries);
	free(fs);
}

/* Takes data. */
static void add(struct fl_initramfs *fs, const char *name, unsigned mode,
		char *data, size_t n)
{
	struct entry *e;

	fs->entries =
		fl_realloc(fs->entries, (fs->n + 1) * sizeof(*fs->entries));
	e = &fs->entries[fs->n++];
	e->name = fl_strdup(name);
	e->mode = mode;
	e->data = data;
	e->size = n;
}

void fl_initramfs_add_dir(struct fl_initramfs *fs, const char *name)
{
	add(fs, name, S_IFDIR | 0755, NULL, 0);
}

void fl_initramfs_add(struct fl_initramfs *fs, const char *name, unsigned mode,
		      const void *data, size_t n)
{
	char *copy = fl_malloc(n ? n : 1);

	memcpy(copy, data, n);
	add(fs, name, S_IFREG | mode, copy, n);
}

int fl_initramfs_add_file(struct fl_initramfs *fs, const char *name,
			  unsigned mode, const char *path, size_t max,
			  struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	int r = fl_fs_read(path, max, &b, err);
	size_t n = b.len;

	if (r < 0)
		return r;
	add(fs, name, S_IFREG | mode, fl_buf_steal(&b), n);
	return 0;
}

static int archive_fail(struct archive *a, const char *path, struct fl_err *err)
{
	int code = archive_errno(a);
	const char *text = archive_error_string(a);

	return fl_err_set(err, code > 0 ? -code : -EIO, FL_E_INFRA,
			  "cannot write '%s': %s", path,
			  text ? text : "archive error");
}

static int write_entry(struct archive *a, const struct entry *e, size_t ino)
{
	_cleanup_(archive_entry_freep) struct archive_entry *ae =
		archive_entry_new();
	int r;

	archive_entry_set_pathname(ae, e->name);
	archive_entry_set_mode(ae, e->mode);
	archive_entry_set_size(ae, (la_int64_t)e->size);
	archive_entry_set_mtime(ae, 0, 0);
	archive_entry_set_uid(ae, 0);
	archive_entry_set_gid(ae, 0);
	archive_entry_set_ino(ae, (la_int64_t)ino);
	archive_entry_set_nlink(ae, S_ISDIR(e->mode) ? 2 : 1);
	r = archive_write_header(a, ae);
	if (r == ARCHIVE_OK && e->size &&
	    archive_write_data(a, e->data, e->size) != (la_ssize_t)e->size)
		r = ARCHIVE_FATAL;
	return r;
}

int fl_initramfs_write(const struct fl_initramfs *fs, const char *path,
		       bool gzip, struct fl_err *err)
{
	_cleanup_(free_archivep) struct archive *a = archive_write_new();
	int r = archive_write_set_format_cpio_newc(a);

	if (r == ARCHIVE_OK && gzip)
		r = archive_write_add_filter_gzip(a);
	/* The header's time stamp would make every archive different. */
	if (r == ARCHIVE_OK && gzip)
		r = archive_write_set_options(
			a, "gzip:!timestamp,gzip:compression-level=6");
	if (r == ARCHIVE_OK)
		r = archive_write_open_filename(a, path);
	for (size_t i = 0; r == ARCHIVE_OK && i < fs->n; i++)
		r = write_entry(a, &fs->entries[i], i + 1);
	if (r == ARCHIVE_OK)
		r = archive_write_close(a);
	return r == ARCHIVE_OK ? 0 : archive_fail(a, path, err);
}

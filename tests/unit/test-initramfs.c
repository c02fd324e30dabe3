// SPDX-License-Identifier: GPL-2.0-or-later
/* Initramfs archives and file system images: content, and sameness. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../../daemon/host/fsimage.h"
#include "../../daemon/initramfs.h"
#include "../../daemon/sys/proc.h"
#include "../../daemon/util/fs.h"
#include "../../jobs/agent/protocol.h"

static char dir[] = "/tmp/fl-test-initramfs-XXXXXX";

/* So that a time stamp that found its way in would show. */
static void next_second(void)
{
	time_t t = time(NULL);

	while (time(NULL) == t)
		usleep(10000);
}

static void build(const char *path, bool gzip)
{
	_cleanup_(fl_initramfs_freep) struct fl_initramfs *fs =
		fl_initramfs_new();

	fl_initramfs_add_dir(fs, "etc");
	fl_initramfs_add(fs, "init", 0755, "#!", 2);
	fl_initramfs_add(fs, "etc/empty", 0444, "", 0);
	assert_int_equal(fl_initramfs_write(fs, path, gzip, NULL), 0);
}

static void expect(struct archive *a, const char *name, unsigned mode,
		   const char *data)
{
	struct archive_entry *e;
	char got[64];
	la_ssize_t n;

	assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_OK);
	assert_string_equal(archive_entry_pathname(e), name);
	assert_int_equal(archive_entry_mode(e), mode);
	assert_int_equal(archive_entry_uid(e), 0);
	assert_int_equal(archive_entry_mtime(e), 0);
	n = archive_read_data(a, got, sizeof(got));
	assert_int_equal(n, strlen(data));
	assert_memory_equal(got, data, (size_t)n);
}

static void check_content(const char *path)
{
	struct archive *a = archive_read_new();
	struct archive_entry *e;

	archive_read_support_format_cpio(a);
	archive_read_support_filter_gzip(a);
	assert_int_equal(archive_read_open_filename(a, path, 4096), ARCHIVE_OK);
	expect(a, "etc", 0040755, "");
	expect(a, "init", 0100755, "#!");
	expect(a, "etc/empty", 0100444, "");
	assert_int_equal(archive_read_next_header(a, &e), ARCHIVE_EOF);
	archive_read_free(a);
}

static void test_same_bytes(void **state _unused_)
{
	for (int gzip = 0; gzip < 2; gzip++) {
		_cleanup_free_ char *one = fl_path_join(dir, "1.cpio");
		_cleanup_free_ char *two = fl_path_join(dir, "2.cpio");
		_cleanup_buf_ struct fl_buf a = { 0 }, b = { 0 };

		build(one, gzip);
		next_second();
		build(two, gzip);
		assert_int_equal(fl_fs_read(one, 1 << 20, &a, NULL), 0);
		assert_int_equal(fl_fs_read(two, 1 << 20, &b, NULL), 0);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.s, b.s, a.len);
		assert_memory_equal(a.s, gzip ? "\x1f\x8b" : "070701",
				    gzip ? 2 : 6);
		check_content(one);
	}
}

static void test_write_fails(void **state _unused_)
{
	_cleanup_(fl_initramfs_freep) struct fl_initramfs *fs =
		fl_initramfs_new();
	struct fl_err err = { 0 };

	assert_true(fl_initramfs_write(fs, "/no/such/dir/x", false, &err) < 0);
	assert_int_equal(err.class, FL_E_INFRA);
	assert_non_null(strstr(err.text, "'/no/such/dir/x'"));
	assert_int_equal(fl_initramfs_add_file(fs, "init", 0755, "/no/agent",
					       10, &err),
			 -ENOENT);
}

static uint64_t le64(const char *p)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

static void test_records(void **state _unused_)
{
	static unsigned char data[5 * FL_IMAGE_BLOCK];
	_cleanup_buf_ struct fl_buf b = { 0 };
	const size_t rec = 16, blk = FL_IMAGE_BLOCK;

	fl_fsimage_records(1 << 20, data, sizeof(data), &b);
	assert_int_equal(b.len, 0);
	data[blk] = 1; /* blocks 1 and 2 */
	data[3 * blk - 1] = 2;
	data[4 * blk] = 3; /* block 4 */
	fl_fsimage_records(1 << 20, data, sizeof(data), &b);
	assert_int_equal(b.len, 2 * rec + 3 * blk);
	assert_int_equal(le64(b.s), (1 << 20) + blk);
	assert_int_equal(le64(b.s + 8), 2 * blk);
	assert_memory_equal(b.s + rec, data + blk, 2 * blk);
	assert_int_equal(le64(b.s + rec + 2 * blk), (1 << 20) + 4 * blk);
	assert_int_equal(le64(b.s + rec + 2 * blk + 8), blk);
}

/* Writes an image back into a sparse file, as the guest does. */
static void unpack(const struct fl_buf *image, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	size_t at = 8;

	assert_memory_equal(image->s, FL_IMAGE_MAGIC, 8);
	for (;;) {
		uint64_t offset, n;

		assert_true(at + 16 <= image->len);
		offset = le64(image->s + at);
		n = le64(image->s + at + 8);
		at += 16;
		if (!n) {
			assert_int_equal(ftruncate(fd, (off_t)offset), 0);
			break;
		}
		assert_true(at + n <= image->len);
		assert_int_equal(pwrite(fd, image->s + at, n, (off_t)offset),
				 n);
		at += n;
	}
	assert_int_equal(at, image->len);
}

static void check_image(const char *type, char *const *fsck)
{
	_cleanup_free_ char *path = fl_path_join(dir, "image");
	_cleanup_buf_ struct fl_buf one = { 0 }, two = { 0 }, out = { 0 };
	const uint64_t size = 512 << 20;
	struct fl_err err = { 0 };
	char *argv[8];
	size_t n = 0;

	if (fl_fsimage_check(NULL) < 0)
		skip();
	if (fl_fsimage_make(type, dir, size, &one, &err) < 0)
		fail_msg("%s", err.text);
	next_second();
	assert_int_equal(fl_fsimage_make(type, dir, size, &two, &err), 0);
	assert_int_equal(one.len, two.len);
	assert_memory_equal(one.s, two.s, one.len);
	assert_true(one.len < 2 << 20);
	unpack(&one, path);
	for (; fsck[n]; n++)
		argv[n] = fsck[n];
	argv[n++] = path;
	argv[n] = NULL;
	if (access(argv[0], X_OK))
		skip();
	if (fl_proc_capture(argv, 1 << 20, &out, &err) < 0)
		fail_msg("%s", err.text);
}

static void test_ext4(void **state _unused_)
{
	char *fsck[] = { (char *)"/sbin/e2fsck", (char *)"-fn", NULL };

	check_image("ext4", fsck);
}

/* xfs_repair also checks the checksums that we renewed. */
static void test_xfs(void **state _unused_)
{
	char *fsck[] = { (char *)"/sbin/xfs_repair", (char *)"-n", (char *)"-f",
			 NULL };

	check_image("xfs", fsck);
}

static int setup(void **state _unused_)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state _unused_)
{
	return fl_fs_remove(dir, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_write_fails),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_ext4),
		cmocka_unit_test(test_xfs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}

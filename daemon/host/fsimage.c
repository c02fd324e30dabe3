// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See fsimage.h. Called by the qemu driver while it makes an initramfs; one
 * image takes some 20 ms, so nothing is cached. Fails when mkfs fails or the
 * disk is full.
 */
#include "fsimage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "../../jobs/agent/protocol.h"
#include "../sys/proc.h"
#include "../util/fs.h"
#include "../util/strv.h"

#define CHUNK (1 << 20)

/* Every feature is spelt out: defaults differ between distributions. */
static const char ext4_features[] =
	"none,ext_attr,dir_index,filetype,extent,64bit,flex_bg,sparse_super,"
	"large_file,huge_file,dir_nlink,extra_isize,metadata_csum";
static const char ext4_uuid[] = "6661756c-746c-696e-6520-657874340000";
static const char ext4_extended[] =
	"hash_seed=6661756c-746c-696e-6520-657874340000,"
	"lazy_itable_init=0,nodiscard,root_owner=0:0";
static const char xfs_features[] =
	"crc=1,finobt=1,rmapbt=0,reflink=1,bigtime=1,inobtcount=1,"
	"uuid=6661756c-746c-696e-6520-786673000000";

static const char *const ext4_args[] = {
	"mke2fs",      "-q",  "-F",	 "-t",	 "ext4",	"-b", "4096",
	"-I",	       "256", "-N",	 "4096", "-m",		"0",  "-O",
	ext4_features, "-U",  ext4_uuid, "-E",	 ext4_extended, NULL,
};

static const char *const xfs_args[] = {
	"mkfs.xfs", "-q",
	"-f",	    "-K",
	"-b",	    "size=4096",
	"-s",	    "size=512",
	"-d",	    "agcount=4",
	"-l",	    "size=64m",
	"-i",	    "size=512,sparse=1",
	"-m",	    xfs_features,
	NULL,
};

/* mkfs lives in /sbin, which is not in every user's PATH. */
static char *find_program(const char *name)
{
	static const char *const dirs[] = { "/usr/sbin", "/sbin" };
	char *path = fl_proc_which(name);

	for (size_t i = 0; !path && i < FL_ARRAY_SIZE(dirs); i++) {
		path = fl_path_join(dirs[i], name);
		if (!access(path, X_OK))
			break;
		free(path);
		path = NULL;
	}
	return path;
}

static int check_program(const char *name, const char *package,
			 struct fl_err *err)
{
	_cleanup_free_ char *path = find_program(name);

	if (path)
		return 0;
	return fl_err_set(err, -ENOENT, FL_E_USER,
			  "'%s' is missing: apt install %s", name, package);
}

int fl_fsimage_check(struct fl_err *err)
{
	int r = check_program("mke2fs", "e2fsprogs", err);

	return r < 0 ? r : check_program("mkfs.xfs", "xfsprogs", err);
}

/* The first word of the output that starts with a digit. */
static char *program_version(const char *name)
{
	_cleanup_free_ char *path = find_program(name);
	char *argv[] = { path, (char *)"-V", NULL };
	_cleanup_buf_ struct fl_buf out = { 0 };
	const char *s;

	if (!path || fl_proc_capture(argv, 4096, &out, NULL) < 0)
		return fl_strdup("missing");
	s = strpbrk(fl_buf_str(&out) + strcspn(fl_buf_str(&out), " "),
		    "0123456789");
	return s ? fl_strndup(s, strcspn(s, " \n")) : fl_strdup("unknown");
}

char *fl_fsimage_tools(void)
{
	_cleanup_free_ char *ext = program_version("mke2fs");
	_cleanup_free_ char *xfs = program_version("mkfs.xfs");

	return fl_asprintf("mke2fs %s, mkfs.xfs %s", ext, xfs);
}

/* CRC-32C as XFS stores it (reflected polynomial, inverted at both ends). */
static uint32_t crc32c(const unsigned char *p, size_t n)
{
	uint32_t crc = ~0U;

	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78U : crc >> 1;
	}
	return ~crc;
}

void fl_fsimage_fix_xfs(unsigned char *block, size_t n)
{
	enum { INODE = 512, VERSION = 4, ATIME = 32, CRC = 100, CRTIME = 144 };
	uint32_t crc;

	for (size_t i = 0; i + INODE <= n; i += INODE) {
		unsigned char *ino = block + i;

		if (memcmp(ino, "IN", 2) != 0 || ino[VERSION] != 3)
			continue;
		memset(ino + ATIME, 0, 24); /* access, modification, change */
		memset(ino + CRTIME, 0, 8);
		memset(ino + CRC, 0, 4);
		crc = crc32c(ino, INODE);
		for (int b = 0; b < 4; b++)
			ino[CRC + b] = (unsigned char)(crc >> 8 * b);
	}
}

static void put_le64(struct fl_buf *out, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		fl_buf_putc(out, (char)(v >> 8 * i & 0xff));
}

static bool is_zero(const unsigned char *p, size_t n)
{
	return !p[0] && !memcmp(p, p + 1, n - 1);
}

void fl_fsimage_records(uint64_t offset, const unsigned char *data, size_t n,
			struct fl_buf *out)
{
	const size_t b = FL_IMAGE_BLOCK;

	for (size_t i = 0; i < n;) {
		size_t end = i;

		while (end + b <= n && !is_zero(data + end, b))
			end += b;
		if (end > i) {
			put_le64(out, offset + i);
			put_le64(out, end - i);
			fl_buf_add(out, data + i, end - i);
		}
		i = end + b;
	}
}

static int run_mkfs(const char *const *args, const char *image, const char *log,
		    struct fl_err *err)
{
	_cleanup_free_ char *program = find_program(args[0]);
	char *env[] = {
		(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
		(char *)"MKE2FS_CONFIG=/dev/null",
		(char *)"E2FSPROGS_FAKE_TIME=1767225600",
		NULL,
	};
	_cleanup_strv_ struct fl_strv argv = { 0 };
	_cleanup_buf_ struct fl_buf text = { 0 };
	struct fl_proc_spec spec = { .log = log, .env = env };
	struct fl_proc_result res;
	int r;

	if (!program)
		return fl_fsimage_check(err);
	fl_strv_add(&argv, program);
	for (size_t i = 1; args[i]; i++)
		fl_strv_add(&argv, args[i]);
	fl_strv_add(&argv, image);
	spec.argv = argv.s;
	r = fl_proc_run(&spec, 60, &res, err);
	if (r < 0)
		return r;
	if (res.end == FL_PROC_EXITED && !res.code)
		return 0;
	fl_fs_read_tail(log, 300, &text, NULL);
	return fl_err_set(err, -EIO, FL_E_INFRA, "'%s' failed: %s", args[0],
			  fl_buf_str(&text));
}

static int read_image(int fd, bool xfs, uint64_t size, struct fl_buf *out)
{
	_cleanup_free_ unsigned char *chunk = fl_malloc(CHUNK);
	off_t at = 0;

	fl_buf_add(out, FL_IMAGE_MAGIC, 8);
	while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
		ssize_t n = pread(fd, chunk, CHUNK, at -= at % FL_IMAGE_BLOCK);

		if (n < 0)
			return -errno;
		if (n < FL_IMAGE_BLOCK)
			break;
		n -= n % FL_IMAGE_BLOCK;
		if (xfs)
			fl_fsimage_fix_xfs(chunk, (size_t)n);
		fl_fsimage_records((uint64_t)at, chunk, (size_t)n, out);
		at += n;
	}
	put_le64(out, size);
	put_le64(out, 0);
	return 0;
}

int fl_fsimage_make(const char *type, const char *scratch, uint64_t size,
		    struct fl_buf *out, struct fl_err *err)
{
	_cleanup_free_ char *image = fl_asprintf("%s/%s.img", scratch, type);
	_cleanup_free_ char *log = fl_asprintf("%s/mkfs.log", scratch);
	bool xfs = !strcmp(type, "xfs");
	_cleanup_close_ int fd =
		open(image, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r = 0;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		r = fl_err_set(err, -errno, FL_E_INFRA,
			       "cannot create '%s': %s", image,
			       strerror(errno));
	if (!r)
		r = run_mkfs(xfs ? xfs_args : ext4_args, image, log, err);
	if (!r && (r = read_image(fd, xfs, size, out)) < 0)
		fl_err_set(err, r, FL_E_INFRA, "cannot read '%s': %s", image,
			   strerror(-r));
	unlink(image);
	unlink(log);
	return r;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* See fs.h. */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <nettle/sha2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

char *fl_path_join(const char *dir, const char *name)
{
	if (name[0] == '/')
		return fl_strdup(name);
	return fl_asprintf("%s/%s", dir, name);
}

bool fl_fs_exists(const char *path)
{
	return !access(path, F_OK);
}

bool fl_fs_is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* After a failed mkdir(): keeps its errno, but a file in the way is ENOTDIR. */
static bool is_existing_dir(const char *path)
{
	if (errno != EEXIST)
		return false;
	if (fl_fs_is_dir(path))
		return true;
	errno = ENOTDIR;
	return false;
}

int fl_fs_mkdirs(const char *path, struct fl_err *err)
{
	_cleanup_free_ char *copy = fl_strdup(*path ? path : ".");

	for (char *p = copy + 1;; p++) {
		char c = *p;

		if (c != '/' && c != '\0')
			continue;
		*p = '\0';
		if (mkdir(copy, 0777) < 0 && !is_existing_dir(copy))
			return fl_err_set(err, -errno, FL_E_INFRA,
					  "cannot create folder '%s': %s", copy,
					  strerror(errno));
		if (!c)
			return 0;
		*p = c;
	}
}

static int remove_entry(const char *path, const struct stat *st _unused_,
			int type, struct FTW *ftw _unused_)
{
	int r;

	if (type == FTW_DNR)
		return -1;
	r = type == FTW_DP ? rmdir(path) : unlink(path);
	/* Gone meanwhile: nothing to stop for. */
	return r < 0 && errno == ENOENT ? 0 : r;
}

int fl_fs_remove(const char *path, struct fl_err *err)
{
	if (nftw(path, remove_entry, 32, FTW_DEPTH | FTW_PHYS) < 0 &&
	    errno != ENOENT)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot remove '%s': %s", path,
				  strerror(errno));
	return 0;
}

/* Reads to the end of fd; stops in front of the byte that exceeds max. */
static int read_fd(int fd, size_t max, struct fl_buf *out)
{
	char chunk[65536];
	size_t total = 0;

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if ((size_t)n > max - total) {
			fl_buf_add(out, chunk, max - total);
			return -EFBIG;
		}
		fl_buf_add(out, chunk, (size_t)n);
		if (!n)
			return 0;
		total += (size_t)n;
	}
}

static int read_from(const char *path, size_t max, bool tail,
		     struct fl_buf *out, struct fl_err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_buf_ struct fl_buf text = { 0 };
	off_t size, skip = 0;
	int r;

	if (fd < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot open '%s': %s", path,
				  strerror(errno));
	size = tail ? lseek(fd, 0, SEEK_END) : 0;
	if (size > 0 && (size_t)size > max)
		skip = size - (off_t)max;
	if (size > 0)
		lseek(fd, skip, SEEK_SET);
	r = read_fd(fd, max, &text);
	if (r == -EFBIG && !tail) /* a tail that grows is cut, no error */
		return fl_err_set(err, r, FL_E_USER,
				  "'%s' is larger than %zu bytes", path, max);
	if (r < 0 && r != -EFBIG)
		return fl_err_set(err, r, FL_E_INFRA, "cannot read '%s': %s",
				  path, strerror(-r));
	fl_buf_add(out, fl_buf_str(&text), text.len);
	return 0;
}

int fl_fs_read(const char *path, size_t max, struct fl_buf *out,
	       struct fl_err *err)
{
	return read_from(path, max, false, out, err);
}

int fl_fs_read_tail(const char *path, size_t max, struct fl_buf *out,
		    struct fl_err *err)
{
	return read_from(path, max, true, out, err);
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

int fl_fs_write(const char *path, const void *data, size_t n,
		struct fl_err *err)
{
	_cleanup_free_ char *tmp = fl_asprintf("%s.%d.tmp", path, getpid());
	_cleanup_close_ int fd =
		open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int r;

	if (fd < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot create '%s': %s", tmp,
				  strerror(errno));
	r = write_all(fd, data, n);
	if (!r && fsync(fd) < 0)
		r = -errno;
	if (!r && rename(tmp, path) < 0)
		r = -errno;
	if (r) {
		unlink(tmp);
		return fl_err_set(err, r, FL_E_INFRA, "cannot write '%s': %s",
				  path, strerror(-r));
	}
	return 0;
}

int fl_fs_copy(const char *from, const char *to, struct fl_err *err)
{
	_cleanup_close_ int in = open(from, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int out = -1;
	char chunk[65536];
	ssize_t n = 0;
	int r = 0;

	if (in < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot open '%s': %s", from,
				  strerror(errno));
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot create '%s': %s", to,
				  strerror(errno));
	while (!r && (n = read(in, chunk, sizeof(chunk))) > 0)
		r = write_all(out, chunk, (size_t)n);
	if (n < 0)
		r = -errno;
	if (r)
		return fl_err_set(err, r, FL_E_INFRA,
				  "cannot copy '%s' to '%s': %s", from, to,
				  strerror(-r));
	return 0;
}

int64_t fl_fs_free_bytes(const char *path)
{
	struct statvfs sv;

	if (statvfs(path, &sv) < 0)
		return -1;
	return (int64_t)sv.f_bavail * (int64_t)sv.f_frsize;
}

static void hex(const uint8_t *digest, char out[FL_HASH_HEX])
{
	for (int i = 0; i < SHA256_DIGEST_SIZE; i++)
		snprintf(out + (size_t)i * 2, 3, "%02x", digest[i]);
}

void fl_hash_bytes(const void *data, size_t n, char out[FL_HASH_HEX])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, n, data);
	sha256_digest(&ctx, sizeof(digest), digest);
	hex(digest, out);
}

int fl_hash_file(const char *path, char out[FL_HASH_HEX], struct fl_err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;
	uint8_t chunk[65536];
	ssize_t n = -1;

	sha256_init(&ctx);
	if (fd >= 0)
		while ((n = read(fd, chunk, sizeof(chunk))) > 0)
			sha256_update(&ctx, (size_t)n, chunk);
	if (n < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot read '%s': %s", path,
				  strerror(errno));
	sha256_digest(&ctx, sizeof(digest), digest);
	hex(digest, out);
	return 0;
}

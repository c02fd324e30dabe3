// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The files that a program of others needs in the guest: itself, what the job
 * names, and their shared libraries. Called by job-exec.c. Their content is a
 * part of the case: another version of a program is another series.
 */
#include "job-internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "../jobs/agent/protocol.h"
#include "elf-needs.h"
#include "util/json.h"

#define FILES_MAX 256
#define TOTAL_MAX (INT64_C(256) << 20)

struct packing {
	const char *job_dir; /* absolute */
	json_t *list;
	int64_t total;
	const char *path; /* in the job */
	struct fl_err *err;
};

/* What the agent makes or mounts itself. */
static bool reserved(const char *to)
{
	static const char *const taken[] = { "init", "plan", "padding",
					     "dev",  "proc", "sys",
					     "tmp",  "fs",   FL_EXEC_DIR };
	size_t n = strcspn(to, "/");

	for (size_t i = 0; i < FL_ARRAY_SIZE(taken); i++)
		if (strlen(taken[i]) == n && !strncmp(taken[i], to, n))
			return true;
	return !to[n] && n > 4 && !strcmp(to + n - 4, ".img");
}

static bool packed(const struct packing *p, const char *to)
{
	json_t *v;
	size_t i;

	json_array_foreach(p->list, i, v)
		if (!strcmp(fl_json_str_or(v, "to", ""), to))
			return true;
	return false;
}

static int pack_file(struct packing *p, const char *from, const char *to)
{
	char hash[FL_HASH_HEX];
	struct stat st;
	int r;

	to += *to == '/';
	if (packed(p, to))
		return 0;
	if (reserved(to))
		return FL_JOB_BAD(
			p->err, p->path,
			"'/%s' cannot be there in the guest; name it relative to the job",
			to);
	if (stat(from, &st) < 0)
		return FL_JOB_BAD(p->err, p->path, "cannot read '%s': %s", from,
				  strerror(errno));
	p->total += st.st_size;
	if (p->total > TOTAL_MAX || json_array_size(p->list) == FILES_MAX)
		return FL_JOB_BAD(p->err, p->path,
				  "more than %d files or %lld MiB to pack",
				  FILES_MAX, (long long)(TOTAL_MAX >> 20));
	r = fl_hash_file(from, hash, p->err);
	if (r < 0)
		return fl_err_prefix(p->err, "%s", p->path);
	json_array_append_new(
		p->list, json_pack("{s:s, s:s, s:i, s:s}", "from", from, "to",
				   to, "mode", (int)(st.st_mode & 0777) | 0444,
				   "sha256", hash));
	return 0;
}

/* Where a file of the job lies here and in the guest; both heap. */
static int locate(struct packing *p, const char *name, char **from, char **to)
{
	_cleanup_free_ char *clean = fl_elf_normal(name);
	_cleanup_strv_ struct fl_strv parts = { 0 };

	fl_strv_split(&parts, name, "/");
	if (!*clean || fl_strv_has(&parts, ".."))
		return FL_JOB_BAD(p->err, p->path,
				  "expected the path of a file, without '..'");
	if (*clean == '/') {
		*from = fl_strdup(clean);
		*to = fl_steal(clean);
	} else {
		*from = fl_path_join(p->job_dir, clean);
		*to = fl_asprintf("/" FL_EXEC_JOB "/%s", clean);
	}
	return 0;
}

/* A file with all it needs. *where: its path in the guest. */
static int pack_needs(struct packing *p, const char *name, char **where)
{
	_cleanup_free_ char *from = NULL, *to = NULL;
	_cleanup_strv_ struct fl_strv all = { 0 };
	size_t dir = strlen(p->job_dir);
	int r = locate(p, name, &from, &to);

	if (r < 0 || !to)
		return r;
	r = fl_elf_needs(from, &all, p->err);
	if (r < 0)
		return fl_err_prefix(p->err, "%s", p->path);
	r = pack_file(p, from, to);
	/* Libraries beside it are found by $ORIGIN or by absolute paths. */
	for (size_t i = 1; !r && i < all.n; i++) {
		const char *s = all.s[i];
		bool beside = *name != '/' && !strncmp(s, p->job_dir, dir) &&
			      s[dir] == '/';

		if (!beside || !reserved(s + 1))
			r = pack_file(p, s, s);
		if (!r && beside) {
			_cleanup_free_ char *copy =
				fl_asprintf("/" FL_EXEC_JOB "%s", s + dir);

			r = pack_file(p, s, copy);
		}
	}
	if (!r)
		*where = fl_steal(to);
	return r;
}

/* The program itself; its first word becomes its path in the guest. */
static int pack_program(struct packing *p, json_t *command)
{
	const char *name = json_string_value(json_array_get(command, 0));
	_cleanup_free_ char *where = NULL;
	int r = pack_needs(p, name, &where);
	int mode;

	if (r < 0)
		return r;
	mode = (int)fl_json_int_or(json_array_get(p->list, 0), "mode", 0);
	if (!(mode & 0111))
		return FL_JOB_BAD(p->err, p->path, "'%s' is not executable",
				  name);
	json_array_set_new(command, 0, json_string(where));
	return 0;
}

static char *job_folder(const struct fl_job *job)
{
	_cleanup_free_ char *dir = fl_strdup(job->path);
	char *slash = strrchr(dir, '/');

	if (slash)
		slash[slash == dir] = '\0';
	return realpath(slash ? dir : ".", NULL);
}

/* Sorted, so that the order in which files were found does not count. */
static void hash_content(const json_t *list, char content[FL_HASH_HEX])
{
	_cleanup_strv_ struct fl_strv lines = { 0 };
	_cleanup_buf_ struct fl_buf b = { 0 };
	json_t *v;
	size_t i;

	json_array_foreach((json_t *)list, i, v)
		fl_strv_addf(&lines, "%s %lld %s\n",
			     fl_json_str_or(v, "to", ""),
			     (long long)fl_json_int_or(v, "mode", 0),
			     fl_json_str_or(v, "sha256", ""));
	fl_strv_sort(&lines);
	for (i = 0; i < lines.n; i++)
		fl_buf_puts(&b, lines.s[i]);
	fl_hash_bytes(fl_buf_str(&b), b.len, content);
}

int fl_job_pack(const struct fl_job *job, json_t *command, const json_t *files,
		const char *path, json_t **ret, char content[FL_HASH_HEX],
		struct fl_err *err)
{
	_cleanup_free_ char *dir = job_folder(job),
			    *at = fl_asprintf("%s.command[0]", path);
	json_auto_t *list = json_array();
	struct packing p = {
		.job_dir = dir ? dir : "/", .list = list, .path = at, .err = err
	};
	int r = pack_program(&p, command);

	if (!r && files && !json_is_array(files))
		return FL_JOB_BAD(err, path,
				  "files: expected an array of paths");
	for (size_t i = 0; !r && i < json_array_size(files); i++) {
		const char *s = json_string_value(json_array_get(files, i));
		_cleanup_free_ char *item =
			fl_asprintf("%s.files[%zu]", path, i);
		_cleanup_free_ char *where = NULL;

		p.path = item;
		r = s ? pack_needs(&p, s, &where) :
			FL_JOB_BAD(err, item, "expected a path");
	}
	if (r < 0)
		return r;
	hash_content(list, content);
	*ret = json_incref(list);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs of others in a guest: their files, and a spec that tells the agent
 * what to run and what to read (jobs/agent/protocol.h). See guest.h.
 */
#include "guest.h"

#include <errno.h>
#include <string.h>
#include "../../jobs/agent/protocol.h"
#include "../util/buf.h"
#include "../util/json.h"

#define FILE_MAX (64 << 20)

static void member(struct fl_buf *b, const char *key, const char *value)
{
	fl_buf_printf(b, "%s=%s", key, value);
	fl_buf_add(b, "", 1);
}

static void write_spec(const json_t *params, struct fl_buf *b)
{
	_cleanup_free_ char *limit = fl_asprintf(
		"%lld", (long long)fl_json_int_or(params, "time_limit", 60));
	int64_t space = fl_json_int_or(params, "space_mb", 0);
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(params, "command"), i, v)
		member(b, "arg", json_string_value(v));
	member(b, "limit", limit);
	if (space) {
		_cleanup_free_ char *bytes =
			fl_asprintf("%lld", (long long)space << 20);

		member(b, "space", bytes);
	}
	json_array_foreach(json_object_get(params, "kpis"), i, v) {
		const char *pattern = fl_json_str_or(v, "pattern", NULL);

		member(b, "kpi", fl_json_str_or(v, "name", ""));
		if (pattern)
			member(b, "pattern", pattern);
	}
}

/* The folders above a file, each once. */
static void add_parents(struct fl_initramfs *fs, struct fl_strv *dirs,
			const char *to)
{
	for (const char *s = strchr(to, '/'); s; s = strchr(s + 1, '/')) {
		_cleanup_free_ char *dir = fl_strndup(to, (size_t)(s - to));

		if (fl_strv_has(dirs, dir))
			continue;
		fl_initramfs_add_dir(fs, dir);
		fl_strv_add(dirs, dir);
	}
}

static int add_file(struct fl_initramfs *fs, const json_t *f,
		    struct fl_err *err)
{
	const char *from = fl_json_str_or(f, "from", "");
	_cleanup_buf_ struct fl_buf b = { 0 };
	char hash[FL_HASH_HEX];
	int r = fl_fs_read(from, FILE_MAX, &b, err);

	if (r < 0)
		return r;
	/* The case is a series of this very content. */
	fl_hash_bytes(fl_buf_str(&b), b.len, hash);
	if (strcmp(hash, fl_json_str_or(f, "sha256", "")) != 0)
		return fl_err_set(err, -ESTALE, FL_E_USER,
				  "'%s' has changed since the job was read",
				  from);
	fl_initramfs_add(fs, fl_json_str_or(f, "to", ""),
			 (unsigned)fl_json_int_or(f, "mode", 0444) & 0777,
			 fl_buf_str(&b), b.len);
	return 0;
}

static int add_files(struct fl_initramfs *fs, const json_t *pack,
		     struct fl_strv *dirs, struct fl_strv *done,
		     struct fl_err *err)
{
	json_t *f;
	size_t i;
	int r = 0;

	json_array_foreach((json_t *)pack, i, f) {
		const char *to = fl_json_str_or(f, "to", "");
		_cleanup_free_ char *key = fl_asprintf(
			"%s %s", to, fl_json_str_or(f, "sha256", ""));

		/* Two cases with one library have it from one place. */
		if (r < 0 || fl_strv_has(done, key))
			continue;
		fl_strv_add(done, key);
		add_parents(fs, dirs, to);
		r = add_file(fs, f, err);
	}
	return r;
}

int fl_guest_exec_files(const struct fl_boot *boot, struct fl_initramfs *fs,
			struct fl_err *err)
{
	_cleanup_strv_ struct fl_strv dirs = { 0 }, done = { 0 };
	int r = 0;

	for (size_t i = 0; !r && i < boot->ncases; i++) {
		const struct fl_case *c = boot->cases[i];
		_cleanup_free_ char *name = fl_asprintf(FL_EXEC_DIR "/%zu", i);
		_cleanup_buf_ struct fl_buf spec = { 0 };

		if (!fl_case_is_exec(c->params))
			continue;
		write_spec(c->params, &spec);
		add_parents(fs, &dirs, name);
		fl_initramfs_add(fs, name, 0444, spec.s, spec.len);
		r = add_files(fs, c->pack, &dirs, &done, err);
	}
	return r;
}

void fl_guest_exec_plan(const struct fl_case *c, size_t i, struct fl_buf *b)
{
	fl_buf_printf(b, "exec %s %s /" FL_EXEC_DIR "/%zu\n", c->name,
		      fl_json_str_or(c->params, "fs", "tmpfs"), i);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes and checks out/.config. Three runs of kconfig cost as much as the
 * rest of a small incremental build, so what they depend on is remembered:
 * the request, the tools, and every Kconfig file and script that was read.
 */
#include "kbuild-internal.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "util/fs.h"

#define MAX_CONFIG (4 << 20)
#define MAX_SCRIPT (4 << 20)

/* Whatever the configuration may ask about the tools. */
static void add_tools(struct fl_buf *key)
{
	static const char *const tools[] = {
		"gcc",	   "ld",      "as",	"ar",	   "nm",
		"objcopy", "pahole",  "rustc",	"bindgen", "flex",
		"bison",   "python3", "ccache",
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(tools); i++) {
		_cleanup_free_ char *path =
			fl_asprintf("/usr/bin/%s", tools[i]);
		struct stat st;

		if (!stat(path, &st))
			fl_buf_printf(key, "%s %lld %lld\n", path,
				      (long long)st.st_size,
				      (long long)st.st_mtim.tv_sec);
	}
}

/* A file of the tree, hashed as it is; links are the tree's own business. */
static void add_file(struct fl_buf *key, const char *src, const char *name)
{
	_cleanup_free_ char *path = fl_path_join(src, name);
	_cleanup_buf_ struct fl_buf text = { 0 };
	char hash[FL_HASH_HEX] = "-";
	struct stat st;

	if (!lstat(path, &st) && S_ISREG(st.st_mode) &&
	    !fl_fs_read(path, MAX_SCRIPT, &text, NULL))
		fl_hash_bytes(fl_buf_str(&text), text.len, hash);
	fl_buf_printf(key, "%s %s\n", name, hash);
}

static void add_dir(struct fl_buf *key, const char *src, const char *name)
{
	_cleanup_free_ char *path = fl_path_join(src, name);
	_cleanup_strv_ struct fl_strv names = { 0 };
	DIR *d = opendir(path);

	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_type == DT_REG)
			fl_strv_addf(&names, "%s/%s", name, e->d_name);
	if (d)
		closedir(d);
	fl_strv_sort(&names);
	for (size_t i = 0; i < names.n; i++)
		add_file(key, src, names.s[i]);
}

/* "" when the last make read no configuration: then nothing is known. */
static int config_key(struct fl_kjob *j, char out[FL_HASH_HEX])
{
	static const char *const dirs[] = { "scripts", "scripts/kconfig",
					    "kernel/configs",
					    "arch/x86/configs" };
	_cleanup_free_ char *cmd =
		fl_kjob_out_file(j, "include/config/auto.conf.cmd", MAX_CONFIG);
	_cleanup_free_ char *config =
		fl_kjob_out_file(j, ".config", MAX_CONFIG);
	_cleanup_buf_ struct fl_buf text = { 0 }, key = { 0 };
	_cleanup_strv_ struct fl_strv files = { 0 };
	char hash[FL_HASH_HEX];
	int r;

	*out = '\0';
	if (!cmd || !config)
		return 0;
	r = fl_kconfig_hash(&j->b->config, hash, j->err);
	if (r < 0)
		return r;
	fl_buf_printf(&key, "request %s %s\n", hash, j->ccache ? "ccache" : "");
	r = fl_hash_file(config, hash, j->err);
	if (!r)
		r = fl_fs_read(cmd, MAX_CONFIG, &text, j->err);
	if (r < 0)
		return r;
	fl_buf_printf(&key, "config %s\n", hash);
	add_tools(&key);
	add_file(&key, j->src, "Makefile");
	add_file(&key, j->src, "arch/x86/Makefile");
	for (size_t i = 0; i < FL_ARRAY_SIZE(dirs); i++)
		add_dir(&key, j->src, dirs[i]);
	fl_kbuild_parse_kconfig_deps(fl_buf_str(&text), &files);
	for (size_t i = 0; i < files.n; i++)
		add_file(&key, j->src, files.s[i]);
	fl_hash_bytes(key.s, key.len, out);
	return 0;
}

static bool is_make_target(const char *s)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

	return *s && *s != '-' && s[strspn(s, ok)] == '\0';
}

/* base target or file, then the fragments, then olddefconfig. */
static int make_config(struct fl_kjob *j)
{
	const char *file = fl_kconfig_base_file(&j->b->config);
	_cleanup_free_ char *merged = fl_path_join(j->slot, "config.merged");
	_cleanup_free_ char *old = fl_path_join(j->out, ".config");
	_cleanup_buf_ struct fl_buf base = { 0 }, text = { 0 };
	int r;

	unlink(old); /* that of another commit explains nothing */
	if (file) {
		r = fl_fs_read(file, MAX_CONFIG, &base, j->err);
	} else if (!is_make_target(j->b->config.base)) {
		r = fl_err_set(
			j->err, -EINVAL, FL_E_USER,
			"config base '%s': expected a make target or file:PATH",
			j->b->config.base);
	} else {
		r = fl_kjob_make(j, "config", 0, NULL, j->b->config.base);
		if (r <= 0)
			return r;
		r = fl_kjob_read_out(j, ".config", &base);
		if (r <= 0)
			return r;
	}
	if (r < 0)
		return r;
	fl_kopts_merge(&j->wanted, fl_buf_str(&base), &text);
	r = fl_fs_write(merged, fl_buf_str(&text), text.len, j->err);
	if (r < 0)
		return r;
	return fl_kjob_make(j, "config", 0, merged, "olddefconfig");
}

/* A tree without what was asked for cannot serve: that is an outcome. */
static int check_config(struct fl_kjob *j)
{
	_cleanup_buf_ struct fl_buf text = { 0 };
	int r = fl_kjob_read_out(j, ".config", &text);

	if (r <= 0)
		return r;
	j->ret->reason = fl_kopts_missing(&j->wanted, fl_buf_str(&text));
	if (!j->ret->reason)
		j->ret->reason =
			fl_kopts_missing(&j->needed, fl_buf_str(&text));
	if (j->ret->reason)
		j->ret->outcome = FL_BUILD_FAILED;
	return !j->ret->reason;
}

int fl_kjob_configure(struct fl_kjob *j)
{
	_cleanup_free_ char *path = fl_path_join(j->slot, "config.key");
	_cleanup_buf_ struct fl_buf saved = { 0 };
	char key[FL_HASH_HEX];
	int r = config_key(j, key);

	if (r < 0)
		return r;
	if (!fl_fs_exists(path) || fl_fs_read(path, 4096, &saved, NULL) < 0 ||
	    !*key || strcmp(fl_buf_str(&saved), key) != 0) {
		unlink(path);
		r = make_config(j);
		if (r <= 0)
			return r;
	}
	return check_config(j);
}

int fl_kjob_save_config_key(struct fl_kjob *j)
{
	_cleanup_free_ char *path = fl_path_join(j->slot, "config.key");
	char key[FL_HASH_HEX];
	int r = config_key(j, key);

	return r < 0 || !*key ? r : fl_fs_write(path, key, strlen(key), j->err);
}

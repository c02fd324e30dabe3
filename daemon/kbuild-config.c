// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes and checks out/.config. Four runs of kconfig cost as much as the rest
 * of a small incremental build, so what they depend on is remembered: the
 * request, the tools, and every Kconfig file and script that was read. Where
 * only the release differs, one run writes it into the .config.
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

/* The top Makefile; where the release stands, lines go to version instead. */
static int add_makefile(struct fl_buf *key, struct fl_buf *version,
			struct fl_kjob *j)
{
	static const char *const names[] = { "VERSION =", "PATCHLEVEL =",
					     "SUBLEVEL =", "EXTRAVERSION =",
					     "NAME =" };
	_cleanup_free_ char *path = fl_path_join(j->src, "Makefile");
	_cleanup_buf_ struct fl_buf text = { 0 };
	int r = fl_fs_read(path, MAX_SCRIPT, &text, j->err);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* make will say so */
	for (const char *s = fl_buf_str(&text); *s;) {
		size_t n = strcspn(s, "\n"), i = 0;

		n += s[n] == '\n';
		while (i < FL_ARRAY_SIZE(names) &&
		       strncmp(s, names[i], strlen(names[i])) != 0)
			i++;
		fl_buf_add(i < FL_ARRAY_SIZE(names) ? version : key, s, n);
		s += n;
	}
	return 0;
}

struct keys {
	char base[FL_HASH_HEX]; /* of all that config.merged depends on */
	char full[FL_HASH_HEX]; /* and the final .config */
};

/* Both "" when the last make read no configuration: nothing is known. */
static int config_keys(struct fl_kjob *j, struct keys *ret)
{
	static const char *const dirs[] = { "scripts", "scripts/kconfig",
					    "kernel/configs",
					    "arch/x86/configs" };
	_cleanup_free_ char *cmd =
		fl_kjob_out_file(j, "include/config/auto.conf.cmd", MAX_CONFIG);
	_cleanup_free_ char *config =
		fl_kjob_out_file(j, ".config", MAX_CONFIG);
	_cleanup_buf_ struct fl_buf text = { 0 }, key = { 0 }, full = { 0 };
	_cleanup_strv_ struct fl_strv files = { 0 };
	char hash[FL_HASH_HEX];
	int r;

	*ret = (struct keys){ .base = "" };
	if (!cmd || !config)
		return 0;
	r = fl_kconfig_hash(&j->b->config, hash, j->err);
	if (r < 0)
		return r;
	fl_buf_printf(&key, "request %s %s\n", hash, j->ccache ? "ccache" : "");
	r = fl_hash_file(config, hash, j->err);
	if (!r)
		r = fl_fs_read(cmd, MAX_CONFIG, &text, j->err);
	if (!r)
		r = add_makefile(&key, &full, j);
	if (r < 0)
		return r;
	add_tools(&key);
	add_file(&key, j->src, "arch/x86/Makefile");
	for (size_t i = 0; i < FL_ARRAY_SIZE(dirs); i++)
		add_dir(&key, j->src, dirs[i]);
	fl_kbuild_parse_kconfig_deps(fl_buf_str(&text), &files);
	for (size_t i = 0; i < files.n; i++)
		add_file(&key, j->src, files.s[i]);
	fl_hash_bytes(key.s, key.len, ret->base);
	fl_buf_printf(&full, "config %s\nbase %s\n", hash, ret->base);
	fl_hash_bytes(full.s, full.len, ret->full);
	return 0;
}

static bool is_make_target(const char *s)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

	return *s && *s != '-' && s[strspn(s, ok)] == '\0';
}

/* config.merged: the base target or file with the fragments over it. */
static int make_merged(struct fl_kjob *j, const char *merged)
{
	const char *file = fl_kconfig_base_file(&j->b->config);
	_cleanup_buf_ struct fl_buf base = { 0 }, text = { 0 };
	int r = 1;

	if (file) {
		r = fl_fs_read(file, MAX_CONFIG, &base, j->err);
	} else if (!is_make_target(j->b->config.base)) {
		r = fl_err_set(
			j->err, -EINVAL, FL_E_USER,
			"config base '%s': expected a make target or file:PATH",
			j->b->config.base);
	} else {
		r = fl_kjob_make(j, "config", 0, NULL, j->b->config.base);
		if (r > 0)
			r = fl_kjob_read_out(j, ".config", &base);
		if (r <= 0)
			return r;
	}
	if (r < 0)
		return r;
	fl_kopts_merge(&j->wanted, fl_buf_str(&base), &text);
	r = fl_fs_write(merged, fl_buf_str(&text), text.len, j->err);
	return r < 0 ? r : 1;
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
	_cleanup_free_ char *merged = fl_path_join(j->slot, "config.merged");
	_cleanup_free_ char *config = fl_path_join(j->out, ".config");
	_cleanup_buf_ struct fl_buf saved = { 0 };
	_cleanup_strv_ struct fl_strv old = { 0 };
	struct keys now;
	int r = config_keys(j, &now);

	if (r < 0)
		return r;
	if (fl_fs_exists(path) && !fl_fs_read(path, 4096, &saved, NULL))
		fl_strv_split(&old, fl_buf_str(&saved), " \n");
	if (*now.full && old.n == 2 && !strcmp(old.s[1], now.full))
		return check_config(j);
	unlink(path);
	unlink(config); /* that of another commit explains nothing */
	if (!*now.base || old.n != 2 || strcmp(old.s[0], now.base) != 0 ||
	    !fl_fs_exists(merged)) {
		r = make_merged(j, merged);
		if (r <= 0)
			return r;
	}
	r = fl_kjob_make(j, "config", 0, merged, "olddefconfig");
	return r <= 0 ? r : check_config(j);
}

int fl_kjob_save_config_key(struct fl_kjob *j)
{
	_cleanup_free_ char *path = fl_path_join(j->slot, "config.key");
	_cleanup_free_ char *text = NULL;
	struct keys now;
	int r = config_keys(j, &now);

	if (r < 0 || !*now.full)
		return r;
	text = fl_asprintf("%s %s\n", now.base, now.full);
	return fl_fs_write(path, text, strlen(text), j->err);
}

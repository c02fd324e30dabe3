// SPDX-License-Identifier: GPL-2.0-or-later
/* See sandbox.h. */
#include "sandbox.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include "../util/err.h"

/* The system as programs need it, and nothing of /root, /home, /var, /srv. */
static const char *const system_dirs[] = {
	"/usr",
	"/etc/alternatives",
	"/etc/ld.so.cache",
	"/etc/ld.so.conf",
	"/etc/ld.so.conf.d",
	"/etc/ssl/openssl.cnf",
	"/opt",
};

/* On merged-/usr systems these are links; elsewhere they are folders. */
static const char *const root_dirs[] = { "/bin",   "/sbin",  "/lib",
					 "/lib32", "/lib64", "/libx32" };

void fl_sandbox_clear(struct fl_sandbox *s)
{
	fl_strv_clear(&s->ro);
	fl_strv_clear(&s->rw);
	fl_strv_clear(&s->dev);
	fl_strv_clear(&s->env);
}

static void add_root_dir(struct fl_strv *argv, const char *path)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0)
		return;
	if (!S_ISLNK(st.st_mode)) {
		fl_strv_addl(argv, "--ro-bind", path, path, NULL);
		return;
	}
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return;
	target[n] = '\0';
	fl_strv_addl(argv, "--symlink", target, path, NULL);
}

void fl_sandbox_argv(const struct fl_sandbox *s, struct fl_strv *argv)
{
	fl_strv_addl(argv, "bwrap", "--unshare-all", "--unshare-user",
		     "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		     "--clearenv", NULL);
	for (size_t i = 0; i < FL_ARRAY_SIZE(system_dirs); i++)
		fl_strv_addl(argv, "--ro-bind-try", system_dirs[i],
			     system_dirs[i], NULL);
	for (size_t i = 0; i < FL_ARRAY_SIZE(root_dirs); i++)
		add_root_dir(argv, root_dirs[i]);
	fl_strv_addl(argv, "--dev", "/dev", "--proc", "/proc", "--tmpfs",
		     "/tmp", NULL);
	for (size_t i = 0; i < s->ro.n; i++)
		fl_strv_addl(argv, "--ro-bind", s->ro.s[i], s->ro.s[i], NULL);
	for (size_t i = 0; i < s->rw.n; i++)
		fl_strv_addl(argv, "--bind", s->rw.s[i], s->rw.s[i], NULL);
	for (size_t i = 0; i < s->dev.n; i++)
		fl_strv_addl(argv, "--dev-bind", s->dev.s[i], s->dev.s[i],
			     NULL);
	for (size_t i = 0; i < s->env.n; i++) {
		const char *eq = strchr(s->env.s[i], '=');
		_cleanup_free_ char *name = NULL;

		if (!eq)
			continue;
		name = fl_strndup(s->env.s[i], (size_t)(eq - s->env.s[i]));
		fl_strv_addl(argv, "--setenv", name, eq + 1, NULL);
	}
	if (s->dir)
		fl_strv_addl(argv, "--chdir", s->dir, NULL);
	fl_strv_add(argv, "--");
}

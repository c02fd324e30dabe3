// SPDX-License-Identifier: GPL-2.0-or-later
/* Where things are: what is shipped, the cache, and what a conf names. */
#include "conf.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include "util/buf.h"
#include "util/fs.h"

static char *exe_dir(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (n < 0)
		return fl_strdup(".");
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return fl_strdup(path);
}

/* Files shipped with the program: beside the sources, or installed. */
char *fl_conf_shipped(const char *name)
{
	_cleanup_free_ char *dir = exe_dir();
	static const char *const ups[] = { "..", "../..",
					   "../share/faultline" };
	const char *env = getenv("FAULTLINE_DATA");

	if (env)
		return fl_path_join(env, name);
	for (size_t i = 0; i < FL_ARRAY_SIZE(ups); i++) {
		_cleanup_free_ char *path =
			fl_asprintf("%s/%s/%s", dir, ups[i], name);
		char *real = realpath(path, NULL);

		if (real)
			return real;
	}
	return fl_asprintf("%s/../%s", dir, name);
}

char *fl_conf_agent(void)
{
	_cleanup_free_ char *dir = exe_dir();
	static const char *const at[] = {
		"faultline-agent", "../faultline-agent",
		"../libexec/faultline/faultline-agent"
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(at); i++) {
		_cleanup_free_ char *path = fl_path_join(dir, at[i]);
		char *real = realpath(path, NULL);

		if (real)
			return real;
	}
	return fl_path_join(dir, at[0]);
}

char *fl_conf_cache_dir(void)
{
	const char *own = getenv("FAULTLINE_CACHE");
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (own && *own)
		return fl_strdup(own);
	if (xdg && *xdg)
		return fl_path_join(xdg, "faultline");
	return fl_path_join(home && *home ? home : "/var/tmp",
			    home && *home ? ".cache/faultline" : "faultline");
}

void fl_conf_job_dirs(const struct fl_conf *c, struct fl_strv *out)
{
	_cleanup_free_ char *own = fl_path_join(c->dir, "jobs");
	_cleanup_free_ char *ours = fl_conf_shipped("jobs");

	fl_strv_addl(out, own, ours, NULL);
}

#define FIND(arr, n, what, RET)                                             \
	do {                                                                \
		_cleanup_buf_ struct fl_buf known_ = { 0 };                 \
		if (!name && (n) == 1) {                                    \
			*ret = RET(&(arr)[0]);                              \
			return 0;                                           \
		}                                                           \
		for (size_t i_ = 0; i_ < (n); i_++) {                       \
			if (name && !strcmp((arr)[i_].name, name)) {        \
				*ret = RET(&(arr)[i_]);                     \
				return 0;                                   \
			}                                                   \
			fl_buf_printf(&known_, "%s'%s'", i_ ? ", " : "",    \
				      (arr)[i_].name);                      \
		}                                                           \
		if (!(n))                                                   \
			return fl_err_set(err, -ENOENT, FL_E_USER,          \
					  "'%s' has no [%s \"…\"] section", \
					  c->file, what);                   \
		if (!name)                                                  \
			return fl_err_set(err, -EINVAL, FL_E_USER,          \
					  "which %s? '%s' has %s", what,    \
					  c->file, fl_buf_str(&known_));    \
		return fl_err_set(err, -ENOENT, FL_E_USER,                  \
				  "there is no %s '%s'; '%s' has %s", what, \
				  name, c->file, fl_buf_str(&known_));      \
	} while (0)

#define ITSELF(p) (p)
#define ITS_HOST(p) (&(p)->host)

int fl_conf_tree(const struct fl_conf *c, const char *name,
		 const struct fl_conf_tree **ret, struct fl_err *err)
{
	FIND(c->trees, c->ntrees, "tree", ITSELF);
}

int fl_conf_host(const struct fl_conf *c, const char *name,
		 const struct fl_host **ret, struct fl_err *err)
{
	/* The first one is the default: `init` writes the exact host there. */
	if (!name && c->nhosts)
		name = c->hosts[0].name;
	FIND(c->hosts, c->nhosts, "host", ITS_HOST);
}

int fl_conf_pair(const struct fl_conf *c, const char *name,
		 const struct fl_conf_pair **ret, struct fl_err *err)
{
	FIND(c->pairs, c->npairs, "pair", ITSELF);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* See conf.h. One table says which keys there are, and of which type. */
#include "conf.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include "git/git.h"
#include "mail/mail.h"
#include "util/buf.h"
#include "util/fs.h"

enum key_type { T_STR, T_PATH, T_INT, T_BOOL, T_PERCENT, T_NUM, T_LIST };

struct key {
	const char *section, *name;
	enum key_type type;
	size_t offset; /* in the section's struct */
	int64_t min, max; /* T_INT */
};

#define TREE(f) offsetof(struct fl_conf_tree, f)
#define PAIR(f) offsetof(struct fl_conf_pair, f)
#define HOST(f) offsetof(struct fl_conf_host, f)
#define CONF(f) offsetof(struct fl_conf, f)

static const struct key keys[] = {
	{ "tree", "url", T_STR, TREE(url), 0, 0 },
	{ "tree", "path", T_PATH, TREE(path), 0, 0 },
	{ "pair", "tree", T_STR, PAIR(tree), 0, 0 },
	{ "pair", "base", T_STR, PAIR(base), 0, 0 },
	{ "pair", "head", T_STR, PAIR(head), 0, 0 },
	{ "pair", "host", T_LIST, PAIR(hosts), 0, 0 },
	{ "pair", "job", T_LIST, PAIR(jobs), 0, 0 },
	{ "host", "driver", T_STR, HOST(driver), 0, 0 },
	{ "host", "cpu", T_STR, HOST(cpu), 0, 0 },
	{ "host", "memory", T_INT, HOST(host.memory_mb), 256, 1 << 24 },
	{ "host", "cpus", T_INT, HOST(host.cpus), 1, 4096 },
	{ "host", "append", T_STR, HOST(append), 0, 0 },
	{ "build", "slots", T_INT, CONF(build_slots), 1, 64 },
	{ "build", "jobs", T_INT, CONF(build_jobs), 1, 4096 },
	{ "build", "timeout", T_INT, CONF(build_timeout_s), 10, 1 << 20 },
	{ "build", "ccache", T_BOOL, CONF(build_ccache), 0, 0 },
	{ "build", "config", T_STR, CONF(config_base), 0, 0 },
	{ "build", "fragment", T_LIST, CONF(fragments), 0, 0 },
	{ "run", "slots", T_INT, CONF(run_slots), 1, 256 },
	{ "run", "boots-exact", T_INT, CONF(boots_exact), 1, 100 },
	{ "run", "boots-wall", T_INT, CONF(boots_wall), 0, 1000 },
	{ "threshold", "exact", T_PERCENT, CONF(threshold_exact), 0, 0 },
	{ "threshold", "wall", T_PERCENT, CONF(threshold_wall), 0, 0 },
	{ "bisect", "confidence", T_NUM, CONF(confidence), 0, 0 },
	{ "bisect", "max-runs", T_INT, CONF(max_runs), 4, 1 << 20 },
	{ "bisect", "max-culprits", T_INT, CONF(max_culprits), 1, 100 },
	{ "mail", "from", T_STR, CONF(mail_from), 0, 0 },
	{ "mail", "to", T_LIST, CONF(mail_to), 0, 0 },
	{ "mail", "cc", T_LIST, CONF(mail_cc), 0, 0 },
	{ "mail", "smtp", T_STR, CONF(smtp), 0, 0 },
	{ "mail", "user", T_STR, CONF(smtp_user), 0, 0 },
	{ "mail", "password-file", T_PATH, CONF(smtp_password_file), 0, 0 },
	{ "mail", "starttls", T_BOOL, CONF(smtp_starttls), 0, 0 },
};

struct loading {
	struct fl_conf *c;
	struct fl_err *err;
};

static int bad_value(struct loading *l, const char *where, const char *value,
		     const char *want)
{
	return fl_err_set(l->err, -EINVAL, FL_E_USER,
			  "'%s': %s = '%s': expected %s", l->c->file, where,
			  value, want);
}

static int set_number(struct loading *l, const struct key *k, void *field,
		      const char *where, const char *value)
{
	char *end;
	double d = strtod(value, &end);
	long long i;

	if (k->type == T_INT) {
		i = strtoll(value, &end, 10);
		if (end == value || *end || i < k->min || i > k->max) {
			char want[80];

			snprintf(want, sizeof(want),
				 "a whole number from %lld to %lld",
				 (long long)k->min, (long long)k->max);
			return bad_value(l, where, value, want);
		}
		*(int64_t *)field = i;
		return 0;
	}
	if (k->type == T_PERCENT) {
		if (end == value || (strcmp(end, "%") && *end) || !(d > 0) ||
		    d > 1000)
			return bad_value(l, where, value,
					 "a percentage such as 0.5%");
		*(double *)field = d / 100;
		return 0;
	}
	if (end == value || *end || !(d > 0.5) || !(d < 1))
		return bad_value(l, where, value, "a number from 0.5 to 1");
	*(double *)field = d;
	return 0;
}

/* Comma-separated; blanks around an element do not count. */
static int add_list(struct fl_strv *list, const char *value)
{
	_cleanup_strv_ struct fl_strv parts = { 0 };

	fl_strv_split(&parts, value, ",");
	for (size_t i = 0; i < parts.n; i++) {
		const char *s = parts.s[i] + strspn(parts.s[i], " \t");
		size_t n = strlen(s);

		while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
			n--;
		if (n)
			fl_strv_addf(list, "%.*s", (int)n, s);
	}
	return 0;
}

static int set_field(struct loading *l, const struct key *k, void *object,
		     const char *where, const char *value)
{
	void *field = (char *)object + k->offset;

	switch (k->type) {
	case T_STR:
	case T_PATH:
		if (!*value)
			return bad_value(l, where, value, "a text");
		free(*(char **)field);
		*(char **)field = k->type == T_STR ?
					  fl_strdup(value) :
					  fl_path_join(l->c->dir, value);
		return 0;
	case T_LIST:
		return add_list(field, value);
	case T_BOOL:
		if (!strcmp(value, "true") || !strcmp(value, "yes") ||
		    !strcmp(value, ""))
			*(bool *)field = true;
		else if (!strcmp(value, "false") || !strcmp(value, "no"))
			*(bool *)field = false;
		else
			return bad_value(l, where, value, "true or false");
		return 0;
	default:
		return set_number(l, k, field, where, value);
	}
}

#define GET_OR_MAKE(arr, n)                                                    \
	({                                                                     \
		size_t i_ = 0;                                                 \
		while (i_ < (n) && strcmp((arr)[i_].name, name))               \
			i_++;                                                  \
		if (i_ == (n)) {                                               \
			(arr) = fl_realloc((arr), ((n) + 1) * sizeof(*(arr))); \
			memset(&(arr)[(n)++], 0, sizeof(*(arr)));              \
			(arr)[i_].name = fl_strdup(name);                      \
		}                                                              \
		&(arr)[i_];                                                    \
	})

static void *section_object(struct fl_conf *c, const char *section,
			    const char *name)
{
	struct fl_conf_host *h;
	size_t before = c->nhosts;

	if (!strcmp(section, "tree"))
		return name ? GET_OR_MAKE(c->trees, c->ntrees) : NULL;
	if (!strcmp(section, "pair"))
		return name ? GET_OR_MAKE(c->pairs, c->npairs) : NULL;
	if (strcmp(section, "host"))
		return name ? NULL : c;
	if (!name)
		return NULL;
	h = GET_OR_MAKE(c->hosts, c->nhosts);
	if (c->nhosts > before) {
		h->host.memory_mb = 2048;
		h->host.cpus = 1;
		h->host.clock = FL_CLOCK_EXACT;
	}
	return h;
}

/* Keys of a host that only its driver knows go into options: of the fake one,
 * numbers. */
static bool driver_key(const char *key)
{
	return !strcmp(key, "fake-noise") || !strcmp(key, "fake-delay");
}

static int set_host_key(struct loading *l, struct fl_conf_host *h,
			const char *where, const char *key, const char *value)
{
	char *end;
	double d;

	if (!strcmp(key, "clock")) {
		if (!strcmp(value, "exact"))
			h->host.clock = FL_CLOCK_EXACT;
		else if (!strcmp(value, "wall"))
			h->host.clock = FL_CLOCK_WALL;
		else
			return bad_value(l, where, value, "exact or wall");
		return 1;
	}
	if (!driver_key(key))
		return 0;
	d = strtod(value, &end);
	if (end == value || *end || !(d >= 0) || d > 3600)
		return bad_value(l, where, value, "a number from 0 to 3600");
	if (!h->host.options)
		h->host.options = json_object();
	json_object_set_new(h->host.options, key, json_string(value));
	return 1;
}

static int on_entry(const char *section, const char *subsection,
		    const char *key, const char *value, void *arg)
{
	struct loading *l = arg;
	void *object = section_object(l->c, section, subsection);
	char where[256];

	snprintf(where, sizeof(where), "%s.%s%s%s", section,
		 subsection ? subsection : "", subsection ? "." : "", key);
	if (object && !strcmp(section, "host")) {
		int r = set_host_key(l, object, where, key, value);

		if (r)
			return r < 0 ? r : 0;
	}
	for (size_t i = 0; object && i < FL_ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].section, section) &&
		    !strcmp(keys[i].name, key))
			return set_field(l, &keys[i], object, where, value);
	return fl_err_set(l->err, -EINVAL, FL_E_USER,
			  "'%s': unknown key '%s' (see faultline.conf(5))",
			  l->c->file, where);
}

/* A fragment is a path in the workspace or the name of a shipped one. */
static int find_fragment(struct fl_conf *c, const char *name, char **ret,
			 struct fl_err *err)
{
	_cleanup_free_ char *own = fl_path_join(c->dir, name);
	_cleanup_free_ char *dir = fl_conf_shipped("jobs/config");
	_cleanup_free_ char *ours = fl_path_join(dir, name);

	if (fl_fs_exists(own))
		*ret = fl_steal(own);
	else if (fl_fs_exists(ours))
		*ret = fl_steal(ours);
	else
		return fl_err_set(
			err, -ENOENT, FL_E_USER,
			"'%s': build.fragment = '%s': no such file, neither '%s' nor '%s'",
			c->file, name, own, ours);
	return 0;
}

static int finish_build(struct fl_conf *c, struct fl_err *err)
{
	_cleanup_strv_ struct fl_strv names = c->fragments;

	c->fragments = (struct fl_strv){ 0 };

	if (!c->config_base) {
		c->config_base = fl_strdup("tinyconfig");
		if (!names.n)
			fl_strv_add(&names, "small.config");
	}
	if (!strncmp(c->config_base, "file:", 5)) {
		_cleanup_free_ char *path =
			fl_path_join(c->dir, c->config_base + 5);

		free(c->config_base);
		c->config_base = fl_asprintf("file:%s", path);
	}
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *path = NULL;
		int r = find_fragment(c, names.s[i], &path, err);

		if (r < 0)
			return r;
		fl_strv_add(&c->fragments, path);
	}
	return 0;
}

static int finish_hosts(struct fl_conf *c, struct fl_err *err)
{
	for (size_t i = 0; i < c->nhosts; i++) {
		struct fl_conf_host *h = &c->hosts[i];

		if (!h->driver)
			h->driver = fl_strdup("qemu");
		if (!h->cpu)
			h->cpu = fl_strdup("max");
		if (!h->append)
			h->append = fl_strdup("");
		if (!fl_host_driver(h->driver))
			return fl_err_set(
				err, -EINVAL, FL_E_USER,
				"'%s': host.%s.driver = '%s': expected qemu or fake",
				c->file, h->name, h->driver);
		if (h->host.options && strcmp(h->driver, "fake"))
			return fl_err_set(
				err, -EINVAL, FL_E_USER,
				"'%s': host.%s.%s is for driver = fake",
				c->file, h->name,
				json_object_iter_key(
					json_object_iter(h->host.options)));
		if (h->host.clock == FL_CLOCK_EXACT && h->host.cpus != 1)
			return fl_err_set(
				err, -EINVAL, FL_E_USER,
				"'%s': host.%s.cpus: the exact clock counts one CPU only; use clock = wall for more",
				c->file, h->name);
		h->host.name = h->name;
		h->host.driver = h->driver;
		h->host.cpu = h->cpu;
		h->host.append = h->append;
	}
	return 0;
}

static int finish_trees(struct fl_conf *c, struct fl_err *err)
{
	for (size_t i = 0; i < c->ntrees; i++) {
		struct fl_conf_tree *t = &c->trees[i];

		if (!t->url && !t->path)
			return fl_err_set(
				err, -EINVAL, FL_E_USER,
				"'%s': tree.%s has neither url nor path",
				c->file, t->name);
		if (t->url && !strstr(t->url, "://") && t->url[0] != '/' &&
		    !strchr(t->url, ':')) { /* a path of the workspace */
			char *full = fl_path_join(c->dir, t->url);

			free(t->url);
			t->url = full;
		}
		if (!t->path)
			t->path = fl_asprintf("%s/var/trees/%s.git", c->dir,
					      t->name);
	}
	for (size_t i = 0; i < c->npairs; i++) {
		struct fl_conf_pair *p = &c->pairs[i];
		const struct fl_conf_tree *t;
		int r;

		if (!p->base || !p->head)
			return fl_err_set(
				err, -EINVAL, FL_E_USER,
				"'%s': pair.%s needs both base and head",
				c->file, p->name);
		r = fl_conf_tree(c, p->tree, &t, err);
		if (r < 0)
			return fl_err_prefix(err, "pair.%s", p->name);
		if (!p->tree)
			p->tree = fl_strdup(t->name);
		if (!p->jobs.n)
			fl_strv_add(&p->jobs, "pagefault");
	}
	return 0;
}

static int check_mailbox(const struct fl_conf *c, const char *key,
			 const char *mailbox, struct fl_err *err)
{
	_cleanup_free_ char *address = fl_mail_address(mailbox);

	return address ?
		       0 :
		       fl_err_set(
			       err, -EINVAL, FL_E_USER,
			       "'%s': mail.%s = '%s': expected an address such as 'Team <team@lab.example>'",
			       c->file, key, mailbox);
}

static int finish_mail(struct fl_conf *c, struct fl_err *err)
{
	int r;

	if (!c->mail_from)
		c->mail_from = fl_strdup("Faultline <faultline@localhost>");
	r = check_mailbox(c, "from", c->mail_from, err);
	for (size_t i = 0; !r && i < c->mail_to.n; i++)
		r = check_mailbox(c, "to", c->mail_to.s[i], err);
	for (size_t i = 0; !r && i < c->mail_cc.n; i++)
		r = check_mailbox(c, "cc", c->mail_cc.s[i], err);
	if (!r && c->smtp && strncmp(c->smtp, "smtp://", 7) &&
	    strncmp(c->smtp, "smtps://", 8))
		r = fl_err_set(
			err, -EINVAL, FL_E_USER,
			"'%s': mail.smtp = '%s': expected smtp://HOST:PORT or smtps://HOST:PORT",
			c->file, c->smtp);
	return r;
}

int fl_conf_load(const char *dir, struct fl_conf **ret, struct fl_err *err)
{
	_cleanup_(fl_conf_freep) struct fl_conf *c = fl_calloc(1, sizeof(*c));
	struct loading l = { c, err };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int r;

	c->dir = realpath(dir, NULL);
	if (!c->dir)
		return fl_err_set(err, -errno, FL_E_USER,
				  "cannot open workspace '%s': %s", dir,
				  strerror(errno));
	c->file = fl_path_join(c->dir, "faultline.conf");
	if (!fl_fs_exists(c->file))
		return fl_err_set(
			err, -ENOENT, FL_E_USER,
			"no '%s'; run 'faultline init' there, or choose the workspace with -C",
			c->file);
	c->build_slots = 1;
	c->build_jobs = cpus > 0 ? cpus : 1;
	c->run_slots = c->build_jobs;
	c->build_timeout_s = 3600;
	c->build_ccache = true;
	c->boots_exact = 2;
	c->boots_wall = 0;
	c->threshold_exact = 0.005;
	c->threshold_wall = 0.05;
	c->confidence = 0.95;
	c->max_runs = 200;
	c->max_culprits = 8;
	r = fl_gitconfig_foreach(c->file, on_entry, &l, err);
	if (!r)
		r = finish_build(c, err);
	if (!r)
		r = finish_hosts(c, err);
	if (!r)
		r = finish_trees(c, err);
	if (!r)
		r = finish_mail(c, err);
	if (r < 0)
		return r;
	*ret = fl_steal(c);
	return 0;
}

void fl_conf_free(struct fl_conf *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->ntrees; i++) {
		free(c->trees[i].name);
		free(c->trees[i].url);
		free(c->trees[i].path);
	}
	for (size_t i = 0; i < c->npairs; i++) {
		free(c->pairs[i].name);
		free(c->pairs[i].tree);
		free(c->pairs[i].base);
		free(c->pairs[i].head);
		fl_strv_clear(&c->pairs[i].hosts);
		fl_strv_clear(&c->pairs[i].jobs);
	}
	for (size_t i = 0; i < c->nhosts; i++) {
		free(c->hosts[i].name);
		free(c->hosts[i].driver);
		free(c->hosts[i].cpu);
		free(c->hosts[i].append);
		json_decref(c->hosts[i].host.options);
	}
	free(c->trees);
	free(c->pairs);
	free(c->hosts);
	free(c->dir);
	free(c->file);
	free(c->config_base);
	free(c->mail_from);
	free(c->smtp);
	free(c->smtp_user);
	free(c->smtp_password_file);
	fl_strv_clear(&c->fragments);
	fl_strv_clear(&c->mail_to);
	fl_strv_clear(&c->mail_cc);
	free(c);
}

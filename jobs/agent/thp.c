// SPDX-License-Identifier: GPL-2.0-only
/*
 * Huge pages of a case: the kernel's switch for anonymous memory, and that of
 * the tmpfs for its files, set, read back, and put back afterwards; and what
 * the kernel counted meanwhile (thp_* of /proc/vmstat, and the statistics per
 * folio size where it has them), for people.
 */
#include "agent.h"

#include <dirent.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#define THP "/sys/kernel/mm/transparent_hugepage/"
#define TMPFS "/fs/tmpfs"
#define COUNTS 512

struct fl_thp {
	char old[16]; /* the kernel's setting before; "" when left alone */
	bool shmem; /* the tmpfs was told */
	unsigned n;
	struct {
		char key[48];
		int64_t before;
	} count[COUNTS];
};

/* The word in brackets of "always [madvise] never". */
static void selected(char out[16])
{
	char text[128], *open;

	out[0] = '\0';
	fl_sys_line(THP "enabled", text, sizeof(text));
	open = strchr(text, '[');
	if (open && strcspn(open + 1, "]") < 16)
		snprintf(out, 16, "%.*s", (int)strcspn(open + 1, "]"),
			 open + 1);
}

static bool mounted_with(const char *option)
{
	FILE *f = setmntent("/proc/mounts", "re");
	struct mntent *m;
	bool found = false;

	while (f && !found && (m = getmntent(f)))
		found = !strcmp(m->mnt_dir, TMPFS) && hasmntopt(m, option);
	if (f)
		endmntent(f);
	return found;
}

static bool set_shmem(const char *value)
{
	char option[16];

	snprintf(option, sizeof(option), "huge=%s",
		 strcmp(value, "madvise") ? value : "advise");
	if (mount(NULL, TMPFS, NULL, MS_REMOUNT | MS_NOATIME, option) < 0)
		return false;
	/* never is the default, which is not shown */
	return !strcmp(value, "never") ? !mounted_with("huge") :
					 mounted_with(option);
}

static bool apply(struct fl_thp *t, const struct fl_plan_case *c,
		  char why[FL_REASON_MAX])
{
	char now[16];

	selected(now);
	if (!now[0]) {
		snprintf(
			why, FL_REASON_MAX,
			"the kernel has no transparent huge pages (is CONFIG_TRANSPARENT_HUGEPAGE set?)");
		return false;
	}
	memcpy(t->old, now, sizeof(now));
	/* Its scans would fall into some window. */
	fl_sys_write(THP "khugepaged/scan_sleep_millisecs", "3600000");
	fl_sys_write(THP "enabled", c->thp);
	selected(now);
	if (strcmp(now, c->thp) != 0) {
		snprintf(why, FL_REASON_MAX, "thp=%s: the kernel stays at '%s'",
			 c->thp, now);
		return false;
	}
	t->shmem = !strcmp(c->fs, "tmpfs");
	if (t->shmem && !set_shmem(c->thp)) {
		snprintf(why, FL_REASON_MAX,
			 "thp=%s: the kernel refuses it for tmpfs", c->thp);
		return false;
	}
	return true;
}

struct fl_thp *fl_thp_apply(const struct fl_plan_case *c,
			    char why[FL_REASON_MAX])
{
	struct fl_thp *t = calloc(1, sizeof(*t));

	if (!t) {
		snprintf(why, FL_REASON_MAX, "out of memory");
		return NULL;
	}
	if (c->thp[0] && !apply(t, c, why)) {
		fl_thp_free(t);
		return NULL;
	}
	return t;
}

typedef void (*count_fn)(void *arg, const char *key, int64_t value);

static void each_event(count_fn fn, void *arg)
{
	FILE *f = fopen("/proc/vmstat", "re");
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		char *space = strchr(line, ' ');

		if (strncmp(line, "thp_", 4) != 0 || !space)
			continue;
		*space = '\0';
		fn(arg, line, strtoll(space + 1, NULL, 10));
	}
	if (f)
		fclose(f);
}

/* hugepages-SIZEkB/stats/NAME */
static void each_size(count_fn fn, void *arg, const char *size)
{
	char path[320], line[64], key[600];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), THP "%s/stats", size);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(key, sizeof(key), THP "%s/stats/%s", size, e->d_name);
		if (!fl_sys_line(key, line, sizeof(line))[0])
			continue;
		snprintf(key, sizeof(key), "%s_%s", size + strlen("hugepages-"),
			 e->d_name);
		fn(arg, key, strtoll(line, NULL, 10));
	}
	if (d)
		closedir(d);
}

static void each_count(count_fn fn, void *arg)
{
	DIR *d = opendir(THP);
	struct dirent *e;

	each_event(fn, arg);
	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, "hugepages-", 10))
			each_size(fn, arg, e->d_name);
	if (d)
		closedir(d);
}

static void keep(void *arg, const char *key, int64_t value)
{
	struct fl_thp *t = arg;

	if (t->n == COUNTS)
		return;
	snprintf(t->count[t->n].key, sizeof(t->count->key), "%.47s", key);
	t->count[t->n++].before = value;
}

void fl_thp_mark(struct fl_thp *t)
{
	t->n = 0;
	each_count(keep, t);
}

struct difference {
	const struct fl_thp *t;
	struct fl_line *l;
};

static void tell(void *arg, const char *key, int64_t value)
{
	const struct difference *d = arg;

	for (unsigned i = 0; i < d->t->n; i++)
		if (!strcmp(d->t->count[i].key, key) &&
		    d->t->count[i].before != value)
			fl_report_num(d->l, key,
				      (double)(value - d->t->count[i].before));
}

void fl_thp_report(const struct fl_thp *t, struct fl_line *l)
{
	struct difference d = { t, l };
	char now[16];

	selected(now);
	if (!now[0])
		return;
	fl_report_raw(l, ",\"thp\":{\"enabled\":\"%s\"", now);
	each_count(tell, &d);
	fl_report_raw(l, "}");
}

void fl_thp_free(struct fl_thp *t)
{
	if (t && t->shmem)
		set_shmem("never");
	if (t && t->old[0])
		fl_sys_write(THP "enabled", t->old);
	free(t);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parameters of a case: what each may be, which go together and what
 * they make a case's name. Used by job-case.c.
 */
#include "job-internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/json.h"

#define MIB (INT64_C(1) << 20)

/* What the guest agent can run; see jobs/pagefault/. */
enum {
	FILE_NEEDED = 1, /* works on a file, so a file system is chosen */
	CACHE = 2, /* may find its file dropped from the page cache */
	DISK = 4, /* of no use on tmpfs */
	ALONE = 8, /* copies the memory of all threads of its process */
};

static const struct program {
	const char *name;
	unsigned is;
} programs[] = {
	{ "page_fault1", 0 },
	{ "page_fault2", FILE_NEEDED | CACHE },
	{ "page_fault3", FILE_NEEDED | CACHE },
	{ "page_fault4", FILE_NEEDED | CACHE },
	{ "file_read_shared", FILE_NEEDED | CACHE },
	{ "munmap", 0 },
	{ "mprotect", 0 },
	{ "fork", ALONE },
	{ "madvise_dontneed", 0 },
	{ "madvise_cold", 0 },
	{ "madvise_pageout", FILE_NEEDED | DISK },
	{ "trouble_panic", 0 },
	{ "trouble_hang", 0 },
	{ "trouble_oom", 0 },
	{ "trouble_sigbus", FILE_NEEDED },
	{ "trouble_flood", 0 },
	{ "trouble_idle", 0 },
};

/* The first word is the default, where there is one. */
static const char *const modes[] = { "process", "thread", NULL };
static const char *const file_systems[] = { "tmpfs", "ext4", "xfs", NULL };
static const char *const pins[] = { "core", "smt", "none", NULL };
static const char *const caches[] = { "warm", "dropped", NULL };
static const char *const thps[] = { "always", "madvise", "never", NULL };

static const struct program *find_program(const char *name)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(programs); i++)
		if (!strcmp(programs[i].name, name))
			return &programs[i];
	return NULL;
}

static int take_program(const json_t *v, const char *path, json_t **ret,
			struct fl_err *err)
{
	const char *s = json_string_value(v);

	if (!s || !find_program(s))
		return FL_JOB_BAD(
			err, path,
			"expected a program, such as page_fault1 to page_fault4");
	*ret = json_string(s);
	return 0;
}

static int take_word(const json_t *v, const char *path,
		     const char *const *words, json_t **ret, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf list = { 0 };
	const char *s = json_string_value(v);

	for (size_t i = 0; words[i]; i++) {
		if (s && !strcmp(s, words[i])) {
			*ret = json_string(s);
			return 0;
		}
		fl_buf_printf(&list, "%s\"%s\"", i ? ", " : "", words[i]);
	}
	return FL_JOB_BAD(err, path, "expected %s%s", words[1] ? "one of " : "",
			  fl_buf_str(&list));
}

static int take_mode(const json_t *v, const char *path, json_t **ret,
		     struct fl_err *err)
{
	return take_word(v, path, modes, ret, err);
}

static int take_fs(const json_t *v, const char *path, json_t **ret,
		   struct fl_err *err)
{
	return take_word(v, path, file_systems, ret, err);
}

static int take_int(const json_t *v, const char *path, int64_t min, int64_t max,
		    json_t **ret, struct fl_err *err)
{
	int64_t i = json_integer_value(v);

	if (!json_is_integer(v) || i < min || i > max)
		return FL_JOB_BAD(err, path,
				  "expected a whole number from %lld to %lld",
				  (long long)min, (long long)max);
	*ret = json_integer(i);
	return 0;
}

static int take_pin(const json_t *v, const char *path, json_t **ret,
		    struct fl_err *err)
{
	return take_word(v, path, pins, ret, err);
}

static int take_cache(const json_t *v, const char *path, json_t **ret,
		      struct fl_err *err)
{
	return take_word(v, path, caches, ret, err);
}

static int take_thp(const json_t *v, const char *path, json_t **ret,
		    struct fl_err *err)
{
	return take_word(v, path, thps, ret, err);
}

/* A number, or per cents of the CPUs, which only the guest knows. */
static int take_tasks(const json_t *v, const char *path, json_t **ret,
		      struct fl_err *err)
{
	const char *s = json_string_value(v);
	char *end;
	long n;

	if (!s)
		return take_int(v, path, 1, 4096, ret, err);
	n = *s >= '1' && *s <= '9' ? strtol(s, &end, 10) : 0;
	if (n < 1 || n > 1000 || strcmp(end, "%") != 0)
		return FL_JOB_BAD(
			err, path,
			"expected a number of tasks, or per cent of the CPUs from \"1%%\" to \"1000%%\"");
	*ret = json_string(s);
	return 0;
}

static int take_seconds(const json_t *v, const char *path, json_t **ret,
			struct fl_err *err)
{
	return take_int(v, path, 0, 3600, ret, err);
}

static int take_samples(const json_t *v, const char *path, json_t **ret,
			struct fl_err *err)
{
	return take_int(v, path, 1, 3600, ret, err);
}

/* Bytes, or a string with K, M or G. */
static int take_size(const json_t *v, const char *path, json_t **ret,
		     struct fl_err *err)
{
	static const char units[] = "KMG";
	const char *s = json_string_value(v), *unit;
	int64_t n = json_is_integer(v) ? json_integer_value(v) : -1;
	char *end;

	if (s && *s >= '1' && *s <= '9') {
		errno = 0;
		n = strtoll(s, &end, 10);
		unit = *end ? strchr(units, *end) : NULL;
		if (errno || n > 1 << 20 || !unit || end[1])
			n = -1;
		else
			n <<= 10 * (unit - units + 1);
	}
	if (n < 4096 || n % 4096 || n > INT64_C(1) << 40)
		return FL_JOB_BAD(
			err, path,
			"expected a size in whole pages of 4096 bytes, like \"128M\"");
	*ret = json_integer(n);
	return 0;
}

static const struct param {
	const char *name;
	int (*take)(const json_t *v, const char *path, json_t **ret,
		    struct fl_err *err);
	int64_t def; /* -1: no numeric default */
} params[] = {
	{ "program", take_program, -1 },     { "mode", take_mode, -1 },
	{ "nr_task", take_tasks, 1 },	     { "fs", take_fs, -1 },
	{ "memsize", take_size, 128 * MIB }, { "warmup", take_seconds, 1 },
	{ "samples", take_samples, 3 },	     { "pin", take_pin, -1 },
	{ "cache", take_cache, -1 },	     { "thp", take_thp, -1 },
};

#define NPARAMS FL_ARRAY_SIZE(params)
/* What comes before is named without a key, or always. */
#define FIRST_KEYED 4

const char *fl_job_param(size_t k)
{
	return k < NPARAMS ? params[k].name : NULL;
}

int fl_job_param_take(size_t k, const json_t *v, const char *path, json_t *ret,
		      struct fl_err *err)
{
	json_t *value;
	int r = params[k].take(v, path, &value, err);

	if (!r)
		json_object_set_new(ret, params[k].name, value);
	return r;
}

int fl_job_param_default(size_t k, const char *path, json_t *ret,
			 struct fl_err *err)
{
	if (params[k].take == take_program)
		return FL_JOB_BAD(err, path, "missing key 'program'");
	if (params[k].take == take_mode)
		json_object_set_new(ret, "mode", json_string(modes[0]));
	else if (params[k].def >= 0)
		json_object_set_new(ret, params[k].name,
				    json_integer(params[k].def));
	return 0;
}

static char *size_text(int64_t n)
{
	static const char units[] = "\0KMG";
	int u = 0;

	while (u < 3 && n % 1024 == 0) {
		n /= 1024;
		u++;
	}
	return u ? fl_asprintf("%lld%c", (long long)n, units[u]) :
		   fl_asprintf("%lld", (long long)n);
}

/* program/mode/nr_task=N[/fs], then what differs from its default. */
char *fl_job_case_name(const json_t *p)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	const char *fs = fl_json_str_or(p, "fs", NULL);
	const char *tasks = fl_json_str_or(p, "nr_task", NULL);

	fl_buf_printf(&b, "%s/%s/nr_task=", fl_json_str_or(p, "program", ""),
		      fl_json_str_or(p, "mode", ""));
	if (tasks)
		fl_buf_puts(&b, tasks);
	else
		fl_buf_printf(&b, "%lld",
			      (long long)fl_json_int_or(p, "nr_task", 1));
	if (fs)
		fl_buf_printf(&b, "/%s", fs);
	for (size_t i = FIRST_KEYED; i < NPARAMS; i++) {
		int64_t v = fl_json_int_or(p, params[i].name, params[i].def);
		const char *word = fl_json_str_or(p, params[i].name, NULL);
		_cleanup_free_ char *text = NULL;

		if (word)
			fl_buf_printf(&b, "/%s=%s", params[i].name, word);
		if (word || v == params[i].def)
			continue;
		text = params[i].take == take_size ?
			       size_text(v) :
			       fl_asprintf("%lld", (long long)v);
		fl_buf_printf(&b, "/%s=%s", params[i].name, text);
	}
	return fl_buf_steal(&b);
}

/* A word that is the default is left out: it names no other case. */
static void drop_default(json_t *p, const char *key, const char *word)
{
	if (!strcmp(fl_json_str_or(p, key, ""), word))
		json_object_del(p, key);
}

/* Parameters that contradict each other, or the program. */
static int check_case(const json_t *p, const char *path, struct fl_err *err)
{
	const char *name = fl_json_str_or(p, "program", "");
	const char *fs = fl_json_str_or(p, "fs", NULL);
	unsigned is = find_program(name)->is;
	bool tmpfs = fs && !strcmp(fs, "tmpfs");

	if (!(is & FILE_NEEDED) && fs)
		return FL_JOB_BAD(err, path,
				  "'%s' uses no file: leave \"fs\" out", name);
	if (is & DISK && tmpfs)
		return FL_JOB_BAD(
			err, path,
			"'%s' needs \"fs\" ext4 or xfs: pages of a tmpfs have nowhere to go without swap",
			name);
	if (is & ALONE && strcmp(fl_json_str_or(p, "mode", ""), "process") != 0)
		return FL_JOB_BAD(
			err, path,
			"'%s' copies the memory of all threads: use \"mode\" process",
			name);
	if (!json_object_get(p, "cache"))
		;
	else if (!(is & CACHE))
		return FL_JOB_BAD(
			err, path,
			"'%s' does not fault on a file: leave \"cache\" out",
			name);
	else if (tmpfs)
		return FL_JOB_BAD(
			err, path,
			"\"cache\" dropped needs \"fs\" ext4 or xfs: tmpfs has no major faults without swap");
	if (json_object_get(p, "thp") && fs && !tmpfs)
		return FL_JOB_BAD(
			err, path,
			"\"thp\" says nothing of files on %s: it is for anonymous memory and tmpfs",
			fs);
	return 0;
}

int fl_job_params_settle(json_t *p, const char *path, struct fl_err *err)
{
	unsigned is = find_program(fl_json_str_or(p, "program", ""))->is;

	if (is & FILE_NEEDED && !json_object_get(p, "fs"))
		json_object_set_new(p, "fs",
				    json_string(is & DISK ? "ext4" :
							    file_systems[0]));
	drop_default(p, "pin", pins[0]);
	drop_default(p, "cache", caches[0]);
	return check_case(p, path, err);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* See fake.h. Noise is a function of image, boot and case: it repeats. */
#include "fake.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include "../util/fs.h"
#include "../util/json.h"
#include "host.h"

#define MAX_KERNEL 65536
#define WALL_SAMPLES 3

static double option(const struct fl_host *h, const char *key, double d)
{
	const char *s = fl_json_str_or(h->options, key, NULL);

	return s ? strtod(s, NULL) : d;
}

static void nap(double seconds)
{
	struct timespec ts = { (time_t)seconds,
			       (long)((seconds - floor(seconds)) * 1e9) };

	nanosleep(&ts, NULL);
}

/* The last word of the last line that starts with key; "" when none. */
static void setting(const char *text, const char *key, char *out, size_t n)
{
	size_t len = strlen(key);

	*out = '\0';
	for (const char *p = text; *p;) {
		const char *end = strchrnul(p, '\n');

		if (!strncmp(p, key, len) && p[len] == ' ')
			snprintf(out, n, "%.*s", (int)(end - p - (long)len - 1),
				 p + len + 1);
		p = *end ? end + 1 : end;
	}
}

static int value_of(const char *text, const char *name, double *ret)
{
	_cleanup_strv_ struct fl_strv lines = { 0 };
	int r = -ENOENT;

	fl_strv_split(&lines, text, "\n");
	for (size_t i = 0; i < lines.n; i++) {
		char pattern[256];
		double v;

		if (sscanf(lines.s[i], "value %255s %lf", pattern, &v) == 2 &&
		    !fnmatch(pattern, name, 0)) {
			*ret = v;
			r = 0;
		}
	}
	return r;
}

int fl_fake_build(const struct fl_build *b, struct fl_build_result *ret,
		  struct fl_err *err)
{
	_cleanup_free_ char *image = fl_path_join(b->dir, "bzImage");
	_cleanup_free_ char *deps = fl_path_join(b->dir, "deps");
	_cleanup_free_ char *config = fl_path_join(b->dir, "config");
	_cleanup_free_ char *log = fl_path_join(b->dir, "build.log");
	_cleanup_buf_ struct fl_buf text = { 0 };
	char how[64];
	int r = fl_git_read_file(b->git, b->sha, FL_FAKE_FILE, MAX_KERNEL,
				 &text, err);

	if (r < 0)
		return r;
	*ret = (struct fl_build_result){ .outcome = FL_BUILD_BUILT,
					 .make_s = 0.01 };
	setting(fl_buf_str(&text), "build", how, sizeof(how));
	if (!strcmp(how, "fail") || !strcmp(how, "hang")) {
		ret->outcome = !strcmp(how, "fail") ? FL_BUILD_FAILED :
						      FL_BUILD_TIMEOUT;
		ret->reason =
			fl_asprintf("%s: error: told to %s", FL_FAKE_FILE, how);
		return fl_fs_write(log, ret->reason, strlen(ret->reason), err);
	}
	ret->reason = fl_strdup("");
	ret->release = fl_strdup("fake");
	ret->compiler = fl_strdup("fake");
	fl_hash_bytes(fl_buf_str(&text), text.len, ret->image_hash);
	fl_hash_bytes("", 0, ret->config_hash);
	r = fl_fs_write(image, fl_buf_str(&text), text.len, err);
	if (!r)
		r = fl_fs_write(deps, FL_FAKE_FILE "\n",
				strlen(FL_FAKE_FILE "\n"), err);
	if (!r)
		r = fl_fs_write(config, "", 0, err);
	if (!r)
		r = fl_fs_write(log, "built\n", 6, err);
	return r;
}

/* A standard normal number that depends on the bytes of key alone. */
static double gauss(const char *key)
{
	char hex[FL_HASH_HEX], part[14] = "";
	double u[2];

	fl_hash_bytes(key, strlen(key), hex);
	for (int i = 0; i < 2; i++) {
		memcpy(part, hex + 13 * i, 13);
		u[i] = ((double)strtoull(part, NULL, 16) + 0.5) / 0x1p52;
	}
	return sqrt(-2 * log(u[0])) * cos(2 * M_PI * u[1]);
}

/* A program of others prints the value for each of its KPIs. */
static json_t *exec_kpis(const struct fl_case *c, const json_t *values)
{
	json_t *kpis = json_object(), *v;
	size_t i;

	json_array_foreach(json_object_get(c->params, "kpis"), i, v)
		json_object_set_new(kpis, fl_json_str_or(v, "name", ""),
				    json_copy((json_t *)values));
	return kpis;
}

static json_t *measure(const struct fl_boot *b, const char *image,
		       const struct fl_case *c)
{
	double noise = option(b->host, "fake-noise", 0), v;
	json_t *values = json_array(), *one = json_array(), *kpis;
	bool exact = b->host->clock == FL_CLOCK_EXACT;
	const char *primary =
		fl_kpi_primary(fl_clock_kind_str(b->host->clock), c->params);
	_cleanup_free_ char *key = NULL;
	char hash[FL_HASH_HEX];

	if (value_of(image, c->name, &v) < 0) {
		json_decref(values);
		json_decref(one);
		return json_pack("{s:s, s:s, s:s, s:{}}", "case", c->name,
				 "status", "failed", "reason",
				 "the fake kernel has no value for it", "kpis");
	}
	fl_hash_bytes(image, strlen(image), hash);
	key = fl_asprintf("%s %s %u %d", hash, c->name, b->perturb, b->isa);
	for (int i = 0; i < (exact ? 1 : WALL_SAMPLES); i++)
		json_array_append_new(values,
				      json_real(v * exp(noise * gauss(key))));
	json_array_append_new(one, json_real(1));
	if (fl_case_is_exec(c->params)) {
		kpis = exec_kpis(c, values);
		json_decref(values);
		json_decref(one);
		return json_pack("{s:s, s:s, s:s, s:o}", "case", c->name,
				 "status", "done", "reason", "", "kpis", kpis);
	}
	kpis = json_pack("{s:o, s:o}", primary, values, "minor_faults_per_op",
			 one);
	return json_pack("{s:s, s:s, s:s, s:o}", "case", c->name, "status",
			 "done", "reason", "", "kpis", kpis);
}

static int fake_boot(const struct fl_boot *b, struct fl_boot_result *ret,
		     struct fl_err *err)
{
	_cleanup_free_ char *console = fl_path_join(b->dir, "console.log");
	_cleanup_buf_ struct fl_buf image = { 0 };
	char how[64];
	int r = fl_fs_read(b->image, MAX_KERNEL, &image, err);

	if (r < 0)
		return r;
	nap(option(b->host, "fake-delay", 0));
	setting(fl_buf_str(&image), "boot", how, sizeof(how));
	r = fl_outcome_parse(*how && strcmp(how, "ok") ? how : "done");
	*ret = (struct fl_boot_result){
		.outcome = r < 0 ? FL_RUN_NO_BOOT : (enum fl_outcome)r,
		.reason =
			fl_asprintf("%s%s", r ? "told to " : "", r ? how : ""),
		.cases = json_array(),
		.env = json_pack("{s:s, s:s, s:i, s:i}", "release", "fake",
				 "cpu_model", "fake", "cpus", 1, "memory_mb",
				 (int)b->host->memory_mb),
		.boot_s = 0.01,
		.total_s = 0.02,
	};
	if (b->profile_ns)
		ret->profiles = json_array();
	for (size_t i = 0; i < b->ncases; i++) {
		if (b->profile_ns && ret->outcome == FL_RUN_DONE)
			json_array_append_new(
				ret->profiles,
				fl_fake_profile(fl_buf_str(&image),
						b->cases[i]->name,
						b->profile_ns));
		json_array_append_new(
			ret->cases,
			ret->outcome == FL_RUN_DONE ?
				measure(b, fl_buf_str(&image), b->cases[i]) :
				json_pack("{s:s, s:s, s:s, s:{}}", "case",
					  b->cases[i]->name, "status", "lost",
					  "reason", ret->reason, "kpis"));
	}
	return fl_fs_write(console, ret->reason, strlen(ret->reason), err);
}

static int fake_recipe(const struct fl_host *host, enum fl_isa isa,
		       json_t **ret, struct fl_err *err _unused_)
{
	*ret = json_pack("{s:s, s:s, s:i}", "driver", "fake", "clock",
			 fl_clock_kind_str(host->clock), "isa", (int)isa);
	return 0;
}

static int fake_check(const struct fl_host *host _unused_,
		      struct fl_err *err _unused_)
{
	return 0;
}

const struct fl_host_ops fl_host_fake = {
	.name = "fake",
	.builder = "fake",
	.recipe = fake_recipe,
	.check = fake_check,
	.boot = fake_boot,
};

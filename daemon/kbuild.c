// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One build: checkout, config, make, results (see kbuild.h). A slot holds
 *
 *   src, src.state   the work tree, moved between commits
 *   out              the O= folder; the tree's own code writes there, so
 *                    nothing in it is followed or trusted
 *   building         there while make runs: found later, make was killed
 *   config.key       what out/.config was made from
 *   config.merged    base and fragments, input of olddefconfig
 *   steps            how many lines of work the last build logged
 */
#include "kbuild-internal.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include "sys/proc.h"
#include "util/clock.h"

#define MAX_TEXT (4 << 20)
#define MAX_IMAGE ((off_t)512 << 20)
#define FIRST_STEPS 1350 /* lines of work of a small config from nothing */
#define NEXT_STEPS 75 /* and after a change to one file */

const char *fl_build_outcome_str(enum fl_build_outcome o)
{
	static const char *const names[] = { "built", "failed", "timeout" };

	return names[o];
}

int fl_build_outcome_parse(const char *s)
{
	for (int o = FL_BUILD_BUILT; o <= FL_BUILD_TIMEOUT; o++)
		if (!strcmp(s, fl_build_outcome_str(o)))
			return o;
	return -EINVAL;
}

void fl_build_result_clear(struct fl_build_result *r)
{
	free(r->reason);
	free(r->release);
	free(r->compiler);
	*r = (struct fl_build_result){ 0 };
}

int fl_kbuild_compiler(char **ret, struct fl_err *err)
{
	/* As the sandbox sees it: its PATH, not ours. */
	char *const argv[] = { (char *)"env",
			       (char *)"-i",
			       (char *)"LC_ALL=C",
			       (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
			       (char *)"gcc",
			       (char *)"--version",
			       NULL };
	_cleanup_buf_ struct fl_buf out = { 0 };
	int r = fl_proc_capture(argv, 1 << 16, &out, err);

	if (r < 0)
		return fl_err_prefix(err, "no compiler for kernels");
	*ret = fl_strndup(fl_buf_str(&out), strcspn(fl_buf_str(&out), "\n"));
	return 0;
}

static void job_clear(struct fl_kjob *j)
{
	free(j->slot);
	free(j->src);
	free(j->out);
	free(j->log);
	free(j->ccache);
	fl_kopts_clear(&j->wanted);
	fl_kopts_clear(&j->needed);
}

static char *in_slot(const struct fl_kjob *j, const char *name)
{
	return fl_path_join(j->slot, name);
}

/* Nothing runs in out while we look, so looking first is enough. */
char *fl_kjob_out_file(const struct fl_kjob *j, const char *name, int64_t max)
{
	_cleanup_free_ char *path = fl_path_join(j->out, name);
	char real[PATH_MAX];
	struct stat st;

	if (!realpath(path, real) || strcmp(real, path) != 0 ||
	    lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > max)
		return NULL;
	return fl_steal(path);
}

/* A make that succeeds without its product is the tree's fault. */
static int left_nothing(struct fl_kjob *j, const char *name)
{
	j->ret->outcome = FL_BUILD_FAILED;
	j->ret->reason = fl_asprintf("make succeeded but left no '%s'", name);
	return 0;
}

int fl_kjob_read_out(struct fl_kjob *j, const char *name, struct fl_buf *text)
{
	_cleanup_free_ char *path = fl_kjob_out_file(j, name, MAX_TEXT);
	int r;

	if (!path)
		return left_nothing(j, name);
	r = fl_fs_read(path, MAX_TEXT, text, j->err);
	return r < 0 ? r : 1;
}

static int real_path(const char *path, char **ret, struct fl_err *err)
{
	*ret = realpath(path, NULL);
	if (!*ret)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot find '%s': %s", path,
				  strerror(errno));
	return 0;
}

static int prepare_cache(struct fl_kjob *j)
{
	int r;

	if (!j->b->ccache_dir || access("/usr/bin/ccache", X_OK))
		return 0;
	r = fl_fs_mkdirs(j->b->ccache_dir, j->err);
	return r < 0 ? r : real_path(j->b->ccache_dir, &j->ccache, j->err);
}

static int prepare(struct fl_kjob *j)
{
	_cleanup_free_ char *dir = NULL;
	int r = fl_fs_mkdirs(j->b->slot, j->err);

	if (!r)
		r = real_path(j->b->slot, &j->slot, j->err);
	if (!r)
		r = real_path(j->b->dir, &dir, j->err);
	if (r < 0)
		return r;
	j->log = fl_path_join(dir, "build.log");
	j->src = in_slot(j, "src");
	j->out = in_slot(j, "out");
	r = fl_fs_mkdirs(j->out, j->err);
	if (!r)
		r = prepare_cache(j);
	if (!r)
		r = fl_kconfig_wanted(&j->b->config, &j->wanted, j->err);
	if (!r)
		r = fl_kconfig_needed(&j->b->config, &j->needed, j->err);
	if (j->b->timeout_s > 0)
		j->deadline_ms =
			fl_clock_mono_ms() + (int64_t)(j->b->timeout_s * 1000);
	unlink(j->log);
	return r;
}

static void checkout_progress(const char *unit _unused_, uint64_t done,
			      uint64_t total, void *arg)
{
	const struct fl_kjob *j = arg;

	if (j->b->progress)
		j->b->progress("checkout",
			       total ? (double)done / (double)total : 0,
			       j->b->arg);
}

static int checkout(struct fl_kjob *j)
{
	int64_t start = fl_clock_mono_ms();
	int r = fl_git_checkout(j->b->git, j->b->sha, j->src, checkout_progress,
				j, j->err);

	j->ret->checkout_s = (double)(fl_clock_mono_ms() - start) / 1000;
	return r;
}

/* make's own words go to the log; what they mean goes to the result. */
static int take_failure(struct fl_kjob *j, enum fl_kmake_end end)
{
	_cleanup_buf_ struct fl_buf log = { 0 };
	_cleanup_free_ char *trouble = NULL;
	int r;

	if (end == FL_KMAKE_TIMEOUT) {
		char span[32];

		j->ret->outcome = FL_BUILD_TIMEOUT;
		fl_clock_span(j->b->timeout_s, span, sizeof(span));
		j->ret->reason =
			fl_asprintf("make did not end within %s", span);
		return 0;
	}
	r = fl_fs_read_tail(j->log, 4 << 20, &log, j->err);
	if (r < 0)
		return r;
	trouble = fl_kbuild_machine_trouble(fl_buf_str(&log));
	if (trouble)
		return fl_err_set(j->err, -EIO, FL_E_INFRA,
				  "cannot build here: %s", trouble);
	j->ret->outcome = FL_BUILD_FAILED;
	j->ret->reason = fl_kbuild_first_error(fl_buf_str(&log));
	return 0;
}

int fl_kjob_make(struct fl_kjob *j, const char *step, unsigned int expected,
		 const char *config, const char *target)
{
	_cleanup_free_ char *command = fl_asprintf(
		"%sexec make -C " FL_KBUILD_SRC " O=" FL_KBUILD_OUT
		" -j%d%s %s",
		config ? "cp /build/config .config && " : "",
		j->b->jobs > 0 ? j->b->jobs : 1,
		j->ccache ? " CC='ccache gcc' HOSTCC='ccache gcc'" : "",
		target);
	struct fl_kmake m = { .b = j->b,
			      .src = j->src,
			      .out = j->out,
			      .ccache = j->ccache,
			      .config = config,
			      .log = j->log,
			      .deadline_ms = j->deadline_ms,
			      .step = step,
			      .expected = expected };
	enum fl_kmake_end end;
	int r = fl_kmake_run(&m, command, &end, j->err);

	j->lines = m.lines;
	if (r < 0)
		return r;
	return end == FL_KMAKE_OK ? 1 : take_failure(j, end);
}

static unsigned int expected_steps(const struct fl_kjob *j)
{
	_cleanup_free_ char *path = in_slot(j, "steps");
	_cleanup_buf_ struct fl_buf text = { 0 };
	unsigned long n;

	if (fl_fs_read(path, 64, &text, NULL) < 0)
		return FIRST_STEPS;
	n = strtoul(fl_buf_str(&text), NULL, 10);
	return n >= 10 && n < FIRST_STEPS / 2 ? (unsigned int)n : NEXT_STEPS;
}

static void save_steps(const struct fl_kjob *j)
{
	_cleanup_free_ char *path = in_slot(j, "steps");
	_cleanup_free_ char *text = fl_asprintf("%u\n", j->lines);

	fl_fs_write(path, text, strlen(text), NULL);
}

/* Copies name out of the build folder; returns like fl_kjob_make(). */
static int take(struct fl_kjob *j, const char *name, const char *as)
{
	_cleanup_free_ char *from = fl_kjob_out_file(j, name, MAX_IMAGE);
	_cleanup_free_ char *to = fl_path_join(j->b->dir, as);
	int r;

	if (!from)
		return left_nothing(j, name);
	r = fl_fs_copy(from, to, j->err);
	return r < 0 ? r : 1;
}

static int take_results(struct fl_kjob *j)
{
	_cleanup_free_ char *image = fl_path_join(j->b->dir, "bzImage");
	_cleanup_free_ char *deps = fl_path_join(j->b->dir, "deps");
	_cleanup_buf_ struct fl_buf text = { 0 };
	int r = take(j, "arch/x86/boot/bzImage", "bzImage");

	if (r > 0)
		r = take(j, "System.map", "System.map");
	if (r > 0)
		r = fl_kjob_read_out(j, "include/config/kernel.release", &text);
	if (r <= 0)
		return r;
	j->ret->release =
		fl_strndup(fl_buf_str(&text), strcspn(fl_buf_str(&text), "\n"));
	r = fl_hash_file(image, j->ret->image_hash, j->err);
	return r < 0 ? r : fl_kbuild_write_deps(j->out, deps, j->err);
}

/* The final .config, which explains a failure as well (if there is one). */
static int take_config(struct fl_kjob *j)
{
	_cleanup_free_ char *from = fl_kjob_out_file(j, ".config", MAX_TEXT);
	_cleanup_free_ char *to = fl_path_join(j->b->dir, "config");
	_cleanup_buf_ struct fl_buf text = { 0 };
	int r = from ? fl_fs_read(from, MAX_TEXT, &text, j->err) : 0;

	if (r < 0 || !from)
		return r;
	fl_hash_bytes(fl_buf_str(&text), text.len, j->ret->config_hash);
	j->ret->compiler =
		fl_kconfig_value(fl_buf_str(&text), "CONFIG_CC_VERSION_TEXT");
	return fl_fs_write(to, fl_buf_str(&text), text.len, j->err);
}

/* config and make, between the marks of a build that is under way. */
static int build(struct fl_kjob *j)
{
	_cleanup_free_ char *mark = in_slot(j, "building");
	int64_t start = fl_clock_mono_ms();
	int r = fl_kbuild_repair(j->out, mark, j->err), k;

	if (!r)
		r = fl_fs_write(mark, "", 0, j->err);
	if (r < 0)
		return r;
	r = fl_kjob_configure(j);
	if (r > 0)
		r = fl_kjob_make(j, "build", expected_steps(j), NULL,
				 "bzImage");
	j->ret->make_s = (double)(fl_clock_mono_ms() - start) / 1000;
	if (r < 0 || j->ret->outcome == FL_BUILD_TIMEOUT)
		return r; /* the mark stays: make was killed, or may have been */
	unlink(mark);
	k = take_config(j);
	if (!k)
		k = fl_kjob_save_config_key(j);
	if (k < 0)
		return k;
	if (r > 0)
		save_steps(j);
	return r;
}

int fl_kbuild(const struct fl_build *b, struct fl_build_result *ret,
	      struct fl_err *err)
{
	_cleanup_(job_clear) struct fl_kjob j = { .b = b,
						  .ret = ret,
						  .err = err };
	int r;

	*ret = (struct fl_build_result){ .outcome = FL_BUILD_BUILT };
	r = prepare(&j);
	if (!r)
		r = checkout(&j);
	if (!r)
		r = build(&j);
	if (r > 0)
		r = take_results(&j);
	if (r < 0)
		return r;
	if (!ret->reason)
		ret->reason = fl_strdup("");
	return 0;
}

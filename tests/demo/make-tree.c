// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * make-demo-tree: makes the demo's git repository out of Debian's kernel
 * source package. The tarball is read once and streamed into git
 * fast-import; the repository appears by rename when all of it is there.
 * OUT.git/planted tells tests the truth: one "role sha subject" a line.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include "demo.h"
#include "import.h"
#include "../../daemon/sys/proc.h"
#include "../../daemon/util/fs.h"
#include "../../daemon/util/log.h"
#include "../../daemon/util/strv.h"

#define PACKAGE "linux-source-6.12"

static const char usage_text[] =
	"usage: make-demo-tree [--seed N] [--without regression|gain|both]\n"
	"                      [--source TARBALL] OUT.git\n"
	"Makes a small kernel history out of " PACKAGE " for the demo.\n"
	"A seed (default 1) draws where its commits lie.\n";

/* The package's tarball, "" when it is not installed; heap. */
static char *find_source(void)
{
	glob_t g = { 0 };
	char *ret = NULL;

	if (!glob("/usr/src/" PACKAGE "*.tar.*", 0, NULL, &g) && g.gl_pathc)
		ret = fl_strdup(g.gl_pathv[g.gl_pathc - 1]);
	globfree(&g);
	return ret ? ret : fl_strdup("");
}

static int run_git(struct fl_strv *argv, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf out = { 0 };

	return fl_proc_capture(argv->s, 1 << 20, &out, err);
}

static int init_repo(const char *dir, struct fl_err *err)
{
	_cleanup_strv_ struct fl_strv argv = { 0 };

	fl_strv_addl(&argv, "git", "init", "--quiet", "--bare",
		     "--initial-branch=master", dir, NULL);
	return run_git(&argv, err);
}

static int start_import(const char *dir, const char *log, pid_t *pid,
			FILE **ret, struct fl_err *err)
{
	_cleanup_strv_ struct fl_strv argv = { 0 };
	struct fl_proc_spec spec = { .log = log };
	int p[2], r;

	if (pipe2(p, O_CLOEXEC) < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot make a pipe: %s", strerror(errno));
	fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
	/* Speed, not size: the tree lives for a demo. */
	fl_strv_addl(&argv, "git", "-c", "core.compression=1", "-c",
		     "pack.compression=1", NULL);
	fl_strv_addf(&argv, "--git-dir=%s", dir);
	fl_strv_addl(&argv, "fast-import", "--quiet", "--done", "--depth=0",
		     NULL);
	fl_strv_addf(&argv, "--export-marks=%s/marks", dir);
	spec.argv = argv.s;
	spec.stdin_fd = p[0];
	r = fl_proc_spawn(&spec, pid, err);
	close(p[0]);
	if (r < 0) {
		close(p[1]);
		return r;
	}
	*ret = fdopen(p[1], "w");
	if (!*ret)
		abort();
	setvbuf(*ret, NULL, _IOFBF, 1 << 20);
	return 0;
}

static int wait_import(pid_t pid, const char *log, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf text = { 0 };
	int status = demo_wait(pid);

	if (!status)
		return 0;
	fl_fs_read_tail(log, 400, &text, NULL);
	return fl_err_set(err, -EIO, FL_E_INFRA,
			  "'git fast-import' failed (status %d): %s", status,
			  fl_buf_str(&text));
}

/* Reads <dir>/marks (":MARK SHA" lines) and writes <dir>/planted. */
static int write_planted(const char *dir, const struct demo_import *im,
			 struct fl_err *err)
{
	_cleanup_free_ char *marks = fl_asprintf("%s/marks", dir);
	_cleanup_free_ char *planted = fl_asprintf("%s/planted", dir);
	_cleanup_buf_ struct fl_buf text = { 0 }, out = { 0 };
	int r = fl_fs_read(marks, 64 << 20, &text, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < im->plan.n; i++) {
		const struct demo_change *c = &im->plan.commits[i].change;
		_cleanup_free_ char *key =
			fl_asprintf("\n:%u ", demo_import_mark(im, (int)i));
		const char *hit = strstr(fl_buf_str(&text), key);

		if (!hit)
			return fl_err_set(err, -EIO, FL_E_BUG,
					  "git did not report '%s'",
					  c->subject);
		fl_buf_printf(&out, "%s %.40s %s\n", demo_role_str(c->role),
			      hit + strlen(key), c->subject);
	}
	unlink(marks);
	fputs(fl_buf_str(&out), stdout);
	return fl_fs_write(planted, out.s, out.len, err);
}

static int make(const char *source, const struct demo_options *opt,
		const char *out, struct fl_err *err)
{
	_cleanup_free_ char *dir = fl_asprintf("%s.tmp", out);
	_cleanup_free_ char *log = fl_asprintf("%s.tmp/import.log", out);
	_cleanup_(demo_import_clear) struct demo_import im = { .opt = *opt };
	pid_t pid = -1;
	int r, w;

	r = fl_fs_remove(dir, err);
	if (!r)
		r = init_repo(dir, err);
	if (!r)
		r = start_import(dir, log, &pid, &im.out, err);
	if (r < 0)
		return r;
	r = demo_import_source(&im, source, err);
	if (!r)
		r = demo_import_history(&im, err);
	fclose(fl_steal(im.out));
	/* When git died, what it said explains more than our broken pipe. */
	w = wait_import(pid, log, r && r != -EPIPE ? NULL : err);
	if (!r)
		r = w;
	if (!r)
		r = write_planted(dir, &im, err);
	if (!r) {
		unlink(log);
		if (rename(dir, out) < 0)
			r = fl_err_set(err, -errno, FL_E_INFRA,
				       "cannot rename '%s' to '%s': %s", dir,
				       out, strerror(errno));
	}
	if (r < 0)
		fl_fs_remove(dir, NULL);
	return r;
}

static int parse_without(const char *s, struct demo_options *opt)
{
	bool both = !strcmp(s, "both");

	opt->without_regression = both || !strcmp(s, "regression");
	opt->without_gain = both || !strcmp(s, "gain");
	return opt->without_regression || opt->without_gain ? 0 : -EINVAL;
}

static int parse(int argc, char **argv, struct demo_options *opt, char **source)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "without", required_argument, NULL, 'w' },
		{ "source", required_argument, NULL, 'S' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case 's':
			errno = 0;
			opt->seed = strtoull(optarg, &end, 10);
			if (errno || *end || *optarg < '0' || *optarg > '9') {
				fl_error("--seed '%s' is not a number", optarg);
				return -EINVAL;
			}
			break;
		case 'w':
			if (parse_without(optarg, opt) < 0) {
				fl_error(
					"--without '%s': expected regression, gain or both",
					optarg);
				return -EINVAL;
			}
			break;
		case 'S':
			free(*source);
			*source = fl_strdup(optarg);
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		default:
			return -EINVAL;
		}
	}
	return argc - optind == 1 ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	_cleanup_free_ char *source = find_source();
	struct demo_options opt = { .seed = 1 };
	struct fl_err err = { 0 };
	int r;

	if (parse(argc, argv, &opt, &source) < 0) {
		fputs(usage_text, stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN); /* git's own message is the better one */
	/* The ids must not depend on anyone's git configuration. */
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	if (!*source)
		r = fl_err_set(
			&err, -ENOENT, FL_E_USER,
			"no kernel source in '/usr/src': apt install " PACKAGE);
	else if (fl_fs_exists(argv[optind]))
		r = fl_err_set(&err, -EEXIST, FL_E_USER,
			       "'%s' exists already: remove it first",
			       argv[optind]);
	else
		r = make(source, &opt, argv[optind], &err);
	fl_progress_end();
	if (r < 0)
		fl_error("%s", err.text);
	return r < 0 ? 1 : 0;
}

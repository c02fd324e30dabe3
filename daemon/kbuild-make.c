// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs make for a build slot in the sandbox, where the slot always has the
 * same paths: they enter neither the image nor the compiler cache's keys.
 * The source is read-only there; only the build folder (and the cache) can be
 * written. While make runs, its log is followed for progress.
 */
#include "kbuild-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "sys/proc.h"
#include "sys/sandbox.h"
#include "util/clock.h"

#define CCACHE_INSIDE "/build/ccache"
#define MAX_LOG ((off_t)64 << 20)
#define POLL_MS 300

/* The same source gives the same image: nothing of here and now enters. */
static const char *const build_env[] = {
	"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/tmp",
	"LC_ALL=C",
	"TZ=UTC",
	"KBUILD_BUILD_TIMESTAMP=2026-01-01",
	"KBUILD_BUILD_USER=faultline",
	"KBUILD_BUILD_HOST=faultline",
	"KBUILD_BUILD_VERSION=1",
	"LOCALVERSION=", /* no "+" after a release */
};

static void sandbox_argv(const struct fl_kmake *m, const char *command,
			 struct fl_strv *argv)
{
	struct fl_sandbox s = { .dir = FL_KBUILD_OUT };

	for (size_t i = 0; i < FL_ARRAY_SIZE(build_env); i++)
		fl_strv_add(&s.env, build_env[i]);
	/*
	 * Never in depend mode, although it is cheaper: it does not see
	 * .incbin and returned another build's piggy.o, hence its kernel. A
	 * namespace keeps out what such a cache may hold already.
	 */
	if (m->ccache)
		fl_strv_addl(&s.env, "CCACHE_DIR=" CCACHE_INSIDE,
			     "CCACHE_COMPILERCHECK=content",
			     "CCACHE_NODEPEND=1", "CCACHE_NAMESPACE=faultline",
			     NULL);
	fl_sandbox_argv(&s, argv);
	fl_sandbox_clear(&s);
	/* The sandbox binds paths as they are; these go in before its "--". */
	free(argv->s[--argv->n]);
	argv->s[argv->n] = NULL;
	fl_strv_addl(argv, "--ro-bind", m->src, FL_KBUILD_SRC, "--bind", m->out,
		     FL_KBUILD_OUT, NULL);
	if (m->config)
		fl_strv_addl(argv, "--ro-bind", m->config, "/build/config",
			     NULL);
	if (m->ccache)
		fl_strv_addl(argv, "--bind", m->ccache, CCACHE_INSIDE, NULL);
	fl_strv_addl(argv, "--", "/bin/sh", "-c", command, NULL);
}

/* Lines of work look like "  CC      mm/memory.o". */
static unsigned int count_work(const char *s, size_t n, bool *at_start)
{
	unsigned int lines = 0;

	for (size_t i = 0; i < n; i++) {
		lines += *at_start && s[i] == ' ';
		*at_start = s[i] == '\n';
	}
	return lines;
}

/* Reads what the log grew by since pos. */
static void follow_log(struct fl_kmake *m, int fd, off_t *pos, bool *at_start)
{
	char chunk[65536];
	ssize_t n;

	while ((n = pread(fd, chunk, sizeof(chunk), *pos)) > 0) {
		m->lines += count_work(chunk, (size_t)n, at_start);
		*pos += n;
	}
}

static void report(const struct fl_kmake *m)
{
	double share = m->expected ? (double)m->lines / m->expected : 0;

	if (m->b->progress)
		m->b->progress(m->step, share < 0.99 ? share : 0.99, m->b->arg);
}

/* 1 = ended (status is set), 0 = out of time, negative errno. */
static int watch(struct fl_kmake *m, pid_t pid, int log, int *status)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	off_t pos = lseek(log, 0, SEEK_END);
	bool at_start = true;

	for (;;) {
		struct pollfd p = { .fd = pidfd, .events = POLLIN };
		int n = poll(&p, 1, POLL_MS);

		if (n < 0 && errno != EINTR)
			return -errno;
		follow_log(m, log, &pos, &at_start);
		report(m);
		if (n > 0) {
			while (waitpid(pid, status, 0) < 0)
				if (errno != EINTR)
					return -errno;
			return 1;
		}
		if (m->deadline_ms && fl_clock_mono_ms() >= m->deadline_ms)
			return 0;
		if (pos > MAX_LOG)
			return -EFBIG;
	}
}

int fl_kmake_run(struct fl_kmake *m, const char *command,
		 enum fl_kmake_end *ret, struct fl_err *err)
{
	_cleanup_strv_ struct fl_strv argv = { 0 };
	_cleanup_close_ int log = -1;
	struct fl_proc_spec spec = { .log = m->log };
	int status = 0, r;
	pid_t pid;

	log = open(m->log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (log < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot open '%s': %s", m->log,
				  strerror(errno));
	dprintf(log, "$ %s\n", command);
	sandbox_argv(m, command, &argv);
	spec.argv = argv.s;
	r = fl_proc_spawn(&spec, &pid, err);
	if (r < 0)
		return r;
	r = watch(m, pid, log, &status);
	if (r == 1) {
		*ret = WIFEXITED(status) && !WEXITSTATUS(status) ?
			       FL_KMAKE_OK :
			       FL_KMAKE_FAILED;
		return 0;
	}
	fl_proc_kill(pid, 2000);
	if (r == -EFBIG) {
		dprintf(log,
			"\nfaultline: error: the build log is too large\n");
		*ret = FL_KMAKE_FAILED;
		return 0;
	}
	*ret = FL_KMAKE_TIMEOUT;
	return r < 0 ? fl_err_set(err, r, FL_E_INFRA,
				  "cannot wait for make: %s", strerror(-r)) :
		       0;
}

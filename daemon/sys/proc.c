// SPDX-License-Identifier: GPL-2.0-or-later
/* See proc.h. */
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "../util/clock.h"
#include "../util/fs.h"

#define CAPTURE_TIMEOUT_S 60

/* What a child could not do before it became the program. */
enum child_step { STEP_EXEC, STEP_STDIN, STEP_LOG, STEP_DIR };

struct child_failure {
	int error; /* errno */
	enum child_step step;
};

/* Descriptors 0 to 2; returns false with errno, *step set on failure. */
static bool child_stdio(const struct fl_proc_spec *spec, enum child_step *step)
{
	int fd = spec->stdin_fd;

	*step = STEP_STDIN;
	if (fd <= 0)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || dup2(fd, 0) < 0)
		return false;
	*step = STEP_LOG;
	if (spec->log) {
		fd = open(spec->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			  0666);
		if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
			return false;
	}
	return spec->stdout_fd <= 0 || dup2(spec->stdout_fd, 1) >= 0;
}

static void child_exec(const struct fl_proc_spec *spec, pid_t parent, int fail)
{
	struct child_failure f = { 0 };
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (!child_stdio(spec, &f.step))
		goto fail;
	f.step = STEP_DIR;
	if (spec->dir && chdir(spec->dir) < 0)
		goto fail;
	f.step = STEP_EXEC;
	syscall(SYS_close_range, 3, fail - 1, 0);
	syscall(SYS_close_range, fail + 1, ~0U, 0);
	if (spec->env)
		execvpe(spec->argv[0], spec->argv, spec->env);
	else
		execvp(spec->argv[0], spec->argv);
fail:
	f.error = errno;
	if (write(fail, &f, sizeof(f)) < 0)
		_exit(126);
	_exit(127);
}

/* A pipe whose writing end leaves room for close_range(3, fail - 1). */
static int make_pipe(int fds[2])
{
	int high, e;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	if (fds[1] >= 4)
		return 0;
	high = fcntl(fds[1], F_DUPFD_CLOEXEC, 16);
	e = errno;
	close(fds[1]);
	fds[1] = high;
	if (high >= 0)
		return 0;
	close(fds[0]);
	return -e;
}

static int start_error(const struct fl_proc_spec *spec,
		       const struct child_failure *f, struct fl_err *err)
{
	const char *why = strerror(f->error);

	switch (f->step) {
	case STEP_STDIN:
		why = "cannot open its standard input";
		break;
	case STEP_LOG:
		return fl_err_set(err, -f->error, FL_E_INFRA,
				  "cannot write the log '%s' of '%s': %s",
				  spec->log ? spec->log : "stdout",
				  spec->argv[0], why);
	case STEP_DIR:
		return fl_err_set(err, -f->error, FL_E_INFRA,
				  "cannot enter folder '%s' to start '%s': %s",
				  spec->dir, spec->argv[0], why);
	case STEP_EXEC:
		break;
	}
	return fl_err_set(err, -f->error, FL_E_INFRA, "cannot start '%s': %s",
			  spec->argv[0], why);
}

int fl_proc_spawn(const struct fl_proc_spec *spec, pid_t *ret,
		  struct fl_err *err)
{
	struct child_failure f = { 0 };
	pid_t parent = getpid(), pid;
	int fds[2], r;
	ssize_t n;

	r = make_pipe(fds);
	if (r < 0)
		return fl_err_set(err, r, FL_E_INFRA, "cannot make a pipe: %s",
				  strerror(-r));
	pid = fork();
	if (pid == 0)
		child_exec(spec, parent, fds[1]);
	f.error = pid < 0 ? errno : 0;
	close(fds[1]);
	if (pid > 0) {
		setpgid(pid, pid);
		do
			n = read(fds[0], &f, sizeof(f));
		while (n < 0 && errno == EINTR);
		if (n == (ssize_t)sizeof(f))
			waitpid(pid, NULL, 0);
		else
			f.error = 0; /* it is the program now */
	}
	close(fds[0]);
	if (f.error)
		return start_error(spec, &f, err);
	*ret = pid;
	return 0;
}

static int pidfd_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Waits up to ms (negative: for ever) for the end, without reaping. */
static bool has_ended(int pidfd, int64_t ms)
{
	int64_t end = fl_clock_mono_ms() + ms;

	for (;;) {
		struct pollfd p = { .fd = pidfd, .events = POLLIN };
		int64_t left = end - fl_clock_mono_ms();

		left = ms < 0 || left > INT_MAX ? INT_MAX : left < 0 ? 0 : left;
		if (poll(&p, 1, (int)left) > 0)
			return true;
		if (ms >= 0 && fl_clock_mono_ms() >= end)
			return false;
	}
}

/*
 * Kills the group, then reaps its leader: in this order, because only an
 * unreaped leader keeps the group's id from being given to somebody else.
 */
static int reap(pid_t pid, int *status)
{
	kill(-pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

void fl_proc_kill(pid_t pid, int grace_ms)
{
	_cleanup_close_ int pidfd = grace_ms > 0 ? pidfd_of(pid) : -1;
	int status;

	if (pidfd >= 0) {
		kill(-pid, SIGTERM);
		has_ended(pidfd, grace_ms);
	}
	reap(pid, &status);
}

static void take_status(int status, struct fl_proc_result *ret)
{
	if (WIFSIGNALED(status)) {
		ret->end = FL_PROC_SIGNALED;
		ret->code = WTERMSIG(status);
	} else {
		ret->end = FL_PROC_EXITED;
		ret->code = WEXITSTATUS(status);
	}
}

int fl_proc_run(const struct fl_proc_spec *spec, double timeout_s,
		struct fl_proc_result *ret, struct fl_err *err)
{
	int64_t start = fl_clock_mono_ms();
	int64_t ms = timeout_s > 0 ? (int64_t)(timeout_s * 1000) : -1;
	_cleanup_close_ int pidfd = -1;
	int status = 0, r;
	pid_t pid = 0;

	r = fl_proc_spawn(spec, &pid, err);
	if (r < 0)
		return r;
	pidfd = pidfd_of(pid);
	r = pidfd < 0 ? -errno : 0;
	if (!r && !has_ended(pidfd, ms)) {
		fl_proc_kill(pid, 2000);
		ret->end = FL_PROC_TIMEOUT;
		ret->code = 0;
	} else {
		int reaped = reap(pid, &status); /* kills it after an error */

		r = r ? r : reaped;
		if (r < 0)
			return fl_err_set(err, r, FL_E_INFRA,
					  "cannot wait for '%s': %s",
					  spec->argv[0], strerror(-r));
		take_status(status, ret);
	}
	ret->seconds = (double)(fl_clock_mono_ms() - start) / 1000;
	return 0;
}

/* What the child said last, for the error's text. */
static int capture_error(const char *name, const struct fl_proc_result *res,
			 const char *stderr_path, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf said = { 0 };
	size_t n;

	fl_fs_read_tail(stderr_path, 300, &said, NULL);
	n = said.len;
	while (n && strchr(" \n", said.s[n - 1]))
		said.s[--n] = '\0';
	if (res->end == FL_PROC_TIMEOUT)
		return fl_err_set(err, -ETIMEDOUT, FL_E_INFRA,
				  "'%s' took longer than %d s", name,
				  CAPTURE_TIMEOUT_S);
	return fl_err_set(err, -EIO, FL_E_INFRA, "'%s' failed (%s %d)%s%s",
			  name,
			  res->end == FL_PROC_EXITED ? "exit status" : "signal",
			  res->code, n ? ": " : "", fl_buf_str(&said));
}

int fl_proc_capture(char *const *argv, size_t max, struct fl_buf *out,
		    struct fl_err *err)
{
	_cleanup_close_ int out_fd = memfd_create("stdout", MFD_CLOEXEC);
	_cleanup_close_ int err_fd = memfd_create("stderr", MFD_CLOEXEC);
	_cleanup_buf_ struct fl_buf text = { 0 };
	char out_path[32], err_path[32];
	struct fl_proc_spec spec = { .argv = argv,
				     .log = err_path,
				     .stdout_fd = out_fd };
	struct fl_proc_result res = { 0 };
	int r;

	if (out_fd < 0 || err_fd < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot start '%s': %s", argv[0],
				  strerror(errno));
	snprintf(out_path, sizeof(out_path), "/proc/self/fd/%d", out_fd);
	snprintf(err_path, sizeof(err_path), "/proc/self/fd/%d", err_fd);
	r = fl_proc_run(&spec, CAPTURE_TIMEOUT_S, &res, err);
	if (r < 0)
		return r;
	if (res.end != FL_PROC_EXITED || res.code)
		return capture_error(argv[0], &res, err_path, err);
	r = fl_fs_read(out_path, max, &text, NULL);
	if (!r && !text.len)
		r = fl_fs_read(err_path, max, &text, NULL);
	if (r < 0)
		return fl_err_set(err, r, FL_E_INFRA,
				  "cannot take the output of '%s': %s", argv[0],
				  r == -EFBIG ? "too long" : strerror(-r));
	fl_buf_add(out, fl_buf_str(&text), text.len);
	return 0;
}

char *fl_proc_which(const char *argv0)
{
	_cleanup_strv_ struct fl_strv dirs = { 0 };
	const char *path = getenv("PATH");

	if (strchr(argv0, '/'))
		return access(argv0, X_OK) ? NULL : fl_strdup(argv0);
	fl_strv_split(&dirs, path ? path : "/usr/local/bin:/usr/bin:/bin", ":");
	for (size_t i = 0; i < dirs.n; i++) {
		char *full = fl_path_join(dirs.s[i], argv0);

		if (!access(full, X_OK))
			return full;
		free(full);
	}
	return NULL;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* See proc.h. */
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "../util/clock.h"
#include "../util/fs.h"

static void child_exec(const struct fl_proc_spec *spec, pid_t parent, int fail)
{
	static const char null[] = "/dev/null";
	sigset_t none;
	int fd, e;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	fd = spec->stdin_fd > 0 ? spec->stdin_fd : open(null, O_RDONLY);
	if (fd < 0 || dup2(fd, 0) < 0)
		goto fail;
	if (spec->log) {
		fd = open(spec->log, O_WRONLY | O_CREAT | O_APPEND, 0666);
		if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
			goto fail;
	}
	if (spec->dir && chdir(spec->dir) < 0)
		goto fail;
	syscall(SYS_close_range, 3, fail - 1, 0);
	syscall(SYS_close_range, fail + 1, ~0U, 0);
	if (spec->env)
		execvpe(spec->argv[0], spec->argv, spec->env);
	else
		execvp(spec->argv[0], spec->argv);
fail:
	e = errno;
	if (write(fail, &e, sizeof(e)) < 0)
		_exit(126);
	_exit(127);
}

int fl_proc_spawn(const struct fl_proc_spec *spec, pid_t *ret,
		  struct fl_err *err)
{
	pid_t parent = getpid(), pid;
	int pipefd[2], e = 0;
	ssize_t n;

	if (pipe2(pipefd, O_CLOEXEC) < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot make a pipe: %s", strerror(errno));
	if (pipefd[1] < 4) { /* leaves room for close_range(3, fail - 1) */
		int high = fcntl(pipefd[1], F_DUPFD_CLOEXEC, 16);

		close(pipefd[1]);
		pipefd[1] = high;
	}
	pid = fork();
	if (pid == 0)
		child_exec(spec, parent, pipefd[1]);
	e = pid < 0 ? errno : 0;
	close(pipefd[1]);
	if (pid > 0) {
		setpgid(pid, pid);
		do
			n = read(pipefd[0], &e, sizeof(e));
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			e = 0;
		if (e)
			waitpid(pid, NULL, 0);
	}
	close(pipefd[0]);
	if (e)
		return fl_err_set(err, -e, FL_E_INFRA, "cannot start '%s': %s",
				  spec->argv[0], strerror(e));
	*ret = pid;
	return 0;
}

/* Waits up to ms (negative: for ever); 1 = ended, 0 = still running. */
static int wait_pid(pid_t pid, int pidfd, int64_t ms, int *status)
{
	int64_t end = fl_clock_mono_ms() + ms;

	for (;;) {
		struct pollfd p = { .fd = pidfd, .events = POLLIN };
		int64_t left = end - fl_clock_mono_ms();

		if (ms >= 0 && left < 0)
			left = 0;
		if (poll(&p, 1, ms < 0 ? -1 : (int)left) > 0)
			break;
		if (ms >= 0 && fl_clock_mono_ms() >= end)
			return 0;
	}
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 1;
}

static int pidfd_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

void fl_proc_kill(pid_t pid, int grace_ms)
{
	_cleanup_close_ int pidfd = pidfd_of(pid);
	int status;

	kill(-pid, SIGTERM);
	if (wait_pid(pid, pidfd, grace_ms, &status) == 0) {
		kill(-pid, SIGKILL);
		wait_pid(pid, pidfd, -1, &status);
	}
	kill(-pid, SIGKILL); /* what the leader left behind */
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
	_cleanup_close_ int pidfd = -1;
	int status = 0, r;
	pid_t pid;

	r = fl_proc_spawn(spec, &pid, err);
	if (r < 0)
		return r;
	pidfd = pidfd_of(pid);
	r = wait_pid(pid, pidfd,
		     timeout_s > 0 ? (int64_t)(timeout_s * 1000) : -1, &status);
	if (r == 0) {
		fl_proc_kill(pid, 2000);
		ret->end = FL_PROC_TIMEOUT;
		ret->code = 0;
	} else if (r > 0) {
		take_status(status, ret);
		kill(-pid, SIGKILL);
	} else {
		return fl_err_set(err, r, FL_E_INFRA,
				  "cannot wait for '%s': %s", spec->argv[0],
				  strerror(-r));
	}
	ret->seconds = (double)(fl_clock_mono_ms() - start) / 1000;
	return 0;
}

int fl_proc_capture(char *const *argv, size_t max, struct fl_buf *out,
		    struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf text = { 0 };
	char tmpl[] = "/tmp/faultline-XXXXXX";
	struct fl_proc_result res;
	struct fl_proc_spec spec = { .argv = argv, .log = tmpl };
	int fd = mkstemp(tmpl), r;

	if (fd < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot create '%s': %s", tmpl,
				  strerror(errno));
	close(fd);
	r = fl_proc_run(&spec, 60, &res, err);
	if (!r)
		r = fl_fs_read(tmpl, max, &text, err);
	unlink(tmpl);
	if (r < 0)
		return r;
	if (res.end != FL_PROC_EXITED || res.code)
		return fl_err_set(err, -EIO, FL_E_INFRA,
				  "'%s' failed (%s %d): %.300s", argv[0],
				  res.end == FL_PROC_EXITED ? "exit status" :
							      "signal",
				  res.code, fl_buf_str(&text));
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

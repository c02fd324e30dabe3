// SPDX-License-Identifier: GPL-2.0-or-later
/* Real children: how they start, end, are ended, and what they inherit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../../daemon/sys/proc.h"
#include "../../daemon/util/clock.h"
#include "../../daemon/util/fs.h"

#define DEADLINE_MS 20000

static char *tmp, *log_path;

static struct fl_proc_result run(const char *script, double timeout_s)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct fl_proc_spec spec = { .argv = (char *const *)argv,
				     .dir = tmp,
				     .log = log_path };
	struct fl_proc_result res;
	struct fl_err err = { 0 };

	unlink(log_path);
	if (fl_proc_run(&spec, timeout_s, &res, &err) < 0)
		fail_msg("%s", err.text);
	return res;
}

static char *log_text(void)
{
	struct fl_buf b = { 0 };

	assert_int_equal(fl_fs_read(log_path, 1 << 20, &b, NULL), 0);
	return fl_buf_steal(&b);
}

static void expect_log(const char *want)
{
	_cleanup_free_ char *got = log_text();

	assert_string_equal(got, want);
}

/*
 * Waits until no process of the group is left. Orphans are ours to reap (see
 * make_tmp()): not every container's first process does.
 */
static void expect_group_gone(pid_t group)
{
	int64_t end = fl_clock_mono_ms() + DEADLINE_MS;

	while (kill(-group, 0) == 0 && fl_clock_mono_ms() < end)
		if (waitpid(-group, NULL, WNOHANG) <= 0)
			usleep(1000);
	assert_int_equal(kill(-group, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static pid_t logged_pid(void)
{
	_cleanup_free_ char *text = log_text();

	return (pid_t)strtol(text, NULL, 10);
}

static void exit_codes(void **state _unused_)
{
	struct fl_proc_result r = run("exit 0", 0);

	assert_int_equal(r.end, FL_PROC_EXITED);
	assert_int_equal(r.code, 0);
	r = run("exit 77", 10);
	assert_int_equal(r.end, FL_PROC_EXITED);
	assert_int_equal(r.code, 77);
	r = run("kill -ABRT $$", 10);
	assert_int_equal(r.end, FL_PROC_SIGNALED);
	assert_int_equal(r.code, SIGABRT);
	r = run("sleep 0.05", 10);
	assert_true(r.seconds >= 0.049 && r.seconds < 10);
}

static void log_takes_both_streams(void **state _unused_)
{
	const char *const argv[] = { "echo", "three", NULL };
	struct fl_proc_spec spec = { .argv = (char *const *)argv,
				     .log = log_path };
	struct fl_proc_result res;
	struct fl_err err;

	run("echo one; echo two >&2", 0);
	expect_log("one\ntwo\n");
	assert_int_equal(fl_proc_run(&spec, 0, &res, &err), 0);
	expect_log("one\ntwo\nthree\n");
}

static void dir_env_and_stdin(void **state _unused_)
{
	const char *const argv[] = { "sh", "-c", "pwd; env; cat", NULL };
	const char *const env[] = { "ONLY=this", NULL };
	struct fl_proc_spec spec = { .argv = (char *const *)argv,
				     .dir = "/",
				     .log = log_path,
				     .env = (char *const *)env };
	struct fl_proc_result res;
	struct fl_err err;

	unlink(log_path);
	spec.stdin_fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	assert_true(spec.stdin_fd > 2);
	assert_int_equal(fl_proc_run(&spec, 10, &res, &err), 0);
	close(spec.stdin_fd);
	expect_log("/\nONLY=this\nPWD=/\ntest-proc\n");
}

static void stdin_is_empty_by_default(void **state _unused_)
{
	assert_int_equal(run("cat; readlink /proc/self/fd/0", 10).code, 0);
	expect_log("/dev/null\n");
}

static void missing_things_are_named(void **state _unused_)
{
	static const char *const none[] = { "no-such-program", NULL };
	static const char *const some[] = { "true", NULL };
	struct fl_proc_spec spec = { .argv = (char *const *)none };
	struct fl_err err = { 0 };
	pid_t pid = 42;

	assert_int_equal(fl_proc_spawn(&spec, &pid, &err), -ENOENT);
	assert_string_equal(err.text, "cannot start 'no-such-program': No such "
				      "file or directory");
	spec.argv = (char *const *)some;
	spec.dir = "/no/such/folder";
	assert_int_equal(fl_proc_spawn(&spec, &pid, &err), -ENOENT);
	assert_string_equal(err.text,
			    "cannot enter folder '/no/such/folder' to start "
			    "'true': No such file or directory");
	spec.dir = NULL;
	spec.log = "/no/such/log";
	assert_int_equal(fl_proc_spawn(&spec, &pid, &err), -ENOENT);
	assert_string_equal(err.text,
			    "cannot write the log '/no/such/log' of 'true': No "
			    "such file or directory");
	assert_int_equal(pid, 42);
	assert_int_equal(err.class, FL_E_INFRA);
	/* Nor is a zombie left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void timeout_ends_the_group(void **state _unused_)
{
	struct fl_proc_result r =
		run("echo $$; sleep 1000 & sleep 1000; echo survived", 0.3);

	assert_int_equal(r.end, FL_PROC_TIMEOUT);
	assert_true(r.seconds >= 0.3 && r.seconds < 2);
	expect_group_gone(logged_pid());
}

static void timeout_kills_what_ignores_term(void **state _unused_)
{
	struct fl_proc_result r =
		run("echo $$; trap '' TERM; while :; do sleep 1000; done", 0.2);
	_cleanup_free_ char *text = log_text();

	assert_int_equal(r.end, FL_PROC_TIMEOUT);
	assert_true(r.seconds >= 2.2 && r.seconds < 12);
	expect_group_gone(logged_pid());
}

static void term_comes_first(void **state _unused_)
{
	run("trap 'echo bye; exit 3' TERM; sleep 1000 & wait", 0.3);
	expect_log("bye\n");
}

static void rest_of_the_group_is_killed(void **state _unused_)
{
	struct fl_proc_result r = run("echo $$; sleep 1000 & exit 4", 10);

	assert_int_equal(r.end, FL_PROC_EXITED);
	assert_int_equal(r.code, 4);
	assert_true(r.seconds < 5);
	expect_group_gone(logged_pid());
}

static pid_t spawn(const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct fl_proc_spec spec = { .argv = (char *const *)argv,
				     .log = log_path };
	struct fl_err err;
	pid_t pid;

	unlink(log_path);
	assert_int_equal(fl_proc_spawn(&spec, &pid, &err), 0);
	return pid;
}

static void kill_reaps(void **state _unused_)
{
	int64_t t = fl_clock_mono_ms();
	pid_t pid = spawn("trap '' TERM; sleep 1000 & while :; do wait; done");

	assert_int_equal(getpgid(pid), pid);
	assert_int_not_equal(getpgid(pid), getpgid(0));
	fl_proc_kill(pid, 0);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	expect_group_gone(pid);
	pid = spawn("exec sleep 1000");
	fl_proc_kill(pid, 10000);
	expect_group_gone(pid);
	assert_true(fl_clock_mono_ms() - t < 9000);
}

/* Even what was opened without O_CLOEXEC, low and high. */
static void no_descriptor_leaks(void **state _unused_)
{
	int low = open("/dev/null", O_RDONLY), high = dup2(low, 500);
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC), after;

	assert_true(low > 2 && high == 500);
	close(before);
	run("exec ls /proc/self/fd", 10);
	expect_log("0\n1\n2\n3\n"); /* 3 is the folder itself */
	after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(after, before); /* nor here */
	close(after);
	close(high);
	close(low);
}

static void works_without_standard_streams(void **state _unused_)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		const char *const argv[] = { "sh", "-c", "echo ok; exit 9",
					     NULL };
		struct fl_proc_spec spec = { .argv = (char *const *)argv,
					     .log = log_path };
		struct fl_proc_result res = { 0 };

		close(0);
		close(1);
		close(2);
		unlink(log_path);
		if (fl_proc_run(&spec, 10, &res, NULL) < 0)
			_exit(1);
		_exit(res.code);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 9);
	expect_log("ok\n");
}

static void signals_are_not_inherited(void **state _unused_)
{
	struct fl_proc_result r;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	r = run("kill -TERM $$; exit 1", 10);
	assert_int_equal(r.code, SIGTERM);
	r = run("kill -PIPE $$; exit 1", 10);
	assert_int_equal(r.code, SIGPIPE);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* A parent that is killed cannot clean up: the kernel does. */
static void dies_with_its_parent(void **state _unused_)
{
	int64_t end = fl_clock_mono_ms() + DEADLINE_MS;
	pid_t parent, child = 0;
	int fds[2], status;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	parent = fork();
	if (parent == 0) {
		child = spawn("exec sleep 1000");
		if (write(fds[1], &child, sizeof(child)) < 0)
			_exit(1);
		pause();
		_exit(1);
	}
	assert_int_equal(read(fds[0], &child, sizeof(child)), sizeof(child));
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(kill(child, 0), 0);
	kill(parent, SIGKILL);
	assert_int_equal(waitpid(parent, &status, 0), parent);
	while (waitpid(child, &status, WNOHANG) == 0 &&
	       fl_clock_mono_ms() < end)
		usleep(1000);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

static int capture(const char *script, size_t max, struct fl_buf *out,
		   struct fl_err *err)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	return fl_proc_capture((char *const *)argv, max, out, err);
}

static void captures(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	struct fl_err err = { 0 };

	assert_int_equal(capture("echo out; echo err >&2", 100, &b, &err), 0);
	assert_string_equal(b.s, "out\n");
	assert_int_equal(capture("echo version 1 >&2", 100, &b, &err), 0);
	assert_string_equal(b.s, "out\nversion 1\n");
	assert_int_equal(capture("exit 0", 100, &b, &err), 0);
	assert_int_equal(capture("echo 123456789", 10, &b, &err), 0);
	assert_int_equal(capture("echo 1234567890", 10, &b, &err), -EFBIG);
	assert_string_equal(b.s, "out\nversion 1\n123456789\n");
}

static void captures_say_why(void **state _unused_)
{
	static const char *const none[] = { "no-such-program", NULL };
	_cleanup_buf_ struct fl_buf b = { 0 };
	struct fl_err err = { 0 };

	assert_int_equal(capture("echo out; echo bad luck >&2; exit 3", 100, &b,
				 &err),
			 -EIO);
	assert_string_equal(err.text, "'sh' failed (exit status 3): bad luck");
	assert_int_equal(capture("kill -KILL $$", 100, &b, &err), -EIO);
	assert_string_equal(err.text, "'sh' failed (signal 9)");
	assert_true(capture("seq 1000 >&2; exit 1", 100, &b, &err) < 0);
	assert_string_equal(err.text + strlen(err.text) - 9, "\n999\n1000");
	assert_true(strlen(err.text) < 350);
	assert_true(fl_proc_capture((char *const *)none, 100, &b, &err) < 0);
	assert_non_null(strstr(err.text, "cannot start 'no-such-program'"));
	assert_int_equal(b.len, 0);
}

static void finds_programs(void **state _unused_)
{
	_cleanup_free_ char *sh = fl_proc_which("sh");
	_cleanup_free_ char *full = fl_proc_which("/bin/sh");
	_cleanup_free_ char *old = fl_strdup(getenv("PATH"));

	assert_non_null(sh);
	assert_true(sh[0] == '/');
	assert_string_equal(full, "/bin/sh");
	assert_null(fl_proc_which("no-such-program"));
	assert_null(fl_proc_which("/etc/passwd"));
	setenv("PATH", "/nowhere", 1);
	assert_null(fl_proc_which("sh"));
	setenv("PATH", old, 1);
}

static int make_tmp(void **state _unused_)
{
	char tmpl[] = "/tmp/faultline-test-proc-XXXXXX";

	tmp = fl_strdup(mkdtemp(tmpl));
	log_path = fl_path_join(tmp, "log");
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static int remove_tmp(void **state _unused_)
{
	int r = fl_fs_remove(tmp, NULL);

	free(tmp);
	free(log_path);
	return r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_codes),
		cmocka_unit_test(log_takes_both_streams),
		cmocka_unit_test(dir_env_and_stdin),
		cmocka_unit_test(stdin_is_empty_by_default),
		cmocka_unit_test(missing_things_are_named),
		cmocka_unit_test(timeout_ends_the_group),
		cmocka_unit_test(timeout_kills_what_ignores_term),
		cmocka_unit_test(term_comes_first),
		cmocka_unit_test(rest_of_the_group_is_killed),
		cmocka_unit_test(kill_reaps),
		cmocka_unit_test(no_descriptor_leaks),
		cmocka_unit_test(works_without_standard_streams),
		cmocka_unit_test(signals_are_not_inherited),
		cmocka_unit_test(dies_with_its_parent),
		cmocka_unit_test(captures),
		cmocka_unit_test(captures_say_why),
		cmocka_unit_test(finds_programs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_tmp, remove_tmp);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The event loop, with real children, signals and short times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../../daemon/sys/loop.h"
#include "../../daemon/sys/proc.h"
#include "../../daemon/util/clock.h"

#define DEADLINE_MS 20000

struct fixture {
	struct fl_loop *loop;
	struct fl_loop_source *timer;
	struct fl_buf trace; /* what happened, in order */
	int left; /* quits at 0 */
	pid_t pid;
	siginfo_t si;
};

static void too_late(void *arg _unused_)
{
	static const char msg[] = "# deadline passed\n";

	if (write(1, msg, sizeof(msg) - 1) < 0)
		_exit(2);
	_exit(1);
}

static int setup(void **state)
{
	struct fixture *f = fl_calloc(1, sizeof(*f));
	struct fl_err err;

	assert_int_equal(fl_loop_new(&f->loop, &err), 0);
	assert_int_equal(fl_loop_add_timer(f->loop, DEADLINE_MS, 0, too_late,
					   NULL, NULL, &err),
			 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	fl_loop_free(f->loop);
	fl_buf_clear(&f->trace);
	free(f);
	return 0;
}

static int run(struct fixture *f)
{
	struct fl_err err;
	int code = -1;

	assert_int_equal(fl_loop_run(f->loop, &code, &err), 0);
	return code;
}

static pid_t start(const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct fl_proc_spec spec = { .argv = (char *const *)argv };
	struct fl_err err;
	pid_t pid;

	assert_int_equal(fl_proc_spawn(&spec, &pid, &err), 0);
	return pid;
}

static void count(struct fixture *f, char c)
{
	fl_buf_putc(&f->trace, c);
	if (--f->left == 0)
		fl_loop_quit(f->loop, 7);
}

static void tick_a(void *arg)
{
	count(arg, 'a');
}

static void tick_b(void *arg)
{
	count(arg, 'b');
}

static void add(struct fixture *f, uint64_t ms, uint64_t every, fl_loop_fn fn)
{
	struct fl_err err;

	assert_int_equal(fl_loop_add_timer(f->loop, ms, every, fn, f, &f->timer,
					   &err),
			 0);
}

static void timers_fire_in_order(void **state)
{
	struct fixture *f = *state;
	int64_t t = fl_clock_mono_ms();

	add(f, 60, 0, tick_b);
	add(f, 20, 0, tick_a);
	f->left = 2;
	assert_int_equal(run(f), 7);
	assert_string_equal(f->trace.s, "ab");
	t = fl_clock_mono_ms() - t;
	assert_in_range(t, 59, 5000);
}

static void timers_repeat(void **state)
{
	struct fixture *f = *state;
	int64_t t = fl_clock_mono_ms();

	add(f, 0, 20, tick_a);
	f->left = 4;
	assert_int_equal(run(f), 7);
	assert_string_equal(f->trace.s, "aaaa");
	assert_in_range(fl_clock_mono_ms() - t, 59, 5000);
	/* A second run of the same loop goes on with the same timer. */
	f->left = 2;
	assert_int_equal(run(f), 7);
	assert_string_equal(f->trace.s, "aaaaaa");
}

static void remove_self(void *arg)
{
	struct fixture *f = arg;

	fl_loop_remove(f->loop, fl_steal(f->timer));
	count(f, 'r');
}

static void timers_can_be_removed(void **state)
{
	struct fixture *f = *state;

	add(f, 5, 0, tick_b);
	fl_loop_remove(f->loop, f->timer);
	fl_loop_remove(f->loop, NULL);
	add(f, 50, 0, tick_a);
	add(f, 0, 10, remove_self);
	f->left = 2;
	assert_int_equal(run(f), 7);
	assert_string_equal(f->trace.s, "ra");
}

static void idle_comes_last(void **state)
{
	struct fixture *f = *state;
	struct fl_err err;

	assert_int_equal(fl_loop_add_idle(f->loop, tick_b, f, NULL, &err), 0);
	add(f, 0, 0, tick_a);
	f->left = 2;
	assert_int_equal(run(f), 7);
	assert_string_equal(f->trace.s, "ab");
	assert_int_equal(fl_loop_add_idle(f->loop, tick_b, f, &f->timer, &err),
			 0);
	fl_loop_remove(f->loop, f->timer);
	add(f, 10, 0, tick_a);
	f->left = 1;
	run(f);
	assert_string_equal(f->trace.s, "aba");
}

static void quit_before_run(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 0, tick_a);
	fl_loop_quit(f->loop, 3);
	assert_int_equal(run(f), 3);
	assert_null(f->trace.s);
}

static void quit_is_the_last_callback(void **state)
{
	struct fixture *f = *state;

	add(f, 0, 0, tick_a);
	add(f, 0, 0, tick_a);
	f->left = 1;
	run(f);
	assert_string_equal(f->trace.s, "a");
}

static void ended(pid_t pid, const siginfo_t *si, void *arg)
{
	struct fixture *f = arg;

	f->pid = pid;
	f->si = *si;
	count(f, 'c');
}

static void watch(struct fixture *f, pid_t pid)
{
	struct fl_err err;

	assert_int_equal(fl_loop_add_child(f->loop, pid, ended, f, &err), 0);
	f->left = 1;
	assert_int_equal(run(f), 7);
	assert_int_equal(f->pid, pid);
	/* Reaped: no child is left to wait for. */
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void child_exits(void **state)
{
	struct fixture *f = *state;

	watch(f, start("exit 42"));
	assert_int_equal(f->si.si_code, CLD_EXITED);
	assert_int_equal(f->si.si_status, 42);
}

static void child_is_killed(void **state)
{
	struct fixture *f = *state;

	watch(f, start("kill -SEGV $$"));
	assert_true(f->si.si_code == CLD_KILLED || f->si.si_code == CLD_DUMPED);
	assert_int_equal(f->si.si_status, SIGSEGV);
}

static void child_ended_before_it_was_added(void **state)
{
	struct fixture *f = *state;
	pid_t pid = start("exit 3");
	siginfo_t si;

	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	watch(f, pid);
	assert_int_equal(f->si.si_status, 3);
}

static void many_children(void **state)
{
	struct fixture *f = *state;
	struct fl_err err;

	f->left = 20;
	for (int i = 0; i < 20; i++)
		assert_int_equal(fl_loop_add_child(f->loop, start("exit 0"),
						   ended, f, &err),
				 0);
	assert_int_equal(run(f), 7);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Only what was handed over is reaped. */
static void other_children_are_left_alone(void **state)
{
	struct fixture *f = *state;
	pid_t other = start("exit 5");
	int status;

	watch(f, start("exit 0"));
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(WEXITSTATUS(status), 5);
}

static void rest_of_the_group_is_killed(void **state)
{
	struct fixture *f = *state;
	int64_t t = fl_clock_mono_ms();
	pid_t pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1); /* the orphan is ours to reap */
	pid = start("sleep 1000 & exit 0");
	watch(f, pid);
	while (kill(-pid, 0) == 0 && fl_clock_mono_ms() - t < DEADLINE_MS)
		if (waitpid(-pid, NULL, WNOHANG) <= 0)
			usleep(1000);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	assert_int_equal(kill(-pid, 0), -1);
}

static void not_a_child(void **state)
{
	struct fixture *f = *state;
	struct fl_err err = { 0 };

	assert_true(fl_loop_add_child(f->loop, 0, ended, f, &err) < 0);
	assert_true(strstr(err.text, "cannot wait for a child") == err.text);
}

static void caught(int signo, void *arg)
{
	count(arg, signo == SIGTERM ? 'T' : 'I');
}

static void signals(void **state)
{
	struct fixture *f = *state;
	struct fl_err err;

	assert_int_equal(fl_loop_add_signal(f->loop, SIGINT, caught, f, &err),
			 0);
	assert_int_equal(fl_loop_add_signal(f->loop, SIGTERM, caught, f, &err),
			 0);
	kill(getpid(), SIGTERM);
	f->left = 1;
	run(f);
	kill(getpid(), SIGINT);
	f->left = 1;
	run(f);
	assert_string_equal(f->trace.s, "TI");
	/* A child of ours does not inherit the blocked signals. */
	watch(f, start("kill -TERM $$; sleep 100"));
	assert_int_equal(f->si.si_status, SIGTERM);
}

static void mask_is_restored(void **state _unused_)
{
	struct fl_loop *l;
	struct fl_err err;
	sigset_t set;

	assert_int_equal(fl_loop_new(&l, &err), 0);
	assert_int_equal(fl_loop_add_signal(l, SIGTERM, caught, NULL, &err), 0);
	sigprocmask(SIG_SETMASK, NULL, &set);
	assert_int_equal(sigismember(&set, SIGTERM), 1);
	fl_loop_free(l);
	sigprocmask(SIG_SETMASK, NULL, &set);
	assert_int_equal(sigismember(&set, SIGTERM), 0);
	assert_int_equal(sigismember(&set, SIGCHLD), 0);
	fl_loop_free(NULL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(timers_fire_in_order),
		T(timers_repeat),
		T(timers_can_be_removed),
		T(idle_comes_last),
		T(quit_before_run),
		T(quit_is_the_last_callback),
		T(child_exits),
		T(child_is_killed),
		T(child_ended_before_it_was_added),
		T(many_children),
		T(other_children_are_left_alone),
		T(rest_of_the_group_is_killed),
		T(not_a_child),
		T(signals),
		cmocka_unit_test(mask_is_restored),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

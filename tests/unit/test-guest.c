// SPDX-License-Identifier: GPL-2.0-or-later
/* The plan of a boot, and what a finished boot is taken for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../../daemon/host/guest.h"
#include "../../daemon/host/qemu.h"
#include "../../daemon/util/json.h"

static struct fl_case one = { .name = (char *)"a" };
static const struct fl_case *const cases[] = { &one };

#define START "{\"event\":\"agent_start\",\"env\":{}}\n"
#define BEGIN "{\"event\":\"case_start\",\"case\":\"a\"}\n"
#define DONE                                       \
	"{\"event\":\"case_done\",\"case\":\"a\"," \
	"\"kpis\":{\"instructions_per_op\":[3412]}}\n"
#define FAILED \
	"{\"event\":\"case_failed\",\"case\":\"a\",\"reason\":\"task died\"}\n"
#define END "{\"event\":\"end\"}\n"
#define PANIC "Kernel panic - not syncing: Attempted to kill init!\n"
#define OOM "Out of memory: Killed process 40 (init)\n"

static const struct {
	const char *events, *console;
	enum fl_guest_end end;
	int code;
	enum fl_outcome want;
	const char *reason, *status;
} runs[] = {
	{ START BEGIN DONE END, "", FL_GUEST_EXITED, 0, FL_RUN_DONE, "",
	  "done" },
	{ START BEGIN FAILED END, "", FL_GUEST_EXITED, 0, FL_RUN_CASE_FAILED,
	  "case 'a': task died", "failed" },
	{ START BEGIN FAILED END, OOM, FL_GUEST_EXITED, 0, FL_RUN_OOM,
	  "case 'a': task died\nOut of memory", "failed" },
	{ START BEGIN, PANIC, FL_GUEST_EXITED, 0, FL_RUN_PANIC, "Kernel panic",
	  "lost" },
	{ "", PANIC, FL_GUEST_EXITED, 0, FL_RUN_PANIC, "Kernel panic", "lost" },
	{ "", PANIC, FL_GUEST_SILENT, 0, FL_RUN_PANIC, "Kernel panic", "lost" },
	{ START BEGIN DONE, PANIC, FL_GUEST_EXITED, 0, FL_RUN_PANIC,
	  "Kernel panic", "done" },
	{ START BEGIN, OOM, FL_GUEST_EXITED, 0, FL_RUN_OOM, "Out of memory",
	  "lost" },
	{ START BEGIN, "", FL_GUEST_SILENT, 0, FL_RUN_HANG,
	  "no output for 10 s in case 'a'", "lost" },
	{ "", "", FL_GUEST_LATE, 0, FL_RUN_HANG,
	  "not finished after 90 s, before the agent started", "lost" },
	{ START BEGIN, "", FL_GUEST_FLOOD, 0, FL_RUN_HANG, "endless output",
	  "lost" },
	{ START BEGIN, "x\n", FL_GUEST_EXITED, 0, FL_RUN_PANIC,
	  "the guest reset itself without a message in case 'a'; last console "
	  "line: x",
	  "lost" },
	{ "", "booting\n\n", FL_GUEST_EXITED, 0, FL_RUN_NO_BOOT,
	  "the guest ended before the agent started; last console line: "
	  "booting",
	  "lost" },
	{ "", "", FL_GUEST_EXITED, 0, FL_RUN_NO_BOOT, "the guest ended before",
	  "lost" },
	{ "", "", FL_GUEST_EXITED, 1, FL_RUN_HOST_FAILED,
	  "qemu failed (1) before the agent started: no memory", "lost" },
	{ START BEGIN, "", FL_GUEST_EXITED, 137, FL_RUN_HOST_FAILED,
	  "qemu failed (137) in case 'a'", "lost" },
};

static void test_outcomes(void **state _unused_)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(runs); i++) {
		struct fl_guest_facts f = {
			.end = runs[i].end,
			.code = runs[i].code,
			.console = runs[i].console,
			.console_len = strlen(runs[i].console),
			.emulator_log = "first\nno memory\n",
			.timeout_s = 10,
			.total_s = 90,
		};
		_cleanup_(fl_boot_result_clear) struct fl_boot_result r = { 0 };
		struct fl_events ev;

		fl_events_read(runs[i].events, strlen(runs[i].events),
			       FL_CLOCK_EXACT, cases, 1, &ev);
		assert_int_equal(fl_guest_classify(&f, &ev, &r, NULL), 0);
		if (r.outcome != runs[i].want ||
		    strncmp(r.reason, runs[i].reason, strlen(runs[i].reason)))
			fail_msg("run %zu: %s: %s", i,
				 fl_outcome_str(r.outcome), r.reason);
		assert_string_equal(fl_json_str_or(json_array_get(r.cases, 0),
						   "status", ""),
				    runs[i].status);
		fl_events_clear(&ev);
	}
}

static void test_warnings_are_kept(void **state _unused_)
{
	static const char console[] = "WARNING: CPU: 0 PID: 1 at mm/x.c:1 f\n"
				      "WARNING: CPU: 0 PID: 1 at mm/y.c:1 g\n";
	static const char text[] = START BEGIN DONE END;
	struct fl_guest_facts f = { .console = console,
				    .console_len = strlen(console),
				    .emulator_log = "" };
	_cleanup_(fl_boot_result_clear) struct fl_boot_result r = { 0 };
	struct fl_events ev;

	fl_events_read(text, strlen(text), FL_CLOCK_EXACT, cases, 1, &ev);
	assert_int_equal(fl_guest_classify(&f, &ev, &r, NULL), 0);
	assert_int_equal(r.outcome, FL_RUN_DONE);
	assert_int_equal(fl_json_int_or(r.env, "kernel_warnings", 0), 2);
	assert_string_equal(fl_json_str_or(r.env, "kernel_warning", ""),
			    "WARNING: CPU: 0 PID: 1 at mm/x.c:1 f");
	fl_events_clear(&ev);
}

static void test_refused_plan_is_our_bug(void **state _unused_)
{
	static const char text[] =
		"{\"event\":\"plan_refused\",\"reason\":\"plan line 4: x\"}\n";
	struct fl_guest_facts f = { .console = "", .emulator_log = "" };
	_cleanup_(fl_boot_result_clear) struct fl_boot_result r = { 0 };
	struct fl_err err = { 0 };
	struct fl_events ev;

	fl_events_read(text, strlen(text), FL_CLOCK_EXACT, cases, 1, &ev);
	assert_int_equal(fl_guest_classify(&f, &ev, &r, &err), -EINVAL);
	assert_int_equal(err.class, FL_E_BUG);
	assert_non_null(strstr(err.text, "plan line 4"));
	fl_events_clear(&ev);
}

static void test_plan(void **state _unused_)
{
	struct fl_host host = { .clock = FL_CLOCK_EXACT, .memory_mb = 2048 };
	json_auto_t *p = json_pack("{s:s, s:i, s:s}", "program", "page_fault3",
				   "nr_task", 2, "fs", "xfs");
	struct fl_case c = { .name = (char *)"page_fault3/x", .params = p };
	const struct fl_case *list[] = { &c };
	struct fl_boot boot = { .host = &host, .cases = list, .ncases = 1 };
	_cleanup_free_ char *plain = fl_guest_plan(&boot);
	_cleanup_free_ char *moved = NULL, *profile = NULL;

	assert_memory_equal(plain,
			    "faultline-plan 1\nclock exact\nphase_ns 0\n"
			    "disk xfs /dev/ram1 /xfs.img\ncase page_fault3/x ",
			    86);
	assert_non_null(strstr(plain, " program=page_fault3"));
	assert_non_null(strstr(plain, " nr_task=2"));
	assert_string_equal(plain + strlen(plain) - 5, "\nend\n");
	boot.perturb = 1;
	moved = fl_guest_plan(&boot);
	assert_null(strstr(moved, "phase_ns 0\n"));
	assert_null(strstr(plain, "profile"));
	boot.profile_ns = 100000;
	profile = fl_guest_plan(&boot);
	assert_non_null(strstr(profile, "\nprofile 100000\ndisk "));
}

static char *command_line(struct fl_host *host, enum fl_isa isa)
{
	struct fl_boot boot = { .host = host, .isa = isa };
	struct fl_qemu m = {
		.boot = &boot,
		.image = (char *)"/i",
		.initramfs = (char *)"/r",
		.console = (char *)"/c",
		.events = (char *)"/e",
	};
	_cleanup_strv_ struct fl_strv argv = { 0 };
	_cleanup_buf_ struct fl_buf line = { 0 };

	fl_qemu_argv(&m, &argv);
	for (size_t i = 0; i < argv.n; i++)
		fl_buf_printf(&line, "%s ", argv.s[i]);
	return fl_buf_steal(&line);
}

/* What the clocks and the CPU model change on the command line. */
static void test_command_line(void **state _unused_)
{
	struct fl_host host = { .clock = FL_CLOCK_EXACT,
				.cpu = "max",
				.memory_mb = 1024,
				.cpus = 4,
				.append = "quiet" };
	_cleanup_free_ char *plain = command_line(&host, FL_ISA_PLAIN);
	_cleanup_free_ char *strings = command_line(&host, FL_ISA_STRINGS);
	_cleanup_free_ char *wall = NULL;

	assert_non_null(strstr(plain, " -cpu max,-erms,-fsrm "));
	assert_non_null(strstr(strings, " -cpu max "));
	assert_non_null(strstr(plain, " -smp 1 "));
	assert_non_null(strstr(plain, " -icount shift=0,sleep=off "));
	assert_non_null(strstr(plain, " -sandbox on,"));
	assert_non_null(strstr(plain, " -nic none "));
	assert_non_null(strstr(plain, "brd.rd_size=1048576 nolapic_timer quiet "
				      "tsc=reliable tsc_early_khz=1000000"));
	host.clock = FL_CLOCK_WALL;
	wall = command_line(&host, FL_ISA_PLAIN);
	assert_null(strstr(wall, "icount"));
	assert_null(strstr(wall, "nolapic_timer"));
	assert_non_null(strstr(wall, " -cpu max "));
	assert_non_null(strstr(wall, " -smp 4 "));
}

static void test_words(void **state _unused_)
{
	for (int o = FL_RUN_DONE; o <= FL_RUN_HOST_FAILED; o++)
		assert_int_equal(
			fl_outcome_parse(fl_outcome_str((enum fl_outcome)o)),
			o);
	assert_int_equal(fl_outcome_parse("fine"), -1);
	assert_null(fl_host_driver("vmware"));
	assert_string_equal(fl_host_driver("qemu")->name, "qemu");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outcomes),
		cmocka_unit_test(test_warnings_are_kept),
		cmocka_unit_test(test_refused_plan_is_our_bug),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_command_line),
		cmocka_unit_test(test_words),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

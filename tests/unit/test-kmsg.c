// SPDX-License-Identifier: GPL-2.0-or-later
/* Console logs: what is found in them, and that any bytes are survived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "../../daemon/kmsg.h"
#include "../../daemon/util/buf.h"

static struct fl_kmsg read_log(const char *log)
{
	struct fl_kmsg k;

	fl_kmsg_read(log, strlen(log), &k);
	return k;
}

static void test_clean(void **state _unused_)
{
	_cleanup_(fl_kmsg_clear) struct fl_kmsg k =
		read_log("Linux version 6.12.117\r\n[    0.1] debug: BUGS: 0\n"
			 "reboot: Restarting system\n");

	for (int i = 0; i < FL_KMSG_KINDS; i++) {
		assert_int_equal(k.count[i], 0);
		assert_null(k.line[i]);
	}
	assert_string_equal(k.text, "");
	assert_false(fl_kmsg_fatal(&k));
}

static void test_panic_without_root(void **state _unused_)
{
	_cleanup_(fl_kmsg_clear) struct fl_kmsg k = read_log(
		"[    0.320000] Run /init as init process\r\n"
		"[    0.400000] Kernel panic - not syncing: Attempted to kill "
		"init! exitcode=0x00000700\r\n"
		"[    0.400001] CPU: 0 UID: 0 PID: 1 Comm: init Not tainted\r\n"
		"[    0.400002] ---[ end Kernel panic - not syncing: x ]---\r\n"
		"later noise\n");

	assert_true(fl_kmsg_fatal(&k));
	assert_int_equal(k.count[FL_KMSG_PANIC], 1);
	assert_string_equal(k.line[FL_KMSG_PANIC],
			    "Kernel panic - not syncing: Attempted to kill "
			    "init! exitcode=0x00000700");
	assert_memory_equal(k.text, "Kernel panic", 12);
	assert_non_null(strstr(k.text, "\nCPU: 0 UID: 0 PID: 1"));
	assert_null(strstr(k.text, "later noise"));
	assert_null(strchr(k.text, '\r'));
}

/* The oops explains more than the panic that follows it. */
static void test_oops_then_panic(void **state _unused_)
{
	_cleanup_(fl_kmsg_clear) struct fl_kmsg k = read_log(
		"WARNING: CPU: 0 PID: 9 at mm/x.c:1 f+0x1\n"
		"[    1.0][   T12] BUG: kernel NULL pointer dereference, "
		"address: 0000000000000008\n"
		"[    1.0][   T12] Oops: Oops: 0002 [#1] SMP\n"
		"[    1.0][   T12] RIP: 0010:finish_fault+0x12/0x300\n"
		"[    1.0][   T12] Kernel panic - not syncing: Fatal exception\n");

	assert_true(fl_kmsg_fatal(&k));
	assert_int_equal(k.count[FL_KMSG_OOPS], 2);
	assert_int_equal(k.count[FL_KMSG_PANIC], 1);
	assert_int_equal(k.count[FL_KMSG_WARNING], 1);
	assert_memory_equal(k.text, "BUG: kernel NULL pointer", 24);
	assert_non_null(strstr(k.text, "RIP: 0010:finish_fault"));
}

static void test_kinds(void **state _unused_)
{
	static const struct {
		const char *line;
		enum fl_kmsg_kind kind;
	} t[] = {
		{ "Out of memory: Killed process 12 (init) total-vm:9kB",
		  FL_KMSG_OOM },
		{ "Memory cgroup out of memory: Killed process 3 (a)",
		  FL_KMSG_OOM },
		{ "Kernel panic - not syncing: Out of memory: x", FL_KMSG_OOM },
		{ "Kernel panic - not syncing: System is deadlocked on memory",
		  FL_KMSG_OOM },
		{ "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [init:1]",
		  FL_KMSG_HUNG },
		{ "INFO: task init:1 blocked for more than 120 seconds.",
		  FL_KMSG_HUNG },
		{ "rcu: INFO: rcu_sched self-detected stall on CPU",
		  FL_KMSG_HUNG },
		{ "BUG: scheduling while atomic: init/1/0x00000002",
		  FL_KMSG_BUG },
		{ "BUG: Bad page state in process init  pfn:00001",
		  FL_KMSG_BUG },
		{ "WARNING: CPU: 0 PID: 1 at kernel/x.c:7 f+0x0/0x1",
		  FL_KMSG_WARNING },
		{ "kernel BUG at mm/memory.c:100!", FL_KMSG_OOPS },
		{ "BUG: unable to handle page fault for address: ffff",
		  FL_KMSG_OOPS },
		{ "general protection fault, probably for non-canonical",
		  FL_KMSG_OOPS },
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(t); i++) {
		_cleanup_(fl_kmsg_clear) struct fl_kmsg k = read_log(t[i].line);

		if (k.count[t[i].kind] != 1)
			fail_msg("not found: %s", t[i].line);
		assert_string_equal(k.line[t[i].kind], t[i].line);
		assert_int_equal(fl_kmsg_fatal(&k), t[i].kind == FL_KMSG_OOPS);
	}
}

static void test_colours_and_bytes(void **state _unused_)
{
	static const char log[] = "\0\xff\x1b[1;31mKernel panic - not syncing: "
				  "a\tb\xc3\xa9\x1b[0m\n\0\0";
	struct fl_kmsg k;

	fl_kmsg_read(log, sizeof(log) - 1, &k);
	assert_string_equal(k.text, "Kernel panic - not syncing: a b");
	fl_kmsg_clear(&k);
	fl_kmsg_read("\x1b[", 2, &k);
	assert_string_equal(k.text, "");
	fl_kmsg_clear(&k);
	fl_kmsg_read("", 0, &k);
	fl_kmsg_clear(&k);
}

static void test_bounded(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	struct fl_kmsg k;

	for (int i = 0; i < 1000; i++) {
		fl_buf_puts(&b, "Oops: ");
		fl_buf_repeat(&b, 'x', 3000);
		fl_buf_putc(&b, '\n');
	}
	fl_kmsg_read(b.s, b.len, &k);
	assert_int_equal(k.count[FL_KMSG_OOPS], 1000);
	assert_true(strlen(k.text) <= FL_KMSG_TEXT_MAX);
	assert_true(strlen(k.text) > FL_KMSG_TEXT_MAX / 2);
	fl_kmsg_clear(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_panic_without_root),
		cmocka_unit_test(test_oops_then_panic),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_colours_and_bytes),
		cmocka_unit_test(test_bounded),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

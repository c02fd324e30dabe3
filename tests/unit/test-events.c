// SPDX-License-Identifier: GPL-2.0-or-later
/* Guest events: samples that are taken, and everything that is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "../../daemon/host/events.h"
#include "../../daemon/util/buf.h"
#include "../../daemon/util/json.h"
#include "../../jobs/agent/protocol.h"

static struct fl_case case_a = { .name = (char *)"a" },
		      case_b = { .name = (char *)"b" };
static const struct fl_case *const cases[] = { &case_a, &case_b };

#define START \
	"{\"event\":\"agent_start\",\"env\":{\"release\":\"6.12\",\"cpus\":1}}\n"
#define BEGIN_A "{\"event\":\"case_start\",\"case\":\"a\"}\n"
#define BEGIN_B "{\"event\":\"case_start\",\"case\":\"b\"}\n"
#define KPIS(k) "{\"event\":\"case_done\",\"case\":\"a\",\"kpis\":{" k "}}\n"
#define DONE_A \
	KPIS("\"instructions_per_op\":[3412.5],\"minor_faults_per_op\":[1]")
#define FAIL_B \
	"{\"event\":\"case_failed\",\"case\":\"b\",\"reason\":\"no room\"}\n"
#define END "{\"event\":\"end\"}\n"

static struct fl_events parse(const char *text)
{
	struct fl_events ev;

	fl_events_read(text, strlen(text), FL_CLOCK_EXACT, cases, 2, &ev);
	return ev;
}

static const char *member(const struct fl_events *ev, size_t i, const char *key)
{
	return fl_json_str_or(json_array_get(ev->cases, i), key, "?");
}

static double sample(const struct fl_events *ev, size_t i, const char *kpi)
{
	const json_t *c = json_array_get(ev->cases, i);

	return json_number_value(json_array_get(
		json_object_get(json_object_get(c, "kpis"), kpi), 0));
}

static void test_whole_run(void **state _unused_)
{
	_cleanup_(fl_events_clear) struct fl_events ev =
		parse(START BEGIN_A DONE_A BEGIN_B FAIL_B END);

	assert_true(ev.started);
	assert_true(ev.ended);
	assert_null(ev.bad);
	assert_int_equal(ev.running, -1);
	assert_int_equal(ev.done, 1);
	assert_int_equal(ev.failed, 1);
	assert_int_equal(ev.lost, 0);
	assert_string_equal(member(&ev, 0, "case"), "a");
	assert_string_equal(member(&ev, 0, "status"), "done");
	assert_true(sample(&ev, 0, "instructions_per_op") == 3412.5);
	assert_true(sample(&ev, 0, "minor_faults_per_op") == 1);
	assert_string_equal(member(&ev, 1, "status"), "failed");
	assert_string_equal(member(&ev, 1, "reason"), "no room");
	assert_string_equal(fl_json_str_or(ev.env, "release", ""), "6.12");
}

/* Cut anywhere, what was complete stays and the rest is lost. */
static void test_cut_at_every_byte(void **state _unused_)
{
	static const char text[] = START BEGIN_A DONE_A BEGIN_B FAIL_B END;
	const size_t done = strlen(START BEGIN_A DONE_A);

	for (size_t n = 0; n <= strlen(text); n++) {
		struct fl_events ev;

		fl_events_read(text, n, FL_CLOCK_EXACT, cases, 2, &ev);
		assert_null(ev.bad);
		assert_int_equal(ev.done, n >= done);
		assert_int_equal(ev.done + ev.failed + ev.lost, 2);
		assert_int_equal(json_array_size(ev.cases), 2);
		if (n == strlen(START BEGIN_A)) {
			assert_int_equal(ev.running, 0);
			assert_string_equal(member(&ev, 0, "status"), "lost");
			assert_non_null(
				strstr(member(&ev, 0, "reason"), "during"));
			assert_non_null(
				strstr(member(&ev, 1, "reason"), "before"));
		}
		fl_events_clear(&ev);
	}
}

static const struct {
	const char *line, *why;
} refused[] = {
	{ START "{\"event\":\"case_start\",\"case\":\"c\"}\n", "unknown case" },
	{ START "{\"event\":\"case_start\"}\n", "unknown case" },
	{ START DONE_A, "without a beginning" },
	{ START BEGIN_A BEGIN_B, "out of turn" },
	{ START BEGIN_A DONE_A BEGIN_A, "out of turn" },
	{ START BEGIN_A FAIL_B, "without a beginning" },
	{ BEGIN_A, "before the agent's start" },
	{ END, "before the agent's start" },
	{ START END END, "after the end" },
	{ START START, "unknown event 'agent_start'" },
	{ START "{\"event\":\"boom\"}\n", "unknown event 'boom'" },
	{ START "[1]\n", "not an object" },
	{ START "noise\n", "not an object" },
	{ START "{\"event\":\"end\",\"event\":\"end\"}\n", "not an object" },
	{ START BEGIN_A KPIS(""), "'instructions_per_op' is missing" },
	{ START BEGIN_A KPIS("\"per_process_ops\":[5]"), "is missing" },
	{ START BEGIN_A KPIS("\"instructions_per_op\":[]"), "1 to 4096" },
	{ START BEGIN_A KPIS("\"instructions_per_op\":[NaN]"),
	  "not an object" },
	{ START BEGIN_A KPIS("\"instructions_per_op\":[1e999]"),
	  "not an object" },
	{ START BEGIN_A KPIS("\"instructions_per_op\":[0]"),
	  "no valid number" },
	{ START BEGIN_A KPIS("\"instructions_per_op\":[-1]"),
	  "no valid number" },
	{ START BEGIN_A KPIS("\"instructions_per_op\":[\"1\"]"),
	  "no valid number" },
	{ START BEGIN_A KPIS("\"instructions_per_op\":[1],"
			     "\"minor_faults_per_op\":[-0.5]"),
	  "no valid number" },
	{ START BEGIN_A KPIS("\"instructions_per_op\":[1],\"speed\":[1]"),
	  "unknown kpi 'speed'" },
	{ "{\"event\":\"agent_start\"}\n", "env: expected" },
	{ "{\"event\":\"agent_start\",\"env\":{\"a\":[]}}\n",
	  "env: bad member 'a'" },
	{ "{\"event\":\"agent_start\",\"env\":{\"A b\":1}}\n",
	  "env: bad member 'A b'" },
};

static void test_refuses(void **state _unused_)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(refused); i++) {
		struct fl_events ev = parse(refused[i].line);
		json_t *c;
		size_t k;

		if (!ev.bad || !strstr(ev.bad, refused[i].why))
			fail_msg("%s: said '%s'", refused[i].line,
				 ev.bad ? ev.bad : "nothing");
		/* No sample comes from a line that was refused. */
		json_array_foreach(ev.cases, k, c)
			if (strcmp(fl_json_str_or(c, "status", ""), "done"))
				assert_int_equal(
					json_object_size(
						json_object_get(c, "kpis")),
					0);
		fl_events_clear(&ev);
	}
}

/* A bad line does not hide the good ones after it. */
static void test_goes_on_after_noise(void **state _unused_)
{
	_cleanup_(fl_events_clear) struct fl_events ev =
		parse(START "\xff\xfe{}\n\n" BEGIN_A DONE_A END);

	assert_int_equal(ev.done, 1);
	assert_int_equal(ev.lost, 1);
	assert_true(ev.ended);
	assert_non_null(ev.bad);
	assert_memory_equal(ev.bad, "event line 2: ", 14);
	assert_string_equal(member(&ev, 1, "reason"), ev.bad);
}

static void test_long_line(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	struct fl_events ev;

	fl_buf_puts(&b, START "{\"event\":\"end\",\"x\":\"");
	fl_buf_repeat(&b, 'x', FL_EVENT_MAX);
	fl_buf_puts(&b, "\"}\n");
	fl_events_read(b.s, b.len, FL_CLOCK_EXACT, cases, 2, &ev);
	assert_false(ev.ended);
	assert_non_null(strstr(ev.bad, "bytes long"));
	fl_events_clear(&ev);
}

static void test_wall_clock(void **state _unused_)
{
	static const char text[] =
		START BEGIN_A KPIS("\"per_process_ops\":[10.5, 11, 12]");
	struct fl_events ev;

	fl_events_read(text, strlen(text), FL_CLOCK_WALL, cases, 2, &ev);
	assert_int_equal(ev.done, 1);
	assert_true(sample(&ev, 0, "per_process_ops") == 10.5);
	fl_events_clear(&ev);
}

/* Three cases that differ in their tasks, the last in per cent of the CPUs. */
struct scaling {
	struct fl_case c[3];
	const struct fl_case *list[3];
};

static void scaling_init(struct scaling *s, const char *second)
{
	*s = (struct scaling){ 0 };
	s->c[0].params =
		json_pack("{s:s, s:i}", "mode", "thread", "nr_task", 2);
	s->c[1].params = json_pack("{s:s, s:i}", "mode", second, "nr_task", 1);
	s->c[2].params =
		json_pack("{s:s, s:s}", "mode", "thread", "nr_task", "50%");
	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = { "two", "one", "half" };

		s->c[i].name = (char *)names[i];
		s->list[i] = &s->c[i];
	}
}

static void scaling_clear(struct scaling *s)
{
	for (size_t i = 0; i < 3; i++)
		json_decref(s->c[i].params);
}

#define DONE(name, rate, sum, info)                                      \
	"{\"event\":\"case_start\",\"case\":\"" name "\"}\n"             \
	"{\"event\":\"case_done\",\"case\":\"" name "\",\"kpis\":{" rate \
	"\"workload\":[" sum "]}" info "}\n"
#define THREAD "\"per_thread_ops\":[5,5],"

static void test_scalability(void **state _unused_)
{
	static const char text[] = START DONE("two", THREAD, "12,15", "")
		DONE("one", THREAD, "10,10", "")
			DONE("half", THREAD, "24,20",
			     ",\"info\":{\"nr_task\":4}") END;
	_cleanup_(scaling_clear) struct scaling s;
	_cleanup_(fl_events_clear) struct fl_events ev = { 0 };

	scaling_init(&s, "thread");
	fl_events_read(text, strlen(text), FL_CLOCK_WALL, s.list, 3, &ev);
	assert_null(ev.bad);
	assert_int_equal(ev.done, 3);
	assert_true(sample(&ev, 0, "scalability") == 0.6);
	assert_true(sample(&ev, 2, "scalability") == 0.6);
	assert_null(json_object_get(json_object_get(json_array_get(ev.cases, 1),
						    "kpis"),
				    "scalability"));
	assert_null(json_object_get(json_array_get(ev.cases, 2), "nr_task"));
}

/* One task of another kind says nothing of how these scale. */
static void test_scalability_needs_its_like(void **state _unused_)
{
	static const char text[] = START DONE("two", THREAD, "12", "")
		DONE("one", "\"per_process_ops\":[10],", "10", "")
			DONE("half", THREAD, "24",
			     ",\"info\":{\"nr_task\":5000}") END;
	_cleanup_(scaling_clear) struct scaling s;
	_cleanup_(fl_events_clear) struct fl_events ev = { 0 };

	scaling_init(&s, "process");
	fl_events_read(text, strlen(text), FL_CLOCK_WALL, s.list, 3, &ev);
	assert_int_equal(ev.done, 2);
	assert_non_null(strstr(ev.bad, "bad number of tasks"));
	assert_null(json_object_get(json_object_get(json_array_get(ev.cases, 0),
						    "kpis"),
				    "scalability"));
	assert_string_equal(member(&ev, 2, "status"), "lost");
}

/* Threads are judged by what threads do. */
static void test_wrong_primary(void **state _unused_)
{
	static const char text[] =
		START DONE("two", "\"per_process_ops\":[5],", "10", "");
	_cleanup_(scaling_clear) struct scaling s;
	_cleanup_(fl_events_clear) struct fl_events ev = { 0 };

	scaling_init(&s, "thread");
	fl_events_read(text, strlen(text), FL_CLOCK_WALL, s.list, 3, &ev);
	assert_int_equal(ev.done, 0);
	assert_non_null(strstr(ev.bad, "kpi 'per_thread_ops' is missing"));
}

static void test_plan_refused(void **state _unused_)
{
	_cleanup_(fl_events_clear) struct fl_events ev =
		parse("{\"event\":\"plan_refused\",\"reason\":\"line 1\"}\n");

	assert_string_equal(ev.refused, "line 1");
	assert_false(ev.started);
}

#define PROFILE(c, first)                                               \
	"{\"event\":\"profile\",\"case\":\"" c "\",\"period_ns\":1000," \
	"\"samples\":1,\"user\":0,\"lost\":0,\"first\":" first          \
	",\"nodes\":[[-1,16,1]]}\n"

/* A profile belongs to the case that runs. */
static void test_profile(void **state _unused_)
{
	static const char *const bad[] = {
		START PROFILE("a", "0") BEGIN_A DONE_A END,
		START BEGIN_A DONE_A PROFILE("a", "0") END,
		START BEGIN_A PROFILE("b", "0") DONE_A END,
		START BEGIN_A PROFILE("x", "0") DONE_A END,
		START BEGIN_A PROFILE("a", "1") DONE_A END,
	};
	_cleanup_(fl_events_clear) struct fl_events ev =
		parse(START BEGIN_A PROFILE("a", "0") PROFILE("a", "1")
			      DONE_A BEGIN_B FAIL_B END);

	assert_null(ev.bad);
	assert_int_equal(json_array_size(ev.profiles), 1);
	assert_int_equal(ev.done, 1);
	for (size_t i = 0; i < FL_ARRAY_SIZE(bad); i++) {
		_cleanup_(fl_events_clear) struct fl_events other =
			parse(bad[i]);

		assert_non_null(other.bad);
		assert_int_equal(json_array_size(other.profiles), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_run),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_cut_at_every_byte),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_goes_on_after_noise),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_wall_clock),
		cmocka_unit_test(test_scalability),
		cmocka_unit_test(test_scalability_needs_its_like),
		cmocka_unit_test(test_wrong_primary),
		cmocka_unit_test(test_plan_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

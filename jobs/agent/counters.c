// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters through libperf. Counting adds instructions to the path that is
 * measured, so it happens in a pass of its own. A kernel without perf events
 * gives NULL, which is data and not an error.
 */
#include "agent.h"

#include <linux/perf_event.h>
#include <perf/core.h>
#include <perf/evsel.h>
#include <perf/threadmap.h>
#include <stdlib.h>

struct fl_counter {
	struct perf_evsel *evsel;
	struct perf_thread_map *threads;
};

static int silent(enum libperf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static void release(struct fl_counter *c)
{
	perf_evsel__close(c->evsel);
	perf_evsel__delete(c->evsel);
	perf_thread_map__put(c->threads);
	free(c);
}

struct fl_counter *fl_counter_open(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
	};
	struct fl_counter *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	libperf_init(silent);
	c->threads = perf_thread_map__new_dummy();
	c->evsel = perf_evsel__new(&attr);
	if (!c->threads || !c->evsel) {
		free(c);
		return NULL;
	}
	perf_thread_map__set_pid(c->threads, 0, 0);
	/* No CPU map: one event that follows the task over all CPUs. */
	if (perf_evsel__open(c->evsel, NULL, c->threads) ||
	    perf_evsel__enable(c->evsel)) {
		release(c);
		return NULL;
	}
	return c;
}

int64_t fl_counter_close(struct fl_counter *c)
{
	struct perf_counts_values v = { 0 };
	int64_t n = -1;

	/* A software event is never multiplexed: run must equal enabled. */
	if (!perf_evsel__disable(c->evsel) &&
	    !perf_evsel__read(c->evsel, 0, 0, &v) && v.run && v.run == v.ena)
		n = (int64_t)v.val;
	release(c);
	return n;
}

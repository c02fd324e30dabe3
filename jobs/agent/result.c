// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tasks left becomes the case's KPIs, once it has been checked: two
 * counters that disagree, a task that did nothing, or dropped pages that
 * cost few major faults are failures, never samples.
 */
#include "agent.h"

#include <stdlib.h>

struct totals {
	uint64_t ops, minor, major;
	uint64_t first, last; /* TSC */
	uint64_t part_ns;
	uint64_t perf, perf_ops;
};

/* Two independent counts of the same faults: both right, or neither. */
static bool check_counters(struct fl_run *r)
{
	for (unsigned i = 0; i < r->c->nr_task; i++) {
		const struct fl_slot *s = &r->board->slot[i];
		int64_t diff = s->warm_perf - (int64_t)s->warm_minor;

		if (s->warm_perf < 0)
			continue;
		if (llabs(diff) > 16 + (int64_t)s->warm_minor / 200)
			return fl_run_fail(
				r,
				"minor faults disagree: perf counts %lld, getrusage %llu",
				(long long)s->warm_perf,
				(unsigned long long)s->warm_minor);
	}
	return true;
}

static bool add_up(struct fl_run *r, struct totals *t)
{
	*t = (struct totals){ .first = UINT64_MAX };
	for (unsigned i = 0; i < r->c->nr_task; i++) {
		const struct fl_slot *s = &r->board->slot[i];

		if (!s->window_ops)
			return fl_run_fail(r, "task %u did no operation",
					   i + 1);
		if (r->c->dropped && s->major < s->window_ops / 2)
			return fl_run_fail(
				r,
				"task %u had %llu major faults in %llu operations: its file stayed in the page cache",
				i + 1, (unsigned long long)s->major,
				(unsigned long long)s->window_ops);
		t->ops += s->window_ops;
		t->minor += s->minor;
		t->major += s->major;
		t->part_ns += s->part_ns;
		t->first = s->start < t->first ? s->start : t->first;
		t->last = s->end > t->last ? s->end : t->last;
		if (s->warm_perf >= 0) {
			t->perf += (uint64_t)s->warm_perf;
			t->perf_ops += s->warm_ops;
		}
	}
	return true;
}

static void list_rates(const struct fl_run *r, struct fl_line *l,
		       const char *kpi, unsigned times)
{
	fl_report_raw(l, "\"%s\":", kpi);
	for (unsigned i = 0; i < r->c->samples; i++)
		fl_report_raw(l, "%c%.3f", i ? ',' : '[',
			      r->sample[i].rate * times);
	fl_report_raw(l, "],");
}

static void list_idle(const struct fl_run *r, struct fl_line *l)
{
	for (unsigned i = 0; i < r->c->samples; i++)
		if (r->sample[i].idle < 0)
			return;
	fl_report_raw(l,
		      "\"%s_idle\":", r->c->thread ? "threads" : "processes");
	for (unsigned i = 0; i < r->c->samples; i++)
		fl_report_raw(l, "%c%.2f", i ? ',' : '[', r->sample[i].idle);
	fl_report_raw(l, "],");
}

static void list_kpis(const struct fl_run *r, const struct totals *t,
		      struct fl_line *l)
{
	double ops = (double)t->ops;

	if (r->plan->exact) {
		uint64_t n = fl_case_has_parts(r->c) ? t->part_ns :
						       t->last - t->first;

		fl_report_raw(l, "\"instructions_per_op\":[%.6f],",
			      (double)n / ops);
	} else {
		list_rates(r, l,
			   r->c->thread ? "per_thread_ops" : "per_process_ops",
			   1);
		list_rates(r, l, "workload", r->c->nr_task);
		list_idle(r, l);
	}
	fl_report_raw(
		l,
		"\"minor_faults_per_op\":[%.9g],\"major_faults_per_op\":[%.9g]",
		(double)t->minor / ops, (double)t->major / ops);
}

bool fl_run_report(struct fl_run *r, struct fl_line *l)
{
	struct totals t;

	if (!check_counters(r) || !add_up(r, &t))
		return false;
	fl_report_begin(l, "case_done");
	fl_report_str(l, "case", r->c->name);
	fl_report_raw(l, ",\"kpis\":{");
	list_kpis(r, &t, l);
	fl_report_raw(l, "},\"info\":{\"nr_task\":%u,\"ops\":%llu",
		      r->c->nr_task, (unsigned long long)t.ops);
	if (t.perf_ops)
		fl_report_num(l, "perf_minor_faults_per_op",
			      (double)t.perf / (double)t.perf_ops);
	fl_thp_report(r->thp, l);
	fl_report_raw(l, "}");
	fl_report_send(l);
	return true;
}

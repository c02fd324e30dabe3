// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wall clock's window: every second the parent reads what the tasks have
 * counted, as will-it-scale does, and discards the first samples.
 */
#include "agent.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Seconds that a sample may take until some measured part has ended. */
#define SAMPLE_MAX 30

struct counts {
	uint64_t ops;
	double task_s; /* measured seconds, of all tasks */
	double now; /* seconds */
	uint64_t idle, all; /* ticks of all CPUs */
};

static void read_part(const struct fl_slot *s, uint64_t *ops, uint64_t *ns)
{
	unsigned seq;

	do {
		seq = __atomic_load_n(&s->seq, __ATOMIC_SEQ_CST);
		*ops = __atomic_load_n(&s->part_ops, __ATOMIC_SEQ_CST);
		*ns = __atomic_load_n(&s->part_ns, __ATOMIC_SEQ_CST);
	} while (seq & 1 || seq != __atomic_load_n(&s->seq, __ATOMIC_SEQ_CST));
}

/* The first line of /proc/stat: cpu user nice system idle iowait …. */
static void read_idle(struct counts *k)
{
	char line[256], *at, *end;
	unsigned n = 0;

	k->idle = k->all = 0;
	fl_sys_line("/proc/stat", line, sizeof(line));
	if (strncmp(line, "cpu ", 4) != 0)
		return;
	/* What comes after the eighth is counted in the others already. */
	for (at = line + 4; n < 8; at = end, n++) {
		uint64_t v = strtoull(at, &end, 10);

		if (end == at)
			break;
		k->all += v;
		if (n == 3 || n == 4)
			k->idle += v;
	}
}

static void read_counts(const struct fl_run *r, struct counts *k)
{
	struct timespec t;
	uint64_t ns = 0;

	k->ops = 0;
	for (unsigned i = 0; i < r->c->nr_task; i++) {
		const struct fl_slot *s = &r->board->slot[i];
		uint64_t ops = s->ops, part_ns = 0;

		if (fl_case_has_parts(r->c))
			read_part(s, &ops, &part_ns);
		k->ops += ops;
		ns += part_ns;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	k->now = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	k->task_s = fl_case_has_parts(r->c) ? (double)ns / 1e9 :
					      k->now * r->c->nr_task;
	read_idle(k);
}

static bool one_sample(struct fl_run *r, struct counts *k,
		       struct fl_sample *ret)
{
	struct counts last = *k;
	unsigned seconds = 0;

	do {
		usleep(1000000);
		if (!fl_run_reap(r, false))
			return false;
		read_counts(r, k);
	} while (k->ops == last.ops && fl_case_has_parts(r->c) &&
		 ++seconds < SAMPLE_MAX);
	if (k->ops == last.ops || k->task_s <= last.task_s)
		return fl_run_fail(r, "no operation was done in %u s",
				   seconds ? seconds : 1);
	ret->rate = (double)(k->ops - last.ops) / (k->task_s - last.task_s);
	ret->idle = k->all > last.all ? 100 * (double)(k->idle - last.idle) /
						(double)(k->all - last.all) :
					-1;
	return true;
}

bool fl_run_sample(struct fl_run *r)
{
	const struct fl_plan_case *c = r->c;
	struct fl_sample discarded;
	struct counts k;

	read_counts(r, &k);
	for (unsigned i = 0; i < c->warmup; i++)
		if (!one_sample(r, &k, &discarded))
			return false;
	for (unsigned i = 0; i < c->samples; i++)
		if (!one_sample(r, &k, &r->sample[i]))
			return false;
	r->board->stop = 1;
	return true;
}

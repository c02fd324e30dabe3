// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The progress line: how long we are at it, what runs now and how far it is,
 * how much is still to come. The estimate is what is queued and running, at
 * the durations seen so far, plus what the state machines announced.
 */
#include "plan.h"

#include <string.h>
#include "util/clock.h"
#include "util/fs.h"
#include "util/log.h"
#include "worker.h"

/* "make 0.62" from the worker's progress file; share < 0 when unknown. */
static double share_of(const struct fl_plan_child *c, char step[16])
{
	_cleanup_free_ char *path = fl_path_join(c->dir, FL_WORKER_PROGRESS);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	double share = -1;

	step[0] = '\0';
	/* A number that does not fit is no share either. */
	/* NOLINTNEXTLINE(cert-err34-c) */
	if (!f || fscanf(f, "%15s %lf", step, &share) != 2 || !(share <= 1))
		share = -1;
	return share;
}

static double left_of_children(const struct fl_plan *p, struct fl_buf *line)
{
	double build = 0, run = 0;

	for (int i = 0; i < p->nchild; i++) {
		const struct fl_plan_child *c = &p->child[i];
		double spent =
			(double)(fl_clock_mono_ms() - c->started_ms) / 1e3;
		char step[16];
		double share = share_of(c, step);
		double left = c->expected_s - spent;

		if (share > 0.05)
			left = spent / share - spent;
		if (left < 1)
			left = 1;
		fl_buf_printf(line, "%s%s", i ? " | " : "", c->label);
		if (!strcmp(c->kind, "build")) {
			if (share > 0)
				fl_buf_printf(line, " %s %.0f%%", step,
					      100 * share);
			build += left;
		} else {
			run += left;
		}
	}
	return build > run ? build : run;
}

void fl_plan_progress(struct fl_plan *p)
{
	_cleanup_buf_ struct fl_buf line = { 0 };
	double spent = (double)(fl_clock_mono_ms() - p->started_ms) / 1000;
	double left = left_of_children(p, &line);
	int64_t builds = fl_store_work_count(p->store, "build", "queued");
	int64_t runs = fl_store_work_count(p->store, "run", "queued");
	char at[24], eta[24];

	left += (double)builds * fl_store_mean_make_s(p->store, 60) +
		(double)runs * fl_store_mean_run_s(p->store, 0, 9, 25) /
			(double)p->conf->run_slots +
		p->ahead_build_s;
	fl_clock_span(spent, at, sizeof(at));
	fl_clock_span(left, eta, sizeof(eta));
	fl_progress("[%s, %s, about %s left] %s", at, p->stage, eta,
		    fl_buf_str(&line));
}

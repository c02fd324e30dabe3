/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs: what to measure. A job is a JSON file (jobs/NAME.json, documented in
 * faultline-job(5)): a program, a parameter matrix, the kernel options it
 * needs. Its expansion is a list of cases. Unknown keys are errors that name
 * the file and the key path.
 */
#ifndef FL_JOB_H
#define FL_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include "util/err.h"
#include "util/fs.h"
#include "util/strv.h"

struct fl_case {
	/* canonical, e.g. "page_fault3/process/nr_task=1/xfs" */
	char *name;
	/* flat object of parameters; every default is filled in:
	 * program, mode, nr_task (or "50%" of the CPUs), memsize (bytes),
	 * fs, …; pin, cache and thp are there only when they say something */
	json_t *params;
	/*
	 * Of a program of others: the files that go into the guest,
	 * [{"from","to" (no leading slash),"mode","sha256"}]; else NULL.
	 */
	json_t *pack;
};

struct fl_kpi;

struct fl_job {
	char *name, *path, *description;
	char hash[FL_HASH_HEX]; /* of the canonical text of what it asks for */
	json_t *doc; /* the file as parsed */
	struct fl_case *cases;
	size_t ncases;
	struct fl_strv kconfig; /* options its kernels need, "CONFIG_X=y" */
	char *control; /* case measured beside others in bisections, or NULL */
	int64_t timeout_s; /* no progress from a guest for so long: hang */
	struct fl_kpi *kpis; /* those that its programs declare */
	size_t nkpis;
	int64_t longest_s; /* time limit of its slowest program; 0: none */
	json_t *thresholds; /* [{"kpi","case" (fnmatch),"exact","wall"}] or NULL */
};

void fl_job_free(struct fl_job *job);
FL_DEFINE_FREEP(fl_job_free, struct fl_job)

/* name: a path, or the NAME of a file in one of dirs. */
int fl_job_load(const char *name, const struct fl_strv *dirs,
		struct fl_job **ret, struct fl_err *err);

/* NULL when the job has no such case. */
const struct fl_case *fl_job_case(const struct fl_job *job, const char *name);

/* The KPIs a case can yield, their units and which way is better. */
struct fl_kpi {
	const char *name, *unit;
	int better; /* +1 higher, -1 lower, 0 neither: never judged */
};
/* The i-th of them, NULL past the last. */
const struct fl_kpi *fl_kpi_at(size_t i);
/* NULL when unknown. */
const struct fl_kpi *fl_kpi_find(const char *name);
/* The same with those that the job declares, after the others. */
const struct fl_kpi *fl_job_kpi_at(const struct fl_job *job, size_t i);
const struct fl_kpi *fl_job_kpi_find(const struct fl_job *job,
				     const char *name);
/* A program of others? Its KPIs are params.kpis: [{"name", …}]. */
bool fl_case_is_exec(const json_t *params);
/*
 * The KPI that is judged first under a clock ("exact" or "wall") in a case
 * with these parameters; a program of others has none.
 */
const char *fl_kpi_primary(const char *clock, const json_t *params);

#endif

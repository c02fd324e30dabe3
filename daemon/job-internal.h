/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by job.c, job-case.c and job-param.c, and by nobody else. */
#ifndef FL_JOB_INTERNAL_H
#define FL_JOB_INTERNAL_H

#include "job.h"

/* A USER error about the value at a key path of the job. */
#define FL_JOB_BAD(err, path, fmt, ...) \
	fl_err_set(err, -EINVAL, FL_E_USER, "%s: " fmt, path, ##__VA_ARGS__)

/* Fills job->cases from job->doc. */
int fl_job_expand(struct fl_job *job, struct fl_err *err);

/* The name of parameter k, in the order in which arrays expand, or NULL. */
const char *fl_job_param(size_t k);
/* Checks the value of parameter k and puts it, or its default, into ret. */
int fl_job_param_take(size_t k, const json_t *v, const char *path, json_t *ret,
		      struct fl_err *err);
int fl_job_param_default(size_t k, const char *path, json_t *ret,
			 struct fl_err *err);
/* A complete case in its one form; USER error when parts contradict. */
int fl_job_params_settle(json_t *p, const char *path, struct fl_err *err);
/* program/mode/nr_task=N[/fs], then what differs from its default; heap. */
char *fl_job_case_name(const json_t *p);

#endif

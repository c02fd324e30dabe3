/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by job.c and job-case.c, and by nobody else. */
#ifndef FL_JOB_INTERNAL_H
#define FL_JOB_INTERNAL_H

#include "job.h"

/* A USER error about the value at a key path of the job. */
#define FL_JOB_BAD(err, path, fmt, ...) \
	fl_err_set(err, -EINVAL, FL_E_USER, "%s: " fmt, path, ##__VA_ARGS__)

/* Fills job->cases from job->doc. */
int fl_job_expand(struct fl_job *job, struct fl_err *err);

#endif

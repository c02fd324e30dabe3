/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by job.c and job-*.c, and by nobody else. */
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
/* Adds a case to the job; takes name, params and pack (NULL: no files). */
int fl_job_add_case(struct fl_job *job, char *name, json_t *params,
		    json_t *pack, const char *path, struct fl_err *err);
/* Adds the cases and the KPIs of an entry whose program is "exec". */
int fl_job_expand_exec(struct fl_job *job, const json_t *entry,
		       const char *path, struct fl_err *err);
/*
 * The files that command and files (or NULL) need in the guest: *ret is as
 * struct fl_case has it, content a hash of it all. The program's path, the
 * first word of command, becomes the one in the guest.
 */
int fl_job_pack(const struct fl_job *job, json_t *command, const json_t *files,
		const char *path, json_t **ret, char content[FL_HASH_HEX],
		struct fl_err *err);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The workspace and its faultline.conf (git-config syntax, documented in
 * faultline.conf(5)). An unknown section or key is an error that names file
 * and key. Also knows where the shipped jobs, fragments and the agent are.
 */
#ifndef FL_CONF_H
#define FL_CONF_H

#include <stdint.h>
#include "host/host.h"
#include "util/err.h"
#include "util/strv.h"

struct fl_conf_tree {
	char *name;
	char *url; /* NULL: `path` is an existing clone, used in place */
	char *path; /* absolute; default var/trees/<name>.git */
};

struct fl_conf_pair {
	char *name, *tree;
	char *base, *head; /* tag pattern or revision */
	struct fl_strv hosts, jobs;
};

struct fl_conf_host {
	struct fl_host host; /* its strings are owned here */
	char *name, *driver, *cpu, *append;
};

struct fl_conf {
	char *dir; /* the workspace, absolute */
	char *file; /* its faultline.conf */
	struct fl_conf_tree *trees;
	struct fl_conf_pair *pairs;
	struct fl_conf_host *hosts;
	size_t ntrees, npairs, nhosts;
	/* [build] */
	int64_t build_slots, build_jobs, build_timeout_s;
	bool build_ccache;
	char *config_base; /* make target or file:PATH */
	struct fl_strv fragments; /* absolute paths */
	/* [run] */
	int64_t run_slots; /* exact runs at once */
	int64_t boots_exact, boots_wall; /* a side; wall 0: as it takes */
	/* [threshold], as fractions */
	double threshold_exact, threshold_wall;
	/* [bisect] */
	double confidence;
	int64_t max_runs, max_culprits;
	/* [mail] */
	char *mail_from, *smtp, *smtp_user, *smtp_password_file;
	bool smtp_starttls;
	struct fl_strv mail_to, mail_cc;
};

/* dir: the workspace as given with -C. */
int fl_conf_load(const char *dir, struct fl_conf **ret, struct fl_err *err);
void fl_conf_free(struct fl_conf *c);
FL_DEFINE_FREEP(fl_conf_free, struct fl_conf)

/* USER error that lists the known names when there is none of that name;
 * name NULL: the only one, or an error that asks for a choice. */
int fl_conf_tree(const struct fl_conf *c, const char *name,
		 const struct fl_conf_tree **ret, struct fl_err *err);
int fl_conf_host(const struct fl_conf *c, const char *name,
		 const struct fl_host **ret, struct fl_err *err);
int fl_conf_pair(const struct fl_conf *c, const char *name,
		 const struct fl_conf_pair **ret, struct fl_err *err);

/* A file shipped with the program, beside the sources or installed; heap. */
char *fl_conf_shipped(const char *name);
/* Where jobs are looked for: the workspace's jobs/, then the shipped ones. */
void fl_conf_job_dirs(const struct fl_conf *c, struct fl_strv *out);
/* The guest agent; heap. */
char *fl_conf_agent(void);
/* $FAULTLINE_CACHE or the user's cache folder + /faultline; heap. */
char *fl_conf_cache_dir(void);

/* Text of a commented faultline.conf for `init`. */
extern const char fl_conf_template[];

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The profile verbs; cmd-profile-print.c has their tables. */
#ifndef FL_CMD_PROFILE_H
#define FL_CMD_PROFILE_H

#include "cli.h"
#include "profile.h"

/* One case of one kernel or run. */
struct fl_profile_case {
	char *name;
	struct fl_profile p;
	/* Measured, without sampling: the KPI of the exact clock, or NaN. */
	double kpi;
};

/* Cases, by name. */
struct fl_profile_set {
	char *label; /* the revision as it was given, or "run N" */
	struct fl_profile_case *v;
	size_t n;
};

json_t *fl_profile_json(const struct fl_profile_case *c);
void fl_profile_print(const struct fl_profile_case *c, const char *label,
		      size_t top);

json_t *fl_profile_diff_json(const struct fl_profile_case *base,
			     const struct fl_profile_case *head);
void fl_profile_diff_print(const struct fl_profile_case *base,
			   const char *base_label,
			   const struct fl_profile_case *head,
			   const char *head_label, size_t top,
			   bool instructions);

#endif

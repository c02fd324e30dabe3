/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports: one mail per culprit, written from database rows only, held in
 * the outbox until a person approves it.
 */
#ifndef FL_REPORT_H
#define FL_REPORT_H

#include "plan.h"

/*
 * Makes the report of a found bisection unless its culprit has one: in
 * the same comparison, or of the same KPI and host, from an earlier night.
 * Other bisections have none. The row first, then the copy
 * under var/outbox (made again when it is missing). Returns FL_READY.
 */
int fl_report_make(struct fl_plan *p, int64_t bisection_id, struct fl_err *err);

/* ---- report-text.c: rows to words ------------------------------------------ */

/* What a report says, gathered once; all heap or owned json. */
struct fl_report_data {
	json_t *bisection; /* FL_ROWS_BISECTION */
	json_t *comparison; /* FL_ROWS_COMPARISON */
	json_t *culprit; /* FL_ROWS_COMMIT */
	json_t *attributions; /* FL_ROWS_ATTRIBUTIONS */
	json_t *tested; /* FL_ROWS_BISECTION_TESTED */
	json_t *env; /* of a boot of the head */
	json_t *recipe; /* FL_ROWS_RECIPE */
	json_t *config; /* FL_ROWS_CONFIG of the head kernel */
};

int fl_report_data_load(struct fl_store *s, int64_t bisection_id,
			struct fl_report_data *d, struct fl_err *err);
void fl_report_data_clear(struct fl_report_data *d);
/* Both heap. */
char *fl_report_subject(const struct fl_report_data *d);
char *fl_report_body(const struct fl_report_data *d);

/* ---- outbox.c ------------------------------------------------------------------ */

/* Writes the copy under var/outbox: when it is missing, or anyway. */
int fl_outbox_write(const struct fl_conf *c, const struct fl_report *r,
		    bool replace, struct fl_err *err);
/* held -> approved. USER error when it is in another state. */
int fl_outbox_approve(struct fl_store *s, int64_t id, struct fl_err *err);
/* held or approved -> rejected. */
int fl_outbox_reject(struct fl_store *s, int64_t id, const char *why,
		     struct fl_err *err);
/* unknown -> sent (it arrived) or approved (send it once more). */
int fl_outbox_settle(struct fl_store *s, int64_t id, bool arrived,
		     struct fl_err *err);
/*
 * Sends an approved report: over SMTP when a server is configured, else the
 * file in the outbox is the delivery. A report whose fate is unknown is kept
 * as such and not sent again by itself.
 */
int fl_outbox_send(const struct fl_conf *c, struct fl_store *s, int64_t id,
		   char **outcome, struct fl_err *err);

#endif

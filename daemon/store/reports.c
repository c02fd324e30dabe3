// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of reports and recipients. See store.h. */
#include "db.h"

#include <errno.h>
#include "../util/clock.h"
#include <string.h>

#define REPORT_COLUMNS                                                      \
	"id, bisection_id, created, message_id, subject, mail_from, body, " \
	"message, state, file, reason"

static const char SQL_REPORT_OF[] = "SELECT " REPORT_COLUMNS
				    " FROM report WHERE bisection_id = ?";
static const char SQL_REPORT_BY_ID[] = "SELECT " REPORT_COLUMNS
				       " FROM report WHERE id = ?";
static const char SQL_REPORT_NEW[] =
	"INSERT INTO report (bisection_id, message_id, subject, mail_from, "
	"body, message, file, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
	"RETURNING id";
static const char SQL_RECIPIENT[] =
	"INSERT INTO recipient (report_id, field, mailbox, why) "
	"VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING";
static const char SQL_REPORT_MOVE[] =
	"UPDATE report SET state = ?3, reason = ?4, "
	"approved = CASE WHEN ?3 = 'approved' AND approved IS NULL "
	"THEN ?5 ELSE approved END, "
	"sent = CASE WHEN ?3 = 'sent' THEN ?5 ELSE sent END "
	"WHERE id = ?1 AND state = ?2 RETURNING id";

void fl_report_clear(struct fl_report *r)
{
	free(r->message_id);
	free(r->subject);
	free(r->mail_from);
	free(r->body);
	free(r->message);
	free(r->state);
	free(r->file);
	free(r->reason);
	*r = (struct fl_report){ 0 };
}

static int take(struct fl_store *s, sqlite3_stmt *st, struct fl_report *r,
		struct fl_err *err)
{
	int n = fl_db_step(s, st, err);

	if (n <= 0)
		return n;
	*r = (struct fl_report){
		.id = sqlite3_column_int64(st, 0),
		.bisection_id = sqlite3_column_int64(st, 1),
		.created = sqlite3_column_int64(st, 2),
		.message_id = fl_db_text(st, 3),
		.subject = fl_db_text(st, 4),
		.mail_from = fl_db_text(st, 5),
		.body = fl_db_text(st, 6),
		/* Composed text without NUL: as good as a string. */
		.message = fl_strndup(sqlite3_column_blob(st, 7),
				      (size_t)sqlite3_column_bytes(st, 7)),
		.state = fl_db_text(st, 8),
		.file = fl_db_text(st, 9),
		.reason = fl_db_text(st, 10),
	};
	fl_db_done(st);
	return 1;
}

int fl_store_report_of(struct fl_store *s, int64_t bisection_id,
		       struct fl_report *ret, struct fl_err *err)
{
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, SQL_REPORT_OF, "i", bisection_id);

	return r < 0 ? r : take(s, st, ret, err);
}

int fl_store_report_by_id(struct fl_store *s, int64_t id, struct fl_report *ret,
			  struct fl_err *err)
{
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, SQL_REPORT_BY_ID, "i", id);

	if (!r)
		r = take(s, st, ret, err);
	if (!r)
		return fl_err_set(
			err, -ENOENT, FL_E_USER,
			"there is no report %lld; 'faultline report list' shows them",
			(long long)id);
	return r < 0 ? r : 0;
}

int fl_store_report_reload(struct fl_store *s, struct fl_report *r,
			   struct fl_err *err)
{
	int64_t id = r->id;

	fl_report_clear(r);
	return fl_store_report_by_id(s, id, r, err);
}

int fl_store_report_new(struct fl_store *s, struct fl_report *r,
			struct fl_err *err)
{
	return fl_db_int(s, &r->id, err, SQL_REPORT_NEW, "issssbsi",
			 r->bisection_id, r->message_id, r->subject,
			 r->mail_from, r->body, r->message, strlen(r->message),
			 r->file, r->created);
}

int fl_store_recipient(struct fl_store *s, int64_t report_id, const char *field,
		       const char *mailbox, const char *why, struct fl_err *err)
{
	return fl_db_exec(s, err, SQL_RECIPIENT, "isss", report_id, field,
			  mailbox, why);
}

int fl_store_report_move(struct fl_store *s, int64_t id, const char *from,
			 const char *to, const char *reason, struct fl_err *err)
{
	int64_t dummy;
	int r;

	/* What work did can be done again; what was mailed cannot. */
	fl_db_durable(s, true);
	r = fl_db_int(s, &dummy, err, SQL_REPORT_MOVE, "isssi", id, from, to,
		      reason, fl_clock_now());
	fl_db_durable(s, false);
	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : 1;
}

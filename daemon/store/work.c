// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of work and requests: the durable queue. See store.h. */
#include "db.h"

#include <errno.h>
#include <string.h>
#include "../util/clock.h"

#define WORK_COLUMNS "id, subject_id, attempt, created, kind, spec"

static const char SQL_WORK_OPEN[] =
	"SELECT id FROM work WHERE kind = ? AND subject_id = ? "
	"AND state IN ('queued', 'running')";
static const char SQL_WORK_ADD[] =
	"INSERT INTO work (kind, subject_id, spec, priority, created) "
	"VALUES (?, ?, ?, ?, ?)";
static const char SQL_WORK_NEXT[] =
	"SELECT " WORK_COLUMNS " FROM work WHERE state = 'queued' "
	"AND kind = ? AND not_before <= ? ORDER BY priority DESC, id LIMIT 1";
static const char SQL_WORK_START[] =
	"UPDATE work SET state = 'running', attempt = attempt + 1, "
	"started = ?2 WHERE id = ?1 AND state = 'queued' RETURNING attempt";
static const char SQL_WORK_END[] =
	"UPDATE work SET state = ?3, error = ?4, seconds = ?5, "
	"finished = ?6, not_before = ?7 "
	"WHERE id = ?1 AND attempt = ?2 AND state = 'running' RETURNING id";
static const char SQL_WORK_RUNNING[] = "SELECT " WORK_COLUMNS
				       " FROM work WHERE state = 'running' "
				       "AND id > ? ORDER BY id LIMIT 1";
static const char SQL_WORK_COUNT[] =
	"SELECT count(*) FROM work WHERE state = ?2 AND ?1 IN ('', kind)";
static const char SQL_WORK_DONE_FOR[] =
	"SELECT count(*) FROM work WHERE kind = ? AND state = 'done' "
	"AND json_extract(spec, '$.request') = ?";
static const char SQL_WORK_IS[] =
	"SELECT count(*) FROM work WHERE id = ? AND state = ?";
static const char SQL_WORK_DUE[] =
	"SELECT min(not_before) FROM work WHERE state = 'queued' "
	"HAVING count(*)";
static const char SQL_REQUEST_FIND[] =
	"SELECT id, kind, state, reason, doc FROM request WHERE kind = ? "
	"AND state = 'open' AND json_extract(doc, '$.key') = ? "
	"ORDER BY id DESC LIMIT 1";
static const char SQL_REQUEST_NEW[] =
	"INSERT INTO request (kind, doc, created) VALUES (?, ?, ?)";
static const char SQL_REQUEST_UPDATE[] =
	"UPDATE request SET doc = ?2, state = ?3, reason = ?4, "
	"finished = CASE WHEN ?3 = 'open' THEN NULL ELSE ?5 END WHERE id = ?1";

void fl_work_clear(struct fl_work *w)
{
	free(w->kind);
	json_decref(w->spec);
	*w = (struct fl_work){ 0 };
}

static int take_work(struct fl_store *s, sqlite3_stmt *st, struct fl_work *w,
		     struct fl_err *err)
{
	int r = fl_db_step(s, st, err);

	if (r <= 0)
		return r;
	*w = (struct fl_work){
		.id = sqlite3_column_int64(st, 0),
		.subject_id = sqlite3_column_int64(st, 1),
		.attempt = sqlite3_column_int64(st, 2),
		.created = sqlite3_column_int64(st, 3),
		.kind = fl_db_text(st, 4),
		.spec = json_loads((const char *)sqlite3_column_text(st, 5), 0,
				   NULL),
	};
	fl_db_done(st);
	return 1;
}

int fl_store_work_add(struct fl_store *s, const char *kind, int64_t subject_id,
		      const json_t *spec, int64_t priority, struct fl_err *err)
{
	_cleanup_free_ char *text = fl_json_text(spec);
	int64_t id;
	int r = fl_db_int(s, &id, err, SQL_WORK_OPEN, "si", kind, subject_id);

	if (r != -ENOENT)
		return r;
	return fl_db_exec(s, err, SQL_WORK_ADD, "sisii", kind, subject_id, text,
			  priority, fl_clock_now());
}

int fl_store_work_next(struct fl_store *s, const char *kind,
		       struct fl_work *ret, struct fl_err *err)
{
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, SQL_WORK_NEXT, "si", kind,
			   fl_clock_now());

	return r < 0 ? r : take_work(s, st, ret, err);
}

int fl_store_work_start(struct fl_store *s, struct fl_work *w,
			struct fl_err *err)
{
	return fl_db_int(s, &w->attempt, err, SQL_WORK_START, "ii", w->id,
			 fl_clock_now());
}

int fl_store_work_end(struct fl_store *s, int64_t id, int64_t attempt,
		      const char *state, const char *error, double seconds,
		      int64_t delay_s, struct fl_err *err)
{
	int64_t now = fl_clock_now(), dummy;
	int r = fl_db_int(s, &dummy, err, SQL_WORK_END, "iissdii", id, attempt,
			  state, error, seconds, now,
			  delay_s ? now + delay_s : 0);

	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : 1;
}

int fl_store_work_running(struct fl_store *s, int64_t after_id,
			  struct fl_work *ret, struct fl_err *err)
{
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, SQL_WORK_RUNNING, "i", after_id);

	return r < 0 ? r : take_work(s, st, ret, err);
}

int64_t fl_store_work_count(struct fl_store *s, const char *kind,
			    const char *state)
{
	int64_t n = 0;

	fl_db_int(s, &n, NULL, SQL_WORK_COUNT, "ss", kind, state);
	return n;
}

int fl_store_work_done_for(struct fl_store *s, const char *kind,
			   int64_t request_id, int64_t *n, struct fl_err *err)
{
	return fl_db_int(s, n, err, SQL_WORK_DONE_FOR, "si", kind, request_id);
}

bool fl_store_work_is(struct fl_store *s, int64_t id, const char *state)
{
	int64_t n = 0;

	fl_db_int(s, &n, NULL, SQL_WORK_IS, "is", id, state);
	return n > 0;
}

int64_t fl_store_work_due(struct fl_store *s)
{
	int64_t t = 0;

	return fl_db_int(s, &t, NULL, SQL_WORK_DUE, "") < 0 ? 0 : t;
}

void fl_request_clear(struct fl_request *r)
{
	free(r->kind);
	free(r->state);
	free(r->reason);
	json_decref(r->doc);
	*r = (struct fl_request){ 0 };
}

static int find_request(struct fl_store *s, const char *kind, const char *key,
			struct fl_request *ret, struct fl_err *err)
{
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, SQL_REQUEST_FIND, "ss", kind, key);

	if (!r)
		r = fl_db_step(s, st, err);
	if (r <= 0)
		return r;
	*ret = (struct fl_request){
		.id = sqlite3_column_int64(st, 0),
		.kind = fl_db_text(st, 1),
		.state = fl_db_text(st, 2),
		.reason = fl_db_text(st, 3),
		.doc = json_loads((const char *)sqlite3_column_text(st, 4), 0,
				  NULL),
	};
	fl_db_done(st);
	return 1;
}

int fl_store_request(struct fl_store *s, const char *kind, const char *key,
		     const json_t *doc, struct fl_request *ret,
		     struct fl_err *err)
{
	json_auto_t *keyed = json_deep_copy(doc);
	_cleanup_free_ char *text = NULL;
	int r = find_request(s, kind, key, ret, err);

	if (r)
		return r < 0 ? r : 0;
	json_object_set_new(keyed, "key", json_string(key));
	text = fl_json_text(keyed);
	r = fl_db_exec(s, err, SQL_REQUEST_NEW, "ssi", kind, text,
		       fl_clock_now());
	if (!r)
		r = find_request(s, kind, key, ret, err);
	return r < 0 ? r : 0;
}

int fl_store_request_update(struct fl_store *s, int64_t id, const json_t *doc,
			    const char *state, const char *reason,
			    struct fl_err *err)
{
	_cleanup_free_ char *text = fl_json_text(doc);

	return fl_db_exec(s, err, SQL_REQUEST_UPDATE, "isssi", id, text, state,
			  reason, fl_clock_now());
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* See db.h. Opening, migrating, transactions, and the statement cache. */
#include "db.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include "../util/fs.h"
#include "../util/log.h"
#include "migrations.h"

#define N_MIGRATIONS ((int)FL_ARRAY_SIZE(fl_migrations))
#define APPLICATION_ID 0x466c746e /* "Fltn" */

int fl_db_fail(struct fl_store *s, const char *doing, struct fl_err *err)
{
	int code = sqlite3_extended_errcode(s->db);
	int e = (code & 0xff) == SQLITE_FULL ? -ENOSPC : -EIO;
	bool bug = (code & 0xff) == SQLITE_CONSTRAINT ||
		   (code & 0xff) == SQLITE_ERROR ||
		   (code & 0xff) == SQLITE_MISUSE;

	return fl_err_set(
		err, e, bug ? FL_E_BUG : FL_E_INFRA, "database '%s': %s: %s%s",
		s->path, doing, sqlite3_errmsg(s->db),
		e == -ENOSPC ?
			" (free some space and start again: nothing is lost)" :
			"");
}

static int pragma_int(struct fl_store *s, const char *sql, int *ret)
{
	sqlite3_stmt *st = NULL;
	int r = -1;

	if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW) {
		*ret = sqlite3_column_int(st, 0);
		r = 0;
	}
	sqlite3_finalize(st);
	return r;
}

static int run_script(struct fl_store *s, const char *sql, const char *doing,
		      struct fl_err *err)
{
	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return fl_db_fail(s, doing, err);
	return 0;
}

static int migrate(struct fl_store *s, int from, struct fl_err *err)
{
	for (int v = from; v < N_MIGRATIONS; v++) {
		char pragma[96];
		int r = run_script(s, "BEGIN IMMEDIATE", "starting", err);

		if (!r)
			r = run_script(s, fl_migrations[v], "migrating", err);
		snprintf(pragma, sizeof(pragma),
			 "PRAGMA user_version = %d; PRAGMA application_id = %d",
			 v + 1, APPLICATION_ID);
		if (!r)
			r = run_script(s, pragma, "migrating", err);
		if (!r)
			r = run_script(s, "COMMIT", "migrating", err);
		if (r < 0) {
			sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
			return r;
		}
	}
	return 0;
}

/* Whose file is it, and how old? */
static int check_version(struct fl_store *s, struct fl_err *err)
{
	int version = 0, app = 0, tables = 0;

	if (pragma_int(s, "PRAGMA user_version", &version) < 0)
		return sqlite3_errcode(s->db) != SQLITE_NOTADB ?
			       fl_db_fail(s, "opening", err) :
			       fl_err_set(
				       err, -EINVAL, FL_E_USER,
				       "'%s' is not a database of Faultline (%s); move it away or choose another workspace with -C",
				       s->path, sqlite3_errmsg(s->db));
	if (pragma_int(s, "PRAGMA application_id", &app) < 0 ||
	    pragma_int(s, "SELECT count(*) FROM sqlite_master", &tables) < 0)
		return fl_db_fail(s, "opening", err);
	if (tables && app != APPLICATION_ID)
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"'%s' is a database of another program; move it away or choose another workspace with -C",
			s->path);
	if (version > N_MIGRATIONS)
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"'%s' has version %d and this faultline knows versions up to %d; use a newer faultline",
			s->path, version, N_MIGRATIONS);
	return migrate(s, version, err);
}

/*
 * For tests of interruption: with FAULTLINE_KILL_AT=before:N or after:N in the
 * environment the process kills itself right before or right after its N-th
 * commit. Every state transition is a commit, so that tests can go through
 * all of them (tests/t/40-kill.t).
 */
static int before_commit(void *arg)
{
	struct fl_store *s = arg;

	if (!--s->kill_in)
		raise(SIGKILL);
	return 0;
}

static int after_commit(void *arg, sqlite3 *db _unused_,
			const char *name _unused_, int pages _unused_)
{
	return before_commit(arg);
}

static void set_kill(struct fl_store *s)
{
	const char *at = getenv("FAULTLINE_KILL_AT");
	const char *n = at ? strchr(at, ':') : NULL;

	if (!n)
		return;
	s->kill_in = strtol(n + 1, NULL, 10);
	if (!strncmp(at, "before:", 7))
		sqlite3_commit_hook(s->db, before_commit, s);
	else
		sqlite3_wal_hook(s->db, after_commit, s);
}

int fl_store_open(const char *path, bool create, struct fl_store **ret,
		  struct fl_err *err)
{
	_cleanup_(fl_store_closep) struct fl_store *s =
		fl_calloc(1, sizeof(*s));
	int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
	int r;

	s->path = fl_strdup(path);
	if (!create && !fl_fs_exists(path))
		return fl_err_set(
			err, -ENOENT, FL_E_USER,
			"no database '%s'; run 'faultline init' first, or choose the workspace with -C",
			path);
	/* SQLite would say no more than that it cannot open it. */
	if (fl_fs_exists(path) && access(path, R_OK | W_OK) < 0)
		return fl_err_set(
			err, -errno, FL_E_INFRA,
			"cannot write '%s': %s; choose another workspace with -C, or make this one writable",
			path, strerror(errno));
	if (sqlite3_open_v2(path, &s->db, flags, NULL) != SQLITE_OK)
		return fl_db_fail(s, "opening", err);
	sqlite3_busy_timeout(s->db, 10000);
	r = check_version(s, err);
	if (!r)
		r = run_script(s,
			       "PRAGMA journal_mode = WAL;"
			       "PRAGMA synchronous = NORMAL;"
			       "PRAGMA foreign_keys = ON",
			       "opening", err);
	if (r < 0)
		return r;
	set_kill(s);
	*ret = fl_steal(s);
	return 0;
}

void fl_store_close(struct fl_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->ncache; i++)
		sqlite3_finalize(s->cache[i].st);
	free(s->cache);
	sqlite3_close(s->db);
	free(s->path);
	free(s);
}

int fl_store_begin(struct fl_store *s, struct fl_err *err)
{
	if (s->depth++)
		return 0;
	if (run_script(s, "BEGIN IMMEDIATE", "starting", err) < 0) {
		s->depth = 0;
		return err ? err->code : -EIO;
	}
	return 0;
}

int fl_store_commit(struct fl_store *s, struct fl_err *err)
{
	if (--s->depth)
		return 0;
	if (run_script(s, "COMMIT", "committing", err) < 0) {
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		return err ? err->code : -EIO;
	}
	return 0;
}

void fl_store_rollback(struct fl_store *s)
{
	if (!s->depth)
		return;
	s->depth = 0;
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

static sqlite3_stmt *cached(struct fl_store *s, const char *sql)
{
	sqlite3_stmt *st = NULL;

	for (size_t i = 0; i < s->ncache; i++)
		if (s->cache[i].sql == sql)
			return s->cache[i].st;
	if (sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &st,
			       NULL) != SQLITE_OK)
		return NULL;
	s->cache = fl_realloc(s->cache, (s->ncache + 1) * sizeof(*s->cache));
	s->cache[s->ncache++] = (struct fl_db_cached){ sql, st };
	return st;
}

static int open_va(struct fl_store *s, sqlite3_stmt **ret, struct fl_err *err,
		   const char *sql, const char *types, va_list ap)
{
	sqlite3_stmt *st = cached(s, sql);
	int i = 1;

	if (!st)
		return fl_db_fail(s, "preparing", err);
	if (sqlite3_bind_parameter_count(st) != (int)strlen(types))
		return fl_err_set(err, -EINVAL, FL_E_BUG,
				  "%zu arguments for '%s'", strlen(types), sql);
	sqlite3_reset(st);
	for (const char *t = types; *t; t++, i++) {
		if (*t == 'i') {
			sqlite3_bind_int64(st, i, va_arg(ap, int64_t));
		} else if (*t == 'd') {
			/* SQLite stores NaN as NULL by itself. */
			sqlite3_bind_double(st, i, va_arg(ap, double));
		} else if (*t == 's') {
			sqlite3_bind_text(st, i, va_arg(ap, const char *), -1,
					  SQLITE_TRANSIENT);
		} else {
			const void *p = va_arg(ap, const void *);
			size_t n = va_arg(ap, size_t);

			sqlite3_bind_blob64(st, i, p, n, SQLITE_TRANSIENT);
		}
	}
	*ret = st;
	return 0;
}

int fl_db_open(struct fl_store *s, sqlite3_stmt **ret, struct fl_err *err,
	       const char *sql, const char *types, ...)
{
	va_list ap;
	int r;

	va_start(ap, types);
	r = open_va(s, ret, err, sql, types, ap);
	va_end(ap);
	return r;
}

int fl_db_step(struct fl_store *s, sqlite3_stmt *st, struct fl_err *err)
{
	int code = sqlite3_step(st);

	if (code == SQLITE_ROW)
		return 1;
	if (code != SQLITE_DONE) {
		int r = fl_db_fail(s, "reading or writing", err);

		fl_db_done(st);
		return r;
	}
	fl_db_done(st);
	return 0;
}

void fl_db_done(sqlite3_stmt *st)
{
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
}

int fl_db_exec(struct fl_store *s, struct fl_err *err, const char *sql,
	       const char *types, ...)
{
	sqlite3_stmt *st;
	va_list ap;
	int r;

	va_start(ap, types);
	r = open_va(s, &st, err, sql, types, ap);
	va_end(ap);
	if (r < 0)
		return r;
	r = fl_db_step(s, st, err);
	if (r > 0)
		fl_db_done(st);
	return r < 0 ? r : 0;
}

int fl_db_int(struct fl_store *s, int64_t *ret, struct fl_err *err,
	      const char *sql, const char *types, ...)
{
	sqlite3_stmt *st;
	va_list ap;
	int r;

	va_start(ap, types);
	r = open_va(s, &st, err, sql, types, ap);
	va_end(ap);
	if (r < 0)
		return r;
	r = fl_db_step(s, st, err);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	*ret = sqlite3_column_int64(st, 0);
	fl_db_done(st);
	return 0;
}

void fl_db_durable(struct fl_store *s, bool on)
{
	sqlite3_exec(s->db,
		     on ? "PRAGMA synchronous = FULL" :
			  "PRAGMA synchronous = NORMAL",
		     NULL, NULL, NULL);
}

static bool is_document(const char *column)
{
	static const char *const names[] = { "doc", "env", "params", "parents",
					     "posterior" };

	for (size_t i = 0; i < FL_ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], column))
			return true;
	return false;
}

static json_t *column(sqlite3_stmt *st, int i)
{
	const char *name = sqlite3_column_name(st, i);
	const char *text;

	switch (sqlite3_column_type(st, i)) {
	case SQLITE_INTEGER:
		return json_integer(sqlite3_column_int64(st, i));
	case SQLITE_FLOAT:
		return json_real(sqlite3_column_double(st, i));
	case SQLITE_NULL:
		return json_null();
	default:
		text = (const char *)sqlite3_column_text(st, i);
		/* Documents come out as documents, not as quoted text. */
		if (is_document(name)) {
			json_t *j = json_loads(text, JSON_DECODE_ANY, NULL);

			if (j)
				return j;
		}
		return fl_json_text_value(text, strlen(text));
	}
}

int fl_db_json(struct fl_store *s, json_t **ret, struct fl_err *err,
	       const char *sql, const char *types, va_list ap)
{
	json_auto_t *rows = json_array();
	sqlite3_stmt *st = NULL;
	int r = open_va(s, &st, err, sql, types, ap);

	if (r < 0)
		return r;
	while ((r = fl_db_step(s, st, err)) > 0) {
		json_t *row = json_object();

		for (int i = 0; i < sqlite3_column_count(st); i++)
			json_object_set_new(row, sqlite3_column_name(st, i),
					    column(st, i));
		json_array_append_new(rows, row);
	}
	if (r < 0)
		return r;
	*ret = fl_steal(rows);
	return 0;
}

char *fl_db_text(sqlite3_stmt *st, int col)
{
	return fl_strdup((const char *)sqlite3_column_text(st, col));
}

double fl_db_num(sqlite3_stmt *st, int col)
{
	if (sqlite3_column_type(st, col) == SQLITE_NULL)
		return NAN;
	return sqlite3_column_double(st, col);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside store/ only: SQLite with our errors. A statement is named by its
 * constant and prepared once. Arguments follow a type string:
 *   i  int64_t     d  double (NaN becomes NULL)     s  const char * or NULL
 *   b  const void *, size_t
 */
#ifndef FL_STORE_DB_H
#define FL_STORE_DB_H

#include <jansson.h>
#include <sqlite3.h>
#include "store.h"

struct fl_db_cached {
	const char *sql;
	sqlite3_stmt *st;
};

struct fl_store {
	sqlite3 *db;
	char *path;
	struct fl_db_cached *cache;
	size_t ncache;
	int depth; /* of nested fl_store_begin() */
	long kill_in; /* tests only: commits until we die, see db.c */
};

int fl_db_fail(struct fl_store *s, const char *doing, struct fl_err *err);

/* A bound statement, ready to step; reset with fl_db_done(). */
int fl_db_open(struct fl_store *s, sqlite3_stmt **ret, struct fl_err *err,
	       const char *sql, const char *types, ...);
/* 1 = a row, 0 = the end (the statement is reset), negative = error. */
int fl_db_step(struct fl_store *s, sqlite3_stmt *st, struct fl_err *err);
void fl_db_done(sqlite3_stmt *st);

/* Commits from here on survive a loss of power, at the price of a sync each;
 * otherwise the last ones may be undone by it. Not inside a transaction. */
void fl_db_durable(struct fl_store *s, bool on);

int fl_db_exec(struct fl_store *s, struct fl_err *err, const char *sql,
	       const char *types, ...);
/* First column of the first row; -ENOENT (err untouched) without one. */
int fl_db_int(struct fl_store *s, int64_t *ret, struct fl_err *err,
	      const char *sql, const char *types, ...);
/* All rows as an array of objects keyed by column name. */
int fl_db_json(struct fl_store *s, json_t **ret, struct fl_err *err,
	       const char *sql, const char *types, va_list ap);

/* Column as heap text (NULL stays NULL), and as a double (NULL is NaN). */
char *fl_db_text(sqlite3_stmt *st, int col);
double fl_db_num(sqlite3_stmt *st, int col);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of trees, commits and picks. See store.h. */
#include "db.h"

#include <errno.h>
#include "../util/clock.h"

static const char SQL_TREE_UPSERT[] =
	"INSERT INTO tree (name, url, path) VALUES (?, ?, ?) "
	"ON CONFLICT (name) DO UPDATE SET url = excluded.url, "
	"path = excluded.path RETURNING id";
static const char SQL_TREE_FETCHED[] =
	"UPDATE tree SET fetch_error = nullif(?2, ''), "
	"fetched = CASE WHEN ?2 = '' THEN ?3 ELSE fetched END WHERE id = ?1";
static const char SQL_COMMIT_UPSERT[] =
	"INSERT INTO commit_info (sha, described, subject, message, "
	"author_name, author_email, commit_time) VALUES (?, ?, ?, ?, ?, ?, ?) "
	"ON CONFLICT (sha) DO UPDATE SET described = excluded.described";
static const char SQL_DESCRIBED[] =
	"SELECT described FROM commit_info WHERE sha = ?";
static const char SQL_PICK_GET[] = "SELECT status, sha, reason FROM pick "
				   "WHERE pick_sha = ? AND base_sha = ?";
static const char SQL_PICK_SET[] =
	"INSERT INTO pick (tree_id, pick_sha, base_sha, status, sha, reason) "
	"VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (pick_sha, base_sha) DO NOTHING";

int fl_store_tree(struct fl_store *s, const char *name, const char *url,
		  const char *path, int64_t *id, struct fl_err *err)
{
	return fl_db_int(s, id, err, SQL_TREE_UPSERT, "sss", name, url, path);
}

int fl_store_tree_fetched(struct fl_store *s, int64_t id, const char *error,
			  struct fl_err *err)
{
	return fl_db_exec(s, err, SQL_TREE_FETCHED, "isi", id, error,
			  fl_clock_now());
}

int fl_store_commit_info(struct fl_store *s, const struct fl_commit_row *c,
			 struct fl_err *err)
{
	return fl_db_exec(s, err, SQL_COMMIT_UPSERT, "ssssssi", c->sha,
			  c->described, c->subject, c->message, c->author_name,
			  c->author_email, c->commit_time);
}

char *fl_store_described(struct fl_store *s, const char *sha)
{
	char *text = NULL;
	sqlite3_stmt *st;

	if (!fl_db_open(s, &st, NULL, SQL_DESCRIBED, "s", sha) &&
	    fl_db_step(s, st, NULL) > 0) {
		text = fl_db_text(st, 0);
		fl_db_done(st);
	}
	return text ? text : fl_strndup(sha, 12);
}

void fl_pick_clear(struct fl_pick *p)
{
	free(p->status);
	free(p->sha);
	free(p->reason);
	*p = (struct fl_pick){ 0 };
}

int fl_store_pick(struct fl_store *s, const char *pick_sha,
		  const char *base_sha, struct fl_pick *ret, struct fl_err *err)
{
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, SQL_PICK_GET, "ss", pick_sha, base_sha);

	if (!r)
		r = fl_db_step(s, st, err);
	if (r < 0)
		return r;
	if (r) {
		*ret = (struct fl_pick){ fl_db_text(st, 0), fl_db_text(st, 1),
					 fl_db_text(st, 2) };
		fl_db_done(st);
	} else {
		*ret = (struct fl_pick){ .status = fl_strdup("") };
	}
	return 0;
}

int fl_store_pick_set(struct fl_store *s, int64_t tree_id, const char *pick_sha,
		      const char *base_sha, const char *status, const char *sha,
		      const char *reason, struct fl_err *err)
{
	return fl_db_exec(s, err, SQL_PICK_SET, "isssss", tree_id, pick_sha,
			  base_sha, status, sha, reason);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of configs and kernels. See store.h. */
#include "db.h"

#include <errno.h>
#include <math.h>
#include "../util/clock.h"

#define KERNEL_COLUMNS                                                       \
	"id, tree_id, config_id, sha, builder, "                             \
	"compiler, status, reason, release, image_hash, final_config_hash, " \
	"dir, make_s"

static const char SQL_CONFIG[] =
	"INSERT INTO config (hash, doc) VALUES (?, ?) "
	"ON CONFLICT (hash) DO UPDATE SET hash = hash RETURNING id";
static const char SQL_KERNEL_NEW[] =
	"INSERT INTO kernel (tree_id, sha, builder, config_id, compiler, "
	"created) VALUES (?, ?, ?, ?, ?, ?) "
	"ON CONFLICT (sha, builder, config_id, compiler) DO NOTHING";
static const char SQL_KERNEL_FIND[] =
	"SELECT " KERNEL_COLUMNS " FROM kernel "
	"WHERE sha = ? AND builder = ? AND config_id = ? AND compiler = ?";
static const char SQL_KERNEL_BY_ID[] = "SELECT " KERNEL_COLUMNS
				       " FROM kernel WHERE id = ?";
static const char SQL_KERNEL_FINISH[] =
	"UPDATE kernel SET status = ?2, reason = ?3, release = ?4, "
	"image_hash = ?5, final_config_hash = ?6, dir = ?7, checkout_s = ?8, "
	"make_s = ?9, finished = ?10 WHERE id = ?1";
static const char SQL_MEAN_MAKE[] =
	"SELECT cast(1000 * avg(make_s) AS INTEGER) FROM (SELECT make_s "
	"FROM kernel WHERE make_s > 0 AND status = 'built' "
	"ORDER BY finished DESC, id DESC LIMIT 4) HAVING count(*)";

int fl_store_config(struct fl_store *s, const char *hash, const json_t *doc,
		    int64_t *id, struct fl_err *err)
{
	_cleanup_free_ char *text = fl_json_text(doc);

	return fl_db_int(s, id, err, SQL_CONFIG, "ss", hash, text);
}

void fl_kernel_clear(struct fl_kernel *k)
{
	free(k->sha);
	free(k->builder);
	free(k->compiler);
	free(k->status);
	free(k->reason);
	free(k->release);
	free(k->image_hash);
	free(k->final_config_hash);
	free(k->dir);
	*k = (struct fl_kernel){ 0 };
}

/* Takes the row of an opened statement: 1 = there, 0 = none. */
static int take(struct fl_store *s, sqlite3_stmt *st, struct fl_kernel *k,
		struct fl_err *err)
{
	int r = fl_db_step(s, st, err);

	if (r <= 0)
		return r;
	*k = (struct fl_kernel){
		.id = sqlite3_column_int64(st, 0),
		.tree_id = sqlite3_column_int64(st, 1),
		.config_id = sqlite3_column_int64(st, 2),
		.sha = fl_db_text(st, 3),
		.builder = fl_db_text(st, 4),
		.compiler = fl_db_text(st, 5),
		.status = fl_db_text(st, 6),
		.reason = fl_db_text(st, 7),
		.release = fl_db_text(st, 8),
		.image_hash = fl_db_text(st, 9),
		.final_config_hash = fl_db_text(st, 10),
		.dir = fl_db_text(st, 11),
		.make_s = fl_db_num(st, 12),
	};
	fl_db_done(st);
	return 1;
}

int fl_store_kernel_find(struct fl_store *s, const char *sha,
			 const char *builder, int64_t config_id,
			 const char *compiler, struct fl_kernel *ret,
			 struct fl_err *err)
{
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, SQL_KERNEL_FIND, "ssis", sha, builder,
			   config_id, compiler);

	return r < 0 ? r : take(s, st, ret, err);
}

int fl_store_kernel(struct fl_store *s, int64_t tree_id, const char *sha,
		    const char *builder, int64_t config_id,
		    const char *compiler, struct fl_kernel *ret,
		    struct fl_err *err)
{
	int r = fl_db_exec(s, err, SQL_KERNEL_NEW, "issisi", tree_id, sha,
			   builder, config_id, compiler, fl_clock_now());

	if (!r)
		r = fl_store_kernel_find(s, sha, builder, config_id, compiler,
					 ret, err);
	return r < 0 ? r : 0;
}

int fl_store_kernel_by_id(struct fl_store *s, int64_t id, struct fl_kernel *ret,
			  struct fl_err *err)
{
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, SQL_KERNEL_BY_ID, "i", id);

	if (!r)
		r = take(s, st, ret, err);
	if (!r)
		return fl_err_set(err, -ENOENT, FL_E_USER,
				  "there is no kernel %lld", (long long)id);
	return r < 0 ? r : 0;
}

int fl_store_kernel_finish(struct fl_store *s, int64_t id,
			   const struct fl_kernel_end *end, struct fl_err *err)
{
	return fl_db_exec(s, err, SQL_KERNEL_FINISH, "issssssddi", id,
			  end->status, end->reason, end->release,
			  end->image_hash, end->final_config_hash, end->dir,
			  end->checkout_s, end->make_s, fl_clock_now());
}

double fl_store_mean_make_s(struct fl_store *s, double fallback)
{
	int64_t ms;

	if (fl_db_int(s, &ms, NULL, SQL_MEAN_MAKE, "") < 0)
		return fallback;
	return (double)ms / 1000;
}

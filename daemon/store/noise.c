// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of the noise model, and the samples that it is made from. See
 * store.h. */
#include "db.h"

#include "../util/clock.h"

static const char SQL_SET[] =
	"INSERT OR REPLACE INTO noise (host_id, case_id, kpi_id, recipe_id, "
	"images, boots, repetitions, se2, su2, sa2, df_a, s0sq, d0, modes, "
	"updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_GET[] =
	"SELECT images, boots, repetitions, se2, su2, sa2, df_a, s0sq, d0, "
	"modes FROM noise WHERE host_id = ? AND case_id = ? AND kpi_id = ? "
	"AND recipe_id = ?";

#define RUNS                                                                \
	"WITH newest AS (SELECT r.id, r.kernel_id FROM run r "              \
	"WHERE r.recipe_id = ?4 AND r.host_id = ?1 AND r.status IN "        \
	"('done', 'case-failed') AND EXISTS (SELECT 1 FROM sample s "       \
	"WHERE s.run_id = r.id AND s.case_id = ?2 AND s.kpi_id = ?3) "      \
	"ORDER BY r.id DESC LIMIT ?5), "                                    \
	"image AS (SELECT k.id AS kernel, (SELECT min(f.id) FROM kernel f " \
	"WHERE f.image_hash = k.image_hash) AS id FROM kernel k "           \
	"WHERE k.id IN (SELECT kernel_id FROM newest)) "

static const char SQL_ALL[] = RUNS
	"SELECT i.id, n.id, s.value FROM newest n "
	"JOIN image i ON i.kernel = n.kernel_id "
	"JOIN sample s ON s.run_id = n.id AND s.case_id = ?2 "
	"AND s.kpi_id = ?3 ORDER BY i.id, n.id, s.idx";
static const char SQL_NEIGHBOURS[] = RUNS
	", place AS (SELECT i.id, min(g.bisection_id * 1000000 + g.idx) "
	"AS at FROM image i JOIN kernel k ON k.id = i.kernel "
	"JOIN bisection_commit g ON g.sha = k.sha GROUP BY i.id) "
	"SELECT i.id, n.id, s.value FROM newest n "
	"JOIN image i ON i.kernel = n.kernel_id "
	"JOIN place p ON p.id = i.id "
	"JOIN sample s ON s.run_id = n.id AND s.case_id = ?2 "
	"AND s.kpi_id = ?3 ORDER BY p.at, n.id, s.idx";

int fl_store_noise_set(struct fl_store *s, const struct fl_noise_key *key,
		       const struct fl_noise_row *row, struct fl_err *err)
{
	_cleanup_free_ char *modes = row->modes ? fl_json_text(row->modes) :
						  NULL;

	return fl_db_exec(s, err, SQL_SET, "iiiiiidddddddsi", key->host_id,
			  key->case_id, key->kpi_id, key->recipe_id,
			  row->images, row->boots, row->repetitions, row->se2,
			  row->su2, row->sa2, row->df_a, row->s0sq, row->d0,
			  modes, fl_clock_now());
}

int fl_store_noise_get(struct fl_store *s, const struct fl_noise_key *key,
		       struct fl_noise_row *ret, struct fl_err *err)
{
	_cleanup_free_ char *modes = NULL;
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, SQL_GET, "iiii", key->host_id,
			   key->case_id, key->kpi_id, key->recipe_id);

	if (!r)
		r = fl_db_step(s, st, err);
	if (r <= 0)
		return r;
	*ret = (struct fl_noise_row){
		.images = sqlite3_column_int64(st, 0),
		.boots = sqlite3_column_int64(st, 1),
		.repetitions = fl_db_num(st, 2),
		.se2 = fl_db_num(st, 3),
		.su2 = fl_db_num(st, 4),
		.sa2 = fl_db_num(st, 5),
		.df_a = fl_db_num(st, 6),
		.s0sq = fl_db_num(st, 7),
		.d0 = fl_db_num(st, 8),
	};
	modes = fl_db_text(st, 9);
	if (modes)
		ret->modes = json_loads(modes, 0, NULL);
	fl_db_done(st);
	return 1;
}

int fl_store_noise_samples(struct fl_store *s, const struct fl_noise_key *key,
			   bool neighbours, int64_t max_runs,
			   struct fl_noise_sample **ret, size_t *n,
			   struct fl_err *err)
{
	_cleanup_free_ struct fl_noise_sample *all = NULL;
	size_t room = 0;
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, neighbours ? SQL_NEIGHBOURS : SQL_ALL,
			   "iiiii", key->host_id, key->case_id, key->kpi_id,
			   key->recipe_id, max_runs);

	*n = 0;
	if (r < 0)
		return r;
	while ((r = fl_db_step(s, st, err)) > 0) {
		if (*n == room) {
			room = room ? 2 * room : 64;
			all = fl_realloc(all, room * sizeof(*all));
		}
		all[(*n)++] = (struct fl_noise_sample){
			sqlite3_column_int64(st, 0),
			sqlite3_column_int64(st, 1),
			sqlite3_column_double(st, 2),
		};
	}
	if (r < 0)
		return r;
	*ret = fl_steal(all);
	return 0;
}

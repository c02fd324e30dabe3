// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of hosts, jobs, cases, KPIs, recipes, runs and samples. See store.h.
 * Boots of kernels with the same image count for each other.
 */
#include "db.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>
#include "../util/clock.h"
#include "../util/fs.h"

static const char SQL_HOST[] =
	"INSERT INTO host (name, driver, clock) VALUES (?, ?, ?) "
	"ON CONFLICT (name) DO UPDATE SET driver = excluded.driver, "
	"clock = excluded.clock RETURNING id";
static const char SQL_JOB[] =
	"INSERT INTO job (name, hash, doc) VALUES (?, ?, ?) "
	"ON CONFLICT (hash) DO UPDATE SET name = excluded.name RETURNING id";
static const char SQL_CASE[] =
	"INSERT INTO \"case\" (name, params) VALUES (?, ?) "
	"ON CONFLICT (name, params) DO UPDATE SET name = name RETURNING id";
static const char SQL_KPI[] =
	"INSERT INTO kpi (name, unit, better) VALUES (?, ?, ?) "
	"ON CONFLICT (name) DO UPDATE SET name = name "
	"WHERE unit = excluded.unit AND better = excluded.better RETURNING id";
static const char SQL_RECIPE[] =
	"INSERT INTO recipe (hash, doc) VALUES (?, ?) "
	"ON CONFLICT (hash) DO UPDATE SET hash = hash RETURNING id";
static const char SQL_RUN_NEW[] =
	"INSERT INTO run (uuid, kernel_id, host_id, job_id, recipe_id, isa, "
	"purpose, boot_no, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
	"RETURNING id";
static const char SQL_RUN_CASE_NEW[] =
	"INSERT INTO run_case (run_id, case_id) VALUES (?, ?)";
static const char SQL_RUN_FINISH[] =
	"UPDATE run SET status = ?2, reason = ?3, dir = ?4, env = ?5, "
	"boot_s = ?6, total_s = ?7, finished = ?8 "
	"WHERE id = ?1 AND status = 'queued' RETURNING id";
static const char SQL_RUN_CASE_ID[] =
	"SELECT c.id FROM run_case rc JOIN \"case\" c ON c.id = rc.case_id "
	"WHERE rc.run_id = ? AND c.name = ?";
static const char SQL_KPI_ID[] = "SELECT id FROM kpi WHERE name = ?";
static const char SQL_RUN_CASE_END[] =
	"UPDATE run_case SET status = ?3, reason = ?4 "
	"WHERE run_id = ?1 AND case_id = ?2";
static const char SQL_RUN_CASE_LOST[] =
	"UPDATE run_case SET status = 'lost' "
	"WHERE run_id = ? AND status = 'queued'";
static const char SQL_SAMPLE[] =
	"INSERT INTO sample (run_id, case_id, kpi_id, idx, value) "
	"VALUES (?, ?, ?, ?, ?)";

/* Kernels that share the image of ?1 (itself alone while it has none). */
#define SAME_IMAGE                                                    \
	"(SELECT k.id FROM kernel k, kernel me WHERE me.id = ?1 AND " \
	"(k.id = me.id OR k.image_hash = me.image_hash))"

static const char SQL_VALUES[] =
	"SELECT s.run_id, s.value FROM run r "
	"JOIN sample s ON s.run_id = r.id "
	"WHERE r.kernel_id IN " SAME_IMAGE " AND r.recipe_id = ?2 "
	"AND s.case_id = ?3 AND s.kpi_id = ?4 AND r.id > ?5 "
	"AND ?6 IN (0, max(r.id, ?6)) ORDER BY r.id, s.value";
static const char SQL_COUNT[] =
	"SELECT count(*) FILTER (WHERE rc.status = 'done' AND r.id > ?4), "
	"count(*) FILTER (WHERE r.status = 'queued' AND r.id > ?4), "
	"count(*) FILTER (WHERE rc.status = 'failed' AND r.id > ?4), "
	"count(*) FILTER (WHERE r.status IN ('panic', 'hang', 'oom', "
	"'no-boot') AND rc.status = 'lost'), "
	"coalesce(max(r.boot_no) + 1, 0) "
	"FROM run r JOIN run_case rc ON rc.run_id = r.id "
	"WHERE r.kernel_id IN " SAME_IMAGE " AND r.recipe_id = ?2 "
	"AND rc.case_id = ?3 AND r.status <> 'host-failed'";
static const char SQL_LAST_RUN[] = "SELECT coalesce(max(id), 0) FROM run";
static const char SQL_BROKEN[] =
	"SELECT status, reason FROM run WHERE kernel_id IN " SAME_IMAGE
	" AND recipe_id = ?2 AND status IN ('panic', 'hang', 'oom', 'no-boot') "
	"ORDER BY id DESC LIMIT 1";
static const char SQL_MEAN_RUN[] =
	"SELECT cast(1000 * avg(total_s) AS INTEGER) FROM (SELECT r.total_s, "
	"(SELECT count(*) FROM run_case rc WHERE rc.run_id = r.id) AS n "
	"FROM run r WHERE ?1 IN (0, r.host_id) AND r.status = 'done' "
	"AND r.purpose = 'measure' "
	"ORDER BY abs(n - ?2), r.id DESC LIMIT 4) HAVING count(*)";

int fl_store_host(struct fl_store *s, const char *name, const char *driver,
		  const char *clock, int64_t *id, struct fl_err *err)
{
	return fl_db_int(s, id, err, SQL_HOST, "sss", name, driver, clock);
}

int fl_store_job(struct fl_store *s, const char *name, const char *hash,
		 const json_t *doc, int64_t *id, struct fl_err *err)
{
	_cleanup_free_ char *text = fl_json_text(doc);

	return fl_db_int(s, id, err, SQL_JOB, "sss", name, hash, text);
}

int fl_store_case(struct fl_store *s, const char *name, const json_t *params,
		  int64_t *id, struct fl_err *err)
{
	_cleanup_free_ char *text = fl_json_text(params);

	return fl_db_int(s, id, err, SQL_CASE, "ss", name, text);
}

int fl_store_kpi(struct fl_store *s, const char *name, const char *unit,
		 int better, int64_t *id, struct fl_err *err)
{
	int r = fl_db_int(s, id, err, SQL_KPI, "ssi", name, unit,
			  (int64_t)better);

	if (r == -ENOENT)
		return fl_err_set(
			err, -EEXIST, FL_E_USER,
			"KPI '%s' is known with another unit or direction; name this one differently",
			name);
	return r;
}

bool fl_store_kpi_known(struct fl_store *s, const char *name)
{
	int64_t id;

	return !fl_db_int(s, &id, NULL, SQL_KPI_ID, "s", name);
}

int fl_store_recipe(struct fl_store *s, const json_t *doc, int64_t *id,
		    struct fl_err *err)
{
	_cleanup_free_ char *text = fl_json_text(doc);
	char hash[FL_HASH_HEX];

	fl_hash_bytes(text, strlen(text), hash);
	return fl_db_int(s, id, err, SQL_RECIPE, "ss", hash, text);
}

/* RFC 4122 version 4. */
static void make_uuid(char out[37])
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		abort();
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	snprintf(
		out, 37,
		"%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9],
		b[10], b[11], b[12], b[13], b[14], b[15]);
}

int fl_store_run_new(struct fl_store *s, const struct fl_run_new *run,
		     int64_t *id, struct fl_err *err)
{
	char uuid[37];
	int r;

	make_uuid(uuid);
	r = fl_store_begin(s, err);
	if (!r)
		r = fl_db_int(s, id, err, SQL_RUN_NEW, "siiiissii", uuid,
			      run->kernel_id, run->host_id, run->job_id,
			      run->recipe_id, run->isa, run->purpose,
			      run->boot_no, fl_clock_now());
	for (size_t i = 0; !r && i < run->ncases; i++)
		r = fl_db_exec(s, err, SQL_RUN_CASE_NEW, "ii", *id,
			       run->cases[i]);
	if (r < 0) {
		fl_store_rollback(s);
		return r;
	}
	return fl_store_commit(s, err);
}

static int add_samples(struct fl_store *s, int64_t run, int64_t case_id,
		       const json_t *kpis, struct fl_err *err)
{
	const char *name;
	json_t *values, *v;
	size_t i;
	int r;

	json_object_foreach((json_t *)kpis, name, values) {
		int64_t kpi;

		r = fl_db_int(s, &kpi, err, SQL_KPI_ID, "s", name);
		if (r == -ENOENT)
			return fl_err_set(err, -EINVAL, FL_E_USER,
					  "unknown KPI '%s'", name);
		json_array_foreach(values, i, v) {
			if (!r && !json_is_number(v))
				r = fl_err_set(err, -EINVAL, FL_E_USER,
					       "KPI '%s' is not a number",
					       name);
			if (!r)
				r = fl_db_exec(s, err, SQL_SAMPLE, "iiiid", run,
					       case_id, kpi, (int64_t)i,
					       json_number_value(v));
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int finish_cases(struct fl_store *s, int64_t run, const json_t *cases,
			struct fl_err *err)
{
	json_t *c;
	size_t i;
	int r = 0;

	json_array_foreach((json_t *)cases, i, c) {
		const char *name = fl_json_str_or(c, "case", "");
		int64_t case_id;

		r = fl_db_int(s, &case_id, err, SQL_RUN_CASE_ID, "is", run,
			      name);
		if (r == -ENOENT)
			return fl_err_set(err, -EINVAL, FL_E_USER,
					  "the run was not asked for case '%s'",
					  name);
		if (!r)
			r = fl_db_exec(s, err, SQL_RUN_CASE_END, "iiss", run,
				       case_id,
				       fl_json_str_or(c, "status", "lost"),
				       fl_json_str_or(c, "reason", ""));
		if (!r)
			r = add_samples(s, run, case_id,
					json_object_get(c, "kpis"), err);
		if (r < 0)
			return r;
	}
	return fl_db_exec(s, err, SQL_RUN_CASE_LOST, "i", run);
}

int fl_store_run_finish(struct fl_store *s, int64_t id,
			const struct fl_run_end *end, struct fl_err *err)
{
	_cleanup_free_ char *env = end->env ? fl_json_text(end->env) : NULL;
	int64_t dummy;
	int r = fl_store_begin(s, err);

	if (r < 0)
		return r;
	r = fl_db_int(s, &dummy, err, SQL_RUN_FINISH, "issssddi", id,
		      end->status, end->reason, end->dir, env, end->boot_s,
		      end->total_s, fl_clock_now());
	if (r == -ENOENT) {
		fl_store_commit(s, NULL);
		return 0;
	}
	if (!r)
		r = finish_cases(s, id, end->cases, err);
	if (r < 0) {
		fl_store_rollback(s);
		return r;
	}
	r = fl_store_commit(s, err);
	return r < 0 ? r : 1;
}

void fl_boots_clear(struct fl_boots *b)
{
	free(b->v);
	free(b->run);
	*b = (struct fl_boots){ 0 };
}

int fl_store_boots(struct fl_store *s, int64_t kernel_id, int64_t recipe_id,
		   int64_t case_id, int64_t kpi_id, struct fl_span span,
		   struct fl_boots *ret, struct fl_err *err)
{
	_cleanup_free_ double *all = NULL;
	_cleanup_free_ int64_t *runs = NULL;
	size_t total = 0;
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, SQL_VALUES, "iiiiii", kernel_id,
			   recipe_id, case_id, kpi_id, span.after, span.until);

	*ret = (struct fl_boots){ 0 };
	if (r < 0)
		return r;
	while ((r = fl_db_step(s, st, err)) > 0) {
		all = fl_realloc(all, (total + 1) * sizeof(*all));
		runs = fl_realloc(runs, (total + 1) * sizeof(*runs));
		runs[total] = sqlite3_column_int64(st, 0);
		all[total++] = sqlite3_column_double(st, 1);
	}
	if (r < 0)
		return r;
	/* Rows come sorted by run, then by value: medians are in place. */
	ret->v = fl_calloc(total + 1, sizeof(*ret->v));
	ret->run = fl_calloc(total + 1, sizeof(*ret->run));
	for (size_t i = 0, j; i < total; i = j) {
		for (j = i; j < total && runs[j] == runs[i];)
			j++;
		ret->run[ret->n] = runs[i];
		ret->v[ret->n++] =
			(all[i + (j - i - 1) / 2] + all[i + (j - i) / 2]) / 2;
	}
	return 0;
}

int fl_store_last_run(struct fl_store *s, int64_t *ret, struct fl_err *err)
{
	return fl_db_int(s, ret, err, SQL_LAST_RUN, "");
}

int fl_store_boot_count(struct fl_store *s, int64_t kernel_id,
			int64_t recipe_id, int64_t case_id, int64_t after,
			struct fl_boot_count *ret, struct fl_err *err)
{
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, SQL_COUNT, "iiii", kernel_id, recipe_id,
			   case_id, after);

	if (!r)
		r = fl_db_step(s, st, err);
	if (r < 0)
		return r;
	*ret = (struct fl_boot_count){
		sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1),
		sqlite3_column_int64(st, 2), sqlite3_column_int64(st, 3),
		sqlite3_column_int64(st, 4),
	};
	fl_db_done(st);
	return 0;
}

int fl_store_broken_why(struct fl_store *s, int64_t kernel_id,
			int64_t recipe_id, char **status, char **reason,
			struct fl_err *err)
{
	sqlite3_stmt *st;
	int r = fl_db_open(s, &st, err, SQL_BROKEN, "ii", kernel_id, recipe_id);

	if (!r)
		r = fl_db_step(s, st, err);
	if (r < 0)
		return r;
	*status = r ? fl_db_text(st, 0) : fl_strdup("");
	*reason = r ? fl_db_text(st, 1) : fl_strdup("");
	if (r)
		fl_db_done(st);
	return 0;
}

double fl_store_mean_run_s(struct fl_store *s, int64_t host_id, size_t ncases,
			   double fallback)
{
	int64_t ms;

	if (fl_db_int(s, &ms, NULL, SQL_MEAN_RUN, "ii", host_id,
		      (int64_t)ncases) < 0)
		return fallback;
	return (double)ms / 1000;
}

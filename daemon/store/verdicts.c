// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of comparisons, bisections and attributions. See store.h. */
#include "db.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "../util/clock.h"

static const char SQL_COMPARISON_NEW[] =
	"INSERT INTO comparison (base_kernel_id, head_kernel_id, host_id, "
	"job_id, recipe_id, boots, after_run, created) "
	"VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
	"ON CONFLICT DO NOTHING";
static const char SQL_COMPARISON_GET[] =
	"SELECT id, status, reason, after_run FROM comparison "
	"WHERE base_kernel_id = ? "
	"AND head_kernel_id = ? AND host_id = ? AND job_id = ? "
	"AND recipe_id = ? AND boots = ?";
static const char SQL_COMPARED[] =
	"SELECT count(*) > 0 FROM comparison m "
	"JOIN kernel b ON b.id = m.base_kernel_id "
	"JOIN kernel h ON h.id = m.head_kernel_id WHERE b.sha = ? "
	"AND h.sha = ? AND m.host_id = ? AND m.recipe_id = ? "
	"AND m.status = 'done'";
static const char SQL_COMPARISON_FINISH[] =
	"UPDATE comparison SET status = ?2, reason = ?3, finished = ?4 "
	"WHERE id = ?1";
static const char SQL_COMPARISON_CONFIG[] =
	"UPDATE comparison SET config_diff = ?2 WHERE id = ?1";
static const char SQL_RESULT[] =
	"INSERT OR REPLACE INTO comparison_result (comparison_id, case_id, "
	"kpi_id, base_value, head_value, base_sd, head_sd, base_boots, "
	"head_boots, effect, lo, hi, p, p_t, p_fdr, threshold, hidden, "
	"verdict, shift, modes, second_isa, reason) VALUES "
	"(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

#define BISECTION_COLUMNS                                                      \
	"id, comparison_id, case_id, kpi_id, tree_id, side, good_sha, "        \
	"bad_sha, status, reason, culprit_sha, good_value, bad_value, sigma, " \
	"confidence, share, share_lo, share_hi, coalesce(parent_id, 0), "      \
	"after_run, coalesce(verify_after, -1), refuted, s0sq, nu0, lambda"

static const char SQL_BISECTION_NEW[] =
	"INSERT INTO bisection (comparison_id, case_id, kpi_id, tree_id, "
	"side, good_sha, bad_sha, parent_id, after_run, s0sq, nu0, lambda, "
	"created) VALUES (?, ?, ?, ?, ?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?) "
	"ON CONFLICT DO NOTHING";
static const char SQL_BISECTION_FIND[] =
	"SELECT " BISECTION_COLUMNS " FROM bisection WHERE comparison_id = ? "
	"AND case_id = ? AND kpi_id = ? AND side = ? AND good_sha = ? "
	"AND bad_sha = ?";
static const char SQL_BISECTION_BY_ID[] = "SELECT " BISECTION_COLUMNS
					  " FROM bisection WHERE id = ?";
static const char SQL_BISECTION_UPDATE[] =
	"UPDATE bisection SET status = ?2, reason = ?3, good_value = ?4, "
	"bad_value = ?5, sigma = ?6, culprit_sha = ?7, confidence = ?8, "
	"share = ?9, share_lo = ?11, share_hi = ?12, "
	"verify_after = nullif(?13, -1), refuted = ?14, finished = CASE WHEN ?2 = 'open' THEN NULL ELSE ?10 END "
	"WHERE id = ?1";
static const char SQL_BISECTION_COMMIT[] =
	"INSERT INTO bisection_commit (bisection_id, idx, sha, parents, "
	"prior) VALUES (?, ?, ?, ?, ?) "
	"ON CONFLICT (bisection_id, idx) DO UPDATE SET prior = excluded.prior";
static const char SQL_STEPS[] =
	"SELECT count(*) FROM bisection_step WHERE bisection_id = ?";
static const char SQL_STEP_NEW[] =
	"INSERT INTO bisection_step (bisection_id, n, idx, kernel_id, "
	"run_id, outcome, boots, value, candidates, posterior, created) "
	"VALUES (?1, (SELECT coalesce(max(n), 0) + 1 FROM bisection_step "
	"WHERE bisection_id = ?1), ?2, ?3, nullif(?4, 0), ?5, ?6, ?7, ?8, ?9, "
	"?10)";
static const char SQL_ATTRIBUTION[] =
	"INSERT OR REPLACE INTO attribution (bisection_id, case_id, kpi_id, "
	"parent_value, culprit_value, boots, on_base_value, share, explained) "
	"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

void fl_comparison_clear(struct fl_comparison *c)
{
	free(c->status);
	free(c->reason);
	*c = (struct fl_comparison){ 0 };
}

int fl_store_comparison(struct fl_store *s, struct fl_comparison *c,
			struct fl_err *err)
{
	sqlite3_stmt *st = NULL;
	int r = fl_db_exec(s, err, SQL_COMPARISON_NEW, "iiiiiiii",
			   c->base_kernel_id, c->head_kernel_id, c->host_id,
			   c->job_id, c->recipe_id, c->boots, c->after_run,
			   fl_clock_now());

	if (!r)
		r = fl_db_open(s, &st, err, SQL_COMPARISON_GET, "iiiiii",
			       c->base_kernel_id, c->head_kernel_id, c->host_id,
			       c->job_id, c->recipe_id, c->boots);
	if (!r)
		r = fl_db_step(s, st, err);
	if (r <= 0)
		return r;
	c->id = sqlite3_column_int64(st, 0);
	c->status = fl_db_text(st, 1);
	c->reason = fl_db_text(st, 2);
	c->after_run = sqlite3_column_int64(st, 3);
	fl_db_done(st);
	return 0;
}

int fl_store_compared(struct fl_store *s, const char *base_sha,
		      const char *head_sha, int64_t host_id, int64_t recipe_id,
		      struct fl_err *err)
{
	int64_t known;
	int r = fl_db_int(s, &known, err, SQL_COMPARED, "ssii", base_sha,
			  head_sha, host_id, recipe_id);

	return r < 0 ? r : (int)known;
}

int fl_store_comparison_finish(struct fl_store *s, int64_t id,
			       const char *status, const char *reason,
			       struct fl_err *err)
{
	return fl_db_exec(s, err, SQL_COMPARISON_FINISH, "issi", id, status,
			  reason, fl_clock_now());
}

int fl_store_comparison_config_diff(struct fl_store *s, int64_t id,
				    const char *diff, struct fl_err *err)
{
	return fl_db_exec(s, err, SQL_COMPARISON_CONFIG, "is", id, diff);
}

int fl_store_result(struct fl_store *s, int64_t comparison_id,
		    const struct fl_result_row *row, struct fl_err *err)
{
	return fl_db_exec(s, err, SQL_RESULT, "iiiddddiiddddddddsiiss",
			  comparison_id, row->case_id, row->kpi_id,
			  row->base_value, row->head_value, row->base_sd,
			  row->head_sd, row->base_boots, row->head_boots,
			  row->effect, row->lo, row->hi, row->p, row->p_t,
			  row->p_fdr, row->threshold, row->hidden, row->verdict,
			  (int64_t)row->shift, (int64_t)row->modes,
			  row->second_isa, row->reason ? row->reason : "");
}

void fl_bisection_clear(struct fl_bisection *b)
{
	free(b->side);
	free(b->good_sha);
	free(b->bad_sha);
	free(b->status);
	free(b->reason);
	free(b->culprit_sha);
	*b = (struct fl_bisection){ 0 };
}

static int take_bisection(struct fl_store *s, sqlite3_stmt *st,
			  struct fl_bisection *b, struct fl_err *err)
{
	int r = fl_db_step(s, st, err);

	if (r <= 0)
		return r;
	*b = (struct fl_bisection){
		.id = sqlite3_column_int64(st, 0),
		.comparison_id = sqlite3_column_int64(st, 1),
		.case_id = sqlite3_column_int64(st, 2),
		.kpi_id = sqlite3_column_int64(st, 3),
		.tree_id = sqlite3_column_int64(st, 4),
		.side = fl_db_text(st, 5),
		.good_sha = fl_db_text(st, 6),
		.bad_sha = fl_db_text(st, 7),
		.status = fl_db_text(st, 8),
		.reason = fl_db_text(st, 9),
		.culprit_sha = fl_db_text(st, 10),
		.good_value = fl_db_num(st, 11),
		.bad_value = fl_db_num(st, 12),
		.sigma = fl_db_num(st, 13),
		.confidence = fl_db_num(st, 14),
		.share = fl_db_num(st, 15),
		.share_lo = fl_db_num(st, 16),
		.share_hi = fl_db_num(st, 17),
		.parent_id = sqlite3_column_int64(st, 18),
		.after_run = sqlite3_column_int64(st, 19),
		.verify_after = sqlite3_column_int64(st, 20),
		.refuted = sqlite3_column_int64(st, 21),
		.s0sq = fl_db_num(st, 22),
		.nu0 = fl_db_num(st, 23),
		.lambda = fl_db_num(st, 24),
	};
	fl_db_done(st);
	return 1;
}

int fl_store_bisection(struct fl_store *s, struct fl_bisection *b,
		       struct fl_err *err)
{
	struct fl_bisection got = { 0 };
	sqlite3_stmt *st = NULL;
	int r = fl_db_exec(s, err, SQL_BISECTION_NEW, "iiiisssiidddi",
			   b->comparison_id, b->case_id, b->kpi_id, b->tree_id,
			   b->side, b->good_sha, b->bad_sha, b->parent_id,
			   b->after_run, b->s0sq, b->nu0, b->lambda,
			   fl_clock_now());

	if (!r)
		r = fl_db_open(s, &st, err, SQL_BISECTION_FIND, "iiisss",
			       b->comparison_id, b->case_id, b->kpi_id, b->side,
			       b->good_sha, b->bad_sha);
	if (!r)
		r = take_bisection(s, st, &got, err);
	if (r <= 0)
		return r;
	fl_bisection_clear(b);
	*b = got;
	return 0;
}

int fl_store_bisection_by_id(struct fl_store *s, int64_t id,
			     struct fl_bisection *ret, struct fl_err *err)
{
	sqlite3_stmt *st = NULL;
	int r = fl_db_open(s, &st, err, SQL_BISECTION_BY_ID, "i", id);

	if (!r)
		r = take_bisection(s, st, ret, err);
	if (!r)
		return fl_err_set(
			err, -ENOENT, FL_E_USER,
			"there is no bisection %lld; 'faultline bisect list' shows them",
			(long long)id);
	return r < 0 ? r : 0;
}

int fl_store_bisection_update(struct fl_store *s, const struct fl_bisection *b,
			      struct fl_err *err)
{
	return fl_db_exec(s, err, SQL_BISECTION_UPDATE, "issdddsddiddii", b->id,
			  b->status, b->reason ? b->reason : "", b->good_value,
			  b->bad_value, b->sigma, b->culprit_sha, b->confidence,
			  b->share, fl_clock_now(), b->share_lo, b->share_hi,
			  b->verify_after, b->refuted);
}

int fl_store_bisection_commit(struct fl_store *s, int64_t bisection_id,
			      int64_t idx, const char *sha,
			      const json_t *parents, double prior,
			      struct fl_err *err)
{
	_cleanup_free_ char *text = fl_json_text(parents);

	return fl_db_exec(s, err, SQL_BISECTION_COMMIT, "iissd", bisection_id,
			  idx, sha, text, prior);
}

int fl_store_bisection_steps(struct fl_store *s, int64_t bisection_id,
			     int64_t *n, struct fl_err *err)
{
	return fl_db_int(s, n, err, SQL_STEPS, "i", bisection_id);
}

int fl_store_bisection_step(struct fl_store *s, int64_t bisection_id,
			    const struct fl_step_row *step, struct fl_err *err)
{
	_cleanup_free_ char *posterior = fl_json_text(step->posterior);

	return fl_db_exec(s, err, SQL_STEP_NEW, "iiiisidisi", bisection_id,
			  step->idx, step->kernel_id, step->run_id,
			  step->outcome, step->boots, step->value,
			  step->candidates, posterior, fl_clock_now());
}

int fl_store_attribution(struct fl_store *s, int64_t bisection_id,
			 const struct fl_attribution_row *row,
			 struct fl_err *err)
{
	return fl_db_exec(s, err, SQL_ATTRIBUTION, "iiiddiddi", bisection_id,
			  row->case_id, row->kpi_id, row->parent_value,
			  row->culprit_value, row->boots, row->on_base_value,
			  row->share, (int64_t)row->explained);
}

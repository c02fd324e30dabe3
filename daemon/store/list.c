// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The listings: one query per fl_rows, most of them over the views that
 * people may use too. See store.h.
 */
#include "db.h"

#include <stdarg.h>

#define PROFILES                                                           \
	"SELECT p.*, c.name AS \"case\", ci.described AS version, k.sha, " \
	"h.name AS host, h.clock FROM profile p JOIN run r "               \
	"ON r.id = p.run_id JOIN \"case\" c ON c.id = p.case_id "          \
	"JOIN host h ON h.id = r.host_id JOIN kernel k "                   \
	"ON k.id = r.kernel_id JOIN commit_info ci ON ci.sha = k.sha, "

static const char *const queries[FL_ROWS_N] = {
	[FL_ROWS_TREES] = "SELECT name, url, path, fetched, fetch_error, "
			  "(SELECT count(*) FROM kernel k WHERE k.tree_id = "
			  "tree.id) AS kernels FROM tree ORDER BY name",
	[FL_ROWS_KERNELS] = "SELECT * FROM v_kernel ORDER BY id",
	[FL_ROWS_HOSTS] =
		"SELECT h.name, h.driver, h.clock, (SELECT count(*) FROM run r "
		"WHERE r.host_id = h.id AND r.status <> 'queued') AS runs, "
		"(SELECT max(finished) FROM run r WHERE r.host_id = h.id) "
		"AS last FROM host h ORDER BY h.name",
	[FL_ROWS_RUNS] = "SELECT * FROM v_run ORDER BY id",
	[FL_ROWS_RUN] = "SELECT v.*, r.env FROM v_run v JOIN run r "
			"ON r.id = v.id WHERE v.id = ?",
	[FL_ROWS_RUN_CASES] =
		"SELECT c.name AS \"case\", rc.status, rc.reason, q.name AS "
		"kpi, q.unit, avg(s.value) AS value, count(s.value) AS samples "
		"FROM run_case rc JOIN \"case\" c ON c.id = rc.case_id "
		"LEFT JOIN sample s ON s.run_id = rc.run_id "
		"AND s.case_id = rc.case_id LEFT JOIN kpi q ON q.id = s.kpi_id "
		"WHERE rc.run_id = ? GROUP BY rc.case_id, q.id "
		"ORDER BY c.name, q.name",
	[FL_ROWS_RUN_ENV] =
		"SELECT r.env, r.id AS run FROM run r JOIN kernel k "
		"ON k.id = r.kernel_id, kernel me WHERE me.id = ?1 "
		"AND (k.id = me.id OR k.image_hash = me.image_hash) "
		"AND r.recipe_id = ?2 AND r.env IS NOT NULL "
		"AND r.status IN ('done', 'case-failed') "
		"ORDER BY r.id DESC LIMIT 1",
	[FL_ROWS_RESULTS] =
		"SELECT v.*, x.case_id, x.kpi_id FROM v_comparison v "
		"JOIN comparison_result x ON x.comparison_id = v.id "
		"JOIN \"case\" c ON c.id = x.case_id AND c.name = v.\"case\" "
		"JOIN kpi q ON q.id = x.kpi_id AND q.name = v.kpi "
		"WHERE v.id = ?1 ORDER BY v.\"case\", v.kpi",
	[FL_ROWS_SHIFTS] =
		"SELECT x.*, c.name AS \"case\", q.name AS kpi, q.unit, "
		"q.better, c.params, (SELECT coalesce(sum(a.share), 0) "
		"FROM attribution a JOIN bisection b ON b.id = a.bisection_id "
		"WHERE b.comparison_id = x.comparison_id AND b.status = 'found' "
		"AND NOT EXISTS (SELECT 1 FROM bisection o WHERE "
		"o.comparison_id = b.comparison_id AND o.status = 'found' "
		"AND o.culprit_sha = b.culprit_sha AND o.id < b.id) "
		"AND a.case_id = x.case_id AND a.kpi_id = x.kpi_id) "
		"AS explained, (SELECT count(*) FROM bisection b "
		"WHERE b.comparison_id = x.comparison_id AND b.case_id = "
		"x.case_id AND b.kpi_id = x.kpi_id) AS tried "
		"FROM comparison_result x "
		"JOIN \"case\" c ON c.id = x.case_id "
		"JOIN kpi q ON q.id = x.kpi_id WHERE x.comparison_id = ?1 "
		"AND x.shift = 1 AND coalesce(x.second_isa, '') <> 'artefact' "
		"ORDER BY abs(x.effect) DESC, c.name, q.name",
	[FL_ROWS_COMPARISON] =
		"SELECT m.id, m.status, m.reason, m.boots, m.after_run, "
		"m.recipe_id, "
		"m.config_diff, "
		"m.base_kernel_id, m.head_kernel_id, h.name AS host, h.clock, "
		"h.driver, j.name AS job, bk.sha AS base_sha, "
		"hk.sha AS head_sha, bc.described AS base, "
		"hc.described AS head, t.name AS tree, t.url, "
		"bk.tree_id FROM comparison m "
		"JOIN host h ON h.id = m.host_id JOIN job j ON j.id = m.job_id "
		"JOIN kernel bk ON bk.id = m.base_kernel_id "
		"JOIN kernel hk ON hk.id = m.head_kernel_id "
		"JOIN commit_info bc ON bc.sha = bk.sha "
		"JOIN commit_info hc ON hc.sha = hk.sha "
		"JOIN tree t ON t.id = bk.tree_id WHERE m.id = ?",
	[FL_ROWS_BISECTIONS] = "SELECT * FROM v_bisection ORDER BY id",
	[FL_ROWS_BISECTION] =
		"SELECT v.*, b.comparison_id, b.case_id, b.kpi_id, b.good_sha, "
		"b.bad_sha, (SELECT json_array_length(g.parents) "
		"FROM bisection_commit g WHERE g.bisection_id = b.id "
		"AND g.sha = b.culprit_sha) AS culprit_parents "
		"FROM v_bisection v JOIN bisection b ON b.id = v.id "
		"WHERE v.id = ?",
	[FL_ROWS_BISECTIONS_OF] =
		"SELECT v.* FROM v_bisection v JOIN bisection b ON b.id = v.id "
		"WHERE b.comparison_id = ? ORDER BY v.id",
	[FL_ROWS_BISECTION_COMMITS] =
		"SELECT g.idx, g.sha, g.parents, g.prior, c.subject, "
		"c.described FROM bisection_commit g "
		"JOIN commit_info c ON c.sha = g.sha "
		"WHERE g.bisection_id = ? ORDER BY g.idx",
	[FL_ROWS_BISECTION_STEPS] =
		"SELECT s.n, s.idx, s.run_id, g.sha, c.subject, c.described, s.outcome, "
		"s.boots, s.value, s.candidates, s.posterior, s.kernel_id, "
		"coalesce(nullif(k.reason, ''), (SELECT r.status || ': ' || "
		"r.reason FROM run r WHERE r.kernel_id = k.id "
		"AND r.purpose = 'measure' AND r.status "
		"IN ('panic', 'hang', 'oom', 'no-boot', 'case-failed') "
		"ORDER BY r.id DESC LIMIT 1), '') AS why FROM bisection_step s "
		"JOIN bisection_commit g ON g.bisection_id = s.bisection_id "
		"AND g.idx = s.idx JOIN commit_info c ON c.sha = g.sha "
		"JOIN kernel k ON k.id = s.kernel_id "
		"WHERE s.bisection_id = ? ORDER BY s.n",
	[FL_ROWS_BISECTION_TESTED] =
		"SELECT min(s.n) AS n, s.idx, g.sha, c.subject, "
		"iif(count(s.value), 'measured', max(s.outcome)) AS outcome, "
		"count(s.value) AS boots, exp(avg(ln(s.value))) AS value "
		"FROM bisection_step s "
		"JOIN bisection_commit g ON g.bisection_id = s.bisection_id "
		"AND g.idx = s.idx JOIN commit_info c ON c.sha = g.sha "
		"WHERE s.bisection_id = ? GROUP BY s.idx ORDER BY min(s.n)",
	[FL_ROWS_ATTRIBUTIONS] =
		"SELECT a.*, c.name AS \"case\", c.params, q.name AS kpi, "
		"q.unit, q.better, x.base_value, x.head_value, x.base_sd, "
		"x.head_sd, x.base_boots, x.head_boots, x.effect, x.lo, x.hi, "
		"x.p, x.threshold, x.verdict, x.second_isa "
		"FROM attribution a JOIN bisection b ON b.id = a.bisection_id "
		"JOIN comparison_result x ON x.comparison_id = b.comparison_id "
		"AND x.case_id = a.case_id AND x.kpi_id = a.kpi_id "
		"JOIN \"case\" c ON c.id = a.case_id "
		"JOIN kpi q ON q.id = a.kpi_id WHERE a.bisection_id = ? "
		"ORDER BY a.explained DESC, abs(x.effect) DESC, c.name, q.name",
	[FL_ROWS_REPORTS] =
		"SELECT r.id, r.state, r.subject, r.reason, b.culprit_sha, "
		"b.host, b.kpi, r.message_id, r.file, r.bisection_id, "
		"r.created, r.approved, r.sent FROM report r "
		"JOIN v_bisection b ON b.id = r.bisection_id ORDER BY r.id",
	[FL_ROWS_RECIPIENTS] =
		"SELECT field, mailbox, why FROM recipient "
		"WHERE report_id = ? ORDER BY field DESC, mailbox",
	[FL_ROWS_HEADS] =
		"SELECT DISTINCT k.id AS kernel_id, k.sha, c.commit_time "
		"FROM comparison m JOIN kernel k ON k.id = m.head_kernel_id "
		"JOIN commit_info c ON c.sha = k.sha WHERE m.host_id = ?1 "
		"AND m.recipe_id = ?2 AND m.status = 'done' "
		"ORDER BY c.commit_time, k.id",
	[FL_ROWS_NOISE] = "SELECT * FROM v_noise WHERE ?1 IN ('', kpi) "
			  "AND \"case\" GLOB ?2 AND ?3 IN ('', host) "
			  "ORDER BY host, recipe_id, kpi, \"case\"",
	[FL_ROWS_TREND] =
		"SELECT k.sha, ci.described AS version, ci.commit_time, "
		"h.name AS host, h.clock, c.name AS \"case\", q.name AS kpi, "
		"q.unit, q.better, r.recipe_id, s.case_id, r.isa, "
		"avg(s.value) AS value, "
		"min(s.value) AS low, max(s.value) AS high, "
		"count(DISTINCT r.id) AS boots, max(r.finished) AS measured "
		"FROM sample s JOIN run r ON r.id = s.run_id "
		"JOIN kernel k ON k.id = r.kernel_id "
		"JOIN commit_info ci ON ci.sha = k.sha "
		"JOIN host h ON h.id = r.host_id "
		"JOIN \"case\" c ON c.id = s.case_id "
		"JOIN kpi q ON q.id = s.kpi_id "
		"WHERE q.name = ?1 AND c.name GLOB ?2 AND ?3 IN ('', h.name) "
		"AND r.finished >= ?4 AND r.isa = 'plain' "
		/* a culprit on another base belongs to no history */
		"AND k.sha NOT IN "
		"(SELECT sha FROM pick WHERE sha IS NOT NULL) "
		"GROUP BY k.sha, h.id, c.id, r.recipe_id "
		/* a case's name may outlive its program's version */
		"ORDER BY h.name, c.name, c.id, r.recipe_id, ci.commit_time, "
		"k.id",
	[FL_ROWS_COMMIT] = "SELECT * FROM commit_info WHERE sha = ?",
	[FL_ROWS_RECIPE] = "SELECT id, hash, doc FROM recipe WHERE id = ?",
	[FL_ROWS_KERNEL_VALUES] =
		"SELECT c.name AS \"case\", q.name AS kpi, q.unit, q.better, "
		"avg(v.value) AS value, 100 * (max(v.value) - min(v.value)) "
		"/ avg(v.value) AS spread, count(*) AS boots FROM "
		"(SELECT s.case_id, s.kpi_id, avg(s.value) AS value FROM run r "
		"JOIN sample s ON s.run_id = r.id JOIN kernel k "
		"ON k.id = r.kernel_id, kernel me WHERE me.id = ?1 "
		"AND (k.id = me.id OR k.image_hash = me.image_hash) "
		"AND r.recipe_id = ?2 GROUP BY r.id, s.case_id, s.kpi_id) v "
		"JOIN \"case\" c ON c.id = v.case_id "
		"JOIN kpi q ON q.id = v.kpi_id "
		"GROUP BY v.case_id, v.kpi_id ORDER BY c.name, q.name",
	[FL_ROWS_CONFIG] =
		"SELECT c.hash, c.doc, k.compiler, k.release, k.dir, "
		"k.final_config_hash FROM kernel k "
		"JOIN config c ON c.id = k.config_id WHERE k.id = ?",
	[FL_ROWS_PROFILES] = PROFILES
	"kernel me WHERE me.id = ?1 AND (k.id = me.id "
	"OR k.image_hash = me.image_hash) "
	"AND r.recipe_id = ?2 AND c.name GLOB ?3 "
	"ORDER BY c.name, r.id",
	[FL_ROWS_PROFILES_OF] = PROFILES
	"(SELECT 1) WHERE r.id = ?1 ORDER BY c.name",
	[FL_ROWS_PROFILE_NODES] =
		"SELECT n.parent, f.name AS function, n.self, n.rep "
		"FROM profile_node n JOIN function f ON f.id = n.function_id "
		"WHERE n.run_id = ?1 AND n.case_id = ?2 ORDER BY n.node",
	[FL_ROWS_SAME_CULPRIT] =
		"SELECT r.id FROM bisection me JOIN comparison mc "
		"ON mc.id = me.comparison_id JOIN bisection b "
		"ON b.culprit_sha = me.culprit_sha JOIN comparison bc "
		"ON bc.id = b.comparison_id "
		"JOIN report r ON r.bisection_id = b.id WHERE me.id = ? "
		"AND (bc.id = mc.id "
		"OR (bc.host_id = mc.host_id AND b.kpi_id = me.kpi_id)) "
		"ORDER BY r.id",
};

int fl_store_rows(struct fl_store *s, enum fl_rows what, json_t **ret,
		  struct fl_err *err, const char *types, ...)
{
	va_list ap;
	int r;

	va_start(ap, types);
	r = fl_db_json(s, ret, err, queries[what], types, ap);
	va_end(ap);
	return r;
}

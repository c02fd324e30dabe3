-- SPDX-License-Identifier: GPL-2.0-or-later
-- What results.db says, without ids, times and attempts: names stand for ids.
-- Two workspaces that did the same work print the same. For the sqlite3 shell.
.mode list
.separator " | "
SELECT 'tree', name, url, fetched IS NOT NULL, fetch_error FROM tree ORDER BY name;
SELECT 'commit', sha, described, subject, message, author_name, author_email, commit_time FROM commit_info ORDER BY sha;
SELECT 'config', hash, doc FROM config ORDER BY hash;
SELECT 'kernel', t.name, k.sha, k.builder, c.hash, k.compiler, k.status, k.reason, k.release, k.image_hash, k.final_config_hash, k.dir IS NOT NULL, k.finished IS NOT NULL
	FROM kernel k JOIN tree t ON t.id = k.tree_id JOIN config c ON c.id = k.config_id ORDER BY k.sha, k.builder;
SELECT 'pick', pick_sha, base_sha, status, sha, reason FROM pick ORDER BY 2, 3;
SELECT 'host', name, driver, clock FROM host ORDER BY name;
SELECT 'job', name, hash, doc FROM job ORDER BY hash;
SELECT 'case', name, params FROM "case" ORDER BY name, params;
SELECT 'kpi', name, unit, better FROM kpi ORDER BY name;
SELECT 'recipe', hash, doc FROM recipe ORDER BY hash;
SELECT 'run', k.sha, r.isa, r.boot_no, h.name, j.name, p.hash, r.status, r.reason, r.env, r.dir IS NOT NULL, r.finished IS NOT NULL
	FROM run r JOIN kernel k ON k.id = r.kernel_id JOIN host h ON h.id = r.host_id JOIN job j ON j.id = r.job_id JOIN recipe p ON p.id = r.recipe_id
	ORDER BY k.sha, r.isa, r.boot_no;
SELECT 'run_case', k.sha, r.isa, r.boot_no, c.name, x.status, x.reason
	FROM run_case x JOIN run r ON r.id = x.run_id JOIN kernel k ON k.id = r.kernel_id JOIN "case" c ON c.id = x.case_id
	ORDER BY k.sha, r.isa, r.boot_no, c.name;
SELECT 'sample', k.sha, r.isa, r.boot_no, c.name, q.name, s.idx, s.value
	FROM sample s JOIN run r ON r.id = s.run_id JOIN kernel k ON k.id = r.kernel_id JOIN "case" c ON c.id = s.case_id JOIN kpi q ON q.id = s.kpi_id
	ORDER BY k.sha, r.isa, r.boot_no, c.name, q.name, s.idx;
-- A night that was killed after its last commit is over: the same command is
-- the next night then, a request and a fetch of its own.
SELECT 'work', kind, state, error, iif(kind = 'fetch', '', count(*)) FROM work GROUP BY kind, state, error ORDER BY kind, state, error;
SELECT DISTINCT 'request', kind, json_remove(doc, '$.comparisons', '$.comparison', '$.bisection', '$.kernel', '$.recipe'), state, reason, finished IS NOT NULL FROM request ORDER BY kind, doc;
SELECT 'comparison', bk.sha, hk.sha, h.name, j.name, m.boots, m.status, m.reason, m.config_diff, m.finished IS NOT NULL
	FROM comparison m JOIN kernel bk ON bk.id = m.base_kernel_id JOIN kernel hk ON hk.id = m.head_kernel_id JOIN host h ON h.id = m.host_id JOIN job j ON j.id = m.job_id
	ORDER BY bk.sha, hk.sha;
SELECT 'result', v.base, v.head, v."case", v.kpi, v.base_value, v.head_value, v.base_sd, v.head_sd, v.base_boots, v.head_boots, v.effect, v.lo, v.hi, v.p, v.threshold, v.hidden, v.verdict, v.shift, v.second_isa, v.reason, v.p_t, v.p_fdr, v.modes
	FROM v_comparison v ORDER BY v.base, v.head, v."case", v.kpi;
SELECT 'bisection', c.name, q.name, b.side, b.good_sha, b.bad_sha, b.status, b.reason, b.good_value, b.bad_value, b.sigma, b.culprit_sha, b.confidence, b.share, b.share_lo, b.share_hi, b.refuted, b.s0sq, b.nu0, b.lambda, b.finished IS NOT NULL
	FROM bisection b JOIN "case" c ON c.id = b.case_id JOIN kpi q ON q.id = b.kpi_id ORDER BY c.name, q.name, b.side;
SELECT 'graph', c.name, q.name, b.side, g.idx, g.sha, g.parents, g.prior
	FROM bisection_commit g JOIN bisection b ON b.id = g.bisection_id JOIN "case" c ON c.id = b.case_id JOIN kpi q ON q.id = b.kpi_id ORDER BY c.name, q.name, b.side, g.idx;
-- In which order boots came in depends on the moment; so do the beliefs on the
-- way, but not the end.
SELECT 'step', c.name, q.name, b.side, s.idx, k.sha, s.outcome, s.boots, s.value
	FROM bisection_step s JOIN bisection b ON b.id = s.bisection_id JOIN kernel k ON k.id = s.kernel_id JOIN "case" c ON c.id = b.case_id JOIN kpi q ON q.id = b.kpi_id ORDER BY c.name, q.name, b.side, s.idx, s.boots;
SELECT 'noise', host, "case", kpi, images, boots, repetitions, repetition_sd, boot_sd, image_sd, s0sq, d0, df_a, upper_share, modes_apart FROM v_noise ORDER BY host, "case", kpi;
SELECT 'attribution', b.culprit_sha, c.name, q.name, a.parent_value, a.culprit_value, a.boots, a.on_base_value, a.share, a.explained
	FROM attribution a JOIN bisection b ON b.id = a.bisection_id JOIN "case" c ON c.id = a.case_id JOIN kpi q ON q.id = a.kpi_id ORDER BY b.culprit_sha, c.name, q.name;
SELECT 'report', b.culprit_sha, r.subject, r.mail_from, r.state, r.reason, r.body, r.approved IS NOT NULL, r.sent IS NOT NULL
	FROM report r JOIN bisection b ON b.id = r.bisection_id ORDER BY b.culprit_sha;
SELECT 'recipient', b.culprit_sha, x.field, x.mailbox, x.why
	FROM recipient x JOIN report r ON r.id = x.report_id JOIN bisection b ON b.id = r.bisection_id ORDER BY b.culprit_sha, x.field, x.mailbox;

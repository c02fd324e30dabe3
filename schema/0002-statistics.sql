-- SPDX-License-Identifier: GPL-2.0-or-later
-- What docs/STATISTICS.md asks of the rows: fresh boots, the noise model, the
-- belief after every boot, and bisections of a part of a range.

DROP VIEW v_bisection;
DROP VIEW v_comparison;

-- Boots up to this run do not count: both sides are measured afresh, one
-- after the other, so that drift falls on both. 0 under the exact clock.
-- boots = 0: as many as it takes, at the looks of the plan.
ALTER TABLE comparison ADD COLUMN after_run INTEGER NOT NULL DEFAULT 0;

-- p_t: moderated t; p_fdr: adjusted for the KPIs and cases of the comparison;
-- modes: the boots fall into a fast and a slow mode.
ALTER TABLE comparison_result ADD COLUMN p_t REAL;
ALTER TABLE comparison_result ADD COLUMN p_fdr REAL;
ALTER TABLE comparison_result ADD COLUMN modes INTEGER NOT NULL DEFAULT 0
	CHECK (modes IN (0, 1));

CREATE TABLE bisection_new (
	id INTEGER PRIMARY KEY,
	comparison_id INTEGER NOT NULL REFERENCES comparison (id),
	case_id INTEGER NOT NULL REFERENCES "case" (id),
	kpi_id INTEGER NOT NULL REFERENCES kpi (id),
	tree_id INTEGER NOT NULL REFERENCES tree (id),
	-- `base`: the change lies between the merge base and the base.
	side TEXT NOT NULL CHECK (side IN ('head', 'base')),
	good_sha TEXT NOT NULL REFERENCES commit_info (sha),
	bad_sha TEXT NOT NULL REFERENCES commit_info (sha),
	-- explained: by the culprit that another bisection found.
	status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'found',
		'explained', 'shortlist', 'does-not-reproduce', 'not-verified')),
	reason TEXT NOT NULL DEFAULT '',
	good_value REAL,
	bad_value REAL,
	sigma REAL,
	culprit_sha TEXT REFERENCES commit_info (sha),
	confidence REAL,
	share REAL,                   -- of the change, that the culprit explains
	share_lo REAL,                -- its 95 % interval; NULL: unbounded
	share_hi REAL,
	-- The stretch before or after a culprit that does not explain it all.
	parent_id INTEGER REFERENCES bisection (id),
	-- Boots up to this run do not count here: those that showed the shift
	-- cannot confirm it. 0 under the exact clock, where boots repeat.
	after_run INTEGER NOT NULL DEFAULT 0,
	-- While a candidate is verified: boots up to this run belong to the
	-- search, later ones to the verification.
	verify_after INTEGER,
	refuted INTEGER NOT NULL DEFAULT 0, -- candidates that were no culprits
	-- The noise as it was known when the search began: variance of a boot
	-- value, its weight in degrees of freedom, image over boot variance.
	s0sq REAL,
	nu0 REAL,
	lambda REAL,
	created INTEGER NOT NULL,
	finished INTEGER,
	UNIQUE (comparison_id, case_id, kpi_id, side, good_sha, bad_sha)
) STRICT;
INSERT INTO bisection_new (id, comparison_id, case_id, kpi_id, tree_id, side, good_sha, bad_sha,
	status, reason, good_value, bad_value, sigma, culprit_sha, confidence,
	share, created, finished)
SELECT id, comparison_id, case_id, kpi_id, tree_id, side, good_sha, bad_sha,
	status, reason, good_value, bad_value, sigma, culprit_sha, confidence,
	share, created, finished
FROM bisection;
DROP TABLE bisection;
ALTER TABLE bisection_new RENAME TO bisection;

-- One row for each boot that came in, not for each commit.
CREATE TABLE bisection_step_new (
	bisection_id INTEGER NOT NULL REFERENCES bisection (id),
	n INTEGER NOT NULL,
	idx INTEGER NOT NULL,         -- of the commit that was tested
	kernel_id INTEGER NOT NULL REFERENCES kernel (id),
	run_id INTEGER REFERENCES run (id), -- NULL: it did not build
	outcome TEXT NOT NULL
		CHECK (outcome IN ('measured', 'build-failed', 'boot-failed')),
	boots INTEGER NOT NULL,       -- of this commit so far
	value REAL,                   -- of this boot
	candidates INTEGER NOT NULL,  -- left in the 95 % set after this boot
	posterior TEXT NOT NULL CHECK (json_valid(posterior)),
	created INTEGER NOT NULL,
	PRIMARY KEY (bisection_id, n)
) STRICT, WITHOUT ROWID;
INSERT INTO bisection_step_new (bisection_id, n, idx, kernel_id, outcome,
	boots, value, candidates, posterior, created)
SELECT bisection_id, n, idx, kernel_id, outcome, boots, value, candidates,
	posterior, created FROM bisection_step;
DROP TABLE bisection_step;
ALTER TABLE bisection_step_new RENAME TO bisection_step;

-- The noise model of one series, on the log scale (docs/STATISTICS.md). Made
-- anew from the samples whenever a comparison ends.
CREATE TABLE noise (
	host_id INTEGER NOT NULL REFERENCES host (id),
	case_id INTEGER NOT NULL REFERENCES "case" (id),
	kpi_id INTEGER NOT NULL REFERENCES kpi (id),
	recipe_id INTEGER NOT NULL REFERENCES recipe (id),
	images INTEGER NOT NULL,
	boots INTEGER NOT NULL,
	repetitions REAL NOT NULL,    -- of a boot, on average
	se2 REAL NOT NULL,            -- variance of a repetition in a boot
	su2 REAL NOT NULL,            -- of the boots of an image
	sa2 REAL NOT NULL,            -- of the images
	s0sq REAL NOT NULL,           -- prior of the variance of a boot value
	d0 REAL NOT NULL,             -- its weight in degrees of freedom
	df_a REAL NOT NULL,           -- degrees of freedom behind sa2; 0: unknown
	-- The boots fall into two modes: {cut, low, high, upper, sd, within} as
	-- in daemon/stats/modes.h; NULL: one mode.
	modes TEXT CHECK (modes IS NULL OR json_valid(modes)),
	updated INTEGER NOT NULL,
	PRIMARY KEY (host_id, case_id, kpi_id, recipe_id)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_comparison AS
SELECT x.comparison_id AS id, bc.described AS base, hc.described AS head,
       h.name AS host, h.clock, j.name AS job, ca.name AS "case",
       q.name AS kpi, q.unit, q.better, x.base_value, x.head_value,
       x.base_sd, x.head_sd, x.base_boots, x.head_boots, x.effect, x.lo, x.hi,
       x.p, x.threshold, x.hidden, x.verdict, x.shift, x.second_isa,
       x.reason, m.finished, x.p_t, x.p_fdr, x.modes
FROM comparison_result x JOIN comparison m ON m.id = x.comparison_id
JOIN kernel bk ON bk.id = m.base_kernel_id
JOIN kernel hk ON hk.id = m.head_kernel_id
JOIN commit_info bc ON bc.sha = bk.sha JOIN commit_info hc ON hc.sha = hk.sha
JOIN host h ON h.id = m.host_id JOIN job j ON j.id = m.job_id
JOIN "case" ca ON ca.id = x.case_id JOIN kpi q ON q.id = x.kpi_id;

CREATE VIEW v_bisection AS
SELECT b.id, ca.name AS "case", q.name AS kpi, q.unit, h.name AS host,
       h.clock, b.side, gc.described AS good, bc.described AS bad,
       b.good_value, b.bad_value, b.sigma, b.status, b.reason, b.culprit_sha,
       cc.subject AS culprit_subject, b.confidence, b.share,
       (SELECT count(*) - 1 FROM bisection_commit g WHERE g.bisection_id = b.id)
           AS commits,
       (SELECT count(DISTINCT s.idx) FROM bisection_step s
           WHERE s.bisection_id = b.id) AS steps,
       (SELECT count(s.run_id) FROM bisection_step s
           WHERE s.bisection_id = b.id) AS boots,
       b.created, b.finished, b.share_lo, b.share_hi, b.parent_id, b.refuted
FROM bisection b JOIN "case" ca ON ca.id = b.case_id
JOIN kpi q ON q.id = b.kpi_id
JOIN comparison m ON m.id = b.comparison_id JOIN host h ON h.id = m.host_id
JOIN commit_info gc ON gc.sha = b.good_sha
JOIN commit_info bc ON bc.sha = b.bad_sha
LEFT JOIN commit_info cc ON cc.sha = b.culprit_sha;

CREATE INDEX run_recipe ON run (recipe_id, id);

CREATE VIEW v_noise AS
SELECT h.name AS host, h.clock, c.name AS "case", q.name AS kpi, q.unit,
       n.recipe_id, n.images, n.boots, n.repetitions, sqrt(n.se2) AS repetition_sd,
       sqrt(n.su2) AS boot_sd, sqrt(n.sa2) AS image_sd, n.s0sq, n.d0,
       json_extract(n.modes, '$.upper') AS upper_share,
       json_extract(n.modes, '$.high') - json_extract(n.modes, '$.low')
           AS modes_apart, n.df_a, n.updated
FROM noise n JOIN host h ON h.id = n.host_id JOIN "case" c ON c.id = n.case_id
JOIN kpi q ON q.id = n.kpi_id;

-- SPDX-License-Identifier: GPL-2.0-or-later
-- Faultline's first schema. Words are those of docs/ARCHITECTURE.md. Times
-- are UTC seconds. Rows are never deleted; samples least of all.

CREATE TABLE tree (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	url TEXT,                     -- NULL: an existing clone, used in place
	path TEXT NOT NULL,
	fetched INTEGER,
	fetch_error TEXT
) STRICT;

-- What reports say of a commit. `described`: a tag, or its first digits.
CREATE TABLE commit_info (
	sha TEXT PRIMARY KEY CHECK (length(sha) = 40),
	described TEXT NOT NULL,
	subject TEXT NOT NULL,
	message TEXT NOT NULL,
	author_name TEXT NOT NULL,
	author_email TEXT NOT NULL,
	commit_time INTEGER NOT NULL
) STRICT;

-- A config as asked for (base target, fragments, job needs).
CREATE TABLE config (
	id INTEGER PRIMARY KEY,
	hash TEXT NOT NULL UNIQUE,
	doc TEXT NOT NULL CHECK (json_valid(doc))
) STRICT;

CREATE TABLE kernel (
	id INTEGER PRIMARY KEY,
	tree_id INTEGER NOT NULL REFERENCES tree (id),
	sha TEXT NOT NULL REFERENCES commit_info (sha),
	builder TEXT NOT NULL,
	config_id INTEGER NOT NULL REFERENCES config (id),
	compiler TEXT NOT NULL,
	status TEXT NOT NULL DEFAULT 'queued'
		CHECK (status IN ('queued', 'built', 'failed', 'timeout')),
	reason TEXT NOT NULL DEFAULT '',
	release TEXT,
	image_hash TEXT,
	final_config_hash TEXT,
	dir TEXT,                     -- artefacts, relative to the workspace
	checkout_s REAL,
	make_s REAL,
	created INTEGER NOT NULL,
	finished INTEGER,
	UNIQUE (sha, builder, config_id, compiler)
) STRICT;
CREATE INDEX kernel_image ON kernel (image_hash);

-- "base with the commit on top": status applies | conflict.
CREATE TABLE pick (
	id INTEGER PRIMARY KEY,
	tree_id INTEGER NOT NULL REFERENCES tree (id),
	pick_sha TEXT NOT NULL,
	base_sha TEXT NOT NULL,
	status TEXT NOT NULL CHECK (status IN ('applies', 'conflict')),
	sha TEXT,
	reason TEXT NOT NULL DEFAULT '',
	UNIQUE (pick_sha, base_sha)
) STRICT;

CREATE TABLE host (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	driver TEXT NOT NULL,
	clock TEXT NOT NULL CHECK (clock IN ('exact', 'wall'))
) STRICT;

CREATE TABLE job (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	hash TEXT NOT NULL UNIQUE,
	doc TEXT NOT NULL CHECK (json_valid(doc))
) STRICT;

CREATE TABLE "case" (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	params TEXT NOT NULL CHECK (json_valid(params)),
	UNIQUE (name, params)
) STRICT;

CREATE TABLE kpi (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	unit TEXT NOT NULL,
	better INTEGER NOT NULL CHECK (better IN (-1, 0, 1))
) STRICT;

-- Everything besides commit and case that decides a number.
CREATE TABLE recipe (
	id INTEGER PRIMARY KEY,
	hash TEXT NOT NULL UNIQUE,
	doc TEXT NOT NULL CHECK (json_valid(doc))
) STRICT;

CREATE TABLE run (
	id INTEGER PRIMARY KEY,
	uuid TEXT NOT NULL UNIQUE,
	kernel_id INTEGER NOT NULL REFERENCES kernel (id),
	host_id INTEGER NOT NULL REFERENCES host (id),
	job_id INTEGER NOT NULL REFERENCES job (id),
	recipe_id INTEGER NOT NULL REFERENCES recipe (id),
	isa TEXT NOT NULL CHECK (isa IN ('plain', 'strings')),
	-- Which boot of this kernel and recipe; the perturbation number too.
	boot_no INTEGER NOT NULL CHECK (boot_no >= 0),
	status TEXT NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'done',
		'case-failed', 'panic', 'hang', 'oom', 'no-boot', 'host-failed')),
	reason TEXT NOT NULL DEFAULT '',
	env TEXT CHECK (env IS NULL OR json_valid(env)),
	dir TEXT,
	boot_s REAL,
	total_s REAL,
	created INTEGER NOT NULL,
	finished INTEGER
) STRICT;
CREATE INDEX run_kernel ON run (kernel_id, recipe_id);

-- The cases a run was asked for, and how each ended.
CREATE TABLE run_case (
	run_id INTEGER NOT NULL REFERENCES run (id),
	case_id INTEGER NOT NULL REFERENCES "case" (id),
	status TEXT NOT NULL DEFAULT 'queued'
		CHECK (status IN ('queued', 'done', 'failed', 'lost')),
	reason TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (run_id, case_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sample (
	run_id INTEGER NOT NULL REFERENCES run (id),
	case_id INTEGER NOT NULL REFERENCES "case" (id),
	kpi_id INTEGER NOT NULL REFERENCES kpi (id),
	idx INTEGER NOT NULL,
	value REAL NOT NULL,
	PRIMARY KEY (run_id, case_id, kpi_id, idx)
) STRICT, WITHOUT ROWID;

-- What blocks runs in a worker child; a row exists before the work starts.
CREATE TABLE work (
	id INTEGER PRIMARY KEY,
	kind TEXT NOT NULL CHECK (kind IN ('fetch', 'build', 'run', 'pick')),
	subject_id INTEGER NOT NULL,  -- tree, kernel, run or request row
	spec TEXT NOT NULL CHECK (json_valid(spec)),
	priority INTEGER NOT NULL DEFAULT 0,
	state TEXT NOT NULL DEFAULT 'queued'
		CHECK (state IN ('queued', 'running', 'done', 'failed')),
	attempt INTEGER NOT NULL DEFAULT 0,
	not_before INTEGER NOT NULL DEFAULT 0,
	error TEXT NOT NULL DEFAULT '',
	created INTEGER NOT NULL,
	started INTEGER,
	finished INTEGER,
	seconds REAL
) STRICT;
CREATE INDEX work_open ON work (state, priority DESC, id)
	WHERE state IN ('queued', 'running');
CREATE INDEX work_subject ON work (kind, subject_id);

-- What a person or the schedule asked for. `doc` grows as it is resolved.
CREATE TABLE request (
	id INTEGER PRIMARY KEY,
	kind TEXT NOT NULL
		CHECK (kind IN ('fetch', 'build', 'run', 'compare', 'bisect', 'nightly')),
	doc TEXT NOT NULL CHECK (json_valid(doc)),
	state TEXT NOT NULL DEFAULT 'open'
		CHECK (state IN ('open', 'done', 'failed')),
	reason TEXT NOT NULL DEFAULT '',
	created INTEGER NOT NULL,
	finished INTEGER
) STRICT;

CREATE TABLE comparison (
	id INTEGER PRIMARY KEY,
	base_kernel_id INTEGER NOT NULL REFERENCES kernel (id),
	head_kernel_id INTEGER NOT NULL REFERENCES kernel (id),
	host_id INTEGER NOT NULL REFERENCES host (id),
	job_id INTEGER NOT NULL REFERENCES job (id),
	recipe_id INTEGER NOT NULL REFERENCES recipe (id),
	boots INTEGER NOT NULL,       -- a side, as asked for
	status TEXT NOT NULL DEFAULT 'measuring'
		CHECK (status IN ('measuring', 'done', 'failed')),
	reason TEXT NOT NULL DEFAULT '',
	config_diff TEXT,             -- of the final configs, -base +head
	created INTEGER NOT NULL,
	finished INTEGER,
	UNIQUE (base_kernel_id, head_kernel_id, host_id, job_id, recipe_id, boots)
) STRICT;

CREATE TABLE comparison_result (
	comparison_id INTEGER NOT NULL REFERENCES comparison (id),
	case_id INTEGER NOT NULL REFERENCES "case" (id),
	kpi_id INTEGER NOT NULL REFERENCES kpi (id),
	base_value REAL,              -- geometric mean of the boots
	head_value REAL,
	base_sd REAL,                 -- of the log values: relative
	head_sd REAL,
	base_boots INTEGER NOT NULL,
	head_boots INTEGER NOT NULL,
	effect REAL,                  -- log(head / base)
	lo REAL,
	hi REAL,
	p REAL,
	threshold REAL,               -- |log ratio| that matters
	hidden REAL,                  -- unclear: what could still hide
	verdict TEXT NOT NULL
		CHECK (verdict IN ('same', 'better', 'worse', 'unclear')),
	shift INTEGER NOT NULL CHECK (shift IN (0, 1)),
	-- exact clock: does it hold with the string instructions shown?
	second_isa TEXT CHECK (second_isa IN ('holds', 'artefact')),
	reason TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (comparison_id, case_id, kpi_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE bisection (
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
	created INTEGER NOT NULL,
	finished INTEGER,
	UNIQUE (comparison_id, case_id, kpi_id, side)
) STRICT;

-- The graph between the end points; idx 0 is the good one, the last the bad.
CREATE TABLE bisection_commit (
	bisection_id INTEGER NOT NULL REFERENCES bisection (id),
	idx INTEGER NOT NULL,
	sha TEXT NOT NULL REFERENCES commit_info (sha),
	parents TEXT NOT NULL CHECK (json_valid(parents)), -- of idx
	prior REAL NOT NULL,          -- 0: cannot change the image
	PRIMARY KEY (bisection_id, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE bisection_step (
	bisection_id INTEGER NOT NULL REFERENCES bisection (id),
	n INTEGER NOT NULL,
	idx INTEGER NOT NULL,         -- of the commit that was tested
	kernel_id INTEGER NOT NULL REFERENCES kernel (id),
	outcome TEXT NOT NULL
		CHECK (outcome IN ('measured', 'build-failed', 'boot-failed')),
	boots INTEGER NOT NULL,
	value REAL,
	candidates INTEGER NOT NULL,  -- left in the 95 % set after this step
	posterior TEXT NOT NULL CHECK (json_valid(posterior)),
	created INTEGER NOT NULL,
	PRIMARY KEY (bisection_id, n)
) STRICT, WITHOUT ROWID;

-- What a verified culprit does to each case that moved.
CREATE TABLE attribution (
	bisection_id INTEGER NOT NULL REFERENCES bisection (id),
	case_id INTEGER NOT NULL REFERENCES "case" (id),
	kpi_id INTEGER NOT NULL REFERENCES kpi (id),
	parent_value REAL NOT NULL,
	culprit_value REAL NOT NULL,
	boots INTEGER NOT NULL,       -- a side
	on_base_value REAL,           -- base with the commit on top
	share REAL NOT NULL,          -- of log(head / base)
	explained INTEGER NOT NULL CHECK (explained IN (0, 1)),
	PRIMARY KEY (bisection_id, case_id, kpi_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE report (
	id INTEGER PRIMARY KEY,
	bisection_id INTEGER NOT NULL UNIQUE REFERENCES bisection (id),
	message_id TEXT NOT NULL UNIQUE,
	subject TEXT NOT NULL,
	mail_from TEXT NOT NULL,
	body TEXT NOT NULL,
	message BLOB NOT NULL,        -- the bytes that leave
	state TEXT NOT NULL DEFAULT 'held' CHECK (state IN ('held', 'approved',
		'sending', 'sent', 'rejected', 'unknown')),
	reason TEXT NOT NULL DEFAULT '',
	file TEXT NOT NULL,           -- the copy in the outbox folder
	created INTEGER NOT NULL,
	approved INTEGER,
	sent INTEGER
) STRICT;

CREATE TABLE recipient (
	report_id INTEGER NOT NULL REFERENCES report (id),
	field TEXT NOT NULL CHECK (field IN ('to', 'cc')),
	mailbox TEXT NOT NULL,
	why TEXT NOT NULL,
	PRIMARY KEY (report_id, mailbox)
) STRICT, WITHOUT ROWID;

-- Views: stable names for people who open results.db with other tools.

CREATE VIEW v_kernel AS
SELECT k.id, t.name AS tree, c.described AS version, k.sha, c.subject,
       k.status, k.reason, k.release, k.image_hash, k.compiler,
       k.checkout_s, k.make_s, k.dir, k.created, k.finished
FROM kernel k JOIN tree t ON t.id = k.tree_id
JOIN commit_info c ON c.sha = k.sha;

CREATE VIEW v_run AS
SELECT r.id, r.uuid, c.described AS version, k.sha, h.name AS host, h.clock,
       j.name AS job, r.isa, r.boot_no, r.status, r.reason, r.boot_s, r.total_s,
       (SELECT count(*) FROM run_case rc WHERE rc.run_id = r.id) AS cases,
       r.dir, r.created, r.finished
FROM run r JOIN kernel k ON k.id = r.kernel_id
JOIN commit_info c ON c.sha = k.sha
JOIN host h ON h.id = r.host_id JOIN job j ON j.id = r.job_id;

CREATE VIEW v_sample AS
SELECT s.run_id, c.described AS version, k.sha, h.name AS host, h.clock,
       ca.name AS "case", q.name AS kpi, q.unit, s.idx, s.value, r.isa,
       r.boot_no, r.recipe_id, k.image_hash, r.finished
FROM sample s JOIN run r ON r.id = s.run_id
JOIN kernel k ON k.id = r.kernel_id JOIN commit_info c ON c.sha = k.sha
JOIN host h ON h.id = r.host_id JOIN "case" ca ON ca.id = s.case_id
JOIN kpi q ON q.id = s.kpi_id;

CREATE VIEW v_comparison AS
SELECT x.comparison_id AS id, bc.described AS base, hc.described AS head,
       h.name AS host, h.clock, j.name AS job, ca.name AS "case",
       q.name AS kpi, q.unit, q.better, x.base_value, x.head_value,
       x.base_sd, x.head_sd, x.base_boots, x.head_boots, x.effect, x.lo, x.hi,
       x.p, x.threshold, x.hidden, x.verdict, x.shift, x.second_isa,
       x.reason, m.finished
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
       (SELECT count(*) FROM bisection_step s WHERE s.bisection_id = b.id)
           AS steps,
       b.created, b.finished
FROM bisection b JOIN "case" ca ON ca.id = b.case_id
JOIN kpi q ON q.id = b.kpi_id
JOIN comparison m ON m.id = b.comparison_id JOIN host h ON h.id = m.host_id
JOIN commit_info gc ON gc.sha = b.good_sha
JOIN commit_info bc ON bc.sha = b.bad_sha
LEFT JOIN commit_info cc ON cc.sha = b.culprit_sha;

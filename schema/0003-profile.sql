-- SPDX-License-Identifier: GPL-2.0-or-later
-- Profiles: where the samples of a profiling boot fell, by function.

-- profile: sampled while its cases run. It has no samples of KPIs, and a
-- recipe of its own.
ALTER TABLE run ADD COLUMN purpose TEXT NOT NULL DEFAULT 'measure'
	CHECK (purpose IN ('measure', 'profile'));

CREATE TABLE request_new (
	id INTEGER PRIMARY KEY,
	kind TEXT NOT NULL CHECK (kind IN ('fetch', 'build', 'run', 'compare',
		'bisect', 'nightly', 'profile')),
	doc TEXT NOT NULL CHECK (json_valid(doc)),
	state TEXT NOT NULL DEFAULT 'open'
		CHECK (state IN ('open', 'done', 'failed')),
	reason TEXT NOT NULL DEFAULT '',
	created INTEGER NOT NULL,
	finished INTEGER
) STRICT;
INSERT INTO request_new (id, kind, doc, state, reason, created, finished)
SELECT id, kind, doc, state, reason, created, finished FROM request;
DROP TABLE request;
ALTER TABLE request_new RENAME TO request;

CREATE TABLE function (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE profile (
	run_id INTEGER NOT NULL REFERENCES run (id),
	case_id INTEGER NOT NULL REFERENCES "case" (id),
	period_ns INTEGER NOT NULL,
	samples INTEGER NOT NULL,
	user INTEGER NOT NULL,        -- of them outside of the kernel
	rep INTEGER,                  -- on string instructions; NULL: unknown
	lost INTEGER NOT NULL,        -- samples that came to nothing
	PRIMARY KEY (run_id, case_id)
) STRICT, WITHOUT ROWID;

-- The tree of callers: parent is the node of the caller, -1: none.
CREATE TABLE profile_node (
	run_id INTEGER NOT NULL REFERENCES run (id),
	case_id INTEGER NOT NULL REFERENCES "case" (id),
	node INTEGER NOT NULL,
	parent INTEGER NOT NULL CHECK (parent < node),
	function_id INTEGER NOT NULL REFERENCES function (id),
	self INTEGER NOT NULL,        -- samples in the function itself
	rep INTEGER NOT NULL,         -- of them on string instructions
	PRIMARY KEY (run_id, case_id, node)
) STRICT, WITHOUT ROWID;

DROP VIEW v_run;
CREATE VIEW v_run AS
SELECT r.id, r.uuid, c.described AS version, k.sha, h.name AS host, h.clock,
       j.name AS job, r.isa, r.boot_no, r.status, r.reason, r.boot_s, r.total_s,
       (SELECT count(*) FROM run_case rc WHERE rc.run_id = r.id) AS cases,
       r.dir, r.created, r.finished, r.purpose
FROM run r JOIN kernel k ON k.id = r.kernel_id
JOIN commit_info c ON c.sha = k.sha
JOIN host h ON h.id = r.host_id JOIN job j ON j.id = r.job_id;

CREATE VIEW v_profile AS
SELECT p.run_id, c.described AS version, k.sha, h.name AS host, h.clock,
       ca.name AS "case", p.period_ns, p.samples, p.user, p.rep, p.lost,
       r.boot_no, r.recipe_id, k.image_hash, r.finished
FROM profile p JOIN run r ON r.id = p.run_id
JOIN kernel k ON k.id = r.kernel_id JOIN commit_info c ON c.sha = k.sha
JOIN host h ON h.id = r.host_id JOIN "case" ca ON ca.id = p.case_id;

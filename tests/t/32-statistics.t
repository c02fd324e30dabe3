#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the statistics do to rows, on the fake host: two culprits in one range,
# fresh boots and looks on the wall clock, the belief after every boot, the
# noise model, and a head that leaves the level of its history.
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
# shellcheck source=tests/t/fixture.sh
. "$TOP/tests/t/fixture.sh"

sql() {
	sqlite3 "$ws/results.db" "$1"
}

# begin DIR: a root, a stable branch and the start of a development branch;
# like make_small, but what follows is the caller's.
begin() {
	fixture=$1
	build=ok boot=ok pf4=800 pf3=2000 note=root
	fixture_clock=1767225600
	git init -q -b master "$fixture"
	echo fixture >"$fixture/README"
	fake_kernel
	fake_commit 'Linux 6.12'
	git -C "$fixture" tag v6.12
	git -C "$fixture" checkout -q -b stable
	pf4=${2:-800}
	note=backport
	plant 'mm: a backport'
	pf4=800
	note=root
	git -C "$fixture" tag v6.12.1
	git -C "$fixture" checkout -q master
}

# --- two culprits
begin "$T/two"
change 'mm: tidy up' 1
pf4=1000
plant 'mm: the first loss'
change 'fs: rename a local' 2
change 'fs: print more' 3
document one
change 'mm: tidy up again' 4
pf4=1200
plant 'mm: the second loss'
change 'fs: rename it back' 5
change 'Linux 6.13-rc1' 6
git -C "$T/two" tag v6.13-rc1
ws=$T/two-ws
make_workspace "$ws" "$T/two"
run faultline -q -C "$ws" nightly
is "$status:$err" 0: "two culprits: nightly"
is "$(sql "SELECT DISTINCT c.subject FROM bisection b JOIN commit_info c
	ON c.sha = b.culprit_sha WHERE b.status = 'found' ORDER BY 1")" \
	"mm: the first loss
mm: the second loss" "both are found"
is "$(sql "SELECT count(*) FROM bisection WHERE parent_id IS NOT NULL
	AND status = 'found'")" 1 \
	"one of them in what the other left over"
is "$(sql "SELECT count(*) FROM bisection WHERE status NOT IN
	('found', 'does-not-reproduce')")" 0 \
	"a stretch without a change says so"
is "$(sql "SELECT count(*) FROM report")" 2 "a mail for each"
is "$(sql "SELECT count(*) FROM (SELECT sum(a.share) AS s FROM attribution a
	JOIN bisection b ON b.id = a.bisection_id WHERE explained = 0
	GROUP BY a.case_id, a.kpi_id HAVING abs(s - 1) > 0.001)")" 0 \
	"their shares add up to the whole"
run faultline -C "$ws" bisect show \
	"$(sql "SELECT id FROM bisection WHERE parent_id IS NOT NULL
		AND status = 'found'")"
like "$out" "a stretch of bisection [0-9]+" "bisect show says of what it is a part"

# --- the wall clock
make_small "$T/small"
ws=$T/wall
make_workspace "$ws" "$T/small" wall 0.02
run faultline -q -C "$ws" nightly
is "$status:$err" 0: "wall clock: nightly"
is "$(sql "SELECT DISTINCT base_boots || '+' || head_boots FROM v_comparison
	WHERE verdict IN ('better', 'worse') AND kpi = 'per_process_ops'")" \
	6+6 "a clear shift takes the first look alone"
is "$(sql "SELECT count(*) FROM v_comparison WHERE verdict = 'unclear'
	AND base_boots < 20 AND better <> 0")" 0 \
	"nothing is left unclear before the last look"
is "$(sql "SELECT count(*) FROM v_comparison WHERE shift AND
	(p_t IS NULL OR p_fdr IS NULL OR p_fdr > 0.05)")" 0 \
	"every shift holds among all series"
is "$(sql "SELECT count(*) FROM bisection b JOIN bisection_step s
	ON s.bisection_id = b.id WHERE s.run_id <= b.after_run")" 0 \
	"boots that showed the shift do not count in the search"
is "$(sql "SELECT count(*) FROM bisection b JOIN bisection_step s
	ON s.bisection_id = b.id WHERE b.status = 'found'
	AND s.run_id > b.verify_after")" 0 \
	"boots of the verification are no steps of the search"
is "$(sql "SELECT count(*) FROM bisection b WHERE b.status = 'found' AND
	(SELECT count(*) FROM run r JOIN kernel k ON k.id = r.kernel_id
	WHERE k.sha = b.culprit_sha AND r.id > b.verify_after) < 8")" 0 \
	"a culprit has eight fresh boots"
is "$(sql "SELECT count(*) FROM (SELECT s.bisection_id, s.n,
	sum(j.value) AS p FROM bisection_step s, json_each(s.posterior) j
	GROUP BY 1, 2 HAVING abs(p - 1) > 1e-4)")" 0 \
	"the belief after every boot is a distribution"
is "$(sql "SELECT count(*) FROM bisection b WHERE (SELECT count(*)
	FROM bisection_step s WHERE s.bisection_id = b.id AND s.run_id
	IS NOT NULL) <> (SELECT count(DISTINCT s.run_id) FROM bisection_step s
	WHERE s.bisection_id = b.id)")" 0 "a step for every boot, once"
is "$(sql "SELECT count(*) FROM bisection WHERE status = 'found'
	AND NOT (share_lo < share AND share < share_hi
	AND share_hi - share_lo < 0.5)")" 0 "the share has an interval"

run faultline -C "$ws" noise --kpi per_process_ops
is "$status:$err" 0: "noise"
like "$out" "per_process_ops on fake \[wall clock" "noise names the series"
like "$out" "6 boots +20 boots" "noise says what boots can see"
is "$(awk 'length > 80' <<<"$out")" "" "in 80 columns"
run faultline -C "$ws" noise --json
ok "$(/usr/bin/python3 -c '
import json, sys
rows = json.loads(sys.argv[1])
ops = [r for r in rows if r["kpi"] == "per_process_ops"]
good = ops and all(0.01 < r["boot_sd"] < 0.04 for r in ops if r["boots"] > 30)
print(0 if good else 1)' "$out")" "the model finds the noise that was set"

# The head of one comparison is the base of the next: it is measured again.
before=$(sql "SELECT count(*) FROM run r JOIN commit_info c JOIN kernel k
	ON k.id = r.kernel_id AND c.sha = k.sha WHERE c.described = 'v6.12.1'")
run faultline -q -C "$ws" compare v6.12 v6.12.1 --job pagefault --boots 4
is "$status:$err" 0: "compare"
is "$(sql "SELECT count(*) FROM run r JOIN commit_info c JOIN kernel k
	ON k.id = r.kernel_id AND c.sha = k.sha
	WHERE c.described = 'v6.12.1'")" $((before + 4)) \
	"both sides are measured afresh"
is "$(sql "SELECT DISTINCT base_boots || '+' || head_boots FROM v_comparison
	WHERE base = 'v6.12'")" 4+4 "--boots is a fixed number"

# --- a head that leaves its level
begin "$T/tree" 1200
ws=$T/heads
make_workspace "$ws" "$T/tree"
for n in 1 2 3 4 5 6 7; do
	change "Linux 6.13-rc$n" "rc$n"
	git -C "$T/tree" tag "v6.13-rc$n"
	faultline -q -C "$ws" nightly >/dev/null || break
done
is "$n:$(sql 'SELECT count(*) FROM comparison')" 7:7 \
	"seven nights, a comparison each"
before=$(sql 'SELECT count(*) FROM report')
pf4=1200
plant 'mm: as slow as stable'
change 'Linux 6.13-rc8' rc8
git -C "$T/tree" tag v6.13-rc8
run faultline -q -C "$ws" nightly
is "$status:$err" 0: "the eighth night"
is "$(sql "SELECT count(*) FROM v_comparison WHERE head = 'v6.13-rc8'
	AND base = 'v6.12.1' AND shift")" 0 \
	"against the base nothing moved"
like "$out" "left the level of its history" "the history says that it did"
is "$(sql "SELECT base || ' ' || max(shift) FROM v_comparison
	WHERE head = 'v6.13-rc8' AND base <> 'v6.12.1' GROUP BY base")" \
	"v6.13-rc7 1" "it is compared with the head before"
is "$(sql "SELECT DISTINCT c.subject FROM bisection b JOIN commit_info c
	ON c.sha = b.culprit_sha JOIN comparison m ON m.id = b.comparison_id
	JOIN kernel k ON k.id = m.head_kernel_id JOIN commit_info h
	ON h.sha = k.sha WHERE h.described = 'v6.13-rc8'
	AND b.status = 'found'")" "mm: as slow as stable" "its cause is found"
is "$(sql 'SELECT count(*) FROM report')" $((before + 1)) "and reported"
run faultline -q -C "$ws" nightly
is "$status:$(sql 'SELECT count(*) FROM report')" 0:$((before + 1)) \
	"once"
change "Linux 6.13-rc9" rc9
git -C "$T/tree" tag v6.13-rc9
run faultline -q -C "$ws" nightly
is "$status:$(sql 'SELECT count(*) FROM report')" 0:$((before + 1)) \
	"the next head on the new level is no news"

done_testing

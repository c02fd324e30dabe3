#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Profiles on the fake host: boots of their own that count for nothing that is
# measured, tables, differences, folded stacks, and bundles that lie.
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
# shellcheck source=tests/t/fixture.sh
. "$TOP/tests/t/fixture.sh"

grep -q 'anon_inode:\[perf_event\]' "$B/faultline-agent-profile"
ok $? "profiling boots have a profiler"
! grep -q 'anon_inode:\[perf_event\]' "$B/faultline-agent"
ok $? "measuring boots have none"

ws=$T/ws
sql() {
	sqlite3 "$ws/results.db" "$1"
}
# json COLUMNS FROM: rows of $out as SQL sees them (v is the array).
json() {
	sqlite3 -list :memory: "WITH v AS (SELECT json(readfile('$T/.out')) AS v)
		SELECT $1 FROM v, $2"
}
case1=page_fault1/process/nr_task=1
case4=page_fault4/process/nr_task=1/tmpfs

# kernel TAG LEAF REP: a commit whose page_fault4 has LEAF samples in map_pages
# and REP on a string instruction.
kernel() {
	cat >"$fixture/fake-kernel" <<-EOF
		build ok
		boot ${4:-ok}
		value * 3000
		profile page_fault1* entry;handle;clear* 400
		profile page_fault1* entry;handle 500
		profile page_fault1* [user] 100
		profile page_fault4* entry;handle;map_pages $2
		profile page_fault4* entry;handle;copy* $3
		profile page_fault4* entry;handle 2000
		profile page_fault4* [user] 200
	EOF
	fake_commit "Linux $1"
	git -C "$fixture" tag "$1"
}
fixture=$T/git
fixture_clock=1767225600
git init -q -b master "$fixture"
kernel v6.1 300 700
kernel v6.2 1800 700
kernel v6.3 1800 700 panic
make_workspace "$ws" "$T/git"

faultline -q -C "$ws" fetch >/dev/null
# --- a profile of one kernel
run faultline -q -C "$ws" profile v6.1 --job smoke
is "$status:$err" 0: "profile makes what is missing"
like "$out" "$case1: v6.1"$'\n'"  1000 samples, 40.0% on string instructions" \
	"what it stands on"
like "$out" "50.00  3.09 +90.00  1.8[0-9] +handle" \
	"self and children with their margins"
like "$out" "10.00 .* 10.00 .*\[user\]" "time outside of the kernel"
is "$(awk 'length > 80' <<<"$out")" "" "80 columns"
is "$(sql 'SELECT count(*) FROM sample')" 0 "its KPIs are not kept"
is "$(sql "SELECT count(*) || max(purpose) FROM run")" 1profile \
	"one boot, marked"
run faultline -q -C "$ws" profile v6.1 --job smoke
is "$(sql 'SELECT count(*) FROM run')" 1 "asked again, nothing is booted"
run faultline -q -C "$ws" profile v6.1 --job smoke --case 'page_fault4*' --json
is "$(json "value ->> 'case', value ->> 'samples', value ->> 'user',
	value ->> 'rep', value ->> 'lost'" 'json_each(v)')" \
	"$case4|3200|200|700|0" "JSON, of one case"
is "$(json "value ->> 'function', value ->> 'self', value ->> 'children',
	value ->> 'rep'" "json_each(v, '\$[0].functions')")" \
	'handle|2000|3000|0
copy|700|700|700
map_pages|300|300|0
[user]|200|200|0
entry|0|3000|0' "functions by self"

# --- what is measured does not see it
run faultline -q -C "$ws" run v6.1 --job smoke
is "$status" 0 "the kernel is measured as well"
is "$(sql "SELECT purpose || count(*) FROM run GROUP BY purpose")" \
	"measure1
profile1" "a boot that profiled is not one that measured"
is "$(sql "SELECT count(DISTINCT recipe_id) FROM run")" 2 \
	"it has a recipe of its own"
is "$(sql 'SELECT group_concat(boot_no) FROM run')" 0,0 \
	"nor does it use up a boot number"
run faultline -q -C "$ws" profile v6.1 --job smoke --case 'page_fault4*'
like "$out" "3000.0 instructions per operation, 2343.7 without string" \
	"the KPI without string iterations"

# --- two kernels
run faultline -q -C "$ws" profile diff v6.1 v6.2 --job smoke \
	--case 'page_fault*' --folded "$T/folded"
is "$status" 1 "--folded takes one case"
like "$err" "there are 2; choose with --case" "and says so"
run faultline -q -C "$ws" profile diff v6.1 v6.2 --job smoke \
	--case 'page_fault4*' --folded "$T/folded"
is "$status:$err" 0: "profile diff"
first=$(grep -A1 'self: base' <<<"$out" | tail -n 1)
like "$first" "^ *\+28.9[0-9] +1.[0-9]+ +9.3[0-9] +38.3[0-9]\* .*map_pages$" \
	"the function that grew comes first"
is "$(awk 'length > 80' <<<"$out")" "" "80 columns"
is "$(cat "$T/folded")" "[user] 200 200
entry;handle 2000 2000
entry;handle;copy 700 700
entry;handle;map_pages 300 1800" "stacks with both counts"
run faultline -q -C "$ws" profile diff v6.1 v6.2 --job smoke --case "$case1"
like "$out" "No function moved by more than the noise" "equal ones are equal"
run faultline -q -C "$ws" profile diff v6.1 v6.2 --job smoke \
	--case "$case4" --instructions
like "$out" "instructions are not known" "one side was never measured"
run faultline -q -C "$ws" run v6.2 --job smoke
run faultline -q -C "$ws" profile diff v6.1 v6.2 --job smoke \
	--case "$case4" --instructions
like "$out" "instr/op .*\+867.[0-9]+ .* 281.[0-9]+ +1148.[0-9]+\*" \
	"in instructions"
run faultline -q -C "$ws" profile diff v6.1 v6.2 --job smoke --case "$case4" \
	--json
is "$(json "v ->> '\$[0].functions[0].function',
	v ->> '\$[0].functions[0].by',
	v ->> '\$[0].functions[0].above_noise'" 'json_each(1)')" \
	'map_pages|self|1' "as JSON"
run faultline -q -C "$ws" profile v6.2 --job smoke --case "$case4" --boots 3 \
	--json
is "$(json "v ->> '\$[0].boots', v ->> '\$[0].samples'" 'json_each(1)')" \
	"3|14100" \
	"boots add up"
is "$(sql "SELECT count(*) FROM sample s JOIN run r ON r.id = s.run_id
	WHERE r.purpose = 'profile'")" 0 "and measure nothing"

# --- another job
run faultline -q -C "$ws" profile v6.2 --job pagefault --case '*xfs' --json
is "$status" 0 "a job with other cases"
run faultline -q -C "$ws" profile v6.2 --job smoke --json
is "$(json "group_concat(value ->> 'case')" 'json_each(v)')" "$case1,$case4" \
	"each job shows its own"

# --- one run
id=$(sql "SELECT min(id) FROM run WHERE purpose = 'profile'")
run faultline -q -C "$ws" profile show "$id" --top 1
like "$out" "$case4: run $id \(v6.1\)" "profile show"
is "$(grep -c handle <<<"$out"):$(grep -c map_pages <<<"$out")" 2:0 "--top"
id=$(sql "SELECT min(id) FROM run WHERE purpose = 'measure'")
run faultline -q -C "$ws" profile show "$id"
is "$status" 1 "a measuring run has none"
like "$err" "run $id has no profile" "and says so"
run faultline -q -C "$ws" runs
like "$out" "profile +0 +2 +done" "runs tells them apart"

# --- bad input
run faultline -q -C "$ws" profile v6.1
is "$status" 2 "without --job"
run faultline -q -C "$ws" profile v6.1 --job smoke --case 'nothing*'
is "$status" 1 "no such case"
like "$err" "has no case like 'nothing\*'" "and says so"
run faultline -q -C "$ws" profile v6.3 --job smoke
is "$status" 1 "a kernel that panics"
like "$err" "v6.3: panic: told to panic" "has no profile, but a reason"
run faultline -q -C "$ws" profile v6.1 --job smoke --case "$case1" \
	--folded "$T/no/where"
is "$status" 1 "a file that cannot be written"
like "$err" "cannot write '$T/no/where'" "is named"

# --- bundles that lie
cp -r "$ws" "$T/keep"
# lie PROFILES NAME: the worker of a profiling boot left these profiles.
lie() {
	local n id

	for n in {1..40}; do
		rm -rf "$ws"
		cp -r "$T/keep" "$ws"
		(FAULTLINE_KILL_AT=after:$n faultline -q -C "$ws" profile \
			v6.1 --job smoke --boots 2 >"$T/log" 2>&1
			exit $?) 2>/dev/null
		id=$(sql "SELECT id || '.' || attempt FROM work
			WHERE state = 'running'")
		[ -z "$id" ] || break
	done
	mkdir -p "$ws/var/work/$id/out"
	cat >"$ws/var/work/$id/result.json" <<-EOF
		{"kind": "run", "status": "done", "run": "done", "reason": "",
		 "env": {}, "boot_s": 1, "total_s": 1, "cases": [
		 {"case": "$case1", "status": "done", "reason": "",
		  "kpis": {"instructions_per_op": [3]}}],
		 "profiles": $1}
	EOF
	run faultline -q -C "$ws" runs
	run faultline -q -C "$ws" profile v6.1 --job smoke --boots 2
	is "$(sql "SELECT count(*) FROM work WHERE id = ${id%.*}
		AND state = '${3:-failed}'")" 1 "$2: ${3:-refused}" ||
		diag "$err"
	is "$(sql "SELECT count(*) FROM sample s JOIN run r ON r.id = s.run_id
		WHERE r.purpose = 'profile'")" 0 "$2: no KPI is kept"
}
of="\"case\": \"$case1\", \"period_ns\": 1000, \"lost\": 0"
lie "[{$of, \"samples\": 3, \"user\": 1, \"rep\": 0,
	\"nodes\": [[-1, \"f\", 2, 0]]}]" "an honest one" "done"
lie "[{$of, \"samples\": 3, \"user\": 1, \"rep\": 0,
	\"nodes\": [[-1, \"f\", 3, 0]]}]" "counts that do not add up"
lie "[{$of, \"samples\": 3, \"user\": 4, \"rep\": 0, \"nodes\": []}]" \
	"more user samples than samples"
lie "[{$of, \"samples\": 2, \"user\": 0, \"rep\": 0,
	\"nodes\": [[0, \"f\", 2, 0]]}]" "a node that calls itself"
lie "[{$of, \"samples\": 2, \"user\": 0, \"rep\": 0,
	\"nodes\": [[-1, \"a;b\", 2, 0]]}]" "a name that splits a stack"
lie "[{$of, \"samples\": 2, \"user\": 0, \"rep\": 0,
	\"nodes\": [[-1, \"f\", 2, 3]]}]" "more string samples than samples"
lie "[{\"case\": \"other\"}]" "a case that was not asked for"
done_testing

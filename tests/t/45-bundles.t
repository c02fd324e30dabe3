#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A bundle is untrusted: whatever a worker leaves behind, the planner says
# what is wrong with it, nothing of it gets into results.db, and the next
# night measures again.
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
# shellcheck source=tests/t/fixture.sh
. "$TOP/tests/t/fixture.sh"

make_small "$T/git"
make_workspace "$T/calm" "$T/git"
git config -f "$T/calm/faultline.conf" pair.demo.job smoke
git config -f "$T/calm/faultline.conf" run.slots 1
cp -r "$T/calm" "$T/new"
ws=$T/ws
sql() {
	sqlite3 "$ws/results.db" "$1"
}
run faultline -q -C "$T/calm" nightly
is "$status" 0 "a night without lies" || diag "$err"
results() {
	sqlite3 "$1/results.db" <"$TOP/tests/t/dump.sql" |
		grep -E '^(kernel|pick|recipient) '
	sqlite3 "$1/results.db" 'SELECT culprit_sha, status, round(share, 3)
		FROM bisection'
}

# stopped KIND: a copy of $ws that was killed just when work of that kind was
# to start.
stopped() {
	local n
	for n in {3..40}; do
		rm -rf "${T:?}/$1"
		cp -r "$T/new" "$T/$1"
		(FAULTLINE_KILL_AT=after:$n faultline -q -C "$T/$1" nightly \
			>"$T/log" 2>&1; exit $?) 2>/dev/null
		[ -z "$(sqlite3 "$T/$1/results.db" "SELECT 1 FROM work
			WHERE kind = '$1' AND state = 'running'")" ] || return 0
	done
	echo "Bail out! no work of kind $1 was started"
	exit 1
}

# lie KIND RESULT REGEX NAME: that work ended with this result.json.
lie() {
	local id

	rm -rf "$ws"
	cp -r "$T/$1" "$ws"
	id=$(sql "SELECT id || '.' || attempt FROM work WHERE kind = '$1'
		AND state = 'running'")
	mkdir -p "$ws/var/work/$id/out"
	printf '%b' "$2" >"$ws/var/work/$id/result.json"
	run faultline -q -C "$ws" nightly
	is "$status" 0 "$4: the night goes on" || diag "$err"
	like "$err$(sql "SELECT error FROM work WHERE id = ${id%.*}
		AND state = 'failed'")" "$3" "$4: it is noticed"
	is "$(results "$ws" | diff <(results "$T/calm") - | head)" "" \
		"$4: the end is as without it"
	is "$(sql "SELECT count(*) FROM sample s JOIN run r ON r.id = s.run_id
		WHERE r.status <> 'done' OR s.value < 1")" 0 \
		"$4: nothing of it is kept"
}

stopped build
lie build '' "warning: build: .*line 1: .*trying again" "build, an empty file"
lie build '{"status": "do' "warning: build: .*line 1: .*trying again" \
	"build, half of it"
lie build '[]' "does not say how it ended" "build, no object"
lie build '{"status": "done"}' "without an outcome" \
	"build, no outcome"
lie build '{"status": "done", "build": "perfect"}' \
	"without an outcome" "build, an unknown outcome"
lie build '{"status": "done", "build": "built", "image_hash": "12"}' \
	"without an image hash" "build, half a hash"
lie build '{"status": "done", "build": "built"}' \
	"without an image hash" "build, no hash"

stopped run
case1='"case": "page_fault1/process/nr_task=1"'
lie run '{"status": "done"}' "without an outcome" "run, no outcome"
lie run '{"status": "done", "run": "splendid"}' \
	"without an outcome" "run, an unknown outcome"
lie run "{\"status\": \"done\", \"run\": \"done\", \"cases\": [{\"case\": \
\"page_fault7\", \"status\": \"done\", \"kpis\": {}}]}" \
	"was not asked for case 'page_fault7'" "run, a foreign case"
lie run "{\"status\": \"done\", \"run\": \"done\", \"cases\": [{$case1, \
\"status\": \"done\", \"kpis\": {\"speed\": [1]}}]}" \
	"unknown KPI 'speed'" "run, an unknown KPI"
lie run "{\"status\": \"done\", \"run\": \"done\", \"cases\": [{$case1, \
\"status\": \"done\", \"kpis\": {\"instructions_per_op\": [\"many\"]}}]}" \
	"'instructions_per_op' is not a number" "run, a word"
lie run "{\"status\": \"done\", \"run\": \"done\", \"cases\": [{$case1, \
\"status\": \"splendid\", \"kpis\": {}}]}" "CHECK constraint" \
	"run, an unknown status"
lie run "{\"status\": \"done\", \"run\": \"done\", \"cases\": [{$case1, \
\"status\": \"done\", \"kpis\": {\"instructions_per_op\": [0.5]}}, {$case1, \
\"status\": \"done\", \"kpis\": {\"instructions_per_op\": [0.5]}}]}" \
	"constraint failed" "run, a case twice"

done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `nightly` is killed right before and right after each of its commits in
# turn, that is at every state transition. Each time no process of it is left,
# and the same command, started again, ends in the database of a run that
# nobody disturbed: nothing lost, nothing counted or mailed twice.
# shellcheck disable=SC2317 # functions are called through xargs
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
# shellcheck source=tests/t/fixture.sh
. "$TOP/tests/t/fixture.sh"

# dump WORKSPACE: its rows, and its mails but for the lines that name the
# moment at which they were written.
dump() {
	sqlite3 "$1/results.db" <"$TOP/tests/t/dump.sql"
	sqlite3 "$1/results.db" 'SELECT message FROM report ORDER BY subject' |
		grep -av -e '^Message-ID: ' -e '^Date: '
}

# leftovers WORKSPACE: what should not be there after a night.
leftovers() {
	find "$1/var/work" -mindepth 1
	find "$1" -name '*.tmp*' -o -name '*.new'
	# An image that was measured twice by the same boot of the same case.
	sqlite3 "$1/results.db" "SELECT 'twice', k.image_hash, r.isa,
		r.boot_no, x.case_id FROM run_case x
		JOIN run r ON r.id = x.run_id JOIN kernel k
		ON k.id = r.kernel_id GROUP BY 2, r.recipe_id, 3, 4, 5
		HAVING count(*) > 1;
		SELECT 'folder', dir FROM run WHERE dir IS NULL
		OR dir <> 'var/runs/' || id;
		PRAGMA integrity_check; PRAGMA foreign_key_check" |
		grep -v '^ok$'
	# Each mail lies in the outbox as its row has it, and nothing else.
	sqlite3 "$1/results.db" 'SELECT file, hex(message) FROM report' |
	while IFS='|' read -r file hex; do
		[ "$(od -An -vtx1 "$1/$file" | tr -d ' \n' | tr a-f A-F)" = \
			"$hex" ] || echo "differs: $file"
	done
	[ "$(find "$1/var" -name '*.eml' | wc -l)" = "$(sqlite3 \
		"$1/results.db" 'SELECT count(*) FROM report')" ] ||
		echo "mails: $(find "$1/var" -name '*.eml')"
}

nobody_in() {
	! pgrep -f -- "$1" >/dev/null
}

# kill_at POINT WORKSPACE: a night that dies there. 137 = it did.
kill_at() {
	# In a shell of its own, for its "Killed" not to be shown.
	(FAULTLINE_KILL_AT=$1 faultline -q -C "$2" nightly >"$2.log" 2>&1
		exit $?) 2>/dev/null
}

# one NAME POINT: prints nothing when all is well. Leaves NAME.end behind
# once POINT is past the end of the night.
one() {
	local name=$1 point=$2 ws=$T/$1-${2/:/-} status

	[ ! -e "$T/$name-${point%:*}.end" ] || return 0
	cp -r "$T/$name" "$ws"
	kill_at "$point" "$ws"
	status=$?
	if [ "$status" != 137 ]; then
		: >"$T/$name-${point%:*}.end"
		rm -rf "$ws"
		return 0
	fi
	echo "$point" >>"$T/$name.killed"
	wait_for -t 5 nobody_in "$ws/" ||
		echo "still there: $(pgrep -a -f -- "$ws/")"
	faultline -q -C "$ws" nightly >"$ws.log" 2>&1 ||
		echo "did not go on: $(cat "$ws.log")"
	dump "$ws" | diff "$T/$name.dump" -
	leftovers "$ws"
	rm -rf "$ws" "$ws.log"
}

# all NAME LEAST KIND...: kills at every point of NAME's night, two at a time,
# right before or right after it; there are at least LEAST of each.
all() {
	local name=$1 kind

	cp -r "$T/$name" "$T/$name-calm"
	run faultline -q -C "$T/$name-calm" nightly
	is "$status" 0 "$name: a calm night" || diag "$err"
	dump "$T/$name-calm" >"$T/$name.dump"
	is "$(leftovers "$T/$name-calm")" "" "$name: leaves nothing behind"
	for kind in "${@:3}"; do
		seq -f "$kind:%g" 120
	done >"$T/$name.points"
	# shellcheck disable=SC2016 # for the inner shell to expand
	xargs -a "$T/$name.points" -P2 -I POINT bash -c '
		one "$1" "$2" >"$T/$1-$2.out" 2>&1' _ "$name" POINT
	while read -r point; do
		is "$(cat "$T/$name-$point.out")" "" "$name: killed $point"
	done < <(sort -V "$T/$name.killed")
	for kind in "${@:3}"; do
		[ -e "$T/$name-$kind.end" ] &&
			[ "$(grep -c "$kind" "$T/$name.killed")" -ge "$2" ]
		ok $? "$name: every commit was gone through, $kind it"
	done
}
export -f dump leftovers nobody_in kill_at one wait_for

# workspace NAME: one job of two cases, one boot a kernel, one at a time, so
# that the order of the work is the same every time.
workspace() {
	make_workspace "$T/$1" "$T/$1.git"
	git config -f "$T/$1/faultline.conf" pair.demo.job smoke
	git config -f "$T/$1/faultline.conf" run.slots 1
	git config -f "$T/$1/faultline.conf" run.boots-exact 1
}

make_small "$T/whole.git"
workspace whole
all whole 30 before after
is "$(grep -c "^report | $(git -C "$T/whole.git" log --format=%H \
	--grep='map less around' v6.13-rc1) |" "$T/whole.dump")" 1 \
	"whole: the night ends in a mail about the right commit"

make_small "$T/panic.git" panic
workspace panic
# Not the stable branch: the merge base, which is built ahead, may or may not
# be ready when the night ends for want of a head.
git config -f "$T/panic/faultline.conf" pair.demo.base v6.12
all panic 10 after
is "$(grep -c '^comparison .* failed | v6.13-rc1 does not come through (panic)' \
	"$T/panic.dump")" 1 "panic: the night ends in that outcome"

# --- while workers are busy
cp -r "$T/whole" "$T/busy"
git config -f "$T/busy/faultline.conf" host.fake.fake-delay 8
sql() {
	sqlite3 "$T/busy/results.db" "$1"
}
boot_runs() {
	[ "$(sql "SELECT count(*) FROM work WHERE kind = 'run'
		AND state = 'running'")" -ge 1 ] &&
		pgrep -f -- "worker $T/busy/var/work/" >/dev/null
}
background "$T/busy.log" faultline -q -C "$T/busy" nightly
pid=$!
wait_for boot_runs
ok $? "busy: a boot is under way"
kill -9 "$pid"
wait "$pid" 2>/dev/null
wait_for -t 3 nobody_in "$T/busy/"
ok $? "busy: its worker dies with the killed night"
for signal in TERM INT; do
	faultline -q -C "$T/busy" nightly 2>"$T/busy.err" &
	pid=$!
	pids+=("$pid")
	wait_for boot_runs
	ok $? "busy: the next night boots it again"
	kill "-$signal" "$pid"
	wait "$pid"
	is $? 1 "busy: SIG$signal ends it with 1"
	like "$(cat "$T/busy.err")" "stopped by .*the same command goes on" \
		"busy: says how to go on"
	nobody_in "$T/busy/"
	ok $? "busy: no worker is left"
	is "$(sql "SELECT count(*) FROM work WHERE state = 'running'")" 0 \
		"busy: no work is said to run"
	is "$(find "$T/busy/var/work" -mindepth 1)" "" "busy: no folder is left"
done
git config -f "$T/busy/faultline.conf" --unset host.fake.fake-delay
run faultline -q -C "$T/busy" nightly
is "$status" 0 "busy: the same command goes on" || diag "$err"
is "$(dump "$T/busy" | diff "$T/whole.dump" -)" "" \
	"busy: to the end of a calm night"
is "$(leftovers "$T/busy")" "" "busy: and leaves nothing behind"

# --- again and again, with builds and boots side by side
make_fixture "$T/often.git"
make_workspace "$T/often" "$T/often.git"
status=137 lives=0
for n in {1..40}; do
	for kind in before after; do
		[ "$status" = 137 ] || break
		lives=$((lives + 1))
		kill_at "$kind:$((5 + n % 7))" "$T/often"
		status=$?
	done
done
is "$status" 0 "often: a night of many lives comes to its end"
[ "$lives" -gt 8 ]
ok $? "often: it had $lives"
is "$(sqlite3 "$T/often/results.db" "SELECT c.subject FROM report r
	JOIN bisection b ON b.id = r.bisection_id JOIN commit_info c
	ON c.sha = b.culprit_sha ORDER BY 1")" \
	$'mm: map less around\nmm: map whole folios' "often: with both mails"
is "$(leftovers "$T/often")" "" "often: and leaves nothing behind"
run "$TOP/tests/t/figures.py" "$T/often"
is "$out$err" "" "often: every figure is a row"

done_testing

# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For every test in this folder: `. "${0%/*}/lib.sh"`, then ok/is/like, at the
# end done_testing. Output is TAP. $T is a folder of this test alone; it is
# removed and all `background` processes are ended when the script leaves.
# An error outside a test (set -u, no done_testing) leaves TAP without a plan,
# which prove counts as a failure.
set -u
export LC_ALL=C.UTF-8

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
B=${B:-$TOP/build}
case $B in /*) ;; *) B=$TOP/$B ;; esac
T=$(mktemp -d "${TMPDIR:-/tmp}/faultline-t.XXXXXX")
export TOP B T
tests=0 failed=0 pids=()

cleanup() {
	local pid
	for pid in ${pids[@]+"${pids[@]}"}; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	rm -rf "$T"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# ok STATUS NAME: passes when STATUS is 0. Returns STATUS.
ok() {
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tests - $2"
	else
		failed=$((failed + 1))
		echo "not ok $tests - $2"
	fi
	return "$1"
}

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# is GOT WANTED NAME: passes when the two are equal.
is() {
	local r=0
	[ "$1" = "$2" ] || r=1
	ok $r "$3" || diag "got:    $1"$'\n'"wanted: $2"
	return $r
}

# like TEXT REGEX NAME: passes when an extended regular expression matches.
like() {
	local r=0
	[[ $1 =~ $2 ]] || r=1
	ok $r "$3" || diag "got:    $1"$'\n'"wanted: /$2/"
	return $r
}

# unlike TEXT REGEX NAME: passes when it does not match.
unlike() {
	local r=0
	[[ ! $1 =~ $2 ]] || r=1
	ok $r "$3" || diag "got:      $1"$'\n'"unwanted: /$2/"
	return $r
}

# run CMD...: leaves $status, $out and $err behind; never fails by itself.
# shellcheck disable=SC2034 # out and err are for the test
run() {
	status=0
	"$@" >"$T/.out" 2>"$T/.err" || status=$?
	out=$(cat "$T/.out") err=$(cat "$T/.err")
}

# background OUTFILE CMD...: starts CMD, its stdout to OUTFILE; $! is its pid.
background() {
	local to=$1
	shift
	"$@" >"$to" &
	pids+=($!)
}

# stop PID: ends one background process and waits for it.
stop() {
	kill "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# wait_for [-t SECONDS] CMD...: until CMD succeeds; 1 past the deadline (30 s).
wait_for() {
	local end=$((SECONDS + 30))
	if [ "$1" = -t ]; then
		end=$((SECONDS + $2))
		shift 2
	fi
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

done_testing() {
	echo "1..$tests"
	[ "$failed" -eq 0 ]
	exit
}

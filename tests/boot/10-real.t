#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Real kernels: the demo tree is mirrored, built and booted under the exact
# clock. Kills in a build and in a boot, a kernel that does not build, one
# that panics, two perturbed boots that agree, and an empty function call
# that shows as the two instructions that it is.
# shellcheck source=tests/t/lib.sh disable=SC2317 # called by wait_for
. "${0%/*}/../t/lib.sh"
export FAULTLINE_CACHE=${FAULTLINE_CACHE:-$HOME/.cache/faultline}

command -v qemu-system-x86_64 >/dev/null || skip_all 'no qemu-system-x86_64'
compgen -G '/usr/src/linux-source-6.12*.tar.xz' >/dev/null ||
	skip_all 'no linux-source-6.12'

faultline() {
	"$B/faultline" -C "$T/ws" "$@"
}

# sql QUERY: one value or row from the database.
sql() {
	sqlite3 "$T/ws/results.db" "$1"
}

# busy PATTERN: some process has both PATTERN and this test's folder in its
# command line.
busy() {
	local cmdline
	# One grep for all: a boot takes seconds, and must not be missed.
	while read -r cmdline; do
		tr '\0' ' ' 2>/dev/null <"$cmdline" | grep -q "$1" && return 0
	done 2>/dev/null < <(grep -laF -- "$T" /proc/[0-9]*/cmdline)
	return 1
}

idle() {
	! busy .
}

# kill_when CONDITION… -- VERB…: starts faultline, kills it by SIGKILL when
# the condition holds, and waits until its children are gone.
kill_when() {
	local cond=() pid hit=1
	while [ "$1" != -- ]; do
		cond+=("$1")
		shift
	done
	shift
	"$B/faultline" -q -C "$T/ws" "$@" >/dev/null 2>&1 &
	pid=$!
	reached_or_over() {
		"${cond[@]}" && hit=0 && return
		! kill -0 "$pid" 2>/dev/null
	}
	wait_for -t 900 reached_or_over
	ok $hit "the point to kill at is reached: ${cond[*]}"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	wait_for -t 20 idle
	ok $? 'no make, compiler or qemu survives the kill'
}

building() {
	[ -e "$T/ws/var/build/0/out/mm/memory.o" ]
}

booting() {
	local events
	busy qemu-system || return 1
	for events in "$T"/ws/var/work/*/out/events.jsonl; do
		[ -s "$events" ] && return 0
	done
	return 1
}

# commit_of KIND: from what make-demo-tree printed.
commit_of() {
	awk -v kind="$1" '$1 == kind { print $2; exit }' "$T/tree.txt"
}

# A commit on top of v6.12.117's parent line whose fault path calls an empty
# function; $1 is its base. Prints its id.
empty_call_commit() {
	local git="git -C $T/remote.git" blob tree
	$git show "$1:mm/memory.c" | awk '
		/^static vm_fault_t handle_pte_fault\(struct vm_fault \*vmf\)$/ {
			print "static noinline void faultline_empty_call(void)"
			print "{\n\tasm volatile(\"\");\n}\n"
			inside = 1
		}
		inside && /^\tif \(unlikely\(pmd_none\(\*vmf->pmd\)\)\) \{$/ {
			print "\tfaultline_empty_call();"
			inside = 0
		}
		{ print }' >"$T/memory.c"
	blob=$($git hash-object -w "$T/memory.c")
	export GIT_INDEX_FILE=$T/index
	$git read-tree "$1"
	$git update-index --cacheinfo "100644,$blob,mm/memory.c"
	tree=$($git write-tree)
	unset GIT_INDEX_FILE
	GIT_AUTHOR_NAME=Test GIT_AUTHOR_EMAIL=test@demo.example \
	GIT_COMMITTER_NAME=Test GIT_COMMITTER_EMAIL=test@demo.example \
		$git commit-tree -p "$1" -m 'mm: call an empty function' "$tree"
}

"$B/make-demo-tree" "$T/remote.git" >"$T/tree.txt" 2>/dev/null
ok $? 'the demo tree is made'
head=$(git -C "$T/remote.git" rev-parse v6.13-rc1)
base=$(git -C "$T/remote.git" merge-base "$head" "$(git -C "$T/remote.git" tag --list 'v6.12.*')")
empty=$(empty_call_commit "$base")
git -C "$T/remote.git" update-ref refs/heads/empty-call "$empty"
faultline init >/dev/null
cat >"$T/ws/faultline.conf" <<EOF
[tree "linux"]
	url = file://$T/remote.git
[host "exact"]
	driver = qemu
	clock = exact
EOF
faultline -q fetch >/dev/null
ok $? 'the tree is mirrored'

# ---- an undisturbed end after two kills ----------------------------------
kill_when building -- run "$base" --job smoke --boots 2
is "$(sql "SELECT count(*) FROM sample")" 0 'no sample yet'
kill_when booting -- run "$base" --job smoke --boots 2
is "$(sql "SELECT count(*) FROM kernel WHERE status = 'built'")" 1 \
	'the kernel that was built before the kill is kept'
run faultline -q run "$base" --job smoke --boots 2
is "$status" 0 'the same command goes on' || diag "$err"
is "$(sql "SELECT count(*), count(DISTINCT boot_no) FROM run WHERE status = 'done'")" \
	'2|2' 'each boot counts once'
is "$(sql "SELECT count(*) FROM work WHERE state <> 'done'")" 0 \
	'no work is left behind'
is "$(sql "SELECT count(*) FROM (SELECT max(value) / min(value) - 1 AS d
	FROM v_sample WHERE kpi = 'instructions_per_op' GROUP BY \"case\")
	WHERE d > 0.0005")" 0 'perturbed boots agree within 0.05 %' ||
	diag "$(sql 'SELECT "case", boot_no, value FROM v_sample')"

# ---- two instructions ------------------------------------------------------
run faultline -q compare "$base" "$empty" --job smoke --format json
is "$status" 0 'the kernel with an empty call is compared' || diag "$err"
delta=$(/usr/bin/python3 -c '
import json, sys
for r in json.load(sys.stdin)["results"]:
    if r["case"].startswith("page_fault1") and r["kpi"] == "instructions_per_op":
        print("%.2f" % (r["head_value"] - r["base_value"]))' <<<"$out")
awk -v d="$delta" 'BEGIN { exit !(d > 1.5 && d < 2.5) }'
ok $? 'an empty call is seen as about two instructions per fault'
diag "measured: $delta instructions"

# ---- outcomes of kernels ---------------------------------------------------
run faultline -q build "$(commit_of breaks)"
is "$status" 1 'a kernel that does not build is an outcome'
like "$err" 'does not build: .*error' 'the first error line is given'
run faultline -q run "$(commit_of panics)" --job smoke
is "$status" 1 'a kernel that panics is an outcome'
like "$err" 'panic' 'it is called a panic'
like "$(sql "SELECT reason FROM run WHERE status = 'panic'")" '[a-z]' \
	'with the text of the panic'
is "$(sql "SELECT count(*) FROM work WHERE state = 'failed'")" 0 \
	'neither is a failure of the harness'

# ---- a change that matters ---------------------------------------------------
bad=$(commit_of regression)
run faultline -q compare "$bad^" "$bad" --job smoke
is "$status" 0 'a planted commit is compared with its parent' || diag "$err"
like "$out" 'page_fault4[^
]* worse' 'page_fault4 got worse'
like "$out" 'page_fault1[^
]* same' 'page_fault1 stayed the same'

done_testing

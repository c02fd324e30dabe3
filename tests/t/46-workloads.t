#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Workloads end to end, as far as no kernel is needed: what the schema offers
# is what the agent can do and what the manual explains; shipped jobs load;
# cases of threads are judged by what threads do; jobs that contradict
# themselves are refused with a reason.
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
# shellcheck source=tests/t/fixture.sh
. "$TOP/tests/t/fixture.sh"

# The programs of the schema of jobs, and the KPIs of our own programs.
# shellcheck disable=SC2016 # python's own
programs() {
	/usr/bin/python3 -c 'import json, sys
for word in json.load(open(sys.argv[1]))["$defs"]["program"]["enum"]:
    print(word)' "$TOP/schema/job.schema.json"
}

kpis() {
	sed -n '/kpis\[\] = {/,/^};/s/^\t{ "\([a-z_]*\)".*/\1/p' "$TOP/daemon/job.c"
}

sql() {
	sqlite3 "$T/ws/results.db" "$1"
}

# --- one list, said four times
is "$(grep -h '^	\.name = ' "$TOP"/jobs/pagefault/*.c | cut -d'"' -f2 | sort)" \
	"$(programs | sort)" 'the agent has the programs of the schema'
manual=$(mandoc -T ascii "$TOP/docs/faultline-job.5" | col -b | tr -s '\n\t ' ' ')
missing=
for word in $(programs) $(kpis); do
	[[ $manual =~ [^a-z_]${word}[^a-z_0-9] ]] || missing+=" $word"
done
[ "$(kpis | wc -l)" -ge 9 ]
ok $? 'the list of KPIs is read'
is "$missing" '' 'the manual has each program and each KPI'

# --- threads under the wall clock: per_thread_ops is what is compared
make_small "$T/git"
make_workspace "$T/ws" "$T/git" wall 0.001
mkdir "$T/ws/jobs"
cat >"$T/ws/jobs/mixed.json" <<'EOF'
{
	"cases": [
		{
			"program": "page_fault4",
			"mode": ["process", "thread"],
			"nr_task": [1, "50%"],
			"fs": "xfs",
			"pin": "smt"
		}
	]
}
EOF
faultline -C "$T/ws" fetch >/dev/null
run faultline -C "$T/ws" compare v6.12 v6.13-rc1 --job mixed
is "$status" 0 'compare' || diag "$err"
is "$(sql 'SELECT DISTINCT "case", kpi FROM v_sample
	WHERE kpi LIKE "per_%" ORDER BY 1, 2')" \
	'page_fault4/process/nr_task=1/xfs/pin=smt|per_process_ops
page_fault4/process/nr_task=50%/xfs/pin=smt|per_process_ops
page_fault4/thread/nr_task=1/xfs/pin=smt|per_thread_ops
page_fault4/thread/nr_task=50%/xfs/pin=smt|per_thread_ops' \
	'processes and threads have a KPI each'
is "$(sql "SELECT count(*) FROM v_comparison WHERE kpi LIKE 'per_%_ops'
	AND verdict = 'better'")" 4 'a higher rate is better for both'

# --- each shipped job loads
for job in "$TOP"/jobs/*.json; do
	run faultline -C "$T/ws" run v6.12 --job "$job"
	unlike "$err" 'json:' "${job##*/} loads"
done

# --- what contradicts itself
# refused CASE REASON
refused() {
	echo "{\"cases\": [$1]}" >"$T/ws/jobs/bad.json"
	run faultline -C "$T/ws" run v6.12 --job bad
	is "$status" 1 "refused: $1"
	like "$err" "bad\.json': cases\[0\]$2" "its reason: $1"
}
refused '{"program": "page_fault4", "cache": "dropped"}' \
	': "cache" dropped needs "fs" ext4 or xfs: tmpfs has no major faults'
refused '{"program": "page_fault1", "cache": "dropped"}' \
	": 'page_fault1' does not fault on a file"
refused '{"program": "fork", "mode": "thread"}' ": 'fork' copies"
refused '{"program": "madvise_pageout", "fs": "tmpfs"}' \
	": 'madvise_pageout' needs"
refused '{"program": "page_fault3", "fs": "ext4", "thp": "never"}' \
	': "thp" says nothing of files on ext4'
refused '{"program": "page_fault1", "nr_task": "0%"}' '.nr_task: expected'
refused '{"program": "page_fault1", "nr_task": 4097}' '.nr_task: expected'

done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A program of others on the fake host: the KPIs that its job declares are
# compared, bisected, mailed and shown like any other, and each version of the
# program is a series of its own.
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
# shellcheck source=tests/t/fixture.sh
. "$TOP/tests/t/fixture.sh"

ws=$T/ws
sql() {
	sqlite3 "$ws/results.db" "$1"
}

# The fixture's values of page_fault4 are those of the program.
eval "$(declare -f fake_kernel | sed '1s/.*/plain_kernel ()/')"
fake_kernel() {
	plain_kernel
	# shellcheck disable=SC2154
	sed -i 's,^value page_fault4/,value exec/,' "$fixture/fake-kernel"
}

make_small "$T/git"
make_workspace "$ws" "$T/git"
loss=$(git -C "$T/git" log --format=%H --grep='map less around' v6.13-rc1)
mkdir -p "$ws/jobs/bin"
printf '#!/bin/sh\necho took 5 us\n' >"$ws/jobs/bin/lat"
chmod +x "$ws/jobs/bin/lat"
cat >"$ws/jobs/lat.json" <<-'EOF'
	{
		"cases": [
			{
				"program": "exec",
				"name": "lat",
				"command": ["bin/lat", "${n}"],
				"matrix": { "n": [1, 2] },
				"kpis": [
					{
						"name": "lat_us",
						"unit": "us",
						"better": "lower",
						"pattern": "took ([0-9.]+) us"
					}
				]
			},
			{ "program": "page_fault1" }
		],
		"thresholds": [{ "kpi": "lat_us", "exact": 5 }]
	}
EOF
git config -f "$ws/faultline.conf" pair.demo.job lat

run faultline -C "$ws" nightly
is "$status" 0 "nightly" || diag "$err"
like "$out" "lat_us \(lower is better\).*exec/lat/n=1/tmpfs .*\+50\.0%  worse" \
	"the table has its KPI"
unlike "$out" "page_fault1" "and not what stayed"
like "$out" "${loss:0:12} \(\"mm: map less around\"\)" "the commit is named"
like "$err" "the times that programs of others print are guest time" \
	"the exact clock is explained"
is "$(sql "SELECT q.name || '/' || q.unit || '/' || q.better FROM bisection b
	JOIN kpi q ON q.id = b.kpi_id WHERE b.status = 'found'")" \
	"lat_us/us/-1" "one bisection, of its KPI"
like "$(sql 'SELECT subject FROM report')" "lat_us \+50\.0%" \
	"one mail, which names the KPI"
run "$TOP/tests/t/figures.py" "$ws"
is "$out$err" "" "every figure of it is a row"
is "$(sql "SELECT count(DISTINCT s.case_id) FROM sample s
	JOIN \"case\" c ON c.id = s.case_id JOIN kpi q ON q.id = s.kpi_id
	WHERE c.name LIKE 'exec/%' AND q.name <> 'lat_us'")" 0 \
	"the program has no other KPI"

run faultline -C "$ws" trend --kpi lat_us
like "$out" "exec/lat/n=1/tmpfs" "trend knows the KPI"
run faultline -C "$ws" noise --kpi lat_us
is "$status" 0 "noise knows the KPI" || diag "$err"
run faultline -q -C "$ws" bisect v6.12 v6.13-rc1 --job lat --kpi lat_us
like "$out" "${loss:0:12}" "bisect takes the KPI" || diag "$err"
run faultline -C "$ws" bisect v6.12 v6.13-rc1 --job smoke --kpi lat_us
is "$status" 2 "but not for a job without it"
like "$err" "there is no KPI 'lat_us'" "and says so"

# --- another version of the program
before=$(sql 'SELECT count(*) FROM run')
run faultline -q -C "$ws" run v6.12 --job lat
is "$(sql 'SELECT count(*) FROM run')" "$before" "what is known is not run again"
echo '# better' >>"$ws/jobs/bin/lat"
run faultline -q -C "$ws" run v6.12 --job lat
is "$status" 0 "a new version runs" || diag "$err"
is "$(sql "SELECT count(*) FROM \"case\" WHERE name = 'exec/lat/n=1/tmpfs'")" \
	2 "as a series of its own"

run faultline -C "$ws" trend --kpi lat_us --case '*/n=1/*' --json
is "$(grep -o '"case_id": [0-9]*' <<<"$out" | sort -u | wc -l)" 2 \
	"trend keeps the two apart"
run faultline -C "$ws" trend --kpi lat_us --case '*/n=1/*'
is "$(grep -c 'exec/lat/n=1/tmpfs' <<<"$out")" 2 "under a heading each"

# --- one name, two meanings
sed -i 's/"lower"/"higher"/' "$ws/jobs/lat.json"
run faultline -q -C "$ws" run v6.12 --job lat
is "$status" 1 "another direction under the same name is refused"
like "$err" "KPI 'lat_us' is known with another unit or direction" \
	"with the reason"
done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# import-lkp: the job, the report, the object of --json, files that are there
# already, and files that are no jobs.
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
# shellcheck source=tests/t/fixture.sh
. "$TOP/tests/t/fixture.sh"
cd "$T" || exit 1

# json EXPRESSION: of the output as d.
json() {
	printf '%s' "$out" >"$T/json"
	/usr/bin/python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$T/json" "$1" 2>&1
}

cat >faults.yaml <<'EOF'
suite: will-it-scale
testcase: will-it-scale
category: benchmark

perf-profile:
  delay: 1

nr_task:
  - 1
  - 2

mode: process
runtime: 35s
fs:
  - tmpfs
  - xfs
disk: 1HDD
need_kconfig:
  - PERF_EVENTS: m

will-it-scale:
  test:
    - page_fault2
    - read1
    - read2

---
will-it-scale:
  test: page_fault1
EOF

# --- the job
run faultline import-lkp faults.yaml
is "$status" 0 "a job is imported"
is "$(json 'd["cases"]')" "[{'program': 'page_fault2', 'mode': 'process', \
'nr_task': [1, 2], 'fs': ['tmpfs', 'xfs'], 'warmup': 6, 'samples': 30}, \
{'program': 'page_fault1', 'mode': 'process', 'nr_task': [1, 2], \
'warmup': 6, 'samples': 30}]" "its cases are matrices"
is "$(json '" ".join(d["kconfig"])')" \
	"CONFIG_PERF_EVENTS=y CONFIG_SHMEM=y CONFIG_TMPFS=y \
CONFIG_BLK_DEV_RAM=y CONFIG_XFS_FS=y" "its kernel options"
is "$(json 'd["timeout"]')" 96 "a time limit above its silence"

# --- the report
like "$err" "line 23: will-it-scale.test = page_fault2 -> program page_fault2" \
	"report: carried over"
like "$err" "line 17: disk = 1HDD -> the file system lies on a RAM disk" \
	"report: changed"
like "$err" "lines 24 to 25: will-it-scale.test = read1, read2" \
	"report: left out, in one line"
like "$err" "a monitor: .*line 5: perf-profile = " "report: with the reason"
unlike "$err" "no case works on a disk" "report: once is enough"
like "$err" "warning: 'faults.yaml': [0-9]+ values were left out" \
	"report: how many"
is "$(printf '%s\n' "$err" | awk 'length > 80')" "" "report: in 80 columns"
run faultline -q import-lkp faults.yaml
like "$err" "^faultline: warning: 'faults.yaml': [0-9]+ values were left out$" \
	"-q: a warning remains"

# --- --json
run faultline import-lkp --json faults.yaml
is "$status:$err" 0: "--json: no report beside it"
is "$(json 'sorted(d)')" "['carried', 'changed', 'job', 'left_out']" \
	"--json: the four parts"
is "$(json '[e["line"] for e in d["left_out"] if e["value"] == "read1"]')" \
	"[24]" "--json: the line"
is "$(json '[e["why"] for e in d["left_out"] if e["key"] == "suite"]')" \
	"['a name: a job of Faultline is called after its file']" \
	"--json: the reason"

# --- --output
run faultline import-lkp faults.yaml --output new.json
is "$status:$out" 0: "--output: nothing on standard output"
like "$err" "written 'new.json'" "--output: says so"
is "$(/usr/bin/python3 -c 'import json
print(len(json.load(open("new.json"))["cases"]))')" 2 "--output: the job"
echo mine >new.json
run faultline import-lkp faults.yaml --output new.json
is "$status:$(cat new.json)" 1:mine "--output: replaces no file"
like "$err" "'new.json' is there already; --force replaces it" \
	"--output: says how it would"
run faultline import-lkp faults.yaml --output new.json --force
is "$status:$(grep -c page_fault2 new.json)" 0:1 "--force does"
like "$err" "replaced 'new.json'" "--force: says so"
run faultline import-lkp faults.yaml --output no/dir/new.json
is "$status" 1 "--output: a folder that is not there"
like "$err" "no/dir/new.json" "--output: is named"

# --- and a workspace measures it
make_small "$T/git"
make_workspace "$T/ws" "$T/git"
mkdir -p "$T/ws/jobs"
cp new.json "$T/ws/jobs/faults.json"
faultline -q -C "$T/ws" fetch >/dev/null
run faultline -q -C "$T/ws" run v6.12 --job faults --json
is "$status:$err" 0: "a workspace measures the imported job"
is "$(json 'len(set(row["case"] for row in d))')" 6 "all of its cases"

# --- nothing remains
printf 'suite: fsmark\nfsmark:\n  iterations: 1x\n' >none.yaml
run faultline import-lkp none.yaml --output none.json
is "$status:$out" 1: "no case remains: no job"
like "$err" "line 2: fsmark = " "no case remains: what there was is listed"
like "$err" "error: 'none.yaml': none of its cases can be carried over" \
	"no case remains: said"
ok "$([ ! -e none.json ]; echo $?)" "no case remains: no file"
run faultline import-lkp --json none.yaml
is "$status:$(json 'd["job"]')" 1:None "no case remains: --json"

# --- no jobs: one line that names the file
# refused NAME FILE REGEX
refused() {
	run timeout 20 faultline import-lkp "$2"
	is "$status:$out:$(printf '%s\n' "$err" | wc -l)" "1::1" "$1: one line"
	like "$err" "^faultline: error: '?.*$2'?:? ?$3" "$1: named"
}
printf 'a: 1\nb:\n\tc: 1\n' >tabs.yaml
refused "tabs" tabs.yaml "line 3: .*blanks, not tabs"
printf 'a: 1\nb: <%%= 1 %%>\n' >erb.yaml
refused "a template" erb.yaml "line 2: an ERB template"
head -c 100000 /bin/ls >binary.yaml
refused "a program" binary.yaml "line 1: no text"
truncate -s 100M huge.yaml
refused "100 MB" huge.yaml "is larger than 1048576 bytes"
printf '\033]0;x\007: 1\n' >escape.yaml
refused "a terminal's controls" escape.yaml "line 1: no text: .*0x1b"
refused "a file that is not there" none.such "No such file"
printf '"\\e[31m": "\\e[0m"\n' >escaped.yaml
run faultline import-lkp escaped.yaml
unlike "$err" $'\033' "escapes are not shown to the terminal"

run faultline import-lkp
is "$status" 2 "no file: usage"
done_testing

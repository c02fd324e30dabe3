#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Whatever is wrong, there is one line that says what, where, and what was
# expected; the exit status is 1 or 2; and the database is as it was.
# shellcheck disable=SC2317 # a function is called through wait_for
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
# shellcheck source=tests/t/fixture.sh
. "$TOP/tests/t/fixture.sh"

make_small "$T/git"
make_workspace "$T/ws" "$T/git"
git config -f "$T/ws/faultline.conf" pair.demo.job smoke
cp -r "$T/ws" "$T/new" # before anything was measured
run faultline -q -C "$T/ws" nightly
is "$status" 0 "a night to start from" || diag "$err"
ws=$T/x

# What must not change: all that was measured, found and written.
rows() {
	sqlite3 "$1/results.db" <"$TOP/tests/t/dump.sql" |
		grep -v -e '^request ' -e '^work ' -e '^tree ' -e '^host '
}
rows "$T/ws" >"$T/rows"

# fresh: $ws is a copy of that workspace.
fresh() {
	rm -rf "$ws"
	cp -r "$T/ws" "$ws"
}

# bad STATUS REGEX NAME CMD...: CMD ends so, with one line on stderr, beside
# warnings (what is tried again) and progress.
bad() {
	run "${@:4}"
	is "$status:$out" "$1:" "$3: status $1, no output" || diag "$err"
	is "$(printf '%s\n' "$err" | grep -vc -e '^faultline: warning: ' \
		-e '^\[.*left\]')" 1 \
		"$3: one line" || diag "$err"
	like "$err" "$2" "$3: says what is wrong"
}

# kept NAME: the rows are there as they were; others may have come.
kept() {
	is "$(rows "$ws" | diff "$T/rows" - | grep '^<')" "" \
		"$1: nothing is lost"
}

# --- faultline.conf
conf() {
	fresh
	printf '%b' "$1" >>"$ws/faultline.conf"
	bad 1 "error: .*'?$ws/faultline.conf'?.*$2" "conf, $3" \
		faultline -C "$ws" "${4:-pairs}"
}
conf '[tree "linux"]\n\tcolour = red\n' "unknown key 'tree\.linux\.colour'" \
	"an unknown key"
conf '[colour]\n\tred = 1\n' "unknown key 'colour\.red'" "an unknown section"
conf '[run]\n\tslots = many\n' \
	"run\.slots = 'many': expected a whole number from 1 to 256" "a word"
conf '[run]\n\tslots = 0\n' "run\.slots = '0': expected a whole" "a zero"
conf '[threshold]\n\texact = -1%\n' \
	"threshold\.exact = '-1%': expected a percentage such as" "a negative"
conf '[bisect]\n\tconfidence = 7\n' \
	"bisect\.confidence = '7': expected a number from 0\.5 to 1" "too large"
conf '[host "fake"]\n\tclock = sundial\n' \
	"host\.fake\.clock = 'sundial': expected exact or wall" "a strange clock"
conf '[host "fake"]\n\tdriver = abacus\n' \
	"host\.fake\.driver = 'abacus': expected qemu or fake" "a strange driver"
conf '[host "fake"]\n\tfake-noise = loud\n' \
	"host\.fake\.fake-noise = 'loud': expected a number" "a driver's key"
conf '[host "q"]\n\tfake-noise = 1\n' \
	"host\.q\.fake-noise is for driver = fake" "a key of another driver"
conf '[build]\n\tfragment = none.config\n' \
	"build\.fragment = 'none\.config': no such file" "a missing fragment"
conf '[mail]\n\tstarttls = perhaps\n' \
	"mail\.starttls = 'perhaps': expected true or false" "not a boolean"
conf '[mail]\n\tsmtp = gopher://x\n' \
	"mail\.smtp = 'gopher://x': expected smtp://" "not a mail server"
conf '[mail]\n\tcc = nobody\n' \
	"mail\.cc = 'nobody': expected an address such as" "not an address"
conf '[tree "linux"\n' "missing '\]'.*:16" "a syntax error, with its line"
conf '[pair "demo"]\n\ttree = bsd\n' \
	"there is no tree 'bsd'.* has 'linux'|has 'linux'" "a pair's tree"
conf '[pair "demo"]\n\thost = nowhere\n' "has 'fake'" "a pair's host" nightly
like "$err" "there is no host 'nowhere'" "conf, a pair's host: which"
conf '[pair "two"]\n\tbase = v6.12\n\thead = v6.12.1\n' \
	"has 'demo', 'two'" "no pair was named" nightly
like "$err" "which pair\?" "conf, no pair was named: asks which"
kept conf

# --- jobs
job() {
	mkdir -p "$ws/jobs"
	printf '%b' "$1" >"$ws/jobs/my.json"
	bad 1 "error: '$ws/jobs/my\.json'$2" "job, $3" \
		faultline -C "$ws" compare v6.12 v6.12.1 --job my
}
fresh
one='{"cases": [{"program": "page_fault1"}]'
job "$one, \"colour\": 1}" ": colour: unknown key" "an unknown key"
job '{"cases": [{"program": "page_fault1", "colour": 1}]}' \
	": cases\[0\]\.colour: unknown key" "an unknown key below"
job "$one,\n\"timeout\": }" " line 2: " "a syntax error"
job "$one, \"timeout\": \"long\"}" ": timeout: expected a whole number" \
	"a word for a number"
job '{"cases": [{"program": "page_fault9"}]}' \
	": cases\[0\]\.program: expected a program" "an unknown program"
job '{"cases": []}' ": cases: expected an array of cases" "no cases"
job "$one, \"control\": \"x\"}" ": control: expected the name of a case" \
	"an unknown control"
job "$one, \"thresholds\": [{\"kpi\": \"speed\", \"exact\": 1}]}" \
	": thresholds\[0\]: unknown KPI 'speed'" "an unknown KPI"
job '' " line [0-9]+: " "an empty file"
rm -r "$ws/jobs"
bad 1 "no job 'nothing'; there is: .*pagefault.*, smoke" "job, an unknown name" \
	faultline -C "$ws" compare v6.12 v6.12.1 --job nothing
kept job

# --- revisions and histories
bad 1 "linux\.git' has no revision 'v9\.9'" "a ref that does not exist" \
	faultline -C "$ws" compare v6.12 v9.9 --job smoke
bad 1 "linux\.git' has no revision 'v9\.9'" "and for bisect" \
	faultline -C "$ws" bisect v6.12 v9.9 --job smoke
bad 1 "'v6\.12' comes before 'v6\.13-rc1'; name the older one first" \
	"good and bad swapped" \
	faultline -C "$ws" bisect v6.13-rc1 v6.12 --job smoke
bad 1 "'v6\.12' and 'v6\.12\^0' are the same commit" "good is bad" \
	faultline -C "$ws" bisect v6.12 v6.12^0 --job smoke
bad 1 "job 'smoke' has no case 'none'; one of its 2 cases is 'page_fault1/" \
	"a case that the job lacks" \
	faultline -C "$ws" bisect v6.12 v6.13-rc1 --job smoke --case none
bad 2 "there is no KPI 'speed'" "a KPI that there is not" \
	faultline -C "$ws" bisect v6.12 v6.13-rc1 --job smoke --kpi speed
run faultline -q -C "$ws" bisect v6.12 v6.13-rc1 --job smoke \
	--kpi minor_faults_per_op
is "$status:$out" "0:Of what was asked for, nothing moved between the two; \
there is nothing to bisect." "a KPI that did not move"
kept "bisect"
run faultline -q -C "$ws" bisect v6.12.1 v6.13-rc1 --job smoke
like "$out" "Verdict: found: .* explains 100 % of the change" \
	"bisect goes from one branch to the other"

git init -q "$T/bare-of-tags"
git -C "$T/bare-of-tags" commit -q --allow-empty -m one
rm -rf "$ws"
cp -r "$T/new" "$ws"
git config -f "$ws/faultline.conf" tree.linux.url "file://$T/bare-of-tags"
bad 1 "pair 'demo': no tag of '$ws/var/trees/linux.git' matches 'v6\.\*'" \
	"a tree without tags" faultline -q -C "$ws" nightly
run faultline -C "$ws" pairs --json
like "$out" "\"trouble\": \"pair 'demo': no tag of" "pairs shows it too"

cp -r "$T/git" "$T/strange"
git -C "$T/strange" checkout -q --orphan strange
git -C "$T/strange" commit -q -m strange
git -C "$T/strange" tag v6.13-rc2
fresh
git config -f "$ws/faultline.conf" tree.linux.url "file://$T/strange"
bad 1 "pair 'demo': .* have no common history" "unrelated histories" \
	faultline -q -C "$ws" nightly
bad 1 "have no common history" "and for bisect" \
	faultline -q -C "$ws" bisect v6.12 v6.13-rc2 --job smoke
kept "unrelated histories"

# --- kernels that do not build
make_small "$T/fail.git" fail
make_workspace "$T/fail" "$T/fail.git"
git config -f "$T/fail/faultline.conf" pair.demo.job smoke
run faultline -q -C "$T/fail" nightly
is "$status:$err" 0: "a head that does not build is an outcome"
like "$out" "not compared: v6\.13-rc1 does not build: fake-kernel: error" \
	"nightly says so"
bad 1 "v6\.13-rc1 does not build: fake-kernel: error: told to fail" \
	"compare with it" \
	faultline -q -C "$T/fail" compare v6.12 v6.13-rc1 --job smoke
bad 1 "v6\.13-rc1 does not build: fake-kernel: error: told to fail" \
	"bisect to it" \
	faultline -q -C "$T/fail" bisect v6.12 v6.13-rc1 --job smoke
bad 1 "v6\.13-rc1 does not build: fake-kernel: error: told to fail" \
	"run it" faultline -q -C "$T/fail" run v6.13-rc1 --job smoke

fixture=$T/fail.git
git -C "$fixture" checkout -q master
build=fail boot=ok pf4=1200 pf3=2000 note=0
for n in 1 2 3 4 5; do
	change "mm: broken, $n" "$n"
done
build=ok pf4=2400
change 'Linux 6.13-rc2' last
git -C "$fixture" tag v6.13-rc2
git -C "$fixture" tag v6.13-rc0 v6.13-rc1~1
run faultline -q -C "$T/fail" fetch
run faultline -q -C "$T/fail" bisect v6.13-rc0 v6.13-rc2 --job smoke
is "$status:$err" 0: "a range in which no commit builds"
like "$out" "Verdict: shortlist: one of 7 commits .*: .*; of[[:space:]]those between \
the end points 6 do not build or boot" "ends in a short list of all of them"

# --- results.db
database() {
	before=$(sha256sum <"$ws/results.db")
	bad 1 "'$ws/results\.db' $1" "$2" faultline -C "$ws" nightly
	is "$(sha256sum <"$ws/results.db")" "$before" "$2: left alone"
}
fresh
sqlite3 "$ws/results.db" 'PRAGMA user_version = 999' >/dev/null
database "has version 999 and .* up to [0-9]+; use a newer" "a newer database"
fresh
rm "$ws"/results.db*
echo "this is my diary" >"$ws/results.db"
database "is not a database of Faultline .*move it away" "a text file"
rm "$ws"/results.db*
sqlite3 "$ws/results.db" 'CREATE TABLE diary (line)'
database "is a database of another program; move it away" \
	"another program's database"
rm "$ws"/results.db*
bad 1 "no database '$ws/results\.db'; run 'faultline init' first" \
	"no database" faultline -C "$ws" nightly
bad 1 "no '$T/git/faultline.conf'; run 'faultline init' there" \
	"no workspace" faultline -C "$T/git" nightly
bad 1 "cannot open workspace '$T/nowhere': No such file" \
	"no such folder" faultline -C "$T/nowhere" nightly

# --- remotes
fresh
git config -f "$ws/faultline.conf" tree.linux.url "file://$T/nowhere"
bad 1 "error: fetch failed: cannot read remote 'file://$T/nowhere': no such \
folder" "an unreadable remote" faultline -q -C "$ws" nightly
run faultline -C "$ws" trees --json
like "$out" "\"fetch_error\": \"cannot read remote" "trees shows it too"
kept "an unreadable remote"
git config -f "$ws/faultline.conf" --unset tree.linux.url
git config -f "$ws/faultline.conf" tree.linux.path "$T/nowhere"
bad 1 "tree 'linux' has no repository at its path '$T/nowhere'" \
	"a clone that is not there" faultline -C "$ws" nightly

# --- the command line
fresh
bad 2 "there is no verb 'frob'; 'faultline help' lists them" "a strange verb" \
	faultline frob
bad 2 "there is no option '--frob'; 'faultline help'" "a strange option" \
	faultline --frob
bad 2 "option '-C' needs a folder" "-C without a folder" faultline -C
bad 2 "'nightly' has no option '--frob'" "a strange option of a verb" \
	faultline nightly --frob
bad 2 "usage: faultline compare BASE HEAD --job J" "a missing argument" \
	faultline -C "$ws" compare v6.12
bad 2 "usage: faultline nightly \[PAIR\]" "an argument too many" \
	faultline -C "$ws" nightly demo demo
bad 2 "usage: compare needs --job" "a missing option" \
	faultline -C "$ws" compare v6.12 v6.12.1
bad 2 "--job needs a value" "a missing value" \
	faultline -C "$ws" compare v6.12 v6.12.1 --job
bad 2 "--boots 'x': expected a whole number from 1" "a word for a number" \
	faultline -C "$ws" run v6.12 --job smoke --boots x
bad 2 "--format is table, json or csv" "a strange format" \
	faultline -C "$ws" compare v6.12 v6.12.1 --job smoke --format xml
bad 2 "--since 'yesterday': expected e\.g\. 12h, 90d" "a strange span" \
	faultline -C "$ws" trend --kpi instructions_per_op --since yesterday
bad 2 "there is no KPI 'speed'" "a strange KPI" \
	faultline -C "$ws" trend --kpi speed
bad 1 "there is no host 'nowhere'; .* has 'fake'" "a strange host" \
	faultline -C "$ws" run v6.12 --job smoke --host nowhere
bad 1 "there is no pair 'nosuch'; .* has 'demo'" "a strange pair" \
	faultline -C "$ws" nightly nosuch
bad 1 "there is no tree 'nosuch'; .* has 'linux'" "a strange tree" \
	faultline -C "$ws" fetch nosuch
bad 1 "there is no bisection 99; 'faultline bisect list'" "no such bisection" \
	faultline -C "$ws" bisect show 99
bad 1 "there is no report 99; 'faultline report list'" "no such report" \
	faultline -C "$ws" report show 99
bad 1 "there is no run 99; 'faultline runs'" "no such run" \
	faultline -C "$ws" runs 99
bad 2 "'x': expected a number" "a word for an id" \
	faultline -C "$ws" report show x
bad 2 "usage: faultline report list\|show" "a strange action" \
	faultline -C "$ws" report frob
kept "the command line"

# --- a second night while one is at work
rm -rf "$ws"
cp -r "$T/new" "$ws"
git config -f "$ws/faultline.conf" host.fake.fake-delay 3
boot_runs() {
	[ "$(sqlite3 "$ws/results.db" "SELECT count(*) FROM work
		WHERE kind = 'run' AND state = 'running'")" -ge 1 ]
}
# shellcheck disable=SC2016 # for the inner shell to expand
background "$T/first" sh -c 'exec faultline -q -C "$1" nightly 2>"$2"' _ \
	"$ws" "$T/first.err"
pid=$!
wait_for boot_runs
bad 1 "another faultline \(pid $pid\) is at work in '$ws'; wait for it" \
	"a second night" faultline -C "$ws" nightly
run faultline -C "$ws" runs
is "$status" 0 "listings work meanwhile"
kill -0 "$pid"
ok $? "the first goes on"
stop "$pid"

# --- no qemu
fresh
git config -f "$ws/faultline.conf" host.real.driver qemu
mkdir "$T/bin"
bad 1 "'qemu-system-x86_64' is missing: apt install qemu-system-x86" \
	"no qemu" env PATH="$T/bin" "$B/faultline" -C "$ws" run v6.12 \
	--job smoke --host real
run env PATH="$T/bin" "$B/faultline" -C "$ws" doctor
is "$status" 1 "doctor finds that something is missing"
like "$out" "qemu-system-x86_64 .*missing +apt-get install qemu-system-x86" \
	"and how to get it"
kept "no qemu"

# --- disks
# shellcheck disable=SC2016 # for the inner shell to expand
if [ "$(id -u)" = 0 ] && unshare -m mount -t tmpfs none "$T/bin" 2>/dev/null
then
	bad 1 "cannot write '$ws/results\.db': Read-only file system" \
		"a read-only workspace" unshare -m sh -c '
		mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" &&
		exec faultline -C "$1" nightly' _ "$ws"
	mkdir "$T/disk" "$T/after"
	run unshare -m sh -c '
		mount -t tmpfs -o size=800k none "$2" &&
		cp -r "$1/." "$2" || exit 9
		faultline -q -C "$2" nightly 2>"$3/err"
		echo $? >"$3/status"
		mount -o remount,size=80m "$2" || exit 9
		faultline -q -C "$2" nightly >"$3/out2" 2>"$3/err2"
		echo $? >"$3/status2"
		cp "$2/results.db"* "$3"' _ "$T/new" "$T/disk" "$T/after"
	is "$(cat "$T/after/status")" 1 "a full disk"
	like "$(grep -v ' warning: ' "$T/after/err")" \
		"^faultline: error: [^"$'\n'"]*disk is full[^"$'\n'"]*$" \
		"a full disk: one line says so"
	is "$(cat "$T/after/status2" "$T/after/err2")" 0 \
		"a full disk: with some room the same command goes on"
	is "$(rows "$T/after" | diff "$T/rows" -)" "" \
		"a full disk: and nothing is lost"
else
	ok 0 "a full disk, a read-only workspace # SKIP needs root and mounts"
fi

done_testing

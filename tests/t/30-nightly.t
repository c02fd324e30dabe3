#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# From a commit to a mail on the fake host: both planted commits are named,
# every figure is a row, nothing is measured or mailed twice, and nothing
# leaves without approval.
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
# shellcheck source=tests/t/fixture.sh
. "$TOP/tests/t/fixture.sh"

ws=$T/ws
sql() {
	sqlite3 "$ws/results.db" "$1"
}

# hex FILE: as SQLite writes a blob.
hex() {
	od -An -vtx1 "$1" | tr -d ' \n' | tr a-f A-F
}

make_fixture "$T/git"
make_workspace "$ws" "$T/git"
loss=$(git -C "$T/git" log --format=%H --grep='map less around' v6.13-rc1)
gain=$(git -C "$T/git" log --format=%H --grep='map whole folios' v6.13-rc1)

# --- the first night
run faultline -C "$ws" nightly
is "$status" 0 "nightly" || diag "$err"
like "$out" "v6.13-rc1 against v6.12.1 on host fake" "says what it compared"
like "$out" "page_fault4/process/nr_task=1/xfs .*\+50\.0%  worse" \
	"says what got worse"
like "$out" "page_fault3/process/nr_task=1/xfs .*-50\.0%  better" \
	"says what got better"
unlike "$out" "page_fault1" "leaves out what stayed the same"
like "$out" "${loss:0:12} \(\"mm: map less around\"\)" "names the loss"
like "$out" "${gain:0:12} \(\"mm: map whole folios\"\)" "names the gain"
is "$(sql "SELECT culprit_sha FROM bisection WHERE status = 'found'" | sort)" \
	"$(printf '%s\n' "$loss" "$gain" | sort)" "one bisection found each"
is "$(sql "SELECT count(*) FROM bisection WHERE status <> 'found'")" 0 \
	"no other bisection was needed"
is "$(sql 'SELECT b.culprit_sha FROM report r JOIN bisection b
	ON b.id = r.bisection_id' | sort)" \
	"$(printf '%s\n' "$loss" "$gain" | sort)" "one mail for each"
is "$(sql 'SELECT DISTINCT state FROM report')" held "both are held"
is "$(sql 'SELECT count(*) FROM bisection WHERE abs(share - 1) > 0.001')" 0 \
	"each explains its whole change"
is "$(sql "SELECT count(*) FROM attribution WHERE explained
	AND (abs(share - 1) > 0.001 OR on_base_value IS NULL
	OR abs(on_base_value / culprit_value - 1) > 0.001)")" 0 \
	"on top of the base each does the same"
is "$(sql 'SELECT count(*) FROM attribution WHERE explained')" 4 \
	"the four cases that moved are explained"
is "$(sql "SELECT count(*) FROM bisection_commit g JOIN bisection b
	ON b.id = g.bisection_id JOIN commit_info c ON c.sha = g.sha
	WHERE c.subject LIKE 'docs:%' AND g.prior <> 0")" 0 \
	"documentation cannot be the cause"
is "$(sql "SELECT DISTINCT c.subject FROM kernel k JOIN commit_info c
	ON c.sha = k.sha WHERE c.subject LIKE 'docs:%'")" "docs: one" \
	"its parent is built in its place, unless it is a culprit's parent"
run "$TOP/tests/t/figures.py" "$ws"
is "$out$err" "" "every figure of both mails is a row"
is "$(sql "SELECT count(*) FROM work WHERE state <> 'done'")" 0 \
	"no work is left"
is "$(find "$ws/var/work" -mindepth 1)" "" "no work folder is left"
is "$(sql 'PRAGMA integrity_check; PRAGMA foreign_key_check')" ok \
	"the database is whole"

# --- the mails
for n in 1 2; do
	file=$ws/$(sql "SELECT file FROM report WHERE id = $n")
	run "$TOP/tests/t/mail-parse.py" "$file" check
	is "$status:$err" 0: "mail $n parses strictly"
	is "$("$TOP/tests/t/mail-parse.py" "$file" body)" \
		"$(sql "SELECT body FROM report WHERE id = $n")" \
		"mail $n is the row's text"
	is "$(hex "$file")" \
		"$(sql "SELECT hex(message) FROM report WHERE id = $n")" \
		"the file is the row's message"
	is "$("$TOP/tests/t/mail-parse.py" "$file" to)" \
		"Demo Author|author@demo.example" "mail $n is for the author"
	is "$("$TOP/tests/t/mail-parse.py" "$file" cc)" \
		"|team@lab.example" "mail $n has the Cc of the configuration"
done
n_loss=$(sql "SELECT r.id FROM report r JOIN bisection b
	ON b.id = r.bisection_id WHERE b.culprit_sha = '$loss'")
n_gain=$((3 - n_loss))
run faultline -C "$ws" report show "$n_loss"
like "$out" "Subject: \[REGRESSION\] .*\+50\.0%.*${loss:0:12}" \
	"the loss is a regression in the subject"
out=$(printf '%s' "$out" | tr -s '\n ' ' ') # paragraphs in one line
like "$out" "regression: from v6.12.1 to v6.13-rc1" "and in words"
like "$out" "commit: $loss \(\"mm: map less around\"\)" "with the full id"
like "$out" "rose by 50.0 % in 3 cases" "and how much"
like "$out" "Fixes: ${loss:0:12} \(\"mm: map less around\"\)" "and the tag"
run faultline -C "$ws" report show "$n_gain"
out=$(printf '%s' "$out" | tr -s '\n ' ' ')
unlike "$out" "REGRESSION" "the gain is no regression"
like "$out" "good news" "it is good news"
like "$out" "fell by 50.0 % \(lower is better\)" "and how much"
unlike "$out" "Fixes:" "there is nothing to fix"

# --- what the listings say
b_loss=$(sql "SELECT id FROM bisection WHERE culprit_sha = '$loss'")
run faultline -C "$ws" bisect show "$b_loss"
like "$out" "=> ${loss:0:12}  [0-9.]+( \([0-9]+\))? +1\.000 +mm: map less around" \
	"bisect show marks the commit"
like "$out" "docs: two and a half" "bisect show draws the side branch"
like "$out" "Verdict: found: ${loss:0:12}.* explains 100 % of the change" \
	"bisect show gives the verdict"
run faultline -C "$ws" trend --kpi instructions_per_op \
	--case 'page_fault4/*/xfs'
like "$out" "v6.12.1 .*v6.13-rc1 +1[12][0-9][0-9]" "trend shows both ends"
unlike "$out" "page_fault3|tmpfs" "trend shows the case that was asked for"
run faultline -C "$ws" trend --kpi instructions_per_op --case nothing
is "$status:$out" "0:Nothing was measured that fits." "an empty trend says so"

json() {
	run faultline -C "$ws" "$@" --json
	printf '%s' "$out" >"$T/json"
	run /usr/bin/python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(0 if d else "empty")' "$T/json"
	is "$status:$err" 0: "json: $*"
}
json trees
json pairs
json hosts
json kernels
json runs
json runs 1
json bisect list
json bisect show 1
json report list
json report show 1
json compare v6.12.1 v6.13-rc1 --job pagefault
json trend --kpi instructions_per_op
json doctor
run faultline -C "$ws" compare v6.12.1 v6.13-rc1 --job pagefault --format csv
is "$(printf '%s\n' "$out" | awk -F, 'NF != 14' | wc -l)" 0 \
	"csv: fourteen columns in every line"

# --- nothing twice
runs=$(sql 'SELECT count(*) FROM run') kernels=$(sql 'SELECT count(*) FROM kernel')
ids=$(sql 'SELECT message_id FROM report ORDER BY 1')
json nightly
is "$(sql 'SELECT count(*) FROM run')" "$runs" "a second night boots nothing"
is "$(sql 'SELECT count(*) FROM kernel')" "$kernels" "and builds nothing"
is "$(sql 'SELECT message_id FROM report ORDER BY 1')" "$ids" \
	"and writes no mail"
file=$ws/$(sql 'SELECT file FROM report WHERE id = 1')
rm "$file"
run faultline -C "$ws" nightly
is "$(hex "$file")" "$(sql 'SELECT hex(message) FROM report WHERE id = 1')" \
	"a lost copy is written again"

# --- the next -rc has both commits too
fixture=$T/git
# shellcheck disable=SC2034 # for fake_kernel
build=ok boot=ok pf4=1200 pf3=1000 note=
change 'Linux 6.13-rc2' 10
git -C "$T/git" tag v6.13-rc2
run faultline -C "$ws" nightly
is "$status" 0 "a night with a newer head" || diag "$err"
like "$out" "v6.13-rc2 against v6.12.1" "compares it"
like "$out" "${loss:0:12} .*mail $n_loss \(held\).*|mail $n_loss \(held\)" \
	"names the commit and the mail that tells of it"
is "$(sql "SELECT count(*) FROM bisection WHERE culprit_sha = '$loss'")" 2 \
	"it was found again"
is "$(sql 'SELECT message_id FROM report ORDER BY 1')" "$ids" \
	"but no second mail is written"

# --- approval, without a server
run faultline -C "$ws" report send "$n_gain"
is "$status" 1 "a held report is not sent"
like "$err" "report $n_gain is held.*report approve $n_gain" "and it says why"
run faultline -C "$ws" report reject "$n_gain" --why "known, and wanted"
is "$status" 0 "reject"
is "$(sql "SELECT state, reason FROM report WHERE id = $n_gain")" \
	"rejected|known, and wanted" "with the reason kept"
run faultline -C "$ws" report approve "$n_gain"
is "$status" 1 "a rejected report cannot be approved"
like "$err" "report $n_gain is rejected, not held" "and it says so"
run faultline -C "$ws" report send "$n_gain"
is "$status" 1 "nor sent"

# --- over SMTP
start_smtp() {
	background "$T/port" "$TOP/tests/t/smtp.py" "$@"
	server=$!
	wait_for test -s "$T/port" || echo "Bail out! no SMTP server"
	git config -f "$ws/faultline.conf" mail.smtp \
		"smtp://127.0.0.1:$(cat "$T/port")"
}
if /usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null; then
	start_smtp "$T/busy" --tempfail
	run faultline -C "$ws" report send "$n_loss"
	is "$status" 1 "with a server too, a held report is not sent"
	run faultline -C "$ws" report approve "$n_loss"
	is "$status" 0 "approve"
	run faultline -C "$ws" report send "$n_loss"
	is "$status" 1 "a busy server"
	is "$(sql "SELECT state FROM report WHERE id = $n_loss")" approved \
		"leaves the report approved"
	stop "$server"
	: >"$T/port"
	start_smtp "$T/box"
	run faultline -C "$ws" report send "$n_loss"
	is "$status" 0 "the same command sends it later" || diag "$err"
	run faultline -C "$ws" report send "$n_loss"
	is "$status" 1 "it is not sent again"
	like "$err" "report $n_loss is sent, not approved" "and it says so"
	is "$(find "$T/box" "$T/busy" -name '*.eml')" "$T/box/1.eml" \
		"one mail arrived"
	run "$TOP/tests/t/mail-parse.py" "$T/box/1.eml" check
	is "$status:$err" 0: "it parses strictly"
	cmp -s "$T/box/1.eml" "$ws/$(sql "SELECT file FROM report
		WHERE id = $n_loss")"
	ok $? "it is the message of the outbox"
	is "$(sed 's/, "options.*//' "$T/box/1.json")" '{"from": "faultline@lab.example", "to": ["author@demo.example", "team@lab.example"]' \
		"the envelope names the author and the Cc"
	stop "$server"
else
	ok 0 "SMTP # SKIP python3-aiosmtpd is missing"
fi

# --- nothing moved
ws=$T/quiet
make_fixture "$T/quiet-git" without
make_workspace "$ws" "$T/quiet-git"
run faultline -C "$ws" nightly
is "$status" 0 "nightly when nothing moved" || diag "$err"
like "$out" "nothing moved: 18 KPIs of pagefault stayed" "it says so"
is "$(sql 'SELECT count(*) FROM report')" 0 "no mail"
is "$(find "$ws/var" -name '*.eml')" "" "no file in the outbox"
is "$(sql 'SELECT count(*) FROM bisection')" 0 "no bisection"
is "$(sql "SELECT DISTINCT verdict FROM comparison_result")" same \
	"every verdict is 'same'"

done_testing

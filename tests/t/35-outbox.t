#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The outbox: no mail leaves twice by itself, whatever becomes of the line or
# of the process that sends it, and a person settles what nobody can know.
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
# shellcheck source=tests/t/fixture.sh
. "$TOP/tests/t/fixture.sh"
/usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null ||
	skip_all "python3-aiosmtpd is missing: apt install python3-aiosmtpd"

make_small "$T/git"
make_workspace "$T/new" "$T/git"
git config -f "$T/new/faultline.conf" pair.demo.job smoke
run faultline -q -C "$T/new" nightly
is "$(sqlite3 "$T/new/results.db" 'SELECT id, state FROM report')" "1|held" \
	"a night that ends in a mail"
run faultline -C "$T/new" report approve 1
ws=$T/ws

# serve [OPTION...]: a fresh workspace with an approved report, and a server;
# $box is where its mails arrive.
n=0
serve() {
	n=$((n + 1))
	box=$T/box$n
	background "$T/port$n" "$TOP/tests/t/smtp.py" "$box" "$@"
	wait_for test -s "$T/port$n" || echo "Bail out! no SMTP server"
	rm -rf "$ws"
	cp -r "$T/new" "$ws"
	git config -f "$ws/faultline.conf" mail.smtp \
		"smtp://127.0.0.1:$(cat "$T/port$n")"
}

# state WANTED MAILS NAME
state() {
	is "$(sqlite3 "$ws/results.db" 'SELECT state FROM report') $(find \
		"$box" -name '*.eml' 2>/dev/null | wc -l)" "$1 $2" "$3"
}

send() {
	run faultline -C "$ws" report send 1
}

# --- the line breaks after the last dot: perhaps it arrived
serve --drop-after-dot
send
is "$status" 1 "a broken line is an error"
like "$err" "^faultline: error: report 1 was not sent \(unknown\): " \
	"and says that nobody knows"
state unknown 1 "the report's fate is unknown"
send
is "$status" 1 "it is not sent again"
like "$err" "look for <.*>, then 'faultline report mark-sent 1' or 'report \
resend 1'" "and it says what to do"
state unknown 1 "the server has one"
run faultline -C "$ws" report mark-sent 1
state sent 1 "a person found it there"
run faultline -C "$ws" report resend 1
is "$status" 1 "then it cannot be sent again"
serve --drop-in-data
send
state unknown 0 "broken before it arrived"
run faultline -C "$ws" report resend 1
is "$status" 0 "a person did not find it"
state approved 0 "and it may go again"

# --- what the server says
serve --refuse
send
is "$status" 1 "a server that refuses"
like "$err" "554 5\.7\.1 no such mail here" "is quoted"
state held 0 "the report is held again"
serve --tempfail
send
state approved 0 "a busy server leaves it approved"
serve --reject-rcpt team@lab.example
send
is "$status" 1 "a recipient who is refused"
state held 0 "holds it"

# --- killed while sending
for point in before:1 after:1 before:2 after:2; do
	serve
	(FAULTLINE_KILL_AT=$point faultline -C "$ws" report send 1 \
		>/dev/null 2>&1; exit $?) 2>/dev/null
	is $? 137 "killed $point"
	mails=$(find "$box" -name '*.eml' 2>/dev/null | wc -l)
	send
	case $point in
	before:1)
		is "$mails:$status" 0:0 "$point: nothing was begun; it goes now"
		state sent 1 "$point: once"
		;;
	after:1)
		is "$mails:$status" 0:1 "$point: begun; nobody knows"
		state unknown 0 "$point: so it does not go by itself"
		;;
	before:2)
		is "$mails:$status" 1:1 "$point: it went; nobody noted it"
		state unknown 1 "$point: so it does not go by itself"
		;;
	after:2)
		is "$mails:$status" 1:1 "$point: it went, and that was noted"
		state sent 1 "$point: so it does not go again"
		;;
	esac
done

# --- two at once
serve
pair=()
for i in 1 2; do
	faultline -C "$ws" report send 1 >"$T/two$i" 2>&1 &
	pair+=($!)
done
ended=
for i in 0 1; do
	wait "${pair[i]}"
	ended="$ended$?"
done
is "$(grep -o 1 <<<"$ended" | wc -l)" 1 "two at once: one of them gives way"
state sent 1 "two at once: one mail"

# --- no server
rm -rf "$ws"
cp -r "$T/new" "$ws"
box=$T/none
send
is "$status" 0 "without a server"
like "$out" "the mail is 'var/outbox/.*\.eml'" "the file is the mail"
state sent 0 "and that counts as sent"
rm -rf "$ws"
cp -r "$T/new" "$ws"
run faultline -C "$ws" report reject 1 --why 'after all'
state rejected 0 "what was approved can still be rejected"
send
is "$status" 1 "and does not go then"

done_testing

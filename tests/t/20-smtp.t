#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Messages parse strictly, arrive byte for byte, and every way in which a
# server can fail gets the right fate: above all, a mail whose text may have
# reached the server is never called "try again".
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"

send_mail=$B/tests/send-mail
parse=$TOP/tests/t/mail-parse.py
server_py=$TOP/tests/t/smtp.py
/usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null ||
	skip_all "python3-aiosmtpd is missing: apt install python3-aiosmtpd"

# serve [OPTION...]: a fresh server; $url, $box (its folder), $server.
n=0
serve() {
	n=$((n + 1))
	box=$T/box$n
	background "$T/port$n" "$server_py" "$box" "$@"
	server=$!
	wait_for test -s "$T/port$n" || echo "Bail out! no SMTP server"
	url=smtp://127.0.0.1:$(cat "$T/port$n")
}

# deliver FILE [KEY=VALUE...]: prints fate and reply.
deliver() {
	local file=$1
	shift
	"$send_mail" send "$file" url="$url" timeout=20 \
		from='Fault Line <fl@example.org>' "$@"
}

# --- composing
{
	printf 'Zeile eins: \302\261 5 %%\n.\n..two dots\n\nFrom here\n'
	printf 'trailing blanks  \nlast\n'
} >"$T/body"
printf 'CONFIG_SMP=y\n# no newline at the end' >"$T/config.txt"
printf 'x\n' >"$T/Größe \"1\".txt"
subject='[mm:next]  0123456789:  per_process_ops ±5.0% – регрессия, '
subject+='一个很长的主题一个很长的主题一个很长的主题 end'
"$send_mail" compose to='Jörg "Q" Müller <j@example.net>' \
	to='Bar, Foo (team) <foo.bar@example.net>' to=lkml@example.org \
	to='"Already \"quoted\"" <q@example.org>' \
	cc='Łukasz Żółć-Nazwisko Bardzo Długie Naprawdę Takie <l@example.pl>' \
	cc='Plain Name <p@example.org>' subject="$subject" date=1796000000 \
	reply='2026.abc-1-x@example.com' body="$T/body" \
	attach="$T/config.txt" attach="$T/Größe \"1\".txt" >"$T/a.eml"
"$parse" "$T/a.eml" check
ok $? "a message with everything parses strictly"
is "$("$parse" "$T/a.eml" subject)" "$subject" "subject"
is "$("$parse" "$T/a.eml" to)" 'Jörg "Q" Müller|j@example.net
Bar, Foo (team)|foo.bar@example.net
|lkml@example.org
Already "quoted"|q@example.org' "names and addresses in To"
is "$("$parse" "$T/a.eml" cc)" \
	'Łukasz Żółć-Nazwisko Bardzo Długie Naprawdę Takie|l@example.pl
Plain Name|p@example.org' "names and addresses in Cc"
is "$("$parse" "$T/a.eml" reply)" "<2026.abc-1-x@example.com>" "In-Reply-To"
is "$("$parse" "$T/a.eml" date)" "Mon, 30 Nov 2026 00:53:20 +0000" "date"
is "$("$parse" "$T/a.eml" body)" "$(cat "$T/body")" "body"
is "$("$parse" "$T/a.eml" attach 0)" "$(cat "$T/config.txt")" "attachment"
is "$("$parse" "$T/a.eml" attach-name 1)" 'Größe "1".txt' "attachment's name"

{
	head -c 1500 /dev/zero | tr '\0' 'w'
	printf ' =C3 ends in blanks  \n.\n'
	head -c 400 /dev/zero | tr '\0' '='
	printf '\303\244\a\n'
} >"$T/long"
"$send_mail" compose to=a@b.c body="$T/long" >"$T/long.eml"
"$parse" "$T/long.eml" check
ok $? "a line over 998 bytes parses strictly"
"$parse" "$T/long.eml" body | cmp - "$T/long"
ok $? "its text is unchanged"
printf 'latin-1 \344, \355\240\200 and \377 end\n' >"$T/bad"
"$send_mail" compose to=a@b.c body="$T/bad" >"$T/bad.eml"
"$parse" "$T/bad.eml" check
ok $? "a body that is not UTF-8 becomes a valid message"
like "$("$parse" "$T/bad.eml" body)" "^latin-1 �, .* and � end" \
	"bad bytes are replaced"

run "$send_mail" compose to=a@b.c subject=$'x\nBcc: evil@example.org'
is "$status:$out" "1:" "a line break in the subject is refused"
like "$err" "line break in the value of mail header 'Subject'" "and named"
run "$send_mail" compose to=$'a@b.c\r\nBcc: evil@example.org'
is "$status:$out" "1:" "a line break in a mailbox is refused"
run "$send_mail" compose to='Someone <not an address>'
is "$status:$out" "1:" "a bad address is refused"
run "$send_mail" compose to=a@b.c reply=$'x@y>\nBcc: evil@example.org'
is "$status:$out" "1:" "a bad message id is refused"

# --- sending
serve
like "$(deliver "$T/a.eml" to='J <j@example.net>' cc=l@example.pl \
	cc=j@example.net)" "^sent 250 2.0.0 stored" "sent"
cmp "$box/1.eml" "$T/a.eml"
ok $? "it arrived byte for byte"
is "$(cat "$box/1.json")" '{"from": "fl@example.org", "to": '\
'["j@example.net", "l@example.pl"], "options": '\
'["SIZE='"$(stat -c %s "$T/a.eml")"'"]}' "the envelope, each address once"
{ # dots at every offset of every buffer
	cat "$T/a.eml"
	yes $'.\r\n..\r\n.a\r' | head -n 300000
} >"$T/dots.eml"
like "$(deliver "$T/dots.eml" to=a@b.c)" "^sent" "a long one of dots is sent"
cmp "$box/2.eml" "$T/dots.eml"
ok $? "it arrived byte for byte"
stop "$server"
like "$(deliver "$T/a.eml" to=a@b.c)" "^tempfail .*[Cc]onnect" \
	"no server: try again"
like "$(deliver "$T/a.eml" to=a@b.c url=http://127.0.0.1/)" \
	"^rejected .*http" "not an SMTP URL: rejected"
like "$(deliver "$T/a.eml" to=nobody)" "^rejected no usable address" \
	"no address: rejected"

# A message that no socket buffer can hide: the break is before the dot.
{
	cat "$T/a.eml"
	yes $'0123456789012345678901234567890123456789\r' | head -c 42000000
} >"$T/huge.eml"

# fate OPTIONS REGEX NAME: one server, one mail; nothing may be stored.
fate() {
	# shellcheck disable=SC2086 # words
	serve $1
	like "$(deliver "${4:-$T/a.eml}" to=a@b.c cc=b@b.c timeout="${5:-20}")" \
		"$2" "$3"
	is "$(find "$box" -name '*.eml' | wc -l)" "${6:-0}" "stored: ${6:-0}"
	stop "$server"
}
for stage in mail rcpt data dot; do
	fate "--refuse --stage $stage" "^rejected .*554 5.7.1" \
		"5xx at $stage: rejected"
	fate "--tempfail --stage $stage" "^tempfail .*451 4.3.2" \
		"4xx at $stage: try again"
done
for stage in mail rcpt data; do
	fate "--stall --stage $stage" "^tempfail .*time(d |)out" \
		"no answer at $stage: try again" "$T/a.eml" 1
done
fate "--stall --stage dot" "^unknown .*time(d |)out" \
	"no answer to the text: unknown" "$T/a.eml" 1
fate "--reject-rcpt b@b.c" "^rejected RCPT TO:<b@b.c>.*550 5.1.1" \
	"one of two recipients refused: rejected, nobody gets it"
fate "--drop-in-data" "^tempfail" "broken in the text: try again" "$T/huge.eml"
fate "--drop-in-data" "^unknown" "broken, perhaps after the text: unknown"
fate "--drop-after-dot" "^unknown" "broken after the text: unknown" \
	"$T/a.eml" 20 1

# --- authentication and TLS
serve --auth fl:secret
like "$(deliver "$T/a.eml" to=a@b.c user=fl password=secret)" "^sent" \
	"with the right password"
answer=$(deliver "$T/a.eml" to=a@b.c user=fl password=guess)
like "$answer" "^rejected .*535" "with a wrong password"
unlike "$answer" "guess|Z3Vlc3" "which is not told"
like "$(deliver "$T/a.eml" to=a@b.c)" "^rejected .*530" "without one"
like "$(deliver "$T/a.eml" to=a@b.c tls)" "^tempfail" \
	"TLS required but not offered: nothing is sent"
stop "$server"

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 \
	-addext subjectAltName=IP:127.0.0.1 -keyout "$T/key" -out "$T/cert" \
	2>/dev/null
serve --tls "$T/cert" "$T/key" --auth fl:secret
like "$(deliver "$T/a.eml" to=a@b.c user=fl password=secret tls \
	ca="$T/cert")" "^sent" "STARTTLS with a known certificate"
like "$(deliver "$T/a.eml" to=a@b.c user=fl password=secret tls)" \
	"^tempfail .*certificate" "an unknown certificate: nothing is sent"
like "$(deliver "$T/a.eml" to=a@b.c user=fl password=secret)" \
	"^tempfail .*certificate" "nor is a password, TLS required or not"
stop "$server"
serve --tls "$T/cert" "$T/key"
like "$(deliver "$T/a.eml" to=a@b.c)" "^sent" "opportunistic TLS"
stop "$server"

done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# faultline bisect run on toy repositories: a noisy number (seeded by a
# counter), rising, falling, two culprits, merges, commits that cannot be
# tested, --path, --exact, both sides of a fork; kill and resume; what a
# command finds in its work tree; each bad input; the README's example.
# shellcheck disable=SC2016,SC2317 # commands for other shells, wait_for
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
export GIT_AUTHOR_NAME='Demo Author' GIT_AUTHOR_EMAIL=author@demo.example
export GIT_COMMITTER_NAME='Demo Author' GIT_COMMITTER_EMAIL=author@demo.example
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
clock=1767225600

# The level in the work tree, with 3 % of normal noise; a word instead of a
# level is what goes wrong there. COUNTER holds the seed, LIMIT ends it.
cat >"$T/bench" <<'END'
#!/bin/sh
n=$(($(cat "$COUNTER") + 1))
echo "$n" >"$COUNTER"
level=$(cat level)
case $level in
broken) echo "cc: error: no such thing" >&2; exit 2 ;;
skip) exit 125 ;;
crash) kill -ABRT $$ ;;
hang) sleep 100 & wait ;;
words) echo "about 100"; exit ;;
esac
awk -v n="$n" -v l="$level" -v sd="${SD:-0.03}" 'BEGIN {
	srand(n * 7919 + 13)
	rand(); u = rand(); v = rand()
	z = sqrt(-2 * log(u)) * cos(6.283185 * v)
	printf "%.3f ms\n", l * (1 + sd * z) }'
END
# The same without noise, for --exact.
cat >"$T/count" <<'END'
#!/bin/sh
echo "$(($(cat level) * 1000003))"
END
chmod +x "$T/bench" "$T/count"
export COUNTER=$T/counter
echo 0 >"$COUNTER"

commit() {
	clock=$((clock + 60))
	git add -A
	GIT_AUTHOR_DATE="$clock +0000" GIT_COMMITTER_DATE="$clock +0000" \
		git commit -q --allow-empty -m "$1"
}

# line DIR LEVEL...: one commit each, tagged c1, c2, …; every third one
# touches doc/ alone unless its level changes.
line() {
	git init -q -b main "$1" && cd "$1" || exit
	local i=0 level
	for level in "${@:2}"; do
		i=$((i + 1))
		mkdir -p src doc
		if [ $((i % 3)) = 0 ]; then
			echo $i >doc/note
		else
			echo $i >src/note
		fi
		echo "$level" >level
		commit "change $i"
		git tag "c$i"
	done
}

# many N LEVEL: prints LEVEL N times.
many() {
	local i
	for ((i = 0; i < $1; i++)); do echo "$2"; done
}

hunt() {
	run faultline bisect run "$@"
}

# json KEY...: of the object on stdout.
json() {
	printf '%s' "$out" | /usr/bin/python3 -c '
import json, sys
v = json.load(sys.stdin)
for k in sys.argv[1:]:
	v = v[int(k) if k.lstrip("-").isdigit() else k]
print(v)' "$@"
}

# --- a noisy number, one culprit
# shellcheck disable=SC2046 # one word each
line "$T/one" $(many 40 100) $(many 24 120)
before=$(git status --porcelain -b; cat .git/HEAD; sha1sum .git/index)
hunt --good c1 -- "$T/bench"
is "$status" 0 "a noisy number" || diag "$err"
like "$out" "^"$'\n'"$(git rev-parse c41)"$'\n'"  change 41"$'\n'"  Demo Author <author@demo\.example>, 20" \
	"it names the commit, with subject, author and date"
like "$out" "number  .* -> .* ms, \+[12].*% \(95 %: \+.* to \+.* %\)" \
	"before and after, the change and its interval"
like "$out" "share  .* % of the change from c1 to HEAD" "its share"
like "$out" "probability [>0-9.]+ %; confirmed in 8 \+ 8 fresh runs beside $(git rev-parse --short=12 c40)" \
	"the probability, and that it was verified beside its parent"
like "$out" "runs of [0-9]+ commits \(of 64\)" "the work"
like "$out" "what next     git show $(git rev-parse --short=12 c41)" "what next"
is "$(printf '%s\n' "$out$err" | awk 'length > 79')" "" "no line is over 79 columns"
like "$err" "The number rises from .* to .* ms" "the direction"
is "$(git status --porcelain -b; cat .git/HEAD; sha1sum .git/index)" "$before" \
	"the user's work tree, HEAD and index are as they were"
is "$(git worktree list | wc -l)" 1 "the work tree is gone at the end"
runs=$(cat "$COUNTER")
hunt --json --good c1 -- "$T/bench"
is "$(cat "$COUNTER")" "$runs" "the same command again: the answer is there"
is "$(json culprits 0 commit)" "$(git rev-parse c41)" "--json: the culprit"
is "$(json end):$(json unit):$(json measured_before)" "found:ms:True" \
	"--json: how it ended, the unit"
hunt --good c1 --restart -- "$T/bench"
ok $(($(cat "$COUNTER") <= runs)) "--restart measures anew"
hunt --good c1 --path src,level/ --json -- "$T/bench"
is "$(json culprits 0 commit)" "$(git rev-parse c41)" "--path: the culprit"
is "$(json candidates)" 42 "--path: the others are no candidates"
for how in --exact --threshold=2%; do
	bench=bench
	[ $how != --exact ] || bench=count
	SD=0.01 hunt --good c1 --path doc $how -- "$T/$bench"
	is "$status:$out" "1:" "--path without the culprit, $how: nobody is named"
	like "$err" "error: '[0-9a-f]{12}' and '[0-9a-f]{12}' differ, though no commit between them touches what --path names" \
		"--path without the culprit, $how: says so" || diag "$out"
done

# --- it falls, and around the change nothing can be tested
line "$T/falls" 120 120 120 120 120 broken skip words 100 100 crash hang 100 100
hunt --good c1 --timeout 8 -- "$T/bench"
is "$status" 0 "a number that falls" || diag "$err"
like "$err" "The number falls from" "it says that it falls"
like "$out" "One of these 4 commits \(together 9" "a short list"
for c in 6 7 8 9; do
	like "$out" "% +$(git rev-parse --short=12 c$c)  change $c" "the list has change $c"
done
like "$out" "no commit between these can be tested" "why there is no single one"
like "$out" "change 6: exit status 2: 'cc: error: no such[ "$'\n'"]*thing'" \
	"a failure, with its last words"
like "$out" "change 7: exit status 125" "git's way to skip"
like "$out" "change 8: its last line is no number: 'about[ "$'\n'"]*100'" "words"
like "$out" "what next     git show( [0-9a-f]{12}){4}" "what next: all four"

# --- a hang is killed with its children, a crash is told
line "$T/ends" 100 crash hang 120
hunt --good c1 --timeout 8 -- "$T/bench"
like "$out" "change 2: killed by signal 6 \(Aborted\)" "a crash"
like "$out" "change 3: no end within 8 s" "a hang"
is "$(pgrep -fx 'sleep 100')" "" "nothing of the hang is left"

# --- two culprits
# shellcheck disable=SC2046
line "$T/two" $(many 4 100) $(many 6 115) $(many 5 140)
hunt --good c1 --json -- "$T/bench"
is "$(json end):$(json culprits 0 commit):$(json culprits 1 commit)" \
	"found:$(git rev-parse c5):$(git rev-parse c11)" "two culprits" || diag "$out"

# --- nothing moves; a change that is smaller than what was asked for
# shellcheck disable=SC2046
line "$T/none" $(many 8 100)
echo 5000 >"$COUNTER"
SD=0.06 hunt --good c1 -- "$T/bench"
is "$status" 0 "nothing moves"
like "$out" "no answer  .*20 \+ 20 runs do not show beyond doubt[^;]*; a[ "$'\n'"]+change of [5-9]\.?[0-9]? % or more" \
	"it says what would have shown"
unlike "$out" "git show" "nobody is named"

# shellcheck disable=SC2046
line "$T/small" $(many 6 1000) $(many 6 1010)
export SD=0.002
hunt --good c1 -- "$T/bench"
like "$out" "no change  .*as large as 2 % \(--threshold\) in [0-9]+ \+ [0-9]+ runs" \
	"a change of 1 % is not what is looked for"
hunt --good c1 --threshold 0.5% --json -- "$T/bench"
is "$(json culprits 0 commit)" "$(git rev-parse c7)" "--threshold 0.5%: it is" || diag "$out"
unset SD

# --- numbers that repeat
# shellcheck disable=SC2046
line "$T/exact" $(many 50 1000) $(many 30 1003)
hunt --good c1 --exact --json -- "$T/count"
is "$(json culprits 0 commit)" "$(git rev-parse c51)" "--exact: 0.3 %"
ok $(($(json runs) > 16)) "--exact: in at most 16 runs ($(json runs))"
hunt --good c1 --exact -- "$T/bench"
is "$status:$out" "1:" "--exact with a noisy number"
like "$err" "error: --exact is for numbers that repeat" "it says so"

# --- merges, a side branch, both sides of a fork
git init -q -b main "$T/graph" && cd "$T/graph" || exit
echo 100 >level
commit root
git tag root
for i in 1 2 3; do echo $i >n; commit "main $i"; done
git checkout -q -b side
echo 1 >side; commit 'side 1'
echo 120 >level; commit 'side 2'
git tag culprit
echo 3 >side; commit 'side 3'
git checkout -q main
for i in 4 5; do echo $i >n; commit "main $i"; done
git merge -q --no-ff -m 'Merge side' side
git tag merge
for i in 6 7; do echo $i >n; commit "main $i"; done
git checkout -q -b stable root
for i in 1 2; do echo $i >st; commit "stable $i"; done
echo 90 >level; commit 'stable 3'
echo 4 >st; commit 'stable 4'
git checkout -q --orphan other
commit unrelated
git checkout -q main
hunt --good root --json -- "$T/bench"
is "$(json culprits 0 commit)" "$(git rev-parse culprit)" "a culprit in a side branch"
hunt --good root --first-parent --json -- "$T/bench"
is "$(json culprits 0 commit)" "$(git rev-parse merge)" \
	"--first-parent: the merge stands for it"
hunt --good stable --json -- "$T/bench"
is "$(json merge_base)" "$(git rev-parse root)" "a fork: the merge base"
is "$(json sides 0 culprits 0 commit):$(json sides 1 culprits 0 commit)" \
	"$(git rev-parse culprit):$(git rev-parse stable~1)" \
	"a fork: both sides are searched" || diag "$err"

# --- killed, interrupted, and on again
cd "$T/one" || exit
slow="sleep 0.05; $T/bench"
hunt --good c1 --json -- sh -c "$slow"
journal=$(json state)/journal
at_least() {
	[ "$(wc -l <"$journal")" -gt "$1" ]
}
background "$T/killed" faultline bisect run --good c1 --restart -- sh -c "$slow" 2>"$T/killed.err"
pid=$!
wait_for -t 180 test -e "$journal.old"
wait_for -t 180 at_least 5
kill -KILL "$pid"
wait "$pid" 2>/dev/null
cp "$journal" "$T/first"
count=$(($(wc -l <"$journal") - 1))
printf '{"commit":"%s","ro' "$(git rev-parse c1)" >>"$journal"
hunt --good c1 -- sh -c "$slow"
is "$status:$out" "1:" "an unfinished hunt is not begun anew by accident"
like "$err" "begun before and stopped after $count runs; add --resume to go on with it, or --restart" \
	"it says what to add"
background "$T/second" faultline bisect run --good c1 --resume -- sh -c "$slow" 2>"$T/second.err"
pid=$!
wait_for -t 180 at_least 12
hunt --good c1 --resume -- sh -c "$slow"
like "$status:$err" "1:.*process $pid hunts here already" "one at a time"
kill -TERM "$pid"
wait "$pid"
is $? 130 "SIGTERM: exit status 130"
like "$(cat "$T/second.err")" "interrupted after [0-9]+ runs; the same command with --resume goes on" \
	"SIGTERM: says how to go on"
is "$(pgrep -fx "sh -c $slow")" "" "SIGTERM: the run is ended as well"
hunt --good c1 --resume --json -- sh -c "$slow"
is "$status:$(json culprits 0 commit)" "0:$(git rev-parse c41)" "resumed: the answer" || diag "$err"
is "$(head -n $((count + 1)) "$journal" | cmp - "$T/first")" "" \
	"resumed: the runs before the kill are kept, the torn line is not"
is "$(json runs)" $(($(wc -l <"$journal") - 1)) "resumed: each run counts once"
live=$(json culprits) runs=$(wc -l <"$journal")
hunt --good c1 --json -- sh -c "$slow"
is "$(json culprits)" "$live" "a replay gives the same answer to the last digit"
is "$(wc -l <"$journal")" "$runs" "a replay measures nothing"
sed -i '3s/.*/{}/' "$journal"
hunt --good c1 --resume -- sh -c "$slow"
like "$status:$err" "1:.*--restart" "a journal that was changed"

# What a killed faultline left running is ended before it goes on.
cat >"$T/stubborn" <<END
#!/bin/sh
setsid sh -c 'while :; do echo >>$T/beats; sleep 0.05; done' &
exec "$T/bench"
END
chmod +x "$T/stubborn"
hunt --good c1 --max-runs 26 -- "$T/stubborn"
hunt --good c1 --max-runs 26 -- "$T/stubborn"
beats=$(wc -l <"$T/beats")
sleep 0.3
is "$(wc -l <"$T/beats")" "$beats" "no process of an earlier session is left"

# --- what the command finds
cat >"$T/look" <<END
#!/bin/sh
set -e
test "\$(git rev-parse HEAD)" = "\$FAULTLINE_COMMIT"
test "\$(git describe --tags --always --dirty)" = "\$(git describe --tags --always)"
test "\$FAULTLINE_REPO" = "$T/one/.git"
test "\$(cat level)" = "\$(git show \$FAULTLINE_COMMIT:level)"
test ! -t 0
test -e built || echo once >>"$T/built"
touch built
echo spoilt >level # put right before the next run
git checkout -q -B scratch 2>/dev/null # its own HEAD
git show \$FAULTLINE_COMMIT:level >"$T/level"
cd "$T" && exec "$T/bench"
END
chmod +x "$T/look"
rm -f "$T/built"
before=$(git status --porcelain -b; cat .git/HEAD; sha1sum .git/index)
GIT_DIR=$T/one/.git GIT_INDEX_FILE=$T/one/.git/index GIT_WORK_TREE=$T/one \
	hunt --repo "$T/one/src" --good c1 --json -- "$T/look"
is "$(json culprits 0 commit)" "$(git rev-parse c41)" \
	"git in the work tree sees the commit under test" || diag "$err"
is "$(cat "$T/built")" once "untracked files stay: builds are incremental"
is "$(git status --porcelain -b; cat .git/HEAD; sha1sum .git/index)" "$before" \
	"and never the user's own HEAD or index"
git branch -q -D scratch
hunt --good c1 --state "$T/elsewhere" --exact --json -- "$T/count"
is "$(json culprits 0 commit)" "$(git rev-parse c41)" "--state"
like "$(json state)" "^$T/elsewhere/[0-9a-f]{12}$" "--state: it is there"

# --- bad input: one line, a status, nobody is named
# bad STATUS REGEX NAME ARG...
bad() {
	hunt "${@:4}"
	is "$status:$out" "$1:" "$3: status $1, no output" || diag "$err"
	is "$(printf '%s\n' "$err" | grep -c 'error: ')" 1 "$3: one line"
	like "$err" "error: .*$2" "$3: says what is wrong"
}
bench=$T/bench
bad 2 "needs --good REV" "no good end" -- "$bench"
bad 2 "needs a command that prints a number, after '--'" "no command" --good c1
bad 2 "needs a command" "an empty command" --good c1 --
bad 2 "needs a command" "a command without a name" --good c1 -- ''
bad 2 "usage: faultline bisect run" "an argument too many" --good c1 c9 -- "$bench"
bad 2 "--threshold 'much': expected a percentage such as 5%" "a threshold" \
	--good c1 --threshold much -- "$bench"
bad 2 "--confidence '2': expected a number from 0\.5 to" "a confidence" \
	--good c1 --confidence 2 -- "$bench"
bad 2 "--timeout '-1': expected a number" "a timeout" --good c1 --timeout -1 -- "$bench"
bad 2 "--max-runs 9 is too small: both ends and a verification need 26" \
	"a budget too small" --good c1 --max-runs 9 -- "$bench"
bad 2 "--resume or --restart, not both" "resume and restart" \
	--good c1 --resume --restart -- "$bench"
bad 2 "--path '\.\./x,': expected|--path" "a path outside" --good c1 --path ../,. -- "$bench"
bad 1 "has no revision 'nope'" "an unknown revision" --good nope -- "$bench"
bad 1 "'c64' and 'HEAD' are the same commit" "good is bad" --good c64 -- "$bench"
bad 1 "'c1' is an ancestor of 'c9': name the older one first \(--good c1 --bad c9\)" \
	"swapped" --good c9 --bad c1 -- "$bench"
bad 1 "no commit between 'c1' and 'HEAD' touches what --path names" \
	"a path that nothing touches" --good c1 --path nowhere -- "$bench"
bad 1 "'$T' is not in a git repository" "no repository" --repo "$T" --good c1 -- "$bench"
bad 1 "cannot start 'no-such-program': No such file" "no such program" \
	--good c1 -- no-such-program
bad 1 "cannot start './bench\.sh': No such file .* needs its whole path" \
	"a script that is not committed" --good c1 -- ./bench.sh
bad 1 "'c1' cannot be tested: it printed nothing" "silence" --good c1 -- true
bad 1 "not exactly one number: '1 2'" "two numbers" --good c1 -- echo 1 2
bad 1 "not exactly one number: '1,234'" "a number with a comma" --good c1 -- echo 1,234
bad 1 "its last line is no number: 'fast'" "a word" --good c1 -- echo fast
bad 1 "its last line is no number: 'NaN'" "NaN" --good c1 -- echo NaN
bad 1 "its last line is no number: 'inf'" "inf" --good c1 -- echo inf
bad 1 "its last line is no number: '0x10'" "hexadecimal" --good c1 -- echo 0x10
bad 1 "its number is too large: '1e999'" "a number too large" --good c1 -- echo 1e999
bad 1 "has to be above zero .*: '0'" "zero" --good c1 -- echo 0
bad 1 "has to be above zero .*: '-5 ms'" "a negative number" --good c1 -- echo -5 ms
bad 1 "'c1' cannot be tested: exit status 3: 'oops'" "a command that fails" \
	--good c1 -- sh -c 'echo oops >&2; exit 3'
like "$err" "what the command said: $T/one/.git/.*failed-" "a command that fails: where its words are"
bad 1 "'c1' cannot be tested: killed by signal 11" "a command that crashes" \
	--good c1 -- sh -c 'kill -SEGV $$'
bad 1 "'c1' cannot be tested: no end within 0\.5 s" "a command that hangs" \
	--good c1 --timeout 0.5 -- sleep 100
bad 1 "'HEAD' cannot be tested: exit status 1" "only the good end can be tested" \
	--good c1 -- sh -c '[ $(cat level) = 100 ] && echo 1'
bad 1 "its number is in 's', others were in 'ms'" "two units" \
	--good c1 -- sh -c '[ $(cat level) = 100 ] && echo 900 ms || echo 1.1 s'
is "$(git worktree list | wc -l)" 1 "no work tree is left of all these"
cd "$T/graph" || exit
bad 1 "'other' and 'HEAD' .*have no common history" "unrelated histories" \
	--good other -- "$bench"
bad 1 "is not on the first-parent line of" "not on the first-parent line" \
	--good side --first-parent -- "$bench"
git clone -q --depth 2 "file://$T/one" "$T/shallow" && cd "$T/shallow" || exit
bad 1 "is a shallow clone whose history is cut; complete it" "a shallow clone" \
	--good HEAD~1 -- "$bench"

# Nothing between the ends can be tested: the whole range is the answer.
line "$T/range" 100 broken broken skip 120
hunt --good c1 -- "$bench"
like "$status:$out" "0:.*One of these 4 commits" "a range that cannot be tested" || diag "$err"

# --- the README's example, as it stands there, with seeded randomness
cat >"$T/seed" <<END
n=\$((\$(cat "$COUNTER") + 1)); echo \$n >"$COUNTER"; RANDOM=\$((n * 7919))
END
echo 0 >"$COUNTER"
mkdir "$T/readme" && cd "$T/readme" || exit
sed -n '/^## Bisect any number/,/^## /p' "$TOP/README.md" |
	sed -n '/^```sh$/,/^```$/p' | sed '/^```/d' >"$T/example"
is "$(wc -l <"$T/example")" 5 "the README's example has five lines"
run env BASH_ENV="$T/seed" bash "$T/example"
is "$status" 0 "the README's example" || diag "$err"
like "$out" "  change 23"$'\n' "the README's example: finds the commit" || diag "$out"

done_testing

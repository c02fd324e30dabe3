#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Histories that are not a line: the culprit in the stable branch, in a side
# branch, in a merge, among commits that do not build; the wall clock; a
# remote whose history is rewritten; a clone that is used in place.
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
# shellcheck source=tests/t/fixture.sh
. "$TOP/tests/t/fixture.sh"

sql() {
	sqlite3 "$ws/results.db" "$1"
}

# night NAME [CLOCK [NOISE]]: a night on the variant of that name.
night() {
	git=$T/$1.git ws=$T/$1
	make_fixture "$git" "${1%-*}"
	make_workspace "$ws" "$git" "${@:2}"
	run faultline -C "$ws" nightly
	is "$status" 0 "$1: nightly" || diag "$err"
}

sha_of() {
	git -C "$git" log --all --format=%H --grep="^$1\$"
}

# culprits NAME SUBJECT...: these and no others are named, one mail each.
culprits() {
	is "$(sql "SELECT c.subject FROM bisection b JOIN commit_info c
		ON c.sha = b.culprit_sha WHERE b.status = 'found'" | sort)" \
		"$(printf '%s\n' "${@:2}" | sort)" "$1: the commits are named"
	is "$(sql "SELECT c.subject FROM report r JOIN bisection b
		ON b.id = r.bisection_id JOIN commit_info c
		ON c.sha = b.culprit_sha" | sort)" \
		"$(printf '%s\n' "${@:2}" | sort)" "$1: one mail each"
	is "$(sql "SELECT count(*) FROM bisection WHERE status = 'found'
		AND abs(share - 1) > ${limit:-0.001}")" 0 "$1: shares"
	run "$TOP/tests/t/figures.py" "$ws"
	is "$out$err" "" "$1: every figure is a row"
}

# text SUBJECT: the report of that commit, paragraphs in one line.
text() {
	text=$(sql "SELECT r.subject || char(10) || r.body FROM report r
		JOIN bisection b ON b.id = r.bisection_id
		WHERE b.culprit_sha = '$(sha_of "$1")'" | tr -s '\n ' ' ')
}

# --- the regression is a backport: the base has it, the head does not
night stable
culprits stable 'mm: a backport' 'mm: map whole folios'
is "$(sql "SELECT side FROM bisection WHERE culprit_sha =
	'$(sha_of 'mm: a backport')'")" base "stable: found on the base's side"
text 'mm: a backport'
like "$text" "^\[REGRESSION\] page_fault4: instructions_per_op \+50\.0% in v6\.12\.1" \
	"stable: the subject blames the base"
like "$text" "regression: from v6\.13-rc1 to v6\.12\.1, instructions_per_op rose by 50\.0 %" \
	"stable: the text goes from the head to the base"
like "$text" " v6\.13-rc1\+commit " "stable: the head was measured with it on top"
is "$(sql "SELECT count(*) FROM attribution a JOIN bisection b
	ON b.id = a.bisection_id WHERE b.side = 'base' AND a.explained
	AND abs(a.on_base_value / a.culprit_value - 1) < 0.001")" 3 \
	"stable: and does the same there"

# --- in a side branch, before the merge
night side
culprits side 'mm: map less around' 'mm: map whole folios'

# --- the merge itself
night merge
culprits merge 'Merge side' 'mm: map whole folios'
text 'Merge side'
like "$text" "this commit is a merge\. All of its parents were measured" \
	"merge: the mail says what that means"
is "$(sql "SELECT count(*) FROM run r JOIN kernel k ON k.id = r.kernel_id
	WHERE k.sha IN ('$(git -C "$git" rev-parse "$(sha_of 'Merge side')^1")',
	'$(git -C "$git" rev-parse "$(sha_of 'Merge side')^2")')")" 2 \
	"merge: both parents were measured"

# --- both changes come together with what does not build or boot
night broken
is "$(sql 'SELECT count(*) FROM report')" 0 "broken: no mail"
is "$(sql "SELECT DISTINCT status FROM bisection")" shortlist \
	"broken: a short list is the answer"
like "$out" "one of 3 commits .*$(sha_of 'mm: break the build' | head -c 12)" \
	"broken: three may have made page_fault4 slower"
like "$out" "one of 2 commits .*$(sha_of 'mm: panic at boot' | head -c 12)" \
	"broken: two may have made page_fault3 faster"
n=$(sql "SELECT min(id) FROM bisection WHERE reason LIKE 'one of 2 %'")
run faultline -C "$ws" bisect show "$n"
like "$out" "boot-failed.*panic: told to panic" "broken: says why it was skipped"
n=$(sql "SELECT min(id) FROM bisection WHERE reason LIKE 'one of 3 %'")
run faultline -C "$ws" bisect show "$n"
like "$out" "build-failed.*fake-kernel: error: told to fail" \
	"broken: for a build too"

# --- real time, with noise
limit=0.05
night '-wall' wall 0.01
culprits wall 'mm: map less around' 'mm: map whole folios'
is "$(sql "SELECT min(base_boots) || ' ' || max(head_boots)
	FROM comparison_result")" "6 6" "wall: six boots a side"
is "$(sql "SELECT count(DISTINCT started) FROM work WHERE kind = 'run'
	AND state <> 'done'")" 0 "wall: all runs ended"

# --- a remote that rewrites its history
git=$T/-wall.git ws=$T/-wall
old=$(git -C "$git" rev-parse v6.13-rc1)
git -C "$git" checkout -q --orphan new
git -C "$git" rm -q -r --cached .
fixture=$git
fake_commit 'all new'
git -C "$git" for-each-ref --format='delete %(refname)' refs/tags \
	refs/heads/master refs/heads/side refs/heads/stable |
	git -C "$git" update-ref --stdin
git -C "$git" reflog expire --expire=all --all
git -C "$git" gc -q --prune=now
run git -C "$git" cat-file -e "$old"
is "$status" 1 "force-push: the remote forgot"
run faultline -C "$ws" fetch
is "$status" 0 "force-push: fetch" || diag "$err"
mirror=$ws/var/trees/linux.git
is "$(git -C "$mirror" for-each-ref --format='%(refname)' refs/tags)" "" \
	"force-push: the mirror follows"
git -C "$mirror" gc -q --prune=now
is "$(git -C "$mirror" for-each-ref --format='%(objectname)' \
	refs/faultline/keep | sort)" \
	"$(sql "SELECT sha FROM kernel UNION
		SELECT sha FROM pick WHERE sha IS NOT NULL" | sort)" \
	"force-push: what was built stays referenced"
git -C "$mirror" fsck --no-progress --no-dangling
is $? 0 "force-push: and whole"
run faultline -C "$ws" build "$old" --job pagefault
like "$out" "^built kernel [0-9]+: " "force-push: and can be named"
run faultline -C "$ws" nightly
is "$status" 1 "force-push: but no tag is left to compare"
like "$err" "pair 'demo': no tag of '.*/linux.git' matches 'v6\.\*'" \
	"force-push: nightly says so"

# --- a clone that is used in place
git=$T/side.git ws=$T/place
git clone -q "$T/side.git" "$T/clone" 2>/dev/null
make_workspace "$ws" "$git"
git config -f "$ws/faultline.conf" --unset tree.linux.url
git config -f "$ws/faultline.conf" tree.linux.path "$T/clone"
state() {
	git -C "$T/clone" for-each-ref refs/heads refs/tags refs/remotes
	git -C "$T/clone" status --porcelain --branch
}
before=$(state)
run faultline -C "$ws" nightly
is "$status" 0 "in place: nightly" || diag "$err"
culprits 'in place' 'mm: map less around' 'mm: map whole folios'
is "$(state)" "$before" "in place: branches and work tree are left alone"
is "$(git -C "$T/clone" for-each-ref --format='%(objectname)' \
	refs/faultline/keep | sort)" \
	"$(sql "SELECT sha FROM kernel UNION
		SELECT sha FROM pick WHERE sha IS NOT NULL" | sort)" \
	"in place: what was built is referenced"
is "$(find "$ws/var" -name '*.git')" "" "in place: no mirror is made"
run faultline -C "$ws" fetch
is "$status:$out" "0:linux: used in place" "in place: fetch says so"

# --- what strangers write does nothing to a terminal or to a mail
ws=$T/evil
(
	export GIT_AUTHOR_NAME=$'Evil \e[31m "Q" \xc2\x9b31m'
	make_small "$T/evil.git" '' $'mm: \e]0;title\a \xc2\x9b %s%n \x7f \xff' \
		2>/dev/null # git warns that this is not UTF-8
)
make_workspace "$ws" "$T/evil.git"
git config -f "$ws/faultline.conf" pair.demo.job smoke
faultline -C "$ws" nightly >"$T/said" 2>&1
for verb in 'report list' 'report show 1' 'bisect list' 'bisect show 1' \
	kernels runs pairs 'trend --kpi instructions_per_op'; do
	# shellcheck disable=SC2086 # words
	faultline -C "$ws" $verb >>"$T/said" 2>&1
done
is "$(grep -acP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$T/said")" 0 \
	"evil: no control character is printed"
is "$(grep -c 'mm: ?\]0;title? ?? %s%n ? ' "$T/said")" \
	"$(grep -c 'mm: .*title' "$T/said")" "evil: they show as question marks"
file=$ws/$(sql 'SELECT file FROM report')
run "$TOP/tests/t/mail-parse.py" "$file" check
is "$status:$err" 0: "evil: the mail parses strictly"
is "$("$TOP/tests/t/mail-parse.py" "$file" to)" \
	'Evil ?[31m "Q" ??31m|author@demo.example' "evil: and reaches its author"

done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The verbs on numbers from files, stat detect and stat compare: what they
# say, what they refuse, in how many columns; and the marks of trend.
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"
PATH=$B:$PATH
# shellcheck source=tests/t/fixture.sh
. "$TOP/tests/t/fixture.sh"

# series AWK: 120 labelled values; AWK may change v, from 1200 and 1 % noise.
series() {
	awk "BEGIN { srand(4); for (i = 1; i <= 120; i++) {
		e = sqrt(-2 * log(1 - rand())) * cos(6.283185 * rand())
		v = 1200 * (1 + 0.01 * e)
		$1
		printf \"v6.%d,%.3f\\n\", i, v } }"
}

# json EXPRESSION: of the output as d.
json() {
	printf '%s' "$out" >"$T/json"
	/usr/bin/python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval("(" + sys.argv[2] + ")"))' "$T/json" "$1" 2>&1
}

# narrow NAME: no line of the output is wider than a terminal.
narrow() {
	is "$(printf '%s\n' "$out" | awk 'length > 80')" "" "$1: in 80 columns"
	is "$(printf '%s\n' "$out" | grep -c ' $')" 0 "$1: no blanks at the end"
}

# --- detect
cd "$T" || exit 1
series 'if (i > 40) v *= 1.06
	if (i == 60) v *= 1.3
	if (i >= 119) v *= 1.12' >steps.csv
run faultline stat detect steps.csv
is "$status:$err" 0: "detect"
like "$out" "steps.csv: 120 values, changes as ratios" "detect: what was read"
like "$out" "noise    (0\.[89]|1\.[0-9])[0-9]*% a value" "detect: the noise"
like "$out" "change   \+[56]\.[0-9]+% at v6\.(39|4[0-3]) \(95 %: \+" \
	"detect: the change"
like "$out" "somewhere between v6\.[34][0-9] and v6\.4[0-9]" \
	"detect: and where it is"
like "$out" "spike    \+[23][0-9]\.[0-9]+% at v6\.60" "detect: the spike"
like "$out" "suspect  \+1[0-9]\.[0-9]+% from v6\.119 on .*, two values" \
	"detect: the newest two"
like "$out" "re-run both sides before believing it" "detect: are no change"
is "$(printf '%s\n' "$out" | grep -c '^change')" 1 "detect: there is one change"
narrow detect

run faultline stat detect --json steps.csv
is "$(json '[c["at"]["label"][:4] for c in d["changes"]]')" "['v6.4']" \
	"detect --json: the change"
is "$(json 'abs(d["changes"][0]["effect"] - 0.0583) < 0.01')" True \
	"detect --json: its size as a log ratio"
is "$(json 'd["changes"][0]["lo"] < 0.0583 < d["changes"][0]["hi"]')" True \
	"detect --json: within its interval"
is "$(json 'd["spikes"][0]["at"] == {"line": 60, "label": "v6.60"}')" True \
	"detect --json: the spike by line and label"
is "$(json 'd["suspect"]["at"]["line"], d["suspect"]["values"]')" "(119, 2)" \
	"detect --json: the suspect"
is "$(json 'sum(s["values"] for s in d["segments"])')" 117 \
	"detect --json: neither counts for a level"

run faultline stat detect --threshold 10% steps.csv
like "$out" "change   none" "detect: below the threshold is no change"
run faultline stat detect --threshold=4% steps.csv
like "$out" "threshold 4\.00%" "detect: the threshold is shown"
like "$out" "change   \+" "detect: above it is one"

series '' | cut -d, -f2 >flat.csv
run faultline stat detect - <flat.csv
like "$out" "standard input: 120 values.*change   none" "detect: nothing, on stdin"
unlike "$out" "suspect|spike" "detect: and nothing else"
{ printf '\357\273\277version,ops\r\n# remark\r\n\r\n'
	awk 'BEGIN { for (i = 1; i < 21; i++)
		printf "\"r%d\"\t%d\r\n", i, (i > 10 ? 99 : 100) }'; } >dos.csv
run faultline stat detect dos.csv
like "$out" "change   -1\.00% at r11 .*between r10 and r11" \
	"detect: header, quotes, tabs, carriage returns, remarks"
seq -20 20 >linear.csv
run faultline stat detect linear.csv
is "$status" 0 "detect: negative values"
like "$out" "changes as differences \(a value is not positive\)" \
	"detect: negative values are said"
run faultline stat detect --linear --threshold 3 dos.csv
like "$out" "threshold 3.*change   none" "detect: a threshold in units"
for n in 1 2 3 5 8; do
	yes 7 | head -n $n >same.csv
	run faultline stat detect same.csv
	like "$status$out" "^0.*noise    0% .* 7  .*change   none" \
		"detect: $n equal values"
done

# --- what is no series
# refuse NAME WANTED CONTENT: exit 1 and one line.
refuse() {
	printf '%b' "$3" >bad.csv
	for verb in "detect bad.csv" "compare bad.csv steps.csv"; do
		# shellcheck disable=SC2086 # words
		run faultline stat $verb
		is "$status:$out" 1: "$1: ${verb%% *} exits with 1"
		is "$err" "faultline: error: 'bad.csv' $2" "$1: says what"
	done
}
a_number='expected a number (up to 1e100), found'
two='expected '\''label,value'\'' or one value, found'
refuse empty 'holds no numbers' ''
refuse 'header alone' 'holds no numbers' 'value\n'
refuse nan "line 2: $a_number 'nan'" '1\nnan\n'
refuse 'nan first' "line 1: $a_number 'nan'" 'nan\n1\n'
refuse infinity "line 1: $a_number '-inf'" 'a,-inf\n'
refuse overflow "line 1: $a_number '1e999'" '1e999\n'
refuse text "line 3: $a_number 'fast'" 'ops\n1\nfast\n'
refuse hexadecimal "line 1: $a_number '0x10'" '0x10\n'
refuse 'no value' "line 2: $a_number ''" 'a,1\nb,\n'
refuse 'three fields' "line 1: $two 'a,1,2'" 'a,1,2\n'
refuse 'open quote' "line 1: $two '\"a,1'" '"a,1\n'
refuse mixed "line 2: expected one value as above, found 'a,2'" '1\na,2\n'
refuse 'zero byte' "line 2: expected text, found a zero byte" '1\n2\00003\n'
refuse escapes "line 1: $a_number '1?[31m'" '1\033[31m\n'
refuse long "line 1: $a_number '11111111111111111111111111111111...'" \
	"$(printf '1%.0s' {1..400})\n"
run faultline stat detect missing.csv
is "$status:$err" \
	"1:faultline: error: cannot open 'missing.csv': No such file or directory" \
	"a missing file"
run faultline stat detect "$T"
is "$status:$err" "1:faultline: error: cannot read '$T': Is a directory" "a folder"
for args in detect 'compare steps.csv' 'detect steps.csv --threshold fast' \
	'detect steps.csv --threshold -1%' 'detect steps.csv --threshold nan' \
	'compare steps.csv steps.csv --better up' 'compare - -' \
	'detect steps.csv --speed'; do
	# shellcheck disable=SC2086 # words
	run faultline stat $args
	is "$status:$out" 2: "usage: $args"
	like "$err" "^faultline: error: usage: [^"$'\n'"]*$" "usage: one line"
done

# --- compare
cat >a.csv <<-EOF
	boot,ops
	b1,100
	b2,102
	b1,101
	b3,99
	b1,500
	b2,102
	b4,101
	b5,100
EOF
printf '%s\n' 110 111 109 112 110 >b.csv
run faultline stat compare a.csv b.csv
is "$status:$err" 0: "compare"
like "$out" "a.csv +5 +8 +100\.5.* 1\.1[0-9]*%" \
	"compare: a boot's values become their median"
like "$out" "b.csv +5 +5 +110\.3" "compare: without labels each is a boot"
like "$out" "effect   \+9\.[0-9]+%, between \+[78]\.[0-9]+% and \+1[01]\.[0-9]+%" \
	"compare: the effect with its interval"
like "$out" "p        0\.0079 by permutation \(the least these boots can reach\), [0-9.]+e-0[5-8] by t" \
	"compare: both p"
like "$out" "verdict  up \(threshold 5\.00%\)" "compare: the verdict"
narrow compare
run faultline stat compare --better lower a.csv b.csv
like "$out" "verdict  worse" "compare: lower is better"
run faultline stat compare --better=higher a.csv b.csv
like "$out" "verdict  better" "compare: higher is better"
run faultline stat compare b.csv a.csv
like "$out" "verdict  down" "compare: the other way round"
run faultline stat compare --threshold 20% a.csv b.csv
like "$out" "verdict  same" "compare: a change below the threshold"
run faultline stat compare a.csv a.csv --json
is "$(json 'd["verdict"], d["effect"], d["a"]["boots"], d["b"]["values"]')" \
	"('same', 0.0, 5, 8)" "compare --json: with itself"
printf '%s\n' 100 120 90 >noisy.csv
run faultline stat compare a.csv noisy.csv
like "$out" "verdict  unclear.*a change of up to [0-9.]+% could still hide.*about [0-9]+ boots a side would settle it" \
	"compare: unclear says what is missing"
narrow unclear
run faultline stat compare --json a.csv noisy.csv
is "$(json 'd["verdict"] == "unclear" and d["boots_to_settle"] > 5 and
	d["hidden"] > 0.05')" True "compare --json: so does JSON"
echo 5 >one.csv
run faultline stat compare one.csv one.csv
like "$status$out" "^0.*verdict  unclear: 1 \+ 1 boots can show nothing" \
	"compare: one boot a side"
run faultline stat compare --json one.csv one.csv
is "$(json 'd["verdict"], d["lo"], d["p_t"]')" "('unclear', None, None)" \
	"compare --json: one boot a side"
run faultline stat compare linear.csv linear.csv --threshold 1000
like "$out" "A value is not positive: differences, no ratios\..*effect   \+0, .*verdict  same" \
	"compare: negative values"

# --- a million lines
awk 'BEGIN { for (i = 0; i < 1000000; i++)
	print (i * 7919 % 1009) / 100 + (i < 600000 ? 100 : 101) }' >big.csv
run timeout 60 faultline stat detect big.csv
is "$status" 0 "big: detect"
like "$out" "change   \+0\.9[0-9]+% at line 60000[01]" "big: finds the change"
run timeout 60 faultline stat compare big.csv big.csv
like "$status$out" "^0.*means of 250 in a row.*verdict  same" "big: compare"

# --- trend
ws=$T/ws git=$T/git
fixture=$git fixture_clock=1767225600 build=ok boot=ok pf3=2000 note=root
git init -q -b master "$git"
n=0
for pf4 in 800 800 800 2000 800 800 1200 1200 1200 1200 1200 1800; do
	n=$((n + 1)) note=$n
	fake_kernel
	fake_commit "commit $n"
	git -C "$git" tag "v6.$n"
	[ $n = 8 ] || [ $n = 10 ] || continue
	# a stable branch with a level of its own, between the others in time
	git -C "$git" checkout -q -B stable v6.6
	pf4=3000 note=stable$n
	fake_kernel
	fake_commit "stable $n"
	git -C "$git" tag "v6.6.$n"
	git -C "$git" checkout -q master
done
make_workspace "$ws" "$git"
run faultline -C "$ws" fetch
for n in {1..12} 6.8 6.10; do
	run faultline -C "$ws" run "v6.$n" --job smoke
	is "$status" 0 "trend: v6.$n runs" || diag "$err"
done
run faultline -C "$ws" trend --kpi instructions_per_op --case 'page_fault4/*'
like "$out" "\^ v6\.7 " "trend: the change is marked"
like "$out" "\^ change \+50\.00% .*somewhere between v6\.6 and v6\.7" \
	"trend: and explained"
like "$out" "x v6\.4 .*x spike \+150\.0.% at v6\.4 alone" "trend: the spike"
like "$out" "\? v6\.12 .*\? suspect \+50\.0.% from v6\.12 on" "trend: the suspect"
run faultline -C "$ws" trend --kpi instructions_per_op --case 'page_fault4/*' \
	--json
like "$out" "v6\.6\.10" "trend --json: the stable branch is there"
is "$(json 'len(d), [r["version"] for r in d if r["change"]],
	[r["version"] for r in d if r["spike"]],
	[r["version"] for r in d if r["suspect"]]')" \
	"(14, ['v6.7'], ['v6.4'], ['v6.12'])" "trend --json: the same marks"
is "$(json 'd[6]["change"]["after"], d[6]["change"]["before"]')" \
	"('v6.6', 'v6.7')" "trend --json: between which versions"
is "$(json '[r["version"] for r in d if r["line"] != "mainline"],
	{r["line"] for r in d} == {"mainline", "v6.6.y"}')" \
	"(['v6.6.8', 'v6.6.10'], True)" \
	"trend --json: a stable branch is a line of its own"
git config -f "$ws/faultline.conf" threshold.exact 60%
run faultline -C "$ws" trend --kpi instructions_per_op --case 'page_fault4/*'
unlike "$out" "\^|\?|change" "trend: the threshold is that of the configuration"

done_testing

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How much of the exact clock's figures is noise? Five perturbed runs of one
# source: two with padding in the initramfs and another phase of the start,
# one with an unrelated option (SYSVIPC), one with mm/ and fs/ linked in
# another order, against the plain one. Prints the table of all cases; exit 1
# when a KPI leaves 0.05 %. Takes the demo tree: `make demo` first.
set -eu

B=$(realpath "${B:-build}")
remote=${REMOTE:-$B/demo/seed-1/remote.git}
[ -d "$remote" ] || {
	echo "no '$remote': run 'make demo' first" >&2
	exit 1
}
dir=$B/bench/perturb
mkdir -p "$dir/plain" "$dir/option"
[ -d "$dir/remote.git" ] || git clone -q --bare "$remote" "$dir/remote.git"

# reordered FILE: a Makefile of the kernel whose first plain list of objects is
# turned round, so that they are linked from the last to the first.
reordered() {
	git -C "$dir/remote.git" show "$base:$1" | awk '
		!done && (/^obj-y[ \t]*[:+]=/ || more) {
			line = $0
			more = sub(/\\$/, "", line)
			sub(/^obj-y[ \t]*[:+]=/, "", line)
			k = split(line, part, " ")
			for (j = 1; j <= k; j++)
				object[++n] = part[j]
			if (!more) {
				for (; n > 0; n--)
					print "obj-y += " object[n]
				done = 1
			}
			next
		}
		{ print }'
}

base=$(git -C "$dir/remote.git" rev-parse 'v6.12^{commit}')
export GIT_INDEX_FILE=$dir/index
git -C "$dir/remote.git" read-tree "$base"
for file in mm/Makefile fs/Makefile; do
	blob=$(reordered "$file" | git -C "$dir/remote.git" hash-object -w --stdin)
	git -C "$dir/remote.git" update-index --cacheinfo "100644,$blob,$file"
done
tree=$(git -C "$dir/remote.git" write-tree)
unset GIT_INDEX_FILE
linked=$(GIT_AUTHOR_NAME=Bench GIT_AUTHOR_EMAIL=bench@demo.example \
	GIT_AUTHOR_DATE='1767225600 +0000' \
	GIT_COMMITTER_NAME=Bench GIT_COMMITTER_EMAIL=bench@demo.example \
	GIT_COMMITTER_DATE='1767225600 +0000' \
	git -C "$dir/remote.git" commit-tree -p "$base" -m 'link in another order' "$tree")
git -C "$dir/remote.git" update-ref refs/heads/link-order "$linked"

for ws in plain option; do
	cat >"$dir/$ws/faultline.conf" <<-EOF
		[tree "linux"]
			path = $dir/remote.git
		[host "exact"]
			driver = qemu
			clock = exact
		[build]
			config = tinyconfig
			fragment = small.config
	EOF
	"$B/faultline" -C "$dir/$ws" init >/dev/null
done
echo 'CONFIG_SYSVIPC=y' >"$dir/option/sysvipc.config"
printf '\tfragment = sysvipc.config\n' >>"$dir/option/faultline.conf"

"$B/faultline" -C "$dir/plain" run "$base" --job pagefault --boots 3 >/dev/null
"$B/faultline" -C "$dir/plain" run "$linked" --job pagefault >/dev/null
"$B/faultline" -C "$dir/option" run "$base" --job pagefault >/dev/null

sqlite3 -box "$dir/plain/results.db" <<EOF
ATTACH '$dir/option/results.db' AS option;
CREATE TEMP TABLE v AS
	SELECT "case", kpi, CASE WHEN sha = '$linked' THEN 'link'
		ELSE 'boot' || boot_no END AS run, avg(value) AS value
	FROM v_sample WHERE isa = 'plain' GROUP BY 1, 2, 3
	UNION ALL SELECT "case", kpi, 'option', avg(value)
	FROM option.v_sample WHERE isa = 'plain' GROUP BY 1, 2;
CREATE TEMP TABLE t AS SELECT "case", kpi,
	max(value) FILTER (WHERE run = 'boot0') AS plain,
	max(value) FILTER (WHERE run = 'boot1') AS pad1,
	max(value) FILTER (WHERE run = 'boot2') AS pad2,
	max(value) FILTER (WHERE run = 'option') AS option,
	max(value) FILTER (WHERE run = 'link') AS link,
	1e6 * (max(value) / min(value) - 1) AS spread FROM v GROUP BY 1, 2;
SELECT replace("case", '/process/nr_task=1', '') AS "case", kpi,
	printf('%.4f', plain) AS plain,
	printf('%+.0f', 1e6 * (pad1 / plain - 1)) AS 'pad 1 (ppm)',
	printf('%+.0f', 1e6 * (pad2 / plain - 1)) AS 'pad 2',
	printf('%+.0f', 1e6 * (option / plain - 1)) AS 'option',
	printf('%+.0f', 1e6 * (link / plain - 1)) AS 'link order',
	printf('%.0f', spread) AS spread FROM t WHERE plain > 0 ORDER BY kpi, "case";
EOF
sqlite3 "$dir/plain/results.db" <<EOF | tee "$dir/verdict"
ATTACH '$dir/option/results.db' AS option;
SELECT count(*) || ' KPIs, largest spread ' || printf('%.0f', max(spread))
	|| ' ppm: ' || iif(max(spread) > 500, 'over', 'within') || ' 0.05 %'
	FROM (SELECT 1e6 * (max(value) / min(value) - 1) AS spread
	FROM (SELECT "case", kpi, value FROM v_sample WHERE isa = 'plain'
	UNION ALL SELECT "case", kpi, value FROM option.v_sample
	WHERE isa = 'plain') WHERE value > 0 GROUP BY "case", kpi);
EOF
grep -q within "$dir/verdict"

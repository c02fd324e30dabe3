#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What does `nightly` cost beside its raw work? Takes a finished, undisturbed
# workspace (default: the demo's) and prints how long the night took against
# the sum of make and of QEMU with the benchmarks in it. With REPLAY=1 the
# builds are done again by hand, plain make in the same order without sandbox
# and ccache, and their times are used in place of the recorded ones.
set -eu

B=$(realpath "${B:-build}")
ws=$(realpath "${1:-$B/demo/seed-1}")
db=$ws/results.db
sql() {
	sqlite3 "$db" "$1"
}
night=$(sql "SELECT finished - created FROM request WHERE kind = 'nightly'
	AND state = 'done' ORDER BY id LIMIT 1")
make_s=$(sql "SELECT sum(make_s) FROM kernel")
qemu_s=$(sql "SELECT sum(total_s) FROM run")

if [ "${REPLAY:-}" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	git clone -q --shared --no-checkout "$ws/var/trees/linux.git" "$dir/src"
	mkdir "$dir/out"
	total=0
	while IFS='|' read -r id sha; do
		git -C "$dir/src" checkout -q -f "$sha"
		[ -f "$ws/var/kernels/$id/config" ] &&
			cp "$ws/var/kernels/$id/config" "$dir/out/.config"
		start=$(date +%s%N)
		make -s -C "$dir/src" O="$dir/out" olddefconfig >/dev/null
		make -s -C "$dir/src" O="$dir/out" -j"$(nproc)" bzImage \
			>/dev/null 2>&1 || true
		end=$(date +%s%N)
		awk -v t=$((end - start)) -v s="$sha" \
			'BEGIN { printf "  %.12s  make by hand %6.1f s\n", s, t / 1e9 }'
		total=$((total + end - start))
	done < <(sql "SELECT id, sha FROM kernel ORDER BY id")
	make_s=$(awk -v t=$total 'BEGIN { print t / 1e9 }')
fi

awk -v n="$night" -v m="$make_s" -v q="$qemu_s" 'BEGIN {
	printf "nightly %.0f s; raw make %.0f s + qemu and benchmarks %.0f s = %.0f s\n",
		n, m, q, m + q
	printf "ratio %.3f (to reach: at most 1.05)\n", n / (m + q)
	exit n / (m + q) > 1.05
}'

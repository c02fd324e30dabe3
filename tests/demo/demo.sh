#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# demo.sh: makes the demo tree and takes it through `faultline nightly`.
# Environment: SEED (default 1) draws where the planted commits lie, WITHOUT
# (regression, gain, both) leaves some out, B is the build folder.
set -eu

B=${B:-build}
seed=${SEED:-1} without=${WITHOUT:-}
dir=$B/demo/seed-$seed${without:+-$without}
mkdir -p "$dir"
B=$(realpath "$B") dir=$(realpath "$dir")
faultline=$B/faultline

if [ ! -d "$dir/remote.git" ]; then
	echo "Making the demo tree $dir/remote.git (about 40 s)"
	rm -rf "$dir/remote.tmp"
	"$B/make-demo-tree" --seed "$seed" ${without:+--without "$without"} \
		"$dir/remote.tmp" >/dev/null # which is which: the file `planted`
	mv "$dir/remote.tmp" "$dir/remote.git"
fi

if [ ! -f "$dir/results.db" ]; then
	cat >"$dir/faultline.conf" <<-EOF
		# The demo: a kernel tree with two planted changes.
		[tree "linux"]
			url = file://$dir/remote.git
		[pair "stable-vs-rc"]
			tree = linux
			base = v6.*
			head = v6.*-rc*
			host = exact
			job = pagefault
		[host "exact"]
			driver = qemu
			clock = exact
		[host "wall"]
			driver = qemu
			clock = wall
		[mail]
			from = Faultline <faultline@localhost>
	EOF
	"$faultline" -C "$dir" init >/dev/null
fi

"$faultline" -C "$dir" nightly
cat <<EOF

The workspace is $dir. Look around with
  $faultline -C $dir report show 1
or start there: cd $dir
EOF

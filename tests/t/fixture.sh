# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A small git history for the fake host (daemon/host/fake.h). Sourced.
#
#   v6.12 ── stable ── v6.12.1
#      └── dev … side branch and merge … v6.13-rc1
#
# make_fixture DIR [VARIANT]: 'mm: map less around' raises page_fault4 by half,
# 'mm: map whole folios' halves page_fault3 on xfs; two commits do not build,
# one panics, some are documentation. Variants:
#   without   neither of the two
#   stable    the regression is in the stable branch alone ('mm: a backport')
#   side      it is in the side branch, before the merge
#   merge     the merge itself makes it
#   broken    both come with the fix of what does not build or boot, so that
#             nobody can tell which of the commits it was

export GIT_AUTHOR_NAME='Demo Author' GIT_AUTHOR_EMAIL=author@demo.example
export GIT_COMMITTER_NAME='Demo Author' GIT_COMMITTER_EMAIL=author@demo.example

# fake_commit SUBJECT: commits the work tree, a minute after the last one.
fake_commit() {
	fixture_clock=$((fixture_clock + 60))
	git -C "$fixture" add -A
	GIT_AUTHOR_DATE="$fixture_clock +0000" \
	GIT_COMMITTER_DATE="$fixture_clock +0000" \
		git -C "$fixture" commit -q -m "$1" \
		-m "Signed-off-by: Demo Author <author@demo.example>"
}

# fake_kernel: writes the kernel file from the variables of make_fixture.
fake_kernel() {
	cat >"$fixture/fake-kernel" <<-EOF
		# $note
		#
		# Room between the settings, so that a commit that changes one
		# of them can be picked onto a tree that differs in another.
		#
		build $build
		boot $boot
		#
		#
		value * 3000
		#
		#
		value page_fault4/* $pf4
		#
		#
		#
		value page_fault3/*/xfs $pf3
		#
		#
	EOF
}

# change SUBJECT NOTE: a commit whose image differs, but measures the same.
change() {
	note=$2
	fake_kernel
	fake_commit "$1"
}

# plant SUBJECT: a change of a value alone, so that it can be picked anywhere.
plant() {
	fake_kernel
	fake_commit "$1"
}

document() {
	mkdir -p "$fixture/Documentation"
	echo "$1" >"$fixture/Documentation/${1// /-}.rst"
	fake_commit "docs: $1"
}

make_fixture() {
	fixture=$1
	local variant=${2:-}
	local build=ok boot=ok pf4=800 pf3=2000 note=root

	fixture_clock=1767225600 # the same variant has the same commit ids
	git init -q -b master "$fixture"
	echo fixture >"$fixture/README"
	fake_kernel
	fake_commit 'Linux 6.12'
	git -C "$fixture" tag v6.12
	git -C "$fixture" checkout -q -b stable
	document 'stable notes'
	if [ "$variant" = stable ]; then
		pf4=1200
		plant 'mm: a backport'
		pf4=800
	else
		change 'mm: a backport' backport
	fi
	git -C "$fixture" tag v6.12.1
	git -C "$fixture" checkout -q master
	change 'mm: tidy up' 1
	document 'one'
	if [ -z "$variant" ]; then
		pf4=1200
		plant 'mm: map less around'
	fi
	change 'fs: rename a local' 2
	build=fail
	change 'mm: break the build' 3
	change 'mm: still broken' 4
	build=ok
	[ "$variant" != broken ] || pf4=1200
	change 'mm: fix the build' 5
	git -C "$fixture" checkout -q -b side
	document 'two'
	if [ "$variant" = side ]; then
		pf4=1200
		plant 'mm: map less around'
	fi
	document 'two and a half'
	git -C "$fixture" checkout -q master
	document 'three'
	fixture_clock=$((fixture_clock + 60))
	git -C "$fixture" merge -q --no-ff --no-commit side 2>/dev/null
	if [ "$variant" = merge ]; then
		pf4=1200
		fake_kernel
	fi
	fake_commit 'Merge side'
	boot=panic
	change 'mm: panic at boot' 6
	boot=ok
	[ "$variant" != broken ] || pf3=1000
	change 'mm: do not panic' 7
	if [ "$variant" != without ] && [ "$variant" != broken ]; then
		pf3=1000
		plant 'mm: map whole folios'
	fi
	change 'fs: print more' 8
	document 'four'
	change 'Linux 6.13-rc1' 9
	git -C "$fixture" tag v6.13-rc1
}

# make_small DIR [HEAD [SUBJECT]]: the same shape in six commits with the loss
# alone. HEAD is what the newest commit does: `fail` to build, `panic` at boot;
# SUBJECT that of the loss.
make_small() {
	fixture=$1
	local build=ok boot=ok pf4=800 pf3=2000 note=root

	fixture_clock=1767225600
	git init -q -b master "$fixture"
	fake_kernel
	fake_commit 'Linux 6.12'
	git -C "$fixture" tag v6.12
	git -C "$fixture" checkout -q -b stable
	change 'mm: a backport' backport
	git -C "$fixture" tag v6.12.1
	git -C "$fixture" checkout -q master
	document 'one'
	change 'mm: tidy up' 1
	pf4=1200
	plant "${3:-mm: map less around}"
	[ "${2:-}" != fail ] || build=fail
	[ "${2:-}" != panic ] || boot=panic
	change 'Linux 6.13-rc1' 2
	git -C "$fixture" tag v6.13-rc1
}

# make_workspace DIR FIXTURE [CLOCK [NOISE]]
make_workspace() {
	faultline -C "$1" init >/dev/null
	cat >"$1/faultline.conf" <<-EOF
		[tree "linux"]
			url = file://$2
		[pair "demo"]
			tree = linux
			base = v6.*
			head = v6.*-rc*
			host = fake
			job = pagefault
		[host "fake"]
			driver = fake
			clock = ${3:-exact}
			fake-noise = ${4:-0.00001}
		[mail]
			from = Faultline <faultline@lab.example>
			cc = team@lab.example
	EOF
}

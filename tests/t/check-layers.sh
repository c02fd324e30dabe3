#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `make check-layers`: an include never points upwards in the layers of
# docs/ARCHITECTURE.md, nor sideways between the L2 modules; bisect/ is pure
# (ownership and memory from daemon/util, nothing else); each wrapped library
# has one module that includes it; every tracked source file says its licence.
# Prints each breach, exits 1 if there is one.
# check-layers.sh [ROOT] looks at the tracked files under ROOT.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 2

includes() {
	git ls-files 'daemon/*.[ch]' 'bisect/*.[ch]' |
		xargs -r grep -HE '^[[:space:]]*#[[:space:]]*include' /dev/null
}

check_includes() {
	includes | awk '
	function rank(f) {
		if (f ~ /^daemon\/util\//) return 0
		if (f ~ /^daemon\/sys\//) return 1
		if (f ~ /^daemon\/(store|git|mail|http|stats)\// ||
		    f ~ /^bisect\//) return 2
		if (f ~ /^daemon\/(host|exec)\// ||
		    f ~ /^daemon\/(conf|job|elf|kbuild|kconfig|initramfs|kmsg|lkp|numbers)(-[a-z-]+)?\.[ch]$/)
			return 3
		if (f ~ /^daemon\/(plan|worker|compare|noise|history|bisection|bisect-run|explain|nightly|profile|request|report|outbox|api)(-[a-z-]+)?\.[ch]$/)
			return 4
		if (f ~ /^daemon\/(main|cmd|cli)(-[a-z-]+)?\.[ch]$/) return 5
		return -1
	}
	# The folder below L3, the file name up to its first dash in daemon/.
	function module(f) {
		if (f ~ /^daemon\/[^\/]+$/) sub(/(-[a-z-]+)?\.[ch]$/, "", f)
		else sub(/\/[^\/]+$/, "", f)
		return f
	}
	function resolve(from, name) {
		sub(/[^\/]+$/, "", from)
		name = from name
		while (sub(/[^\/.]+\/\.\.\//, "", name));
		return name
	}
	function breach(what) {
		print file ": includes " inc ": " what
		bad = 1
	}
	BEGIN {
		owner["sqlite3.h"] = "daemon/store"
		owner["git2.h"] = "daemon/git"
		owner["git2/"] = "daemon/git"
		owner["curl/"] = "daemon/mail"
		owner["Rmath.h"] = "daemon/stats"
		owner["microhttpd.h"] = "daemon/http"
		owner["archive.h"] = owner["archive_entry.h"] = "daemon/initramfs"
		owner["systemd/sd-event.h"] = "daemon/sys"
		owner["nettle/"] = "daemon/util"
		owner["yaml.h"] = "daemon/lkp"
	}
	{
		at = index($0, ":")
		file = substr($0, 1, at - 1)
		match($0, /[<"][^>"]+[>"]/)
		quoted = substr($0, RSTART, 1) == "\""
		inc = substr($0, RSTART + 1, RLENGTH - 2)
		mine = rank(file)
		if (mine < 0) {
			if (!(file in seen))
				print file ": in no layer of check-layers.sh"
			seen[file] = bad = 1
			next
		}
		if (!quoted) {
			for (lib in owner)
				if (index(inc, lib) == 1 &&
				    module(file) != owner[lib])
					breach("only " owner[lib] " may")
			next
		}
		target = resolve(file, inc)
		if (file ~ /^bisect\// && target !~ /^bisect\// &&
		    target !~ /^daemon\/util\/(cleanup|err)\.h$/)
			breach("bisect/ has only memory from daemon/util")
		else if (rank(target) > mine)
			breach("upwards, from L" mine " to L" rank(target))
		else if (mine == 2 && rank(target) == 2 &&
			 module(target) != module(file))
			breach("sideways between L2 modules")
	}
	END { exit bad }'
}

check_licences() {
	local file bad=0
	while IFS= read -r file; do
		[ -f "$file" ] || continue
		head -n 3 "$file" | grep -q 'SPDX-License-Identifier: ' && continue
		echo "$file: no SPDX line in the first three lines"
		bad=1
	done < <(git ls-files '*.[ch]' '*.sh' '*.py' '*.t' '*.sql' '*.js' \
		'*.css' '*.html' '*.[1-8]' 'Makefile' '*.mak' '.ci/run')
	return $bad
}

status=0
check_includes || status=1
check_licences || status=1
exit $status

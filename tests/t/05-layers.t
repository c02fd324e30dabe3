#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check-layers.sh sees each kind of breach, and sees nothing in a clean tree.
# shellcheck source=tests/t/lib.sh
. "${0%/*}/lib.sh"

check=$TOP/tests/t/check-layers.sh
licence='/* SPDX-License-Identifier: GPL-2.0-or-later */'
git init -q "$T/tree"

# file PATH LINE...: a source file of the tree.
file() {
	local path=$T/tree/$1
	shift
	mkdir -p "${path%/*}"
	printf '%s\n' "$@" >"$path"
	git -C "$T/tree" add -A
}

file daemon/util/fs.c "$licence" '#include <nettle/sha2.h>' '#include "fs.h"'
file daemon/store/store.h "$licence" '#include "../util/fs.h"'
file daemon/store/db.c "$licence" '#include <sqlite3.h>' '#include "store.h"'
file daemon/kbuild-log.c "$licence" '#include "kmsg.h"' \
	'#include "store/store.h"'
file daemon/plan-need.c "$licence" '#include "host/host.h"' \
	'#include "../bisect/bisect.h"'
file daemon/cmd-run.c "$licence" '#include "plan.h"' '#include "cli.h"'
file bisect/bisect.c "$licence" '#include "bisect.h"' \
	'#include "../daemon/util/cleanup.h"' '#include <math.h>'
run "$check" "$T/tree"
is "$status:$out$err" "0:" "a clean tree"

# breach PATH LINE REGEX NAME
breach() {
	file "$1" "$licence" "$2"
	run "$check" "$T/tree"
	is "$status:$(printf '%s\n' "$out" | wc -l)" "1:1" "$4: one breach"
	like "$out" "^$1: $3" "$4: named"
	rm "$T/tree/$1"
	git -C "$T/tree" add -A
}

breach daemon/util/up.c '#include "../sys/proc.h"' \
	'includes ../sys/proc.h: upwards, from L0 to L1' "L0 to L1"
breach daemon/git/up.c '  #  include "../kbuild.h"' \
	'.*upwards, from L2 to L3' "L2 to L3, odd spacing"
breach daemon/host/up.c '#include "../plan.h"' \
	'.*upwards, from L3 to L4' "L3 to L4"
breach daemon/report.c '#include "cmd-run.h"' \
	'.*upwards, from L4 to L5' "L4 to L5"
breach daemon/mail/side.c '#include "../store/store.h"' \
	'.*sideways' "L2 to its sibling"
breach daemon/stats/side.c '#include "../../bisect/bisect.h"' \
	'.*sideways' "L2 to the engine"
breach bisect/impure.c '#include "../daemon/util/fs.h"' \
	'.*only memory' "bisect to files"
breach daemon/api.c '#include <sqlite3.h>' \
	'.*only daemon/store may' "a second user of sqlite3.h"
breach daemon/api.c '#include <curl/easy.h>' \
	'.*only daemon/mail may' "a second user of curl"
breach daemon/odd.c '#include "util/fs.h"' \
	'in no layer' "a file in no layer"
file docs/faultline.1 '.TH FAULTLINE 1'
run "$check" "$T/tree"
is "$status:$out" \
	"1:docs/faultline.1: no SPDX line in the first three lines" \
	"a file without a licence"

run "$check"
is "$status:$out$err" "0:" "this tree is clean"

done_testing

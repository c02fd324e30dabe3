#!/bin/bash
# shellcheck disable=SC2034 # lists are chosen by name
# SPDX-License-Identifier: GPL-2.0-or-later
# install-deps.sh build|demo|check …: installs the Debian packages that are
# missing for these purposes, through sudo when not root. Asks the network
# for nothing when all are there.
set -eu

build='gcc make pkg-config libc6-dev libgit2-dev libcurl4-openssl-dev
	libsqlite3-dev libjansson-dev libsystemd-dev libarchive-dev r-mathlib
	nettle-dev libyaml-dev linux-source-6.12 xz-utils'
demo="$build git bubblewrap ccache qemu-system-x86 e2fsprogs xfsprogs flex
	bison bc perl cpio libelf-dev libssl-dev"
check="$demo libcmocka-dev python3 python3-aiosmtpd sqlite3 openssl"
lint='clang-format clang-tidy cppcheck shellcheck mandoc'

missing=()
for purpose in "$@"; do
	for package in ${!purpose}; do
		dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null |
			grep -qx installed || missing+=("$package")
	done
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=
[ "$(id -u)" -eq 0 ] || as_root=sudo
echo "Installing ${missing[*]}" >&2
$as_root apt-get update -q >&2
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q \
	--no-install-recommends "${missing[@]}" >&2

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite of drivers (driver.c) on `process` as an ordinary user, if root runs the tests: a user from a
# password file that only this test sees. (For others, driver-process.t is the same.)
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "not root: driver-process.t is the same"
need unshare setpriv
unshare -m true 2>/dev/null || skip_all "no mount namespace for a password file"

user=54321
{ cat /etc/passwd; echo "tester:x:$user:$user::/home/tester:/bin/bash"; } >"$TMP/passwd"
mkdir -m 755 "$TMP/bin" && cp "$BUILD/nanopod-node" "$BUILD/tests/daemon/driver" "$TMP/bin"
mkdir -m 700 "$TMP/own" && chown $user:$user "$TMP/own" && chmod 711 "$TMP"
NANOPOD_LIBEXEC=$TMP/bin; export NANOPOD_LIBEXEC

# shellcheck disable=SC2016
unshare -m sh -c 'mount --bind "$1/passwd" /etc/passwd && exec setpriv --reuid="$2" --regid="$2" --clear-groups \
	env TMP="$1/own" HOME="$1/own" "$1/bin/driver" process' _ "$TMP" $user
exit $?

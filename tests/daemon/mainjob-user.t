#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mainjob.t as an ordinary user, if root runs the tests: a user from a password file that only this test sees, with a
# home folder and copies of the programs. (For others, mainjob.t is the same.)
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "not root: mainjob.t is the same"
need unshare setpriv
unshare -m true 2>/dev/null || skip_all "no mount namespace for a password file"

user=54322
{ cat /etc/passwd; echo "owner:x:$user:$user::$TMP/own:/bin/bash"; } >"$TMP/passwd"
chmod 711 "$TMP"
mkdir -p "$TMP/top/tests/daemon" "$TMP/top/tests/lib" "$TMP/bin"
cp "$SRC"/tests/lib/*.sh "$TMP/top/tests/lib/"
cp "$SRC/tests/daemon/mainjob.t" "$TMP/top/tests/daemon/"
for program in nanopod nanopod-marketd nanopod-agentd nanopod-node; do
	[ -x "$BUILD/$program" ] || skip_all "$program is not built"
	if [ -x "$BUILD/.libs/$program" ]; then cp "$BUILD/.libs/$program" "$TMP/bin/"; else cp "$BUILD/$program" "$TMP/bin/"; fi
done
cp -P "$BUILD"/.libs/libpssh.so* "$TMP/bin/" 2>/dev/null
mkdir -m 700 "$TMP/own" && chown $user:$user "$TMP/own"

# shellcheck disable=SC2016
unshare -m sh -c 'mount --bind "$1/passwd" /etc/passwd && exec setpriv --reuid="$2" --regid="$2" --clear-groups \
	env HOME="$1/own" TMPDIR="$1/own" LD_LIBRARY_PATH="$1/bin" abs_top_srcdir="$1/top" abs_top_builddir="$1/bin" \
	bash "$1/top/tests/daemon/mainjob.t"' _ "$TMP" $user
exit $?

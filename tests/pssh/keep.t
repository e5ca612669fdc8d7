#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Connections that outlive their process: the tests of commands and of their end again, each twice, so that
# the second time all of it runs over kept connections. Then keepers that are damaged or hostile.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
sshd_up 3
logins() { grep -c 'Accepted publickey' "$SSHD_DIR/sshd.log"; }
for test in exec cancel fork output; do
	DRIVE_KEEP=$TMP/$test
	export DRIVE_KEEP
	(drive $test) >"$TMP/cold" 2>&1
	before=$(logins)
	(drive $test) >"$TMP/warm" 2>&1
	is "$(grep '^not ok' "$TMP/warm")" "" "$test passes over kept connections" || diag "$(cat "$TMP/cold" "$TMP/warm")"
	is "$(tail -n 1 "$TMP/warm" | grep '^1\.\.')" "$(tail -n 1 "$TMP/cold" | grep '^1\.\.')" "to its end"
	diag "$test: $((before)) logins, then $(($(logins) - before)) more"
done
unset DRIVE_KEEP
(drive keep) >"$TMP/keep" 2>&1
is "$(grep '^not ok' "$TMP/keep")" "" "no keeper does harm"
like "$(tail -n 1 "$TMP/keep")" '^1\.\.' "to the end of that test"
sed 's/^/# /' "$TMP/keep"
done_testing

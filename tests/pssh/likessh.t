#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
sshd_up 1
# A directory as a user has it: names and ports in config, a key under its usual name.
mkdir -m 700 "$TMP/dot" "$TMP/broken" "$TMP/empty" "$HOME/.ssh"
grep -v 'IdentityFile\|IdentitiesOnly\|IdentityAgent\|KnownHosts' "$SSHD_CONFIG" >"$TMP/dot/config"
cp "$SSHD_KEY" "$TMP/dot/id_ed25519"
cp "$SSHD_KNOWN" "$TMP/dot/known_hosts"
cp "$TMP/dot/"* "$HOME/.ssh"
echo "NoSuchKeyword yes" >"$TMP/broken/config"
drive likessh

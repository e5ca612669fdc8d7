#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
# Trying a passphrase takes minutes on a busy machine: sshd must not hang up meanwhile.
SSHD_EXTRA='LoginGraceTime 0'
sshd_up 4
# Keys whose passphrases cost a second and more, which sshd accepts.
ssh-keygen -q -t ed25519 -a 100 -N 'open sesame' -C slow -f "$TMP/slow"
ssh-keygen -q -t ed25519 -a 400 -N 'open sesame' -C slower -f "$TMP/slower"
od -An -N12 -tx1 /dev/urandom | tr -d ' \n' >"$TMP/secret"
ssh-keygen -q -t ed25519 -a 400 -N "$(cat "$TMP/secret")" -C hidden -f "$TMP/hidden"
cat "$TMP/hidden.pub" >>"$SSHD_DIR/authorized_keys"
cat "$TMP/slow.pub" "$TMP/slower.pub" >>"$SSHD_DIR/authorized_keys"
sed '/IdentityFile/d' "$SSHD_CONFIG" >"$TMP/config"
mkdir -m 700 "$TMP/kept"
drive passphrase

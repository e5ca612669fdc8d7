#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
sshd_up 2
# A locked key that sshd accepts, too, and a configuration that names no key and an empty file of known hosts.
ssh-keygen -q -t ecdsa -N 'open sesame' -C locked -f "$TMP/locked"
cat "$TMP/locked.pub" >>"$SSHD_DIR/authorized_keys"
: >"$TMP/none"
sed "/IdentityFile/d; s,UserKnownHostsFile.*,UserKnownHostsFile $TMP/none," "$SSHD_CONFIG" >"$TMP/config"
drive memory

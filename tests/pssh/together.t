#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
need openssl
SSHD_EXTRA='ForceCommand internal-sftp'
sshd_up 1 files
FILES_CONFIG=$SSHD_CONFIG SSHD_EXTRA=
export FILES_CONFIG
sshd_up 2
head -c 40000000 /dev/urandom >"$TMP/large"
ssh-keygen -q -m PEM -t rsa -N '' -C token -f "$TMP/token.pem"
mv "$TMP/token.pem.pub" "$TMP/token.pub"
cat "$TMP/token.pub" >>"$SSHD_DIR/authorized_keys"
sed '/IdentityFile/d; /KnownHosts/d; /StrictHost/d' "$SSHD_CONFIG" >"$TMP/config"
drive together

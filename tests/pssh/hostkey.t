#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"

# A server with a key of each kind, and a key that is none of its own.
KEYS=$TMP/keys
export KEYS
mkdir "$KEYS"
for kind in ed25519 ecdsa rsa; do
	ssh-keygen -q -t $kind -N '' -C '' -f "$KEYS/$kind"
done
ssh-keygen -q -t ed25519 -N '' -C '' -f "$KEYS/stranger"
SSHD_EXTRA="HostKey $KEYS/ed25519
HostKey $KEYS/ecdsa
HostKey $KEYS/rsa"
sshd_up 4
drive hostkey

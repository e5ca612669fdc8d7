#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fleets that keep their connections.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
sshd_up 3
FIRST=$(sshd_address 1):$SSHD_PORT
HERE=$TMP
export FIRST SSHD_KNOWN HERE
truncate -s 40M "$TMP/zeros"
cd "$TMP" && ssh-keygen -q -t ed25519 -N '' -f strange || exit 99
for key in first second; do
	ssh-keygen -q -t ed25519 -N '' -f $key && cat $key.pub >>"$SSHD_DIR/authorized_keys" && rm $key.pub || exit 99
done
drive kept

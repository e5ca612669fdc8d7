#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"

ssh-keygen -q -t rsa -N '' -C '' -f "$TMP/rsa"
SSHD_EXTRA="HostKey $TMP/rsa"
sshd_setup
drive algorithm

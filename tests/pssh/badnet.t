#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Real sshd behind a network with random faults. BADNET_HOSTS (15), BADNET_ROUNDS (2), BADNET_SEED (1).
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
sshd_up 4
BADNET_TARGETS=
for i in 1 2 3 4; do BADNET_TARGETS="$BADNET_TARGETS $(sshd_address $i):$SSHD_PORT"; done
BADPROXY=$BUILD/tests/lib/badproxy BADNET_KEY=$sshd_key
export BADNET_HOSTS BADNET_ROUNDS BADNET_SEED BADNET_TARGETS BADPROXY BADNET_KEY
broken_exchanges
drive badnet

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
sshd_setup
broken_exchanges
drive order

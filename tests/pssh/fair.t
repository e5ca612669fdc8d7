#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
sshd_up 4
truncate -s 16G "$TMP/zeros" # takes longer than any test waits
mkdir "$TMP/to"
drive fair

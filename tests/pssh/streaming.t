#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
sshd_up 2
truncate -s 16G "$TMP/zeros" # takes longer than any test waits, and no room
head -c 20000000 /dev/urandom >"$TMP/large"
mkdir "$TMP/to"
drive streaming

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Keepers and commands that are killed while they speak with each other, or hand connections over.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"
sshd_up 1
drive keepkill

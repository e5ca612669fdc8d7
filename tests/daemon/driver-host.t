#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite of drivers (driver.c) on `host`: on a throw-away sshd with its own file of keys. Touches neither
# this machine's keys nor ~/.ssh.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
sshd_up 1 || exit 99
echo "Port $SSHD_PORT" >>"$SSHD_DIR/sshd_config"
# The owner's keys, without a newline at the end: they must be there unchanged afterwards.
printf '# of the owner\n%s' "$(cat "$SSHD_KEY.pub")" >"$SSHD_DIR/authorized_keys"
NANOPOD_LIBEXEC=$BUILD NANOPOD_SSHD_CONFIG=$SSHD_DIR/sshd_config
NANOPOD_TEST_LISTEN=$(sshd_address 1) NANOPOD_TEST_KEYS=$SSHD_DIR/authorized_keys
export NANOPOD_LIBEXEC NANOPOD_SSHD_CONFIG NANOPOD_TEST_LISTEN NANOPOD_TEST_KEYS

"$BUILD/tests/daemon/driver" host
exit $?

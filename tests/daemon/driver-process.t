#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite of drivers (driver.c) on `process`, as the user that runs the tests.
. "$(dirname "$0")/../lib/tap.sh"
NANOPOD_LIBEXEC=$BUILD; export NANOPOD_LIBEXEC

"$BUILD/tests/daemon/driver" process
exit $?

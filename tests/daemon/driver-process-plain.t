#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite of drivers (driver.c) on `process` without namespaces: it isolates nothing, and ends everything.
. "$(dirname "$0")/../lib/tap.sh"
NANOPOD_LIBEXEC=$BUILD NANOPOD_PROCESS=plain; export NANOPOD_LIBEXEC NANOPOD_PROCESS

"$BUILD/tests/daemon/driver" process
exit $?

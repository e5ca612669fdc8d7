#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite of drivers (driver.c) on `process` where namespaces are not open: it holds nothing, ends all.
. "$(dirname "$0")/../lib/tap.sh"
NANOPOD_LIBEXEC=$BUILD NANOPOD_PROCESS=plain; export NANOPOD_LIBEXEC NANOPOD_PROCESS

"$BUILD/tests/daemon/driver" process
exit $?

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Devices of nodes of the driver ns (nsdevices.c). Needs root and an image, as driver-ns.t does.
test_images=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "driver 'ns' needs root"
NANOPOD_LIBEXEC=$BUILD NANOPOD_TEST_IMAGES=${test_images:-$BUILD/images}; export NANOPOD_LIBEXEC NANOPOD_TEST_IMAGES
[ -d "$NANOPOD_TEST_IMAGES" ] || skip_all "no image: 'nanopod-agentd --images $BUILD/images image build' makes one"
LIBRARY=$(ldconfig -p | sed -n 's|.*libmicrohttpd\.so\.[0-9]* .*=> ||p' | head -n 1); export LIBRARY   # of no program in the node

"$BUILD/tests/daemon/nsdevices"
exit $?

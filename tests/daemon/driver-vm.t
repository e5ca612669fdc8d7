#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite of drivers (driver.c) on `vm`. Needs an image: the folder $NANOPOD_TEST_IMAGES holds one
# ('nanopod-agentd --images DIR image build'), else the build tree's is used.
test_images=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
NANOPOD_LIBEXEC=$BUILD NANOPOD_TEST_IMAGES=${test_images:-$BUILD/images}; export NANOPOD_LIBEXEC NANOPOD_TEST_IMAGES
[ -d "$NANOPOD_TEST_IMAGES" ] || skip_all "no image: 'nanopod-agentd --images $BUILD/images image build' makes one"

"$BUILD/tests/daemon/driver" vm
exit $?

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The conformance suite of drivers (driver.c) on `vm`. It needs an image: $NANOPOD_TEST_IMAGES is a folder with
# one ('nanopod-agentd --images DIR image build'), else that of the build tree is taken.
test_images=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
NANOPOD_LIBEXEC=$BUILD NANOPOD_TEST_IMAGES=${test_images:-$BUILD/images}; export NANOPOD_LIBEXEC NANOPOD_TEST_IMAGES
[ -d "$NANOPOD_TEST_IMAGES" ] || skip_all "no image: 'nanopod-agentd --images $BUILD/images image build' makes one"

"$BUILD/tests/daemon/driver" vm
exit $?

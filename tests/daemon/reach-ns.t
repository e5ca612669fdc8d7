#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# reach.t with nodes of the driver ns. Needs root and an image (driver-ns.t says where from).
TEST_DRIVER=ns TEST_IMAGES=${NANOPOD_TEST_IMAGES-} exec bash "$(dirname "$0")/reach.t"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/with.sh"
LIBPSSH=$BUILD/.libs/libpssh.so
export LIBPSSH
[ -e "$LIBPSSH" ] || skip_all "the shared library is not built"
drive plugin

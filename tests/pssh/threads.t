#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/with.sh"
# What happens at once by chance alone is seen by helgrind every time, but not beside a sanitizer.
! have valgrind || nm -D "$BUILD/.libs/libpssh.so" | grep -q __asan_init ||
	DRIVE_UNDER="valgrind --tool=helgrind -q --error-exitcode=9 --trace-children=yes"
drive threads

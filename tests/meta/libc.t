#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libpssh needs no more of a libc than musl and glibc 2.31 have.
. "$(dirname "$0")/../lib/tap.sh"
need awk
LC_ALL=C; export LC_ALL

# Only syntax: no distribution has libssh2 and OpenSSL for musl beside glibc's, but their headers will do.
if have musl-gcc; then
	cd "$SRC" || exit 99
	for source in lib/base/*.c $(find lib/pssh -name '*.c' | sort); do
		musl-gcc -std=gnu17 -fsyntax-only -Werror=implicit-function-declaration -Werror=format -Werror=int-conversion \
			-include "$BUILD/config.h" -I. -Ilib $(pkg-config --cflags libssh2 libcrypto) \
			-idirafter /usr/include -idirafter "/usr/include/$(uname -m)-linux-gnu" "$source" 2>&1 ||
			echo "$source does not compile"
	done >"$TMP/musl"
	is "$(cat "$TMP/musl")" "" "every source of libpssh compiles with musl's headers"
else
	skip "musl-gcc is not installed (Debian: musl-tools)"
fi

library=$BUILD/.libs/libpssh.so
if have nm && [ -e "$library" ] && ! nm -D "$library" | grep -q __asan_init; then
	# What older ones have under another version, or in libpthread; a build there takes it from there.
	moved=' fstat fstatat lstat stat pthread_attr_setstacksize pthread_create pthread_join pthread_sigmask __libc_single_threaded '
	nm -D --undefined-only "$library" | sed -n 's/.* \([^ @]*\)@GLIBC_2\.\([0-9]*\).*/\1 \2/p' | sort -u >"$TMP/needs"
	ok "nm shows what it needs" test -s "$TMP/needs"
	is "$(awk -v moved="$moved" '$2 > 31 && !index(moved, " " $1 " ") { print $1 " (glibc 2." $2 ")" }' "$TMP/needs")" "" \
		"the shared library needs no function that is newer than glibc 2.31"
else
	skip "there is no shared library, or one of the development build, or no nm"
fi
done_testing

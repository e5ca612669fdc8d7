# SPDX-License-Identifier: Apache-2.0
# What the tests of libpssh have in common (read after tap.sh and sshd.sh): a test is a C program
# that is told by its environment where its servers are.

# Memory that the sanitizer holds back would hide what the library needs.
ASAN_OPTIONS=quarantine_size_mb=8:${ASAN_OPTIONS-}
export ASAN_OPTIONS SSHD LIGHTSSHD="$BUILD/tests/lib/lightsshd"

# The test ends connections in the middle of their exchange of keys, where libssh2 leaks: tests/lib/lsan.supp.
broken_exchanges() {
	LSAN_OPTIONS=suppressions=$SRC/tests/lib/lsan.supp:print_suppressions=0:${LSAN_OPTIONS-}
	ASAN_OPTIONS=fast_unwind_on_malloc=0:$ASAN_OPTIONS # else the names in the suppressions are not seen
	export LSAN_OPTIONS ASAN_OPTIONS
}

# drive NAME: the C half of a test, in a folder of its own; under the command $DRIVE_UNDER, if any.
drive() {
	export SSHD_DIR SSHD_CONFIG SSHD_KEY SSHD_KNOWN SSHD_PORT SSHD_NET SSHD_PROXY SSHD_USER
	cd "$TMP" || exit 99
	eval "${DRIVE_UNDER-}" '"$BUILD/tests/pssh/$1"'
	exit
}

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/fuzz.sh NAME [SECONDS]: lets clang's fuzzer loose on tests/fuzz/NAME.c. New inputs go
# to build/fuzz/NAME, not to the corpus: pick the few that are worth keeping by hand. FUZZ_BUILD: another build than
# build/, which must be complete: headers are generated there.
set -eu
cd "$(dirname "$0")/../.."
name=${1:?"usage: tests/fuzz/fuzz.sh NAME [SECONDS]"} seconds=${2:-60}
build=${FUZZ_BUILD:-build}
out=$build/fuzz/$name
mkdir -p "$out/new"
# Everything that has no main() of its own.
rooms=lib
grep -q '#include "cli/' "tests/fuzz/$name.c" && rooms="lib cli"
grep -q '#include "marketd/' "tests/fuzz/$name.c" && rooms="lib/base lib/conf lib/market daemon/marketd $build/daemon/marketd/web"
grep -q '#include "agentd/' "tests/fuzz/$name.c" && rooms="lib/base lib/conf lib/market daemon/agentd"
# shellcheck disable=SC2086
sources=$(find $rooms -name '*.c' ! -name main.c ! -name node_main.c)
version=$(sed -n 's/^AC_INIT(\[nanopod\], \[\([^]]*\)\].*/\1/p' configure.ac)
# shellcheck disable=SC2046,SC2086
${FUZZ_CC:-clang} -std=gnu17 -g -O1 -D_GNU_SOURCE "-DPACKAGE_VERSION=\"$version\"" '-DPACKAGE_NAME="nanopod"' '-DPKGLIBEXECDIR="/nonexistent"' -I. -Ilib -Idaemon "-I$build" \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	$(pkg-config --cflags libssh2 libcrypto yaml-0.1 readline jansson libcurl sqlite3 libmicrohttpd libsecp256k1 zlib) \
	-o "$out/$name" "tests/fuzz/$name.c" $sources \
	$(pkg-config --libs libssh2 libcrypto yaml-0.1 readline jansson libcurl sqlite3 libmicrohttpd libsecp256k1 zlib) -pthread
exec "$out/$name" -max_total_time="$seconds" -artifact_prefix="$out/" "$out/new" "tests/fuzz/corpus/$name"

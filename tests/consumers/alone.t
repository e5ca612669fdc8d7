#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --disable-programs: the library by itself, on a machine that has none of what the programs need.
. "$(dirname "$0")/../lib/tap.sh"
need pkg-config make
[ -x "$SRC/configure" ] || skip_all "there is no ./configure: run ./bootstrap"
unset MAKEFLAGS MFLAGS MAKELEVEL GNUMAKEFLAGS

mkdir "$TMP/pc" "$TMP/build"
for folder in $(pkg-config --variable pc_path pkg-config | tr : ' '); do
	cp "$folder"/*.pc "$TMP/pc/" 2>/dev/null
done
(cd "$TMP/pc" && rm -f yaml-0.1.pc libcurl*.pc jansson.pc libmicrohttpd.pc sqlite3.pc readline.pc libsecp256k1.pc)
cd "$TMP/build" || exit 99
PKG_CONFIG_LIBDIR=$TMP/pc; export PKG_CONFIG_LIBDIR
not_ok "nanopod itself cannot be configured here" "$SRC/configure" -q CFLAGS=-O0
ok "the library can" "$SRC/configure" -q --disable-programs --prefix=/usr CFLAGS=-O0 || done_testing
ok "make" make || done_testing
ok "make install" make install DESTDIR="$TMP/root"
is "$(cd "$TMP/root" && find . -name 'libpssh.so' -o -name '*.pc' -o -name '*.h' | sed 's,.*/,,' | sort | xargs)" \
	"libpssh.pc libpssh.so pssh.h pssh_types.h" "it installs the library"
is "$(cd "$TMP/root" && find . -path '*bin/*' -o -name '*.[1578]' | xargs)" "" "and no program, and no page of one"
ok "with its own pages" test -n "$(find "$TMP/root" -name libpssh.3)"
done_testing

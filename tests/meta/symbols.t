#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libpssh exports what pssh.h declares and pssh.sym lists, nothing more and nothing less.
. "$(dirname "$0")/../lib/tap.sh"
need nm awk

header=$SRC/lib/pssh/pssh.h map=$SRC/lib/pssh/pssh.sym library=$BUILD/.libs/libpssh.so
LC_ALL=C; export LC_ALL

${CC:-cc} -E -P "$header" | grep -v '^#' | tr '\n' ' ' | tr ';' '\n' |
	sed -n '/^ *typedef/d; s/^[^(]*[ *]\(pssh_[a-z0-9_]*\) *(.*/\1/p' | sort -u >"$TMP/header"
awk '/local:/ { exit } sub(/;.*/, "") { print $1 }' "$map" | sort >"$TMP/map"

ok "pssh.h declares functions" test -s "$TMP/header"
is "$(comm -23 "$TMP/header" "$TMP/map")" "" "the map lists every function of pssh.h"
is "$(comm -13 "$TMP/header" "$TMP/map")" "" "the map lists nothing that pssh.h does not declare"
is "$(uniq -d "$TMP/map")" "" "the map lists nothing twice"
is "$(grep -v '^pssh_' "$TMP/map")" "" "every name in the map begins with pssh_"
is "$(sed -n 's/^ \(pssh_[a-z0-9_]*\)@.*/\1/p' "$SRC/debian/libpssh0.symbols" | sort)" "$(cat "$TMP/map")" \
	"the Debian package's list of symbols has the same names"
ok "the map hides all else" grep -q '^[[:space:]]*\*;' "$map"

if [ -e "$library" ]; then
	nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$TMP/exported"
	is "$(comm -23 "$TMP/header" "$TMP/exported")" "" "the library exports every function of pssh.h"
	is "$(comm -13 "$TMP/header" "$TMP/exported")" "" "the library exports nothing else"
	is "$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /@@PSSH_/ { print $3 }')" "" "every export has a version"
	is "$(nm "$library" | awk '$2 ~ /[BDC]/ { print $3 }' | grep -Ev '^(__|_|completed|DW\.ref)' | grep -v asan)" "" \
		"the library has no variable that other files see"
else
	skip "the shared library is not built"
fi
done_testing

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pssh.h stands alone, in C and in C++; every other header compiles with nothing before it.
. "$(dirname "$0")/../lib/tap.sh"
CC=${CC:-cc}

strict="-Wall -Wextra -pedantic -Werror -Wshadow -Wundef -Wstrict-prototypes"
echo '#include <pssh.h>
int main(void) { return pssh_strerror(PSSH_EAUTH) == 0; }' >"$TMP/alone.c"
for std in c89 c99 c11 c17 gnu17; do
	ok "pssh.h as $std" $CC -std=$std $strict -I"$SRC/lib/pssh" -fsyntax-only "$TMP/alone.c"
done
cp "$TMP/alone.c" "$TMP/alone.cc"
cxx=${CXX:-$(command -v c++ || command -v g++ || command -v clang++ || :)}
for std in c++98 c++11 c++17; do
	if [ -n "$cxx" ]; then
		ok "pssh.h as $std" $cxx -std=$std -Wall -Wextra -pedantic -Werror -I"$SRC/lib/pssh" -fsyntax-only "$TMP/alone.cc"
	else
		skip "no C++ compiler"
	fi
done

version=$(sed -n 's/^AC_INIT(\[nanopod\], \[\([^]]*\)\].*/\1/p' "$SRC/configure.ac")
echo '#include <pssh.h>
PSSH_VERSION_MAJOR.PSSH_VERSION_MINOR.PSSH_VERSION_PATCH' >"$TMP/version.c"
is "$($CC -E -P -I"$SRC/lib/pssh" "$TMP/version.c" | tail -n 1 | tr -d ' ')" "$version" \
	"the version in the header is that of configure.ac"
echo '#include <pssh.h>
_Static_assert(PSSH_VERSION_NUM < 0x1000000, "a version is three bytes");
_Static_assert(sizeof(void *) != 8 || sizeof(struct pssh_event) == 176, "members take reserved places");
int main(void) { return 0; }' >"$TMP/size.c"
ok "an event keeps its size in every version" $CC -std=c17 -I"$SRC/lib/pssh" -fsyntax-only "$TMP/size.c"

echo '#include <pssh.h>
#include <pssh.h>
int main(void) { return 0; }' >"$TMP/twice.c"
ok "pssh.h twice" $CC -std=c17 $strict -I"$SRC/lib/pssh" -fsyntax-only "$TMP/twice.c"

# Third-party headers may lie anywhere; their warnings are not ours.
flags=$(pkg-config --cflags libssh2 libcrypto yaml-0.1 readline 2>/dev/null)
cd "$SRC" || exit 99
for header in $(find lib cli -name '*.h' | LC_ALL=C sort); do
	printf '#include "%s"\n#include "%s"\n' "$header" "$header" >"$TMP/one.c"
	ok "$header needs nothing before it" $CC -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$SRC" -I"$SRC/lib" $flags \
		-fsyntax-only "$TMP/one.c"
done
done_testing

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library as a dependency: installed alone, found by pkg-config, in other loops, languages and ways of linking. Each
# program runs a command on a real sshd.
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/sshd.sh"
need pkg-config make
[ -e "$BUILD/libpssh.la" ] || skip_all "libpssh is not built"
sshd_available || skip_all "sshd is not installed (Debian: openssh-server)"
CC=${CC:-cc}
unset MAKEFLAGS MFLAGS MAKELEVEL GNUMAKEFLAGS

targets='install-libLTLIBRARIES install-includeHEADERS install-pkgconfigDATA'
[ ! -e "$BUILD/libpssh.a" ] || targets="$targets install-archiveDATA"
ok "the library is installed" make -C "$BUILD" $targets DESTDIR="$TMP/root" || done_testing
pc=$(find "$TMP/root" -name libpssh.pc)
libdir=$(dirname "$(find "$TMP/root" -name libpssh.so)")
PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$TMP/root LD_LIBRARY_PATH=$libdir
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH
own=$(pkg-config --cflags --libs libpssh)
sanitizer=
! nm -D "$libdir/libpssh.so" | grep -q ' U __asan_init' || sanitizer=-fsanitize=address,undefined

# Flags of packages that lie where the system has them.
system_flags() { env -u PKG_CONFIG_PATH -u PKG_CONFIG_SYSROOT_DIR pkg-config "$@" 2>/dev/null; }

sshd_up 1
mkdir "$TMP/out" && cd "$TMP/out" || exit 99

# works NAME PROGRAM…: it runs a command, passes on its output, and exits as the command did.
works() {
	works_name=$1; shift
	run "$@" 'echo it works; exit 6'
	is "$out $status" "it works 6" "$works_name runs a command on a real sshd" || diag "$err"
}

# consumer NAME SOURCE FLAGS…
consumer() {
	name=$1 source=$2; shift 2
	ok "$name builds" $CC -Wall -Wextra -Werror $sanitizer -o "$name" "$source" "$@" || return
	works "$name" "./$name" "$SSHD_CONFIG" n1
}

if flags=$(system_flags --cflags --libs glib-2.0); then
	consumer glib "$SRC/tests/consumers/glib.c" $own $flags
else
	skip "GLib is not installed (Debian: libglib2.0-dev)"
fi
if flags=$(system_flags --cflags --libs libuv); then
	consumer uv "$SRC/tests/consumers/uv.c" $own $flags
else
	skip "libuv is not installed (Debian: libuv1-dev)"
fi
cxx=${CXX:-$(command -v c++ || command -v g++ || command -v clang++ || :)}
if [ -n "$cxx" ]; then
	CC=$cxx consumer raii "$SRC/tests/consumers/raii.cc" -std=c++11 -pthread $own
else
	skip "no C++ compiler"
fi
if [ -e "$libdir/libpssh.a" ]; then
	is "$(nm -g --defined-only "$libdir/libpssh.a" | awk 'NF == 3 && $3 !~ /^pssh_/ && $3 !~ /asan|ubsan/ { print $3 }')" "" \
		"libpssh.a shows no name but its own"
	private=$(system_flags --libs libssh2 libcrypto)
	consumer static "$SRC/tests/consumers/static.c" $(pkg-config --cflags libpssh) "$libdir/libpssh.a" $private -pthread
	ok "it needs no libpssh.so" sh -c '! ldd ./static | grep libpssh'
	like "$(pkg-config --static --libs libpssh | xargs)" '-lpssh.*-pthread.*-lssh2|-lpssh.*-lssh2.*-pthread' "pkg-config --static knows what it needs"
else
	skip "there is no libpssh.a: objcopy is missing"
fi
if ! python3 -c 'import cffi' 2>/dev/null; then
	skip "cffi is not installed (Debian: python3-cffi)"
elif [ -n "$sanitizer" ]; then
	skip "Python cannot load a library of the development build"
else
	works "pssh_cffi.py" python3 "$SRC/examples/pssh_cffi.py" "$SSHD_CONFIG" n1 --
fi
done_testing

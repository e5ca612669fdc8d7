#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The examples are what a stranger would build: against an installed copy, with the one header and
# pkg-config, and nothing of this tree in sight. They have to work, too.
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/sshd.sh"
need pkg-config make
[ -e "$BUILD/libpssh.la" ] || skip_all "libpssh is not built"
CC=${CC:-cc}
unset MAKEFLAGS MFLAGS MAKELEVEL GNUMAKEFLAGS

# The build folder itself may be in use by other tests: only install from it.
ok "make install" make -C "$BUILD" install DESTDIR="$TMP/root" || done_testing
pc=$(find "$TMP/root" -name libpssh.pc)
libdir=$(dirname "$(find "$TMP/root" -name libpssh.so)")
is "$(find "$TMP/root" -name '*.h' | sed 's,.*/,,' | sort | xargs)" "pssh.h pssh_types.h" "pssh.h is installed, with the types that it includes"
ok "libpssh.pc is installed" test -s "$pc"
is "$(find "$TMP/root" -path '*/doc/libpssh/examples/*' -name '*.c' | wc -l)" "$(ls "$SRC"/examples/*.c | wc -l)" \
	"the examples are installed"
PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$TMP/root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
is "$(pkg-config --modversion libpssh)" "$(sed -n 's/^AC_INIT(\[nanopod\], \[\([^]]*\)\].*/\1/p' "$SRC/configure.ac")" \
	"pkg-config knows the version"
is "$(pkg-config --libs libpssh | tr ' ' '\n' | grep '^-l')" "-lpssh" "a program links libpssh, and not what it needs itself"
flags=$(pkg-config --cflags --libs libpssh)

# A library of the development build wants its sanitizer in the program as well.
if nm -D "$libdir/libpssh.so" | grep -q ' U __asan_init'; then
	flags="$flags -fsanitize=address,undefined"
fi

mkdir "$TMP/out"
# The program that README.md shows is one of them.
awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$SRC/README.md" >"$TMP/readme.c"
for source in "$SRC"/examples/*.c "$TMP/readme.c"; do
	name=$(basename "$source" .c)
	cp "$source" "$TMP/out/" # nothing beside it
	ok "$name.c builds" sh -c "cd '$TMP/out' && $CC -Wall -Wextra -Werror -o '$name' '$name.c' $flags -MMD"
	ok "$name.c sees the installed header" grep -q "$TMP/root" "$TMP/out/$name.d"
	not_ok "$name.c sees nothing of this tree" grep -qF "$SRC/lib" "$TMP/out/$name.d"
done

LD_LIBRARY_PATH=$libdir
export LD_LIBRARY_PATH
ok "the installed nanopod runs" "$(find "$TMP/root" -name nanopod -type f -perm -u+x | head -n 1)" --version
if ! sshd_available; then
	skip "sshd is not installed (Debian: openssh-server)"
elif [ -x "$TMP/out/hello" ]; then
	sshd_up 3
	# The programs read ~/.ssh of whoever runs them: here this one.
	mkdir -m 700 -p "$HOME/.ssh"
	cp "$SSHD_CONFIG" "$HOME/.ssh/config"
	run "$TMP/out/hello" n1 'echo it works'
	is "$out" "it works" "examples/hello runs a command on a real sshd" || diag "$err"
	is "$status" 0 "examples/hello exits with 0"

	accepted() { grep -c '^Accepted publickey' "$SSHD_DIR/sshd.log"; }
	before=$(accepted)
	printf 'echo one\necho two; exit 3\n' | timeout 60 "$TMP/out/ownloop" n1 n2 >"$TMP/loop.out" 2>"$TMP/loop.err"
	is $? 0 "examples/ownloop ends with its input" || diag "$(cat "$TMP/loop.err")"
	is "$(sort "$TMP/loop.out")" "$(printf 'n%s\n' '1: exit status 0' '1: exit status 3' '1: one' '1: two' \
		'2: exit status 0' '2: exit status 3' '2: one' '2: two')" "examples/ownloop runs each line on each host"
	is "$(($(accepted) - before))" 2 "examples/ownloop connects to each host once"

	run timeout 60 "$TMP/out/manyhosts" 'n[1-3]!n2' 1 'echo out; echo err >&2'
	is "$status $out" "0 n1: out
n3: out" "examples/manyhosts runs a command on a range of hosts, one at a time" || diag "$err"
	is "$err" "n1: err
n3: err
0 of 2 hosts failed" "examples/manyhosts labels both streams and sums up"
	run timeout 60 "$TMP/out/manyhosts" 'n[1-3]' 16 "case \$SSH_CONNECTION in *' $SSHD_NET.1 '*) ;; *) exit 4 ;; esac"
	is "$status $(printf '%s\n' "$err" | sort | xargs)" \
		"1 2 of 3 hosts failed: n[2-3] n2: exit status 4 n3: exit status 4" "examples/manyhosts names who failed"
	if command -v openssl >/dev/null 2>&1; then
		# Only the key that openssl holds, as it stands for a token, signs in.
		ssh-keygen -q -m PEM -t ecdsa -N '' -f "$TMP/token.pem"
		cat "$TMP/token.pem.pub" >>"$SSHD_DIR/authorized_keys"
		sed '/IdentityFile/d' "$SSHD_CONFIG" >"$HOME/.ssh/config"
		run "$TMP/out/signer" n1 "$TMP/token.pem.pub" "openssl dgst -sha\$BITS -sign $TMP/token.pem" 'echo signed'
		is "$out" signed "examples/signer signs in by another program" || diag "$err"
		run "$TMP/out/signer" n1 "$TMP/token.pem.pub" false 'echo signed'
		like "$err" "the program declined" "and tells when that fails"
	else
		skip "openssl is not installed"
	fi
else
	fail "examples/hello is there"
fi
done_testing

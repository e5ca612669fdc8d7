#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How often a command waits for a server that is far away, beside ssh and scp in the same run. A busy machine adds
# round trips and never takes any away, so the fewest of three counts, or of twelve where those are too many.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

sshd_setup
command -v ssh >/dev/null && command -v scp >/dev/null || skip_all "ssh is not installed (Debian: openssh-client)"
cd "$TMP" || exit 99
printf '%s %s\n' far "$(cut -d' ' -f1,2 "$SSHD_DIR/host.pub")" >"$SSHD_KNOWN"
{ printf 'Host far\n  ProxyCommand %s 40 %s %s\n' "$BUILD/tests/lib/turns" "$TMP/trips" "$SSHD_PROXY"; cat "$SSHD_CONFIG"; } >far

# trips MOST COMMAND…: the round trips of a command, in tenths.
trips() {
	most=$1 fewest=
	shift
	for turn in 1 2 3 4 5 6 7 8 9 10 11 12; do
		[ $turn -le 3 ] || [ "$fewest" -gt "$most" ] || break
		: >trips
		timeout 60 "$@" </dev/null >out 2>err || { diag "$* failed: $(cat err)"; echo 9999; return; }
		n=$(($(cat trips) * 5))
		[ -n "$fewest" ] && [ "$fewest" -le "$n" ] || fewest=$n
	done
	echo "$fewest"
}

# few WHAT MOST OURS THEIRS
few() {
	diag "$1: $(($3 / 10)).$(($3 % 10)) round trips; OpenSSH's $(($4 / 10)).$(($4 % 10))"
	ok "$1 takes at most $(($2 / 10)).$(($2 % 10)) round trips" [ "$3" -le "$2" ]
	ok "fewer than OpenSSH's" [ "$3" -lt "$4" ]
}

few "a command" 60 "$(trips 60 "$NANOPOD" run -q -F far -w far -- true)" "$(trips 9999 ssh -F far far true)"
head -c 100000 /dev/urandom >file
few "a file" 120 "$(trips 120 "$NANOPOD" cp -q -F far file "far:$TMP/there")" \
	"$(trips 9999 scp -q -F far file "far:$TMP/scp")"
ok "which came whole" cmp file there
done_testing

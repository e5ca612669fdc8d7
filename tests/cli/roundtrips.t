#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How often a command waits for a server that is far away, beside ssh and scp in the same run. A busy machine adds
# round trips and never takes any away, so the fewest of three counts.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

sshd_setup
command -v ssh >/dev/null && command -v scp >/dev/null || skip_all "ssh is not installed (Debian: openssh-client)"
cd "$TMP" || exit 99
printf '%s %s\n' far "$(cut -d' ' -f1,2 "$SSHD_DIR/host.pub")" >"$SSHD_KNOWN"
{ printf 'Host far\n  ProxyCommand %s 40 %s %s\n' "$BUILD/tests/lib/turns" "$TMP/trips" "$SSHD_PROXY"; cat "$SSHD_CONFIG"; } >far

# The round trips of a command, in tenths.
trips() {
	fewest=
	for _ in 1 2 3; do
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

few "a command" 60 "$(trips "$NANOPOD" run -q -F far -w far -- true)" "$(trips ssh -F far far true)"
head -c 100000 /dev/urandom >file
few "a file" 120 "$(trips "$NANOPOD" cp -q -F far file "far:$TMP/there")" "$(trips scp -q -F far file "far:$TMP/scp")"
ok "which came whole" cmp file there
done_testing

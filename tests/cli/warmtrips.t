#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How often a command over a kept connection waits for a server that is far away, beside ssh over a ControlMaster in
# the same run. A busy machine adds round trips and never takes any away, so the fewest of three counts, or of nine where
# these are more than there may be.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

sshd_setup
command -v ssh >/dev/null || skip_all "ssh is not installed (Debian: openssh-client)"
cd "$TMP" || exit 99
mkdir -m 700 run && export XDG_RUNTIME_DIR=$TMP/run
"$BUILD/tests/lib/turns" -l port 40 trips $SSHD_PROXY &
turns=$!
at_exit "kill $turns 2>/dev/null; '$NANOPOD' keep stop 2>/dev/null; ssh -F far -O exit far 2>/dev/null"
wait_for 20 test -s port || { fail "the long way listens"; done_testing; }
port=$(cat port)
printf '[127.0.0.1]:%s %s\n' "$port" "$(cut -d' ' -f1,2 "$SSHD_DIR/host.pub")" >"$SSHD_KNOWN"
{
	printf 'Host far\n  HostName 127.0.0.1\n  Port %s\n  ControlPath %s/master\n' "$port" "$TMP"
	cat "$SSHD_CONFIG"
} >far
ours() { timeout 60 "$NANOPOD" run -q -F far --keep 10m -w far -- "$@"; }
theirs() { timeout 60 ssh -F far far "$@"; }

# trips CONNECTION COMMAND...: the round trips of a command, in tenths, of that connection's count.
trips() {
	of=trips.$1; shift
	fewest=
	for try in 1 2 3 4 5 6 7 8 9; do
		[ $try -le 3 ] || [ "$fewest" -gt 20 ] || break
		before=$(cat "$of")
		"$@" </dev/null >out 2>err || { diag "$* failed: $(cat err)"; echo 9999; return; }
		n=$((($(cat "$of") - before) * 5))
		[ -n "$fewest" ] && [ "$fewest" -le "$n" ] || fewest=$n
	done
	echo "$fewest"
}

# few WHAT MOST OURS THEIRS
few() {
	diag "$1: $(($3 / 10)).$(($3 % 10)) round trips; ControlMaster's $(($4 / 10)).$(($4 % 10))"
	ok "$1 takes at most $2 round trips" [ "$3" -le $(($2 * 10)) ]
	ok "no more than over a ControlMaster" [ "$3" -le "$4" ]
}

run_is 0 "a command that leaves its connection" ours true
run_is 0 "and a ControlMaster" timeout 60 ssh -f -N -M -F far far
ok "are two connections" [ "$(ls trips.* | wc -l)" -eq 2 ]
few "the next command" 2 "$(trips 1 ours true)" "$(trips 2 theirs true)"
few "one that reads to the end of its input" 2 "$(trips 1 ours cat)" "$(trips 2 theirs cat)"
few "one that writes" 2 "$(trips 1 ours 'seq 2000')" "$(trips 2 theirs 'seq 2000')"
ok "all on these two connections" [ "$(ls trips.* | wc -l)" -eq 2 ]
done_testing

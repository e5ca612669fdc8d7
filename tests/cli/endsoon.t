#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shortly before the end of a node that a command uses, one line says how to keep it: on a terminal, from what is known.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
# The command compares with the clock of this machine.
NOW=$(($(date +%s) / 60 * 60))
nodes_up 1
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
np() { "$NANOPOD" "$@"; }
run_is 0 "(a reservation that ends soon)" np buy -t h100 -n 2 -d 10m -p 3.10 -y --no-wait --name short --ssh-key "$SSHD_KEY.pub"
clock $((NOW + 121))
node_runs short-0 1
node_runs short-1 1
echo text >"$TMP/file"
: >"$TMP/say"
# On a terminal; what it showed, in $out.
shown() { run "$PTY" "$TMP/say" "$NANOPOD" "$@"; }
SOON="'short' ends in [0-9]+m( [0-9]+s)?; 'nanopod extend short -d 1h' keeps its nodes"
lines() { printf '%s\n' "$out" | grep -c 'nanopod extend'; }

shown run $WHERE -r short -- echo there
like "$out" "$SOON" "run says it"
is "$(lines)" 1 "once"
like "$out" 'short-1: there' "and runs"
run "$PTY" "$TMP/say" env -u NANOPOD_TOKEN NANOPOD_URL="unix:$MARKETD_SOCKET" "$NANOPOD" ls --account acme
like "$out" '^short ' "(an operator sees it)"
is "$(lines)" 0 "the operator, who extends nobody's, hears nothing"
shown run $WHERE -r short -q -- echo there
is "$(lines)" 0 "not with -q"
shown run $WHERE -r train -- echo there
is "$(lines)" 0 "nor of another reservation"
shown run $WHERE -w short-0,train-0 -- echo there
is "$(lines)" 1 "of several it says the one that ends first"
shown ssh $WHERE short-0 -- echo there
like "$out" "$SOON" "ssh says it"
shown cp $WHERE "$TMP/file" "short-0:$TMP/sent"
like "$out" "$SOON" "cp says it"
shown cp $WHERE -q "$TMP/file" "short-0:$TMP/sent"
is "$(lines)" 0 "not with -q"
shown logs $WHERE short-0 "$TMP/file" -n 1
like "$out" "$SOON" "logs says it"
run_is 0 "without a terminal" np run $WHERE -r short -- echo there
is "$err" "" "nobody is told"
trade_between plain
np run $WHERE -r short -- true >/dev/null 2>&1
without=$(grep -c . "$BETWEEN_LOG")
: >"$BETWEEN_LOG"
shown run $WHERE -r short -- true
like "$out" "$SOON" "told"
is "$(grep -c . "$BETWEEN_LOG")" "$without" "without a request more"
done_testing

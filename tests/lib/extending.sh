# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# For tests of an extend --auto-extend in the background, after trade_start: one hour a time, beyond a proxy that may fail.
trade_between
cd "$TMP" || exit 99
np() { timeout -k 5 60 "$NANOPOD" "$@"; }
HOUR_COSTS=14400000
schedule() { market GET '/v2/pools?limit=200' | jq -r --arg n "$1" '.data[] | select(.name == $n) | '"$2"; }
pool() { schedule "$1" .id; }
# auto NAME ARGUMENT…: extends NAME in the background.
auto() {
	name=$1; shift
	rm -f "$name.err"
	"$NANOPOD" extend "$name" -y "$@" >"$name.out" 2>"$name.err" & pid=$!
	at_exit "kill $pid 2>/dev/null"
}
gone() { ! kill -0 $pid 2>/dev/null || grep -q '^State:.Z' /proc/$pid/status; }
killed() { kill -9 $pid; wait $pid; } 2>/dev/null
ends() { wait_for 60 gone || kill -9 $pid; wait $pid; status=$?; err=$(cat "$name.err"); }
said() { ok "it says: $1" wait_for 20 grep -Eq -e "$1" "$name.err" || diag "$(cat "$name.err")"; }

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A market that accepts connections and does not answer: who waits is told, and a command that only reads gives up.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
[ -x "$PTY" ] || skip_all "tests/lib/pty is not built"
trade_start 1
at_exit 'kill -CONT $MARKETD_PID 2>/dev/null'
kill -STOP "$MARKETD_PID"

# What it takes a read to give up passes beside the rest.
timeout 120 "$NANOPOD" ls >"$TMP/gave-up" 2>&1 &
reader=$!

printf '%s\n' 'expect waiting for the market' 'send \x03' >"$TMP/script"
run "$PTY" "$TMP/script" "$NANOPOD" buy -t h100 -n 1 -d 1h -p 2 -y
is "$status" 130 "on a terminal a command says what it waits for, and Ctrl-C ends it" || diag "$out"

wait "$reader"
is "$?" 8 "off a terminal a command that reads gives up"
like "$(cat "$TMP/gave-up")" "did not answer within 15 s" "and says after how long"
unlike "$(cat "$TMP/gave-up")" "waiting" "and nothing before"

printf '%s\n' 'expect waiting for the market' 'send \n' 'expect \r\e[K' >"$TMP/script"
run "$PTY" "$TMP/script" sh -c "'$NANOPOD' types & read line; kill -CONT $MARKETD_PID; wait \$!"
is "$status" 0 "once the market answers, so does the command, and the line goes" || diag "$out"
like "$out" "h100" "(what it answers)"

done_testing

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nobody buys what the plan did not show: prices and the book change while the question of `buy` stands.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty} LATE=$BUILD/tests/lib/.libs/slept.so
[ -x "$PTY" ] && [ -f "$LATE" ] || skip_all "tests/lib/pty and slept are not built"
trade_start 3
cd "$TMP" || exit 99
export LATER="$TMP/later"
marketd_account other 10000.00
OTHER=$(marketd_token other)
mkfifo say

# asked OPTION…: `buy` with these stands at its question; no time has passed. What it shows goes to ./shown.
asked() {
	echo 0 >later
	: >shown
	exec 3<>say
	echo 'expect Buy it?' >&3
	"$PTY" say env LD_PRELOAD="$LATE" ASAN_OPTIONS=verify_asan_link_order=0 "$NANOPOD" buy -t richmond "$@" --no-wait >shown 2>&1 3>&- &
	asked_pid=$!
	wait_for 20 grep -q 'Buy it?' shown || diag "$(cat shown)"
	asked_at=$(date +%s)
}
# decided SECONDS STEP…: so long after that come these steps of tests/lib/pty. $status is that of the command.
decided() {
	echo "$1" >later
	shift
	printf '%s\n' "$@" >&3
	exec 3>&-
	status=0
	wait $asked_pid || status=$?
}
# What it showed, on one line.
words() { tr -s '\r\n ' ' ' <shown; }
# Somebody else takes one of the three cheap hosts at that hour.
taken() { NANOPOD_TOKEN=$OTHER "$NANOPOD" buy -t richmond -d 1h -s "$1" -p 1.80 --no-instances -y >taken 2>&1 || diag "$(cat taken)"; }

asked -n 3 -d 1h -s +3h -p 3.10
taken +3h
before=$(orders_count)
decided 11 'send yes\n' 'expect price changed while you' 'expect $52.80 now' 'expect Buy it?' 'send no\n'
is "$status $(orders_count)" "1 $before" "a price that rose is told, and the plan with it asks again"
like "$(words)" 'the price changed while you decided: it was .43.20 and is .52.80' "with both prices"
like "$(words)" 'Cancelled; nothing was changed' "no means no"

asked -n 3 -d 1h -s +6h -p 3.10
taken +6h
decided 11 'send yes\n' 'expect $52.80 now' 'expect Buy it?' 'send yes\n'
is "$status $(($(orders_count) - before))" "0 1" "yes to that buys"
is "$(market GET '/v2/orders?limit=1' | jq -r '.data[0].status')" filled "what was shown"

asked -n 3 -d 1h -s +9h -p 2.00
taken +9h
before=$(orders_count)
decided 11 'send yes\n'
is "$status $(orders_count)" "6 $before" "what the limit does not buy any more is not ordered"
like "$(words)" "cannot buy 3 nodes of 'richmond' at .2.00 per GPU-hour" "which is said"

asked -n 3 -d 1h -s +12h -p 2.00 --standing
taken +12h
before=$(orders_count)
decided 11 'send yes\n' 'expect market changed while you' 'expect Buy it?' 'send no\n'
is "$status $(orders_count)" "1 $before" "an order that would stand in place of filling asks again"
like "$(words)" 'while you decided: now nothing fills at once' "and says why"

asked -n 1 -d 1h -s +15h -p 3.10
offer "$(host cheaper "$SKU")" 8.000000 >offered
before=$(orders_count)
decided 11 'send yes\n'
is "$status $(($(orders_count) - before))" "0 1" "a price that fell asks nothing again"
is "$(grep -c 'Buy it?' shown)" 1 "once is enough"
is "$(market GET '/v2/orders?limit=200' | jq -r '[.data[] | select(.side == "buy")] | max_by(.created_at, .id) | .status')" filled "and it is bought"

asked -n 3 -d 1h -s +18h -p 3.10
taken +18h
decided $((5 - ($(date +%s) - asked_at))) 'send yes\n' # what the other purchase took is a part of the five seconds
is "$status" 0 "who decides within ten seconds is not asked again"
unlike "$(words)" 'while you decided' "nor told anything"
done_testing

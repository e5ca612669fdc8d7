#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same command continues a purchase that was cut off at any step: by a cut connection, kill -9 or Ctrl-C.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 4
trade_between
cd "$TMP" || exit 99
FIRST=$((NOW + 60)) at=0
buy() { timeout -k 5 100 "$NANOPOD" buy -t richmond -n 2 -d 90m -p 2.10 -y "$@"; }
# Each purchase has its own window, so that they do not compete for hosts.
next() { at=$((at + 1)) W=$((FIRST + at * 2 * HOUR)); }
orders_at() { market GET '/v2/orders?limit=200' | jq "[.data[] | select(.allocation_schedule_delta[0].start_at == $1)] | length"; }

# once STEP PATH HOW: after HOW cut the step off, the same command bought it once.
once() {
	rules_off
	run_is 0 "$1 $3: the same command finishes it" buy -s @$W
	like "$err" 'replayed|continues' "$1 $3: says that it continues it"
	is "$(orders_at $W) $(instances_of "$out") $(intents)" "1 2 0" "$1 $3: one order, two nodes, nothing left"
}

for step in pool=/v2/pools order=/v2/orders node=/v2/instances; do
	for how in cut-before cut-after; do
		next
		rule "$how POST ${step#*=}"
		run buy -s @$W
		case $status in 8|10) pass "${step%%=*} $how: it may be done, and is repeated: $status" ;;
		*) fail "${step%%=*} $how: status $status"; diag "$err" ;; esac
		like "$err" 'same command again' "${step%%=*} $how: says what to type"
		is "$(intents)" 1 "${step%%=*} $how: what was begun is on disk"
		once "${step%%=*}" "${step#*=}" "$how"
	done
done

# kill -9 while it waits for an answer.
for step in pool=/v2/pools order=/v2/orders node=/v2/instances; do
	for how in hang-before hang-after; do
		next
		rule "$how POST ${step#*=}"
		: >"$BETWEEN_LOG"
		"$NANOPOD" buy -t richmond -n 2 -d 90m -p 2.10 -y -s @$W >/dev/null 2>&1 &
		pid=$!
		wait_for 20 grep -q "^POST ${step#*=}" "$BETWEEN_LOG" || fail "${step%%=*} $how: got there"
		kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
		is "$(intents)" 1 "${step%%=*} kill -9 $how: what was begun is on disk"
		is "$(stat -c %a "$HOME"/.local/state/nanopod/intents/*)" 600 "for this person alone"
		once "${step%%=*}" "${step#*=}" "kill -9 $how"
	done
done

# Ctrl-C while a request is under way.
next
rule "hang-after POST /v2/orders"
: >"$BETWEEN_LOG"
"$NANOPOD" buy -t richmond -n 2 -d 90m -p 2.10 -y -s @$W >ctrl.out 2>ctrl.err &
pid=$!
wait_for 20 grep -q "^POST /v2/orders" "$BETWEEN_LOG"
kill -INT $pid
wait $pid; status=$?
is "$status" 130 "Ctrl-C: 130"
like "$(cat ctrl.err)" "cannot tell whether the order for 'r-.*' was placed" "says what is not known"
like "$(cat ctrl.err)" "same command again" "and what to type"
once order /v2/orders "Ctrl-C"

# The second try sends the same keys.
next
rule "cut-after POST /v2/orders"
: >"$BETWEEN_LOG"
run buy -s @$W
rules_off
run buy -s @$W
is "$(grep '^POST /v2/orders' "$BETWEEN_LOG" | cut -d' ' -f3 | sort -u | grep -c '^np-')" 1 "one key for one order, however often it is sent"

# After one lost answer the client itself sends the request again, with the same key.
next
rule "cut-first POST /v2/orders"
: >"$BETWEEN_LOG"
run_is 0 "one lost answer" buy -s @$W
like "$err" 'replayed' "is asked for again, and the market says that it knows it"
is "$(asked POST /v2/orders) $(orders_at $W) $(intents)" "2 1 0" "two requests, one order"

# A proxy that gives up waiting does not know what the market did.
for status_of_proxy in 502 503 504; do
	next
	rule "page-after=$status_of_proxy POST /v2/orders"
	run_is 8 "a proxy's own $status_of_proxy" buy -s @$W
	like "$err" "cannot tell whether the order for 'r-.*' was placed: a proxy answered $status_of_proxy" "is named as such"
	unlike "$err" "nothing was done" "and is no word of the market's"
	is "$(orders_at $W) $(intents)" "1 1" "(it was done, and is kept)"
	rules_off
	run_is 0 "the same command again" buy -s @$W
	like "$err" 'replayed' "hears what the market did"
	is "$(orders_at $W) $(intents)" "1 0" "which was done once"
done

# A market that cannot answer now says nothing of what was sent before.
pool='{"name":"once","workspace":"default"}'
: >"$BETWEEN_LOG"
rule "cut-after POST /v2/pools"
run_is 8 "a request whose answer is lost" timeout 60 "$NANOPOD" api POST /v2/pools "$pool"
rule "status=503 POST /v2/pools"
run_is 8 "again, of a market that cannot write" timeout 60 "$NANOPOD" api POST /v2/pools "$pool"
like "$err" "may have been done; the same command" "leaves it open"
is "$(intents)" 1 "and kept"
rules_off
run_is 0 "and again" timeout 60 "$NANOPOD" api POST /v2/pools "$pool"
is "$(intents) $(grep '^POST /v2/pools' "$BETWEEN_LOG" | cut -d' ' -f3 | sort -u | grep -c '^np-')" "0 1" "by one key throughout"

# Other commands, and --new.
next
rule "cut-after POST /v2/orders"
run buy -s @$W
rules_off
run_is 0 "another limit is another purchase" buy -s @$W -p 2.11
unlike "$err" 'replayed' "which replays nothing"
run_is 0 "orders names the first" "$NANOPOD" orders
like "$err" "not finished: 'nanopod buy .*continues it" "with the command that continues it"
run_is 0 "-y, -o and the like do not make another command" timeout 60 "$NANOPOD" buy -o name -y -p 2.10 -d 90m -n 2 -t richmond -s @$W
like "$err" 'replayed' "it is continued"
is "$(orders_at $W)" 2 "two purchases, two orders"
next
rule "cut-after POST /v2/orders"
run buy -s @$W
rules_off
run_is 0 "--new begins another" buy -s @$W --new
is "$(orders_at $W)" 2 "on purpose"
run_is 0 "and the first can still be finished" buy -s @$W
is "$(orders_at $W) $(intents)" "2 0" "once"
run_is 6 "after that the same command is a new one, and there is nothing left" buy -s @$W

# The same command twice at the same time makes two purchases.
next
timeout 60 "$NANOPOD" buy -t richmond -d 90m -p 2.10 -y -s @$W >two.1 2>&1 &
pid=$!
timeout 60 "$NANOPOD" buy -t richmond -d 90m -p 2.10 -y -s @$W >two.2 2>&1
wait $pid
is "$(orders_at $W) $(intents)" "2 0" "two at once are two"

# A command that cannot write its file sends nothing.
next
before=$(orders_count) pools=$(pools_count)
run_is 1 "no place to write" env XDG_STATE_HOME=/proc/nowhere "$NANOPOD" buy -t richmond -d 90m -p 2.10 -y -s @$W
like "$err" 'nothing was sent' "is said"
is "$(orders_count) $(pools_count)" "$before $pools" "and nothing was"

# On disk before it leaves: each body is written and synced before the request that carries it.
if have strace && strace -o /dev/null true 2>/dev/null; then
	next
	run_is 0 "watched" env ASAN_OPTIONS=detect_leaks=0 strace -f -s 80 -e trace=write,fsync,sendto,sendmsg -o trace \
		"$NANOPOD" buy -t richmond -n 2 -d 90m -p 2.10 -y -s @$W
	is "$(awk '
		/write\(.*"(nanopod-intent|pool\.body|order\.body|node-[01]\.body)/ { unsynced = 1; written++ }
		/fsync\(/ { unsynced = 0 }
		/send(to|msg)\(.*POST \/v2\/(pools|orders|instances)/ { sent++; if (unsynced || written < sent + 1) print "too early: " $0 }
		END { print sent + 0 " requests" }' trace)" "4 requests" "every request that makes something is on disk before it leaves"
else
	skip "strace cannot be used here"
fi

# Nothing was sent, so there is nothing to continue.
next
saved=$NANOPOD_URL
rule "status=503 POST /v2/pools"
run_is 8 "a market that cannot write" buy -s @$W
is "$(intents)" 0 "has done nothing, and nothing is left"
rule "cut-before GET /np/v1/whoami"
run_is 8 "a market that goes away early" buy -s @$W
is "$(intents)" 0 "was asked for nothing"
rules_off
NANOPOD_URL=http://127.0.0.1:1
run_is 8 "a market that is not there" buy -s @$W
is "$(intents)" 0 "was asked for nothing either"
NANOPOD_URL=$saved

# The window has begun: what cannot have been bought starts over, with its full time.
rule "hang-before POST /v2/orders"
: >"$BETWEEN_LOG"
"$NANOPOD" buy -t richmond -n 2 -d 90m -p 2.10 -y >/dev/null 2>&1 &
pid=$!
wait_for 20 grep -q '^POST /v2/orders' "$BETWEEN_LOG"
kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
rules_off
clock $((NOW + 600))
run_is 0 "ten minutes later" buy
like "$err" 'starts over: .*nothing was bought' "it starts over"
is "$(market GET '/v2/orders?limit=1&sort_by=-created_at' | jq -c '.data[0].allocation_schedule_delta[0] | [.start_at, .end_at]')" \
	"[$((NOW + 660)),$((NOW + 660 + 5400))]" "for ninety minutes from now"
is "$(intents)" 0 "nothing is left"
rule "hang-after POST /v2/orders"
: >"$BETWEEN_LOG"
"$NANOPOD" buy -t richmond -n 1 -d 91m -p 2.10 -y >/dev/null 2>&1 &
pid=$!
wait_for 20 grep -q '^POST /v2/orders' "$BETWEEN_LOG"
kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
rules_off
clock $((NOW + 1200))
before=$(orders_count)
run_is 0 "but what was bought before" timeout 60 "$NANOPOD" buy -t richmond -n 1 -d 91m -p 2.10 -y
like "$err" 'replayed' "is found"
is "$(orders_count) $(intents)" "$before 0" "and not bought again"

# The market itself is lost after it took the order, and comes back.
rules_off
W=$((FIRST + 150 * HOUR))
rule "hang-after POST /v2/orders"
: >"$BETWEEN_LOG"
"$NANOPOD" buy -t richmond -n 2 -d 90m -p 2.10 -y -s @$W >/dev/null 2>&1 &
pid=$!
wait_for 20 grep -q '^POST /v2/orders' "$BETWEEN_LOG"
marketd_kill
kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
rules_off
front=$NANOPOD_URL back=$MARKET_URL
run_is 8 "the market is gone" buy -s @$W
is "$(intents)" 1 "what was begun is kept"
marketd_start --test-clock=$((NOW + 1200)) --listen "127.0.0.1:${back##*:}"
NANOPOD_URL=$front
run_is 0 "when it is back" buy -s @$W
like "$err" 'replayed' "it is found"
is "$(orders_at $W) $(instances_of "$out") $(intents)" "1 2 0" "one order, two nodes, nothing left"
done_testing

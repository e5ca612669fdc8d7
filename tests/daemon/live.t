#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# GET /np/v1/live, which an open page reads: events each once, also over the death of the market; samples; its pace.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"

marketd_start --test-clock=1800000000 || done_testing
marketd_account acme 100.00
marketd_account other 100.00
token=$(marketd_token acme read)
credit() { operator POST "/np/v1/accounts/${2-acme}/credits" "{\"amount_dollars\":\"$1\"}" >/dev/null; }
# live NAME [CURL OPTION…]: a page, in the background, into $TMP/NAME; $live_pid.
live() {
	live_name=$1
	shift
	curl -sS -N --max-time 600 -H 'Accept: text/event-stream' -H "Authorization: Bearer $token" "$@" \
		"$NANOPOD_URL/np/v1/live" >"$TMP/$live_name" 2>"$TMP/$live_name.err" &
	live_pid=$!
}
lines() { [ "$(grep -c "$2" "$TMP/$1")" -ge "$3" ]; }
ended() { ! kill -0 "$1" 2>/dev/null; }
ids() { sed -n 's/^id: //p' "$TMP/$1"; }

as "$token" GET /np/v1/live >/dev/null
is "$(http_status)" 422 "it is a stream and nothing else"
like "$(json .error.message <"$TMP/.body")" '/np/v1/events' "and says where lines are"
live page
page=$live_pid
ok "a page hears at once where it is" wait_for 20 lines page '^event: hello' 1
# More samples come ten seconds later.
wait_for 20 lines page '^event: samples' 1
is "$(sed -n 's/^event: //p' "$TMP/page" | head -n 2 | tr '\n' ' ')" "hello samples " "and what its nodes do, but not what was before"
is "$(sed -n '/^event: samples/{n;s/^data: //p;}' "$TMP/page" | head -n 1 | jq -c '[.at, .nodes, .more]')" '[1800000000,{},0]' "none do anything"
credit 1.00
credit 2.00 other
credit 3.00
ok "it hears what happens" wait_for 20 lines page '^event: account.credited' 2
is "$(sed -n '/account.credited/{n;s/^data: //p;}' "$TMP/page" | jq -r .amount_dollars | tr '\n' ' ')" "1.000000 3.000000 " "in its account alone"
is "$(ids page)" "$(ids page | sort -nu)" "each with its number, ascending"

# Killed while the page is open, with things that happen before it is back.
last=$(ids page | tail -n 1)
marketd_kill
ok "the market is killed, and the stream with it" wait_for 20 ended $page
marketd_start --test-clock || done_testing
credit 4.00
live back -H "Last-Event-ID: $last"
ok "who comes back hears what he missed" wait_for 20 lines back '^event: account.credited' 1
credit 5.00
ok "and goes on" wait_for 20 lines back '^event: account.credited' 2
cat "$TMP/page" "$TMP/back" >"$TMP/both"
is "$(sed -n '/account.credited/{n;s/^data: //p;}' "$TMP/both" | jq -r .amount_dollars | tr '\n' ' ')" "1.000000 3.000000 4.000000 5.000000 " "no gap, no repeat"

# Much that happens at once comes slowly: a page is not to take a line for itself.
n=0 last=$(ids back | tail -n 1)
while [ $n -lt 150 ]; do
	n=$((n + 1))
	echo "url = http://localhost/np/v1/accounts/acme/credits"
	echo 'data = "{\"amount_dollars\":\"0.01\"}"'
	echo 'header = "Content-Type: application/json"'
	echo 'output = /dev/null'
	echo "unix-socket = $MARKETD_SOCKET"
	echo next
done | sed '$d' >"$TMP/many"
curl -sS -K "$TMP/many"
begun=$(date +%s%N)
live burst -H "Last-Event-ID: $last"
burst=$live_pid
ok "all of it comes" wait_for 100 lines burst '^event: account.credited' 150
bytes=$(wc -c <"$TMP/burst") took=$((($(date +%s%N) - begun) / 1000000))
ok "at 10 kB a second, after a first piece ($bytes bytes in $took ms)" test $((bytes - 10000)) -le $((took * 10))
is "$(ids burst | sed 1d)" "$(ids burst | sed 1d | sort -nu)" "in order"
ok "what nodes do comes every ten seconds" wait_for 60 lines back '^event: samples' 2

# Bounds.
i=0 open=''
while [ $i -lt 16 ]; do i=$((i + 1)); live "many$i"; open="$open $live_pid"; done
refused() { as "$token" GET /np/v1/live '' -H 'Accept: text/event-stream' --max-time 2 >/dev/null; [ "$(http_status)" = 422 ]; }
ok "one account has a bounded number of pages" wait_for 20 refused
like "$(cat "$TMP/.body")" limit_reached "and hears why"
kill $open 2>/dev/null
not_ok "(one is open)" ended $burst
operator DELETE "/np/v1/tokens/$(operator GET '/np/v1/tokens?account=acme' | json '.data[0].id')?account=acme" >/dev/null
ok "a token that is revoked takes its pages with it" wait_for 30 ended $burst
marketd_stop
is "$marketd_status" 0 "the market ends cleanly"
done_testing

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Requests that wait for something to happen, and streams that stay open.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"

marketd_start --test-clock=1800000000 || done_testing
marketd_account acme 100.00
token=$(marketd_token acme read trade)
credit() { operator POST /np/v1/accounts/acme/credits "{\"amount_dollars\":\"$1\"}"; }
# stream NAME [CURL OPTION…] PATH: in the background, into $TMP/NAME; $stream_pid.
stream() {
	stream_name=$1; shift
	curl -sS -N --max-time 600 -H "Authorization: Bearer $token" "$@" >"$TMP/$stream_name" 2>"$TMP/$stream_name.err" &
	stream_pid=$!
}
lines() { [ "$(grep -c "$2" "$TMP/$1")" -ge "$3" ]; }
waiting() { operator GET /metrics >"$TMP/figures"; grep -q "^nanopod_http_$1 $2\$" "$TMP/figures"; }

# What is there comes at once; after it, one waits.
first=$(as "$token" GET '/np/v1/events?wait=30')
is "$(http_status)" 200 "what has happened is told at once"
is "$(http_header Content-Type)" application/x-ndjson "as lines of JSON"
seq=$(printf '%s\n' "$first" | tail -n 1 | json .seq)
like "$seq" '^[0-9]+$' "each with its number"
begin=$(date +%s)
is "$(as "$token" GET "/np/v1/events?since_seq=$seq&wait=1")" "" "where nothing happens, nothing is told"
is "$(http_status)" 200 "and that is no error"
ok "after a wait, which ended in time" test $(($(date +%s) - begin)) -le 40
stream waits "$NANOPOD_URL/np/v1/events?since_seq=$seq&wait=50"
ok "a request that waits is counted" wait_for 10 waiting waiting 1
begin=$(date +%s)
credit 1.00 >/dev/null
ok "and answered as soon as something happens" wait_for 5 lines waits account.credited 1
ok "(and not as its time ends)" test $(($(date +%s) - begin)) -le 35
wait $stream_pid
ok "once: nobody waits any more" wait_for 5 waiting waiting 0

# A stream goes on.
stream sse -H 'Accept: text/event-stream' "$NANOPOD_URL/np/v1/events?since_seq=$seq"
sse=$stream_pid
ok "a stream begins with what was missed" wait_for 10 lines sse '^data: ' 1
ok "and is counted" wait_for 5 waiting streams 1
for i in 2 3 4 5 6; do credit $i.00 >/dev/null; done
ok "and goes on with what happens" wait_for 10 lines sse '^data: ' 6
is "$(grep -c '^id: ' "$TMP/sse")" "$(grep -c '^data: ' "$TMP/sse")" "each with its number"
is "$(sed -n 's/^id: //p' "$TMP/sse")" "$(sed -n 's/^id: //p' "$TMP/sse" | sort -nu)" "ascending, none twice"
third=$(sed -n 's/^id: //p' "$TMP/sse" | sed -n 3p)
stream again -H 'Accept: text/event-stream' -H "Last-Event-ID: $third" "$NANOPOD_URL/np/v1/events"
ok "another takes up after the last that it had" wait_for 10 lines again '^data: ' 3
is "$(sed -n 's/^id: //p' "$TMP/again")" "$(sed -n 's/^id: //p' "$TMP/sse" | sed 1,3d)" "with exactly the rest"
kill $stream_pid; wait $stream_pid 2>/dev/null
ok "without a word from the market, a stream is kept alive" wait_for 20 lines sse '^:' 1

# A token that ends takes its stream with it.
id=$(operator GET '/np/v1/tokens?account=acme' | json '.data[0].id')
operator DELETE "/np/v1/tokens/$id?account=acme" >/dev/null
is "$(http_status)" 204 "the token is revoked"
credit 7.00 >/dev/null
ended() { ! kill -0 "$sse" 2>/dev/null; }
ok "and its stream ends" wait_for 10 ended
unlike "$(cat "$TMP/sse")" '"7\.000000"' "without what came after"
wait "$sse" 2>/dev/null

# Too many of one account; and the end of the market.
token=$(marketd_token acme read)
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do stream "many$i" -H 'Accept: text/event-stream' "$NANOPOD_URL/np/v1/events"; done
ok "sixteen streams of one account are open" wait_for 10 waiting streams 16
as "$token" GET '/np/v1/events' '' -H 'Accept: text/event-stream' >/dev/null
is "$(http_status)" 422 "one more is refused"
like "$(cat "$TMP/.body")" limit_reached "as too many"
begin=$(date +%s)
marketd_stop
is "$marketd_status" 0 "the market ends cleanly with streams open"
ok "and does not wait for them" test $(($(date +%s) - begin)) -le 60
done_testing

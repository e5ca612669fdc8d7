#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What happened, as lines that can be gone on with: none missing, none twice, whatever the network does.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 1
trade_between
events() { NANOPOD_OUTPUT=jsonl "$NANOPOD" events "$@"; }
credit() { operator POST /np/v1/accounts/acme/credits "{\"amount_dollars\":\"$1\"}" >/dev/null; }
amounts() { jq -r 'select(.type == "account.credited") | .amount_dollars' "$1" | tr '\n' ' '; }

run_is 0 "events" events
is "$(printf '%s\n' "$out" | jq -r .type)" account.credited "what happened so far"
is "$(printf '%s\n' "$out" | jq -r '(.at | todate) == .time')" true "with its time in both forms"
first=$(printf '%s\n' "$out" | jq -r .seq)
credit 1.00; credit 2.00; credit 3.00
run_is 0 "since then" events --since-seq "$first"
printf '%s\n' "$out" >"$TMP/since"
is "$(amounts "$TMP/since")" "1.000000 2.000000 3.000000 " "only what came after"
run_is 0 "--limit" events --since-seq "$first" --limit 2
is "$(printf '%s\n' "$out" | grep -c .)" 2 "ends after so many"
run_is 0 "nothing new" events --since-seq "$(printf '%s\n' "$out" | tail -n 1 | jq '.seq + 4294967296')"
is "$out" "" "prints nothing"
run_is 2 "a seq that is none" events --since-seq x

# ---- Formats ----
run_is 0 "-o json" "$NANOPOD" events -o json
is "$(printf '%s\n' "$out" | jq -c '.[]')" "$(events | jq -c .)" "is a list of what -o jsonl prints"
run_is 0 "of none" "$NANOPOD" events -o json --since-seq 9000000000000000000
is "$(printf '%s' "$out" | jq -c .)" "[]" "it is an empty list"
run_is 0 "of one" "$NANOPOD" events -o json --limit 1
is "$(printf '%s' "$out" | jq length)" 1 "it is a list, too"
run_is 2 "a list that never ends" "$NANOPOD" events -f -o json
like "$err" "'-o jsonl'" "names the way"
NANOPOD_TOKEN=npk_wrong run_is 4 "one that the market refuses" "$NANOPOD" events -o json
is "$out" "" "prints no list"
like "$err" "rejected the token from NANOPOD_TOKEN" "and says which token"
is "$("$NANOPOD" events -o name)" "$(events | jq .seq)" "-o name: the seq of each"
run_is 0 "-o csv" "$NANOPOD" events -o csv
is "$(printf '%s\n' "$out" | head -n 1)" "seq,time,type,event" "CSV has a heading"
like "$out" "^$first,2027-01-15T08:00:00Z,account.credited,\"\\\$100,000\\.00 credited\"\$" "and the sentence"
is "$("$NANOPOD" events -o wide)" "$("$NANOPOD" events)" "-o wide has no more than a table"

# Followed over cut connections and a market that is ended and comes back.
"$NANOPOD" events -f --since-seq "$first" >"$TMP/lines" 2>"$TMP/said" &
pid=$!
at_exit "kill $pid 2>/dev/null"
lines() { [ "$(grep -c . "$TMP/lines")" -ge "$1" ]; }
ok "what is there comes at once" wait_for 20 lines 3
credit 4.00
ok "what happens comes as it happens" wait_for 20 lines 4
# The request that waits now is not cut, the one after it is.
waits() { operator GET /metrics | grep -qx 'nanopod_http_waiting 1'; }
ok "then it waits" wait_for 20 waits
rule 'cut-after GET /np/v1/events'
credit 5.00
ok "and again" wait_for 20 lines 5
credit 6.00
ok "a lost connection is told" wait_for 20 grep -q 'trying again' "$TMP/said"
rules_off
ok "and the lines go on" wait_for 30 lines 6
ok "which is told too" wait_for 20 grep -q 'reconnected' "$TMP/said"
credit 7.00
ok "one more" wait_for 20 lines 7
is "$(sed -n 's/.*  \$\(.*\) credited$/\1/p' "$TMP/lines" | tr '\n' ' ')" "1.00 2.00 3.00 4.00 5.00 6.00 7.00 " "none is missing, none is there twice"
is "$(grep -c 'trying again' "$TMP/said")" 1 "one word for one interruption"
kill -INT $pid
wait $pid; status=$?
is "$status" 130 "Ctrl-C ends it"
events >"$TMP/lines"
last=$(tail -n 1 "$TMP/lines" | jq .seq)
like "$(cat "$TMP/said")" "nanopod events -f --since-seq $last" "and says from where to go on"
jq -es 'map(.seq) | . == (sort | unique)' "$TMP/lines" >/dev/null
is $? 0 "seq rises with each line"
NANOPOD_TOKEN=npk_wrong run_is 4 "a token that is refused is not waited for" events -f

# ---- For people ----
"$NANOPOD" buy -t richmond -d 1h -p 2.10 -y --name train >/dev/null 2>&1
run_is 0 "for people" "$NANOPOD" events
like "$out" '^Fri 15 Jan 08:00 UTC  \$4\.00 credited$' "money"
like "$out" "^Fri 15 Jan 08:00 UTC  order for 'train' filled for \\\$14\.40$" "a purchase by its name"
like "$out" '^Fri 15 Jan 08:00 UTC  node train-0 created$' "a node by its name"
unlike "$out" '(ordr|inst|cont|pool)_' "and no ids"
unlike "$out" '[{}]' "nor JSON"
"$NANOPOD" events -f >"$TMP/people" 2>&1 &
pid=$!
at_exit "kill $pid 2>/dev/null"
ok "followed" wait_for 20 grep -q 'node train-0 created' "$TMP/people"
"$NANOPOD" buy -t richmond -d 1h -p 3.10 -y --name later -s +9h >/dev/null 2>&1
ok "what comes later has its name, too" wait_for 20 grep -q 'node later-0 created' "$TMP/people"
"$NANOPOD" release later -y >/dev/null 2>&1
ok "and what ends" wait_for 20 grep -q "time of 'later' released, \$0.00 refunded" "$TMP/people"
env -u NANOPOD_TOKEN NANOPOD_URL="unix:$MARKETD_SOCKET" "$NANOPOD" events -f --account acme -o csv >"$TMP/theirs" 2>"$TMP/theirs.err" &
pid=$!
at_exit "kill $pid 2>/dev/null"
ok "(the operator follows an account)" wait_for 20 grep -q later "$TMP/theirs"
kill -INT $pid
wait $pid
like "$(cat "$TMP/theirs.err")" "'nanopod events -f --since-seq [0-9]+ --account acme -o csv' continues from here" "and hears how to go on with it"

# ---- A release cuts time off, under an id that nothing names ----
"$NANOPOD" buy -t richmond -d 2h -s +20h -p 3.10 -y --name cut >/dev/null 2>&1
"$NANOPOD" release cut --from +21h -y >/dev/null 2>&1
run_is 0 "part of a reservation was given back" "$NANOPOD" events
like "$out" "  time of (a reservation|'cut') released, " "it is told"
unlike "$out" "(ordr|inst|cont|pool)_" "without an id"
is "$(printf '%s\n' "$out" | uniq -d)" "" "no line is printed twice"
credit 8.00
credit 8.00
run_is 0 "the same twice" "$NANOPOD" events
like "$out" '  \$8\.00 credited \(2 times\)$' "is one line that counts"
is "$("$NANOPOD" events -o csv | grep -c ',account.credited,[$]8.00 credited$')" 2 "for programs it is two"
done_testing

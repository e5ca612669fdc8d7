#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod orders, reservations and show; and their completion without a network.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 3
cd "$TMP" || exit 99
FIRST=$((NOW + 60))
np() { timeout -k 5 60 "$NANOPOD" "$@"; }

run_is 0 "no orders" np orders
is "$out" "" "is an empty list"
run_is 0 "in JSON" np orders -o json
is "$out" "[]" "too"
run_is 0 "no reservations" np reservations -o json
is "$out" "[]" "either"
run_is 0 "for people" np ls
is "$out|$err" "|nanopod: no running or pending reservations; '--all' lists ended ones, 'nanopod buy' makes one" "it is said"
run_is 0 "quietly" np ls -q
is "$out$err" "" "it is not"

np buy -t richmond -n 2 -d 24h -p 2.10 -y --name day >/dev/null 2>&1
np buy -t richmond -d 1h -s +48h -p 2.10 -y --name far >/dev/null 2>&1
np buy -t richmond -d 1h -s +48h -p 1.20 -y --name wait --standing --no-wait >/dev/null 2>&1
SELL=$(np sell day -n 1 --last 2h -p 3.00 -y 2>/dev/null)
BUY=$(market GET '/v2/orders?status=standing&side=buy' | jq -r '.data[0].id')
DONE=$(market GET '/v2/orders?status=filled' | jq -r '[.data[] | select(.pool.name == "day")][0].id')

run_is 0 "what waits in the book" np orders
is "$(printf '%s\n' "$out" | sed 1d | cut -d' ' -f1 | sort)" "$(printf '%s\n' "$SELL" "$BUY" | sort)" "is listed, and what is over is not"
like "$out" "^$BUY +buy +standing +wait +richmond +1 +0 .* 1\.20 " "with all that matters"
run_is 0 "all" np orders --all -q
is "$(printf '%s\n' "$out" | wc -l)" 4 "of them"
run_is 0 "one side" np orders --side sell -q
is "$out" "$SELL" "only"
run_is 0 "by status" np orders --status filled --status cancelled -o name
is "$(printf '%s\n' "$out" | wc -l)" 2 "those"
run_is 0 "of one reservation" np orders -a -r wait -q
is "$out" "$BUY" "only its own"
run_is 3 "of one that is not there" np orders -r nosuch
run_is 2 "a status that there is not" np orders --status done
run_is 0 "in JSON" np orders --side buy -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.order, .status, .limit, .held, .start, .filled]')" \
	"[\"$BUY\",\"standing\",\"1.20\",\"9.600000\",\"2027-01-17T08:01:00Z\",0]" "exact, in UTC"
run_is 0 "in CSV" np orders --side sell -o csv --fields order,nodes
is "$out" "$(printf 'order,nodes\n%s,1' "$SELL")" "with those fields"

clock $((NOW + 120))
run_is 0 "reservations" np reservations
like "$out" '^day +running +richmond +2 +Sat 16 Jan 08:01 UTC \(in 23h 59m\) +\$28\.80$' "state, type, nodes, end, burn"
like "$out" '^far +pending +richmond +1 .* \$0\.00$' "what is to come costs nothing yet"
unlike "$out" '^wait' "what has nothing is not listed"
run_is 0 "ls is the same" np ls -a -q
is "$(printf '%s\n' "$out" | sort | tr '\n' ' ')" "day far wait " "and with -a it is"
run_is 0 "in JSON" np ls -o json
is "$(printf '%s' "$out" | jq -c '.[] | select(.reservation == "day") | [.nodes, .burn, .burn_micros, .end, .schedule[0].nodes]')" \
	'[2,"28.800000",28800000,"2027-01-16T08:01:00Z",2]' "exact"
is "$(printf '%s' "$out" | jq -c '.[] | select(.reservation == "day") | .schedule | map([.start_at, .end_at])')" \
	'[["2027-01-15T08:01:00Z","2027-01-16T08:01:00Z"]]' "with times like all others"

is "$(printf '%s' "$out" | jq -cS 'map({(.reservation): .started}) | add')" '{"day":2,"far":0}' \
	"a node whose time is to come has not started"
run_is 0 "for wide terminals" np ls -o wide
like "$out" " BURN +STARTED " "nodes that started"

run_is 0 "show a reservation" np show day
like "$out" '^has +2 nodes of richmond, ' "what it has"
like "$out" '^node +day-0 \(inst_' "its nodes"
like "$out" "^order +$SELL, sell, standing" "its orders"
run_is 0 "show an order" np show "$DONE"
like "$out" '^status +filled' "its status"
like "$out" '^paid +\$1\.80 per GPU-hour, \$691\.20 in all' "what was paid"
like "$out" '^fills +cont_[^ ]*: 1 node, ' "its contracts"
C=$(printf '%s\n' "$out" | sed -n 's/^fills *\(cont_[^:]*\):.*/\1/p')
run_is 0 "show a contract" np show "$C"
like "$out" '^reservation +day' "what it is of"
like "$out" '^price +\$1\.80 per GPU-hour, \$345\.60 in all' "and what it costs"
run_is 0 "show a node by its name" np show day-1
like "$out" '^status +pending|^status +running' "its status"
I=$(printf '%s\n' "$out" | sed -n 's/^id *//p')
run_is 0 "and by its id" np show "$I" -o json
is "$(printf '%s' "$out" | jq -r .name)" day-1 "as the market's own document"
run_is 0 "show a reservation in JSON" np show day -o json
is "$(printf '%s' "$out" | jq -r '[.object, .name] | join(" ")')" "pool day" "too"
run_is 3 "what is not there" np show nosuch
run_is 3 "an order that is not there" np show ordr_zzzzzzzzzzzzz
run_is 2 "what is no name" np show 'a/b'
run_is 2 "a cancel of what is no order" np cancel day
is "$out|$err" "|nanopod: cannot cancel 'day': it is a reservation; 'nanopod cancel $SELL' cancels its open order" \
	"names the order, once"
run_is 2 "of a reservation without one" np cancel far
like "$err" "'far': it is a reservation, and has no open order; 'nanopod orders' lists yours" "is told"
run_is 2 "of what is nothing" np cancel nosuch
like "$err" "'nosuch' is not the id of an order; 'nanopod orders' lists them" "says where they are"
run_is 2 "for programs" np cancel day nosuch -o json
is "$(printf '%s' "$out" | jq -r '.[1].message')" "'nosuch' is not the id of an order; 'nanopod orders' lists them" "why it failed"

# --explain prints the requests and sends none.
for c in "orders -o json" "ls -o json" "cancel ordr_abc" "show ordr_abc" "show day" "price -t rich -d 1h -o json"; do
	# shellcheck disable=SC2086
	run_is 0 "$c --explain" np $c --explain
	like "$out" '^(GET|POST|DELETE) http' "prints requests"
	unlike "$out" '^\[|^order|^reservation' "and no list"
done
NANOPOD_TOKEN=npk_wrong run_is 4 "a token that is wrong" "$NANOPOD" orders -o json
is "$out" "" "gives no empty list"

# Completion answers at once from the last listing, without a market.
complete() { timeout 60 "$NANOPOD" complete -- "$@" 2>&1 | cut -f1; }
live=$NANOPOD_URL
marketd_stop
like "$(complete extend d)" '^day$' "reservations complete with the market away"
like "$(complete cancel ordr_)" "^$SELL\$" "orders do"
like "$(complete buy -t r)" '^richmond$' "types do"
like "$(complete buy --into f)" '^far$' "as an option's value too"
# A busy machine may be slow once.
for try in 1 2 3 4 5; do
	start=$(date +%s%N)
	complete show '' >/dev/null
	took=$((($(date +%s%N) - start) / 1000000))
	[ $took -ge 1000 ] || break
done
ok "completion took $took ms" test $took -lt 1000
NANOPOD_URL=http://127.0.0.1:9
is "$(complete extend d)" "" "another market's names are not offered"
NANOPOD_URL=$live
run_is 8 "a list of a market that is away" np ls
like "$err" "^nanopod: cannot list the reservations: " "says what it could not list"
done_testing

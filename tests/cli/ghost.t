#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Time that was released or sold before it began leaves no node behind: not in a list, not in the way of a command.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
nodes_up 1
np() { "$NANOPOD" "$@"; }
bought() { np buy -t h100 -n "$1" -d 1h -p 3.10 -s "+$3" -y --no-wait --name "$2" >"$TMP/.later" 2>&1 || diag "$(cat "$TMP/.later")"; }
live() { np nodes -q | tr '\n' ' '; }
run_all() { run np run $WHERE --type richmond -- echo there; }

# ---- All of it ----
bought 1 later 3h
is "$(live)" "later-0 train-0 " "a node of later time is pending"
run_is 0 "it is released before it begins" np release later -y
is "$(live)" "train-0 " "its node is in the list no more"
is "$(np nodes --all -o json | jq -r '.[] | select(.node == "later-0") | .status')" ended "with --all it has ended"
run_all
is "$status $out" "0 train-0: there" "no command on all nodes meets it"
run_is 0 "show" np show later
unlike "$out" 'later-0 .*pending' "names no pending node"
unlike "$(np reservations)" '^later' "nor does the list of reservations name it"
unlike "$(np complete -- extend la 2>/dev/null)" 'later' "nor does completion, which has the list"
like "$(np complete -- extend tr 2>/dev/null)" 'train' "(where it has those that run)"
run_is 5 "released again" np release later -y
like "$err" "'later' has no time left to give back" "there is nothing to release"
unlike "$(np complete -- ssh la 2>/dev/null)" 'later-0' "nor does completion"
like "$(np events)" 'node later-0 is ended' "the events say that it ended"
np buy -t h100 -n 1 -d 1h -p 3.10 -s +3h -y --no-wait --into later >"$TMP/.later" 2>&1
is "$(live | tr -d 0-9)" "later- train- " "more time for it brings one node"
run_is 0 "(which is released)" np release later -y

# ---- Some of it ----
bought 3 some 3h
run_is 0 "two of three nodes" np release some -n 2 -y
is "$(live)" "some-0 train-0 " "leave one, as the plan said"
run_is 0 "one that is named" np buy -t h100 -n 1 -d 1h -p 3.10 -s +3h -y --no-wait --into some
run_is 0 "(released)" np release some-0 -y
is "$(live)" "some-1 train-0 " "goes, and the other stays"
run_is 0 "(the rest)" np release some -y
is "$(live)" "train-0 " "and then none is left"

# ---- What has still time to come ----
node() { as "$ACME" POST /v2/instances "{\"name\":\"$2\",\"pool\":\"$1\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" >"$TMP/.made"; }
run_is 0 "a later window for a reservation that runs" np buy -t h100 -n 1 -d 1h -p 3.10 -s +8h -y --no-wait --into train
is "$(live)" "train-0 train-1 " "its node is pending while the first one runs"
bought 1 two 3h
run_is 0 "a second window after a gap" np buy -t h100 -n 1 -d 1h -p 3.10 -s +6h -y --no-wait --into two
is "$(live)" "train-0 train-1 two-0 two-1 " "each window has its node"
run_is 0 "the second window is released" np release two --from "@$((NOW + 18000))" -y
is "$(live)" "train-0 train-1 two-0 " "and the node of the first stays"
as "$ACME" POST /v2/pools '{"name":"kept","workspace":"sfc:workspace:acme:default"}' >"$TMP/.pool"
node kept kept-0
is "$(live)" "train-0 train-1 two-0 " "a node without any time is not among them"
is "$(as "$ACME" GET /v2/instances/kept-0 | json .status)" awaiting_allocation "though the market keeps it waiting, as its API says"
run_is 0 "time for it" np buy -t h100 -n 1 -d 1h -p 3.10 -s +3h -y --no-wait --no-instances --into kept
is "$(live)" "kept-0 train-0 train-1 two-0 " "brings it into the list"

# ---- Sold on ----
marketd_account other 1000.00
OTHER=$(marketd_token other)
run_is 0 "a window that is offered again" np sell two -p 1.00 -y
NANOPOD_TOKEN=$OTHER run_is 0 "and sold before it begins" np buy -t h100 -n 1 -d 1h -s +3h -p 1.00 -y --no-wait --name theirs
is "$(NANOPOD_TOKEN=$OTHER np nodes -q)" theirs-0 "(its buyer has a node)"
is "$(live)" "kept-0 train-0 train-1 " "leaves none with its seller"

# ---- Orders and procurements that may still bring time ----
order() { as "$ACME" POST /v2/orders "{\"pool\":\"kept\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allow_standing\":true,\"allocation_schedule_delta\":[{\"start_at\":$((NOW + 90000)),\"end_at\":$((NOW + 93600)),\"node_count\":1}],\"limit_price_dollars_per_node_hour\":\"0.600000\"}" | json .id; }
node kept kept-1
is "$(live)" "kept-0 train-0 train-1 " "one node more than there is time for is not in the list"
O=$(order)
is "$(live)" "kept-0 kept-1 train-0 train-1 " "while an order for it rests, it is"
run_is 0 "(the order)" np cancel "$O"
is "$(live)" "kept-0 train-0 train-1 " "cancelled, it is not"
done_testing

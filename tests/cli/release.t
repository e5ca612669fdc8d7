#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod release where hosts of a reservation differ: its plan names the nodes that the market stops, and what they cost.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 2
cd "$TMP" || exit 99
np() { timeout -k 5 60 "$NANOPOD" "$@"; }
states() { market GET '/v2/instances?limit=200' | jq -r --arg p "$1" '[.data[] | select(.pool.name == $p) | .name + " " + .status] | sort | join(", ")'; }
plan() { printf '%s\n' "$err" | grep -E '^  (nodes|forfeited|refund|          ) ' | sed 's/  */ /g; s/^ //'; }
operator PUT /np/v1/policy '{"release_bps":5000}' >/dev/null
marketd_account zoe 10000.00
ZOE=$(marketd_token zoe)

# ---- A later window on another host ----
# Who buys the first host's later time makes the reservation's second window one of the other host.
run_is 0 "an hour now" np buy -t richmond -n 1 -d 1h -p 3 -y --no-wait --name two
NANOPOD_TOKEN=$ZOE run_is 0 "(the same host's later time goes to somebody else)" \
	np buy -t richmond -n 1 -d 1h -s +3h -p 3 -y --no-wait --name hers
run_is 0 "and an hour later on" np buy -t richmond -n 1 -d 1h -s +3h -p 3 -y --no-wait --into two
clock $((NOW + 120))
is "$(market GET '/v2/instances?limit=200' | jq -c '[.data[] | [.name, .np_host != null]] | sort')" '[["two-0",true],["two-1",false]]' \
	"the first one runs, the second waits"
run_is 0 "one of them" np release two -n 1 --dry-run
is "$(plan)" "refund \$7.20
forfeited \$7.20 that you paid for this time
nodes two-1 ends without having started" "is the host that no node uses: the plan says what ends, and what it cost"
run_is 5 "the one that runs" np release two-0 -y
like "$err" "cannot release 'two-0': 1 host of its reservation has no node, and the market takes that first; 'nanopod release two -n 1' gives it back" \
	"is not what the market would take"
run_is 0 "done" np release two -n 1 -y
is "$(states two)" "two-0 awaiting_allocation, two-1 terminated" "as the plan said"
run_is 0 "then the other" np release two-0 -y
is "$(plan)" "refund \$6.96
forfeited \$6.96 that you paid for this time
nodes two-0 stops at Fri 15 Jan 08:03 UTC, and everything on its disk is lost" "is the one that runs"

# ---- Two windows of one host ----
run_is 0 "an hour now" np buy -t richmond -n 1 -d 1h -p 3 -y --no-wait --name same
run_is 0 "and one of the same host" np buy -t richmond -n 1 -d 1h -s +6h -p 3 -y --no-wait --into same
clock $((NOW + 240))
run_is 5 "the node that waits for it" np release same-1 -y
like "$err" "cannot release 'same-1': it waits for later time of a host that another node uses; 'nanopod release same --from 2027-01-15T14:[0-9][0-9]:00Z' gives that back" \
	"cannot go without the one that runs, and how it can is said"
later=$(printf '%s\n' "$err" | sed -n "s/.*--from \([^']*\)'.*/\1/p")
run_is 0 "which works" np release same --from "$later" --dry-run
is "$(plan | grep nodes)" "nodes same-1 ends without having started" "and stops no other"
run_is 2 "no time" np release same --from soon --dry-run
ok "what is suggested is to come" test "$(printf '%s\n' "$err" | sed -n 's/.*or @\([0-9]*\).*/\1/p')" -gt "$(date +%s)"
run_is 0 "both" np release same -n 1 --dry-run
is "$(plan | sed 1,2d)" "nodes same-0 stops at Fri 15 Jan 08:05 UTC, and everything on its disk is lost
same-1 ends without having started" "go with their host"
run_is 0 "a minute of the later time is left" np release same --from "@$((NOW + 7 * HOUR - 120))" --dry-run
is "$(plan | grep nodes)" "nodes 1 host without a node goes: none stops" "where its node still starts"
run_is 0 "(all of it)" np release same -y
is "$(states same)" "same-0 awaiting_allocation, same-1 terminated" "the one that waits ends at once"
clock $((NOW + 300))
is "$(states same)" "same-0 terminated, same-1 terminated" "the other in the minute that the plan said"

# ---- More hosts without a node than nodes that wait ----
run_is 0 "two hosts for later on, without nodes" np buy -t richmond -n 2 -d 1h -s +12h -p 3 -y --no-wait --no-instances --name bare
market POST /v2/instances "{\"name\":\"bare-0\",\"pool\":\"bare\",\"image\":\"debian-12\",\"instance_sku\":\"richmond\"}" >/dev/null
is "$(states bare)" "bare-0 awaiting_allocation" "(and one node)"
run_is 5 "that node" np release bare-0 -y
like "$err" "cannot release 'bare-0': the market takes other hosts of its reservation first" "does not go by that"
run_is 5 "nor from a later time on" np release bare-0 --from +12h10m -y
like "$err" "'nanopod release bare -n 1 --from \+12h10m' gives its reservation's time back" "and the hint has that time"
is "$(states bare)" "bare-0 awaiting_allocation" "and nothing of it is given back"
is "$(np release bare -n 2 --dry-run -o json | jq -r '.[0].nodes')" 2 "(both hosts are still there)"

# ---- The answer is lost ----
# The node has ended by then: the same command finds its own unfinished release, and no other does.
trade_between
run_is 0 "a node of two" np buy -t richmond -n 2 -d 1h -s +20h -p 3 -y --no-wait --name cut
rule 'cut-keyed POST /np/v1/pools'
run_is 8 "its answer is lost" np release cut-1 -y
rules_off
is "$(states cut)" "cut-0 awaiting_allocation, cut-1 terminated" "(it was done)"
run_is 5 "another command about it" np release cut-1 --from +20h30m -y
like "$err" "cannot release 'cut-1': it has ended" "says that it has ended"
run_is 0 "the same command again" np release cut-1 -y
like "$err" "replayed: 'cut' was released before" "knows that it was done"
is "$(states cut)" "cut-0 awaiting_allocation, cut-1 terminated" "and gives nothing else back"
run_is 5 "once more" np release cut-1 -y
like "$err" "cannot release 'cut-1': it has ended" "is about a node that has ended"
done_testing

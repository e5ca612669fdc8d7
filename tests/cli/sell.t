#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod sell, cancel and release: nodes go to others, and the plan shows the refund first.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
trade_start 3
trade_between
cd "$TMP" || exit 99
FIRST=$((NOW + 60))
np() { timeout -k 5 60 "$NANOPOD" "$@"; }
order_of() { market GET "/v2/orders/$1" | jq -c '[.side, .status, .allocation_schedule_delta[0].start_at, .allocation_schedule_delta[0].end_at, .allocation_schedule_delta[0].node_count, .limit_price_dollars_per_node_hour, .allow_standing, .allow_partial]'; }
schedule_of() { market GET '/v2/pools' | jq -c --arg n "$1" '.data[] | select(.name == $n) | [.allocation_schedule.total[] | select(.node_count > 0) | [.start_at, .end_at, .node_count]]'; }
marketd_account zoe 1000.00
ZOE=$(marketd_token zoe)

run_is 0 "two nodes for a day" np buy -t richmond -n 2 -d 24h -p 2.10 -y --name day
END=$((FIRST + 24 * HOUR))

# ---- Sell ----
run_is 2 "no price" np sell day --last 6h -y
run_is 2 "no terminal and no -y" np sell day --last 6h -p 1.50
run_is 2 "--last and a start" np sell day --last 6h -s 18:00 -p 1.50 -y
run_is 3 "one that is not there" np sell nosuch --last 6h -p 1.50 -y
run_is 5 "more nodes than it has" np sell day -n 3 --last 6h -p 1.50 -y
like "$err" 'it has 2 in ' "says how many"
run_is 5 "more time than is left" np sell day --last 999h -p 1.50 -y
like "$err" 'is left' "which it says"
run_is 5 "a window that it does not have" np sell day -s @$((END + HOUR)) -d 1h -p 1.50 -y
run_is 0 "the last six hours" np sell day --last 6h -p 1.50 -y
like "$err" 'Nodes you sell run until their sold time begins, ' "the plan says when they stop"
O=$out
like "$O" '^ordr_' "prints the order's id"
like "$err" 'window +Sat 16 Jan 02:01 to 08:01 UTC, 6h' "the plan says when"
like "$err" 'price +at least \$1\.50 per GPU-hour, in parts too' "the price"
like "$err" 'total +\$144\.00 if all of it is sold' "and what it would bring"
is "$(order_of "$O")" "[\"sell\",\"standing\",$((END - 6 * HOUR)),$END,2,\"12.000000\",true,true]" "is what stands in the book"
run_is 0 "show" np show "$O"
like "$out" '^side +sell, standing, in parts too' "tells it"
run_is 0 "cancelled" np cancel "$O"
like "$out" "^$O +cancelled +2 +0 +day" "is said, with the nodes that were on sale and those that went"
is "$(market GET "/v2/orders/$O" | jq -r .status)" cancelled "and true"
run_is 0 "one node, all that is left of it" np sell day -n 1 -p 1.50 -y
is "$(order_of "$out")" "[\"sell\",\"standing\",$FIRST,$END,1,\"12.000000\",true,true]" "from the next minute to its end"
run_is 0 "withdrawn" np cancel "$out"
run_is 0 "an evening to one buyer" np sell day -s @$((END - 4 * HOUR)) -d 2h -p 12.345678 --per node --whole -y
run_is 2 "more decimals than there are" np sell day --last 1h -p 1.2345678 -y
W=$(market GET '/v2/orders?status=standing' | jq -r '.data[0].id')
is "$(market GET "/v2/orders/$W" | jq -c '[.allow_partial]')" "[false]" "whole"
np cancel "$W" >/dev/null
run_is 6 "nobody waits for it" np sell day --last 1h -p 1.50 --no-standing -y
like "$err" "nothing of 'day' was sold" "is a failure that says so"
before=$(schedule_of day) nodes=$(instances_of day)
run_is 0 "offered" np sell day -n 1 --last 2h -p 1.20 -y
S=$out
run_is 0 "somebody buys it" env NANOPOD_TOKEN="$ZOE" "$NANOPOD" buy -t richmond -d 2h -s @$((END - 2 * HOUR)) -p 1.20 -y
is "$(schedule_of day)" "[[$FIRST,$((END - 2 * HOUR)),2],[$((END - 2 * HOUR)),$END,1]]" "it is theirs"
run_is 5 "then it cannot be cancelled" np cancel "$S"
like "$err" 'it was filled before' "which is said"
run_is 10 "of several some" sh -c "'$NANOPOD' cancel $S \$('$NANOPOD' sell day -n 1 -d 1h -p 9 -y 2>/dev/null)"
rule "cut-keyed POST /v2/orders"
run np sell day -n 1 -d 1h -s +3h -p 3 -y
is "$status $(intents)" "8 1" "the answer is lost"
rules_off
run_is 0 "the same command" np sell day -n 1 -d 1h -s +3h -p 3 -y
like "$err" "replayed: order '$out' was placed before" "finds it"
is "$(market GET '/v2/orders?side=sell&status=standing' | jq '.data | length') $(intents)" "1 0" "there is one"
np cancel "$out" >/dev/null

# ---- Release ----
run_is 2 "no terminal and no -y" np release day
run_is 0 "(a dry run)" np release day --dry-run
like "$err" 'forfeited +\$[0-9.]+ that you paid for this time' "the plan says what does not come back"
keep=$(market POST /v2/procurements "{\"name\":\"keep\",\"pool\":\"day\",\"instance_sku\":\"richmond\",\"target\":2,\"managed_window_minutes\":60,
	\"min_sell_price_dollars_per_node_hour\":\"0.01\",\"max_buy_price_dollars_per_node_hour\":\"0.02\"}" | jq -r .id)
run np release day -y
isnt "$status" 0 "a procurement would buy again"
like "$err" "cannot release 'day': procurement 'keep' would buy them again; disable it first: nanopod procurement disable $keep" \
	"what would be given back, and the command that helps is told"
run_is 0 "which works" np procurement disable "$keep"
run_is 0 "dry run" np release day --dry-run
like "$err" 'refund +\$0\.00: no refund' "by this market's rule nothing comes back, and that is said"
like "$err" "instead +'nanopod sell day" "with what might bring something"
like "$err" 'nodes +day-1, day-0 end without having started' "the nodes that end"
like "$err" 'forfeited +\$662\.40 that you paid for this time' "and what does not come back"
run_is 0 "of one" np release day -n 1 --dry-run
like "$err" 'nodes +day-1 ends' "it says which"
run_is 0 "of one that is named" np release day-0 --dry-run
like "$err" "^Give back 1 node of 'day'" "it is one"
like "$err" 'nodes +day-0 ends' "that one"
run_is 2 "a number of one node" np release day-0 -n 1 -y
run_is 3 "neither a reservation nor a node" np release day-7 -y
is "$(schedule_of day)" "[[$FIRST,$((END - 2 * HOUR)),2],[$((END - 2 * HOUR)),$END,1]]" "nothing is given back"
operator PUT /np/v1/policy '{"fee_bps":0,"release_bps":5000,"settle_minutes":60,"notice_minutes":2}' >policy
[ "$(http_status)" = 200 ] || diag "$(cat policy)"
if [ -x "$PTY" ]; then
	printf 'expect refund for time\nexpect Give it back?\nsend no\\n\n' >no
	run "$PTY" no "$NANOPOD" release day
	is "$status" 1 "no"
	like "$out" 'Cancelled; nothing was changed\.' "says that nothing happened"
	is "$(schedule_of day)" "[[$FIRST,$((END - 2 * HOUR)),2],[$((END - 2 * HOUR)),$END,1]]" "means no"
fi
before=$(balance_now)
run_is 0 "one node from later on" np release day -n 1 --from @$((END - 10 * HOUR)) -y -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.nodes, .from]')" "[1,\"2027-01-15T22:01:00Z\"]" "is given back"
like "$err" 'half|50\.00 %' "the rule is told"
is "$(printf '%s' "$out" | jq -r '.[0].refund_micros')" "$(($(balance_now) - before))" "what was said came back"
isnt "$(($(balance_now) - before))" 0 "and it is something"
before=$(balance_now)
rule "cut-keyed POST /np/v1/pools/"
run np release day -y
is "$status $(intents)" "8 1" "the answer is lost"
rules_off
after=$(balance_now)
run_is 0 "the same command" np release day -y
like "$err" "replayed" "finds out"
is "$(balance_now) $(intents)" "$after 0" "nothing comes back twice"
isnt "$after" "$before" "but once"
run_is 5 "there is nothing left" np release day -y

# A result that could not be printed is printed by the next run, which sells nothing again.
if [ -w /dev/full ]; then
	before=$(orders_count)
	run_is 0 "one more to sell of" np buy -t richmond -d 4h -s +150h -p 3 -y --name told
	run_is 1 "standard output cannot be written" sh -c '"$NANOPOD" sell told --last 1h -p 3 -y >/dev/full'
	run_is 0 "the same command" np sell told --last 1h -p 3 -y
	is "$(($(orders_count) - before)) $(intents)" "2 0" "tells it, and sells nothing twice"
	before=$(balance_now)
	run_is 1 "nor can a release" sh -c '"$NANOPOD" release told -y >/dev/full'
	run_is 0 "the same command" np release told -y
	like "$err" "replayed" "tells that"
else
	skip "there is no /dev/full"
fi

# ---- On sale already ----
run_is 0 "two nodes" np buy -t richmond -n 2 -d 24h -s +40h -p 3 -y --name onsale
SALE=$(np sell onsale -n 1 --last 6h -p 3 -y 2>/dev/null)
run_is 0 "a release of all of it" np release onsale --dry-run
like "$err" "sell order +$SALE, 1 node, Sun 17 Jan 18:01 to Mon 18 Jan 00:01 UTC.*: cancelled" "names the sell order of this time before it asks"
run_is 0 "of one node" np release onsale -n 1 --dry-run
like "$err" "sell order +$SALE, 1 node, .*: loses the time that you give back" "which may be the one on sale"
run_is 0 "of time after it began" np release onsale --from @$((NOW + 62 * HOUR)) --dry-run
like "$err" "sell order +$SALE, 1 node, .*: loses the time that you give back" "leaves some of it on sale"
np cancel "$SALE" >/dev/null
run_is 0 "withdrawn" np release onsale --dry-run
unlike "$err" "sell order" "it is not named"
SALE=$(np sell onsale -n 1 --last 6h -p 3 -y 2>/dev/null)
run_is 0 "released" np release onsale -y
is "$(market GET "/v2/orders/$SALE" | jq -r .status)" cancelled "the order is cancelled, as the plan said"

run_is 0 "a node for now" np buy -t richmond -d 4h -p 3 -y --name begun
SALE=$(np sell begun -p 3 -y 2>/dev/null)
clock $((NOW + 300))
run_is 0 "a release from now on" np release begun --dry-run
like "$err" "sell order +$SALE, 1 node, .*: cancelled" "leaves nothing on sale of an order that began before"
run_is 0 "of its last hour" np release begun --from +3h --dry-run
like "$err" "sell order +$SALE, 1 node, .*: loses the time that you give back" "leaves the time before"
run_is 0 "released" np release begun -y
clock $((NOW + 360))
is "$(market GET "/v2/orders/$SALE" | jq -r .status)" cancelled "the market cancels it, as the plan said"

# ---- By node ----
run_is 0 "three nodes" np buy -t richmond -n 3 -d 4h -p 3 -y --name trio
clock $((NOW + 480))
run_is 0 "one of them goes" np release trio-1 -y
is "$(schedule_of trio | jq -c '.[-1][2]')" 2 "two hosts are left"
clock $((NOW + 600))
is "$(market GET '/v2/instances?limit=200' | jq -c '[.data[] | select(.pool.name == "trio") | [.name, .status]] | sort')" \
	'[["trio-0","awaiting_allocation"],["trio-1","terminated"],["trio-2","awaiting_allocation"]]' "it stops, and the others do not"

# A market that lists the node once, and then no more.
have python3 || done_testing
cat >late.py <<'PY'
import http.server, os, sys, urllib.request
class Late(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        size = int(self.headers.get("Content-Length") or 0)
        head = {name: self.headers[name] for name in self.headers if name.lower() not in ("host", "connection")}
        ask = urllib.request.Request(sys.argv[1] + self.path, self.rfile.read(size) if size else None, head, method=self.command)
        text = urllib.request.urlopen(ask).read()
        if self.path.startswith("/v2/instances?") and "pool=" in self.path:
            text = b'{"object":"list","has_more":false,"cursor":null,"data":[]}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    do_POST = do_GET
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Late)
open("late.new", "w").write(str(server.server_port))
os.rename("late.new", "late.port")
server.serve_forever()
PY
python3 late.py "$NANOPOD_URL" & late=$!
at_exit "kill $late 2>/dev/null"
wait_for 20 test -s late.port
run_is 5 "a node that ends meanwhile" env NANOPOD_URL="http://127.0.0.1:$(cat late.port)" "$NANOPOD" release trio-0 -y
like "$err" "cannot release 'trio-0': it has ended" "is told"
is "$(schedule_of trio | jq -c '.[-1][2]')" 2 "and the others stay"
done_testing

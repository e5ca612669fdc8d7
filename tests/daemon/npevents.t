#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The ledger, whose chain is computed again here from what is served, and the events stream.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/told.sh"
need openssl

v2_start
H1=$(v2_host rack1 richmond)
v2_offer "$H1" 12.00 >/dev/null
operator PUT /np/v1/policy '{"fee_bps":500,"release_bps":5000}' >/dev/null
as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 60)) $((NOW + 7260)) 20.0)" >/dev/null
as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 86400)) $((NOW + 93600)) 1.0 ',"allow_standing":true')" >/dev/null
RESTING=$(as "$ACME" GET '/v2/orders?status=standing' | json '.data[0].id')
v2_clock $((NOW + 3660))
as "$ACME" POST /np/v1/pools/train/release '{}' >/dev/null
as "$ACME" DELETE "/v2/orders/$RESTING" >/dev/null

# ---- The chain ---------------------------------------------------------------------------------------
# bytes HEX: as they are.
bytes() { printf "$(printf '%s' "$1" | sed 's/../\\x&/g')"; }

# ledger TOKEN LIMIT: all rows of all pages, one JSON a line.
ledger() {
	ledger_after='' ledger_pages=0
	while :; do
		as "$1" GET "/np/v1/ledger?limit=$2${ledger_after:+&after=$ledger_after}" >"$TMP/.page"
		jq -c '.data[]' "$TMP/.page"
		ledger_after=$(json .cursor <"$TMP/.page")
		ledger_pages=$((ledger_pages + 1))
		[ "$(json .has_more <"$TMP/.page")" = true ] && [ $ledger_pages -lt 100 ] || break
	done
	printf '%s\n' $ledger_pages >"$TMP/.pages"
}

# chain FILE: says which rows are not what the rows before them make of them.
chain() {
	chain_now=$(printf '%064d' 0) chain_row=0
	jq -r '[.seq, .n, .at, .transfer, .owner, .book, .asset, .amount, .balance, .subject, .chain] | map(tostring) | join(" ")' "$1" >"$TMP/.rows"
	while read -r chain_line; do
		chain_row=$((chain_row + 1))
		chain_now=$({ bytes "$chain_now"; printf '%s\n' "${chain_line% *}"; } | openssl dgst -sha256 -r | cut -d' ' -f1)
		[ "$chain_now" = "${chain_line##* }" ] || { echo "row $chain_row"; chain_now=${chain_line##* }; }
	done <"$TMP/.rows"
}

ledger "$ACME" 200 >"$TMP/whole"
rows=$(wc -l <"$TMP/whole")
ok "the ledger has what happened ($rows rows)" test "$rows" -ge 10
is "$(chain "$TMP/whole")" "" "each row is the sum of the one before and its own text"
ledger "$ACME" 3 >"$TMP/paged"
ok "page by page it is the same ($(cat "$TMP/.pages") pages)" cmp "$TMP/whole" "$TMP/paged"
is "$(cat "$TMP/.pages")" $(((rows + 2) / 3)) "in as many pages as it takes"
sed '4s/"amount":-\{0,1\}[0-9]*/"amount":1/' "$TMP/whole" >"$TMP/bent"
is "$(chain "$TMP/bent")" "row 4" "a changed amount is found"
sed 4d "$TMP/whole" >"$TMP/bent"
like "$(chain "$TMP/bent")" 'row 4' "and a row that was taken out"
for who in "$FOUNDRY" "$STRANGER"; do
	ledger "$who" 200 >"$TMP/other"
	is "$(chain "$TMP/other")" "" "another account has a chain of its own ($(wc -l <"$TMP/other") rows)"
done

# ---- The sums --------------------------------------------------------------------------------------------
is "$(jq -s '[.[] | select(.book == "available") | .amount] | add' "$TMP/whole")" "$(as "$ACME" GET /np/v1/balance | json .available_micros)" \
	"what went through 'available' is the balance"
is "$(jq -s '[.[] | select(.book == "held") | .balance] | last' "$TMP/whole")" 0 "nothing is held any more"
is "$(jq -s '[.[] | select(.book == "available")] | [foreach .[] as $r (0; . + $r.amount; . == $r.balance)] | all' "$TMP/whole")" true \
	"each row's balance is the sum so far"
operator GET '/np/v1/ledger?limit=1000' | jq -c '.data[]' >"$TMP/house"
ledger "$FOUNDRY" 200 >"$TMP/foundry"
ledger "$STRANGER" 200 >"$TMP/stranger"
is "$(cat "$TMP/whole" "$TMP/house" "$TMP/foundry" "$TMP/stranger" | jq -s 'group_by([.transfer, .asset]) | map(map(.amount) | add) | unique == [0]')" true \
	"all books together: every transfer sums to zero in each asset"
told np.Ledger "$(as "$ACME" GET /np/v1/ledger)" "the ledger, as documented"
out=$(as "$ACME" GET '/np/v1/ledger?after=x')
refused 422 invalid after "a cursor that is none is refused" "$out"

# ---- Events: pages ------------------------------------------------------------------------------------------
events() { as "$1" GET "/np/v1/events${2-}"; }
events "$ACME" >"$TMP/events"
is "$(http_header Content-Type)" "application/x-ndjson" "events are JSON Lines"
is "$(jq -r .type "$TMP/events" | sort -u | tr '\n' ' ')" \
	"account.credited capacity.released order.closed order.filled order.placed " "all kinds that happened" ||
	diag "$(jq -r .type "$TMP/events" | sort | uniq -c)"
is "$(jq -s '[.[].seq] | . == (sort | unique)' "$TMP/events")" true "seq goes up"
while read -r line; do told np.Event "$line" "$(json .type <<<"$line"), as documented"; done <"$TMP/events"
mid=$(jq -s '.[2].seq' "$TMP/events")
events "$ACME" "?since_seq=$mid" >"$TMP/rest"
is "$(cat "$TMP/rest")" "$(tail -n +4 "$TMP/events")" "resumed after one, it goes on with the next"
events "$ACME" '?limit=2' >"$TMP/rest"
is "$(cat "$TMP/rest")" "$(head -n 2 "$TMP/events")" "no more than asked for"
unlike "$(cat "$TMP/events")" 'foundry|rack1|"host' "and nobody else is named in them"
is "$(events "$FOUNDRY" | jq -r 'select(.type == "capacity.sold") | .amount_dollars')" "24.000000" "the seller hears what he sold"
is "$(events "$STRANGER" | jq -r .type | sort -u)" account.credited "a stranger hears only his own"
out=$(events "$ACME" '?since_seq=abc')
is "$(http_status)" 422 "a seq that is none is refused"
out=$(events "$ACME" '?wait=61')
refused 422 invalid wait "a wait has an end" "$out"

# ---- Events: waiting ---------------------------------------------------------------------------------------------
last=$(jq -s '.[-1].seq' "$TMP/events")
start=$SECONDS
events "$ACME" "?since_seq=$last&wait=1" >"$TMP/none"
is "$(http_status) $(wc -c <"$TMP/none") $((SECONDS - start < 50))" "200 0 1" "nothing happens: an empty answer after the wait"
curl -sS -H "Authorization: Bearer $ACME" "$NANOPOD_URL/np/v1/events?since_seq=$last&wait=30" >"$TMP/waited" &
waiter=$!
at_exit "kill $waiter 2>/dev/null"
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"1.00"}' >/dev/null
wait_for 20 test -s "$TMP/waited"
wait "$waiter"
is "$(jq -r '[.type, .amount_dollars] | join(" ")' "$TMP/waited")" "account.credited 1.000000" "who waits hears it when it happens"
last=$(jq .seq "$TMP/waited")

# ---- Events: server-sent --------------------------------------------------------------------------------------------
curl -sSN --max-time 60 -H "Authorization: Bearer $ACME" -H 'Accept: text/event-stream' -H "Last-Event-ID: $last" \
	"$NANOPOD_URL/np/v1/events" >"$TMP/sse" 2>/dev/null &
stream=$!
at_exit "kill $stream 2>/dev/null"
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"2.00"}' >/dev/null
wait_for 20 grep -q '"2.000000"' "$TMP/sse"
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"3.00"}' >/dev/null
wait_for 20 grep -q '"3.000000"' "$TMP/sse"
kill "$stream" 2>/dev/null
wait "$stream" 2>/dev/null
is "$(sed -n 's/^data: //p' "$TMP/sse" | jq -r .amount_dollars | tr '\n' ' ')" "2.000000 3.000000 " "a stream stays open, from Last-Event-ID on"
is "$(sed -n 's/^id: //p' "$TMP/sse" | tr '\n' ' ')" "$(sed -n 's/^data: //p' "$TMP/sse" | jq -r .seq | tr '\n' ' ')" "each with its seq as id"
is "$(sed -n 's/^event: //p' "$TMP/sse" | sort -u)" account.credited "and its type"
id=$(sed -n 's/^id: //p' "$TMP/sse" | head -n 1)
is "$(events "$ACME" "?since_seq=$id" | jq -r .amount_dollars)" "3.000000" "an id is a seq for the other form too"
done_testing

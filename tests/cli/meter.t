#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod admin meter: the ledger's usage to Lago (a stand-in: tests/lib/lago.py says what it is) and to a file, each event
# once, whatever the receiver does and whenever nanopod is killed: 10,000 faults, then what it accepted is the ledger and the
# invoices to the micro-dollar. FAULTS=1000 tries fewer.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/npagent.sh"
need python3 jq
cd "$TMP" || exit 99
cat >policy.yaml <<'END'
rules:
  - name: half
    when:
      account.groups: {has: student}
    rate: 0.37
default: {allow: true}
END
v2_start --rate 0 --policy policy.yaml
boss() { NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" admin "$@" </dev/null; }
marketd_account uni 100000.00
marketd_account miser 100000.00
boss facts acme groups=student >facts
boss grant add acme study 90000 --sponsor uni >grant 2>&1 || { diag "$(cat grant)"; fail "(a grant)"; done_testing; exit; }
operator PUT /np/v1/policy '{"fee_bps":250,"release_bps":5000,"settle_minutes":1}' >pol
CPU=$(v2_sku cpu 0 '{}')
GPU=$SKU
as "$STRANGER" POST /v2/pools '{"name":"odd","workspace":"default"}' >odd
i=0
for sku in "$GPU" "$GPU" "$CPU" "$CPU" "$GPU"; do
	i=$((i + 1))
	v2_host h$i "$sku" >h$i
	v2_offer "$(cat h$i)" "$(awk "BEGIN { printf \"%.6f\", $i * 1.23456 }")" 2520000 >offer$i
done
[ "$(cut -c1-5 offer5)" = ordr_ ] || { diag "$(cat offer5 h5)"; fail "(hosts on sale)"; done_testing; exit; }
# A volume of acme's, and plans of stranger's and miser's.
key rack
AGENT=$(join "$(join_token)" rack rack rack | json .id)
S=$(session "$AGENT" rack 1 rack | json .token)
as "$S" PUT /np/v1/agent/inventory "$(capacity 8 $((1 << 36)) $((200 << 30)) | jq -c '.capacity.shared_storage = true')" >inventory
as "$S" POST /np/v1/agent/hosts '{"name":"r1","instance_sku":"cpu"}' >rack
NANOPOD_TOKEN=$FOUNDRY "$NANOPOD" host volumes rack --max 10G -p 123.45 >lets 2>&1 </dev/null
NANOPOD_TOKEN=$ACME "$NANOPOD" volume create data -s 7G --machine "$AGENT" -y >volume 2>&1 </dev/null ||
	{ diag "$(cat inventory rack lets volume)"; fail "(a volume)"; done_testing; exit; }
operator POST /np/v1/plans '{"name":"pro","seller":"uni","fee_dollars":"123.456789","included_dollars":"7.654321"}' >pro
for token in "$STRANGER" "$(marketd_token miser)"; do
	as "$token" PUT /np/v1/plan '{"plan":"pro"}' >plan
	[ "$(http_status)" = 200 ] || { diag "$(cat pro plan)"; fail "(a plan)"; done_testing; exit; }
done
# buys TOKEN POOL SKU HOURS [MORE]: one node from in two minutes on.
buys() { SKU=$3 && as "$1" POST /v2/orders "$(order buy "$2" 1 $((at + 120)) $((at + 120 + $4 * 3600)) 90.000000 "${5-}")" >>bought; echo >>bought; }
at=$NOW
month() { # HOURS: everybody buys, gives back and fails for so long
	buys "$ACME" train "$GPU" "$1"; buys "$ACME" train "$CPU" 3
	buys "$STRANGER" odd "$GPU" "$1" ',"np_interruptible":true'; buys "$STRANGER" odd "$CPU" 5
	at=$((at + 7200)); v2_clock $at
	as "$STRANGER" POST /np/v1/pools/odd/release "{\"instance_sku\":\"$CPU\"}" >released
	as "$FOUNDRY" PATCH "/np/v1/hosts/$(cat h1)" '{"down":true}' >down
	at=$((at + 1800)); v2_clock $at
	as "$FOUNDRY" PATCH "/np/v1/hosts/$(cat h1)" '{"down":false}' >down
	at=$((at + ($1 - 2) * 3600)); v2_clock $at
}
# What the ledger says, all of it, one event a line.
ledger() {
	: >ledger; cursor=
	while :; do
		operator GET "/np/v1/usage?limit=1000${cursor:+&after=$cursor}" >page
		jq -c '.data[]' page >>ledger
		cursor=$(jq -r .cursor page)
		[ "$(jq .has_more page)" = true ] || break
	done
	wc -l <ledger
}
lago() { curl -s "http://127.0.0.1:$(cat port)/state"; }
python3 "$SRC/tests/lib/lago.py" . l4g0 2>lago.err & sink=$!
at_exit "kill $sink"
echo 0 >faults
wait_for 60 test -s port || { diag "$(cat lago.err)"; fail "(a receiver)"; done_testing; exit; }
TO=lago:http://127.0.0.1:$(cat port)
export NANOPOD_METER_KEY=l4g0
meter() { NANOPOD_URL=unix:$MARKETD_SOCKET timeout -k 5 100 "$NANOPOD" admin meter "$@" </dev/null; }

# ---- A receiver that works -----------------------------------------------------------------------------------------
run_is 0 "what was paid so far" meter --to "$TO" --state lago.book
like "$err" "3 events accepted" "is a volume's hour and two fees"
rm lago.book
is "$(operator GET "/np/v1/usage?from=1900000000" | jq -r .cursor)" "" "who read nothing has no place in the ledger"
month 4
all=$(ledger)
[ "$all" -gt 500 ] || { diag "$all events; $(cat bought)"; fail "(there is usage)"; done_testing; exit; }
is "$(jq -r '[.type, .data.kind, .data.tier] | join(" ")' ledger | sort -u | tr '\n' ,)" \
	"gpu_active_time refund reserved,gpu_active_time sponsored reserved,gpu_active_time sponsored spot,gpu_active_time usage reserved,gpu_active_time usage spot,node_time forfeit reserved,node_time sponsored reserved,node_time usage reserved,plan_fee fee plan,storage_fee usage storage," \
	"of all kinds"
NANOPOD_METER_KEY=wrong run_is 8 "a key that is wrong" meter --to "$TO" --state lago.book
like "$err" "it does not accept the key .401." "is told"
unlike "$err" "wrong|l4g0" "and not said"
run_is 4 "who is no operator" env NANOPOD_TOKEN="$ACME" "$NANOPOD" admin meter --to file:mine
is "$(as "$ACME" GET "/np/v1/usage?limit=1000" | jq -r '[.data[].data.account_name] | unique | join(" ")')" acme "may read its own events"
run_is 0 "a token of the operator's" env NANOPOD_TOKEN="$(operator POST /np/v1/accounts/uni/tokens '{"name":"op","scopes":["admin"]}' | jq -r .token)" \
	"$NANOPOD" admin meter --to file:all
is "$(cat all)" "$(cat ledger)" "reads everybody's"
run_is 0 "--explain" meter --to "$TO" --state lago.book --explain
like "$out" "^GET .*/np/v1/usage" "shows what it asks"
run_is 0 "--explain of a check" meter check --to "$TO" --state lago.book --explain
run_is 0 "all of it" meter --to "$TO" --state lago.book
like "$err" "$all events accepted, $all in all" "is accepted"
lago >state
is "$(jq '.events | length' state)" "$all" "once"
is "$(jq -r '[.metrics[].code] + [.plans[].code] | sort | join(" ")' state)" "gpu_active_time nanopod_plan nanopod_reserved nanopod_spot nanopod_storage node_time plan_fee storage_fee" \
	"by metrics and plans that it made"
is "$(jq -r '[.subscriptions[] | .external_id | sub("acct_[^:]*"; "x")] | sort | join(" ")' state)" "x:plan x:plan x:reserved x:reserved x:reserved x:spot x:spot x:storage" \
	"for customers with a subscription for each tier"
is "$(jq -r '[.events[] | (.external_subscription_id as $s | .code as $c | select(($s | in($all)) and ($c | in($m)) | not))] | length' \
	--argjson all "$(jq .subscriptions state)" --argjson m "$(jq .metrics state)" state)" 0 "which are there for every event"
run_is 0 "again" meter --to "$TO" --state lago.book
like "$err" "0 events accepted, $all in all" "sends nothing twice"
book=lago.book
is "$(stat -c %a $book "$HOME"/.local/state/nanopod/meter/* | sort -u)" 600 "nobody else may read how far it is"
cp "$book" kept
for changed in "s/^\(cursor .*-\).*/\10123456789abcdef/" "s/^cursor [0-9]*/cursor 99999999/" "s/^\(cursor [0-9]*-[0-9]*\)-.*/\1/" "s/^cursor .*/cursor 0-0-0123456789abcdef/"; do
	sed -i "$changed" "$book"
	run_is 2 "a cursor that this ledger did not give ($(sed -n 's/^cursor //p' "$book"))" meter --to "$TO" --state lago.book
	like "$err" "after|cursor" "is refused"
	cp kept "$book"
done
sed -i "s/^\(cursor .*-\).*/\10123456789abcdef/" "$book"
run_is 2 "as after a backup that was restored and has grown since" meter --to "$TO" --state lago.book
like "$err" "restored from a backup; .* new --state FILE" "which says what to do"
rm "$book"
run_is 0 "from the beginning, as after a disk that lost it" meter --to "$TO" --state lago.book --batch 7
lago >state
is "$(jq '.events | length' state)" "$all" "none is taken twice"
ok "each batch is refused as a whole" [ "$(jq .count.refused state)" -ge $((all / 7)) ]

# ---- Compared ---------------------------------------------------------------------------------------------------------
run_is 0 "compared" meter check --to "$TO" --state lago.book -o json
is "$(jq -r 'map(.state) | unique | join(" ")' <<<"$out")" same "it counted the same"
is "$(jq 'map(.amount_micros | tonumber) | add' <<<"$out")" "$(jq -s 'map(.data.amount_micros) | add' ledger)" "which is all of the ledger's"
run_is 2 "a file cannot be asked" meter check --to file:x.jsonl

# ---- A file ------------------------------------------------------------------------------------------------------------
run_is 0 "a file" meter --to file:usage.jsonl --state file.book
is "$(cat usage.jsonl)" "$(cat ledger)" "has what the market said, a line each"
printf '{"half":' >>usage.jsonl
cursor= more=true
while [ $more = true ]; do # the last page's, which is what a kill leaves
	before=$cursor
	operator GET "/np/v1/usage?limit=100${cursor:+&after=$cursor}" >page
	cursor=$(jq -r .cursor page) more=$(jq .has_more page)
done
sed -i "s/^cursor .*/cursor $before/" file.book
run_is 0 "killed before it noted that" meter --to file:usage.jsonl --state file.book
is "$(cat usage.jsonl)" "$(cat ledger)" "the file has no line twice, and no half one"
run_is 2 "nowhere" meter
run_is 2 "an unknown receiver" meter --to ftp://x
run_is 2 "Lago without a key" env -u NANOPOD_METER_KEY NANOPOD_URL="unix:$MARKETD_SOCKET" "$NANOPOD" admin meter --to "$TO" --state lago.book
run_is 1 "a book of another receiver" meter --to file:other --state "$book"

# ---- A receiver that fails in every way, and a sender that is killed -------------------------------------------------------
want=${FAULTS:-10000} rounds=0
echo 900 >faults
while [ "$(lago | jq .count.faults)" -lt "$want" ] && [ $rounds -lt 20 ]; do # 2>: the shell's word of each kill
	rounds=$((rounds + 1))
	month 3
	all=$(ledger)
	until grep -q "^events $all$" "$book"; do
		[ "$(lago | jq .count.faults)" -lt "$want" ] || echo 0 >faults # enough: the rest of the month without
		NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" admin meter --to "$TO" --state lago.book --watch --every 1ms --batch 2 2>>watch.err </dev/null & pid=$!
		echo $pid >pid.new && mv pid.new pid
		finished() { grep -q "^events $all$" "$book" || ! kill -0 $pid 2>/dev/null; }
		wait_for 300 finished || { fail "(it goes on)"; break 2; }
		kill $pid 2>/dev/null
		wait $pid
	done
done 2>noise
echo 0 >faults
lago >state
diag "$(jq -c .count state)"
ok "there were faults" [ "$(jq .count.faults state)" -ge "$want" ]
ok "and kills" [ "$(jq .count.kills state)" -ge $((want / 1000)) ]
is "$(grep -c 'trying again' watch.err | awk '{ print ($1 > 100) }')" 1 "it said why it waits"
unlike "$(cat watch.err)" "l4g0" "and never the key"
is "$(jq -r '.events[].transaction_id' state | sort | uniq -d)" "" "no event was accepted twice"
is "$(jq -r '.events[] | "\(.transaction_id) \(.timestamp) \(.code) \(.properties.node_minutes // 0) \(.properties.gpu_seconds // 0) \(.precise_total_amount_cents | sub("[.]"; "") | tonumber)"' state)" \
	"$(jq -r '"\(.id) \(.data.at) \(.type) \(.data.node_minutes) \(.data.gpu_seconds) \(.data.amount_micros)"' ledger)" \
	"what it accepted is the ledger, in its order, to the micro-dollar"
run_is 0 "compared" meter check --to "$TO" --state lago.book
unlike "$out" differs "it counted the same"

# ---- And the invoices ---------------------------------------------------------------------------------------------------------
v2_clock 1801440000
run_is 0 "the month is over" meter --to "$TO" --state lago.book
lago >state
for account in acme stranger uni miser; do
	id=$(operator GET /np/v1/accounts/$account | jq -r .id)
	NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" invoice 2027-01 --account $account -o json >invoice
	is "$(jq --arg id "$id" '[.events[] | select(.external_subscription_id | startswith($id + ":")) | select(.timestamp < 1801440000) |
		.precise_total_amount_cents | sub("[.]"; "") | tonumber] | add // 0' state)" "$(jq .total_micros invoice)" "the invoice of $account is what was metered"
done
done_testing

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Claims are measured: nonces, signed measurements, who is in the book and who pays. The agents are curl and openssl.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/npagent.sh"

# Its agents are asked by hand: none is silent meanwhile.
v2_start --rate 0 --quota foundry:text=1 --agent-silent 86400
told() { shape_why=$(printf '%s' "$2" | "$BUILD/tests/daemon/fits" "$TMP/openapi.json" "$1" 2>&1); is "$shape_why" "" "$3"; }
curl -sS --max-time 60 "$NANOPOD_URL/openapi.json" >"$TMP/openapi.json"

# agent NAME: joins one; its id is in $AGENT, its session's token in $S. with NAME: goes on as that one.
agent() {
	key "$1"
	AGENT=$(join "$(join_token)" "$1" "$1" "$1" | json .id)
	S=$(session "$AGENT" "$1" 1 "$1" | json .token)
}
GIB=1073741824
has() { as "$S" PUT /np/v1/agent/inventory "$(capacity "$@")" >/dev/null; }
host() { as "$S" POST /np/v1/agent/hosts "{\"name\":\"$1\",\"instance_sku\":\"$2\"}" | json .id; }
nonce() { as "$S" POST /np/v1/agent/nonce '' | json .nonce; }
check() { printf '{"check":"%s","result":"%s","at":%s,"median":%s,"least":%s,"most":%s,"runs":3,"unit":"%s","text":"as measured"}' "$1" "$2" $NOW "$3" "$3" "$3" "$4"; }
# claims NAME NONCE CHECKS [AGENT]: signed as the agent signs; send TEXT: to the market, prints the answer.
claims() {
	jq -cSnj --arg agent "${4:-$AGENT}" --arg key "$(public "$1")" --arg nonce "$2" --argjson at $NOW --argjson checks "[$3]" \
		'{object: "verification", version: 1, $agent, $key, $nonce, $at, passed: true, $checks}' >"$TMP/claims"
	{ printf 'nanopod-claims\n'; cat "$TMP/claims"; } >"$TMP/signed"
	openssl pkeyutl -sign -inkey "$TMP/$1.pem" -rawin -in "$TMP/signed" | base64 -w0 >"$TMP/signature"
	jq -cSj --rawfile s "$TMP/signature" '.signature = $s' "$TMP/claims"
}
send() { jq -n --arg v "$1" '{verification: $v}' >"$TMP/send"; as "$S" POST /np/v1/agent/verification "$(cat "$TMP/send")"; }
verified() { as "$FOUNDRY" GET "/np/v1/hosts/$1" | jq -r '.verification | [.state, .reason // "-", .tier // "-"] | join(" | ")'; }
says() { like "$(json .error.message <<<"$out")" "$1" "$2"; }
fast=$(check 'disk write' ok 900 MB/s) slow=$(check 'disk write' ok 100 MB/s)

# ---- What a type asks for ---------------------------------------------------------------------------------------
sku() { operator POST /np/v1/skus "{\"alias\":\"$1\",\"gpus\":$2,\"properties\":$3}"; }
out=$(sku x 0 '{"requires":{"floors":{"Disk":1}}}')
refused 422 invalid properties.requires "a floor without a name that a check can have" "$out"
for floor in disk_wirte disk_write4 market_latency; do
	out=$(sku x 0 "{\"requires\":{\"floors\":{\"$floor\":1}}}")
	refused 422 invalid properties.requires "a floor of what no agent measures for a market ($floor)" "$out"
done
says "a floor is one of disk_write, disk_read, .* opencl_sums" "and which there are"
out=$(sku x 0 '{"requires":{"verified":true,"tiers":[{"name":"gold","floors":{"disk_wirte":1}}]}}')
refused 422 invalid properties.requires "neither in tiers" "$out"
for more in '"recheck_percent":10' '"tiers":[{"name":"gold","floors":{"disk_write":1}}]'; do
	out=$(sku x 0 "{\"requires\":{$more}}")
	refused 422 invalid properties.requires "what is for verified hosts alone ($more)" "$out"
	says "'tiers' and 'recheck_percent' are for verified hosts: drop them, or add 'verified': true" "and what to do"
done
out=$(sku x 0 '{"requires":{"verified":false,"floors":{"disk_write":1}}}')
refused 422 invalid properties.requires "floors for hosts that nobody measures" "$out"
# asks FLOOR: of the disk; type 'sure' is made with 500.
asks() {
	printf '{"num_vcpus":1,"requires":{"floors":{"disk_write":%s},"verify_hours":2,"recheck_percent":100,
		"tiers":[{"name":"gold","floors":{"disk_write":800}},{"name":"silver","floors":{}}]}}' "$1"
}
out=$(sku sure 0 "$(asks 500)")
is "$(http_status)" 201 "a type that asks for a disk of 500 MB/s"
shape InstanceSku "$out" "(as documented)"
SURE=$(json .id <<<"$out")
sku h100 8 '{"accelerator":"h100","requires":{"verified":true}}' >"$TMP/.made"

# ---- Nonces, and what is believed --------------------------------------------------------------------------------
agent rack; RACK=$S
has 4 $((8 * GIB)) $((50 * GIB))
A=$(host a sure) B=$(host b sure)
is "$(verified "$A")" "unverified | - | -" "nothing is known of a new host"
out=$(send "$(claims rack 00112233445566778899aabbccddeeff "$fast")")
refused 409 wrong_state verification "measurements for which nobody asked" "$out"
out=$(as "$S" POST /np/v1/agent/nonce '')
told np.Nonce "$out" "a nonce for the agent"
out=$(send "$(claims rack 00112233445566778899aabbccddeeff "$fast")")
refused 422 invalid verification "measurements for another nonce" "$out"
says "answers the nonce" "and why"
out=$(send "$(claims rack "$(json .nonce <<<"$out")" "$fast")")
refused 409 wrong_state verification "a nonce is for one try" "$out"
N=$(nonce); text=$(claims rack "$N" "$fast")
out=$(send "${text/900/901}")
refused 422 invalid verification "measurements that somebody changed" "$out"
key other
N=$(nonce); out=$(send "$(claims other "$N" "$fast")")
refused 422 invalid verification "measurements that another key signed" "$out"
N=$(nonce); out=$(send "$(claims rack "$N" "$fast" agt_0000000000000)")
refused 422 invalid verification "measurements of another agent" "$out"
N=$(nonce); v2_clock $((NOW + 901)); out=$(send "$(claims rack "$N" "$fast")")
refused 409 wrong_state verification "measurements that come too late" "$out"
N=$(nonce); S=$(session "$AGENT" rack 2 rack | json .token); out=$(send "$(claims rack "$N" "$fast")")
refused 409 wrong_state verification "a nonce is for one session" "$out"
N=$(nonce); out=$(as "$FOUNDRY" POST /np/v1/agent/nonce '')
is "$(http_status)" 403 "only agents get one"
is "$(verified "$A")" "unverified | - | -" "none of that proves anything"
RACK=$S
NOW=$((NOW + 960)); v2_clock $NOW

# ---- In the book ---------------------------------------------------------------------------------------------------
offer() { as "$FOUNDRY" POST "/np/v1/hosts/$1/offers" "{\"price_dollars_per_node_hour\":\"$2\"}" >/dev/null; }
SKU=$SURE
quote() { as "$ACME" POST /np/v1/quote "$(order buy "$POOL" "${2:-1}" $((NOW + 60)) $((NOW + HOUR)) 9.00 "${1-}" | jq -c '.pool |= .')"; }
offers() { curl -sS -H "Authorization: Bearer $ACME" "$NANOPOD_URL/np/v1/offers?instance_sku=sure${1-}"; }
book() { offers "${1-}" | jq -c '[.data[] | [.price_dollars_per_node_hour, .verification.state, .verification.tier]]'; }
offer "$A" 1.20; offer "$B" 2.40
is "$(book)" '[]' "no host is in the book before it is proven"
is "$(book '&unverified=true')" '[["1.200000","unverified",null],["2.400000","unverified",null]]' "but for who asks for such hosts"
out=$(quote)
is "$(jq -c '[.fills, .reason, [.alternatives[].kind]]' <<<"$out")" '[false,"no_capacity",["unverified"]]' "a buyer hears what would do"
told np.Quote "$out" "(as documented)"
is "$(quote ',"np_unverified":true' | json .fills)" true "and can ask for it"
is "$(curl -sS -H "Authorization: Bearer $ACME" "$NANOPOD_URL/v2/instance_skus/$SURE/availability" | jq -c .schedule)" '[]' "nothing is available"
is "$(as "$S" GET /np/v1/agent/work | jq -c '.hosts[0].verification | [.state, .until, .now]')" '["unverified",null,false]' "its agent hears that the market waits"
told np.Work "$(as "$S" GET /np/v1/agent/work)" "(as documented)"

N=$(nonce); out=$(send "$(claims rack "$N" "$fast")")
is "$(http_status) $(jq -c '[.hosts[] | [.name, .state, .until]]' <<<"$out")" "200 [[\"a\",\"verified\",$((NOW + 60 + 7200))],[\"b\",\"verified\",$((NOW + 60 + 7200))]]" \
	"measured: proven for as long as the type says"
told np.VerificationAnswer "$out" "(as documented)"
is "$(book)" '[["1.200000","verified","gold"],["2.400000","verified","gold"]]' "and in the book, with the tier that was measured"
told np.OfferList "$(offers)" "(as documented)"
unlike "$(offers)" "foundry|\"host_|\"a\"" "which names nobody"
is "$(as "$FOUNDRY" GET "/np/v1/hosts/$A" | jq -c '.verification.measured[0] | [.check, .median, .unit]')" '["disk write",900,"MB/s"]' "its seller sees the values"
told np.HostVerification "$(as "$FOUNDRY" GET "/np/v1/hosts/$A/verification")" "and all of it, as it was signed"
on() { printf '{"device":"%s",%s' "$1" "$(check "$2" ok "$3" MB/s | cut -c 2-)"; }
N=$(nonce); send "$(claims rack "$N" "$fast,$(check foundry ok 1 MB/s),$(check 'disk read' ok 1 foundry),$(on foundry 'disk fsync' 1),$(
	on 203.0.113.9:443 'disk fsync' 2),$(check 'disk 203.0.113.9:443 write' ok 903 MB/s),$(check 'gpu 18005551234 sums' ok 4 MB/s),$(
	on 0000:5e:00.0 'gpu 12 memory' 5),$(on 0000:5e:00.0.1 'gpu 1 read' 6),$(on 0000:5e:00.0 'opencl 7 sums' 8)")" >"$TMP/.made"
is "$(offers | jq -c '.data[0].verification.measured | [.[] | [.check, .device, .median]]') $(as "$FOUNDRY" GET "/np/v1/hosts/$A" | jq '.verification.measured | length')" \
	'[["disk write","",900],["disk write","",903],["gpu sums","",4],["gpu 12 memory","0000:5e:00.0",5],["gpu 7 sums","0000:5e:00.0",8]] 10' \
	"nor does what its machine calls things: a buyer reads words of the market, and addresses on a bus; the seller all"
is "$(quote | json .fills)" true "a buyer gets it"

# ---- Who pays ------------------------------------------------------------------------------------------------------
minutes() { for ((m = 0; m < $1; m++)); do NOW=$((NOW + 60)); v2_clock $NOW; done; }
money() { as "$1" GET /np/v1/balance | json "$2"; }
out=$(as "$ACME" POST /v2/orders "$(order buy "$POOL" 1 $((NOW + 60)) $((NOW + 60 + HOUR)) 9.00)")
is "$(json .status <<<"$out") $(json .np_unverified <<<"$out")" "filled false" "bought"
paid=$(money "$ACME" .available_micros)
minutes 2
is "$(as "$S" GET /np/v1/agent/work | jq -c '[.hosts[].verification.now]')" '[true,false]' "in the first minutes of a lease its host measures again"
N=$(nonce); out=$(send "$(claims rack "$N" "$slow")")
is "$(jq -c '[.hosts[] | [.state, .reason]]' <<<"$out") $(as "$S" GET /np/v1/agent/work | jq -c '[.hosts[].verification | [.state, .now]]')" \
	'[["verified","disk_write: 100 MB/s, but its type asks for 500"],["verified",null]] [["verified",true],["verified",false]]' "one slow answer is not the last: it measures again"
minutes 6
N=$(nonce); out=$(send "$(claims rack "$N" "$slow")")
is "$(jq -c '[.hosts[] | [.state, .reason]]' <<<"$out")" '[["failed","disk_write: 100 MB/s, but its type asks for 500"],["failed","disk_write: 100 MB/s, but its type asks for 500"]]' "and fails"
is "$(book)" '[]' "it leaves the book"
out=$(as "$ACME" POST /np/v1/pools/train/extend "{\"end_at\":$((NOW + 2 * HOUR)),\"limit_price_dollars_per_node_hour\":\"9.00\"}")
is "$(json .error.message <<<"$out")" "not all of the same hosts can go on: one failed its verification" "it cannot be extended, and its buyer hears why"
is "$(offers '&unverified=true' | jq -c '[.data[].verification | [.state, .reason]] | unique')" '[["failed",null]]' "who asks for such hosts reads no text of their sellers"
minutes 61
is "$(($(money "$ACME" .available_micros) - paid)) $(money "$FOUNDRY" .available_micros)" "1200000 0" "its buyer has all of it back, the seller nothing"
like "$(curl -sS -H "Authorization: Bearer $FOUNDRY" "$NANOPOD_URL/np/v1/events" --max-time 60 2>/dev/null)" '"host.verified"' "and people hear of it"

N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
out=$(as "$ACME" POST /v2/orders "$(order buy "$POOL" 1 $((NOW + 60)) $((NOW + 60 + HOUR)) 9.00)")
is "$(json .status <<<"$out")" filled "proven again, it is sold again"
minutes 12
is "$(verified "$A")" "failed | it did not measure itself again when a lease began | -" "who does not answer fails"
alert() { as "$FOUNDRY" GET /np/v1/alerts | jq -c '[.data[] | select(.rule == "host_unproven") | [.severity, .subject.name, .text]]'; }
is "$(alert)" '[["warning","a","what it measured does not reach what its type asks for (it did not measure itself again when a lease began)"]]' \
	"its owner has an alert"
minutes 50
is "$(money "$FOUNDRY" .available_micros)" 0 "and is not paid"
out=$(as "$ACME" POST /v2/orders "$(order buy "$POOL" 1 $((NOW + 60)) $((NOW + 60 + HOUR)) 9.00 ',"np_unverified":true')")
is "$(json .status <<<"$out") $(json .np_unverified <<<"$out")" "filled true" "who wants such hosts gets them"
minutes 62
is "$(money "$FOUNDRY" .available_micros)" 1200000 "and pays"
out=$(as "$FOUNDRY" POST /v2/orders "$(order sell hosts-sure 1 $((NOW + 60)) $((NOW + HOUR)) 9.00 ',"np_unverified":true')")
refused 422 invalid np_unverified "a seller cannot ask for that" "$out"

# ---- Beside a node ---------------------------------------------------------------------------------------------------
# takes TIME: buys an hour of one proven host that begins with the next minute; on A, the cheaper one, while that is free.
takes() { as "$ACME" POST /v2/orders "$(order buy "$POOL" 1 $((NOW + 60)) $((NOW + 60 + HOUR)) 9.00)" | json .status; }
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
is "$(takes)" filled "(both are proven, and one of them is sold)"
minutes 1
is "$(as "$S" GET /np/v1/agent/work | jq -c '[.hosts[].verification.now]')" '[true,false]' "(it is looked at)"
# instance NAME: makes a node in the pool; runs ID: its agent says that it runs. hears: what the agent hears of nodes.
instance() { as "$ACME" POST /v2/instances "{\"name\":\"$1\",\"pool\":\"$POOL\",\"image\":\"debian-12\",\"instance_sku\":\"$SURE\"}" | json .id; }
runs() { as "$S" POST "/np/v1/instances/$1/report" '{"status":"running","hostname":"10.0.0.7","port":2201,"user":"root","driver":"ns","host_keys":[{"type":"ssh-ed25519","key":"AAAAC3Nz"}]}' >/dev/null; }
hears() { as "$S" GET /np/v1/agent/work | jq -c '[[.nodes[].id], [.hosts[].verification.now]]'; }
INST=$(instance vm1)
is "$(hears)" '[[],[true,false]]' "its agent hears of no node before it has measured"
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
is "$(hears)" "[[\"$INST\"],[false,false]]" "and then of the one that waited"
runs "$INST"
is "$(http_status)" 204 "a node runs on it"
N=$(nonce); out=$(send "$(claims rack "$N" "$slow")")
is "$(http_status) $(jq -c '[.hosts[].state]' <<<"$out")" '200 ["verified","verified"]' "what fails beside a node says nothing"
is "$(takes)" filled "the other host is sold, too"
minutes 1
is "$(hears)" "[[\"$INST\"],[false,false]]" "it is not looked at while a node runs beside it"
minutes 11
is "$(verified "$A") / $(verified "$B")" "verified | - | gold / verified | - | gold" "and need not answer"
before=$(as "$FOUNDRY" GET "/np/v1/hosts/$A" | json .verification.until)
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
ok "but what passes counts" test "$(as "$FOUNDRY" GET "/np/v1/hosts/$A" | json .verification.until)" -gt "$before"
as "$ACME" POST "/v2/instances/$INST/terminate" >/dev/null
minutes 62
is "$(as "$ACME" POST /v2/orders "$(order buy "$POOL" 2 $((NOW + 60)) $((NOW + 60 + HOUR)) 9.00)" | json .status)" filled "(both are sold at once)"
INST=$(instance vm2) OTHER=$(instance vm3)
minutes 1
is "$(hears)" '[[],[true,true]]' "both are looked at, and both nodes wait"
paid=$(money "$ACME" .available_micros)
minutes 3
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
is "$(hears)" "[[\"$INST\",\"$OTHER\"],[false,false]]" "for one measurement"
is "$(($(money "$ACME" .available_micros) - paid)) $(as "$FOUNDRY" GET /np/v1/hosts | jq -c '[.data[] | .state] | unique')" \
	"$((4 * (20000 + 40000))) [\"up\"]" "nobody pays for the minutes in which the market kept the nodes back, and no host is down for them"
for i in $INST $OTHER; do as "$ACME" POST "/v2/instances/$i/terminate" >/dev/null; done
minutes 62
paid=$(money "$FOUNDRY" .available_micros)
is "$(takes)" filled "(sold again)"
INST=$(instance vm4)
minutes 1
runs "$INST"
minutes 12
is "$(verified "$A") / $(hears)" "failed | it did not measure itself again when a lease began | - / [[\"$INST\"],[true,false]]" \
	"a node that runs all the same saves nobody who does not answer"
as "$ACME" POST "/v2/instances/$INST/terminate" >/dev/null
minutes 50
is "$(($(money "$FOUNDRY" .available_micros) - paid))" 0 "nor from giving all of it back"
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
is "$(takes)" filled "(and again)"
INST=$(instance vm5)
minutes 8
runs "$INST"
N=$(nonce); send "$(claims rack "$N" "$slow")" >"$TMP/.made"
is "$(verified "$A")" "failed | disk_write: 100 MB/s, but its type asks for 500 | -" "nor who answers too late to tell another story"
as "$ACME" POST "/v2/instances/$INST/terminate" >/dev/null
minutes 62

# ---- Staying, and a type that asks no more -------------------------------------------------------------------------------
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
until=$(as "$FOUNDRY" GET "/np/v1/hosts/$A" | json .verification.until)
has_hour() { as "$ACME" POST /v2/orders "$(order buy "$POOL" 1 "$1" $(($1 + HOUR)) 9.00)" | json .status; }
is "$(has_hour $((until - HOUR + 120))) $(has_hour $((until + 120)))" "filled filled" "(somebody has the host, and goes on past the end of its proof)"
NOW=$((until + 300)); v2_clock $NOW
is "$(verified "$A") $(as "$S" GET /np/v1/agent/work | jq -c '.hosts[0].verification.now')" "expired | - | gold false" "who stays pays, and the host need not be measured"
N=$(nonce); send "$(claims rack "$N" "$slow")" >"$TMP/.made"
says_work() { as "$S" GET /np/v1/agent/work | jq -c '.hosts[0].verification | [.state, .now]'; }
is "$(says_work)" '["failed",true]' "unless it fails"
wants() { operator PATCH "/np/v1/skus/$SURE" "{\"properties\":$1}" >/dev/null; }
wants '{"requires":null}'
is "$(http_status) $(says_work)" '200 ["failed",true]' "what was sold waits for a proof even where its type asks no more"
wants "$(asks 500)"
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
minutes 62

# ---- In the first minutes, again ------------------------------------------------------------------------------------
as "$STRANGER" POST /v2/pools '{"name":"other","workspace":"default"}' >"$TMP/.pool"
OTHER=$(json .id <"$TMP/.pool")
# has_from TOKEN POOL MINUTE MINUTES: that lease is bought.
has_from() { is "$(as "$1" POST /v2/orders "$(order buy "$2" 1 $((NOW + 60 * $3)) $((NOW + 60 * $3 + 60 * $4)) 9.00)" | json .status)" filled "(bought)"; }
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
has_from "$ACME" "$POOL" 1 5
has_from "$STRANGER" "$OTHER" 6 50
N=$(nonce)
minutes 2
send "$(claims rack "$N" "$fast")" >"$TMP/.made"
is "$(http_status) $(as "$S" GET /np/v1/agent/work | jq -c '[.hosts[].verification.now]')" '200 [true,false]' "a nonce from before a lease answers nothing that was asked in it"
minutes 10
is "$(verified "$A")" "failed | it did not measure itself again when a lease began | -" "nor does the next lease put it off"
minutes 50
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
has_from "$ACME" "$POOL" 1 2
minutes 9
is "$(verified "$A")" "verified | - | gold" "(a short lease is over)"
minutes 3
is "$(verified "$A")" "failed | it did not measure itself again when a lease began | -" "who did not answer in it fails all the same"

# ---- A slow answer ---------------------------------------------------------------------------------------------------
minutes 50
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
paid=$(money "$FOUNDRY" .available_micros)
INST=$(instance vm6)
has_from "$ACME" "$POOL" 1 20
minutes 2
N=$(nonce); send "$(claims rack "$N" "$slow")" >"$TMP/.made"
is "$(hears)" '[[],[true,false]]' "after a slow answer its machine measures again, and the node waits on"
minutes 2
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
is "$(hears) $(verified "$A")" "[[\"$INST\"],[false,false]] verified | - | gold" "the last answer counts"
runs "$INST"
minutes 18
is "$(($(money "$FOUNDRY" .available_micros) - paid))" $((16 * 20000)) "from the next minute on it is paid for"
paid=$(money "$FOUNDRY" .available_micros)
has_from "$ACME" "$POOL" 1 20
minutes 2
N=$(nonce); send "$(claims rack "$N" "$slow")" >"$TMP/.made"
minutes 22
is "$(verified "$A") $(($(money "$FOUNDRY" .available_micros) - paid))" "failed | disk_write: 100 MB/s, but its type asks for 500 | - 0" "also where no other came"

N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
paid=$(money "$FOUNDRY" .available_micros)
INST=$(instance vm7)
has_from "$ACME" "$POOL" 1 20
minutes 3
is "$(hears)" '[[],[true,false]]' "(a node waits)"
as "$ACME" POST "/v2/instances/$INST/terminate" >/dev/null
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
minutes 20
is "$(($(money "$FOUNDRY" .available_micros) - paid))" $((17 * 20000)) "who ends a node that the market kept back does not pay for the wait either"
paid=$(money "$FOUNDRY" .available_micros)
INST=$(instance vm8)
has_from "$ACME" "$POOL" 1 20
minutes 3
for down in true false; do as "$FOUNDRY" PATCH "/np/v1/hosts/$A" "{\"down\":$down}" >/dev/null; done
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
runs "$INST"
minutes 20
is "$(($(money "$FOUNDRY" .available_micros) - paid))" $((17 * 20000)) "nor does a seller come to it by taking the host down and up"

# The market is away for half an hour.
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
paid=$(money "$FOUNDRY" .available_micros)
INST=$(instance vm10)
has_from "$ACME" "$POOL" 1 60
minutes 2
is "$(hears)" '[[],[true,false]]' "(a node waits)"
NOW=$((NOW + 1800)); v2_clock $NOW
is "$(hears) $(verified "$A")" '[[],[true,false]] verified | - | gold' "while the market is away, nobody has to answer"
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
is "$(hears) $(verified "$A")" "[[\"$INST\"],[false,false]] verified | - | gold" "but then"
runs "$INST"
minutes 30
is "$(($(money "$FOUNDRY" .available_micros) - paid))" $((28 * 20000)) "and nobody pays for the wait"

# The market starts anew.
paid=$(money "$FOUNDRY" .available_micros)
INST=$(instance vm11)
has_from "$ACME" "$POOL" 1 20
minutes 5
is "$(hears)" '[[],[true,false]]' "(a node waits)"
marketd_kill; marketd_start --test-clock=$NOW --rate 0 --quota foundry:text=1
is "$(hears)" "[[\"$INST\"],[false,false]]" "a market that starts anew keeps no node back"
minutes 1
runs "$INST"
minutes 20
is "$(($(money "$FOUNDRY" .available_micros) - paid))" $((15 * 20000)) "and nobody pays for what they waited before"
paid=$(money "$FOUNDRY" .available_micros)
INST=$(instance vm12)
has_from "$ACME" "$POOL" 1 20
minutes 3
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
minutes 1
marketd_kill; marketd_start --test-clock=$NOW --rate 0 --quota foundry:text=1
minutes 1
runs "$INST"
minutes 20
is "$(($(money "$FOUNDRY" .available_micros) - paid))" $((16 * 20000)) "also where it had let the node go, and that had not come yet"

# A type that asks no more, after a short lease.
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
has_from "$ACME" "$POOL" 1 2
minutes 1
is "$(hears)" '[[],[true,false]]' "(drawn)"
wants '{"requires":null}'
minutes 3
is "$(as "$S" GET /np/v1/agent/work | jq -c '[.hosts[].verification.now]')" '[true,null]' "who has to measure hears it, also where its type asks no more"
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
is "$(as "$S" GET /np/v1/agent/work | jq -c '[.hosts[].verification.now]')" '[null,null]' "once"
wants "$(asks 500)"

# A node that never comes on a host that is down keeps no other from being looked at.
has_from "$STRANGER" "$OTHER" 1 1
has_from "$ACME" "$POOL" 1 60
INST=$(instance vm9)
minutes 1
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
is "$(hears)" "[[\"$INST\"],[false,false]]" "(a node is to come on the second host)"
has_from "$STRANGER" "$OTHER" 2 1
minutes 2
is "$(hears)" "[[\"$INST\"],[false,false]]" "while it may, the first is not looked at"
as "$FOUNDRY" PATCH "/np/v1/hosts/$B" '{"down":true}' >/dev/null
has_from "$STRANGER" "$OTHER" 2 3
minutes 2
is "$(hears)" '[[],[true,false]]' "a node that waits on a host that is down keeps no other from that"
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
as "$ACME" POST "/v2/instances/$INST/terminate" >/dev/null
as "$FOUNDRY" PATCH "/np/v1/hosts/$B" '{"down":false}' >/dev/null
minutes 60

# ---- A type that asks for more --------------------------------------------------------------------------------------
minutes 50
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
paid=$(money "$FOUNDRY" .available_micros)
has_from "$ACME" "$POOL" 1 20
has_from "$STRANGER" "$OTHER" 41 20
minutes 2
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
is "$(verified "$A")" "verified | - | gold" "(it is proven, and sold now and later)"
measured_at() { as "$FOUNDRY" GET "/np/v1/hosts/$A" | jq -c '.verification | [.at, .measured[0].median]'; }
before=$(measured_at)
minutes 1
wants "$(asks 1000)"
is "$(verified "$A")" "expired | disk_write: 900 MB/s, but its type asks for 1000 | -" "a host that does not reach a raised floor is proven no more"
is "$(measured_at)" "$before" "what was measured of it stays as old as it is"
wants "$(asks 2000)"
is "$(verified "$A")" "expired | disk_write: 900 MB/s, but its type asks for 2000 | -" "its seller reads what it asks for now"
wants "$(asks 1000)"
is "$(book) $(quote | json .fills)" "[] false" "and leaves the book"
like "$(curl -sS -H "Authorization: Bearer $FOUNDRY" "$NANOPOD_URL/np/v1/events" --max-time 60 2>/dev/null)" '"state": *"expired"' "its seller hears of it"
as "$ACME" POST /np/v1/pools/train/extend "{\"end_at\":$((NOW + 28 * 60)),\"limit_price_dollars_per_node_hour\":\"9.00\"}" >"$TMP/.made"
is "$(http_status)" 201 "who is there may stay"
N=$(nonce); out=$(send "$(claims rack "$N" "$fast")")
is "$(jq -c '.hosts[0] | [.state, .reason]' <<<"$out")" '["expired","disk_write: 900 MB/s, but its type asks for 1000"]' "to measure the same again changes nothing"
before=$(verified "$A")
marketd_stop; marketd_start --test-clock=$NOW --rate 0 --quota foundry:text=1
is "$(verified "$A")" "$before" "nor does a restart"
minutes 40
is "$(says_work)" '["expired",true]' "what was sold for later is looked at, too"
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"
is "$(says_work)" '["expired",false]' "and need not reach what nobody had asked for when it was sold"
minutes 20
is "$(($(money "$FOUNDRY" .available_micros) - paid))" $((50 * 20000)) "all of it is paid for"
wants "$(asks 900)"
is "$(verified "$A") $(book)" 'verified | - | gold [["1.200000","verified","gold"],["2.400000","verified","gold"]]' "with a floor that they reach hosts are back in the book"
wants "$(asks 1000)"
N=$(nonce); send "$(claims rack "$N" "$(check 'disk write' ok 1100 MB/s)")" >"$TMP/.made"
is "$(verified "$A")" "verified | - | gold" "who measures more is proven again"
wants "$(asks 1200)"
N=$(nonce); send "$(claims rack "$N" "$(check 'disk write' failed 1100 MB/s)")" >"$TMP/.made"
is "$(verified "$A")" "failed | disk write: as measured | -" "what fails for another reason fails"
wants "$(asks 500)"
is "$(verified "$A")" "failed | disk write: as measured | -" "(whatever its type asks for)"
N=$(nonce); send "$(claims rack "$N" "$fast")" >"$TMP/.made"

# ---- A host that its type has outgrown is as good as it was ------------------------------------------------------------
# disk VALUE: measures that and sends it. outgrown: a host that was proven with 900 where its type asks for 1000 now.
disk() { N=$(nonce); send "$(claims rack "$N" "$(check 'disk write' ok "$1" MB/s)")" >"$TMP/.made"; }
version() { as "$S" GET /np/v1/agent/work | json .version; }
minutes 60
disk 900
has_from "$ACME" "$POOL" 125 10
wants "$(asks 1000)"
minutes 127
is "$(says_work)" '["expired",true]' "what was sold before its type asked for more begins after its proof has ended"
paid=$(money "$FOUNDRY" .available_micros)
before=$(measured_at)
was=$(version)
disk 700
is "$(says_work) $(verified "$A")" '["expired",false] expired | disk_write: 700 MB/s, but its type asks for 1000 | -' "it is as good as it was"
isnt "$(version)" "$was" "which its agent hears at once"
is "$(measured_at)" "$before" "and stays known by its best"
minutes 12
is "$(($(money "$FOUNDRY" .available_micros) - paid))" $((8 * 20000)) "it is paid for from then on"
disk 950
isnt "$(measured_at)" "$before" "(a better one replaces that)"
disk 720
disk 540
is "$(verified "$A")" "failed | disk_write: 540 MB/s, but its type asks for 1000 | -" "small steps lead nowhere: it has to be as good as its best was"
wants "$(asks 500)"
disk 900
paid=$(money "$FOUNDRY" .available_micros)
has_from "$ACME" "$POOL" 1 20
wants "$(asks 1000)"
minutes 2
is "$(says_work)" '["expired",true]' "(drawn)"
disk 1
is "$(verified "$A")" "expired | disk_write: 900 MB/s, but its type asks for 1000 | -" "(it may try again)"
minutes 6
disk 1
is "$(verified "$A")" "failed | disk_write: 1 MB/s, but its type asks for 1000 | -" "what is far from what it was fails, whatever its type asks for since"
wants "$(asks 500)"
minutes 20
is "$(verified "$A") $(($(money "$FOUNDRY" .available_micros) - paid))" "failed | disk_write: 1 MB/s, but its type asks for 1000 | - 0" "keeps no money, and does not come back by what it once measured"
disk 900

paid=$(money "$FOUNDRY" .available_micros)
has_from "$ACME" "$POOL" 1 40
wants "$(asks 1000)"
minutes 12
is "$(verified "$A")" "failed | it did not measure itself again when a lease began | -" "(one of those does not answer)"
disk 900
is "$(verified "$A")" "expired | disk_write: 900 MB/s, but its type asks for 1000 | -" "who failed by silence alone can be as good as before"
minutes 30
is "$(($(money "$FOUNDRY" .available_micros) - paid))" $((29 * 20000)) "and is paid from then on"
wants "$(asks 500)"
disk 900
has_from "$ACME" "$POOL" 5 20
disk 100
minutes 16
disk 100
is "$(verified "$A")" "failed | disk_write: 100 MB/s, but its type asks for 500 | -" "but who failed by what it is comes to nothing by silence"
minutes 10
disk 900

# ---- GPUs ------------------------------------------------------------------------------------------------------------
# gpus COUNT: the agent's inventory lists them, h100 all of them; at NUMBER: where it is.
at() { printf '0000:%02x:00.0' "$1"; }
gpus() { as "$S" PUT /np/v1/agent/inventory "$(capacity 64 $((512 * GIB)) $((500 * GIB)) "$1 h100" | jq -c --argjson at "$(for ((i = 0; i < $1; i++)); do at "$i"; echo; done | jq -cnR '[inputs | {address: .}]')" '.gpus = $at')" >/dev/null; }
# sums COUNT [FIRST [ROUNDS]]: what so many GPUs computed for $N; with a comma before each.
sums() {
	where=(); for ((i = ${2-0}; i < ${2-0} + $1; i++)); do where+=("$(at "$i")"); done
	"$BUILD/tests/daemon/answer" "$N" "${3-256}" "${where[@]}" >"$TMP/answers"
	for device in "${where[@]}"; do read -r answer; sum "$device" "$answer"; done <"$TMP/answers"
}
sum() { printf ',{"device":"%s","answer":"%s",%s' "$1" "$2" "$(check "${3-opencl $((i++)) sums}" ok 5000 M/s | cut -c 2-)"; }
agent gpus
gpus 16
G=$(host g1 h100) H=$(host g2 h100)
is "$(http_status)" 201 "(two hosts with eight GPUs each, by their own word)"
N=$(nonce); send "$(claims gpus "$N" "$fast")" >"$TMP/.made"
is "$(verified "$G")" "failed | 0 of its 8 GPUs computed what was asked of them | -" "a machine without GPUs is no h100"
N=$(nonce); send "$(claims gpus "$N" "$fast$(sums 9)")" >"$TMP/.made"
is "$(verified "$G") / $(verified "$H")" "verified | - | - / failed | 1 of its 8 GPUs computed what was asked of them | -" "each GPU counts for one host"
N=$(nonce); send "$(claims gpus "$N" "$(check 'gpu 0 memory' failed 1 MB/s)$(sums 16)")" >"$TMP/.made"
is "$(verified "$G")" "failed | gpu 0 memory: as measured | -" "what fails by its own measure fails here"
N=$(nonce); send "$(claims gpus "$N" "$fast$(for i in 0 1 2 3 4 5 6 7; do check "gpu $i sums" ok 5000 M/s | sed 's/^/,/'; done)")" >"$TMP/.made"
is "$(verified "$G")" "failed | 0 of its 8 GPUs computed what was asked of them | -" "sums without an answer are none"
N=$(nonce); send "$(claims gpus "$N" "$fast$(sums 7)$(sums 8 40)")" >"$TMP/.made"
is "$(verified "$G")" "failed | 7 of its 8 GPUs computed what was asked of them | -" "nor are those of GPUs that the machine does not list"
N=$(nonce); send "$(claims gpus "$N" "$fast$(sums 7)$(sums 1)$(sums 1 6 1024)")" >"$TMP/.made"
is "$(verified "$G")" "failed | 7 of its 8 GPUs computed what was asked of them | -" "a GPU counts once"
N=$(nonce); out=$(send "$(claims gpus "$N" "$fast$(sum "$(at 0)" 256:0123456789abcdef)")")
refused 422 invalid verification "an answer that was not computed for the nonce" "$out"
says "did not compute what the nonce asks for" "and why"
for rounds in 255 65537; do
	N=$(nonce); out=$(send "$(claims gpus "$N" "$fast$(sums 1 0 $rounds)")")
	refused 422 invalid verification "nor is an answer of $rounds rounds one" "$out"
done
# What is not counted is not computed: a second answer of a GPU, and those beyond 32.
gpus 40
N=$(nonce); send "$(claims gpus "$N" "$fast$(sums 8)$(sum "$(at 7)" 65536:1)")" >"$TMP/.made"
is "$(verified "$G")" "verified | - | -" "the market computes one answer of each GPU"
N=$(nonce); out=$(send "$(claims gpus "$N" "$fast$(sums 31)$(sum "$(at 31)" 256:1)")")
refused 422 invalid verification "(a wrong one among 32)" "$out"
N=$(nonce); send "$(claims gpus "$N" "$fast$(sums 32)$(sum "$(at 32)" 256:1)")" >"$TMP/.made"
is "$(http_status) $(verified "$G")" "200 verified | - | -" "and those of 32"

# Parts of GPUs, and hosts that get theirs although one before did not.
sku single 1 '{"accelerator":"h100","requires":{"verified":true}}' >"$TMP/.made"
sku quarter 1 '{"accelerator":"h100","requires":{"verified":true,"gpu_vendor":"nvidia","share":"1/4"}}' >"$TMP/.made"
I=$(host g3 single)
N=$(nonce); send "$(claims gpus "$N" "$fast$(sums 9)")" >"$TMP/.made"
is "$(verified "$G") / $(verified "$H") / $(verified "$I")" "verified | - | - / failed | 1 of its 8 GPUs computed what was asked of them | - / verified | - | -" \
	"eight of nine are for the first, none for the second, the ninth for the third"
agent sharer
gpus 2
as "$S" PUT /np/v1/agent/inventory "$(as "$FOUNDRY" GET "/np/v1/agents/$AGENT" | jq -c '.inventory | .capacity.shares = "nvidia"')" >/dev/null
Q=$(host q0 quarter)
for i in 1 2 3; do host "q$i" quarter >"$TMP/.made"; done
L=$(host q4 quarter)
N=$(nonce); send "$(claims sharer "$N" "$fast$(sums 1)")" >"$TMP/.made"
is "$(as "$S" GET /np/v1/agent/work | jq -c '[.hosts[].verification.state]')" '["verified","verified","verified","verified","failed"]' "four quarters are one GPU"
is "$(verified "$L")" "failed | no GPU that computed what was asked of it has room for its share | -" "a fifth is of another"
sku third 1 '{"accelerator":"h100","requires":{"verified":true,"share":"mig:2g.20gb"}}' >"$TMP/.made"
agent cutter
gpus 2
as "$S" PUT /np/v1/agent/inventory "$(as "$FOUNDRY" GET "/np/v1/agents/$AGENT" | jq -c '.inventory | .capacity.gpus[0].slices = [{"profile":"2g.20gb","count":3}]')" >/dev/null
for i in 1 2 3; do host "c$i" third >"$TMP/.made"; done
L=$(host c4 third)
N=$(nonce); send "$(claims cutter "$N" "$fast$(sums 1)")" >"$TMP/.made"
is "$(as "$S" GET /np/v1/agent/work | jq -c '[.hosts[].verification.state]')" '["verified","verified","verified","failed"]' "as many slices as it holds are one GPU"
is "$(verified "$L")" "failed | no GPU that computed what was asked of it has room for its share | -" "the next one is of another"

# ---- Hosts of several types on one machine ----------------------------------------------------------------------------
sku strict 0 '{"num_vcpus":1,"requires":{"floors":{"disk_write":800}}}' >"$TMP/.made"
agent pair
has 4 $((8 * GIB)) $((50 * GIB))
I=$(host p0 strict) J=$(host p1 sure)
disk_of() { N=$(nonce); send "$(claims "$1" "$N" "$(check 'disk write' ok "$2" MB/s)")" >"$TMP/.made"; }
disk_of pair 900
offer "$J" 0.60
has_from "$ACME" "$POOL" 1 20
minutes 2
disk_of pair 700
is "$(verified "$J") / $(verified "$I")" "verified | - | silver / failed | disk_write: 700 MB/s, but its type asks for 800 | -" \
	"where the one that was drawn is good enough, nothing measures again, and the others stand by what was measured"
minutes 20

# ---- Kept -----------------------------------------------------------------------------------------------------------
sku plain 0 '{"num_vcpus":1}' >"$TMP/.made"
# machine NAME: one with ten hosts that ask for proof and one that does not. bulky NAME: sends 60 KiB of measurements.
machine() {
	agent "$1"
	has 16 $((8 * GIB)) $((500 * GIB))
	ALL=
	for ((i = 0; i < 10; i++)); do M=$(host "$1-$i" sure) ALL+=" $M"; done
	P=$(host "$1-plain" plain)
}
bulky() { send "$(claims "$1" "$(nonce)" "$fast$(for ((i = 0; i < 180; i++)); do printf ',%s' "$(check 'memory copy' skipped 1 MB/s)"; done | sed "s/as measured/$(printf %0200d 0)/g")")"; }
machine heavy
HEAVY=${ALL% *} # all but the last, which is for sale below
out=$(bulky heavy)
is "$(http_status) $(jq -c '[.hosts[].state] | unique' <<<"$out")" '200 ["verified"]' "long measurements of ten hosts"
is "$(jq '.hosts | length' <<<"$out") $(verified "$P")" "10 unverified | - | -" "nothing is kept of a host whose type does not ask"
out=$(bulky heavy)
is "$(http_status)" 200 "the next ones replace them"
offer "$M" 1.20
is "$(offers | jq -c '[.data[].verification.measured | length] | max') $(as "$FOUNDRY" GET "/np/v1/hosts/$M" | jq '.verification.measured | length')" "64 181" \
	"a buyer's list has the first ones, its seller's all"
before=$(verified "$A")
marketd_stop; marketd_start --test-clock=$NOW --rate 0 --quota foundry:text=1 --quota foundry:journal=1
is "$(verified "$A")" "$before" "a restart keeps all of it"
for floor in 1000 500 1000 500 1000 500; do wants "$(asks $floor)"; done
as "$FOUNDRY" POST /v2/pools '{"name":"pays","workspace":"default"}' >"$TMP/.made"
is "$(http_status) $(verified "$M")" "201 verified | - | gold" "who changes a type does so at no seller's expense"
machine weighty
out=$(bulky weighty)
refused 403 quota_exceeded '' "what is kept of hosts counts as text of their account" "$out"
says "1 of 1 MiB of names, tags, user data and measurements \(quota 'text'\)" "in words"
is "$(verified "$M")" "unverified | - | -" "all of it is refused, or nothing"
out=$(send "$(claims weighty "$(nonce)" "$fast")")
is "$(http_status) $(verified "$M")" "200 verified | - | gold" "short ones have room"
for id in $HEAVY; do as "$FOUNDRY" DELETE "/np/v1/hosts/$id" >/dev/null; done
is "$(http_status)" 204 "(hosts with long ones retire)"
out=$(bulky weighty)
is "$(http_status)" 200 "a retired host keeps none, and others have their room"
done_testing

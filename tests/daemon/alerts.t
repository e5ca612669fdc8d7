#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# GET /np/v1/alerts: each rule tells what is wrong from its threshold and its duration on and not before, and since when;
# what is not known is counted and is no good news; a restart changes nothing; nobody hears of what another has. The agent
# is curl and openssl, on a clock that the test moves. host_unproven is in proof.t.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/npagent.sh"

v2_start --rate 0 --agent-silent 86400
curl -sS --max-time 60 "$NANOPOD_URL/openapi.json" >"$TMP/openapi.json"
told() { shape_why=$(printf '%s' "$2" | "$BUILD/tests/daemon/fits" "$TMP/openapi.json" "$1" 2>&1); is "$shape_why" "" "$3"; }
look() { as "$1" GET "/np/v1/alerts${2:+?$2}"; }
# alerts TOKEN [RULE]: of each: rule, name of what it is about, since when after $BEGIN (or null).
alerts() { look "$1" | jq -c --arg r "${2-}" --argjson b "$BEGIN" '[.data[] | select($r == "" or .rule == $r) | [.rule, .subject.name, (if .since then .since - $b else null end)]]'; }
one() { look "$1" | jq -c --arg r "$2" ".data[] | select(.rule == \$r) | $3"; }
# set_to TOKEN QUERY [RULE]: the same as alerts, by thresholds and durations of the query.
set_to() { look "$1" "$2" | jq -c --arg r "${3-}" '[.data[] | select($r == "" or .rule == $r) | [.rule, .subject.name, .threshold, .for_seconds]]'; }
unknown() { look "$1" | jq -c '[.looked, .unknown] | add | with_entries(select(.value != 0))'; }

key one
AGT=$(join "$(join_token)" rack1 one m1 | json .id)
AGENT=$(session "$AGT" one 1 m1 | json .token)
as "$AGENT" PUT /np/v1/agent/inventory "$(capacity 416 4398046511104 61572651155456 '16 h100')" >/dev/null
H1=$(as "$AGENT" POST /np/v1/agent/hosts '{"name":"h1","instance_sku":"richmond"}' | json .id)
v2_offer "$H1" 1.80 >/dev/null
H2=$(as "$AGENT" POST /np/v1/agent/hosts '{"name":"h2","instance_sku":"richmond"}' | json .id)
END=$((NOW + 60 + 200 * HOUR))
as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 60)) $END 20.0)" >/dev/null
INST=$(as "$ACME" POST /v2/instances "{\"name\":\"train-0\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" | json .id)
BEGIN=$((NOW + 60))
is "$(alerts "$ACME")" '[]' "a node that is still to come raises nothing"
v2_clock $BEGIN
as "$AGENT" POST "/np/v1/instances/$INST/report" '{"status":"running","hostname":"10.0.0.7","port":22,"user":"root","driver":"ns",
	"host_keys":[{"type":"ssh-ed25519","key":"AAAAC3Nz"}]}' >/dev/null
is "$(as "$ACME" GET /np/v1/nodes/train-0 | json .status)" running "(a node runs)"

# ---- What is not known ---------------------------------------------------------------------------------------
out=$(look "$ACME")
told np.AlertList "$out" "nothing is wrong, as documented"
is "$(alerts "$ACME")" '[]' "nothing is wrong"
is "$(unknown "$ACME")" '{"accounts":1,"machines":null,"hosts":null,"nodes":1,"nodes_without_samples":1}' \
	"but of one node nothing was measured, and no machine was asked about"
is "$(unknown "$FOUNDRY")" '{"accounts":1,"machines":1,"hosts":2,"machines_without_samples":1}' "nor of the machine"

is "$(look "$ACME" | jq -c .unjudged)$(look "$FOUNDRY" | jq -c '.unjudged | map(.[0:4])')" "[\"$INST\"][\"agt_\"]" "each by its id"

# feed FROM TO NODE MACHINE [GPU]: samples every minute, from one time after $BEGIN to another, of what a node's GPUs measure, a
# machine, and its GPU; $node_disk: of the node's. The clock is then at TO.
node_disk=100
feed() {
	v2_clock $((BEGIN + $2))
	for ((feed_at = $1; feed_at < $2; feed_at += 3000)); do
		jq -nc --argjson a $((BEGIN + feed_at)) --argjson z $((BEGIN + (feed_at + 3000 < $2 ? feed_at + 3000 : $2))) --arg i "$INST" \
			"{samples: [range(\$a; \$z; 60) | {at: ., machine: {cpu: 0.5, memory_total: 1000, disk_total: 1000, $4},
			gpus: [{use: 0.5, ${5:-temperature: 50}}],
			nodes: [{id: \$i, measures: {cpu: 1, disk_total: 1000, disk: $node_disk}, gpus: [{use: 0.5, memory_total: 1000, temperature: 50} + {$3}, {use: 0.5, temperature: 50}]}]}]}" >"$TMP/samples"
		as "$AGENT" POST /np/v1/agent/samples "$(cat "$TMP/samples")" >/dev/null
		[ "$(http_status)" = 204 ] || fail "(samples are taken: $(cat "$TMP/.body"))"
	done
}
GOOD='memory: 100, disk: 100'

# ---- Heat, memory, disk: from the threshold and the time on --------------------------------------------------------
node_disk=890
feed 0 1800 'memory: 940, temperature: 86' 'memory: 940, disk: 890' 'temperature: 86'
node_disk=100
is "$(alerts "$ACME")$(alerts "$FOUNDRY")" '[][]' "just below its threshold no rule tells anything"
is "$(set_to "$ACME" 'threshold=node_gpu_hot%3D86')" '[["node_gpu_hot","train-0",86,300]]' "but by a threshold of one's own"
is "$(set_to "$FOUNDRY" 'threshold=*_gpu_hot%3D86.5&threshold=machine_memory%3D0.94&threshold=machine_disk%3D0.9')" '[["machine_memory","rack1",0.94,600]]' \
	"rule by rule, also by a pattern"
look "$ACME" 'threshold=node_*%3D0.1' >/dev/null
is "$(http_status) $(json .error.message <"$TMP/.body")" "422 the threshold of rule 'node_gpu_errors' is a count, 1 or more" "where each value fits its rule"
is "$(set_to "$ACME" 'threshold=node_gpu_hot%3D86&for=node_gpu_hot%3D1500')$(set_to "$ACME" 'threshold=node_gpu_hot%3D86&for=node_*%3D2100')" \
	'[["node_gpu_hot","train-0",86,1500]][]' "as long as it says, and no longer"
is "$(unknown "$ACME") $(unknown "$FOUNDRY")" '{"accounts":1,"machines":null,"hosts":null,"nodes":1} {"accounts":1,"machines":1,"hosts":2}' \
	"and all of it was judged"
feed 1800 2090 'temperature: 88' "$GOOD" 'temperature: 88'
is "$(alerts "$ACME")$(alerts "$FOUNDRY")" '[][]' "heat for less than five minutes tells nothing"
is "$(set_to "$ACME" 'for=node_gpu_hot%3D60')$(set_to "$ACME" 'for=node_gpu_hot%3D60&threshold=node_gpu_hot%3D89')" '[["node_gpu_hot","train-0",87,60]][]' \
	"but who wants it after a minute hears it"
feed 2090 2110 'temperature: 88' "$GOOD" 'temperature: 88'
is "$(alerts "$ACME")" '[["node_gpu_hot","train-0",1800]]' "for five minutes it does, since when it began"
is "$(alerts "$FOUNDRY")" '[["machine_gpu_hot","rack1",1800]]' "so does its owner's"
out=$(look "$ACME")
told np.AlertList "$out" "an alert, as documented"
is "$(one "$ACME" node_gpu_hot '[.severity, (.value | round), .threshold, .unit, .for_seconds, .text, .next, .subject.kind, .subject.id, .subject.account]')" \
	"[\"warning\",88,87,\"celsius\",300,\"GPU 0: 88 degrees Celsius, and 87 degrees Celsius or more for 5m 10s\",\"nanopod top train-0 -g\",\"node\",\"$INST\",\"acme\"]" \
	"with what, how much, a sentence and what to type"
feed 2110 2170 'temperature: 60' "$GOOD" 'temperature: 60'
is "$(alerts "$ACME")$(alerts "$FOUNDRY")" '[][]' "and no longer when it has cooled down"
node_disk=920
feed 2170 2760 'memory: 960' 'memory: 960, disk: 910'
is "$(alerts "$ACME")$(alerts "$FOUNDRY")" '[][]' "memory and disk may be full for less than ten minutes"
feed 2760 2820 'memory: 960' 'memory: 960, disk: 910'
is "$(alerts "$ACME" | jq -c sort)" '[["node_disk","train-0",2170],["node_gpu_memory","train-0",2170]]' "its disk, and the memory of its GPU"
is "$(one "$ACME" node_disk '[.text, .next]')" '["92 % of its disk is in use; 90 % or more for 10m 50s","nanopod run -w train-0 -- df -h"]' "with where to look"
node_disk=100
is "$(alerts "$FOUNDRY" | jq -c sort)" '[["machine_disk","rack1",2170],["machine_memory","rack1",2170]]' "disk and memory of the machine"
is "$(one "$FOUNDRY" machine_disk .text)" '"91 % of the disk that nodes are on is in use; 90 % or more for 10m 50s"' "in a sentence"
v2_clock $((BEGIN + 2900))
is "$(alerts "$ACME")$(alerts "$FOUNDRY")" '[][]' "what is two minutes old says nothing of now"
is "$(unknown "$ACME")" '{"accounts":1,"machines":null,"hosts":null,"nodes":1,"nodes_without_samples":1}' "and is counted as not known"

# ---- Throttling and errors -------------------------------------------------------------------------------------
# Steps of five minutes of the clock: the first of 3000 and after begins at $S.
S=$(((BEGIN + 3000 + 299) / 300 * 300 - BEGIN))
feed 2900 $S 'throttled: 0, memory_errors: 3' "$GOOD" 'throttled: 0, memory_errors: 3'
feed $S $((S + 540)) 'throttled: 1' "$GOOD" 'throttled: 1'
is "$(alerts "$ACME")$(alerts "$FOUNDRY")" '[][]' "a GPU may be slowed down for less than ten minutes, and old errors are none of today"
feed $((S + 540)) $((S + 620)) 'throttled: 1' "$GOOD" 'throttled: 1'
is "$(alerts "$ACME") $(alerts "$FOUNDRY")" "[[\"node_gpu_throttled\",\"train-0\",$S]] [[\"machine_gpu_throttled\",\"rack1\",$S]]" "slowed down for ten minutes"
T=$((S + 900))
feed $((S + 620)) $T 'throttled: 0, memory_errors: 3' "$GOOD" 'throttled: 0, memory_errors: 3'
is "$(alerts "$ACME" node_gpu_throttled)" '[]' "and no longer"
feed $T $((T + 60)) 'memory_errors: 5' "$GOOD" 'memory_errors: 4'
is "$(alerts "$ACME") $(alerts "$FOUNDRY")" "[[\"node_gpu_errors\",\"train-0\",$T]] [[\"machine_gpu_errors\",\"rack1\",$T]]" "a new error tells at once"
is "$(set_to "$ACME" 'for=*%3D7200' node_gpu_errors)" '[["node_gpu_errors","train-0",1,0]]' "whatever the duration of all rules: it is told for an hour"
is "$(one "$ACME" node_gpu_errors '[.severity, .value, .text]')" '["critical",2,"GPU 0: 2 memory errors that could not be corrected, in the last hour"]' "how many"
feed $((T + 60)) $((T + 3900)) 'memory_errors: 5' "$GOOD" 'memory_errors: 4'
is "$(alerts "$ACME")$(alerts "$FOUNDRY")" '[][]' "an hour later they are of the past"

# ---- Xid -----------------------------------------------------------------------------------------------------------
X=$((T + 3960))
feed $((T + 3900)) $X 'xid: 0' "$GOOD" 'xid: 0'
is "$(alerts "$ACME")$(alerts "$FOUNDRY")" '[][]' "no Xid is none"
feed $X $((X + 60)) 'xid: 79' "$GOOD" 'xid: 48'
is "$(alerts "$ACME") $(alerts "$FOUNDRY")" "[[\"node_gpu_xid\",\"train-0\",$X]] [[\"machine_gpu_xid\",\"rack1\",$X]]" "an Xid is told at once"
is "$(set_to "$ACME" 'for=*%3D7200&threshold=*_gpu_errors%3D99' node_gpu_xid)" '[["node_gpu_xid","train-0",null,0]]' "whatever its number, and the duration of all rules"
is "$(one "$ACME" node_gpu_xid '[.severity, .text]')" '["warning","GPU 0: its driver told Xid 79 within the last hour"]' "which one"
feed $((X + 60)) $((X + 120)) 'xid: 0' "$GOOD" 'xid: 0'
is "$(alerts "$ACME")$(alerts "$FOUNDRY")" '[][]' "until it is long ago"
T=$((T + 120))

# ---- Idle while it is paid -----------------------------------------------------------------------------------------
I=$((T + 3900))
feed $I $((I + 3540)) 'use: 0.02' "$GOOD"
is "$(alerts "$ACME")" '[]' "one GPU of two that is idle is no idle node"
# idle FROM TO USE: both.
idle() {
	v2_clock $((BEGIN + $2))
	jq -nc --argjson a $((BEGIN + $1)) --argjson z $((BEGIN + $2)) --arg i "$INST" \
		"{samples: [range(\$a; \$z; 100) | {at: ., nodes: [{id: \$i, gpus: [{use: $3}, {use: 0}]}]}]}" >"$TMP/samples"
	as "$AGENT" POST /np/v1/agent/samples "$(cat "$TMP/samples")" >/dev/null
	[ "$(http_status)" = 204 ] || fail "(samples are taken)"
}
I=$(((BEGIN + I + 3540 + 299) / 300 * 300 - BEGIN))
idle $((I - 300)) $I 0.04
idle $I $((I + 3540)) 0.029
is "$(alerts "$ACME")" '[]' "a node may be idle for less than an hour"
idle $((I + 3540)) $((I + 3620)) 0.029
is "$(alerts "$ACME") $(alerts "$FOUNDRY")" "[[\"node_idle\",\"train-0\",$I]] []" "for an hour it may not, and its owner does not mind"
is "$(one "$ACME" node_idle '.text')" '"its GPUs have done less than 3 % for 1h 20s, at $1.80 an hour"' "what that costs"
for hour in 1 2 3; do idle $((I + 3620 * hour)) $((I + 3620 * (hour + 1))) 0.029; done
is "$(alerts "$ACME")" "[[\"node_idle\",\"train-0\",$I]]" "since when is known after hours, too"
marketd_kill
marketd_start --test-clock=$((BEGIN + I + 3620 * 4)) --rate 0 --agent-silent 86400 || exit 1
is "$(alerts "$ACME")" "[[\"node_idle\",\"train-0\",$I]]" "and after a restart of the market"
v2_clock $((BEGIN + I + 3620 * 4 + 700))
is "$(alerts "$ACME" node_idle)" '[]' "a node of which nothing is heard is not idle"
is "$(unknown "$ACME" | jq .nodes_without_samples)" 1 "but unknown"
AGENT=$(session "$AGT" one 2 m1 | json .token)
J=$(((I + 3620 * 4 + 700 + 299) / 300 * 300))
idle $J $((J + 3700)) 0.04
is "$(alerts "$ACME")" '[]' "three per cent and more is no idling"
is "$(set_to "$ACME" 'threshold=node_idle%3D0.05')" '[["node_idle","train-0",0.05,3600]]' "but less than five"

# ---- Hosts -----------------------------------------------------------------------------------------------------------
K=$((J + 3700))
as "$FOUNDRY" PATCH "/np/v1/hosts/$H1" '{"down":true,"reason":"\u001b[2J\u202e$(reboot) <b>"}' >/dev/null
v2_clock $((BEGIN + K + 299))
is "$(alerts "$ACME")$(alerts "$FOUNDRY")" '[][]' "a host may be down for a moment"
is "$(set_to "$ACME" 'for=node_away%3D0') $(set_to "$FOUNDRY" 'for=*%3D200')" '[["node_away","train-0",null,0]] [["host_down","h1",null,200]]' \
	"which some want to hear"
v2_clock $((BEGIN + K + 300))
is "$(alerts "$ACME")$(alerts "$FOUNDRY")" "[[\"node_away\",\"train-0\",$K]][]" "after five minutes its buyer hears it"
is "$(one "$ACME" node_away '[.severity, .value, .threshold, .next]')" '["critical",null,null,"nanopod replace train-0"]' "and what to type, in which no word of the owner is"
is "$(one "$ACME" node_away .text)" '"its host is down (\u001b[2J‮$(reboot) <b>); you get the minutes until it is back refunded"' "and why, as the owner says"
v2_clock $((BEGIN + K + 899))
is "$(alerts "$FOUNDRY")" '[]' "its owner may have put it down"
v2_clock $((BEGIN + K + 900))
is "$(alerts "$FOUNDRY")" "[[\"host_down\",\"h1\",$K]]" "for a quarter of an hour"
as "$FOUNDRY" PATCH "/np/v1/hosts/$H1" '{"down":false}' >/dev/null
is "$(alerts "$ACME")$(alerts "$FOUNDRY")" '[][]' "and all is well when it is back"
as "$FOUNDRY" POST "/np/v1/hosts/$H2/drain" '{"reason":"new fans"}' >/dev/null
is "$(one "$FOUNDRY" host_draining '[.severity, .subject.kind, .subject.id, .text]')" "[\"info\",\"host\",\"$H2\",\"it is going out of service (new fans)\"]" "a host that is drained"
as "$FOUNDRY" POST "/np/v1/hosts/$H2/undrain" >/dev/null
is "$(alerts "$FOUNDRY")" '[]' "and is not any more"

# ---- Money and the end of leases ---------------------------------------------------------------------------------------
# $1.80 an hour; a day more of a lease that ends in two hours is 22 hours: $39.60.
M=$((BEGIN + K + 1800)) M=$((M / 60 * 60))
v2_clock $((M - 60))
marketd_account poor 43.20
POOR=$(marketd_token poor)
as "$POOR" POST /v2/pools '{"name":"last","workspace":"default"}' >/dev/null
H3=$(v2_host h3 richmond)
as "$FOUNDRY" POST "/np/v1/hosts/$H3/offers" "{\"price_dollars_per_node_hour\":\"1.80\",\"start_at\":$M,\"end_at\":$((M + 48 * HOUR))}" >/dev/null
is "$(as "$POOR" POST /v2/orders "$(order buy last 1 $M $((M + 2 * HOUR)) 20.0)" | json .status)" filled "(a lease of two hours)"
v2_clock $M
BEGIN=$M
is "$(alerts "$POOR")" '[]' "a balance that pays for a day more is none of the alerts"
v2_clock $((M + 60))
is "$(alerts "$POOR")" '[["balance_low","poor",null]]' "one that does not is"
is "$(one "$POOR" balance_low '[.severity, .value, .threshold, .unit, .text, .next]')" \
	'["warning",39.6,39.63,"dollars","keeping what runs now for 1d more costs $39.63; $39.60 is available","nanopod burn"]' "what it takes"
operator POST /np/v1/accounts/poor/credits '{"amount_dollars":"100.00"}' >/dev/null
is "$(set_to "$POOR" 'threshold=balance_low%3D82800')" '[]' "of a time that is set"
is "$(alerts "$POOR")" '[]' "until money comes"
operator PATCH /np/v1/accounts/poor '{"floor_dollars":"-500.00"}' >/dev/null
owes() { operator POST /np/v1/accounts/poor/credits "{\"amount_dollars\":\"$1\"}" >/dev/null; }
owes -139.60
is "$(alerts "$POOR")" '[]' "a balance of zero owes nothing, where there is credit"
owes -0.30
is "$(one "$POOR" balance_owed '[.severity, .value, .text, .next]')" \
	'["warning",499.7,"the account owes $0.30; when it owes $499.70 more, it buys nothing new","nanopod topup 0.50"]' "one below does"
owes -499.70
is "$(one "$POOR" balance_blocked '[.severity, .value, .text, .next]')" \
	'["critical",0,"the account owes $500.00, so it buys nothing new until that is paid; what it paid for goes on","nanopod topup 500.00"]' \
	"at its limit it buys nothing"
as "$POOR" POST /np/v1/pools/last/extend '{"duration_seconds":3600,"limit_price_dollars_per_node_hour":"20.0"}' >/dev/null
is "$(http_status) $(as "$POOR" GET '/np/v1/leases?active=true' | json '.data | length')" "402 1" "and what it has goes on"
owes 639.60
is "$(alerts "$POOR")" '[]' "until it is paid"
operator PATCH /np/v1/accounts/poor '{"floor_dollars":"0.00"}' >/dev/null
v2_clock $((M + HOUR))
is "$(alerts "$POOR")" '[]' "a lease that ends in an hour"
is "$(set_to "$POOR" 'threshold=lease_ends%3D7200') $(set_to "$POOR" 'threshold=balance_low%3D604800' | jq -c '.[0][:2]')" \
	'[["lease_ends","last",7200,0]] ["balance_low","poor"]' "who wants to hear that two hours before does, and a week of money is more than a day's"
v2_clock $((M + HOUR + 60))
is "$(alerts "$POOR")" "[[\"lease_ends\",\"last\",$HOUR]]" "that ends in less than an hour"
is "$(one "$POOR" lease_ends '[.severity, .value, .threshold, .text, .next, .subject.kind]')" \
	'["warning",3540,3600,"1 node ends in 59m, and no time after that is bought","nanopod extend last -d 1h","reservation"]' "in what time"
is "$(set_to "$POOR" 'for=*%3D7200' lease_ends)" '[["lease_ends","last",3600,0]]' "whatever the duration of all rules"
as "$POOR" POST /np/v1/pools/last/extend '{"duration_seconds":7200,"limit_price_dollars_per_node_hour":"20.0"}' >/dev/null
is "$(http_status) $(alerts "$POOR")" "201 []" "one that is extended does not end"

# ---- Silence ----------------------------------------------------------------------------------------------------------
C=$((M + HOUR + 120))
v2_clock $C
BEGIN=$C
as "$AGENT" GET /np/v1/agent/work >/dev/null
is "$(alerts "$ACME" node_away)$(alerts "$FOUNDRY")" '[][]' "a machine that calls is not silent"
marketd_stop
marketd_start --test-clock=$C --rate 0 --agent-silent 1 || exit 1
is "$(alerts "$FOUNDRY")" '[]' "a market that just started blames no machine"
is "$(unknown "$FOUNDRY" | jq .machines_never_heard)" 1 "but has not heard of it"
AGENT=$(session "$AGT" one 3 m1 | json .token)
is "$(unknown "$FOUNDRY" | jq .machines_never_heard)" null "until it calls"
h1_down() { [ "$(as "$FOUNDRY" GET "/np/v1/hosts/$H1" | json .state)" = down ]; }
ok "(its host is taken down as it falls silent)" wait_for 60 h1_down
v2_clock $((C + 299))
is "$(alerts "$ACME" node_away)$(alerts "$FOUNDRY")" '[][]' "silent for less than five minutes"
v2_clock $((C + 300))
is "$(alerts "$ACME" node_away)" '[["node_away","train-0",0]]' "for five: its buyer hears it"
like "$(one "$ACME" node_away .text)" '^"its host is silent' "what it is"
is "$(alerts "$FOUNDRY")" '[["machine_silent","rack1",0]]' "so does its owner, once and not for each host"
v2_clock $((C + 1200))
is "$(alerts "$FOUNDRY")" '[["machine_silent","rack1",0]]' "however long"
marketd_kill
marketd_start --test-clock=$((C + 1200)) --rate 0 --agent-silent 86400 || exit 1
is "$(alerts "$FOUNDRY" | jq -c '.[0][:2]') $(alerts "$FOUNDRY" | jq '.[0][2] < 300')" '["machine_silent","rack1"] true' "a restart changes nothing"
is "$(alerts "$ACME" node_away | jq -c '.[0][:2]')" '["node_away","train-0"]' "nor for its buyer"

# ---- The rules ---------------------------------------------------------------------------------------------------------
out=$(as "$ACME" GET '/np/v1/alert_rules?threshold=node_gpu_hot%3D80&for=host_down%3D0')
told np.AlertRuleList "$out" "the rules, as documented"
is "$(printf '%s' "$out" | jq -c '.data[] | select(.rule | IN("node_gpu_hot", "host_down", "balance_low", "announcement")) | del(.object) | to_entries | map(.value)')" \
	'["balance_low","warning","account","customer",86400,"seconds",null]
["host_down","critical","host","provider",null,"none",0]
["announcement","info","announcement","all",null,"none",0]
["node_gpu_hot","warning","node","customer",80,"celsius",300]' "with what the query sets"
for bad in 'threshold=node_hot%3D80|no rule .node_hot.; .nanopod alerts --rules. lists them' 'threshold=node_gpu_hto%3D80|did you mean .node_gpu_hot.' 'threshold=host_down%3D1|rule .host_down. has no threshold' \
	'threshold=node_gpu_xid%3D2|rule .node_gpu_xid. has no threshold' 'for=*_gpu_errors%3D60|told at once' 'for=*_gpu_xid%3D60|told at once' \
	'for=balance_low%3D60|told at once' 'for=lease_ends%3D60|told at once' 'for=host_down%3D600000|at most 518400' 'threshold=node_gpu_hot%3D-1|RULE=NUMBER' 'threshold=node_gpu_hot|RULE=NUMBER' \
	'threshold=node_gpu_hot%3D60s|is degrees Celsius' 'threshold=lease_ends%3D60%25|is a time' 'for=host_down%3D60%25|RULE=NUMBER' \
	'threshold=node_gpu_hot%3D60ss|RULE=NUMBER' 'threshold=node_gpu_hot%3Dnan|RULE=NUMBER' 'for=%3D3|RULE=NUMBER' "threshold=$(printf 'x%.0s' {1..300})%3D1|RULE=NUMBER"; do
	as "$ACME" GET "/np/v1/alert_rules?${bad%%|*}" >/dev/null
	like "$(http_status) $(cat "$TMP/.body")" "^422 .*${bad#*|}" "${bad%%|*} is refused"
done

# ---- Who sees what -------------------------------------------------------------------------------------------------------
is "$(look "$STRANGER" | jq -c '[.data, .looked.nodes, .looked.accounts]')" '[[],0,1]' "a stranger has none"
is "$(look "$STRANGER" "starting_after=$INST" | jq -c '[.data, .looked.nodes]')" '[[],0]' "nor behind another's node"
is "$(look "$(marketd_token acme read)" | jq -c '[.data[].rule]')" '["node_away"]' "a token that only reads sees its account's"
is "$(look "$(marketd_token foundry host)" | jq -c '[[.data[].rule], .looked.nodes, .looked.accounts, .looked.machines]')" '[["machine_silent"],null,null,1]' \
	"a token for machines alone sees those, and the answer says so"
is "$(look "$(marketd_token foundry read)" | jq -c '[.data, .looked.machines, .looked.hosts]')" '[[],null,null]' "and one without them none"
look "$(marketd_token acme trade)" >/dev/null
is "$(http_status)" 403 "a token that may not read is refused"
look "$AGENT" >/dev/null
is "$(http_status)" 403 "so is an agent, which only sends"
look nobody >/dev/null
is "$(http_status)" 401 "and who is not signed in"
look "$ACME" account=foundry >/dev/null
is "$(http_status)" 403 "and who asks for another account"
is "$(operator GET '/np/v1/alerts?account=acme' | jq -c '[.data[].rule]')" '["node_away"]' "the operator sees an account's"
is "$(operator GET /np/v1/alerts | jq -c '[.data[] | [.rule, .subject.account]] | sort')" '[["machine_silent","foundry"],["node_away","acme"]]' "or all"
all=$(operator GET /np/v1/alerts | jq -c '[[.data[] | [.rule, .subject.id]], .looked, .unknown]')
cursor='' pages=0
: >"$TMP/pages"
while :; do
	operator GET "/np/v1/alerts?limit=1${cursor:+&starting_after=$cursor}" >"$TMP/page"
	cat "$TMP/page" >>"$TMP/pages"
	pages=$((pages + 1)) cursor=$(json .cursor <"$TMP/page")
	[ "$(json .has_more <"$TMP/page")" = true ] && [ $pages -lt 20 ] || break
done
is "$(jq -sc 'def sum(f): [.[] | f | to_entries[]] | group_by(.key) | map({key: .[0].key, value: (map(.value) | add)}) | from_entries;
	[[.[].data[] | [.rule, .subject.id]], sum(.looked), sum(.unknown)] | .[1] = (.[1] | {accounts, machines, hosts, nodes})
	| .[2] = (.[2] | {machines_never_heard, machines_without_samples, machines_without_gpu_samples, hosts_without_machine, nodes_without_samples, nodes_without_gpu_samples})' \
	"$TMP/pages") $pages" "$all 5" "a page of each thing: together they are the same"
for bad in limit=0 limit=251 starting_after=train-0 severity=critical; do
	look "$ACME" "$bad" >/dev/null
	is "$(http_status)" 422 "refused: $bad"
done

# ---- Volumes and plans ---------------------------------------------------------------------------------------------------
# A GiB is a cent an hour. A volume that is unpaid is told of until it is paid, and when it is deleted; a plan that will lapse
# from five days before the month ends on, one that lapsed for a week.
AGENT=$(session "$AGT" one 4 m1 | json .token)
as "$AGENT" PUT /np/v1/agent/inventory "$(capacity 416 4398046511104 91572651155456 '16 h100' | jq -c '.capacity.shared_storage = true')" >/dev/null
as "$FOUNDRY" PUT "/np/v1/agents/$AGT/volumes" '{"max_gib":2,"gib_month_dollars":"7.30"}' >/dev/null
V=$((C + 1260)) FEBRUARY=1801440000
v2_clock $V
marketd_account keeper 0.02
KEEPER=$(marketd_token keeper)
gives() { operator POST /np/v1/accounts/keeper/credits "{\"amount_dollars\":\"$1\",\"reason\":\"test\"}" >/dev/null; }
BEGIN=$V
is "$(as "$KEEPER" POST /np/v1/volumes "{\"name\":\"data\",\"gib\":1,\"agent\":\"$AGT\",\"max_gib_month_dollars\":\"7.30\"}" | json .state)" paid "(a volume)"
v2_clock $((V + 2 * HOUR - 60))
is "$(alerts "$KEEPER")" '[]' "a volume that is paid, with nothing left for another hour"
v2_clock $((V + 2 * HOUR))
is "$(alerts "$KEEPER")" "[[\"volume_unpaid\",\"data\",$((2 * HOUR))]]" "one that is not"
told np.AlertList "$(look "$KEEPER")" "an alert of a volume, as documented"
is "$(one "$KEEPER" volume_unpaid '[.severity, .value, .unit, .text, .next, .subject.kind, .subject.id[0:4]]')" \
	"[\"critical\",604800,\"seconds\",\"\$0.01 is missing to pay it; it is kept until $(date -u -d @$((V + 2 * HOUR + 604800)) +%FT%TZ) (for 7d), then deleted\",\"nanopod topup 0.50\",\"volume\",\"vol_\"]" \
	"until when it is kept, what is missing, and what to type"
v2_clock $((V + 4 * HOUR + 60))
like "$(one "$KEEPER" volume_unpaid .text)" '^"[$]0.03 is missing .*[(]for 6d 2[0-9]h' "each hour it owes more"
is "$(look "$FOUNDRY" | jq -c '[.data[] | select(.rule == "volume_unpaid")]')" '[]' "not its machine's owner's"
gives 30.03
v2_clock $((V + 4 * HOUR + 120))
is "$(alerts "$KEEPER")$(as "$KEEPER" GET /np/v1/volumes/data | json .state)" '[]paid' "and none when it is paid"
as "$KEEPER" DELETE /np/v1/volumes/data >/dev/null

operator POST /np/v1/plans '{"name":"pro","seller":"foundry","fee_dollars":"31.00","included_dollars":"50.00"}' >/dev/null
as "$KEEPER" PUT /np/v1/plan '{"plan":"pro"}' >/dev/null
is "$(http_status)" 200 "(a plan)"
gives "$(echo "30.50 - $(as "$KEEPER" GET /np/v1/balance | json .available_dollars)" | bc)"
v2_clock $((FEBRUARY - 5 * 86400))
is "$(alerts "$KEEPER")" '[]' "five days before the month ends nothing is said of the next fee"
v2_clock $((FEBRUARY - 5 * 86400 + 60))
is "$(one "$KEEPER" plan_lapses '[.severity, .value, .threshold, .text, .next, .subject.kind, .subject.name]')" \
	'["warning",431940,432000,"plan pro ends in 4d 23h 59m: $0.50 is missing for its next fee","nanopod topup 0.50","account","keeper"]' \
	"later it is, where the balance is below it"
fee_is() { operator PATCH "/np/v1/plans/$1" "{\"fee_dollars\":\"$2\"}" >/dev/null; }
fee_is pro 40.00
like "$(one "$KEEPER" plan_lapses .text)" '[$]0[.]50 is missing' "as agreed, though the plan costs more by now"
fee_is pro 31.00
operator POST /np/v1/plans '{"name":"mini","seller":"foundry","fee_dollars":"5.00"}' >/dev/null
as "$KEEPER" PUT /np/v1/plan '{"plan":"mini"}' >/dev/null
is "$(alerts "$KEEPER")" '[]' "the next month has a plan that the balance pays"
fee_is mini 6.00
is "$(one "$KEEPER" plan_lapses '[.text, .next]')" \
	'["plan mini ends in 4d 23h 59m: its fee was raised to $6.00 after you chose it","nanopod plan subscribe mini"]' \
	"but not one that was raised since it was chosen"
as "$KEEPER" PUT /np/v1/plan '{"plan":"mini"}' >/dev/null
is "$(alerts "$KEEPER")" '[]' "until that is agreed to"
as "$KEEPER" PUT /np/v1/plan '{"plan":"pro"}' >/dev/null
is "$(set_to "$KEEPER" 'threshold=plan_lapses%3D86400')" '[]' "by a threshold of one's own"
gives 0.50
is "$(alerts "$KEEPER")" '[]' "and not where the balance pays it"
gives -0.01
as "$KEEPER" PUT /np/v1/plan '{"plan":null}' >/dev/null
is "$(alerts "$KEEPER")" '[]' "nor where the plan was cancelled"
as "$KEEPER" PUT /np/v1/plan '{"plan":"pro"}' >/dev/null
is "$(alerts "$KEEPER" | jq -c '.[0][0]')" '"plan_lapses"' "(it goes on after all)"
marketd_account quits 100.00
QUITS=$(marketd_token quits)
as "$QUITS" PUT /np/v1/plan '{"plan":"pro"}' >/dev/null
as "$QUITS" PUT /np/v1/plan '{"plan":null}' >/dev/null
BEGIN=$FEBRUARY
v2_clock $FEBRUARY
is "$(alerts "$KEEPER")" '[["plan_lapsed","keeper",0]]' "one that lapsed"
is "$(one "$KEEPER" plan_lapsed '[.severity, .text, .next]')" \
	'["warning","plan pro ended with its month, as its next fee could not be paid","nanopod plan subscribe pro"]' "says which, and what to type"
is "$(alerts "$QUITS")" '[]' "one that was cancelled is no matter"
marketd_kill
marketd_start --test-clock=$((FEBRUARY + 7 * 86400)) --rate 0 --agent-silent 86400 || exit 1
v2_clock $((FEBRUARY + 7 * 86400))
is "$(alerts "$KEEPER")" '[["plan_lapsed","keeper",0]]' "for a week, also after a restart"
v2_clock $((FEBRUARY + 7 * 86400 + 60))
is "$(alerts "$KEEPER")" '[]' "and no longer"
gives 31.00
as "$KEEPER" PUT /np/v1/plan '{"plan":"pro"}' >/dev/null
as "$QUITS" PUT /np/v1/plan '{"plan":"pro"}' >/dev/null
as "$QUITS" PUT /np/v1/plan '{"plan":"mini"}' >/dev/null
is "$(http_status)" 200 "(plans of February, one for the next month)"
gives "-$(as "$KEEPER" GET /np/v1/balance | json .available_dollars)"
fee_is mini 7.00
APRIL=$((FEBRUARY + (28 + 31) * 86400))
v2_clock $((APRIL + 60)) # for which March is over as its turn comes
is "$(one "$KEEPER" plan_lapsed .text)" '"plan pro ended with its month, as its next fee could not be paid"' \
	"a plan lapsed though a month was skipped"
is "$(one "$QUITS" plan_lapsed '[.text, .next]')" \
	'["plan mini ended with its month, as its fee was raised after you chose it","nanopod plan subscribe mini"]' "the alert says why"
v2_clock $((APRIL + 7 * 86400 + 60))
is "$(alerts "$KEEPER")$(alerts "$QUITS")" '[][]' "for a week"
done_testing

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every route of the market's own document, on the real ids of an account: by nobody, by another
# account, and by the account's own token without the scope. Never data, never a change.
# A route with a body that is not in `body_of` fails the test, so that none is forgotten.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
need openssl

v2_start --rate 0
marketd_account secretcorp 100000.00
operator POST /np/v1/accounts/secretcorp/credits '{"amount_dollars":"1.00","reason":"secret-reason"}' >/dev/null
OWNER=$(marketd_token secretcorp read trade nodes tokens host)
OTHER=$(marketd_token stranger read trade nodes tokens host)

# ---- What there is to be had ---------------------------------------------------------------------------
v2_offer "$(v2_host rack1 richmond)" 12.00 >/dev/null
v2_offer "$(v2_host rack2 richmond)" 15.00 >/dev/null
v2_offer "$(v2_host rack3 richmond)" 18.00 >/dev/null
ME=$(as "$OWNER" GET /np/v1/whoami | json .account_id)
POOL=$(as "$OWNER" POST /v2/pools '{"name":"secret-pool","workspace":"default"}' | json .id)
ORDER=$(as "$OWNER" POST /v2/orders "$(order buy secret-pool 1 $((NOW + 60)) $((NOW + 6 * HOUR)) 20.0)" | json .id)
REST=$(as "$OWNER" POST /v2/orders "$(order buy secret-pool 3 $((NOW + 9 * HOUR)) $((NOW + 12 * HOUR)) 7.77 ',"allow_standing":true')" | json .id)
INST=$(as "$OWNER" POST /v2/instances "{\"name\":\"secret-vm\",\"pool\":\"secret-pool\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\",\"cloud_init_user_data\":\"c2VjcmV0LXNjcmlwdA==\"}" | json .id)
PROC=$(as "$OWNER" POST /v0/procurements '{"instance_type":"h100i","desired_quantity":0,"buy_limit_price_per_gpu_hour":100,"sell_limit_price_per_gpu_hour":25}' | json .id)
NODE=$(as "$OWNER" POST /v1/nodes "{\"desired_count\":1,\"max_price_per_node_hour\":1600,\"names\":[\"secret-node\"],\"zone\":\"richmond\",\"end_at\":$((NOW + 3 * HOUR))}" | json '.data[0].id')
HOST=$(as "$OWNER" POST /np/v1/hosts "{\"name\":\"secret-host\",\"instance_sku\":\"richmond\"}" | json .id)
OFFER=$(as "$OWNER" POST "/np/v1/hosts/$HOST/offers" "{\"price_dollars_per_node_hour\":\"99.0\",\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + HOUR))}" | json .id)
TOKEN=$(as "$OWNER" POST /np/v1/tokens '{"name":"secret-token","scopes":["read"]}' | json .id)
CONT=$(as "$OWNER" GET /v0/contracts | json '.data[0].id')
LEASE=$(as "$OWNER" GET /np/v1/leases | json '.data[0].id')
as "$OWNER" POST /v0/vms/script '{"script":"secret-script"}' >/dev/null
VM=vm_${INST#inst_}
openssl genpkey -algorithm ed25519 -out "$TMP/key.pem" 2>/dev/null
KEY=$(openssl pkey -in "$TMP/key.pem" -pubout -outform DER 2>/dev/null | tail -c 32 | base64 -w0)
AGT=$(as "$(as "$OWNER" POST /np/v1/tokens '{"scopes":["join"]}' | json .token)" POST /np/v1/agents/join \
	"{\"name\":\"secret-agent\",\"public_key\":\"$KEY\",\"machine\":\"secret-machine\",\"inventory\":{\"serial\":\"secret-serial\"}}" | json .id)
v2_clock $((NOW + 180))
as "$FOUNDRY" POST "/np/v1/instances/$INST/report" '{"status":"running","hostname":"secret.example","port":22}' >/dev/null
WKSP=$(as "$OWNER" GET /v2/workspaces | json '.data[0].id')
for id in $ME $POOL $ORDER $REST $INST $PROC $NODE $AGT $HOST $OFFER $TOKEN $CONT $LEASE $WKSP; do
	case $id in ''|null) fail "the account has one of each"; done_testing ;; esac
done
NEEDLES="$ME $POOL $ORDER $REST $INST $VM $PROC $NODE $HOST $OFFER $TOKEN $CONT $LEASE $WKSP secretcorp secret-pool secret-vm secret-node secret-host
	$AGT $KEY secret-agent secret-machine secret-serial secret-token secret-reason secret-script secret.example c2VjcmV0LXNjcmlwdA"

curl -sS "$NANOPOD_URL/openapi.json" >"$TMP/doc"
jq -r '.paths | to_entries[] | .key as $p | .value | to_entries[] |
	"\(.key | ascii_upcase) \($p) \(if .value.security == [] then "open" else .value["x-scopes"] | join(",") end) \(if .value.requestBody then "body" else "-" end)"' \
	"$TMP/doc" >"$TMP/routes"
ok "the document lists the routes ($(wc -l <"$TMP/routes"))" test "$(wc -l <"$TMP/routes")" -ge 100

# paths PATH: with the account's own ids where it has {…}: by id, and by name where a thing has one.
paths() {
	case $1 in
	/v2/orders/*|/v0/orders/*) set -- "$1" $ORDER $REST $OFFER ;;
	/v2/pools/*|/v2/capacities/*|/np/v1/pools/*) set -- "$1" $POOL sfc:pool:secretcorp:default:secret-pool secret-pool ;;
	/v2/instances/{*|/np/v1/instances/*) set -- "$1" $INST $VM secret-vm ;;
	/v2/procurements/*|/v0/procurements/*) set -- "$1" $PROC ;;
	/v1/nodes/*) set -- "$1" $NODE secret-node $VM ;;
	/np/v1/hosts/*) set -- "$1" $HOST secret-host ;;
	/np/v1/agents/{*) set -- "$1" $AGT secret-agent ;;
	/np/v1/nodes/*) set -- "$1" $INST secret-vm ;;
	/np/v1/tokens/*|/v0/tokens/*) set -- "$1" $TOKEN ;;
	/np/v1/accounts/*) set -- "$1" $ME secretcorp ;;
	/v0/contracts/*) set -- "$1" $CONT $LEASE ;;
	/v2/workspaces/*) set -- "$1" $WKSP sfc:workspace:secretcorp:default ;;
	/v2/users/*) set -- "$1" $ME $TOKEN ;;
	/v2/instance_skus/*|/np/v1/skus/*) set -- "$1" $SKU ;;
	/v2/images/*|/v1/vms/images/*) set -- "$1" debian-12 ;;
	/v0/zones/*) set -- "$1" richmond ;;
	*{*) set -- "$1" nothing ;;
	*) echo "$1"; return ;;
	esac
	paths_of=$1; shift
	for paths_id; do printf '%s\n' "$paths_of" | sed "s/{[^}]*}/$paths_id/"; done
}

# queries METHOD PATH: those that name the account's things.
queries() {
	case "$1 $2" in
	'GET /v2/orders') printf '%s\n' "?id=$ORDER" "?pool=$POOL" "?procurement=$PROC" '?workspace=sfc:workspace:secretcorp:default' ;;
	'GET /v2/pools'|'GET /v2/capacities') printf '%s\n' '?workspace=sfc:workspace:secretcorp:default' ;;
	'GET /v2/instances') printf '%s\n' "?pool=$POOL" "?id=$INST" '?include=cloud_init_user_data' ;;
	'GET /np/v1/nodes') printf '%s\n' "?reservation=$POOL" '?reservation=secret-pool' '?state=all' ;;
	'GET /v2/procurements') printf '%s\n' "?pool=$POOL" ;;
	'GET /v0/vms/ssh') printf '%s\n' "?vm_id=$VM" '?vm_id=secret-vm' ;;
	'GET /v0/vms/logs2') printf '%s\n' "?instance_id=$VM" ;;
	'GET /v1/nodes') printf '%s\n' "?id=$NODE" '?name=secret-node' ;;
	'GET /v0/orders') printf '%s\n' "?contract_id=$CONT" ;;
	'GET /np/v1/report') printf '%s\n' '?from=0' '?balances=true' '?after=0-0-0-0' '?after=1-0-0-0' '?after=2-0-0-0' '?after=3-0-0-0' ;;
	'GET /np/v1/usage') printf '%s\n' '?from=0' '?limit=2' '?account=*' ;;
	'GET /v0/quote') printf '%s\n' "?side=sell&quantity=1&duration=3600&contract_id=$CONT" "?side=buy&quantity=1&duration=3600&colocate_with=$CONT" ;;
	esac
	case $1 in GET) echo "?account=secretcorp" ;; esac
}

ISO=2027-01-15T10:00:00Z
# body_of METHOD PATH: one that the account itself could send, with its own ids. One line.
body_of() {
	case "$1 $2" in
	'POST /v2/orders') order buy "$POOL" 1 $((NOW + 7 * HOUR)) $((NOW + 8 * HOUR)) 20.0 ;;
	'POST /v2/order_preview') echo "{\"side\":\"sell\",\"pool\":\"$POOL\",\"requirements\":{},\"start_at\":$((NOW + 600)),\"duration_seconds\":3600,\"node_count\":1}" ;;
	'POST /np/v1/volumes') echo '{"name":"stolen","gib":1,"agent":"agt_0","max_gib_month_dollars":"1.00"}' ;;
	'PATCH /np/v1/volumes/'*) echo '{"gib":2,"max_gib_month_dollars":"1.00"}' ;;
	'PUT /np/v1/agents/'*/volumes) echo '{"max_gib":0,"gib_month_dollars":"1.00"}' ;;
	'POST /np/v1/topups') echo '{"amount_dollars":"5.00"}' ;;
	'POST /np/v1/payouts') echo '{"amount_dollars":"0.000001"}' ;;
	'POST /np/v1/payouts/'*/cancel) echo '{}' ;;
	'POST /np/v1/payouts/'*/paid) echo '{"reference":"x"}' ;;
	'POST /np/v1/payouts/'*) echo '{"reason":"x"}' ;;
	'POST /np/v1/payments/'*) echo '{"account":"stranger"}' ;;
	'POST /np/v1/quote') order sell "$POOL" 1 $((NOW + HOUR)) $((NOW + 2 * HOUR)) 1.0 ;;
	'POST /v2/pools'|'POST /v2/capacities') echo '{"name":"secret-pool","workspace":"sfc:workspace:secretcorp:default"}' ;;
	'PATCH /v2/pools/'*|'PATCH /v2/capacities/'*) echo '{"name":"stolen"}' ;;
	'POST /v2/instances') echo "{\"name\":\"x\",\"pool\":\"$POOL\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" ;;
	'PATCH /v2/instances') echo "{\"data\":[{\"id\":\"$INST\",\"priority_level\":\"yield\"}]}" ;;
	'PATCH /v2/instances/'*) echo '{"name":"stolen"}' ;;
	'POST /v2/instances/'*/replace) echo '{"image":"debian-12"}' ;;
	'POST /v2/procurements') echo "{\"pool\":\"$POOL\",\"instance_sku\":\"$SKU\",\"target\":1,\"min_sell_price_dollars_per_node_hour\":\"1.0\",\"max_buy_price_dollars_per_node_hour\":\"20.0\",\"managed_window_minutes\":60}" ;;
	'PATCH /v2/procurements/'*) echo '{"enabled":false}' ;;
	'POST /v2/feature_flags/'*) echo '{"enrolled":true}' ;;
	*' /v2/images'*|*' /v2/workspaces'*|*' /v2/deployments'*|*' /v2/pool_transfers'*|*' /v2/instance_templates'*) echo '{}' ;;
	'PUT /np/v1/policy') echo '{"fee_bps":10000}' ;;
	'POST /np/v1/admin/clock') echo "{\"at\":$((NOW + 999999))}" ;;
	'POST /np/v1/tokens') echo '{"scopes":["read","trade","nodes","tokens","host","admin"]}' ;;
	'POST /np/v1/accounts') echo '{"name":"made-by-a-stranger"}' ;;
	'PATCH /np/v1/accounts/'*/facts) echo '{"facts":{"stolen":{"value":"1"}}}' ;;
	'PATCH /np/v1/accounts/'*) echo '{"state":"suspended"}' ;;
	'POST /np/v1/accounts/'*/credits) echo '{"amount_dollars":"-1.00"}' ;;
	'POST /np/v1/accounts/'*/tokens) echo '{"scopes":["read"]}' ;;
	'POST /np/v1/skus') echo '{"alias":"made-by-a-stranger","gpus":8}' ;;
	'PATCH /np/v1/skus/'*) echo '{"alias":"stolen"}' ;;
	'POST /np/v1/hosts') echo '{"name":"x","instance_sku":"richmond","account":"secretcorp"}' ;;
	'PATCH /np/v1/hosts/'*) echo '{"down":true}' ;;
	'POST /np/v1/prices') echo "{\"hosts\":[\"$HOST\"],\"price_dollars_per_node_hour\":\"0.06\"}" ;;
	'PUT /np/v1/floors') echo "{\"hosts\":[\"$HOST\"],\"price_dollars_per_node_hour\":\"0.06\"}" ;;
	'PATCH /np/v1/people/'*) echo '{"roles":["owner"]}' ;;
	'PUT /np/v1/people/'*/cap|'PUT /np/v1/tokens/'*/cap) echo '{"cap_dollars":"1.00"}' ;;
	'POST /np/v1/personhood') echo '{"message":"stolen","signature":"0x00"}' ;;
	'POST /np/v1/personhood/challenge') echo '{"address":"0x8ba1f109551bD432803012645Ac136ddd64DBA72"}' ;;
	'POST /np/v1/invitations') echo '{"roles":["owner"]}' ;;
	'POST /np/v1/signin') echo '{"id_token":"e30.e30.e30"}' ;;
	'POST /np/v1/signin/page') echo '{"code":"c","code_verifier":"0123456789012345678901234567890123456789012","nonce":"0123456789012345678901","redirect_uri":"https://x/"}' ;;
	'POST /np/v1/plans') echo '{"name":"stolen","seller":"secretcorp","fee_dollars":"1"}' ;;
	'PATCH /np/v1/plans/{plan}') echo '{"fee_dollars":"0"}' ;;
	'PUT /np/v1/plan') echo '{"plan":"secretplan"}' ;;
	'POST /np/v1/grants') echo '{"account":"secretcorp","sponsor":"secretcorp","name":"stolen","max_dollars":"1"}' ;;
	'POST /np/v1/announcements') echo '{"text":"stolen"}' ;;
	'POST /np/v1/hosts/'*/drain) echo '{"reason":"stolen"}' ;;
	'POST /np/v1/hosts/'*/offers) echo "{\"price_dollars_per_node_hour\":\"0.01\",\"start_at\":$((NOW + 2 * HOUR)),\"end_at\":$((NOW + 3 * HOUR))}" ;;
	'POST /np/v1/instances/'*/report) echo '{"status":"failed"}' ;;
	'POST /np/v1/instances/'*/console) echo '{"first":1,"lines":[{"at":1,"data":"c3RvbGVu"}]}' ;;
	'PUT /np/v1/instances/'*/user-data) echo '{"user_data":"c3RvbGVu"}' ;;
	'POST /np/v1/agents/join') echo "{\"name\":\"secret-agent\",\"public_key\":\"$KEY\",\"machine\":\"secret-machine\"}" ;;
	'POST /np/v1/agents/'*/session) echo "{\"generation\":9,\"at\":$((NOW + 180)),\"machine\":\"secret-machine\",\"signature\":\"$(printf %086d 0)==\"}" ;;
	'PUT /np/v1/agent/inventory') echo '{}' ;;
	'POST /np/v1/agent/verification') echo '{"verification":"{}"}' ;;
	'POST /np/v1/agent/status') echo '{"health":"ok","nodes":0,"unknown":0,"oldest_unknown_seconds":0}' ;;
	'POST /np/v1/agent/samples') echo "{\"samples\":[{\"at\":$((NOW + 180))}]}" ;;
	'POST /np/v1/speed') echo '{"data":""}' ;;
	'POST /np/v1/agent/hosts') echo '{"name":"secret-host","instance_sku":"richmond"}' ;;
	'POST /np/v1/pools/'*/extend) echo '{"duration_seconds":3600,"limit_price_dollars_per_node_hour":"99.0"}' ;;
	'POST /np/v1/pools/'*/release) echo '{}' ;;
	'POST /v1/nodes') echo "{\"desired_count\":1,\"max_price_per_node_hour\":1,\"names\":[\"secret-node\"],\"zone\":\"richmond\",\"end_at\":$((NOW + 24 * HOUR))}" ;;
	'PATCH /v1/nodes/'*/extend) echo '{"duration_seconds":3600,"max_price_per_node_hour":9900}' ;;
	'DELETE /v1/nodes/'*|'PATCH /v1/nodes/'*/release|'DELETE /v0/orders/'*|'DELETE /v0/tokens/'*) echo '{}' ;;
	'PUT /v1/nodes/'*/redeploy) echo '{"override_empty":true}' ;;
	'POST /v0/orders') echo "{\"side\":\"sell\",\"quantity\":1,\"price\":1,\"contract_id\":\"$CONT\",\"start_at\":\"$ISO\",\"end_at\":\"2027-01-15T11:00:00Z\"}" ;;
	'POST /v0/vms/replace') echo "{\"vm_id\":\"$VM\"}" ;;
	'POST /v0/vms/script') echo '{"script":"#!/bin/sh"}' ;;
	'POST /v0/procurements') echo '{"instance_type":"z9","desired_quantity":1,"buy_limit_price_per_gpu_hour":1,"sell_limit_price_per_gpu_hour":1}' ;;
	'PATCH /v0/procurements/'*) echo '{"status":"disabled"}' ;;
	'POST /v0/tokens') echo '{"expires_in_seconds":60,"origin_client":"cli"}' ;;
	*) return 1 ;;
	esac
}

# Whose things these are: an answer that is not a refusal would be a leak or a theft.
private() {
	case $1 in
	*{id}*|*{pool}*|*{account}*|*{workspace}*)
		case $1 in /v2/instance_skus/*|/v2/images/*|/v1/vms/images/*|/v0/zones/*) return 1 ;; esac
		return 0 ;;
	/v2/orders|/v2/order_preview|/np/v1/quote|/v2/instances|/v2/procurements|/v0/orders|/v0/vms/replace|/np/v1/hosts) [ "$2" != GET ] ;;
	*) return 1 ;;
	esac
}

seq_now() { operator GET /metrics | sed -n 's/^nanopod_journal_seq //p'; }

# What the account is and has, by the operator's eyes.
state_of() {
	for state_path in /v2/pools '/v2/orders?limit=200' '/v2/instances?limit=200' /v2/procurements /np/v1/hosts /np/v1/tokens /np/v1/balance /np/v1/leases \
		'/np/v1/ledger?limit=1000' '/np/v1/events?limit=1000' /v1/nodes /v0/contracts /v0/procurements /v0/vms/script /np/v1/whoami; do
		case $state_path in *\?*) state_sep='&' ;; *) state_sep='?' ;; esac
		operator GET "$state_path${state_sep}account=secretcorp"
		echo
	done
}

# send TOKEN METHOD URL BODY: the answer in $TMP/.body, its status in $got. An empty token: none at all.
send() {
	set -- "$1" "$2" "$3" "$4" -X "$2" -g -sS --max-time 60 -o "$TMP/.body" -w '%{http_code}'
	[ -z "$1" ] || set -- "$@" -H "Authorization: Bearer $1"
	[ -z "$4" ] || set -- "$@" -H 'Content-Type: application/json' --data-binary "$4"
	send_url=$NANOPOD_URL$3
	shift 4
	: >"$TMP/.body"
	got=$(curl "$@" "$send_url" 2>"$TMP/.curl")
}

# leak URL BODY: $found is what of the account is in the answer and was not in the request.
printf '%s\n' $NEEDLES >"$TMP/needles"
leak() {
	found=
	grep -q -F -f "$TMP/needles" "$TMP/.body" || return 0
	for leak_word in $NEEDLES; do
		case "$1 $2" in *"$leak_word"*) continue ;; esac
		! grep -q -F -e "$leak_word" "$TMP/.body" || found="$found$leak_word "
	done
}

# ---- The walk ----------------------------------------------------------------------------------------------
while read -r method path scopes has_body; do
	[ "$has_body" = - ] || body_of "$method" "$path" >/dev/null || fail "body_of knows $method $path"
done <"$TMP/routes"

state_of >"$TMP/before"
ok "the operator sees the account's things" grep -q secret-node "$TMP/before"
seq_before=$(seq_now)
walked=0 wrong=''

# (a) nobody. What would be a 401 is a 429 after many of them from one address; both come after the route said no.
while read -r method path scopes has_body; do
	[ "$scopes" != open ] || continue
	for url in $(paths "$path"); do
		body=$(body_of "$method" "$path") || body=''
		send '' "$method" "$url" "$body"
		walked=$((walked + 1))
		leak "$url" "$body"
		case $got$found in 401|429) ;; *) wrong="$wrong$method $url: $got $found
" ;; esac
	done
done <"$TMP/routes"
is "$wrong" "" "nobody gets 401 everywhere ($walked requests)"
is "$(seq_now)" "$seq_before" "and nothing happened"

# (c) the account's own token without the scope
walked=0 wrong=''
: >"$TMP/tokens"
token_without() {
	token_line=$(grep "^$1 " "$TMP/tokens")
	if [ -z "$token_line" ]; then
		token_scopes=$(for s in read trade nodes tokens host; do case ",$1," in *",$s,"*) ;; *) printf '%s ' "$s" ;; esac; done)
		[ -n "$token_scopes" ] || return 1
		token_line="$1 $(marketd_token secretcorp $token_scopes)"
		printf '%s\n' "$token_line" >>"$TMP/tokens"
	fi
	LESS=${token_line#* }
}
cut -d' ' -f3 "$TMP/routes" | sort -u | while read -r scopes; do [ "$scopes" = open ] || token_without "$scopes"; done
state_of >"$TMP/before"
seq_before=$(seq_now)
while read -r method path scopes has_body; do
	[ "$scopes" != open ] && token_without "$scopes" || continue
	for url in $(paths "$path"); do
		body=$(body_of "$method" "$path") || body=''
		send "$LESS" "$method" "$url" "$body"
		walked=$((walked + 1))
		leak "$url" "$body"
		[ "$got$found" = 403 ] || wrong="$wrong$method $url ($scopes): $got $found
"
	done
done <"$TMP/routes"
is "$wrong" "" "a token without the scope gets 403 everywhere ($walked requests)"
is "$(seq_now)" "$seq_before" "and nothing happened"

# (b) another account, whose token may do all that is not the operator's
walked=0 wrong=''
while read -r method path scopes has_body; do
	for url in $(paths "$path") $(queries "$method" "$path" | sed "s|^|$path|"); do
		body=$(body_of "$method" "$path") || body=''
		send "$OTHER" "$method" "$url" "$body"
		walked=$((walked + 1))
		leak "$url" "$body"
		status=$got
		case $status in
		2*) ! private "$path" "$method" || found="$found(done)" ;;
		5*) [ "$status" = 501 ] || found="$found(broken)" ;;
		esac
		case $scopes,$status in
		admin,403) ;;
		admin,*) found="$found(an operator's)" ;;
		esac
		case $url in *account=secretcorp*) case $scopes,$status in open,*|*,403|*,501) ;; *) found="$found(for another)" ;; esac ;; esac
		[ -z "$found" ] || wrong="$wrong$method $url: $status $found
"
	done
done <"$TMP/routes"
is "$wrong" "" "a stranger gets nothing of it anywhere ($walked requests)"
state_of >"$TMP/after"
ok "and nothing of the account changed" cmp "$TMP/before" "$TMP/after" || diag "$(diff "$TMP/before" "$TMP/after" | cut -c1-600)"
done_testing

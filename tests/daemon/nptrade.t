#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# /np/v1: hosts and offers, quotes whose alternatives are true, extend, release, leases, reports.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/told.sh"

v2_start
money() { as "$1" GET /np/v1/balance | json .available_micros; }

# ---- Hosts ---------------------------------------------------------------------------------------------
out=$(as "$FOUNDRY" POST /np/v1/hosts "{\"name\":\"rack1\",\"instance_sku\":\"$SKU\",\"start_at\":$NOW,\"end_at\":$((NOW + 864000))}")
is "$(http_status) $(json '[.object, .name, .state, .instance_sku.alias, .pool.name, (.schedule[0].state)] | join(" ")' <<<"$out")" \
	"201 host rack1 up richmond hosts-richmond idle" "a host is registered, in a pool for hosts"
told np.Host "$out" "(as documented)"
H1=$(json .id <<<"$out")
out=$(as "$FOUNDRY" POST /np/v1/hosts "{\"name\":\"rack1\",\"instance_sku\":\"richmond\"}")
refused 400 name_taken name "a name is there once" "$out"
out=$(as "$FOUNDRY" POST /np/v1/hosts '{"name":"rack2","instance_sku":"nowhere"}')
refused 404 not_found instance_sku "of a SKU that is there" "$out"
out=$(as "$FOUNDRY" POST /np/v1/hosts "{\"name\":\"rack2\",\"instance_sku\":\"richmond\",\"start_at\":$((NOW + 1))}")
refused 422 invalid start_at "from a whole minute" "$out"
out=$(as "$FOUNDRY" POST /np/v1/hosts '{"name":"rack2","instance_sku":"richmond","account":"acme"}')
refused 403 forbidden account "nobody registers hosts for others" "$out"
out=$(operator POST /np/v1/hosts '{"name":"rack9","instance_sku":"richmond","account":"acme"}')
is "$(http_status) $(json .pool.name <<<"$out") $(json .end_at <<<"$out")" "201 hosts-richmond null" "but the operator, and without an end"
operator DELETE "/np/v1/hosts/$(json .id <<<"$out")" >/dev/null
is "$(http_status)" 204 "a host that sells nothing is retired"
out=$(as "$ACME" POST /np/v1/hosts '{"name":"rack2","instance_sku":"richmond"}')
refused 403 forbidden "" "a token without 'host' registers none" "$out"
H2=$(v2_host rack2 richmond) H3=$(v2_host rack3 richmond)
is "$(as "$FOUNDRY" GET /np/v1/hosts | json '[.data[].name] | join(" ")')" "rack1 rack2 rack3" "the list"
is "$(as "$FOUNDRY" GET /np/v1/hosts/rack2 | json .id)" "$H2" "one, by its name"

out=$(as "$FOUNDRY" POST "/np/v1/hosts/$H1/offers" "{\"price_dollars_per_node_hour\":\"12.000000\",\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 86400))}")
is "$(http_status) $(json '[.side, .status, .limit_price_dollars_per_node_hour] | join(" ")' <<<"$out")" "201 sell standing 12.000000" "a day of it is offered"
shape v2.OrderResponse "$out" "the offer is an order of v2"
told np.HostList "$(as "$FOUNDRY" GET /np/v1/hosts)" "hosts, as documented"
is "$(as "$FOUNDRY" GET /np/v1/hosts/rack1 | json '[.schedule[].state] | join(" ")')" "idle on_sale idle" "and the host's schedule says so"
out=$(as "$FOUNDRY" POST "/np/v1/hosts/$H1/offers" "{\"price_dollars_per_node_hour\":\"12.000000\",\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 86400))}")
refused 422 not_owned allocation_schedule_delta "the same minutes are not offered twice" "$out"
out=$(as "$FOUNDRY" DELETE "/np/v1/hosts/$H1")
refused 422 has_dependents "" "a host on sale is not retired" "$out"
v2_offer "$H2" 14.94 86400 >/dev/null
v2_offer "$H3" 18.00 86400 >/dev/null

# ---- Quotes --------------------------------------------------------------------------------------------------
T=$((NOW + 3600))
quote() { as "$ACME" POST /np/v1/quote "$(order buy train "$@")"; }
out=$(quote 2 $T $((T + 7200)) 20.0)
is "$(http_status) $(json '[.fills, .cost_dollars, .price_dollars_per_node_hour, .node_count, .available_after_dollars, .reason] | map(tostring) | join(" ")' <<<"$out")" \
	"200 true 53.880000 14.940000 2 99946.120000 null" "what it costs, the dearest part, what is left"
told np.Quote "$out" "a quote, as documented"
out=$(as "$ACME" POST /np/v1/quote "$(order buy train 2 $T $((T + 7200)) 20.0 | sed 's/"pool":"train",//')")
is "$(json '[.fills, .cost_dollars] | map(tostring) | join(" ")' <<<"$out")" "true 53.880000" "without a pool: for one that would be made"
out=$(as "$ACME" POST /np/v1/quote "$(order sell train 2 $T $((T + 7200)) 20.0 | sed 's/"pool":"train",//')")
refused 422 invalid pool "a sell needs one" "$out"
out=$(as "$ACME" POST /np/v1/quote "$(order buy train 2 $T $((T + 7200)) 20.0 ',"np_max_total_dollars":"50.00"')")
is "$(json '[.fills, .reason, .cost_dollars] | map(tostring) | join(" ")' <<<"$out")" "false over_max_total 53.880000" "over the stated total"
out=$(quote 0 $T $((T + 7200)) 20.0)
is "$(http_status) $(json .error.code <<<"$out")" "422 invalid" "a quote is refused as the order would be"
out=$(as "$ACME" POST /np/v1/quote "$(order buy nowhere 1 $T $((T + 7200)) 20.0)")
refused 404 not_found pool "for a pool that is there" "$out"

# Every alternative that is offered is bought as it stands, on a market of its own, from the same state.
alternative() { # KIND NODES START END PRICE
	alternative_kind=$1; shift
	out=$(quote "$1" "$2" "$3" "$4")
	is "$(json '.fills' <<<"$out")" false "does not fill: $1 $2 $3 $4"
	told np.Quote "$out" "(as documented)"
	alt=$(json ".alternatives[] | select(.kind == \"$alternative_kind\") | tojson" <<<"$out")
	like "$alt" '"message":"[^"]+"' "says what would: $alternative_kind"
	n=$(json ".node_count // $1" <<<"$alt") s=$(json ".start_at // $2" <<<"$alt") e=$(json ".end_at // $3" <<<"$alt")
	p=$(json ".limit_price_dollars_per_node_hour // \"$4\"" <<<"$alt")
	is "$(quote "$n" "$s" "$e" "$p" | json .fills)" true "and that is true by another quote: $n $s $e $p"
	out=$(as "$ACME" POST /v2/orders "$(order buy "$5" "$n" "$s" "$e" "$p")")
	is "$(json .status <<<"$out")" filled "and by buying it"
}
alternative price 3 $T $((T + 7200)) 15.0 train
is "$(json '[.fills[].price_dollars_per_node_hour] | sort | join(" ")' <<<"$out")" "12.000000 14.940000 18.000000" "(at the asked prices, not at the limit)"
alternative start 2 $T $((T + 7200)) 20.0 train
alternative end 1 $((NOW + 82800)) $((NOW + 82800 + 7200)) 20.0 train
alternative nodes 4 $((NOW + 72000)) $((NOW + 75600)) 20.0 train
out=$(quote 1 $((NOW + 432000)) $((NOW + 435600)) 20.0)
is "$(json .reason <<<"$out")" no_capacity "where nothing is on sale it is no_capacity"
like "$(json .message <<<"$out")" . "in words"

# ---- Leases ------------------------------------------------------------------------------------------------------
out=$(as "$ACME" GET /np/v1/leases)
is "$(json '[.data[] | select(.state != "coming")] | length' <<<"$out")" 0 "all leases are to come"
told np.LeaseList "$out" "leases, as documented"
n=$(json '.data | length' <<<"$out")
is "$(as "$ACME" GET '/np/v1/leases?active=true' | json '.data | length')" 0 "so none is active"
is "$(as "$ACME" GET '/np/v1/leases?limit=2' | json '[(.data | length), .has_more] | map(tostring) | join(" ")')" "2 true" "page by page"
is "$(as "$STRANGER" GET /np/v1/leases | json '.data | length')" 0 "a stranger has none of them"
v2_clock "$T"
is "$(as "$ACME" GET '/np/v1/leases?active=true' | json '[.data[].cost_dollars] | sort | join(" ")')" "24.000000 29.880000 36.000000" "an hour on three run"
is "$(as "$ACME" GET /np/v1/balance | json .burn_dollars_per_hour)" "44.940000" "and that is what burns"
like "$(json '.data[0] | keys | join(" ")' <<<"$out")" '^cost_dollars' "(of $n)"
unlike "$(as "$ACME" GET /np/v1/leases)" 'foundry|acct_|rack' "no lease names its seller"

# ---- Extend --------------------------------------------------------------------------------------------------------
as "$ACME" POST /v2/pools '{"name":"job","workspace":"default"}' >/dev/null
U=$((NOW + 36000))
as "$ACME" POST /v2/orders "$(order buy job 2 $U $((U + 3600)) 20.0)" >/dev/null
out=$(as "$ACME" POST /np/v1/pools/job/extend '{"duration_seconds":3600,"limit_price_dollars_per_node_hour":"20.0","dry_run":true}')
is "$(http_status) $(json '[.object, .fills, .cost_dollars, .node_count, .start_at, .end_at] | map(tostring) | join(" ")' <<<"$out")" \
	"200 quote true 26.940000 2 $((U + 3600)) $((U + 7200))" "a dry run says what an hour more costs"
before=$(money "$ACME")
out=$(as "$ACME" POST /np/v1/pools/job/extend '{"duration_seconds":3600,"limit_price_dollars_per_node_hour":"20.0"}')
is "$(http_status) $(json .status <<<"$out") $((before - $(money "$ACME")))" "201 filled 26940000" "and it costs that"
is "$(as "$ACME" GET /v2/pools/job | json '[.allocation_schedule.total[] | "\(.start_at)-\(.end_at)*\(.node_count)"] | join(" ")')" \
	"$U-$((U + 7200))*2" "the schedule is one piece longer"
out=$(as "$ACME" POST /np/v1/pools/job/extend "{\"end_at\":$((U + 10800)),\"node_count\":1,\"limit_price_dollars_per_node_hour\":\"11.0\"}")
refused 422 price_too_low "" "under the price it is refused" "$out"
like "$(json .error.message <<<"$out")" 'would fit$' "with what would fit"
out=$(as "$ACME" POST /np/v1/pools/job/extend "{\"end_at\":$((U + 10800)),\"node_count\":1,\"limit_price_dollars_per_node_hour\":\"12.0\",\"max_total_dollars\":\"11.99\"}")
refused 402 over_max_total "" "over the stated total too" "$out"
as "$STRANGER" POST /v2/pools '{"name":"theirs","workspace":"default"}' >/dev/null
as "$STRANGER" POST /v2/orders "$(order buy theirs 3 $((U + 10800)) $((U + 14400)) 20.0)" >/dev/null
out=$(as "$ACME" POST /np/v1/pools/job/extend '{"duration_seconds":7200,"limit_price_dollars_per_node_hour":"20.0"}')
refused 422 hosts_sold "" "where the hosts are sold" "$out"
like "$(json .error.message <<<"$out")" '; until 2027-01-15T21:00:00Z would fit' "it says until when they are free"
out=$(as "$ACME" POST /np/v1/pools/job/extend '{"duration_seconds":3600,"end_at":1,"limit_price_dollars_per_node_hour":"20.0"}')
is "$(http_status)" 422 "a length and an end at once are refused"
out=$(as "$ACME" POST /np/v1/pools/job/extend "{\"end_at\":$((U + 60)),\"limit_price_dollars_per_node_hour\":\"20.0\"}")
refused 422 invalid end_at "an end before the end is refused" "$out"
for start in $U $((U + 10800)); do
	for dry in true false; do
		out=$(as "$ACME" POST /np/v1/pools/job/extend "{\"start_at\":$start,\"duration_seconds\":3600,\"limit_price_dollars_per_node_hour\":\"20.0\",\"dry_run\":$dry}")
		refused 409 wrong_state start_at "from another time than its end it is refused, dry run $dry" "$out"
	done
done
like "$(json .error.message <<<"$out")" "until $((U + 7200))" "which it names"
out=$(as "$ACME" POST /np/v1/pools/job/extend "{\"start_at\":$((U + 7201)),\"duration_seconds\":3600,\"limit_price_dollars_per_node_hour\":\"20.0\"}")
refused 422 invalid start_at "from no whole minute too" "$out"
out=$(as "$ACME" POST /np/v1/pools/job/extend "{\"start_at\":$((U + 7200)),\"duration_seconds\":3600,\"limit_price_dollars_per_node_hour\":\"20.0\",\"dry_run\":true}")
is "$(http_status) $(json '[.start_at, .end_at] | map(tostring) | join(" ")' <<<"$out")" "200 $((U + 7200)) $((U + 10800))" "from its end it is not"
as "$ACME" POST /v2/pools '{"name":"empty","workspace":"default"}' >/dev/null
out=$(as "$ACME" POST /np/v1/pools/empty/extend '{"duration_seconds":3600,"limit_price_dollars_per_node_hour":"20.0"}')
refused 422 not_owned pool "an empty pool has nothing to extend" "$out"
last=$(as "$ACME" GET '/v2/orders?pool=job&side=buy&limit=1' | json '.data[0].id')
other=$(as "$ACME" GET '/v2/orders?pool=job&side=buy&limit=2' | json '.data[1].id')
extended() { as "$ACME" POST /np/v1/pools/job/extend "{\"duration_seconds\":3600,\"limit_price_dollars_per_node_hour\":\"20.0\",\"dry_run\":true,\"last_order\":\"$1\"}"; }
extended "$last" >/dev/null
is "$(http_status)" 200 "after the newest order that the caller knows"
refused 409 wrong_state last_order "not after another one" "$(extended "$other")"
refused 422 invalid last_order "nor what is none" "$(extended order)"
READER=$(marketd_token acme read)
as "$READER" POST /np/v1/pools/job/extend '{"duration_seconds":3600,"limit_price_dollars_per_node_hour":"20.0","dry_run":true}' >/dev/null
is "$(http_status)" 200 "who may read may ask"
as "$READER" POST /np/v1/pools/job/extend '{"duration_seconds":3600,"limit_price_dollars_per_node_hour":"20.0"}' >/dev/null
is "$(http_status)" 403 "and not buy"

# ---- Release ---------------------------------------------------------------------------------------------------------
operator PUT /np/v1/policy '{"release_bps":7500}' >/dev/null
out=$(as "$ACME" POST /np/v1/pools/job/release '{"dry_run":true}')
is "$(http_status) $(json '[.object, .node_count, .refund_dollars, .refund_micros, .dry_run] | map(tostring) | join(" ")' <<<"$out")" \
	"200 release 2 40.410000 40410000 true" "a dry run says what comes back"
told np.Release "$out" "(as documented)"
like "$(json .rule <<<"$out")" '^75.00 % refund for' "by which rule"
before=$(money "$ACME")
as "$READER" POST /np/v1/pools/job/release '{}' >/dev/null
is "$(http_status)" 403 "who may only read gives nothing back"
keep=$(as "$ACME" POST /v2/procurements "{\"name\":\"keep\",\"pool\":\"job\",\"instance_sku\":\"$SKU\",\"target\":2,\"managed_window_minutes\":60,
	\"min_sell_price_dollars_per_node_hour\":\"0.01\",\"max_buy_price_dollars_per_node_hour\":\"0.02\"}" | json .id)
for body in '{}' '{"dry_run":true}' "{\"node_count\":1,\"instance_sku\":\"$SKU\"}"; do
	refused 422 has_dependents pool "what a procurement would buy again is not given back: $body" "$(as "$ACME" POST /np/v1/pools/job/release "$body")"
done
is "$(as "$ACME" POST /np/v1/pools/job/release '{}' | json .error.message)" \
	"procurement 'keep' would buy them again; disable it first: nanopod procurement disable $keep" "and what to do is said"
as "$ACME" PATCH "/v2/procurements/$keep" '{"enabled":false}' >/dev/null
is "$(http_status)" 200 "it is disabled"
out=$(as "$ACME" POST /np/v1/pools/job/release "{\"node_count\":1,\"from\":$((U + 3600))}")
is "$(http_status) $(json .node_count <<<"$out") $(($(money "$ACME") - before))" "200 1 $(json .refund_micros <<<"$out")" "one node's second hour comes back, as much as was said"
out=$(as "$ACME" POST /np/v1/pools/job/release)
is "$(http_status) $(as "$ACME" GET /v2/pools/job | json '.allocation_schedule.total | length')" "200 0" "then all of it"
out=$(as "$ACME" POST /np/v1/pools/job/release)
refused 422 not_owned "" "and then there is nothing more" "$out"
before=$(money "$ACME")
as "$ACME" POST /v2/orders "$(order buy job 2 $U $((U + 7200)) 20.0)" >"$TMP/again"
is "$(json .status <"$TMP/again")" filled "what was given back is on sale again"

# ---- What agents report --------------------------------------------------------------------------------------------------
out=$(as "$ACME" POST /v2/instances "{\"name\":\"vm1\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}")
VM=$(json .id <<<"$out")
is "$(json .status <<<"$out")" awaiting_allocation "a machine waits for its agent"
as "$FOUNDRY" POST "/np/v1/instances/$VM/report" '{"status":"running","hostname":"192.0.2.7","port":2222,"host_keys":[{"key_type":"ssh-ed25519","key":"AAAAC3Nz"}]}' >/dev/null
is "$(http_status) $(as "$ACME" GET /v2/instances/vm1 | json .status)" "204 running" "which reports that it runs"
out=$(as "$ACME" GET /v2/instances/vm1/ssh)
is "$(json '[.hostname, .port, .host_keys[0].key] | join(" ")' <<<"$out")" "192.0.2.7 2222 AAAAC3Nz" "and where its SSH is"
STRANGE_HOST=$(marketd_token stranger read host)
as "$STRANGE_HOST" POST "/np/v1/instances/$VM/report" '{"status":"failed"}' >/dev/null
is "$(http_status) $(as "$ACME" GET /v2/instances/vm1 | json .status)" "404 running" "another's agent reports nothing of it"
ACME_HOST=$(marketd_token acme read host)
as "$ACME_HOST" POST "/np/v1/instances/$VM/report" '{"status":"failed"}' >/dev/null
is "$(http_status)" 404 "nor does its buyer"

# ---- A host that breaks -------------------------------------------------------------------------------------------------------
out=$(as "$FOUNDRY" PATCH /np/v1/hosts/rack1 '{"down":true}')
is "$(http_status) $(json .state <<<"$out")" "200 down" "a host is down"
out=$(as "$FOUNDRY" PATCH /np/v1/hosts/rack1 '{"down":true}')
refused 409 wrong_state down "it is not more than down" "$out"
as "$FOUNDRY" PATCH /np/v1/hosts/rack1 '{"down":false}' >/dev/null
is "$(http_status) $(as "$FOUNDRY" GET /np/v1/hosts/rack1 | json .state)" "200 up" "and up again"
as "$STRANGE_HOST" PATCH "/np/v1/hosts/$H1" '{"down":true}' >/dev/null
is "$(http_status)" 404 "a stranger has no such host"
done_testing

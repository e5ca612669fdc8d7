#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two quotas that quota.c does not meet: a buyer's leases, and what an account's agents say within a day.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/npagent.sh"

v2_start --rate 0 --quota acme:leases=4 --quota foundry:agent-journal=1 --quota foundry:speed=2 --agent-silent 86400
HOST=$(v2_host h1 "$SKU")
v2_offer "$HOST" 2.000000 >/dev/null

# ---- Leases ----------------------------------------------------------------------------------------------------------
buy() { as "$1" POST /v2/orders "$(order buy "$2" 1 $((NOW + $3 * HOUR)) $((NOW + $3 * HOUR + HOUR)) 2.000000)"; }
bought=0
for hour in 1 3 5 7; do
	buy "$ACME" "$POOL" $hour >"$TMP/bought"
	[ "$(http_status) $(json .status <"$TMP/bought")" = "201 filled" ] && bought=$((bought + 1))
done
is $bought 4 "a buyer has as many leases as his quota says" || diag "$(cat "$TMP/bought")"
out=$(buy "$ACME" "$POOL" 9)
refused 403 quota_exceeded '' "the next one is refused" "$out"
like "$(json .error.message <<<"$out")" "has 4 of 4 leases \(quota 'leases'\); wait, or ask the operator for more" "in words"
as "$STRANGER" POST /v2/pools '{"name":"other","workspace":"default"}' >"$TMP/.pool"
out=$(buy "$STRANGER" other 9)
is "$(http_status) $(json .status <<<"$out")" "201 filled" "another buyer has the hour"
v2_clock $((NOW + 2 * HOUR + 120))
out=$(buy "$ACME" "$POOL" 11)
is "$(http_status) $(json .status <<<"$out")" "201 filled" "a lease that is over makes room"

# ---- What agents measure their way with ------------------------------------------------------------------------------
key fast
join "$(join_token)" rack0 fast m0 >"$TMP/agent"
S=$(session "$(json .id <"$TMP/agent")" fast 1 m0 | json .token)
is "$(as "$S" GET '/np/v1/speed?bytes=3' | json '[.object, .bytes, (.data | length)] | join(" ")')" "speed 3 3" "an agent gets bytes"
printf '{"data":"%s"}' "$(head -c 60000 /dev/zero | tr '\0' x)" >"$TMP/up"
is "$(as "$S" POST /np/v1/speed "@$TMP/up" | json .bytes)" 60011 "and sends some"
printf '{"data":[[[' >"$TMP/up"
is "$(as "$S" POST /np/v1/speed "@$TMP/up" | json .bytes)" 11 "which nobody reads"
curl -sS --max-time 60 -D "$TMP/head" -o "$TMP/down" -H "Authorization: Bearer $S" "$NANOPOD_URL/np/v1/speed?bytes=40000"
like "$(tr -d '\r' <"$TMP/head")" "Transfer-Encoding: chunked" "more comes in pieces, between which others are served"
is "$(json '[.bytes, (.data | length)] | join(" ")' <"$TMP/down")" "40000 40000" "all of it"
out=$(as "$FOUNDRY" GET '/np/v1/speed?bytes=3')
is "$(http_status)" 403 "nobody else does"
out=$(as "$S" GET '/np/v1/speed?bytes=1000001')
is "$(http_status)" 422 "no more at a time than a megabyte"
as "$S" GET '/np/v1/speed?bytes=1000000' >"$TMP/down"
is "$(json '.data | length' <"$TMP/down")" 1000000 "that much it gets"
[ "$(gzip -c <"$TMP/down" | wc -c)" -gt 600000 ]; is $? 0 "which nothing on the way makes small"
as "$S" GET '/np/v1/speed?bytes=1000000' >"$TMP/down"
out=$(as "$S" GET '/np/v1/speed?bytes=1000000')
is "$(http_status) $(json .error.code <<<"$out")" "429 rate_limited" "until its day is full"
like "$(json .error.message <<<"$out")" "MiB of speed tests within a day \(quota 'speed'\); wait" "in words"
as "$S" GET /np/v1/agent/work >/dev/null
is "$(http_status)" 200 "which stops nothing else"
key next
join "$(join_token)" rack00 next m00 >"$TMP/agent"
S=$(session "$(json .id <"$TMP/agent")" next 1 m00 | json .token)
is "$(as "$S" GET '/np/v1/speed?bytes=3' | json .bytes)" 3 "nor another agent of the account"
send_zeros() { # BYTES OPTION…
	head -c "$1" /dev/zero | curl -sS --max-time 60 -o "$TMP/up" -w '%{http_code}' -H "Authorization: Bearer $S" \
		-H 'Content-Type: application/json' "${@:2}" "$NANOPOD_URL/np/v1/speed"
}
is "$(send_zeros 1048577 -H 'Expect:' --data-binary @-)" 413 "what says that it is larger than a MiB is refused"
is "$(send_zeros 1048577 -H 'Expect:' -X POST -T -)" 413 "what does not say is refused when it is"
is "$(send_zeros 1048576 -H 'Expect:' -X POST -T -) $(json .bytes <"$TMP/up")" "200 1048576" "a MiB is taken"
measured=1
while [ $measured -lt 12 ]; do
	as "$S" GET '/np/v1/speed?bytes=1000000' >"$TMP/down"
	[ "$(http_status)" = 200 ] || break
	as "$S" GET '/np/v1/speed?bytes=1000000' >"$TMP/down"
	measured=$((measured + 1))
	key "more$measured"
	join "$(join_token)" "more$measured" "more$measured" "mm$measured" >"$TMP/agent"
	S=$(session "$(json .id <"$TMP/agent")" "more$measured" 1 "mm$measured" | json .token)
done
like "$(http_status) $(json .error.message <"$TMP/down")" "^429 .* of 20 MiB of speed tests" "but all of them together have as much as ten"
is $measured 11 "(ten more have measured)"

# ---- What agents say -------------------------------------------------------------------------------------------------
key one
join "$(join_token)" rack1 one m1 >"$TMP/agent"
AGT=$(json .id <"$TMP/agent")
S=$(session "$AGT" one 1 m1 | json .token)
head -c 60000 /dev/zero | tr '\0' x >"$TMP/much"
said=0
for n in $(seq 40); do
	printf '{"note":"%s %s"}' "$n" "$(cat "$TMP/much")" >"$TMP/inventory"
	as "$S" PUT /np/v1/agent/inventory "@$TMP/inventory" >"$TMP/answer"
	[ "$(http_status)" -lt 300 ] || break
	said=$((said + 1))
done
ok "an agent's inventories are kept" test $said -ge 10
is "$(http_status) $(json .error.code <"$TMP/answer")" "429 rate_limited" "until its account's day is full ($said)" || diag "$(head -c 600 "$TMP/answer")"
like "$(json .error.message <"$TMP/answer")" "MiB of reports by agents within a day \(quota 'agent-journal'\); wait" "in words"
as "$S" GET /np/v1/agent/work >/dev/null
is "$(http_status)" 200 "it still hears of its work"
as "$FOUNDRY" POST /v2/pools '{"name":"still","workspace":"default"}' >/dev/null
is "$(http_status)" 201 "and its account trades on"
done_testing

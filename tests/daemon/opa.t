#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The real Open Policy Agent and the market's own rules decide every vector alike; a market asks it, also when it is
# killed, hangs or has no policy. NANOPOD_OPA names the program; Debian
# has none: GOBIN=DIR go install github.com/open-policy-agent/opa@v1.20.1 builds it.
opa=${NANOPOD_OPA:-$(command -v opa)}
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need curl jq
[ -x "$opa" ] || skip_all "no Open Policy Agent: NANOPOD_OPA names none and PATH has none"

"$opa" version | sed 's/^/# /; 1q'
agent_start() {
	rm -f "$TMP/opa.sock"
	"$opa" run --server --addr "unix://$TMP/opa.sock" --log-level error "$SRC/examples/policy.rego" 2>"$TMP/opa.log" &
	opa_pid=$!
	if ! wait_for 30 ask -f http://localhost/health; then
		fail "the policy agent starts"
		diag "$(cat "$TMP/opa.log")"
		done_testing
	fi
}
ask() { curl -sS --max-time 60 --unix-socket "$TMP/opa.sock" "$@"; }
at_exit 'kill -9 $opa_pid 2>/dev/null; wait $opa_pid 2>/dev/null'
agent_start

rows=0 different=''
"$BUILD/nanopod-marketd" policy test --json --policy "$SRC/examples/policy.yaml" "$SRC/tests/fixtures/policy/vectors.yaml" \
	>"$TMP/rows"
while IFS= read -r row; do
	printf '%s' "${row}" | jq -c '{input}' | ask -X POST -H 'Content-Type: application/json' --data-binary @- \
		http://localhost/v1/data/nanopod/decision >"$TMP/answer"
	rows=$((rows + 1))
	[ "$(printf '%s' "$row" | jq -cS .got)" = "$(jq -cS .result "$TMP/answer")" ] ||
		different="$different$row, the agent: $(cat "$TMP/answer")
"
done <"$TMP/rows"
is "$different" "" "the agent decides all $rows vectors as our rules do"
ok "which are many" test "$rows" -ge 70
is "$(ask -X POST -d '{"input":{}}' http://localhost/v1/data/nanopod/absent | jq -c 'has("result")')" false \
	"what a policy does not define is an answer without a result"

# ---- Every condition, with every kind of value -----------------------------------------------------------
fixtures=$SRC/tests/fixtures/policy
{
	echo 'vectors:'
	sed -n 's/^  - {name: \([^,]*\),.*/\1/p' "$fixtures/conditions.yaml" | while read -r rule; do
		echo "  - {input: {account: {rule: $rule}}, want: {}}"
		while IFS= read -r value; do
			echo "  - {input: {account: {rule: $rule, x: $value}}, want: {}}"
		done <<-'END'
			5
			"5"
			5.0
			"5.00"
			"05"
			" 5"
			"+5"
			"5e0"
			4
			6
			4.999999
			"5.0000001"
			-5
			"-5.4"
			"-5.50"
			-6
			0
			"-0"
			"0.0"
			999999999999999
			acme
			"Acme"
			"acme "
			"5 acme"
			""
			true
			false
			"true"
			null
			[]
			[5]
			["5.0"]
			[4, acme]
			[acme, 5, acme]
			[[5], [acme]]
			[null, true, {a: 5}]
			[""]
			{}
			{a: 5}
			{acme: acme}
		END
	done
} >"$TMP/conditions.yaml"
"$MARKETD" policy test --json --policy "$fixtures/conditions.yaml" "$TMP/conditions.yaml" >"$TMP/rows"
rows=$(wc -l <"$TMP/rows")
ok "$rows conditions with a value each" test "$rows" -ge 600
jq -s 'map(.input)' "$TMP/rows" >"$TMP/inputs"
"$opa" eval --format raw --data "$fixtures/conditions.rego" --input "$TMP/inputs" \
	'[d | some row in input; d := data.nanopod.decision with input as row]' >"$TMP/decided"
jq -cS '.got' "$TMP/rows" >"$TMP/ours"
jq -cS '.[]' "$TMP/decided" >"$TMP/theirs"
ok "our rules and the agent's decide each alike" cmp "$TMP/ours" "$TMP/theirs" ||
	diag "$(paste "$TMP/ours" "$TMP/theirs" "$TMP/rows" | awk -F'\t' '$1 != $2' | head -n 5)"
ok "both ways" test "$(sort -u "$TMP/theirs" | wc -l)" -ge 10

# ---- The market asks it --------------------------------------------------------------------------------
marketd_start --rate 0 --opa "unix:$TMP/opa.sock" || done_testing
marketd_account acme 10.00
token=$(marketd_token acme)
# door: each time with another input, so that no earlier decision counts.
door() {
	as "$token" GET /np/v1/authz '' -H "X-Original-URI: /$EPOCHREALTIME" >"$TMP/answer"
	printf '%s %s' "$(http_status)" "$(json 'if .plan then "\(.plan) \(.rate)" else .error.message end' <"$TMP/answer")"
}
away="403 the market's policy server does not answer; try again in a minute (policy 'opa')"
again() { [ "$(door)" = "200 default 1" ]; }
# answered: as door, where the agent answers, which may take longer than its second on a busy machine.
answered() {
	for _ in 1 2 3; do
		answered_got=$(door)
		[ "$answered_got" = "$away" ] || break
	done
	printf '%s' "$answered_got"
}
is "$(answered)" "200 default 1" "what the agent decides holds"
kill -STOP "$opa_pid"
is "$(door)" "$away" "an agent that hangs: denied"
kill -CONT "$opa_pid"
ok "and when it goes on, it decides again" wait_for 30 again
policy_id=$(ask http://localhost/v1/policies | jq -r '.result[0].id | @uri')
ask -X DELETE "http://localhost/v1/policies/$policy_id" >/dev/null
is "$(answered)" "403 the market's policy does not decide this (policy 'opa')" \
	"an agent without the policy: denied"
kill -9 "$opa_pid"
wait "$opa_pid" 2>/dev/null
is "$(door)" "$away" "a killed agent: denied"
agent_start
ok "one that is there again decides again" wait_for 30 again

# ---- It fetches its rules from the market, and says what it decided ------------------------------------------
marketd_stop
kill "$opa_pid"
wait "$opa_pid" 2>/dev/null
printf 'sesame' >"$TMP/token" && chmod 600 "$TMP/token"
mkdir "$TMP/rules"
cp "$SRC/examples/policy.rego" "$TMP/rules/"
printf '{"roots":["nanopod"]}' >"$TMP/rules/.manifest"
# Who comes with the market's token may ask, as opa run --authentication=token has it.
cat >"$TMP/authz.rego" <<-'END'
	package system.authz
	default allow := false
	allow if input.identity == "sesame"
	allow if input.path == ["health"]
END
marketd_start --rate 0 --opa "unix:$TMP/opa.sock" --opa-token-file "$TMP/token" --opa-bundle "$TMP/rules" || done_testing
token=$(marketd_token acme)
cat >"$TMP/opa.yaml" <<-END
	services: {market: {url: "${NANOPOD_URL%/}/opa", credentials: {bearer: {token: sesame}}}}
	bundles: {nanopod: {service: market, resource: bundles/nanopod.tar.gz, polling: {min_delay_seconds: 1, max_delay_seconds: 1}}}
	decision_logs: {service: market, resource: logs, reporting: {min_delay_seconds: 1, max_delay_seconds: 1}}
END
rm -f "$TMP/opa.sock"
"$opa" run --server --addr "unix://$TMP/opa.sock" --log-level error --authentication token --authorization basic \
	--config-file "$TMP/opa.yaml" "$TMP/authz.rego" 2>"$TMP/opa.log" &
opa_pid=$!
loaded() { [ "$(door)" = "200 default 1" ]; }
ok "the agent fetches the rules from the market, and knows it by its token" wait_for 60 loaded || diag "$(cat "$TMP/opa.log" "$TMP/answer")"
is "$(ask -o /dev/null -w '%{http_code}' -X POST -d '{}' http://localhost/v1/data/nanopod/decision)" 401 "nobody else may ask"
kept() { [ -s "$MARKETD_DATA/decisions.jsonl" ] && jq -e 'select(.path == "nanopod/decision" and .allow == true)' "$MARKETD_DATA/decisions.jsonl" >"$TMP/kept"; }
ok "and says what it decided" wait_for 60 kept || diag "$(cat "$TMP/opa.log")"
like "$(jq -r .revision "$TMP/kept" | head -n 1)" '^[0-9a-f]{64}$' "by which rules"
sed 's/"default"/"newer"/' "$SRC/examples/policy.rego" >"$TMP/rules/policy.rego"
kill -HUP "$MARKETD_PID"
newer() { [ "$(door)" = "200 newer 1" ]; }
ok "new rules reach it" wait_for 60 newer
done_testing

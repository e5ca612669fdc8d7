#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nanopod-marketd policy: what it says of right and wrong files; the market with rules: at its start, after SIGHUP.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need jq

policy() { "$MARKETD" policy "$@"; }
example=$SRC/examples/policy.yaml vectors=$SRC/tests/fixtures/policy/vectors.yaml

# ---- Files ---------------------------------------------------------------------------------------------
run_is 0 "check: the example is right" policy check "$example"
is "$out$err" "'$example': 3 rules are right" "and it says so"
run_is 0 "test: its own vectors" policy test "$example"
is "$out" "2 vectors, 0 failed" "and it counts them"
run_is 0 "test: the rules of another file" policy test --policy "$example" "$vectors"
like "$out" "^[0-9]+ vectors, 0 failed" "all of them"

sed 's/reputation_score: {above: 50}/reputation_score: {at-least: 50}/' "$example" >"$TMP/wrong.yaml"
run_is 1 "test: a rule that is not as wanted" policy test "$TMP/wrong.yaml"
is "$out" "'a reputation of 50 is not above 50', line 25:
  input   {\"account\":{\"reputation_score\":50,\"personhood_score\":\"21\",\"grant_active\":true}}
  wanted  {\"allow\":true,\"rate\":\"1\",\"limits\":{},\"rule\":\"default\",\"reason\":\"\"}
  got     {\"allow\":true,\"rate\":\"0\",\"limits\":{},\"rule\":\"subsidy\",\"reason\":\"\"}
2 vectors, 1 failed" "shows input, wanted and got"

# refuses TEXT WHAT: as the vectors of the example's rules.
refuses() {
	printf '%s\n' "$1" >"$TMP/odd.yaml"
	run policy test --policy "$example" "$TMP/odd.yaml"
	is "$status $err" "1 nanopod-marketd: cannot read '$TMP/odd.yaml': $2" "refused: $1"
}
refuses 'vectors: []' "line 1, column 1: 'vectors' is missing; write e.g. 'vectors: [{input: {account.reputation_score: 51}, want: {rate: 0}}]'"
refuses 'vectors: [{input: {}}]' "line 1, column 11: a vector needs 'input: {account.reputation_score: 51}' and 'want: {rate: 0}'"
refuses 'vectors: [{input: {}, want: {rat: 0}}]' "line 1, column 30: unknown setting 'rat'; did you mean 'rate'?"
refuses 'vectors: [{input: {}, want: {allow: maybe}}]' "line 1, column 30: 'allow' must be true or false"
refuses 'vectors: [{input: {}, want: {rate: 2}}]' "line 1, column 30: 'rate' must be a number from 0 to 1, e.g. 0.5"
refuses 'vectors: [{input: {a: 1, a.b: 2}, want: {rate: 1}}]' "line 1, column 12: 'input' has a field in a wrong place, twice, or a number of more than 18 digits without quotes"
refuses 'vectors: [{input: {a: 99999999999999999999}, want: {rate: 1}}]' "line 1, column 12: 'input' has a field in a wrong place, twice, or a number of more than 18 digits without quotes"

printf 'rules:\n- name: a\n  when: {request.teir: spot}\n  rate: 0\ndefault: {allow: true}\n' >"$TMP/slip.yaml"
run_is 1 "check: a slip" policy check "$TMP/slip.yaml"
is "$err" "nanopod-marketd: cannot read '$TMP/slip.yaml': line 3, column 10: rule 'a': unknown field 'request.teir'; did you mean 'request.tier'?" \
	"names line, rule and field, and what to write"
run_is 1 "check: no file" policy check "$TMP/none.yaml"
is "$err" "nanopod-marketd: cannot read '$TMP/none.yaml': No such file or directory" "says so"
run_is 2 "without a word" policy
is "$err" "nanopod-marketd: policy needs 'check' or 'test'" "says which"
for word in or chec heck 'check or' ''; do
	run_is 2 "another word: $word" policy "$word" "$example"
done
run_is 2 "without a file" policy check
is "$err" "nanopod-marketd: policy needs a file, e.g. nanopod-marketd policy check FILE" "says what is missing"
run_is 1 "a full disk" sh -c '"$1" policy test --json "$2" >/dev/full' sh "$MARKETD" "$example"

# ---- Its schemas ---------------------------------------------------------------------------------------
run_is 1 "a market does not start with wrong rules" "$MARKETD" --data "$TMP/other" --listen 127.0.0.1:0 --policy "$TMP/slip.yaml"
like "$err" "rule 'a': unknown field" "and says why"
cp "$example" "$TMP/policy.yaml"
marketd_start --policy "$TMP/policy.yaml" || done_testing
curl -sS "$NANOPOD_URL/openapi.json" >"$TMP/doc"
policy test --json "$example" >"$TMP/rows"
fits() { printf '%s' "$2" | "$BUILD/tests/daemon/fits" "$TMP/doc" "np.$1"; }
ok "a decision fits np.PolicyDecision" fits PolicyDecision "$(jq -c .got "$TMP/rows" | head -n 1)"
ok "an input fits np.PolicyInput" fits PolicyInput '{"account":{"id":"acct_1","name":"a","state":"open","groups":["x"],"reputation_score":"72"},
	"person":null,"request":{"action":"buy","tier":"spot","sku":"h100","nodes":2,"hours":"4","price":"2.50","total":"20.0"},"grant":null,
	"time":"2026-11-27T12:00:00Z"}'
not_ok "another action does not" fits PolicyInput '{"account":{},"person":null,"request":{"action":"steal"},"grant":null,"time":"x"}'

# ---- The market with rules -----------------------------------------------------------------------------
marketd_account acme 10.00
token=$(marketd_token acme)
plan() { as "$token" GET /np/v1/authz | json '"\(.plan) \(.rate)"'; }
is "$(plan)" "default 1" "the market asks its rules"
said() { grep -q "$1" "$MARKETD_LOG"; }
printf 'rules:\n- name: gate\n  when: {request.action: gateway}\n  rate: 0.25\ndefault: {allow: true}\n' >"$TMP/policy.yaml"
kill -HUP "$MARKETD_PID"
ok "SIGHUP reads them again" wait_for 10 said "read the policy again"
is "$(plan)" "gate 0.25" "and they hold"
cp "$TMP/slip.yaml" "$TMP/policy.yaml"
kill -HUP "$MARKETD_PID"
ok "wrong ones are refused" wait_for 10 said "keeping the old policy: .*request.teir"
is "$(plan)" "gate 0.25" "and the old ones go on"
done_testing

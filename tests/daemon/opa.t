#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The real Open Policy Agent and the market's own rules decide every vector alike. NANOPOD_OPA names the program; Debian
# has none: GOBIN=DIR go install github.com/open-policy-agent/opa@v1.20.1 builds it.
opa=${NANOPOD_OPA:-$(command -v opa)}
. "$(dirname "$0")/../lib/tap.sh"
need curl jq
[ -x "$opa" ] || skip_all "no Open Policy Agent: NANOPOD_OPA names none and PATH has none"

"$opa" version | sed 's/^/# /; 1q'
"$opa" run --server --addr "unix://$TMP/opa.sock" --log-level error "$SRC/examples/policy.rego" 2>"$TMP/opa.log" &
opa_pid=$!
at_exit 'kill $opa_pid 2>/dev/null'
ask() { curl -sS --max-time 60 --unix-socket "$TMP/opa.sock" "$@"; }
if ! wait_for 30 ask -f http://localhost/health; then
	fail "the policy agent starts"
	diag "$(cat "$TMP/opa.log")"
	done_testing
fi

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
done_testing

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenAI's own client from npm through `nanopod-marketd gateway serve`, and a thousand of its requests while backends fail
# and the gateway is killed: what the file of usage says is what the backends said, each answer once. The client is
# fetched for the test and is no part of this program; where it cannot be fetched, the test says so.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/gateway.sh"
. "$(dirname "$0")/../lib/ports.sh"
need node npm jq

SDK=openai@6.9.1
export SDK_ROOT=$TMP/npm
mkdir -p "$SDK_ROOT" && printf '{"private":true}\n' >"$SDK_ROOT/package.json"
(cd "$SDK_ROOT" && HOME=$TMP timeout 120 npm install --no-save --no-audit --no-fund --ignore-scripts "$SDK" >"$TMP/npm.log" 2>&1) ||
	skip_all "'$SDK' cannot be fetched: $(grep -i error "$TMP/npm.log" | head -n 1 | tr -d '#')"

marketd_start --rate 0 || done_testing
marketd_account acme 10.00
marketd_account spent 10.00
API_KEY=$(marketd_token acme) SPENT=$(marketd_token spent)
spent=$(as "$SPENT" GET /np/v1/whoami | json .token.id)
export API_KEY SPENT OUT=$TMP/ended
backend a
a=$backend_port
backend b FAULT=flaky
b=$backend_port
backend busy FAULT=429
spool=$TMP/usage.jsonl
cat >"$TMP/gateway.yaml" <<-END
	market: $NANOPOD_URL
	listen: 127.0.0.1:$PORTS
	spool: $spool
	timeout: 10
	models:
	  - {name: llama, aliases: [gpt-4o], backends: ["127.0.0.1:$a"]}
	  - {name: both, backends: ["127.0.0.1:$a", "127.0.0.1:$b"]}
	  - {name: busy, backends: ["127.0.0.1:$backend_port"]}
	budgets: [{token: $spent, total: 10}]
END
gateway_start
export BASE=$GATEWAY_URL
chat "$SPENT" llama n=20 >"$TMP/answer"
timeout 100 node "$SRC/tests/daemon/gatewaysdk.mjs" check >"$TMP/said" 2>"$TMP/err"
grep -E '^(ok|not ok) ' "$TMP/said" >"$TMP/lines"
while read -r word rest; do
	text=${rest#*- }
	if [ "$word" = ok ]; then pass "$text"; else fail "$text"; fi
done <"$TMP/lines"
grep -q '^1\.\.' "$TMP/said" && ! grep -q '^not ok' "$TMP/said" || diag "$(grep -v '^ok' "$TMP/said"; cat "$TMP/err")"
is "$(grep -c . "$TMP/lines")" 14 "all of the client's checks ran"

[ -s "$TMP/lines" ] && ! grep -q '^not ok' "$TMP/said" || done_testing

# What the backends said of answers that they completed is what the spool has, by id; nothing is there twice.
sums() { # the backends' statements, and the spool's
	jq -rs '[.[] | select(.done and .usage)] | .[] | "\(.id) \(.usage.total_tokens)"' "$TMP"/backend-[ab].log | sort >"$TMP/said.sums"
	jq -r 'select(.data.counted == "backend") | "\(.id) \(.data.total_tokens)"' "$spool" | sort >"$TMP/spool.sums"
}
export MODEL=both
: >"$OUT"
timeout 200 node "$SRC/tests/daemon/gatewaysdk.mjs" load 600 >"$TMP/loaded" 2>"$TMP/err"
like "$(cat "$TMP/loaded")" '^[3-6][0-9][0-9] [0-9]+$' "600 requests to backends that fail" || diag "$(cat "$TMP/err")"
sums
ok "most of them are answered" [ "$(wc -l <"$TMP/said.sums")" -ge 300 ] || diag "$(wc -l <"$TMP/said.sums")"
is "$(comm -3 "$TMP/said.sums" "$TMP/spool.sums" | wc -l)" 0 "the file says of each answer what its backend said" ||
	diag "$(comm -3 "$TMP/said.sums" "$TMP/spool.sums" | head)"
total() { awk '{ n += $2 } END { print n }' "$1"; }
is "$(total "$TMP/said.sums")" "$(total "$TMP/spool.sums")" "so the sums are equal: $(total "$TMP/spool.sums") tokens"

# Killed again and again: an answer whose end the client saw is in the file, and the file has nothing that no backend said.
: >"$TMP/loaded"
timeout 200 node "$SRC/tests/daemon/gatewaysdk.mjs" load 400  >"$TMP/loaded" 2>"$TMP/err" &
load=$!
kills=0
ended() { wc -l <"$OUT"; }
over() { [ -s "$TMP/loaded" ] || ! kill -0 "$load" 2>/dev/null; }
while ! over && [ $kills -lt 6 ]; do
	had=$(ended)
	more() { [ "$(ended)" -ge $((had + 20)) ] || over; }
	wait_for 60 more
	gateway_end -9
	gateway_start
	kills=$((kills + 1))
done
wait "$load"
like "$kills $(cat "$TMP/loaded")" '^[1-9] [0-9]+ [0-9]+$' "400 more, through kill -9 of the gateway ($kills times)"
sums
is "$(comm -13 "$TMP/said.sums" "$TMP/spool.sums" | wc -l)" 0 "the file has nothing that no backend said"
jq -r '.id' "$spool" | sort >"$TMP/ids"
is "$(uniq -d "$TMP/ids" | wc -l)" 0 "nothing twice"
jq -r '.id' "$OUT" | sort >"$TMP/ended.ids"
ok "clients saw the ends of answers" [ "$(wc -l <"$TMP/ended.ids")" -ge 300 ] || diag "$(wc -l <"$TMP/ended.ids")"
is "$(comm -23 "$TMP/ended.ids" "$TMP/ids" | wc -l)" 0 "and every answer whose end a client saw ($(ended))"
jq -r 'select(.usage) | "\(.id) \(.usage.total_tokens)"' "$OUT" | sort >"$TMP/client.sums"
is "$(comm -23 "$TMP/client.sums" "$TMP/spool.sums" | wc -l)" 0 "with the usage that the client was told"
done_testing

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenAI's API by `nanopod-marketd gateway serve`: who gets through, what a backend that fails does to a client, and that
# each answer's tokens are counted once. Backends are tests/daemon/llm.mjs.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/gateway.sh"
. "$(dirname "$0")/../lib/ports.sh"
need node jq openssl prlimit

market_start() { marketd_start --listen "127.0.0.1:$PORTS" --rate 0 "$@"; }
market_start || done_testing
market=http://127.0.0.1:$PORTS
marketd_account acme 10.00
marketd_account poor
marketd_account small 10.00
marketd_account other 10.00
marketd_account next 10.00
key=$(marketd_token acme) poor=$(marketd_token poor) small=$(marketd_token small) other=$(marketd_token other) next=$(marketd_token next)
account=$(as "$key" GET /np/v1/whoami | json .account_id)
token=$(as "$key" GET /np/v1/whoami | json .token.id)

backend a KEY=secret
a=$backend_port
backend b KEY=secret
b=$backend_port
backend busy FAULT=429
busy=$backend_port
backend bad FAULT=500
bad=$backend_port
printf 'secret\n' >"$TMP/key"
spool=$TMP/spool/usage.jsonl
cat >"$TMP/gateway.yaml" <<-END
	market: $market
	listen: 127.0.0.1:0
	spool: $spool
	timeout: 8
	models:
	  - name: llama
	    aliases: [gpt-4o, org/small]
	    key-file: $TMP/key
	    backends: [{address: "127.0.0.1:$a", model: meta/llama}, {address: "127.0.0.1:$b", priority: 1}]
	  - {name: first-busy, backends: ["127.0.0.1:$busy", {address: "127.0.0.1:$a", priority: 1, key-file: $TMP/key}]}
	  - {name: first-bad, backends: ["127.0.0.1:$bad", {address: "127.0.0.1:$a", priority: 1, key-file: $TMP/key}]}
	  - {name: first-gone, backends: ["127.0.0.1:1", {address: "127.0.0.1:$a", priority: 1, key-file: $TMP/key}]}
	  - {name: only-busy, backends: ["127.0.0.1:$busy"]}
	  - {name: only-bad, backends: ["127.0.0.1:$bad"]}
	  - {name: only-gone, backends: ["127.0.0.1:1"]}
	  - {name: no-key, backends: ["127.0.0.1:$a"]}
	budgets: [{account: small, day: 20}, {account: next, day: 100}]
END
gateway_start

# event FILTER: of the last one in the spool.
event() { tail -n 1 "$spool" | jq -r "$1"; }
events() { wc -l <"$spool"; }
code() { json '"\(.error.type) \(.error.code)"'; }

# ---- An answer ---------------------------------------------------------------------------------------------
is "$(chat "$key" llama 'n=4 hi' | json '.choices[0].message.content')" "t0 t1 t2 t3 " "an answer"
is "$(http_status)" 200 "with its status"
id=$(http_header X-Request-Id)
is "$(event '"\(.id) \(.type) \(.subject) \(.data.account_name) \(.data.token) \(.data.model) \(.data.prompt_tokens) \(.data.completion_tokens) \(.data.total_tokens) \(.data.counted) \(.data.outcome)"')" \
	"$id batch_tokens $account acme $token llama 2 4 6 backend done" "its event says whose it is and what it used"
is "$(jq -r 'select(.asked) | "\(.asked) \(.account) \(.authorization)"' "$TMP/backend-a.log" | tail -n 1)" \
	"meta/llama $account Bearer secret" "the backend hears its own name of the model and its own key, not the client's"
is "$(chat "$key" gpt-4o 'n=1' | json '.choices[0].message.content')" "t0 " "an alias"
is "$(ask "$key" /v1/completions '{"model":"org/small","prompt":"n=2 x"}' | json '.choices[0].text')" "t0 t1 " "completions"
is "$(ask "$key" /v1/embeddings '{"model":"llama","input":"a b c"}' | json '.data[0].embedding[1]')" "0.25" "embeddings"
is "$(event '"\(.data.endpoint) \(.data.total_tokens)"')" "embeddings 3" "are counted"
is "$(http_call "$GATEWAY_URL" GET /v1/models '' -H "Authorization: Bearer $key" | json '[.data[].id][0:3] | join(" ")')" \
	"llama gpt-4o org/small" "the list of models"

chat "$key" llama 'n=3' '"stream":true' >"$TMP/stream"
is "$(http_header Content-Type)" "text/event-stream; charset=utf-8" "a stream"
is "$(sed -n 's/^data: //p' "$TMP/stream" | tail -n 1)" "[DONE]" "that ends"
is "$(sed -n 's/^data: {/{/p' "$TMP/stream" | jq -r '.choices[0].delta.content // "-"' | tr -d '\n')" "t0 t1 t2 -" \
	"has the pieces and not the usage that only the gateway asked for"
is "$(event '"\(.data.total_tokens) \(.data.counted)"')" "4 backend" "and is counted by what the backend said"
chat "$key" llama 'n=3' '"stream":true,"stream_options":{"include_usage":true}' >"$TMP/stream"
is "$(sed -n 's/^data: {/{/p' "$TMP/stream" | tail -n 1 | jq -r .usage.total_tokens)" 4 "who asks for the usage gets it"

# ---- Who ------------------------------------------------------------------------------------------------------
is "$(ask '' /v1/chat/completions '{}' | code) $(http_status)" "authentication_error invalid_api_key 401" "no key"
is "$(chat npk_none llama x | code) $(http_status)" "authentication_error invalid_api_key 401" "an unknown one"
is "$(chat "$poor" llama x | code) $(http_status)" "insufficient_quota insufficient_quota 402" "no money"
is "$(chat "$key" nothing x | code) $(http_status)" "invalid_request_error model_not_found 404" "an unknown model"
is "$(ask "$key" /v1/chat/completions '{"messages":[]}' | code) $(http_status)" "invalid_request_error missing_required_parameter 400" "none"
is "$(ask "$key" /v1/chat/completions '{"model":"llama","model":"no-key"}' | code) $(http_status)" "invalid_request_error invalid_json 400" "two"
is "$(ask "$key" /v1/chat/completions 'x' | code)" "invalid_request_error invalid_json" "no JSON"
is "$(ask "$key" /v1/other '{}' | code) $(http_status)" "invalid_request_error unknown_url 404" "an unknown path"
is "$(http_call "$GATEWAY_URL" GET /v1/embeddings | code) $(http_status)" "invalid_request_error method_not_allowed 405" "a wrong method"
unlike "$(cat "$TMP"/backend-*.log)" npk_ "no backend ever saw a client's key"
before=$(events)
chat "$key" llama 400 >"$TMP/answer"
is "$(http_status) $(json .error.message <"$TMP/answer") $(($(events) - before))" "400 backend a says 400 0" "a backend's refusal is passed on and not counted"

# ---- Backends that fail before the first byte --------------------------------------------------------------------
for model in first-busy first-bad first-gone; do
	before=$(events)
	is "$(chat "$key" $model n=2 | json '.choices[0].message.content') $(($(events) - before))" "t0 t1  1" "$model: another one answers, once"
	chat "$key" $model n=2 '"stream":true' >"$TMP/stream"
	is "$(tail -n 2 "$TMP/stream" | head -n 1)" "data: [DONE]" "and streams"
done
is "$(chat "$key" only-busy x | code) $(http_status) $(http_header Retry-After)" "rate_limit_error rate_limit_exceeded 429 7" "all busy"
is "$(chat "$key" only-bad x | code) $(http_status)" "server_error backend_failed 502" "all broken"
is "$(chat "$key" only-gone x | code) $(http_status)" "server_error backend_failed 502" "all gone"
is "$(chat "$key" no-key x | code) $(http_status)" "server_error backend_failed 502" "a backend that does not know the gateway is not the client's fault"
is "$(chat "$key" llama 'hang n=1' | code) $(http_status)" "server_error timeout 504" "a backend that says nothing"
before=$(events)
is "$(chat "$key" llama 'junk n=1' | code) $(http_status) $(($(events) - before))" "server_error backend_failed 502 0" "no JSON: not counted"
is "$(chat "$key" llama 'die=0 n=9' | code) $(http_status)" "server_error backend_failed 502" "half an answer is none"
is "$(chat "$key" llama 'lonely n=2' | code) $(http_status)" "server_error backend_failed 502" "a stream that nobody asked for"
is "$(chat "$key" llama 'error' '"stream":true' | code) $(http_status)" "server_error backend_failed 502" "an error as first event"
is "$(chat "$key" llama 'huge' '"stream":true' | code) $(http_status)" "server_error backend_failed 502" "an event without end"

# ---- and within a stream -------------------------------------------------------------------------------------
# broken WORDS TOKENS CODE TEXT
broken() {
	chat "$key" llama "$1" '"stream":true' >"$TMP/stream"
	is "$(sed -n 's/^data: {"error/{"error/p' "$TMP/stream" | jq -r .error.code) $(grep -c DONE "$TMP/stream") $(event '"\(.data.completion_tokens) \(.data.counted)"')" \
		"$3 0 $2 ${5:-estimated}" "$4"
}
broken 'die=3 n=9' 3 backend_failed "a backend that dies: the client hears so, and what came is counted"
broken 'junk n=4' 3 backend_failed "one that sends no JSON"
broken 'nodone n=4' 4 backend_failed "one that ends without [DONE], after it said what it used" backend
broken 'hang n=4' 3 timeout "one that falls silent"
chat "$key" llama 'nousage n=4 x' '"stream":true' >"$TMP/stream"
is "$(event '"\(.data.completion_tokens) \(.data.prompt_tokens > 0) \(.data.counted) \(.data.outcome)"')" "4 true estimated done" "one that says no usage"
chat "$key" llama 'negative n=4 x' '"stream":true' >"$TMP/stream"
is "$(event '"\(.data.completion_tokens) \(.data.counted)"')" "4 estimated" "or one that cannot be true"
before=$(events)
curl -sN -H "Authorization: Bearer $key" -d '{"model":"llama","stream":true,"messages":[{"content":"endless wait=50"}]}' \
	"$GATEWAY_URL/v1/chat/completions" >"$TMP/stream" &
client=$!
wait_for 20 grep -q 't9 ' "$TMP/stream"
kill "$client"
wait "$client" 2>/dev/null
left() { grep -q '"left":true' "$TMP"/backend-[ab].log; }
ok "a client that goes away ends its backend's work" wait_for 10 left
one_more() { [ "$(events)" -gt "$before" ]; }
ok "which is counted" wait_for 10 one_more
is "$(event '"\(.data.outcome) \(.data.completion_tokens > 5)"')" "client_left true" "as far as it came"

# Where it goes before the backend answered, nothing is counted. On a slow machine the backend may be given up first.
asked() { cat "$TMP"/backend-[ab].log | grep -c '"asked"'; }
leaves() {
	had_asked=$(asked) before=$(events)
	curl -sN -H "Authorization: Bearer $key" -d '{"model":"llama","messages":[{"content":"hang long words"}]}' "$GATEWAY_URL/v1/chat/completions" >"$TMP/answer" &
	client=$!
	arrived() { [ "$(asked)" -gt "$had_asked" ]; }
	wait_for 10 arrived
	kill "$client"
	wait "$client" 2>/dev/null
	wait_for 5 one_more
}
leaves || leaves || leaves
is "$(event '"\(.data.outcome) \(.data.total_tokens) \(.data.counted)"')" "client_left 0 estimated" "a client that goes before any answer pays nothing"

# A client that takes nothing of an answer that never ends: the gateway holds little of it, and gives up.
exec 7<>"/dev/tcp/127.0.0.1/${GATEWAY_URL##*:}"
body='{"model":"llama","stream":true,"messages":[{"content":"endless"}]}'
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$GATEWAY_PID/status"; }
had=$(rss) before=$(events)
printf 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %s\r\n\r\n%s' "$key" ${#body} "$body" >&7
ok "a client that takes nothing is given up" wait_for 20 one_more
is "$(event .data.outcome) $(($(rss) - had < 32768))" "client_left 1" "and its answer held little memory"
exec 7>&-

# One that is slower than its backend gets a long answer whole.
curl -sN --limit-rate 12M -H "Authorization: Bearer $key" -d '{"model":"llama","stream":true,"messages":[{"content":"n=2000 pad=20000"}]}' \
	"$GATEWAY_URL/v1/chat/completions" >"$TMP/stream"
is "$(tail -n 2 "$TMP/stream" | head -n 1) $(grep -c '"t1999 ' "$TMP/stream")" "data: [DONE] 1" "a client that is slower than the backend gets all of 40 MB"

# ---- Budgets ---------------------------------------------------------------------------------------------------
gateway_day 180
chat "$small" llama 'n=30' >"$TMP/answer"
is "$(http_status)" 200 "within the budget"
is "$(chat "$small" llama 'n=1' | code) $(http_status) $(http_header X-Should-Retry)" "insufficient_quota insufficient_quota 429 false" "and over it"
like "$(http_header Retry-After)" '^[0-9]+$' "until tomorrow"
is "$(chat "$key" llama 'n=1' | json '.choices[0].message.content')" "t0 " "others go on"
holds() { curl -sN -H "Authorization: Bearer $next" -d "{\"model\":\"llama\",\"messages\":[{\"content\":\"hold $(printf '%0500d' 0)\"}]}" "$GATEWAY_URL/v1/chat/completions"; }
holds >"$TMP/held" &
held=$!
is_held() { grep -q '"held"' "$TMP"/backend-[ab].log; }
wait_for 20 is_held
is "$(chat "$next" llama 'n=1' | code) $(http_status) $(http_header Retry-After)" "rate_limit_error rate_limit_exceeded 429 1" \
	"what is under way counts as used"
kill -USR2 "$backend_pid_a" "$backend_pid_b"
wait "$held"
is "$(chat "$next" llama 'n=1' | json '.choices[0].message.content')" "t0 " "until it says that it used less"
cp "$TMP/gateway.yaml" "$TMP/whole.yaml"
sed -i 's/- name: llama$/- name: renamed/' "$TMP/gateway.yaml"
chat "$key" llama 'n=60 wait=50' '"stream":true' >"$TMP/long" &
long=$!
begun() { [ "$(grep -c t1 "$TMP/.body")" -gt 0 ]; }
wait_for 10 begun
kill -HUP "$GATEWAY_PID"
again() { grep -q "read '$TMP/gateway.yaml' again" "$GATEWAY_LOG"; }
ok "SIGHUP: it reads its file again" wait_for 10 again
wait "$long"
is "$(tail -n 2 "$TMP/long" | head -n 1) $(grep -c 't59 ' "$TMP/long")" "data: [DONE] 1" "a stream under way ends as it began"
is "$(chat "$key" llama n=1 | code)" "invalid_request_error model_not_found" "what is no longer there is not found"
is "$(chat "$key" renamed n=1 | json '.choices[0].message.content')" "t0 " "and what is new is"
printf 'x' >"$TMP/gateway.yaml"
kill -HUP "$GATEWAY_PID"
kept() { grep -q "keeping the old file" "$GATEWAY_LOG"; }
ok "a file that is wrong" wait_for 10 kept
is "$(chat "$key" renamed n=1 | json '.choices[0].message.content')" "t0 " "changes nothing"
mv "$TMP/whole.yaml" "$TMP/gateway.yaml"
gateway_end
is "$gateway_status" 0 "it stops when told"
printf '{"half' >>"$spool"
lines=$(events)
gateway_start
is "$(events) $(tail -c 8 "$spool" | grep -c half)" "$lines 0" "half a line that a crash left is gone"
chat "$small" llama 'n=1' >"$TMP/answer"
is "$(http_status)" 429 "a budget outlives a restart"
run "$MARKETD" gateway serve "$TMP/gateway.yaml"
like "$status $err" "^1 .*another gateway writes '$spool'" "two do not write one file"

# ---- Its file turns, and a meter reads it ---------------------------------------------------------------------------
meter() { "$NANOPOD" admin meter --from-file "$spool" --to "file:$TMP/metered" --state "$TMP/book" </dev/null; }
metered() { cat "$spool".[0-9]* "$spool" | cmp - "$TMP/metered" >"$TMP/cmp" 2>&1 || { cat "$TMP/cmp"; return 1; }; }
run_is 0 "a meter" meter
is "$(cat "$spool" | cmp - "$TMP/metered" 2>&1)" "" "reads what the gateway wrote"
is "$(jq -c 'del(.data)' "$TMP/metered" | wc -l)" "$(events)" "an event a line"
gateway_end -9
jq -c --arg id "$account" 'select(.data.account == $id)' "$spool" | head -n 1 >"$TMP/one"
awk '{ for (i = 0; i < 3000; i++) { t = $0; sub(/"id":"/, "&pad" i "-", t); print t } }' "$TMP/one" >>"$spool"
sed -i "s|^spool: .*|&\nspool-size: 1|" "$TMP/gateway.yaml"
gateway_start
turned() { [ -e "$spool.1" ] && [ "$(events)" -eq 0 ]; }
ok "a file that is full" wait_for 20 turned
chat "$key" llama 'n=1' >"$TMP/answer"
is "$(events) $(cat "$spool.1" | wc -l | awk '{ print ($1 > 3000) }')" "1 1" "is followed by a new one"
gateway_end -9
mv "$spool.1" "$TMP/away"
gateway_start
chat "$small" llama 'n=1' >"$TMP/answer"
is "$(http_status)" 429 "a budget does not need what is full any more"
mv "$TMP/away" "$spool.1"
run_is 0 "the meter" meter
ok "goes on in both" metered
chat "$key" llama 'n=1' >"$TMP/answer"
run_is 0 "and" meter
ok "in the new one" metered

# ---- Without the market -----------------------------------------------------------------------------------------
chat "$key" llama 'n=1' >"$TMP/answer"
marketd_kill
is "$(chat "$key" llama 'n=1' | json '.choices[0].message.content')" "t0 " "who was let through goes on without the market"
is "$(chat "$other" llama 'n=1' | code) $(http_status)" "server_error market_unavailable 503" "nobody new comes in"
market_start
back() { chat "$other" llama 'n=1' >"$TMP/answer"; [ "$(http_status)" = 200 ]; }
ok "until it is back" wait_for 20 back
operator PATCH /np/v1/accounts/other '{"state":"suspended"}' >/dev/null
shut() { chat "$other" llama 'n=1' >"$TMP/answer"; [ "$(http_status)" = 403 ]; }
ok "what the market decides holds within seconds" wait_for 20 shut

exec 6<>"/dev/tcp/127.0.0.1/${GATEWAY_URL##*:}"

# ---- Requests that are no good ----------------------------------------------------------------------------------
raw() { # raw TEXT [LINES]: the first lines (1) that a client gets for these bytes
	exec 8<>"/dev/tcp/127.0.0.1/${GATEWAY_URL##*:}"
	printf "$1" >"$TMP/raw"
	cat "$TMP/raw" >&8
	timeout 60 head -n ${2:-1} <&8 | tr -d '\r'
	exec 8>&-
}
auth="Authorization: Bearer $key\r\n"
like "$(raw "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n${auth}Content-Length: 999999999\r\n\r\n")" ' 413 ' "a body that is too large"
like "$(raw "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n${auth}Transfer-Encoding: chunked\r\n\r\nzz\r\n")" '^(HTTP/1.1 400 .*|)$' "a chunk that is none"
like "$(raw "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer $(printf '%09000d' 0)\r\nContent-Length: 2\r\n\r\n{}")" ' 401 ' "a key that is too long"
post="POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n$auth"
for framing in 'Content-Length: 2\r\nTransfer-Encoding: chunked' 'Content-Length: 2\r\nContent-Length: 2' 'Transfer-Encoding: gzip, chunked' \
	'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked' 'X-A: b\r\n c\r\nContent-Length: 2' 'X-A: b\nContent-Length: 2'; do
	raw "$post$framing\r\n\r\n{}0\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: x\r\n$auth\r\n" 99 >"$TMP/answer"
	is "$(grep -c HTTP/ "$TMP/answer") $(tail -n 1 "$TMP/answer" | code)" "1 invalid_request_error malformed_request" \
		"a head that a proxy may read in another way ($framing): nothing after it is read"
done
like "$(raw "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer $key\001\r\nContent-Length: 2\r\n\r\n{}")" ' 401 ' "a key with a control character"
like "$(raw "GET /v1/%%6dodels HTTP/1.1\r\nHost: x\r\n${auth}\r\n")" ' 404 ' "an escaped path is no other way to write one"
# ---- One account is not all of them -----------------------------------------------------------------------------
had=$(rss)
{ printf '{"model":"llama","messages":[{}'; head -c 6291456 /dev/zero | sed 's/\x00\x00\x00/,{}/g'; printf ']}'; } >"$TMP/many.json"
curl -s -H "Authorization: Bearer $key" -H 'Expect:' --data-binary "@$TMP/many.json" "$GATEWAY_URL/v1/chat/completions" >"$TMP/answer"
is "$(code <"$TMP/answer")" "invalid_request_error too_many_values" "a request of two million values"
ok "is not parsed" [ $(($(rss) - had)) -lt 131072 ] || diag "$(rss) $had"
mkfifo "$TMP/stay"
node "$SRC/tests/daemon/gatewaycrowd.mjs" "${GATEWAY_URL##*:}" 512 "$key" <"$TMP/stay" >"$TMP/crowd" 2>&1 &
crowd=$!
exec 9>"$TMP/stay"
wait_for 60 grep -q 'kept 512' "$TMP/crowd" || diag "$(cat "$TMP/crowd")"
is "$(chat "$key" llama 'n=1' | code) $(http_status) $(http_header Retry-After)" "rate_limit_error rate_limit_exceeded 429 1" \
	"one account's 513th request at once"
is "$(chat "$next" llama 'n=1' | json '.choices[0].message.content')" "t0 " "another account's goes through"
exec 9>&-
wait "$crowd"
free_again() { chat "$key" llama 'n=1' >"$TMP/answer"; [ "$(http_status)" = 200 ]; }
ok "and the first one's, when those are gone" wait_for 20 free_again

is "$(chat "$key" llama 'n=1' | json '.choices[0].message.content')" "t0 " "after all of that it serves"
ok "a connection that says nothing is closed" timeout 60 cat <&6
exec 6>&-
is "$(cat "$spool.1" "$spool" | jq -r .id | sort | uniq -d | wc -l)" 0 "no event was written twice"
gateway_end

# A disk that is full: nothing is begun that could not be counted, and whatever needs no counting goes on.
gateway_start
prlimit --pid "$GATEWAY_PID" --fsize="$(stat -c %s "$spool")":unlimited
curl -s --max-time 60 -H "Authorization: Bearer $key" -d '{"model":"llama","messages":[{"content":"n=1"}]}' "$GATEWAY_URL/v1/chat/completions" >"$TMP/waits" &
waits=$!
sick() { grep -q 'answers wait: ' "$GATEWAY_LOG"; }
ok "a file that cannot grow" wait_for 20 sick
is "$(http_call "$GATEWAY_URL" POST /v1/chat/completions '{"model":"llama","messages":[]}' -H "Authorization: Bearer $key" | code) $(http_status)" \
	"server_error unavailable 503" "no request is taken"
is "$(http_call "$GATEWAY_URL" GET /v1/models '' -H "Authorization: Bearer $key" | json '.data[0].id')" llama "the list of models still is"
is "$(grep -c choices "$TMP/waits")" 0 "and an answer that is not written down does not leave"
prlimit --pid "$GATEWAY_PID" --fsize=unlimited:unlimited
wait "$waits"
ok "until the file can grow again" wait_for 20 free_again
gateway_end

# Where others reach it, one address has a part of all connections.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout "$TMP/tls.key" -out "$TMP/tls.pem" 2>/dev/null
sed -i "s#^listen:.*#listen: 0.0.0.0:0\ntls-cert: $TMP/tls.pem\ntls-key: $TMP/tls.key#" "$TMP/gateway.yaml"
gateway_start
node "$SRC/tests/daemon/gatewaycrowd.mjs" "${GATEWAY_URL##*:}" 1100 <"$TMP/stay" >"$TMP/crowd" 2>&1 &
crowd=$!
exec 9>"$TMP/stay"
ok "of 1100 connections of one address 1040 stay" wait_for 60 grep -q 'kept 1040 closed 60' "$TMP/crowd" || diag "$(cat "$TMP/crowd")"
is "$(curl -sk --interface 127.0.0.2 -H "Authorization: Bearer $key" "https://127.0.0.1:${GATEWAY_URL##*:}/v1/models" | json '.data[0].id')" llama \
	"another address is served"
exec 9>&-
wait "$crowd"
gateway_end
done_testing

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Backends by reservation: a gateway serves from the nodes that a reservation has, as they come and go; while the market
# is away, from those that it had. Two machines, each with an address of its own, have nodes of the driver 'process'.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/gateway.sh"
. "$(dirname "$0")/../lib/ports.sh"
need node jq

port=$((PORTS + 30))
agentd_market
for n in 2 3; do
	agentd_join m$n 1 || done_testing
	agentd_start m$n --driver process --address 127.0.0.$n --first-port $((PORTS + 10 * (n - 2))) || done_testing
	backend b$n HOST=127.0.0.$n PORT=$port
done
agentd_buy serve 1 86400
ok "a node runs" wait_for 60 node_is serve-1 running || { diag "$(cat "$TMP"/m[23].log)"; done_testing; }
first=$(node serve-1 .ssh.hostname)
other=127.0.0.$((5 - ${first##*.}))

as "$ACME" POST /np/v1/tokens '{"scopes":["read"]}' | json .token >"$TMP/token"
cat >"$TMP/gateway.yaml" <<-END
	market: $NANOPOD_URL
	listen: 127.0.0.1:0
	spool: $TMP/usage.jsonl
	token-file: $TMP/token
	models: [{name: llama, backends: [{reservation: serve, port: $port, model: meta/llama}]}]
END
sed '/^token-file/d' "$TMP/gateway.yaml" >"$TMP/none.yaml"
run "$MARKETD" gateway serve "$TMP/none.yaml"
like "$status $err" "^1 .*need 'token-file'.*nanopod token create gateway --scope read" "a reservation needs a token"
sed 's/port: [0-9]*,/address: "127.0.0.1:1", &/' "$TMP/gateway.yaml" >"$TMP/none.yaml"
run "$MARKETD" gateway serve "$TMP/none.yaml"
like "$status $err" "^1 .*'address' or 'reservation', not both" "which has no address"
gateway_start

serves() { chat "$ACME" llama 'n=1' >"$TMP/answer"; [ "$(http_status)" = 200 ]; }
asked() { cat "$TMP/backend-b${1##*.}.log" 2>/dev/null | grep -c '"asked"'; }
came() { grep -q "backend 'http://$1:$port' is in reservation 'serve'" "$GATEWAY_LOG"; }
left() { grep -q "backend 'http://$1:$port' has left reservation 'serve'" "$GATEWAY_LOG"; }
ok "the gateway finds the reservation's node" wait_for 30 serves || diag "$(cat "$GATEWAY_LOG" "$TMP/answer")"
is "$(asked "$first") $(asked "$other")" "1 0" "and asks it, not a machine without one" || diag "$(cat "$GATEWAY_LOG")"
is "$(jq -r 'select(.asked) | .asked' "$TMP/backend-b${first##*.}.log")" meta/llama "by its own name of the model"

# ---- One comes ---------------------------------------------------------------------------------------------
agentd_buy serve 1 86400 # the node that it asks for has its name already
as "$ACME" POST /v2/instances "{\"name\":\"second\",\"pool\":\"serve\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\",\"cloud_init_user_data\":\"$(user_data "$TMP/buyer.pub")\"}" >"$TMP/.instance"
both() { came "$first" && came "$other"; }
ok "a node that comes serves, too" wait_for 60 both || diag "$(cat "$GATEWAY_LOG")"
for n in 1 2 3 4; do serves; done
ok "and has its part" [ "$(asked "$other")" -ge 1 ]

# ---- The file is read again, and one goes --------------------------------------------------------------------
kill -HUP "$GATEWAY_PID"
again() { grep -q "read '$TMP/gateway.yaml' again" "$GATEWAY_LOG"; }
wait_for 10 again
is "$(chat "$ACME" llama 'n=1' | json '.choices[0].message.content')" "t0 " "after SIGHUP it still knows them"
had=$(($(asked "$first") + $(asked "$other")))
mkdir "$TMP/aside" # for this one's answer, as others come meanwhile
(TMP=$TMP/aside && chat "$ACME" llama 'n=300 wait=50' '"stream":true') >"$TMP/long" &
long=$!
begun() { [ $(($(asked "$first") + $(asked "$other"))) -gt "$had" ]; }
ok "(a stream is under way)" wait_for 60 begun
as "$ACME" POST /v2/instances/serve-1/terminate >"$TMP/deleted"
ok "a node that goes" wait_for 60 left "$first" || diag "$(cat "$GATEWAY_LOG" "$TMP/deleted")"
had=$(asked "$first")
for n in 1 2 3 4; do serves; done
is "$(asked "$first") $(http_status)" "$had 200" "is asked no more, and others serve"
wait "$long"
is "$(grep -c DONE "$TMP/long")" 1 "a stream under way ends as it began"

# ---- Without the market -----------------------------------------------------------------------------------------
marketd_kill
away() { grep -q "the backends of 'serve' stay as they are" "$GATEWAY_LOG"; }
ok "a market that does not answer" wait_for 30 away
is "$(chat "$ACME" llama 'n=1' | json '.choices[0].message.content')" "t0 " "takes no backend away"
gateway_end
done_testing

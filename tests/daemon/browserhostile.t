#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The market's page in Chromium with names and messages that want to be more than text, in each view; and each view when
# nothing is there, while it loads, when the market refuses, and when the connection is lost.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/npagent.sh"
. "$(dirname "$0")/../lib/browser.sh"

v2_start --rate 0 --agent-silent 86400
# Markup, a colour of terminals, text that turns what follows it, letters that nobody sees, and a word that never ends. The
# market takes such text where people write sentences; the script puts it into all names as well.
EVIL=$(printf '</script><img src=x onerror=pwned=1><b class=evil>\033[31m\342\200\256gnp.exe\342\200\213\330\234\302\255\363\240\201\201{{7*7}}%s' "$(printf '%090d' 0)")
evil() { jq -cn --arg e "${2-}$EVIL" "$1"; }
key one
AGENT_ID=$(join "$(join_token)" rack one m1 | json .id)
AGENT=$(session "$AGENT_ID" one 1 m1 | json .token)
as "$AGENT" PUT /np/v1/agent/inventory "$(capacity 416 4398046511104 61572651155456 '16 h100')" >/dev/null
for n in 1 2; do v2_offer "$(as "$AGENT" POST /np/v1/agent/hosts "{\"name\":\"h$n\",\"instance_sku\":\"richmond\"}" | json .id)" 16.80 >/dev/null; done
BARE=$(v2_host bare "$SKU")
as "$FOUNDRY" POST "/np/v1/hosts/$BARE/drain" "$(evil '{reason: $e}')" >/dev/null
is "$(http_status)" 200 "(a host is drained, with a reason)" || diag "$(cat "$TMP/.body")"
as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 60)) $((NOW + 12 * HOUR)) 20.0)" >/dev/null
as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 60)) $((NOW + 12 * HOUR)) 1.0 ',"allow_standing":true')" >/dev/null
NODE=$(as "$ACME" POST /v2/instances "{\"name\":\"train-1\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" | json .id)
is "$(http_status)" 201 "(a node)" || diag "$(cat "$TMP/.body")"
v2_clock $((NOW + 60))
as "$AGENT" POST "/np/v1/instances/$NODE/report" '{"status":"running","hostname":"10.0.0.7","port":22,"user":"root","driver":"ns","host_keys":[{"type":"ssh-ed25519","key":"AAAAC3Nz"}],"gpus":[{"model":"h100","count":8,"memory_bytes":85899345920}]}' >/dev/null
as "$ACME" POST /np/v1/tokens "$(evil '{name: $e, scopes: ["read"]}')" >/dev/null
for severity in info warning critical; do
	operator POST /np/v1/announcements "$(evil "{severity: \"$severity\", text: \$e}" "$severity ")" >/dev/null
	is "$(http_status)" 201 "(the operator says $severity)" || diag "$(cat "$TMP/.body")"
done
marketd_account empty
EMPTY=$(marketd_token empty read trade nodes tokens host)
export BUYER=$ACME SELLER=$FOUNDRY EMPTY EVIL OPERATOR
OPERATOR=$(marketd_token stranger read admin)
browser_start browserhostile.mjs
browser_end
done_testing

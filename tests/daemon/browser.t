#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The market's page in Chromium, from end to end: a customer buys, watches, opens a console, extends, sells and releases a
# real node; its provider drains, reprices and sees earnings; the operator finds why an order failed; the market is killed
# under open pages, and none of them misses or repeats anything.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/browser.sh"
[ -x "$BUILD/nanopod-node" ] || skip_all "nanopod-node is not built"
PATH=$PATH:/usr/sbin:/sbin
command -v sshd >/dev/null || skip_all "sshd is not installed (Debian: openssh-server)"

agentd_market --agent-silent 600 --listen 127.0.0.1:$((PORTS + 39))
agentd_join m1 2
agentd_start m1 --driver process --listen 127.0.0.1 --first-port $PORTS || done_testing
marketd_account poor 5.00
marketd_account house
POOR=$(marketd_token poor)
as "$POOR" POST /v2/pools '{"name":"early","workspace":"default"}' >/dev/null
as "$POOR" POST /v2/orders "{\"side\":\"buy\",\"pool\":\"early\",\"instance_sku\":\"$SKU\",\"limit_price_dollars_per_node_hour\":\"0.500000\",
	\"allocation_schedule_delta\":[{\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 3660)),\"node_count\":1}]}" >/dev/null
is "$(json '.status + " " + .np_reason' <"$TMP/.body")" "cancelled price_too_low" "(an order fails)" || diag "$(cat "$TMP/.body")"

# The script asks by a file for the market's death, and goes on when it is back.
export KILL=$TMP/kill CLOCK=$TMP/clock
export CUSTOMER=$ACME PROVIDER=$FOUNDRY KEY=$TMP/buyer.pub OPERATOR
OPERATOR=$(marketd_token house read admin)
browser_start browser.mjs
while kill -0 "$BROWSER_PID" 2>/dev/null; do
	if [ -e "$KILL" ]; then
		marketd_kill
		marketd_start --test-clock --rate 0 --agent-silent 600 --listen "127.0.0.1:${NANOPOD_URL##*:}" || break
		rm "$KILL"
	fi
	sleep 0.1
done
browser_end
done_testing

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills the agent at a hundred random moments of making and wiping nodes; the next one continues from whatever is there,
# and in the end exactly the wanted nodes run: none too many, none missing, none twice.
. "$(dirname "$0")/../lib/tap.sh"
TEST_AGENTD=$BUILD/tests/lib/agentfake
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"

KILLS=${TEST_KILLS:-100}
RANDOM=${TEST_SEED:-$$}
SEED=$RANDOM
RANDOM=$SEED
agentd_market
agentd_join m1 4
as "$ACME" POST /v2/pools '{"name":"pool","workspace":"default"}' >/dev/null
as "$ACME" POST /v2/orders "{\"pool\":\"pool\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 720060)),\"node_count\":4}],\"limit_price_dollars_per_node_hour\":\"2.000000\"}" >"$TMP/.order"
agentd_clock $((NOW + 60))

made=0
more() {
	made=$((made + 1))
	as "$ACME" POST /v2/instances "{\"name\":\"n$made\",\"pool\":\"pool\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" >"$TMP/.instance"
}
living() { as "$ACME" GET '/np/v1/nodes?state=live' | jq -r '.data[].id' | sort; }
less() { id=$(living | shuf -n 1 --random-source=<(yes $RANDOM)); [ -z "$id" ] ||
	as "$ACME" POST "/v2/instances/$id/terminate" >/dev/null; }
running() { pgrep -f "listener .*$TMP/m1/fake/" -a | sed -n 's,.*/fake/\(inst_[^ ]*\).*,\1,p' | sort; }
same() { [ "$(living)" = "$(running)" ] && [ "$(living)" = "$(cd "$TMP/m1/nodes" && ls | sort)" ] &&
	[ "$(living)" = "$(cd "$TMP/m1/fake" 2>/dev/null && ls | sort)" ]; }

round=0 bad=''
while [ $round -lt "$KILLS" ]; do
	round=$((round + 1))
	"$AGENTD" --data "$TMP/m1" --test-clock "$TMP/clock" \
		--look 1 --driver fake --grace 0 --first-port $PORTS --unknown-grace 0 \
		2>>"$TMP/m1.log" </dev/null &
	echo $! >"$TMP/m1.pid"
	[ $((RANDOM % 2)) = 0 ] && less
	[ "$(living | grep -c .)" -lt 4 ] && more
	sleep 0.$((RANDOM % 5))$((RANDOM % 10))
	agentd_kill m1
	if [ $((round % 20)) = 0 ]; then
		agentd_start m1 --driver fake --grace 0 --first-port $PORTS --unknown-grace 0
		if ! wait_for 40 same; then
			bad="$bad $round"
			diag "wanted: $(living | tr '\n' ' ')" "running: $(running | tr '\n' ' ')" \
				"journals: $(ls "$TMP/m1/nodes" | tr '\n' ' ')" \
				"there: $(ls "$TMP/m1/fake" | tr '\n' ' ')"
			tail -n 20 "$TMP/m1.log" | sed 's/^/# /'
			break
		fi
		diag "after $round: $SECONDS s"
		agentd_kill m1
	fi
done
is "$bad" "" "after $KILLS kills of seed $SEED what runs is what is wanted"
is "$(as "$ACME" GET '/np/v1/nodes?state=all&limit=200' | jq '[.data[] | select(.status == "failed")] | length')" 0 \
	"and none was given up"
agentd_start m1 --driver fake --grace 0 --first-port $PORTS
for id in $(living); do as "$ACME" POST "/v2/instances/$id/terminate" >/dev/null; done
empty() { [ -z "$(running)" ] && [ -z "$(ls "$TMP/m1/nodes")" ] && [ -z "$(ls "$TMP/m1/fake")" ]; }
ok "when none is wanted, none is left" wait_for 40 empty
whole() { [ "$(ls "$TMP/m1" | tr '\n' ' ')" = "agent.json fake gpus.lock gpus.turn key lock nodes probe.json " ]; }
ok "and no halves of files" wait_for 40 whole || diag "$(ls "$TMP/m1")"
done_testing

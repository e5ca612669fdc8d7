#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is paid is had: at each moment of a reservation, however it was put together, as many nodes have a host as there
# are hosts in it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
trade_start 4
mkdir -p "$HOME/.ssh" && chmod 700 "$HOME/.ssh"
ssh-keygen -q -t ed25519 -N '' -f "$HOME/.ssh/id_ed25519"
np() { run_is 0 "$*" "$NANOPOD" buy -t h100 -p 3.10 -y --no-wait "$@"; }
HOUR=3600 BEGIN=$((NOW + 3600))

# held NAME AT: its hosts then; placed NAME: its nodes that have one now.
held() { market GET "/v2/pools/$1" | jq --argjson at "$2" \
	'[.allocation_schedule.total[] | select(.start_at <= $at and $at < .end_at) | .node_count] | add // 0'; }
placed() { market GET '/v2/instances?limit=200' | jq --arg n "$1" '[.data[] | select(.pool.name == $n and .expected_shutdown_at != null)] | length'; }

np -n 1 -d 1h -s @$BEGIN --name gap
np -n 1 -d 1h -s @$((BEGIN + 2 * HOUR)) --into gap
np -n 2 -d 1h -s @$BEGIN --name more
np -n 1 -d 2h -s @$BEGIN --into more
np -n 2 -d 1h -s @$((BEGIN + 3 * HOUR)) --into more
np -n 1 -d 1h -s @$((BEGIN + 4 * HOUR)) --into more
np -n 1 -d 3h -s @$((BEGIN + 6 * HOUR)) --name longer
np -n 1 -d 1h -s @$((BEGIN + 7 * HOUR)) --into longer
np -n 1 -d 2h -s @$((BEGIN + 9 * HOUR)) --into longer
for hour in 0 1 2 3 4 5 6 7 8 9 10 11; do
	now=$((BEGIN + hour * HOUR + 60))
	clock $now
	for name in gap more longer; do
		is "$(placed $name)" "$(held $name $now)" "$name, hour $hour: a node on each host ($(held $name $now))"
	done
done
done_testing

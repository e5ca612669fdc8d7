# SPDX-License-Identifier: Apache-2.0
# Nodes to reach, for tests of the command line, after tap.sh: real nodes of a market, whose host reports throw-away SSH
# servers as their addresses. Brings marketd.sh, trade.sh and sshd.sh.
#     nodes_up 2              starts a market, SSH servers, and the reservation 'train' of two nodes that run there
#     node_id NAME            its id
#     node_runs NAME N [KEY]  reports as its host that it runs at server N, with this host key (default: the server's)
# nodes_up buys from the minute after $NOW and leaves the clock in that minute. $WHERE holds options for nanopod.

. "$SRC/tests/lib/marketd.sh"
. "$SRC/tests/lib/trade.sh"
. "$SRC/tests/lib/sshd.sh"

nodes_up() {
	trade_start 4
	sshd_up "$1" || exit 1
	mkdir -p "$HOME/.ssh" && chmod 700 "$HOME/.ssh"
	# Nobody's config or known hosts: the market's data must suffice.
	WHERE="--ssh-config none --known-hosts none --identity $SSHD_KEY --host-key strict --agent none"
	NODE_KEY=$(cut -d' ' -f2 "$SSHD_DIR/host.pub")
	"$NANOPOD" buy -t h100 -n "$1" -d 4h -p 1.80 --name train --ssh-key "$SSHD_KEY.pub" -y >"$TMP/.bought" 2>&1 ||
		{ fail "(nodes are bought)"; diag "$(cat "$TMP/.bought")"; }
	clock $((NOW + 61))
	nodes_i=1
	while [ $nodes_i -le "$1" ]; do
		node_runs "train-$((nodes_i - 1))" $nodes_i
		nodes_i=$((nodes_i + 1))
	done
}

node_id() { market GET '/np/v1/nodes?state=live' | jq -r --arg n "$1" '.data[] | select(.name == $n) | .id'; }

# Sends a report as the host's owner.
node_report() { NANOPOD_URL=${MARKET_URL:-$NANOPOD_URL} as "$FOUNDRY" POST "/np/v1/instances/$(node_id "$1")/report" \
	"$2" >"$TMP/.report"; }
node_runs() {
	node_report "$1" "{\"status\":\"running\",\"hostname\":\"$(sshd_address "$2")\",\"port\":$SSHD_PORT,\"user\":\"$SSHD_USER\",\"host_keys\":[{\"type\":\"ssh-ed25519\",\"key\":\"${3:-$NODE_KEY}\"}]}"
}

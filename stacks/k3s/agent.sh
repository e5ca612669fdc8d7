# SPDX-License-Identifier: Apache-2.0
# Agents join, many at a time. A restart for a new version waits for turn.sh; others happen at once.
check() {
	! k3s_server || return 0
	agent_token || np_differs "$K3S_ETC/agent-token (0600)"
	due=$(k3s_due)
	printf '%s\n' "$due" | while read -r line; do [ -z "$line" ] || np_differs "$line"; done
}
agent_token() {
	[ -s "$K3S_ETC/agent-token" ] || return 1
	hex=$(np_taken_hash)
	[ -z "$hex" ] || [ "$hex" = "$(sha256sum <"$K3S_ETC/agent-token" | cut -c1-64)" ]
}

apply() {
	! k3s_server || return 0
	if ! agent_token; then
		[ -s "${NP_TAKEN-}" ] || { np_fail "the first server gave no token"; return 1; }
		np_file "$K3S_ETC/agent-token" 0600 root:root secret <"$NP_TAKEN" || return 1
	fi
	[ -n "$(k3s_due)" ] || return 0
	[ -n "$(k3s_started)" ] || k3s_reaches || return 1
	agent_turn || return 1
	k3s_start
}

# The version that this node's kubelet reported to the cluster; nothing before it is a member.
agent_runs() { k3s_kubelet get node "$(k3s_self)" -o 'jsonpath={.status.nodeInfo.kubeletVersion}' 2>/dev/null; }
agent_said() { k3s_kubelet get node "$(k3s_self)" -o 'jsonpath={.metadata.annotations.nanopod\.io/restart}' 2>/dev/null; }

agent_turn() {
	[ "${S_drain-yes}" = yes ] && k3s_active || return 0
	runs=$(agent_runs)
	[ -n "$runs" ] && [ "$runs" != "$S_version_k3s" ] || return 0
	[ "$(agent_said)" = go ] && return 0
	k3s_kubelet annotate node "$(k3s_self)" nanopod.io/restart=wanted --overwrite || { np_say "this node cannot ask for a drain, so it restarts without one"; return 0; }
	until said=$(agent_said) && [ "$said" = go ]; do
		[ "$said" != refused ] || {
			np_hint "k3s kubectl get pods -A --field-selector spec.nodeName=$(k3s_self); or --set k3s.drain=no"
			np_fail "cannot drain the node in ${S_drain_seconds:-300} s"
			return 1
		}
		sleep 1
	done
}

verify() {
	if k3s_server; then return 0; fi
	if k3s_ready; then np_ok "the Node is Ready"; else np_bad "the Node is not Ready"; fi
}

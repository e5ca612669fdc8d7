# SPDX-License-Identifier: Apache-2.0
# Starts the first server and gives the token for others. Does nothing on other servers.
check() {
	k3s_is_first || return 0
	due=$(k3s_due)
	printf '%s\n' "$due" | while read -r line; do [ -z "$line" ] || np_differs "$line"; done
	[ ! -s "$K3S_DATA/server/token" ] || np_give_hash k3s-token "$(first_tokens | sha256sum | cut -c1-64)"
}
apply() {
	k3s_is_first || return 0
	[ -z "$(k3s_due)" ] || first_start || return 1
	give
}
first_start() {
	if k3s_active && ! k3s_quorum_holds "$(k3s_self)"; then
		np_fail "$k3s_up of $k3s_all members of etcd would be left while this server restarts: that breaks the quorum"
		return 1
	fi
	first_save
	k3s_start
}
# Saves etcd before a new version changes it, by asking the running server.
first_save() {
	k3s_active || return 0
	runs=$(k3s_kubectl get node "$(k3s_self)" -o 'jsonpath={.status.nodeInfo.kubeletVersion}' 2>/dev/null)
	[ -n "$runs" ] && [ "$runs" != "$S_version_k3s" ] || return 0
	if timeout 300 "$K3S" etcd-snapshot save --name "nanopod-before-$(printf '%s' "$S_version_k3s" | tr -c 'A-Za-z0-9.\n' -)"; then
		np_did "etcd was saved in $K3S_DATA/server/db/snapshots"
	else
		np_say "cannot save etcd before $S_version_k3s"
	fi
}

# The full form lets a joining node verify the cluster. Servers need the agents' token too.
first_tokens() {
	printf '%s\n' "$(cat "$K3S_DATA/server/token")"
	sed 's/.*::[a-z]*://' "$K3S_DATA/server/agent-token"
}
give() {
	k3s_is_first || return 0
	case $(cat "$K3S_DATA/server/token" 2>/dev/null) in
	K10?*::*) first_tokens | np_give k3s-token ;;
	*) np_fail "'$K3S_DATA/server/token' has no token of the full form (K10…)" ;;
	esac
}

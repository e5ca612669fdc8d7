# SPDX-License-Identifier: Apache-2.0
# More servers, one by one: two that join at once can leave etcd with a learner for ever.
check() {
	! k3s_is_first || return 0
	joined || np_differs "$K3S_ETC/token (0600)"
	due=$(k3s_due)
	printf '%s\n' "$due" | while read -r line; do [ -z "$line" ] || np_differs "$line"; done
}
# A member restarts from its own etcd data.
joined() {
	[ -s "$K3S_ETC/token" ] && [ -s "$K3S_ETC/agent-token" ] || return 1
	hex=$(np_taken_hash)
	k3s_made || [ -z "$hex" ] || [ "$hex" = "$(cat "$K3S_ETC/token" "$K3S_ETC/agent-token" | sha256sum | cut -c1-64)" ]
}

apply() {
	! k3s_is_first || return 0
	if [ -s "${NP_TAKEN-}" ]; then
		if ! k3s_made; then
			sed -n 1p "$NP_TAKEN" | np_file "$K3S_ETC/token" 0600 root:root secret || return 1
			sed -n 2p "$NP_TAKEN" | np_file "$K3S_ETC/agent-token" 0600 root:root secret || return 1
		fi
	elif ! joined; then
		np_fail "the first server gave no token"
		return 1
	fi
	[ -n "$(k3s_due)" ] || return 0
	if k3s_active && ! k3s_quorum_holds "$(k3s_self)"; then
		np_fail "$k3s_up of $k3s_all members of etcd would be left while this server restarts: that breaks the quorum"
		return 1
	fi
	k3s_made || k3s_reaches || return 1
	k3s_start
}

verify() {
	if [ "$(k3s_kubectl get --raw /readyz 2>/dev/null)" = ok ]; then np_ok "the API is ready"; else np_bad "the API is not ready"; fi
	if [ "$(k3s_condition "$(k3s_self)" EtcdIsVoter)" = True ]; then np_ok "etcd: a member with a vote"; else np_bad "etcd: no member with a vote"; fi
}

# For clients: root's kubeconfig, with an address instead of the loopback.
kubeconfig() {
	[ -s "$K3S_ETC/k3s.yaml" ] || { np_fail "'$K3S_ETC/k3s.yaml' is not there"; return 1; }
	sed "s,https://127\.0\.0\.1:6443,$(k3s_url)," "$K3S_ETC/k3s.yaml" | np_give kubeconfig
}

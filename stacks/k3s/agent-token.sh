# SPDX-License-Identifier: Apache-2.0
# Agents join with this token, which does not let anybody become a server.
check() {
	k3s_is_first || return 0
	[ ! -s "$K3S_DATA/server/agent-token" ] || np_give_hash k3s-agent-token "$(sha256sum <"$K3S_DATA/server/agent-token" | cut -c1-64)"
}
apply() { give; }
give() {
	k3s_is_first || return 0
	case $(cat "$K3S_DATA/server/agent-token" 2>/dev/null) in
	K10?*::*) np_give k3s-agent-token <"$K3S_DATA/server/agent-token" ;;
	*) np_fail "'$K3S_DATA/server/agent-token' has no token of the full form (K10…)" ;;
	esac
}

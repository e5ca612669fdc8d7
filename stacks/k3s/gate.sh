# SPDX-License-Identifier: Apache-2.0
# Checks what K3s needs, beyond the gates.
check() {
	[ -d /run/systemd/system ] || { np_fail "K3s is run by systemd, which does not run here"; return 1; }
	[ -n "$(ip route show default 2>/dev/null)$(ip -6 route show default 2>/dev/null)" ] || {
		np_hint "ip link add dummy0 type dummy && ip link set dummy0 up && ip route add default dev dummy0"
		np_fail "no default route; K3s needs one to find its address and its services"
		return 1
	}
	case $(printf '%s' "$NP_HOST" | tr '[:upper:]' '[:lower:]') in
	'' | [!a-z0-9]* | *[!a-z0-9] | *[!a-z0-9.-]*)
		np_hint "hostnamectl set-hostname NAME"
		np_fail "'$NP_HOST' cannot name a Node: use lower-case letters, digits, '-' and '.'"
		return 1 ;;
	esac
	same=$(np_all | tr '[:upper:]' '[:lower:]' | sort | uniq -d | head -n 1)
	[ -z "$same" ] || { np_fail "two nodes have the name '$same'"; return 1; }
	case $(k3s_count servers) in
	1 | 3 | 5 | 7) ;;
	*)
		np_hint "roles: {servers: …} with 1, 3 or 5 nodes"
		[ -z "${NP_UNKNOWN-}" ] || np_say "unreachable now: $NP_UNKNOWN"
		k3s_odd || return 1 ;;
	esac
	gate_cidr && gate_split && gate_ports && gate_skew && gate_memory && gate_groups
}
apply() { check; }

# An even number of servers may remain after a drop or a loss: a warning. A new cluster must have an odd number.
k3s_odd() {
	if [ -n "${NP_UNKNOWN-}" ] || [ "$(np_fact "$(k3s_first)" k3s_server)" = etcd ] || k3s_made; then
		np_say "$(k3s_count servers) servers: etcd wants an odd number, one more or one less"
		return 0
	fi
	np_fail "there are $(k3s_count servers) servers: etcd wants an odd number"
}

# A /24 a node.
gate_cidr() {
	bits=${S_cluster_cidr##*/}
	case $S_cluster_cidr in
	*:*) return 0 ;;
	*/[0-9] | */[12][0-9]) ;;
	*) np_fail "'$S_cluster_cidr' is no range for pods: such as 10.42.0.0/16"; return 1 ;;
	esac
	room=$([ "$bits" -gt 24 ] && echo 0 || echo $((1 << (24 - bits))))
	all=$(np_all | grep -c .)
	[ "$all" -le "$room" ] && return 0
	np_hint "--set k3s.cluster-cidr=10.42.0.0/14 (before the cluster is made)"
	np_fail "'$S_cluster_cidr' has room for $room nodes, and there are $all"
}

# Never makes a second cluster beside an existing or unreachable one.
gate_split() {
	k3s_is_first && ! k3s_made || return 0
	if [ -n "${NP_UNKNOWN-}" ]; then
		np_fail "not all members are reached ($NP_UNKNOWN): one of them may be a server of this cluster already"
		return 1
	fi
	command -v curl >/dev/null || return 0
	for other in $(np_members servers); do
		[ "$other" != "$NP_HOST" ] || continue
		[ "$(curl -sk --max-time 3 "https://$(np_address "$other"):6443/ping" 2>/dev/null)" = pong ] || continue
		np_hint "roles: {servers: [$other, …]}"
		np_fail "'$other' is a server of a cluster already: it has to be the first of the servers"
		return 1
	done
}

# Prints who else uses our ports. K3s' own processes have 'k3s' in their names.
gate_ports() {
	command -v ss >/dev/null || return 0
	[ ! -e "$K3S_DATA" ] || return 0
	taken=$(ss -Htlnp 2>/dev/null | awk '$4 ~ /:(6443|10250)$/' | grep -v k3s | head -n 1)
	[ -z "$taken" ] && return 0
	np_hint "ss -tlnp"
	np_fail "a port of K3s is taken: $(printf '%s' "$taken" | awk '{ print $4, $6 }')"
}

# One minor version at a time, and never back: etcd's data and the API do not go back.
gate_skew() {
	have=$(k3s_version)
	[ -n "$have" ] && [ -n "$(k3s_started)" ] || return 0
	have_minor=$(printf '%s' "$have" | cut -d. -f2) want_minor=$(printf '%s' "$S_version_k3s" | cut -d. -f2)
	case $have_minor$want_minor in *[!0-9]*) return 0 ;; esac
	if [ "$want_minor" -lt "$have_minor" ]; then
		np_fail "$have runs here; Kubernetes cannot downgrade to $S_version_k3s"
	elif [ "$want_minor" -gt $((have_minor + 1)) ]; then
		np_hint "first the last v1.$((have_minor + 1)) of K3s"
		np_fail "$have runs here; Kubernetes upgrades one minor version at a time, not to $S_version_k3s"
	fi
}

gate_memory() {
	grep -qs memory /sys/fs/cgroup/cgroup.controllers && return 0
	[ "$(awk '$1 == "memory" { print $4 }' /proc/cgroups)" = 1 ] && return 0
	np_hint "boot with 'cgroup_enable=memory'"
	np_fail "the kernel has no control group for memory"
}

# Since 1.35 kubelet ends at once where control groups are of version 1, unless it is told not to.
gate_groups() {
	[ ! -e /sys/fs/cgroup/cgroup.controllers ] || return 0
	minor=$(printf '%s' "$S_version_k3s" | cut -d. -f2)
	case $minor in '' | *[!0-9]*) return 0 ;; esac
	[ "$minor" -ge 35 ] || return 0
	case ${S_config_kubelet_arg-} in *fail-cgroupv1=false*) return 0 ;; esac
	np_hint "boot with 'systemd.unified_cgroup_hierarchy=1'; or --set k3s.config.kubelet-arg=fail-cgroupv1=false"
	np_fail "K3s $S_version_k3s wants control groups of version 2, and this node has version 1"
}

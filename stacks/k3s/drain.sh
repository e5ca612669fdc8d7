# SPDX-License-Identifier: Apache-2.0
# Drains, undrains and removes nodes. Called on one server, with the nodes' host names.
drain() {
	for host; do
		node=$(printf '%s' "$host" | nodes_lower)
		node_there "$node" || { np_say "'$node' is not a Node"; continue; }
		if node_drain "$node"; then
			np_did "Node '$node' is drained"
		else
			if [ -n "$drain_why" ]; then np_hint "k3s kubectl get pdb -A"; else np_hint "k3s kubectl get pods -A -o wide --field-selector spec.nodeName=$node"; fi
			np_fail "Node '$node' is cordoned, but not all of its pods went in ${S_drain_seconds:-300} s${drain_why:+: $drain_why}"
		fi
	done
	[ -z "$np_failed" ]
}

# Lists the pods before a cluster is removed.
at_work() {
	K3S_PATIENCE=10 k3s_kubectl get pods -A --field-selector status.phase=Running -o 'jsonpath={range .items[*]}{.metadata.namespace}{"\n"}{end}' 2>/dev/null |
		awk '$1 != "kube-system" { if (!seen[$1]++) order[++n] = $1; all++ }
			END { for (i = 1; i <= n && i <= 8; i++) list = list (i > 1 ? ", " : "") seen[order[i]] " in " order[i]
			if (all) printf "%d %s with it: %s%s\n", all, all == 1 ? "pod goes" : "pods go", list, (n > 8 ? " …" : "") }' | while IFS= read -r line; do np_say "$line"; done
	return 0
}

undrain() {
	for host; do
		node=$(printf '%s' "$host" | nodes_lower)
		if k3s_kubectl uncordon "$node"; then np_did "Node '$node' takes pods again"; else np_fail "Node '$node' cannot be uncordoned"; fi
	done
	[ -z "$np_failed" ]
}

# Voters: "NAME UP", UP yes or no.
drain_voters() {
	k3s_kubectl get nodes -l node-role.kubernetes.io/etcd=true -o \
		'jsonpath={range .items[*]}{.metadata.name}{" "}{.status.conditions[?(@.type=="Ready")].status}{" "}{.status.conditions[?(@.type=="EtcdIsVoter")].status}{"\n"}{end}' |
		awk 'NF { print $1, ($2 == "True" && $3 == "True" ? "yes" : "no") }'
}

# The remaining members must be a quorum now, to agree on who leaves, and afterwards.
drain_quorum() {
	voters=$(drain_voters) || { np_fail "the API does not say who is in etcd"; return 1; }
	all=$(printf '%s\n' "$voters" | grep -c .)
	going=$(for host; do printf '%s\n' "$host"; done | nodes_lower)
	out=$(printf '%s\n' "$voters" | awk '{ print $1 }' | grep -cxF "$going")
	[ "$out" -gt 0 ] || return 0
	up=$(printf '%s\n' "$voters" | grep -c ' yes$')
	stay=$(printf '%s\n' "$voters" | awk '$2 == "yes" { print $1 }' | grep -cvxF "$going")
	left=$((all - out))
	[ $left -gt 0 ] || { np_hint "nanopod provision remove $NP_CLUSTER"; np_fail "these are all servers of the cluster"; return 1; }
	if [ "$stay" -le $((left / 2)) ] || [ "$up" -le $((all / 2)) ]; then
		np_fail "of $all servers $up have a vote now, and $stay of $left would: etcd would lose its quorum"
		return 1
	fi
}
# Checked before the drain.
may_leave() { drain_quorum "$@"; }

# Removes nodes for good: drains them, then removes etcd members one by one, the Nodes and their passwords.
leave() {
	drain_quorum "$@" || return 1
	[ "$out" -eq 0 ] || [ $((left % 2)) -eq 1 ] || np_say "$left servers are left: no more can fail than with $((left - 1))"
	for host; do
		node=$(printf '%s' "$host" | nodes_lower)
		if ! node_there "$node"; then
			np_say "'$node' is not a Node"
			continue
		fi
		if [ "$(k3s_condition "$node" Ready)" = True ]; then
			node_drain "$node" || np_say "Node '$node' was drained only partly"
		fi
		leave_one "$node" || return 1
		np_did "Node '$node' has left"
	done
}
leave_one() {
	voter=$(drain_voters | grep "^$1 ")
	if [ -n "$voter" ]; then
		# K3s' own controller takes it out of etcd and says so.
		k3s_kubectl annotate node "$1" etcd.k3s.cattle.io/remove=true --overwrite || { np_fail "Node '$1' cannot be marked"; return 1; }
		np_wait 120 leave_gone "$1" || { np_hint "k3s kubectl describe node $1"; np_fail "'$1' is still a member of etcd after 120 s"; return 1; }
		np_did "removed '$1' from etcd"
	fi
	K3S_PATIENCE=90 k3s_kubectl delete node "$1" --ignore-not-found || { np_fail "Node '$1' cannot be deleted"; return 1; }
	# K3s keeps a password for each name, and would refuse a new node of that name.
	k3s_kubectl -n kube-system delete secret "$1.node-password.k3s" --ignore-not-found
}
leave_gone() {
	[ -n "$(k3s_kubectl get node "$1" -o 'jsonpath={.metadata.annotations.etcd\.k3s\.cattle\.io/removed-node-name}' 2>/dev/null)" ] || ! node_there "$1"
}

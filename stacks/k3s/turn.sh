# SPDX-License-Identifier: Apache-2.0
# Upgrades agents: each asks by an annotation of its own Node (agent.sh), and the first server drains it, lets it restart,
# waits for the new version, and allows pods again; as many at a time as `disruption` allows.
# New clusters and changes of the configuration need no drain, because pods keep running during a restart.
TURN_ASKED=nanopod.io/restart

turn_old() {
	nodes_table 2>/dev/null | awk -v v="$S_version_k3s" '$3 != v && $3 != "-" { print $1 }' | grep -xF "$(k3s_agents | nodes_lower)"
}
check() {
	k3s_is_first && [ "${S_drain-yes}" = yes ] && k3s_active && [ -n "$(k3s_agents)" ] || return 0
	old=$(turn_old | tr '\n' ' ')
	[ -z "$old" ] || np_differs "drain and upgrade, $(turn_room) at a time: ${old% }"
}
turn_room() {
	room=$(($(k3s_agents | grep -c .) * ${S_disruption:-10} / 100))
	[ $room -ge 1 ] || room=1
	echo $room
}
turn_asked() {
	k3s_kubectl get nodes -o "jsonpath={range .items[*]}{.metadata.name}{\" \"}{.metadata.annotations.nanopod\\.io/restart}{\"\\n\"}{end}" 2>/dev/null |
		awk -v w="$1" '$2 == w { print $1 }'
}

apply() {
	k3s_is_first || return 0
	turn_bad='' turn_was='' room=$(turn_room)
	# Agents that nobody restarts (unreachable, taken out) must not block this for ever.
	turn_limit=$((${S_wait:-300} + 60)) turn_since=$(date +%s)
	while turn_now=$(turn_left) && [ -n "$turn_now" ]; do
		[ "$turn_now" = "$turn_was" ] || { turn_was=$turn_now turn_since=$(date +%s); }
		[ $(($(date +%s) - turn_since)) -lt $turn_limit ] || break
		turn_done
		busy=$(turn_asked go | grep -c .)
		next=$(turn_asked wanted | head -n $((room > busy ? room - busy : 0)))
		for node in $next; do
			turn_go "$node"
			turn_since=$(date +%s)
		done
		[ -n "$next" ] || sleep 1
	done
	turn_done
	left=$(turn_left | tr '\n' ' ')
	[ -z "$left" ] || { np_fail "not upgraded: ${left% }${turn_bad:+ (not drained: $turn_bad)}"; return 1; }
}
turn_left() { turn_old | grep -vxF "$(printf '%s\n' $turn_bad)"; }
turn_go() {
	was=-
	nodes_table | grep -q "^$1 .* cordoned$" && was=cordoned
	if ! node_drain "$1"; then
		[ $was = cordoned ] || k3s_kubectl uncordon "$1"
		k3s_kubectl annotate node "$1" "$TURN_ASKED=refused" --overwrite
		turn_bad="$turn_bad $1"
		return
	fi
	k3s_kubectl annotate node "$1" "$TURN_ASKED=go" "nanopod.io/was=$was" --overwrite
}
# Lets pods run on upgraded agents again.
turn_done() {
	for node in $(turn_asked go); do
		[ -n "$(nodes_table | awk -v n="$node" -v v="$S_version_k3s" '$1 == n && $2 == "True" && $3 == v')" ] || continue
		[ "$(k3s_kubectl get node "$node" -o 'jsonpath={.metadata.annotations.nanopod\.io/was}' 2>/dev/null)" = cordoned ] || k3s_kubectl uncordon "$node"
		k3s_kubectl annotate node "$node" "$TURN_ASKED-" nanopod.io/was-
		np_did "'$node' runs $S_version_k3s"
	done
}

# SPDX-License-Identifier: Apache-2.0
# Writes config.yaml and the unit, and on the first server the token for joining. Undo removes K3s from the node.
check() {
	conf_write
	other=$(conf_other)
	[ ! -e "$K3S_UNITS/$other.service" ] || np_differs "remove unit '$other': this node is $(k3s_mine) now"
	k3s_is_first || return 0
	[ -s "$K3S_ETC/token" ] || np_differs "make the cluster's token"
	[ -s "$K3S_ETC/agent-token" ] || np_differs "make the agents' token"
}

apply() {
	mkdir -p "$NP_STATE"
	conf_write || return 1
	[ ! -e "$K3S_UNITS/$(conf_other).service" ] || conf_swap || return 1
	if k3s_is_first; then
		conf_token token && conf_token agent-token || return 1
	fi
	systemctl daemon-reload
}

conf_write() {
	np_dir /etc/rancher 0755 root:root
	np_dir "$K3S_ETC" 0755 root:root
	k3s_config | np_file "$K3S_ETC/config.yaml" 0600 root:root || return 1
	k3s_unit_text | np_file "$K3S_UNITS/$(k3s_unit).service" 0644 root:root
}
conf_other() { if k3s_server; then echo k3s-agent; else echo k3s; fi; }

# Leave no server unit on an agent: it would start only after a reboot. An agent may become a server, not the reverse.
conf_swap() {
	if ! k3s_server && k3s_made; then
		np_hint "nanopod provision drop CLUSTER -w $NP_NODE, then add it with --role agents"
		np_fail "'$NP_NODE' is a server with a vote in etcd"
		return 1
	fi
	other=$(conf_other)
	systemctl disable --now "$other" || systemctl stop "$other"
	rm -f "$K3S_UNITS/$other.service" "$NP_STATE/k3s.started"
	np_did "removed unit '$other'"
}

# 32 random bytes. The token of an existing cluster comes first, because only it can read the cluster's data.
conf_token() {
	[ ! -s "$K3S_ETC/$1" ] || return 0
	(
		umask 077
		if [ -s "$K3S_DATA/server/$1" ]; then
			sed 's/.*::[a-z]*://' "$K3S_DATA/server/$1"
		else
			od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n'
			echo
		fi >"$K3S_ETC/.$1" && mv "$K3S_ETC/.$1" "$K3S_ETC/$1"
	) || { np_fail "'$K3S_ETC/$1' cannot be written"; return 1; }
	np_did "$K3S_ETC/$1 (0600)"
}

verify() {
	if systemctl is-enabled --quiet "$(k3s_unit)"; then np_ok "unit '$(k3s_unit)' is enabled"; else np_bad "unit '$(k3s_unit)' is not enabled: it would not come back after a reboot"; fi
	[ ! -e "$K3S_UNITS/$(conf_other).service" ] || np_bad "unit '$(conf_other)' is here too"
	if ! k3s_active; then
		np_bad "unit '$(k3s_unit)' does not run"
		np_hint "journalctl -u $(k3s_unit)"
	elif [ "$(k3s_stamp)" != "$(k3s_started)" ]; then
		np_bad "unit '$(k3s_unit)' does not run with what its files say"
	else
		np_ok "unit '$(k3s_unit)' runs"
	fi
	mode=$(stat -c %a "$K3S_ETC/config.yaml" 2>/dev/null)
	[ "$mode" = 600 ] || np_bad "$K3S_ETC/config.yaml has mode ${mode:-none}, not 600"
}

# Ends what K3s leaves running: pods outlive their unit (KillMode=process).
undo() {
	for unit in k3s k3s-agent; do
		[ -e "$K3S_UNITS/$unit.service" ] || continue
		timeout 120 systemctl disable --now "$unit" || timeout 60 systemctl kill -s KILL "$unit"
	done
	conf_kill
	conf_umount
	conf_net
	# kubelet's groups, where systemd makes them.
	timeout 60 systemctl stop kubepods.slice 2>/dev/null
	for unit in k3s k3s-agent; do
		rm -f "$K3S_UNITS/$unit.service" "$K3S_UNITS/$unit.service.env"
		systemctl reset-failed "$unit" 2>/dev/null
	done
	rm -f "$NP_STATE"/k3s.started "$NP_STATE"/k3s.bundle "$NP_STATE"/k3s.registries
	systemctl daemon-reload
	rm -rf --one-file-system "$K3S_ETC"
	return 0
}

# Shims of K3s' containerd with their children, and K3s itself if its unit is lost.
conf_kill() {
	tries=0
	while [ $tries -lt 20 ]; do
		pids=$(conf_tree)
		[ -n "$pids" ] || return 0
		# shellcheck disable=SC2086 # numbers
		kill -9 $pids 2>/dev/null
		tries=$((tries + 1))
		sleep 0.2
	done
	np_say "processes of K3s that do not end: $(printf '%s' "$pids" | tr '\n' ' ')"
}
# Selects by program, not by name: processes from K3s' own folder, and their children. Never process 1 or this one.
conf_tree() {
	for proc in /proc/[0-9]*; do
		sed -n 's/^\([0-9]*\) (.*) [A-Za-z] \([0-9]*\) .*/child \1 \2/p' "$proc/stat" 2>/dev/null
		exe=$(readlink "$proc/exe" 2>/dev/null) || continue
		case $exe in
		"$K3S_DATA"/data/* | "$K3S" | "$K3S (deleted)") echo "of ${proc#/proc/}" ;;
		*)
			# A k3s that is a script.
			! tr '\0' ' ' <"$proc/cmdline" 2>/dev/null | grep -qE "^([^ ]*/(perl|sh) (-[^ ]* )*)?$K3S " || echo "of ${proc#/proc/}" ;;
		esac
	done | awk -v self=$$ '$1 == "of" { seen[$2] = 1 } $1 == "child" { parent[$2] = $3 }
		END {
			do { more = 0; for (p in parent) if (!(p in seen) && (parent[p] in seen)) { seen[p] = 1; more = 1 } } while (more)
			for (p = self; p in parent; p = parent[p]) delete seen[p]
			for (p in seen) if (p > 1) print p
		}'
}
conf_umount() {
	awk '{ print $2 }' /proc/self/mounts | grep -E "^(/run/k3s|$K3S_DATA|/var/lib/kubelet|/run/netns/cni-)" | sort -r | while read -r path; do
		path=$(printf '%b' "$(printf '%s' "$path" | sed 's/\\\([0-7]\{3\}\)/\\0\1/g')")
		umount -f "$path" 2>/dev/null || umount -l "$path"
		case $path in /run/netns/cni-*) rm -f "$path" ;; esac
	done
}
conf_net() {
	for name in $(ip netns list 2>/dev/null | awk '/^cni-/ { print $1 }'); do ip netns delete "$name"; done
	for link in $(ip -o link show 2>/dev/null | awk '/master cni0/ { sub(/@.*/, "", $2); sub(/:$/, "", $2); print $2 }') \
		cni0 flannel.1 flannel-v6.1 flannel-wg flannel-wg-v6 kube-ipvs0; do
		! ip link show "$link" >/dev/null 2>&1 || ip link delete "$link"
	done
	# A node without iptables has K3s' own, looked for last, as K3s does.
	PATH=$PATH:$K3S_DATA/data/current/bin/aux
	for tables in iptables ip6tables; do
		command -v $tables-save >/dev/null && command -v $tables-restore >/dev/null || continue
		$tables-save 2>/dev/null >"$NP_STATE/k3s.rules" || continue
		grep -qiE 'KUBE-|CNI-|flannel' "$NP_STATE/k3s.rules" || continue
		grep -viE 'KUBE-|CNI-|flannel' "$NP_STATE/k3s.rules" | $tables-restore || np_say "rules of $tables were left"
	done
	rm -f "$NP_STATE/k3s.rules"
}

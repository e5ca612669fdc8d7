# SPDX-License-Identifier: Apache-2.0
# K3s looks for the NVIDIA runtime only when it starts, so it must restart after the toolkit is installed.
RUNTIME_CONFIG=/var/lib/rancher/k3s/agent/etc/containerd/config.toml
RUNTIME_DROP=/etc/rancher/k3s/config.yaml.d/60-nanopod-gpu.yaml

runtime_known() { grep -q nvidia "$RUNTIME_CONFIG" 2>/dev/null; }
runtime_there() {
	[ -x /usr/local/nvidia/toolkit/nvidia-container-runtime ] || PATH=$PATH:/usr/local/bin command -v nvidia-container-runtime >/dev/null
}
runtime_unit() { if np_is k3s.servers || addon_server; then echo k3s; else echo k3s-agent; fi; }

runtime_file() {
	[ "${S_default_runtime-yes}" = yes ] || return 0
	addon_put runtime_text "$RUNTIME_DROP" 0600 root:root
}
runtime_text() { printf '# Written by nanopod (gpu-operator): pods get the NVIDIA runtime without a runtimeClassName.\ndefault-runtime: nvidia\n'; }

check() {
	operator_here nvidia || return 0
	runtime_file
	runtime_known || np_differs "'$RUNTIME_CONFIG' does not know the NVIDIA runtime"
}

# A missing default runtime would keep every pod from starting, so the toolkit comes first.
apply() {
	operator_here nvidia || return 0
	if ! np_wait "${S_ready_timeout:-1800}" runtime_there; then
		np_cause "the operator's toolkit is not on '$NP_HOST': its driver may be missing, or its pods wait"
		np_hint "k3s kubectl -n gpu-operator get pods -o wide"
		np_fail "'$NP_HOST' has no nvidia-container-runtime"
		return 1
	fi
	runtime_file || return 1
	[ -n "$np_changed" ] || ! runtime_known || return 0
	systemctl restart --no-block "$(runtime_unit)"
	np_wait 180 runtime_known || { np_fail "K3s restarted, but '$RUNTIME_CONFIG' still lacks the NVIDIA runtime"; return 1; }
	np_wait 180 systemctl -q is-active "$(runtime_unit)" || { np_fail "'$(runtime_unit)' does not come up"; return 1; }
	np_did "restarted '$(runtime_unit)': containerd knows the NVIDIA runtime"
}

verify() {
	operator_here nvidia || return 0
	if runtime_known; then np_ok "containerd knows the NVIDIA runtime"; else
		np_hint "systemctl restart $(runtime_unit)"
		np_bad "'$RUNTIME_CONFIG' does not know the NVIDIA runtime"
	fi
}

# Before the operator takes the runtime away.
undo() {
	[ -e "$RUNTIME_DROP" ] || return 0
	rm -f "$RUNTIME_DROP"
	systemctl -q is-active "$(runtime_unit)" || return 0
	systemctl restart --no-block "$(runtime_unit)"
	np_wait 180 systemctl -q is-active "$(runtime_unit)"
	np_did "restarted '$(runtime_unit)' without the NVIDIA runtime as default"
}

# SPDX-License-Identifier: Apache-2.0
# The toolkit's defaults are for a separate containerd: K3s has its socket, configuration and folder of
# drop-ins elsewhere, and values of environment variables are text.
nvidia_toolkit() {
	cat <<-END
		toolkit:
		  enabled: $(operator_bool [ "${S_toolkit-yes}" = yes ])
		  env:
		  - {name: CONTAINERD_SOCKET, value: /run/k3s/containerd/containerd.sock}
		  - {name: CONTAINERD_CONFIG, value: /var/lib/rancher/k3s/agent/etc/containerd/config.toml}
		  - {name: RUNTIME_DROP_IN_CONFIG, value: /var/lib/rancher/k3s/agent/etc/containerd/config-v3.toml.d/99-nvidia.toml}
		  - {name: CONTAINERD_RUNTIME_CLASS, value: nvidia}
		  - {name: CONTAINERD_SET_AS_DEFAULT, value: "false"}
	END
}

nvidia_sharing() {
	[ "${S_sharing-none}" != none ] || return 0
	if [ "$S_sharing" = mps ]; then nvidia_how=mps; else nvidia_how=timeSlicing; fi
	cat <<-END
		devicePlugin:
		  config:
		    create: true
		    name: nanopod-device-plugin
		    default: any
		    data:
		      any: |
		        version: v1
		        sharing:
		          $nvidia_how:
	END
	[ "$S_sharing" = mps ] || printf '            renameByDefault: false\n            failRequestsGreaterThanOne: true\n'
	printf '            resources:\n            - {name: nvidia.com/gpu, replicas: %s}\n' "$S_replicas"
}

nvidia_mig() {
	printf 'mig:\n  strategy: %s\n' "${S_mig_strategy-single}"
	[ -n "${S_mig-}" ] || { printf 'migManager:\n  enabled: false\n'; return 0; }
	printf 'migManager:\n  enabled: true\n'
	[ -n "${S_mig_profiles-}" ] || { printf '  config:\n    default: all-disabled\n'; return 0; }
	cat <<-'END'
		  config:
		    create: true
		    name: nanopod-mig
		    default: all-disabled
		    data:
		      config.yaml: |
		        version: v1
		        mig-configs:
		          all-disabled:
		          - {devices: all, mig-enabled: false}
	END
	for nvidia_name in $S_mig_profiles; do
		eval "nvidia_parts=\$S_mig_profiles_$(printf '%s' "$nvidia_name" | tr - _)"
		printf '          %s:\n          - devices: all\n            mig-enabled: true\n            mig-devices:\n' "$nvidia_name"
		for nvidia_part in $nvidia_parts; do
			printf '              "%s": %s\n' "${nvidia_part%=*}" "${nvidia_part##*=}"
		done
	done
}

nvidia_values() {
	cat <<-END
		nfd:
		  enabled: false
		cdi:
		  enabled: true
		driver:
		  enabled: $(operator_bool operator_driver nvidia nvidia)
		dcgmExporter:
		  serviceMonitor:
		    enabled: $(operator_bool operator_monitored)
	END
	nvidia_toolkit
	nvidia_mig
	nvidia_sharing
}

nvidia_fits() {
	operator_profiles_fit || return 1
	if [ "${S_sharing-none}" = mps ] && [ -n "${S_mig-}" ]; then
		np_fail "MPS and MIG cannot be combined: set 'sharing' to time-slicing, or leave 'mig' out"
		return 1
	fi
}

nvidia() {
	addon_lead && operator_wants nvidia || return 0
	nvidia_fits || return 1
	addon_install nvidia-gpu-operator 1500 nvidia_chart
}
nvidia_chart() { nvidia_values | addon_chart nvidia-gpu-operator gpu-operator gpu-operator "$S_version_nvidia" "$S_repo_nvidia"; }
check() { nvidia; }
apply() { nvidia; }
verify() { if addon_lead && operator_wants nvidia; then S_pods_timeout=$S_ready_timeout addon_verify nvidia-gpu-operator gpu-operator; fi; }
undo() { addon_remove nvidia-gpu-operator; }

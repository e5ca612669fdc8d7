# SPDX-License-Identifier: Apache-2.0
# A label asks for the profile; the operator's MIG manager sets it and answers in a second label.
mig_pairs() {
	for mig_host in $(operator_hosts nvidia); do
		mig_model=$(addon_gpus "$mig_host" | awk '$2 == "nvidia" { print $3; exit }')
		mig_profile=$(operator_profile "$mig_model")
		[ -z "$mig_profile" ] || printf '%s %s\n' "$mig_host" "$mig_profile"
	done
}
mig_node() { printf '%s' "$1" | tr 'A-Z' 'a-z'; }
mig_label() { kube get node "$(mig_node "$1")" -o "jsonpath={.metadata.labels.nvidia\.com/mig\.config${2-}}" 2>/dev/null; }
mig_is() { [ "$(mig_label "$1" '\.state')" = success ]; }

mig_each() {
	np_rooms || return 1
	mig_pairs >"$np_room/mig"
	mig_status=0
	while read -r mig_host mig_profile; do
		"$1" "$mig_host" "$mig_profile" || mig_status=1
	done <"$np_room/mig"
	return $mig_status
}

mig_check() { [ "$(mig_label "$1")" = "$2" ] || np_differs "set the MIG profile '$2' on the GPUs of '$1'"; }
mig_apply() {
	[ "$(mig_label "$1")" != "$2" ] || return 0
	kube label node "$(mig_node "$1")" --overwrite "nvidia.com/mig.config=$2" || { np_fail "cannot label the node '$1'"; return 1; }
	np_did "asked for the MIG profile '$2' on '$1'"
}
mig_verify() {
	if np_wait 600 mig_is "$1"; then np_ok "'$1' has the MIG profile '$2'"; else
		np_hint "k3s kubectl -n gpu-operator logs -l app=nvidia-mig-manager --tail=50"
		np_bad "'$1' does not have the MIG profile '$2': $(mig_label "$1" '\.state')"
	fi
}
mig_drop() { kube label node "$(mig_node "$1")" nvidia.com/mig.config=all-disabled --overwrite && np_wait 300 mig_is "$1"; }

check() { if addon_lead && operator_wants nvidia; then mig_each mig_check; fi; }
apply() { if addon_lead && operator_wants nvidia; then mig_each mig_apply; fi; }
verify() { if addon_lead && operator_wants nvidia; then mig_each mig_verify; fi; }
undo() { if addon_lead && [ -n "${S_mig-}" ] && kube_up; then mig_each mig_drop || np_say "cannot switch MIG off everywhere"; fi; }

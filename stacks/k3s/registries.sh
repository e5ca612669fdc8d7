# SPDX-License-Identifier: Apache-2.0
# Image registries: from the setting, or the user's own file, which may have passwords and is never shown.
REGISTRIES_KEPT=$NP_STATE/k3s.registries

registries_text() {
	[ -n "${S_registries-}" ] || [ "${S_embedded_registry-no}" = yes ] || return 0
	echo '# Written by nanopod.'
	echo 'mirrors:'
	set -f
	star=no prefix=
	case " ${S_registries-} " in *' mirrors '*) prefix=mirrors_ ;; esac
	for name in $(registries_names); do
		case $name in
		all | default) star=yes; printf "  '*':\n" ;;
		*) printf '  %s:\n' "$(k3s_quote "$name")" ;;
		esac
		eval "ends=\${S_registries_${prefix}$(k3s_word "$name")_endpoint-\${S_registries_${prefix}$(k3s_word "$name")-}}"
		case $ends in endpoint) ends= ;; esac
		# shellcheck disable=SC2154 # of the eval
		[ -z "$ends" ] || printf '    endpoint:\n'
		for end in $ends; do
			case $end in http://* | https://*) ;; *) end=https://$end ;; esac
			printf '    - %s\n' "$(k3s_quote "$end")"
		done
	done
	[ "${S_embedded_registry-no}" != yes ] || [ $star = yes ] || printf "  '*':\n"
	set +f
}
# {docker.io: …} or {mirrors: {docker.io: …}}
registries_names() {
	case $prefix in
	'') printf '%s\n' "${S_registries-}" ;;
	*) printf '%s\n' "${S_registries_mirrors-}" ;;
	esac
}

check() {
	if [ -n "${S_registries_file-}" ]; then
		[ -s "$K3S_ETC/registries.yaml" ] && [ "${NP_UPLOAD_ID-}" = "$(cat "$REGISTRIES_KEPT" 2>/dev/null)" ] ||
			np_differs "$K3S_ETC/registries.yaml is the user's own"
		return 0
	fi
	registries_write
}
apply() {
	if [ -z "${S_registries_file-}" ]; then
		registries_write
		return
	fi
	from=${NP_UPLOAD-}
	[ ! -d "$from" ] || from=$(find "$from" -type f | head -n 1)
	[ -f "$from" ] || { np_fail "'registries-file' was not uploaded"; return 1; }
	registries_dirs
	np_file "$K3S_ETC/registries.yaml" 0600 root:root secret <"$from" || return 1
	printf '%s\n' "${NP_UPLOAD_ID-}" >"$REGISTRIES_KEPT"
}
registries_dirs() { np_dir /etc/rancher 0755 root:root && np_dir "$K3S_ETC" 0755 root:root; }
registries_write() {
	text=$(registries_text)
	if [ -n "$text" ]; then
		registries_dirs
		printf '%s\n' "$text" | np_file "$K3S_ETC/registries.yaml" 0600 root:root
	elif grep -qs '^# Written by nanopod' "$K3S_ETC/registries.yaml" || [ -s "$REGISTRIES_KEPT" ]; then
		np_absent "$K3S_ETC/registries.yaml" && { ! np_changing || rm -f "$REGISTRIES_KEPT"; }
	fi
}

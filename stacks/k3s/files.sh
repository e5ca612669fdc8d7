# SPDX-License-Identifier: Apache-2.0
# Installs the binary and the images: uploaded, from the airgap folder, or fetched; nothing without a checksum.
FILES_IMAGES=$K3S_DATA/agent/images
FILES_KEPT=$NP_STATE/k3s.bundle

files_arch() {
	case $(uname -m) in
	x86_64) echo amd64 ;;
	aarch64) echo arm64 ;;
	armv7*) echo arm ;;
	*) uname -m ;;
	esac
}
# The binary's name in the release.
files_name() {
	case $(files_arch) in
	amd64) echo k3s ;;
	arm) echo k3s-armhf ;;
	*) echo "k3s-$(files_arch)" ;;
	esac
}
files_from() {
	if [ -n "${S_bundle-}" ]; then
		printf '%s\n' "${NP_UPLOAD-}"
	elif [ -n "${NP_AIRGAP-}" ]; then
		printf '%s\n' "$NP_AIRGAP/k3s"
	fi
}
files_id() {
	if [ -n "${S_bundle-}" ]; then
		printf '%s\n' "${NP_UPLOAD_ID-}"
	elif [ -n "${NP_AIRGAP-}" ]; then
		sha256sum "$NP_AIRGAP"/k3s/SHA256SUMS "$NP_AIRGAP"/k3s/sha256* 2>/dev/null | sha256sum | cut -c1-64
	fi
}

check() {
	have=$(k3s_version)
	if [ -z "$have" ]; then
		np_differs "install k3s $S_version_k3s"
	elif [ "$have" != "$S_version_k3s" ]; then
		np_differs "upgrade k3s from $have to $S_version_k3s"
	elif [ -n "$(files_id)" ] && [ "$(files_id)" != "$(cat "$FILES_KEPT" 2>/dev/null)" ]; then
		np_differs "install k3s and its images from the bundle"
	fi
	for name in kubectl crictl ctr; do
		[ -e "/usr/local/bin/$name" ] || command -v "$name" >/dev/null || np_differs "link /usr/local/bin/$name to k3s"
	done
	return 0
}

apply() {
	np_trace "$K3S" /usr/local/bin/kubectl /usr/local/bin/crictl /usr/local/bin/ctr /etc/rancher /var/lib/rancher /var/lib/kubelet \
		/var/lib/cni /etc/cni /run/flannel /run/k3s /usr/libexec/kubernetes /var/log/pods /var/log/containers || return 1
	from=$(files_from)
	if [ -n "$from" ] && [ -d "$from" ]; then
		files_sums "$from" || return 1
		files_binary "$from/$(files_in "$from")" || return 1
		files_images "$from" || return 1
	elif [ -n "${S_bundle-}" ]; then
		np_fail "the bundle was not uploaded"
		return 1
	else
		files_fetch || return 1
	fi
	for name in kubectl crictl ctr; do
		[ -e "/usr/local/bin/$name" ] || command -v "$name" >/dev/null || { ln -s k3s "/usr/local/bin/$name" && np_did "/usr/local/bin/$name is k3s"; }
	done
	[ -z "$(files_id)" ] || files_id >"$FILES_KEPT"
}

# Every existing file of the list must match its checksum, and every used file must be in the list.
files_sums() {
	sums=
	for name in SHA256SUMS sha256sums "sha256sum-$(files_arch).txt"; do
		[ -z "$sums" ] && [ -s "$1/$name" ] && sums=$1/$name
	done
	[ -n "$sums" ] || {
		np_hint "cd BUNDLE && sha256sum * >SHA256SUMS (or: nanopod provision bundle k3s -d DIR, and its folder DIR/k3s)"
		np_fail "the bundle has no SHA256SUMS"
		return 1
	}
	[ -n "$(files_in "$1")" ] || { np_fail "the bundle has no '$(files_name)' for $(files_arch)"; return 1; }
}
files_in() {
	for name in "$(files_name)" k3s; do
		[ ! -f "$1/$name" ] || { echo "$name"; return; }
	done
}
# files_sum FILE: its checksum in the list.
files_sum() {
	awk -v want="${1##*/}" '{ name = $2; sub(/^\*/, "", name); sub(/.*\//, "", name) } name == want { print $1; exit }' "$sums"
}
# files_put FILE TO MODE HEX: copies it beside the target, checks it there, and renames it.
files_put() {
	mkdir -p "${2%/*}"
	cp "$1" "$2.nanopod" || { rm -f "$2.nanopod"; np_fail "'$2' cannot be written: $(df -h "${2%/*}" | awk 'END { print $4 }') free"; return 1; }
	got=$(sha256sum <"$2.nanopod" | cut -c1-64)
	if [ -z "$4" ] || [ "$got" != "$4" ]; then
		rm -f "$2.nanopod"
		np_fail "'${1##*/}' has another checksum than its list says (${got}${4:+, not $4})"
		return 1
	fi
	chmod "$3" "$2.nanopod" && sync "$2.nanopod"
}
files_binary() {
	if [ -x "$K3S" ] && [ "$(sha256sum <"$K3S" | cut -c1-64)" = "$(files_sum "$1")" ] && [ "$(k3s_version)" = "$S_version_k3s" ]; then
		return 0
	fi
	files_put "$1" "$K3S" 0755 "$(files_sum "$1")" || return 1
	files_turn "$K3S.nanopod"
}
files_turn() {
	is=$(k3s_version "$1")
	if [ "$is" != "$S_version_k3s" ]; then
		rm -f "$1"
		np_hint "--set k3s.version-k3s=${is:-VERSION}"
		np_fail "that file is k3s ${is:-for another machine}, not $S_version_k3s"
		return 1
	fi
	[ ! -e "$K3S" ] || ln -f "$K3S" "$K3S.before" 2>/dev/null
	mv -f "$1" "$K3S" && rm -f "$K3S.before" && np_did "$K3S is $is"
}

# K3s imports images when it starts; a running one gets them at once.
files_images() {
	for image in "$1"/*.tar "$1"/*.tar.gz "$1"/*.tar.zst; do
		[ -f "$image" ] || continue
		case $image in
		*-amd64.tar* | *-arm64.tar* | *-arm.tar*) case $image in *-"$(files_arch)".tar*) ;; *) continue ;; esac ;;
		esac
		to=$FILES_IMAGES/${image##*/}
		[ ! -f "$to" ] || [ "$(sha256sum <"$to" | cut -c1-64)" != "$(files_sum "$image")" ] || continue
		files_put "$image" "$to" 0644 "$(files_sum "$image")" && mv -f "$to.nanopod" "$to" || return 1
		np_did "$to"
		if k3s_active; then
			timeout 600 "$K3S" ctr -n k8s.io images import "$to" || np_say "'${image##*/}' is imported at the next start"
		fi
	done
}

# The node fetches it itself.
files_fetch() {
	command -v curl >/dev/null || {
		np_hint "--set k3s.bundle=DIR, or --airgap DIR"
		np_fail "K3s needs a bundle or curl"
		return 1
	}
	if [ -x "$K3S" ] && [ "$(k3s_version)" = "$S_version_k3s" ]; then return 0; fi
	at=$S_url/$(printf '%s' "$S_version_k3s" | sed 's/+/%2B/g')
	hex=${S_sha256-}
	if [ -z "$hex" ]; then
		sums=$NP_STATE/k3s.sums
		curl -fsSL --retry 3 --max-time 60 -o "$sums" "$at/sha256sum-$(files_arch).txt" || { files_no "$at/sha256sum-$(files_arch).txt"; return 1; }
		hex=$(files_sum "$(files_name)")
		rm -f "$sums"
		np_say "the checksum of k3s is of the release's own list: k3s.sha256 pins it"
	fi
	mkdir -p "${K3S%/*}"
	curl -fsSL --retry 3 --max-time 1500 -o "$K3S.fetched" "$at/$(files_name)" || { rm -f "$K3S.fetched"; files_no "$at/$(files_name)"; return 1; }
	files_put "$K3S.fetched" "$K3S" 0755 "$hex"
	rc=$?
	rm -f "$K3S.fetched"
	[ $rc -eq 0 ] && files_turn "$K3S.nanopod"
}
files_no() {
	np_hint "nanopod provision bundle k3s -d DIR, on a machine with internet; then the same command with --airgap DIR (or --set k3s.bundle=DIR/k3s)"
	np_fail "'$1' cannot be fetched"
}

verify() {
	if [ "$(k3s_version)" = "$S_version_k3s" ]; then np_ok "k3s $S_version_k3s is installed"; else np_bad "k3s is '$(k3s_version)', not $S_version_k3s"; fi
}

# The ledger has the rest (np_trace). Volumes that pods wrote are the user's.
undo() {
	[ ! -d "$K3S_DATA/server/db" ] || np_aside "$K3S_DATA/server" "what the cluster knew, as etcd keeps it"
	[ -z "$(ls -A "$K3S_DATA/storage" 2>/dev/null)" ] || np_kept "$K3S_DATA/storage" "volumes of pods"
	np_keeping "$K3S_DATA" || return 0
	find "$K3S_DATA" -xdev -mindepth 1 -maxdepth 1 ! -name storage ! -name 'server.2*' -exec rm -rf --one-file-system {} +
	return 0
}

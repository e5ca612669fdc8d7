# SPDX-License-Identifier: Apache-2.0
# Sets the package sources: an uploaded folder, a mirror, or the node's own. Undo restores the old ones.

ours=/etc/apt/sources.list.d/nanopod.list

# Sets all other sources aside.
others() {
	np_absent /etc/apt/sources.list
	for file in /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
		[ "$file" = $ours ] || np_absent "$file"
	done
}

codename() { (. /etc/os-release && printf '%s\n' "${VERSION_CODENAME-}"); }
is_ubuntu() { (. /etc/os-release && [ "$ID" = ubuntu ]); }

mirror() {
	name=$(codename) url=${S_mirror%/}
	if is_ubuntu; then
		for suite in "$name" "$name-updates" "$name-security"; do echo "deb $url $suite main universe"; done
	else
		for suite in "$name" "$name-updates"; do echo "deb $url $suite main"; done
		# A mirror has the security archive beside the main one.
		case $url in */debian) echo "deb $url-security $name-security main" ;; esac
	fi
}

is_here() { [ "$(cat "$NP_AIRGAP/.id" 2>/dev/null)" = "${NP_UPLOAD_ID-}" ]; }

# Not every airgap folder has packages: K3s needs none. Before the upload its list of checksums tells.
has_debs() {
	if is_here; then
		[ -d "$NP_AIRGAP/debs" ]
	elif [ -d "${NP_UPLOAD-}" ]; then
		[ -d "$NP_UPLOAD/debs" ]
	elif [ -n "${NP_UPLOAD_SUMS-}" ]; then
		printf '%s\n' "$NP_UPLOAD_SUMS" | grep -q '^[0-9a-f]* [ *]\(\./\)\{0,1\}debs/'
	fi
}

said() { sed -n "s/^$1: //p" "$NP_UPLOAD/bundle" 2>/dev/null | head -n 1; }

# Packages of another release might install and break the node.
fits() {
	arch=$(said arch) release=$(said release)
	# By its path, because busybox has its own dpkg without this option.
	own=$(/usr/bin/dpkg --print-architecture 2>/dev/null)
	if [ -n "$arch" ] && [ -n "$own" ] && [ "$arch" != "$own" ]; then
		np_hint "make the bundle on a machine that is $own"
		np_fail "the airgap folder is for $arch, and this node is $own"
	elif has_debs && [ -n "$release" ] && [ "$release" != "$(codename)" ]; then
		np_hint "nanopod provision bundle … -d DIR --release $(codename)"
		np_fail "the packages of the airgap folder are for '$release', and this node is '$(codename)'"
	fi
}

# The last uploaded folder stays on the node until the next one or undo; "id" tells which it was.
brought() {
	! is_here || return 0
	[ ! -d "${NP_UPLOAD-}" ] || fits || return
	np_note_change
	np_changing || { np_differs "upload packages"; return 0; }
	[ -e "$NP_UPLOAD/bundle" ] || [ -d "$NP_UPLOAD/debs" ] || { np_fail "the airgap folder is not one that 'nanopod provision bundle' made"; return 1; }
	[ ! -e "$NP_UPLOAD/SHA256SUMS" ] || (cd "$NP_UPLOAD" && sha256sum -c SHA256SUMS) >"$np_room/sums" 2>&1 || { grep -v ': OK$' "$np_room/sums"; np_fail "what came is not what the airgap folder's SHA256SUMS says"; return 1; }
	np_trace "$NP_AIRGAP"
	rm -rf "$NP_AIRGAP.new" && mv "$NP_UPLOAD" "$NP_AIRGAP.new" && chown -R root:root "$NP_AIRGAP.new" && chmod -R u=rwX,go=rX "$NP_AIRGAP.new" && rm -rf "$NP_AIRGAP" && mv "$NP_AIRGAP.new" "$NP_AIRGAP" &&
		printf '%s\n' "${NP_UPLOAD_ID-}" >"$NP_AIRGAP/.id" || { np_fail "cannot save the packages$(np_disk "${NP_AIRGAP%/*}")"; return 1; }
	np_did "uploaded packages"
}

want() {
	if [ -n "${S_airgap-}" ]; then
		: "${NP_AIRGAP:=$NP_STATE/airgap}"
		brought || return
		# It has nothing for apt, whose sources stay.
		has_debs || { np_absent $ours; return; }
		echo "deb [trusted=yes] file:$NP_AIRGAP/debs ./" | np_file $ours 0644 root:root
		others
	elif [ -n "${S_mirror-}" ]; then
		mirror | np_file $ours 0644 root:root
		others
	else
		np_absent $ours
	fi
	np_has_changed || return 0
	np_changing || { np_differs "read package lists"; return 0; }
	np_apt_update
}

undo() { [ ! -e $ours ] || rm -f /var/lib/apt/lists/*nanopod* /var/lib/apt/lists/*_debs_*; }

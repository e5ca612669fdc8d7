# SPDX-License-Identifier: Apache-2.0
disks_empty() { [ -z "$(disks_content "$1")" ]; }

# Files of Rook's monitors of an earlier cluster prevent a new one from starting.
disks_rook() {
	[ "$S_kind" = rook-ceph ] || return 0
	[ -e "$DISKS_OURS" ] || [ -z "$(ls -A /var/lib/rook 2>/dev/null)" ] || {
		np_hint "rm -rf /var/lib/rook (it has files of an earlier Ceph of this node)"
		np_fail "'/var/lib/rook' has files of another Ceph"
		return 1
	}
}

disks_keep() { { cat "$DISKS_OURS" 2>/dev/null; disks_of "$NP_HOST"; } | sort -u; }

disks() {
	disks_rook || return 1
	for disks_device in $(disks_of "$NP_HOST"); do
		disks_fit "$disks_device" || return 1
		disks_ours "$disks_device" && continue
		disks_empty "$disks_device" && continue
		if [ "$NP_MODE" = check ]; then
			np_differs "wipe $disks_device, which has $(disks_content "$disks_device") on it"
			continue
		fi
		disks_wipe "$disks_device" || return 1
	done
	[ -z "$(disks_of "$NP_HOST")" ] && [ ! -e "$DISKS_OURS" ] || addon_put disks_keep "$DISKS_OURS" 0600 root:root
}
disks_wipe() {
	disks_may_wipe "$1" || { np_fail "'$1' was not named in 'wipe'"; return 1; }
	for disks_part in $(lsblk -rnpo NAME,TYPE "$(readlink -f "$1")" | awk '$2 == "part" { print $1 }'); do
		wipefs -q -a "$disks_part"
	done
	wipefs -q -a "$1" && blockdev --rereadpt "$1" 2>/dev/null
	np_wait 10 disks_empty "$1" || { np_fail "'$1' could not be wiped: $(disks_content "$1")"; return 1; }
	np_did "wiped $1"
}
check() { disks; }
apply() { disks; }
undo() {
	for disks_device in $(cat "$DISKS_OURS" 2>/dev/null); do np_kept "$disks_device" "what is on it"; done
	[ "$S_kind" != rook-ceph ] || np_kept /var/lib/rook "the keys of its Ceph"
}

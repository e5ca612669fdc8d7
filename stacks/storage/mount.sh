# SPDX-License-Identifier: Apache-2.0
# A systemd unit, or a line of fstab without systemd. It waits for a server that is down, and does not delay a boot.
mount_source() { printf '%s:%s' "$(storage_host "$(np_address "$(storage_server)")")" "$S_path"; }
mount_unit() { printf '%s.mount' "$(systemd-escape -p "$S_mount")"; }
mount_is() { [ "$(storage_source)" = "$(mount_source)" ]; }
# The source that nanopod wrote down before: the server may have another address now.
mount_had() {
	if np_systemd; then sed -n 's/^What=//p' "/etc/systemd/system/$(mount_unit)" 2>/dev/null; else
		sed -n '/^# nanopod storage begin$/,/^# nanopod storage end$/ { /^#/!s/ .*//p }' /etc/fstab
	fi
}
mount_ours() { mount_is || { mount_old=$(mount_had) && [ -n "$mount_old" ] && [ "$(storage_source)" = "$mount_old" ]; }; }

mount_text() {
	cat <<-END
		# Written by nanopod (storage).
		[Unit]
		Description=Files of the cluster $NP_CLUSTER
		Wants=network-online.target
		After=network-online.target
		[Mount]
		What=$(mount_source)
		Where=$S_mount
		Type=nfs4
		Options=$S_options,_netdev
		TimeoutSec=60
		[Install]
		WantedBy=multi-user.target
	END
}
mount_line() { printf '%s %s nfs4 %s,_netdev,nofail 0 0\n' "$(mount_source)" "$(printf '%s' "$S_mount" | sed 's/ /\\040/g')" "$S_options"; }

mount_up() {
	[ "$NP_MODE" = apply ] || { mount_is || np_differs "mount $S_mount"; return 0; }
	if [ -n "$np_changed" ] && storage_mounted; then umount "$S_mount" || { np_fail "'$S_mount' is in use and cannot be mounted anew"; return 1; }; fi
	mount_is || mount "$S_mount" || { np_fail "'$(mount_source)' cannot be mounted"; return 1; }
	np_did "mount $S_mount"
}

share() {
	[ "$(storage_server)" != "$NP_HOST" ] || { share_here; return; }
	storage_path_fits "$S_mount" && storage_free mount_ours || return 1
	storage_kernel nfs4 nfs || { np_fail "the kernel of '$NP_HOST' cannot mount NFS (it has no module 'nfs'): is it a container?"; return 1; }
	np_trace /var/lib/nfs
	np_packages nfs-common || return 1
	# The mode of a mounted folder comes from the server.
	storage_mounted || np_dir "$S_mount" 0755 root:root
	if ! np_systemd; then
		np_rooms && mount_line >"$np_room/fstab" && np_block /etc/fstab storage <"$np_room/fstab" && mount_up
		return
	fi
	addon_put mount_text "/etc/systemd/system/$(mount_unit)" 0644 root:root || return 1
	np_restart "$(mount_unit)" && np_unit "$(mount_unit)" || {
		np_cause "'$(mount_source)' cannot be mounted: does the server answer on port 2049?"
		return 1
	}
}
# On the server, links the mount point to the folder if they differ.
share_here() {
	[ "$S_mount" != "$S_path" ] || return 0
	[ -L "$S_mount" ] && [ "$(readlink "$S_mount")" = "$S_path" ] && return 0
	[ ! -e "$S_mount" ] || { np_fail "'$S_mount' already exists on the server, whose files are in '$S_path'"; return 1; }
	np_changing || { np_differs "link $S_mount to $S_path"; return 0; }
	np_parents "${S_mount%/*}" && np_ledger file "$S_mount" absent && ln -s "$S_path" "$S_mount" && np_did "link $S_mount to $S_path"
}
check() { share; }
apply() { share; }

verify() {
	if [ "$(storage_server)" != "$NP_HOST" ] && ! mount_is; then
		np_hint "systemctl status $(mount_unit); mount $S_mount"
		np_bad "'$S_mount' is not mounted from '$(storage_server)'"
		return 1
	fi
	storage_writable
}
undo() {
	! storage_mounted || mount_ours || return 0
	! np_systemd || [ "$(storage_server)" = "$NP_HOST" ] || systemctl stop "$(mount_unit)" 2>/dev/null
	storage_off mount_ours
}

# SPDX-License-Identifier: Apache-2.0
# A systemd unit, or a line of fstab without systemd. It waits for a server that is down, and does not delay a boot.
mount_source() { printf '%s:%s' "$(storage_host "$(np_address "$(storage_server)")")" "$S_path"; }
mount_unit() { printf '%s.mount' "$(systemd-escape -p "$S_mount")"; }
mount_is() { [ "$(findmnt -rn -o SOURCE --mountpoint "$S_mount" 2>/dev/null | tail -n 1)" = "$(mount_source)" ]; }
mount_anything() { findmnt -rn --mountpoint "$S_mount" >/dev/null 2>&1; }

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

mount_free() {
	[ -d "$S_mount" ] || return 0
	mount_anything || [ -z "$(ls -A "$S_mount" 2>/dev/null)" ] || {
		np_hint "move the files out of '$S_mount', or set storage.mount to another folder"
		np_fail "'$S_mount' has files, which a mount would hide"
		return 1
	}
	! mount_anything || mount_is || [ "$NP_MODE" = apply ] || np_say "'$S_mount' has another file system mounted now"
}

mount_up() {
	[ "$NP_MODE" = apply ] || { mount_is || np_differs "mount $S_mount"; return 0; }
	if [ -n "$np_changed" ] && mount_anything; then umount "$S_mount" || { np_fail "'$S_mount' is in use and cannot be mounted anew"; return 1; }; fi
	mount_is || mount "$S_mount" || { np_fail "'$(mount_source)' cannot be mounted"; return 1; }
	np_did "mount $S_mount"
}

share() {
	[ "$(storage_server)" != "$NP_HOST" ] || { share_here; return; }
	storage_path_fits "$S_mount" && mount_free || return 1
	storage_kernel nfs4 nfs || { np_fail "the kernel of '$NP_HOST' cannot mount NFS (it has no module 'nfs'): is it a container?"; return 1; }
	np_trace /var/lib/nfs
	np_packages nfs-common || return 1
	# The mode of a mounted folder comes from the server.
	mount_anything || np_dir "$S_mount" 0755 root:root
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

share_try() {
	# Others may write there too, so use an unpredictable name and follow no link.
	share_file=$S_mount/.nanopod-$(od -An -tx1 -N 8 /dev/urandom | tr -d ' \n')
	(set -C; echo "$NP_HOST" >"$share_file") && [ "$(cat "$share_file")" = "$NP_HOST" ]
	share_status=$?
	rm -f "$share_file"
	return $share_status
}
verify() {
	if [ "$(storage_server)" != "$NP_HOST" ] && ! mount_is; then
		np_hint "systemctl status $(mount_unit); mount $S_mount"
		np_bad "'$S_mount' is not mounted from '$(storage_server)'"
		return 1
	fi
	if share_try; then np_ok "a file can be written to '$S_mount' and read"; else
		np_hint "ls -ld $S_mount; mount | grep $S_mount"
		np_bad "nothing can be written to '$S_mount'"
	fi
}
undo() {
	! np_systemd || [ "$(storage_server)" = "$NP_HOST" ] || systemctl stop "$(mount_unit)" 2>/dev/null
	! mount_anything || umount "$S_mount" || { np_fail "'$S_mount' is in use and cannot be unmounted"; return 1; }
}

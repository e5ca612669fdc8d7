# SPDX-License-Identifier: Apache-2.0
# Exports the folder to members only, each by its address.
SERVER_EXPORTS=/etc/exports.d/nanopod.exports

server_exports() {
	echo "# Written by nanopod (storage)."
	storage_quote "$S_path"
	for server_host in $(np_members nodes); do
		[ "$server_host" = "$NP_HOST" ] || printf ' %s(%s)' "$(np_address "$server_host")" "$S_export"
	done
	echo
}

# The folder's contents are the user's; an existing folder keeps its mode.
server_folder() {
	[ ! -d "$S_path" ] || return 0
	np_dir "$S_path" "0$S_mode" root:root data
}
server_exported() { exportfs -s 2>/dev/null | grep -qF -e "$S_path "; }

server() {
	storage_path_fits "$S_path" || return 1
	storage_kernel nfsd nfsd || {
		np_hint "choose another server: --role storage.server=NODE"
		np_fail "the kernel of '$NP_HOST' has no NFS server (no module 'nfsd'): is it a container?"
		return 1
	}
	np_trace /var/lib/nfs
	np_packages nfs-kernel-server || return 1
	server_folder
	addon_put server_exports "$SERVER_EXPORTS" 0644 root:root || return 1
	if [ "$NP_MODE" = check ]; then
		server_alone || [ ! -e "$SERVER_EXPORTS" ] || server_exported || np_differs "export '$S_path'"
	else
		server_alone || server_export || return 1
	fi
	np_unit nfs-server
}
server_alone() { [ "$(np_members nodes | wc -l)" -le 1 ]; }
# Before the server starts, exportfs names a wrong option; the unit would only fail.
server_export() {
	[ -n "$np_changed" ] || ! server_exported || return 0
	exportfs -ra 2>"$np_room/exportfs"
	cat "$np_room/exportfs"
	if ! server_exported || grep -qF -e "$SERVER_EXPORTS:" "$np_room/exportfs"; then
		np_fail "'$S_path' cannot be exported: $(grep . "$np_room/exportfs" | head -n 1)"
		return 1
	fi
	np_did "export $S_path to $(($(np_members nodes | wc -l) - 1)) nodes"
}
check() { server; }
apply() { server; }
verify() {
	np_unit nfs-server
	! server_alone || return 0
	if server_exported; then np_ok "'$S_path' is exported to the members"; else
		np_hint "exportfs -v"
		np_bad "'$S_path' is not exported"
	fi
	if exportfs -s 2>/dev/null | grep -F -e "$S_path " | grep -q '[*]('; then np_bad "'$S_path' is exported to everybody"; fi
}
# Undo keeps the files.
undo() {
	rm -f "$SERVER_EXPORTS"
	! command -v exportfs >/dev/null || exportfs -ra
	[ -z "$(ls -A "$S_path" 2>/dev/null)" ] || np_kept "$S_path" "the files of the cluster"
}

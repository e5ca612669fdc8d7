# SPDX-License-Identifier: Apache-2.0
# Jobs in containers: `srun --container FOLDER`, where FOLDER is an OCI bundle (config.json and rootfs). Slurm runs it as the
# job's user, by bubblewrap: without root, without a daemon, and where no file system of a process list can be mounted anew.

run=/usr/local/bin/nanopod-container

program() {
	cat <<'.'
#!/bin/sh
# Written by nanopod. nanopod-container ROOTFS BUNDLE COMMAND…: runs it with that root, and this node's devices, network and
# homes. Slurm 22.05 hands on no command and no environment, but writes them into its copy of the bundle.
root=$1 config=$2/config.json
shift 2
[ $# -gt 0 ] || eval "set -- $(jq -r '.process.args | @sh' "$config")
	$(jq -r '.process.env[]? | capture("^(?<name>[A-Za-z_][A-Za-z_0-9]*)=(?<text>.*)$"; "s") | "export \(.name)=\(.text | @sh)"' "$config")"
set -- -- "$@"
[ -d "$root" ] || { echo "nanopod-container: no folder '$root' on $(hostname)" >&2; exit 1; }
for at in /home /shared /srv /mnt; do ! { [ -d "$root$at" ] && [ -d $at ]; } || set -- --bind $at $at "$@"; done
for at in resolv.conf hosts passwd group; do ! [ -f "$root/etc/$at" ] || set -- --ro-bind /etc/$at /etc/$at "$@"; done
# Where it was submitted, if that is there.
in=${SLURM_SUBMIT_DIR:-/}
case $in in
/tmp|/tmp/*) ;;
/home/*|/shared/*|/srv/*|/mnt/*) at=${in#/}; [ -d "$root/${at%%/*}" ] || in=/ ;;
*) in=/ ;;
esac
exec /usr/bin/bwrap --bind "$root" / --dev-bind /dev /dev --bind /proc /proc --ro-bind /sys /sys --tmpfs /run --bind /tmp /tmp --chdir "$in" "$@"
.
}

want() {
	np_packages bubblewrap jq
	program | np_file $run 0755 root:root
	# Slurm before 23.02 does not bring this file to its workers.
	oci_conf | np_file /var/lib/slurm/slurmd/conf-cache/oci.conf 0644 root:root
}

verify() {
	if timeout 20 $run / / true; then np_ok "containers start"; else np_bad "containers do not start: may people make user namespaces here?"; fi
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stacks/storage: exports and mounts of NFS, a bucket's unit and key, values of Rook's charts, and which disks are refused. No
# disk is touched: disks are files, and what looks at them is a double where a real one would need a device.
. "$(dirname "$0")/../lib/tap.sh"
need jq dash
. "$SRC/tests/stacks/addons.sh"
MANIFEST=$BUILD/tests/stacks/manifest KINDS=$SRC/tests/stacks/schema/kinds.json

# ---- NFS ----
addon_table "n1 10.0.0.1 storage.server,storage.nodes" "n2 10.0.0.2 storage.nodes" "n3 fd00::3 storage.nodes"
is "$(addon storage server server_exports)" '# Written by nanopod (storage).
/srv/nanopod 10.0.0.2(rw,sync,no_subtree_check,root_squash) fd00::3(rw,sync,no_subtree_check,root_squash)' "only members may mount it, each by its own address"
is "$(addon storage server server_exports 'S_path=/srv/my files' | sed -n 2p | cut -d ' ' -f 1,2)" '"/srv/my files"' "a path with a blank is quoted"
is "$(addon storage server 'storage_path_fits /etc/x; echo $?; storage_path_fits relative; echo $?; storage_path_fits /a/../etc; echo $?; storage_path_fits /srv/x; echo $?' | tr '\n' ' ')" "1 1 1 0 " "the system's folders, and what is no whole path, are refused"
addon_node n2
addon storage mount mount_text >"$TMP/srv-nanopod.mount"
is "$(grep -E '^(What|Where|Type|Options)=' "$TMP/srv-nanopod.mount")" "What=10.0.0.1:/srv/nanopod
Where=/srv/nanopod
Type=nfs4
Options=vers=4.2,hard,noatime,_netdev" "a mount unit, by the server's address"
if have systemd-analyze; then ok "systemd: the unit is right" sh -c "systemd-analyze verify '$TMP/srv-nanopod.mount' 2>&1 | { ! grep -i 'srv-nanopod.*\(unknown\|invalid\|fail\|error\)'; }"; else skip "'systemd-analyze' is not installed"; fi
is "$(addon storage mount mount_unit S_mount=/home/all-users)" 'home-all\x2dusers.mount' "named as systemd wants it"
is "$(addon storage mount mount_line 'S_mount=/srv/a b')" '10.0.0.1:/srv/nanopod /srv/a\040b nfs4 vers=4.2,hard,noatime,_netdev,nofail 0 0' "a line of fstab without systemd"
# What is mounted at its place: another's, its own, or its own of a server that had another address.
printf '/dev/sda1 / ext4 defaults 0 1\n# nanopod storage begin\n10.9.9.9:/old %s nfs4 hard 0 0\n# nanopod storage end\n' "$TMP/nfs" >"$TMP/fstab"
mkdir "$TMP/nfs"
nfs() (
	dash() { unshare -m --propagation private dash "$@"; }
	addon storage mount "mount -t tmpfs $1 '$TMP/nfs' && mount --bind '$TMP/fstab' /etc/fstab || exit
		np_systemd() { return 1; }; NP_MODE=apply; storage_free mount_ours && echo begins; undo; mountpoint -q '$TMP/nfs' && echo stays" "S_mount=$TMP/nfs" | tr '\n' ' '
)
if unshare -m true 2>/dev/null; then
	is "$(nfs theirs)" "stays " "what another has mounted there stays, and nothing is mounted over it"
	like "$(addon_records)" "'$TMP/nfs' has another file system mounted" "which is said"
	is "$(nfs 10.0.0.1:/srv/nanopod) $(nfs 10.9.9.9:/old)" "begins  begins " "its own goes, also of a server that had another address"
else
	skip "mounts need root"
fi

# ---- S3 ----
s3() { addon storage s3 "$1" S_kind=s3 S_bucket=train S_credentials=/x "S_endpoint=http://10.0.0.9:9000" "${@:2}"; }
s3 s3_unit S_mount=/srv/bucket >"$TMP/nanopod-s3.service"
like "$(cat "$TMP/nanopod-s3.service")" '^ExecStart=/usr/bin/s3fs train /srv/bucket -f -o passwd_file=/etc/nanopod-s3.key,fsname=nanopod-s3,subtype=s3fs,allow_other,mp_umask=0022,endpoint=us-east-1,.*,url=http://10.0.0.9:9000,use_path_request_style$' "a bucket is mounted by a service, which reads its key from a file"
like "$(cat "$TMP/nanopod-s3.service")" 'kill -0 ..MAINPID' "and ends at once where s3fs does"
# What the unit runs before and after s3fs, with somebody else's mount, and with its own.
off() { s3 s3_unit "S_mount=$TMP/bucket" | sed -n "s/^Exec$1=-\{0,1\}//p" | sed 's/\$\$/$/g'; }
mkdir "$TMP/bucket"
mounted() {
	unshare -m --propagation private sh -c "mount -t tmpfs $1 '$TMP/bucket' || exit
		($(off StartPre)) >/dev/null; echo begins=\$?; ($(off StopPost)); mountpoint -q '$TMP/bucket'; echo mounted=\$?" 2>&1 | tr '\n' ' '
}
if unshare -m true 2>/dev/null; then
	is "$(mounted theirs)" "begins=1 mounted=0 " "what another has mounted there stays, and the bucket is not mounted over it"
	is "$(mounted nanopod-s3)" "begins=0 mounted=32 " "what it left there itself goes"
else
	skip "mounts need root"
fi
printf '# mine\nAKIA1:se/cr+et=\n' >"$TMP/plain"
printf '[other]\r\naws_access_key_id=x\naws_secret_access_key=y\n[default]\n aws_access_key_id = AKIA2\n aws_secret_access_key = a+b/c=\n' >"$TMP/aws"
printf '[one]\naws_access_key_id=AKIA3\naws_secret_access_key=z\n[two]\naws_access_key_id=x\naws_secret_access_key=y\n' >"$TMP/named"
printf 'nothing of the kind\n' >"$TMP/none"
is "$(for f in plain aws named none; do s3 "s3_key $TMP/$f"; done)" 'AKIA1:se/cr+et=
AKIA2:a+b/c=
AKIA3:z' "a key in either form; the default profile, else the first"
refused() { s3 s3_fits "$1" >/dev/null && return 1; addon_records | sed -n 's/^NP.cause.//p'; }
is "$(refused S_bucket=)" "the setting 'storage.bucket' is missing: which bucket?" "without a bucket it is refused"
is "$(refused S_credentials=)" "the setting 'storage.credentials' is missing: a file with the key of the bucket" "without a key, too"
is "$(refused S_endpoint=s3.example.com)" "'s3.example.com' is not the URL of an S3 server" "and an endpoint that is no URL"
is "$(refused S_s3fs=passwd_file=/root/x)" "the setting 's3fs' must not say the key, or the URL" "the key has one place"
like "$(refused 'S_region=a b')$(refused 'S_mount=/srv/a b')$(refused 'S_bucket=a b')" "take letters.*mount point of S3.*not the name of a bucket" "nothing that a unit would part into words"

# ---- Disks ----
D1=/dev/disk/by-id/nvme-A D2=/dev/disk/by-id/nvme-B
look="disks_content() { case \$1 in *-A) echo ext4 ;; *-C) echo ceph_bluestore ;; *-D) echo mounted:/srv ;; esac; }; DISKS_OURS=$TMP/ours"
disk() {
	# The question whether it is a device is the one thing that is left out.
	addon storage disks "$look
$(sed -n '/^disks_fit()/,/^}/p' "$SRC/stacks/storage/disks.inc" | sed '/\[ -b "\$1" \]/d')
disks_fit $1" S_kind=rook-ceph "S_wipe=${2-}" >/dev/null
}
not_ok "a name that may be another disk after a boot is refused" disk /dev/sdb
like "$(addon_records)" "cause.*'/dev/sdb' is not a stable name" "and why"
not_ok "a disk with something on it is refused" disk $D1
like "$(addon_records)" "cause.*'$D1' is not empty .ext4., and nanopod wipes it only if you name it" "and why"
like "$(addon_records)" "hint.*--set storage.wipe=$D1" "and what to type"
ok "unless it is named" disk $D1 "$D2 $D1"
not_ok "a name that is only like it is not enough" disk $D1 "${D1}1"
ok "an empty one is taken" disk $D2
not_ok "one that is mounted is refused even where it is named" disk /dev/disk/by-id/nvme-D /dev/disk/by-id/nvme-D
not_ok "one of another Ceph is refused" disk /dev/disk/by-id/nvme-C
echo /dev/disk/by-id/nvme-C >"$TMP/ours"
ok "one that we gave to this Ceph is ours" disk /dev/disk/by-id/nvme-C
# What is on it, by the real wipefs, on a file.
if have mkfs.ext4 && have wipefs; then
	truncate -s 8M "$TMP/disk" && mkfs.ext4 -q -F "$TMP/disk"
	is "$(addon storage disks "disks_content $TMP/disk")" "ext4" "a file system is seen"
	truncate -s 0 "$TMP/disk"; truncate -s 8M "$TMP/disk"
	is "$(addon storage disks "disks_content $TMP/disk")" "" "and nothing where nothing is"
else
	skip "'mkfs.ext4' or 'wipefs' is not installed"
fi

# ---- Rook ----
addon_table "n1 10.0.0.1 k3s.servers,storage.nodes" "n2 10.0.0.2 k3s.agents,storage.nodes" "n3 10.0.0.3 k3s.agents,storage.nodes"
devices="S_devices=n1 n2 n3"
addon storage rook rook_cluster "$devices" "S_devices_n1=$D1 $D2" S_devices_n2=$D1 S_devices_n3=$D1 S_kind=rook-ceph >"$TMP/m.yaml"
ok "the cluster's chart fits" "$MANIFEST" "$KINDS" "$TMP/m.yaml"
values=$("$MANIFEST" --values rook-ceph-cluster "$KINDS" "$TMP/m.yaml")
is "$(printf '%s' "$values" | jq -c .cephClusterSpec.storage)" \
	'{"nodes":[{"devices":[{"name":"/dev/disk/by-id/nvme-A"},{"name":"/dev/disk/by-id/nvme-B"}],"name":"n1"},{"devices":[{"name":"/dev/disk/by-id/nvme-A"}],"name":"n2"},{"devices":[{"name":"/dev/disk/by-id/nvme-A"}],"name":"n3"}],"useAllDevices":false,"useAllNodes":false}' "only the disks that were named"
is "$(printf '%s' "$values" | jq -c '[.cephClusterSpec.mon.count, .cephClusterSpec.mgr.count, .cephClusterSpec.cleanupPolicy.confirmation, .cephObjectStores[0].spec.gateway.instances, .cephObjectStores[0].spec.preservePoolsOnDelete]')" '[3,2,"",2,true]' "three monitors, two gateways of S3, and nothing is deleted with the cluster"
is "$(addon storage rook rook_cluster "$devices" S_devices_n1=$D1 S_s3=no S_filesystem=no >"$TMP/m.yaml"; "$MANIFEST" --values rook-ceph-cluster "$KINDS" "$TMP/m.yaml" | jq -c '[.cephObjectStores, .cephFileSystems]')" '[[],[]]' "without S3 and files: none, where the chart would make some"
addon storage rook rook_operator >"$TMP/m.yaml"
ok "the operator's chart fits" "$MANIFEST" "$KINDS" "$TMP/m.yaml"
addon storage rook rook "$devices" S_devices_n1=$D1 >/dev/null
like "$(addon_records)" 'cause.*3 copies need as many nodes with disks, but there are 1' "more copies than nodes are refused"
addon storage rook rook >/dev/null
like "$(addon_records)" 'cause.*Ceph needs at least one disk' "no disk is an error, never all disks"
addon_table "n1 10.0.0.1 storage.nodes"
addon storage rook rook >/dev/null
like "$(addon_records)" 'cause.*Rook needs K3s' "without K3s it is refused"

# ---- MinIO ----
addon_table "n1 10.0.0.1 storage.server,storage.nodes" "n2 fd00::2 storage.nodes"
is "$(addon storage minio minio_volumes "S_devices=n1 n2" "S_devices_n1=$D1 $D2" "S_devices_n2=$D1")" \
	"http://10.0.0.1:9000/srv/minio1/data http://10.0.0.1:9000/srv/minio2/data http://[fd00::2]:9000/srv/minio1/data " "every disk is named, host names need not count up"
addon storage minio minio >/dev/null
like "$(addon_records)" "cause.*MinIO's binary is missing: its community edition has none any more" "the user brings the binary"
addon storage minio minio S_minio=/x "S_devices=n1" "S_devices_n1=$D1" >/dev/null
like "$(addon_records)" 'cause.*needs at least 4 disks, but you named 1' "too few disks are said before anything is done"
addon storage minio-key check >/dev/null
like "$(addon_records)" "differs.make MinIO's credentials" "its credentials are made on the node"
is "$(addon storage minio-key minio_pair | grep -cE '^nanopod[0-9a-f]{8} [0-9a-f]{48}$')" 1 "random ones"
done_testing

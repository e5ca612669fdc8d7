#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stacks/storage on two real nodes: NFS up to what the kernel does, which in nodes of the driver ns has none: the packages,
# exports and exportfs are real, the kernel's part and its mount are a DOUBLE. MinIO with a DOUBLE of its binary, which
# listens and speaks the health address. Data stay when it is undone. A bucket by the real s3fs, of the server that NANOPOD_S3
# names (npm's s3rver, which verifies signatures), else of a DOUBLE.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-} TEST_S3=${NANOPOD_S3-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/stacks/addons-ns.sh"
ns_begin 2
ns_roles storage.server,storage.nodes storage.nodes
if in_node train-1 'grep -qw nfsd /proc/filesystems || modprobe -n -q nfsd'; then
	skip "this kernel has an NFS server" 2
else
	ns_step check storage server train-1
	like "$said" "^NP.cause.the kernel of 'train-1' has no NFS server" "a node without NFS in its kernel is no server, and the plan says so"
	ns_step apply storage mount train-2
	like "$said" "^NP.cause.the kernel of 'train-2' cannot mount NFS" "nor mounts it one"
	ns_step undo storage mount train-2
fi

# The kernel's part: a modprobe that says yes, nfs-server without nfsd, a mount.nfs4 that mounts memory.
on_nodes 'printf "#!/bin/sh\n" >/usr/local/sbin/modprobe
	dpkg-divert --quiet --local --rename --add /sbin/mount.nfs4
	printf "#!/bin/sh\nexec mount -i -t tmpfs -o size=64k \"\$1\" \"\$2\"\n" >/sbin/mount.nfs4
	printf "[Unit]\nDescription=DOUBLE of nfsd\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStartPre=/usr/sbin/exportfs -r\nExecStart=/bin/true\nExecStop=/usr/sbin/exportfs -au\n[Install]\nWantedBy=multi-user.target\n" >/etc/systemd/system/nfs-server.service
	chmod 755 /usr/local/sbin/modprobe /sbin/mount.nfs4; systemctl daemon-reload'
pictures before
# Packages come on both at once.
ns_run apply storage mount train-2 >"$TMP/early" &
ns_early=$!
ns_step apply storage server train-1 S_export=rw,nonsense
wait $ns_early
like "$said" "^NP.cause.'/srv/nanopod' cannot be exported: .*nonsense" "an option that exportfs does not know is told in its words"
ns_apply storage server -- train-1
is "$(in_node train-1 'exportfs -s')" "/srv/nanopod  ${ns_address[2]}(sync,wdelay,hide,no_subtree_check,sec=sys,rw,root_squash,no_all_squash)" "the real exportfs has it, for the other node alone"
is "$(in_node train-1 'stat -c "%a %U:%G" /srv/nanopod')" "1777 root:root" "the folder is for everybody, as /tmp is"
ns_apply storage mount -- train-1 train-2
is "$(in_node train-2 'findmnt -rn -o SOURCE /srv/nanopod; systemctl is-enabled srv-nanopod.mount')" "${ns_address[1]}:/srv/nanopod
enabled" "a mount unit has it on the other node, also after a boot (DOUBLE of NFS)"
ns_verified storage 'server mount' train-1
ns_verified storage mount train-2
# A link of a user's where root tries to write.
in_node train-1 'for i in $(seq 1 400); do ln -s /root/planted /srv/nanopod/.nanopod-train-1.$i; done; sysctl -q -w fs.protected_symlinks=0 2>/dev/null; true'
ns_verified storage mount train-1
ok "a link in a folder that all may write is not followed" in_node train-1 '! test -e /root/planted && rm -f /srv/nanopod/.nanopod-train-1.*'
in_node train-2 'systemctl stop srv-nanopod.mount'
ns_step verify storage mount train-2
like "$said" "^NP.bad.'/srv/nanopod' is not mounted from 'train-1'" "what is not mounted is found"
ns_step check storage mount train-2
like "$said" '^NP.differs.start srv-nanopod.mount' "and the plan would mount it"
ns_step check storage server train-1 S_export=ro,sync,no_subtree_check
like "$said" '^NP.differs.change /etc/exports.d/nanopod.exports' "other options are a difference"
in_node train-1 'echo data >/srv/nanopod/file'
ns_run undo storage mount train-2 >"$TMP/late" &
ns_late=$!
ns_step undo storage mount train-1
ns_step undo storage server train-1
like "$said" '^NP.left./srv/nanopod: the files of the cluster' "undo leaves the files, and says so"
wait $ns_late
ok "the other node's mount is undone" grep -q '^NP.done.0$' "$TMP/late"
is "$(in_node train-1 'cat /srv/nanopod/file && rm -r /srv/nanopod; cat /var/lib/nfs/etab 2>/dev/null')" data "they are there, and exported no more"

# ---- MinIO ---------------------------------------------------------------------------------------------------------------
mkdir "$TMP/minio"
cat >"$TMP/minio/minio" <<'END'
#!/usr/bin/perl
# DOUBLE of MinIO for tests: listens, keeps a file in its volume, and says that it is healthy unless there is a file 'sick'.
use IO::Socket::INET;
$| = 1;
die "no credentials\n" unless length($ENV{MINIO_ROOT_PASSWORD} // '') >= 8 && shift eq 'server';
my %o; while (@ARGV && $ARGV[0] =~ /^--(\S+)/) { $o{$1} = $ARGV[1]; splice @ARGV, 0, 2 }
open my $f, '>', "$ARGV[0]/format.json" or die "$ARGV[0]: $!\n"; print $f "{}\n"; close $f;
my $l = IO::Socket::INET->new(LocalAddr => $o{address}, Listen => 8, ReuseAddr => 1) or die "$o{address}: $!\n";
while (my $s = $l->accept) { my $q = <$s>; print $s 'HTTP/1.0 ' . ($q =~ m{^GET /minio/health/} && !-e "$ARGV[0]/sick" ? '200 OK' : '503 DOUBLE') . "\r\n\r\n"; close $s }
END
minio=(S_kind=minio S_minio=/x NP_UPLOAD=/run/minio NP_UPLOAD_ID=abc)
ns_roles storage.server,storage.nodes ''
in_node_stdin train-1 'mkdir /run/minio && cat >/run/minio/minio' <"$TMP/minio/minio"
ns_step apply storage minio-key train-1 "${minio[@]}"
printf '%s\n' "$said" | sed -n 's/^NP.give.minio-key.//p' | base64 -d >"$TMP/key"
is "$(grep -cE '^nanopod[0-9a-f]{8} [0-9a-f]{48}$' "$TMP/key")" 1 "MinIO's credentials are made on the node"
hash=$(printf '%s\n' "$said" | sed -n 's/^NP.hash.minio-key.//p' | head -n 1)
ns_apply storage minio-key "${minio[@]}" -- train-1
ns_apply storage minio "${minio[@]}" NP_TAKEN="$TMP/key" NP_TAKEN_HASH="$hash" -- train-1
read -r _ secret <"$TMP/key"
unlike "$(cat "$TMP/log.train-1" "$TMP/apply.train-1")" "$secret" "the password is in no log and no record"
is "$(in_node train-1 'stat -c "%a %U" /etc/nanopod-minio.key /etc/default/minio | sort -u; systemctl show -p User --value minio; stat -c "%a %U" /srv/minio1 /srv/minio1/data')" "600 root
minio-user
755 root
750 minio-user" "what is secret is root's alone, the program runs as its own user, below a folder of root's"
ok "the password is in nobody's argv" in_node_stdin train-1 'read -r s; ! grep -aqsF -e "$s" /proc/[0-9]*/cmdline' <<<"$secret"
ns_verified storage minio train-1 "${minio[@]}"
in_node train-1 'touch /srv/minio1/data/sick'
ns_run verify storage minio train-1 "${minio[@]}" S_health_wait=1 >"$TMP/sick"
like "$(cat "$TMP/sick")" '^NP.bad.MinIO does not say that its cluster is healthy' "one that is not healthy is found (DOUBLE of MinIO)"
in_node train-1 'rm /srv/minio1/data/sick; systemctl stop minio'
ns_step check storage minio train-1 "${minio[@]}" NP_TAKEN_HASH="$hash"
like "$said" '^NP.differs.start minio' "one that stopped would be started"
ns_step undo storage minio train-1 "${minio[@]}"
like "$said" '^NP.left./srv/minio1: the objects in it' "undo leaves the objects, and says so"
ns_undo storage minio-key train-1 "${minio[@]}"
is "$(in_node train-1 'ls /srv/minio1/data && rm -r /srv/minio1 /run/minio')" format.json "they are there"

# ---- S3 ------------------------------------------------------------------------------------------------------------------
# Nodes of the driver ns have no /dev/fuse: a file system that its owner never answers for could not be killed.
if in_node train-1 'test -w /dev/fuse' && in_node train-2 'test -w /dev/fuse'; then
ns_roles storage.server,storage.nodes storage.nodes
s3_is='DOUBLE of S3' s3_server=(python3 "$SRC/tests/lib/s3double.py")
[ -z "$TEST_S3" ] || s3_is=${TEST_S3##*/} s3_server=("$TEST_S3")
mkdir "$TMP/objects"
nsenter -t "$(node_init train-1)" -n "${s3_server[@]}" -d "$TMP/objects" -a "${ns_address[1]}" -p 4568 --configure-bucket train >"$TMP/s3.log" 2>&1 &
s3_pid=$!
at_exit '[ -z "$s3_pid" ] || kill $s3_pid 2>/dev/null'
s3_up() { in_node train-2 "bash -c '</dev/tcp/${ns_address[1]}/4568'"; }
ok "(a server of S3 in the nodes' network: $s3_is)" wait_for 30 s3_up
s3=(S_kind=s3 "S_endpoint=http://${ns_address[1]}:4568" S_bucket=train S_credentials=/x S_mount=/srv/bucket NP_UPLOAD=/run/s3 NP_UPLOAD_ID=1)
key() { on_nodes "mkdir -p /run/s3; printf '[other]\naws_access_key_id = x\naws_secret_access_key = y\n[default]\naws_access_key_id = $1\naws_secret_access_key = $2\n' >/run/s3/credentials"; }
ns_step check storage s3 train-2 "${s3[@]}"
like "$said" '^NP.differs.install package s3fs' "plan: what mounts the bucket"
like "$said" '^NP.differs.write /etc/nanopod-s3.key' "and its key, without a line of it"
key WRONG wrong
ns_step apply storage s3 train-2 "${s3[@]}"
like "$said" "^NP.cause.the bucket 'train' cannot be mounted: .*[^?]$" "a wrong key fails the step, with what s3fs said ($s3_is)"
diag "$(grep cause <<<"$said")"
key S3RVER S3RVER
ns_apply storage s3 "${s3[@]}" -- train-1 train-2
is "$(on_nodes 'stat -c "%a %U" /etc/nanopod-s3.key; cat /etc/nanopod-s3.key; ls -A /run/s3; systemctl is-enabled nanopod-s3; findmnt -rn -o FSTYPE /srv/bucket' | sort | uniq -c | sed 's/^ *//')" "2 600 root
2 S3RVER:S3RVER
2 enabled
2 fuse.s3fs" "the key is root's alone, what was uploaded is gone; the bucket is mounted, also after a boot"
ok "the secret is in nobody's argv, nor in a record or log" sh -c "! cat '$TMP'/apply.train-? '$TMP'/log.train-? | grep -q S3RVER:S3RVER" &&
	ok "nor in a unit or argv on the node" in_node train-1 '! cat /etc/systemd/system/nanopod-s3.service /proc/[0-9]*/cmdline 2>/dev/null | grep -aq "S3RVER[:]S3RVER"'
ns_verified storage s3 train-1 "${s3[@]}"
ns_verified storage s3 train-2 "${s3[@]}"
in_node train-1 'mkdir -m 1777 /srv/bucket/runs && echo loss=0.1 >/srv/bucket/runs/log && dd if=/dev/urandom of=/srv/bucket/runs/big bs=1M count=3 status=none && sha256sum </srv/bucket/runs/big >/root/big'
is "$(in_node train-2 'cat /srv/bucket/runs/log; sha256sum </srv/bucket/runs/big')" "loss=0.1
$(in_node train-1 'cat /root/big; rm /root/big')" "what one node writes the other reads ($s3_is)"
not_ok "an ordinary user makes nothing beside that" in_node train-2 'setpriv --reuid nobody --regid nogroup --clear-groups mkdir /srv/bucket/of-nobody'
ok "but writes there" in_node train-2 'setpriv --reuid nobody --regid nogroup --clear-groups sh -c "echo x >/srv/bucket/runs/of-nobody"'
in_node train-1 'kill -9 $(systemctl show -p MainPID --value nanopod-s3)'
s3_again() { in_node train-1 'test "$(cat /srv/bucket/runs/log)" = loss=0.1'; }
ok "an s3fs that is killed is there again" wait_for 30 s3_again
in_node train-2 'systemctl stop nanopod-s3'
ns_step verify storage s3 train-2 "${s3[@]}"
like "$said" "^NP.bad.the bucket 'train' is not mounted on '/srv/bucket'" "what is not mounted is found"
ns_step check storage s3 train-2 "${s3[@]}"
like "$said" '^NP.differs.start nanopod-s3' "and the plan would mount it"
for n in 1 2; do
	ns_step undo storage s3 train-$n "${s3[@]}"
	like "$said" "^NP.left.the files in the bucket 'train'" "train-$n: undo leaves what is in the bucket, and says so"
done
kill $s3_pid; wait $s3_pid 2>/dev/null
s3_pid=''
is "$(on_nodes 'rm -rf /run/s3; findmnt -rn /srv/bucket; ls -d /srv/bucket /etc/nanopod-s3.key 2>&1 | grep -v "cannot access"')" "" "nothing is mounted, nor left on the nodes"
ok "the file is in the bucket" sh -c "grep -rq 'loss=0.1' '$TMP/objects'"
else
	skip "nodes of this machine have no /dev/fuse: the gate 'fuse' refuses kind s3 there"
fi
pictures after
same_picture before after train-1 "train-1 is as it was before"
same_picture before after train-2 "train-2 is as it was before"
done_testing

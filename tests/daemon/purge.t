#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the packages' scripts do when an administrator removes and purges them: nodes end, what tenants left is wiped, the
# market's ledger stays, and each says so. In a /var/lib of the test's own; tests/daemon/package.t does it with dpkg.
if [ "${PURGE_APART-}" != yes ] && unshare --mount true 2>/dev/null; then
	PURGE_APART=yes exec unshare --mount bash "$0"
fi
. "$(dirname "$0")/../lib/tap.sh"
[ "${PURGE_APART-}" = yes ] || skip_all "no mount namespace can be made here"
mount -t tmpfs none /var/lib && mount -t tmpfs none /var/backups && mount -t tmpfs none /usr/sbin || skip_all "nothing can be mounted here"
printf '#!/bin/sh\necho "$*" >>%s/agent\nexit %s\n' "$TMP" 0 >/usr/sbin/nanopod-agentd
chmod 755 /usr/sbin/nanopod-agentd
D=/var/lib/nanopod-agentd
script() { sh "$SRC/debian/$1" "$2" 2>&1; }
mkdir -p $D/nodes/inst_1/vm $D/nodes/inst_2 $D/other
echo secret >$D/nodes/inst_1/vm/disk.qcow2
echo '{}' >$D/agent.json

is "$(script nanopod-agentd.prerm upgrade)" "" "an update"
not_ok "ends no node" test -e "$TMP/agent"
is "$(script nanopod-agentd.prerm remove)" "" "a removal"
is "$(cat "$TMP/agent")" "--data $D halt" "ends all nodes, and keeps their files"
sed -i 's/exit 0/exit 1/' /usr/sbin/nanopod-agentd
like "$({ script nanopod-agentd.prerm remove; echo "status $?"; } | xargs -d '\n')" "nanopod-agentd halt.* status 1" "a removal that cannot end all nodes leaves the package"
is "$(script nanopod-agentd.postrm remove)" "" "(it is removed)"
ok "(they are there)" test -s $D/nodes/inst_1/vm/disk.qcow2
mount -t tmpfs none $D/nodes/inst_2
is "$(script nanopod-agentd.postrm purge)" "nanopod-agentd: nodes still run, so their files stay in $D" "a purge while a node runs"
ok "takes nothing from under it" test -s $D/nodes/inst_1/vm/disk.qcow2
umount $D/nodes/inst_2
exec 7<$D/nodes/inst_1/vm/disk.qcow2
like "$(script nanopod-agentd.postrm purge)" "nodes still run" "nor while a virtual machine has its disk open"
ok "(it is there)" test -s $D/nodes/inst_1/vm/disk.qcow2
exec 7<&-
mount -t tmpfs none $D/other
echo "of the owner" >$D/other/file
is "$(script nanopod-agentd.postrm purge)" "nanopod-agentd: removed the files of 2 nodes and this machine's identity from $D" "a purge tells what it removes"
not_ok "and it does: disks of tenants too" test -e $D/nodes
ok "but what is mounted there is another file system's" test -s $D/other/file
umount $D/other
rm -rf $D
is "$(script nanopod-agentd.postrm purge)" "" "(once more: nothing is there)"
mkdir -p /var/lib/nanopod-marketd
echo ledger >/var/lib/nanopod-marketd/market.db
is "$(script nanopod-marketd.postrm purge)" \
	"nanopod-marketd: accounts and ledger stay in /var/lib/nanopod-marketd; 'rm -r /var/lib/nanopod-marketd' removes them" \
	"a purge of the market keeps the ledger and says where"
ok "(it is there)" test -s /var/lib/nanopod-marketd/market.db
done_testing

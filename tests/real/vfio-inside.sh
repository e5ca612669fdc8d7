#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The first program of the machine of vfio.sh.
export PATH=/usr/bin:/bin:/sbin
/bin/busybox --install -s /bin 2>/dev/null
mount -t proc p /proc
mount -t sysfs s /sys
mount -t devtmpfs d /dev 2>/dev/null
mount -t tmpfs t /run
mount -t cgroup2 c /sys/fs/cgroup
mkdir -p /run/netns /data/nodes /data/images
ip link set lo up
modprobe -a virtio_pci tun bridge veth
CARD=0000:02:01.0 PAIR=0000:02:01.1 ALONE=0000:04:01.0

shown() { vfiostep show | grep -o -e "quarantine[^,]*" -e "functions" ; }
ok() { if [ "$2" = "$3" ]; then echo "ok - $1"; else echo "not ok - $1: '$2' is not '$3'"; fi; }
has() { case $2 in *"$3"*) echo "ok - $1" ;; *) echo "not ok - $1: '$2' lacks '$3'" ;; esac; }
drivers() { for d; do readlink "/sys/bus/pci/devices/$d/driver" || echo none; done | sed 's|.*/||' | xargs; }
lay() {
	mkdir -p "/data/nodes/$1/vm"
	cp /guest/base.ext4 /guest/vmlinuz /guest/initrd "/data/nodes/$1/vm/"
	echo cold >"/data/nodes/$1/vm/made"
}
node() { lay "$1" && vfiostep create "$1" "$2" && vfiostep start "$1" "$2"; }

first() {
	ok "two cards can be had" "$(vfiostep fix a b)" "each host has a GPU"
	has "the third cannot" "$(vfiostep fix a b c)" "this machine has none for it"
	node inst_1 a
	node inst_2 b
	ok "two guests have a card each" "$(drivers $CARD $PAIR $ALONE)" "vfio-pci vfio-pci vfio-pci"
	ok "their QEMUs run" "$(pidof qemu-system-x86_64 | wc -w)" 2
	ok "as users that may open one group each" "$(stat -c %a /dev/vfio/[0-9]* | xargs)" "600 600"
	vfiostep destroy inst_1 a
	vfiostep destroy inst_2 b
	ok "all have their drivers again" "$(drivers $CARD $PAIR $ALONE)" "none virtio-pci none"
	ok "and none is kept back" "$(shown)" ""
	for after in 0.1 0.3 0.6 1; do
		lay inst_3
		vfiostep create inst_3 a &
		sleep $after
		kill -9 $! 2>/dev/null
		wait
		vfiostep destroy inst_3 a
		ok "killed after $after s: all have their drivers again" "$(drivers $CARD $PAIR)" "none virtio-pci"
		ok "and none is kept back" "$(shown)" ""
	done
	node inst_4 a
	[ "$GUEST" != 1 ] || for i in $(seq 900); do
		grep -q "guest: done" /data/nodes/inst_4/console && break
		sleep 2
	done
	[ "$GUEST" != 1 ] || has "the guest sees the card" "$(grep guest: /data/nodes/inst_4/console)" "01:00.0 0x1002 0x030000"
}

again() {
	ok "after a restart of the machine" "$(drivers $CARD $PAIR)" "none virtio-pci"
	vfiostep destroy inst_4 a
	ok "the node ends as before" "$(drivers $CARD $PAIR)" "none virtio-pci"
	ok "and nothing is kept back" "$(shown)" ""
	rm -r /data/gpus.json
}

vfiostep emulated
if grep -q intel_iommu=off /proc/cmdline; then
	has "without an IOMMU no host has a GPU" "$(vfiostep fix a)" "none for it: the IOMMU is off: turn on"
	has "and the list of drivers says so" "$(vfiostep drivers)" "gives nodes no GPUs: the IOMMU is off"
elif [ "${AGAIN:-}" ]; then
	again
else
	first
fi
echo "the end"
sync
poweroff -f

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# GPUs in virtual machines against a real kernel's VFIO, by hand: `make meet-vfio`. QEMU emulates a machine with an IOMMU,
# two cards that a guest can have, one with a second function, and one that shares its group with a network card. In that
# machine the agent's code makes nodes. A minute, and five more with GUEST=1, which waits until a guest has looked around.
# Needs root, QEMU, busybox-static and a kernel package unpacked in $NANOPOD_TEST_IMAGES/kernel.
set -u
IMAGES=${NANOPOD_TEST_IMAGES:?names a folder with kernel/, where a kernel package is unpacked}
STEP=${1:?the program vfiostep}
HERE=$(cd "$(dirname "$0")" && pwd)
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
KERNEL=$(echo "$IMAGES"/kernel/boot/vmlinuz-*)
RELEASE=${KERNEL##*/vmlinuz-}
PARTS=(qemu-system-x86_64 qemu-img mke2fs ssh-keygen ip tc kmod bash)

# lay FILE...: with the libraries of those that are programs.
lay() {
	local file
	for file; do
		mkdir -p "$T/root$(dirname "$file")"
		cp -L "$file" "$T/root$file"
		ldd "$file" 2>/dev/null | grep -o '/[^ ]*' | while read -r lib; do
			mkdir -p "$T/root$(dirname "$lib")"
			cp -L "$lib" "$T/root$lib"
		done
	done
}

# The guest's first and only program.
guest() {
	mkdir -p "$T/guest/bin" "$T/guest/sys" "$T/guest/proc" "$T/guest/dev"
	cp /bin/busybox "$T/guest/bin/"
	cat >"$T/guest/init" <<-'END'
		#!/bin/busybox sh
		/bin/busybox mount -t sysfs s /sys
		for d in /sys/bus/pci/devices/*; do echo "guest: ${d##*/} $(/bin/busybox cat $d/vendor) $(/bin/busybox cat $d/class)"; done
		echo "guest: done"
		exec /bin/busybox sleep 100000
	END
	chmod 755 "$T/guest/init"
	(cd "$T/guest" && find . | busybox cpio -o -H newc 2>/dev/null) >"$T/root/guest/initrd"
	cp "$KERNEL" "$T/root/guest/vmlinuz"
	truncate -s 32M "$T/root/guest/base.ext4"
	mke2fs -q -F "$T/root/guest/base.ext4"
}

root() {
	mkdir -p "$T"/root/{bin,sbin,proc,sys,dev,run,tmp,etc,data,guest,lib/modules,usr/bin,usr/share/qemu}
	lay /bin/busybox /lib/systemd/systemd-socket-proxyd
	for part in "${PARTS[@]}"; do
		lay "$(command -v "$part")"
		[ -e "$T/root/usr/bin/$part" ] || cp -L "$(command -v "$part")" "$T/root/usr/bin/$part"
	done
	lay /usr/lib/x86_64-linux-gnu/qemu/accel-tcg-x86_64.so "$STEP"
	mv "$T/root$STEP" "$T/root/usr/bin/vfiostep"
	ln -sf ../usr/bin/kmod "$T/root/sbin/modprobe"
	cp -L /usr/share/qemu/*.bin "$T/root/usr/share/qemu/"
	cp -rL /usr/share/seabios "$T/root/usr/share/"
	cp /etc/mke2fs.conf /etc/protocols "$T/root/etc/"
	echo 'root:x:0:0:root:/:/bin/sh' >"$T/root/etc/passwd"
	cp -r "$IMAGES/kernel/lib/modules/$RELEASE" "$T/root/lib/modules/"
	cp "$HERE/vfio-inside.sh" "$T/root/inside"
	mknod "$T/root/dev/console" c 5 1
	guest
	mke2fs -q -F -t ext4 -d "$T/root" "$T/disk" 800M
}

# machine WORDS...: the machine, with these words for its kernel.
machine() {
	timeout 1800 qemu-system-x86_64 -accel tcg,thread=multi,tb-size=512 -machine q35,usb=off,vmport=off -cpu max -smp 2 \
		-m 3072 -nodefaults -no-user-config -display none -serial stdio -no-reboot \
		-device intel-iommu,intremap=on,caching-mode=on -kernel "$KERNEL" \
		-append "console=ttyS0 quiet panic=-1 tsc=reliable mitigations=off root=/dev/nvme0n1 rw init=/inside $*" \
		-drive file="$T/disk",format=raw,if=none,id=d0 -device nvme,serial=d,drive=d0,addr=3 \
		-device pcie-root-port,id=p1,chassis=1,addr=8.0,multifunction=on -device pcie-root-port,id=p2,chassis=2,addr=8.1 \
		-device pcie-root-port,id=p3,chassis=3,addr=8.2 -object rng-random,id=r,filename=/dev/urandom \
		-device pcie-pci-bridge,id=b1,bus=p1 -device ati-vga,bus=b1,addr=1.0,multifunction=on \
		-device virtio-rng-pci,rng=r,bus=b1,addr=1.1 -device pcie-pci-bridge,id=b2,bus=p2 -device ati-vga,bus=b2,addr=1.0 \
		-device pcie-pci-bridge,id=b3,bus=p3 -device ati-vga,bus=b3,addr=1 -device e1000,bus=b3,addr=2 2>&1 | tr -d '\r'
}

root
machine intel_iommu=on GUEST="${GUEST:-0}" | tee "$T/said"
machine intel_iommu=on AGAIN=1 | tee -a "$T/said"
machine intel_iommu=off | tee -a "$T/said"
echo "$(grep -c '^ok' "$T/said") of $(grep -cE '^(not )?ok' "$T/said") are ok"
! grep -q '^not ok' "$T/said" && [ "$(grep -c '^the end' "$T/said")" = 3 ]

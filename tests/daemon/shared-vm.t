#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A shared disk grows while nodes have it mounted: in a kernel of its own, as root may not do that on every machine. Needs
# the kernel that is beside the images of nodes (quickstart downloads it), QEMU and busybox's cpio.
images=${NANOPOD_TEST_IMAGES-}
. "$(dirname "$0")/../lib/tap.sh"
need qemu-system-x86_64 busybox
kernel=$(ls "${images:-$BUILD/images}"/kernel/boot/vmlinuz-* 2>/dev/null | tail -n 1)
[ -n "$kernel" ] || skip_all "no kernel in '${images:-$BUILD/images}/kernel'; './quickstart check' as root downloads one"
[ "$(uname -m)" = x86_64 ] || skip_all "its kernel is one for x86_64"
loop=$(find "${kernel%/boot/*}" -name loop.ko -print -quit)
mkdir "$TMP/in" && cd "$TMP" || exit 99
ok "(a program of its own)" "${CC:-gcc}" -static -O1 -w -include "$BUILD/config.h" -I"$SRC" -I"$SRC/lib" -I"$SRC/daemon" \
	"$SRC/tests/daemon/growdisk.c" "$SRC/daemon/agentd/os/mount.c" "$SRC/lib/base/fail.c" -o in/init
[ -z "$loop" ] || cp "$loop" in/
truncate -s 64M in/disk.img
PATH=$PATH:/sbin:/usr/sbin mkfs.ext4 -q -F -m 0 -b 4096 -I 256 -J size=4 -E root_owner=0:0,lazy_itable_init=1,lazy_journal_init=1,nodiscard in/disk.img
(cd in && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 >../initrd)
timeout -k 10 600 qemu-system-x86_64 -m 1024 -nographic -no-reboot -nic none -kernel "$kernel" -initrd initrd \
	-append "console=ttyS0 quiet panic=1" </dev/null >out 2>&1
tr -d '\r' <out | grep -o 'grow: .*' >told || diag "$(tail -n 5 out)"
while read -r _ how what; do
	case $how in done) ;; *) is "$how" good "$what" ;; esac
done <told
is "$(tail -n 1 told)" "grow: done" "all of it was tried"
done_testing

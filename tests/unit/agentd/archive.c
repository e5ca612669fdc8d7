/* SPDX-License-Identifier: Apache-2.0 */
/* The archives for a guest: tar and cpio read them back as they were written, whatever the contents. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/os/spawn.h"
#include "agentd/vm/archive.h"
#include "agentd/vm/guest.h"
#include "agentd/vm/guest_identity.h"
#include "agentd/vm/bootimage.h"
#include "agentd/vm/launch.h"
#include "base/file.h"

#include "../../lib/tap.h"

static char folder[] = "/tmp/nanopod-vmarchive-XXXXXX";

static const char *in(const char *name)
{
	static char room[4][VMIMAGE_ROOM];
	static unsigned turn;

	return vmimage_at(room[turn++ % 4], folder, name);
}

static void is_file(const char *name, const char *want, const char *text)
{
	struct buf b;

	buf_init(&b, 1 << 21);
	is_int(buf_read_file(&b, in(name)), 0, "%s is there", name);
	is_str(buf_text(&b), want, "%s", text);
	buf_release(&b);
}

static void test_identity(void)
{
	static const char script[] = "#!/bin/sh\necho \"$(touch /tmp/bad)`x`' ../../etc\nend\n12345\n";
	struct vmidentity d = { .name = "n1",
		.address = "10.0.2.15/24 10.0.2.2 52:54:00:00:00:01\n",
		.resolv = "# none\n",
		.machine_id = "0123456789abcdef0123456789abcdef",
		.keys = "ssh-ed25519 AAAA a@b\n",
		.script = script,
		.hostkey = folder };
	int64_t first = 0, second = 0;
	char serial[32], *huge;
	struct stat a, b;
	struct fail f;

	file_replace(in("hostkey"), "PRIVATE\n", 8, 0600);
	file_replace(in("hostkey.pub"), "PUBLIC\n", 7, 0644);
	is_int(vmidentity_write(&d, in("identity"), getegid(), &first, &f), 0, "an identity is written");
	ok(stat(in("identity"), &a) == 0 && a.st_size == VMLAUNCH_IDENTITY, "as a disk of the size that never changes");
	ok((a.st_mode & 07) == 0, "which others cannot read");
	mkdir(in("out"), 0700);
	is_int(spawn_words(10000, &f, "tar", "-xf", in("identity"), "-C", in("out"), NULL), 0, "tar reads it: %s",
		f.text);
	is_file("out/script", script, "the script is what it was");
	is_file("out/authorized_keys", d.keys, "so are the keys");
	is_file("out/hostkey", "PRIVATE\n", "and the host key");
	is_file("out/machine-id", d.machine_id, "and the machine's id");
	snprintf(serial, sizeof serial, "%lld", (long long)first);
	is_file("out/serial", serial, "the serial stands first");
	is_file("out/end", serial, "and last");
	d.script = NULL;
	d.keys = "";
	is_int(vmidentity_write(&d, in("identity"), getegid(), &second, &f), 0, "written again");
	ok(stat(in("identity"), &b) == 0 && a.st_ino == b.st_ino, "it is the same file, which a guest has open");
	ok(second > first, "with a later serial");
	huge = malloc(VMLAUNCH_IDENTITY + 1);
	memset(huge, 'x', VMLAUNCH_IDENTITY);
	huge[VMLAUNCH_IDENTITY] = '\0';
	d.script = huge;
	is_int(vmidentity_write(&d, in("identity"), getegid(), &second, &f), -EFBIG,
		"a script that has no room there is refused: %s", f.text);
	free(huge);
}

static void test_link(void)
{
	struct vmidentity d = { .name = "n1", .address = "", .resolv = "", .machine_id = "", .keys = "" };
	int64_t serial;
	struct fail f;

	file_replace(in("victim"), "mine\n", 5, 0600);
	unlink(in("bent"));
	is_int(symlink("victim", in("bent")), 0, "(a link where the identity would be)");
	ok(vmidentity_write(&d, in("bent"), getegid(), &serial, &f) != 0, "is not followed");
	is_file("victim", "mine\n", "what it leads to is untouched");
}

static void test_cpio(void)
{
	char bytes[1000];
	struct buf b;

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)i;
	buf_init(&b, 1 << 20);
	is_int(vmarchive_cpio(&b, "bin", S_IFDIR | 0755, NULL, 0), 0, "a folder");
	is_int(vmarchive_cpio(&b, "bin/odd", S_IFREG | 0755, bytes, 997), 0, "a file of odd length");
	is_int(vmarchive_cpio_end(&b), 0, "and the end");
	is_int((int64_t)b.len % 4, 0, "in steps of four");
	ok(memcmp(b.data, "070701", 6) == 0 && strstr(b.data + 6, "000003E5") == NULL, "it opens as newc does");
	ok(memmem(b.data, b.len, "000003E5", 8) && memmem(b.data, b.len, bytes, 997), "with length and contents");
	ok(memmem(b.data, b.len, "TRAILER!!!", 11), "and closes so");
	buf_release(&b);
}

static void put_text(const char *name, const char *text)
{
	file_folders(in(name));
	file_replace(in(name), text, strlen(text), 0644);
}

/* Modules load after their dependencies, each once; modules that are built into the kernel are in no list. */
static void test_modules(void)
{
	static const char *const wanted[] = { "virtio_pci", "virtio_blk", "ext4", NULL };
	struct vmkernel k;
	char path[64];
	struct buf b;
	const char *at;
	struct fail f;
	int rc;

	if (!spawn_find("busybox", path, sizeof path)) {
		skip("busybox-static is not installed");
		return;
	}
	put_text("root/boot/vmlinuz-6.1.0-9-amd64", "k");
	put_text("root/boot/vmlinuz-6.1.0-10-cloud-amd64", "k");
	put_text("root/boot/vmlinuz-6.9.0-no-modules", "k");
	put_text("root/lib/modules/6.1.0-9-amd64/modules.dep", "");
	put_text("root/lib/modules/6.1.0-10-cloud-amd64/modules.dep",
		"k/virtio_pci.ko: k/legacy.ko k/virtio.ko k/virtio_ring.ko\nk/virtio_blk.ko: k/virtio.ko "
		"k/virtio_ring.ko\n"
		"k/virtio.ko: k/virtio_ring.ko\nk/virtio_ring.ko:\nk/legacy.ko:\nk/virtio_pci_more.ko: k/never.ko\n");
	put_text("root/lib/modules/6.1.0-10-cloud-amd64/k/virtio_pci.ko", "P");
	put_text("root/lib/modules/6.1.0-10-cloud-amd64/k/virtio_blk.ko", "B");
	put_text("root/lib/modules/6.1.0-10-cloud-amd64/k/virtio_ring.ko", "R");
	put_text("root/lib/modules/6.1.0-10-cloud-amd64/k/virtio.ko", "V");
	put_text("root/lib/modules/6.1.0-10-cloud-amd64/k/legacy.ko", "L");
	is_int(vmimage_kernel(in("root"), "/nonexistent", &k, &f), 0, "a kernel is found");
	is_str(k.release, "6.1.0-10-cloud-amd64", "the cloud flavour, with modules");
	buf_init(&b, 1 << 24);
	rc = vmimage_initrd(&k, wanted, "exec last\n", &b, &f);
	if (rc == -ENOTSUP) {
		skip("%s", f.text);
		buf_release(&b);
		return;
	}
	is_int(rc, 0, "an initrd is made");
	at = rc ? NULL : memmem(b.data, b.len, "$B insmod", 9);
	ok(at &&
			strncmp(at,
				"$B insmod /m/virtio_ring.ko\n$B insmod /m/virtio.ko\n$B insmod /m/legacy.ko\n"
				"$B insmod /m/virtio_pci.ko\n$B insmod /m/virtio_blk.ko\nexec last\n",
				136) == 0,
		"which loads what others need before them, once");
	buf_release(&b);
}

/* Files inside a guest: a script that a shell can parse, enabled services, no host key and no machine id. */
static void test_guest(void)
{
	char to[64] = "";
	struct fail f;

	put_text("guest/etc/machine-id", "0123456789abcdef0123456789abcdef\n");
	put_text("guest/etc/fstab", "# an older one\n");
	is_int(vmguest_install(in("guest"), &f), 0, "a guest's files are put in");
	is_int(vmguest_install(in("guest"), &f), 0, "and again");
	is_int(spawn_words(5000, &f, "sh", "-n", in("guest/usr/lib/nanopod/identity"), NULL), 0,
		"its script is one: %s", f.text);
	ok(access(in("guest/usr/lib/nanopod/identity"), X_OK) == 0, "which can be run");
	is_file("guest/etc/machine-id", "", "the image has no machine's id");
	is_file("guest/etc/fstab", "/dev/vda / ext4 rw,noatime 0 1\n", "and its own disk");
	ok(access(in("guest/etc/systemd/system/multi-user.target.wants/nanopod-identity.service"), R_OK) == 0,
		"the service is wanted, and is there");
	ok(readlink(in("guest/etc/systemd/system/networking.service"), to, sizeof to - 1) == 9 &&
			strcmp(to, "/dev/null") == 0,
		"what would set another address is masked");
}

int main(void)
{
	if (!mkdtemp(folder))
		return 99;
	test_identity();
	test_link();
	test_cpio();
	test_modules();
	test_guest();
	vmimage_remove(folder, NULL);
	ok(access(folder, F_OK) != 0, "and all of it is taken away again");
	return done();
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/bootimage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/ns/image.h"
#include "agentd/os/spawn.h"
#include "agentd/vm/guest.h"
#include "base/file.h"

enum { BUILD_MS = 180000, REMOVE_MS = 60000, INITRD_MAX = 64 << 20, SPARE_MIB = 192, MIB = 1 << 20 };

/* An ordinary user has root's ids only as /etc/subuid lends them: make and remove such files in a user namespace. */
static int vmimage_run_as_root(const char *const *words, int64_t deadline_ms, struct buf *out, struct fail *f)
{
	const char *argv[24] = { "unshare", "--map-root-user", "--map-auto", "--" };
	size_t n = geteuid() == 0 ? 0 : 4;

	while (*words && n < sizeof argv / sizeof *argv - 1)
		argv[n++] = *words++;
	argv[n] = NULL;
	return spawn_run(&(struct spawn){ .argv = argv }, deadline_ms, out, f);
}

#define RUN(deadline, f, ...) vmimage_run_as_root((const char *const[]){ __VA_ARGS__, NULL }, deadline, NULL, f)

static int vmimage_remove_in(int at, const char *name);

/* The callee closes the folder. */
static int bootimage_remove_all(int folder)
{
	DIR *d = fdopendir(folder);
	struct dirent *e;
	int rc = 0;

	if (!d) {
		rc = -errno;
		close(folder);
		return rc;
	}
	while (!rc && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = vmimage_remove_in(dirfd(d), e->d_name);
	closedir(d);
	return rc;
}

static int vmimage_remove_in(int at, const char *name)
{
	int folder, rc;

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = folder < 0 ? -errno : bootimage_remove_all(folder);
	if (!rc && unlinkat(at, name, AT_REMOVEDIR) != 0)
		rc = -errno;
	return rc;
}

int vmimage_remove(const char *path, struct fail *f)
{
	int rc = vmimage_remove_in(AT_FDCWD, path);

	if (!rc)
		return 0;
	if (geteuid() != 0 && rc == -EACCES)
		return RUN(REMOVE_MS, f, "rm", "-rf", "--one-file-system", path);
	return fail_errno(f, rc, -rc, "cannot remove '%s'", path);
}

int vmimage_share(const char *from, const char *path, struct fail *f)
{
	if (link(from, path) == 0 || errno == EEXIST)
		return 0;
	if (errno != EXDEV && errno != EPERM && errno != EMLINK)
		return fail_errno(f, -errno, errno, "cannot make '%s' from '%s'", path, from);
	return spawn_words(BUILD_MS, f, "cp", "--sparse=always", "--reflink=auto", from, path, NULL);
}

/* The line that identifies a build. */
static void bootimage_describe(const struct image *i, const struct vmkernel *k, char *room, size_t size)
{
	struct stat st = { .st_size = 0 };

	stat(k->vmlinuz, &st);
	snprintf(room, size, "format %d built %lld kernel %s %lld\n", VMGUEST_FORMAT, (long long)i->built_at,
		k->release, (long long)st.st_size);
}

static bool vmimage_is_built(const char *path, const char *about)
{
	char room[VMIMAGE_ROOM];
	struct buf b;
	bool same;

	buf_init(&b, 4096);
	same = buf_read_file(&b, vmimage_at(room, path, "about")) == 0 && strcmp(buf_text(&b), about) == 0;
	buf_release(&b);
	return same;
}

/* Unpacks the system into a private folder and adds the kernel's modules and our services. */
static int bootimage_lay_out(const struct image *i, const struct vmkernel *k, const char *root, struct fail *f)
{
	char from[VMIMAGE_ROOM], modules[VMIMAGE_ROOM], ours[VMIMAGE_ROOM];
	int rc;

	if (mkdir(root, 0755) != 0)
		return fail_errno(f, -errno, errno, "cannot make '%s'", root);
	vmimage_at(from, i->root, ".");
	rc = i->form == IMAGE_FOLDER ? RUN(BUILD_MS, f, "cp", "-a", "--reflink=auto", from, root)
				     : RUN(BUILD_MS, f, "tar", "--numeric-owner", "--xattrs", "-xpf", i->root, "-C",
					       root, "--exclude=./dev/*");
	vmimage_at(modules, root, "lib/modules");
	if (!rc && mkdir(modules, 0755) != 0 && errno != EEXIST)
		rc = fail_errno(f, -errno, errno, "cannot make '%s'", modules);
	if (!rc && access(vmimage_at(ours, modules, k->release), F_OK) != 0)
		rc = RUN(BUILD_MS, f, "cp", "-r", k->modules, ours);
	return rc ? rc : vmguest_install(root, f);
}

/* As small as possible, since every node's disk is this or larger: contents and some room; it grows at first boot. */
static int bootimage_make_disk(const char *root, const char *disk, struct fail *f)
{
	char size[32], per_inode[16];
	long long kib;
	struct buf out;
	int rc;

	buf_init(&out, 4096);
	rc = vmimage_run_as_root((const char *const[]){ "du", "-sk", "--apparent-size", root, NULL }, BUILD_MS, &out,
		f);
	kib = rc ? 0 : strtoll(buf_text(&out), NULL, 10);
	buf_release(&out);
	if (rc)
		return rc;
	snprintf(size, sizeof size, "%lldM", kib / 1024 * 5 / 4 + SPARE_MIB);
	snprintf(per_inode, sizeof per_inode, "%d", VMIMAGE_PER_INODE);
	return RUN(BUILD_MS, f, "mke2fs", "-q", "-F", "-t", "ext4", "-L", "nanopod", "-m", "1", "-i", per_inode, "-E",
		"lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0", "-d", root, disk, size);
}

static int vmimage_make_initrd(const struct vmkernel *k, const char *path, struct fail *f)
{
	static const char *const modules[] = { "virtio_pci", "virtio_blk", "virtio_net", "crc32c_generic", "ext4",
		NULL };
	struct buf b;
	int rc;

	buf_init(&b, INITRD_MAX);
	rc = vmimage_initrd(k, modules, vmguest_init_disk, &b, f);
	if (!rc) {
		rc = file_replace(path, b.data, b.len, 0644);
		if (rc)
			fail_errno(f, rc, -rc, "cannot write '%s'", path);
	}
	buf_release(&b);
	return rc;
}

static int vmimage_build_in(const struct image *i, const struct vmkernel *k, const char *about, const char *to,
	struct fail *f)
{
	char root[VMIMAGE_ROOM], path[VMIMAGE_ROOM];
	int rc;

	if (mkdir(to, 0755) != 0)
		return fail_errno(f, -errno, errno, "cannot make '%s'", to);
	vmimage_at(root, to, "root");
	rc = bootimage_lay_out(i, k, root, f);
	vmimage_at(path, to, "base.ext4");
	if (!rc)
		rc = bootimage_make_disk(root, path, f);
	if (!rc && chmod(path, 0644) != 0)
		rc = fail_errno(f, -errno, errno, "cannot let the user of QEMU read '%s'", path);
	if (!rc)
		rc = vmimage_remove(root, f);
	vmimage_at(path, to, "vmlinuz");
	if (!rc)
		rc = spawn_words(BUILD_MS, f, "cp", "--reflink=auto", k->vmlinuz, path, NULL);
	if (!rc && chmod(path, 0644) != 0)
		rc = fail_errno(f, -errno, errno, "cannot let the user of QEMU read '%s'", path);
	vmimage_at(path, to, "initrd");
	if (!rc)
		rc = vmimage_make_initrd(k, path, f);
	vmimage_at(path, to, "about");
	if (!rc && file_replace(path, about, strlen(about), 0644) != 0)
		rc = fail_errno(f, -EIO, errno, "cannot write '%s'", path);
	return rc;
}

/* Made beside the old one, then moved into its place; nodes keep the old files through their own links. */
static int bootimage_build(const struct image *i, const struct vmkernel *k, struct vmimage *out, struct fail *f)
{
	char fresh[VMIMAGE_PATH + 8];
	int rc;

	snprintf(fresh, sizeof fresh, "%s.new", out->path);
	rc = vmimage_remove(fresh, f);
	if (!rc)
		rc = vmimage_build_in(i, k, out->about, fresh, f);
	if (!rc)
		rc = vmimage_remove(out->path, f);
	if (!rc && rename(fresh, out->path) != 0)
		rc = fail_errno(f, -errno, errno, "cannot move '%s' into place", fresh);
	if (rc)
		vmimage_remove(fresh, NULL);
	return rc;
}

int vmimage_make(const char *images, const char *name, struct vmimage *out, struct fail *f)
{
	char room[VMIMAGE_PATH + 8];
	struct vmimage made;
	struct vmkernel k;
	struct image i;
	int lock, rc = image_find(images, name, &i, f);

	if (!rc)
		rc = vmimage_kernel(i.form == IMAGE_FOLDER ? i.root : NULL, images, &k, f);
	if (rc)
		return rc;
	if (snprintf(made.path, sizeof made.path, "%s/driver-vm", i.path) >= (int)sizeof made.path - 16)
		return fail_set(f, -ENAMETOOLONG, "the path of the folder '%s' is too long", i.path);
	snprintf(made.name, sizeof made.name, "%s", name ? name : IMAGE_DEFAULT);
	bootimage_describe(&i, &k, made.about, sizeof made.about);
	snprintf(room, sizeof room, "%s.lock", made.path);
	if (vmimage_is_built(made.path, made.about)) {
		*out = made;
		return 0;
	}
	lock = open(room, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0 || flock(lock, LOCK_EX) != 0) {
		rc = fail_errno(f, -errno, errno, "cannot lock '%s'", room);
		if (lock >= 0)
			close(lock);
		return rc;
	}
	if (!vmimage_is_built(made.path, made.about))
		rc = bootimage_build(&i, &k, &made, f);
	close(lock);
	if (!rc)
		*out = made;
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices of a node. Their nodes are made anew with the node's root as their owner, since this machine's may be
 * closed to others. What a vendor's hook would do inside (links, the ld cache) the node does itself as it starts.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agentd/ns/ns.h"
#include "agentd/os/devices.h"
#include "agentd/os/mount.h"
#include "base/buf.h"
#include "base/str.h"

enum { SCRIPT_MAX = 1 << 20, NODE_MODE = 0666, DEVICE_ROOM = NS_PATH + DEVICES_PATH };

#define LD_LIST "/etc/ld.so.conf.d/00-nanopod.conf"

static bool devices_is_below_dev(const char *path)
{
	return str_starts(path, "/dev/");
}

/* ---- What the node does at its start -------------------------------------------------------- */

static int devices_put(const struct node_spec *n, const char *name, const char *text, mode_t mode, struct fail *f)
{
	char path[NS_PATH];
	int rc = ns_path(n, name, path, f);

	if (!rc && !*text && unlink(path) != 0 && errno != ENOENT)
		return fail_errno(f, -errno, errno, "cannot remove '%s'", path);
	return rc || !*text ? rc : ns_write(path, text, mode, ns_first_id(n), f);
}

static int devices_script(const struct node_devices *d, struct buf *b)
{
	/* A node that had devices may have none now. */
	int rc = buf_adds(b,
		d->folder_count ? "# Run by nanopod-devices.service.\n"
				: "[ ! -e " LD_LIST " ] || { rm -f " LD_LIST " && ldconfig; }\n");

	for (size_t i = 0; !rc && i < d->link_count; i++) {
		char folder[DEVICES_PATH];

		if (devices_is_below_dev(d->links[i].path))
			continue; /* ns_device_nodes() makes it */
		snprintf(folder, sizeof folder, "%s", d->links[i].path);
		*strrchr(folder, '/') = '\0';
		rc = buf_adds(b, "mkdir -p ");
		rc = rc ? rc : str_quote_sh(b, *folder ? folder : "/");
		rc = rc ? rc : buf_adds(b, "\nln -sfn ");
		rc = rc ? rc : str_quote_sh(b, d->links[i].target);
		rc = rc ? rc : buf_addc(b, ' ');
		rc = rc ? rc : str_quote_sh(b, d->links[i].path);
		rc = rc ? rc : buf_addc(b, '\n');
	}
	for (size_t i = 0; !rc && i < d->folder_count; i++) {
		rc = buf_adds(b, "echo ");
		rc = rc ? rc : str_quote_sh(b, d->folders[i].text);
		rc = rc ? rc : buf_addf(b, " %s " LD_LIST "\n", i ? ">>" : ">");
	}
	return rc || !d->folder_count ? rc : buf_adds(b, "ldconfig\n");
}

int ns_devices(const struct node_spec *n, struct fail *f)
{
	static const struct node_devices none = { 0 };
	const struct node_devices *d = n->devices ? n->devices : &none;
	char path[NS_PATH];
	struct buf script, env;
	int rc;

	buf_init(&script, SCRIPT_MAX);
	buf_init(&env, SCRIPT_MAX);
	rc = devices_script(d, &script);
	for (size_t i = 0; !rc && i < d->env_count; i++)
		rc = buf_addf(&env, "%s\n", d->env[i].text);
	if (rc)
		fail_errno(f, rc, -rc, "cannot describe the node's devices");
	rc = rc ? rc : devices_put(n, "share/devices", buf_text(&script), 0644, f);
	rc = rc ? rc : devices_put(n, "layer/etc/environment", buf_text(&env), 0644, f);
	rc = rc ? rc : ns_path(n, "dev", path, f);
	rc = rc ? rc : ns_folder(path, 0755, 0, f);
	buf_release(&script);
	buf_release(&env);
	return rc;
}

/* ---- Device nodes --------------------------------------------------------------------------- */

/* dev/ holds what the node has below /dev: nodes, and links between them. */
static int devices_inner(const struct node_spec *n, const char *inside, char room[static DEVICE_ROOM], struct fail *f)
{
	if (snprintf(room, DEVICE_ROOM, "%s%s", n->dir, inside) >= DEVICE_ROOM)
		return fail_set(f, -ENAMETOOLONG, "the path of '%s' is too long", inside);
	return 0;
}

/* Folders above it, owned by the node's root. */
static int devices_above(const struct node_spec *n, char *path, struct fail *f)
{
	int rc = 0;

	for (char *p = path + strlen(n->dir) + strlen("/dev/"); !rc && (p = strchr(p, '/')); p++) {
		*p = '\0';
		rc = ns_folder(path, 0755, ns_first_id(n), f);
		*p = '/';
	}
	return rc;
}

static int devices_make_node(const struct node_spec *n, const struct device_node *node, struct fail *f)
{
	char path[DEVICE_ROOM];
	int rc = devices_inner(n, node->inside, path, f);

	rc = rc ? rc : devices_above(n, path, f);
	if (!rc &&
		(mknod(path, (node->type == 'b' ? S_IFBLK : S_IFCHR) | NODE_MODE, makedev(node->major, node->minor)) !=
				0 ||
			chmod(path, NODE_MODE) != 0 || lchown(path, ns_first_id(n), ns_first_id(n)) != 0))
		rc = fail_errno(f, -errno, errno, "cannot make the node of the device '%s'", node->inside);
	return rc;
}

static int devices_make_link(const struct node_spec *n, const struct device_link *link, struct fail *f)
{
	char path[DEVICE_ROOM];
	int rc = devices_inner(n, link->path, path, f);

	rc = rc ? rc : devices_above(n, path, f);
	if (!rc && symlink(link->target, path) != 0 && errno != EEXIST)
		rc = fail_errno(f, -errno, errno, "cannot make the link '%s'", link->path);
	return rc;
}

int ns_device_nodes(const struct node_spec *n, struct fail *f)
{
	const struct node_devices *d = n->devices;
	char path[NS_PATH];
	int rc = d && d->node_count ? ns_path(n, "dev", path, f) : 0;

	if (rc || !d || !d->node_count)
		return rc;
	rc = mount_devices(path, f);
	for (size_t i = 0; !rc && i < d->node_count; i++)
		rc = devices_make_node(n, &d->nodes[i], f);
	for (size_t i = 0; !rc && i < d->link_count; i++)
		if (devices_is_below_dev(d->links[i].path))
			rc = devices_make_link(n, &d->links[i], f);
	return rc;
}

/* ---- Folders for mounts --------------------------------------------------------------------- */

/* A folder of the node; its links, which its root may have made, lead nowhere outside. */
static int devices_open_in(int root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };

	return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

/* Makes the folders above the path that are missing. systemd-nspawn would make them as nobody's. */
static int devices_make_above(int root, const char *inside, uid_t owner)
{
	char path[DEVICES_PATH];
	int above = devices_open_in(root, "."), rc = above < 0 ? -errno : 0;

	snprintf(path, sizeof path, "%s", inside + 1);
	for (char *from = path, *p; !rc && (p = strchr(from, '/')); from = p + 1) {
		int fd;

		*p = '\0';
		fd = devices_open_in(root, path);
		if (fd < 0 && errno == ENOENT && mkdirat(above, from, 0755) == 0 &&
			fchownat(above, from, owner, owner, AT_SYMLINK_NOFOLLOW) == 0)
			fd = devices_open_in(root, path);
		if (fd < 0)
			rc = -errno;
		close(above);
		above = fd;
		*p = '/';
	}
	if (above >= 0)
		close(above);
	return rc;
}

int ns_device_folders(const struct node_spec *n, const char *root, struct fail *f)
{
	const struct node_devices *d = n->devices;
	int fd = d && d->mount_count ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1, rc = 0;

	for (size_t i = 0; d && !rc && i < d->mount_count; i++) {
		rc = fd < 0 ? -errno : devices_make_above(fd, d->mounts[i].inside, ns_first_id(n));
		if (rc)
			fail_errno(f, rc, -rc, "cannot make the folder for '%s'", d->mounts[i].inside);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- Options of systemd-nspawn -------------------------------------------------------------- */

/* systemd-nspawn takes ':' for the end of a path. */
static int devices_add_path(struct buf *out, const char *path)
{
	int rc = 0;

	for (; !rc && *path; path++) {
		if (*path == ':' || *path == '\\')
			rc = buf_addc(out, '\\');
		rc = rc ? rc : buf_addc(out, *path);
	}
	return rc;
}

static int devices_add_bind(struct buf *out, const char *option, const char *outside, const char *inside)
{
	int rc = buf_adds(out, option);

	rc = rc ? rc : devices_add_path(out, outside);
	rc = rc ? rc : buf_addc(out, ':');
	rc = rc ? rc : devices_add_path(out, inside);
	return rc ? rc : buf_addc(out, '\0');
}

/* A node, or the folder right below /dev that it is in, once. */
static int devices_add_entry(const struct node_spec *n, size_t i, struct buf *out, size_t *count)
{
	const struct node_devices *d = n->devices;
	char path[DEVICE_ROOM], entry[DEVICES_PATH];
	size_t len = strlen("/dev/") + strcspn(d->nodes[i].inside + strlen("/dev/"), "/");
	int rc;

	for (size_t k = 0; k < i; k++)
		if (strncmp(d->nodes[k].inside, d->nodes[i].inside, len) == 0 && d->nodes[k].inside[len] == '/')
			return 0;
	snprintf(entry, sizeof entry, "%.*s", (int)len, d->nodes[i].inside);
	rc = devices_inner(n, entry, path, NULL);
	rc = rc ? rc : devices_add_bind(out, "--bind=", path, entry);
	++*count;
	return rc;
}

int ns_device_options(const struct node_spec *n, struct buf *out, size_t *count)
{
	const struct node_devices *d = n->devices;
	int rc = 0;

	*count = 0;
	for (size_t i = 0; d && !rc && i < d->node_count; i++)
		rc = devices_add_entry(n, i, out, count);
	for (size_t i = 0; d && !rc && i < d->mount_count; i++, ++*count)
		rc = devices_add_bind(out, "--bind-ro=", d->mounts[i].outside, d->mounts[i].inside);
	return rc;
}

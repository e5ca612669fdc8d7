/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a node out of an image: its name, keys, address and units, written where the node cannot redirect them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/os/mount.h"
#include "agentd/ns/net.h"
#include "agentd/ns/ns.h"
#include "agentd/os/spawn.h"
#include "base/buf.h"
#include "base/str.h"

enum { KEY_MAX = 16384, TEXT_MAX = 1 << 20, COMMAND_MS = 60000, MACHINE_ID = 16 };

static const char node_unit[] =
	"[Unit]\nDescription=Name and address of this node\nDefaultDependencies=no\n"
	"Before=sysinit.target network-pre.target\nWants=network-pre.target\n"
	"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/sbin/ip -batch " NS_SHARED_AT "/network\n"
	"[Install]\nWantedBy=sysinit.target\n";

/* Marks the script as done before it runs: a script that restarts its node must not run for ever. */
static const char script_unit[] =
	"[Unit]\nDescription=First-boot script\nConditionPathExists=" NS_SHARED_AT "/script\n"
	"ConditionPathExists=!/var/lib/nanopod/script.done\nAfter=network.target ssh.service\n"
	"[Service]\nType=oneshot\nRemainAfterExit=yes\nTimeoutStartSec=infinity\nEnvironment=HOME=/"
	"root\nWorkingDirectory=/root\n"
	"ExecStartPre=/bin/mkdir -p /var/lib/nanopod\nExecStartPre=/bin/touch /var/lib/nanopod/script.done\n"
	"ExecStart=%s" NS_SHARED_AT "/script\nStandardOutput=journal+console\nStandardError=journal+console\n"
	"[Install]\nWantedBy=multi-user.target\n";

/* Its links and its ld cache, once its files are there. */
static const char devices_unit[] =
	"[Unit]\nDescription=Libraries of this node's devices\nDefaultDependencies=no\nAfter=local-fs.target\n"
	"Before=sysinit.target\nConditionPathExists=" NS_SHARED_AT "/devices\n"
	"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh " NS_SHARED_AT "/devices\n"
	"[Install]\nWantedBy=sysinit.target\n";

static const char sshd_config[] =
	"HostKey " NS_SHARED_AT "/hostkey\nAuthorizedKeysFile " NS_SHARED_AT "/authorized_keys .ssh/authorized_keys\n"
	"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nUseDNS no\n";

static const char *const folders[] = { "etc", "etc/nanopod", "etc/ssh", "etc/ssh/sshd_config.d", "etc/systemd",
	"etc/systemd/system", "etc/systemd/system/sysinit.target.wants", "etc/systemd/system/multi-user.target.wants" };

static const struct {
	const char *at, *to;
} links[] = {
	{ "etc/systemd/system/sysinit.target.wants/nanopod-node.service", "../nanopod-node.service" },
	{ "etc/systemd/system/sysinit.target.wants/nanopod-devices.service", "../nanopod-devices.service" },
	{ "etc/systemd/system/multi-user.target.wants/nanopod-script.service", "../nanopod-script.service" },
	/* Where programs look for it: ssh-keysign between nodes, for one. */
	{ "etc/ssh/ssh_host_ed25519_key", NS_SHARED_AT "/hostkey" },
	{ "etc/ssh/ssh_host_ed25519_key.pub", NS_SHARED_AT "/hostkey.pub" },
};

uid_t ns_first_id(const struct node_spec *n)
{
	enum {
		FIRST_BLOCK = 1000,
		SLOTS = 4096,
		SHARES = 6
	}; /* the owner ids that systemd reserves for containers */
	unsigned h = 2166136261U;

	for (const char *p = n->setup->prefix; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619U;
	return (uid_t)MOUNT_IDS * (FIRST_BLOCK + h % SHARES * SLOTS + n->slot % SLOTS);
}

/* path holds the folder; the name is appended in the same room. */
static int layer_put(const struct node_spec *n, const char *folder, const char *name, const char *text, mode_t mode,
	struct fail *f)
{
	char at[NS_PATH], path[NS_PATH];
	int rc;

	snprintf(at, sizeof at, "%s/%s", folder, name);
	rc = ns_path(n, at, path, f);
	return rc ? rc : ns_write(path, text, mode, ns_first_id(n), f);
}

int ns_keys(const struct node_spec *n, struct fail *f)
{
	return layer_put(n, "share", "authorized_keys", n->keys ? n->keys : "", 0644, f);
}

/* ---- share ---------------------------------------------------------------------------------- */

static int put_network(const struct node_spec *n, struct fail *f)
{
	struct net_names names;
	struct buf b;
	int rc;

	net_names(n, &names);
	buf_init(&b, TEXT_MAX);
	rc = buf_addf(&b, "link set %s name eth0\nlink set lo up\naddr add %s/%d dev eth0\nlink set eth0 up\n"
		"route add default via " NET_GATEWAY "\n", names.inner, names.address, NET_BITS);
	rc = rc ? fail_set(f, rc, "out of memory") : layer_put(n, "share", "network", buf_text(&b), 0644, f);
	buf_release(&b);
	return rc;
}

/* Made once: under other names first, and the public half last, so that either both exist or the work is repeated. */
static int layer_make_host_key(const struct node_spec *n, struct fail *f)
{
	char key[NS_PATH], pub[NS_PATH], fresh[NS_PATH], fresh_pub[NS_PATH];
	int rc;

	if (ns_path(n, "hostkey", key, f) || ns_path(n, "hostkey.pub", pub, f) || ns_path(n, "hostkey.new", fresh, f) ||
			ns_path(n, "hostkey.new.pub", fresh_pub, f))
		return f ? f->code : -EINVAL;
	if (access(key, F_OK) == 0 && access(pub, F_OK) == 0)
		return 0;
	unlink(fresh);
	unlink(fresh_pub);
	rc = spawn_words(COMMAND_MS, f, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", n->name, "-f", fresh,
		NULL);
	if (!rc && (rename(fresh, key) != 0 || rename(fresh_pub, pub) != 0))
		rc = fail_errno(f, -errno, errno, "cannot keep the host key '%s'", key);
	return rc;
}

static int layer_put_key_file(const struct node_spec *n, const char *name, mode_t mode, struct fail *f)
{
	char path[NS_PATH];
	struct buf b;
	int rc = ns_path(n, name, path, f);

	if (rc)
		return rc;
	buf_init(&b, KEY_MAX);
	rc = buf_read_file(&b, path);
	rc = rc ? fail_errno(f, rc, -rc, "cannot read '%s'", path) : layer_put(n, "share", name, buf_text(&b), mode, f);
	if (b.data)
		explicit_bzero(b.data, b.cap);
	buf_release(&b);
	return rc;
}

static int layer_fill_share(const struct node_spec *n, struct fail *f)
{
	char path[NS_PATH];
	int rc = ns_path(n, "share", path, f);

	if (!rc)
		rc = ns_folder(path, 0755, ns_first_id(n), f);
	if (!rc)
		rc = layer_make_host_key(n, f);
	if (!rc)
		rc = layer_put_key_file(n, "hostkey", 0600, f);
	if (!rc)
		rc = layer_put_key_file(n, "hostkey.pub", 0644, f);
	if (!rc)
		rc = ns_keys(n, f);
	if (!rc)
		rc = put_network(n, f);
	if (!rc && n->script)
		rc = layer_put(n, "share", "script", n->script, 0755, f);
	return rc;
}

/* Nodes that say the same are on one machine: systemd-nspawn hides the kernel's own. */
static int layer_tell_kernel(struct buf *b)
{
	struct buf id;
	int rc;

	buf_init(&id, TEXT_MAX);
	rc = buf_read_file(&id, "/proc/sys/kernel/random/boot_id");
	rc = rc ? 0 : buf_addf(b, "boot_id=%.*s\n", (int)strcspn(buf_text(&id), "\n"), buf_text(&id));
	buf_release(&id);
	return rc;
}

int ns_tell_size(const struct node_spec *n, struct fail *f)
{
	struct buf b;
	int rc = 0;

	buf_init(&b, TEXT_MAX);
	if (n->cpu_milli)
		rc = buf_addf(&b, "cpus=%u\n", n->cpu_milli < 1000 ? 1 : n->cpu_milli / 1000);
	if (!rc && n->memory)
		rc = buf_addf(&b, "memory_mb=%lld\n", (long long)(n->memory >> 20));
	if (!rc && n->disk)
		rc = buf_addf(&b, "disk_mb=%lld\n", (long long)(n->disk >> 20));
	rc = rc ? rc : layer_tell_kernel(&b);
	rc = rc ? fail_set(f, rc, "out of memory") : layer_put(n, "share", "resources", buf_text(&b), 0644, f);
	buf_release(&b);
	return rc;
}

/* ---- layer ---------------------------------------------------------------------------------- */

static int layer_make_folders(const struct node_spec *n, struct fail *f)
{
	char at[NS_PATH], path[NS_PATH];
	int rc = ns_path(n, "layer", path, f);

	if (!rc)
		rc = ns_folder(path, 0755, ns_first_id(n), f);
	for (size_t i = 0; !rc && i < sizeof folders / sizeof *folders; i++) {
		snprintf(at, sizeof at, "layer/%s", folders[i]);
		rc = ns_path(n, at, path, f);
		if (!rc)
			rc = ns_folder(path, 0755, ns_first_id(n), f);
	}
	for (size_t i = 0; !rc && i < sizeof links / sizeof *links; i++) {
		snprintf(at, sizeof at, "layer/%s", links[i].at);
		rc = ns_path(n, at, path, f);
		if (!rc &&
			((symlink(links[i].to, path) != 0 && errno != EEXIST) ||
				lchown(path, ns_first_id(n), ns_first_id(n)) != 0))
			rc = fail_errno(f, -errno, errno, "cannot make the link '%s'", path);
	}
	return rc;
}

static int put_machine_id(const struct node_spec *n, struct fail *f)
{
	char path[NS_PATH], text[2 * MACHINE_ID + 2];
	unsigned char id[MACHINE_ID];
	int rc = ns_path(n, "layer/etc/machine-id", path, f);

	if (rc || access(path, F_OK) == 0)
		return rc;
	if (getrandom(id, sizeof id, 0) != sizeof id)
		return fail_errno(f, -EIO, errno, "no random numbers available");
	id[6] = (unsigned char)((id[6] & 0x0f) | 0x40);
	id[8] = (unsigned char)((id[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof id; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	text[2 * MACHINE_ID] = '\n';
	text[2 * MACHINE_ID + 1] = '\0';
	return layer_put(n, "layer/etc", "machine-id", text, 0444, f);
}

static int put_names(const struct node_spec *n, struct fail *f)
{
	struct net_names names;
	char text[512];
	int rc;

	net_names(n, &names);
	snprintf(text, sizeof text, "%s\n", n->name);
	rc = layer_put(n, "layer/etc", "hostname", text, 0644, f);
	snprintf(text, sizeof text, "127.0.0.1 localhost\n%s %s\n::1 localhost ip6-localhost ip6-loopback\n",
		names.address, n->name);
	if (!rc)
		rc = layer_put(n, "layer/etc", "hosts", text, 0644, f);
	if (!rc)
		rc = layer_put(n, "layer/etc", "resolv.conf", net_resolv(n->setup), 0644, f);
	return rc;
}

static int put_script_unit(const struct node_spec *n, struct fail *f)
{
	char text[sizeof script_unit + 16];

	snprintf(text, sizeof text, script_unit, n->script && !str_starts(n->script, "#!") ? "/bin/sh " : "");
	return layer_put(n, "layer/etc/systemd/system", "nanopod-script.service", text, 0644, f);
}

int ns_layer(const struct node_spec *n, struct fail *f)
{
	int rc = layer_fill_share(n, f);

	if (!rc)
		rc = layer_make_folders(n, f);
	if (!rc)
		rc = put_machine_id(n, f);
	if (!rc)
		rc = put_names(n, f);
	if (!rc)
		rc = layer_put(n, "layer/etc/systemd/system", "nanopod-node.service", node_unit, 0644, f);
	if (!rc)
		rc = layer_put(n, "layer/etc/systemd/system", "nanopod-devices.service", devices_unit, 0644, f);
	if (!rc)
		rc = put_script_unit(n, f);
	if (!rc)
		rc = layer_put(n, "layer/etc/ssh/sshd_config.d", "nanopod.conf", sshd_config, 0644, f);
	return rc;
}

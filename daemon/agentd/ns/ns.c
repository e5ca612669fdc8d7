/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver ns: a full Debian on this machine's kernel. systemd-nspawn with namespaces for processes, mounts, network,
 * names and users, on an overlay over a shared image. Control groups alone tell what runs.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/os/cgroup.h"
#include "agentd/driver.h"
#include "agentd/ns/image.h"
#include "agentd/os/mount.h"
#include "agentd/ns/net.h"
#include "agentd/ns/ns.h"
#include "agentd/os/spawn.h"
#include "base/clock.h"
#include "base/file.h"

enum { KILL_MS = 10000, PAUSE_MS = 10, LOOP_MS = 3000, HALT_SIGNAL = 3 };

/* ---- Does it work here? ---------------------------------------------------------------------- */

static const struct {
	const char *program, *package;
} needed[] = {
	{ "systemd-nspawn", "systemd-container" }, { "ssh-keygen", "openssh-client" }, { "mkfs.ext4", "e2fsprogs" },
};

static int probe_mounts(const struct driver_setup *s, struct fail *f)
{
	const struct node_spec any = { .setup = s, .id = "probe" };
	char room[NS_PATH];
	int rc;

	if (snprintf(room, sizeof room, "%s/ns-probe.%d", s->data, (int)getpid()) >= (int)sizeof room)
		return fail_set(f, -ENOTSUP, "the path of the folder '%s' is too long", s->data);
	file_folders(room);
	if (mkdir(room, 0700) != 0 && errno != EEXIST) {
		fail_errno(f, -ENOTSUP, errno, "cannot make '%s'", room);
		return -ENOTSUP;
	}
	rc = mount_probe(room, ns_first_id(&any), f);
	ns_empty(room, NULL, NULL);
	rmdir(room);
	return rc;
}

static int ns_probe(const struct driver_setup *s, unsigned *holds, struct fail *f)
{
	unsigned have = HOLDS_PROCESSES | HOLDS_FILES | HOLDS_NETWORK | HOLDS_SYSTEM, limits = 0;
	struct image image;
	char path[NS_PATH];
	bool uplink;
	int rc;

	if (geteuid() != 0)
		return fail_set(f, -ENOTSUP,
			"only root can make ns nodes; use sudo, or --driver process");
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!spawn_find(needed[i].program, path, sizeof path))
			return fail_set(f, -ENOTSUP, "'%s' is not installed; 'apt install %s' installs it",
				needed[i].program, needed[i].package);
	rc = cgroup_probe(&limits, f);
	if (!rc)
		rc = net_probe(s, &uplink, f);
	if (!rc)
		rc = probe_mounts(s, f);
	if (rc)
		return rc;
	*holds = have | limits | (mount_file_works(f && *f->text ? NULL : f) == 0 ? HOLDS_DISK : 0u);
	rc = image_find(s->images, NULL, &image, f);
	return rc ? -ENOENT : 0;
}

/* ---- Making ----------------------------------------------------------------------------------- */

static void hold_name(const struct node_spec *n, char room[static NS_PATH])
{
	snprintf(room, NS_PATH, "%s-%s", n->setup->prefix, n->id);
}

/* The node keeps the build that it was made from, whatever is built later. */
static int ns_take_image(const struct node_spec *n, struct fail *f)
{
	char link[NS_PATH], fresh[NS_PATH], who[NS_PATH];
	struct image image;
	int rc = ns_path(n, "image", link, f);

	if (rc || access(link, F_OK) == 0)
		return rc;
	rc = ns_path(n, "image.new", fresh, f);
	if (!rc)
		rc = image_find(n->setup->images, n->image, &image, f);
	if (rc)
		return rc;
	if (image.form != IMAGE_FOLDER)
		return fail_set(f, -ENOTSUP,
			"the image '%s' was built by an ordinary user; 'nanopod host image build --again' as root "
			"repairs it",
			image.path);
	hold_name(n, who);
	rc = image_hold(&image, who, n->dir, f);
	unlink(fresh);
	if (!rc && (symlink(image.root, fresh) != 0 || rename(fresh, link) != 0))
		rc = fail_errno(f, -errno, errno, "cannot make the link '%s'", link);
	return rc;
}

/* Space that only a folder without nodes holds still is there for others. */
static int ns_make_disks(const struct node_spec *n, struct fail *f)
{
	int rc = ns_disk(n, f);

	if (!rc)
		rc = ns_shared(n, f);
	if (rc != -ENOSPC || ns_shared_tidy(n->setup, true, NULL) != 0)
		return rc;
	rc = ns_disk(n, f);
	return rc ? rc : ns_shared(n, f);
}

static int ns_create(const struct node_spec *n, struct fail *f)
{
	char made[NS_PATH], user[NS_PATH];
	int rc = ns_path(n, "made", made, f);

	if (rc || access(made, F_OK) == 0)
		return rc;
	rc = ns_path(n, "user", user, f);
	if (!rc)
		rc = ns_take_image(n, f);
	if (!rc)
		rc = ns_layer(n, f);
	if (!rc)
		rc = ns_make_disks(n, f);
	if (!rc)
		rc = ns_write(user, "root\n", 0600, 0, f);
	return rc ? rc : ns_write(made, "", 0600, 0, f);
}

/* A loop device releases its file a moment after the last unmount; until then nobody else may mount it. */
static int ns_wait_disk(const struct node_spec *n, struct fail *f)
{
	int64_t until = clock_ms() + LOOP_MS;
	char path[NS_PATH];
	int rc = ns_path(n, "disk.img", path, f);

	if (rc || access(path, F_OK) != 0)
		return rc;
	while (mount_file_busy(path)) {
		if (clock_ms() >= until)
			return fail_set(f, -EBUSY, "the disk '%s' is still mounted", path);
		poll(NULL, 0, PAUSE_MS);
	}
	return 0;
}

static int ns_start(const struct node_spec *n, struct fail *f)
{
	char made[NS_PATH], ending[NS_PATH];
	int rc = ns_path(n, "made", made, f);

	if (!rc)
		rc = ns_path(n, "ending", ending, f);
	if (rc)
		return rc;
	if (access(made, F_OK) != 0)
		return fail_set(f, -ENOENT, "the node '%s' is not made yet", n->id);
	if (ns_init(n) && access(ending, F_OK) != 0)
		return net_door(n, f);
	rc = cgroup_kill(n, CGROUP_NODE, KILL_MS, f);
	if (!rc && unlink(ending) != 0 && errno != ENOENT)
		rc = fail_errno(f, -errno, errno, "cannot remove '%s'", ending);
	if (!rc)
		rc = ns_wait_disk(n, f);
	if (!rc)
		rc = ns_volumes_ready(n, f);
	if (!rc)
		rc = cgroup_fresh(n, f);
	if (!rc)
		rc = cgroup_make(n, ns_first_id(n), f);
	if (!rc)
		rc = ns_devices(n, f);
	if (!rc)
		rc = net_veth(n, f);
	if (!rc)
		rc = net_rate(n, f);
	if (!rc)
		rc = net_door(n, f);
	if (!rc)
		rc = ns_tell_size(n, f);
	return rc ? rc : ns_boot(n, f);
}

/* What counts for a node that runs: its processors, and volumes that were made since it started. */
static int ns_rebind(const struct node_spec *n, struct fail *f)
{
	int rc = cgroup_rebind(n, f);

	return rc ? rc : ns_volumes_join(n, f);
}

static int ns_rekey(const struct node_spec *n, struct fail *f)
{
	return ns_keys(n, f);
}

/* ---- Ending ----------------------------------------------------------------------------------- */

static int ns_stop(const struct node_spec *n, int64_t grace_ms, struct fail *f)
{
	int64_t until = clock_ms() + grace_ms;
	pid_t init = ns_init(n), any;
	char ending[NS_PATH];
	int rc;

	if (init && grace_ms > 0) {
		if (ns_path(n, "ending", ending, NULL) == 0)
			ns_write(ending, "", 0600, 0, NULL);   /* a full disk must not keep it running */
		kill(init, SIGRTMIN + HALT_SIGNAL);
		while (cgroup_pids(n, CGROUP_NODE, &any, 1) && clock_ms() < until)
			poll(NULL, 0, PAUSE_MS);
	}
	rc = cgroup_kill(n, CGROUP_NODE, KILL_MS, f);
	return rc ? rc : net_node_remove(n, f);
}

static int ns_destroy(const struct node_spec *n, struct fail *f)
{
	static const char *const keep[] = { "node.json", "lock", NULL };
	char made[NS_PATH], who[NS_PATH];
	int rc = ns_path(n, "made", made, f);

	/* Removed first: a half-removed node must not count as made. */
	if (!rc && unlink(made) != 0 && errno != ENOENT)
		rc = fail_errno(f, -errno, errno, "cannot remove '%s'", made);
	if (!rc)
		rc = cgroup_kill(n, CGROUP_ALL, KILL_MS, f);
	if (!rc)
		rc = net_node_remove(n, f);
	if (!rc)
		rc = ns_wait_disk(n, f);
	if (!rc)
		rc = ns_shared_leave(n, f);
	if (!rc)
		rc = ns_empty(n->dir, keep, f);
	if (rc)
		return rc;
	hold_name(n, who);
	image_drop(n->setup->images, who);
	return cgroup_remove(n, f);
}

static int ns_inspect(const struct node_spec *n, enum node_is *out, struct fail *f)
{
	char path[NS_PATH];
	int rc = ns_path(n, "layer", path, f);

	if (rc)
		return rc;
	if (ns_init(n))
		*out = NODE_RUNNING;
	else
		*out = access(path, F_OK) == 0 ? NODE_STOPPED : NODE_ABSENT;
	return 0;
}

/* ---- What nodes share --------------------------------------------------------------------------- */

static void ns_terms(const struct driver_setup *s, struct driver_terms *out)
{
	(void)s;
	out->shared = mount_file_works(NULL) == 0;
}

static int ns_renew(const struct driver_setup *s, struct fail *f)
{
	int rc = net_renew(s, f), shared = ns_shared_tidy(s, false, rc ? NULL : f);

	return rc ? rc : shared;
}

static int ns_tidy(const struct driver_setup *s, struct fail *f)
{
	int rc = net_tidy(s, f), shared = s->for_good ? ns_shared_tidy(s, true, rc ? NULL : f) : 0;

	return rc ? rc : shared;
}

const struct driver driver_ns = {
	.name = "ns",
	.about = "systemd-nspawn: a full Debian on this machine's kernel",
	.devices = DEVICES_NODES,
	.probe = ns_probe,
	.terms = ns_terms,
	.create = ns_create,
	.start = ns_start,
	.rekey = ns_rekey,
	.disk_use = ns_disk_use,
	.rebind = ns_rebind,
	.stop = ns_stop,
	.destroy = ns_destroy,
	.inspect = ns_inspect,
	.list = cgroup_list,
	.renew = ns_renew,
	.tidy = ns_tidy,
};

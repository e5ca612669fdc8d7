/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boots a node: a child enters the node's control groups, the tenant's network and a new mount namespace, mounts the
 * root, and becomes systemd-nspawn. Its mounts end with the node's last process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agentd/os/cgroup.h"
#include "agentd/os/mount.h"
#include "agentd/ns/net.h"
#include "agentd/ns/ns.h"
#include "agentd/os/spawn.h"
#include "agentd/os/throttle.h"
#include "base/buf.h"
#include "base/clock.h"

enum {
	BOOT_MS = 15000,
	PAUSE_MS = 5,
	PIDS = 65536 /* more than a node may have */,
	STATUS_MAX = 16384,
	TAIL = 400,
	OPTIONS_MAX = 1 << 20
};

struct boot {
	const struct node_spec *n;
	struct fail *told;          /* in memory shared with the parent */
	char dir[NS_PATH], root[NS_PATH], shifted[NS_PATH], layer[NS_PATH], upper[NS_PATH], work[NS_PATH],
		disk[NS_PATH], file[NS_PATH];
	char image[NS_PATH], log[NS_PATH];
	char volumes[2 * NS_PATH]; /* an option for systemd-nspawn */
};

/*
 * Files of /proc as lxcfs shows them, by the reader's control groups; a machine without lxcfs shows its own.
 * systemd-nspawn mounts over /proc from inside the node, which therefore sees the folder of lxcfs too.
 */
#define SEEN_AT "/var/lib/lxcfs/proc"
static const char *const boot_seen[] = { "cpuinfo", "meminfo", "stat", "uptime", "loadavg", "swaps" };

enum { SEEN = sizeof boot_seen / sizeof *boot_seen, SEEN_ROOM = 96, WORDS = 32 };

/* ---- In the child ------------------------------------------------------------------------------ */

/* A node with its own disk has these two folders on it. */
static int boot_lay_disk(struct boot *b)
{
	uid_t first = ns_first_id(b->n);
	int rc;

	if (access(b->file, F_OK) != 0)
		return 0;
	rc = mount_file(b->file, b->disk, b->told);
	if (!rc &&
		(snprintf(b->upper, NS_PATH, "%.480s/upper", b->disk) < 0 ||
			snprintf(b->work, NS_PATH, "%.480s/work", b->disk) < 0))
		rc = -EINVAL;
	if (!rc)
		rc = ns_folder(b->upper, 0755, first, b->told);
	return rc ? rc : ns_folder(b->work, 0755, first, b->told);
}

static int boot_lay_root(struct boot *b)
{
	char lower[2 * NS_PATH + 2];
	int users, rc = boot_lay_disk(b);

	if (!rc)
		rc = mount_users(ns_first_id(b->n), &users, b->told);
	if (rc)
		return rc;
	rc = mount_shifted(users, b->image, b->shifted, false, b->told);
	if (!rc)
		rc = ns_shared_mount(b->n, users, b->told);
	if (!rc)
		rc = ns_volumes_mount(b->n, users, b->told);
	close(users);
	if (rc)
		return rc;
	snprintf(lower, sizeof lower, "%s:%s", b->layer, b->shifted);
	return mount_overlay(lower, b->upper, b->work, b->root, b->told);
}

/* What the node's user has there stays his: the volumes would hide a folder, and land in what a link names. */
static void boot_spare_own(struct boot *b)
{
	char at[NS_PATH + sizeof NS_VOLUMES_FOLDER];
	int fd, entries = 0;
	DIR *d;

	snprintf(at, sizeof at, "%s" NS_VOLUMES_FOLDER, b->root);
	fd = open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	while (d && readdir(d))
		entries++;
	if (d)
		closedir(d);
	if (d && entries <= 2) /* itself and the one above */
		return;
	/* In place of the option: systemd-nspawn has this one already. */
	snprintf(b->volumes, sizeof b->volumes, "--quiet");
	dprintf(1, "[nanopod] %s is this node's own and stays: move it away and restart to see volumes\n",
		NS_VOLUMES_FOLDER);
}

/* Keeps systemd-nspawn's own output out of the node's console. */
static int own_log(const struct boot *b)
{
	int fd = open(b->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || dup2(fd, 2) != 2)
		return fail_errno(b->told, -errno, errno, "cannot write '%s'", b->log);
	close(fd);
	return 0;
}

/* 2 MiB a second is more than people read and programs that run well say; a flood of it costs neighbours nothing. */
static const struct throttle boot_console = { .burst = 8 << 20, .rate = 2 << 20, .most = 64 << 20, .kept = 32 << 20 };

static int boot_prepare(void *arg)
{
	struct boot *b = arg;
	int rc = cgroup_enter(b->n, CGROUP_NODE);

	if (rc)
		return fail_errno(b->told, rc, -rc, "cannot enter the node's control groups");
	rc = throttle_output(1, &boot_console);
	if (rc)
		return fail_errno(b->told, rc, -rc, "cannot bound the node's console");
	rc = mount_alone(b->told);
	if (!rc)
		rc = boot_lay_root(b);
	if (!rc)
		boot_spare_own(b);
	if (!rc)
		rc = ns_device_nodes(b->n, b->told);
	if (!rc)
		rc = ns_device_folders(b->n, b->root, b->told);
	if (!rc)
		rc = cgroup_guard(b->n, b->told); /* after the mounts, which need loop devices */
	if (!rc)
		rc = mount_sys(b->told);
	/* Nobody needs its lock files, and they would stay if it is killed. */
	if (!rc)
		rc = mount_empty("/run/systemd/nspawn", b->told);
	return rc ? rc : own_log(b);
}

/* ---- In the parent ----------------------------------------------------------------------------- */

/* NSpid lists the pid in each process namespace from ours inward: the node's first process is 1 in the second. */
static bool is_init(pid_t pid)
{
	char path[64], *line, *end;
	bool yes = false;
	struct buf b;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	buf_init(&b, STATUS_MAX);
	if (buf_read_file(&b, path) == 0 && (line = strstr(b.data, "\nNSpid:"))) {
		strtol(line + 7, &end, 10);
		yes = *end == '\t' && strtol(end, &end, 10) == 1 && *end == '\n';
	}
	buf_release(&b);
	return yes;
}

pid_t ns_init(const struct node_spec *n)
{
	pid_t *pids = calloc(PIDS, sizeof *pids), found = 0;
	size_t count = pids ? cgroup_pids(n, CGROUP_NODE, pids, PIDS) : 0;

	for (size_t i = 0; i < count && i < PIDS && !found; i++)
		if (is_init(pids[i]))
			found = pids[i];
	free(pids);
	return found;
}

static int boot_set_paths(struct boot *b, struct fail *f)
{
	const struct { const char *name; char *room;
	} all[] = {
		{ "root", b->root },
		{ "shifted", b->shifted },
		{ "layer", b->layer },
		{ "upper", b->upper },
		{ "work", b->work },
		{ "disk", b->disk },
		{ "disk.img", b->file },
		{ "nspawn.log", b->log },
	};
	char link[NS_PATH];
	ssize_t len;
	int rc = ns_path(b->n, "image", link, f);

	for (size_t i = 0; !rc && i < sizeof all / sizeof *all; i++)
		rc = ns_path(b->n, all[i].name, all[i].room, f);
	if (rc)
		return rc;
	len = readlink(link, b->image, sizeof b->image - 1);
	if (len < 0)
		return fail_errno(f, -errno, errno, "cannot read the link '%s'", link);
	b->image[len] = '\0';
	return 0;
}

static int boot_last_words(const char *path, struct fail *f)
{
	struct buf b;
	size_t from;

	buf_init(&b, 1 << 20);
	buf_read_file(&b, path);
	while (b.len && (b.data[b.len - 1] == '\n' || b.data[b.len - 1] == '\r'))
		buf_cut(&b, b.len - 1);
	from = b.len > TAIL ? b.len - TAIL : 0;
	for (size_t i = from; i < b.len; i++)
		if (b.data[i] == '\n')
			from = i + 1;
	fail_set(f, -EIO, "the node did not start: %s",
		*(buf_text(&b) + from) ? buf_text(&b) + from : "'systemd-nspawn' printed nothing");
	buf_release(&b);
	return -EIO;
}

static int wait_init(const struct node_spec *n, pid_t pid, const char *log, struct fail *f)
{
	int64_t until = clock_ms() + BOOT_MS;

	while (!ns_init(n)) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return boot_last_words(log, f);
		if (clock_ms() >= until)
			return fail_set(f, -ETIMEDOUT, "the node did not start within %d s; see '%s'", BOOT_MS / 1000,
				log);
		poll(NULL, 0, PAUSE_MS);
	}
	return 0;
}

/* On a host with cgroup v1 newer systemds start only when told that this is intended. */
static bool boot_is_legacy(void)
{
	return access("/sys/fs/cgroup/cgroup.controllers", F_OK) != 0;
}

static void boot_add_word(const char **argv, const char *word)
{
	size_t at = 0;

	while (argv[at])
		at++;
	argv[at] = word;
	argv[at + 1] = NULL;
}

/* Appends the options that show the node its own size; rooms holds their text. */
static void boot_add_seen(const char **argv, char rooms[SEEN][SEEN_ROOM])
{
	if (access(SEEN_AT, R_OK | X_OK) == 0)
		boot_add_word(argv, "--bind-ro=" SEEN_AT);
	for (size_t i = 0; i < SEEN; i++) {
		char path[SEEN_ROOM];

		snprintf(path, sizeof path, SEEN_AT "/%s", boot_seen[i]);
		if (access(path, R_OK) != 0)
			continue;
		snprintf(rooms[i], SEEN_ROOM, "--bind-ro=" SEEN_AT "/%s:/proc/%s", boot_seen[i], boot_seen[i]);
		boot_add_word(argv, rooms[i]);
	}
}

/* The options that each node has, then those for its devices. free() what it returns; NULL: no memory. */
static const char **boot_words(const char *const *fixed, const struct buf *options, size_t count)
{
	const char **argv, *at = options->data;
	size_t n = 0;

	while (fixed[n])
		n++;
	argv = calloc(n + count + 2, sizeof *argv);
	if (!argv)
		return NULL;
	memcpy(argv, fixed, n * sizeof *argv);
	for (size_t i = 0; i < count; i++, at += strlen(at) + 1)
		argv[n++] = at;
	if (boot_is_legacy())
		argv[n] = "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1"; /* the first word that is no option */
	return argv;
}

static int boot_spawn(struct boot *b, int space, const char *const *fixed, const char *console, pid_t *pid,
	struct fail *f)
{
	const char **argv = NULL;
	struct buf options;
	size_t count;
	int rc;

	buf_init(&options, OPTIONS_MAX);
	rc = ns_device_options(b->n, &options, &count);
	if (!rc && !(argv = boot_words(fixed, &options, count)))
		rc = -ENOMEM;
	if (rc)
		fail_errno(f, rc, -rc, "cannot describe the node's devices");
	else
		rc = spawn_leave(&(struct spawn){ .argv = argv, .net = space, .prepare = boot_prepare, .arg = b },
			console, -1, pid, f);
	free(argv);
	buf_release(&options);
	return rc;
}

static int boot_launch(struct boot *b, int space, struct fail *f)
{
	char machine[80], host[80], shared[2 * NS_PATH], users[64], port[64], console[NS_PATH], at[NS_PATH + 16];
	char seen[SEEN][SEEN_ROOM], folder[2 * NS_PATH];
	const char *argv[WORDS] = { "systemd-nspawn", "--quiet", "--boot", at, machine, host, users,
		"--private-users-ownership=off", port, shared, "--register=no", "--keep-unit", "--settings=no",
		"--resolv-conf=off", "--timezone=off", "--link-journal=no", "--console=read-only" };
	const struct node_spec *n = b->n;
	struct net_names names;
	int rc = ns_path(n, "console", console, f);
	pid_t pid;

	net_names(n, &names);
	boot_add_seen(argv, seen);
	snprintf(folder, sizeof folder, "--bind=%s/shared:" NS_SHARED_FOLDER, n->dir);
	if (n->shared > 0)
		boot_add_word(argv, folder);
	snprintf(b->volumes, sizeof b->volumes, "--bind=%s/volumes:" NS_VOLUMES_FOLDER, n->dir);
	boot_add_word(argv, b->volumes);
	snprintf(at, sizeof at, "--directory=%s", b->root);
	snprintf(machine, sizeof machine, "--machine=%.60s", n->name);
	snprintf(host, sizeof host, "--hostname=%.60s", n->name);
	snprintf(users, sizeof users, "--private-users=%u:%d", ns_first_id(n), MOUNT_IDS);
	snprintf(port, sizeof port, "--network-interface=%s", names.inner);
	snprintf(shared, sizeof shared, "--bind-ro=%s/share:" NS_SHARED_AT, n->dir);
	if (!rc)
		rc = boot_spawn(b, space, argv, console, &pid, f);
	if (rc && b->told->code && f)
		*f = *b->told;
	return rc ? rc : wait_init(n, pid, b->log, f);
}

int ns_boot(const struct node_spec *n, struct fail *f)
{
	struct fail *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct boot b = { .n = n, .told = told };
	int space, rc;

	if (told == MAP_FAILED)
		return fail_errno(f, -errno, errno, "out of memory");
	rc = boot_set_paths(&b, f);
	if (!rc)
		rc = net_hub_open(n, &space, f);
	if (!rc) {
		rc = boot_launch(&b, space, f);
		close(space);
	}
	munmap(told, sizeof *told);
	return rc;
}

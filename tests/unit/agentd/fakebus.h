/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for the kernel behind a tree of sysfs: a child that reads what is written to bind, unbind, reset and
 * drivers_probe, which are FIFOs, and moves the links `driver` accordingly. It writes down which device was reset. Who
 * is removed is in "removed" until a rescan, and a card that has "reset.alone" can then be reset.
 */
#ifndef TESTS_FAKEBUS_H
#define TESTS_FAKEBUS_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "inventorytree.h"

enum { BUS_FILES = 32 };

/* What a test tells the child, in memory that both have. */
struct bus_orders {
	char refused[32]; /* the function that vfio-pci does not take */
	pid_t victim;     /* is killed */
	int after;        /* so many messages */
};

struct bus {
	const char *root;
	const char *lock; /* a file: if it is locked as a driver leaves a device, "turns/DEVICE" is made */
	struct bus_orders *orders; /* NULL: none */
	pid_t pid;
	char path[BUS_FILES][600];
	int fd[BUS_FILES];
	int count;
};

static TAP_UNUSED void bus_file(struct bus *b, const char *path)
{
	char *room = b->path[b->count];

	tree_put(b->root, path, "");
	snprintf(room, sizeof b->path[0], "%s/%s", b->root, path);
	unlink(room);
	if (mkfifo(room, 0600) != 0 || (b->fd[b->count] = open(room, O_RDWR | O_CLOEXEC)) < 0)
		exit(99);
	b->count++;
}

/* A driver that takes and gives functions. */
static TAP_UNUSED void bus_driver(struct bus *b, const char *name)
{
	char path[200];

	snprintf(path, sizeof path, "sys/bus/pci/drivers/%s/bind", name);
	bus_file(b, path);
	snprintf(path, sizeof path, "sys/bus/pci/drivers/%s/unbind", name);
	bus_file(b, path);
}

static TAP_UNUSED void bus_drives(const char *root, const char *address, const char *driver)
{
	char path[200], to[200];

	snprintf(path, sizeof path, "sys/bus/pci/devices/%.20s/driver", address);
	snprintf(to, sizeof to, "-> ../../../../bus/pci/drivers/%.60s", driver);
	tree_put(root, path, to);
}

static TAP_UNUSED bool bus_is_locked(const struct bus *b)
{
	int fd = b->lock ? open(b->lock, O_RDWR | O_CLOEXEC) : -1;
	bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;

	if (fd >= 0)
		close(fd);
	return locked;
}

/* The kernel gives a function only to the driver of its override. */
static TAP_UNUSED bool bus_may(const struct bus *b, const char *address, const char *driver)
{
	char path[700], only[100] = "";
	FILE *f;

	if (b->orders && strcmp(driver, "vfio-pci") == 0 && strcmp(b->orders->refused, address) == 0)
		return false;
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%.20s/driver_override", b->root, address);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(only, sizeof only, f))
			*only = '\0';
		fclose(f);
	}
	only[strcspn(only, "\n")] = '\0';
	return !*only || strcmp(only, "(null)") == 0 || strcmp(only, driver) == 0;
}

/* The device file of an IOMMU group is there while vfio-pci has a function of it, and made anew after that. */
static TAP_UNUSED void bus_group(const struct bus *b, const char *address)
{
	char path[900], group[300], driver[300];
	bool used = false;
	struct dirent *e;
	ssize_t n;
	DIR *d;

	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%.20s/iommu_group", b->root, address);
	n = readlink(path, group, sizeof group - 1);
	if (n <= 0)
		return;
	group[n] = '\0';
	snprintf(path, sizeof path, "%s/sys/kernel/iommu_groups/%s/devices", b->root, strrchr(group, '/') + 1);
	for (d = opendir(path); d && !used && (e = readdir(d));) {
		snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%.20s/driver", b->root, e->d_name);
		n = readlink(path, driver, sizeof driver - 1);
		driver[n < 0 ? 0 : n] = '\0';
		used = strstr(driver, "/vfio-pci");
	}
	if (d)
		closedir(d);
	snprintf(path, sizeof path, "%s/dev/vfio/%s", b->root, strrchr(group, '/') + 1);
	if (!used)
		unlink(path);
	else if (access(path, F_OK) != 0)
		tree_put(b->root, path + strlen(b->root) + 1, "new");
}

static TAP_UNUSED void bus_remove(const struct bus *b, const char *address)
{
	char gpu[700], from[700], to[700];

	snprintf(from, sizeof from, "%s/sys/bus/pci/devices/%.11s0/reset.alone", b->root, address);
	snprintf(to, sizeof to, "%s/sys/bus/pci/devices/%.11s0/reset", b->root, address);
	rmdir(to);
	rename(from, to);
	tree_put(b->root, "removed/", "");
	tree_put(b->root, "were-removed", "");
	snprintf(gpu, sizeof gpu, "%s/sys/bus/pci/devices/%.12s", b->root, address);
	snprintf(to, sizeof to, "%s/removed/%.12s", b->root, address);
	rename(gpu, to);
}

static TAP_UNUSED void bus_rescan(const struct bus *b)
{
	char from[700], to[1000];
	struct dirent *e;
	DIR *d;

	snprintf(from, sizeof from, "%s/removed", b->root);
	d = opendir(from);
	while (d && (e = readdir(d))) {
		snprintf(to, sizeof to, "%s/sys/bus/pci/devices/%s", b->root, e->d_name);
		if (*e->d_name != '.')
			renameat(dirfd(d), e->d_name, AT_FDCWD, to);
	}
	if (d)
		closedir(d);
}

static TAP_UNUSED void bus_act(const struct bus *b, int i, const char *said, const char *native)
{
	const char *path = b->path[i], *last = strrchr(path, '/') + 1;
	char link[700], name[100], log[100];

	snprintf(link, sizeof link, "%s/sys/bus/pci/devices/%.20s/driver", b->root, said);
	if (strcmp(last, "unbind") == 0) {
		snprintf(log, sizeof log, "turns/%.12s", said);
		if (bus_is_locked(b))
			tree_put(b->root, log, "");
		unlink(link);
		bus_group(b, said);
	} else if (strcmp(last, "bind") == 0) {
		const char *from = strstr(path, "/drivers/") + 9;

		snprintf(name, sizeof name, "%.*s", (int)strcspn(from, "/"), from);
		if (!bus_may(b, said, name))
			return;
		bus_drives(b->root, said, name);
		bus_group(b, said);
	} else if (strcmp(last, "drivers_probe") == 0) {
		bus_drives(b->root, said, native);
	} else if (strcmp(last, "reset") == 0) {
		snprintf(log, sizeof log, "resets/%.12s", strstr(path, "/devices/") + 9);
		tree_put(b->root, log, said);
	} else if (strcmp(last, "remove") == 0) {
		bus_remove(b, strstr(path, "/devices/") + 9);
	} else if (strcmp(last, "rescan") == 0) {
		bus_rescan(b);
	} else if (strcmp(last, "settle") == 0) {
		tree_put(b->root, "settled", "");
	}
}

static TAP_UNUSED void bus_take(struct bus *b, int i, const char *said, const char *native)
{
	bus_act(b, i, said, native);
	if (b->orders && b->orders->victim && --b->orders->after == 0)
		kill(b->orders->victim, SIGKILL);
}

/* Links in sysfs lead from a device to its driver's files: root/sys/bus/pci/devices/X/driver/unbind. */
static TAP_UNUSED void bus_begin(struct bus *b, const char *native)
{
	bus_file(b, "settle"); /* the last one */
	b->pid = fork();
	if (b->pid)
		return;
	/* A test that crashes would leave it behind, and who reads its output would wait. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		struct pollfd p[BUS_FILES];

		for (int i = 0; i < b->count; i++)
			p[i] = (struct pollfd){ .fd = b->fd[i], .events = POLLIN };
		poll(p, (nfds_t)b->count, -1);
		for (int i = 0; i < b->count; i++)
			if (p[i].revents & POLLIN) {
				char said[64] = "";

				if (read(b->fd[i], said, sizeof said - 1) > 0)
					bus_take(b, i, said, native);
			}
	}
}

/* Until all that was written before is done. The child takes what came together in the files' order. */
static TAP_UNUSED void bus_settle(const struct bus *b)
{
	char path[700];

	snprintf(path, sizeof path, "%s/settled", b->root);
	if (write(b->fd[b->count - 1], "1", 1) != 1)
		exit(99);
	for (; access(path, F_OK) != 0; poll(NULL, 0, 1))
		if (waitpid(b->pid, NULL, WNOHANG) != 0)
			exit(99);
	unlink(path);
}

/* Was the device reset before this call, and since the last? */
static TAP_UNUSED bool bus_has_reset(const struct bus *b, const char *address)
{
	char path[700];

	bus_settle(b);
	snprintf(path, sizeof path, "%s/resets/%s", b->root, address);
	return unlink(path) == 0;
}

static TAP_UNUSED void bus_end(struct bus *b)
{
	kill(b->pid, SIGKILL);
	waitpid(b->pid, NULL, 0);
	for (int i = 0; i < b->count; i++)
		close(b->fd[i]);
}

/* The folder of a node below the agent's data, by which the node is known to live. */
static TAP_UNUSED void node_folder(const char *data, const char *node, bool there)
{
	char path[700];

	snprintf(path, sizeof path, "%.500s/nodes", data);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%.500s/nodes/%.100s", data, node);
	if (there)
		mkdir(path, 0700);
	else
		rmdir(path);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices of nodes of the driver ns, with harmless devices of this machine in place of GPUs: a node opens its own,
 * another does not, whatever it makes itself, and nobody does after the lease. TMP is an empty folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agentd/os/cgroup.h"
#include "agentd/os/devices.h"
#include "agentd/os/spawn.h"
#include "driverway.h"

#include "../lib/tap.h"

/* Devices that every program may open without harm: btrfs-control, autofs. */
enum { MAJOR = 10, MINOR_A = 234, MINOR_B = 235, BOOT_MS = 240000 };

#define LIBRARIES "/opt/gpu:lib"

static void devices_of(struct node_devices *d, unsigned minor, const char *file)
{
	struct device_node n = { .inside = "/dev/nvidia0",
		.type = 'c',
		.numbered = true,
		.major = MAJOR,
		.minor = minor,
		.access = DEVICE_ALL };

	*d = (struct node_devices){ 0 };
	devices_add_node(d, &n);
	snprintf(n.inside, sizeof n.inside, "/dev/dri/renderD128");
	devices_add_node(d, &n);
	devices_add_mount(d, file, LIBRARIES "/libgpu.so.1");
	devices_add_link(d, "libgpu.so.1", LIBRARIES "/it's/libgpu.so");
	devices_add_link(d, "../renderD128", "/dev/dri/by-path/pci-0000:1b:00.0-render");
	devices_add_folder(d, LIBRARIES);
	devices_add_env(d, "NVIDIA_VISIBLE_DEVICES=void");
}

/* What this machine's root gets for the device once it is inside the node's groups: 0 or an errno. */
static int opens_in(const struct one *o, const char *device)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		int fd, rc = cgroup_enter(&o->n, CGROUP_NODE);

		if (rc)
			_exit(255);
		fd = open(device, O_RDONLY | O_CLOEXEC);
		_exit(fd < 0 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static void asks(struct way *w, struct one *o, int person, const char *command, const char *want, const char *what)
{
	struct buf out;

	buf_init(&out, WAY_TEXT);
	one_ssh(w, o, person, command, &out);
	is_str(buf_text(&out), want, "%s", what);
	buf_release(&out);
}

static bool up(struct way *w, struct one *o, int person, const char *what)
{
	int rc = one_up(w, o);

	is_int(rc, 0, "%s starts", what);
	return !rc && one_wait(w, o, person, BOOT_MS) == 0;
}

static void test_own(struct way *w, struct one *a)
{
	asks(w, a, 0, "exec 3</dev/nvidia0 && echo open", "open\n", "A opens its device");
	asks(w, a, 0, "stat -c '%t:%T %U %a' /dev/nvidia0 /dev/dri/renderD128", "a:ea root 666\na:ea root 666\n",
		"which belongs to its root");
	asks(w, a, 0, "exec 3<$(readlink -f /dev/dri/by-path/pci-0000:1b:00.0-render) && echo open", "open\n",
		"a link leads to it");
	asks(w, a, 0, "exec 3</dev/null 4</dev/zero 5</dev/urandom && echo open", "open\n",
		"the usual devices are open");
	asks(w, a, 0, "echo x > " LIBRARIES "/libgpu.so.1; test -s " LIBRARIES "/libgpu.so.1 && echo whole", "whole\n",
		"the library is there, and stays as it is");
	asks(w, a, 0, "readlink \"" LIBRARIES "/it's/libgpu.so\"", "libgpu.so.1\n", "with its link");
	asks(w, a, 0, "ldconfig -p | grep -c ' " LIBRARIES "/'", "1\n", "the ld cache lists it");
	asks(w, a, 0, "echo $NVIDIA_VISIBLE_DEVICES", "void\n", "the environment says what the file said");
}

static void test_other(struct way *w, struct one *a, struct one *b, const char *device)
{
	asks(w, b, 1, "stat -c '%t:%T' /dev/nvidia0; exec 3</dev/nvidia0 && echo open", "a:eb\nopen\n",
		"B has another under the same name");
	asks(w, b, 1, "mknod /root/mine c 10 234 2>/dev/null || echo refused", "refused\n", "its root makes no device");
	is_int(opens_in(a, device), 0, "in A's groups A's device opens");
	is_int(opens_in(b, device), EPERM, "in B's groups not even to this machine's root");
	is_int(opens_in(b, "/dev/null"), 0, "where others open");
}

static void test_after(struct way *w, struct one *a, struct one *b, const char *device)
{
	struct fail f = { 0 };

	is_int(w->d->stop(&a->n, 5000, &f), 0, "A stops");
	a->n.devices = NULL;
	is_int(w->d->start(&a->n, &f), 0, "and starts without the device");
	is_int(one_wait(w, a, 0, BOOT_MS), 0, "(it answers)");
	asks(w, a, 0, "test -e /dev/nvidia0 || echo none; echo $NVIDIA_VISIBLE_DEVICES", "none\n\n", "which is gone");
	is_int(opens_in(a, device), EPERM, "and closed to its groups");
	is_int(opens_in(b, device), EPERM, "as it still is to B's");
	is_int(w->d->destroy(&a->n, &f), 0, "A goes");
	is_int(w->d->destroy(&b->n, &f), 0, "B goes");
	w->d->tidy(&w->setup, &f);
	is_int(way_clean(w, 60000), 0, "and leaves nothing");
}

static int suite(struct way *w)
{
	struct node_devices da, db;
	char device[300], file[300];
	struct fail f = { 0 };
	struct one a, b;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (w->d->probe(&w->setup, &w->holds, &f))
		skip_all("driver 'ns' does not work here: %s", f.text);
	snprintf(device, sizeof device, "%s/device", w->tmp);
	snprintf(file, sizeof file, "%s/library", w->tmp);
	ok(mknod(device, S_IFCHR | 0600, makedev(MAJOR, MINOR_A)) == 0, "(a device to try)");
	ok(spawn_words(60000, &f, "cp", "-L", getenv("LIBRARY"), file, NULL) == 0, "(a library)");
	one_init(&a, w, 1, "acct_a", 0);
	one_init(&b, w, 2, "acct_b", 1);
	devices_of(&da, MINOR_A, file);
	devices_of(&db, MINOR_B, file);
	a.n.devices = &da;
	b.n.devices = &db;
	if (up(w, &a, 0, "A") && up(w, &b, 1, "B")) {
		test_own(w, &a);
		test_other(w, &a, &b, device);
		test_after(w, &a, &b, device);
	}
	devices_release(&da);
	devices_release(&db);
	return done();
}

int main(void)
{
	int status = 0;
	struct way w;
	pid_t pid;

	plan_none;
	way_init(&w, &driver_ns);
	pid = fork();
	if (pid == 0)
		exit(suite(&w));
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		for (unsigned slot = 1; slot <= 2; slot++) {
			struct one o;

			one_init(&o, &w, slot, slot == 1 ? "acct_a" : "acct_b", 0);
			if (one_is(&w, &o) != NODE_ABSENT)
				w.d->destroy(&o.n, NULL);
			w.d->tidy(&w.setup, NULL);
		}
	way_release(&w);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

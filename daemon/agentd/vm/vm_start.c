/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a virtual machine, by cloning a frozen one where that works, else by booting; and sends its guest commands. */
#include "agentd/vm/vm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agentd/os/port.h"
#include "agentd/os/cgroup.h"
#include "agentd/vm/qmp.h"
#include "agentd/vm/guest.h"
#include "agentd/vm/life.h"
#include "agentd/vm/passthrough.h"
#include "agentd/vm/qemu.h"
#include "agentd/vm/socket.h"
#include "base/clock.h"

enum { QMP_MS = 15000, LOAD_MS = 60000, CLONE_MS = 60000, APPLY_MS = 15000, TELL_AGAIN_MS = 1000 };

/* ---- Commands to the guest ------------------------------------------------------------------ */

static int vm_start_wait_done(struct vmwire *w, const char *word, int64_t serial, bool clock, int64_t end,
	struct fail *f)
{
	char said[64], ask[128];
	const char *line;
	int rc;

	snprintf(said, sizeof said, VMGUEST_DONE " %lld", (long long)serial);
	for (;;) {
		int64_t left = end - clock_ms();
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		if (clock)
			snprintf(ask, sizeof ask, "%s %lld %lld.%03ld\n", word, (long long)serial,
				(long long)now.tv_sec, now.tv_nsec / 1000000);
		else
			snprintf(ask, sizeof ask, "%s %lld\n", word, (long long)serial);
		rc = vmwire_send(w, ask, strlen(ask), left > 0 ? left : 0, f);
		/* A clone hears the first one. A guest that is still booting may miss it, so repeat. */
		int64_t again = clock ? end : clock_ms() + TELL_AGAIN_MS;

		while (!rc) {
			left = (again < end ? again : end) - clock_ms();
			rc = vmwire_line(w, left > 0 ? left : 0, &line, f);
			if (!rc && strstr(line, said))
				return 0;
		}
		if (rc != -ETIMEDOUT || clock_ms() >= end)
			return rc;
	}
}

int driver_vm_tell(const struct vmnode *v, pid_t pid, const char *word, int64_t serial, bool clock, int64_t deadline_ms,
	struct fail *f)
{
	int64_t end = clock_ms() + deadline_ms;
	struct vmwire w;
	char run[VMIMAGE_ROOM];
	int rc;

	vmimage_at(run, v->dir, "run");
	rc = vmwire_open(&w, run, "ctl", pid, deadline_ms, f);
	if (rc)
		return rc;
	rc = vm_start_wait_done(&w, word, serial, clock, end, f);
	vmwire_close(&w);
	return rc;
}

/* ---- QEMU --------------------------------------------------------------------------------- */

struct started {
	struct vmlaunch launch;
	char net[160], words[256], console[VMIMAGE_ROOM], mac[24];
	int ns;
};

static int vm_start_order(const struct vmnode *v, struct started *s, struct fail *f)
{
	const struct driver_setup *setup = v->n->setup;
	int rc = vmnode_words(v, s->words, sizeof s->words, f);

	s->ns = -1;
	if (!rc && v->hub)
		rc = net_hub_open(v->n, &s->ns, f);
	if (rc)
		return rc;
	if (v->hub) {
		snprintf(s->net, sizeof s->net, "tap,id=e0,fd=%d", VMLAUNCH_TAP_FD);
		snprintf(s->mac, sizeof s->mac, "%s", v->net.mac);
	} else {
		rc = port_free(setup->listen, v->n->port, f);
		if (rc)
			return rc;
		/* Without `restrict` the guest would reach services that listen on this machine's loopback. */
		snprintf(s->net, sizeof s->net, "user,id=e0,restrict=on,hostfwd=tcp:%s:%u-:22", setup->listen,
			v->n->port);
		snprintf(s->mac, sizeof s->mac, "52:54:00:12:%02x:%02x", v->n->slot >> 8 & 0xff, v->n->slot & 0xff);
	}
	snprintf(s->console, sizeof s->console, "%s/console", v->n->dir);
	s->launch = (struct vmlaunch){ .name = v->name,
		.dir = v->dir,
		.console = s->console,
		.net = s->net,
		.mac = s->mac,
		.words = s->words,
		.shape = v->shape,
		.state = -1,
		.uid = v->uid,
		.ns = s->ns,
		.devices = v->n->devices,
		.group = v->hub ? v->n : NULL,
		.keeps_disk = v->n->disk_taken,
		.tap = v->hub ? v->net.port : NULL };
	return 0;
}

/* QEMU's last words, where it ended at once. */
static int vm_start_last_words(const struct started *s, int rc, struct fail *f)
{
	char tail[200] = "";
	int fd = open(s->console, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	off_t from = size > (off_t)sizeof tail ? size - (off_t)sizeof tail + 1 : 0;
	ssize_t n = fd < 0 ? -1 : pread(fd, tail, sizeof tail - 1, from);

	if (fd >= 0)
		close(fd);
	while (n > 0 && (unsigned char)tail[n - 1] <= ' ')
		n--;
	tail[n > 0 ? n : 0] = '\0';
	for (char *p = tail; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	return rc == -ESRCH || rc == -EPIPE ? fail_set(f, -EIO, "QEMU ended at once: %s", tail) : rc;
}

static int vm_start_launch(const struct vmnode *v, struct started *s, pid_t *pid, struct qmp **q, struct fail *f)
{
	char run[VMIMAGE_ROOM];
	int rc = vmlaunch(&s->launch, pid, f);

	vmimage_at(run, v->dir, "run");
	if (rc)
		return rc;
	rc = qmp_open(q, run, "qmp", *pid, QMP_MS + passthrough_ms(v), f);
	return rc ? vm_start_last_words(s, rc, f) : 0;
}

static int vm_start_boot(const struct vmnode *v, struct fail *f)
{
	struct started s;
	struct qmp *q = NULL;
	pid_t pid;
	int64_t serial;
	int rc = vmnode_identity(v, &serial, f);

	if (!rc)
		rc = vm_start_order(v, &s, f);
	if (rc)
		return rc;
	rc = vm_start_launch(v, &s, &pid, &q, f);
	qmp_close(q);
	if (s.ns >= 0)
		close(s.ns);
	return rc;
}

/* ---- A clone ------------------------------------------------------------------------------ */

/* Loads the state, sets its own disk's size, and lets it run. */
static int vm_start_go_on(const struct vmnode *v, struct qmp *q, struct fail *f)
{
	static const char *const loaded[] = { "paused", "running", "prelaunch", NULL };
	int which, rc = qmp_until(q, "query-status", "status", loaded, LOAD_MS, &which, f);

	if (!rc)
		rc = qmp_do(q, "cont", NULL, QMP_MS, NULL, f);
	if (!rc)
		rc = qmp_do(q, "block_resize", json_pack("{s:s,s:I}", "device", "d0", "size", (json_int_t)v->disk),
			QMP_MS, NULL, f);
	return rc;
}

static int vm_start_unfreeze(const struct vmnode *v, struct started *s, struct fail *f)
{
	struct qmp *q = NULL;
	pid_t pid;
	int64_t serial;
	int rc = vmnode_disk(v->dir, "gold.qcow2", "qcow2", 0, v->uid, f);

	if (!rc)
		rc = vmnode_hold(v, f);
	if (!rc)
		rc = vmnode_identity(v, &serial, f);
	if (!rc)
		rc = vm_start_launch(v, s, &pid, &q, f);
	if (!rc)
		rc = vm_start_go_on(v, q, f);
	qmp_close(q);
	if (!rc)
		rc = driver_vm_tell(v, pid, "go", serial, true, CLONE_MS, f);
	return rc;
}

static int vm_start_clone_it(const struct vmnode *v, struct fail *f)
{
	char path[VMIMAGE_ROOM];
	struct started s;
	int rc;

	vmimage_at(path, v->dir, "state");
	rc = vm_start_order(v, &s, f);
	if (rc)
		return rc;
	s.launch.state = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	rc = s.launch.state < 0 ? fail_errno(f, -errno, errno, "cannot read '%s'", path) : vm_start_unfreeze(v, &s, f);
	if (rc)
		vmproc_end(v->name, 0, NULL);
	else
		unlink(path);
	if (s.launch.state >= 0)
		close(s.launch.state);
	if (s.ns >= 0)
		close(s.ns);
	return rc;
}

/* Makes a disk from the image, whatever was tried before. */
static int vm_start_make_cold(const struct vmnode *v, struct fail *f)
{
	struct vmimage i;
	int rc = vmimage_make(v->n->setup->images, v->n->image, &i, f);

	if (!rc)
		rc = vmnode_share(v, i.path, vmlife_cold, f);
	if (!rc)
		rc = vmnode_put(v, VMNODE_MADE, "cold\n", f);
	return rc;
}

static int vm_start_first_boot(const struct vmnode *v, struct fail *f)
{
	struct fail why;
	int rc = 0;

	if (vmnode_says(v, VMNODE_MADE, "clone\n")) {
		if (passthrough_any(v))
			fail_set(&why, -ENOTSUP, "%s", PASSTHROUGH_NO_CLONE);
		else if (vm_start_clone_it(v, &why) == 0)
			return vmnode_put(v, VMNODE_BOOTED, "clone\n", f);
		vmlife_note(v->n, why.text);
		rc = vm_start_make_cold(v, f);
	}
	if (!rc)
		rc = vmnode_disk(v->dir, "base.ext4", "raw", v->disk, v->uid, f);
	if (!rc)
		rc = vmnode_hold(v, f);
	if (!rc)
		rc = vm_start_boot(v, f);
	return rc ? rc : vmnode_put(v, VMNODE_BOOTED, "cold\n", f);
}

/* ---- All of it ---------------------------------------------------------------------------- */

static int vm_start_surroundings(const struct vmnode *v, struct fail *f)
{
	int rc = vmnode_folder(v->dir, v->uid, f);

	if (rc || !v->hub)
		return rc;
	rc = vmnode_put(v, VMNODE_TENANT, v->n->tenant, f);
	if (!rc)
		rc = net_hub(v->n, f);
	if (!rc)
		rc = net_tap(v->n, v->uid, f);
	if (!rc)
		rc = net_rate(v->n, f);
	if (!rc)
		rc = cgroup_make(&v->group, 0, f);
	if (!rc)
		rc = passthrough_open(v, f);
	return rc;
}

int driver_vm_start(const struct node_spec *n, struct fail *f)
{
	struct vmaccel accel;
	struct vmnode v;
	int rc = vmlife_of(n, &v, &accel, f);

	if (rc)
		return rc;
	if (!vmnode_has(&v, VMNODE_MADE))
		return fail_set(f, -ENOENT, "'%s' is not made yet", n->id);
	if (vmproc_find(v.name) && vmnode_has(&v, VMNODE_BOOTED) && !vmnode_says(&v, VMNODE_ENDING, "begun\n"))
		return v.hub && !net_door_open(n) ? net_door(n, f) : 0;
	rc = vmlife_halt(&v, 0, f);
	if (!rc && vmnode_has(&v, VMNODE_ENDING))
		rc = vmnode_put(&v, VMNODE_ENDING, "", f);
	if (!rc)
		rc = vm_start_surroundings(&v, f);
	if (!rc)
		rc = vmnode_has(&v, VMNODE_BOOTED) ? vm_start_boot(&v, f) : vm_start_first_boot(&v, f);
	if (!rc && v.hub)
		rc = net_door(n, f);
	if (rc)
		vmlife_halt(&v, 0, NULL);
	return rc;
}

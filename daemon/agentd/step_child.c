/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/step_child.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agentd/device/guest_gpus.h"
#include "agentd/device/host_gpus.h"
#include "agentd/machine/iommu.h"
#include "base/clock.h"

enum { LOCK_WAIT_MS = 15000, SSH_ANSWER_MS = 2000, STOP_GRACE_MS = 10000 };

int step_child_init(struct step_child *h, const struct node *n, const struct userdata *u,
	const struct driver_setup *setup)
{
	const char *network = *n->network ? n->network : n->pool;
	const struct contract *c = &n->contract;

	memset(h, 0, sizeof *h);
	if (snprintf(h->dir, sizeof h->dir, "%s/nodes/%s", setup->data, n->id) >= (int)sizeof h->dir)
		return -ENAMETOOLONG;
	snprintf(h->tenant, sizeof h->tenant, "%s%s%s", n->tenant, *network ? "/" : "", network);
	h->grace_ms = STOP_GRACE_MS;
	h->host = n->host;
	h->gpus = c->gpus;
	h->parts = c->gpu_parts;
	h->slice = c->gpu_slice;
	h->spec = (struct node_spec){ .setup = setup,
		.id = n->id,
		.name = n->name,
		.dir = h->dir,
		.tenant = h->tenant,
		.image = *n->image ? n->image : NULL,
		.slot = n->slot,
		.port = n->port ? n->port : setup->first_port + n->slot,
		.keys = u ? buf_text(&u->keys) : "",
		.script = u && u->script.len ? buf_text(&u->script) : NULL,
		.memory = n->memory,
		.disk = n->disk,
		.cpu_milli = n->cpu_milli,
		.pids = n->pids,
		.cores = n->cores,
		.cores_own = c->vcpus > 0,
		.inodes = c->inodes,
		.network_mbps = c->network_mbps,
		.disk_taken = c->disk > 0,
		.shared_id = *n->pool ? n->pool : n->id,
		.shared = c->shared };
	return 0;
}

/* The child holds the lock until it ends; processes that it leaves behind do not inherit it. */
static int step_child_lock_node(const struct step_child *h, struct fail *f)
{
	struct timespec pause = { .tv_nsec = 20 * 1000000 };
	int64_t until = clock_ms() + LOCK_WAIT_MS;
	char path[1040];
	int fd;

	snprintf(path, sizeof path, "%s/lock", h->dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", path);
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (clock_ms() >= until) {
			close(fd);
			return fail_set(f, -EBUSY, "another process is at work on '%s'", h->spec.id);
		}
		nanosleep(&pause, NULL);
	}
	return fd;
}

/* ---- Does SSH answer? --------------------------------------------------------------------- */

static int step_child_wait_for(int fd, short what, int64_t until)
{
	struct pollfd p = { .fd = fd, .events = what };
	int64_t left;

	while ((left = until - clock_ms()) > 0)
		if (poll(&p, 1, (int)left) > 0)
			return 0;
	return -ETIMEDOUT;
}

static int step_child_dial(const struct addrinfo *a, int64_t until, int *out)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
	socklen_t size = sizeof error;

	if (fd < 0)
		return -errno;
	if (connect(fd, a->ai_addr, a->ai_addrlen) != 0)
		error = errno;
	if (error == EINPROGRESS) {
		error = -step_child_wait_for(fd, POLLOUT, until);
		if (!error && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
			error = errno;
	}
	if (error) {
		close(fd);
		return -error;
	}
	*out = fd;
	return 0;
}

static int step_child_hear_banner(int fd, int64_t until)
{
	char text[8];
	size_t len = 0;

	while (len < sizeof text) {
		int rc = step_child_wait_for(fd, POLLIN, until);
		ssize_t n = rc ? 0 : read(fd, text + len, sizeof text - len);

		if (rc || n == 0)
			return rc ? rc : -ECONNRESET;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		len += n > 0 ? (size_t)n : 0;
	}
	return memcmp(text, "SSH-2.0-", 8) == 0 ? 0 : -EPROTO;
}

int step_child_try_ssh(const char *address, unsigned port, struct fail *f)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM },
			*found = NULL;
	int64_t until = clock_ms() + SSH_ANSWER_MS;
	char service[16];
	int fd = -1, rc;

	if (strcmp(address, "0.0.0.0") == 0)
		address = "127.0.0.1";
	else if (strcmp(address, "::") == 0)
		address = "::1";
	snprintf(service, sizeof service, "%u", port);
	if (getaddrinfo(address, service, &hints, &found) != 0)
		return fail_set(f, -EINVAL, "'%s' is not an IP address", address);
	rc = step_child_dial(found, until, &fd);
	freeaddrinfo(found);
	if (!rc) {
		rc = step_child_hear_banner(fd, until);
		close(fd);
	}
	return rc ? fail_errno(f, rc, -rc, "no SSH server answers at %s port %u", address, port) : 0;
}

/* ---- Steps -------------------------------------------------------------------------------- */

/* Of guests' GPUs the machine may say more: no IOMMU, or what shares a group. */
static int step_child_lacks(const struct step_child *h, size_t has, struct fail *f)
{
	struct fail why = { 0 };

	if (drivers_give_functions(h->driver))
		iommu_any(h->spec.setup->sysfs_root, &why);
	return fail_set(f, -ENODEV, "its type promises %u GPU%s, and this host has %zu%s%s", h->gpus,
		h->gpus == 1 ? "" : "s", has, *why.text ? ": " : "", why.text);
}

/* A node is made and started only with the GPUs of its host, and with as many as its buyer pays for. */
static int step_child_make(const struct step_child *h, struct fail *f)
{
	const struct driver_setup *s = h->spec.setup;
	const struct driver *d = h->driver;
	const struct host_taker who = { .host = h->host,
		.node = h->spec.id,
		.parts = h->parts,
		.slice = h->slice,
		.nodes = d->devices == DEVICES_NODES,
		.guest = d->devices == DEVICES_FUNCTIONS };
	struct node_devices devices = { 0 };
	struct node_spec spec = h->spec;
	int rc = 0;

	if (h->parts && d->devices != DEVICES_NODES)
		return fail_set(f, -ENODEV, "its type promises 1/%u of a GPU, and driver '%s' gives whole GPUs",
			h->parts, d->name);
	if (*h->slice && d->devices != DEVICES_NODES)
		return fail_set(f, -ENODEV, "its type promises a slice of a GPU, and driver '%s' gives whole GPUs",
			d->name);
	if (d->devices == DEVICES_NODES || d->devices == DEVICES_FUNCTIONS)
		rc = host_gpus_take(s->data, s->sysfs_root, &who, &devices, f);
	if (!rc && d->devices == DEVICES_FUNCTIONS)
		rc = guest_gpus_take(s->data, s->sysfs_root, spec.id, &devices, f);
	if (!rc && d->devices != DEVICES_MACHINE && devices.gpu_count < h->gpus)
		rc = step_child_lacks(h, devices.gpu_count, f);
	if (devices.gpu_count)
		spec.devices = &devices;
	if (!rc)
		rc = h->step == STEP_CREATE ? d->create(&spec, f) : d->start(&spec, f);
	devices_release(&devices);
	return rc;
}

int step_child_destroy(const struct step_child *h, struct fail *f)
{
	const struct driver_setup *s = h->spec.setup;
	int rc = h->driver->destroy(&h->spec, f);

	return rc ? rc : host_gpus_give_back(s->data, s->sysfs_root, h->spec.id, f);
}

int step_child_do(void *arg, struct buf *out, struct fail *f)
{
	const struct step_child *h = arg;
	const struct driver *d = h->driver;
	int fd;

	(void)out;
	if (h->step == STEP_TRY_SSH)
		return step_child_try_ssh(h->spec.setup->listen, h->port, f);
	fd = step_child_lock_node(h, f);
	if (fd < 0)
		return fd;
	switch (h->step) {
	case STEP_CREATE:
	case STEP_START:
		return step_child_make(h, f);
	case STEP_REKEY: return d->rekey(&h->spec, f);
	case STEP_STOP: case STEP_QUARANTINE: case STEP_RETRY: return d->stop(&h->spec, h->grace_ms, f);
	case STEP_DESTROY:
		return step_child_destroy(h, f);
	default: return fail_set(f, -EINVAL, "'%s' is not a step for a child", step_word(h->step));
	}
}

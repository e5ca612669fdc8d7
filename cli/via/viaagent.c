/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/via/viaagent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { MESSAGE_MAX = 1 << 18, AGENT_FAILURE = 5, AGENT_LIST = 11, AGENT_SIGN = 13, AGENT_READ = 32768 };

void viaagent_init(struct viaagent *a)
{
	*a = (struct viaagent){ .listener = -1 };
	for (int i = 0; i < VIAAGENT_CONNS; i++) {
		a->fds[i] = -1;
		buf_init(&a->asked[i], MESSAGE_MAX * 2);
	}
}

static void viaagent_close(struct viaagent *a, uint32_t id)
{
	if (a->fds[id] >= 0)
		close(a->fds[id]);
	a->fds[id] = -1;
	buf_clear(&a->asked[id]);
}

void viaagent_release(struct viaagent *a)
{
	for (uint32_t i = 0; i < VIAAGENT_CONNS; i++) {
		viaagent_close(a, i);
		buf_release(&a->asked[i]);
	}
	if (a->listener < 0)
		return;
	close(a->listener);
	unlink(a->path);
	rmdir(a->dir);
	a->listener = -1;
}

static int viaagent_socket(const struct viaagent *a, int flags, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(a->path) >= sizeof address->sun_path)
		return -ENAMETOOLONG;
	memcpy(address->sun_path, a->path, strlen(a->path) + 1);
	flags = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	return flags < 0 ? -errno : flags;
}

int viaagent_listen(struct viaagent *a)
{
	const char *tmp = getenv("TMPDIR");
	struct sockaddr_un address;
	int fd, rc = 0;

	snprintf(a->dir, sizeof a->dir, "%.200s/nanopod-agent.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(a->dir)) /* 0700 */
		return -errno;
	snprintf(a->path, sizeof a->path, "%s/agent", a->dir);
	fd = viaagent_socket(a, SOCK_NONBLOCK, &address);
	if (fd >= 0 && (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 16) != 0))
		rc = -errno;
	if (fd >= 0 && !rc) {
		a->listener = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	rmdir(a->dir);
	return fd < 0 ? fd : rc;
}

size_t viaagent_poll(const struct viaagent *a, struct pollfd *fds)
{
	size_t n = 0;

	for (int i = 0; i < VIAAGENT_CONNS; i++)
		if (a->fds[i] >= 0)
			fds[n++] = (struct pollfd){ .fd = a->fds[i], .events = POLLIN };
	if (a->listener >= 0 && n < VIAAGENT_CONNS) /* else nobody can come in, and it would be ready again at once */
		fds[n++] = (struct pollfd){ .fd = a->listener, .events = POLLIN };
	return n;
}

static int viaagent_accept(struct viaagent *a, struct buf *out)
{
	for (uint32_t i = 0; i < VIAAGENT_CONNS; i++) {
		if (a->fds[i] >= 0)
			continue;
		a->fds[i] = accept4(a->listener, NULL, NULL, SOCK_CLOEXEC);
		return a->fds[i] < 0 ? 0 : viaframe_add(out, VIA_AGENT_OPEN, i, "", 0);
	}
	return 0;
}

int viaagent_step(struct viaagent *a, struct buf *out)
{
	char room[AGENT_READ];
	int rc = a->listener >= 0 ? viaagent_accept(a, out) : 0;

	for (uint32_t i = 0; !rc && i < VIAAGENT_CONNS; i++) {
		ssize_t n = a->fds[i] < 0 ? -1 : recv(a->fds[i], room, sizeof room, MSG_DONTWAIT);

		if (a->fds[i] < 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
			continue;
		if (n > 0) {
			rc = viaframe_add(out, VIA_AGENT_DATA, i, room, (size_t)n);
			continue;
		}
		viaagent_close(a, i);
		rc = viaframe_add(out, VIA_AGENT_CLOSE, i, "", 0);
	}
	return rc;
}

/*
 * Agent and client each wait for one message at a time, so all of it fits into the socket. Who does not is cut off:
 * waiting would stop everything else.
 */
static void viaagent_send(struct viaagent *a, uint32_t id, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(a->fds[id], data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			shutdown(a->fds[id], SHUT_RDWR);
			return;
		}
		data += n;
		len -= (size_t)n;
	}
}

int viaagent_answer(struct viaagent *a, const struct via_frame *f)
{
	if (f->id >= VIAAGENT_CONNS || f->type == VIA_AGENT_OPEN)
		return -EPROTO;
	if (a->fds[f->id] < 0)
		return 0; /* it closed meanwhile */
	if (f->type == VIA_AGENT_CLOSE)
		viaagent_close(a, f->id);
	else
		viaagent_send(a, f->id, f->data, f->len);
	return 0;
}

/* The whole requests of one connection. */
static int viaagent_filter(struct viaagent *a, uint32_t id, struct buf *out)
{
	static const char refusal[] = { 0, 0, 0, 1, AGENT_FAILURE };
	struct buf *b = &a->asked[id];
	int rc = 0;

	while (!rc && b->len >= 5) {
		const unsigned char *p = (const unsigned char *)b->data;
		size_t len = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];

		if (!len || len > MESSAGE_MAX)
			return -EPROTO;
		if (b->len < 4 + len)
			return 0;
		if (p[4] == AGENT_LIST || p[4] == AGENT_SIGN)
			viaagent_send(a, id, b->data, 4 + len);
		else
			rc = viaframe_add(out, VIA_AGENT_DATA, id, refusal, sizeof refusal);
		buf_drop(b, 4 + len);
	}
	return rc;
}

int viaagent_ask(struct viaagent *a, const struct via_frame *f, struct buf *out)
{
	struct sockaddr_un address;
	int fd;

	if (f->id >= VIAAGENT_CONNS || (f->type == VIA_AGENT_OPEN && a->fds[f->id] >= 0))
		return -EPROTO;
	if (f->type == VIA_AGENT_OPEN) {
		fd = viaagent_socket(a, 0, &address);
		if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
			a->fds[f->id] = fd;
			return 0;
		}
		if (fd >= 0)
			close(fd);
		return viaframe_add(out, VIA_AGENT_CLOSE, f->id, "", 0);
	}
	if (a->fds[f->id] < 0)
		return 0;
	if (f->type == VIA_AGENT_CLOSE) {
		viaagent_close(a, f->id);
		return 0;
	}
	return buf_add(&a->asked[f->id], f->data, f->len) ? -EPROTO : viaagent_filter(a, f->id, out);
}

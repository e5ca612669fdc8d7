/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/socket.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { LINE_MAX_BYTES = 256 * 1024, AGAIN_MS = 20 };

void vmwire_from(struct vmwire *w, int fd)
{
	*w = (struct vmwire){ .fd = fd };
	buf_init(&w->in, LINE_MAX_BYTES);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void vmwire_close(struct vmwire *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	buf_release(&w->in);
}

/* Connects through the folder's descriptor: a socket's address holds only 108 characters. */
static int vmwire_connect_in(int folder, const char *name, pid_t pid)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct ucred peer;
	socklen_t size = sizeof peer;
	int fd, error;

	if (snprintf(to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d/%s", folder, name) >= (int)sizeof to.sun_path)
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
		error = errno;
		close(fd);
		return -error;
	}
	if (pid && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid != pid)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

/* A child of this process that has ended still exists until somebody waits for it. */
static bool socket_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG) == 0)
		return info.si_pid == pid;
	return kill(pid, 0) != 0 && errno == ESRCH;
}

int vmwire_open(struct vmwire *w, const char *folder, const char *name, pid_t pid, int64_t deadline_ms, struct fail *f)
{
	int64_t end = clock_ms() + deadline_ms;
	int at = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (at < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", folder);
	for (;;) {
		fd = vmwire_connect_in(at, name, pid);
		if (fd >= 0 || (fd != -ENOENT && fd != -ECONNREFUSED && fd != -EAGAIN))
			break;
		if (pid && socket_ended(pid)) {
			fd = -ESRCH;
			break;
		}
		if (clock_ms() >= end) {
			fd = -ETIMEDOUT;
			break;
		}
		poll(NULL, 0, AGAIN_MS);
	}
	close(at);
	if (fd < 0)
		return fail_errno(f, fd, -fd, "cannot reach '%s/%s'", folder, name);
	vmwire_from(w, fd);
	return 0;
}

/* Waits until it can be read (or written), or the deadline. */
static int socket_wait_for(struct vmwire *w, short events, int64_t end, struct fail *f)
{
	for (;;) {
		int64_t left = end - clock_ms();
		int n = poll(&(struct pollfd){ .fd = w->fd, .events = events }, 1,
			left > 0 ? (int)(left > 60000 ? 60000 : left) : 0);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return fail_errno(f, -errno, errno, "cannot wait for the virtual machine");
		if (clock_ms() >= end)
			return fail_set(f, -ETIMEDOUT, "the virtual machine does not answer");
	}
}

int vmwire_send(struct vmwire *w, const char *data, size_t len, int64_t deadline_ms, struct fail *f)
{
	int64_t end = clock_ms() + deadline_ms;

	while (len) {
		ssize_t n = send(w->fd, data, len, MSG_NOSIGNAL);
		int rc;

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return fail_errno(f, -EPIPE, errno, "cannot write to the virtual machine");
		rc = socket_wait_for(w, POLLOUT, end, f);
		if (rc)
			return rc;
	}
	return 0;
}

int vmwire_send_with(struct vmwire *w, const char *data, size_t len, int with, int64_t deadline_ms, struct fail *f)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec piece = { .iov_base = (void *)(uintptr_t)data, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof control.room };
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof with);
	memcpy(CMSG_DATA(c), &with, sizeof with);
	if (sendmsg(w->fd, &message, MSG_NOSIGNAL) != 1)
		return fail_errno(f, -EPIPE, errno, "cannot pass a file to the virtual machine");
	return vmwire_send(w, data + 1, len - 1, deadline_ms, f);
}

int vmwire_line(struct vmwire *w, int64_t deadline_ms, const char **line, struct fail *f)
{
	int64_t end = clock_ms() + deadline_ms;
	char piece[4096];

	assert(w->taken <= w->in.len);
	buf_drop(&w->in, w->taken);
	w->taken = 0;
	for (;;) {
		char *stop = w->in.len ? memchr(w->in.data, '\n', w->in.len) : NULL;
		ssize_t n;
		int rc;

		if (stop) {
			w->taken = (size_t)(stop - w->in.data) + 1;
			*stop = '\0';
			if (stop > w->in.data && stop[-1] == '\r')
				stop[-1] = '\0';
			*line = w->in.data;
			return 0;
		}
		n = recv(w->fd, piece, sizeof piece, 0);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return fail_set(f, -EPIPE, "the virtual machine has ended");
		if (n > 0) {
			rc = buf_add(&w->in, piece, (size_t)n);
			if (rc)
				return fail_set(f, rc, "the virtual machine sent too long a line");
			continue;
		}
		rc = socket_wait_for(w, POLLIN, end, f);
		if (rc)
			return rc;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "pssh/pssh_types.h"

void dial_init(struct dial *d, struct addrinfo *all, const char *bind_address, int64_t due)
{
	*d = (struct dial){ .all = all, .now = all, .fd = -1, .due = due };
	if (bind_address)
		snprintf(d->bind, sizeof d->bind, "%s", bind_address);
}

void dial_release(struct dial *d)
{
	if (d->fd >= 0)
		close(d->fd);
	if (d->all)
		freeaddrinfo(d->all);
	d->all = d->now = NULL;
	d->fd = -1;
}

int64_t dial_due(const struct dial *d)
{
	return d->fd >= 0 ? d->next_due : 0;
}

static int bind_to(const struct dial *d, const struct addrinfo *to)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	if (!d->bind[0])
		return 0;
	if (to->ai_family == AF_INET && inet_pton(AF_INET, d->bind, &v4.sin_addr) == 1)
		return bind(d->fd, (struct sockaddr *)&v4, sizeof v4);
	if (to->ai_family == AF_INET6 && inet_pton(AF_INET6, d->bind, &v6.sin6_addr) == 1)
		return bind(d->fd, (struct sockaddr *)&v6, sizeof v6);
	errno = EAFNOSUPPORT;
	return -1;
}

/* Each address gets an even share of the time left, so that a silent one does not use it all. */
static int64_t dial_share(const struct dial *d)
{
	int64_t left = d->due - clock_ms();
	int count = 0;

	for (struct addrinfo *ai = d->now; ai; ai = ai->ai_next)
		count++;
	return d->due && count > 1 ? clock_ms() + (left > 0 ? left : 0) / count : 0;
}

/* Starts to connect to d->now. 0: connected; EINPROGRESS; or another errno. */
static int dial_begin(struct dial *d)
{
	int one = 1;

	d->fd = socket(d->now->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (d->fd < 0)
		return errno;
	setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(d->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	d->next_due = dial_share(d);
	if (bind_to(d, d->now) != 0)
		return errno;
	return connect(d->fd, d->now->ai_addr, d->now->ai_addrlen) == 0 ? 0 : errno;
}

/* How the running attempt stands: 0, EINPROGRESS, or the errno of its failure. */
static int dial_look(struct dial *d)
{
	struct pollfd pfd = { .fd = d->fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0;

	if (poll(&pfd, 1, 0) == 0)
		return d->next_due && clock_ms() >= d->next_due ? ETIMEDOUT : EINPROGRESS;
	if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &err, &len) != 0)
		return errno;
	return err;
}

int dial_step(struct dial *d, int *fd, struct fail *f)
{
	int err = d->fd >= 0 ? dial_look(d) : dial_begin(d);

	for (;;) {
		if (err == 0) {
			*fd = d->fd;
			d->fd = -1;
			return 0;
		}
		if (err == EINPROGRESS)
			return PSSH_EAGAIN;
		if (d->fd >= 0)
			close(d->fd);
		d->fd = -1;
		if (err == EMFILE || err == ENFILE)
			return fail_errno(f, PSSH_ELOCAL, err, "cannot open another connection");
		if (!d->now->ai_next)
			return fail_errno(f, PSSH_ECONNECT, err, "cannot connect");
		d->now = d->now->ai_next;
		err = dial_begin(d);
	}
}

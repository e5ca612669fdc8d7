/* SPDX-License-Identifier: Apache-2.0 */
#include "base/door.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { DOOR_SHUT_MS = 100 };

void door_init(struct door *d, struct loop *loop, int kind, void *owner)
{
	*d = (struct door){ .tw = { .watch.kind = kind, .owner = owner }, .timer.kind = kind, .loop = loop, .fd = -1 };
}

void door_release(struct door *d)
{
	loop_forget(d->loop, &d->tw.watch);
	loop_timer_clear(d->loop, &d->timer);
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}

int door_accept(struct door *d)
{
	int fd;

	if (d->timer.at || !d->tw.due)
		return -1;
	d->tw.due = false; /* the loop reports the next one again */
	do
		fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd >= 0 || errno == EAGAIN)
		return fd;
	loop_forget(d->loop, &d->tw.watch);
	loop_timer_set(d->loop, &d->timer, clock_ms() + DOOR_SHUT_MS); /* without memory: until the next step */
	return -1;
}

int door_admit(struct door *d, bool admit)
{
	if (admit && !d->timer.at)
		return loop_watch(d->loop, &d->tw.watch, d->fd, LOOP_READ);
	loop_forget(d->loop, &d->tw.watch);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A door whose process has no descriptors left: it waits without work, and lets in who waited once there are some. */
#include "base/door.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "base/clock.h"

enum { KIND = 3, WHILE_MS = 1000, WAKES = 40, PATIENCE_MS = 20000 };

static struct loop *loop;
static struct door door;

/* What a tunnel does when it is woken. A visitor or -1. */
static int step(void)
{
	int fd = door_accept(&door);

	if (door_admit(&door, true) != 0)
		exit(99);
	return fd;
}

/* Turns for so long, or until a visitor came in. How often it was woken. */
static int turn(int64_t ms, int *visitor)
{
	int64_t end = clock_ms() + ms;
	int wakes = 0;

	*visitor = -1;
	while (*visitor < 0 && clock_ms() < end) {
		struct loop_watch *w;
		struct loop_timer *t;
		uint32_t ready;

		loop_wait(loop, (int)(end - clock_ms()) + 1);
		while (*visitor < 0 && loop_next(loop, &w, &ready, &t)) {
			wakes++;
			door.tw.due = true;
			*visitor = step();
		}
	}
	return wakes;
}

static int knock(void)
{
	struct sockaddr_in a;
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || getsockname(door.fd, (struct sockaddr *)&a, &len) != 0 ||
		connect(fd, (struct sockaddr *)&a, len) != 0)
		exit(99);
	return fd;
}

int main(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rlimit was, none;
	int visitor, wakes, probe;

	if (loop_new(&loop) != 0)
		return 99;
	door_init(&door, loop, KIND, NULL);
	door.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (bind(door.fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(door.fd, 8) != 0 ||
		door_admit(&door, true) != 0)
		return 99;
	knock();
	turn(PATIENCE_MS, &visitor);
	ok(visitor >= 0, "a visitor comes in");
	knock();
	knock();
	probe = dup(0);
	close(probe);
	getrlimit(RLIMIT_NOFILE, &was);
	none = was;
	none.rlim_cur = (rlim_t)probe;
	setrlimit(RLIMIT_NOFILE, &none);
	wakes = turn(WHILE_MS, &visitor);
	is_int(visitor, -1, "without descriptors nobody does");
	ok(wakes > 0 && wakes < WAKES, "and who waits does not keep it busy: %d wakes in a second", wakes);
	setrlimit(RLIMIT_NOFILE, &was);
	turn(PATIENCE_MS, &visitor);
	ok(visitor >= 0, "with descriptors who waited comes in");
	turn(PATIENCE_MS, &visitor);
	ok(visitor >= 0, "one after the other");
	door_release(&door);
	is_int(loop_timeout(loop), -1, "a door that is gone leaves no timer");
	loop_free(loop);
	return done();
}

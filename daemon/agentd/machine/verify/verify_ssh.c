/* SPDX-License-Identifier: Apache-2.0 */
/* Can strangers reach the ports that nodes will have? Listens on each, and connects to the announced address. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agentd/machine/verify/verify_part.h"
#include "base/clock.h"

enum { PORTS_MOST = 16, WAIT_MS = 3000, NONCE = 16 };

static int verify_ssh_resolve(const char *name, unsigned port, int flags, struct addrinfo **out)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags };
	char text[8];

	snprintf(text, sizeof text, "%u", port);
	return getaddrinfo(name, text, &hints, out);
}

/* -1 with errno. */
static int verify_ssh_open_listener(const char *listen_at, unsigned port)
{
	struct addrinfo *a;
	int fd, on = 1, error;

	if (verify_ssh_resolve(listen_at, port, AI_NUMERICHOST | AI_PASSIVE, &a)) {
		errno = EINVAL;
		return -1;
	}
	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
		if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, 4) != 0) {
			error = errno;
			close(fd);
			errno = error;
			fd = -1;
		}
	}
	freeaddrinfo(a);
	return fd;
}

static int verify_ssh_begin_connect(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

/* Every visitor hears the nonce; the one that we sent must hear it. NULL: it did, else why not. */
static const char *verify_ssh_meet(int server, int client)
{
	struct pollfd p[2] = { { .fd = server, .events = POLLIN }, { .fd = client, .events = POLLIN } };
	int64_t deadline = clock_ms() + WAIT_MS, left;
	char nonce[NONCE], heard[NONCE];
	size_t len = 0;

	if (getrandom(nonce, sizeof nonce, 0) != sizeof nonce)
		return "no random numbers available";
	while ((left = deadline - clock_ms()) > 0) {
		if (poll(p, 2, (int)left) < 0 && errno != EINTR)
			return strerror(errno);
		if (p[0].revents & POLLIN) {
			int came = accept4(server, NULL, NULL, SOCK_CLOEXEC);

			if (came >= 0 && send(came, nonce, sizeof nonce, MSG_NOSIGNAL) < 0)
				len = 0;
			if (came >= 0)
				close(came);
		}
		if (p[1].revents) {
			ssize_t n = recv(client, heard + len, sizeof heard - len, 0);

			if (n < 0 && errno != EAGAIN && errno != EINTR)
				return strerror(errno);
			if (n == 0)
				return "another machine answers there";
			len += n > 0 ? (size_t)n : 0;
			if (len == sizeof heard)
				return memcmp(nonce, heard, sizeof nonce) == 0 ? NULL : "another machine answers there";
		}
	}
	return "no connection arrived";
}

/* NULL: reachable. *taken: a node has the port already. */
static const char *verify_ssh_try_port(const struct verify_setup *s, unsigned port, bool *taken)
{
	int server = verify_ssh_open_listener(s->listen ? s->listen : "0.0.0.0", port), client;
	struct addrinfo *a = NULL;
	const char *why;

	*taken = server < 0 && errno == EADDRINUSE;
	if (server < 0)
		return *taken ? NULL : strerror(errno);
	if (verify_ssh_resolve(s->address, port, 0, &a)) {
		close(server);
		return "the name has no address";
	}
	client = verify_ssh_begin_connect(a);
	why = client < 0 ? strerror(errno) : verify_ssh_meet(server, client);
	freeaddrinfo(a);
	if (client >= 0)
		close(client);
	close(server);
	return why;
}

void verify_ssh(const struct verify_setup *s, struct claim *list, int *count)
{
	struct claim *r = verify_begin(list, count, "ssh");
	unsigned ports = s->ports ? s->ports : 1, tried = ports < PORTS_MOST ? ports : PORTS_MOST, used = 0;
	char mend[240];

	if (!s->address || !s->first_port) {
		verify_skip(r, "no address is announced for nodes; set one with '--address'");
		return;
	}
	snprintf(mend, sizeof mend,
		"open TCP ports %u to %u to this machine: in its firewall and, behind a router, by port forwarding; "
		"'--address' must be the public side",
		s->first_port, s->first_port + ports - 1);
	for (unsigned i = 0; i < tried; i++) {
		unsigned port = s->first_port + (tried == ports ? i : i * (ports - 1) / (tried - 1));
		bool taken;
		const char *why = verify_ssh_try_port(s, port, &taken);

		used += taken;
		if (why) {
			verify_fail(r, mend,
				"cannot reach port %u of '%s' from here: %s (a router that does not loop back to "
				"its own public address looks the same)",
				port, s->address, why);
			return;
		}
	}
	verify_say(r, "%u of %u ports of '%s' reach this machine%s", tried - used, ports, s->address,
		strcmp(s->address, "127.0.0.1") == 0 || strcmp(s->address, "localhost") == 0
			? ", which only this machine can use"
			: "");
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/tunnel.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"
#include "pssh/pssh_types.h"
#include "pssh/session/pump.h"

enum { CLIENTS = 256 };

struct tunnel_client {
	struct tunnel_watch tw;
	struct list link;
	struct pump pump;
	bool open;
};

struct tunnel {
	struct loop *loop;
	int kind;
	struct tunnel_watch listener;
	void *owner;
	int fd;
	unsigned port, count;
	char *path, *host;
	unsigned target_port;
	struct list clients;
};

static int split_address(const char *text, char **host, unsigned *port, struct fail *f)
{
	const char *colon = strrchr(text, ':'), *from = text;
	size_t len = colon ? (size_t)(colon - text) : 0;
	long number;

	if (str_to_long(colon ? colon + 1 : text, 0, 65535, &number) != 0)
		return fail_set(f, PSSH_ESYNTAX, "'%s' is not a port or 'address:port'", text);
	if (len > 1 && from[0] == '[' && from[len - 1] == ']') {
		from++;
		len -= 2;
	}
	*host = strndup(from, len);
	*port = (unsigned)number;
	return *host ? 0 : fail_set(f, PSSH_ENOMEM, "out of memory");
}

int tunnel_target(const char *text, char **host, unsigned *port, struct fail *f)
{
	int rc = split_address(text, host, port, f);

	if (!rc && (!**host || !*port)) {
		free(*host);
		*host = NULL;
		rc = fail_set(f, PSSH_ESYNTAX, "'%s' is not a target; the form is 'host:port'", text);
	}
	return rc;
}

static int listen_unix(struct tunnel *t, const char *path, struct fail *f)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	mode_t old;
	int rc;

	if (strlen(path) >= sizeof sa.sun_path)
		return fail_set(f, PSSH_EINVAL, "the socket path '%s' is too long", path);
	memcpy(sa.sun_path, path, strlen(path) + 1);
	t->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	old = umask(0177); /* who can connect here can use our SSH connection, so only this user may */
	rc = t->fd < 0 ? -1 : bind(t->fd, (struct sockaddr *)&sa, sizeof sa);
	umask(old);
	if (rc != 0 || listen(t->fd, 64) != 0)
		return fail_errno(f, PSSH_ELOCAL, errno, "cannot listen on '%s'", path);
	t->path = strdup(path);
	return t->path ? 0 : fail_set(f, PSSH_ENOMEM, "out of memory");
}

static int listen_tcp(struct tunnel *t, const char *host, unsigned port, struct fail *f)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE },
			*ai;
	struct sockaddr_storage sa;
	socklen_t len = sizeof sa;
	char service[8];
	int one = 1, rc;

	if (!*host || strcmp(host, "localhost") == 0)
		host = "127.0.0.1";
	snprintf(service, sizeof service, "%u", port);
	rc = getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, service, &hints, &ai);
	if (rc)
		return fail_set(f, PSSH_EINVAL,
			"cannot listen on '%s': a tunnel listens on a numeric address, 'localhost' or '*'", host);
	t->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->fd >= 0)
		setsockopt(t->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	rc = t->fd < 0 || bind(t->fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(t->fd, 64) != 0 ? errno : 0;
	freeaddrinfo(ai);
	if (rc)
		return fail_errno(f, PSSH_ELOCAL, rc, "cannot listen on '%s' port %u", host, port);
	if (getsockname(t->fd, (struct sockaddr *)&sa, &len) == 0)
		t->port = ntohs(sa.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&sa)->sin6_port
			: ((struct sockaddr_in *)(void *)&sa)->sin_port);
	return 0;
}

int tunnel_new(struct loop *loop, int kind, const char *where, const char *target, void *owner, struct tunnel **out,
	struct fail *f)
{
	struct tunnel *t = calloc(1, sizeof *t);
	char *host = NULL;
	unsigned port = 0;
	int rc;

	if (!t)
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	t->loop = loop;
	t->kind = kind;
	t->owner = owner;
	t->fd = -1;
	t->listener = (struct tunnel_watch){ .watch.kind = kind, .owner = owner };
	list_init(&t->clients);
	rc = tunnel_target(target, &t->host, &t->target_port, f);
	if (!rc && strchr(where, '/'))
		rc = listen_unix(t, where, f);
	else if (!rc && (rc = split_address(where, &host, &port, f)) == 0)
		rc = listen_tcp(t, host, port, f);
	if (!rc && loop_watch(loop, &t->listener.watch, t->fd, LOOP_READ) != 0)
		rc = fail_set(f, PSSH_ELOCAL, "cannot wait for connections to '%s'", where);
	free(host);
	if (rc)
		tunnel_free(t);
	else
		*out = t;
	return rc;
}

static void tunnel_client_free(struct tunnel *t, struct tunnel_client *c)
{
	assert(t->count > 0);
	loop_forget(t->loop, &c->tw.watch);
	close(c->pump.fd);
	chan_close(c->pump.chan);
	pump_release(&c->pump);
	list_remove(&c->link);
	free(c);
	t->count--;
}

void tunnel_cut(struct tunnel *t)
{
	while (!list_empty(&t->clients))
		tunnel_client_free(t, list_entry(list_first(&t->clients), struct tunnel_client, link));
}

void tunnel_leave(struct tunnel *t)
{
	free(t->path);
	t->path = NULL;
}

void tunnel_free(struct tunnel *t)
{
	if (!t)
		return;
	tunnel_cut(t);
	loop_forget(t->loop, &t->listener.watch);
	if (t->fd >= 0)
		close(t->fd);
	if (t->path)
		unlink(t->path);
	free(t->path);
	free(t->host);
	free(t);
}

unsigned tunnel_port(const struct tunnel *t)
{
	return t->port;
}

static void tunnel_accept(struct tunnel *t, struct link *l)
{
	while (t->count < CLIENTS) {
		int fd = accept4(t->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct tunnel_client *c = fd < 0 ? NULL : calloc(1, sizeof *c);

		if (!c) {
			if (fd >= 0)
				close(fd);
			return;
		}
		pump_init(&c->pump, fd, chan_new(l));
		c->tw = (struct tunnel_watch){ .watch.kind = t->kind, .owner = t->owner };
		list_append(&t->clients, &c->link);
		t->count++;
		if (!c->pump.chan)
			tunnel_client_free(t, c);
	}
}

static int session_tunnel_serve(struct tunnel *t, struct tunnel_client *c, struct exec_room *room)
{
	uint32_t want;

	if (!c->open) {
		int rc = chan_open_direct(c->pump.chan, t->host, t->target_port, NULL);

		if (rc)
			return rc == PSSH_EAGAIN ? 0 : -1;
		c->open = true;
	}
	if (pump_step(&c->pump, room) != PSSH_EAGAIN)
		return -1;
	want = pump_want(&c->pump);
	if (!want) { /* epoll would report a client that hung up again and again */
		loop_forget(t->loop, &c->tw.watch);
		return 0;
	}
	return loop_watch(t->loop, &c->tw.watch, c->pump.fd, want) == 0 ? 0 : -1;
}

int tunnel_step(struct tunnel *t, struct link *l, struct exec_room *room, struct fail *f)
{
	struct list *pos, *tmp;

	(void)f;
	tunnel_accept(t, l);
	list_each (pos, tmp, &t->clients) {
		struct tunnel_client *c = list_entry(pos, struct tunnel_client, link);

		if (session_tunnel_serve(t, c, room) < 0)
			tunnel_client_free(t, c);
	}
	return PSSH_EAGAIN;
}

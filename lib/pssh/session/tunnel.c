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
#include "base/door.h"
#include "pssh/session/socks.h"
#include "pssh/pssh_types.h"
#include "pssh/session/pump.h"

/* WIDE clients have the whole window, later ones ever less: what nobody reads takes 65 MiB for 256, not 512. */
enum { CLIENTS = 256, TUNNEL_WIDE = 8 };

struct tunnel_client {
	struct loop_owned tw;
	struct list link;
	struct pump pump;
	bool joined;                 /* both ends are there */
	const struct addrinfo *next; /* an address to try; of those of the tunnel's target */
	struct socks socks;
	bool asked; /* of SOCKS: host and port are known */
	unsigned window;
};

struct tunnel {
	struct loop *loop;
	int kind;
	enum tunnel_way way;
	struct door door;
	void *owner;
	unsigned port, count;
	char *path, *host;
	unsigned target_port;
	struct list clients;

	/* Where the host listens: */
	char *bind;
	unsigned bind_port;
	struct resolve *question;
	struct addrinfo *found; /* the target's addresses */
	LIBSSH2_LISTENER *there;
	struct link *asks; /* whom it asks to listen there; NULL: it does not, or has the answer */

	struct fail note; /* why the last client was sent away; code 0: nothing new */
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
	t->door.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	old = umask(0177); /* who can connect here can use our SSH connection, so only this user may */
	rc = t->door.fd < 0 ? -1 : bind(t->door.fd, (struct sockaddr *)&sa, sizeof sa);
	umask(old);
	if (rc != 0 || listen(t->door.fd, 64) != 0)
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
	t->door.fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->door.fd >= 0)
		setsockopt(t->door.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	rc = t->door.fd < 0 || bind(t->door.fd, ai->ai_addr, ai->ai_addrlen) != 0 || listen(t->door.fd, 64) != 0 ? errno
														 : 0;
	freeaddrinfo(ai);
	if (rc)
		return fail_errno(f, PSSH_ELOCAL, rc, "cannot listen on '%s' port %u", host, port);
	if (getsockname(t->door.fd, (struct sockaddr *)&sa, &len) == 0)
		t->port = ntohs(sa.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&sa)->sin6_port
			: ((struct sockaddr_in *)(void *)&sa)->sin_port);
	return 0;
}

/* Listens here, or keeps where the host is to listen. */
static int tunnel_place(struct tunnel *t, const char *where, struct fail *f)
{
	char *host = NULL;
	unsigned port = 0;
	int rc;

	if (strchr(where, '/') && t->way != TUNNEL_BACK) {
		rc = listen_unix(t, where, f);
	} else {
		rc = split_address(where, &host, &port, f);
		if (!rc && t->way == TUNNEL_BACK) {
			t->bind = host;
			t->bind_port = port;
			return 0;
		}
		rc = rc ? rc : listen_tcp(t, host, port, f);
	}
	free(host);
	if (!rc && door_admit(&t->door, true) != 0)
		rc = fail_set(f, PSSH_ELOCAL, "cannot wait for connections to '%s'", where);
	return rc;
}

int tunnel_new(struct loop *loop, int kind, const struct tunnel_want *want, void *owner, struct tunnel **out,
	struct fail *f)
{
	struct tunnel *t = calloc(1, sizeof *t);
	int rc = 0;

	if (!t)
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	t->loop = loop;
	t->kind = kind;
	t->way = want->way;
	t->owner = owner;
	door_init(&t->door, loop, kind, owner);
	list_init(&t->clients);
	if (t->way != TUNNEL_SOCKS) {
		rc = tunnel_target(want->target, &t->host, &t->target_port, f);
	}
	rc = rc ? rc : tunnel_place(t, want->listen, f);
	if (rc)
		tunnel_free(t);
	else
		*out = t;
	return rc;
}

static int tunnel_resolve(struct tunnel *t, struct resolver *resolver, struct fail *f)
{
	const char *why = "out of memory";
	int rc = 0;

	if (!t->question)
		rc = resolve_start(resolver, t->host, t->target_port, AF_UNSPEC, &t->question);
	rc = rc ? rc : resolve_result(t->question, &t->found, &why);
	if (rc == PSSH_EAGAIN)
		return rc;
	resolve_free(t->question);
	t->question = NULL;
	return rc ? fail_set(f, rc, "cannot resolve '%s': %s", t->host, why) : 0;
}

int tunnel_begin(struct tunnel *t, struct link *l, struct resolver *resolver, struct fail *f)
{
	int rc = 0;

	if (t->way != TUNNEL_BACK || t->there)
		return 0;
	if (!t->found)
		rc = tunnel_resolve(t, resolver, f);
	rc = rc ? rc : chan_listen(l, t, t->bind, t->bind_port, &t->there, &t->port, f);
	t->asks = rc == PSSH_EAGAIN ? l : NULL;
	return rc;
}

static void tunnel_client_free(struct tunnel *t, struct tunnel_client *c)
{
	assert(t->count > 0);
	loop_forget(t->loop, &c->tw.watch);
	if (c->pump.fd >= 0)
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
	if (t->asks)
		chan_listen_leave(t->asks, t);
	chan_unlisten(t->there);
	resolve_free(t->question);
	if (t->found)
		freeaddrinfo(t->found);
	door_release(&t->door);
	if (t->path)
		unlink(t->path);
	free(t->path);
	free(t->bind);
	free(t->host);
	free(t);
}

unsigned tunnel_port(const struct tunnel *t)
{
	return t->port;
}

/* Takes over both; one of them is there, and the other comes later. */
static void tunnel_client_new(struct tunnel *t, int fd, struct chan *ch)
{
	struct tunnel_client *c = calloc(1, sizeof *c);

	if (!c || !ch) {
		if (fd >= 0)
			close(fd);
		chan_close(ch);
		free(c);
		return;
	}
	pump_init(&c->pump, fd, ch);
	c->next = t->found;
	c->window = CHAN_WINDOW_DIRECT / (1 + t->count / TUNNEL_WIDE);
	c->tw = (struct loop_owned){ .watch.kind = t->kind, .owner = t->owner };
	list_append(&t->clients, &c->link);
	t->count++;
}

static void tunnel_accept(struct tunnel *t, struct link *l)
{
	while (t->count < CLIENTS) {
		struct chan *ch = t->there ? chan_accept(l, t->there) : NULL;
		int fd = t->there ? -1 : door_accept(&t->door);

		if (!ch && fd < 0)
			return;
		tunnel_client_new(t, fd, ch ? ch : chan_new(l));
	}
}

/* Connects to the target here, one address after another. 1: connected; 0: not yet; -1: none answers. */
static int tunnel_dial(struct tunnel *t, struct tunnel_client *c)
{
	for (;;) {
		const struct addrinfo *ai = c->next;
		struct sockaddr_storage sa;
		socklen_t len = sizeof sa;
		int error = 0;

		if (c->pump.fd >= 0) {
			if (getpeername(c->pump.fd, (struct sockaddr *)&sa, &len) == 0)
				return 1;
			len = sizeof error;
			if (getsockopt(c->pump.fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && !error)
				return 0;
			loop_forget(t->loop, &c->tw.watch);
			close(c->pump.fd);
			c->pump.fd = -1;
		}
		if (!ai)
			return -1;
		c->next = ai->ai_next;
		c->pump.fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (c->pump.fd < 0 || connect(c->pump.fd, ai->ai_addr, ai->ai_addrlen) == 0)
			continue;
		if (errno == EINPROGRESS && loop_watch(t->loop, &c->tw.watch, c->pump.fd, LOOP_WRITE) == 0)
			return 0;
		close(c->pump.fd);
		c->pump.fd = -1;
	}
}

/* Says what it can to a client that is sent away. */
static int tunnel_send_away(struct tunnel_client *c)
{
	if (c->pump.out.len)
		(void)!send(c->pump.fd, c->pump.out.data, c->pump.out.len, MSG_NOSIGNAL);
	return -1;
}

/* Hears where a client of SOCKS wants to go. 1: it is known; 0: not yet; -1: it is sent away. */
static int tunnel_hear(struct tunnel *t, struct tunnel_client *c, struct exec_room *room)
{
	while (!c->asked) {
		ssize_t n = read(c->pump.fd, room->data, 1024);
		int rc;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return loop_watch(t->loop, &c->tw.watch, c->pump.fd, LOOP_READ) == 0 ? 0 : -1;
		if (n <= 0 || buf_add(&c->pump.in, room->data, (size_t)n) != 0)
			return -1;
		rc = socks_step(&c->socks, &c->pump.in, &c->pump.out);
		if (rc == SOCKS_BAD)
			return tunnel_send_away(c);
		c->asked = rc == SOCKS_CONNECT;
		if (!c->asked && c->pump.out.len) { /* a few bytes to an empty socket */
			n = send(c->pump.fd, c->pump.out.data, c->pump.out.len, MSG_NOSIGNAL);
			if (n != (ssize_t)c->pump.out.len)
				return -1;
			buf_clear(&c->pump.out);
		}
	}
	return 1;
}

/* Makes the client's other end. 1: bytes can go; 0: not yet; -1: it is over. */
static int tunnel_connect(struct tunnel *t, struct tunnel_client *c, struct exec_room *room)
{
	bool socks = t->way == TUNNEL_SOCKS;
	int rc = 1;

	if (t->way == TUNNEL_BACK)
		return tunnel_dial(t, c);
	if (socks)
		rc = tunnel_hear(t, c, room);
	if (rc <= 0)
		return rc;
	rc = chan_open_direct(c->pump.chan, socks ? c->socks.host : t->host, socks ? c->socks.port : t->target_port,
		c->window, NULL);
	if (rc == PSSH_EREFUSED)
		fail_set(&t->note, rc, "the host cannot connect to '%.200s:%u', or does not allow it",
			socks ? c->socks.host : t->host, socks ? c->socks.port : t->target_port);
	if (rc == PSSH_EAGAIN) {
		loop_forget(t->loop, &c->tw.watch); /* what it sends meanwhile would wake us again and again */
		return 0;
	}
	if (socks && socks_answer(&c->socks, rc == 0, rc == PSSH_EREFUSED, &c->pump.out) != 0)
		return -1;
	return rc == 0 ? 1 : socks ? tunnel_send_away(c) : -1;
}

static int session_tunnel_serve(struct tunnel *t, struct tunnel_client *c, struct exec_room *room)
{
	uint32_t want;

	if (!c->joined) {
		int rc = tunnel_connect(t, c, room);

		if (rc <= 0)
			return rc;
		c->joined = true;
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

	tunnel_accept(t, l);
	list_each (pos, tmp, &t->clients) {
		struct tunnel_client *c = list_entry(pos, struct tunnel_client, link);

		if (session_tunnel_serve(t, c, room) < 0) {
			if (t->way == TUNNEL_BACK && !c->joined)
				fail_set(&t->note, PSSH_ECONNECT, "cannot connect to '%.200s:%u' from here", t->host,
					t->target_port);
			tunnel_client_free(t, c);
		}
	}
	if (t->door.fd >= 0 && door_admit(&t->door, t->count < CLIENTS) != 0)
		return fail_set(f, PSSH_ELOCAL, "cannot wait for connections to the tunnel");
	return t->note.code ? TUNNEL_NOTE : PSSH_EAGAIN;
}

const char *tunnel_note(struct tunnel *t)
{
	t->note.code = 0;
	return t->note.text;
}

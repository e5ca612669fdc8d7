/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long, thin path in front of local servers:
 *
 *     farpath PORTS_FILE MS MBITS ADDRESS:PORT...
 *
 * listens on a port of 127.0.0.1 for each server and passes connections on to it. Each direction takes MS / 2, and all
 * connections together get MBITS million bits a second of it, behind a queue of QUEUE_MS as a router has. TCP's own
 * handshake is not delayed. PORTS_FILE gets a port a line. It ends with the process that started it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNS = 64, SERVERS = 8, PIECE = 16384, PIECES = 4096, QUEUE_MS = 20 };

struct piece {
	char *data;
	size_t at, len;
	double due;
};

/* One direction of a connection: a ring of pieces on their way. */
struct lane {
	int from, to;
	struct piece ring[PIECES];
	unsigned first, count;
	bool ended, told; /* ended: `from` has no more; told: `to` knows */
};

struct pair {
	struct lane lane[2];
	bool used;
};

static struct pair pairs[CONNS];
static int doors[SERVERS];
static struct sockaddr_in servers[SERVERS];
static double each_way, bytes_a_second, busy_until[2];

static double farpath_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void farpath_die(const char *what)
{
	fprintf(stderr, "farpath: %s: %s\n", what, strerror(errno));
	exit(2);
}

static bool lane_takes(const struct lane *l, unsigned way, double now)
{
	return !l->ended && l->count < PIECES && busy_until[way] - now < QUEUE_MS / 1e3;
}

/* Takes what has come, and says when it arrives at the other end. */
static bool lane_take(struct lane *l, unsigned way, double now)
{
	struct piece *p = &l->ring[(l->first + l->count) % PIECES];
	ssize_t n;

	p->data = malloc(PIECE);
	if (!p->data)
		farpath_die("malloc");
	n = recv(l->from, p->data, PIECE, MSG_DONTWAIT);
	if (n <= 0) {
		free(p->data);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		l->ended = true;
		return n == 0;
	}
	if (busy_until[way] < now)
		busy_until[way] = now;
	busy_until[way] += (double)n / bytes_a_second;
	p->at = 0;
	p->len = (size_t)n;
	p->due = busy_until[way] + each_way;
	l->count++;
	return true;
}

/* False: the other end is gone. */
static bool lane_give(struct lane *l, double now)
{
	while (l->count && l->ring[l->first].due <= now) {
		struct piece *p = &l->ring[l->first];
		ssize_t n = send(l->to, p->data + p->at, p->len - p->at, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		p->at += (size_t)n;
		if (p->at < p->len)
			return true;
		free(p->data);
		l->first = (l->first + 1) % PIECES;
		l->count--;
	}
	if (l->ended && !l->count && !l->told) {
		l->told = true;
		shutdown(l->to, SHUT_WR);
	}
	return true;
}

static void pair_close(struct pair *p)
{
	close(p->lane[0].from);
	close(p->lane[0].to);
	for (unsigned w = 0; w < 2; w++)
		for (unsigned i = 0; i < p->lane[w].count; i++)
			free(p->lane[w].ring[(p->lane[w].first + i) % PIECES].data);
	p->used = false;
}

static void pair_open(int door, const struct sockaddr_in *server)
{
	int client = accept(door, NULL, NULL), s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (client < 0 || s < 0)
		farpath_die("accept");
	for (size_t i = 0; i < CONNS; i++) {
		struct pair *p = &pairs[i];

		if (p->used)
			continue;
		if (connect(s, (const struct sockaddr *)server, sizeof *server) < 0)
			break;
		p->used = true;
		for (unsigned w = 0; w < 2; w++) {
			struct lane *l = &p->lane[w];

			l->from = w ? s : client;
			l->to = w ? client : s;
			l->first = l->count = 0;
			l->ended = l->told = false;
		}
		return;
	}
	close(client);
	close(s);
}

/* One piece at most, so that all connections get their share of the path. */
static void pair_step(struct pair *p, const struct pollfd *fds, double now)
{
	bool fine = true;

	for (unsigned w = 0; w < 2; w++) {
		struct lane *l = &p->lane[w];

		if (fine && fds[w].revents && lane_takes(l, w, now))
			fine = lane_take(l, w, now);
		fine = fine && lane_give(l, now);
	}
	if (!fine || (p->lane[0].told && p->lane[1].told))
		pair_close(p);
}

/* When the next piece is due or the queue has room again. */
static double pair_when(const struct pair *p, double now, double soonest)
{
	for (unsigned w = 0; w < 2; w++) {
		const struct lane *l = &p->lane[w];
		double due = l->count ? l->ring[l->first].due : soonest;
		double room = l->ended ? soonest : busy_until[w] - QUEUE_MS / 1e3;

		if (l->count && due < now)
			due = now + 1e-3; /* its receiver is slow */
		soonest = due < soonest ? due : soonest;
		if (room > now && room < soonest)
			soonest = room;
	}
	return soonest;
}

static void farpath_serve(unsigned count)
{
	static struct pollfd fds[SERVERS + 2 * CONNS];

	for (size_t first = 0;; first = (first + 1) % CONNS) {
		double now = farpath_now(), soonest = now + 1;
		struct timespec wait = { 0, 0 };

		for (unsigned i = 0; i < count; i++)
			fds[i] = (struct pollfd){ .fd = doors[i], .events = POLLIN };
		for (size_t i = 0; i < CONNS; i++) {
			for (unsigned w = 0; w < 2; w++) {
				const struct lane *l = &pairs[i].lane[w];
				bool takes = pairs[i].used && lane_takes(l, w, now);

				fds[SERVERS + 2 * i + w] = (struct pollfd){ .fd = takes ? l->from : -1,
					.events = POLLIN };
			}
			if (pairs[i].used)
				soonest = pair_when(&pairs[i], now, soonest);
		}
		for (unsigned i = count; i < SERVERS; i++)
			fds[i] = (struct pollfd){ .fd = -1 };
		if (soonest > now) {
			wait.tv_sec = (time_t)(soonest - now);
			wait.tv_nsec = (long)((soonest - now - (double)wait.tv_sec) * 1e9);
		}
		if (ppoll(fds, SERVERS + 2 * CONNS, &wait, NULL) < 0 && errno != EINTR)
			farpath_die("ppoll");
		now = farpath_now();
		for (size_t n = 0; n < CONNS; n++) {
			size_t i = (first + n) % CONNS;

			if (pairs[i].used)
				pair_step(&pairs[i], &fds[SERVERS + 2 * i], now);
		}
		for (unsigned i = 0; i < count; i++)
			if (fds[i].revents)
				pair_open(doors[i], &servers[i]);
	}
}

static int farpath_listen(const char *target, struct sockaddr_in *server, FILE *ports)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const char *colon = strrchr(target, ':');
	socklen_t len = sizeof a;
	char host[64];

	*server = (struct sockaddr_in){ .sin_family = AF_INET };
	snprintf(host, sizeof host, "%.*s", colon ? (int)(colon - target) : 0, target);
	if (!colon || inet_pton(AF_INET, host, &server->sin_addr) != 1)
		farpath_die(target);
	server->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, CONNS) < 0 ||
		getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		farpath_die("listen");
	fprintf(ports, "%u\n", ntohs(a.sin_port));
	return fd;
}

int main(int argc, char **argv)
{
	FILE *ports;

	if (argc < 5 || argc - 4 > SERVERS) {
		fputs("usage: farpath PORTS_FILE MS MBITS ADDRESS:PORT...\n", stderr);
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	each_way = strtod(argv[2], NULL) / 2e3;
	bytes_a_second = strtod(argv[3], NULL) * 125e3;
	ports = fopen(argv[1], "we");
	if (!ports || !(bytes_a_second > 0))
		farpath_die(argv[1]);
	for (int i = 4; i < argc; i++)
		doors[i - 4] = farpath_listen(argv[i], &servers[i - 4], ports);
	if (fclose(ports))
		farpath_die(argv[1]);
	farpath_serve((unsigned)argc - 4);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long way to a server, which counts the round trips of one connection:
 *
 *     turns DELAY_MS COUNT_FILE COMMAND [ARGUMENT]...
 *     turns -l PORT_FILE DELAY_MS COUNT_FILE COMMAND [ARGUMENT]...
 *
 * is a proxy command: it runs COMMAND and passes bytes on between that and its own standard input and output, DELAY_MS
 * later. With -l it listens on a free port of 127.0.0.1, which it writes to PORT_FILE, and does so for each connection
 * in a process of its own; the first one's count goes to COUNT_FILE.1, and so on.
 *
 * What an end sends is one trip more than what it had heard until then; COUNT_FILE gets the trips of the
 * server's latest bytes. Two trips are a round trip. Unlike the clock, the count is the same on a busy machine, as long
 * as neither end needs longer than the delay for what it sends at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 32768, MOST = 1024 };

struct piece {
	struct piece *next;
	int64_t due;
	unsigned trips;
	size_t len, sent;
	char data[PIECE];
};

struct way {
	int from, to;
	bool ended;
	size_t held;
	struct piece *first, **last;
};

static unsigned heard[2]; /* the trips of what this end has heard; 0: the client */
static int count_file;

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void take(struct way *w, unsigned sender, int delay)
{
	struct piece *p = calloc(1, sizeof *p);
	ssize_t n = p ? read(w->from, p->data, PIECE) : -1;

	if (n <= 0) {
		w->ended = p && (n == 0 || (errno != EAGAIN && errno != EINTR));
		free(p);
		return;
	}
	p->len = (size_t)n;
	p->due = now() + delay;
	p->trips = heard[sender] + 1;
	*w->last = p;
	w->last = &p->next;
	w->held++;
}

static void hear(unsigned receiver, unsigned trips)
{
	char line[16];
	int len;

	if (trips <= heard[receiver])
		return;
	heard[receiver] = trips;
	len = snprintf(line, sizeof line, "%6u\n", trips);
	if (receiver == 0 && pwrite(count_file, line, (size_t)len, 0) != len)
		exit(1);
}

/* false: nobody reads there any more. */
static bool give(struct way *w, unsigned receiver)
{
	struct piece *p = w->first;
	ssize_t n = write(w->to, p->data + p->sent, p->len - p->sent);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	hear(receiver, p->trips);
	p->sent += (size_t)n;
	if (p->sent < p->len)
		return true;
	w->first = p->next;
	if (!w->first)
		w->last = &w->first;
	w->held--;
	free(p);
	return true;
}

static int until_due(const struct way *ways)
{
	int64_t least = -1;

	for (int i = 0; i < 2; i++) {
		int64_t left = ways[i].first ? ways[i].first->due - now() : -1;

		if (left > 0 && (least < 0 || left < least))
			least = left;
	}
	return (int)least;
}

static void pass(struct way *ways, int delay)
{
	for (;;) {
		struct pollfd p[4] = { { .fd = -1 }, { .fd = -1 }, { .fd = -1 }, { .fd = -1 } };

		for (int i = 0; i < 2; i++) {
			struct way *w = &ways[i];

			if (w->ended && !w->first && i == 1)
				return;
			if (w->ended && !w->first && w->to >= 0) {
				shutdown(w->to, SHUT_WR);
				w->to = -1;
			}
			if (!w->ended && w->held < MOST)
				p[i] = (struct pollfd){ .fd = w->from, .events = POLLIN };
			if (w->first && w->first->due <= now())
				p[2 + i] = (struct pollfd){ .fd = w->to, .events = POLLOUT };
		}
		if (poll(p, 4, until_due(ways)) < 0 && errno != EINTR)
			return;
		for (int i = 0; i < 2; i++) {
			if (p[i].revents)
				take(&ways[i], (unsigned)i, delay);
			if (p[2 + i].revents && !give(&ways[i], !i))
				return;
		}
	}
}

static void serve(int delay, const char *count, char **command)
{
	struct way ways[2] = { { .from = 0 }, { .to = 1 } };
	int ends[2];

	count_file = open(count, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (count_file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		die(count);
	signal(SIGPIPE, SIG_IGN);
	if (fork() == 0) {
		signal(SIGPIPE, SIG_DFL);
		dup2(ends[1], 0);
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execv(command[0], command);
		_exit(127);
	}
	close(ends[1]);
	ways[0].to = ways[1].from = ends[0];
	ways[0].last = &ways[0].first;
	ways[1].last = &ways[1].first;
	for (int fd = 0; fd < 2; fd++)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	pass(ways, delay);
}

/* Whole or not there at all. */
static void write_port(const char *path, unsigned port)
{
	char hidden[4096];
	FILE *f;

	snprintf(hidden, sizeof hidden, "%s.new", path);
	f = fopen(hidden, "w");
	if (!f || fprintf(f, "%u\n", port) < 0 || fclose(f) != 0 || rename(hidden, path) != 0)
		die(path);
}

static void turns_listen(const char *port_file, int delay, const char *count, char **command)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) != 0 || listen(fd, 64) != 0 ||
		getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		die("listen");
	signal(SIGCHLD, SIG_IGN);
	write_port(port_file, ntohs(a.sin_port));
	for (unsigned n = 1;; n++) {
		int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		char name[4096];

		if (c < 0 || fork() != 0) {
			close(c);
			continue;
		}
		signal(SIGCHLD, SIG_DFL);
		setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		dup2(c, 0);
		dup2(c, 1);
		close(c);
		close(fd);
		snprintf(name, sizeof name, "%s.%u", count, n);
		serve(delay, name, command);
		_exit(0);
	}
}

int main(int argc, char **argv)
{
	const char *port_file = NULL;

	if (argc > 2 && strcmp(argv[1], "-l") == 0) {
		port_file = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (argc < 4) {
		fputs("usage: turns [-l PORT_FILE] DELAY_MS COUNT_FILE COMMAND [ARGUMENT]...\n", stderr);
		return 2;
	}
	if (port_file)
		turns_listen(port_file, (int)strtol(argv[1], NULL, 10), argv[2], argv + 3);
	else
		serve((int)strtol(argv[1], NULL, 10), argv[2], argv + 3);
	return 0;
}

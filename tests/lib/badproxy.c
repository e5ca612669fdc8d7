/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bad network in front of real servers:
 *
 *     badproxy PORTS_FILE SEED FAULT COUNT ADDRESS:PORT...
 *
 * listens on COUNT ports of 127.0.0.1, passes each on to one of the servers in turn, and does to each
 * connection what the network does there: FAULT is one of the list below, `random` for one that the
 * seed chooses, or FAULT@BYTES for what comes to the client after so many bytes, FAULT@BYTES+STEP for
 * STEP bytes more on each port. PORTS_FILE gets "PORT FAULT@BYTES" a line. It ends with the process
 * that started it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
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

/* "at" is after so many bytes of one direction. X(name, text) */
#define FAULTS(X) \
	X(NONE, "none")          /* passes everything on */ \
	X(DELAY, "delay")        /* every piece comes late */ \
	X(DRIBBLE, "dribble")    /* a few bytes at a time, for some thousand bytes from there */ \
	X(SLOW_ACCEPT, "accept") /* accepts, but reaches the server seconds later */ \
	X(CUT, "cut")            /* closes both sides */ \
	X(RESET, "reset")        /* resets both sides */ \
	X(HALF, "half-close")    /* ends this direction, the other goes on */ \
	X(DEAF, "deaf")          /* drops this direction from there */ \
	X(STALL, "stall")        /* passes nothing on any more */ \
	X(FLIP, "flip")          /* changes one bit */ \
	X(DOUBLE, "duplicate")   /* sends some bytes twice */ \
	X(INSERT, "insert")      /* sends random bytes in between */ \
	X(LOSE, "lose")          /* drops some bytes */ \
	X(REORDER, "reorder")    /* exchanges two pieces */ \
	X(TRUNCATE, "truncate")  /* closes in the middle of the server's banner */ \
	X(GARBAGE, "garbage")    /* random bytes in front of the banner */

enum fault {
#define X(name, text) FAULT_##name,
	FAULTS(X)
#undef X
};

static const char *const fault_names[] = {
#define X(name, text) text,
	FAULTS(X)
#undef X
};

enum { FAULT_COUNT = sizeof fault_names / sizeof *fault_names };
enum { BUFFER = 65536, CONNS = 600, PORTS = 250, SLOW_MS = 2500 };

struct way {
	int from, to;
	char data[BUFFER];
	size_t len;
	uint64_t passed;
	int64_t due; /* nothing is passed on before */
	bool ended, closed, drops;
};

struct plan {
	enum fault fault;
	uint64_t at;
	unsigned way, amount; /* way: 0 to the server, 1 to the client */
	int delay;
};

struct net {
	struct plan plan;
	struct way way[2];
	int client, server, target;
	int64_t dial_at;
	bool used, done, stalled;
};

static struct net nets[CONNS];
static int listening[PORTS];
static struct plan plans[PORTS];
static struct sockaddr_in targets[PORTS];
static uint64_t dice_state;

static int64_t badproxy_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static unsigned badproxy_dice(unsigned sides)
{
	dice_state = dice_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(dice_state >> 33) % sides;
}

static void plan_make(struct plan *p, const char *wanted, size_t port)
{
	const char *at = strchr(wanted, '@');
	size_t len = at ? (size_t)(at - wanted) : strlen(wanted);
	char *step;

	*p = (struct plan){ .fault = (enum fault)badproxy_dice(FAULT_COUNT), .way = badproxy_dice(2) };
	p->amount = 1 + badproxy_dice(1u << badproxy_dice(8));
	p->delay = 1 + (int)badproxy_dice(60);
	p->at = badproxy_dice(1u << (2 + badproxy_dice(19)));
	for (unsigned i = 0; i < FAULT_COUNT; i++)
		if (strncmp(fault_names[i], wanted, len) == 0 && !fault_names[i][len])
			p->fault = (enum fault)i;
	if (at) {
		p->at = strtoull(at + 1, &step, 10);
		p->at += *step == '+' ? port * strtoull(step + 1, NULL, 10) : 0;
		p->way = 1;
	}
	if (p->fault == FAULT_TRUNCATE) {
		p->way = 1;
		p->at %= 20;
	} else if (p->fault == FAULT_GARBAGE) {
		p->way = 1;
		p->at = 0;
	}
}

static void badproxy_close(int fd, bool reset)
{
	struct linger now = { 1, 0 };

	if (fd < 0)
		return;
	if (reset)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	close(fd);
}

static void net_end(struct net *n, bool reset)
{
	badproxy_close(n->client, reset);
	badproxy_close(n->server, reset);
	n->used = false;
}

static void net_begin(int fd, size_t port)
{
	struct net *n = nets;
	int one = 1;

	while (n < nets + CONNS && n->used)
		n++;
	if (n == nets + CONNS) {
		close(fd);
		return;
	}
	*n = (struct net){ .used = true, .client = fd, .server = -1, .target = (int)port, .plan = plans[port] };
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	n->dial_at = badproxy_now() + (n->plan.fault == FAULT_SLOW_ACCEPT ? SLOW_MS : 0);
}

static void net_dial(struct net *n)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&targets[n->target], sizeof targets[0])) {
		badproxy_close(fd, false);
		net_end(n, false);
		return;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	n->server = fd;
	n->way[0].from = n->way[1].to = n->client;
	n->way[0].to = n->way[1].from = fd;
}

static void way_insert(struct way *w, size_t amount, bool twice)
{
	if (amount > BUFFER - w->len)
		amount = BUFFER - w->len;
	if (twice && amount > w->len)
		amount = w->len;
	memmove(w->data + amount, w->data, w->len);
	for (size_t i = 0; i < amount && !twice; i++)
		w->data[i] = (char)badproxy_dice(256);
	w->len += amount;
}

static void way_reorder(struct way *w, size_t amount)
{
	char piece[256];

	if (amount > w->len / 2)
		amount = w->len / 2;
	memcpy(piece, w->data, amount);
	memmove(w->data, w->data + amount, amount);
	memcpy(w->data + amount, piece, amount);
}

static void way_lose(struct way *w, size_t amount)
{
	if (amount > w->len)
		amount = w->len;
	w->len -= amount;
	memmove(w->data, w->data + amount, w->len);
}

/* Does the fault at its place. False: the connection is gone. */
static bool net_fault(struct net *n, struct way *w)
{
	n->done = true;
	switch (n->plan.fault) {
	case FAULT_CUT:
	case FAULT_TRUNCATE:
	case FAULT_RESET:
		net_end(n, n->plan.fault == FAULT_RESET);
		return false;
	case FAULT_HALF:
		shutdown(w->to, SHUT_WR);
		w->drops = w->closed = true;
		break;
	case FAULT_DEAF:
		w->drops = true;
		break;
	case FAULT_STALL:
		n->stalled = true;
		break;
	case FAULT_FLIP:
		w->data[0] ^= (char)(1 << badproxy_dice(8));
		break;
	case FAULT_DOUBLE:
		way_insert(w, n->plan.amount, true);
		break;
	case FAULT_INSERT:
	case FAULT_GARBAGE:
		way_insert(w, n->plan.amount, false);
		break;
	case FAULT_LOSE:
		way_lose(w, n->plan.amount);
		break;
	case FAULT_REORDER:
		way_reorder(w, n->plan.amount);
		break;
	default:
		break;
	}
	return true;
}

/* Passes on what may be passed on now. False: the connection is gone. */
static bool way_pass(struct net *n, struct way *w)
{
	bool mine = w == &n->way[n->plan.way];
	size_t len = w->len;
	ssize_t got;

	if (!len || n->stalled || badproxy_now() < w->due)
		return true;
	if (mine && !n->done && n->plan.fault >= FAULT_CUT && w->passed + len > n->plan.at) {
		if (n->plan.at > w->passed)
			len = (size_t)(n->plan.at - w->passed);
		else
			return net_fault(n, w);
	}
	if (mine && n->plan.fault == FAULT_DRIBBLE && w->passed >= n->plan.at && w->passed < n->plan.at + 2000) {
		len = len < 1 + n->plan.amount % 9 ? len : 1 + n->plan.amount % 9;
		w->due = badproxy_now() + n->plan.delay / 8;
	}
	got = w->drops ? (ssize_t)len : send(w->to, w->data, len, MSG_NOSIGNAL);
	if (got < 0 && errno == EAGAIN)
		return true;
	if (got < 0) {
		net_end(n, false);
		return false;
	}
	w->passed += (uint64_t)got;
	way_lose(w, (size_t)got);
	return true;
}

static bool way_take(struct net *n, struct way *w)
{
	ssize_t got = recv(w->from, w->data + w->len, BUFFER / 2 - w->len, 0);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (got < 0) {
		net_end(n, true);
		return false;
	}
	if (got == 0)
		w->ended = true;
	else if (n->plan.fault == FAULT_DELAY && !w->len)
		w->due = badproxy_now() + n->plan.delay;
	w->len += (size_t)got;
	return true;
}

static bool way_end(struct net *n, struct way *w)
{
	if (!w->ended || w->len || n->stalled)
		return true;
	if (!w->closed)
		shutdown(w->to, SHUT_WR);
	w->closed = true;
	if (!n->way[0].ended || !n->way[1].ended)
		return true;
	net_end(n, false);
	return false;
}

static void net_turn(struct net *n, short client, short server)
{
	for (int i = 0; i < 2; i++) {
		struct way *w = &n->way[i];
		short ready = i == 0 ? client : server;

		if ((ready & (POLLIN | POLLHUP | POLLERR)) && !w->ended && !n->stalled && w->len < BUFFER / 2 &&
			!way_take(n, w))
			return;
		/* A fault may leave bytes that can go at once. */
		for (size_t before = w->len + 1; w->len && w->len != before;) {
			before = w->len;
			if (!way_pass(n, w))
				return;
		}
		if (!way_end(n, w))
			return;
	}
}

/* What to wait for: room in the buffer to read, bytes in it to write. */
static short net_wants(const struct net *n, int side)
{
	const struct way *in = &n->way[side], *out = &n->way[!side];
	short events = 0;

	if (n->stalled || n->server < 0)
		return 0;
	if (!in->ended && in->len < BUFFER / 2)
		events |= POLLIN;
	if (out->len && badproxy_now() >= out->due)
		events |= POLLOUT;
	return events;
}

static void badproxy_turn(size_t ports)
{
	static struct pollfd p[PORTS + 2 * CONNS];
	static struct net *who[CONNS];
	size_t count = 0;

	for (size_t i = 0; i < ports; i++)
		p[i] = (struct pollfd){ .fd = listening[i], .events = POLLIN };
	for (struct net *n = nets; n < nets + CONNS; n++) {
		if (n->used && n->server < 0 && badproxy_now() >= n->dial_at)
			net_dial(n);
		if (!n->used)
			continue;
		who[count] = n;
		for (int side = 0; side < 2; side++) {
			short wants = net_wants(n, side);

			p[ports + 2 * count + (size_t)side] = (struct pollfd){ .fd = !wants ? -1
					: side == 0                                         ? n->client
											    : n->server,
				.events = wants };
		}
		count++;
	}
	poll(p, ports + 2 * count, 5);
	for (size_t i = 0; i < count; i++)
		if (who[i]->server >= 0)
			net_turn(who[i], p[ports + 2 * i].revents, p[ports + 2 * i + 1].revents);
	for (size_t i = 0; i < ports; i++) {
		int fd = p[i].revents ? accept4(listening[i], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC) : -1;

		if (fd >= 0)
			net_begin(fd, i);
	}
}

static bool badproxy_listen(size_t i, FILE *f)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;

	listening[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listening[i] < 0 || bind(listening[i], (struct sockaddr *)&a, len) || listen(listening[i], 64) ||
		getsockname(listening[i], (struct sockaddr *)&a, &len))
		return false;
	return fprintf(f, "%u %s@%llu\n", ntohs(a.sin_port), fault_names[plans[i].fault],
		       (unsigned long long)plans[i].at) > 0;
}

int main(int argc, char **argv)
{
	size_t ports = argc > 5 ? strtoul(argv[4], NULL, 10) : 0;
	char part[512];
	FILE *f;

	if (!ports || ports > PORTS) {
		fputs("usage: badproxy PORTS_FILE SEED FAULT COUNT ADDRESS:PORT...\n", stderr);
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dice_state = strtoull(argv[2], NULL, 10) * 2654435761u + 1;
	snprintf(part, sizeof part, "%.500s.part", argv[1]);
	f = fopen(part, "w");
	for (size_t i = 0; f && i < ports; i++) {
		char *target = argv[5 + (int)i % (argc - 5)], *colon = strchr(target, ':');
		char address[32];

		plan_make(&plans[i], argv[3], i);
		snprintf(address, sizeof address, "%.*s", colon ? (int)(colon - target) : 0, target);
		targets[i] = (struct sockaddr_in){ .sin_family = AF_INET };
		targets[i].sin_port = htons((uint16_t)strtoul(colon ? colon + 1 : "0", NULL, 10));
		if (inet_pton(AF_INET, address, &targets[i].sin_addr) != 1 || !badproxy_listen(i, f)) {
			perror("badproxy");
			return 1;
		}
	}
	if (!f || fclose(f) || rename(part, argv[1]))
		return 1;
	for (;;)
		badproxy_turn(ports);
}

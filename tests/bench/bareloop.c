/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yardstick of the benchmarks: libssh2 and epoll, and nothing else. One command on N hosts,
 * at most F at once, with the algorithms that cost least. No features: what any parallel SSH
 * client on libssh2 pays at the very least. Host keys are not looked at.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libssh2.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum state { DIAL, HELLO, AUTH, OPEN, EXEC, READ, CLOSE, WARM, GONE };

struct host {
	int fd;
	enum state state;
	uint32_t events;
	LIBSSH2_SESSION *ssh;
	LIBSSH2_CHANNEL *ch;
};

struct bare {
	int epfd;
	struct host *hosts;
	long n, fanout, port, running, next, ok, failed;
	unsigned net;              /* 127.NET.0.1 is the first host */
	int keep;
	const char *user, *command, *key;
	char pub[4096];
	unsigned long long bytes;
};

static void die(const char *what)
{
	fprintf(stderr, "bareloop: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void host_end(struct bare *b, struct host *h, int ok)
{
	if (ok)
		b->ok++;
	else
		b->failed++;
	b->running--;
	if (ok && b->keep) {
		h->state = WARM;
		return;
	}
	if (!ok && b->failed <= 3)
		fprintf(stderr, "bareloop: host %ld failed in state %d\n", (long)(h - b->hosts), h->state);
	if (h->ch)
		libssh2_channel_free(h->ch);
	if (h->ssh)
		libssh2_session_free(h->ssh);
	close(h->fd);
	h->ch = NULL;
	h->ssh = NULL;
	h->state = GONE;
}

static int host_session(struct host *h)
{
	h->ssh = libssh2_session_init();
	if (!h->ssh)
		return -1;
	libssh2_session_set_blocking(h->ssh, 0);
	libssh2_session_method_pref(h->ssh, LIBSSH2_METHOD_KEX, "curve25519-sha256");
	libssh2_session_method_pref(h->ssh, LIBSSH2_METHOD_HOSTKEY, "ssh-ed25519");
	libssh2_session_method_pref(h->ssh, LIBSSH2_METHOD_CRYPT_CS, "aes128-ctr");
	libssh2_session_method_pref(h->ssh, LIBSSH2_METHOD_CRYPT_SC, "aes128-ctr");
	libssh2_session_method_pref(h->ssh, LIBSSH2_METHOD_MAC_CS, "hmac-sha2-256");
	libssh2_session_method_pref(h->ssh, LIBSSH2_METHOD_MAC_SC, "hmac-sha2-256");
	return 0;
}

static int host_read(struct bare *b, struct host *h)
{
	static char trash[65536];
	ssize_t out, err;

	do {
		out = libssh2_channel_read(h->ch, trash, sizeof trash);
		err = libssh2_channel_read_stderr(h->ch, trash, sizeof trash);
		b->bytes += (unsigned long long)(out > 0 ? out : 0) + (unsigned long long)(err > 0 ? err : 0);
	} while (out > 0 || err > 0);
	if (out < 0 && out != LIBSSH2_ERROR_EAGAIN)
		return (int)out;
	return libssh2_channel_eof(h->ch) ? 0 : LIBSSH2_ERROR_EAGAIN;
}

/* 0: the state's work is done; EAGAIN; or an error. */
static int host_do(struct bare *b, struct host *h)
{
	switch (h->state) {
	case DIAL:
		return host_session(h);
	case HELLO:
		return libssh2_session_handshake(h->ssh, h->fd);
	case AUTH:
		/* From memory, libssh2 1.10 takes the key for PEM first, which costs 0.4 ms more. */
		return libssh2_userauth_publickey_fromfile(h->ssh, b->user, b->pub, b->key, NULL);
	case OPEN:
		h->ch = libssh2_channel_open_session(h->ssh);
		return h->ch ? 0 : libssh2_session_last_errno(h->ssh);
	case EXEC:
		return libssh2_channel_exec(h->ch, b->command);
	case READ:
		return host_read(b, h);
	case CLOSE:
		return libssh2_channel_free(h->ch);
	default:
		return -1;
	}
}

static void host_watch(struct bare *b, struct host *h, int op)
{
	struct epoll_event ev = { .data.ptr = h, .events = EPOLLIN };

	if (h->state == DIAL)
		ev.events = EPOLLOUT;
	else if (libssh2_session_block_directions(h->ssh) & LIBSSH2_SESSION_BLOCK_OUTBOUND)
		ev.events |= EPOLLOUT;
	if (ev.events == h->events)
		return;
	h->events = ev.events;
	if (epoll_ctl(b->epfd, op, h->fd, &ev) != 0)
		die("epoll_ctl");
}

static void host_step(struct bare *b, struct host *h)
{
	int rc;

	while ((rc = host_do(b, h)) == 0) {
		if (h->state == CLOSE) {
			h->ch = NULL;
			host_end(b, h, 1);
			return;
		}
		h->state++;
	}
	if (rc == LIBSSH2_ERROR_EAGAIN)
		host_watch(b, h, EPOLL_CTL_MOD);
	else
		host_end(b, h, 0);
}

static void host_start(struct bare *b, struct host *h)
{
	long i = h - b->hosts;
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)b->port) };
	int one = 1;

	b->running++;
	if (h->state == WARM) {
		h->state = OPEN;
		host_step(b, h);
		return;
	}
	in.sin_addr.s_addr = htonl(127u << 24 | b->net << 16 | (uint32_t)(i / 250) << 8 | (uint32_t)(i % 250 + 1));
	h->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (h->fd < 0)
		die("socket");
	setsockopt(h->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(h->fd, (struct sockaddr *)&in, sizeof in) != 0 && errno != EINPROGRESS)
		host_end(b, h, 0);
	else
		host_watch(b, h, EPOLL_CTL_ADD);
}

static void round_run(struct bare *b, int number)
{
	double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	struct epoll_event evs[256];
	struct rusage u;

	b->next = b->ok = b->failed = 0;
	b->bytes = 0;
	while (b->running || b->next < b->n) {
		int n;

		while (b->next < b->n && b->running < b->fanout)
			host_start(b, &b->hosts[b->next++]);
		n = b->running ? epoll_wait(b->epfd, evs, 256, 60000) : 0;
		if (n == 0 && b->running) {
			fprintf(stderr, "bareloop: nothing happened for a minute, %ld hosts left\n", b->running);
			exit(1);
		}
		for (int i = 0; i < n; i++) {
			struct host *h = evs[i].data.ptr;

			if (h->state < WARM)
				host_step(b, h);
		}
	}
	getrusage(RUSAGE_SELF, &u);
	printf("round=%d hosts=%ld ok=%ld wall=%.4f cpu=%.4f cpu_ms_per_host=%.4f rss_kib=%ld bytes=%llu\n",
		number, b->n, b->ok, now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - cpu,
		(now(CLOCK_PROCESS_CPUTIME_ID) - cpu) * 1e3 / (double)b->n, u.ru_maxrss, b->bytes);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct bare b = { .n = 1, .fanout = 128, .port = 22, .net = 1, .user = "root" };
	int opt, rounds = 1, ok = 1;
	struct rlimit files;

	while ((opt = getopt(argc, argv, "n:f:p:a:i:l:r:")) != -1) {
		switch (opt) {
		case 'n': b.n = strtol(optarg, NULL, 10); break;
		case 'f': b.fanout = strtol(optarg, NULL, 10); break;
		case 'p': b.port = strtol(optarg, NULL, 10); break;
		case 'a': b.net = (unsigned)strtoul(optarg, NULL, 10) & 255; break;
		case 'i': b.key = optarg; break;
		case 'l': b.user = optarg; break;
		case 'r': rounds = (int)strtol(optarg, NULL, 10); b.keep = 1; break;
		default: b.key = NULL; optind = argc; break;
		}
	}
	if (!b.key || optind != argc - 1 || b.n < 1 || b.n > 62500 || b.fanout < 1) {
		fputs("usage: bareloop -i KEY -p PORT [-a NET] [-n HOSTS] [-f FANOUT] [-l USER] [-r ROUNDS] COMMAND\n"
			"hosts are 127.NET.0.1 to 127.NET.0.250, 127.NET.1.1 ...; with -r, connections are\n"
			"kept, and the command is run so many times\n", stderr);
		return 2;
	}
	b.command = argv[optind];
	snprintf(b.pub, sizeof b.pub, "%s.pub", b.key);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	b.hosts = calloc((size_t)b.n, sizeof *b.hosts);
	b.epfd = epoll_create1(EPOLL_CLOEXEC);
	if (!b.hosts || b.epfd < 0 || libssh2_init(0) != 0)
		die("cannot start");
	for (int i = 1; i <= rounds; i++) {
		round_run(&b, i);
		ok &= b.ok == b.n;
		if (b.ok != b.n)
			break;
	}
	free(b.hosts);
	return !ok;
}

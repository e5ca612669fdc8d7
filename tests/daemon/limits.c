/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients that mean ill, or are broken: too large, too slow, too many, not HTTP at all. Whatever
 * they do, a good client is answered within a bounded time, and the market keeps running.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "../lib/web.h"

enum { GOOD_MS = 9000, ANSWER_MS = 20000, CROWD = 600, SLOW = 40, PIPELINED = 50, UNREAD = 100, ROOM = 1 << 20 };

static struct proc market;
static char room[ROOM];

static int dial(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)market.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Sends as long as the other side takes it; how much it took. */
static size_t put(int fd, const char *bytes, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = send(fd, bytes + done, len - done, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/* Reads into room until the end, until `until` is in it count times, or until ms are over. */
static size_t get(int fd, const char *until, int count, int ms)
{
	int64_t deadline = web_now_us() + (int64_t)ms * 1000;
	size_t len = 0;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int left = (int)((deadline - web_now_us()) / 1000), seen = 0;
		ssize_t n;

		room[len] = '\0';
		for (const char *at = until ? strstr(room, until) : NULL; at; at = strstr(at + 1, until))
			seen++;
		if ((until && seen >= count) || left <= 0 || len >= ROOM - 1 || poll(&p, 1, left) <= 0)
			return len;
		n = recv(fd, room + len, ROOM - 1 - len, 0);
		if (n <= 0)
			return len;
		len += (size_t)n;
	}
}

static bool gone(int fd, int ms)
{
	int64_t deadline = web_now_us() + (int64_t)ms * 1000;
	char bytes[4096];

	while (web_now_us() < deadline) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, 50) > 0 && recv(fd, bytes, sizeof bytes, 0) <= 0)
			return true;
	}
	return false;
}

static int exchange_bytes(const char *bytes, size_t len)
{
	int fd = dial();

	if (fd < 0)
		return -1;
	put(fd, bytes, len);
	get(fd, "\r\n\r\n", 1, ANSWER_MS);
	close(fd);
	return strncmp(room, "HTTP/1.", 7) == 0 ? (int)strtol(room + 9, NULL, 10) : 0;
}

static int exchange(const char *text)
{
	return exchange_bytes(text, strlen(text));
}

static void good_client(const char *while_what)
{
	int64_t begun = web_now_us();
	int status = exchange("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	int ms = (int)((web_now_us() - begun) / 1000);

	ok(status == 200 && ms < GOOD_MS, "a good client is answered %s (%d after %d ms)", while_what, status, ms);
}

/* ---- Too large --------------------------------------------------------------------------- */

static void test_large_body(void)
{
	const char *head = "POST /v2/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 4194305\r\n\r\n";
	char *chunk = malloc(65536 + 16);
	int fd = dial();
	bool took;

	put(fd, head, strlen(head));
	get(fd, "\r\n\r\n", 1, ANSWER_MS);
	has_str(room, " 413 ", "a body that says that it is far too large is refused before it comes");
	close(fd);

	fd = dial();
	head = "POST /v2/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\nExpect: 100-continue\r\n\r\n";
	put(fd, head, strlen(head));
	get(fd, "\r\n\r\n", 1, ANSWER_MS);
	has_str(room, " 413 ", "a smaller one, too, of a client that waits for our word");
	close(fd);

	fd = dial();
	head = "POST /v2/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 1114112\r\n\r\n";
	memset(chunk, ' ', 65536);
	took = put(fd, head, strlen(head)) == strlen(head);
	for (int i = 0; i < 16 && took; i++)
		took = put(fd, chunk, 65536) == 65536;
	good_client("while such a body comes");
	ok(took && recv(fd, room, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN,
		"of one that does not wait all is read");
	put(fd, chunk, 65536);
	get(fd, "\r\n\r\n", 1, ANSWER_MS);
	has_str(room, " 413 ", "so it reads why not");
	close(fd);

	fd = dial();
	took = true;
	memset(chunk, ' ', 65536 + 16);
	memcpy(chunk, "10000\r\n", 7);
	memcpy(chunk + 7 + 65536, "\r\n", 2);
	head = "POST /v2/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
	put(fd, head, strlen(head));
	for (int i = 0; i < 17 && took; i++)
		took = put(fd, chunk, 65536 + 9) == 65536 + 9;
	put(fd, "0\r\n\r\n", 5);
	get(fd, "\r\n\r\n", 1, ANSWER_MS);
	has_str(room, " 413 ", "one that does not say is refused when it is");
	close(fd);

	fd = dial();
	put(fd, head, strlen(head));
	took = true;
	for (int i = 0; i < 4096 && took; i++)
		took = put(fd, chunk, 65536 + 9) == 65536 + 9;
	ok(!took, "one without an end is cut off");
	close(fd);
	free(chunk);
	good_client("after large bodies");
}

static void test_large_head(void)
{
	char line[1100], path[10000];
	size_t sent = 0, n;
	int fd = dial();

	memset(line, 'a', sizeof line);
	memcpy(line, "X-Long: ", 8);
	memcpy(line + 1022, "\r\n", 2);
	put(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n", 32);
	do {
		n = put(fd, line, 1024);
		sent += n;
	} while (n == 1024 && sent < (64u << 20));
	ok(sent < (8u << 20), "a head without an end is cut off (after %zu KiB, buffers of both sides included)",
		sent / 1024);
	close(fd);
	memset(path, 'p', sizeof path);
	memcpy(path, "GET /", 5);
	snprintf(path + 9000, sizeof path - 9000, " HTTP/1.1\r\nHost: x\r\n\r\n");
	n = (size_t)exchange(path);
	ok(n == 413 || n == 414, "a long path is refused (%zu)", n);
	good_client("after long heads");
}

/* ---- Not what it should be ---------------------------------------------------------------- */

static void test_garbage(void)
{
	static const char hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello over TLS";
	uint32_t state = 2463534242u;
	char bytes[512];

	for (int i = 0; i < 200; i++) {
		int fd = dial();

		for (size_t k = 0; k < sizeof bytes; k++) {
			state ^= state << 13, state ^= state >> 17, state ^= state << 5;
			bytes[k] = (char)(state >> 11);
		}
		if (i % 4 == 0)
			memcpy(bytes, "GET / HTTP/1.1\r\n", 16);
		if (i % 4 == 1)
			memcpy(bytes, "POST /v2/orders HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 56);
		put(fd, bytes, sizeof bytes);
		if (i % 2)
			shutdown(fd, SHUT_WR);
		close(fd);
	}
	good_client("after 200 times garbage");
	int fd = dial();

	put(fd, hello, sizeof hello - 1);
	shutdown(fd, SHUT_WR);
	ok(gone(fd, 30000), "who speaks TLS where there is none is not kept");
	close(fd);
	is_int(exchange("GET /healthz%00 HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "an encoded NUL in the path is refused");
	is_int(exchange("GET /%2fhealthz HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "an encoded slash in the path is refused");
	is_int(exchange("GET /healthz?a=%zz HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "broken percent signs are refused");
	is_int(exchange("GET /healthz?%c3%28=1 HTTP/1.1\r\nHost: x\r\n\r\n"), 400, "what is not UTF-8 is refused");
	is_int(exchange("OPTIONS /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), 405, "OPTIONS is no method here");
	has_str(room, "Allow: GET, HEAD\r\n", "and what is, is told");
	is_int(exchange("POST /v2/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\n{}GET / "
			"H"),
		400, "a request of two lengths is refused");
	is_int(exchange("POST /v2/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: "
			"chunked\r\n\r\n0\r\n\r\n"),
		400, "a length and chunks together are refused");
	is_int(exchange("POST /v2/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
			"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
		400, "chunks and another coding are refused");
	is_int(exchange("POST /v2/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
			"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
		400, "chunks twice, too");
	is_int(exchange("POST /v2/orders HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
		400, "and chunks of something coded");
	is_int(exchange("BREW /nothing HTTP/1.1\r\nHost: x\r\n\r\n"), 404,
		"what is not there is not there for any method");
}

/* A proxy in front may read these otherwise than we do. */
static void test_odd_heads(void)
{
	static const char path[] = "GET /healthz\0 HTTP/1.1\r\nHost: x\r\n\r\n";
	static const char rest[] = "GET /healthz\0/more HTTP/1.1\r\nHost: x\r\n\r\n";
	static const char value[] = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b\0c\r\nX-B: d\r\n\r\n";
	static const char last[] = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b\0\r\n\r\n";
	static const char name[] = "GET /healthz HTTP/1.1\r\nHost: x\r\nX\0-A: b\r\n\r\n";

	is_int(exchange_bytes(path, sizeof path - 1), 400, "a NUL at the path's end is refused");
	is_int(exchange_bytes(rest, sizeof rest - 1), 400, "and within it");
	is_int(exchange_bytes(value, sizeof value - 1), 400, "and in a header");
	is_int(exchange_bytes(last, sizeof last - 1), 400, "and at the end of the last one");
	ok(exchange_bytes(name, sizeof name - 1) != 200, "and in a header's name");
	is_int(exchange("GET /healthz HTTP/1.1\nHost: x\r\n\r\n"), 400, "a line that ends without CR is refused");
	is_int(exchange("GET /healthz HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n"), 400, "also among the headers");
	is_int(exchange("GET /healthz HTTP/1.1\r\nHost: x\r\n\n"), 400, "also the last");
	is_int(exchange("GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n"), 400, "a folded line is refused");
	is_int(exchange("GET /healthz?a HTTP/1.1\r\nHost:x\r\nX-A:\t b\r\nX-Empty:\r\n\r\n"), 422,
		"spaces before a value, or none, are as good as one");
	is_int(exchange("GET /healthz HTTP/1.0\r\n\r\n"), 200, "a head without headers is whole");
}

/* It is taken whatever way it comes, as the same head is in one piece. */
static void test_pieces(void)
{
	char head[20480];
	size_t len = (size_t)snprintf(head, sizeof head, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: %04000d \r\n", 1);
	int fd = dial();

	for (int i = 0; i < 150; i++)
		len += (size_t)snprintf(head + len, sizeof head - len, "X-Header-%d: %080d\r\n", i, i);
	len += (size_t)snprintf(head + len, sizeof head - len, "\r\n");
	for (size_t at = 0; at < len; at += 333) {
		put(fd, head + at, len - at < 333 ? len - at : 333);
		web_nap(2);
	}
	get(fd, "\r\n\r\n", 1, ANSWER_MS);
	has_str(room, " 200 ", "a long head in pieces is taken");
	close(fd);
}

static void test_half(void)
{
	const char *ask = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
	int fd = dial();

	put(fd, ask, strlen(ask));
	shutdown(fd, SHUT_WR);
	get(fd, "\"ready\"", 1, ANSWER_MS);
	has_str(room, "\"ready\"", "who closes its half after the request gets its answer");
	close(fd);
	fd = dial();
	for (int i = 0; i < PIPELINED; i++)
		put(fd, ask, strlen(ask));
	get(fd, "\"ready\"", PIPELINED, ANSWER_MS);
	int seen = 0;
	for (const char *at = strstr(room, "HTTP/1.1 200 "); at; at = strstr(at + 1, "HTTP/1.1 200 "))
		seen++;
	is_int(seen, PIPELINED, "requests that come together are answered one after the other");
	close(fd);
}

/* ---- Tokens that are none ------------------------------------------------------------------ */

static void test_guessing(void)
{
	int denied = 0, limited = 0, told = 0, count = 0;

	/* One guess a second is let through again, so how many are refused depends on the time that all take. */
	for (; count < 60 || (limited < 10 && count < 600); count++) {
		int status = exchange("GET /v2/pools HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
				      "npk_guess\r\nConnection: close\r\n\r\n");

		denied += status == 401;
		limited += status == 429;
		told += status == 429 && strstr(room, "Retry-After: ");
	}
	ok(denied >= 10 && limited >= 10 && denied + limited == count,
		"who guesses tokens is told to wait (%d denied, %d limited)", denied, limited);
	is_int(told, limited, "and how long");
	good_client("from the same address all the same");
}

/* ---- Too many, too slow -------------------------------------------------------------------- */

static void test_crowd(void)
{
	static int fds[CROWD];
	int open_count = 0;

	for (int i = 0; i < CROWD; i++) {
		fds[i] = dial();
		open_count += fds[i] >= 0;
	}
	is_int(open_count, CROWD, "%d connections are opened that say nothing", CROWD);
	good_client("beside them");
	good_client("beside them, again");
	for (int i = 0; i < CROWD; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void test_unread(void)
{
	const char *ask = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
	static int fds[UNREAD];

	for (int i = 0; i < UNREAD; i++) {
		int small = 4096;

		fds[i] = dial();
		setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
		for (int k = 0; k < 10; k++)
			put(fds[i], ask, strlen(ask));
	}
	good_client("while a hundred others do not read their answers");
	for (int i = 0; i < UNREAD; i++)
		close(fds[i]);
}

/* Connections of every kind, and nothing to do for any: the market sleeps. */
static void test_idle(void)
{
	static const char *const said[] = { "", "GET /heal", "GET /healthz HTTP/1.1\r\nHost:",
		"POST /v2/orders HTTP/1.1\r\nHost: x\r\n"
		"Content-Length: 100\r\n\r\n{",
		"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" };
	enum { KINDS = sizeof said / sizeof *said, EACH = 5 };
	int fds[KINDS * EACH];
	int64_t cpu;

	for (int i = 0; i < KINDS * EACH; i++) {
		fds[i] = dial();
		put(fds[i], said[i % KINDS], strlen(said[i % KINDS]));
	}
	web_nap(300);
	cpu = proc_cpu_us(&market);
	web_nap(2000);
	cpu = proc_cpu_us(&market) - cpu;
	ok(cpu < 400000, "with %d connections that do nothing, nothing is done (%d ms of 2000)", KINDS * EACH,
		(int)(cpu / 1000));
	for (int i = 0; i < KINDS * EACH; i++)
		close(fds[i]);
}

struct slow {
	int fd;
	int64_t ended;     /* when it was seen to be cut off */
};

/* A byte each a tenth of a second: heads for the first half of them, bodies for the others. */
static void test_slow(void)
{
	const char *head = "POST /v2/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n";
	struct slow all[SLOW];
	int64_t begun = web_now_us(), worst_head = 0, worst_body = 0;
	int left = SLOW, looks = 0;

	for (int i = 0; i < SLOW; i++) {
		all[i] = (struct slow){ .fd = dial() };
		put(all[i].fd, i % 2 ? head : "GET /healthz HTTP/1.1\r\n", i % 2 ? strlen(head) : 23);
		fcntl(all[i].fd, F_SETFL, O_NONBLOCK);
	}
	while (left && web_now_us() - begun < 100000000) {
		for (int i = 0; i < SLOW; i++) {
			char bytes[256];
			ssize_t n;

			if (all[i].ended)
				continue;
			send(all[i].fd, "a", 1, MSG_NOSIGNAL);
			n = recv(all[i].fd, bytes, sizeof bytes, 0);
			if (n > 0 || (n < 0 && errno == EAGAIN))
				continue;
			all[i].ended = web_now_us() - begun;
			left--;
			if (i % 2)
				worst_body = all[i].ended > worst_body ? all[i].ended : worst_body;
			else
				worst_head = all[i].ended > worst_head ? all[i].ended : worst_head;
		}
		if (++looks == 20)
			good_client("beside slow ones");
		web_nap(100);
	}
	is_int(left, 0, "slow ones are cut off in the end");
	ok(worst_head > 5000000 && worst_head < 28000000, "heads within some ten seconds (%d ms)",
		(int)(worst_head / 1000));
	ok(worst_body > 20000000 && worst_body < 80000000, "bodies within some thirty (%d ms)",
		(int)(worst_body / 1000));
	for (int i = 0; i < SLOW; i++)
		close(all[i].fd);
}

int main(void)
{
	static const char *const options[] = { "--test-clock=1800000000", NULL };
	const char *tmp = getenv("TMPDIR");
	char dir[PROC_TEXT - 64], data[PROC_TEXT - 16];
	struct rlimit limit;
	char *text;
	int status;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	signal(SIGPIPE, SIG_IGN);
	snprintf(dir, sizeof dir, "%s/nanopod-limits.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		skip_all("no folder can be made");
	snprintf(data, sizeof data, "%s/market", dir);
	proc_init(&market, data);
	if (ok(proc_start(&market, options), "a market starts")) {
		test_large_body();
		test_large_head();
		test_garbage();
		test_odd_heads();
		test_pieces();
		test_half();
		test_guessing();
		test_crowd();
		test_unread();
		test_idle();
		test_slow();
		text = proc_call(&market, "GET", "/metrics", NULL, &status);
		ok(text && strstr(text, "nanopod_http_connections_evicted_total ") &&
				!strstr(text, "evicted_total 0\n"),
			"that connections were closed to make room is counted");
		free(text);
	}
	is_int(proc_end(&market, SIGTERM), 0, "it ends cleanly after all that");
	proc_clear(&market);
	rmdir(dir);
	return done();
}

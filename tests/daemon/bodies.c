/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large bodies of many clients at once. Of a stranger's the market keeps nothing; of all accounts' together only so
 * much, and whoever sends something small is answered meanwhile.
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

enum {
	CLIENTS = 240,
	ACCOUNTS = 6,
	BODY = 1 << 20,
	FIRST_PART = 1000000,           /* so no body is whole until the test says so */
	STRANGERS_KIB = 48 << 10,       /* of memory for all strangers: mostly 32 KiB each for heads */
	ACCOUNTS_KIB = (64 + 96) << 10, /* and what the market keeps of bodies, which grow by steps */
	LEFT_KIB = 32 << 10,
	PATIENCE_MS = 120000,
};

static struct proc market;
static char *body;

struct client {
	int fd, status;
	size_t sent;
};

static int body_dial(void)
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

static void client_begin(struct client *c, const char *token)
{
	char head[1024];
	int n = snprintf(head, sizeof head,
		"POST /v2/orders HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s%s%sContent-Length: %d\r\n\r\n",
		token ? "Authorization: Bearer " : "", token ? token : "", token ? "\r\n" : "", BODY);

	*c = (struct client){ .fd = body_dial() };
	if (c->fd >= 0 && send(c->fd, head, (size_t)n, MSG_NOSIGNAL) == n)
		fcntl(c->fd, F_SETFL, O_NONBLOCK);
}

/* Sends until `until` bytes of the body have left; false: the market closed it. */
static bool client_push(struct client *c, size_t until)
{
	ssize_t n = send(c->fd, body + c->sent, until - c->sent, MSG_NOSIGNAL);

	if (n > 0)
		c->sent += (size_t)n;
	return n > 0 || errno == EAGAIN;
}

/* The first `count` clients send that much, each as the market takes it. How many it did not cut off. */
static int push_all(struct client *all, int count, size_t until)
{
	int64_t deadline = web_now_us() + (int64_t)PATIENCE_MS * 1000;
	struct pollfd wait[CLIENTS];
	int busy = count, open = count;

	for (int i = 0; i < count; i++)
		if (all[i].fd < 0)
			open--;
	while (busy && web_now_us() < deadline) {
		busy = 0;
		for (int i = 0; i < CLIENTS; i++) {
			bool more = i < count && all[i].fd >= 0 && all[i].sent < until;

			wait[i] = (struct pollfd){ .fd = more ? all[i].fd : -1, .events = POLLOUT };
			busy += more;
		}
		poll(wait, CLIENTS, 100);
		for (int i = 0; i < CLIENTS; i++)
			if (wait[i].fd >= 0 && wait[i].revents && !client_push(&all[i], until)) {
				open--;
				close(all[i].fd);
				all[i].fd = -1;
			}
	}
	return open;
}

/* Reads the status of each answer, and closes all. */
static void end_all(struct client *all)
{
	for (int i = 0; i < CLIENTS; i++) {
		struct pollfd p = { .fd = all[i].fd, .events = POLLIN };
		char text[64] = "";

		if (all[i].fd < 0)
			continue;
		if (poll(&p, 1, PATIENCE_MS) > 0 && recv(all[i].fd, text, sizeof text - 1, 0) > 12)
			all[i].status = (int)strtol(text + 9, NULL, 10);
		close(all[i].fd);
	}
}

static int answered(const struct client *all, int status)
{
	int count = 0;

	for (int i = 0; i < CLIENTS; i++)
		count += all[i].status == status;
	return count;
}

/* The market has read all that it was sent: it sleeps. */
static int64_t settled_kib(void)
{
	int64_t deadline = web_now_us() + (int64_t)PATIENCE_MS * 1000, cpu, was = -1;

	for (cpu = proc_cpu_us(&market); cpu != was && web_now_us() < deadline; cpu = proc_cpu_us(&market)) {
		was = cpu;
		web_nap(500);
	}
	return proc_anon_kib(&market);
}

static void test_strangers(void)
{
	static struct client all[CLIENTS];
	int64_t before = settled_kib(), grown;
	int open, denied, limited, status;

	for (int i = 0; i < CLIENTS; i++)
		client_begin(&all[i], i % 2 ? NULL : "npk_guess");
	open = push_all(all, CLIENTS, FIRST_PART);
	grown = settled_kib() - before;
	ok(grown < STRANGERS_KIB, "%d strangers who each send a megabyte cost %d KiB of memory, less than %d", open,
		(int)grown, STRANGERS_KIB);
	free(proc_call(&market, "GET", "/healthz", NULL, &status));
	is_int(status, 200, "the market answers others meanwhile");
	push_all(all, CLIENTS, BODY);
	end_all(all);
	denied = answered(all, 401), limited = answered(all, 429);
	ok(denied > 0 && denied + limited == open, "each hears that its token is none (%d), or to come back later (%d)",
		denied, limited);
}

static void test_expect(void)
{
	const char *head =
		"POST /v2/orders HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n";
	struct client c = { .fd = body_dial() };
	struct pollfd p = { .fd = c.fd, .events = POLLIN };
	char text[64] = "";

	send(c.fd, head, strlen(head), MSG_NOSIGNAL);
	if (poll(&p, 1, PATIENCE_MS) > 0)
		(void)!recv(c.fd, text, sizeof text - 1, 0);
	ok(strstr(text, " 401 ") || strstr(text, " 429 "), "who asks before it sends hears it at once (%.12s)", text);
	close(c.fd);
}

static bool make_account(int n, char token[PROC_TEXT])
{
	char text[128];
	int status;
	char *answer;

	snprintf(text, sizeof text, "{\"name\":\"large-%d\"}", n);
	free(proc_call(&market, "POST", "/np/v1/accounts", text, &status));
	snprintf(text, sizeof text, "/np/v1/accounts/large-%d/tokens", n);
	answer = proc_call(&market, "POST", text, "{\"scopes\":[\"read\",\"trade\"]}", &status);
	status = answer && json_field(answer, "token", token);
	free(answer);
	return status;
}

/* One of an account that sends nothing else; its body is small. */
static void test_small(const char *token)
{
	struct web *w = web_new(market.port, 1);
	char head[PROC_TEXT + 64];
	struct web_answer a = { 0 };
	size_t len;
	char *bytes;
	bool came;

	snprintf(head, sizeof head, "Authorization: Bearer %s\r\n", token);
	bytes = web_request("POST", "/v2/orders", head, "{}", &len);
	web_send(w, 0, bytes, len);
	came = web_next(w, PATIENCE_MS, &a);
	ok(came && a.status == 422, "a small request of one of them is answered meanwhile (%d)", a.status);
	free(bytes);
	web_free(w);
}

static void test_accounts(void)
{
	static struct client all[CLIENTS];
	static char tokens[ACCOUNTS][PROC_TEXT];
	int64_t before, grown;
	int open, taken, many, full;
	bool made = true;

	for (int i = 0; i < ACCOUNTS; i++)
		made = made && make_account(i, tokens[i]);
	if (!ok(made, "%d accounts", ACCOUNTS))
		return;
	before = settled_kib();
	for (int i = 0; i < CLIENTS; i++)
		client_begin(&all[i], tokens[i / (CLIENTS / ACCOUNTS)]);
	push_all(all, CLIENTS / ACCOUNTS, FIRST_PART); /* one account alone meets its own limit */
	open = push_all(all, CLIENTS, FIRST_PART);
	grown = settled_kib() - before;
	ok(grown < ACCOUNTS_KIB, "%d requests of %d accounts, a megabyte each, cost %d KiB of memory, less than %d",
		open, ACCOUNTS, (int)grown, ACCOUNTS_KIB);
	test_small(tokens[0]);
	push_all(all, CLIENTS, BODY);
	end_all(all);
	taken = answered(all, 400), many = answered(all, 429), full = answered(all, 503);
	ok(taken > 16 && many > 0 && full > 0 && taken + many + full == open,
		"some were read (%d), some were too many of one account (%d), some of all (%d)", taken, many, full);
}

/* What large bodies needed goes back to the system, some seconds later. The sanitizer's allocator has its own ways. */
static void test_given_back(int64_t base)
{
#ifdef __SANITIZE_ADDRESS__
	(void)base;
	skip("the memory goes back: the sanitizer keeps it");
#else
	int64_t deadline = web_now_us() + (int64_t)PATIENCE_MS * 1000, now;

	while ((now = proc_anon_kib(&market)) > base + LEFT_KIB && web_now_us() < deadline)
		web_nap(200);
	ok(now <= base + LEFT_KIB, "afterwards the memory goes back: %d KiB before, %d KiB now", (int)base, (int)now);
#endif
}

int main(void)
{
	static const char *const options[] = { "--test-clock=1800000000", "--connections-per-address", "1000", NULL };
	const char *tmp = getenv("TMPDIR"), *asan = getenv("ASAN_OPTIONS");
	char dir[PROC_TEXT - 64], data[PROC_TEXT - 16], text[1024];
	struct rlimit limit;
	int64_t base;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	signal(SIGPIPE, SIG_IGN);
	/* The sanitizer keeps what is freed, to see it used; here it is what is measured. */
	snprintf(text, sizeof text, "%s%squarantine_size_mb=1", asan ? asan : "", asan ? ":" : "");
	setenv("ASAN_OPTIONS", text, 1);
	snprintf(dir, sizeof dir, "%s/nanopod-bodies.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		skip_all("no folder can be made");
	snprintf(data, sizeof data, "%s/market", dir);
	body = malloc(BODY);
	memset(body, 'x', BODY);
	proc_init(&market, data);
	if (ok(proc_start(&market, options), "a market starts")) {
		base = settled_kib();
		test_strangers();
		test_expect();
		test_accounts();
		test_given_back(base);
	}
	is_int(proc_end(&market, SIGTERM), 0, "it ends cleanly after all that");
	proc_clear(&market);
	rmdir(dir);
	free(body);
	return done();
}

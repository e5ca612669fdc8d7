/* SPDX-License-Identifier: Apache-2.0 */
/* The client against a server that does what servers do: answers, refuses, hangs, drops, sends too much. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <arpa/inet.h>

#include "../lib/tap.h"
#include "market/client.h"

/* Shared with the server's processes. */
static struct {
	atomic_int connections, hits, keyed;
	char head[8192];   /* of the last request */
} *seen;

/* ---- The server ------------------------------------------------------------------------ */

static void say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		_exit(0);
}

static void answer(int fd, int status, const char *extra, const char *body)
{
	char text[8192];

	snprintf(text, sizeof text,
		"HTTP/1.1 %d X\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %zu\r\n"
		"X-Request-Id: req_7\r\n%s\r\n%s",
		status, strlen(body), extra, body);
	say(fd, text);
}

static void send_much(int fd)
{
	static char much[65536];

	say(fd, "HTTP/1.1 200 X\r\nContent-Length: 50000000\r\n\r\n");
	memset(much, 'x', sizeof much);
	for (int i = 0; i < 763; i++)
		if (send(fd, much, sizeof much, MSG_NOSIGNAL) < 0)
			_exit(0);
}

/* Returns whether the connection lives on. */
static bool serve(int fd, const char *path, int hit)
{
	if (strcmp(path, "/drop") == 0 || (strcmp(path, "/drop-once") == 0 && hit == 1))
		return false;
	if (strcmp(path, "/busy-once") == 0 && hit == 1)
		return answer(fd, 503, "Retry-After: 0\r\n",
			       "{\"error\":{\"code\":\"unavailable\",\"message\":\"later\"}}"),
		       true;
	if (strcmp(path, "/lost-then-busy") == 0)
		return hit > 2 &&
			(answer(fd, 503, "Retry-After: 0\r\n",
				 "{\"error\":{\"code\":\"unavailable\",\"message\":\"later\"}}"),
				true);
	if (strcmp(path, "/busy") == 0)
		return answer(fd, 429, "Retry-After: 3600\r\n",
			       "{\"error\":{\"code\":\"rate_limited\",\"message\":\"slowly\"}}"),
		       true;
	if (strcmp(path, "/refuse") == 0)
		return answer(fd, 402, "Nanopod-Market: 1\r\n",
			       "{\"error\":{\"type\":\"payment_required\",\"code\":\"insufficient_funds\","
			       "\"message\":\"it costs "
			       "more\",\"details\":[{\"field\":\"np_max\",\"code\":\"x\",\"message\":\"y\"}]},"
			       "\"request_id\":\"req_7\"}"),
		       true;
	if (strcmp(path, "/page") == 0)
		return answer(fd, 502, "", "<html>bad gateway</html>"), true;
	if (strcmp(path, "/elsewhere") == 0)
		return answer(fd, 302, "Location: http://127.0.0.1:1/\r\n", ""), true;
	if (strcmp(path, "/half") == 0)
		return say(fd, "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\n{\"a\":"), false;
	if (strcmp(path, "/garbage") == 0)
		return say(fd, "SSH-2.0-OpenSSH\r\n"), false;
	if (strcmp(path, "/slow") == 0 || strcmp(path, "/slow?wait=30") == 0)
		return read(fd, (char[1]){ 0 }, 1) > 0; /* until the client goes away */
	if (strcmp(path, "/much") == 0)
		return send_much(fd), false;
	if (strcmp(path, "/lines") == 0)
		return say(fd,
			       "HTTP/1.1 200 X\r\nTransfer-Encoding: "
			       "chunked\r\n\r\n8\r\n{\"a\":1}\n\r\n5\r\n{\"a\":\r\n3\r\n2}\n\r\n7\r\n{\"a\":3}"
			       "\r\n0\r\n\r\n"),
		       true;
	if (strcmp(path, "/lines-cut") == 0)
		return say(fd,
			       "HTTP/1.1 200 X\r\nTransfer-Encoding: "
			       "chunked\r\n\r\n8\r\n{\"a\":1}\n\r\n5\r\n{\"a\":\r\n"),
		       false;
	answer(fd, 200, "Nanopod-Market: 1\r\nIdempotent-Replayed: true\r\n", "{\"fine\":true}");
	return true;
}

static void serve_connection(int fd)
{
	char text[8192], path[256];
	bool alive = true;

	while (alive) {
		size_t len = 0, body = 0;
		char *end = NULL, *at;

		while (!end) {
			ssize_t n = read(fd, text + len, sizeof text - 1 - len);

			if (n <= 0)
				return;
			len += (size_t)n;
			text[len] = '\0';
			end = strstr(text, "\r\n\r\n");
		}
		at = strcasestr(text, "\r\nContent-Length:");
		body = at ? strtoul(at + 17, NULL, 10) : 0;
		while (len < (size_t)(end + 4 - text) + body && len < sizeof text - 1) {
			ssize_t n = read(fd, text + len, sizeof text - 1 - len);

			if (n <= 0)
				return;
			len += (size_t)n;
			text[len] = '\0';
		}
		snprintf(seen->head, sizeof seen->head, "%s", text);
		if (strcasestr(text, "\r\nIdempotency-Key:"))
			seen->keyed++;
		if (sscanf(text, "%*s %255s", path) != 1)
			return;
		alive = serve(fd, path, ++seen->hits);
	}
}

static void accept_all(int server)
{
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		int fd = accept(server, NULL, NULL);

		if (fd < 0)
			_exit(0);
		seen->connections++;
		if (fork() == 0) {
			close(server);
			serve_connection(fd);
			_exit(0);
		}
		close(fd);
	}
}

static pid_t start(int server)
{
	pid_t pid = fork();

	if (pid == 0)
		accept_all(server);
	close(server);
	return pid;
}

static int listen_tcp(unsigned *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 64) < 0 ||
		getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		skip_all("cannot listen on loopback");
	*port = ntohs(a.sin_port);
	return fd;
}

static int listen_unix(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 64) < 0)
		skip_all("cannot listen on a unix socket");
	return fd;
}

/* ---- The checks ------------------------------------------------------------------------ */

static struct fail f;
static struct client_answer a;

static struct client *make(const char *url, const char *token, int64_t whole_ms)
{
	const struct client_setup setup = { .url = url, .token = token, .whole_ms = whole_ms };
	struct client *c = NULL;

	f = (struct fail){ 0 };
	client_new(&setup, &c, &f);
	return c;
}

static void forget(void)
{
	seen->connections = 0;
	seen->hits = 0;
	seen->keyed = 0;
}

static int call(struct client *c, const char *method, const char *path, const char *body, const char *key)
{
	const struct client_call q = { .method = method, .path = path, .body = body, .key = key };

	forget();
	f = (struct fail){ 0 };
	return client_send(c, &q, &a, &f);
}

static void plain_answers(struct client *c)
{
	is_int(call(c, "GET", "/fine", NULL, NULL), 0, "a plain answer: %s", f.text);
	is_str(buf_text(&a.body), "{\"fine\":true}", "its body");
	is_str(a.request_id, "req_7", "its request id");
	is_str(a.type, "application/json", "its type, without the charset");
	ok(a.ours && a.replayed && a.sent == CLIENT_ANSWERED && a.status == 200, "and what its headers say");
	has_str(seen->head, "Authorization: Bearer sesame\r\n", "the token goes along");
	has_str(seen->head, "User-Agent: nanopod/", "and who asks");
	lacks_str(seen->head, "Expect:", "nothing is asked for twice");
	is_int(call(c, "GET", "/fine", NULL, NULL), 0, "and again");
	is_int(seen->connections, 0, "on the same connection");
	is_int(call(c, "POST", "/fine", "{\"x\":1}", "np-1"), 0, "a POST");
	has_str(seen->head, "Idempotency-Key: np-1\r\n", "has its key");
	has_str(seen->head, "\r\n\r\n{\"x\":1}", "and its body");
	is_int(call(c, "POST", "/refuse", "{}", "k"), REASON_FUNDS, "a refusal is the market's reason");
	is_str(f.text, "it costs more ('np_max')", "in its words, with the field where they lack it");
	ok(seen->hits == 1 && a.tries == 1, "and is not asked for again");
	is_int(call(c, "GET", "/elsewhere", NULL, NULL), CLIENT_BAD_ANSWER, "no redirection is followed: %s", f.text);
	is_int(call(c, "GET", "/garbage", NULL, NULL), CLIENT_BAD_ANSWER, "something else than HTTP: %s", f.text);
	is_int(call(c, "GET", "/much", NULL, NULL), CLIENT_BAD_ANSWER, "an answer without end is cut: %s", f.text);
	ok(a.body.len <= 32 << 20, "before it fills the memory");
	is_int(call(c, "GET", "/page", NULL, NULL), CLIENT_LOST, "a page of a proxy: %s", f.text);
}

static void what_is_repeated(struct client *c)
{
	is_int(call(c, "GET", "/drop-once", NULL, NULL), 0, "a GET whose answer was lost is asked for again");
	is_int(seen->hits, 2, "once");
	is_int(call(c, "GET", "/drop", NULL, NULL), CLIENT_LOST, "not for ever: %s", f.text);
	ok(a.tries == 4 && seen->hits <= 5, "four times in all, and once by libcurl on a kept connection");
	lacks_str(f.text, "may have been done", "a GET does no harm");
	is_int(call(c, "POST", "/drop", "{}", NULL), CLIENT_LOST, "a POST without a key is not repeated: %s", f.text);
	is_int(seen->hits, 1, "it arrived once");
	is_int(a.sent, CLIENT_MAYBE, "and may have been done");
	has_str(f.text, "may have been done", "which is said");
	is_int(call(c, "POST", "/drop-once", "{}", "np-2"), 0, "with a key it is repeated");
	ok(seen->hits == 2 && seen->keyed == 2, "with the same key");
	is_int(call(c, "POST", "/lost-then-busy", "{}", "np-3"), CLIENT_LOST, "a lost try may have been done: %s",
		f.text);
	ok(seen->hits > 2 && a.sent == CLIENT_MAYBE, "whatever the market says of the later ones");
	is_int(call(c, "GET", "/lost-then-busy", NULL, NULL), REASON_UNAVAILABLE, "which is the same to a GET");
	is_int(call(c, "POST", "/half", "{}", NULL), CLIENT_LOST, "half an answer is none");
	is_int(a.sent, CLIENT_MAYBE, "what it said may be done");
	is_int(call(c, "GET", "/busy-once", NULL, NULL), 0, "a market that is busy is asked again");
	is_int(call(c, "GET", "/busy", NULL, NULL), REASON_RATE, "but not where it says to come back in an hour");
	ok(seen->hits == 1 && a.retry_after == 3600, "which is told");
	is_int(call(c, "POST", "/busy-once", "{}", NULL), REASON_UNAVAILABLE, "a POST without a key stays refused");
	is_int(seen->hits, 1, "and was sent once");
	/* A kept connection that the server closed: libcurl itself would send a POST once more. */
	call(c, "GET", "/fine", NULL, NULL);
	is_int(call(c, "POST", "/drop", "{}", NULL), CLIENT_LOST, "on a kept connection too");
	is_int(seen->hits, 1, "a POST without a key arrives once");
}

static void time_and_place(const char *url)
{
	struct client *c = make(url, "sesame", 1500);
	int stop[2];

	is_int(call(c, "POST", "/slow", "{}", NULL), CLIENT_LOST, "no answer in time: %s", f.text);
	is_int(a.sent, CLIENT_MAYBE, "it may have been done");
	client_free(c);
	c = make("http://127.0.0.1:1", "sesame", 0);
	is_int(call(c, "POST", "/fine", "{}", NULL), CLIENT_UNREACHABLE, "nobody there: %s", f.text);
	ok(a.sent == CLIENT_NOT_SENT && a.tries == 4, "it was not sent, so it was tried again");
	client_free(c);
	if (pipe(stop) == 0 && write(stop[1], "x", 1) == 1) {
		const struct client_setup setup = { .url = url, .stop_fd = stop[0] };

		client_new(&setup, &c, &f);
		is_int(call(c, "GET", "/slow", NULL, NULL), CLIENT_STOPPED, "it can be stopped");
		client_free(c);
		close(stop[0]);
		close(stop[1]);
	}
	is_str(client_code(CLIENT_LOST), "lost", "failures have their words");
	ok(client_status(CLIENT_LOST) == 8 && client_retryable(CLIENT_LOST), "and exit statuses");
	ok(client_status(REASON_FUNDS) == 7 && !client_retryable(REASON_FUNDS), "as the market's reasons have");
}

static char slow_seen[8];

static void slow_note(void *arg, bool waits)
{
	size_t len = strlen(slow_seen);

	(void)arg;
	if (len + 1 < sizeof slow_seen)
		slow_seen[len] = waits ? 'w' : 'e';
}

/* Limits that a busy machine does not reach by itself: what they end never answers. */
static void patience(const char *url)
{
	const struct client_setup setup = { .url = url, .reads_ms = 1500, .slow_ms = 1, .slow = slow_note };
	struct client *c = NULL;

	client_new(&setup, &c, &f);
	is_int(call(c, "GET", "/slow", NULL, NULL), CLIENT_LOST, "a read gives up after its own time: %s", f.text);
	ok(a.tries == 1 && a.sent == CLIENT_MAYBE, "for all tries together");
	is_str(slow_seen, "we", "whoever waits is told, and told that it is over");
	client_free(c);
	memset(slow_seen, 0, sizeof slow_seen);
	c = make(url, NULL, 300);
	is_int(call(c, "GET", "/slow", NULL, NULL), CLIENT_LOST, "without it: %s", f.text);
	ok(a.tries == 4 && !*slow_seen, "as long as for all tries");
	client_free(c);
	client_new(&(struct client_setup){ .url = url, .reads_ms = 1, .whole_ms = 1000, .tries = 1 }, &c, &f);
	is_int(call(c, "GET", "/slow?wait=30", NULL, NULL), CLIENT_LOST, "who asks the market to answer late");
	has_str(f.text, "within 1 s", "waits for it");
	client_free(c);
}

static void streams(struct client *c)
{
	const struct client_call q = { .method = "GET", .path = "/lines" },
				 cut = { .method = "GET", .path = "/lines-cut" },
				 no = { .method = "GET", .path = "/refuse" };
	const char *line = NULL;
	size_t len;

	is_int(client_stream_open(c, &q, &a, &f), 0, "a stream opens: %s", f.text);
	is_int(client_stream_line(c, &line, &len, 60000, &f), 1, "a line");
	is_str(line, "{\"a\":1}", "the first");
	is_int(client_stream_line(c, &line, &len, 60000, &f), 1, "another");
	is_str(line, "{\"a\":2}", "put together from two pieces");
	is_int(call(c, "GET", "/fine", NULL, NULL), 0, "a request beside it");
	is_int(client_stream_line(c, &line, &len, 60000, &f), 1, "the last");
	is_str(line, "{\"a\":3}", "without an end of line");
	is_int(client_stream_line(c, &line, &len, 60000, &f), 0, "and the end");
	client_stream_close(c);
	is_int(client_stream_open(c, &cut, &a, &f), 0, "a stream that will break");
	is_int(client_stream_line(c, &line, &len, 60000, &f), 1, "gives what is whole");
	is_int(client_stream_line(c, &line, &len, 60000, &f), CLIENT_LOST, "and no half of a line: %s", f.text);
	client_stream_close(c);
	is_int(client_stream_open(c, &no, &a, &f), REASON_FUNDS, "a refusal of a stream is one: %s", f.text);
	is_int(client_stream_line(c, &line, &len, 10, &f), CLIENT_LOST, "there is nothing to read from it then");
}

static void setups(void)
{
	static const char *const good[] = { "https://market.example.org", "https://m.example.org:8443/prefix/",
		"http://127.0.0.1:80", "http://localhost:1", "http://[::1]:9", "unix:/run/m.sock", "HTTPS://M" };
	static const char *const bad[] = { "", "market.example.org", "ftp://x", "http://", "https://u:p@h",
		"https://h:0", "https://h:70000", "https://h:x", "unix:m.sock", "https://h/?a=b", "https://h/#x",
		"https://h h", "https://h\nX: y", "https://", "http://[::1" };
	static const char *const open[] = { "http://10.0.0.1", "http://market.example.org:80", "http://127.example.org",
		"http://127.0.0.1.example.org" };
	struct client *c;
	struct buf b;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		is_int(client_check_url(good[i], &f), 0, "'%s' is a market's URL", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		is_int(client_check_url(bad[i], &f), CLIENT_BAD_SETUP, "'%s' is none: %s", bad[i], f.text);
	for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
		c = make(open[i], "sesame", 0);
		ok(!c && f.code == CLIENT_BAD_SETUP, "no token in the clear to '%s': %s", open[i], f.text);
		client_free(c);
	}
	c = make("http://10.0.0.1", NULL, 0);
	ok(c != NULL, "without a token it may be asked");
	client_free(c);
	c = make("http://127.0.0.1:1", "two\r\nlines", 0);
	ok(!c, "a token with a line break is none: %s", f.text);
	c = make("http://127.0.0.1:1", "sesame", 0);
	is_int(call(c, "GET", "/a b", NULL, NULL), CLIENT_BAD_SETUP, "nor has a path a blank");
	is_int(call(c, "GET", "/a\r\nHost: x", NULL, NULL), CLIENT_BAD_SETUP, "or a line break");
	is_int(call(c, "GET", "http://evil/", NULL, NULL), CLIENT_BAD_SETUP, "or another host");
	is_int(call(c, "GET", "//evil/", NULL, NULL), CLIENT_BAD_SETUP, "in any spelling");
	buf_init(&b, 4096);
	is_int(client_explain(c,
		       &(struct client_call){ .method = "POST", .path = "/v2/orders", .body = "{}", .key = "k" }, &b,
		       &f),
		0, "it can be explained");
	is_str(buf_text(&b), "POST http://127.0.0.1:1/v2/orders\nAccept: application/json\nAuthorization: Bearer ***\n"
		"Content-Type: application/json\nIdempotency-Key: k\n\n{}\n", "without the token");
	buf_clear(&b);
	client_quote(&b, "a b/ü");
	is_str(buf_text(&b), "a%20b%2F%C3%BC", "parts of paths are quoted");
	buf_release(&b);
	client_free(c);
}

int main(void)
{
	char url[64], path[] = "/tmp/nanopod-client.XXXXXX", socket_path[64], unix_url[80];
	unsigned port;
	pid_t tcp, local;
	struct client *c;

	signal(SIGPIPE, SIG_IGN);
	seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED || !mkdtemp(path))
		skip_all("no shared memory or no folder");
	tcp = start(listen_tcp(&port));
	snprintf(socket_path, sizeof socket_path, "%s/s", path);
	local = start(listen_unix(socket_path));
	snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
	snprintf(unix_url, sizeof unix_url, "unix:%s", socket_path);
	client_answer_init(&a);
	c = make(url, "sesame", 0);
	if (call(c, "GET", "/fine", NULL, NULL) == CLIENT_NO_HTTP)
		skip_all("libcurl is not installed");
	plain_answers(c);
	what_is_repeated(c);
	streams(c);
	client_free(c);
	c = make(unix_url, NULL, 0);
	is_int(call(c, "GET", "/fine", NULL, NULL), 0, "by a unix socket: %s", f.text);
	lacks_str(seen->head, "Authorization", "without a token");
	client_free(c);
	time_and_place(url);
	patience(url);
	setups();
	client_answer_release(&a);
	kill(tcp, SIGKILL);
	kill(local, SIGKILL);
	unlink(socket_path);
	rmdir(path);
	return done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the market to a server that answers, hangs, cuts, redirects and sends too much. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "base/clock.h"
#include "base/str.h"
#include "marketd/outward/outward.h"

enum { LONG_MS = 60000, SHORT_MS = 300, MANY = ERRANDS_MAX };

static struct loop *loop;
static struct outward *outward;
static int port, stuck[2];

/* ---- A name server that hangs ------------------------------------------------------------ */

/* libcurl asks this one: the program's own goes before the library's. */
__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
	const struct addrinfo *hints, struct addrinfo **out)
{
	char byte;

	(void)node, (void)service, (void)hints, (void)out;
	while (read(stuck[0], &byte, 1) < 0 && errno == EINTR)
		;
	return EAI_AGAIN;
}

/* ---- The server -------------------------------------------------------------------------- */

static void say(int fd, const char *text)
{
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		_exit(0);
}

/* Until the client gives up. */
static void hang(int fd)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		;
}

static void serve_path(int fd, const char *path, const char *all)
{
	if (strcmp(path, "/hang") == 0) {
		hang(fd);
	} else if (strcmp(path, "/half") == 0) {
		say(fd, "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nhalf");
		hang(fd);
	} else if (strcmp(path, "/cut") == 0) {
		say(fd, "HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\nhalf");
	} else if (strcmp(path, "/much") == 0) {
		say(fd, "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n");
		for (;;)
			say(fd, "10\r\n0123456789abcdef\r\n");
	} else if (strcmp(path, "/heads") == 0) {
		say(fd, "HTTP/1.1 200 X\r\n");
		for (;;)
			say(fd, "X-Head: 0123456789abcdef0123456789abcdef\r\n");
	} else if (strcmp(path, "/away") == 0) {
		say(fd, "HTTP/1.1 302 X\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n");
	} else if (strcmp(path, "/say") == 0) {
		char text[8192];

		snprintf(text, sizeof text, "HTTP/1.1 200 X\r\nContent-Length: %zu\r\n\r\n%s", strlen(all), all);
		say(fd, text);
	} else {
		say(fd, "HTTP/1.1 200 X\r\nETag:  \"v7\" \r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok");
	}
}

static void serve_one(int fd)
{
	char room[4096], path[64] = "";
	size_t len = 0;
	ssize_t n;

	while (len < sizeof room - 1 && (n = read(fd, room + len, sizeof room - 1 - len)) > 0) {
		const char *end, *length;

		len += (size_t)n;
		room[len] = '\0';
		end = strstr(room, "\r\n\r\n");
		length = strstr(room, "Content-Length: ");
		if (end && len >= (size_t)(end + 4 - room) + (length ? strtoul(length + 16, NULL, 10) : 0))
			break;
	}
	if (sscanf(room, "%*s %63[^ ?]", path) == 1)
		serve_path(fd, path, room);
	_exit(0);
}

static pid_t serve_all(int fd)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	for (;;) {
		int conn = accept(fd, NULL, NULL);

		if (conn >= 0 && fork() == 0)
			serve_one(conn);
		close(conn);
	}
}

static pid_t serve_tcp(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) || listen(fd, 100) ||
		getsockname(fd, (struct sockaddr *)&a, &len))
		exit(99);
	port = ntohs(a.sin_port);
	pid = serve_all(fd);
	close(fd);
	return pid;
}

static pid_t serve_unix(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 100))
		exit(99);
	pid = serve_all(fd);
	close(fd);
	return pid;
}

/* ---- The client -------------------------------------------------------------------------- */

static struct errand *begin(struct errand_call call, const char *path)
{
	struct fail f = { 0 };
	struct errand *e = NULL;
	char url[128];

	snprintf(url, sizeof url, "http://127.0.0.1:%d%s", port, path);
	call.method = call.method ? call.method : "GET";
	call.url = call.url ? call.url : url;
	call.timeout_ms = call.timeout_ms ? call.timeout_ms : LONG_MS;
	call.max = call.max ? call.max : 1000;
	if (errand_new(outward, &call, &e, &f) != 0)
		diag("%s", f.text);
	return e;
}

static void turn(void)
{
	struct loop_watch *w;
	struct loop_timer *t;
	uint32_t ready;

	loop_wait(loop, outward_timeout(outward));
	while (loop_next(loop, &w, &ready, &t) == 1 && w)
		outward_take(outward, w, ready);
	outward_turn(outward);
}

static const struct errand_answer *finish(const struct errand *e)
{
	while (errand_look(e)->state == ERRAND_RUNNING)
		turn();
	return errand_look(e);
}

/* Whether it failed, and said so in a sentence with these words, which names the URL without its query. */
static bool fails(struct errand_call call, const char *path, const char *words)
{
	struct errand *e = begin(call, path);
	const struct errand_answer *a = e ? finish(e) : NULL;
	bool right = a && a->state == ERRAND_FAILED && strstr(a->why, words) && !strstr(a->why, "secret") &&
		!a->body.len;

	if (!right)
		diag("state %d status %d: %s", a ? (int)a->state : -1, a ? a->status : 0, a ? a->why : "");
	errand_free(e);
	return right;
}

static void test_answers(void)
{
	const char *headers[] = { "Authorization: Bearer t", NULL };
	struct errand *e = begin((struct errand_call){ 0 }, "/ok?secret=1");
	const struct errand_answer *a = finish(e);

	ok(a->state == ERRAND_DONE && a->status == 200 && strcmp(buf_text(&a->body), "ok") == 0, "an answer");
	is_str(a->etag, "\"v7\"", "with its tag");
	is_str(a->cache_control, "max-age=60", "and how long it is good");
	errand_free(e);

	e = begin((struct errand_call){ .method = "POST", .headers = headers, .body = "a=b", .body_len = 3 }, "/say");
	a = finish(e);
	ok(str_starts(buf_text(&a->body), "POST /say HTTP/1.1\r\n") && strstr(buf_text(&a->body), "Bearer t\r\n") &&
			strstr(buf_text(&a->body), "\r\n\r\na=b"),
		"a body and a header");
	errand_free(e);

	e = begin((struct errand_call){ 0 }, "/away");
	a = finish(e);
	ok(a->state == ERRAND_DONE && a->status == 302 && a->body.len == 0, "a redirect is not followed");
	errand_free(e);
	ok(outward_ended(outward) == 3, "three have ended");
}

static void test_faults(void)
{
	struct errand_call soon = { .timeout_ms = SHORT_MS };
	int64_t began = clock_ms();

	ok(fails(soon, "/hang?secret=1", "'http://127.0.0.1:"), "a server that says nothing");
	ok(fails(soon, "/half", "timed out"), "one that stops within its answer");
	ok(clock_ms() - began < LONG_MS / 2, "end at their deadlines");
	ok(fails((struct errand_call){ 0 }, "/cut", "/cut' gave no answer"), "one that cuts its answer");
	ok(fails((struct errand_call){ 0 }, "/much", "more than fits"), "one that sends too much");
	ok(fails((struct errand_call){ 0 }, "/heads", "more than fits"), "or too many headers");
	ok(fails((struct errand_call){ .url = "http://127.0.0.1:1/" }, "", "gave no answer"), "none listens");
	ok(fails((struct errand_call){ .url = "file:///etc/passwd" }, "", "gave no answer"), "a file is no server");
	ok(fails((struct errand_call){ .url = "https://127.0.0.1:1/", .ca = "/nowhere" }, "", "gave no answer"),
		"no authorities");
}

static void test_proxy(void)
{
	struct errand *e;

	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
	e = begin((struct errand_call){ 0 }, "/ok");
	ok(finish(e)->state == ERRAND_DONE, "the environment's proxy hears of nothing");
	errand_free(e);
}

static void test_beside(void)
{
	struct errand *hung = begin((struct errand_call){ 0 }, "/hang"), *e = begin((struct errand_call){ 0 }, "/ok");

	ok(finish(e)->state == ERRAND_DONE && errand_look(hung)->state == ERRAND_RUNNING,
		"one that hangs holds no other up");
	errand_free(e);
	errand_free(hung);
}

static void test_many(void)
{
	struct errand *all[MANY], *e = NULL;
	struct errand_call one = { .method = "GET", .url = "http://127.0.0.1:1/", .timeout_ms = 1, .max = 1 };
	struct fail f = { 0 };
	int done = 0;

	for (int i = 0; i < MANY; i++)
		all[i] = begin((struct errand_call){ 0 }, "/ok");
	ok(errand_new(outward, &one, &e, &f) == -EBUSY && !e, "no more than %d at once", MANY);
	for (int i = 0; i < MANY; i++)
		done += all[i] && finish(all[i])->state == ERRAND_DONE;
	ok(done == MANY, "and all of these are answered");
	for (int i = 0; i < MANY; i++)
		errand_free(all[i]);
	one.max = ERRAND_BODY_MAX + 1;
	ok(errand_new(outward, &one, &e, &f) == -EINVAL && !e, "none without a ceiling");
}

static void test_socket(void)
{
	char dir[] = "/tmp/outward-XXXXXX", path[64];
	struct errand *e;
	pid_t pid;

	if (!mkdtemp(dir))
		exit(99);
	snprintf(path, sizeof path, "%s/socket", dir);
	pid = serve_unix(path);
	e = begin((struct errand_call){ .url = "http://policy/say", .socket = path }, "");
	ok(finish(e)->state == ERRAND_DONE && strstr(buf_text(&errand_look(e)->body), "Host: policy\r\n"),
		"a server behind a unix socket");
	errand_free(e);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(path);
	rmdir(dir);
}

/* Its thread hangs until the pipe closes, longer than this test waits. */
static void test_names(void)
{
	int64_t began = clock_ms();
	struct errand *e;

	ok(fails((struct errand_call){ .url = "http://stuck.example/", .timeout_ms = SHORT_MS }, "", "gave no answer"),
		"a name server that hangs");
	e = begin((struct errand_call){ .url = "http://stuck.example/" }, "");
	turn();
	errand_free(e);
	ok(clock_ms() - began < LONG_MS / 2, "holds up neither the deadline nor who gives up");
}

int main(void)
{
	pid_t server;

	plan_none;
	signal(SIGPIPE, SIG_IGN);
	server = serve_tcp();
	if (pipe(stuck) || loop_new(&loop) || outward_new(&outward, loop))
		return 99;
	test_answers();
	test_faults();
	test_proxy();
	test_beside();
	test_many();
	test_socket();
	test_names();
	outward_free(outward);
	loop_free(loop);
	close(stuck[1]);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands between a client and an HTTP server on loopback and does what networks and other people's
 * servers do:
 *
 *     between PORT_FILE SERVER_PORT RULES LOG
 *
 * RULES is read anew for each request; a line is ACTION METHOD PATH-PREFIX, METHOD may be *. Actions:
 * `cut-before` closes the connection instead of passing the request on, `cut-after` instead of
 * passing the answer on, `cut-keyed` does that to requests with a key alone, `cut-first` to the
 * first one of that method and path that LOG has; `hang-before` and
 * `hang-after` wait there until the client goes away; `status=NNN` answers that, with the server's
 * kind of error; `dead=N` closes the connection of each request once LOG has N, as a market that died
 * does; `lost=N` passes request N + 1 on, but not its answer, and `half=N` half of that answer, and both are
 * dead after it; the first line that fits counts. LOG gets "METHOD PATH KEY STATUS" a request, KEY
 * being its Idempotency-Key or -, STATUS 0 where none was passed on; a hang is logged when it
 * begins; `late=FILE` passes a request with a key on once FILE is there, even if nobody waits for its answer any
 * more, and logs that it came, too; `page=NNN` answers that with a page for people,
 * `page-after=NNN` does instead of the answer that the server gave to a request with a key; `swap=OLD,NEW`
 * replaces each OLD in the answer. PORT_FILE gets the port it listens on. With BETWEEN_PLAIN in the environment
 * answers lose the header by which a market of ours is known, and requests lose their keys where SF Compute's market
 * takes none: everywhere but on orders.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGE_MAX = 8 << 20, HEAD_MAX = 65536, PATIENCE_MS = 60000, ACTION = 512 };

struct message {
	char *data;
	size_t len, head; /* head: bytes up to and with the empty line; 0: not there yet */
};

struct request {
	char method[16], path[1024], key[128];
};

static int to_server(unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
		return -1;
	return fd;
}

static bool take(int fd, struct message *m)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;
	char *end;

	if (m->len + 65536 > MESSAGE_MAX || poll(&p, 1, PATIENCE_MS) <= 0)
		return false;
	n = read(fd, m->data + m->len, 65536);
	if (n <= 0)
		return false;
	m->len += (size_t)n;
	m->data[m->len] = '\0';
	end = m->head ? NULL : strstr(m->data, "\r\n\r\n");
	if (end)
		m->head = (size_t)(end - m->data) + 4;
	return true;
}

/* A header's value into room, "" where there is none. */
static void header(const struct message *m, const char *name, char *room, size_t size)
{
	size_t len = strlen(name);

	room[0] = '\0';
	for (const char *line = m->data; line && line < m->data + m->head; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncasecmp(line, name, len) != 0 || line[len] != ':')
			continue;
		line += len + 1;
		line += strspn(line, " ");
		snprintf(room, size, "%.*s", (int)strcspn(line, "\r\n"), line);
		return;
	}
}

/* One request with its body. */
static bool take_request(int fd, struct message *m, struct request *q)
{
	char length[32], expect[32];
	size_t want;

	while (!m->head)
		if (!take(fd, m))
			return false;
	header(m, "Content-Length", length, sizeof length);
	header(m, "Expect", expect, sizeof expect);
	header(m, "Idempotency-Key", q->key, sizeof q->key);
	if (*expect && write(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25) != 25)
		return false;
	want = m->head + strtoul(length, NULL, 10);
	while (m->len < want)
		if (!take(fd, m))
			return false;
	return sscanf(m->data, "%15s %1023s", q->method, q->path) == 2;
}

static bool put(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

/* The head again, without what would keep the connection open. */
static bool put_closing(int fd, const struct message *m, bool keyless)
{
	static const char close_it[] = "Connection: close\r\n\r\n";
	const char *line = m->data, *end = m->data + m->head - 2;

	while (line < end) {
		const char *next = strchr(line, '\n') + 1;
		bool plain = getenv("BETWEEN_PLAIN") && (strncasecmp(line, "Nanopod-Market:", 15) == 0
			|| (keyless && strncasecmp(line, "Idempotency-Key:", 16) == 0));

		if (strncasecmp(line, "Connection:", 11) != 0 && strncasecmp(line, "Expect:", 7) != 0
		    && !plain && !put(fd, line, (size_t)(next - line)))
			return false;
		line = next;
	}
	return put(fd, close_it, sizeof close_it - 1) && put(fd, m->data + m->head, m->len - m->head);
}

static void find_rule(const char *rules, const struct request *q, char action[ACTION])
{
	char line[1700], what[ACTION], method[16], prefix[1024];
	FILE *f = fopen(rules, "r");

	action[0] = '\0';
	while (f && !action[0] && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%511s %15s %1023s", what, method, prefix) != 3 ||
			(!*q->key && (strcmp(what, "cut-keyed") == 0 || strncmp(what, "late=", 5) == 0 ||
				strncmp(what, "page-after=", 11) == 0)))
			continue;
		if ((strcmp(method, "*") == 0 || strcmp(method, q->method) == 0) &&
			strncmp(q->path, prefix, strlen(prefix)) == 0)
			memcpy(action, what, sizeof what);
	}
	if (f)
		fclose(f);
}

static bool logged(const char *log, const struct request *q)
{
	char line[1300], start[1100];
	FILE *f = fopen(log, "r");
	bool found = false;

	snprintf(start, sizeof start, "%s %s ", q->method, q->path);
	while (f && !found && fgets(line, sizeof line, f))
		found = strncmp(line, start, strlen(start)) == 0;
	if (f)
		fclose(f);
	return found;
}

/* Where in its life is a market that dies after some requests? */
static void doom(const char *log, char action[ACTION])
{
	const char *number = strchr(action, '=');
	FILE *f = fopen(log, "r");
	long left = number ? strtol(number + 1, NULL, 10) : 0;
	int c;

	while (f && (c = fgetc(f)) != EOF)
		left -= c == '\n';
	if (f)
		fclose(f);
	if (left > 0)
		action[0] = '\0';
	else if (left < 0 || strncmp(action, "dead", 4) == 0)
		snprintf(action, ACTION, "cut-before");
	else
		snprintf(action, ACTION, "%s", *action == 'l' ? "cut-after" : "half-after");
}

static void note(const char *log, const struct request *q, int status)
{
	char line[1300];
	int fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	int n = snprintf(line, sizeof line, "%s %s %s %d\n", q->method, q->path, *q->key ? q->key : "-", status);

	if (fd < 0 || write(fd, line, (size_t)n) != n)
		fprintf(stderr, "between: cannot write %s\n", log);
	if (fd >= 0)
		close(fd);
}

static void until_gone(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c;

	while (poll(&p, 1, PATIENCE_MS) > 0 && read(fd, &c, 1) > 0)
		;
}

static void answer(int fd, const char *action)
{
	static const char json[] = "{\"error\":{\"type\":\"not_found\",\"message\":\"between says so\"}}";
	bool page = *action == 'p';
	const char *body = page ? "<html><body>Welcome to our hotel</body></html>" : json;
	char text[256];
	int n = snprintf(text, sizeof text,
		"HTTP/1.1 %s Said\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
		strchr(action, '=') + 1, page ? "text/html" : "application/json", strlen(body), body);

	put(fd, text, (size_t)n);
}

static void until_there(const char *path)
{
	for (int left = PATIENCE_MS / 10; left && access(path, F_OK) < 0; left--)
		poll(NULL, 0, 10);
}

/* The answer's head with the length that its body now has. */
static size_t swap_head(const struct message *m, size_t body, char *out)
{
	const char *field = strcasestr(m->data, "\r\ncontent-length:"), *end = field ? strstr(field + 2, "\r\n") : NULL;

	if (!end || end > m->data + m->head) {
		memcpy(out, m->data, m->head);
		return m->head;
	}
	return (size_t)snprintf(out, MESSAGE_MAX, "%.*s\r\nContent-Length: %zu%.*s", (int)(field - m->data), m->data,
		body, (int)(m->data + m->head - end), end);
}

/* change: OLD,NEW. */
static void swap(struct message *m, const char *change)
{
	size_t len = strcspn(change, ","), count = 0, more;
	const char *by = change + len + 1, *from = m->data + m->head, *end = m->data + m->len, *at;
	char *made = calloc(1, MESSAGE_MAX + 1), *to;

	if (!made || change[len] != ',' || !len || !m->head)
		return;
	for (at = from; (at = memmem(at, (size_t)(end - at), change, len)); at += len)
		count++;
	more = count * strlen(by) - count * len;
	to = made + swap_head(m, (size_t)(end - from) + more, made);
	for (; (at = memmem(from, (size_t)(end - from), change, len)); from = at + len) {
		to = mempcpy(to, from, (size_t)(at - from));
		to = mempcpy(to, by, strlen(by));
	}
	to = mempcpy(to, from, (size_t)(end - from));
	free(m->data);
	m->data = made;
	m->len = (size_t)(to - made);
	m->head = (size_t)(strstr(made, "\r\n\r\n") + 4 - made);
}

static void serve(int client, unsigned port, const char *rules, const char *log)
{
	struct message in = { .data = calloc(1, MESSAGE_MAX + 1) }, out = { .data = calloc(1, MESSAGE_MAX + 1) };
	struct request q = { .method = "" };
	char action[ACTION];
	int server, status = 0;

	if (!in.data || !out.data || !take_request(client, &in, &q))
		return;
	find_rule(rules, &q, action);
	if (strcmp(action, "cut-first") == 0 && logged(log, &q))
		action[0] = '\0';
	if (strncmp(action, "dead=", 5) == 0 || strncmp(action, "lost=", 5) == 0 || strncmp(action, "half=", 5) == 0)
		doom(log, action);
	if (strncmp(action, "status=", 7) == 0 || strncmp(action, "page=", 5) == 0) {
		note(log, &q, (int)strtol(strchr(action, '=') + 1, NULL, 10));
		answer(client, action);
		return;
	}
	if (strncmp(action, "late=", 5) == 0) {
		note(log, &q, 0);
		until_there(action + 5);
		action[0] = '\0';
	}
	if (strstr(action, "-before")) {
		note(log, &q, 0);
		if (strncmp(action, "hang", 4) == 0)
			until_gone(client);
		return;
	}
	server = to_server(port);
	if (server < 0 || !put_closing(server, &in, strncmp(q.path, "/v2/orders", 10) != 0)) {
		note(log, &q, 0);
		return;
	}
	while (take(server, &out))
		;
	if (out.head)
		sscanf(out.data, "%*s %d", &status);
	if (strncmp(action, "swap=", 5) == 0) {
		swap(&out, action + 5);
		action[0] = '\0';
	}
	note(log, &q, *action ? 0 : status);
	if (strstr(action, "hang-after"))
		until_gone(client);
	if (strstr(action, "page-after"))
		answer(client, action);
	if (strstr(action, "half-after") && out.head) {
		out.len = out.head + (out.len - out.head) / 2;
		put_closing(client, &out, false);
	}
	if (!*action && out.head)
		put_closing(client, &out, false);
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof a;
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client;
	FILE *f;

	if (argc != 5) {
		fputs("usage: between PORT_FILE SERVER_PORT RULES LOG\n", stderr);
		return 2;
	}
	signal(SIGCHLD, SIG_IGN); /* children are not waited for */
	signal(SIGPIPE, SIG_IGN);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listening < 0 || bind(listening, (struct sockaddr *)&a, sizeof a) < 0 || listen(listening, 64) < 0
	    || getsockname(listening, (struct sockaddr *)&a, &len) < 0) {
		perror("between");
		return 1;
	}
	f = fopen(argv[1], "w");
	if (!f || fprintf(f, "%u\n", ntohs(a.sin_port)) < 0 || fclose(f) != 0)
		return 1;
	while ((client = accept(listening, NULL, NULL)) >= 0 || errno == EINTR) {
		if (client >= 0 && fork() == 0) {
			close(listening);
			serve(client, (unsigned)strtoul(argv[2], NULL, 10), argv[3], argv[4]);
			_exit(0);
		}
		close(client);
	}
	return 1;
}

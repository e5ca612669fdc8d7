/* SPDX-License-Identifier: Apache-2.0 */
#include "web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 64 * 1024 };

struct link {
	int fd;                /* -1: closed */
	bool busy;
	char *out;
	size_t out_len, out_at;
	char *in;
	size_t in_len, in_cap;
	int64_t sent;
};

struct web {
	int epfd, port, count;
	struct link *links;
	int last;              /* whose answer was handed out, to be forgotten with the next call; -1 */
	struct epoll_event batch[256];
	int batch_count, batch_at;
	int *broken;           /* links whose connect failed at once */
	int broken_count;
};

int64_t web_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

void web_nap(int ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

struct web *web_new(int port, int conns)
{
	struct web *w = must(calloc(1, sizeof *w));

	w->epfd = epoll_create1(EPOLL_CLOEXEC);
	w->port = port;
	w->count = conns;
	w->last = -1;
	w->links = must(calloc((size_t)conns, sizeof *w->links));
	w->broken = must(calloc((size_t)conns, sizeof *w->broken));
	for (int i = 0; i < conns; i++)
		w->links[i].fd = -1;
	return w;
}

static void hang_up(struct link *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	l->busy = false;
	l->in_len = 0;
	free(l->out);
	l->out = NULL;
}

void web_free(struct web *w)
{
	for (int i = 0; i < w->count; i++) {
		hang_up(&w->links[i]);
		free(w->links[i].in);
	}
	close(w->epfd);
	free(w->links);
	free(w->broken);
	free(w);
}

static bool dial(struct web *w, int i)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)w->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u32 = (uint32_t)i };
	struct link *l = &w->links[i];
	int on = 1;

	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd < 0)
		return false;
	setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if ((connect(l->fd, (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS) ||
		epoll_ctl(w->epfd, EPOLL_CTL_ADD, l->fd, &ev) != 0)
		return false;
	return true;
}

static bool push(struct link *l)
{
	while (l->out_at < l->out_len) {
		ssize_t n = send(l->fd, l->out + l->out_at, l->out_len - l->out_at, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
		l->out_at += (size_t)n;
	}
	return true;
}

void web_send(struct web *w, int i, const char *bytes, size_t len)
{
	struct link *l = &w->links[i];

	if (w->last == i) {
		l->in_len = 0;
		w->last = -1;
	}
	free(l->out);
	l->out = must(malloc(len));
	memcpy(l->out, bytes, len);
	l->out_len = len;
	l->out_at = 0;
	l->busy = true;
	l->sent = web_now_us();
	if ((l->fd < 0 && !dial(w, i)) || !push(l))
		w->broken[w->broken_count++] = i;
}

bool web_busy(const struct web *w, int conn)
{
	return w->links[conn].busy;
}

/* 1: whole, 0: more is to come, -1: no HTTP. */
static int parse(struct link *l, struct web_answer *a)
{
	char *end, *line, *length;
	size_t head, want = 0;

	if (l->in_len == 0)
		return 0;
	l->in[l->in_len] = '\0';
	end = strstr(l->in, "\r\n\r\n");
	if (!end)
		return 0;
	head = (size_t)(end - l->in) + 4;
	line = strchr(l->in, ' ');
	if (strncmp(l->in, "HTTP/1.1 ", 9) != 0 || !line)
		return -1;
	a->status = (int)strtol(line + 1, NULL, 10);
	length = strcasestr(l->in, "\r\nContent-Length:");
	if (length && length < end)
		want = (size_t)strtoul(length + 17, NULL, 10);
	if (l->in_len < head + want)
		return 0;
	a->body = l->in + head;
	a->len = want;
	return 1;
}

/* True where the connection can go on. */
static bool pull(struct link *l)
{
	for (;;) {
		ssize_t n;

		if (l->in_cap - l->in_len < ROOM / 4) {
			l->in_cap = l->in_cap ? l->in_cap * 2 : ROOM;
			l->in = must(realloc(l->in, l->in_cap + 1));
		}
		n = recv(l->fd, l->in + l->in_len, l->in_cap - l->in_len, 0);
		if (n == 0)
			return false;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
		l->in_len += (size_t)n;
	}
}

static bool answered(struct web *w, int i, struct web_answer *out)
{
	struct link *l = &w->links[i];
	bool alive = push(l) && pull(l), busy = l->busy;
	int whole;

	*out = (struct web_answer){ .conn = i };
	whole = busy ? parse(l, out) : 0;
	if (whole != 1 && alive && whole == 0)
		return false;
	out->micros = web_now_us() - l->sent;
	l->busy = false;
	if (whole == 1) {
		w->last = i;
		if (!alive) {
			close(l->fd);
			l->fd = -1;
		}
		return true;
	}
	hang_up(l);
	out->status = 0;
	return busy;  /* an idle connection that the server closed is nobody's news */
}

bool web_next(struct web *w, int ms, struct web_answer *out)
{
	if (w->last >= 0)
		w->links[w->last].in_len = 0;
	w->last = -1;
	for (;;) {
		while (w->broken_count) {
			int i = w->broken[--w->broken_count];

			hang_up(&w->links[i]);
			*out = (struct web_answer){ .conn = i };
			return true;
		}
		while (w->batch_at < w->batch_count) {
			int i = (int)w->batch[w->batch_at++].data.u32;

			if (w->links[i].fd >= 0 && answered(w, i, out))
				return true;
		}
		w->batch_at = 0;
		w->batch_count = epoll_wait(w->epfd, w->batch, 256, ms);
		if (w->batch_count <= 0) {
			w->batch_count = 0;
			return false;
		}
	}
}

char *web_request(const char *method, const char *path, const char *headers, const char *body, size_t *len)
{
	char *text = NULL;
	int n = asprintf(&text,
		"%s %s HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		method, path, headers ? headers : "", body ? strlen(body) : 0, body ? body : "");

	if (n < 0)
		abort();
	*len = (size_t)n;
	return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/http_child.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "market/client.h"

enum {
	CONNECT_MS = 10000,
	BODY_MAX = 8 << 20,
	PATH_MAX_TEXT = 1024,
	TOKEN_MAX_TEXT = 512,
	CHILD_FD = 3,
	PIECE = 64 << 10,
	WAIT_MS = 100
};

/* Header of a message between the two processes; its body follows. Both ends are the same program. */
struct request {
	char token[TOKEN_MAX_TEXT], method[8], path[PATH_MAX_TEXT];
	int64_t whole_ms;
	size_t len;
	bool has_body;
};

struct answer {
	int rc, status;
	int64_t retry_after;
	struct fail fail;
	size_t len;
};

struct http_child {
	pid_t pid;                         /* 0: no child at the moment */
	int ends[2];                       /* ours and the child's, which stays open for the next child */
	bool busy;
	char url[512], pin[96];
	bool plain;
	struct buf heard;
};

/* ---- The child ---------------------------------------------------------------------------- */

/* What the child keeps between requests: a connection, and whom it was made for. */
struct visit {
	struct client *client;
	char token[TOKEN_MAX_TEXT];
	int64_t made_ms;
};

static bool http_child_read_whole(void *room, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = read(CHILD_FD, (char *)room + done, len - done);

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static int http_child_prepare(const struct http_child *c, struct visit *v, const struct request *q, struct fail *f)
{
	struct client_setup setup = { .url = c->url,
		.token = *q->token ? q->token : NULL,
		.plain = c->plain,
		.connect_ms = CONNECT_MS,
		.whole_ms = q->whole_ms,
		.tries = 1 };

	setup.pin = *c->pin ? c->pin : NULL;
	if (v->client && strcmp(v->token, q->token) == 0 && v->made_ms == q->whole_ms)
		return 0;
	client_free(v->client);
	v->client = NULL;
	v->made_ms = q->whole_ms;
	memcpy(v->token, q->token, sizeof v->token);
	return client_new(&setup, &v->client, f);
}

/* Was the answer passed on? */
static bool http_child_carry(const struct http_child *c, struct visit *v, const struct request *q, const char *body)
{
	struct client_call call = { .method = q->method, .path = q->path, .body = body, .once = true };
	struct answer r = { .retry_after = -1 };
	struct client_answer a;
	bool told;

	client_answer_init(&a);
	r.rc = http_child_prepare(c, v, q, &r.fail);
	if (!r.rc) {
		r.rc = client_send(v->client, &call, &a, &r.fail);
		r.status = a.status;
		r.retry_after = a.retry_after;
		r.len = a.body.len;
		if (r.len > BODY_MAX) {
			r.len = 0;
			r.rc = r.rc ? r.rc : fail_set(&r.fail, CLIENT_BAD_ANSWER, "the market's answer is too large");
		}
	}
	told = file_write(CHILD_FD, &r, sizeof r) == 0 && file_write(CHILD_FD, buf_text(&a.body), r.len) == 0;
	client_answer_release(&a);
	return told;
}

/* The loop alone handles signals, so they stay blocked here; the child ends when its other end, or the agent, does. */
_Noreturn static void http_child_child(const struct http_child *c, pid_t parent)
{
	struct visit v = { 0 };
	struct request q;
	char *body;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(c->ends[1], CHILD_FD) < 0 || close_range(CHILD_FD + 1, ~0U, 0) != 0)
		_exit(1);
	while (http_child_read_whole(&q, sizeof q)) {
		body = q.has_body ? malloc(q.len + 1) : NULL;
		if (q.has_body && (!body || !http_child_read_whole(body, q.len)))
			_exit(1);
		if (body)
			body[q.len] = '\0';
		if (!http_child_carry(c, &v, &q, body))
			_exit(1);
		free(body);
	}
	_exit(0);
}

/* ---- The loop's side ---------------------------------------------------------------------- */

static int http_child_begin(struct http_child *c)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0)
		http_child_child(c, parent);
	if (pid < 0)
		return -errno;
	c->pid = pid;
	return 0;
}

static void http_child_drain(struct http_child *c)
{
	char piece[PIECE];

	while (recv(c->ends[0], piece, sizeof piece, MSG_DONTWAIT) > 0)
		;
	while (recv(c->ends[1], piece, sizeof piece, MSG_DONTWAIT) > 0)
		;
	buf_clear(&c->heard);
}

static bool http_child_died(struct http_child *c)
{
	if (!c->pid)
		return true;
	if (waitpid(c->pid, NULL, WNOHANG) == 0)
		return false;
	c->pid = 0;
	return true;
}

int http_child_new(const struct http_child_setup *setup, struct http_child **out, struct fail *f)
{
	struct http_child *c = calloc(1, sizeof *c);
	int rc;

	if (!c)
		return fail_set(f, -ENOMEM, "out of memory");
	c->ends[0] = c->ends[1] = -1;
	c->plain = setup->plain;
	snprintf(c->url, sizeof c->url, "%s", setup->url);
	snprintf(c->pin, sizeof c->pin, "%s", setup->pin ? setup->pin : "");
	buf_init(&c->heard, BODY_MAX + sizeof(struct answer) + PIECE);
	rc = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c->ends) == 0 ? http_child_begin(c) : -errno;
	if (rc) {
		http_child_free(c);
		return fail_errno(f, rc, -rc, "cannot start a child");
	}
	*out = c;
	return 0;
}

void http_child_free(struct http_child *c)
{
	if (!c)
		return;
	if (c->pid) {
		kill(c->pid, SIGKILL);
		while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	for (int i = 0; i < 2; i++)
		if (c->ends[i] >= 0)
			close(c->ends[i]);
	buf_release(&c->heard);
	free(c);
}

int http_child_fd(const struct http_child *c)
{
	return c->ends[0];
}

bool http_child_idle(const struct http_child *c)
{
	return !c->busy;
}

/* Idle children read what comes. http_child_take notices one that has died. */
static void http_child_write(struct http_child *c, const void *data, size_t len)
{
	struct pollfd p = { .fd = c->ends[0], .events = POLLOUT };

	for (size_t done = 0; done < len && c->pid;) {
		ssize_t n = send(c->ends[0], (const char *)data + done, len - done, MSG_NOSIGNAL | MSG_DONTWAIT);

		done += n > 0 ? (size_t)n : 0;
		if (n < 0 && errno == EAGAIN && poll(&p, 1, WAIT_MS) == 0 && http_child_died(c))
			return;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
	}
}

void http_child_ask(struct http_child *c, const char *token, const char *method, const char *path, char *body,
	int64_t whole_ms)
{
	struct request q = { .whole_ms = whole_ms, .has_body = body != NULL, .len = body ? strlen(body) : 0 };

	assert(!c->busy);   /* one request at a time */
	snprintf(q.token, sizeof q.token, "%s", token ? token : "");
	snprintf(q.method, sizeof q.method, "%s", method);
	snprintf(q.path, sizeof q.path, "%s", path);
	c->busy = true;
	http_child_write(c, &q, sizeof q);
	if (body)
		http_child_write(c, body, q.len);
	explicit_bzero(q.token, sizeof q.token);
	free(body);
}

/* Is all of an answer here? */
static bool http_child_listen_to(struct http_child *c)
{
	struct answer r;
	char piece[PIECE];
	ssize_t n;

	while ((n = recv(c->ends[0], piece, sizeof piece, MSG_DONTWAIT)) > 0)
		if (buf_add(&c->heard, piece, (size_t)n) != 0)
			return false;
	if (c->heard.len < sizeof r)
		return false;
	memcpy(&r, c->heard.data, sizeof r);
	return c->heard.len >= sizeof r + r.len;
}

static void http_child_take_answer(struct http_child *c, struct http_child_reply *out)
{
	struct answer r;

	assert(c->heard.len >= sizeof r);
	memcpy(&r, c->heard.data, sizeof r);
	*out = (struct http_child_reply){
		.rc = r.rc, .status = r.status, .retry_after = r.retry_after, .fail = r.fail
	};
	buf_init(&out->body, BODY_MAX);
	if (buf_add(&out->body, c->heard.data + sizeof r, r.len) != 0 && !out->rc)
		out->rc = fail_set(&out->fail, CLIENT_BAD_ANSWER, "out of memory for the market's answer");
	buf_clear(&c->heard);
}

/* Something killed the child, perhaps for want of memory. Its request may have reached the market. */
static void http_child_replace(struct http_child *c, struct http_child_reply *out)
{
	http_child_drain(c);
	http_child_begin(c); /* if that fails, the next turn tries again */
	*out = (struct http_child_reply){ .retry_after = -1 };
	buf_init(&out->body, 1);
	out->rc = fail_set(&out->fail, CLIENT_LOST, "the process that talks to the market has ended");
}

bool http_child_take(struct http_child *c, struct http_child_reply *out)
{
	if (!c->busy)
		return false;
	if (http_child_listen_to(c))
		http_child_take_answer(c, out);
	else if (http_child_died(c))
		http_child_replace(c, out);
	else
		return false;
	c->busy = false;
	return true;
}

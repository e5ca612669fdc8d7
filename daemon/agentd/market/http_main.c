/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/http_main.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agentd/market/http_wire.h"
#include "agentd/os/confine.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "market/client.h"

enum { CONNECT_MS = 10000, USAGE = 2 };

/* What is kept between requests: a connection, and the request that it was made for. */
struct visit {
	struct client *client;
	struct http_request like;
};

static bool http_main_read(void *room, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = read(HTTP_FD, (char *)room + done, len - done);

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static int http_main_prepare(struct visit *v, const struct http_request *q, struct fail *f)
{
	struct client_setup setup = { .url = q->url,
		.token = *q->token ? q->token : NULL,
		.pin = *q->pin ? q->pin : NULL,
		.plain = q->plain,
		.connect_ms = CONNECT_MS,
		.whole_ms = q->whole_ms,
		.tries = 1 };
	const struct http_request *l = &v->like;

	if (v->client && strcmp(l->url, q->url) == 0 && strcmp(l->pin, q->pin) == 0 &&
		strcmp(l->token, q->token) == 0 && l->whole_ms == q->whole_ms && l->plain == q->plain)
		return 0;
	client_free(v->client);
	v->client = NULL;
	v->like = *q;
	return client_new(&setup, &v->client, f);
}

/* What was root's to open, like a socket that only root may, is not any more. */
static void http_main_hint(const char *url, int rc, struct fail *f)
{
	const char *path = str_starts(url, "unix:") ? url + strlen("unix:") : NULL;

	if (rc == CLIENT_UNREACHABLE && path && access(path, W_OK) != 0 && errno == EACCES)
		fail_set(f, rc,
			"the user %d, who talks to the market, may not open '%.200s'; let it write to that socket and "
			"enter its folder",
			(int)geteuid(), path);
}

/* Was the answer passed on? refused: why this process may not talk to anybody; code 0: it may. */
static bool http_main_carry(struct visit *v, const struct http_request *q, const char *body, const struct fail *refused)
{
	struct client_call call = { .method = q->method,
		.path = q->path,
		.body = body,
		.body_len = q->len,
		.once = true };
	struct http_answer r = { .retry_after = -1 };
	struct client_answer a;
	struct fail f = *refused;
	bool told;

	client_answer_init(&a);
	r.rc = f.code ? CLIENT_NO_HTTP : http_main_prepare(v, q, &f);
	if (!r.rc) {
		int64_t began = clock_us();

		r.rc = client_send(v->client, &call, &a, &f);
		r.took_us = clock_us() - began;
		http_main_hint(q->url, r.rc, &f);
		r.status = a.status;
		r.retry_after = a.retry_after;
		r.len = a.body.len;
	}
	if (r.len > HTTP_BODY_MAX) {
		r.len = 0;
		r.rc = r.rc ? r.rc : fail_set(&f, CLIENT_BAD_ANSWER, "the market's answer is too large");
	}
	snprintf(r.text, sizeof r.text, "%s", *f.text ? f.text : "no reason is known");
	told = file_write(HTTP_FD, &r, sizeof r) == 0 && file_write(HTTP_FD, buf_text(&a.body), r.len) == 0;
	client_answer_release(&a);
	return told;
}

int http_main(void)
{
	struct fail refused = { 0 };
	struct visit v = { 0 };
	struct http_request q;
	socklen_t len = sizeof(int);
	int type;

	if (getsockopt(HTTP_FD, SOL_SOCKET, SO_TYPE, &type, &len) != 0) {
		fputs("nanopod-agentd: the agent itself starts 'http', its network side\n", stderr);
		return USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	if (chdir("/") != 0)
		return 1;
	confine(&refused);
	/* Only now, as the kernel forgets it with a change of user. If the agent is gone already, a read says so. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (http_main_read(&q, sizeof q)) {
		char *body = q.has_body ? malloc(q.len + 1) : NULL;

		if (q.has_body && (!body || !http_main_read(body, q.len)))
			break;
		if (body)
			body[q.len] = '\0';
		if (!http_main_carry(&v, &q, body, &refused))
			break;
		free(body);
	}
	_exit(0); /* no library need clean up */
}

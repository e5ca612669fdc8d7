/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends one request at a time: the agent of older OpenSSH takes one message from each read(), so a
 * second message in the same read would wait until a third came. This costs little, as signing takes
 * longer than the round trip. The state only changes in agent_ready() and agent_due(), so that the
 * owner of the loop sees every change.
 */
#include "pssh/keys/agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "pssh/pssh_types.h"
#include "pssh/keys/pubkey.h"
#include "pssh/keys/sshwire.h"

enum {
	FAILURE = 5, REQUEST_IDENTITIES = 11, IDENTITIES_ANSWER = 12, SIGN_REQUEST = 13, SIGN_RESPONSE = 14,
	SSH2_FAILURE = 30, COM_FAILURE = 102,
	MESSAGE_MAX = 256 * 1024, IDENTITIES_MAX = 2048, CHUNK = 16384,
	RETRY_MS = 20, LIST_MS = 10000, SIGN_MS = 60000,
};

enum expect { NOTHING, LIST, SIGNATURE };

struct agent {
	struct loop *loop;
	struct loop_watch watch;
	struct loop_timer timer;
	struct sockaddr_un addr;
	int fd;                       /* -1: not connected */
	bool connecting;              /* the agent's backlog is full: the timer tries again */
	int64_t deadline;             /* for connecting, or for the answer */
	int list_ms, sign_ms;
	struct fail down;             /* code set: the connection failed, and the timer tells all requests */
	enum agent_state state;
	char error[256];
	struct agent_identity *ids;
	size_t count;
	enum expect expect;
	struct buf out, in;
	size_t sent;
	struct list waiting, done;
	struct agent_sign_request *current;  /* the request that was sent; NULL: none, or its owner abandoned it */
};

static void agent_finish(struct agent *a, struct agent_sign_request *req, int rc, const char *text)
{
	if (a->current == req) {
		a->current = NULL;
		req->took_ms = clock_ms() - req->began;
	}
	buf_release(&req->message);
	list_remove(&req->link);
	list_append(&a->done, &req->link);
	req->done = true;
	req->rc = rc;
	snprintf(req->text, sizeof req->text, "%s", text);
}

static void hang_up(struct agent *a)
{
	loop_timer_clear(a->loop, &a->timer);
	if (a->fd >= 0) {
		loop_forget(a->loop, &a->watch);
		close(a->fd);
	}
	a->fd = -1;
	a->connecting = false;
	a->expect = NOTHING;
	a->sent = 0;
	buf_release(&a->out);
	buf_release(&a->in);
}

/* Closes the connection and fails all that waits for it. The next request connects again. */
static void fail_all(struct agent *a, int code, const char *what, const char *why_not)
{
	struct list *pos, *tmp;
	struct fail why;

	fail_set(&why, code, "the agent at '%.100s' ", a->addr.sun_path);
	snprintf(why.text + strlen(why.text), sizeof why.text - strlen(why.text), "%s%s", what, why_not);
	hang_up(a);
	if (a->current)
		agent_finish(a, a->current, code, why.text);
	list_each(pos, tmp, &a->waiting)
		agent_finish(a, list_entry(pos, struct agent_sign_request, link), code, why.text);
	if (a->state == AGENT_ASKING) {
		a->state = AGENT_FAILED;
		snprintf(a->error, sizeof a->error, "%.255s", why.text);
	}
}

/* Closes the connection; the timer, due at once, tells the requests (only it may change the state). */
static int down_soon(struct agent *a, int why)
{
	int rc;

	hang_up(a);
	a->down.code = PSSH_ELOCAL;
	if (why == ENOENT || why == ECONNREFUSED)
		snprintf(a->down.text, sizeof a->down.text, "does not answer: is it running?");
	else
		fail_errno(&a->down, PSSH_ELOCAL, why, "cannot be reached");
	rc = loop_timer_set(a->loop, &a->timer, clock_ms());
	return rc ? PSSH_ENOMEM : 0;
}

static int agent_await(struct agent *a, int64_t due)
{
	return loop_timer_set(a->loop, &a->timer, due < a->deadline ? due : a->deadline) ? PSSH_ENOMEM : 0;
}

static int connect_now(struct agent *a)
{
	int rc;

	a->connecting = false;
	if (connect(a->fd, (struct sockaddr *)&a->addr, sizeof a->addr) == 0) {
		rc = loop_watch(a->loop, &a->watch, a->fd, LOOP_READ | LOOP_WRITE);
		return rc ? down_soon(a, -rc) : agent_await(a, a->deadline);
	}
	if (errno != EAGAIN && errno != EINTR)
		return down_soon(a, errno);
	a->connecting = true;
	return agent_await(a, clock_ms() + RETRY_MS);
}

static int agent_dial(struct agent *a)
{
	a->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (a->fd < 0)
		return down_soon(a, errno);
	a->deadline = clock_ms() + a->list_ms;
	return connect_now(a);
}

/* ---- Sending --------------------------------------------------------------------------- */

static int agent_begin_list(struct agent *a)
{
	buf_init(&a->out, MESSAGE_MAX);
	a->expect = LIST;
	a->deadline = clock_ms() + a->list_ms;
	return sshwire_add_u32(&a->out, 1) || buf_addc(&a->out, REQUEST_IDENTITIES) ? PSSH_ENOMEM : 0;
}

static void begin_sign(struct agent *a, struct agent_sign_request *req)
{
	list_remove(&req->link);
	a->current = req;
	a->out = req->message;        /* the agent owns it from here on, as the request may be abandoned any time */
	buf_init(&req->message, 0);
	a->expect = SIGNATURE;
	req->began = clock_ms();
	a->deadline = req->began + a->sign_ms;
}

/* Prepares the next request, if no answer is outstanding. */
static int agent_begin(struct agent *a)
{
	struct list *first = list_first(&a->waiting);
	int rc;

	if (a->expect != NOTHING)
		return 0;
	a->sent = 0;
	if (a->state == AGENT_ASKING) {
		rc = agent_begin_list(a);
		if (rc)
			return rc;
	} else if (first) {
		begin_sign(a, list_entry(first, struct agent_sign_request, link));
	} else {
		loop_timer_clear(a->loop, &a->timer);
		return 0;
	}
	return agent_await(a, a->deadline);
}

/* Sends as much as it can without blocking, and watches for the rest. 0 or -errno. */
static int agent_flush(struct agent *a)
{
	while (a->sent < a->out.len) {
		ssize_t n = send(a->fd, a->out.data + a->sent, a->out.len - a->sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return loop_watch(a->loop, &a->watch, a->fd, LOOP_READ | LOOP_WRITE);
		if (n < 0)
			return -errno;
		a->sent += (size_t)n;
	}
	return loop_watch(a->loop, &a->watch, a->fd, LOOP_READ);
}

static void agent_go_on(struct agent *a)
{
	int rc = agent_begin(a);

	if (rc) {
		fail_all(a, rc, "cannot be asked: ", "out of memory");
		return;
	}
	rc = agent_flush(a);
	if (rc)
		fail_all(a, PSSH_ECLOSED, "cannot be written to: ", strerror(-rc));
}

/* ---- Answers --------------------------------------------------------------------------- */

static void forget_ids(struct agent *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->ids[i].blob);
		free(a->ids[i].comment);
	}
	free(a->ids);
	a->ids = NULL;
	a->count = 0;
}

static int read_id(struct sshwire *w, struct agent_identity *id)
{
	size_t blob_len, comment_len;
	const uint8_t *blob = sshwire_string(w, &blob_len), *comment = sshwire_string(w, &comment_len);

	if (w->bad)
		return PSSH_EPROTO;
	*id = (struct agent_identity){ .blob = malloc(blob_len + 1), .len = blob_len };
	id->comment = strndup((const char *)comment, comment_len);
	if (!id->blob || !id->comment) {
		free(id->blob);
		free(id->comment);
		return PSSH_ENOMEM;
	}
	memcpy(id->blob, blob, blob_len);
	return 0;
}

static int take_list(struct agent *a, struct sshwire *w)
{
	uint32_t n = sshwire_u32(w);
	int rc = 0;

	if (w->bad || n > IDENTITIES_MAX)
		return PSSH_EPROTO;
	a->ids = calloc(n + 1, sizeof *a->ids);
	if (!a->ids)
		return PSSH_ENOMEM;
	for (uint32_t i = 0; !rc && i < n; i++) {
		rc = read_id(w, &a->ids[i]);
		a->count += !rc;
	}
	if (!rc && w->left)
		rc = PSSH_EPROTO;
	if (rc)
		forget_ids(a);
	else
		a->state = AGENT_LISTED;
	return rc;
}

/* The answer holds a string that holds the signature; libssh2 wants only the innermost part. */
static int take_signature(struct agent *a, struct sshwire *w)
{
	struct agent_sign_request *req = a->current;
	struct sshwire inner;
	char algorithm[WIRE_TYPE_MAX], text[200];
	const uint8_t *p;
	size_t n;
	uint8_t *copy;

	p = sshwire_string(w, &n);
	sshwire_init(&inner, p, n);
	if (w->bad || !sshwire_text(&inner, algorithm, sizeof algorithm))
		return PSSH_EPROTO;
	p = sshwire_string(&inner, &n);
	if (inner.bad || !n)
		return PSSH_EPROTO;
	if (!req)
		return 0;
	if (strcmp(algorithm, req->type) != 0) {
		snprintf(text, sizeof text, "the agent signed with '%.60s' instead of '%s'", algorithm,
			req->type);
		agent_finish(a, req, PSSH_EALGORITHM, text);
		return 0;
	}
	copy = malloc(n);
	if (!copy) {
		agent_finish(a, req, PSSH_ENOMEM, "out of memory");
		return 0;
	}
	memcpy(copy, p, n);
	req->sig = copy;
	req->sig_len = n;
	agent_finish(a, req, 0, "");
	return 0;
}

static int take_refusal(struct agent *a)
{
	if (a->expect == LIST) {
		a->state = AGENT_FAILED;
		snprintf(a->error, sizeof a->error, "the agent at '%.100s' does not tell its keys", a->addr.sun_path);
	} else if (a->current) {
		agent_finish(a, a->current, PSSH_EREFUSED,
			"the agent refused to sign (is it locked, or was it not confirmed?)");
	}
	return 0;
}

static int agent_take(struct agent *a, const void *data, size_t len)
{
	struct sshwire w;
	uint8_t type;
	int rc = PSSH_EPROTO;

	sshwire_init(&w, data, len);
	type = sshwire_u8(&w);
	if (a->sent < a->out.len)
		rc = PSSH_EPROTO;  /* an answer before the whole request was sent */
	else if (a->expect != NOTHING && (type == FAILURE || type == SSH2_FAILURE || type == COM_FAILURE))
		rc = take_refusal(a);
	else if (a->expect == LIST && type == IDENTITIES_ANSWER)
		rc = take_list(a, &w);
	else if (a->expect == SIGNATURE && type == SIGN_RESPONSE)
		rc = take_signature(a, &w);
	a->expect = NOTHING;
	buf_release(&a->out);
	return rc;
}

/* 0: took one whole answer; PSSH_EAGAIN: more must come first. */
static int take_next(struct agent *a)
{
	struct sshwire w;
	uint32_t n;
	int rc;

	sshwire_init(&w, a->in.data, a->in.len);
	n = sshwire_u32(&w);
	if (w.bad)
		return PSSH_EAGAIN;
	if (!n || n > MESSAGE_MAX)
		return PSSH_EPROTO;
	if (w.left < n)
		return PSSH_EAGAIN;
	rc = agent_take(a, w.at, n);
	buf_drop(&a->in, 4 + (size_t)n);
	return rc;
}

/* Reads one piece; the loop calls again if there is more. */
static void agent_receive(struct agent *a)
{
	char chunk[CHUNK];
	ssize_t n = recv(a->fd, chunk, sizeof chunk, 0);
	int rc;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		fail_all(a, PSSH_ECLOSED, "closed the connection", "");
		return;
	}
	rc = buf_add(&a->in, chunk, (size_t)n);
	rc = rc == -ENOMEM ? PSSH_ENOMEM : rc ? PSSH_EPROTO : 0;
	while (!rc && a->in.len)
		rc = take_next(a);
	if (rc && rc != PSSH_EAGAIN)
		fail_all(a, rc, rc == PSSH_ENOMEM ? "cannot be heard: out of memory" : "says what no agent says", "");
}

/* ---- What the owner calls -------------------------------------------------------------- */

void agent_ready(struct agent *a, uint32_t ready)
{
	if (a->fd < 0 || a->connecting)
		return;
	if (ready & LOOP_READ)
		agent_receive(a);
	if (a->fd >= 0)
		agent_go_on(a);
}

void agent_due(struct agent *a)
{
	struct fail down = a->down;

	a->down = (struct fail){ 0 };
	if (down.code)
		fail_all(a, down.code, down.text, "");
	else if (a->fd >= 0 && clock_ms() >= a->deadline)
		fail_all(a, PSSH_ETIMEOUT, "does not answer in time", "");
	else if (a->connecting && connect_now(a) != 0)
		fail_all(a, PSSH_ENOMEM, "cannot be reached: out of memory", "");
	else if (a->fd >= 0 && !a->connecting && !a->timer.at)
		agent_await(a, a->deadline);
}

int agent_new(struct loop *loop, int kind, const char *path, struct agent **out, struct fail *f)
{
	struct agent *a;
	size_t n = strlen(path);

	if (!n || n >= sizeof a->addr.sun_path)
		return fail_set(f, PSSH_EINVAL, "'%s' cannot be the path of an agent's socket: it is too %s", path,
			n ? "long" : "short");
	a = calloc(1, sizeof *a);
	if (!a)
		return fail_set(f, PSSH_ENOMEM, "cannot ask the agent at '%s': out of memory", path);
	a->loop = loop;
	a->fd = -1;
	a->list_ms = LIST_MS;
	a->sign_ms = SIGN_MS;
	a->watch.kind = a->timer.kind = kind;
	a->addr.sun_family = AF_UNIX;
	memcpy(a->addr.sun_path, path, n + 1);
	list_init(&a->waiting);
	list_init(&a->done);
	buf_init(&a->in, 4 + MESSAGE_MAX + CHUNK);
	if (agent_dial(a) != 0) {
		agent_free(a);
		return fail_set(f, PSSH_ENOMEM, "cannot ask the agent at '%s': out of memory", path);
	}
	*out = a;
	return 0;
}

void agent_free(struct agent *a)
{
	struct list *pos, *tmp;

	if (!a)
		return;
	fail_all(a, PSSH_ECANCEL, "is no longer asked", "");
	list_each(pos, tmp, &a->done) {
		struct agent_sign_request *req = list_entry(pos, struct agent_sign_request, link);

		list_remove(&req->link);
		req->agent = NULL;
	}
	forget_ids(a);
	free(a);
}

struct loop_watch *agent_watch(struct agent *a)
{
	return &a->watch;
}

struct loop_timer *agent_timer(struct agent *a)
{
	return &a->timer;
}

void agent_set_patience(struct agent *a, int list_ms, int sign_ms)
{
	a->list_ms = list_ms;
	a->sign_ms = sign_ms;
}

enum agent_state agent_state(const struct agent *a)
{
	return a->state;
}

const char *agent_error(const struct agent *a)
{
	return a->error;
}

const struct agent_identity *agent_identities(const struct agent *a, size_t *count)
{
	*count = a->count;
	return a->ids;
}

const char *agent_path(const struct agent *a)
{
	return a->addr.sun_path;
}

unsigned agent_flags(const char *algorithm)
{
	return strncmp(algorithm, "rsa-sha2-512", 12) == 0 ? AGENT_RSA_SHA2_512 :
		strncmp(algorithm, "rsa-sha2-256", 12) == 0 ? AGENT_RSA_SHA2_256 : 0;
}

/* The algorithm that the signature must have. */
static bool expected_type(const uint8_t *blob, size_t len, unsigned flags, char *out, size_t size)
{
	if (!sshwire_blob_type(blob, len, out, size))
		return false;
	if (pubkey_is_cert(out))
		out[strlen(out) - strlen(PUBKEY_CERT_SUFFIX)] = '\0';
	if (strcmp(out, "ssh-rsa") == 0 && flags)
		snprintf(out, size, "rsa-sha2-%s", flags & AGENT_RSA_SHA2_512 ? "512" : "256");
	return true;
}

int agent_sign(struct agent *a, struct agent_sign_request *req, const uint8_t *blob, size_t blob_len,
	const void *data, size_t len, unsigned flags, struct fail *f)
{
	struct buf m;
	char type[WIRE_TYPE_MAX];
	int rc;

	if (!expected_type(blob, blob_len, flags, type, sizeof type))
		return fail_set(f, PSSH_EINVAL, "cannot ask the agent to sign: that is not a public key");
	if (blob_len > MESSAGE_MAX || len > MESSAGE_MAX || blob_len + len > MESSAGE_MAX - 13)
		return fail_set(f, PSSH_EINVAL, "cannot ask the agent to sign: %zu bytes are too many", len);
	buf_init(&m, MESSAGE_MAX + 4);
	if (sshwire_add_u32(&m, (uint32_t)(blob_len + len + 13)) || buf_addc(&m, SIGN_REQUEST) ||
	    sshwire_add_string(&m, blob, blob_len) || sshwire_add_string(&m, data, len) || sshwire_add_u32(&m, flags) ||
	    (a->fd < 0 && !a->down.code && agent_dial(a) != 0)) {
		buf_release(&m);
		return fail_set(f, PSSH_ENOMEM, "cannot ask the agent to sign: out of memory");
	}
	*req = (struct agent_sign_request){ .owner = req->owner, .agent = a, .message = m };
	memcpy(req->type, type, sizeof req->type);
	list_append(&a->waiting, &req->link);
	if (a->expect != NOTHING || a->fd < 0 || a->connecting)
		return 0;
	rc = loop_watch(a->loop, &a->watch, a->fd, LOOP_READ | LOOP_WRITE);
	if (!rc)
		return 0;
	agent_sign_abandon(a, req);
	return fail_set(f, PSSH_ENOMEM, "cannot ask the agent to sign: out of memory");
}

void agent_sign_abandon(struct agent *a, struct agent_sign_request *req)
{
	if (req->agent) {
		if (a->current == req)
			a->current = NULL;
		list_remove(&req->link);
		buf_release(&req->message);
	}
	free(req->sig);
	req->sig = NULL;
	req->sig_len = 0;
	req->agent = NULL;
}

struct agent_sign_request *agent_next_done(struct agent *a)
{
	struct list *first = list_first(&a->done);
	struct agent_sign_request *req;

	if (!first)
		return NULL;
	req = list_entry(first, struct agent_sign_request, link);
	list_remove(first);
	req->agent = NULL;
	return req;
}

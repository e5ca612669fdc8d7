/* SPDX-License-Identifier: Apache-2.0 */
/* Clients' connections: libmicrohttpd reads requests, waits while others work on them, and sends what is there. */
#include <microhttpd.h>

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include "base/str.h"
#include "marketd/http/http_head.h"
#include "marketd/proxy/proxy_own.h"

enum {
	RELAY_HEAD_MAX = 32 * 1024,
	RELAY_STRANGER_S = 15, /* before the first request */
	RELAY_IDLE_S = 75,
	RELAY_UPLOAD_MS = 120000,
	RELAY_PIECE = 32 * 1024,
	RELAY_CONNECTIONS = 2 * RELAYS_MAX + 64,
	RELAY_CONNECTIONS_SHARE = 4 /* of one address so many of them at most; a proxy on this machine has all */
};

static const struct relay_way {
	const char *method, *path;
	enum endpoint endpoint;
} relay_ways[] = {
	{ "GET", "/v1/models", ENDPOINT_MODELS },
	{ "POST", "/v1/chat/completions", ENDPOINT_CHAT },
	{ "POST", "/v1/completions", ENDPOINT_TEXT },
	{ "POST", "/v1/embeddings", ENDPOINT_EMBED },
};

/* ---- One relay -------------------------------------------------------------------------- */

static void *relay_new(void *cls, const char *target, struct MHD_Connection *mhd)
{
	struct proxy *p = cls;
	const union MHD_ConnectionInfo *fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct relay *x = fd && p->relay_count < RELAYS_MAX ? calloc(1, sizeof *x) : NULL;

	if (!x)
		return NULL;
	x->proxy = p;
	x->served = p->served;
	x->served->relays++;
	x->kind = PROXY_RELAY;
	x->mhd = mhd;
	MHD_set_connection_option(mhd, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)RELAY_IDLE_S);
	x->target = target;
	x->target_len = strlen(target);
	list_init(&x->wait);
	list_append(&p->relays, &x->link);
	p->relay_count++;
	buf_init(&x->body, BODY_MAX);
	buf_init(&x->out, BODY_MAX);
	sse_init(&x->sse);
	x->gone_watch = (struct loop_owned){ .watch.kind = 1, .owner = x };
	x->gone_watch.watch.fd = fd->connect_fd;
	x->began = time(NULL);
	x->deadline = p->now_ms + RELAY_UPLOAD_MS;
	snprintf(x->id, sizeof x->id, "gw-%016" PRIx64 "-%" PRIu64, p->boot, ++p->ids);
	return x;
}

static void relay_free(struct relay *x)
{
	asking_left(x); /* where it is not over, its client did not wait for the end */
	loop_forget(x->proxy->loop, &x->gone_watch.watch);
	list_remove(&x->link);
	list_remove(&x->wait);
	x->proxy->relay_count--;
	x->served->relays--;
	underway_leave(x);
	json_decref(x->request);
	free(x->sent);
	buf_release(&x->body);
	buf_release(&x->out);
	sse_release(&x->sse);
	free(x);
}

/* ---- Answers ----------------------------------------------------------------------------- */

/* A client that never catches up leaves no more than OUT_MAX behind it. */
static void relay_drop(struct relay *x)
{
	if (x->taken < OUT_MAX)
		return;
	buf_drop(&x->out, x->taken);
	x->taken = 0;
}

/* libmicrohttpd asks for more of an answer; who takes some has time for the next piece. */
static ssize_t relay_read(void *cls, uint64_t pos, char *room, size_t max)
{
	struct relay *x = cls;
	size_t n;

	(void)pos;
	if (x->taken == x->out.len) {
		buf_clear(&x->out);
		x->taken = 0;
		asking_pump(x);
	}
	n = x->out.len - x->taken;
	n = n > max ? max : n;
	if (x->gone)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (n) {
		memcpy(room, x->out.data + x->taken, n);
		x->taken += n;
		relay_drop(x);
		x->deadline = x->proxy->now_ms + x->proxy->served->file.timeout * 1000;
		return (ssize_t)n;
	}
	if (x->state == RELAY_OVER)
		return MHD_CONTENT_READER_END_OF_STREAM;
	relay_park(x);
	return 0;
}

static struct MHD_Response *relay_response(struct relay *x)
{
	static const char type[] = "application/json", events[] = "text/event-stream; charset=utf-8";
	struct MHD_Response *r = MHD_create_response_from_callback(x->events ? MHD_SIZE_UNKNOWN : x->out.len,
		RELAY_PIECE, relay_read, x, NULL);

	if (!r)
		return NULL;
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, x->events ? events : type);
	MHD_add_response_header(r, "X-Request-Id", x->id);
	if (x->closing)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	if (x->events)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	if (x->refusal.status == 401)
		MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	if (x->refusal.status && *x->refusal.retry)
		MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, x->refusal.retry);
	if (x->refusal.status && x->refusal.final)
		MHD_add_response_header(r, "X-Should-Retry", "false");
	return r;
}

static enum MHD_Result relay_answer(struct relay *x)
{
	struct MHD_Response *r;
	enum MHD_Result rc;

	refusal_answer(x);
	r = relay_response(x);
	if (!r)
		return MHD_NO;
	x->answered = true;
	x->deadline = x->proxy->now_ms + x->proxy->served->file.timeout * 1000;
	rc = MHD_queue_response(x->mhd, x->events ? MHD_HTTP_OK : (unsigned)x->status, r);
	MHD_destroy_response(r);
	return rc;
}

/* ---- Requests ---------------------------------------------------------------------------- */

static void relay_models(struct relay *x)
{
	const struct proxyfile *f = &x->served->file;
	json_t *list = json_array();
	char *text;

	for (size_t i = 0; i < f->model_count; i++)
		for (size_t k = 0; k <= f->models[i].alias_count; k++)
			json_array_append_new(list,
				json_pack("{s:s, s:s, s:I, s:s}", "id",
					k ? f->models[i].aliases[k - 1] : f->models[i].name, "object", "model",
					"created", (json_int_t)0, "owned_by", "nanopod"));
	list = json_pack("{s:s, s:o}", "object", "list", "data", list);
	text = json_dumps(list, JSON_COMPACT);
	x->status = text && buf_adds(&x->out, text) == 0 ? 200 : 500;
	x->state = RELAY_OVER;
	free(text);
	json_decref(list);
}

static enum endpoint relay_endpoint(struct relay *x, const char *method, const char *path)
{
	for (size_t i = 0; i < sizeof relay_ways / sizeof *relay_ways; i++) {
		if (strcmp(path, relay_ways[i].path) != 0)
			continue;
		if (strcmp(method, relay_ways[i].method) == 0)
			return relay_ways[i].endpoint;
		refusal_set(&x->refusal, 405, "invalid_request_error", "method_not_allowed", "use %s %s",
			relay_ways[i].method, path);
		return ENDPOINT_NONE;
	}
	refusal_set(&x->refusal, 404, "invalid_request_error", "unknown_url", "there is no %.8s %.100s", method, path);
	return ENDPOINT_NONE;
}

/* What the head says fits, so far; nothing is kept for it yet. */
static enum MHD_Result relay_enter(struct relay *x, size_t bytes)
{
	if (!underway_enter(x)) {
		refusal_busy(&x->refusal, "this account has %d requests under way", RELAYS_PER_ACCOUNT);
		return relay_answer(x);
	}
	if (!underway_hold(x, bytes)) {
		refusal_busy(&x->refusal, "too many large requests are under way");
		return relay_answer(x);
	}
	underway_hold(x, 0);
	x->state = RELAY_BODY;
	return MHD_YES;
}

/* The head is there; the body is read only from who may send it. */
static enum MHD_Result relay_head(struct relay *x, const char *method, const char *path, const char *version)
{
	const char *fault = head_fault(x->mhd, method, x->target, x->target_len, version);
	const char *key = MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
	const char *length = MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
	long bytes = 0;

	if (fault) {
		refusal_set(&x->refusal, 400, "invalid_request_error", "malformed_request", "%s", fault);
		x->closing = true;
		return relay_answer(x);
	}
	x->endpoint = relay_endpoint(x, method, path);
	if (x->endpoint == ENDPOINT_NONE)
		return relay_answer(x);
	if (!key) {
		refusal_set(&x->refusal, 401, "authentication_error", "invalid_api_key",
			"give your nanopod token as the API key");
		return relay_answer(x);
	}
	if (length && str_to_long(length, 0, BODY_MAX, &bytes) != 0) {
		refusal_set(&x->refusal, 413, "invalid_request_error", "request_too_large",
			"the request is larger than %d MiB", BODY_MAX >> 20);
		return relay_answer(x);
	}
	switch (caller_find(x, key, path)) {
	case CALLER_ASKED:
		relay_park(x);
		return MHD_YES;
	case CALLER_GOOD:
		return relay_enter(x, (size_t)bytes);
	default:
		return relay_answer(x);
	}
}

/* A body that says no length ahead may turn out too large: the rest is read, and nothing kept. */
static void relay_body(struct relay *x, const char *data, size_t len)
{
	if (x->refusal.status)
		return;
	if (!underway_hold(x, x->body.len + len))
		refusal_busy(&x->refusal, "too many large requests are under way");
	else if (buf_add(&x->body, data, len) != 0)
		refusal_set(&x->refusal, 413, "invalid_request_error", "request_too_large",
			"the request is larger than %d MiB", BODY_MAX >> 20);
	if (!x->refusal.status)
		return;
	buf_release(&x->body);
	underway_hold(x, 0);
}

static enum MHD_Result relay_full(struct relay *x)
{
	if (x->refusal.status)
		return relay_answer(x);
	if (x->endpoint == ENDPOINT_MODELS)
		relay_models(x);
	else
		asking_begin(x);
	if (x->state == RELAY_OVER)
		return relay_answer(x);
	relay_park(x);
	return MHD_YES;
}

static enum MHD_Result relay_on_request(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
	const char *version, const char *data, size_t *size, void **context)
{
	struct relay *x = *context;

	(void)cls, (void)mhd;
	if (!x || x->gone)
		return MHD_NO;
	if (x->state == RELAY_HEAD)
		return relay_head(x, method, url, version);
	if (x->state != RELAY_BODY)
		return relay_answer(x);
	if (!*size)
		return relay_full(x);
	relay_body(x, data, *size);
	*size = 0;
	return MHD_YES;
}

static void relay_on_end(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode why)
{
	(void)cls, (void)mhd, (void)why;
	if (*context)
		relay_free(*context);
	*context = NULL;
}

/* Leaves the target as it came: no path of ours has an escape, and two ways to write one would be two policies. */
static size_t relay_on_unescape(void *cls, struct MHD_Connection *mhd, char *text)
{
	(void)cls, (void)mhd;
	return strlen(text);
}

struct MHD_Daemon *relay_listen(struct proxy *p, int fd, bool loopback, const char *cert, const char *key)
{
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (cert ? MHD_USE_TLS : 0);
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };

	return MHD_start_daemon(flags, 0, NULL, NULL, relay_on_request, p, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)RELAY_CONNECTIONS, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned)(loopback ? 0 : RELAY_CONNECTIONS / RELAY_CONNECTIONS_SHARE),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)RELAY_HEAD_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)RELAY_STRANGER_S, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
		MHD_OPTION_URI_LOG_CALLBACK, relay_new, p, MHD_OPTION_NOTIFY_COMPLETED, relay_on_end, NULL,
		MHD_OPTION_UNESCAPE_CALLBACK, relay_on_unescape, NULL, MHD_OPTION_ARRAY, cert ? tls : none,
		MHD_OPTION_END);
}

/* ---- Clients that go away, and time -------------------------------------------------------------- */

static bool relay_closed(const struct relay *x)
{
	struct tcp_info info;
	socklen_t len = sizeof info;

	return getsockopt(x->gone_watch.watch.fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0 ||
		info.tcpi_state != TCP_ESTABLISHED;
}

/* Something came from a client that waits: its end, or its next request, which has to wait. */
void relay_look(struct relay *x)
{
	loop_forget(x->proxy->loop, &x->gone_watch.watch);
	if (x->suspended && relay_closed(x))
		asking_left(x);
}

void relay_sweep(struct proxy *p)
{
	struct list *at, *tmp;

	list_each (at, tmp, &p->relays) {
		struct relay *x = list_entry(at, struct relay, link);

		if (x->suspended && !x->gone && relay_closed(x))
			asking_left(x);
		else if (x->deadline > p->now_ms || x->gone)
			continue;
		else if (x->errand || x->state == RELAY_COUNT)
			asking_late(x);
		else if (x->state != RELAY_HEAD || !x->suspended) {
			asking_left(x);
			shutdown(x->gone_watch.watch.fd, SHUT_RDWR);
		}
	}
}

/* No connection may be suspended when libmicrohttpd stops. */
void relay_leave_all(struct proxy *p)
{
	struct list *at, *tmp;

	list_each (at, tmp, &p->relays)
		asking_left(list_entry(at, struct relay, link));
}

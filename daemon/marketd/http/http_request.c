/* SPDX-License-Identifier: Apache-2.0 */
/* What libmicrohttpd calls: a request comes in piece by piece, and its answer leaves. */
#include <microhttpd.h>

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/str.h"
#include "market/ident.h"
#include "market/reason.h"
#include "marketd/http/http_head.h"
#include "marketd/http/http_hooks.h"

enum { DISCARD_MAX = 4 * HTTP_BODY_MAX };

static enum method method_of(const char *word)
{
	static const struct { const char *word; enum method method; } methods[] = {
		{ "GET", METHOD_GET }, { "HEAD", METHOD_GET }, { "POST", METHOD_POST }, { "PATCH", METHOD_PATCH },
		{ "PUT", METHOD_PUT }, { "DELETE", METHOD_DELETE },
	};

	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (strcmp(methods[i].word, word) == 0)
			return methods[i].method;
	return 0;
}

/* ---- Answering -------------------------------------------------------------------------- */

struct blob {
	struct http *http;
	char *data;
	size_t len;
};

static void blob_free(void *arg)
{
	struct blob *b = arg;

	b->http->metrics->answer_bytes -= (int64_t)b->len;
	b->http->freed_bytes += (int64_t)b->len;
	free(b->data);
	free(b);
}

static struct MHD_Response *blob_response(struct exchange *x)
{
	struct blob *b = calloc(1, sizeof *b);
	struct MHD_Response *response;

	if (!b)
		return NULL;
	b->http = x->http;
	b->len = x->r.body.len;
	b->data = b->len ? buf_steal(&x->r.body) : NULL;
	x->http->metrics->answer_bytes += (int64_t)b->len;
	response = MHD_create_response_from_buffer_with_free_callback_cls(b->len, b->data, blob_free, b);
	if (!response)
		blob_free(b);
	return response;
}

static void allow_header(struct MHD_Response *response, int allow)
{
	static const char *const words[] = { "GET, HEAD", "POST", "PATCH", "PUT", "DELETE" };
	char text[64] = "";
	size_t at = 0;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (allow & (1 << i))
			at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", at ? ", " : "", words[i]);
	MHD_add_response_header(response, "Allow", text);
}

/* A market on a test clock tells its own time, and the library leaves a Date that is there. */
static void date_header(const struct exchange *x, struct MHD_Response *response)
{
	time_t now = (time_t)market_now(x->http->api->market);
	char text[64];
	struct tm tm;

	if (x->http->api->test_clock && gmtime_r(&now, &tm) &&
		strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		MHD_add_response_header(response, MHD_HTTP_HEADER_DATE, text);
}

static void own_headers(const struct exchange *x, struct MHD_Response *response)
{
	char text[HEADERS_TEXT], *line = text, *end, *value;

	memcpy(text, x->r.headers, sizeof text);
	for (; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		value = strchr(line, ':');
		*value = '\0';
		MHD_add_response_header(response, line, value + 2);
	}
}

static void add_headers(const struct exchange *x, struct MHD_Response *response)
{
	char number[24];

	MHD_add_response_header(response, "X-Request-Id", x->id);
	MHD_add_response_header(response, "Nanopod-Market", "1");
	date_header(x, response);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (x->file)
		webpage_headers(x, response);
	else
		MHD_add_response_header(response, "Cache-Control", "no-store");
	if (x->r.status != 204 && x->r.status != 304)
		MHD_add_response_header(response, "Content-Type", x->r.type ? x->r.type : "application/json");
	if (x->r.retry_after) {
		snprintf(number, sizeof number, "%d", x->r.retry_after);
		MHD_add_response_header(response, "Retry-After", number);
	}
	if (x->r.replayed)
		MHD_add_response_header(response, "Idempotent-Replayed", "true");
	own_headers(x, response);
	if (x->r.session_life)
		cookie_header(x, response);
	if (x->r.status == 401)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	if (x->r.status == 405)
		allow_header(response, x->r.allow);
	if (x->http->quiet || x->conn->listener->fd < 0)
		MHD_add_response_header(response, "Connection", "close");
}

/* Only what this side knows: a path holds no secret, and headers and bodies are not told. */
static void tell_request(const struct exchange *x)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(x->conn->mhd,
		MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	char from[INET6_ADDRSTRLEN + 1] = "the socket", who[IDENT_TEXT] = "nobody", account[IDENT_TEXT] = "";
	const struct sockaddr *a = x->client.ss_family ? (const struct sockaddr *)&x->client
		: x->conn->listener->local || !info    ? NULL
						       : info->client_addr;
	bool page = x->target && str_starts(x->target, "/?"); /* its query may have a code of the issuer */
	int64_t micros = clock_us() - x->started_us;

	if (a && a->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr, from, sizeof from);
	else if (a && a->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, from, sizeof from);
	if (x->q.agent)
		ident_text(IDENT_AGENT, x->q.agent, who);
	else if (x->q.token)
		ident_text(IDENT_TOKEN, x->q.token, who);
	else if (x->q.local)
		snprintf(who, sizeof who, "the operator");
	if (x->q.account)
		ident_text(IDENT_ACCOUNT, x->q.account, account);
	log_say(x->http->log, x->http->log->level,
		"request %s: %s %.600s %d, %" PRId64 ".%03" PRId64 " ms, by %s%s%s from %s", x->id,
		metrics_method(x->q.method),
		page                ? "/"
			: x->target ? x->target
				    : "?",
		x->r.status, micros / 1000, micros % 1000, who, *account ? " of " : "", account, from);
}

static enum MHD_Result send_answer(struct exchange *x)
{
	struct http *h = x->http;
	struct MHD_Response *response;
	enum MHD_Result done;

	/* Small answers still leave: one client's large ones must not hide from another what became of an order. */
	if (!x->r.changed && x->r.body.len > ANSWER_SMALL &&
		h->metrics->answer_bytes + (int64_t)x->r.body.len > ANSWERS_MAX) {
		x->r.retry_after = 5;
		exchange_refuse(x, REASON_UNAVAILABLE, "too many large answers are under way; this one was dropped");
	}
	conn_state_set(x->conn, x->r.stream ? CONN_STREAM : CONN_ANSWER);
	metrics_request(h->metrics, x->r.route, x->r.status, clock_us() - x->started_us);
	if (h->tells)
		tell_request(x);
	response = x->file ? webpage_response(x) : x->r.stream ? stream_response(x) : blob_response(x);
	if (!response)
		return MHD_NO;
	x->state = EXCHANGE_SENT;
	add_headers(x, response);
	done = MHD_queue_response(x->conn->mhd, (unsigned)x->r.status, response);
	MHD_destroy_response(response);
	return done;
}

static void http_request_suspend(struct exchange *x, enum exchange_state state, struct list *where)
{
	x->state = state;
	list_append(where, &x->link);
	x->suspended = true;
	conn_state_set(x->conn, CONN_WAIT);
	MHD_suspend_connection(x->conn->mhd);
}

/* The request is complete. An answer that changed something, or saw what is not on disk yet, waits for the commit. */
static enum MHD_Result ask_and_send(struct exchange *x)
{
	struct http *h = x->http;

	exchange_ask(x);
	if ((x->r.wait || x->r.stream) && !waiting_admit(x))
		exchange_refuse(x, REASON_LIMIT, "too many requests wait for events; close one first");
	if (x->r.changed || market_dirty(h->api->market)) {
		http_request_suspend(x, EXCHANGE_COMMIT, &h->turn);
	} else if (x->r.wait) {
		x->deadline = h->now_ms + x->r.wait_ms;
		http_request_suspend(x, EXCHANGE_WAIT, waiting_place(x));
	} else {
		return send_answer(x);
	}
	return MHD_YES;
}

/* ---- What libmicrohttpd calls ------------------------------------------------------------ */

/*
 * Whether it is refused before its body. A client that does not wait for our word (Expect) may find its connection
 * reset while it sends, and never read why: of one that is not far too large all is read.
 */
static bool http_request_too_long(const struct exchange *x, const char *length)
{
	return strlen(length) > 9 ||
		strtol(length, NULL, 10) > (exchange_header(x, "Expect") ? HTTP_BODY_MAX : DISCARD_MAX);
}

static enum MHD_Result http_request_take_head(struct exchange *x, const char *method, const char *version)
{
	const char *length = exchange_header(x, "Content-Length");
	const char *chunked = exchange_header(x, "Transfer-Encoding");
	const char *fault = head_fault(x->conn->mhd, method, x->target ? x->target_at : NULL,
		x->target ? strlen(x->target) : 0, version);

	x->state = EXCHANGE_BODY;
	x->q.method = method_of(method);
	x->head = strcmp(method, "HEAD") == 0;
	conn_state_set(x->conn, CONN_BODY);
	if (x->conn->refused) {
		x->fault = REASON_FORBIDDEN;
		x->fault_text = "this socket is only for the market's user and root";
		return ask_and_send(x);
	}
	if (fault) {
		x->fault = REASON_MALFORMED;
		x->fault_text = fault;
		return ask_and_send(x);
	}
	if (length && http_request_too_long(x, length)) {
		x->fault = REASON_TOO_LARGE;
		return ask_and_send(x);
	}
	if (!length && !chunked)
		return MHD_YES;
	if (exchange_head(x))
		upload_begin(x, exchange_owner(x));
	/* Who waits for our word before the body hears at once that it will not be read. */
	if (!x->room && exchange_header(x, "Expect"))
		return ask_and_send(x);
	return MHD_YES;
}

static enum MHD_Result http_request_take_body(struct exchange *x, const char *data, size_t len)
{
	if (x->state != EXCHANGE_BODY)
		return MHD_YES; /* it already has an answer */
	x->taken += len;
	if (x->taken > DISCARD_MAX)
		return MHD_NO;
	upload_take(x, data, len);
	return MHD_YES;
}

enum MHD_Result hook_request(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
	const char *version, const char *data, size_t *len, void **context)
{
	struct exchange *x = *context;
	size_t n = *len;

	(void)cls, (void)mhd, (void)url;
	if (!x)
		return MHD_NO;
	if (x->state == EXCHANGE_HEAD)
		return http_request_take_head(x, method, version);
	*len = 0;
	if (n)
		return http_request_take_body(x, data, n);
	if (x->state == EXCHANGE_BODY)
		return ask_and_send(x);
	if (x->state == EXCHANGE_READY && x->r.wait) {
		/* Its batch is on disk, but there is nothing to send yet. */
		x->deadline = x->http->now_ms + x->r.wait_ms;
		http_request_suspend(x, EXCHANGE_WAIT, waiting_place(x));
		return MHD_YES;
	}
	return x->state == EXCHANGE_READY ? send_answer(x) : MHD_YES;
}

void hook_completed(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode how)
{
	struct exchange *x = *context;

	(void)cls, (void)mhd, (void)how;
	if (!x)
		return;
	*context = NULL;
	x->conn->used = true;
	conn_state_set(x->conn, CONN_IDLE);
	waiting_release(x);
	exchange_free(x);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One request from its first line to its answer, as libmicrohttpd hands it out piece by piece. */
#include <microhttpd.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/auth.h"
#include "marketd/http_hooks.h"
#include "market/reason.h"

enum { DISCARD_MAX = 4 * HTTP_BODY_MAX, DEPTH_MAX = 32 };

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

/* Not secret, but no two alike, also over a restart: ids starts at random. */
static void make_id(struct http *h, char room[REQUEST_ID])
{
	uint64_t x = h->ids += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	snprintf(room, REQUEST_ID, "req_%016llx", (unsigned long long)(x ^ (x >> 31)));
}

static const char *header(const struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->conn->mhd, MHD_HEADER_KIND, name);
}

void *exchange_begin(void *cls, const char *target, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct conn *c = info ? info->socket_context : NULL;
	struct exchange *x = c ? calloc(1, sizeof *x) : NULL;

	(void)cls;
	if (!x)
		return NULL;
	list_init(&x->link);
	x->conn = c;
	x->http = c->http;
	x->target = strdup(target);
	x->started_us = http_now_us();
	x->deadline = INT64_MAX;
	buf_init(&x->upload, HTTP_BODY_MAX);
	buf_init(&x->r.body, ANSWER_MAX);
	make_id(c->http, x->id);
	x->q.id = x->id;
	conn_state_set(c, CONN_HEAD);
	return x;
}

void exchange_free(struct exchange *x)
{
	list_remove(&x->link);
	waiting_release(x);
	json_decref(x->q.body);
	buf_release(&x->upload);
	buf_release(&x->r.body);
	uri_release(&x->uri);
	free(x->target);
	free(x);
}

void exchange_refuse(struct exchange *x, int reason, const char *text)
{
	x->r.wait = x->r.stream = x->r.replayed = x->r.changed = false;
	x->r.type = NULL;
	if (reason == REASON_UNAVAILABLE && !x->r.retry_after)
		x->r.retry_after = 1;
	api_refuse(&x->q, &x->r, reason, NULL, "%s", text ? text : reason_row(reason)->text);
}

/* ---- Asking the API --------------------------------------------------------------------- */

/* Brackets within brackets cost a parser its stack: they are counted before it sees them. */
static bool too_deep(const char *text, size_t len)
{
	bool quoted = false;
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		if (quoted) {
			if (text[i] == '\\')
				i++;
			else if (text[i] == '"')
				quoted = false;
		} else if (text[i] == '"') {
			quoted = true;
		} else if (text[i] == '[' || text[i] == '{') {
			if (++depth > DEPTH_MAX)
				return true;
		} else if (text[i] == ']' || text[i] == '}') {
			depth--;
		}
	}
	return false;
}

static bool parse_body(struct exchange *x)
{
	json_error_t why;

	if (x->upload.len == 0)
		return true;
	if (too_deep(buf_text(&x->upload), x->upload.len)) {
		exchange_refuse(x, REASON_MALFORMED, "the body is nested too deep");
		return false;
	}
	x->q.body = json_loadb(buf_text(&x->upload), x->upload.len, JSON_REJECT_DUPLICATES, &why);
	buf_release(&x->upload);
	if (!x->q.body)
		api_refuse(&x->q, &x->r, REASON_MALFORMED, NULL, "the body is not JSON, in line %d: %s", why.line, why.text);
	return x->q.body;
}

/* The target and the headers into the request. */
static bool read_head(struct exchange *x)
{
	struct request *q = &x->q;
	int rc = x->target ? uri_parse(x->target, &x->uri) : -ENOMEM;

	if (rc != 0) {
		exchange_refuse(x, rc == -ENOMEM ? REASON_UNAVAILABLE : rc == -E2BIG ? REASON_TOO_LARGE : REASON_MALFORMED,
			rc == -ENOMEM ? "memory is short; nothing was done" : "the request's path and query are not of a form that this takes");
		return false;
	}
	q->path = x->uri.path;
	q->query_count = x->uri.query_count;
	for (size_t i = 0; i < q->query_count; i++) {
		q->query[i].name = x->uri.query[i].name;
		q->query[i].value = x->uri.query[i].value;
	}
	q->idempotency_key = header(x, "Idempotency-Key");
	q->accept = header(x, "Accept");
	q->last_event_id = header(x, "Last-Event-ID");
	q->local = x->conn->listener->local;
	if (!q->local)
		auth_header(market_engine(x->http->api->market), header(x, "Authorization"), market_now(x->http->api->market), q);
	return true;
}

static bool too_often(struct exchange *x, struct limit *limit, uint64_t key)
{
	int retry = 1;

	if (limit_take(limit, key, x->http->now_ms, &retry))
		return false;
	x->http->metrics->rate_limited++;
	x->r.retry_after = retry;
	exchange_refuse(x, REASON_RATE, NULL);
	return true;
}

/* Tokens by their id, who has none by the address. */
static uint64_t rate_key(const struct exchange *x)
{
	return x->q.token ? x->q.token : x->conn->address | (uint64_t)1 << 63;
}

static void clear_reply(struct exchange *x)
{
	struct buf body = x->r.body;

	buf_clear(&body);
	x->r = (struct reply){ .body = body };
	x->taken = 0;
}

void exchange_ask(struct exchange *x)
{
	struct http *h = x->http;
	bool first = x->state == EXCHANGE_BODY;

	clear_reply(x);
	if (x->fault) {
		exchange_refuse(x, x->fault, x->fault_text);
		return;
	}
	if (first && !read_head(x))
		return;
	if (!first)
		auth_again(market_engine(h->api->market), market_now(h->api->market), &x->q);
	if (first && !x->q.local && too_often(x, h->rate, rate_key(x)))
		return;
	if (first && (x->q.local || x->q.scopes) && !parse_body(x))
		return;
	x->seen = h->commits;
	api_answer(h->api, &x->q, &x->r);
	if (x->r.resume)
		x->q.resume = x->r.resume;
	if (x->r.status == 401) {
		h->metrics->auth_failed++;
		if (first)
			too_often(x, h->failures, x->conn->address);
	}
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

static void add_headers(const struct exchange *x, struct MHD_Response *response)
{
	char number[24];

	MHD_add_response_header(response, "X-Request-Id", x->id);
	MHD_add_response_header(response, "Nanopod-Market", "1");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	if (x->r.status != 204)
		MHD_add_response_header(response, "Content-Type", x->r.type ? x->r.type : "application/json");
	if (x->r.retry_after) {
		snprintf(number, sizeof number, "%d", x->r.retry_after);
		MHD_add_response_header(response, "Retry-After", number);
	}
	if (x->r.replayed)
		MHD_add_response_header(response, "Idempotent-Replayed", "true");
	if (x->r.status == 401)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	if (x->r.status == 405)
		allow_header(response, x->r.allow);
	if (x->http->quiet || x->conn->listener->fd < 0)
		MHD_add_response_header(response, "Connection", "close");
}

static enum MHD_Result send_answer(struct exchange *x)
{
	struct http *h = x->http;
	struct MHD_Response *response;
	enum MHD_Result done;

	if (h->metrics->answer_bytes + (int64_t)x->r.body.len > ANSWERS_MAX) {
		x->r.retry_after = 5;
		exchange_refuse(x, REASON_UNAVAILABLE, "too many large answers are under way; this one was not kept");
	}
	conn_state_set(x->conn, x->r.stream ? CONN_STREAM : CONN_ANSWER);
	metrics_request(h->metrics, x->r.route, x->r.status, http_now_us() - x->started_us);
	response = x->r.stream ? stream_response(x) : blob_response(x);
	if (!response)
		return MHD_NO;
	x->state = EXCHANGE_SENT;
	add_headers(x, response);
	done = MHD_queue_response(x->conn->mhd, (unsigned)x->r.status, response);
	MHD_destroy_response(response);
	return done;
}

static void suspend(struct exchange *x, enum exchange_state state, struct list *where)
{
	x->state = state;
	list_append(where, &x->link);
	x->suspended = true;
	conn_state_set(x->conn, CONN_WAIT);
	MHD_suspend_connection(x->conn->mhd);
}

void exchange_ready(struct exchange *x)
{
	list_remove(&x->link);
	if (x->state != EXCHANGE_SENT)
		x->state = EXCHANGE_READY;
	if (!x->suspended)
		return;
	x->suspended = false;
	x->http->resumed = true;
	MHD_resume_connection(x->conn->mhd);
}

/* All of it is there. What changed something, or saw what is not on disk yet, waits for the commit. */
static enum MHD_Result ask_and_send(struct exchange *x)
{
	struct http *h = x->http;

	exchange_ask(x);
	if ((x->r.wait || x->r.stream) && !waiting_admit(x))
		exchange_refuse(x, REASON_LIMIT, "too many requests wait for events; end one first");
	if (x->r.changed || market_dirty(h->api->market)) {
		suspend(x, EXCHANGE_COMMIT, &h->turn);
	} else if (x->r.wait) {
		x->deadline = h->now_ms + x->r.wait_ms;
		suspend(x, EXCHANGE_WAIT, &h->parked);
	} else {
		return send_answer(x);
	}
	return MHD_YES;
}

/* ---- What libmicrohttpd calls ------------------------------------------------------------ */

static enum MHD_Result take_head(struct exchange *x, const char *method)
{
	const char *length = header(x, "Content-Length");

	x->state = EXCHANGE_BODY;
	x->q.method = method_of(method);
	x->head = strcmp(method, "HEAD") == 0;
	conn_state_set(x->conn, CONN_BODY);
	if (x->conn->refused) {
		x->fault = REASON_FORBIDDEN;
		x->fault_text = "this socket is for the market's own user and for root";
		return ask_and_send(x);
	}
	if (length && header(x, "Transfer-Encoding")) {
		/* A proxy may have read the one and passed on the other: two requests to one of us. */
		x->fault = REASON_MALFORMED;
		x->fault_text = "a request has a length or is chunked, not both";
		return ask_and_send(x);
	}
	if (length && (strlen(length) > 9 || strtol(length, NULL, 10) > HTTP_BODY_MAX)) {
		x->fault = REASON_TOO_LARGE;
		return ask_and_send(x);
	}
	return MHD_YES;
}

static enum MHD_Result take_body(struct exchange *x, const char *data, size_t len)
{
	if (x->state != EXCHANGE_BODY)
		return MHD_YES;  /* an answer is there already */
	x->taken += len;
	if (x->taken > DISCARD_MAX)
		return MHD_NO;
	if (!x->fault && buf_add(&x->upload, data, len) != 0) {
		x->fault = x->taken > HTTP_BODY_MAX ? REASON_TOO_LARGE : REASON_UNAVAILABLE;
		buf_release(&x->upload);
	}
	return MHD_YES;
}

enum MHD_Result hook_request(void *cls, struct MHD_Connection *mhd, const char *url, const char *method, const char *version,
	const char *data, size_t *len, void **context)
{
	struct exchange *x = *context;
	size_t n = *len;

	(void)cls, (void)mhd, (void)url, (void)version;
	if (!x)
		return MHD_NO;
	if (x->state == EXCHANGE_HEAD)
		return take_head(x, method);
	*len = 0;
	if (n)
		return take_body(x, data, n);
	if (x->state == EXCHANGE_BODY)
		return ask_and_send(x);
	if (x->state == EXCHANGE_READY && x->r.wait) {
		/* Its batch is on disk, but there is nothing to tell yet. */
		x->deadline = x->http->now_ms + x->r.wait_ms;
		suspend(x, EXCHANGE_WAIT, &x->http->parked);
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
	exchange_free(x);
}

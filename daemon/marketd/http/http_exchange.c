/* SPDX-License-Identifier: Apache-2.0 */
/* One request with its answer, from its first line until both are gone. Asks the API, again if need be. */
#include <microhttpd.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "market/reason.h"
#include "marketd/api/authorize.h"
#include "marketd/http/http_head.h"
#include "marketd/http/http_own.h"
#include "marketd/http/jsonbounds.h"
#include "marketd/http/listen.h"

enum { DEPTH_MAX = 32, LONG_US = 2000, UNIT_US = 250 };

/* Request ids are not secret, but unique even across restarts: they start at random. */
static void make_id(struct http *h, char room[REQUEST_ID])
{
	uint64_t x = h->ids += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	snprintf(room, REQUEST_ID, "req_%016llx", (unsigned long long)(x ^ (x >> 31)));
}

const char *exchange_header(const struct exchange *x, const char *name)
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
	list_init(&x->older);
	x->conn = c;
	x->http = c->http;
	x->target = strdup(target);
	x->target_at = target;
	x->started_us = clock_us();
	x->deadline = INT64_MAX;
	x->q.tick = true;
	x->q.address = c->address;
	buf_init(&x->upload, HTTP_BODY_MAX);
	buf_init(&x->r.body, ANSWER_MAX);
	make_id(c->http, x->id);
	x->q.id = x->id;
	conn_state_set(c, CONN_HEAD);
	return x;
}

void exchange_free(struct exchange *x)
{
	assert(!x->counted && !x->suspended);
	list_remove(&x->link);
	json_decref(x->q.body);
	upload_release(x);
	buf_release(&x->r.body);
	explicit_bzero(x->r.session, sizeof x->r.session);
	uri_release(&x->uri);
	free(x->target);
	free(x);
}

void exchange_refuse(struct exchange *x, int reason, const char *text)
{
	x->file = NULL;
	x->r.wait = x->r.stream = x->r.steady = x->r.replayed = x->r.changed = false;
	x->r.type = NULL;
	x->r.session_life = 0;
	x->r.headers[0] = '\0';
	if ((reason == REASON_UNAVAILABLE || reason == REASON_RATE) && !x->r.retry_after)
		x->r.retry_after = 1;
	api_refuse(&x->q, &x->r, reason, NULL, "%s", text ? text : reason_row(reason)->text);
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

/* ---- Asking the API --------------------------------------------------------------------- */

static bool parse_body(struct exchange *x)
{
	json_error_t why;

	upload_end(x);
	if (x->upload.len == 0)
		return true;
	if (x->raw) {
		x->q.raw = buf_text(&x->upload);
		x->q.raw_len = x->upload.len;
		return true;
	}
	if (!json_bounded(buf_text(&x->upload), x->upload.len, DEPTH_MAX, SIZE_MAX)) {
		exchange_refuse(x, REASON_MALFORMED, "the body is nested too deep");
		return false;
	}
	x->q.body = json_loadb(buf_text(&x->upload), x->upload.len, JSON_REJECT_DUPLICATES, &why);
	upload_release(x);
	if (!x->q.body)
		api_refuse(&x->q, &x->r, REASON_MALFORMED, NULL, "the body is not JSON: line %d: %s", why.line,
			why.text);
	return x->q.body;
}

static bool exchange_read_target(struct exchange *x)
{
	struct request *q = &x->q;
	int rc = x->target ? uri_parse(x->target, &x->uri) : -ENOMEM;

	if (rc != 0) {
		exchange_refuse(x,
			rc == -ENOMEM          ? REASON_UNAVAILABLE
				: rc == -E2BIG ? REASON_TOO_LARGE
					       : REASON_MALFORMED,
			rc == -ENOMEM ? "the market is out of memory; nothing was done"
				      : "the request's path or query is malformed");
		return false;
	}
	q->path = x->uri.path;
	q->query_count = x->uri.query_count;
	for (size_t i = 0; i < q->query_count; i++) {
		q->query[i].name = x->uri.query[i].name;
		q->query[i].value = x->uri.query[i].value;
	}
	return true;
}

/* nginx and APISIX have a name each. */
static const char *exchange_forwarded(struct exchange *x, const char *nginx, const char *apisix)
{
	const char *value = exchange_header(x, nginx);

	return value ? value : exchange_header(x, apisix);
}

static void exchange_original(struct exchange *x)
{
	x->q.original.method = exchange_forwarded(x, "X-Original-Method", "X-Forwarded-Method");
	x->q.original.host = exchange_forwarded(x, "X-Original-Host", "X-Forwarded-Host");
	x->q.original.path = exchange_forwarded(x, "X-Original-URI", "X-Forwarded-Uri");
}

static void exchange_client(struct exchange *x)
{
	struct buf list;

	if (!x->conn->proxied || x->client.ss_family)
		return;
	buf_init(&list, HTTP_HEAD_MAX);
	head_forwarded(x->conn->mhd, &list);
	if (list.len && trusted_client(&x->http->set.trusted, buf_text(&list), &x->client))
		x->q.address = listen_address_key((const struct sockaddr *)&x->client);
	buf_release(&list);
}

/* Asked again after the body came, which may have taken long: the token may have ended meanwhile. */
bool exchange_head(struct exchange *x)
{
	struct request *q = &x->q;

	if (!q->path && !exchange_read_target(x))
		return false;
	q->idempotency_key = exchange_header(x, "Idempotency-Key");
	q->accept = exchange_header(x, "Accept");
	q->last_event_id = exchange_header(x, "Last-Event-ID");
	q->authorization = exchange_header(x, "Authorization");
	q->if_none_match = exchange_header(x, "If-None-Match");
	q->signature = exchange_header(x, "Stripe-Signature");
	exchange_original(x);
	exchange_client(x);
	q->local = x->conn->listener->local;
	if (q->local || cookie_take(x))
		return true;
	exchange_refuse(x, REASON_FORBIDDEN,
		"another page sent this with the cookie of this market's page; nothing was done");
	return false;
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

/* Limits the rate by account, however many tokens it has; strangers by address. */
uint64_t exchange_owner(const struct exchange *x)
{
	if (x->q.agent)
		return x->q.agent | (uint64_t)1 << 62; /* a thousand agents of one account are each within the limit */
	return x->q.token ? x->q.account : x->q.address | (uint64_t)1 << 63;
}

static int64_t worked_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/*
 * One loop serves everybody, so a request that holds it for long counts as many: a client that lists
 * thousands of things over and over must not take all of the market's time.
 */
static void ask_api(struct exchange *x)
{
	struct http *h = x->http;
	uint64_t key = exchange_owner(x); /* before ?account= changes the account */
	int64_t took, started = worked_us();

	api_answer(h->api, &x->q, &x->r);
	took = worked_us() - started;
	if (!x->q.local && took >= LONG_US)
		limit_charge(h->rate, key, h->now_ms, took / UNIT_US);
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
	bool first = x->state == EXCHANGE_BODY, away = x->r.away; /* away: what others said is the answer */

	clear_reply(x);
	if (x->fault) {
		exchange_refuse(x, x->fault, x->fault_text);
		return;
	}
	if (first && !exchange_head(x))
		return;
	if (!first)
		auth_again(market_engine(h->api->market), market_now(h->api->market), &x->q);
	if (first && !x->q.local && too_often(x, h->rate, exchange_owner(x)))
		return;
	if (first && webpage_answer(x))
		return;
	if (first && !parse_body(x))
		return;
	x->seen = h->commits;
	x->q.failing = first && !limit_left(h->failures, x->q.address, h->now_ms);
	ask_api(x);
	if (x->r.resume)
		x->q.resume = x->r.resume;
	if (x->r.wait)
		x->q.waited = x->r.version;
	if (!x->r.wait && !x->r.stream) {
		/* Nobody asks again: what a large body became in memory must not wait for a slow client. */
		json_decref(x->q.body);
		x->q.body = NULL;
	}
	if (first && x->q.agent)
		conn_known(x->conn);
	if (x->r.status == 401) {
		h->metrics->auth_failed++;
		if (first || away)
			too_often(x, h->failures, x->q.address);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as requests to the whole API over a market in memory's stead (a database of its own in a
 * scratch folder), no sockets: "METHOD TARGET\nKEY\nBODY", requests parted by a line "%%". Whatever is asked, there is
 * one answer, of a status that HTTP has; errors are of one shape; nothing that was refused has changed the market.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "marketd/api/api.h"
#include "marketd/api/authorize.h"
#include "marketd/api/metrics.h"
#include "marketd/http/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { REQUESTS_MAX = 32, ANSWER_MAX = 8 << 20, FIRST = 1800000000 };

static struct api api;
static struct metrics metrics;
static char scratch[64];
static uint64_t token_account, token_id;

static void must(int rc, const struct fail *f)
{
	if (rc == 0)
		return;
	fprintf(stderr, "%s\n", f->text);
	abort();
}

static void clean_up(void)
{
	char path[128];

	api_close(&api);
	market_free(api.market);
	for (int i = 0; i < 4; i++) {
		static const char *const ends[] = { "", "-wal", "-shm", "-journal" };

		snprintf(path, sizeof path, "%s/market.db%s", scratch, ends[i]);
		unlink(path);
	}
	rmdir(scratch);
}

static uint64_t apply(struct event *ev)
{
	const struct effects *did = NULL;
	struct fail f = { 0 };

	must(market_apply(api.market, ev, &did, &f), &f);
	return effects_made(did);
}

/* A host on sale for ever after, of another account, and a pool to buy into. */
static void stock(void)
{
	uint64_t seller = apply(&(struct event){ .kind = EVENT_ACCOUNT, .name = "seller" });
	uint64_t sku = apply(&(struct event){ .kind = EVENT_SKU, .name = "h100", .text = "{}", .u.sku.gpus = 8 });
	uint64_t pool = apply(&(struct event){ .kind = EVENT_POOL,
		.account = seller,
		.name = "hosts",
		.u.pool.kind = POOL_ORIGINATING });
	uint64_t host = apply(&(struct event){ .kind = EVENT_HOST,
		.account = seller,
		.name = "h1",
		.u.host = { .sku = sku, .pool = pool, .start = FIRST / 60, .end = MINUTE_MAX } });

	apply(&(struct event){ .kind = EVENT_ORDER,
		.account = seller,
		.u.order = { .pool = pool,
			.sku = sku,
			.host = host,
			.side = SIDE_SELL,
			.flags = ORDER_STANDING | ORDER_PARTIAL,
			.nodes = 1,
			.start = FIRST / 60 + 1,
			.end = FIRST / 60 + 525600,
			.price = 20000 } });
	apply(&(struct event){ .kind = EVENT_POOL,
		.account = token_account,
		.name = "p1",
		.u.pool.kind = POOL_MARKET });
}

static void set_up(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[128];
	struct store *store;
	struct fail f = { 0 };

	snprintf(scratch, sizeof scratch, "%.40s/nanopod-fuzz.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(scratch))
		abort();
	snprintf(path, sizeof path, "%s/market.db", scratch);
	must(store_open(path, &store, &f), &f);
	must(market_open(store, &api.market, &f), &f);
	api.name = "fuzz";
	api.test_clock = true;
	api.metrics = &metrics;
	must(market_time(api.market, FIRST, &f), &f);
	token_account = apply(&(struct event){ .kind = EVENT_ACCOUNT, .name = "acme" });
	apply(&(struct event){ .kind = EVENT_CREDIT,
		.account = token_account,
		.subject = token_account,
		.u.credit.micros = 1000000000 });
	token_id = apply(&(struct event){ .kind = EVENT_TOKEN, .account = token_account, .name = "t",
		.u.token = { .hash = { 1 }, .scopes = AUTH_ALL & ~SCOPE_ADMIN } });
	stock();
	atexit(clean_up);
}

static enum method method_of(char c)
{
	return c == 'G'    ? METHOD_GET
		: c == 'P' ? METHOD_POST
		: c == 'A' ? METHOD_PATCH
		: c == 'U' ? METHOD_PUT
			   : METHOD_DELETE;
}

static void look_at(const struct request *q, const struct reply *r, uint64_t before)
{
	json_t *body = NULL;

	if (r->status < 200 || r->status > 599)
		abort();
	if (r->status >= 400) {
		body = json_loadb(buf_text(&r->body), r->body.len, 0, NULL);
		if (!body || !json_is_string(json_object_get(json_object_get(body, "error"), "code")) ||
			strcmp(json_string_value(json_object_get(body, "request_id")), q->id) != 0)
			abort();
	} else if (r->body.len && !r->type) {
		body = json_loadb(buf_text(&r->body), r->body.len, 0, NULL);
		if (!body)
			abort();
	}
	if (r->status >= 400 && r->status < 500 && engine_count(market_engine(api.market)) != before)
		abort();
	json_decref(body);
}

/* The first letter: the method; small: as the operator. */
static void one(char *text)
{
	char *key = strchr(text, '\n'), *body;
	uint64_t before = engine_count(market_engine(api.market));
	struct request q = { .id = "req_fuzz" };
	struct reply r = { 0 };
	struct uri uri;

	if (!key || strlen(text) < 3)
		return;
	*key++ = '\0';
	body = strchr(key, '\n');
	if (body)
		*body++ = '\0';
	if (uri_parse(text + 2, &uri) != 0)
		return;
	q.method = method_of(text[0] & ~0x20);
	q.local = text[0] & 0x20;
	if (!q.local) {
		q.account = token_account;
		q.token = token_id;
		q.scopes = AUTH_ALL & ~SCOPE_ADMIN;
	}
	q.path = uri.path;
	q.query_count = uri.query_count;
	for (size_t i = 0; i < uri.query_count; i++) {
		q.query[i].name = uri.query[i].name;
		q.query[i].value = uri.query[i].value;
	}
	q.idempotency_key = *key ? key : NULL;
	q.last_ask = true;
	q.body = body && *body ? json_loads(body, JSON_REJECT_DUPLICATES, NULL) : NULL;
	buf_init(&r.body, ANSWER_MAX);
	if (api_answer(&api, &q, &r) != r.status)
		abort();
	look_at(&q, &r, before);
	json_decref(q.body);
	buf_release(&r.body);
	uri_release(&uri);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *at;
	struct fail f = { 0 };

	if (!text)
		abort();
	if (!api.market)
		set_up();
	memcpy(text, data, size);
	text[size] = '\0';
	at = text;
	for (int i = 0; at && i < REQUESTS_MAX; i++) {
		char *next = strstr(at, "\n%%\n");

		if (next)
			*next = '\0';
		one(at);
		at = next ? next + 4 : NULL;
	}
	must(market_commit(api.market, &f), &f);
	api_committed(&api, false);
	free(text);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every route, without a socket: who may, what is asked, and that a key is used once. */
#include <jansson.h>
#include <unistd.h>

#include "market/reason.h"
#include "marketd/api/api.h"
#include "marketd/api/authorize.h"

#include "../../lib/tap.h"

enum { FIRST = 1800000000 };

static struct api api;
static char scratch[64];
static uint64_t acme, other;
static struct reply r;
static bool kept_body;

static uint64_t apply(struct event *ev)
{
	const struct effects *did = NULL;
	struct fail f = { 0 };

	if (market_apply(api.market, ev, &did, &f) != 0) {
		diag("%s", f.text);
		exit(1);
	}
	return effects_made(did);
}

static bool open_market(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[128];
	struct store *store;
	struct fail f = { 0 };

	snprintf(scratch, sizeof scratch, "%.40s/nanopod-route.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(scratch))
		return false;
	snprintf(path, sizeof path, "%s/market.db", scratch);
	if (store_open(path, &store, &f) != 0 || market_open(store, &api.market, &f) != 0 ||
		market_time(api.market, FIRST, &f) != 0) {
		diag("%s", f.text);
		return false;
	}
	api.name = "test";
	acme = apply(&(struct event){ .kind = EVENT_ACCOUNT, .name = "acme" });
	other = apply(&(struct event){ .kind = EVENT_ACCOUNT, .name = "other" });
	return true;
}

static void close_market(void)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char path[128];

	buf_release(&r.body);
	api_close(&api);
	market_free(api.market);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/market.db%s", scratch, ends[i]);
		unlink(path);
	}
	rmdir(scratch);
}

/* as: 'o' the operator, 'a' a token of acme with all but admin, 'b' one of other, 'r' one that reads, ' ' nobody. */
static int ask(char as, enum method method, const char *path, const char *key, const char *body)
{
	struct request q = { .id = "req_test", .method = method, .path = path, .idempotency_key = key };
	json_t *sent = body ? json_loads(body, 0, NULL) : NULL;
	int status;

	q.local = as == 'o';
	q.account = as == 'o' || as == ' ' ? 0 : as == 'b' ? other : acme;
	q.scopes = as == 'o' || as == ' ' ? 0 : as == 'r' ? SCOPE_READ : AUTH_ALL & ~SCOPE_ADMIN;
	q.body = sent;
	buf_release(&r.body);
	r = (struct reply){ 0 };
	buf_init(&r.body, 8 << 20);
	status = api_answer(&api, &q, &r);
	kept_body = q.body == sent;
	json_decref(sent);
	return status;
}

static void query(const char *name, const char *value, const char *name2, const char *value2, char as, int status)
{
	struct request q = { .id = "req_test", .method = METHOD_GET, .path = "/v2/pools", .local = as == 'o' };

	if (as == 'a') {
		q.account = acme;
		q.scopes = SCOPE_READ;
	}
	q.query[q.query_count].name = name;
	q.query[q.query_count++].value = value;
	if (name2) {
		q.query[q.query_count].name = name2;
		q.query[q.query_count++].value = value2;
	}
	buf_release(&r.body);
	r = (struct reply){ 0 };
	buf_init(&r.body, 8 << 20);
	is_int(api_answer(&api, &q, &r), status, "?%s=%s%s%s by %c", name, value, name2 ? " and " : "",
		name2 ? name2 : "", as);
}

#define POOL "{\"name\":\"p\",\"workspace\":\"sfc:workspace:acme:default\"}"
#define OTHER_ORDER "{\"workspace\":\"sfc:workspace:acme:default\",\"name\":\"p\"}"
#define POOL2 "{\"name\":\"p2\",\"workspace\":\"sfc:workspace:acme:default\"}"
#define POOL_B "{\"name\":\"p\",\"workspace\":\"sfc:workspace:other:default\"}"

static void test_keys(void)
{
	char *first;
	uint64_t count;
	struct fail f = { 0 };

	is_int(ask('a', METHOD_POST, "/v2/pools", "k", "{\"name\":\"p\"}"), 422,
		"what is refused does not use its key");
	is_int(ask('a', METHOD_POST, "/v2/pools", "k", POOL), 201, "so it may come again, and be good");
	ok(r.changed && !r.replayed, "it changed something, for the first time");
	first = strdup(buf_text(&r.body));
	count = engine_count(market_engine(api.market));
	is_int(ask('a', METHOD_POST, "/v2/pools", "k", POOL), 201, "in the same turn again");
	is_str(buf_text(&r.body), first, "the same answer");
	ok(r.replayed && r.changed, "which waits for the same commit");
	is_int(ask('a', METHOD_POST, "/v2/pools", "k", OTHER_ORDER), 201, "its fields may come in another order");
	is_int(ask('a', METHOD_POST, "/preview/v2/pools", "k", POOL), 201, "and by its other path");
	ok(r.replayed, "it is the same request");
	is_int(ask('a', METHOD_POST, "/v2/pools", "k", POOL2), 409, "another body is refused");
	has_str(buf_text(&r.body), "idempotency_key_reused", "and why");
	is_int((intmax_t)engine_count(market_engine(api.market)), (intmax_t)count, "nothing happened twice");
	is_int(ask('b', METHOD_POST, "/v2/pools", "k", POOL_B), 201, "the key of another account is another key");
	ok(!r.replayed, "so this was done");
	is_int(market_commit(api.market, &f), 0, "on disk");
	api_committed(&api, false);
	is_int(ask('a', METHOD_POST, "/v2/pools", "k", POOL), 201, "after the commit, again");
	is_str(buf_text(&r.body), first, "the same answer");
	ok(r.replayed && !r.changed, "which need not wait");
	is_int(ask('a', METHOD_POST, "/v2/pools", "k", POOL2), 409, "and another body is refused still");
	is_int(ask('a', METHOD_POST, "/v2/pools", "", POOL2), 422, "an empty key is none");
	is_int(ask('a', METHOD_POST, "/v2/pools", "k\x01", POOL2), 422, "nor one that cannot be printed");
	free(first);
}

/* A token is told once: it is not kept, so under the same key there is another. */
static void test_secrets(void)
{
	char *first;

	is_int(ask('a', METHOD_POST, "/np/v1/tokens", "s", "{\"scopes\":[\"read\"]}"), 201, "a token under a key");
	first = strdup(buf_text(&r.body));
	is_int(ask('a', METHOD_POST, "/np/v1/tokens", "s", "{\"scopes\":[\"read\"]}"), 201, "and again");
	ok(!r.replayed && strcmp(buf_text(&r.body), first) != 0, "is another one: secrets are not kept");
	free(first);
}

static void test_who(void)
{
	is_int(ask(' ', METHOD_GET, "/healthz", NULL, NULL), 200, "everybody may ask how it is");
	is_int(ask(' ', METHOD_GET, "/v2/pools", NULL, NULL), 401, "and nothing else");
	is_int(ask('r', METHOD_GET, "/v2/pools", NULL, NULL), 200, "who may read reads");
	is_int(ask('r', METHOD_POST, "/v2/pools", NULL, POOL2), 403, "and does not write");
	is_int(ask('a', METHOD_POST, "/np/v1/accounts", NULL, "{\"name\":\"x\"}"), 403, "only an admin makes accounts");
	is_int(ask('o', METHOD_POST, "/np/v1/accounts", NULL, "{\"name\":\"x\"}"), 201, "such as the operator");
}

static void test_paths(void)
{
	is_int(ask('a', METHOD_GET, "/v2/nothing", NULL, NULL), 404, "no such path");
	is_int(ask('a', METHOD_GET, "/v2/pools/", NULL, NULL), 404, "a part that is empty is none");
	is_int(ask('a', METHOD_GET, "/v2/pools/a/b/c/d/e/f/g/h/i/j/k/l/m/n", NULL, NULL), 404, "however long");
	is_int(ask('a', METHOD_GET, "v2/pools", NULL, NULL), 404, "nor one without a beginning");
	is_int(ask('a', METHOD_PUT, "/v2/pools", NULL, NULL), 405, "a method that it does not take");
	is_int(r.allow, METHOD_GET | METHOD_POST, "and those that it does");
	is_int(ask('a', METHOD_GET, "/v2/instance_skus/availability", NULL, NULL), 200, "words before parts");
	is_int(ask('a', METHOD_GET, "/preview/v2/pools", NULL, NULL), 200, "/preview/v2 is /v2");
	is_int(ask('a', METHOD_GET, "/preview/np/v1", NULL, NULL), 404, "and nothing else is");
}

static void test_bodies(void)
{
	is_int(ask('a', METHOD_POST, "/v2/pools", NULL, NULL), 422, "a body that must be there");
	ok(kept_body, "(the request is left as it was)");
	has_str(buf_text(&r.body), "\"field\":\"workspace\"", "its missing field is named");
	is_int(ask('a', METHOD_POST, "/v2/pools", NULL, "{\"workspace\":5}"), 422, "one of another type");
	is_int(ask('a', METHOD_POST, "/v2/pools", NULL, "{\"workspace\":\"sfc:workspace:acme:default\",\"x\":1}"), 422,
		"one that is not known");
	has_str(buf_text(&r.body), "unknown_field", "is told as such");
	is_int(ask('a', METHOD_GET, "/v2/pools", NULL, "{}"), 200, "an empty body where none is taken does no harm");
	is_int(ask('a', METHOD_GET, "/v2/pools", NULL, "{\"a\":1}"), 422, "another does");
}

static void test_queries(void)
{
	query("limit", "5", NULL, NULL, 'a', 200);
	query("limit", "five", NULL, NULL, 'a', 422);
	query("limit", "5", "limit", "6", 'a', 422);
	query("id", "a", "id", "b", 'a', 200);
	query("colour", "red", NULL, NULL, 'a', 422);
	query("account", "acme", NULL, NULL, 'a', 403);
	query("account", "acme", NULL, NULL, 'o', 200);
	query("account", "nobody", NULL, NULL, 'o', 404);
}

/* What this turn did is not on disk yet, and counts: the rows and the money before as those of now. */
static void test_reports(void)
{
	struct request q = { .id = "req_test", .method = METHOD_GET, .path = "/np/v1/report", .account = acme };

	for (int i = 0; i < 3; i++)
		apply(&(struct event){ .kind = EVENT_CREDIT, .account = acme, .u.credit.micros = 1000000 });
	q.scopes = SCOPE_READ;
	q.query[q.query_count].name = "from";
	q.query[q.query_count++].value = "1800086400";
	q.query[q.query_count].name = "balances";
	q.query[q.query_count++].value = "true";
	buf_release(&r.body);
	r = (struct reply){ 0 };
	buf_init(&r.body, 8 << 20);
	is_int(api_answer(&api, &q, &r), 200, "a report from tomorrow on");
	has_str(buf_text(&r.body), "\"data\":[]", "has no row of today");
	has_str(buf_text(&r.body), "\"available\":{\"before_micros\":3000000,\"after_micros\":3000000}",
		"and begins with what there is");
}

int main(void)
{
	if (!ok(open_market(), "there is a market"))
		return done();
	test_keys();
	test_secrets();
	test_who();
	test_paths();
	test_bodies();
	test_queries();
	test_reports();
	close_market();
	return done();
}

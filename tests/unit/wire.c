/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of markets, ours and others': what is read from them, and what is refused with which words. */
#include <errno.h>
#include <math.h>

#include "../lib/tap.h"
#include "market/proof.h"
#include "market/reason.h"
#include "market/wire.h"

static struct fail f;

static struct doc *parse(const char *text)
{
	struct doc *d = NULL;

	f = (struct fail){ 0 };
	if (doc_parse(text, strlen(text), &d, &f) != 0)
		diag("cannot parse: %s", f.text);
	return d;
}

/* As the published schema has it, with things in it that nobody has told us about. */
static const char order[] =
	"{\"object\":\"order\",\"id\":\"ordr_1\",\"capacity\":{\"id\":\"pool_1\",\"name\":\"a\"},"
	"\"pool\":{\"id\":\"pool_1\",\"name\":\"a\"},\"side\":\"buy\",\"allow_standing\":false,\"allow_partial\":true,"
	"\"instance_sku\":{\"object\":\"instance_sku\",\"id\":\"isku_1\",\"alias\":\"richmond\"},"
	"\"allocation_schedule_delta\":[{\"start_at\":60,\"end_at\":3660,\"node_count\":2}],"
	"\"filled_allocation_schedule_delta\":[{\"start_at\":60,\"node_count\":2},{\"start_at\":120,\"end_at\":null,"
	"\"node_count\":1}],"
	"\"limit_price_dollars_per_node_hour\":\"14.940000\",\"status\":\"partially_filled\",\"created_at\":10,"
	"\"created_by\":{\"id\":\"tok_1\",\"type\":\"token\",\"name\":\"ci\"},\"filled_at\":null,"
	"\"filled_average_price_dollars_per_node_hour\":\"12.000000\",\"fills\":[{\"contract\":\"cont_1\",\"filled_"
	"at\":11,"
	"\"allocation_schedule_delta\":[],\"price_dollars_per_node_hour\":\"12.000000\"}],\"cancelled_at\":null,"
	"\"np_reason\":\"price_too_low\",\"np_filled_total_dollars\":\"24.000000\",\"np_hold_dollars\":null,"
	"\"surprise\":{\"deep\":[1,2.5,{}]}}";

static void orders(void)
{
	struct model_order o = { 0 };
	struct doc *d = parse(order);

	ok(wire_order(d, WIRE_WHOLE, &o, &f) == 0, "an order is read: %s", f.text);
	is_str(o.id, "ordr_1", "its id");
	ok(!o.sell && o.partial && !o.standing, "buy, partial, not standing");
	is_int(o.status, MODEL_ORDER_PARTIALLY_FILLED, "its status");
	is_str(o.sku.name, "richmond", "the SKU's alias");
	is_str(o.by.name, "ci", "who placed it");
	is_int(o.limit, 249000, "its limit, in micro-dollars per node-minute");
	ok(o.window.count == 1 && o.window.list[0].end == 3660 && o.window.list[0].nodes == 2, "its window");
	ok(o.filled.count == 2 && o.filled.list[0].end == 120 && o.filled.list[1].end == MODEL_NEVER,
		"an end that is left out is the next one's start; null is open");
	ok(o.fill_count == 1 && o.fills[0].price == 200000 && o.fills[0].schedule.count == 0, "its fills");
	is_int(o.reason, REASON_PRICE_TOO_LOW, "why not all of it");
	ok(o.filled_total == 24000000 && o.hold == MODEL_NONE, "money that is told, and money that is not");
	doc_free(d);

	d = parse("{\"id\":\"ordr_1\",\"side\":\"buy\",\"status\":\"vanished\",\"allocation_schedule_delta\":[],"
		"\"limit_price_dollars_per_node_hour\":\"1.0\"}");
	ok(wire_order(d, WIRE_WHOLE, &o, &f) == 0 && o.status == MODEL_ORDER_UNKNOWN,
		"a status that is new is let pass");
	is_str(o.status_text, "vanished", "and its word is kept");
	ok(o.average == -1 && o.fill_count == 0, "what is missing is absent");
	doc_free(d);
}

/* Each of these is one thing wrong. */
static void strictness(void)
{
	static const struct { const char *text, *names;
	} bad[] = {
		{ "{}", "'id' is missing" },
		{ "{\"id\":5,\"side\":\"buy\",\"status\":\"filled\",\"allocation_schedule_delta\":[],\"limit_price_"
		  "dollars_per_node_hour\":\"1.0\"}",
			"'id'" },
		{ "{\"id\":\"a\",\"side\":\"hold\",\"status\":\"filled\",\"allocation_schedule_delta\":[],\"limit_"
		  "price_dollars_per_node_hour\":\"1.0\"}",
			"'side'" },
		{ "{\"id\":\"a\",\"side\":\"buy\",\"status\":\"filled\",\"allocation_schedule_delta\":{},\"limit_price_"
		  "dollars_per_node_hour\":\"1.0\"}",
			"schedule" },
		{ "{\"id\":\"a\",\"side\":\"buy\",\"status\":\"filled\",\"allocation_schedule_delta\":[],\"limit_price_"
		  "dollars_per_node_hour\":1.0}",
			"'limit_price" },
		{ "{\"id\":\"a\",\"side\":\"buy\",\"status\":\"filled\",\"allocation_schedule_delta\":[{\"start_at\":"
		  "60,\"end_at\":0,\"node_count\":1}],"
		  "\"limit_price_dollars_per_node_hour\":\"1.0\"}",
			"schedule" },
		{ "{\"id\":\"a\",\"side\":\"buy\",\"status\":\"filled\",\"allocation_schedule_delta\":[{\"start_at\":"
		  "60,\"end_at\":120,\"node_count\":-1}],"
		  "\"limit_price_dollars_per_node_hour\":\"1.0\"}",
			"schedule" },
		{ "{\"id\":\"a\",\"side\":\"buy\",\"status\":\"filled\",\"allocation_schedule_delta\":[7],\"limit_"
		  "price_dollars_per_node_hour\":\"1.0\"}",
			"schedule" },
		{ "{\"id\":\"a\",\"side\":\"buy\",\"status\":\"filled\",\"allocation_schedule_delta\":[],\"limit_price_"
		  "dollars_per_node_hour\":\"1.0\","
		  "\"fills\":[{}]}",
			"'filled_at' is missing" },
		{ "{\"id\":\"a\",\"side\":\"buy\",\"status\":\"filled\",\"allocation_schedule_delta\":[],\"limit_price_"
		  "dollars_per_node_hour\":\"1.0\","
		  "\"allow_standing\":\"yes\"}",
			"'allow_standing'" },
		{ "{\"id\":\"a\",\"side\":\"buy\",\"status\":\"filled\",\"allocation_schedule_delta\":[],\"limit_price_"
		  "dollars_per_node_hour\":\"1.0\","
		  "\"created_at\":\"99999999999999999999\"}",
			"too large" },
		{ "[]", "something other" },
		{ "5", "something other" },
		{ "", "something other" },
	};
	struct model_order o;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct doc *d = parse(bad[i].text);

		o.id = "untouched";
		is_int(wire_order(d, WIRE_WHOLE, &o, &f), -EPROTO, "refused: %s", f.text);
		has_str(f.text, bad[i].names, "the sentence names it");
		is_str(o.id, "untouched", "and the caller's is as it was");
		doc_free(d);
	}
}

static void documents(void)
{
	static const char *const broken[] = { "{", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "nonsense", "{\"a\":\"\\ud800\"}",
		"[1e999]", "{\"a\":\"\xff\"}" };
	struct doc *d = NULL;
	const char *cursor = "x";
	struct buf b;

	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
		is_int(doc_parse(broken[i], strlen(broken[i]), &d, &f), -EPROTO, "not JSON: %s", f.text);
	d = parse("{\"object\":\"list\",\"data\":[{\"id\":\"isku_1\",\"alias\":\"a\"},{\"id\":\"isku_2\"}],\"has_"
		  "more\":true,\"cursor\":\"iskuc_2\"}");
	is_int(doc_count(d), 2, "two in the list");
	ok(doc_next(d, &cursor, &f) == 0 && cursor && strcmp(cursor, "iskuc_2") == 0, "and where the next page is");
	buf_init(&b, 1000);
	ok(doc_show_at(d, 1, &b) == 0, "one of them as text");
	is_str(buf_text(&b), "{\"id\":\"isku_2\"}", "on one line");
	buf_release(&b);
	doc_free(d);
	d = parse("{\"data\":[],\"has_more\":true,\"cursor\":null}");
	is_int(doc_next(d, &cursor, &f), -EPROTO, "more, and no cursor, is refused: %s", f.text);
	doc_free(d);
	d = parse("{\"data\":[1],\"has_more\":false,\"cursor\":\"c\"}");
	ok(doc_next(d, &cursor, &f) == 0 && !cursor, "a cursor without more is the end");
	doc_free(d);
	d = parse("[{\"id\":\"isku_1\"}]");
	is_int(doc_count(d), 1, "a list may be an array alone");
	doc_free(d);
}

static void skus_and_pools(void)
{
	struct model_sku s = { 0 };
	struct model_pool p = { 0 };
	struct model_ssh h = { 0 };
	struct model_log l = { 0 };
	struct doc *d = parse("{\"id\":\"isku_1\",\"alias\":\"a\",\"accelerator\":{\"value\":\"h100\",\"display_"
			      "value\":\"H100\"},\"region\":null,"
			      "\"num_accelerators\":{\"value\":8,\"display_value\":\"8\"},\"supports_public_ipv4\":{"
			      "\"value\":true}}");

	ok(wire_sku(d, WIRE_WHOLE, &s, &f) == 0 && s.gpus == 8 && s.public_ipv4 == 1 && s.memory == -1 && !s.region,
		"a SKU: %s", f.text);
	is_str(s.accelerator, "h100", "its accelerator");
	doc_free(d);
	d = parse("{\"id\":\"pool_1\",\"name\":\"r\",\"allocation_schedule\":{\"total\":[{\"start_at\":0,\"end_at\":60,"
		  "\"node_count\":1}],"
		  "\"by_instance_sku\":{\"isku_1\":[{\"start_at\":0,\"end_at\":60,\"node_count\":1}],\"isku_2\":[]}}}");
	ok(wire_pool(d, WIRE_WHOLE, &p, &f) == 0 && p.total.count == 1 && p.sku_count == 2, "a pool: %s", f.text);
	ok(p.sku_count == 2 && strcmp(p.by_sku[0].sku, "isku_1") == 0 && p.by_sku[0].schedule.count == 1,
		"its schedule by SKU");
	doc_free(d);
	d = parse("{\"hostname\":\"h\",\"port\":70000,\"host_keys\":[]}");
	is_int(wire_ssh(d, WIRE_WHOLE, &h, &f), -EPROTO, "a port that is none: %s", f.text);
	doc_free(d);
	d = parse("{\"hostname\":\"h\",\"port\":2222,\"host_keys\":[{\"key_type\":\"ssh-ed25519\",\"key\":\"AAAA\"}]}");
	ok(wire_ssh(d, WIRE_WHOLE, &h, &f) == 0 && h.port == 2222 && h.key_count == 1, "where to ssh to");
	doc_free(d);
	d = parse("{\"seqnum\":18446744073709551615,\"data\":\"\"}");
	ok(!d, "a number beyond 63 bits is no JSON here"); /* jansson's integers */
	doc_free(d);
	d = parse("{\"seqnum\":\"18446744073709551615\",\"data\":\"aGkA\"}");
	ok(wire_log(d, WIRE_WHOLE, &l, &f) == 0 && l.seq == UINT64_MAX && l.len == 3 && memcmp(l.data, "hi", 3) == 0,
		"a log's bytes: %s", f.text);
	doc_free(d);
	d = parse("{\"seqnum\":1,\"data\":\"aGk=\",\"timestamp_realtime\":7,\"np_at_micros\":7000009}");
	ok(wire_log(d, WIRE_WHOLE, &l, &f) == 0 && l.at == 7 && l.micros == 7000009,
		"a market of ours tells the microsecond: %s", f.text);
	doc_free(d);
	d = parse("{\"seqnum\":1,\"data\":\"a*b\"}");
	is_int(wire_log(d, WIRE_WHOLE, &l, &f), -EPROTO, "not base64: %s", f.text);
	doc_free(d);
}

static void errors(void)
{
	static const struct { const char *text; int status, reason; const char *message;
	} seen[] = {
		{ "{\"error\":{\"type\":\"payment_required\",\"message\":\"no "
		  "money\",\"code\":\"insufficient_funds\",\"details\":[{\"field\":\"price\","
		  "\"code\":\"x\",\"message\":\"y\"}]},\"request_id\":\"req_1\"}",
			402, REASON_FUNDS, "no money" },
		{ "{\"type\":\"invalid_request_error\",\"message\":\"Start time must be …\",\"details\":[]}", 400,
			REASON_MALFORMED, "Start time must be …" },
		{ "{\"object\":\"error\",\"code\":\"order.not_found\",\"message\":\"gone\"}", 404, REASON_NOT_FOUND,
			"gone" },
		{ "{\"error\":\"plain words\"}", 503, REASON_UNAVAILABLE, "plain words" },
		{ "{\"error\":{\"code\":\"hosts_sold\",\"message\":\"m\"}}", 422, REASON_HOSTS_SOLD, "m" },
		{ "{\"error\":{\"message\":5}}", 418, REASON_INVALID, NULL },
		{ "[]", 500, REASON_INTERNAL, NULL },
		{ "", 401, REASON_UNAUTHENTICATED, NULL },
	};
	struct model_error e;

	for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
		struct doc *d = parse(seen[i].text);

		wire_error(d, seen[i].status, &e);
		ok(e.reason == seen[i].reason, "%d: %s", seen[i].status, reason_row(e.reason)->code);
		is_str(e.message, seen[i].message, "its words");
		if (i == 0) {
			is_str(e.request_id, "req_1", "the request's id");
			ok(e.detail_count == 1 && strcmp(e.details[0].field, "price") == 0, "and which field");
		}
		doc_free(d);
	}
	wire_error(NULL, 502, &e);
	is_int(e.reason, REASON_UNAVAILABLE, "an answer without a document");
}

static void bodies(void)
{
	const char *scopes[] = { "read", "trade" };
	struct model_order_new o = { .pool = "pool_1",
		.sku = "isku_1",
		.nodes = 2,
		.start = 60,
		.end = 3660,
		.price = 249000,
		.max_total = 50000000 };
	struct model_token_new t = { .name = "c\"i", .scopes = scopes, .scope_count = 2, .seconds = -1 };
	struct model_instance_new i = { .name = "n",
		.pool = "p",
		.image = "debian-12",
		.sku = "s",
		.user_data = "#!/bin/sh\n",
		.user_data_len = 10 };
	struct buf b;

	buf_init(&b, 4096);
	is_int(wire_put_order(&b, &o), 0, "an order's body");
	is_str(buf_text(&b),
		"{\"pool\":\"pool_1\",\"side\":\"buy\",\"instance_sku\":\"isku_1\",\"allocation_schedule_delta\":[{"
		"\"start_at\":60,"
		"\"end_at\":3660,\"node_count\":2}],\"limit_price_dollars_per_node_hour\":\"14.940000\",\"np_max_total_"
		"dollars\":\"50.000000\"}",
		"has what was asked for and no more");
	buf_clear(&b);
	is_int(wire_put_token(&b, &t), 0, "a token's body");
	is_str(buf_text(&b), "{\"name\":\"c\\\"i\",\"scopes\":[\"read\",\"trade\"],\"expires_in_seconds\":null}",
		"for ever is null");
	buf_clear(&b);
	is_int(wire_put_instance(&b, &i), 0, "an instance's body");
	has_str(buf_text(&b), "\"cloud_init_user_data\":\"IyEvYmluL3NoCg==\"", "user data goes as base64");
	buf_clear(&b);
	i.name = "\xff\xfe";
	is_int(wire_put_instance(&b, &i), -EINVAL, "what is not text is not sent");
	is_int(b.len, 0, "nor half of it");
	buf_release(&b);
}

/* The first two rows of a statement, with the sums that sha256sum gives for them. */
static void proofs(void)
{
	struct model_posting a = { .seq = 3,
		.n = 0,
		.at = 100,
		.transfer = 1,
		.owner = 7,
		.book = "available",
		.amount = 500,
		.balance = 500 };
	struct model_posting c = { .seq = 4,
		.n = 2,
		.at = 160,
		.transfer = 2,
		.owner = 7,
		.book = "available",
		.amount = -200,
		.balance = 300,
		.subject = 9 };
	static const uint8_t first[32] = {
		0x63, 0x34, 0xac, 0x46, 0x62, 0x52, 0xea, 0xf9, 0x36, 0x60, 0x29, 0xe9, 0x17, 0x8e, 0xbe, 0xed,
		0x8d, 0x85, 0x01, 0x51, 0x94, 0x51, 0x4e, 0xe5, 0x85, 0xcc, 0x59, 0x0c, 0x46, 0xf7, 0x25, 0x44,
	};
	static const uint8_t second[32] = {
		0xca, 0x35, 0x47, 0xea, 0xdb, 0x57, 0x22, 0x2b, 0x3e, 0x59, 0x8b, 0x99, 0x21, 0x54, 0xba, 0x96,
		0xf0, 0xd7, 0x34, 0xb0, 0xae, 0xec, 0xf6, 0x7a, 0x23, 0x42, 0xdc, 0x75, 0xdb, 0xcb, 0x66, 0x56,
	};
	static const uint8_t wrong_sum[32] = {
		0xd8, 0xef, 0xd9, 0xfc, 0x69, 0x92, 0x5d, 0x25, 0x2b, 0x86, 0x2f, 0x0b, 0xb5, 0x70, 0xf3, 0xbb,
		0x4d, 0xd1, 0x14, 0x98, 0x89, 0x27, 0xad, 0x92, 0x4f, 0x5b, 0x3d, 0x5b, 0x03, 0x11, 0xde, 0x4c,
	};
	struct proof p;
	uint64_t seq, n;
	uint8_t chain[32];
	char room[PROOF_TEXT];

	memcpy(a.chain, first, 32);
	memcpy(c.chain, second, 32);
	proof_init(&p);
	ok(proof_add(&p, &a, &f) == 0, "the first row follows from nothing: %s", f.text);
	c.amount = -201;
	is_int(proof_add(&p, &c, &f), -EBADMSG, "a row that was bent: %s", f.text);
	c.amount = -200;
	c.seq = 3;
	is_int(proof_add(&p, &c, &f), -EBADMSG, "one in another place: %s", f.text);
	c.seq = 4;
	ok(proof_add(&p, &c, &f) == 0 && p.count == 2, "the row itself follows: %s", f.text);
	is_int(proof_add(&p, &c, &f), -EBADMSG, "but not twice");
	ok(proof_parse_head(proof_head(&p, room), &seq, &n, chain) == 0 && seq == 4 && n == 2 &&
			memcmp(chain, second, 32) == 0,
		"the head is read back: %s", room);
	is_int(proof_parse_head("4-2 zz", &seq, &n, chain), -EINVAL, "and nothing else");
	proof_release(&p);
	/* A balance that does not follow, under a chain that does: only the sum can tell. */
	proof_init(&p);
	a.balance = 600;
	memcpy(a.chain, wrong_sum, 32);
	is_int(proof_add(&p, &a, &f), -EBADMSG, "a balance that does not add up: %s", f.text);
	has_str(f.text, "but it was 0 before", "it says what it was");
	proof_release(&p);
}

static void samples(void)
{
	struct doc *d = parse(
		"{\"now\":100,\"data\":[{\"node\":\"inst_1\",\"at\":90,\"measures\":{\"cpu\":3.5,\"memory\":-1,"
		"\"network_in\":1e300},\"gpus\":[{},{\"use\":0}],\"cpu\":[1,null,\"x\"],\"use\":[[],[0.5]]},"
		"{\"agent\":\"agt_1\",\"measures\":{\"cpu\":\"full\"}},{\"use\":[1]}]}");
	struct model_sample s;
	int64_t now = 0;

	ok(wire_sample(d, 0, &s, &f) == 0 && wire_samples_now(d, &now, &f) == 0 && now == 100, "a sample is read");
	ok(s.of.cpu > 3.4 && s.of.cpu < 3.6 && isnan(s.of.memory) && isnan(s.of.network_in) && isnan(s.of.disk),
		"what nobody can have measured is not known, as what is missing");
	ok(s.gpu_count == 2 && isnan(s.gpus[0].use) && s.gpus[1].use == 0, "0 is known");
	ok(s.cpu.count == 3 && s.cpu.list[0] == 1 && isnan(s.cpu.list[1]) && isnan(s.cpu.list[2]) && s.use_count == 2,
		"curves have gaps");
	is_int(wire_sample(d, 1, &s, &f), -EPROTO, "a measure that is a text is refused");
	is_int(wire_sample(d, 2, &s, &f), -EPROTO, "and a curve that is a number");
	doc_free(d);
}

/* with: members that come after all that is needed; the last one of a name counts. */
static int overview_with(const char *with, struct model_overview *out)
{
	char text[2048];
	struct doc *d;
	int rc;

	snprintf(text, sizeof text,
		"{\"now\":60,\"counted\":false,\"away_total\":0,"
		"\"accounts\":{\"total\":2,\"suspended\":0,\"buying\":1,\"selling\":1},"
		"\"hosts\":{\"up\":1,\"draining\":0,\"down\":0,\"silent\":0},"
		"\"machines\":{\"up\":1,\"silent\":0,\"joined\":0},"
		"\"nodes\":{\"running\":1,\"starting\":0,\"pending\":0,\"longest_start_seconds\":0},"
		"\"orders\":{\"buy\":0,\"sell\":1},\"money\":{\"available_micros\":5,\"held_micros\":0,"
		"\"escrow_micros\":7,\"running_per_hour_micros\":9}%s}",
		with);
	d = parse(text);
	rc = wire_overview(d, out, &f);
	doc_free(d);
	return rc;
}

static void overviews(void)
{
	struct model_overview v = { 0 };

	is_int(overview_with("", &v), 0, "an overview is read");
	ok(v.accounts.total == 2 && v.money.escrow == 7 && v.type_count == 0, "with its figures");
	ok(v.today.turnover == MODEL_NONE && v.month.fees == MODEL_NONE,
		"what is not counted is not known, and no zero");
	v.now = 1;
	is_int(overview_with(",\"types\":[5]", &v), -EPROTO, "a type that is a number is refused: %s", f.text);
	is_int(overview_with(",\"types\":[{\"instance_sku\":\"isku_1\"}]", &v), -EPROTO, "one without figures: %s",
		f.text);
	is_int(overview_with(",\"away\":[{\"kind\":{}}]", &v), -EPROTO, "who is away by an object: %s", f.text);
	ok(v.now == 1, "then nothing is changed");
}

int main(void)
{
	samples();
	overviews();
	orders();
	strictness();
	documents();
	skus_and_pools();
	errors();
	bodies();
	proofs();
	return done();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The market's machine is lost, hundreds of times, in the middle of load. Afterwards no order that was
 * answered is missing, none is there twice, a request that was repeated under its key got the
 * answer that it had, and the books are in order.
 */
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "../lib/web.h"

enum { KILLS = 200, CHECK_EVERY = 20, CONNS = 16, ORDERS_MAX = 400000, ID_TEXT = 40, RUN_MS = 120 };

enum fate { NEW, ASKED, ANSWERED, REFUSED };

struct order {
	enum fate fate;
	char id[ID_TEXT];
	uint8_t seen;          /* in the lists at the end */
};

static struct {
	struct proc proc;
	struct stage stage;
	struct web *web;
	struct order *orders;
	int count;             /* keys that were ever used */
	int *open;             /* keys whose answer is not known */
	int open_count;
	int on[CONNS];         /* which key a connection asks for; -1 */
	uint64_t random;
	int answered, replayed, broken, refused, unavailable, contradictions, odd;
} t;

static uint64_t draw(uint64_t below)
{
	t.random ^= t.random << 13;
	t.random ^= t.random >> 7;
	t.random ^= t.random << 17;
	return t.random % below;
}

/* The same bytes for the same key, whenever it is asked. One in eight rests, one in four finds a host. */
static char *request_of(int key, size_t *len)
{
	char headers[512], body[1024];
	bool rests = key % 8 == 0, fills = key % 4 == 1;
	int64_t start = t.stage.now + 86400 + (int64_t)(key % 40000) * 120;

	snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\nIdempotency-Key: kill-%d\r\n", t.stage.token,
		key);
	snprintf(body, sizeof body,
		"{\"pool\":\"%s\",\"side\":\"buy\",\"allow_standing\":%s,\"allow_partial\":false,\"instance_sku\":\"%"
		"s\","
		"\"allocation_schedule_delta\":[{\"start_at\":%" PRId64 ",\"end_at\":%" PRId64 ",\"node_count\":1}],"
		"\"limit_price_dollars_per_node_hour\":\"%s\"}",
		t.stage.pool, rests ? "true" : "false", t.stage.sku, start, start + 120,
		fills ? "9.000000" : "1.200000");
	return web_request("POST", "/v2/orders", headers, body, len);
}

/* What is not known comes first; now and then something that is known already, to hear it again. */
static int next_key(void)
{
	if (t.open_count)
		return t.open[--t.open_count];
	if (t.answered > 100 && draw(16) == 0) {
		int key = (int)draw((uint64_t)t.count);

		for (int i = 0; i < CONNS; i++)
			if (t.on[i] == key)
				return -1;
		return key;
	}
	return t.count < ORDERS_MAX ? t.count++ : -1;
}

static void ask(int conn)
{
	int key = next_key();
	char *bytes;
	size_t len;

	t.on[conn] = key;
	if (key < 0)
		return;
	bytes = request_of(key, &len);
	if (t.orders[key].fate == NEW)
		t.orders[key].fate = ASKED;
	web_send(t.web, conn, bytes, len);
	free(bytes);
}

static void hear_order(struct order *o, const char *body)
{
	const char *at = strstr(body, "\"id\":\"ordr_");
	char id[ID_TEXT] = "";

	if (at)
		snprintf(id, sizeof id, "%.*s", (int)strcspn(at + 6, "\""), at + 6);
	if (!id[0]) {
		t.odd++;
	} else if (o->fate == ANSWERED) {
		t.replayed++;
		t.contradictions += strcmp(o->id, id) != 0;
	} else {
		t.contradictions += o->fate == REFUSED;
		snprintf(o->id, sizeof o->id, "%s", id);
		o->fate = ANSWERED;
		t.answered++;
	}
}

static void hear(const struct web_answer *a)
{
	int key = t.on[a->conn];
	struct order *o;

	t.on[a->conn] = -1;
	if (key < 0)
		return;
	o = &t.orders[key];
	if (a->status == 201) {
		hear_order(o, a->body);
		return;
	}
	if (a->status == 0 || a->status == 503) {
		t.broken += a->status == 0;
		t.unavailable += a->status == 503;
		if (o->fate == ASKED)
			t.open[t.open_count++] = key;
		return;
	}
	if (t.odd++ < 3)
		diag("an order was answered with %d: %.300s", a->status, a->body);
	o->fate = REFUSED;
	t.refused++;
}

/* Load until that time; more: new orders are made, else only what is open is asked for. */
static void load_until(int64_t end, bool more)
{
	struct web_answer a;

	while (web_now_us() < end) {
		bool busy = false;

		for (int i = 0; i < CONNS; i++) {
			if (!web_busy(t.web, i) && (more || t.open_count))
				ask(i);
			busy |= web_busy(t.web, i);
		}
		if (!more && !busy && !t.open_count)
			return;
		if (web_next(t.web, 5, &a))
			hear(&a);
	}
}

/* All that was under way breaks; what was answered before the end is still read. */
static void let_break(void)
{
	int64_t deadline = web_now_us() + 60000000;
	struct web_answer a;

	for (int i = 0; i < CONNS; i++)
		while (web_busy(t.web, i) && web_now_us() < deadline)
			if (web_next(t.web, 50, &a))
				hear(&a);
}

static const char *const options[] = { "--test-clock=1800000000", "--rate", "0", "--snapshot-every", "3000",
	"--log-level", "warn", NULL };

static bool books(int kills)
{
	bool good = is_int(proc_run(&t.proc, "check"), 0, "the books are in order after %d kills", kills);

	if (!good)
		proc_tell(&t.proc);
	return good;
}

static bool round_of_kill(int n)
{
	if (!ok(proc_start(&t.proc, options), "started again after kill %d", n)) {
		proc_tell(&t.proc);
		return false;
	}
	load_until(web_now_us() + 1000 * (int64_t)(5 + draw(RUN_MS)), true);
	/* A market that gets little of the processors has more time, for two orders a kill on average. */
	for (int64_t end = web_now_us() + 60000000; t.answered < 2 * (n + 1) && web_now_us() < end;)
		load_until(web_now_us() + 5000, true);
	proc_end(&t.proc, SIGKILL);
	let_break();
	return (n + 1) % CHECK_EVERY != 0 || books(n + 1);
}

/* ---- The end: what the market has against what was answered --------------------------------- */

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct order *)a)->id, ((const struct order *)b)->id);
}

static int see_page(const char *text, int *strangers)
{
	int rows = 0;

	for (const char *at = strstr(text, "\"id\":\"ordr_"); at; at = strstr(at + 6, "\"id\":\"ordr_")) {
		struct order key = { 0 }, *o;

		snprintf(key.id, sizeof key.id, "%.*s", (int)strcspn(at + 6, "\""), at + 6);
		o = bsearch(&key, t.orders, (size_t)t.count, sizeof *t.orders, by_id);
		rows++;
		if (o)
			o->seen++;
		else
			*strangers += 1;
	}
	return rows;
}

static int see_all(int *strangers)
{
	char path[PROC_TEXT * 2] = "/v2/orders?account=buyer&limit=200", cursor[PROC_TEXT];
	int total = 0, status;

	for (int page = 0; page < ORDERS_MAX / 100; page++) {
		char *text = proc_call(&t.proc, "GET", path, NULL, &status);
		bool more = text && strstr(text, "\"has_more\":true") && json_field(text, "cursor", cursor);

		if (status != 200)
			diag("%s: %d %.300s", path, status, text ? text : "");
		total += text ? see_page(text, strangers) : 0;
		free(text);
		snprintf(path, sizeof path, "/v2/orders?account=buyer&limit=200&starting_after=%s", cursor);
		if (!more)
			break;
	}
	return total;
}

static void judge(int kills)
{
	int strangers = 0, total, lost = 0, doubled = 0;

	is_int(t.open_count, 0, "every request was answered in the end");
	is_int(t.contradictions, 0, "no key had two answers (%d were asked again after they were answered)",
		t.replayed);
	is_int(t.odd, 0, "no order was answered with something else");
	ok(t.answered > kills && t.broken > kills / 4,
		"%d orders were placed, %d requests were cut off, %d found the market unavailable", t.answered,
		t.broken, t.unavailable);
	qsort(t.orders, (size_t)t.count, sizeof *t.orders, by_id);
	for (int i = 1; i < t.count; i++)
		doubled += t.orders[i].id[0] && strcmp(t.orders[i].id, t.orders[i - 1].id) == 0;
	is_int(doubled, 0, "no two keys have one order");
	total = see_all(&strangers);
	for (int i = 0; i < t.count; i++)
		lost += t.orders[i].fate == ANSWERED && t.orders[i].seen != 1;
	is_int(lost, 0, "each order that was answered is there, once");
	is_int(strangers, 0, "no order is there that nobody was answered");
	is_int(total, t.answered, "as many are there as were answered");
}

int main(void)
{
	const char *tmp = getenv("TMPDIR"), *kills_text = getenv("KILLS"), *seed = getenv("SEED");
	int kills = kills_text ? (int)strtol(kills_text, NULL, 10) : KILLS;
	char dir[PROC_TEXT - 64], market[PROC_TEXT - 16];
	int64_t begun = web_now_us();

	snprintf(dir, sizeof dir, "%s/nanopod-kill.XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		skip_all("no folder can be made");
	snprintf(market, sizeof market, "%s/market", dir);
	t.random = seed ? strtoull(seed, NULL, 10) : (uint64_t)begun | 1;
	diag("SEED=%" PRIu64, t.random);
	t.orders = calloc(ORDERS_MAX, sizeof *t.orders);
	t.open = calloc(ORDERS_MAX, sizeof *t.open);
	memset(t.on, -1, sizeof t.on);
	proc_init(&t.proc, market);
	if (!ok(proc_start(&t.proc, options), "a market starts") ||
		!ok(stage_set(&t.proc, 8, &t.stage), "with hosts on sale and a buyer")) {
		proc_end(&t.proc, SIGKILL);
		return done();
	}
	t.web = web_new(t.proc.port, CONNS);
	proc_end(&t.proc, SIGKILL);
	for (int i = 0; i < kills && round_of_kill(i); i++)
		;
	if (ok(proc_start(&t.proc, options), "it starts a last time"))
		load_until(web_now_us() + 120000000, false);
	judge(kills);
	is_int(proc_end(&t.proc, SIGTERM), 0, "it ends cleanly when it is asked to");
	books(kills);
	diag("%.1f s", (double)(web_now_us() - begun) / 1e6);
	web_free(t.web);
	free(t.orders);
	free(t.open);
	proc_clear(&t.proc);
	rmdir(dir);
	return done();
}

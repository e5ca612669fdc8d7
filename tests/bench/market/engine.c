/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many operations a second the engine does on one core: a market in its steady state, with a
 * thousand hosts whose calendars are mostly sold. `engine [OPERATIONS [HOSTS]]`; by default 3,000,000
 * and 1,000. Says the mix, the speed of each tenth, the memory, and checks every invariant at the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "marketd/engine/engine.h"

enum {
	PROVIDERS = 50,
	BUYERS = 200,
	POOLS = 20,
	RING = 4096,
	RESTING = 1000,
	DAY = 1440,
	AHEAD = 7 * DAY,
	FIRST = 29000000
};

enum op {
	OP_BUY,
	OP_MISS,
	OP_PARTIAL,
	OP_STAND,
	OP_CANCEL,
	OP_EXTEND,
	OP_RESALE,
	OP_WITHDRAW,
	OP_RELEASE,
	OP_TICK,
	OPS
};

static const char *const op_names[OPS] = { "buy at the market's price", "buy below it", "buy in part", "buy that rests",
	"cancel of a buy", "extend", "resale", "withdrawal", "release", "minute" };

/* Of a thousand operations. */
static const int op_share[OPS] = { 300, 270, 10, 110, 110, 60, 30, 30, 75, 5 };

struct held { uint64_t account, pool; int64_t start, end; int32_t nodes; };
struct open { uint64_t account, order; };

struct bench {
	struct engine *e;
	struct effects did;
	uint64_t seed, sku;
	int64_t minute, at;
	uint64_t buyer[BUYERS], pool[BUYERS][POOLS];
	struct held held[RING];
	struct open rests[RING], sells[RING];
	size_t held_count, rest_count, sell_count;
	long done[OPS], refused[OPS], filled[OPS];
	double seconds[OPS];
	long traded;
};

/* Of this process: other programs on the machine do not count. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t next(struct bench *b)
{
	b->seed ^= b->seed << 13;
	b->seed ^= b->seed >> 7;
	b->seed ^= b->seed << 17;
	return b->seed;
}

static int64_t pick(struct bench *b, int64_t low, int64_t high)
{
	return low + (int64_t)(next(b) % (uint64_t)(high - low + 1));
}

static int apply(struct bench *b, struct event *ev)
{
	ev->at = b->at;
	return engine_apply(b->e, ev, &b->did, NULL);
}

static uint64_t make(struct bench *b, struct event ev)
{
	struct fail why = { 0 };

	ev.at = b->at;
	if (engine_apply(b->e, &ev, &b->did, &why) != 0) {
		printf("setting up: %s\n", why.text);
		exit(1);
	}
	return effects_made(&b->did);
}

static void set_up(struct bench *b, int hosts)
{
	uint64_t owner[PROVIDERS], pool[PROVIDERS];
	char name[32];

	make(b, (struct event){ .kind = EVENT_TICK, .u.tick.minute = b->minute });
	make(b,
		(struct event){ .kind = EVENT_POLICY,
			.u.policy = { .fee_bps = 250, .release_bps = 8000, .settle_minutes = 60 } });
	b->sku = make(b, (struct event){ .kind = EVENT_SKU, .name = "h100", .u.sku.gpus = 8 });
	for (int i = 0; i < PROVIDERS; i++) {
		snprintf(name, sizeof name, "provider-%d", i);
		owner[i] = make(b, (struct event){ .kind = EVENT_ACCOUNT, .name = name });
		pool[i] = make(b, (struct event){ .kind = EVENT_POOL, .account = owner[i], .name = "hosts",
			.u.pool.kind = POOL_ORIGINATING });
	}
	for (int i = 0; i < BUYERS; i++) {
		snprintf(name, sizeof name, "buyer-%d", i);
		b->buyer[i] = make(b, (struct event){ .kind = EVENT_ACCOUNT, .name = name });
		make(b,
			(struct event){ .kind = EVENT_CREDIT,
				.account = b->buyer[i],
				.u.credit.micros = INT64_C(1000000000000000) });
		for (int k = 0; k < POOLS; k++) {
			snprintf(name, sizeof name, "r-%d", k);
			b->pool[i][k] = make(b,
				(struct event){ .kind = EVENT_POOL, .account = b->buyer[i], .name = name });
		}
	}
	for (int i = 0; i < hosts; i++) {
		uint64_t host;

		snprintf(name, sizeof name, "host-%d", i);
		host = make(b,
			(struct event){ .kind = EVENT_HOST,
				.account = owner[i % PROVIDERS],
				.name = name,
				.u.host = { .sku = b->sku,
					.pool = pool[i % PROVIDERS],
					.start = b->minute,
					.end = MINUTE_MAX } });
		make(b,
			(struct event){ .kind = EVENT_ORDER,
				.account = owner[i % PROVIDERS],
				.u.order = { .pool = pool[i % PROVIDERS],
					.sku = b->sku,
					.host = host,
					.side = SIDE_SELL,
					.flags = ORDER_STANDING | ORDER_PARTIAL,
					.nodes = 1,
					.start = b->minute + 1,
					.end = MINUTE_MAX,
					.price = pick(b, 200, 260) } });
	}
}

/* A third begins now and ends with an hour; the others are whole hours, of the next days more than of later ones. */
static struct event order(struct bench *b, int flags, int64_t price)
{
	int who = (int)pick(b, 0, BUYERS - 1);
	int64_t start = b->minute + pick(b, 1, 100) * pick(b, 1, AHEAD / 100), end;

	start = next(b) % 3 == 0 ? b->minute + 1 : (start + 59) / 60 * 60;
	end = (start + pick(b, 1, pick(b, 1, 8)) * 60) / 60 * 60;
	return (struct event){ .kind = EVENT_ORDER,
		.account = b->buyer[who],
		.u.order = { .pool = b->pool[who][pick(b, 0, POOLS - 1)],
			.sku = b->sku,
			.side = SIDE_BUY,
			.flags = flags,
			.nodes = (int32_t)pick(b, 1, pick(b, 1, 8)),
			.start = start,
			.end = end > b->minute + 1 ? end : start + 60,
			.price = price } };
}

static const struct order *order_made(const struct bench *b)
{
	uint64_t made = effects_made(&b->did);

	for (size_t i = b->did.count; i-- > 0;)
		if (b->did.list[i].kind == EFFECT_ORDER && b->did.list[i].u.order.id == made)
			return &b->did.list[i].u.order;
	return NULL;
}

/* What was bought is remembered, for extends, resales and releases. */
static void remember(struct bench *b, enum op op, const struct event *ev)
{
	const struct order *o = order_made(b);

	for (size_t i = 0; i < b->did.count; i++)
		b->traded += b->did.list[i].kind == EFFECT_LEASE && b->did.list[i].u.lease.is_new;
	if (!o)
		return;
	if (o->filled_minutes)
		b->filled[op]++;
	if (o->status == ORDER_FILLED && o->side == SIDE_BUY)
		b->held[b->held_count++ % RING] = (struct held){ .account = ev->account,
			.pool = o->pool,
			.start = o->start,
			.end = o->end,
			.nodes = o->nodes };
	if (o->closed_at)
		return;
	if (o->side == SIDE_BUY)
		b->rests[b->rest_count++ % RING] = (struct open){ .account = ev->account, .order = o->id };
	else
		b->sells[b->sell_count++ % RING] = (struct open){ .account = ev->account, .order = o->id };
}

static const struct held *any_held(struct bench *b)
{
	return &b->held[next(b) % (b->held_count < RING ? b->held_count + 1 : RING)];
}

/* The orders that rest are as many as the ring has; the oldest goes when it is full. */
static struct event cancel(struct open *ring, size_t *count)
{
	struct open *o = &ring[*count ? --*count % RING : 0];

	return (struct event){ .kind = EVENT_CANCEL, .account = o->account, .subject = o->order };
}

static struct event event_of(struct bench *b, enum op op)
{
	const struct held *h = any_held(b);
	struct event ev = { .kind = EVENT_TICK };

	switch (op) {
	case OP_BUY:
		return order(b, 0, pick(b, 240, 300));
	case OP_MISS:
		return order(b, 0, pick(b, 60, 199));
	case OP_PARTIAL:
		return order(b, ORDER_PARTIAL, 280);
	case OP_STAND:
		return order(b, ORDER_STANDING | (next(b) & 1 ? ORDER_PARTIAL : 0), pick(b, 60, 190));
	case OP_CANCEL:
		return cancel(b->rests, &b->rest_count);
	case OP_WITHDRAW:
		return cancel(b->sells, &b->sell_count);
	case OP_EXTEND:
		return (struct event){ .kind = EVENT_ORDER,
			.account = h->account,
			.u.order = { .pool = h->pool,
				.sku = b->sku,
				.side = SIDE_BUY,
				.flags = ORDER_EXTEND,
				.nodes = h->nodes,
				.start = h->end,
				.end = h->end + 60,
				.price = 300 } };
	case OP_RESALE:
		return (struct event){ .kind = EVENT_ORDER,
			.account = h->account,
			.u.order = { .pool = h->pool,
				.sku = b->sku,
				.side = SIDE_SELL,
				.flags = ORDER_PARTIAL | ORDER_STANDING,
				.nodes = 1,
				.start = h->start,
				.end = h->end,
				.price = pick(b, 180, 300) } };
	case OP_RELEASE:
		return (struct event){ .kind = EVENT_RELEASE,
			.account = h->account,
			.subject = h->pool,
			.u.release = { .from = h->start, .nodes = 1 } };
	case OP_TICK:
		ev.u.tick.minute = ++b->minute;
		b->at = b->minute * 60;
		return ev;
	case OPS:
		break;
	}
	return ev;
}

static enum op draw(struct bench *b)
{
	int x = (int)(next(b) % 1000), op = 0;

	while (x >= op_share[op])
		x -= op_share[op++];
	return op == OP_CANCEL && b->rest_count < RESTING ? OP_STAND : (enum op)op; /* so many rest at any time */
}

static void run(struct bench *b, long operations)
{
	for (long i = 0; i < operations; i++) {
		enum op op = draw(b);
		struct event ev = event_of(b, op);
		int rc = apply(b, &ev);

		b->done[op]++;
		if (rc)
			b->refused[op]++;
		else
			remember(b, op, &ev);
	}
}

/* The same, with a clock around each: dearer, so it is not what the speed is taken from. */
static void run_timed(struct bench *b, long operations)
{
	for (long i = 0; i < operations; i++) {
		enum op op = draw(b);
		struct event ev = event_of(b, op);
		double start = now();
		int rc = apply(b, &ev);

		b->seconds[op] += now() - start;
		b->done[op]++;
		if (rc)
			b->refused[op]++;
		else
			remember(b, op, &ev);
	}
}

/* Node-minutes of the next `ahead` that are not for sale, in percent. */
static double sold(struct bench *b, int hosts, int64_t ahead)
{
	struct spans free_ones = { 0 };
	int64_t sum = 0;

	engine_availability(b->e, b->sku, false, b->minute + 1, b->minute + 1 + ahead, &free_ones);
	for (size_t i = 0; i < free_ones.count; i++)
		sum += (free_ones.list[i].end - free_ones.list[i].start) * free_ones.list[i].nodes;
	free(free_ones.list);
	return 100 - 100.0 * (double)sum / (double)(ahead * hosts);
}

static void report(struct bench *b, long operations)
{
	printf("%-28s %9s %9s %9s %9s\n", "of the timed operations", "number", "refused", "filled", "ns each");
	for (int op = 0; op < OPS; op++)
		printf("%-28s %9ld %9ld %9ld %9.0f\n", op_names[op], b->done[op], b->refused[op], b->filled[op],
			b->done[op] ? b->seconds[op] * 1e9 / (double)b->done[op] : 0);
	printf("leases made in %ld operations: %ld\n", operations, b->traded);
}

static long memory(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss / 1024;
}

int main(int argc, char **argv)
{
	static struct bench b = { .seed = 88172645463325252u, .minute = FIRST, .at = (int64_t)FIRST * 60 };
	long operations = argc > 1 ? strtol(argv[1], NULL, 10) : 3000000;
	int hosts = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1000;
	struct fail why = { 0 };
	double start, all = 0;

	engine_new(&b.e);
	effects_init(&b.did);
	set_up(&b, hosts);
	start = now();
	run(&b, 1000);
	printf("the first 1000 operations, in an empty market: %.0f ns each\n", (now() - start) * 1e6);
	run(&b, operations / 2);
	printf("warmed up: %.0f%% of the next day and %.0f%% of the next week sold, %d hosts, %ld MiB\n",
		sold(&b, hosts, DAY), sold(&b, hosts, 7 * DAY), hosts, memory());
	for (int i = 0; i < 10; i++) {
		double took;

		start = now();
		run(&b, operations / 10);
		took = now() - start;
		all += took;
		printf("%8ld operations: %9.0f a second, %4.0f ns each, %ld MiB\n", operations / 10,
			(double)(operations / 10) / took, took * 1e9 / (double)(operations / 10), memory());
	}
	printf("all: %.0f operations a second\n", (double)(operations / 10 * 10) / all);
	memset(b.done, 0, sizeof b.done);
	memset(b.refused, 0, sizeof b.refused);
	memset(b.filled, 0, sizeof b.filled);
	b.traded = 0;
	run_timed(&b, operations / 10);
	report(&b, operations / 10);
	printf("afterwards %.0f%% of the next day and %.0f%% of the next week sold\n", sold(&b, hosts, DAY),
		sold(&b, hosts, 7 * DAY));
	if (engine_check(b.e, &why) != 0) {
		printf("the state is wrong: %s\n", why.text);
		return 1;
	}
	engine_free(b.e);
	effects_release(&b.did);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes cost the engine in one large reservation: a pool of many leases that begin tomorrow, and as many nodes
 * that wait for them, then run. `reserve [LEASES]`; by default 10,000. CPU time of each call, of the median and the
 * slowest, and the memory; checks every invariant before and after the nodes start.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "marketd/engine/engine.h"

enum { DAY = 1440, FIRST = 29000000, PRICE = 200, SAMPLES = 101, LISTED = 60 };

static struct engine *e;
static struct effects did;
static uint64_t sku, buyer, pool;
static double took[SAMPLES];

/* Of this process: other programs on the machine do not count. */
static double reserve_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t apply(struct event ev)
{
	struct fail why = { 0 };

	ev.at = ev.kind == EVENT_TICK ? ev.u.tick.minute * 60 : engine_minute(e) * 60;
	if (engine_apply(e, &ev, &did, &why) != 0) {
		fprintf(stderr, "reserve: %s\n", why.text);
		exit(1);
	}
	return effects_made(&did);
}

static void tick(int64_t minute)
{
	apply((struct event){ .kind = EVENT_TICK, .u.tick.minute = minute });
}

static uint64_t node(int n)
{
	char name[32];

	snprintf(name, sizeof name, "node-%d", n);
	return apply((struct event){ .kind = EVENT_INSTANCE,
		.account = buyer,
		.name = name,
		.u.instance = { .pool = pool, .sku = sku, .image = 1, .priority = PRIORITY_NORMAL } });
}

static void host(uint64_t owner, uint64_t hosts, int n)
{
	char name[32];
	uint64_t id;

	snprintf(name, sizeof name, "host-%d", n);
	id = apply((struct event){ .kind = EVENT_HOST,
		.account = owner,
		.name = name,
		.u.host = { .sku = sku, .pool = hosts, .start = FIRST, .end = MINUTE_MAX } });
	apply((struct event){ .kind = EVENT_ORDER,
		.account = owner,
		.u.order = { .pool = hosts,
			.sku = sku,
			.host = id,
			.side = SIDE_SELL,
			.flags = ORDER_STANDING | ORDER_PARTIAL,
			.nodes = 1,
			.start = FIRST + 1,
			.end = MINUTE_MAX,
			.price = PRICE } });
}

/* A pool that has so many leases, each of another host and of tomorrow. */
static void reserve_set_up(int leases)
{
	uint64_t owner, hosts;

	tick(FIRST);
	apply((struct event){ .kind = EVENT_POLICY, .u.policy = { .settle_minutes = 60 } });
	sku = apply((struct event){ .kind = EVENT_SKU, .name = "h100", .u.sku.gpus = 8 });
	owner = apply((struct event){ .kind = EVENT_ACCOUNT, .name = "owner" });
	buyer = apply((struct event){ .kind = EVENT_ACCOUNT, .name = "buyer" });
	hosts = apply(
		(struct event){ .kind = EVENT_POOL, .account = owner, .name = "h", .u.pool.kind = POOL_ORIGINATING });
	pool = apply((struct event){ .kind = EVENT_POOL, .account = buyer, .name = "large" });
	apply((struct event){ .kind = EVENT_CREDIT, .account = buyer, .u.credit.micros = INT64_C(1000000000000000) });
	for (int n = 0; n < leases; n++)
		host(owner, hosts, n);
	for (int left = leases; left > 0; left -= NODES_MAX)
		apply((struct event){ .kind = EVENT_ORDER,
			.account = buyer,
			.u.order = { .pool = pool,
				.sku = sku,
				.side = SIDE_BUY,
				.nodes = left < NODES_MAX ? left : NODES_MAX,
				.start = FIRST + DAY,
				.end = FIRST + 2 * DAY,
				.price = PRICE } });
}

static int reserve_by_time(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void tell(const char *what)
{
	qsort(took, SAMPLES, sizeof *took, reserve_by_time);
	printf("%-52s %10.3f ms %10.3f ms\n", what, took[SAMPLES / 2] * 1e3, took[SAMPLES - 1] * 1e3);
	fflush(stdout);
}

static void tell_once(const char *what, double start)
{
	printf("%-52s %10.3f ms\n", what, (reserve_now() - start) * 1e3);
	fflush(stdout);
}

/* Makes nodes, then ends them, and takes the time of each. */
static void time_made(const char *what, const char *ended, int from)
{
	uint64_t ids[SAMPLES];

	for (int i = 0; i < SAMPLES; i++) {
		double start = reserve_now();

		ids[i] = node(from + i);
		took[i] = reserve_now() - start;
	}
	tell(what);
	for (int i = 0; i < SAMPLES; i++) {
		double start = reserve_now();

		apply((struct event){ .kind = EVENT_INSTANCE_STOP, .account = buyer, .subject = ids[i] });
		took[i] = reserve_now() - start;
	}
	tell(ended);
}

/* As GET /np/v1/nodes does, for the last nodes. */
static void time_starts(void)
{
	for (int i = 0; i < SAMPLES; i++) {
		const struct instance *x = NULL;
		double start = reserve_now();
		int64_t *starts, sum = 0;
		size_t count;

		if (engine_pool_windows(e, pool, sku, &starts, &count) != 0)
			exit(1);
		for (int n = 0; n < LISTED && (x = engine_instance_before(e, buyer, x ? x->id : UINT64_MAX)); n++)
			sum += starts[engine_waiting_before(e, x)];
		free(starts);
		took[i] = reserve_now() - start;
		if (!sum)
			exit(1);
	}
	tell("when 60 nodes start");
}

static void reserve_check(void)
{
	struct fail why = { 0 };

	if (engine_check(e, &why) != 0) {
		printf("the state is wrong: %s\n", why.text);
		exit(1);
	}
}

/* A procurement that may miss a node when one ends, and finds none at its price. */
static void keep_many(void)
{
	apply((struct event){ .kind = EVENT_PROCUREMENT,
		.name = "many",
		.account = buyer,
		.u.procurement = { .pool = pool,
			.sku = sku,
			.target = NODES_MAX,
			.window = 60,
			.max_buy = 1,
			.min_sell = 1,
			.enabled = true } });
}

int main(int argc, char **argv)
{
	int leases = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10000;
	struct rusage u;
	double start;

	engine_new(&e);
	effects_init(&did);
	start = reserve_now();
	reserve_set_up(leases);
	tell_once("hosts, their offers and the purchase", start);
	time_made("one node, the first to wait", "the end of one of few that wait", 0);
	start = reserve_now();
	for (int n = 0; n < leases; n++)
		node(n);
	tell_once("as many nodes as leases", start);
	time_made("one node, while all others wait", "the end of one that waits", leases);
	time_starts();
	reserve_check();
	start = reserve_now();
	tick(FIRST + DAY);
	tell_once("the minute in which all start", start);
	time_made("one node, while all others run", "the end of one that waits while they run", leases);
	for (int i = 0; i < SAMPLES; i++) {
		const struct instance *x = engine_instance_of_pool(e, pool, 0);

		start = reserve_now();
		apply((struct event){ .kind = EVENT_INSTANCE_STOP, .account = buyer, .subject = x->id });
		took[i] = reserve_now() - start;
	}
	tell("the end of one that runs");
	for (int i = 0; i < SAMPLES; i++) {
		start = reserve_now();
		node(leases + i);
		took[i] = reserve_now() - start;
	}
	tell("one node that starts at once");
	reserve_check();
	start = reserve_now();
	tick(FIRST + 2 * DAY - 1);
	tell_once("the rest of the time", start);
	keep_many();
	start = reserve_now();
	tick(FIRST + 2 * DAY);
	tell_once("the minute in which all end, and some are missed", start);
	reserve_check();
	getrusage(RUSAGE_SELF, &u);
	printf("memory: %ld MiB\n", u.ru_maxrss / 1024);
	engine_free(e);
	effects_release(&did);
	return 0;
}

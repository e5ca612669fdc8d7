/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"

enum { BUYERS = 8, START_TRIES = 200, SNAPSHOT_EVENTS = 3000, DAYS_ON_SALE = 3 * 1440 };

bool fleet_wrong(struct fleet *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->wrong, sizeof f->wrong, fmt, ap);
	va_end(ap);
	return false;
}

int fleet_host(const struct fleet *f, const struct machine *m, int i)
{
	return (int)(m - f->machine) * HOSTS_EACH + i;
}

int64_t fleet_minute(const struct fleet *f)
{
	int64_t minute = f->clock / 60 - f->began / 60;

	return minute < f->minutes ? minute : f->minutes - 1;
}

/* ---- The market's process --------------------------------------------------------------- */

static int open_once(struct fleet *f, struct fail *why)
{
	struct store *inner;
	int rc = memstore_open(&f->disk, &inner, why);

	if (rc)
		return rc;
	f->shim = faulty_new(inner, &f->disk, &f->rng);
	if (!f->calm)
		f->shim->faults = (struct faults){ .commit = 2, .read = 2, .die = 2 };
	rc = market_open(&f->shim->base, &f->market, why);
	if (rc)
		f->shim->base.calls->close(&f->shim->base);
	return rc;
}

bool fleet_start(struct fleet *f)
{
	struct fail why = { .code = 0 };
	int rc = REASON_UNAVAILABLE;

	f->market = NULL;
	for (int i = 0; i < START_TRIES && rc == REASON_UNAVAILABLE; i++)
		rc = open_once(f, &why);
	if (rc)
		return fleet_wrong(f, "the market does not start: %s", why.text);
	market_snapshot_every(f->market, SNAPSHOT_EVENTS);
	if (watch_new(&f->watch, &(struct watch_settings){ 0 }, 1000 * f->clock) != 0)
		abort();
	f->starts++;
	if (f->started)
		f->started[fleet_minute(f)] = true;
	f->back_at = f->clock;
	return true;
}

void fleet_kill(struct fleet *f, int64_t seconds)
{
	if (!f->market)
		return;
	f->shim->dead = true;
	market_free(f->market);
	watch_free(f->watch);
	f->market = NULL;
	f->watch = NULL;
	f->staged_count = 0;
	f->start_at = f->clock + seconds;
	for (int n = 0; n < f->machines; n++)
		f->machine[n].waiting = 0;
}

/* What is to be, as it is on disk from now on. */
static void learn_truth(struct fleet *f)
{
	const struct engine *e = market_engine(f->market);

	for (int n = 0; n < f->machines; n++) {
		struct machine *m = &f->machine[n];

		if (engine_agent_version(e, m->agent) == m->seen)
			continue;
		m->seen = engine_agent_version(e, m->agent);
		for (int i = 0; i < HOSTS_EACH; i++) {
			const struct instance *x = engine_host_instance(e, m->host[i]);
			struct want now = { 0 };

			if (x)
				now = (struct want){ x->id,
					60 * engine_owned_until(e, m->host[i], x->pool, engine_minute(e)) };
			if (now.instance != m->truth[i].instance || now.end_at < m->truth[i].end_at)
				m->true_since[i] = f->clock;
			m->truth[i] = now;
		}
	}
}

static bool market_second(struct fleet *f)
{
	struct fail why = { .code = 0 };

	if (!market_ready(f->market) || market_commit(f->market, &why) != 0) {
		fleet_kill(f, rng_below(&f->rng, 4));
		return true;
	}
	learn_truth(f);
	post_staged(f);
	if (!f->calm && rng_below(&f->rng, 900) == 0)
		fleet_kill(f, rng_percent(&f->rng, 80) ? rng_below(&f->rng, 5) : rng_below(&f->rng, 600));
	else if (rng_below(&f->rng, 1200) == 0 && engine_check(market_engine(f->market), &why) != 0)
		return fleet_wrong(f, "engine_check: %s", why.text);
	return true;
}

bool fleet_second(struct fleet *f)
{
	struct fail why = { .code = 0 };

	f->clock++;
	if (!f->market && f->clock >= f->start_at && !fleet_start(f))
		return false;
	if (f->market && watch_time(f->watch, f->market, 1000 * f->clock, f->clock, &why) == 0 &&
		watch_turn(f->watch, f->market, 1000 * f->clock, f->clock, &why) != 0 && market_ready(f->market))
		return fleet_wrong(f, "the watch: %s", why.text);
	post_deliver(f);
	if (f->market && market_ready(f->market))
		buyers_second(f);
	for (int n = 0; n < f->machines; n++)
		machine_second(f, &f->machine[n]);
	if (f->market && !market_second(f))
		return false;
	f->away[fleet_minute(f)] += f->market == NULL;
	return audit_second(f);
}

/* ---- In the beginning ------------------------------------------------------------------- */

static uint64_t setup_apply(struct fleet *f, struct event ev)
{
	const struct effects *did = NULL;
	struct fail why = { .code = 0 };

	if (market_apply(f->market, &ev, &did, &why) != 0) {
		fleet_wrong(f, "setting up: %s", why.text);
		return 0;
	}
	return effects_made(did);
}

static uint64_t setup_account(struct fleet *f, const char *kind, int i)
{
	char name[32];

	snprintf(name, sizeof name, "%s%d", kind, i);
	return setup_apply(f, (struct event){ .kind = EVENT_ACCOUNT, .name = name });
}

static uint64_t setup_pool(struct fleet *f, uint64_t account, int i, int kind)
{
	char name[32];

	snprintf(name, sizeof name, "pool%d", i);
	return setup_apply(f,
		(struct event){ .kind = EVENT_POOL, .account = account, .name = name, .u.pool.kind = kind });
}

/* A key of its own for each: its number in base64's digits. */
static const char *setup_key(int n, char key[PUBLIC_KEY_TEXT + 1])
{
	static const char digits[] = "ABCDEFGHIJKLMNOP";

	memset(key, 'A', PUBLIC_KEY_TEXT);
	key[PUBLIC_KEY_TEXT] = '\0';
	key[PUBLIC_KEY_TEXT - 1] = '=';
	for (int i = 0; i < 4; i++, n /= 16)
		key[i] = digits[n % 16];
	return key;
}

static void setup_machine(struct fleet *f, int n)
{
	struct machine *m = &f->machine[n];
	uint64_t pool = f->owner_pool[n % OWNERS], token;
	char name[32], key[PUBLIC_KEY_TEXT + 1];

	*m = (struct machine){ .account = f->owner[n % OWNERS] };
	snprintf(name, sizeof name, "machine%d", n);
	token = setup_apply(f,
		(struct event){ .kind = EVENT_TOKEN,
			.account = m->account,
			.u.token = { .scopes = SCOPE_JOIN, .hash = { (uint8_t)n, (uint8_t)(n >> 8) } } });
	m->agent = setup_apply(f,
		(struct event){ .kind = EVENT_AGENT,
			.account = m->account,
			.token = token,
			.name = name,
			.text = setup_key(n, key),
			.u.agent.machine = name });
	for (int i = 0; i < HOSTS_EACH; i++) {
		int64_t now = f->clock / 60;

		snprintf(name, sizeof name, "host%d-%d", n, i);
		m->host[i] = setup_apply(f,
			(struct event){ .kind = EVENT_HOST,
				.account = m->account,
				.name = name,
				.u.host = { .sku = f->sku,
					.pool = pool,
					.start = now,
					.end = MINUTE_MAX,
					.agent = m->agent } });
		setup_apply(f,
			(struct event){ .kind = EVENT_ORDER,
				.account = m->account,
				.u.order = { .pool = pool,
					.sku = f->sku,
					.host = m->host[i],
					.side = SIDE_SELL,
					.flags = ORDER_STANDING | ORDER_PARTIAL,
					.nodes = 1,
					.start = now + 1,
					.end = now + DAYS_ON_SALE,
					.price = 100 + (n * HOSTS_EACH + i) % 7 } });
	}
}

bool fleet_setup(struct fleet *f, int machines)
{
	uint64_t buyer[BUYERS];

	f->began = f->clock;
	if (!fleet_start(f) || market_time(f->market, f->clock, NULL) != 0)
		return fleet_wrong(f, "the first minute does not begin");
	f->shim->faults = (struct faults){ .write = 0 };
	setup_apply(f, (struct event){ .kind = EVENT_POLICY, .u.policy = { 100, 5000, f->seed % 2 ? 15 : 60, 2 } });
	f->sku = setup_apply(f, (struct event){ .kind = EVENT_SKU, .name = "cpu", .text = "{}" });
	for (int i = 0; i < OWNERS; i++) {
		f->owner[i] = setup_account(f, "owner", i);
		f->owner_pool[i] = setup_pool(f, f->owner[i], i, POOL_ORIGINATING);
	}
	for (int i = 0; i < BUYERS; i++) {
		buyer[i] = setup_account(f, "buyer", i);
		setup_apply(f,
			(struct event){ .kind = EVENT_CREDIT,
				.account = buyer[i],
				.u.credit.micros = INT64_C(1000000000000) });
	}
	for (int i = 0; i < POOLS; i++) {
		f->pool[i] = (struct buyer_pool){ .account = buyer[i % BUYERS], .idle = i % 13 == 12 };
		f->pool[i].pool = setup_pool(f, f->pool[i].account, i, POOL_MARKET);
	}
	f->machines = machines;
	for (int n = 0; n < machines; n++)
		setup_machine(f, n);
	if (*f->wrong || market_commit(f->market, NULL) != 0)
		return false;
	f->shim->faults = (struct faults){ .commit = 2, .read = 2, .die = 2 };
	f->up = calloc((size_t)(machines * HOSTS_EACH) * (size_t)f->minutes, sizeof *f->up);
	f->away = calloc((size_t)f->minutes, 1);
	f->heard = calloc((size_t)machines * (size_t)f->minutes, 1);
	f->started = calloc((size_t)f->minutes, 1);
	if (!f->up || !f->away || !f->heard || !f->started)
		abort();
	return true;
}

void fleet_release(struct fleet *f)
{
	fleet_kill(f, 0);
	memdisk_release(&f->disk);
	for (int i = 0; i < RING; i++)
		free(f->ring[i].list);
	free(f->up);
	free(f->away);
	free(f->heard);
	free(f->started);
}

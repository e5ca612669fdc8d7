/* SPDX-License-Identifier: Apache-2.0 */
/* A market in which nodes renew themselves, and what may happen in it. See renewal.c. */
#ifndef TESTS_SIM_RENEWAL_H
#define TESTS_SIM_RENEWAL_H

#include "marketd/engine/engine.h"
#include "rng.h"

enum {
	WORLD_EVENTS = 2000,
	FIRST = 30000000 - 30000000 % 60 + 17, /* the first minute */
	SELLERS = 2,
	HOSTS = 8,
	BUYERS = 3,
	POOLS = 5,
	NODES = 3,       /* of a pool, when nobody is told to make more */
	STEP = 10,       /* between prices */
	QUIET = 540,     /* minutes in which nothing happens */
	SETTLED = 150,   /* of them, the last: what was agreed on before is over */
	DRAIN_TOLD = 45, /* minutes before sold time ends that a seller must say so */
	SPAN = 4096,     /* minutes that a market may know */
	DEAREST = 10 * STEP,
	RICH = 2000000000
};

/* A node and how it may end. */
struct watched {
	uint64_t id, host;
	int64_t until;     /* its pool has the host until then */
	bool due, offered; /* that minute was to be bought; each time, the host was on sale for it */
};

struct buyer_pool {
	uint64_t pool, account, procurement;
	int64_t loose; /* before this, its owner's own doing explains what is there */
	long orders;   /* in this hour of a quiet time */
};

struct market_world {
	struct engine *e;
	struct effects did;
	struct rng rng;
	int32_t edition;
	uint64_t sku, sellers[SELLERS], seller_pools[SELLERS], hosts[HOSTS], trader, trader_pool;
	struct buyer_pool pools[POOLS];
	struct watched *nodes;
	size_t node_count, node_cap;
	int64_t quiet; /* minutes left in which nothing happens */
	bool sold[HOSTS][SPAN]; /* minutes from FIRST on of each machine that its owner has sold for good */
	int64_t broken[HOSTS];  /* the minute since which the market's watch has had it down; 0 */
	long names;
	char name[32], wrong[400];
};

int renewal_apply(struct market_world *w, struct event *ev); /* looks at what it did */

#define APPLY(w, of, ...) renewal_apply(w, &(struct event){ .kind = EVENT_##of, __VA_ARGS__ })

bool renewal_says(struct market_world *w, const char *what, uint64_t thing); /* what is wrong; false */
const char *renewal_name(struct market_world *w); /* a new one */
const struct piece *renewal_piece(const struct market_world *w, uint64_t host, int64_t minute);
int32_t renewal_nodes(const struct market_world *w, const struct buyer_pool *b); /* that live */

static inline int64_t renewal_now(const struct market_world *w)
{
	return engine_minute(w->e);
}

/* What the owner does explains what is there for as long as it was bought before. */
void renewal_loosen(struct market_world *w, struct buyer_pool *b);

/* renewaldrain.c: false where something is wrong */
void renewal_drain_before(struct market_world *w, const struct event *ev);
bool renewal_drain_after(struct market_world *w, const struct event *ev);

/* renewaldeeds.c: what people do, by chance */
void renewal_do_seller(struct market_world *w);
void renewal_do_trader(struct market_world *w);
void renewal_do_nodes(struct market_world *w);
void renewal_do_owner(struct market_world *w);
void renewal_be_quiet(struct market_world *w); /* for a while, with all that is not sold on sale */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random events for a small and crowded market: the next one is made up from what is there (the
 * reference market knows), so that windows overlap, prices collide and most of what is asked for can
 * happen; and some of it is wrong on purpose. A seed repeats a stream.
 */
#ifndef TESTS_SIM_STREAM_H
#define TESTS_SIM_STREAM_H

#include "reference/ref.h"
#include "rng.h"

struct profile;

struct stream {
	struct rng rng;
	const struct profile *profile;
	const struct reference *r;
	int64_t at;
	long step;
	uint64_t tokens;           /* for hashes that are new */
	bool plain;                /* without agents and what came with them: as streams were before */
	struct rng late;           /* chance for those, so that plain streams stay what they were */
	bool steady;               /* nobody changes prices: as streams were before */
	struct rng prices;         /* chance for those who do */
	bool chatty;               /* the operator says much */
	struct rng gifts;          /* chance for grants */
	struct rng people;         /* chance for people of accounts */
	bool inviting;             /* too many are invited */
	struct rng pays;           /* chance for payments */
	bool paying;               /* there are many, and large ones */
	struct rng payouts;        /* chance for payouts */
	struct rng debts;          /* chance for who owes */
	struct rng caps;           /* chance for caps, and for who buys */
	struct rng volumes;        /* chance for volumes */
	bool ending;               /* a month is nearly over */
	struct rng tariffs;        /* chance for plans */
	bool turning;              /* ticks skip months */
	uint64_t invitations;      /* for hashes that are new */
};

void stream_init(struct stream *s, uint64_t seed, const struct reference *r);
const char *stream_profile(const struct stream *s);

/* The next event. All that it points to is constant, so that it can be copied and kept. */
void stream_next(struct stream *s, struct event *ev);

/* ---- Between stream*.c ------------------------------------------------------------------ */

enum action {
	DO_TICK,
	DO_POLICY,
	DO_ACCOUNT,
	DO_ACCOUNT_STATE,
	DO_CREDIT,
	DO_TOKEN,
	DO_TOKEN_REVOKE,
	DO_SKU,
	DO_HOST,
	DO_HOST_STATE,
	DO_HOST_RETIRE,
	DO_POOL,
	DO_POOL_CHANGE,
	DO_POOL_DELETE,
	DO_BUY,
	DO_BUY_LIKE,
	DO_EXTEND,
	DO_OFFER,
	DO_RESELL,
	DO_SELL_LIKE,
	DO_CANCEL,
	DO_RELEASE,
	DO_INSTANCE,
	DO_INSTANCE_CHANGE,
	DO_INSTANCE_STOP,
	DO_INSTANCE_DELETE,
	DO_REPORT,
	DO_PROCUREMENT,
	DO_PROCUREMENT_CHANGE,
	DO_PROCUREMENT_DELETE,
	ACTIONS
};

struct profile {
	const char *name;
	int weight[ACTIONS];
	int64_t price;             /* the step between prices */
	int64_t window;            /* most windows are shorter */
	int interruptible, partial, standing, block, wrong; /* percent */
	int skip;                  /* percent of ticks that skip minutes */
};

const char *stream_name(struct stream *s, const char *kind);
void *stream_pick(struct stream *s, const struct list *l);
struct rpool *stream_pool(struct stream *s, int kind);
int64_t stream_minute(struct stream *s);
int64_t stream_price(struct stream *s);
void stream_spoil(struct stream *s, struct event *ev);       /* streamwrong.c */
void stream_agents(struct stream *s, struct event *ev);      /* streamagent.c: something of agents, instead or added */
void stream_proofs(struct stream *s, struct event *ev);      /* streamproof.c: something of proofs, the same way */
void stream_prices(struct stream *s, struct event *ev);      /* streamprice.c: another price, the same way */
void stream_grants(struct stream *s, struct event *ev);      /* streamgrant.c: a grant, or one that pays */
bool stream_grants_spoil(struct stream *s, struct event *ev);
void stream_people(struct stream *s, struct event *ev); /* streampeople.c: something of people, the same way */
void stream_pays(struct stream *s, struct event *ev);   /* streampay.c: a payment, the same way */
void stream_caps(struct stream *s, struct event *ev);   /* streamcap.c: a cap, the same way; a token that buys */
void stream_volumes(struct stream *s, struct event *ev); /* streamvolume.c: a volume, the same way */
bool stream_volumes_spoil(struct stream *s, struct event *ev);
void stream_tariffs(struct stream *s, struct event *ev); /* streamtariff.c: a plan, the same way; a buy by it */
bool stream_tariffs_spoil(struct stream *s, struct event *ev);
void stream_payouts(struct stream *s, struct event *ev); /* streampayout.c: a payout, the same way */
bool stream_payouts_spoil(struct stream *s, struct event *ev);
void stream_dunning(struct stream *s, struct event *ev); /* streamdunning.c: the rule for who owes, the same way */
bool stream_dunning_spoil(struct stream *s, struct event *ev);
bool stream_caps_spoil(struct stream *s, struct event *ev);
bool stream_pays_spoil(struct stream *s, struct event *ev);
bool stream_people_spoil(struct stream *s, struct event *ev);
bool stream_prices_spoil(struct stream *s, struct event *ev);
bool stream_proofs_spoil(struct stream *s, struct event *ev);
bool stream_agents_spoil(struct stream *s, struct event *ev); /* false: nothing of theirs is in it */
bool stream_trade(struct stream *s, enum action a, struct event *ev); /* streamtrade.c: false where it cannot be */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The clients of the simulated market. What answers them does as route.c and keyed.c do. See sim.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "market/reason.h"
#include "sim.h"

enum { NODES = 4, MINUTES = 60 };

/* ---- The market place ------------------------------------------------------------------- */

static uint64_t setup_apply(struct sim *s, struct event *ev)
{
	const struct effects *did = NULL;
	struct fail f = { .code = 0 };

	if (market_apply(s->market, ev, &did, &f) != 0) {
		sim_wrong(s, "setting up: %s", f.text);
		return 0;
	}
	return effects_made(did);
}

static void setup_hosts(struct sim *s)
{
	char name[16];

	for (int i = 0; i < NODES; i++) {
		struct event host = { .kind = EVENT_HOST, .account = s->account[0], .name = name };
		struct event offer = { .kind = EVENT_ORDER, .account = s->account[0] };

		snprintf(name, sizeof name, "host%d", i);
		host.u.host.sku = s->sku[0];
		host.u.host.pool = s->pool[0];
		host.u.host.start = engine_minute(market_engine(s->market));
		host.u.host.end = MINUTE_MAX;
		offer.u.order.host = setup_apply(s, &host);
		offer.u.order.sku = s->sku[0];
		offer.u.order.pool = s->pool[0];
		offer.u.order.side = SIDE_SELL;
		offer.u.order.nodes = 1;
		offer.u.order.flags = ORDER_STANDING | ORDER_PARTIAL;
		offer.u.order.start = host.u.host.start + 1;
		offer.u.order.end = host.u.host.start + 100000;
		offer.u.order.price = 100 + 10 * i;
		setup_apply(s, &offer);
	}
}

/* One who has machines, three who want them. */
bool sim_setup(struct sim *s)
{
	static const char *const names[] = { "owner", "ann", "ben", "cat" };
	struct event policy = { .kind = EVENT_POLICY, .u.policy = { 100, 5000, 7, 2 } };
	struct event sku = { .kind = EVENT_SKU, .name = "cpu", .text = "{}" };

	if (sim_time(s) != 0)
		return sim_wrong(s, "the first minute does not begin");
	setup_apply(s, &policy);
	s->sku[s->skus++] = setup_apply(s, &sku);
	for (int i = 0; i < 4; i++) {
		struct event account = { .kind = EVENT_ACCOUNT, .name = names[i] };
		struct event credit = { .kind = EVENT_CREDIT, .u.credit.micros = 5000000 };
		struct event pool = { .kind = EVENT_POOL,
			.name = "pool",
			.u.pool.kind = i == 0 ? POOL_ORIGINATING : POOL_MARKET };

		s->account[s->accounts] = setup_apply(s, &account);
		credit.account = credit.subject = pool.account = s->account[s->accounts++];
		setup_apply(s, &credit);
		s->pool[s->pools++] = setup_apply(s, &pool);
	}
	setup_hosts(s);
	return !*s->wrong && sim_commit(s);
}

/* ---- Asking ----------------------------------------------------------------------------- */

static void intent_order(struct sim *s, struct event *ev)
{
	size_t who = 1 + (size_t)rng_below(&s->rng, 3);
	int64_t now = engine_minute(market_engine(s->market));

	ev->kind = EVENT_ORDER;
	ev->account = s->account[who];
	ev->u.order.pool = s->pool[who];
	ev->u.order.sku = s->sku[0];
	ev->u.order.side = rng_percent(&s->rng, 75) ? SIDE_BUY : SIDE_SELL;
	ev->u.order.nodes = 1 + (int32_t)rng_below(&s->rng, 3);
	ev->u.order.start = now + 1 + rng_below(&s->rng, MINUTES);
	ev->u.order.end = ev->u.order.start + 1 + rng_below(&s->rng, MINUTES);
	ev->u.order.price = 80 + rng_below(&s->rng, 120);
	if (rng_percent(&s->rng, 50))
		ev->u.order.flags |= ORDER_PARTIAL;
	if (rng_percent(&s->rng, 50))
		ev->u.order.flags |= ORDER_STANDING;
	if (ev->u.order.side == SIDE_BUY && rng_percent(&s->rng, 20))
		ev->u.order.flags |= ORDER_INTERRUPTIBLE;
}

static size_t intent_new(struct sim *s)
{
	struct intent *in = &s->intent[s->intents];

	*in = (struct intent){ .told = false };
	if (rng_percent(&s->rng, 90)) {
		intent_order(s, &in->event);
	} else {
		in->event.kind = EVENT_CREDIT;
		in->event.account = in->event.subject = s->account[1 + rng_below(&s->rng, 3)];
		in->event.u.credit.micros = 1 + rng_below(&s->rng, 100000);
	}
	in->event.token = s->intents + 1;
	snprintf(in->key, sizeof in->key, "key-%zu", s->intents);
	return s->intents++;
}

/* Of what is asked for; the same for the same request. */
static void intent_digest(const struct intent *in, uint8_t digest[32])
{
	struct rng g = { .state = in->event.token };

	g.state ^= (uint64_t)in->event.u.order.price << 20;
	for (int i = 0; i < 32; i += 8) {
		uint64_t x = rng_next(&g);

		memcpy(digest + i, &x, 8);
	}
}

/* 1: a has the answer that was kept; 0: there is none; else the store failed. */
static int answer_kept(struct sim *s, const struct intent *in, struct answering *a)
{
	struct store *store = market_store(s->market);
	struct answer kept = { .account = 0 };
	uint8_t digest[32];
	struct buf body;
	int rc;

	buf_init(&body, 1 << 16);
	rc = store->calls->find_answer(store, in->event.account, in->key, &kept, &body, NULL);
	intent_digest(in, digest);
	if (rc == 1) {
		a->again = true;
		a->done = kept.status == 201;
		snprintf(a->text, sizeof a->text, "%s", buf_text(&body));
		if (memcmp(kept.digest, digest, sizeof digest) != 0)
			sim_wrong(s, "the answer that is kept under %s is another request's", in->key);
		s->kept++;
	}
	buf_release(&body);
	return rc;
}

/* false: the market cannot answer now. */
static bool answer_new(struct sim *s, const struct intent *in, struct answering *a)
{
	struct answer keep = { .account = in->event.account,
		.key = in->key,
		.at = market_now(s->market),
		.status = 201 };
	const struct effects *did = NULL;
	struct event ev = in->event;
	int rc = market_apply(s->market, &ev, &did, NULL);

	if (rc == REASON_UNAVAILABLE)
		return false;
	a->done = rc == 0;
	if (rc) {
		snprintf(a->text, sizeof a->text, "%s", reason_row(rc)->code);
		return true;
	}
	snprintf(a->text, sizeof a->text, "%" PRIu64, effects_made(did));
	intent_digest(in, keep.digest);
	keep.body = a->text;
	keep.body_len = strlen(a->text);
	return market_keep_answer(s->market, &keep, NULL) == 0;
}

/* false: nobody answers. What is answered is told after the commit. */
bool sim_ask_for(struct sim *s, size_t intent, bool arrives)
{
	const struct intent *in = &s->intent[intent];
	struct answering a = { .intent = intent };
	int rc;

	if (!arrives || s->answers == ANSWERS_MOST || !market_ready(s->market))
		return false;
	for (size_t i = 0; i < s->answers; i++)
		if (s->answering[i].intent == intent) { /* asked twice in one turn: the same answer, not yet on disk */
			s->answering[s->answers++] = s->answering[i];
			return true;
		}
	rc = answer_kept(s, in, &a);
	if (rc < 0 || (rc == 0 && !answer_new(s, in, &a)))
		return false;
	s->answering[s->answers++] = a;
	return true;
}

void sim_ask(struct sim *s)
{
	size_t which = (size_t)rng_below(&s->rng, (int64_t)s->intents + 1);
	bool arrives = rng_percent(&s->rng, 90);

	/* Rather what is open still; now and then what was answered long ago, by a client that forgot. */
	for (int i = 0; i < 4 && which < s->intents && s->intent[which].told; i++)
		which = (size_t)rng_below(&s->rng, (int64_t)s->intents + 1);
	if (which < s->intents && s->intent[which].told && (!s->intent[which].done || !rng_percent(&s->rng, 30)))
		which = s->intents;
	if (which == s->intents && s->intents < INTENTS_MOST)
		which = intent_new(s);
	else
		s->repeats++;
	if (which < s->intents)
		sim_ask_for(s, which, arrives);
}

bool sim_hear(struct sim *s, const struct answering *a)
{
	struct intent *in = &s->intent[a->intent];

	if (in->told && in->done && (!a->done || strcmp(in->answer, a->text) != 0))
		return sim_wrong(s, "under %s it was told '%s' and now '%s'", in->key, in->answer, a->text);
	if (in->told && !in->done)
		return true; /* it gave up then */
	in->told = true;
	in->done = a->done;
	memcpy(in->answer, a->text, sizeof in->answer);
	return true;
}

/* ---- What has no key -------------------------------------------------------------------- */

void sim_meddle(struct sim *s)
{
	const struct engine *e = market_engine(s->market);
	const struct order *o = engine_order_after(e, 0, (uint64_t)rng_below(&s->rng, (int64_t)engine_next_id(e)));
	const struct host *h = engine_host_after(e, 0, (uint64_t)rng_below(&s->rng, (int64_t)engine_next_id(e)));
	size_t who = 1 + (size_t)rng_below(&s->rng, 3);
	struct event ev = { .account = s->account[who], .subject = s->pool[who] };

	switch (rng_below(&s->rng, 3)) {
	case 0:
		ev.kind = EVENT_CANCEL;
		if (!o || o->account == s->account[0])
			return;
		ev.account = o->account;
		ev.subject = o->id;
		break;
	case 1:
		ev.kind = EVENT_RELEASE;
		ev.u.release.nodes = 1;
		ev.u.release.from = engine_minute(e) + rng_below(&s->rng, MINUTES);
		break;
	default:
		ev.kind = EVENT_HOST_STATE;
		if (!h)
			return;
		ev.account = h->account;
		ev.subject = h->id;
		ev.u.host_state.down = !h->down;
		break;
	}
	market_apply(s->market, &ev, NULL, NULL);
}

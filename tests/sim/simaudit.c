/* SPDX-License-Identifier: Apache-2.0 */
/* What must be true of a simulated market in the end, whatever happened to it. See sim.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/store/chain.h"
#include "shadow.h"
#include "sim.h"

struct audit {
	struct sim *sim;
	int seen[INTENTS_MOST + 1];          /* in the journal */
	uint64_t id;                         /* of the order that is looked for */
	uint64_t token;
	bool found;
	struct shadow shadow;
	uint8_t chain[CHAIN_BYTES];
	uint64_t last_seq, last_n, transfers;
	struct fail why;
};

static int audit_event(void *arg, uint64_t seq, const struct event *ev)
{
	struct audit *a = arg;

	(void)seq;
	if (ev->token && ev->token <= INTENTS_MOST)
		a->seen[ev->token]++;
	return 0;
}

static int audit_order(void *arg, const struct order *o)
{
	struct audit *a = arg;

	if (o->id == a->id && o->token == a->token)
		a->found = true;
	return 0;
}

static bool audit_has_order(struct audit *a, const struct intent *in)
{
	struct store *store = market_store(a->sim->market);
	struct order_filter filter = { .account = in->event.account, .side = -1, .ids = &a->id, .id_count = 1 };
	struct store_page page = { .limit = 10 };

	a->id = strtoull(in->answer, NULL, 10);
	a->token = in->event.token;
	a->found = false;
	return store->calls->orders(store, &filter, &page, audit_order, a, NULL) == 0 && a->found;
}

/* No order (and no credit) that was told is lost, and none is there twice. */
static bool audit_intents(struct audit *a)
{
	struct sim *s = a->sim;
	struct store *store = market_store(s->market);
	struct fail f = { .code = 0 };

	if (store->calls->events(store, 0, audit_event, a, &f) != 0)
		return sim_wrong(s, "the journal cannot be read: %s", f.text);
	for (size_t i = 0; i < s->intents; i++) {
		const struct intent *in = &s->intent[i];

		if (!in->told)
			return sim_wrong(s, "%s was never answered", in->key);
		if (a->seen[i + 1] != (in->done ? 1 : 0))
			return sim_wrong(s, "%s was told '%s' and is in the journal %d times", in->key, in->answer,
				a->seen[i + 1]);
		if (in->done && in->event.kind == EVENT_ORDER && !audit_has_order(a, in))
			return sim_wrong(s, "%s was told order '%s', which is not in the store", in->key, in->answer);
	}
	return true;
}

static int audit_posting(void *arg, const struct posting_row *row)
{
	struct audit *a = arg;

	if (row->seq < a->last_seq || (row->seq == a->last_seq && row->n <= a->last_n && a->last_seq))
		return fail_set(&a->why, -1, "posting %" PRIu64 ".%" PRIu64 " is out of order", row->seq, row->n);
	a->last_seq = row->seq;
	a->last_n = row->n;
	chain_next(a->chain, row);
	if (memcmp(a->chain, row->chain, sizeof a->chain) != 0)
		return fail_set(&a->why, -1, "posting %" PRIu64 ".%" PRIu64 " breaks the chain", row->seq, row->n);
	return shadow_posting(&a->shadow, &row->posting, &a->why);
}

/* The books as the statements of all tell them. */
static bool audit_ledger(struct audit *a)
{
	struct sim *s = a->sim;
	const struct engine *e = market_engine(s->market);
	struct store *store = market_store(s->market);
	int64_t money = 0, minutes = 0;

	for (size_t i = 0; i <= s->accounts; i++) {
		a->last_seq = a->last_n = 0;
		memset(a->chain, 0, sizeof a->chain);
		if (store->calls->postings(store, i ? s->account[i - 1] : 0, 0, 0, SIZE_MAX >> 2, audit_posting, a,
			    &a->why) != 0)
			return sim_wrong(s, "ledger: %s", a->why.text);
	}
	for (size_t i = 0; i < a->shadow.count; i++) {
		const struct shadow_book *b = &a->shadow.list[i];
		const struct account *account = engine_account(e, b->owner);

		*(b->asset ? &minutes : &money) += b->balance;
		if (account && b->book == BOOK_AVAILABLE && b->balance != account->available)
			return sim_wrong(s, "ledger: account %" PRIu64 " has %" PRId64 ", its statement says %" PRId64,
				b->owner, account->available, b->balance);
	}
	if (money || minutes)
		return sim_wrong(s, "ledger: money sums to %" PRId64 ", node-minutes to %" PRId64, money, minutes);
	return true;
}

static bool audit_replay(struct audit *a, bool from_snapshot)
{
	struct sim *s = a->sim;
	struct engine *e = NULL;
	struct fail f = { .code = 0 };
	bool good;

	if (market_replay(market_store(s->market), from_snapshot, 0, &e, &f) != 0)
		return sim_wrong(s, "replay: %s", f.text);
	good = engine_hash(e) == engine_hash(market_engine(s->market));
	engine_free(e);
	return good ||
		sim_wrong(s, "replay from the %s gives another state", from_snapshot ? "snapshot" : "first event");
}

bool sim_audit(struct sim *s)
{
	struct audit *a = calloc(1, sizeof *a);
	struct store *store = market_store(s->market);
	struct fail f = { .code = 0 };
	bool good;

	if (!a)
		abort();
	a->sim = s;
	good = engine_check(market_engine(s->market), &f) == 0 || sim_wrong(s, "engine_check: %s", f.text);
	good = good && (store->calls->check(store, &f) == 0 || sim_wrong(s, "store: %s", f.text));
	good = good && audit_intents(a) && audit_ledger(a) && audit_replay(a, true) && audit_replay(a, false);
	shadow_release(&a->shadow);
	free(a);
	return good;
}

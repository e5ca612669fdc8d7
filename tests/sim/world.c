/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/store/journal.h"

void world_init(struct world *w)
{
	*w = (struct world){ .ref = reference_new(), .proven = proven_new() };
	if (engine_new(&w->eng) != 0)
		abort();
	effects_init(&w->did);
	buf_init(&w->mine, WORLD_TEXT);
	buf_init(&w->theirs, WORLD_TEXT);
}

void world_release(struct world *w)
{
	reference_free(w->ref);
	engine_free(w->eng);
	effects_release(&w->did);
	shadow_release(&w->shadow);
	proven_free(w->proven);
	floors_release(&w->floors);
	gifts_release(&w->gifts);
	debts_release(&w->debts);
	caps_release(&w->caps);
	volumes_release(&w->volumes);
	tariffs_release(&w->tariffs);
	paidout_release(&w->paidout);
	dunned_release(&w->dunned);
	buf_release(&w->mine);
	buf_release(&w->theirs);
	free(w->log);
	free(w->done);
	free(w->duties);
}

static bool __attribute__((format(printf, 2, 3))) world_wrong(struct world *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->wrong, sizeof w->wrong, fmt, ap);
	va_end(ap);
	return false;
}

static void world_lease(const struct world *w, const struct lease *l, bool is_new, struct coverage *c)
{
	const struct lease *parent = engine_lease(w->eng, l->parent);

	c->shape[SHAPE_HALF_MINUTE] += l->paid_end < l->end;
	if (!is_new)
		return;
	c->shape[SHAPE_RESOLD] += parent != NULL;
	c->shape[SHAPE_CHAIN] += parent && parent->parent;
	c->shape[SHAPE_INTERRUPTIBLE] += l->interruptible;
	c->shape[SHAPE_PROVEN] += l->proof;
	c->shape[SHAPE_UNPROVEN] += !l->proof && engine_sku(w->eng, l->sku)->proof;
}

static void world_order(const struct order *o, struct coverage *c)
{
	bool block = o->side == SIDE_SELL && !(o->flags & ORDER_PARTIAL) && o->filled_minutes > 0;

	c->shape[SHAPE_BLOCK] += block && o->closed_at;
	c->shape[SHAPE_BLOCK_INTERRUPTIBLE] += block && !o->closed_at;
	c->shape[SHAPE_REPRICED] += o->place > o->id && o->status == ORDER_FILLED;
	c->shape[SHAPE_REPRICED_BLOCK] += block && o->place > o->id && o->status == ORDER_FILLED;
	c->shape[SHAPE_EXTENDED] += (o->flags & ORDER_EXTEND) && o->status == ORDER_FILLED;
	c->shape[SHAPE_PARTS] += o->side == SIDE_BUY && o->status == ORDER_PARTIALLY_FILLED;
	c->shape[SHAPE_RESTED] += o->side == SIDE_BUY && o->status == ORDER_FILLED && o->closed_at > o->created_at;
	c->shape[SHAPE_PROCURED] += o->procurement && o->side == SIDE_BUY && o->filled_minutes > 0;
	c->shape[SHAPE_PROCURED_WHOLE] += o->procurement && o->side == SIDE_BUY && !o->flags;
	c->shape[SHAPE_PROCURED_SALE] += o->procurement && o->side == SIDE_SELL && o->filled_minutes > 0;
	if (o->closed_at)
		c->closed[o->status][o->reason ? o->reason - REASON_BASE : 0]++;
}

static void world_count(const struct world *w, const struct event *ev, int rc, struct coverage *c)
{
	size_t kind = ev->kind < EVENT_KINDS ? ev->kind : EVENT_KINDS;

	c->events++;
	c->event[kind][rc ? rc - REASON_BASE : 0]++;
	for (size_t i = 0; rc == 0 && i < w->did.count; i++) {
		const struct effect *e = &w->did.list[i];

		if (e->kind == EFFECT_NOTICE && e->u.notice.kind < NOTICE_KINDS)
			c->notice[e->u.notice.kind]++;
		if (e->kind == EFFECT_NOTICE && e->u.notice.kind == NOTICE_INSTANCE_CREATED)
			c->shape[SHAPE_WENT_ON] += ev->kind != EVENT_INSTANCE;
		if (e->kind == EFFECT_ORDER)
			world_order(&e->u.order, c);
		if (e->kind == EFFECT_LEASE)
			world_lease(w, &e->u.lease.lease, e->u.lease.is_new, c);
	}
}

static void world_log(struct world *w, const struct event *ev)
{
	if ((w->count & (w->count - 1)) == 0) {
		w->log = realloc(w->log, (w->count ? 2 * w->count : 1) * sizeof *w->log);
		w->done = realloc(w->done, w->count ? 2 * w->count : 1);
		if (!w->log || !w->done)
			abort();
	}
	w->done[w->count] = false;
	w->log[w->count++] = *ev;
}

/* What people are promised, by those who keep their own books of it. */
static const char *world_promises(struct world *w, const struct event *ev)
{
	const struct account *a = engine_account(w->eng, ev->account);
	const char *wrong = proven_look(w->proven, w->eng, ev, &w->did);

	wrong = wrong ? wrong : floors_look(&w->floors, ev, &w->did);
	wrong = wrong ? wrong : gifts_look(&w->gifts, ev, &w->did);
	wrong = wrong ? wrong : debts_look(&w->debts, ev, &w->did);
	wrong = wrong ? wrong : caps_look(&w->caps, ev, &w->did);
	wrong = wrong ? wrong : volumes_look(&w->volumes, ev, &w->did);
	wrong = wrong ? wrong : tariffs_look(&w->tariffs, ev, &w->did);
	wrong = wrong ? wrong : paidout_look(&w->paidout, ev, &w->did);
	wrong = wrong || !a ? wrong : paidout_said(&w->paidout, a);
	return wrong ? wrong : dunned_look(&w->dunned, ev, &w->did);
}

bool world_apply(struct world *w, const struct event *ev, struct coverage *c)
{
	struct fail why = { .code = 0 }, theirs = { .code = 0 };
	uint64_t before = engine_count(w->eng);
	const char *wrong;
	int want, rc;

	world_log(w, ev);
	tariffs_shown(&w->tariffs, w->eng, ev);
	want = reference_apply(w->ref, ev, &theirs);
	rc = engine_apply(w->eng, ev, &w->did, &why);
	w->done[w->count - 1] = rc == 0;
	if (c)
		world_count(w, ev, rc, c);
	if (rc != want)
		return world_wrong(w, "the engine says %d (%s), the reference %d (%s)", rc, why.text, want,
			theirs.text);
	wrong = dunned_refused(&w->dunned, ev, rc);
	if (wrong)
		return world_wrong(w, "%s", wrong);
	if (rc)
		return (why.code == rc && *why.text && engine_count(w->eng) == before) ||
			world_wrong(w, "%d is refused without a sentence, or was counted", rc);
	if (engine_count(w->eng) != before + 1 || engine_at(w->eng) != ev->at)
		return world_wrong(w, "the event is not counted, or its time is not taken");
	if (shadow_take(&w->shadow, &w->did, &why) != 0)
		return world_wrong(w, "effects: %s", why.text);
	wrong = world_promises(w, ev);
	if (wrong)
		return world_wrong(w, "%s", wrong);
	buf_clear(&w->mine);
	buf_clear(&w->theirs);
	shadow_closed(&w->did, &w->mine);
	reference_closed(w->ref, &w->theirs);
	if (strcmp(buf_text(&w->mine), buf_text(&w->theirs)) != 0)
		return world_wrong(w, "other orders were closed, or otherwise");
	return duty_check(w, c);
}

/* FNV-1a 64, as engine.h says. */
static uint64_t text_hash(const struct buf *b)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < b->len; i++)
		h = (h ^ (uint8_t)b->data[i]) * UINT64_C(1099511628211);
	return h;
}

bool world_compare(struct world *w)
{
	struct fail why = { .code = 0 };

	buf_clear(&w->mine);
	buf_clear(&w->theirs);
	if (engine_dump(w->eng, &w->mine) != 0)
		return world_wrong(w, "the engine cannot be dumped");
	reference_dump(w->ref, &w->theirs);
	if (w->mine.len != w->theirs.len || memcmp(w->mine.data, w->theirs.data, w->mine.len) != 0)
		return world_wrong(w, "the states differ");
	if (shadow_compare(&w->shadow, w->eng, &why) != 0)
		return world_wrong(w, "effects: %s", why.text);
	return true;
}

/* Goes on in an engine that was saved and read again. */
static bool world_load(struct world *w)
{
	struct buf bytes, again;
	struct engine *loaded = NULL;
	struct fail why = { .code = 0 };
	bool good = false;

	buf_init(&bytes, WORLD_TEXT);
	buf_init(&again, WORLD_TEXT);
	if (engine_save(w->eng, &bytes) != 0)
		world_wrong(w, "the engine cannot be saved");
	else if (engine_load(&loaded, bytes.data, bytes.len, &why) != 0)
		world_wrong(w, "what was saved cannot be read: %s", why.text);
	else if (engine_save(loaded, &again) != 0 || again.len != bytes.len ||
		memcmp(again.data, bytes.data, bytes.len) != 0)
		world_wrong(w, "saved again, it is other bytes");
	else if (engine_hash(loaded) != engine_hash(w->eng) || engine_count(loaded) != engine_count(w->eng) ||
		engine_at(loaded) != engine_at(w->eng))
		world_wrong(w, "what was read again is another state");
	else
		good = true;
	if (good) {
		engine_free(w->eng);
		w->eng = loaded;
		loaded = NULL;
	}
	engine_free(loaded);
	buf_release(&bytes);
	buf_release(&again);
	return good;
}

static bool world_step(struct world *w, struct stream *s, struct rng *g, const struct world_options *how,
	struct coverage *c)
{
	struct promise promise = { .asked = false };
	struct fail why = { .code = 0 };
	struct event ev;
	long n = (long)w->count + 1;

	stream_next(s, &ev);
	if (how->oracle)
		oracle_ask(w, &ev, &promise);
	if (how->oracle && rng_percent(g, 5)) {
		if (!oracle_why(w, &ev))
			return false;
		c->whys++;
	}
	if (!world_apply(w, &ev, c))
		return false;
	if (promise.asked && !oracle_held(w, &ev, &promise))
		return false;
	if (n % how->compare == 0 && !world_compare(w))
		return false;
	if (n % how->check == 0 && engine_check(w->eng, &why) != 0)
		return world_wrong(w, "engine_check: %s", why.text);
	if (how->load && rng_below(g, how->load) == 0) {
		c->loads++;
		return world_load(w);
	}
	return true;
}

bool world_run(struct world *w, uint64_t seed, const struct world_options *how, struct coverage *c)
{
	struct rng g = { .state = ~seed };
	struct stream s;
	struct fail why = { .code = 0 };

	w->seed = seed;
	stream_init(&s, seed, w->ref);
	s.plain = how->plain;
	s.steady = how->steady;
	for (long i = 0; i < how->events; i++)
		if (!world_step(w, &s, &g, how, c))
			return false;
	if (!world_compare(w))
		return false;
	if (engine_hash(w->eng) != text_hash(&w->mine))
		return world_wrong(w, "engine_hash is not that of the text");
	return engine_check(w->eng, &why) == 0 || world_wrong(w, "engine_check: %s", why.text);
}

/* As the journal keeps it, and back. */
static bool journal_replays(struct world *w, struct engine *e, const struct event *ev, struct buf *bytes)
{
	struct event again;

	buf_clear(bytes);
	if (journal_put(bytes, ev) != 0)
		return world_wrong(w, "%s of account %" PRIu64 " was done and cannot be put down", event_name(ev->kind),
			ev->account);
	if (journal_get(bytes->data, bytes->len, &again) != 0)
		return world_wrong(w, "%s of account %" PRIu64 " was put down and cannot be read", event_name(ev->kind),
			ev->account);
	return engine_apply(e, &again, &w->did, NULL) == 0 ||
		world_wrong(w, "%s of account %" PRIu64 " was done and is refused when replayed", event_name(ev->kind),
			ev->account);
}

bool world_replays(struct world *w)
{
	struct engine *e;
	struct buf text, bytes;
	bool good = true;

	if (engine_new(&e) != 0)
		abort();
	buf_init(&text, WORLD_TEXT);
	buf_init(&bytes, WORLD_TEXT);
	for (size_t i = 0; good && i < w->count; i++)
		if (w->done[i])
			good = journal_replays(w, e, &w->log[i], &bytes);
	if (good && (engine_dump(e, &text) != 0 || strcmp(buf_text(&text), buf_text(&w->mine)) != 0))
		good = world_wrong(w, "the same events again give another state");
	buf_release(&text);
	buf_release(&bytes);
	engine_free(e);
	return good;
}

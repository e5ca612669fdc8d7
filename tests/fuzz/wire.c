/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a market's answer, read as everything that there is. Each text and array that comes
 * out is gone over to its end: what points into nowhere is seen by the sanitizers.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "market/proof.h"
#include "market/reason.h"
#include "market/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t touched;

static void touch(const char *text)
{
	touched += text ? strlen(text) : 0;
}

static void touch_schedule(const struct model_schedule *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].end < s->list[i].start || s->list[i].nodes < 0)
			abort();
}

/* 0, or a failure that has a sentence. */
static int good(int rc, const struct fail *f)
{
	if (rc && !*f->text)
		abort();
	return rc == 0;
}

static void read_trade(struct doc *d, long at)
{
	struct fail f = { 0 };
	struct model_order o;
	struct model_depth depth;
	struct model_quote q;
	struct model_preview p;
	struct model_release r;

	if (good(wire_order(d, at, &o, &f), &f)) {
		touch(o.id);
		touch(o.side);
		touch(o.status_text);
		touch_schedule(&o.window);
		touch_schedule(&o.filled);
		for (size_t i = 0; i < o.fill_count; i++)
			touch_schedule(&o.fills[i].schedule);
	}
	if (good(wire_depth(d, at, &depth, &f), &f))
		for (size_t i = 0; i < depth.ask_count; i++)
			touch(depth.asks[i].sku);
	if (good(wire_quote(d, at, &q, &f), &f))
		for (size_t i = 0; i < q.alternative_count; i++)
			touch(q.alternatives[i].kind);
	if (good(wire_preview(d, at, &p, &f), &f))
		touch(p.sku);
	if (good(wire_release(d, at, &r, &f), &f)) {
		touch(r.rule);
		for (size_t i = 0; i < r.end_count; i++)
			touch(r.ends[i].name);
	}
}

static void read_things(struct doc *d, long at)
{
	struct fail f = { 0 };
	struct model_sku sku;
	struct model_availability a;
	struct model_pool pool;
	struct model_instance i;
	struct model_ssh ssh;
	struct model_log log;
	struct model_image image;
	struct model_workspace w;

	if (good(wire_sku(d, at, &sku, &f), &f))
		touch(sku.alias);
	if (good(wire_availability(d, at, &a, &f), &f))
		touch_schedule(&a.schedule);
	if (good(wire_pool(d, at, &pool, &f), &f))
		for (size_t k = 0; k < pool.sku_count; k++) {
			touch(pool.by_sku[k].sku);
			touch_schedule(&pool.by_sku[k].schedule);
		}
	if (good(wire_instance(d, at, &i, &f), &f))
		touch(i.name);
	if (good(wire_ssh(d, at, &ssh, &f), &f))
		for (size_t k = 0; k < ssh.key_count; k++)
			touch(ssh.keys[k].key);
	if (good(wire_log(d, at, &log, &f), &f))
		for (size_t k = 0; k < log.len; k++)
			touched += (unsigned char)log.data[k];
	if (good(wire_image(d, at, &image, &f), &f))
		touch(image.name);
	if (good(wire_workspace(d, at, &w, &f), &f))
		touch(w.path);
}

static void read_account(struct doc *d, long at)
{
	struct fail f = { 0 };
	struct model_balance b;
	struct model_token t;
	struct model_whoami who;
	struct model_market m;
	struct model_policy policy;
	struct model_account account;
	struct model_host h;
	struct model_lease l;
	struct model_posting p;
	struct model_event e;
	struct model_procurement c;

	good(wire_balance(d, at, &b, &f), &f);
	if (good(wire_token(d, at, &t, &f), &f))
		for (size_t i = 0; i < t.scope_count; i++)
			touch(t.scopes[i]);
	if (good(wire_whoami(d, at, &who, &f), &f))
		touch(who.user);
	if (good(wire_market(d, at, &m, &f), &f))
		touch(m.version);
	good(wire_policy(d, at, &policy, &f), &f);
	if (good(wire_account(d, at, &account, &f), &f))
		touch(account.state);
	if (good(wire_host(d, at, &h, &f), &f))
		touch(h.pool);
	if (good(wire_lease(d, at, &l, &f), &f))
		touch(l.pool.name);
	if (good(wire_procurement(d, at, &c, &f), &f))
		touch(c.message);
	if (good(wire_event(d, at, &e, &f), &f))
		touch(e.type);
	if (good(wire_posting(d, at, &p, &f), &f)) {
		struct proof proof;

		proof_init(&proof);
		good(proof_add(&proof, &p, &f), &f);
		proof_release(&proof);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fail f = { 0 };
	struct model_error e;
	struct doc *d;
	const char *cursor;
	struct buf text;
	size_t count;

	if (doc_parse((const char *)data, size, &d, &f)) {
		if (!*f.text)
			abort();
		return 0;
	}
	count = doc_count(d);
	for (long at = WIRE_WHOLE; at < (long)(count < 20 ? count : 20); at++) {
		read_trade(d, at);
		read_things(d, at);
		read_account(d, at);
	}
	if (doc_next(d, &cursor, &f) == 0)
		touch(cursor);
	wire_error(d, 422, &e);
	touch(e.message);
	if (!reason_row(e.reason)->code)
		abort();
	buf_init(&text, WIRE_BYTES_MAX);
	doc_show(d, true, &text);
	buf_release(&text);
	doc_free(d);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/rules/emit.h"

#include <assert.h>

static struct effect *emit_add(struct engine *e, enum effect_kind kind)
{
	struct effects *out = e->out;

	must_room(out->list, out->count, out->cap);
	out->list[out->count].kind = kind;
	return &out->list[out->count++];
}

void emit_made(struct engine *e, uint64_t id)
{
	emit_add(e, EFFECT_MADE)->u.made = id;
}

/* The spans move while more are added, so emit_seal() points to them at the end. */
void emit_order(struct engine *e, const struct order *o)
{
	struct effects *out = e->out;

	emit_add(e, EFFECT_ORDER)->u.order = *o;
	for (size_t i = 0; i < o->rest_count; i++) {
		must_room(out->spans, out->span_count, out->span_cap);
		out->spans[out->span_count++] = o->rest[i];
	}
}

void emit_lease(struct engine *e, const struct lease *l, bool is_new, bool over)
{
	struct effect *f = emit_add(e, EFFECT_LEASE);

	f->u.lease.lease = *l;
	f->u.lease.is_new = is_new;
	f->u.lease.over = over;
}

void emit_posting(struct engine *e, const struct posting *p)
{
	emit_add(e, EFFECT_POSTING)->u.posting = *p;
}

void emit_notice(struct engine *e, const struct notice *n)
{
	emit_add(e, EFFECT_NOTICE)->u.notice = *n;
}

void emit_seal(struct effects *out)
{
	const struct span *at = out->spans;

	for (size_t i = 0; i < out->count; i++) {
		struct order *o = &out->list[i].u.order;

		if (out->list[i].kind != EFFECT_ORDER)
			continue;
		o->rest = o->rest_count ? at : NULL;
		at = o->rest_count ? at + o->rest_count : at;
	}
	assert(!out->spans || at == out->spans + out->span_count);
}

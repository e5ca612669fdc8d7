/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over an event's fields both writes and reads it, so that the two cannot differ. Whole numbers
 * are in groups of seven bits, lowest first, as short as possible; a string is its length + 1 (0: NULL),
 * its bytes and a NUL. Every event has exactly one form.
 */
#include "marketd/store/journal.h"

#include <errno.h>
#include <string.h>

enum { JOURNAL_FORM = 1 };

struct walk {
	struct buf *out;           /* writing; NULL: reading */
	const uint8_t *at, *end;   /* reading */
	int rc;                    /* the first failure; nothing is done after it */
};

const char *event_name(enum event_kind kind)
{
	static const char *const names[EVENT_KINDS] = {
		"none",
#define X(name, text) text,
		EVENTS(X)
#undef X
	};

	return (unsigned)kind < EVENT_KINDS ? names[kind] : "unknown";
}

static void put_u64(struct walk *w, uint64_t v)
{
	uint8_t room[10];
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		room[n++] = (uint8_t)(v | 0x80);
	room[n++] = (uint8_t)v;
	w->rc = buf_add(w->out, room, n);
}

static uint64_t get_u64(struct walk *w)
{
	uint64_t v = 0;

	for (unsigned shift = 0; w->at < w->end && shift < 64; shift += 7) {
		uint8_t byte = *w->at++;

		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			if (byte == 0 && shift)
				break; /* longer than necessary */
			return v;
		}
	}
	w->rc = -EINVAL;
	return 0;
}

static void journal_u64(struct walk *w, uint64_t *v)
{
	if (w->rc)
		return;
	if (w->out)
		put_u64(w, *v);
	else
		*v = get_u64(w);
}

/* Small numbers of either sign are short: 0, -1, 1, -2 … */
static void journal_s64(struct walk *w, int64_t *v)
{
	uint64_t u = ((uint64_t)*v << 1) ^ (*v < 0 ? UINT64_MAX : 0);

	journal_u64(w, &u);
	if (!w->out && !w->rc)
		*v = (int64_t)(u >> 1 ^ (0 - (u & 1)));
}

static void journal_s32(struct walk *w, int32_t *v)
{
	int64_t wide = *v;

	journal_s64(w, &wide);
	if (w->out || w->rc)
		return;
	if (wide < INT32_MIN || wide > INT32_MAX)
		w->rc = -EINVAL;
	else
		*v = (int32_t)wide;
}

static void journal_flag(struct walk *w, bool *v)
{
	uint64_t wide = *v;

	journal_u64(w, &wide);
	if (w->out || w->rc)
		return;
	if (wide > 1)
		w->rc = -EINVAL;
	else
		*v = wide == 1;
}

static void journal_raw(struct walk *w, uint8_t *bytes, size_t len)
{
	if (w->rc)
		return;
	if (w->out) {
		w->rc = buf_add(w->out, bytes, len);
	} else if ((size_t)(w->end - w->at) < len) {
		w->rc = -EINVAL;
	} else {
		memcpy(bytes, w->at, len);
		w->at += len;
	}
}

static void journal_put_text(struct walk *w, const char *s, size_t max)
{
	size_t len = s ? strlen(s) : 0;

	if (len > max) {
		w->rc = -EFBIG;
		return;
	}
	put_u64(w, s ? len + 1 : 0);
	if (s && !w->rc)
		w->rc = buf_add(w->out, s, len + 1);
}

static void journal_text(struct walk *w, const char **s, size_t max)
{
	uint64_t size;

	if (w->rc)
		return;
	if (w->out) {
		journal_put_text(w, *s, max);
		return;
	}
	*s = NULL;
	size = get_u64(w); /* with the NUL */
	if (w->rc || !size)
		return;
	if (size > max + 1 || size > (size_t)(w->end - w->at) || memchr(w->at, 0, size) != w->at + size - 1) {
		w->rc = -EINVAL;
		return;
	}
	*s = (const char *)w->at;
	w->at += size;
}

/*
 * A field that a kind of event got later. It goes to the end and only if it is not 0, so that older
 * journals still read and every event keeps exactly one form.
 */
static bool journal_late(struct walk *w, bool said)
{
	return !w->rc && (w->out ? said : w->at < w->end);
}

static void late_is(struct walk *w, bool said)
{
	if (!w->rc && !said)
		w->rc = -EINVAL;
}

static void late_u64(struct walk *w, uint64_t *v)
{
	if (!journal_late(w, *v != 0))
		return;
	journal_u64(w, v);
	late_is(w, *v != 0);
}

static void late_s32(struct walk *w, int32_t *v)
{
	if (!journal_late(w, *v != 0))
		return;
	journal_s32(w, v);
	late_is(w, *v != 0);
}

static void late_text(struct walk *w, const char **s, size_t max)
{
	if (!journal_late(w, *s != NULL))
		return;
	journal_text(w, s, max);
	late_is(w, *s != NULL);
}

static void walk_order(struct walk *w, struct event *ev)
{
	journal_u64(w, &ev->u.order.pool);
	journal_u64(w, &ev->u.order.sku);
	journal_u64(w, &ev->u.order.host);
	journal_u64(w, &ev->u.order.procurement);
	journal_s32(w, &ev->u.order.side);
	journal_s32(w, &ev->u.order.flags);
	journal_s32(w, &ev->u.order.nodes);
	journal_s64(w, &ev->u.order.start);
	journal_s64(w, &ev->u.order.end);
	journal_s64(w, &ev->u.order.price);
	journal_s64(w, &ev->u.order.max_total);
	if (!journal_late(w, ev->u.order.grant || ev->u.order.granted))
		return;
	journal_u64(w, &ev->u.order.grant);
	journal_s32(w, &ev->u.order.granted);
	late_is(w, ev->u.order.grant || ev->u.order.granted);
}

static void walk_procurement(struct walk *w, struct event *ev)
{
	journal_u64(w, &ev->u.procurement.pool);
	journal_u64(w, &ev->u.procurement.sku);
	journal_s32(w, &ev->u.procurement.target);
	journal_s32(w, &ev->u.procurement.window);
	journal_s64(w, &ev->u.procurement.min_sell);
	journal_s64(w, &ev->u.procurement.max_buy);
	journal_flag(w, &ev->u.procurement.enabled);
}

static void walk_procurement_change(struct walk *w, struct event *ev)
{
	journal_u64(w, &ev->u.procurement_change.sku);
	journal_s32(w, &ev->u.procurement_change.target);
	journal_s32(w, &ev->u.procurement_change.window);
	journal_s64(w, &ev->u.procurement_change.min_sell);
	journal_s64(w, &ev->u.procurement_change.max_buy);
	journal_s32(w, &ev->u.procurement_change.enabled);
}

/* What has one number. */
static void walk_number(struct walk *w, struct event *ev)
{
	if (ev->kind == EVENT_CANCEL)
		late_s32(w, &ev->u.cancel.reason);
	else
		journal_s64(w, ev->kind == EVENT_HOST_FLOOR ? &ev->u.host_floor.price : &ev->u.order_price.price);
}

static void walk_policy(struct walk *w, struct event *ev)
{
	journal_s32(w, &ev->u.policy.fee_bps);
	journal_s32(w, &ev->u.policy.release_bps);
	journal_s32(w, &ev->u.policy.settle_minutes);
	journal_s32(w, &ev->u.policy.notice_minutes);
	if (!journal_late(w, ev->u.policy.drain_notice_minutes || ev->u.policy.volume_grace_minutes))
		return;
	journal_s32(w, &ev->u.policy.drain_notice_minutes);
	if (!journal_late(w, ev->u.policy.volume_grace_minutes != 0)) {
		late_is(w, ev->u.policy.drain_notice_minutes != 0);
		return;
	}
	journal_s32(w, &ev->u.policy.volume_grace_minutes);
	late_is(w, ev->u.policy.volume_grace_minutes != 0);
}

static void walk_token(struct walk *w, struct event *ev)
{
	journal_raw(w, ev->u.token.hash, TOKEN_HASH);
	journal_s32(w, &ev->u.token.scopes);
	journal_s64(w, &ev->u.token.expires);
	late_u64(w, &ev->u.token.person);
}

/* A person, or an invitation to become one. */
static void walk_person(struct walk *w, struct event *ev)
{
	if (ev->kind == EVENT_INVITATION) {
		journal_raw(w, ev->u.invitation.hash, TOKEN_HASH);
		journal_s32(w, &ev->u.invitation.roles);
		journal_s64(w, &ev->u.invitation.expires);
		return;
	}
	journal_s32(w, &ev->u.person.roles);
	journal_u64(w, &ev->u.person.invitation);
	journal_text(w, &ev->u.person.email, NAME_BYTES);
}

static void walk_payment(struct walk *w, struct event *ev)
{
	journal_s64(w, &ev->u.payment.step);
	journal_s64(w, &ev->u.payment.micros);
}

static void walk_volume(struct walk *w, struct event *ev)
{
	journal_s32(w, &ev->u.volume.gib);
	journal_s64(w, &ev->u.volume.price);
}

static void walk_payout(struct walk *w, struct event *ev)
{
	journal_s32(w, &ev->u.payout.state);
	journal_s32(w, &ev->u.payout.hold);
	journal_s64(w, &ev->u.payout.micros);
}

static void walk_dunning(struct walk *w, struct event *ev)
{
	journal_s32(w, &ev->u.dunning.step);
	journal_s64(w, &ev->u.dunning.minutes);
	journal_s64(w, &ev->u.dunning.after);
}

static void walk_sku(struct walk *w, struct event *ev)
{
	journal_s32(w, &ev->u.sku.gpus);
	if (!journal_late(w, ev->u.sku.proof))
		return;
	journal_flag(w, &ev->u.sku.proof);
	late_is(w, ev->u.sku.proof);
}

static void walk_verified(struct walk *w, struct event *ev)
{
	journal_s32(w, &ev->u.host_verified.result);
	journal_s64(w, &ev->u.host_verified.until);
	journal_s64(w, &ev->u.host_verified.since);
	journal_text(w, &ev->u.host_verified.why, WHY_BYTES);
}

static void walk_host(struct walk *w, struct event *ev)
{
	journal_u64(w, &ev->u.host.sku);
	journal_u64(w, &ev->u.host.pool);
	journal_s64(w, &ev->u.host.start);
	journal_s64(w, &ev->u.host.end);
	late_u64(w, &ev->u.host.agent);
}

static void walk_host_state(struct walk *w, struct event *ev)
{
	bool *watch = &ev->u.host_state.watch;

	journal_flag(w, &ev->u.host_state.down);
	if (!journal_late(w, ev->u.host_state.since || *watch))
		return;
	journal_s64(w, &ev->u.host_state.since);
	if (!journal_late(w, *watch)) {
		late_is(w, ev->u.host_state.since != 0);
		return;
	}
	journal_flag(w, watch);
	late_is(w, *watch);
}

static void walk_instance_change(struct walk *w, struct event *ev)
{
	journal_s32(w, &ev->u.instance_change.priority);
	late_text(w, &ev->u.instance_change.user_data, TEXT_BYTES);
}

static void walk_agent_session(struct walk *w, struct event *ev)
{
	journal_u64(w, &ev->u.agent_session.generation);
	journal_raw(w, ev->u.agent_session.hash, TOKEN_HASH);
}

static void walk_instance(struct walk *w, struct event *ev)
{
	journal_u64(w, &ev->u.instance.pool);
	journal_u64(w, &ev->u.instance.sku);
	journal_u64(w, &ev->u.instance.image);
	journal_s32(w, &ev->u.instance.priority);
	journal_text(w, &ev->u.instance.user_data, TEXT_BYTES);
}

static void walk_account(struct walk *w, struct event *ev)
{
	journal_u64(w, &ev->u.account.beneficiary);
	journal_s64(w, &ev->u.account.floor);
}

static void walk_account_state(struct walk *w, struct event *ev)
{
	journal_s32(w, &ev->u.account_state.state);
	journal_s64(w, &ev->u.account_state.floor);
}

static void walk_release(struct walk *w, struct event *ev)
{
	journal_s64(w, &ev->u.release.from);
	journal_s32(w, &ev->u.release.nodes);
	journal_u64(w, &ev->u.release.sku);
}

static void walk_host_drain(struct walk *w, struct event *ev)
{
	journal_s64(w, &ev->u.host_drain.from);
	journal_flag(w, &ev->u.host_drain.ends);
	journal_flag(w, &ev->u.host_drain.by_operator);
}

static void walk_announce(struct walk *w, struct event *ev)
{
	journal_s32(w, &ev->u.announce.severity);
	journal_s64(w, &ev->u.announce.from);
	journal_s64(w, &ev->u.announce.until);
}

static void walk_grant(struct walk *w, struct event *ev)
{
	journal_u64(w, &ev->u.grant.sponsor);
	journal_s64(w, &ev->u.grant.max);
	journal_s64(w, &ev->u.grant.until);
}

static void walk_plan(struct walk *w, struct event *ev)
{
	journal_u64(w, &ev->u.plan.sku);
	journal_s64(w, &ev->u.plan.fee);
	journal_s64(w, &ev->u.plan.included);
	journal_s64(w, &ev->u.plan.rates);
	journal_s32(w, &ev->u.plan.state);
}

/* Kinds that came later, and have fields of their own. */
static void walk_later(struct walk *w, struct event *ev)
{
	if (ev->kind == EVENT_SKU)
		walk_sku(w, ev);
	else if (ev->kind == EVENT_RULES)
		journal_s32(w, &ev->u.rules.edition);
	else if (ev->kind == EVENT_HOST_DRAIN)
		walk_host_drain(w, ev);
	else if (ev->kind == EVENT_HOST_VERIFIED)
		walk_verified(w, ev);
	else if (ev->kind == EVENT_ANNOUNCE)
		walk_announce(w, ev);
	else if (ev->kind == EVENT_GRANT)
		walk_grant(w, ev);
	else if (ev->kind == EVENT_PAYMENT)
		walk_payment(w, ev);
	else if (ev->kind == EVENT_VOLUME || ev->kind == EVENT_VOLUME_OFFER || ev->kind == EVENT_VOLUME_CHANGE)
		walk_volume(w, ev);
	else if (ev->kind == EVENT_PAYOUT)
		walk_payout(w, ev);
	else if (ev->kind == EVENT_DUNNING)
		walk_dunning(w, ev);
	else if (ev->kind == EVENT_CAP)
		journal_s64(w, &ev->u.cap.micros);
	else if (ev->kind == EVENT_CANCEL || ev->kind == EVENT_ORDER_PRICE || ev->kind == EVENT_HOST_FLOOR)
		walk_number(w, ev);
	else if (ev->kind == EVENT_PLAN)
		walk_plan(w, ev);
	else
		walk_person(w, ev);
}

/* No default: the compiler names a kind that is forgotten here. */
static void walk_kind(struct walk *w, struct event *ev)
{
	switch (ev->kind) {
	case EVENT_TICK: journal_s64(w, &ev->u.tick.minute); break;
	case EVENT_POLICY: walk_policy(w, ev); break;
	case EVENT_ACCOUNT: walk_account(w, ev); break;
	case EVENT_ACCOUNT_STATE: walk_account_state(w, ev); break;
	case EVENT_CREDIT: journal_s64(w, &ev->u.credit.micros); break;
	case EVENT_TOKEN:
		walk_token(w, ev);
		break;
	case EVENT_HOST: walk_host(w, ev); break;
	case EVENT_HOST_STATE: walk_host_state(w, ev); break;
	case EVENT_POOL: journal_s32(w, &ev->u.pool.kind); break;
	case EVENT_ORDER: walk_order(w, ev); break;
	case EVENT_RELEASE: walk_release(w, ev); break;
	case EVENT_INSTANCE: walk_instance(w, ev); break;
	case EVENT_INSTANCE_CHANGE: walk_instance_change(w, ev); break;
	case EVENT_REPORT: journal_s32(w, &ev->u.report.status); break;
	case EVENT_PROCUREMENT: walk_procurement(w, ev); break;
	case EVENT_PROCUREMENT_CHANGE: walk_procurement_change(w, ev); break;
	case EVENT_AGENT: journal_text(w, &ev->u.agent.machine, NAME_BYTES); break;
	case EVENT_AGENT_SESSION: walk_agent_session(w, ev); break;
	case EVENT_SKU:
	case EVENT_RULES:
	case EVENT_HOST_DRAIN:
	case EVENT_HOST_VERIFIED:
	case EVENT_ANNOUNCE:
	case EVENT_GRANT:
	case EVENT_PERSON:
	case EVENT_PERSON_CHANGE:
	case EVENT_INVITATION:
	case EVENT_PAYMENT:
	case EVENT_CAP:
	case EVENT_VOLUME_OFFER:
	case EVENT_VOLUME:
	case EVENT_VOLUME_CHANGE:
	case EVENT_PLAN:
	case EVENT_PAYOUT:
	case EVENT_DUNNING:
	case EVENT_CANCEL:
	case EVENT_ORDER_PRICE:
	case EVENT_HOST_FLOOR:
		walk_later(w, ev);
		break;
	case EVENT_AGENT_INVENTORY:
	case EVENT_AGENT_RETIRE:
	case EVENT_TOKEN_REVOKE:
	case EVENT_HOST_RETIRE:
	case EVENT_POOL_CHANGE:
	case EVENT_POOL_DELETE:
	case EVENT_INSTANCE_STOP:
	case EVENT_INSTANCE_DELETE:
	case EVENT_PROCUREMENT_DELETE:
	case EVENT_ANNOUNCE_END:
	case EVENT_GRANT_END:
	case EVENT_SUBSCRIPTION:
	case EVENT_ACCOUNT_FACTS:
	case EVENT_PERSON_REMOVE:
	case EVENT_INVITATION_END:
	case EVENT_VOLUME_GONE:
		break; /* the subject is all it has */
	case EVENT_NONE:
	case EVENT_KINDS: w->rc = -EINVAL; break;
	}
}

static void walk_event(struct walk *w, struct event *ev)
{
	journal_s64(w, &ev->at);
	journal_u64(w, &ev->account);
	journal_u64(w, &ev->token);
	journal_u64(w, &ev->subject);
	journal_text(w, &ev->name, NAME_BYTES);
	journal_text(w, &ev->text, TEXT_BYTES);
	if (!w->rc)
		walk_kind(w, ev);
}

int journal_put(struct buf *out, const struct event *ev)
{
	struct walk w = { .out = out };
	struct event copy = *ev; /* the walk takes a pointer to non-const, but writing changes nothing */
	size_t before = out->len;
	uint8_t head[2] = { JOURNAL_FORM, (uint8_t)ev->kind };

	if ((unsigned)ev->kind >= EVENT_KINDS || ev->kind == EVENT_NONE)
		return -EINVAL;
	w.rc = buf_add(out, head, sizeof head);
	walk_event(&w, &copy);
	if (w.rc)
		buf_cut(out, before);
	return w.rc;
}

int journal_get(const void *bytes, size_t len, struct event *ev)
{
	const uint8_t *p = bytes;
	struct walk w = { .at = p + 2, .end = p + len };
	struct event got = { 0 };

	if (len < 2 || p[0] != JOURNAL_FORM || p[1] == EVENT_NONE || p[1] >= EVENT_KINDS)
		return -EINVAL;
	got.kind = (enum event_kind)p[1];
	walk_event(&w, &got);
	if (w.rc || w.at != w.end)
		return -EINVAL;
	*ev = got;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Events as bytes: every kind and field there and back, and nothing is read that was not written. */
#include "marketd/store/journal.h"

#include <errno.h>

#include "../../lib/tap.h"

/* X(kind, member of u, a random value of its type): a second list beside the walk of journal.c. */
#define FIELDS(X) \
	X(TICK, tick.minute, (int64_t)any()) \
	X(POLICY, policy.fee_bps, (int32_t)any()) \
	X(POLICY, policy.release_bps, (int32_t)any()) \
	X(POLICY, policy.settle_minutes, (int32_t)any()) \
	X(POLICY, policy.notice_minutes, (int32_t)any()) \
	X(POLICY, policy.drain_notice_minutes, any() & 1 ? (int32_t)any() : 0) \
	X(ACCOUNT, account.beneficiary, any()) \
	X(ACCOUNT, account.floor, (int64_t)any()) \
	X(ACCOUNT_STATE, account_state.state, (int32_t)any()) \
	X(ACCOUNT_STATE, account_state.floor, (int64_t)any()) \
	X(CREDIT, credit.micros, (int64_t)any()) \
	X(TOKEN, token.scopes, (int32_t)any()) \
	X(TOKEN, token.expires, (int64_t)any()) \
	X(TOKEN, token.hash[0], (uint8_t)any()) \
	X(TOKEN, token.hash[1], (uint8_t)any()) \
	X(TOKEN, token.hash[31], (uint8_t)any()) \
	X(TOKEN, token.person, any() & 1 ? any() : 0) \
	X(PERSON, person.roles, (int32_t)any()) \
	X(PERSON, person.invitation, any()) \
	X(PERSON_CHANGE, person.roles, (int32_t)any()) \
	X(PERSON_CHANGE, person.invitation, any()) \
	X(INVITATION, invitation.hash[0], (uint8_t)any()) \
	X(INVITATION, invitation.hash[31], (uint8_t)any()) \
	X(INVITATION, invitation.roles, (int32_t)any()) \
	X(INVITATION, invitation.expires, (int64_t)any()) \
	X(PAYMENT, payment.step, (int64_t)any()) \
	X(PAYMENT, payment.micros, (int64_t)any()) \
	X(CAP, cap.micros, (int64_t)any()) \
	X(POLICY, policy.volume_grace_minutes, any() & 1 ? (int32_t)any() : 0) \
	X(VOLUME_OFFER, volume.gib, (int32_t)any()) \
	X(VOLUME_OFFER, volume.price, (int64_t)any()) \
	X(VOLUME, volume.gib, (int32_t)any()) \
	X(VOLUME, volume.price, (int64_t)any()) \
	X(VOLUME_CHANGE, volume.gib, (int32_t)any()) \
	X(VOLUME_CHANGE, volume.price, (int64_t)any()) \
	X(PLAN, plan.sku, any()) \
	X(PLAN, plan.fee, (int64_t)any()) \
	X(PLAN, plan.included, (int64_t)any()) \
	X(PLAN, plan.rates, (int64_t)any()) \
	X(PLAN, plan.state, (int32_t)any()) \
	X(PAYOUT, payout.state, (int32_t)any()) \
	X(PAYOUT, payout.hold, (int32_t)any()) \
	X(PAYOUT, payout.micros, (int64_t)any()) \
	X(DUNNING, dunning.step, (int32_t)any()) \
	X(DUNNING, dunning.minutes, (int64_t)any()) \
	X(DUNNING, dunning.after, (int64_t)any()) \
	X(SKU, sku.gpus, (int32_t)any()) \
	X(SKU, sku.proof, (any() & 1) != 0) \
	X(HOST, host.sku, any()) \
	X(HOST, host.pool, any()) \
	X(HOST, host.start, (int64_t)any()) \
	X(HOST, host.end, (int64_t)any()) \
	X(HOST, host.agent, any() & 1 ? any() : 0) \
	X(HOST_STATE, host_state.down, (any() & 1) != 0) \
	X(HOST_STATE, host_state.since, any() & 1 ? (int64_t)any() : 0) \
	X(HOST_STATE, host_state.watch, (any() & 1) != 0) \
	X(POOL, pool.kind, (int32_t)any()) \
	X(ORDER, order.pool, any()) \
	X(ORDER, order.sku, any()) \
	X(ORDER, order.host, any()) \
	X(ORDER, order.procurement, any()) \
	X(ORDER, order.side, (int32_t)any()) \
	X(ORDER, order.flags, (int32_t)any()) \
	X(ORDER, order.nodes, (int32_t)any()) \
	X(ORDER, order.start, (int64_t)any()) \
	X(ORDER, order.end, (int64_t)any()) \
	X(ORDER, order.price, (int64_t)any()) \
	X(ORDER, order.max_total, (int64_t)any()) \
	X(ORDER, order.grant, (uint64_t)any()) \
	X(ORDER, order.granted, (int32_t)any()) \
	X(GRANT, grant.sponsor, (uint64_t)any()) \
	X(GRANT, grant.max, (int64_t)any()) \
	X(GRANT, grant.until, (int64_t)any()) \
	X(ANNOUNCE, announce.severity, (int32_t)any()) \
	X(ANNOUNCE, announce.from, (int64_t)any()) \
	X(ANNOUNCE, announce.until, (int64_t)any()) \
	X(HOST_FLOOR, host_floor.price, (int64_t)any()) \
	X(ORDER_PRICE, order_price.price, (int64_t)any()) \
	X(RELEASE, release.from, (int64_t)any()) \
	X(RELEASE, release.nodes, (int32_t)any()) \
	X(RELEASE, release.sku, any()) \
	X(INSTANCE, instance.pool, any()) \
	X(INSTANCE, instance.sku, any()) \
	X(INSTANCE, instance.image, any()) \
	X(INSTANCE, instance.priority, (int32_t)any()) \
	X(INSTANCE_CHANGE, instance_change.priority, (int32_t)any()) \
	X(REPORT, report.status, (int32_t)any()) \
	X(PROCUREMENT, procurement.pool, any()) \
	X(PROCUREMENT, procurement.sku, any()) \
	X(PROCUREMENT, procurement.target, (int32_t)any()) \
	X(PROCUREMENT, procurement.window, (int32_t)any()) \
	X(PROCUREMENT, procurement.min_sell, (int64_t)any()) \
	X(PROCUREMENT, procurement.max_buy, (int64_t)any()) \
	X(PROCUREMENT, procurement.enabled, (any() & 1) != 0) \
	X(PROCUREMENT_CHANGE, procurement_change.sku, any()) \
	X(PROCUREMENT_CHANGE, procurement_change.target, (int32_t)any()) \
	X(PROCUREMENT_CHANGE, procurement_change.window, (int32_t)any()) \
	X(PROCUREMENT_CHANGE, procurement_change.min_sell, (int64_t)any()) \
	X(PROCUREMENT_CHANGE, procurement_change.max_buy, (int64_t)any()) \
	X(PROCUREMENT_CHANGE, procurement_change.enabled, (int32_t)any()) \
	X(HOST_DRAIN, host_drain.from, (int64_t)any()) \
	X(HOST_DRAIN, host_drain.ends, (any() & 1) != 0) \
	X(CANCEL, cancel.reason, (int32_t)any()) \
	X(HOST_DRAIN, host_drain.by_operator, (any() & 1) != 0) \
	X(HOST_VERIFIED, host_verified.result, (int32_t)any()) \
	X(HOST_VERIFIED, host_verified.until, (int64_t)any()) \
	X(HOST_VERIFIED, host_verified.since, (int64_t)any()) \
	X(RULES, rules.edition, (int32_t)any()) \
	X(AGENT_SESSION, agent_session.generation, any()) \
	X(AGENT_SESSION, agent_session.hash[0], (uint8_t)any()) \
	X(AGENT_SESSION, agent_session.hash[31], (uint8_t)any())

/* X(kind, member of u): strings. */
#define TEXTS(X) \
	X(INSTANCE, instance.user_data) \
	X(INSTANCE_CHANGE, instance_change.user_data) \
	X(HOST_VERIFIED, host_verified.why) \
	X(PERSON, person.email) \
	X(PERSON_CHANGE, person.email) \
	X(AGENT, agent.machine)

static uint64_t state = 88172645463325252u;

/* Of all sizes, so that every length of a number is met. */
static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 6) >> (state & 63) | (state & 1 ? 0 : state << 58);
}

static void fill(struct event *ev, enum event_kind kind)
{
	static const char *const names[] = { NULL, "", "a", "r-7f3k2m", "größer" };

	*ev = (struct event){ .kind = kind, .at = (int64_t)any(), .account = any(), .token = any(), .subject = any(),
		.name = names[any() % 5], .text = names[any() % 5] };
#define X(of, member, value) if (kind == EVENT_##of) ev->u.member = value;
	FIELDS(X)
#undef X
#define X(of, member) if (kind == EVENT_##of) ev->u.member = names[any() % 5];
	TEXTS(X)
#undef X
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same(const struct event *a, const struct event *b)
{
	bool good = a->kind == b->kind && a->at == b->at && a->account == b->account && a->token == b->token &&
		a->subject == b->subject && same_text(a->name, b->name) && same_text(a->text, b->text);

#define X(of, member, value) good = good && (a->kind != EVENT_##of || a->u.member == b->u.member);
	FIELDS(X)
#undef X
#define X(of, member) good = good && (a->kind != EVENT_##of || same_text(a->u.member, b->u.member));
	TEXTS(X)
#undef X
	return good;
}

/* In memory of just this size, so that a sanitizer sees a byte too far. */
static int get_exactly(const void *bytes, size_t len, struct event *ev, char **room)
{
	*room = malloc(len ? len : 1);
	if (!*room)
		abort();
	memcpy(*room, bytes, len);
	return journal_get(*room, len, ev);
}

static bool refused(const void *bytes, size_t len)
{
	struct event ev;
	char *room;
	int rc = get_exactly(bytes, len, &ev, &room);

	free(room);
	return rc == -EINVAL;
}

/* Cut off where fields begin that came later, it is what was written before they were: nothing else of it is taken. */
static bool refused_or_older(const void *bytes, size_t len)
{
	struct event ev;
	struct buf b;
	char *room;
	bool good = get_exactly(bytes, len, &ev, &room) == -EINVAL;

	buf_init(&b, 1 << 20);
	if (!good)
		good = (ev.kind == EVENT_HOST || ev.kind == EVENT_HOST_STATE || ev.kind == EVENT_INSTANCE_CHANGE ||
			       ev.kind == EVENT_CANCEL || ev.kind == EVENT_POLICY || ev.kind == EVENT_SKU ||
			       ev.kind == EVENT_ORDER || ev.kind == EVENT_TOKEN) &&
			journal_put(&b, &ev) == 0 && b.len == len && memcmp(b.data, bytes, len) == 0;
	buf_release(&b);
	free(room);
	return good;
}

static void test_every_kind(void)
{
	for (int kind = 1; kind < EVENT_KINDS; kind++) {
		unsigned good = 0, cut = 0, cuts = 0, longer = 0;

		for (int i = 0; i < 200; i++) {
			struct event ev, got;
			struct buf b;
			char *room;

			buf_init(&b, 1 << 20);
			fill(&ev, (enum event_kind)kind);
			if (journal_put(&b, &ev) == 0 && get_exactly(b.data, b.len, &got, &room) == 0) {
				good += same(&ev, &got);
				free(room);
			}
			for (size_t len = 0; len < b.len; len++, cuts++)
				cut += refused_or_older(b.data, len);
			buf_addc(&b, 0);
			longer += refused(b.data, b.len);
			buf_release(&b);
		}
		ok(good == 200 && cut == cuts && longer == 200,
			"'%s': 200 there and back; %u cut-off ones and those with a byte more are refused",
			event_name(kind), cuts);
	}
}

static void test_form(void)
{
	/* Pinned: journals that exist must be read by whatever comes later. */
	static const uint8_t credit[] = { 1, EVENT_CREDIT, 0x80, 0x88, 0x80, 0xb0, 0x0d, 7, 0, 0, 0, 4, 'h', 'i', '!',
		0, 0x7f };
	struct event ev = { .kind = EVENT_CREDIT,
		.at = 1795162624,
		.account = 7,
		.text = "hi!",
		.u.credit.micros = -64 };
	struct event got;
	struct buf b;

	buf_init(&b, 1 << 20);
	is_int(journal_put(&b, &ev), 0, "a credit is written");
	ok(b.len == sizeof credit && memcmp(b.data, credit, sizeof credit) == 0, "in the form that it always had");
	ok(journal_get(credit, sizeof credit, &got) == 0 && same(&ev, &got), "and that form is read");
	buf_release(&b);
}

/* Pinned: hosts, their states and changes of instances as they were written before these knew of agents. */
static void test_older(void)
{
	static const uint8_t host[] = { 1, EVENT_HOST, 2, 7, 0, 0, 3, 'a', 'b', 0, 0, 3, 4, 0, 0x90, 0x4e };
	static const uint8_t down[] = { 1, EVENT_HOST_STATE, 2, 7, 0, 5, 0, 0, 1 };
	static const uint8_t change[] = { 1, EVENT_INSTANCE_CHANGE, 2, 7, 0, 5, 0, 0, 1 };
	static const struct {
		const uint8_t *bytes;
		size_t len;
	} old[] = { { host, sizeof host }, { down, sizeof down }, { change, sizeof change } };
	struct event ev;
	struct buf b;

	ok(journal_get(host, sizeof host, &ev) == 0 && ev.u.host.end == 5000 && ev.u.host.agent == 0,
		"a host without an agent");
	ok(journal_get(down, sizeof down, &ev) == 0 && ev.u.host_state.down && !ev.u.host_state.since &&
			!ev.u.host_state.watch,
		"down now");
	ok(journal_get(change, sizeof change, &ev) == 0 && ev.u.instance_change.priority == -1 &&
			!ev.u.instance_change.user_data,
		"an instance that keeps its data");
	for (size_t i = 0; i < sizeof old / sizeof old[0]; i++) {
		buf_init(&b, 1 << 20);
		ok(journal_get(old[i].bytes, old[i].len, &ev) == 0 && journal_put(&b, &ev) == 0 &&
				b.len == old[i].len && memcmp(b.data, old[i].bytes, b.len) == 0,
			"'%s' is written as it was", event_name(ev.kind));
		buf_release(&b);
	}
	ok(refused((const uint8_t[]){ 1, EVENT_HOST_STATE, 2, 7, 0, 5, 0, 0, 1, 0 }, 10) &&
			refused((const uint8_t[]){ 1, EVENT_HOST_STATE, 2, 7, 0, 5, 0, 0, 1, 0, 0 }, 11),
		"a later field that says nothing is refused");
}

static void test_refusals(void)
{
	static const uint8_t good[] = { 1, EVENT_HOST_STATE, 2, 7, 0, 5, 3, 'a', 'b', 0, 0, 1 };
	uint8_t bad[32];
	struct event ev;

	ok(journal_get(good, sizeof good, &ev) == 0 && ev.u.host_state.down && ev.subject == 5 &&
			strcmp(ev.name, "ab") == 0,
		"a host goes down");
#define BENT(at, value, ...) \
	do { \
		memcpy(bad, good, sizeof good); \
		bad[at] = (value); \
		ok(refused(bad, sizeof good), __VA_ARGS__); \
	} while (0)
	BENT(0, 2, "another form is refused");
	BENT(0, 0, "form 0 is refused");
	BENT(1, 0, "no kind is refused");
	BENT(1, EVENT_KINDS, "a kind that is not known is refused");
	BENT(7, 0, "a NUL within a string is refused");
	BENT(9, 'c', "a string without its NUL is refused");
	BENT(6, 100, "a string that is longer than all is refused");
	BENT(11, 2, "a truth of 2 is refused");
#undef BENT
	ok(refused((const uint8_t[]){ 1, EVENT_TOKEN_REVOKE, 0x82, 0x00, 7, 0, 5, 0, 0 }, 9),
		"a number with a group too many is refused");
	ok(refused((const uint8_t[]){ 1, EVENT_TOKEN_REVOKE, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,
			   0, 5, 0, 0 },
		   17),
		"a number above 64 bits is refused");
	ok(refused((const uint8_t[]){ 1, EVENT_SKU, 2, 0, 0, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x20 }, 13),
		"a number above 31 bits is refused where it must fit");
	ok(refused("", 0), "nothing is refused");
}

static void test_sizes(void)
{
	static char text[TEXT_BYTES + 2];
	struct event ev = { .kind = EVENT_POOL, .text = text }, got;
	char name[NAME_BYTES + 2];
	struct buf b;

	buf_init(&b, 1 << 20);
	memset(text, 'x', TEXT_BYTES);
	memset(name, 'n', NAME_BYTES);
	name[NAME_BYTES] = '\0';
	ev.name = name;
	ok(journal_put(&b, &ev) == 0 && journal_get(b.data, b.len, &got) == 0 && same(&ev, &got),
		"the longest name and text");
	buf_clear(&b);
	buf_adds(&b, "before");
	text[TEXT_BYTES] = 'x';
	is_int(journal_put(&b, &ev), -EFBIG, "a text that is longer is refused");
	is_str(buf_text(&b), "before", "and nothing of it is written");
	text[TEXT_BYTES] = '\0';
	name[NAME_BYTES] = 'n';
	name[NAME_BYTES + 1] = '\0';
	is_int(journal_put(&b, &ev), -EFBIG, "a name that is longer is refused");
	ev.kind = EVENT_NONE;
	is_int(journal_put(&b, &ev), -EINVAL, "no kind is refused");
	ev.kind = EVENT_KINDS;
	is_int(journal_put(&b, &ev), -EINVAL, "a kind that is not known is refused");
	buf_release(&b);
}

int main(void)
{
	plan_none;
	test_every_kind();
	test_form();
	test_older();
	test_refusals();
	test_sizes();
	return done();
}

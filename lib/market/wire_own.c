/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of the answers: what SF Compute's API does not have, and accounts. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "market/wire_part.h"

/* ---- Accounts -------------------------------------------------------------------------- */

static const struct wire_field balances[] = {
	FIELD(model_balance, "available_dollars", MONEY, NEEDED, available),
	FIELD(model_balance, "held_dollars", MONEY, MAY, held),
	FIELD(model_balance, "held_payouts_dollars", MONEY, MAY, payouts),
	FIELD(model_balance, "escrow_dollars", MONEY, MAY, escrow),
	FIELD(model_balance, "unsettled_dollars", MONEY, MAY, unsettled),
	FIELD(model_balance, "floor_dollars", MONEY, MAY, floor),
	FIELD(model_balance, "burn_dollars_per_hour", MONEY, MAY, burn),
	{ 0 },
};

#define NO_BALANCE \
	{ \
		MODEL_NONE, MODEL_NONE, MODEL_NONE, MODEL_NONE, MODEL_NONE, MODEL_NONE, MODEL_NONE \
	}

/* SF Compute's balance has two numbers, in cents. */
static int read_cents(struct doc *d, struct json_t *o, struct model_balance *made, struct fail *f)
{
	static const struct wire_field fields[] = { { "available_balance_cents", WIRE_INT, true, 0 }, { 0 } };
	int64_t cents = 0;
	int rc = wire_fields(d, o, fields, "a balance", &cents, f);

	if (!rc && __builtin_mul_overflow(cents, 10000, &made->available))
		rc = wire_bad(f, "a balance", "available_balance_cents", "is too large");
	return rc;
}

int wire_balance(struct doc *d, long at, struct model_balance *out, struct fail *f)
{
	struct model_balance made = NO_BALANCE;
	struct json_t *o = wire_object(d, at, "a balance", f);
	bool cents = wire_has(o, "available_balance_cents");
	int rc = !o ? -EPROTO : cents ? read_cents(d, o, &made, f) : wire_fields(d, o, balances, "a balance", &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_credit(struct doc *d, struct model_balance *out, struct fail *f)
{
	struct model_balance made = NO_BALANCE;
	struct json_t *o = wire_object(d, WIRE_WHOLE, "a credit", f), *b = wire_member(o, "balance");
	int rc = !o  ? -EPROTO
		: !b ? wire_bad(f, "a credit", "balance", "is missing")
		     : wire_fields(d, b, balances, "a balance", &made, f);

	if (!rc)
		*out = made;
	return rc;
}

static const struct wire_field tokens[] = {
	FIELD(model_token, "id", TEXT, NEEDED, id),
	FIELD(model_token, "name", TEXT, MAY, name),
	FIELD(model_token, "account", TEXT, MAY, account),
	FIELD(model_token, "token", TEXT, MAY, token),
	FIELD(model_token, "scopes", TEXTS, MAY, scopes),
	FIELD(model_token, "created_at", INT, MAY, created_at),
	FIELD(model_token, "expires_at", INT, MAY, expires_at),
	FIELD(model_token, "cap_dollars", MONEY, MAY, cap),
	FIELD(model_token, "spent_dollars", MONEY, MAY, spent),
	{ 0 },
};

_Static_assert(offsetof(struct model_token, scope_count) == offsetof(struct model_token, scopes) + sizeof(void *),
	"a list's count stands behind it");

int wire_token(struct doc *d, long at, struct model_token *out, struct fail *f)
{
	struct model_token made = { .cap = MODEL_NONE };
	int rc = wire_read(d, at, "a token", tokens, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

/* SF Compute's /v2/me has only the account, with one word for its id and name. */
int wire_whoami(struct doc *d, long at, struct model_whoami *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_whoami, "account_id", TEXT, MAY, account_id),
		FIELD(model_whoami, "account_name", TEXT, MAY, account),
		FIELD(model_whoami, "state", TEXT, MAY, state),
		FIELD(model_whoami, "local", BOOL, MAY, local),
		{ 0 },
	};
	static const struct wire_field user[] = {
		FIELD(model_whoami, "id", TEXT, MAY, user), FIELD(model_whoami, "email", TEXT, MAY, user), { 0 },
	};
	struct model_whoami made = { .token.cap = MODEL_NONE, .person.cap = MODEL_NONE };
	struct json_t *o = wire_object(d, at, "an account", f);
	int rc = o ? wire_fields(d, o, fields, "an account", &made, f) : -EPROTO;
	struct json_t *token = wire_member(o, "token");

	rc = rc ? rc : wire_fields(d, wire_member(o, "user"), user, "a user", &made, f);
	rc = rc || !token ? rc : wire_fields(d, token, tokens, "a token", &made.token, f);
	made.has_token = token != NULL;
	rc = rc ? rc : wire_person_in(d, wire_member(o, "person"), &made.person, f);
	made.has_person = made.person.id != NULL;
	if (!made.account)
		made.account = made.account_id;
	if (!rc)
		*out = made;
	return rc;
}

int wire_account(struct doc *d, long at, struct model_account *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_account, "id", TEXT, NEEDED, id),
		FIELD(model_account, "name", TEXT, NEEDED, name),
		FIELD(model_account, "state", TEXT, MAY, state),
		FIELD(model_account, "created_at", INT, MAY, created_at),
		{ 0 },
	};
	struct model_account made = { .balance = NO_BALANCE };
	struct json_t *o = wire_object(d, at, "an account", f);
	int rc = o ? wire_fields(d, o, fields, "an account", &made, f) : -EPROTO;
	struct json_t *b = wire_member(o, "balances");

	if (!rc && b)
		rc = wire_fields(d, b, balances, "a balance", &made.balance, f);
	if (!rc)
		*out = made;
	return rc;
}

/* ---- The market itself ----------------------------------------------------------------- */

static const struct wire_field policies[] = {
	FIELD(model_policy, "fee_bps", INT, MAY, fee_bps),
	FIELD(model_policy, "release_bps", INT, MAY, release_bps),
	FIELD(model_policy, "settle_minutes", INT, MAY, settle_minutes),
	FIELD(model_policy, "notice_minutes", INT, MAY, notice_minutes),
	FIELD(model_policy, "drain_notice_minutes", INT, MAY, drain_notice_minutes),
	FIELD(model_policy, "volume_grace_minutes", INT, MAY, volume_grace_minutes),
	{ 0 },
};

int wire_policy(struct doc *d, long at, struct model_policy *out, struct fail *f)
{
	struct model_policy made = { 0 };
	int rc = wire_read(d, at, "a policy", policies, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_market(struct doc *d, long at, struct model_market *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_market, "object", TEXT, NEEDED, name),
		FIELD(model_market, "name", TEXT, NEEDED, name),
		FIELD(model_market, "version", TEXT, MAY, version),
		FIELD(model_market, "now", INT, MAY, now),
		FIELD(model_market, "minute", INT, MAY, minute),
		FIELD(model_market, "test_clock", BOOL, MAY, test_clock),
		FIELD(model_market, "topups", BOOL, MAY, topups),
		FIELD(model_market, "tls_public_key", TEXT, MAY, tls_key),
		{ 0 },
	};
	struct model_market made = { 0 };
	struct json_t *o = wire_object(d, at, "a market", f);
	int rc = o ? wire_fields(d, o, fields, "a market", &made, f) : -EPROTO;

	rc = rc ? rc : wire_fields(d, wire_member(o, "policy"), policies, "a policy", &made.policy, f);
	if (!rc)
		*out = made;
	return rc;
}

/* ---- Hosts, leases, the ledger, what happened ------------------------------------------- */

int wire_procurement(struct doc *d, long at, struct model_procurement *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_procurement, "id", TEXT, NEEDED, id),
		FIELD(model_procurement, "name", TEXT, MAY, name),
		FIELD(model_procurement, "pool", REF, MAY, pool),
		FIELD(model_procurement, "instance_sku", REF, MAY, sku),
		FIELD(model_procurement, "min_sell_price_dollars_per_node_hour", PRICE, MAY, min_sell),
		FIELD(model_procurement, "max_buy_price_dollars_per_node_hour", PRICE, MAY, max_buy),
		FIELD(model_procurement, "managed_window_minutes", INT, MAY, window),
		FIELD(model_procurement, "enabled", BOOL, MAY, enabled),
		FIELD(model_procurement, "created_at", INT, MAY, created_at),
		FIELD(model_procurement, "updated_at", INT, MAY, updated_at),
		{ 0 },
	};
	static const struct wire_field status[] = {
		FIELD(model_procurement, "state", TEXT, MAY, state),
		FIELD(model_procurement, "message", TEXT, MAY, message),
		{ 0 },
	};
	static const struct wire_field target[] = { FIELD(model_procurement, "target", INT, NEEDED, target), { 0 } };
	struct model_procurement made = { .target = -1 };
	struct json_t *o = wire_object(d, at, "a procurement", f);
	int rc = o ? wire_fields(d, o, fields, "a procurement", &made, f) : -EPROTO;

	rc = rc ? rc : wire_fields(d, wire_member(o, "status"), status, "a procurement", &made, f);
	if (!rc && !wire_says(o, "target", "node_count"))
		rc = wire_fields(d, o, target, "a procurement", &made, f);
	if (!rc)
		*out = made;
	return rc;
}

/* Until when a host is sold, and what it is on sale at. */
static int read_host_schedule(struct doc *d, struct json_t *host, struct model_host *made, struct fail *f)
{
	struct piece {
		int64_t end, price;
		const char *state, *order;
	};
	static const struct wire_field fields[] = {
		FIELD(piece, "state", TEXT, NEEDED, state),
		FIELD(piece, "end_at", INT, MAY, end),
		FIELD(piece, "order", TEXT, MAY, order),
		FIELD(piece, "price_dollars_per_node_hour", PRICE, MAY, price),
		{ 0 },
	};
	int rc = 0;

	made->on_sale = -1;
	for (size_t i = 0; i < wire_length(host, "schedule") && !rc; i++) {
		struct piece p = { .end = MODEL_NEVER, .price = -1 };

		rc = wire_fields(d, wire_item(host, "schedule", i), fields, "a host's schedule", &p, f);
		if (rc)
			break;
		if (strcmp(p.state, "sold") == 0 && p.end > made->sold_until)
			made->sold_until = p.end;
		if (strcmp(p.state, "on_sale") == 0 && p.price >= 0 && (made->on_sale < 0 || p.price < made->on_sale)) {
			made->on_sale = p.price;
			made->on_sale_order = p.order;
		}
	}
	return rc;
}

int wire_host(struct doc *d, long at, struct model_host *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_host, "id", TEXT, NEEDED, id),
		FIELD(model_host, "name", TEXT, NEEDED, name),
		FIELD(model_host, "state", TEXT, MAY, state),
		FIELD(model_host, "agent", TEXT, MAY, agent),
		FIELD(model_host, "account_name", TEXT, MAY, account),
		FIELD(model_host, "instance_sku", REF, MAY, sku),
		FIELD(model_host, "start_at", INT, MAY, start),
		FIELD(model_host, "end_at", INT, MAY, end),
		FIELD(model_host, "down_reason", TEXT, MAY, down_reason),
		FIELD(model_host, "down_since", INT, MAY, down_since),
		FIELD(model_host, "floor_dollars_per_node_hour", PRICE, MAY, floor),
		{ 0 },
	};
	static const struct wire_field drain[] = {
		FIELD(model_host, "from", INT, MAY, drain),
		FIELD(model_host, "ends_leases", BOOL, MAY, drain_ends),
		FIELD(model_host, "reason", TEXT, MAY, drain_reason),
		{ 0 },
	};
	static const struct wire_field proof[] = {
		FIELD(model_host, "state", TEXT, MAY, proof),
		FIELD(model_host, "asked", BOOL, MAY, proof_asked),
		FIELD(model_host, "reason", TEXT, MAY, proof_reason),
		FIELD(model_host, "tier", TEXT, MAY, tier),
		FIELD(model_host, "until", INT, MAY, proof_until),
		{ 0 },
	};
	static const struct wire_field pool[] = { { "pool", WIRE_REF, false, 0 }, { 0 } };
	struct model_ref its = { 0 };
	struct model_host made = { .end = MODEL_NEVER, .floor = -1 };
	struct json_t *o = wire_object(d, at, "a host", f);
	int rc = o ? wire_fields(d, o, fields, "a host", &made, f) : -EPROTO;

	rc = rc ? rc : wire_fields(d, o, pool, "a host", &its, f);
	rc = rc ? rc : wire_fields(d, wire_member(o, "drain"), drain, "a host", &made, f);
	rc = rc ? rc : wire_fields(d, wire_member(o, "verification"), proof, "a host", &made, f);
	rc = rc ? rc : read_host_schedule(d, o, &made, f);
	made.pool = its.name ? its.name : its.id;
	if (!rc)
		*out = made;
	return rc;
}

int wire_drain(struct doc *d, long at, struct model_drain *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_drain, "from", INT, NEEDED, from),
		FIELD(model_drain, "earliest_at", INT, MAY, earliest),
		FIELD(model_drain, "sold_until", INT, MAY, sold_until),
		FIELD(model_drain, "leases", INT, MAY, leases),
		FIELD(model_drain, "node_minutes", INT, MAY, minutes),
		FIELD(model_drain, "refund_dollars", MONEY, MAY, refund),
		FIELD(model_drain, "hourly_dollars", MONEY, MAY, hourly),
		FIELD(model_drain, "ends_leases", BOOL, NEEDED, ends_leases),
		{ 0 },
	};
	struct model_drain made = { 0 };
	int rc = wire_read(d, at, "an answer about a host", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_repriced(struct doc *d, long at, struct model_repriced *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_repriced, "order", TEXT, NEEDED, order),
		FIELD(model_repriced, "instance_sku", REF, MAY, sku),
		FIELD(model_repriced, "was_dollars_per_node_hour", PRICE, NEEDED, was),
		FIELD(model_repriced, "changed", BOOL, NEEDED, changed),
		{ 0 },
	};
	static const struct wire_field host[] = { FIELD(model_repriced, "name", TEXT, NEEDED, host), { 0 } };
	struct model_repriced made = { 0 };
	struct json_t *o = wire_object(d, at, "an offer", f);
	int rc = o ? wire_fields(d, o, fields, "an offer", &made, f) : -EPROTO;

	made.hosts = o ? (int64_t)wire_length(o, "hosts") : 0;
	if (!rc && made.hosts)
		rc = wire_fields(d, wire_item(o, "hosts", 0), host, "an offer's host", &made, f);
	if (!rc)
		*out = made;
	return rc;
}

static const struct model_sizes sizes_unknown = { -1, -1, -1, -1 };

/* o NULL: all of them stay unknown. */
static int read_sizes(struct doc *d, struct json_t *o, struct model_sizes *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_sizes, "vcpus", INT, MAY, vcpus),
		FIELD(model_sizes, "memory_bytes", INT, MAY, memory),
		FIELD(model_sizes, "disk_bytes", INT, MAY, disk),
		FIELD(model_sizes, "gpus", INT, MAY, gpus),
		{ 0 },
	};

	*out = sizes_unknown;
	return wire_fields(d, o, fields, "a machine's sizes", out, f);
}

int wire_capacity(struct doc *d, struct model_sizes *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_sizes, "vcpus", INT, MAY, vcpus),
		FIELD(model_sizes, "memory_bytes", INT, MAY, memory),
		FIELD(model_sizes, "disk_bytes", INT, MAY, disk),
		{ 0 },
	};
	static const struct wire_field gpu[] = { FIELD(model_sizes, "count", INT, MAY, gpus), { 0 } };
	static const struct wire_field driver[] = { { "devices", WIRE_BOOL, MAY, 0 }, { 0 } };
	bool devices = true; /* an agent that does not know its driver yet leaves it out */
	struct json_t *root = wire_object(d, WIRE_WHOLE, "an inventory", f), *o = wire_member(root, "capacity");
	struct model_sizes made = sizes_unknown, one;
	int rc = root ? wire_fields(d, o, fields, "a capacity", &made, f) : -EPROTO;

	rc = rc ? rc : wire_fields(d, o, driver, "a capacity", &devices, f);
	if (o)
		made.gpus = 0;
	for (size_t i = 0; !rc && i < wire_length(o, "gpus"); i++) {
		one.gpus = 0;
		rc = wire_fields(d, wire_item(o, "gpus", i), gpu, "a capacity", &one, f);
		if (!rc && one.gpus > 0 && one.gpus <= INT32_MAX && devices)
			made.gpus += one.gpus;
	}
	if (!rc)
		*out = made;
	return rc;
}

int wire_agent(struct doc *d, long at, struct model_agent *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_agent, "id", TEXT, NEEDED, id),
		FIELD(model_agent, "name", TEXT, NEEDED, name),
		FIELD(model_agent, "state", TEXT, MAY, state),
		FIELD(model_agent, "health", TEXT, MAY, health),
		FIELD(model_agent, "machine", TEXT, MAY, machine),
		FIELD(model_agent, "created_at", INT, MAY, created_at),
		FIELD(model_agent, "last_seen_at", INT, MAY, last_seen_at),
		{ 0 },
	};
	static const struct wire_field status[] = {
		FIELD(model_agent, "message", TEXT, MAY, message), FIELD(model_agent, "driver", TEXT, MAY, driver),
		FIELD(model_agent, "nodes", INT, MAY, nodes), { 0 },
	};
	struct model_agent made = { .nodes = -1 };
	struct json_t *o = wire_object(d, at, "an agent", f);
	int rc = o ? wire_fields(d, o, fields, "an agent", &made, f) : -EPROTO;

	struct json_t *room = o ? wire_member(o, "room") : NULL;

	rc = rc ? rc : wire_fields(d, wire_member(o, "status"), status, "an agent", &made, f);
	rc = rc ? rc : read_sizes(d, wire_member(room, "has"), &made.has, f);
	rc = rc ? rc : read_sizes(d, wire_member(room, "promised"), &made.promised, f);
	rc = rc ? rc : read_sizes(d, wire_member(room, "left"), &made.left, f);
	if (!rc)
		*out = made;
	return rc;
}

int wire_lease(struct doc *d, long at, struct model_lease *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_lease, "id", TEXT, NEEDED, id),
		FIELD(model_lease, "pool", REF, MAY, pool),
		FIELD(model_lease, "instance_sku", REF, MAY, sku),
		FIELD(model_lease, "start_at", INT, NEEDED, start),
		FIELD(model_lease, "end_at", INT, NEEDED, end),
		FIELD(model_lease, "settled_at", INT, MAY, settled),
		FIELD(model_lease, "price_dollars_per_node_hour", PRICE, MAY, price),
		FIELD(model_lease, "cost_dollars", MONEY, MAY, cost),
		FIELD(model_lease, "node_count", INT, MAY, nodes),
		FIELD(model_lease, "interruptible", BOOL, MAY, interruptible),
		{ 0 },
	};
	struct model_lease made = { .nodes = 1 };
	int rc = wire_read(d, at, "a lease", fields, &made, f);

	if (!rc && made.end < made.start)
		rc = wire_bad(f, "a lease", "end_at", "is before its start");
	if (!rc)
		*out = made;
	return rc;
}

/* 64 hexadecimal digits. */
static int from_hex(const char *text, uint8_t out[MODEL_CHAIN])
{
	static const char digits[] = "0123456789abcdef";

	if (strlen(text) != 2 * MODEL_CHAIN || text[strspn(text, digits)])
		return -EPROTO;
	for (size_t i = 0; i < MODEL_CHAIN; i++)
		out[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 |
			(strchr(digits, text[2 * i + 1]) - digits));
	return 0;
}

int wire_posting(struct doc *d, long at, struct model_posting *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_posting, "seq", UINT, NEEDED, seq),
		FIELD(model_posting, "n", UINT, NEEDED, n),
		FIELD(model_posting, "at", INT, NEEDED, at),
		FIELD(model_posting, "transfer", UINT, NEEDED, transfer),
		FIELD(model_posting, "owner", UINT, NEEDED, owner),
		FIELD(model_posting, "book", TEXT, NEEDED, book),
		FIELD(model_posting, "reason", TEXT, MAY, reason),
		FIELD(model_posting, "asset", UINT, NEEDED, asset),
		FIELD(model_posting, "amount", INT, NEEDED, amount),
		FIELD(model_posting, "balance", INT, NEEDED, balance),
		FIELD(model_posting, "subject", UINT, NEEDED, subject),
		{ 0 },
	};
	static const struct wire_field chain[] = { { "chain", WIRE_TEXT, true, 0 }, { 0 } };
	const char *hex = NULL;
	struct model_posting made = { 0 };
	struct json_t *o = wire_object(d, at, "a posting", f);
	int rc = o ? wire_fields(d, o, fields, "a posting", &made, f) : -EPROTO;

	rc = rc ? rc : wire_fields(d, o, chain, "a posting", &hex, f);
	if (!rc && from_hex(hex, made.chain))
		rc = wire_bad(f, "a posting", "chain", "is not 64 hexadecimal digits");
	if (!rc)
		*out = made;
	return rc;
}

int wire_audit(struct doc *d, long at, struct model_audit *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_audit, "seq", INT, NEEDED, seq),
		FIELD(model_audit, "at", INT, NEEDED, at),
		FIELD(model_audit, "kind", TEXT, NEEDED, kind),
		FIELD(model_audit, "account", TEXT, MAY, account),
		FIELD(model_audit, "text", TEXT, NEEDED, text),
		FIELD(model_audit, "reason", TEXT, MAY, reason),
		FIELD(model_audit, "by", REF, MAY, by),
		{ 0 },
	};
	struct model_audit made = { 0 };
	int rc = wire_read(d, at, "an audit", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

int wire_event(struct doc *d, long at, struct model_event *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_event, "seq", UINT, NEEDED, seq), FIELD(model_event, "at", INT, MAY, at),
		FIELD(model_event, "type", TEXT, MAY, type), { 0 },
	};
	struct model_event made = { 0 };
	int rc = wire_read(d, at, "an event", fields, &made, f);

	if (!rc)
		*out = made;
	return rc;
}

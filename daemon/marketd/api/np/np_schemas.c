/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of /np/v1: requests and answers. */
#include "marketd/api/np/np_schemas.h"

#include "marketd/api/promise.h"

#define PRICE_TEXT "^[0-9]+[.][0-9]+$"
#define MONEY_TEXT_OF "^-?[0-9]+[.][0-9]{1,6}$"

/* NAME_dollars and NAME_micros. */
#define AMOUNT(name, flags) \
	{ name "_dollars", SCHEMA_REF, FIELD_REQUIRED | (flags), "np.Dollars", 0, 0, NULL }, \
	{ \
		name "_micros", SCHEMA_INTEGER, FIELD_REQUIRED | (flags), NULL, 0, 0, NULL \
	}

static const struct schema_field policy_fields[] = {
	OBJECT_IS("policy"),
	{ "fee_bps", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "the market's share of what a seller gets" },
	{ "release_bps", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0,
		"the share of unused time that a release refunds" },
	{ "settle_minutes", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "how often a running lease pays its seller" },
	{ "notice_minutes", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "before an interruptible lease is taken back" },
	{ "drain_notice_minutes", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0,
		"before a seller's drain ends a lease that is not interruptible" },
	{ "volume_grace_minutes", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "for which an unpaid volume is kept" },
	{ 0 },
};

static const struct schema_field put_policy[] = {
	{ "fee_bps", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, 10000, NULL },
	{ "release_bps", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, 10000, NULL },
	{ "settle_minutes", SCHEMA_INTEGER, FIELD_NULL, NULL, 1, 525600, NULL },
	{ "notice_minutes", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, 1440, NULL },
	{ "drain_notice_minutes", SCHEMA_INTEGER, FIELD_NULL, NULL, 1, DRAIN_NOTICE_MAX, NULL },
	{ "volume_grace_minutes", SCHEMA_INTEGER, FIELD_NULL, NULL, 1, VOLUME_GRACE_MAX, NULL },
	{ 0 },
};

static const struct schema_field market_policy[] = {
	{ "fee_bps", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "release_bps", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "settle_minutes", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "notice_minutes", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "drain_notice_minutes", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "volume_grace_minutes", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field market[] = {
	OBJECT_IS("market"),
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "version", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "apis", SCHEMA_ARRAY, FIELD_REQUIRED, "string", 0, 0, NULL },
	TIME("now", FIELD_REQUIRED),
	{ "minute", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "of the last tick, since the epoch" },
	{ "test_clock", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "id", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"the same for ever: nanopod_market in Stripe's metadata; null: no token was made yet" },
	{ "topups", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "people pay for their accounts: POST /np/v1/topups" },
	{ "personhood", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "it asks for scores of proven addresses" },
	{ "policy", SCHEMA_REF, FIELD_REQUIRED, "np.MarketPolicy", 0, 0, NULL },
	{ "tls_public_key", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "sha256//…, to pin; null: no TLS" },
	{ "tls_next_public_key", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"that of the next certificate, as far as it is announced" },
	{ 0 },
};

static const struct schema_field whoami_token[] = {
	ID_OF("tok"),
	{ "name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "scopes", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Scope", 0, 0, NULL },
	TIME("expires_at", FIELD_REQUIRED | FIELD_NULL),
	SPENDING,
	{ 0 },
};

static const struct schema_field whoami[] = {
	OBJECT_IS("whoami"),
	{ "account_id", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "account_name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED | FIELD_NULL, "open|suspended", 0, 0, NULL },
	{ "token", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.WhoamiToken", 0, 0, NULL },
	{ "local", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "through the unix socket: the operator" },
	{ "person", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Person", 0, 0, "null: a token of the account" },
	{ "debt", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Debt", 0, 0, "null: it owes nothing" },
	{ 0 },
};

static const struct schema_field balances[] = {
	OBJECT_IS("balance"),
	AMOUNT("available", 0),
	AMOUNT("held", 0),
	AMOUNT("held_payouts", 0),
	AMOUNT("escrow", 0),
	AMOUNT("unsettled", 0),
	AMOUNT("floor", 0),
	{ 0 },
};

static const struct schema_field balance[] = {
	{ "burn_dollars_per_hour", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, "what running leases cost" },
	{ "burn_micros_per_hour", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "debt", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Debt", 0, 0, "null: it owes nothing" },
	{ 0 },
};

static const struct schema_field clock_request[] = {
	{ "at", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 1, SECONDS_MAX, "Unix seconds; not before the current clock" },
	{ 0 },
};

static const struct schema_field clock_answer[] = {
	OBJECT_IS("clock"),
	TIME("now", FIELD_REQUIRED),
	{ "minute", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ 0 },
};

/* ---- Tokens and accounts ------------------------------------------------------------------------ */

static const struct schema_field create_token[] = {
	{ "name", SCHEMA_STRING, FIELD_NULL, NULL, 0, NAME_BYTES, NULL },
	{ "scopes", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Scope", 1, 6, "none that the maker's token lacks" },
	{ "expires_in_seconds", SCHEMA_INTEGER, FIELD_NULL, NULL, 1, LIFE_MAX,
		"absent or null: never; not after the maker's token" },
	{ "cap_dollars", SCHEMA_REF, FIELD_NULL, "np.Dollars", 0, 0,
		"what it may spend in a calendar month (UTC); absent: no cap" },
	{ 0 },
};

static const struct schema_field token[] = {
	OBJECT_IS("token"),
	ID_OF("tok"),
	{ "name", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "scopes", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Scope", 0, 0, NULL },
	TIME("created_at", FIELD_REQUIRED),
	TIME("expires_at", FIELD_REQUIRED | FIELD_NULL),
	{ "person", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"who signs in with it; null: whoever has it" },
	SPENDING,
	{ 0 },
};

static const struct schema_field new_token[] = {
	{ "token", SCHEMA_STRING, FIELD_REQUIRED, "^npk_[A-Za-z0-9_-]+$", 0, 64, "shown only here" },
	{ 0 },
};

#define LIST_OF(name, item) \
	static const struct schema_field name[] = { \
		OBJECT_IS("list"), \
		{ "cursor", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL }, \
		{ "has_more", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL }, \
		{ "data", SCHEMA_ARRAY, FIELD_REQUIRED, item, 0, 0, NULL }, \
		{ 0 }, \
	}

LIST_OF(token_list, "np.Token");
LIST_OF(account_list, "np.Account");
LIST_OF(host_list, "np.Host");
LIST_OF(lease_list, "np.Lease");
LIST_OF(ledger, "np.Posting");

static const struct schema_field create_account[] = {
	{ "name", SCHEMA_REF, FIELD_REQUIRED, "np.Name", 0, 0, NULL },
	{ "floor_dollars", SCHEMA_REF, FIELD_NULL, "np.Dollars", 0, 0,
		"how far below zero its balance may go: \"-100.00\"" },
	{ "beneficiary", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES,
		"accounts of one beneficiary never trade with each other" },
	{ 0 },
};

static const struct schema_field patch_account[] = {
	{ "state", SCHEMA_ENUM, FIELD_NULL, "open|suspended", 0, 0, NULL },
	{ "floor_dollars", SCHEMA_REF, FIELD_NULL, "np.Dollars", 0, 0, NULL },
	{ "reason", SCHEMA_STRING, FIELD_NULL, NULL, 1, WHY_BYTES, "why; the account sees it" },
	{ 0 },
};

static const struct schema_field account[] = {
	OBJECT_IS("account"),
	ID_OF("acct"),
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "open|suspended", 0, 0, NULL },
	{ "beneficiary", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	TIME("created_at", FIELD_REQUIRED),
	{ "balances", SCHEMA_REF, FIELD_REQUIRED, "np.Balances", 0, 0, NULL },
	{ "debt", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Debt", 0, 0, "null: it owes nothing" },
	{ 0 },
};

static const struct schema_field create_credit[] = {
	{ "amount_dollars", SCHEMA_REF, FIELD_REQUIRED, "np.Dollars", 0, 0, "below zero takes money out" },
	{ "reason", SCHEMA_STRING, FIELD_NULL, NULL, 1, WHY_BYTES, "why; the account sees it" },
	{ "reservation", SCHEMA_STRING, FIELD_NULL, NULL, 1, 1024,
		"one of the account's pools, by id or name: the money is a refund for it, and needs a reason" },
	{ 0 },
};

static const struct schema_field credit[] = {
	OBJECT_IS("credit"), { "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL }, AMOUNT("amount", 0),
	{ "balance", SCHEMA_REF, FIELD_REQUIRED, "np.Balances", 0, 0, NULL }, { 0 },
};

/* ---- SKUs and hosts ------------------------------------------------------------------------------- */

#define WORD(name) { name, SCHEMA_STRING, FIELD_NULL, NULL, 1, 64, NULL }
#define COUNT(name) { name, SCHEMA_INTEGER, FIELD_NULL, NULL, 0, INT64_C(1) << 52, NULL }

static const struct schema_field tier[] = {
	{ "name", SCHEMA_REF, FIELD_REQUIRED, "np.ShortName", 0, 0, NULL },
	{ "floors", SCHEMA_REF, FIELD_REQUIRED, "np.Floors", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field requires[] = {
	{ "gpu_vendor", SCHEMA_ENUM, FIELD_NULL, "nvidia|amd|intel", 0, 0, NULL },
	{ "gpu_memory", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, INT64_C(1) << 52, "bytes that each GPU has at least" },
	{ "share", SCHEMA_STRING, FIELD_NULL, SHARES, 3, SHARE_TEXT,
		"a node gets not the whole GPU, but the time of all and this part of its memory, beside others; or a "
		"slice with hardware of its own (MIG), as mig:1g.10gb" },
	{ "shared_storage", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, INT64_C(1) << 52,
		"bytes that each node adds to /shared, a folder that all nodes of a reservation on a machine share" },
	{ "inodes", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, INT64_C(1) << 40, "files that fit on a node's disk" },
	{ "network_mbps", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, 10000000, NULL },
	{ "overcommit", SCHEMA_INTEGER, FIELD_NULL, NULL, 1, OVERCOMMIT_MAX,
		"how many vCPUs share a core; memory, disk and GPUs are never shared" },
	{ "features", SCHEMA_ARRAY, FIELD_NULL, "np.Feature", 0, 8, "told to buyers; the market does not check them" },
	{ "verified", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0,
		"sold from hosts that measurements prove, unless a buyer takes others, too" },
	{ "floors", SCHEMA_REF, FIELD_NULL, "np.Floors", 0, 0, "values that a host has to reach; they ask for proof" },
	{ "tiers", SCHEMA_ARRAY, FIELD_NULL, "np.Tier", 0, 16, "the best first: a host has the first that it reaches" },
	{ "verify_hours", SCHEMA_INTEGER, FIELD_NULL, NULL, 1, 8760, "how long a proof holds; absent: a week" },
	{ "recheck_percent", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, 100,
		"of leases, by chance: their hosts are measured again before a node starts, refunded where they fail" },
	{ 0 },
};

static const struct schema_field sku_properties_of[] = {
	WORD("accelerator"),
	WORD("form_factor"),
	WORD("region"),
	WORD("availability_zone"),
	{ "rdma_type", SCHEMA_ENUM, FIELD_NULL, "infiniband|roce", 0, 0, NULL },
	COUNT("num_vcpus"),
	COUNT("memory"),
	COUNT("local_storage"),
	{ "supports_public_ipv4", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ "requires", SCHEMA_REF, FIELD_NULL, "np.Requires", 0, 0,
		"what a node also has; in a change, given ones replace, null removes" },
	{ 0 },
};

static const struct schema_field create_sku[] = {
	{ "alias", SCHEMA_REF, FIELD_REQUIRED, "np.ShortName", 0, 0, NULL },
	{ "gpus", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 1024, "of a node; 0: a CPU node" },
	{ "properties", SCHEMA_REF, FIELD_NULL, "np.SkuProperties", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field patch_sku[] = {
	{ "alias", SCHEMA_REF, FIELD_NULL, "np.ShortName", 0, 0, NULL },
	{ "properties", SCHEMA_REF, FIELD_NULL, "np.SkuProperties", 0, 0, "given ones replace, null removes" },
	{ 0 },
};

static const struct schema_field create_host[] = {
	{ "name", SCHEMA_REF, FIELD_REQUIRED, "np.Name", 0, 0, NULL },
	{ "instance_sku", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, NAME_BYTES, "id or alias" },
	TIME("start_at", FIELD_NULL),
	TIME("end_at", FIELD_NULL),
	{ "account", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, "the owner; only for the operator" },
	{ 0 },
};

static const struct schema_field patch_host[] = {
	{ "down", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "reason", SCHEMA_STRING, FIELD_NULL, NULL, 1, WHY_BYTES, "why it is down; its buyers see it" },
	{ 0 },
};

static const struct schema_field drain_request[] = {
	{ "at", SCHEMA_INTEGER, FIELD_NULL, NULL, 60, SECONDS_MAX,
		"what is sold ends then; absent: sell no more from now on, and what is sold runs out" },
	{ "reason", SCHEMA_STRING, FIELD_NULL, NULL, 1, WHY_BYTES, "why; buyers whose time ends early see it" },
	{ "dry_run", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field host_drain[] = {
	TIME("from", FIELD_REQUIRED),
	{ "ends_leases", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "what was sold beyond ended then" },
	{ "reason", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field drain[] = {
	OBJECT_IS("drain"),
	{ "dry_run", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	TIME("from", FIELD_REQUIRED),
	{ "ends_leases", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "earliest_at", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "the earliest time that 'at' may be" },
	{ "sold_until", SCHEMA_INTEGER, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"end of the last time that is sold beyond it; null: none is" },
	{ "leases", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "sold beyond it" },
	{ "node_minutes", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "sold beyond it" },
	AMOUNT("refund", 0), /* of what its owner sold */
	AMOUNT("hourly", 0),
	{ "host", SCHEMA_REF, FIELD_REQUIRED, "np.Host", 0, 0, NULL },
	{ 0 },
};

static const struct schema_field create_offer[] = {
	{ "price_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, PRICE_TEXT, 1, 32, NULL },
	TIME("start_at", FIELD_NULL),
	TIME("end_at", FIELD_NULL),
	{ 0 },
};

static const struct schema_field named[] = {
	{ "id", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field host_piece[] = {
	TIME("start_at", FIELD_REQUIRED),
	TIME("end_at", FIELD_REQUIRED | FIELD_NULL),
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "idle|on_sale|sold|closed", 0, 0,
		"closed: its owner took it from a buyer, so that it is not sold again" },
	{ "order", SCHEMA_STRING, 0, NULL, 0, 0, "the order that has it on sale" },
	{ "price_dollars_per_node_hour", SCHEMA_STRING, 0, PRICE_TEXT, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field host[] = {
	OBJECT_IS("host"),
	ID_OF("host"),
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "account_name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "instance_sku", SCHEMA_REF, FIELD_REQUIRED, "InstanceSkuSummary", 0, 0, NULL },
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "up|down|retired", 0, 0, NULL },
	{ "agent", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "the agent that makes its nodes" },
	{ "pool", SCHEMA_REF, FIELD_REQUIRED, "np.Named", 0, 0, NULL },
	TIME("start_at", FIELD_REQUIRED),
	TIME("end_at", FIELD_REQUIRED | FIELD_NULL),
	TIME("created_at", FIELD_REQUIRED),
	{ "schedule", SCHEMA_ARRAY, FIELD_REQUIRED, "np.HostPiece", 0, 0, NULL },
	{ "down_reason", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "why it is down" },
	TIME("down_since", FIELD_REQUIRED | FIELD_NULL),
	{ "drain", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.HostDrain", 0, 0,
		"from when on it is out of service; null: it is not" },
	{ "floor_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, PRICE_TEXT, 0, 0,
		"its owner never has it on sale for less; null: no floor" },
	{ "verification", SCHEMA_REF, FIELD_REQUIRED, "np.Verification", 0, 0, "what was measured of it" },
	{ 0 },
};

/* ---- Trade ------------------------------------------------------------------------------------------ */

static const struct schema_field quote_request[] = {
	{ "pool", SCHEMA_STRING, FIELD_NULL, NULL, 1, 1024, "absent: as into a new pool (buy only)" },
	{ "side", SCHEMA_ENUM, FIELD_REQUIRED, "buy|sell", 0, 0, NULL },
	{ "instance_sku", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, NAME_BYTES, NULL },
	{ "allocation_schedule_delta", SCHEMA_REF, FIELD_REQUIRED, "Schedule", 0, 0, NULL },
	{ "limit_price_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, PRICE_TEXT, 1, 32, NULL },
	{ "allow_standing", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ "allow_partial", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ "np_max_total_dollars", SCHEMA_REF, FIELD_NULL, "np.Dollars", 0, 0, NULL },
	{ "np_interruptible", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ "np_unverified", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, "hosts without a valid proof do, too" },
	{ "np_grant", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, "which pays a part, or 'none'" },
	{ 0 },
};

static const struct schema_field alternative[] = {
	{ "kind", SCHEMA_ENUM, FIELD_REQUIRED, "price|nodes|start|end|unverified", 0, 0, NULL },
	{ "message", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "limit_price_dollars_per_node_hour", SCHEMA_STRING, 0, PRICE_TEXT, 0, 0, NULL },
	{ "node_count", SCHEMA_INTEGER, 0, NULL, 0, 0, NULL },
	TIME("start_at", 0),
	TIME("end_at", 0),
	{ 0 },
};

static const struct schema_field quote[] = {
	OBJECT_IS("quote"),
	{ "side", SCHEMA_ENUM, FIELD_REQUIRED, "buy|sell", 0, 0, NULL },
	{ "fills", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "rests", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, "does not fill now and would stay in the book" },
	{ "node_count", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	TIME("start_at", FIELD_REQUIRED),
	TIME("end_at", FIELD_REQUIRED | FIELD_NULL),
	{ "price_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, PRICE_TEXT, 0, 0,
		"of the most expensive part" },
	AMOUNT("cost", FIELD_NULL),
	AMOUNT("granted", FIELD_NULL),
	AMOUNT("available_after", FIELD_NULL),
	{ "policy", SCHEMA_REF, FIELD_REQUIRED | FIELD_NULL, "np.Verdict", 0, 0, "null: the market has none" },
	{ "reason", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "message", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, NULL },
	{ "alternatives", SCHEMA_ARRAY, FIELD_REQUIRED, "np.Alternative", 0, 0, "each fills now" },
	{ 0 },
};

static const struct schema_field extend[] = {
	{ "duration_seconds", SCHEMA_INTEGER, FIELD_NULL, NULL, 60, SECONDS_MAX, "give this or end_at" },
	{ "end_at", SCHEMA_INTEGER, FIELD_NULL, NULL, 60, SECONDS_MAX, "give this or duration_seconds" },
	{ "start_at", SCHEMA_INTEGER, FIELD_NULL, NULL, 60, SECONDS_MAX,
		"when nodes of the pool end, all of them or some before the others; refused if none end then" },
	{ "last_order", SCHEMA_STRING, FIELD_NULL, NULL, 1, 64,
		"the pool's newest buy order that the caller knows; refused if there is a newer one" },
	{ "node_count", SCHEMA_INTEGER, FIELD_NULL, NULL, 1, NODES_MAX, "absent: all nodes that end there" },
	{ "instance_sku", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, NULL },
	{ "limit_price_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, PRICE_TEXT, 1, 32, NULL },
	{ "max_total_dollars", SCHEMA_REF, FIELD_NULL, "np.Dollars", 0, 0, NULL },
	{ "np_grant", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, "which pays a part, or 'none'" },
	{ "dry_run", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field release_request[] = {
	{ "from", SCHEMA_INTEGER, FIELD_NULL, NULL, 0, SECONDS_MAX, "absent: from the next minute on" },
	{ "node_count", SCHEMA_INTEGER, FIELD_NULL, NULL, 1, NODES_MAX, "absent: all" },
	{ "instance_sku", SCHEMA_STRING, FIELD_NULL, NULL, 1, NAME_BYTES, NULL },
	{ "dry_run", SCHEMA_BOOLEAN, FIELD_NULL, NULL, 0, 0, NULL },
	{ 0 },
};

static const struct schema_field released_node[] = {
	ID_OF("inst"),
	{ "name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "start_at", SCHEMA_INTEGER, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"of the time that it waits for; null: it has a host and stops" },
	{ 0 },
};

static const struct schema_field release[] = {
	OBJECT_IS("release"),
	TIME("from", FIELD_REQUIRED),
	{ "node_count", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "nodes", SCHEMA_ARRAY, FIELD_REQUIRED, "np.ReleasedNode", 0, 0, "which end by it" },
	{ "idle_hosts", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "of them without a node now: these go first" },
	{ "dry_run", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "rule", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "what is refunded, in words" },
	AMOUNT("refund", 0),
	AMOUNT("paid", 0),
	{ 0 },
};

/* ---- What happened ------------------------------------------------------------------------------------ */

#define DIGITS(name, text) { name, SCHEMA_STRING, FIELD_REQUIRED, "^[0-9]+$", 0, 0, text }

static const struct schema_field posting[] = {
	DIGITS("seq", "of the event"),
	{ "n", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "within it" },
	TIME("at", FIELD_REQUIRED),
	DIGITS("transfer", "postings of one transfer sum to zero in each asset"),
	DIGITS("owner", "account, pool, or 0 (the market)"),
	{ "book", SCHEMA_ENUM, FIELD_REQUIRED, "available|held|escrow|issued|fees|capacity|used", 0, 0, NULL },
	DIGITS("asset", "0: micro-dollars; else node-minutes of a SKU"),
	{ "amount", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "balance", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "after it" },
	DIGITS("subject", "the order or lease that it is for; 0"),
	{ "chain", SCHEMA_STRING, FIELD_REQUIRED, "^[0-9a-f]+$", 64, 64, "SHA-256(chain before it, its text)" },
	{ "reason", SCHEMA_STRING, 0, NULL, 0, 0, "of a credit: why, as the operator said; not in the chain" },
	{ 0 },
};

static const struct schema_field event_line[] = {
	{ "seq", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, "pass as since_seq to continue after it" },
	TIME("at", FIELD_REQUIRED),
	{ "type", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "order", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "contract", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "account", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "instance", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "host", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "announcement", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "agent", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "procurement", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "pool", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "grant", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "grant_name", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "plan", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "plan_name", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "volume", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "volume_name", SCHEMA_STRING, 0, NULL, 0, 0, "of one that is still there" },
	{ "payout", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "amount_dollars", SCHEMA_REF, 0, "np.Dollars", 0, 0, NULL },
	{ "amount_micros", SCHEMA_INTEGER, 0, NULL, 0, 0, NULL },
	{ "price_dollars_per_node_hour", SCHEMA_STRING, 0, PRICE_TEXT, 0, 0,
		"the new price of an order, the new floor of a host" },
	TIME("effective_at", FIELD_NULL),
	{ "status", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "state", SCHEMA_STRING, 0, NULL, 0, 0, NULL },
	{ "side", SCHEMA_ENUM, 0, "buy|sell", 0, 0, NULL },
	{ "reason", SCHEMA_STRING, FIELD_NULL, NULL, 0, 0, NULL },
	{ "message", SCHEMA_STRING, 0, NULL, 0, 0,
		"what happened and what to do, where the market withdrew an offer; why the operator did it" },
	{ 0 },
};

static const struct schema_field lease[] = {
	OBJECT_IS("lease"),
	ID_OF("cont"),
	{ "order", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "pool", SCHEMA_REF, FIELD_REQUIRED, "np.Named", 0, 0, NULL },
	{ "instance_sku", SCHEMA_REF, FIELD_REQUIRED, "InstanceSkuSummary", 0, 0, NULL },
	{ "node_count", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0, NULL },
	TIME("start_at", FIELD_REQUIRED),
	TIME("end_at", FIELD_REQUIRED | FIELD_NULL),
	{ "settled_at", SCHEMA_INTEGER, FIELD_REQUIRED, NULL, 0, 0,
		"its time before this is booked: a report and the ledger have it" },
	{ "price_dollars_per_node_hour", SCHEMA_STRING, FIELD_REQUIRED, PRICE_TEXT, 0, 0, NULL },
	{ "interruptible", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "sold_on", SCHEMA_BOOLEAN, FIELD_REQUIRED, NULL, 0, 0, NULL },
	TIME("filled_at", FIELD_REQUIRED),
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "running|coming", 0, 0, NULL },
	AMOUNT("cost", 0),
	{ 0 },
};

const struct schema schema_np[] = {
	{ "np.Name", SCHEMA_STRING, "^[a-zA-Z0-9][a-zA-Z0-9._-]*$", 1, NAME_BYTES - 10, NULL, NULL,
		"letters, digits, '.', '_', '-'" },
	{ "np.ShortName", SCHEMA_STRING, "^[a-zA-Z0-9][a-zA-Z0-9._-]*$", 1, 127, NULL, NULL,
		"letters, digits, '.', '_', '-'; as long as an agent takes it" },
	{ "np.Time", SCHEMA_INTEGER, NULL, 0, SECONDS_MAX, NULL, NULL, "Unix seconds" },
	{ "np.Dollars", SCHEMA_STRING, MONEY_TEXT_OF, 1, 32, NULL, NULL, "dollars, to the micro-dollar" },
	{ "np.Scope", SCHEMA_ENUM, "read|trade|nodes|tokens|host|admin|join", 0, 0, NULL, NULL,
		"what a token may do; join: lets one machine join, once" },
	OBJECT("np.Named", named),
	OBJECT("np.MarketPolicy", market_policy),
	OBJECT("np.Market", market),
	OBJECT("np.WhoamiToken", whoami_token),
	OBJECT("np.Whoami", whoami),
	OBJECT("np.Balances", balances),
	{ "np.Balance", SCHEMA_OBJECT, NULL, 0, 0, "np.Balances", balance, NULL },
	OBJECT("np.Policy", policy_fields),
	OBJECT("np.PutPolicyRequest", put_policy),
	OBJECT("np.ClockRequest", clock_request),
	OBJECT("np.Clock", clock_answer),
	OBJECT("np.CreateTokenRequest", create_token),
	OBJECT("np.Token", token),
	{ "np.NewToken", SCHEMA_OBJECT, NULL, 0, 0, "np.Token", new_token, NULL },
	OBJECT("np.TokenList", token_list),
	OBJECT("np.CreateAccountRequest", create_account),
	OBJECT("np.PatchAccountRequest", patch_account),
	OBJECT("np.Account", account),
	OBJECT("np.AccountList", account_list),
	OBJECT("np.CreateCreditRequest", create_credit),
	OBJECT("np.Credit", credit),
	{ "np.Feature", SCHEMA_ENUM, "nvlink|rdma|kvm", 0, 0, NULL, NULL, NULL },
	{ "np.Floors", SCHEMA_MAP, "integer", 0, 32, NULL, NULL,
		"by a check's name, as in disk_write: what is measured in us or % stays below, others reach it" },
	OBJECT("np.Tier", tier),
	OBJECT("np.Requires", requires),
	OBJECT("np.SkuProperties", sku_properties_of),
	OBJECT("np.CreateSkuRequest", create_sku),
	OBJECT("np.PatchSkuRequest", patch_sku),
	OBJECT("np.CreateHostRequest", create_host),
	OBJECT("np.PatchHostRequest", patch_host),
	OBJECT("np.DrainRequest", drain_request),
	OBJECT("np.Drain", drain),
	OBJECT("np.HostDrain", host_drain),
	OBJECT("np.CreateOfferRequest", create_offer),
	OBJECT("np.HostPiece", host_piece),
	OBJECT("np.Host", host),
	OBJECT("np.HostList", host_list),
	OBJECT("np.QuoteRequest", quote_request),
	OBJECT("np.Alternative", alternative),
	OBJECT("np.Quote", quote),
	OBJECT("np.ExtendRequest", extend),
	{ "np.ExtendAnswer", SCHEMA_ONE_OF, "np.Quote|v2.OrderResponse", 0, 0, NULL, NULL,
		"a quote with dry_run, else the order" },
	OBJECT("np.ReleaseRequest", release_request),
	OBJECT("np.ReleasedNode", released_node),
	OBJECT("np.Release", release),
	OBJECT("np.Posting", posting),
	OBJECT("np.Ledger", ledger),
	OBJECT("np.Event", event_line),
	OBJECT("np.Lease", lease),
	OBJECT("np.LeaseList", lease_list),
	{ 0 },
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A market's answers as plain data: wire.h fills these from JSON. Texts and arrays belong to the document
 * that they were read from (struct doc) and go with it. Absent is NULL, 0, or what is noted here. Money is
 * micro-dollars, prices micro-dollars per node-minute, times Unix seconds. A market may use words that we
 * do not know: they become 0 (…_UNKNOWN), with the word itself beside it.
 */
#ifndef MARKET_MODEL_H
#define MARKET_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_NEVER INT64_MAX  /* the end of what has no end */
#define MODEL_NONE INT64_MIN   /* money that the market did not report */

enum { MODEL_CHAIN = 32 };

struct model_ref {
	const char *id, *name;       /* a SKU's name is its alias */
};

struct model_span {
	int64_t start, end;          /* end MODEL_NEVER: open */
	int64_t nodes;
};

struct model_schedule {
	const struct model_span *list;
	size_t count;
};

struct model_sku {
	const char *id, *alias, *accelerator, *form_factor, *region, *zone, *rdma, *audience;
	int64_t gpus, vcpus, memory, storage; /* of a node; -1: unknown; bytes */
	int64_t public_ipv4;                  /* 0, 1; -1: unknown */
	int64_t gpu_memory, overcommit;       /* bytes of each GPU; vCPUs that share a core; -1: unknown */
	int64_t shared;                       /* bytes of its part of its reservation's /shared; -1: unknown */
	const char *share;                    /* "1/4": a part of its GPU; NULL: all of it */
};

/* What a machine has for nodes, or what is promised or left of it. */
struct model_sizes {
	int64_t vcpus, memory, disk, gpus; /* bytes; -1: unknown */
};

struct model_availability {
	struct model_ref sku;
	struct model_schedule schedule;
};

struct model_level {
	const char *sku;
	int64_t price;
	struct model_schedule schedule;
};

struct model_depth {
	int64_t start, end, requested_at;
	const struct model_level *bids, *asks; /* best first */
	size_t bid_count, ask_count;
};

struct model_fill {
	const char *contract;
	int64_t filled_at, price;
	struct model_schedule schedule;
	bool given_up; /* its buyer released or sold it, or its host took it back; only from a nanopod market */
};

/* X(name, word) */
#define MODEL_ORDER_STATUSES(X) \
	X(PENDING, "pending") X(FILLED, "filled") X(PARTIALLY_FILLED, "partially_filled") X(REJECTED, "rejected") \
	X(CANCELLED, "cancelled") X(STANDING, "standing")

enum model_order_status {
	MODEL_ORDER_UNKNOWN,
#define MODEL_X(name, word) MODEL_ORDER_##name,
	MODEL_ORDER_STATUSES(MODEL_X)
#undef MODEL_X
};

struct model_order {
	const char *id, *side, *status_text;
	enum model_order_status status;
	struct model_ref pool, sku;
	bool sell, standing, partial;
	struct model_schedule window, filled; /* what was ordered; what of it was filled */
	int64_t limit;                        /* price */
	int64_t created_at, filled_at, cancelled_at;
	int64_t average;                      /* price; -1: nothing filled */
	const struct model_fill *fills;
	size_t fill_count;
	struct model_ref by;                  /* token or user */
	/* Only from a nanopod market: */
	const char *reason_text;              /* the code on the wire */
	int reason;                           /* enum reason; REASON_NONE */
	int64_t filled_total, hold;           /* MODEL_NONE: unknown */
	bool granted;                         /* a grant paid for it, in part or whole */
};

struct model_pool_sku {
	const char *sku;
	struct model_schedule schedule;
};

struct model_pool {
	const char *id, *name, *path, *owner, *kind;
	int64_t created_at;
	struct model_schedule total;
	const struct model_pool_sku *by_sku;
	size_t sku_count;
};

#define MODEL_INSTANCE_STATUSES(X) \
	X(AWAITING, "awaiting_allocation") X(RUNNING, "running") X(TERMINATED, "terminated") X(FAILED, "failed")

enum model_instance_status {
	MODEL_INSTANCE_UNKNOWN,
#define MODEL_X(name, word) MODEL_INSTANCE_##name,
	MODEL_INSTANCE_STATUSES(MODEL_X)
#undef MODEL_X
};

/* GPUs of one kind that a node has. */
struct model_gpu {
	const char *model;     /* "h100" */
	int64_t count, memory; /* memory of each in bytes; 0: unknown */
	const char *share;     /* "1/4": not whole ones, and memory is what this part may hold; NULL */
};

struct model_instance {
	const char *id, *name, *status_text, *priority, *public_ip;
	enum model_instance_status status;
	struct model_ref pool, sku, image;
	int64_t created_at, updated_at, shutdown_at; /* shutdown_at 0: unknown */
	int64_t ended_at;                            /* 0: it lives, or unknown */
	const struct model_gpu *gpus;                /* as its host reports them */
	size_t gpu_count;
};

struct model_key {
	const char *type, *key;               /* "ssh-ed25519", base64 */
};

struct model_ssh {
	const char *hostname;
	int64_t port;
	const struct model_key *keys;
	size_t key_count;
	int64_t updated_at;                   /* of the keys; 0: unknown */
};

/* An answer of GET /np/v1/nodes. */
struct model_node {
	const char *id, *name, *status_text, *status_message, *type, *zone;
	const char *proof; /* of its host: as in struct model_host; NULL: unknown */
	bool proof_asked;
	bool host_down;                       /* its host is silent or broken; that time is refunded */
	bool ends_early;                      /* its host goes out of service at end_at */
	enum model_instance_status status;
	struct model_ref reservation;
	int64_t start_at;                     /* of the time that it waits for; 0: it has a host, or unknown */
	int64_t end_at;                       /* 0: unknown */
	int64_t created_at, updated_at;
	int64_t ended_at;                     /* 0: it lives, or unknown */
	int64_t price;                        /* of the lease that it runs under; -1: unknown, or none */
	const char *user;                     /* who signs in; NULL: unknown */
	struct model_ssh ssh;                 /* hostname NULL: no address yet */
	const struct model_gpu *gpus;         /* as its host reports them */
	size_t gpu_count;
};

/* What was measured; NAN: not known. A metric's meaning stands in metric.h. */
struct model_measures {
	double cpu, memory, memory_total, disk, disk_total, disk_read, disk_written, network_in, network_out;
	double use, temperature, power, power_limit, clock, throttled, memory_errors, xid, machine_gpu; /* of GPUs */
};

struct model_curve {
	const double *list; /* oldest first */
	size_t count;
};

/* An answer of GET /np/v1/samples. */
struct model_gpu_host {
	int64_t gpu; /* from 0 */
	const char *name;
};

struct model_sample {
	const char *node, *agent; /* ids; one is NULL */
	int64_t at, step;         /* at 0: nothing was measured lately; step: seconds of a curve's point */
	struct model_measures of;
	const struct model_measures *gpus;
	size_t gpu_count;
	struct model_curve cpu;
	const struct model_curve *use; /* of each GPU; as many as GPUs, or fewer */
	size_t use_count;
	const struct model_gpu_host *gpu_hosts; /* of a machine */
	size_t gpu_host_count;
};

/* A row of GET /np/v1/alerts. */
struct model_alert {
	const char *rule, *severity, *unit, *text, *next;
	const char *kind, *id, *name, *account; /* of what it is about; name and account may be NULL */
	int64_t since, seconds;                 /* since 0: not known; seconds: for how long it has to hold */
	double value, threshold;                /* NAN: none */
};

/* A row of GET /np/v1/alert_rules. */
struct model_alert_rule {
	const char *rule, *severity, *kind, *who, *unit;
	double threshold; /* NAN: it has none */
	int64_t seconds;  /* for how long it has to hold; below 0: it is told at once */
};

/* How many things a page of alerts is about, and how many of them could not be judged in full. */
struct model_alerts_of {
	int64_t now;                 /* the market's clock; 0: an earlier version */
	const char *const *unjudged; /* ids of machines and nodes that could not be judged in full */
	size_t unjudged_count;
	int64_t accounts, machines, hosts, nodes; /* 0: none, or the token may not read them */
	struct {
		int64_t unheard, machines, machine_gpus, hosts, nodes, node_gpus;
	} unknown;
};

struct model_log {
	uint64_t seq;
	int64_t at, micros; /* micros: the same in microseconds, from a nanopod market; 0: unknown */
	const char *data;                     /* decoded */
	size_t len;
};

struct model_image {
	const char *id, *name, *path, *status;
	bool is_public;
	int64_t created_at;
};

struct model_workspace {
	const char *id, *name, *path;
};

struct model_procurement {
	const char *id, *name, *state, *message;
	struct model_ref pool, sku;
	int64_t target;                       /* nodes; -1: the number of instances */
	int64_t min_sell, max_buy, window;    /* prices; minutes */
	bool enabled;
	int64_t created_at, updated_at;
};

/* A new one, or what of one changes. */
struct model_procurement_new {
	const char *name, *pool, *sku; /* of a new one */
	int64_t target;
	int64_t min_sell, max_buy; /* changed where change_prices */
	int64_t window;            /* minutes; changed where not 0 */
	bool change_prices, change_enabled, enabled;
};

/* An answer of POST /v2/order_preview. */
struct model_preview {
	bool quoted;
	const char *reason;                   /* why it does not fill */
	const char *sku, *pool;
	int64_t start, end, nodes, limit;     /* of the order that would fill */
	int64_t fee_flat, fee_bps;            /* price; basis points */
};

/* An order that would fill instead. */
struct model_alternative {
	const char *kind, *message;           /* "price" "nodes" "start" "end" "unverified" */
	int64_t price, nodes, start, end;     /* -1: as in the request */
};

/* An answer of POST /np/v1/quote, or of a dry run of extend. */
struct model_quote {
	bool fills;
	int64_t cost, price, nodes, start, end;
	int64_t granted;                      /* what a grant pays besides; cost is what the buyer pays */
	int64_t available_after;              /* MODEL_NONE: unknown */
	const char *grant, *rule, *rate, *why; /* of the market's policy; NULL: it has none, or no grant pays */
	const char *reason_text, *message;
	int reason;                           /* enum reason */
	const struct model_alternative *alternatives;
	size_t alternative_count;
};

/* A node that ends by a release. */
struct model_released {
	const char *id, *name;
	int64_t start_at; /* it waits for this; 0: it has a host and stops */
};

struct model_release {
	int64_t refund, paid, from, nodes,
		idle; /* paid: what was refunded and what is lost; idle: hosts without a node */
	const char *rule;
	const struct model_released *ends;
	size_t end_count;
};

struct model_balance {
	int64_t available, held, payouts, escrow, unsettled, floor; /* MODEL_NONE: unknown; payouts: of held */
	int64_t burn;                         /* micro-dollars an hour */
};

struct model_token {
	const char *id, *name, *account, *token; /* token: only of a new one */
	const char *const *scopes;
	size_t scope_count;
	int64_t created_at, expires_at, cap, spent; /* 0: never; of this month, cap MODEL_NONE: none */
};

struct model_person {
	const char *id, *name, *email, *issuer, *subject;
	const char *const *roles;
	size_t role_count;
	int64_t created_at, cap, spent;
};

struct model_invitation {
	const char *id, *name, *code; /* code: only of a new one */
	const char *const *roles;
	size_t role_count;
	int64_t expires_at;
};

struct model_whoami {
	const char *account_id, *account, *state, *user;
	bool local;                           /* the operator, through the unix socket */
	bool has_token;
	struct model_token token;
	bool has_person;
	struct model_person person; /* whose the token is */
};

struct model_policy {
	int64_t fee_bps, release_bps, settle_minutes, notice_minutes, drain_notice_minutes, volume_grace_minutes;
};

/* GET /np/v1: is this a nanopod market, and what can it do? */
struct model_market {
	const char *name, *version;
	const char *tls_key;                  /* "sha256//…", to pin; NULL: no TLS */
	int64_t now, minute;
	bool test_clock, topups; /* topups: people pay for their accounts with it */
	struct model_policy policy;
};

struct model_account {
	const char *id, *name, *state;
	int64_t created_at;
	struct model_balance balance;
};

struct model_host {
	const char *id, *name, *state, *pool;
	const char *agent; /* id of the agent that makes its nodes; NULL: none */
	const char *account; /* name of its owner; NULL: an earlier market */
	struct model_ref sku;
	int64_t start, end;                   /* end MODEL_NEVER: none */
	int64_t sold_until;                   /* end of the last sold window; 0: nothing is sold */
	int64_t floor;                        /* its owner never has it on sale for less; -1: no floor */
	int64_t on_sale;                      /* lowest price that it is on sale at; -1: it is not */
	const char *on_sale_order;            /* the order with that price; NULL: unknown */
	const char *down_reason;              /* NULL: unknown, or it is up */
	int64_t down_since;                   /* 0: unknown, or it is up */
	int64_t drain;                        /* from when on it is out of service; 0: it is not */
	bool drain_ends;                      /* what was sold beyond ended then */
	const char *drain_reason;             /* NULL: none was given */
	const char *proof;                    /* "verified", "unverified", "expired", "failed"; NULL: unknown */
	bool proof_asked;                     /* its type is sold from verified hosts */
	const char *proof_reason, *tier;      /* why it failed; by what was measured; NULL */
	int64_t proof_until;                  /* 0: none */
};

/* What taking a host out of service means, or meant. */
struct model_drain {
	int64_t from, earliest, sold_until; /* sold_until 0: nothing is sold beyond */
	int64_t leases, minutes;            /* sold beyond */
	int64_t refund, hourly;             /* micro-dollars; hourly: what its buyer pays now */
	bool ends_leases;
};

/* Money of a sponsor that pays a part of what an account buys. */
struct model_grant {
	const char *id, *name, *account, *sponsor, *state; /* names of both accounts */
	int64_t max, spent, left, end, created_at;         /* end 0: until it is ended */
};

/* A page where one pays for the account. */
struct model_topup {
	const char *id, *url, *state; /* url NULL where only the state is told */
	int64_t amount, expires;      /* expires 0: unknown */
};

/* Money that a payment service took, less what went back. */
struct model_payment {
	const char *id, *reference, *account; /* account NULL: nobody knows whose it is */
	int64_t amount, created_at;
};

/* What the market's policy knows of an account. */
struct model_fact {
	const char *name, *value;
	int64_t end; /* 0: no end */
};

/* A commit, as Perceval's "git" backend writes it. */
struct model_commit {
	const char *category, *hash, *author, *date; /* date: "Sun Nov 1 10:00:00 2026 +0200", of the commit */
	size_t parents;
};

/* What the market's operator says. */
struct model_announcement {
	const char *id, *account, *severity, *text; /* account NULL: to all */
	int64_t start, end, created_at;             /* end 0: until it is ended */
};

/* An offer that gets another price. */
struct model_repriced {
	const char *order, *host; /* host: the first one of it */
	struct model_ref sku;
	int64_t hosts, was; /* was: the price before */
	bool changed;
};

/* A machine that makes nodes. */
struct model_agent {
	const char *id, *name, *state, *health, *machine;
	const char *message, *driver;         /* as the agent reports; NULL: no report yet */
	int64_t nodes, created_at, last_seen_at; /* nodes -1: unknown; last_seen_at 0: never */
	struct model_sizes has, promised, left;  /* of the machine; unknown in lists */
};

struct model_lease {
	const char *id;
	struct model_ref pool, sku;
	int64_t start, end, price, cost, nodes;
	int64_t settled; /* its time before this is booked; 0: not told */
	bool interruptible;
};

struct model_posting {
	uint64_t seq, n, transfer, owner, asset, subject;
	int64_t at, amount, balance;
	const char *book;
	const char *reason; /* of a credit, as the operator gave it; NULL */
	uint8_t chain[MODEL_CHAIN];
};

/* A row of GET /np/v1/report: money and node time of one day that are for the same. */
struct model_report_row {
	const char *kind, *account, *account_name, *reason;
	const char *sku, *type, *pool, *reservation, *host, *host_name, *volume, *volume_name; /* NULL: none */
	int64_t at, amount, gross, fee, seconds, gpus, transfers;
};

enum { MODEL_BOOKS = 3 }; /* available, held, escrow */

/* Micro-dollars at the beginning and at the end of a report; MODEL_NONE: another page says it. */
struct model_report_books {
	int64_t before[MODEL_BOOKS], after[MODEL_BOOKS];
};

/* What was paid: GET /np/v1/usage. Or an answer of a gateway, which has a model, and no lease or money. */
struct model_usage {
	const char *id, *metric, *volume, *grant; /* metric: "gpu_active_time", "plan_fee" …; of a lease, or of these */
	const char *account, *account_name, *kind, *lease, *sku, *type, *reservation, *tier;
	int64_t at, node_minutes, gpu_seconds, amount, granted, refunded;
	const char *model, *counted; /* NULL: it was paid; counted: "backend" or "estimated" */
	int64_t prompt_tokens, completion_tokens, total_tokens;
};

/* What a billing system counted of one metric. */
struct model_metered {
	const char *metric, *units; /* units: a decimal */
	int64_t events, cents, groups;
};

/* GET /np/v1/overview: a market in numbers, for its operator. */
struct model_overview_period {
	int64_t turnover, fees, credited, seconds; /* MODEL_NONE: not counted yet */
};

struct model_overview_type {
	const char *type;
	int64_t gpus, hosts, up, sold, on_sale;                 /* nodes, now */
	int64_t day_sold, day_on_sale, week_sold, week_on_sale; /* seconds of nodes, from now on */
};

/* A machine that is silent, or a host that is down for another reason. */
struct model_overview_away {
	const char *kind, *id, *name, *account, *reason;
	int64_t since, hosts, sold; /* since 0: unknown */
};

struct model_overview {
	int64_t now;
	struct {
		int64_t total, suspended, buying, selling;
	} accounts;
	struct {
		int64_t up, draining, down, silent;
	} hosts;
	struct {
		int64_t up, silent, joined;
	} machines;
	struct {
		int64_t running, starting, pending, longest;
	} nodes; /* longest: seconds */
	struct {
		int64_t buy, sell;
	} orders;
	struct {
		int64_t available, held, escrow, hourly;
	} money;
	bool counted; /* the market knows today and month */
	struct model_overview_period today, month;
	const struct model_overview_type *types;
	size_t type_count;
	const struct model_overview_away *away; /* some of them */
	size_t away_count;
	int64_t away_total;
};

struct model_event {
	uint64_t seq;
	int64_t at;
	const char *type;
};

struct model_detail {
	const char *field, *code, *message;
};

/* An error answer, in any of the shapes that markets use. */
struct model_error {
	const char *type, *code, *message, *request_id;
	int reason;                           /* enum reason; from the HTTP status if the code is unknown */
	const struct model_detail *details;
	size_t detail_count;
};

/* ---- Requests ------------------------------------------------------------------ */

struct model_order_new {
	const char *pool, *sku;               /* pool NULL: none (quotes) */
	const char *grant;                    /* which pays a part, or "none"; NULL: the market chooses */
	bool sell, standing, partial, interruptible, unverified;
	int64_t nodes, start, end, price;
	int64_t max_total;                    /* micro-dollars; 0: none. Only to a nanopod market */
};

struct model_instance_new {
	const char *name, *pool, *image, *sku;
	const void *user_data;                /* plain; sent as base64 */
	size_t user_data_len;
	const char *priority;                 /* NULL: default */
};

struct model_extend {
	const char *sku;                      /* NULL: none given */
	int64_t start;                        /* refused if the nodes end at another time; 0: none given */
	const char *last_order;               /* refused if the pool bought by a newer one; NULL: none given */
	int64_t seconds, end;                 /* one of them, the other 0 */
	int64_t nodes;                        /* 0: all */
	int64_t price, max_total;             /* max_total 0: none */
	bool dry_run;
};

struct model_audit {
	int64_t seq, at;
	const char *kind, *account, *text, *reason; /* account, reason NULL: none */
	struct model_ref by;                        /* the token; id NULL: the operator */
};

struct model_release_new {
	const char *sku;                      /* NULL: any */
	int64_t from, nodes;                  /* 0: now; all */
	bool dry_run;
};

struct model_token_new {
	const char *name;                     /* NULL: none */
	const char *const *scopes;
	size_t scope_count;
	int64_t seconds, cap;                 /* of life; 0: the default; -1: no end. cap: where capped */
	bool capped;
};

#endif

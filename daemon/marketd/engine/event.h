/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can happen to a market. Everything that the market knows came in as one of these, in one
 * order, and comes back by applying them again: they are what the journal holds (journal.c).
 * Plain data, no pointers into the engine. The rules are in rules.md.
 */
#ifndef MARKETD_ENGINE_EVENT_H
#define MARKETD_ENGINE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	MINUTE_MAX = 1 << 28,   /* an open end: far past every date that anybody asks for */
	NODES_MAX = 1024,       /* of one order */
	NAME_BYTES = 255,       /* of names */
	TEXT_BYTES = 96 * 1024, /* of user data, tags, SKU properties */
	TOKEN_HASH = 32,        /* SHA-256 */
	PUBLIC_KEY_TEXT = 44,   /* 32 bytes in base64 */
	WHY_BYTES = 255,        /* of why a host is down or drains */
	ANNOUNCEMENT_BYTES = 300,
	ANNOUNCEMENTS_MAX = 100,  /* that are not over */
	FACTS_BYTES = 4096,       /* of what is known of an account */
	PPM = 1000000,            /* all of a price: what grants pay is in millionths */
	INVITATIONS_MAX = 100,    /* of an account, that are not over */
	PAYMENT_PARTS = 8,        /* of one payment: what was paid, refunds, disputes */
	VOLUME_GIB_MAX = 1 << 20, /* of a volume, and of what a machine offers */
	MONTH_HOURS = 730,        /* an hour of a volume costs this part of a month's price */
	VOLUME_GRACE = 10080,     /* minutes that an unpaid volume is kept, where the policy says 0 */
	VOLUME_GRACE_MAX = 525600,
	PAYOUT_HOLD_MAX = 720, /* hours that income may have to wait */
	RULES_NEWEST = 5,      /* the edition of rules.md that a market gets; its journal begins with 1 */
};

/* The most that all balances may add up to, so that none can pass 64 bits. */
#define MONEY_MAX INT64_C(4000000000000000000)
#define PAYMENT_MAX INT64_C(500000000000000000) /* micro-dollars, and steps, of a part of a payment */

enum { DRAIN_NOTICE = 1440, DRAIN_NOTICE_MAX = 43200 }; /* minutes: what a policy of 0 means, and the most */

/* X(name, text) */
#define EVENTS(X) \
	X(TICK, "tick") /* a minute began */ \
	X(POLICY, "policy") \
	X(ACCOUNT, "account")             /* made */ \
	X(ACCOUNT_STATE, "account_state") /* suspended, opened again, another floor */ \
	X(CREDIT, "credit")               /* money in (or out, negative) by the operator */ \
	X(TOKEN, "token")                 /* made: only its hash */ \
	X(TOKEN_REVOKE, "token_revoke") \
	X(SKU, "sku")               /* made or changed */ \
	X(HOST, "host")             /* registered: its minutes belong to a pool from then on */ \
	X(HOST_STATE, "host_state") /* down, up */ \
	X(HOST_RETIRE, "host_retire") \
	X(POOL, "pool") \
	X(POOL_CHANGE, "pool_change") /* name, tags */ \
	X(POOL_DELETE, "pool_delete") \
	X(ORDER, "order") /* buy, extend, sell, offer of a host */ \
	X(CANCEL, "cancel") \
	X(RELEASE, "release") /* gives back what a pool still has */ \
	X(INSTANCE, "instance") \
	X(INSTANCE_CHANGE, "instance_change") /* name, tags, priority, user data */ \
	X(INSTANCE_STOP, "instance_stop") \
	X(INSTANCE_DELETE, "instance_delete") /* forget one that is terminated */ \
	X(REPORT, "report")                   /* an agent says how an instance is */ \
	X(PROCUREMENT, "procurement") \
	X(PROCUREMENT_CHANGE, "procurement_change") \
	X(PROCUREMENT_DELETE, "procurement_delete") \
	X(AGENT, "agent")                     /* a machine joined an account with its own key */ \
	X(AGENT_SESSION, "agent_session")     /* an agent connected (again); its earlier sessions are over */ \
	X(AGENT_INVENTORY, "agent_inventory") /* what the agent found in its machine */ \
	X(AGENT_RETIRE, "agent_retire") \
	X(RULES, "rules")                 /* from now on this edition of rules.md counts */ \
	X(HOST_DRAIN, "host_drain")       /* its owner sells no more of it from a minute on, or does again */ \
	X(HOST_VERIFIED, "host_verified") /* the market compared what was measured of it with its SKU */ \
	X(ORDER_PRICE, "order_price")     /* what a sell has on sale gets another price */ \
	X(HOST_FLOOR, "host_floor")       /* its owner sells it for no less */ \
	X(ANNOUNCE, "announce")           /* the operator says something to one account, or to all */ \
	X(ANNOUNCE_END, "announce_end") \
	X(GRANT, "grant") /* an account's buys may be paid with another's money */ \
	X(GRANT_END, "grant_end") \
	X(ACCOUNT_FACTS, "account_facts") /* what the operator knows of it, for the policy */ \
	X(PERSON, "person")               /* somebody whom an issuer of identities knows is a person of the account */ \
	X(PERSON_CHANGE, "person_change") /* other roles, another name */ \
	X(PERSON_REMOVE, "person_remove") /* with all that signs in as this person */ \
	X(INVITATION, "invitation")       /* made: only the hash of its code */ \
	X(INVITATION_END, "invitation_end") \
	X(PAYMENT, "payment")             /* a payment service took money for an account, or gave it back */ \
	X(CAP, "cap")                     /* what a person or token of the account may spend in a month; text: why */ \
	X(VOLUME_OFFER, "volume_offer")   /* an agent's owner lets room of its disk, at a price */ \
	X(VOLUME, "volume")               /* an account gets room that outlives its nodes, paid by the hour */ \
	X(VOLUME_CHANGE, "volume_change") /* it grows, or is to be deleted */ \
	X(VOLUME_GONE, "volume_gone")     /* its agent has deleted it */ \
	X(PLAN, "plan") /* an account sells a plan, or changes it: a fee a month, and what is included */ \
	X(SUBSCRIPTION, "subscription") /* an account has a plan from now on, another, or none */ \
	X(PAYOUT, "payout")             /* the account is paid out what it earned by sales, and what became of that */ \
	X(DUNNING, "dunning")           /* an account that owes is reminded, or suspended, by the operator's rule */

enum event_kind {
	EVENT_NONE,
#define EVENT_X(name, text) EVENT_##name,
	EVENTS(EVENT_X)
#undef EVENT_X
	EVENT_KINDS
};

enum side { SIDE_BUY, SIDE_SELL };

enum order_flags {
	ORDER_STANDING = 1,      /* rests until filled, cancelled, or its window is over; else fills now or not */
	ORDER_PARTIAL = 2,       /* may fill in part: fewer nodes, parts of the window */
	ORDER_EXTEND = 4,        /* buy: the same hosts that the pool holds in the minute before start, or nothing */
	ORDER_INTERRUPTIBLE = 8, /* buy: may be taken back by a reserved buy, with two minutes' notice */
	ORDER_UNVERIFIED = 16,   /* buy: hosts without a valid proof do, too */
	ORDER_GRANTED = 32,      /* buy: a grant paid for it, in part or whole; only the engine sets it */
};

/* What measurements of a host proved. OUTGROWN: its SKU has come to ask for more than they show. */
enum host_proof { PROOF_NONE, PROOF_PASSED, PROOF_FAILED, PROOF_OUTGROWN };

/* What is asked for is held; what failed came back, before it was sent or after. */
enum payout_state { PAYOUT_ASKED, PAYOUT_SENT, PAYOUT_FAILED, PAYOUT_CANCELLED };

/* How far the operator's rule has come with an account that owes. */
enum dunning { DUNNING_NONE, DUNNING_REMINDED, DUNNING_WARNED, DUNNING_SUSPENDED };

enum severity { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_CRITICAL };
enum volume_state { VOLUME_PAID, VOLUME_UNPAID, VOLUME_DELETING };
enum account_state { ACCOUNT_OPEN, ACCOUNT_SUSPENDED, ACCOUNT_AS_IT_IS }; /* the last: of events alone */
enum tariff_state { TARIFF_OPEN, TARIFF_CLOSED };
enum pool_kind { POOL_MARKET, POOL_ORIGINATING };
enum instance_priority { PRIORITY_YIELD, PRIORITY_NORMAL, PRIORITY_PREFERRED, PRIORITY_CRITICAL };
enum instance_status { INSTANCE_AWAITING, INSTANCE_RUNNING, INSTANCE_TERMINATED, INSTANCE_FAILED };

/*
 * What a token may do. ADMIN may do everything, for any account. JOIN lets one machine join, once.
 * AGENT is the scope of an agent's session; no token has it.
 */
enum scope {
	SCOPE_READ = 1, SCOPE_TRADE = 2, SCOPE_NODES = 4, SCOPE_TOKENS = 8, SCOPE_HOST = 16, SCOPE_ADMIN = 32,
	SCOPE_JOIN = 64, SCOPE_AGENT = 128
};

/* What a person may do for an account; authorize.c says which scopes that is. */
enum role { ROLE_OWNER = 1, ROLE_BUYER = 2, ROLE_PROVIDER = 4, ROLE_VIEWER = 8, ROLE_BILLING = 16, ROLES_ALL = 31 };

/* What the operator sets. Everything starts as 0 except settle_minutes, 60. */
struct policy {
	int32_t fee_bps;           /* of what a seller gets; rounded up, to the house */
	int32_t release_bps;       /* of the unused part that a release gives back to the buyer */
	int32_t settle_minutes;    /* how often a running lease pays its seller; at least 1 */
	int32_t notice_minutes;    /* before an interruptible lease is taken back; less than 2 counts as 2 */
	int32_t drain_notice_minutes; /* before a seller's drain ends a firm lease; 0 counts as DRAIN_NOTICE */
	int32_t volume_grace_minutes; /* for which an unpaid volume is kept; 0 counts as VOLUME_GRACE */
};

/*
 * `subject` is the id of the thing that the event concerns. What the event makes takes the engine's
 * next id, which the effects report. A NULL string means none (in changes: unchanged). The strings
 * belong to the maker of the event.
 */
struct event {
	enum event_kind kind;
	int64_t at;                /* Unix seconds; never less than that of the event before */
	uint64_t
		account; /* whose: the owner of what is made or changed; 0 for TICK, POLICY, SKU, what is said to all */
	uint64_t token;            /* by which token; 0: the operator on the local socket, or the market itself */
	uint64_t subject;
	const char
		*name; /* ACCOUNT, TOKEN, SKU (alias), HOST, POOL*, INSTANCE*, PROCUREMENT*, AGENT, GRANT, PERSON*, */
	/* INVITATION; PAYMENT: the payment's reference */
	const char *text; /* SKU: properties as JSON; POOL*, INSTANCE*: tags as JSON; REPORT: why, host address; */
	/* HOST_STATE, HOST_DRAIN, CREDIT, ACCOUNT_STATE: why; HOST_VERIFIED: what was measured, signed, as JSON; */
	/* AGENT: its public key, base64; AGENT_INVENTORY: JSON; ANNOUNCE: what is said; ACCOUNT_FACTS: JSON; */
	/* PERSON: "ISSUER SUBJECT"; PAYMENT: the part's reference, NULL: only its account is told */
	union {
		struct { int64_t minute; } tick;
		struct policy policy;
		struct { uint64_t beneficiary; int64_t floor; } account;        /* beneficiary 0: itself. floor <= 0 */
		struct { int32_t state; int64_t floor; } account_state;
		struct { int64_t micros; } credit;
		struct {
			uint8_t hash[TOKEN_HASH];
			int32_t scopes;
			int64_t expires;
			uint64_t person;
		} token; /* expires 0: never; person: who signs in with it; 0: whoever has it */
		struct {
			int32_t gpus;
			bool proof;
		} sku; /* proof: its nodes are sold from hosts that have one, unless a buyer wants others, too */
		struct {
			uint64_t sku, pool;
			int64_t start, end;
			uint64_t agent;
		} host; /* pool: originating, of the same account */
		struct {
			bool down;
			int64_t since;
			bool watch;
		} host_state; /* since: a minute; 0: now. watch: not its owner */
		struct { int32_t kind; } pool;
		struct {
			uint64_t pool, sku, host;  /* host: sell only, this one; 0: any that the pool has */
			uint64_t procurement;      /* placed for it by the engine; 0 in requests */
			int32_t side, flags, nodes;
			int64_t start, end;        /* minutes, [start, end) */
			int64_t price;             /* limit, micro-dollars per node-minute */
			int64_t max_total;         /* buy: micro-dollars of its own; 0: none */
			uint64_t grant;            /* buy: which pays a part; 0: none */
			int32_t granted;           /* that part of each price, in millionths */
		} order;
		struct {
			int64_t from;
			int32_t nodes;
			uint64_t sku;
		} release; /* subject: pool. nodes 0: all. sku 0: all */
		struct {
			int32_t reason;
		} cancel; /* 0; REASON_NO_ROOM: the market withdraws it */
		struct {
			uint64_t pool, sku, image;
			int32_t priority;
			const char *user_data;     /* base64 as it came */
		} instance;
		struct { int32_t priority; const char *user_data; } instance_change; /* -1: leave */
		struct { int32_t status; } report;                               /* enum instance_status */
		struct {
			uint64_t pool, sku;
			int32_t target, window;
			int64_t min_sell, max_buy;
			bool enabled;
		} procurement;
		/*
		 * target -1: as many as the pool's live instances. In changes -1 leaves a value as it is, enabled too
		 */
		struct {
			uint64_t sku;
			int32_t target, window;
			int64_t min_sell, max_buy;
			int32_t enabled;
		} procurement_change;
		struct {
			const char *machine;
		} agent; /* which machine it is; NULL: unknown */
		struct { uint64_t generation; uint8_t hash[TOKEN_HASH]; } agent_session;
		struct { int32_t edition; } rules;
		struct {
			int64_t from;
			bool ends;
			bool by_operator;
		} host_drain; /* from: a minute; 0: it sells again. ends: leases that reach beyond it end there */
		struct {
			int64_t price;
		} order_price; /* subject: an open sell; micro-dollars per node-minute */
		struct {
			int64_t price;
		} host_floor; /* the same; 0: none */
		struct {
			int32_t severity;
			int64_t from, until;
		} announce; /* account 0: to all. minutes; from 0: now, until 0: until it is ended */
		struct {
			uint64_t sponsor;   /* the account that pays */
			int64_t max, until; /* micro-dollars in all; a minute, 0: until it is ended */
		} grant;
		struct {
			int32_t roles;
			uint64_t invitation;
			const char *email;
		} person; /* enum role, in changes 0: as they are; invitation: adds its roles, and is used up; 0 */
		struct {
			uint8_t hash[TOKEN_HASH];
			int32_t roles;
			int64_t expires;
		} invitation;
		struct {
			int64_t step, micros;
		} payment; /* account 0: unknown. step: a part only goes on to later ones. micros: below 0: back */
		struct {
			int64_t micros;
		} cap; /* subject: a person or a token; -1: none */
		struct {
			int32_t gib;   /* VOLUME_OFFER: at most, in all; VOLUME_CHANGE: 0: delete it */
			int64_t price; /* micro-dollars per GiB and month; VOLUME, VOLUME_CHANGE: at most */
		} volume;              /* subject: the agent (VOLUME, VOLUME_OFFER), else the volume */
		struct {
			uint64_t sku;                 /* whose node time it pays; 0: of all types */
			int64_t fee, included, rates; /* micro-dollars a month: its price; what it pays; of rates */
			int32_t state;                /* enum tariff_state */
		} plan;                               /* subject: the plan that is changed; 0: it is new */
		/* SUBSCRIPTION has no fields of its own. subject: the plan; 0: none from the next month on */
		struct {
			int32_t state, hold;
			int64_t micros;
		} payout; /* subject 0: asked for; hold: hours. FAILED: micros of it came back. name: reference */
		struct {
			int32_t step;           /* enum dunning; 0: says that the rule opened it */
			int64_t minutes, after; /* it owes for so long; the step before was so long ago */
		} dunning;
		struct {
			int32_t result;
			int64_t until, since;
			const char *why;
		} host_verified; /* enum host_proof; until: a minute, 0 where it failed; since: only there; why */
	} u;
};

const char *event_name(enum event_kind kind);

#endif

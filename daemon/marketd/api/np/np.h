/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of np/ and old/ share: our own API, and the adapters for SF Compute's older clients.
 * Each file has one table of routes.
 */
#ifndef MARKETD_API_NP_NP_H
#define MARKETD_API_NP_NP_H

#include "marketd/api/api.h"
#include "marketd/api/schema.h"

extern const struct route api_np_routes[];          /* np.c: the market, whoami, policy, clock */
extern const struct route api_np_token_routes[];    /* np_tokens.c */
extern const struct route api_np_session_routes[];  /* np_session.c: browsers that sign in */
extern const struct route api_np_authz_routes[];    /* np_authz.c: who may pass a gateway */
extern const struct route api_np_cap_routes[];      /* np_caps.c: what people and tokens may spend in a month */
extern const struct route api_np_people_routes[];   /* np_people.c: people, invitations */
extern const struct route api_np_signin_routes[];   /* np_signin.c: by an issuer of identities */
extern const struct route api_np_signin_page_routes[]; /* np_signin_page.c: the same with a browser */
extern const struct route api_np_account_routes[];  /* np_accounts.c: accounts, credits, SKUs */
extern const struct route api_np_payout_routes[];   /* np_payouts.c: what was earned, and paid out */
extern const struct route api_np_payment_routes[];  /* np_payments.c: money by a payment service */
extern const struct route api_np_host_routes[];     /* np_hosts.c: hosts and offers */
extern const struct route api_np_price_routes[];    /* np_price.c: what is on sale gets another price */
extern const struct route api_np_volume_routes[];   /* np_volumes.c: room that outlives nodes */
extern const struct route api_np_plan_routes[];     /* np_plans.c: plans, and which one an account has */
extern const struct route api_np_grant_routes[];    /* np_grants.c: grants, what is known of accounts */
extern const struct route api_np_personhood_routes[]; /* who/np_personhood.c: addresses, their scores */
extern const struct route api_np_audit_routes[];    /* np_audit.c: who did what */
extern const struct route api_np_announce_routes[]; /* np_announce.c: what the operator says */
extern const struct route api_np_drain_routes[];    /* np_drain.c: hosts that go out of service */
extern const struct route api_np_agent_routes[];    /* np_agents.c: machines that join, their owner's view */
extern const struct route api_np_work_routes[];     /* np_work.c: an agent's work and reports */
extern const struct route api_np_speed_routes[];    /* np_speed.c: bytes for agents that measure their way here */
extern const struct route api_np_series_routes[];   /* np_series.c: what machines measured */
extern const struct route api_np_sample_routes[];   /* np_samples.c: what all of them measured last */
extern const struct route api_np_alert_routes[];    /* alert/np_alerts.c: what is wrong, or soon will be */
extern const struct route api_np_alert_rule_routes[]; /* alert_rules.c: from which values on, for how long */
extern const struct route api_np_report_routes[];   /* np_report.c: money and node time by day */
extern const struct route api_np_usage_routes[];    /* np_usage.c: settlements, for billing */
extern const struct route api_np_overview_routes[]; /* np_overview.c: the market in numbers */
extern const struct route api_np_public_routes[];   /* np_public.c: what is for sale, for strangers */
extern const struct route api_np_verify_routes[];   /* np_verify.c: what agents measured of hosts */
extern const struct route api_np_proof_routes[];    /* np_proof.c: what is on sale, and how proven it is */
extern const struct route api_np_node_routes[];     /* np_nodes.c: a buyer's nodes */
extern const struct route api_np_trade_routes[];    /* np_trades.c: extend, release, quote */
extern const struct route api_np_list_routes[];     /* np_lists.c: ledger, events, leases */
extern const struct route api_np_live_routes[];     /* np_live.c: events and samples, for pages */
extern const struct route api_v1_node_routes[];     /* v1_node.c */
extern const struct route api_v1_routes[];          /* v1.c: balances, images, account */
extern const struct route api_v0_order_routes[];    /* v0_order.c: orders, quote */
extern const struct route api_v0_contract_routes[]; /* v0_contract.c */
extern const struct route api_v0_vm_routes[];       /* v0_vm.c */
extern const struct route api_v0_procurement_routes[];
extern const struct route api_v0_routes[];          /* api_v0.c: zones, me, tokens, ping */

/*
 * Call when a minute began: nodes of /v0's filled orders are made, those of /v1 in any zone look for a better one.
 * 0 or a reason.
 */
int old_minute(struct api *api, struct fail *f); /* v0.c */

/* What an agent keeps of volumes. */
json_t *np_volumes_work(const struct engine *e, const struct agent *a);

/* Call before api_close(): frees what GET /np/v1/public keeps. */
void np_public_close(struct api *api);

/* A token of any kind. */
#define NP_ANY (SCOPE_READ | SCOPE_TRADE | SCOPE_NODES | SCOPE_TOKENS | SCOPE_HOST | SCOPE_ADMIN)

/* The tag of a pool that names the pool whose network its nodes are in. */
#define NP_TAG_NETWORK "sfc_network"

struct verdict;

/* What the policy said, with what it was asked if that is wanted; null: it was not asked. A new reference. */
json_t *np_verdict(const struct verdict *v, bool input);

/* ---- Scopes ------------------------------------------------------------------------------ */

json_t *np_scopes(int32_t scopes);                   /* ["read", …] */
int32_t np_scopes_read(const json_t *list);

/* The operator has to look at it: nobody knows whose it is, and he did not dismiss it. */
bool np_payment_waits(const struct payment *p);
const char *np_payment_uncounted(const struct payment *p); /* such as "4200eur", which no market counts; NULL: money */

int32_t np_allowed(const struct request *q);         /* what the caller may do; the operator may do all */
/* For a route that needs two scopes: the table checks one, this the other. false: refused. */
bool np_may(const struct request *q, struct reply *r, int32_t scope);
/* Whether its token has no cap of its own, which it could get around; refused otherwise. */
/* Whether neither the token nor its person has a cap: what costs by the hour counts against none. Else refused. */
bool np_spends_freely(const struct api *api, const struct request *q, struct reply *r);
bool np_uncapped(const struct api *api, const struct request *q, struct reply *r);

/* ---- Accounts ----------------------------------------------------------------------------- */

const char *np_account_state(const struct account *a);
json_t *np_balance(const struct engine *e, const struct account *a); /* without burn */
const struct account *np_find_account(const struct engine *e, const char *text); /* id or name */
/* prefix and 32 random bytes in base64url. 0, or -1: the kernel gave none. */
enum { NP_SECRET = 96 };
int np_secret(const char *prefix, char text[NP_SECRET]);

/* Makes a token for an account and answers 201 with it; no other answer shows it. */
int np_make_token(struct api *api, const struct request *q, struct reply *r, uint64_t account);

/* The same without the answer: name, scopes and expires are in ev. NULL: refused. */
json_t *np_token_make(struct api *api, const struct request *q, struct reply *r, uint64_t account, struct event *ev);
/* The same for whoever may have these scopes: person is in ev, too. */
json_t *np_token_issue(struct api *api, const struct request *q, struct reply *r, uint64_t account, struct event *ev);
/* a np.WhoamiToken; null without one */
json_t *np_token_whose(const struct engine *e, const struct token *t, int32_t scopes);
json_t *np_token_json(const struct engine *e, const struct token *t); /* a np.Token */
const struct person *np_people_find(struct api *api, const struct request *q,
	struct reply *r); /* the route's {person} */

/* Sets a cap, -1: none, for the request's `reason`. */
int np_cap_apply(struct api *api, const struct request *q, uint64_t account, uint64_t whom, int64_t micros,
	struct fail *why);
int np_revoke_token(struct api *api, const struct request *q, struct reply *r); /* the route's {id} */

#define NP_SESSION_ISSUER "the issuer" /* instead of a token's id */
enum { NP_SESSION_LIFE = 12 * 3600 };
/* Sessions that are over still count as tokens of the account, which may have a limited number: ends some. */
void np_session_clear(struct api *api, const struct request *q, uint64_t account);
/* Answers 201 and sets the cookie: `made` is the token of a new session, and is released. */
int np_session_begin(struct api *api, const struct request *q, struct reply *r, json_t *made);
bool np_tokens_session(const struct token *t);
void np_tokens_end_sessions(struct api *api, const struct request *q, uint64_t account, uint64_t token); /* by it */

/* The invitation with this code; NULL: none is open. */
const struct invitation *np_invitation_of(const struct engine *e, const char *code);

/* ---- Facts ------------------------------------------------------------------------------- */

/* Each given fact, {"value", "end_at"}, replaces the old one, null removes it, others stay. 0 or a reason. */
int np_facts_change(struct api *api, const struct request *q, const struct account *a, const json_t *given,
	struct fail *why);

/* Call each turn, before requests are answered: asks for scores that are due, and takes what came. */
#define NP_STRIPE_ACCOUNT "stripe_account" /* the fact: the account's own at Stripe, where it is paid out */
void np_transfers_turn(struct api *api);
int np_transfers_timeout(const struct api *api); /* ms until something is due; -1: nothing is */
void np_transfers_close(struct api *api);        /* before stripe_free() */

void np_personhood_turn(struct api *api);
void np_regroup_turn(struct api *api); /* asks the issuer again who has sessions of the page */
void np_regroup_close(struct api *api);
void np_personhood_again(struct api *api); /* the store lost what was not committed */
void np_personhood_close(struct api *api); /* before api_close() */

/* ---- Cursors ------------------------------------------------------------------------------- */

bool np_place(const char *text, uint64_t *seq, uint64_t *n); /* "SEQ-N", a place in the ledger */

/* ---- Announcements ------------------------------------------------------------------------ */

const char *np_severity(enum severity s);
/* Whether the caller is told of it: it is for his account or all, and has begun (the operator hears of it before). */
bool np_announced(const struct request *q, const struct engine *e, const struct announcement *x);

/* ---- Hosts and agents --------------------------------------------------------------------- */

/* The host of the path, by id or name, of the account that asks (the operator without one: by id, anybody's); NULL. */
const struct host *np_find_host(struct api *api, const struct request *q, struct reply *r, bool retired);
json_t *np_host(const struct engine *e, const struct host *h);
json_t *np_host_brief(const struct engine *e, const struct host *h); /* np.AgentHost */
void np_put_resources(json_t *o, const struct sku *s);               /* "resources", where the type promises any */
const char *np_host_state(const struct host *h);
/* Registers the host of the body, for this agent (0: none), and answers 201. */
int np_make_host(struct api *api, const struct request *q, struct reply *r, uint64_t account, uint64_t agent);
/* Withdraws the agent's offers, retires its hosts and itself; 204, or 409 if sold time is not over. */
int np_agent_leave(struct api *api, const struct request *q, struct reply *r, const struct agent *a);
/* Tells the watch what an agent's status says of its hosts. */
void np_take_health(struct api *api, const struct request *q, const struct agent *a);
/* Stores the inventory if it changed. 0 or a reason. */
int np_take_inventory(struct api *api, const struct request *q, const struct agent *a, const json_t *given,
	struct fail *why);
/* An agent's report of an instance, {"hostname", …}; NULL: none, or a plain sentence. */
json_t *np_report(const struct instance *i);

const char *np_proof_state(const struct engine *e, const struct host *h); /* "verified", … */
/* The lease under way on the host, where its buyer asked for proof; NULL. */
const struct lease *np_proof_lease(const struct engine *e, const struct host *h);
/* What is known of a host by measurement: np.Verification. */
json_t *np_verification(const struct engine *e, const struct host *h);
/* For its agent: whether the market waits for measurements of the host; NULL: its type asks for none. */
json_t *np_verify_wanted(const struct api *api, const struct host *h);
/*
 * Call once after a start, before time goes on: which leases were drawn is forgotten. Who waits on a machine that may
 * have had to measure does not pay for that, and nobody is blamed.
 */
void np_recheck_begin(struct api *api);
/* Call when a minute began: takes the next step of the operator's rule with those that owe for so long. */
void np_dunning_minute(struct api *api);
/* It owes, and the rule reminds it, but does not suspend it: it sells plans or pays for others. */
bool np_dunning_spares(const struct api *api, const struct account *a);
/* When the account is suspended unless it pays, or was, Unix seconds; 0: the rule does not suspend it, or is none. */
int64_t np_dunning_suspends(const struct api *api, const struct account *a);
/* np.Debt; null: it owes nothing. */
json_t *np_debt(const struct api *api, const struct account *a);
/* Call when a minute began: looks again at some leases that began, and at who did not answer. */
void np_recheck_minute(struct api *api);
/* Draws leases whose hosts are looked at, once a minute: before an agent hears of their nodes. */
void np_recheck_look(struct api *api);
/* The agent's machine is to be measured as a lease began: its new nodes wait until it was. */
bool np_recheck_open(const struct api *api, uint64_t agent);
extern const char np_recheck_silent[]; /* why it failed, where it did not answer */
/* The host measured, or will not. */
void np_recheck_close(struct api *api, const struct host *h);
/* Its floors changed: hosts whose measurements do not reach them leave the book, and those that do come back. */
void np_recheck_type(struct api *api, const struct request *q, const struct sku *s);

/* ---- Nodes --------------------------------------------------------------------------------- */

/*
 * It has a host, or waits for time that its pool has or may still buy. For one after another while no time changes: a
 * pool is asked once. Begin with {0}.
 */
struct np_lives {
	uint64_t pool, sku;
	size_t room;
	bool buys;
	const struct release_quote *without; /* as if this were given back, from minute `from` on; or NULL */
	int64_t from;
};
bool np_node_lives_too(const struct engine *e, const struct instance *i, struct np_lives *last);

/*
 * The minute in which the time begins that a node without a host waits for; -1: it has a host, or there is none. `last`
 * is for one after another, as above.
 */
struct np_starts {
	uint64_t pool, sku;
	int64_t *list;
	size_t count;
};
int64_t np_node_start(const struct engine *e, const struct instance *i, struct np_starts *last);
void np_starts_release(struct np_starts *s);

/* ---- Events and samples -------------------------------------------------------------------- */

/* Where a stream is: after what it sent, else by the client's header or query, else 0. false: refused. */
bool np_events_since(const struct request *q, struct reply *r, uint64_t *since);
uint64_t np_events_end(struct api *api); /* not before any event that there is */
/* Appends the events after *last, as server-sent events, up to about so many bytes; *last is then the last of them. */
int np_events_append(struct api *api, uint64_t account, size_t bytes, uint64_t *last, struct buf *out,
	struct fail *why);
/* {"at", "nodes": {ID: [CPU CORES, MEMORY, [USE OF EACH GPU]]}, "more"}: as many live nodes as fit. NULL: no memory. */
json_t *np_samples_brief(struct api *api, uint64_t account, size_t bytes);

/* ---- Time and trade ------------------------------------------------------------------------ */

/* Unix seconds of a field as a minute. false: refused. */
bool np_minute(const struct request *q, struct reply *r, const char *field, int64_t seconds, int64_t *minute);
/* The end of an order's refusal: "; 2 nodes would fit", from what engine_diagnose() found. "": nothing would. */
const char *np_hint(const struct diagnosis *w, char *room, size_t size);

extern const struct schema schema_np[];
extern const struct schema schema_np_price[];
extern const struct schema schema_np_payment[];
extern const struct schema schema_np_payout[];
extern const struct schema schema_np_debt[];
extern const struct schema schema_np_announce[];
extern const struct schema schema_np_volume[];
extern const struct schema schema_np_plans[];
extern const struct schema schema_np_grant[];
extern const struct schema schema_np_personhood[];
extern const struct schema schema_np_audit[];
extern const struct schema schema_np_agent[];
extern const struct schema schema_np_verify[];
extern const struct schema schema_np_series[];
extern const struct schema schema_np_samples[];
extern const struct schema schema_np_alerts[];
extern const struct schema schema_np_alert_rules[];
extern const struct schema schema_np_report[];
extern const struct schema schema_np_usage[];
extern const struct schema schema_np_overview[];
extern const struct schema schema_np_public[];
extern const struct schema schema_np_session[];
extern const struct schema schema_np_authz[];
extern const struct schema schema_np_caps[];
extern const struct schema schema_np_people[];
extern const struct schema schema_np_signin[];
extern const struct schema schema_np_signin_page[];
extern const struct schema schema_old[];            /* of /v1 and /v0 */

#endif

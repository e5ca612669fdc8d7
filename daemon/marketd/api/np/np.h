/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What api_np*.c, api_v1*.c and api_v0*.c share: our own API, and the adapters by which SF Compute's
 * older clients are answered. Each file has one table of routes.
 */
#ifndef MARKETD_API_NP_NP_H
#define MARKETD_API_NP_NP_H

#include "marketd/api/api.h"
#include "marketd/api/schema.h"

extern const struct route api_np_routes[];          /* api_np.c: the market, oneself, policy, clock */
extern const struct route api_np_token_routes[];    /* api_np_token.c */
extern const struct route api_np_account_routes[];  /* api_np_account.c: accounts, credits, SKUs */
extern const struct route api_np_host_routes[];     /* api_np_host.c: hosts, offers, what agents report */
extern const struct route api_np_agent_routes[];    /* api_np_agent.c: machines that join, their owner's view */
extern const struct route api_np_work_routes[];     /* api_np_work.c: what an agent asks and tells */
extern const struct route api_np_node_routes[];     /* api_np_node.c: what a buyer's nodes are and where */
extern const struct route api_np_trade_routes[];    /* api_np_trade.c: extend, release, quote */
extern const struct route api_np_list_routes[];     /* api_np_list.c: ledger, events, leases */
extern const struct route api_v1_node_routes[];     /* api_v1_node.c */
extern const struct route api_v1_routes[];          /* api_v1.c: balances, images, account */
extern const struct route api_v0_order_routes[];    /* api_v0_order.c: orders, quote */
extern const struct route api_v0_contract_routes[]; /* api_v0_contract.c */
extern const struct route api_v0_vm_routes[];       /* api_v0_vm.c */
extern const struct route api_v0_procurement_routes[];
extern const struct route api_v0_routes[];          /* api_v0.c: zones, me, tokens, ping */

/* A token of any kind. */
#define NP_ANY (SCOPE_READ | SCOPE_TRADE | SCOPE_NODES | SCOPE_TOKENS | SCOPE_HOST | SCOPE_ADMIN)

/* ---- Scopes ------------------------------------------------------------------------------ */

json_t *np_scopes(int32_t scopes);                   /* ["read", …] */
int32_t np_scopes_read(const json_t *list);
int32_t np_allowed(const struct request *q);         /* what the caller may do: the operator all */
/* Where a route needs two scopes at once: the table asks for one, this for the other. false: refused. */
bool np_may(const struct request *q, struct reply *r, int32_t scope);

/* ---- Accounts ----------------------------------------------------------------------------- */

const char *np_account_state(const struct account *a);
json_t *np_balance(const struct engine *e, const struct account *a); /* without burn */
const struct account *np_find_account(const struct engine *e, const char *text); /* id or name */
/* prefix and 32 bytes from the kernel in base64url. 0, or -1 where it gives none. */
enum { NP_SECRET = 96 };
int np_secret(const char *prefix, char text[NP_SECRET]);

/* Makes a token for an account and answers 201 with it: the only time that it is told. */
int np_make_token(struct api *api, const struct request *q, struct reply *r, uint64_t account);

/* The same without the answer: name, scopes and expires are in ev. NULL: refused. */
json_t *np_token_make(struct api *api, const struct request *q, struct reply *r, uint64_t account, struct event *ev);
int np_revoke_token(struct api *api, const struct request *q, struct reply *r); /* the route's {id} */

/* ---- Hosts and agents --------------------------------------------------------------------- */

json_t *np_host(const struct engine *e, const struct host *h);
const char *np_host_state(const struct host *h);
/* Registers the host that the body describes, for this agent (0: none), and answers 201. */
int np_make_host(struct api *api, const struct request *q, struct reply *r, uint64_t account, uint64_t agent);
/* Takes offers back, retires the agent's hosts and the agent; 204, or 409 where something sold still runs. */
int np_agent_leave(struct api *api, const struct request *q, struct reply *r, const struct agent *a);
/* Keeps it where it is another than before. 0 or a reason. */
int np_take_inventory(struct api *api, const struct request *q, const struct agent *a, const json_t *given,
	struct fail *why);
/* What an agent reported of an instance, {"hostname", …}; NULL: nothing, or plain words. */
json_t *np_report(const struct instance *i);

/* ---- Time and trade ------------------------------------------------------------------------ */

/* Unix seconds of a field as a minute. false: refused. */
bool np_minute(const struct request *q, struct reply *r, const char *field, int64_t seconds, int64_t *minute);
/* What ends an order's refusal: "; 2 nodes would fit", from what engine_diagnose() found. "" where nothing would. */
const char *np_hint(const struct diagnosis *w, char *room, size_t size);

extern const struct schema schema_np[];
extern const struct schema schema_np_agent[];
extern const struct schema schema_old[];            /* of /v1 and /v0 */

#endif

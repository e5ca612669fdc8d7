/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod admin: admin.c has the table of actions, admin_skus.c types, admin_hosts.c hosts and offers,
 * admin_tokens.c tokens, admin_meter.c usage for billing, admin_announce.c announcements, admin_overview.c the market
 * in numbers, admin_part.c what all use.
 */
#ifndef CLI_CMD_ADMIN_ADMIN_H
#define CLI_CMD_ADMIN_ADMIN_H

#include "cli/frame/action.h"
#include "cli/frame/json.h"
#include "cli/trade/market_link.h"
#include "cli/trade/rows_list.h"

int admin_overview(struct nanopod *np, const struct options *o, char **words);
int admin_sku_list(struct nanopod *np, const struct options *o, char **words);
int admin_sku_add(struct nanopod *np, const struct options *o, char **words);
int admin_sku_set(struct nanopod *np, const struct options *o, char **words);
int admin_host_list(struct nanopod *np, const struct options *o, char **words);
int admin_host_add(struct nanopod *np, const struct options *o, char **words);
int admin_host_down(struct nanopod *np, const struct options *o, char **words);
int admin_host_up(struct nanopod *np, const struct options *o, char **words);
int admin_host_retire(struct nanopod *np, const struct options *o, char **words);
int admin_token_list(struct nanopod *np, const struct options *o, char **words);
int admin_token_revoke(struct nanopod *np, const struct options *o, char **words);
int admin_announce(struct nanopod *np, const struct options *o, char **words);
int admin_announce_list(struct nanopod *np, const struct options *o, char **words);
int admin_announce_end(struct nanopod *np, const struct options *o, char **words);
int admin_policy(struct nanopod *np, const struct options *o, char **words);
int admin_policy_set(struct nanopod *np, const struct options *o, char **words);
int admin_grant_list(struct nanopod *np, const struct options *o, char **words);
int admin_grant_add(struct nanopod *np, const struct options *o, char **words);
int admin_grant_end(struct nanopod *np, const struct options *o, char **words);
int admin_plan_list(struct nanopod *np, const struct options *o, char **words);
int admin_plan_create(struct nanopod *np, const struct options *o, char **words);
int admin_plan_set(struct nanopod *np, const struct options *o, char **words);
int admin_payout_list(struct nanopod *np, const struct options *o, char **words);
int admin_payout_cancel(struct nanopod *np, const struct options *o, char **words);
int admin_payout_paid(struct nanopod *np, const struct options *o, char **words);
int admin_payout_failed(struct nanopod *np, const struct options *o, char **words);
int admin_payment_list(struct nanopod *np, const struct options *o, char **words);
int admin_payment_claim(struct nanopod *np, const struct options *o, char **words);
int admin_payment_dismiss(struct nanopod *np, const struct options *o, char **words);
int admin_facts(struct nanopod *np, const struct options *o, char **words);
int admin_reputation(struct nanopod *np, const struct options *o, char **words);
int admin_meter(struct nanopod *np, const struct options *o, char **words);
int admin_meter_check(struct nanopod *np, const struct options *o, char **words);
int admin_offer(struct nanopod *np, const struct options *o, char **words);

/*
 * GPUs of a host's type, for a price per GPU-hour; 0 with --per node and where it has none. what: "offer", "price". 0
 * or an exit status.
 */
int admin_gpus(struct market_link *m, const struct options *o, const char *what, const char *host, unsigned *gpus);

/* Offers it; the order is in m->doc. 0, a reason of the market, or a negative code in m->fail. */
int admin_offer_send(struct market_link *m, const struct options *o, const char *host, int64_t price, int64_t from,
	int64_t until);
struct rows *admin_offers_new(struct nanopod *np, const struct options *o, int *rc);
/* A row of the order that m->doc has. An exit status. */
int admin_offers_add(struct market_link *m, struct rows *r, const char *host, unsigned gpus);

/* Offers words[0] at words[1] and shows the order. An exit status. */
int admin_place(struct market_link *m, const struct options *o, char **words, unsigned gpus, int64_t from,
	int64_t until);

/* What taking a host out of service means; `really`: does it. at 0: from now on, and what is sold runs out. */
struct host_drain_ask {
	int64_t at;
	const char *reason;
	bool really;
};
int host_drain_ask(struct market_link *m, const struct options *o, const char *host, const struct host_drain_ask *ask,
	struct model_drain *out); /* host_drain.c. 0 or a negative code in m->fail */
/* Whether that failed because the market is too old to know drains; asks it for the host. */
bool host_drain_unknown(struct market_link *m, const struct options *o, const char *host);

/* Signs in and checks that the market is one of ours. 0 or an exit status. */
int admin_begin(struct nanopod *np, const struct options *o, struct market_link **out);

/* "/np/v1/hosts" with "/NAME" (escaped), what follows, and --account as ?account=. */
void admin_path(struct buf *out, const struct options *o, const char *base, const char *name, const char *rest);
/* Lists what is at base, of --account where that is given; l.path is made here. */
int admin_list(struct nanopod *np, const struct options *o, const char *base, struct rows_list l);

/* Ends each of the words, which are ids: DELETE base ID. what: "grant". An exit status. */
int admin_delete(struct nanopod *np, const struct options *o, const char *base, const char *what, char **words);

/* A time of --from or --until on the market's grid; 0 where not given. An exit status. */
int admin_time(struct nanopod *np, const struct options *o, const char *name, int64_t *seconds);

#endif

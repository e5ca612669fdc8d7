/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON to model.h and back; with daemon/ the only one that knows jansson. Answers are somebody
 * else's: unknown fields and words are let pass, a wrong type is refused and named, and no number
 * in them decides how much memory is taken. Nothing here talks to a network.
 *
 *     struct doc *d;
 *     doc_parse(text, len, &d, f);
 *     for (size_t i = 0; i < doc_count(d); i++)
 *             wire_order(d, i, &order, f);          one of a list
 *     wire_order(d, WIRE_WHOLE, &order, f);         the document itself
 *     doc_free(d);                                  with all that was read from it
 */
#ifndef MARKET_WIRE_H
#define MARKET_WIRE_H

#include "base/buf.h"
#include "base/fail.h"
#include "market/model.h"

enum {
	WIRE_WHOLE = -1,
	WIRE_BYTES_MAX = 32 << 20,   /* of one document */
};

struct doc;

/* 0, or -EPROTO with a sentence: not JSON, too deep, too large. len 0 gives an empty document. */
int doc_parse(const char *text, size_t len, struct doc **out, struct fail *f);
void doc_free(struct doc *d);

/* Members of "data", or of the document if it is an array itself; 0: none. */
size_t doc_count(const struct doc *d);

/* The cursor of the next page, or NULL after the last. -EPROTO: it announces more without a cursor. */
int doc_next(const struct doc *d, const char **cursor, struct fail *f);

/* The document as text again, indented or on one line. 0 or -ENOMEM / -EFBIG. */
int doc_show(const struct doc *d, bool indent, struct buf *out);

/* One member of the list, or of the document (WIRE_WHOLE), as one line. */
int doc_show_at(const struct doc *d, long at, struct buf *out);

/* A text of the document by its name ("object"), or NULL. */
const char *doc_text(const struct doc *d, const char *name);
bool doc_number(const struct doc *d, const char *name, int64_t *out); /* false: it has no such whole number */

/* GET /np/v1/personhood. */
struct model_personhood {
	const char *account, *state, *score, *passing, *address, *person, *checked_at, *problem;
	int64_t end_at;
};

/* 0, or -EPROTO with a sentence that names the field; *out is untouched then. */
int wire_sku(struct doc *d, long at, struct model_sku *out, struct fail *f);
int wire_availability(struct doc *d, long at, struct model_availability *out, struct fail *f);
int wire_depth(struct doc *d, long at, struct model_depth *out, struct fail *f);
int wire_order(struct doc *d, long at, struct model_order *out, struct fail *f);
int wire_pool(struct doc *d, long at, struct model_pool *out, struct fail *f);
int wire_instance(struct doc *d, long at, struct model_instance *out, struct fail *f);
int wire_ssh(struct doc *d, long at, struct model_ssh *out, struct fail *f);
int wire_node(struct doc *d, long at, struct model_node *out, struct fail *f);
int wire_sample(struct doc *d, long at, struct model_sample *out, struct fail *f);
int wire_samples_now(struct doc *d, int64_t *now, struct fail *f); /* the market's time when it answered */
int wire_alert(struct doc *d, long at, struct model_alert *out, struct fail *f);
int wire_alert_rule(struct doc *d, long at, struct model_alert_rule *out, struct fail *f);
int wire_alerts_of(struct doc *d, struct model_alerts_of *out, struct fail *f);
int wire_log(struct doc *d, long at, struct model_log *out, struct fail *f);
int wire_image(struct doc *d, long at, struct model_image *out, struct fail *f);
int wire_workspace(struct doc *d, long at, struct model_workspace *out, struct fail *f);
int wire_procurement(struct doc *d, long at, struct model_procurement *out, struct fail *f);
int wire_preview(struct doc *d, long at, struct model_preview *out, struct fail *f);
int wire_quote(struct doc *d, long at, struct model_quote *out, struct fail *f);
int wire_release(struct doc *d, long at, struct model_release *out, struct fail *f);
int wire_balance(struct doc *d, long at, struct model_balance *out, struct fail *f); /* SF Compute's /v1/balances too */
int wire_credit(struct doc *d, struct model_balance *out, struct fail *f); /* the balance after a credit */
int wire_token(struct doc *d, long at, struct model_token *out, struct fail *f);
int wire_whoami(struct doc *d, long at, struct model_whoami *out, struct fail *f);   /* /v2/me too */
int wire_person(struct doc *d, long at, struct model_person *out, struct fail *f);
int wire_invitation(struct doc *d, long at, struct model_invitation *out, struct fail *f);
int wire_signed_in(struct doc *d, const char **token, struct fail *f); /* the token alone */
int wire_personhood(struct doc *d, long at, struct model_personhood *out, struct fail *f);
int wire_market(struct doc *d, long at, struct model_market *out, struct fail *f);
int wire_policy(struct doc *d, long at, struct model_policy *out, struct fail *f);
int wire_account(struct doc *d, long at, struct model_account *out, struct fail *f);
int wire_host(struct doc *d, long at, struct model_host *out, struct fail *f);
int wire_grant(struct doc *d, long at, struct model_grant *out, struct fail *f);

/* What an account pays a month, and what that pays for. */
struct model_plan {
	const char *name, *seller, *type, *state; /* type NULL: all */
	int64_t fee, included, rates, now, begin; /* now: what is left of this month would cost */
};
/* The account's: name NULL: it has none; next NULL: none from `end` on; lapses: why that is not paid; NULL. */
struct model_subscription {
	const char *name, *next, *type, *lapses;
	int64_t fee, next_fee, included, used, left, rates_left, end;
};
int wire_plan(struct doc *d, long at, struct model_plan *out, struct fail *f);
int wire_subscription(struct doc *d, long at, struct model_subscription *out, struct fail *f);
int wire_topup(struct doc *d, struct model_topup *out, struct fail *f);
int wire_payment(struct doc *d, long at, struct model_payment *out, struct fail *f);
/* What an account owes, and since when; owed 0: nothing. suspends 0: it is not suspended for that. */
struct model_debt {
	int64_t owed, since, suspends;
	const char *step; /* "suspended": it is, by the market's rule */
};
int wire_debt(struct doc *d, long at, struct model_debt *out, struct fail *f); /* of an account, balance, whoami */
/* What an account earned by selling, and what of that is paid out. */
struct model_income {
	int64_t earned, paid, payable, hold; /* hold: hours */
};
struct model_payout {
	const char *id, *account, *state, *reference, *why, *waits; /* the last three: NULL: none */
	int64_t amount, back, balance, created_at;
};
int wire_payout_setup(struct doc *d, struct model_topup *out, struct fail *f); /* id, url, expires */
int wire_income(struct doc *d, struct model_income *out, struct fail *f);
int wire_payout(struct doc *d, long at, struct model_payout *out, struct fail *f);
int wire_facts(struct doc *d, struct model_fact **out, size_t *count, struct fail *f);
int wire_commit(struct doc *d, struct model_commit *out, struct fail *f);
int wire_announcement(struct doc *d, long at, struct model_announcement *out, struct fail *f);
int wire_repriced(struct doc *d, long at, struct model_repriced *out, struct fail *f);
int wire_drain(struct doc *d, long at, struct model_drain *out, struct fail *f);
int wire_agent(struct doc *d, long at, struct model_agent *out, struct fail *f);
/* What an agent's inventory says that its machine has for nodes; unknown where the agent is older. */
int wire_capacity(struct doc *d, struct model_sizes *out, struct fail *f);
int wire_lease(struct doc *d, long at, struct model_lease *out, struct fail *f);
int wire_posting(struct doc *d, long at, struct model_posting *out, struct fail *f);
int wire_report_row(struct doc *d, long at, struct model_report_row *out, struct fail *f);
int wire_report_books(struct doc *d, struct model_report_books *out, struct fail *f);
int wire_usage(struct doc *d, long at, struct model_usage *out, struct fail *f);
int wire_overview(struct doc *d, struct model_overview *out, struct fail *f);
int wire_event(struct doc *d, long at, struct model_event *out, struct fail *f);
int wire_audit(struct doc *d, long at, struct model_audit *out, struct fail *f);

/* Room of a machine that outlives nodes; or, of an offer, what a machine lets: `id` and `free` are there alone. */
struct model_volume {
	const char *id, *name, *agent, *state;
	const char *const *types; /* of the nodes that its machine sells */
	size_t type_count;
	int64_t gib, free, month, hour;            /* month: micro-dollars per GiB */
	int64_t created_at, paid_until, delete_at; /* delete_at 0: it is not to be deleted */
	bool here, up;                             /* of an offer: nodes of the reservation are there; it is up */
};
int wire_volume(struct doc *d, long at, struct model_volume *out, struct fail *f);

/* ---- Lago's answers ------------------------------------------------------------------------ */

/* The lago_id of what it made or has: of a "billable_metric" whose "code" is this one. NULL: it says another thing. */
const char *wire_lago_id(struct doc *d, const char *thing, const char *key, const char *name);
/* Is the answer about that one? */
bool wire_lago_is(struct doc *d, const char *thing, const char *key, const char *name);
/* Has the plan a charge for this metric, of this model (NULL: of any)? */
bool wire_lago_charges(struct doc *d, const char *code, const char *model);
/* It lists just the events that it was sent; else -EPROTO with a sentence that goes on from "it". */
int wire_lago_accepted(struct doc *d, const char *const *ids, size_t count, struct fail *f);
/* A refusal that only says which of the events it has already: known[i]. -EPROTO: it says something else. */
int wire_lago_known(struct doc *d, bool *known, size_t count, struct fail *f);
/* The usage of the period under way, a charge each; *from: when it began, ISO 8601. */
int wire_lago_usage(struct doc *d, const char **from, struct model_metered **out, size_t *count, struct fail *f);

/* Never fails: leaves empty what it cannot read. status: HTTP's. */
void wire_error(struct doc *d, int status, struct model_error *out);

/* ---- Bodies. 0 or -ENOMEM / -EFBIG / -EINVAL (a text that is not UTF-8) ------------------- */

int wire_put_order(struct buf *out, const struct model_order_new *o);       /* orders, quotes */
/* order_preview asks for nodes by their properties: sku may be NULL (any). */
int wire_put_preview(struct buf *out, const struct model_order_new *o, const struct model_sku *sku);
int wire_put_pool(struct buf *out, const char *name, const char *workspace);
int wire_put_instance(struct buf *out, const struct model_instance_new *i);
int wire_put_extend(struct buf *out, const struct model_extend *e);
int wire_put_release(struct buf *out, const struct model_release_new *r);
int wire_put_procurement(struct buf *out, const struct model_procurement_new *p);
int wire_put_procurement_change(struct buf *out, const struct model_procurement_new *p);
int wire_put_signin(struct buf *out, const char *id_token, const char *invitation, const char *account);
/* roles: "buyer,viewer"; name NULL, seconds 0: not said. */
int wire_put_invitation(struct buf *out, const char *name, const char *roles, int64_t seconds);
int wire_put_cap(struct buf *out, int64_t cap, const char *reason); /* cap -1: none; reason may be NULL */
int wire_put_token(struct buf *out, const struct model_token_new *t);

#endif

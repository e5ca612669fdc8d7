/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may buy what, at what price: asks the policy about what an account is about to do, and holds the account to the
 * answer. Without a policy everything is allowed at full price.
 */
#ifndef MARKETD_API_MAY_DECIDE_H
#define MARKETD_API_MAY_DECIDE_H

#include "marketd/api/api.h"
#include "marketd/policy/rules.h"

/* What the policy said of one thing. */
struct verdict {
	struct decision decision;
	bool capped;               /* the order's limit was above what the policy allows, and is that now */
	const struct grant *grant; /* which pays what the buyer does not; NULL: none */
	json_t *input; /* what the policy was asked with; decide_release() frees it; NULL: it was not asked */
};

/*
 * Asks about an order or a procurement and refuses what the policy denies or limits. Names in the order the grant that
 * pays a part, and lowers its limit to the most that the policy allows. Anything else is allowed. 0 or a reason.
 */
int decide(struct api *api, const struct request *q, struct event *ev, struct verdict *v, struct fail *why);
/*
 * Asks about anything that an account does: request is what it wants (taken), v->grant whose money there is. 0 and what
 * was decided in v, or a reason.
 */
int decide_ask(struct api *api, const struct request *q, const struct account *a, json_t *request, struct verdict *v,
	struct fail *why);
void decide_release(struct verdict *v);

/* The same without what it says, for api_apply(). */
int decide_apply(struct api *api, const struct request *q, struct event *ev, struct fail *why);

/* What is known of an account now: {"name": value …}, a new reference; NULL: out of memory. */
json_t *decide_facts(const struct account *a, int64_t now);

/* The month of its plan that has something left for this type (0: any); NULL: none. */
const struct grant *decide_month(const struct engine *e, uint64_t account, uint64_t sku);

/* The grant that pays for the account's next buy; NULL: none. */
const struct grant *decide_grant(const struct engine *e, uint64_t account);

#endif

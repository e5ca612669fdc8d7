/* SPDX-License-Identifier: Apache-2.0 */
/* What accounts and tokens have used, against what the file lets them use. Days are those of UTC. */
#ifndef MARKETD_PROXY_TOKENBUDGET_H
#define MARKETD_PROXY_TOKENBUDGET_H

#include <jansson.h>

#include "base/table.h"
#include "marketd/proxy/proxyfile.h"

/* What the policy lets an account do here; 0: not limited. */
struct gate_limits {
	int64_t requests_minute, requests_day, tokens_minute, tokens_day;
};

struct budgets {
	const struct proxyfile *file;
	struct table used; /* "a" or "t" and the id: struct budget_used */
};

void budgets_init(struct budgets *b, const struct proxyfile *file);
void budgets_release(struct budgets *b);

/* So many tokens were used. 0 or -ENOMEM. */
int budgets_add(struct budgets *b, const char *account, const char *token, int64_t at, int64_t tokens);

/* All of it as JSON, and back; NULL: nothing was used. */
json_t *budgets_sums(const struct budgets *b);      /* NULL: out of memory */
int budgets_begin(struct budgets *b, json_t *sums); /* 0 or -ENOMEM */

/* A request under way will use about so many; negative: it no longer does. */
void budgets_promise(struct budgets *b, const char *account, const char *token, int64_t tokens);

/*
 * The budget that is used up; NULL: none is. *retry: seconds until it may have some again; 0: as soon as requests under
 * way have ended, if they use less than what is left.
 */
const struct proxyfile_budget *budgets_over(const struct budgets *b, const char *account, const char *name,
	const char *token, int64_t now, int64_t *retry);

/*
 * Counts a request of the account within the policy's limits: NULL. Else which one is reached ("requests a minute"),
 * its number, and in how many seconds there may be room again. Requests of before a start do not count.
 */
const char *budgets_gate(struct budgets *b, const char *account, const struct gate_limits *l, int64_t now,
	int64_t *limit, int64_t *retry);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many requests an account has sent through gateways in this minute and this day of UTC, where the policy limits
 * them. In memory only: a start forgets them.
 */
#ifndef MARKETD_API_MAY_REQUESTGATE_H
#define MARKETD_API_MAY_REQUESTGATE_H

#include "marketd/api/api.h"
#include "marketd/policy/rules.h"

struct gates;

/* Counts one more. 0, or REASON_RATE with the seconds until there is room again. */
int gate_take(struct api *api, uint64_t account, const struct decision *d, int64_t now, int *retry_s, struct fail *why);
void gates_free(struct gates *g);

#endif

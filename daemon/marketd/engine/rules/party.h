/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts with their money and tokens, and what the operator sets. */
#ifndef MARKETD_ENGINE_RULES_PARTY_H
#define MARKETD_ENGINE_RULES_PARTY_H

#include "marketd/engine/live/world.h"

int party_make(struct engine *e, const struct event *ev, struct fail *why);
int party_state(struct engine *e, const struct event *ev, struct fail *why);
int party_credit(struct engine *e, const struct event *ev, struct fail *why);
int party_token(struct engine *e, const struct event *ev, struct fail *why);
int party_token_revoke(struct engine *e, const struct event *ev, struct fail *why);
int party_policy(struct engine *e, const struct event *ev, struct fail *why);

enum { TOKEN_KEY = 2 * TOKEN_HASH + 1 };
const char *party_token_key(const uint8_t hash[TOKEN_HASH], char room[TOKEN_KEY]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accounts that owe: since when, and how far the operator's rule has come with them. Suspended by the rule, an account
 * buys nothing more; what it has paid for goes on, and it is open again in the moment in which it owes nothing.
 */
#ifndef MARKETD_ENGINE_MONEY_DUNNING_H
#define MARKETD_ENGINE_MONEY_DUNNING_H

#include "marketd/engine/live/world.h"

int dunning_apply(struct engine *e, const struct event *ev, struct fail *why);

/* At the end of each event and minute: who has begun to owe, and who owes nothing any more. */
void dunning_look(struct engine *e);

/* An edition of the rules that knows of debts begins: all that owe do so from now on. */
void dunning_begin(struct engine *e);

/* The operator suspends or opens the account: what the rule did is over, and its days begin anew. */
void dunning_by_hand(struct engine *e, struct live_account *a, enum account_state state);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts with their money and tokens, and what the operator sets. */
#ifndef MARKETD_ENGINE_RULES_ACCOUNT_H
#define MARKETD_ENGINE_RULES_ACCOUNT_H

#include "marketd/engine/live/world.h"

int account_make(struct engine *e, const struct event *ev, struct fail *why);
int account_set_state(struct engine *e, const struct event *ev, struct fail *why);
int account_credit(struct engine *e, const struct event *ev, struct fail *why);
int token_make(struct engine *e, const struct event *ev, struct fail *why);
int token_revoke(struct engine *e, const struct event *ev, struct fail *why);
void token_end(struct engine *e, struct token *t); /* it is revoked */
int rules_set(struct engine *e, const struct event *ev, struct fail *why);
int policy_set(struct engine *e, const struct event *ev, struct fail *why);

enum { TOKEN_KEY = 2 * TOKEN_HASH + 1 };
const char *token_key(const uint8_t hash[TOKEN_HASH], char room[TOKEN_KEY]);

bool account_too_much(const struct engine *e, int64_t more); /* with so much more of it */

/* payment.c: what a payment service took for an account, and gave back. */
int payment_note(struct engine *e, const struct event *ev, struct fail *why);

/* people.c: the people of an account, invitations to become one, and what each may spend. */
int person_make(struct engine *e, const struct event *ev, struct fail *why);
int person_change(struct engine *e, const struct event *ev, struct fail *why);
int person_remove(struct engine *e, const struct event *ev, struct fail *why);
int cap_set(struct engine *e, const struct event *ev, struct fail *why); /* of a person or a token */
int invitation_make(struct engine *e, const struct event *ev, struct fail *why);
int invitation_end(struct engine *e, const struct event *ev, struct fail *why);
void invitation_forget(struct engine *e); /* those that are over */

/* What the operator says to one account or to all. */
int announce_make(struct engine *e, const struct event *ev, struct fail *why);
int announce_end(struct engine *e, const struct event *ev, struct fail *why);
void announce_forget(struct engine *e); /* what is over */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What of an account's income is paid out. */
#ifndef MARKETD_ENGINE_MONEY_PAYOUT_H
#define MARKETD_ENGINE_MONEY_PAYOUT_H

#include "marketd/engine/live/world.h"

/* A new one, or one that a snapshot had. The engine's from then on. */
void payout_add(struct engine *e, struct payout *p);

int payout_note(struct engine *e, const struct event *ev, struct fail *why);

#endif

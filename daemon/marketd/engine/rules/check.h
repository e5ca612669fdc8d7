/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that many events share: the account exists, it may act, a name or text is valid. */
#ifndef MARKETD_ENGINE_RULES_CHECK_H
#define MARKETD_ENGINE_RULES_CHECK_H

#include "marketd/engine/live/world.h"

int check_account(const struct engine *e, const struct event *ev, struct fail *why);      /* it exists */
/* REASON_SUSPENDED, and why. */
int check_suspended(const struct live_account *a, struct fail *why);
int check_open_account(const struct engine *e, const struct event *ev, struct fail *why); /* and is not suspended */
int check_pool(const struct engine *e, const struct event *ev, uint64_t id, struct live_pool **out, struct fail *why);
int check_name(const char *name, bool needed, struct fail *why);
int check_text(const char *text, struct fail *why);

#endif

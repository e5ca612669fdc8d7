/* SPDX-License-Identifier: Apache-2.0 */
/* Agents: machines that joined an account and make the nodes of its hosts. One function an event. */
#ifndef MARKETD_ENGINE_RULES_KEEPER_H
#define MARKETD_ENGINE_RULES_KEEPER_H

#include "marketd/engine/live/world.h"

int keeper_join(struct engine *e, const struct event *ev, struct fail *why);
int keeper_session(struct engine *e, const struct event *ev, struct fail *why);
int keeper_inventory(struct engine *e, const struct event *ev, struct fail *why);
int keeper_retire(struct engine *e, const struct event *ev, struct fail *why);

bool keeper_key_fits(const char *public_key); /* 32 bytes in base64, in the one way to write them */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Agents: machines that joined an account and make the nodes of its hosts. One function an event. */
#ifndef MARKETD_ENGINE_RULES_AGENTS_H
#define MARKETD_ENGINE_RULES_AGENTS_H

#include "marketd/engine/live/world.h"

int agent_join(struct engine *e, const struct event *ev, struct fail *why);
int agent_session(struct engine *e, const struct event *ev, struct fail *why);
int agent_inventory(struct engine *e, const struct event *ev, struct fail *why);
int host_verified(struct engine *e, const struct event *ev, struct fail *why); /* what was measured of a host */
int agent_retire(struct engine *e, const struct event *ev, struct fail *why);

bool agent_key_fits(const char *public_key); /* 32 bytes in canonical base64 */

#endif

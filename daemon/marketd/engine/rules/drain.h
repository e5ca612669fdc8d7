/* SPDX-License-Identifier: Apache-2.0 */
/* An owner drains a host: from a minute on nothing of it is sold, and what was sold beyond may end there. */
#ifndef MARKETD_ENGINE_RULES_DRAIN_H
#define MARKETD_ENGINE_RULES_DRAIN_H

#include "marketd/engine/live/world.h"

/* The first minute from which on what is sold of the host may end. */
int64_t drain_earliest(const struct engine *e, const struct live_host *h, bool by_operator);

int host_drain(struct engine *e, const struct event *ev, struct fail *why);

#endif

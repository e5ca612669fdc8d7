/* SPDX-License-Identifier: Apache-2.0 */
/* A pool gives back what it still has of its hosts, by the published rule. */
#ifndef MARKETD_ENGINE_RULES_RELEASE_H
#define MARKETD_ENGINE_RULES_RELEASE_H

#include "marketd/engine/live/world.h"

int release_apply(struct engine *e, const struct event *ev, struct fail *why);
int release_quote(const struct engine *e, const struct event *ev, struct release_quote *out, struct fail *why);

#endif

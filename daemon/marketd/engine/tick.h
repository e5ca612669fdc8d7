/* SPDX-License-Identifier: Apache-2.0 */
/* Time passes: does what is due in each minute, in the order of rules.md. */
#ifndef MARKETD_ENGINE_TICK_H
#define MARKETD_ENGINE_TICK_H

#include "marketd/engine/live/world.h"

int tick_apply(struct engine *e, const struct event *ev, struct fail *why);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Procurements: keep a pool at a number of nodes for a window ahead, by orders that the market places. */
#ifndef MARKETD_ENGINE_PROCURE_PROCURE_H
#define MARKETD_ENGINE_PROCURE_PROCURE_H

#include "marketd/engine/live/world.h"

void procure_all(struct engine *e); /* in a minute of a tick: all that are enabled */

int procure_make(struct engine *e, const struct event *ev, struct fail *why);
int procure_change(struct engine *e, const struct event *ev, struct fail *why);
int procure_delete(struct engine *e, const struct event *ev, struct fail *why);

#endif

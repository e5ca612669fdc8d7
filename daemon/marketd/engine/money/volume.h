/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes: room of an agent's disk that outlives nodes, paid by the hour. One function an event. */
#ifndef MARKETD_ENGINE_MONEY_VOLUME_H
#define MARKETD_ENGINE_MONEY_VOLUME_H

#include "marketd/engine/live/world.h"

int volume_offer(struct engine *e, const struct event *ev, struct fail *why);
int volume_make(struct engine *e, const struct event *ev, struct fail *why);
int volume_change(struct engine *e, const struct event *ev, struct fail *why);
int volume_gone(struct engine *e, const struct event *ev, struct fail *why);

/* Would a VOLUME or VOLUME_CHANGE be refused? */
int volume_check(const struct engine *e, const struct event *ev, struct fail *why);

void volume_pass_minute(struct engine *e);                    /* what is due is paid, owes, or is to be deleted */
void volume_lose_all(struct engine *e, struct live_agent *a); /* the machine leaves */

int64_t volume_hour(int32_t gib, int64_t price);                            /* what an hour costs, rounded up */
int64_t volume_let(const struct live_agent *a);                             /* GiB that are not free */
bool volume_machine_up(const struct engine *e, const struct live_agent *a); /* one of its hosts is */
bool volume_restore(struct engine *e, const struct volume *v);              /* false: it does not fit */

#endif

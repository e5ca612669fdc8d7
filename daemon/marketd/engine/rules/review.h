/* SPDX-License-Identifier: Apache-2.0 */
/* Instances: made, changed, reported on, and given the hosts that their pools have in this minute. */
#ifndef MARKETD_ENGINE_RULES_REVIEW_H
#define MARKETD_ENGINE_RULES_REVIEW_H

#include "marketd/engine/live/world.h"

/* Reviews the pools where something changed. when: Unix seconds, kept as the time when an instance got its host. */
void review_all(struct engine *e, int64_t when);

int instance_make(struct engine *e, const struct event *ev, struct fail *why);
int instance_change(struct engine *e, const struct event *ev, struct fail *why);
int instance_stop(struct engine *e, const struct event *ev, struct fail *why);
int instance_delete(struct engine *e, const struct event *ev, struct fail *why);
int instance_report(struct engine *e, const struct event *ev, struct fail *why);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What happened, in order, until somebody asks. */
#ifndef PSSH_FLEET_EVENT_QUEUE_H
#define PSSH_FLEET_EVENT_QUEUE_H

#include <stdbool.h>

#include "base/list.h"
#include "pssh/pssh_types.h"

struct events {
	struct list queue;
	struct event *shown;         /* handed out, valid until the next call */
	struct pssh_event direct;    /* the same for one that was never queued */
	uint64_t seq;
	bool lost;                   /* memory ran out: the queue is not the whole truth */
};

void events_init(struct events *q);
void events_release(struct events *q);

/* Queues a copy of ev and its text; data must be NULL. Sequence numbers are given when events leave. */
void events_add(struct events *q, const struct pssh_event *ev);

/* Hands out an event whose data the caller keeps alive until the next call, before those that wait. */
const struct pssh_event *events_direct(struct events *q, const struct pssh_event *ev);

bool events_empty(const struct events *q);
const struct pssh_event *events_next(struct events *q); /* NULL: none */
void events_forget(struct events *q, const struct pssh_task *t);

#endif

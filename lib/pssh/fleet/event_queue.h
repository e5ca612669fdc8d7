/* SPDX-License-Identifier: Apache-2.0 */
/* The events that happened, in order, until pssh_next() takes them. */
#ifndef PSSH_FLEET_EVENT_QUEUE_H
#define PSSH_FLEET_EVENT_QUEUE_H

#include <stdbool.h>

#include "base/list.h"
#include "pssh/pssh_types.h"

struct events {
	struct list queue;
	struct event *shown;         /* the event handed out last, valid until the next call */
	struct pssh_event direct;    /* the same for an event that was never queued */
	uint64_t seq;
	bool lost;                   /* memory ran out, so events are missing */
};

void events_init(struct events *q);
void events_release(struct events *q);

/* Queues a copy of ev and its text; data must be NULL. Events get their numbers when they leave. */
void events_add(struct events *q, const struct pssh_event *ev);

/* Hands out ev before those that wait. The caller keeps its data alive until the next call. */
const struct pssh_event *events_direct(struct events *q, const struct pssh_event *ev);

/* Drops what was not handed out about the host, which is about to be freed. */
void events_forget_host(struct events *q, const struct pssh_host *h);

bool events_empty(const struct events *q);
const struct pssh_event *events_next(struct events *q); /* NULL: none */
void events_forget(struct events *q, const struct pssh_task *t);

#endif

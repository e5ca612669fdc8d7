/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/fleet/event_queue.h"

#include <stdlib.h>
#include <string.h>

struct event {
	struct pssh_event ev;
	struct list link;
	char text[];
};

void events_init(struct events *q)
{
	*q = (struct events){ 0 };
	list_init(&q->queue);
}

void events_release(struct events *q)
{
	while (!list_empty(&q->queue)) {
		struct event *e = list_entry(list_first(&q->queue), struct event, link);

		list_remove(&e->link);
		free(e);
	}
	free(q->shown);
	q->shown = NULL;
}

void events_add(struct events *q, const struct pssh_event *ev)
{
	size_t len = ev->text ? strlen(ev->text) : 0;
	struct event *e = malloc(sizeof *e + len + 1 + ev->len);

	if (!e) {
		q->lost = true;
		return;
	}
	e->ev = *ev;
	memcpy(e->text, ev->text ? ev->text : "", len);
	e->text[len] = '\0';
	e->ev.text = e->text;
	e->ev.data = ev->len ? memcpy(e->text + len + 1, ev->data, ev->len) : "";
	list_append(&q->queue, &e->link);
}

const struct pssh_event *events_direct(struct events *q, const struct pssh_event *ev)
{
	q->direct = *ev;
	q->direct.seq = ++q->seq;
	if (!q->direct.text)
		q->direct.text = "";
	if (!q->direct.data)
		q->direct.data = "";
	return &q->direct;
}

bool events_empty(const struct events *q)
{
	return list_empty(&q->queue);
}

const struct pssh_event *events_next(struct events *q)
{
	free(q->shown);
	q->shown = NULL;
	if (list_empty(&q->queue))
		return NULL;
	q->shown = list_entry(list_first(&q->queue), struct event, link);
	list_remove(&q->shown->link);
	q->shown->ev.seq = ++q->seq;
	return &q->shown->ev;
}

void events_forget(struct events *q, const struct pssh_task *t)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &q->queue) {
		struct event *e = list_entry(pos, struct event, link);

		if (e->ev.task == t) {
			list_remove(&e->link);
			free(e);
		}
	}
	if (q->shown && q->shown->ev.task == t) {
		free(q->shown);
		q->shown = NULL;
	}
}

void events_forget_host(struct events *q, const struct pssh_host *h)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &q->queue) {
		struct event *e = list_entry(pos, struct event, link);

		if (e->ev.host == h) {
			list_remove(&e->link);
			free(e);
		}
	}
}

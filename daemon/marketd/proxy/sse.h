/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events as a backend of OpenAI's API sends them, one payload after the other. */
#ifndef MARKETD_PROXY_SSE_H
#define MARKETD_PROXY_SSE_H

#include "base/buf.h"

enum { SSE_EVENT_MAX = 1 << 20 };

struct sse {
	struct buf in;   /* what no event was made of yet */
	struct buf data; /* the payload of the event */
	size_t at, scan; /* of `in`: the line that comes next, and where its end may be */
	int whole;       /* data is an event's that was handed out */
};

void sse_init(struct sse *s);
void sse_release(struct sse *s);
int sse_add(struct sse *s, const char *data, size_t len); /* 0, -ENOMEM, or -EFBIG: an event is too large */

/* 1: s->data has the payload of a whole event, on one line; 0: none is whole yet; -ENOMEM or -EFBIG. */
int sse_next(struct sse *s);

#endif

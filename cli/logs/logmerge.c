/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/logs/logmerge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct logmerge {
	struct logline *heap; /* the oldest first */
	size_t count, cap, bytes;
	int64_t *last;        /* of each source */
	uint64_t orders;
	bool overflowed;
};

int logmerge_new(size_t sources, struct logmerge **out)
{
	struct logmerge *m = calloc(1, sizeof *m);

	if (m && !(m->last = calloc(sources + 1, sizeof *m->last))) {
		free(m);
		m = NULL;
	}
	if (!m)
		return -ENOMEM;
	*out = m;
	return 0;
}

void logmerge_free(struct logmerge *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++)
		free(m->heap[i].text);
	free(m->heap);
	free(m->last);
	free(m);
}

static bool logmerge_before(const struct logline *a, const struct logline *b)
{
	return a->us != b->us ? a->us < b->us : a->order < b->order;
}

static void logmerge_swap(struct logline *a, struct logline *b)
{
	struct logline t = *a;

	*a = *b;
	*b = t;
}

static void logmerge_rise(struct logmerge *m, size_t i)
{
	for (; i && logmerge_before(&m->heap[i], &m->heap[(i - 1) / 2]); i = (i - 1) / 2)
		logmerge_swap(&m->heap[i], &m->heap[(i - 1) / 2]);
}

static void logmerge_sink(struct logmerge *m, size_t i)
{
	for (;;) {
		size_t least = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < m->count; child++)
			if (logmerge_before(&m->heap[child], &m->heap[least]))
				least = child;
		if (least == i)
			return;
		logmerge_swap(&m->heap[i], &m->heap[least]);
		i = least;
	}
}

int logmerge_add(struct logmerge *m, size_t source, int64_t us, int64_t now_us, int64_t now_ms, int priority,
	const char *text, size_t len)
{
	struct logline l = { .came_ms = now_ms,
		.order = m->orders,
		.source = source,
		.priority = priority,
		.len = len };

	if (m->count == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 256;
		struct logline *grown = realloc(m->heap, cap * sizeof *grown);

		if (!grown)
			return -ENOMEM;
		m->heap = grown;
		m->cap = cap;
	}
	l.text = malloc(len + 1);
	if (!l.text)
		return -ENOMEM;
	memcpy(l.text, text, len);
	l.text[len] = '\0';
	l.us = us ? us : m->last[source] ? m->last[source] : now_us;
	if (l.us < m->last[source]) /* a clock was set back: lines of one source keep their order */
		l.us = m->last[source];
	m->last[source] = l.us;
	m->orders++;
	m->bytes += len;
	m->heap[m->count++] = l;
	logmerge_rise(m, m->count - 1);
	return 0;
}

bool logmerge_next(struct logmerge *m, int64_t came_before, struct logline *out)
{
	bool full = m->bytes > LOGMERGE_BYTES;

	if (!m->count || (m->heap[0].came_ms > came_before && !full))
		return false;
	if (full && m->heap[0].came_ms > came_before)
		m->overflowed = true;
	*out = m->heap[0];
	m->bytes -= out->len;
	m->heap[0] = m->heap[--m->count];
	logmerge_sink(m, 0);
	return true;
}

void logmerge_counts(const struct logmerge *m, size_t *counts)
{
	for (size_t i = 0; i < m->count; i++)
		counts[m->heap[i].source]++;
}

size_t logmerge_count(const struct logmerge *m)
{
	return m->count;
}

bool logmerge_overflowed(const struct logmerge *m)
{
	return m->overflowed;
}

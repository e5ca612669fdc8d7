/* SPDX-License-Identifier: Apache-2.0 */
/* Consoles on the simulated disk: all of them is kept. See memstore.h. */
#include <inttypes.h>
#include <string.h>

#include "market/reason.h"
#include "memstore_own.h"

typedef int (*mem_log_fn)(void *arg, const struct mem_head *head, const char *bytes);

/* What is on the disk, then what is staged. A record of no line drops those before it. */
static int mem_log_walk(const struct memstore *m, mem_log_fn fn, void *arg)
{
	struct mem_head head;
	int rc = 0;

	for (size_t i = 0; i < m->rows[MEM_LOG].count && rc == 0; i++)
		rc = fn(arg, &m->rows[MEM_LOG].list[i].head, mem_bytes(m, &m->rows[MEM_LOG].list[i]));
	for (size_t at = 0; at < m->staged.len && rc == 0; at += sizeof head + head.len) {
		memcpy(&head, m->staged.data + at, sizeof head);
		if (head.kind == MEM_LOG)
			rc = fn(arg, &head, m->staged.data + at + sizeof head);
	}
	return rc;
}

static int mem_log_count(void *arg, const struct mem_head *head, const char *bytes)
{
	struct log_head *h = arg;

	(void)bytes;
	if (head->seq != h->instance)
		return 0;
	h->next = head->extra ? head->n + 1 : 1;
	h->bytes = head->extra ? h->bytes + LOG_LINE + (int64_t)head->extra - 1 : 0;
	return 0;
}

int mem_log_end(struct store *s, uint64_t instance, struct log_head *out, struct fail *f)
{
	struct log_head h = { .instance = instance, .first = 1, .next = 1 };

	(void)f;
	mem_log_walk((struct memstore *)s, mem_log_count, &h);
	if (h.next > 1)
		*out = h;
	return h.next > 1;
}

int mem_log_append(struct store *s, uint64_t instance, const struct log_line *lines, size_t count, struct fail *f)
{
	struct log_head h = { .next = 1 };

	mem_log_end(s, instance, &h, f);
	for (size_t i = 0; i < count; i++)
		if (lines[i].seq != h.next + i)
			return fail_set(f, REASON_INVALID, "the console goes on with line %" PRIu64, h.next);
	for (size_t i = 0; i < count; i++)
		mem_stage((struct memstore *)s,
			(struct mem_head){ .kind = MEM_LOG,
				.seq = instance,
				.n = lines[i].seq,
				.at = lines[i].at,
				.extra = lines[i].len + 1 },
			lines[i].data, lines[i].len, NULL, 0);
	return 0;
}

int mem_log_drop(struct store *s, uint64_t instance, struct fail *f)
{
	(void)f;
	mem_stage((struct memstore *)s, (struct mem_head){ .kind = MEM_LOG, .seq = instance }, "", 0, NULL, 0);
	return 0;
}

struct mem_logs { uint64_t instance; const struct log_filter *filter; store_log_fn fn; void *arg; size_t n; };

static int mem_log_line(void *arg, const struct mem_head *head, const char *bytes)
{
	struct mem_logs *w = arg;
	struct log_line l = { .seq = head->n, .at = head->at, .data = bytes, .len = head->extra - 1 };
	const struct log_filter *q = w->filter;

	if (head->seq != w->instance || !head->extra || head->n < q->after || (q->before && head->n > q->before) ||
		(q->after_at && head->at < q->after_at) || (q->before_at && head->at > q->before_at) ||
		(q->limit && w->n == q->limit))
		return 0;
	w->n++;
	return w->fn(w->arg, &l);
}

/* Upwards only: nobody here reads them otherwise. */
int mem_logs(struct store *s, uint64_t instance, const struct log_filter *filter, store_log_fn fn, void *arg,
	struct fail *f)
{
	struct mem_logs w = { .instance = instance, .filter = filter, .fn = fn, .arg = arg };

	(void)f;
	return mem_log_walk((struct memstore *)s, mem_log_line, &w);
}

/* None of a simulated month is old enough to be looked for. */
int mem_log_heads(struct store *s, uint64_t after, size_t limit, store_log_head_fn fn, void *arg, struct fail *f)
{
	(void)s, (void)after, (void)limit, (void)fn, (void)arg, (void)f;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "memstore_own.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/store/chain.h"
#include "marketd/store/journal.h"

void memdisk_init(struct memdisk *d)
{
	*d = (struct memdisk){ .tear = false };
	buf_init(&d->log, DISK_MOST);
}

void memdisk_release(struct memdisk *d)
{
	buf_release(&d->log);
}

static void *mem_more(void *old, size_t n, size_t size)
{
	void *p = realloc(old, n * size);

	if (!p)
		abort();
	return p;
}

static uint64_t mem_sum(const char *bytes, size_t len)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)bytes[i]) * UINT64_C(1099511628211);
	return h;
}

const void *mem_bytes(const struct memstore *m, const struct mem_row *row)
{
	return m->disk->log.data + row->at;
}

/* ---- What is on the disk ---------------------------------------------------------------- */

static bool mem_same(const struct memstore *m, const struct mem_row *a, const struct mem_row *b)
{
	const struct mem_answer *x = mem_bytes(m, a), *y = mem_bytes(m, b);

	return x->account == y->account && strcmp(x->key, y->key) == 0;
}

static size_t *mem_place(struct mem_rows *rows, uint64_t id)
{
	size_t cap = rows->place_cap;

	while (id >= cap)
		cap = cap ? 2 * cap : 1024;
	if (cap > rows->place_cap) {
		rows->place = mem_more(rows->place, cap, sizeof *rows->place);
		memset(rows->place + rows->place_cap, 0, (cap - rows->place_cap) * sizeof *rows->place);
		rows->place_cap = cap;
	}
	return &rows->place[id];
}

/* The row that this one comes in the place of; NULL. */
static struct mem_row *mem_before(struct memstore *m, const struct mem_row *row)
{
	struct mem_rows *rows = &m->rows[row->head.kind];

	if (row->head.kind == MEM_ORDER || row->head.kind == MEM_LEASE) {
		size_t *place = mem_place(rows, row->head.n), at = *place;

		*place = at ? at : rows->count + 1;
		return at ? &rows->list[at - 1] : NULL;
	}
	for (size_t i = row->head.kind == MEM_ANSWER ? rows->count : 0; i-- > 0; )
		if (mem_same(m, &rows->list[i], row))
			return &rows->list[i];
	return NULL;
}

static void mem_row(struct memstore *m, const struct mem_row *row)
{
	struct mem_rows *rows = &m->rows[row->head.kind];
	struct mem_row *before = mem_before(m, row);

	if (before) {
		*before = *row;
		return;
	}
	if (rows->count == rows->cap) {
		rows->cap = rows->cap ? 2 * rows->cap : 64;
		rows->list = mem_more(rows->list, rows->cap, sizeof *rows->list);
	}
	rows->list[rows->count++] = *row;
	if (row->head.kind == MEM_EVENT)
		m->seq = row->head.seq;
	if (row->head.kind == MEM_EPOCH)
		m->epoch = row->head.extra;
}

/* Reads the whole batches that came since; what is no whole batch is cut off. */
static void mem_read(struct memstore *m)
{
	struct buf *log = &m->disk->log;
	struct mem_batch batch;
	struct mem_row row;

	while (log->len - m->seen >= sizeof batch) {
		size_t at = m->seen + sizeof batch;

		memcpy(&batch, log->data + m->seen, sizeof batch);
		if (batch.len > log->len - at || mem_sum(log->data + at, batch.len) != batch.sum)
			break;
		m->seen = at + batch.len;
		while (at < m->seen) {
			memcpy(&row.head, log->data + at, sizeof row.head);
			row.at = at + sizeof row.head;
			at = row.at + row.head.len;
			mem_row(m, &row);
		}
	}
	buf_cut(log, m->seen);
}

/* ---- Writing ---------------------------------------------------------------------------- */

void mem_stage(struct memstore *m, struct mem_head head, const void *bytes, size_t len, const void *more,
	size_t more_len)
{
	static const char pad[16];

	head.len = (len + more_len + 15) / 16 * 16; /* so that structures are where they may be */
	if (buf_add(&m->staged, &head, sizeof head) != 0 || buf_add(&m->staged, bytes, len) != 0 ||
		(more_len && buf_add(&m->staged, more, more_len) != 0) ||
		buf_add(&m->staged, pad, head.len - len - more_len) != 0)
		abort();
}

static int mem_append(struct store *s, uint64_t seq, const struct event *ev, const struct effects *did, struct fail *f)
{
	struct memstore *m = (struct memstore *)s;
	struct mem_head head = { .kind = MEM_EVENT, .seq = seq, .at = ev->at };
	struct buf bytes;

	if (seq != m->staged_seq + 1)
		return fail_set(f, REASON_INTERNAL, "event %" PRIu64 " comes after %" PRIu64, seq, m->staged_seq);
	m->staged_seq = seq;
	buf_init(&bytes, 1 << 20);
	if (journal_put(&bytes, ev) != 0)
		abort();
	head.extra = bytes.len;
	mem_stage(m, head, bytes.data, bytes.len, NULL, 0);
	buf_release(&bytes);
	for (size_t i = 0; i < did->count; i++) {
		const struct effect *e = &did->list[i];

		head.n = i;
		head.extra = 0;
		if (e->kind == EFFECT_ORDER) {
			head = (struct mem_head){ .kind = MEM_ORDER,
				.seq = seq,
				.at = ev->at,
				.n = e->u.order.id,
				.extra = e->u.order.rest_count };
			mem_stage(m, head, &e->u.order, sizeof e->u.order, e->u.order.rest,
				e->u.order.rest_count * sizeof(struct span));
		} else if (e->kind == EFFECT_LEASE) {
			head = (struct mem_head){ .kind = MEM_LEASE,
				.seq = seq,
				.at = ev->at,
				.n = e->u.lease.lease.id,
				.extra = e->u.lease.over };
			mem_stage(m, head, &e->u.lease.lease, sizeof e->u.lease.lease, NULL, 0);
		} else if (e->kind == EFFECT_POSTING) {
			head.kind = MEM_POSTING;
			mem_stage(m, head, &e->u.posting, sizeof e->u.posting, NULL, 0);
		} else if (e->kind == EFFECT_NOTICE) {
			head.kind = MEM_NOTICE;
			mem_stage(m, head, &e->u.notice, sizeof e->u.notice, NULL, 0);
		}
	}
	return 0;
}

static int mem_keep_answer(struct store *s, const struct answer *a, struct fail *f)
{
	struct mem_answer row = { .account = a->account, .at = a->at, .status = a->status };
	struct mem_head head = { .kind = MEM_ANSWER, .at = a->at, .extra = a->body_len };

	if (strlen(a->key) >= KEY_ROOM)
		return fail_set(f, REASON_INVALID, "the key '%.20s…' is too long", a->key);
	memcpy(row.key, a->key, strlen(a->key));
	memcpy(row.digest, a->digest, sizeof row.digest);
	mem_stage((struct memstore *)s, head, &row, sizeof row, a->body, a->body_len);
	return 0;
}

static int mem_snapshot(struct store *s, uint64_t seq, const void *bytes, size_t len, uint64_t hash, struct fail *f)
{
	struct mem_head head = { .kind = MEM_SNAPSHOT, .seq = seq, .extra = hash, .n = len };

	(void)f;
	mem_stage((struct memstore *)s, head, bytes, len, NULL, 0);
	return 0;
}

/* None of a simulated month is old enough. */
static int mem_forget_answers(struct store *s, int64_t before, size_t max, struct fail *f)
{
	(void)s;
	(void)before;
	(void)max;
	(void)f;
	return 0;
}

static void mem_rollback(struct store *s)
{
	struct memstore *m = (struct memstore *)s;

	buf_clear(&m->staged);
	m->staged_seq = m->seq;
}

/* The power fails while a batch is written: its end is not there yet, or it is and something before it is not. */
static void mem_tear(struct memdisk *d, size_t start)
{
	size_t at = start + d->torn % (d->log.len - start), n = d->log.len - at;

	d->tear = false;
	if (!d->hole)
		buf_cut(&d->log, at);
	else
		memset(d->log.data + at, 0x5a, n < 512 ? n : 512);
}

/* Appends the staged batch to the disk, or as much of it as is written before the power fails. */
static int mem_write(struct memstore *m, struct fail *f)
{
	struct memdisk *d = m->disk;
	struct mem_batch batch = { m->staged.len, mem_sum(m->staged.data, m->staged.len) };
	size_t before = d->log.len;

	if (buf_add(&d->log, &batch, sizeof batch) != 0 || buf_add(&d->log, m->staged.data, m->staged.len) != 0)
		abort();
	if (d->tear) {
		mem_tear(d, before);
		mem_rollback(&m->base);
		return fail_set(f, REASON_UNAVAILABLE, "the power failed");
	}
	buf_clear(&m->staged);
	mem_read(m);
	return 0;
}

static int mem_commit(struct store *s, struct fail *f)
{
	struct memstore *m = (struct memstore *)s;

	if (m->staged.len == 0)
		return 0;
	if (m->seen != m->disk->log.len)
		mem_read(m);
	if (m->epoch != m->own_epoch || m->own_epoch == 0) {
		mem_rollback(s);
		return fail_set(f, REASON_WRONG_STATE, "another market has taken over");
	}
	return mem_write(m, f);
}

static int mem_fence(struct store *s, struct fail *f)
{
	struct memstore *m = (struct memstore *)s;
	struct mem_head head = { .kind = MEM_EPOCH };
	int rc;

	mem_read(m);
	mem_rollback(s);
	if (m->own_epoch && m->own_epoch != m->epoch)
		return fail_set(f, REASON_WRONG_STATE, "another market has taken over");
	head.extra = m->epoch + 1;
	mem_stage(m, head, "", 0, NULL, 0);
	rc = mem_write(m, f);
	if (rc == 0)
		m->own_epoch = m->epoch;
	m->staged_seq = m->seq;
	return rc;
}

/* ---- Reading ---------------------------------------------------------------------------- */

static uint64_t mem_last_seq(struct store *s)
{
	return ((struct memstore *)s)->seq;
}

static int mem_load_snapshot(struct store *s, struct buf *out, uint64_t *seq, uint64_t *hash, struct fail *f)
{
	struct memstore *m = (struct memstore *)s;
	const struct mem_rows *rows = &m->rows[MEM_SNAPSHOT];
	const struct mem_row *row = rows->count ? &rows->list[rows->count - 1] : NULL;

	*seq = 0;
	if (!row)
		return 0;
	*seq = row->head.seq;
	*hash = row->head.extra;
	return buf_add(out, mem_bytes(m, row), row->head.n) == 0 ? 0
								 : fail_set(f, REASON_UNAVAILABLE, "no memory is left");
}

static int mem_events(struct store *s, uint64_t after, store_event_fn fn, void *arg, struct fail *f)
{
	struct memstore *m = (struct memstore *)s;
	int rc = 0;

	mem_read(m);
	m->staged_seq = m->staged.len ? m->staged_seq : m->seq;
	for (size_t i = 0; i < m->rows[MEM_EVENT].count && rc == 0; i++) {
		const struct mem_row *row = &m->rows[MEM_EVENT].list[i];
		struct event ev;

		if (row->head.seq <= after)
			continue;
		if (journal_get(mem_bytes(m, row), row->head.extra, &ev) != 0)
			return fail_set(f, REASON_INTERNAL, "event %" PRIu64 " cannot be read", row->head.seq);
		rc = fn(arg, row->head.seq, &ev);
	}
	return rc;
}

static int mem_find_answer(struct store *s, uint64_t account, const char *key, struct answer *out, struct buf *body,
	struct fail *f)
{
	struct memstore *m = (struct memstore *)s;

	for (size_t i = 0; i < m->rows[MEM_ANSWER].count; i++) {
		const struct mem_row *row = &m->rows[MEM_ANSWER].list[i];
		const struct mem_answer *a = mem_bytes(m, row);

		if (a->account != account || strcmp(a->key, key) != 0)
			continue;
		*out = (struct answer){ .account = account,
			.key = key,
			.at = a->at,
			.status = a->status,
			.body_len = row->head.extra };
		memcpy(out->digest, a->digest, sizeof out->digest);
		return buf_add(body, a + 1, row->head.extra) == 0
			? 1
			: fail_set(f, REASON_UNAVAILABLE, "no memory is left");
	}
	return 0;
}

static bool mem_wanted(const struct order *o, const struct order_filter *w)
{
	bool listed = w->id_count == 0;

	for (size_t i = 0; i < w->id_count; i++)
		listed = listed || w->ids[i] == o->id;
	return listed && (!w->account || o->account == w->account) && (!w->pool || o->pool == w->pool) &&
		(!w->procurement || o->procurement == w->procurement) && !(w->no_procurements && o->procurement) &&
		(w->side < 0 || (int)o->side == w->side) && (!w->statuses || (w->statuses & (1u << o->status))) &&
		(!w->created_after || o->created_at >= w->created_after) &&
		(!w->created_before || o->created_at <= w->created_before);
}

static bool mem_in_page(const struct store_page *p, uint64_t id)
{
	return (!p->after || id > p->after) && (!p->before || id < p->before);
}

/* Rows of orders and leases are in the order in which their ids were made. */
static const struct mem_row *mem_at(const struct mem_rows *rows, const struct store_page *p, size_t i)
{
	return &rows->list[p->descending ? rows->count - 1 - i : i];
}

static int mem_orders(struct store *s, const struct order_filter *w, const struct store_page *p, store_order_fn fn,
	void *arg, struct fail *f)
{
	struct memstore *m = (struct memstore *)s;
	const struct mem_rows *rows = &m->rows[MEM_ORDER];
	size_t n = 0;
	int rc = 0;

	if (w->by_start)
		return fail_set(f, REASON_NOT_IMPLEMENTED, "this store does not sort");
	for (size_t i = 0; i < rows->count && n < p->limit && rc == 0; i++) {
		const struct mem_row *row = mem_at(rows, p, i);
		struct order o;

		memcpy(&o, mem_bytes(m, row), sizeof o);
		o.rest = (const struct span *)((const char *)mem_bytes(m, row) + sizeof o);
		if (!mem_in_page(p, o.id) || !mem_wanted(&o, w))
			continue;
		n++;
		rc = fn(arg, &o);
	}
	return rc;
}

static int mem_leases(struct store *s, uint64_t order, uint64_t sku, int64_t filled_since, const struct store_page *p,
	store_lease_fn fn, void *arg, struct fail *f)
{
	struct memstore *m = (struct memstore *)s;
	const struct mem_rows *rows = &m->rows[MEM_LEASE];
	size_t n = 0;
	int rc = 0;

	(void)f;
	for (size_t i = 0; i < rows->count && n < p->limit && rc == 0; i++) {
		const struct mem_row *row = mem_at(rows, p, i);
		const struct lease *l = mem_bytes(m, row);

		if (!mem_in_page(p, l->id) || (order && l->order != order) || (sku && l->sku != sku) ||
			l->filled_at < filled_since)
			continue;
		n++;
		rc = fn(arg, l, row->head.extra != 0);
	}
	return rc;
}

static int mem_postings(struct store *s, uint64_t account, uint64_t after_seq, uint64_t after_n, size_t limit,
	store_posting_fn fn, void *arg, struct fail *f)
{
	struct memstore *m = (struct memstore *)s;
	uint8_t chain[CHAIN_BYTES] = { 0 };
	size_t n = 0;
	int rc = 0;

	(void)f;
	for (size_t i = 0; i < m->rows[MEM_POSTING].count && n < limit && rc == 0; i++) {
		const struct mem_row *row = &m->rows[MEM_POSTING].list[i];
		struct posting_row out = { .seq = row->head.seq, .n = row->head.n, .at = row->head.at };

		memcpy(&out.posting, mem_bytes(m, row), sizeof out.posting);
		if (account != EVERYBODY && out.posting.account != account)
			continue;
		if (account != EVERYBODY) /* nobody asks this store for the chains of all */
			chain_next(chain, &out);
		memcpy(out.chain, chain, sizeof chain);
		if (out.seq < after_seq || (out.seq == after_seq && out.n <= after_n))
			continue;
		n++;
		rc = fn(arg, &out);
	}
	return rc;
}

static int mem_notices(struct store *s, uint64_t account, uint64_t after_seq, uint64_t after_n, size_t limit,
	store_notice_fn fn, void *arg, struct fail *f)
{
	struct memstore *m = (struct memstore *)s;
	size_t n = 0;
	int rc = 0;

	(void)f;
	for (size_t i = 0; i < m->rows[MEM_NOTICE].count && n < limit && rc == 0; i++) {
		const struct mem_row *row = &m->rows[MEM_NOTICE].list[i];
		struct notice_row out = { .seq = row->head.seq, .n = row->head.n, .at = row->head.at };

		memcpy(&out.notice, mem_bytes(m, row), sizeof out.notice);
		if ((account && out.notice.account != account) || out.seq < after_seq ||
			(out.seq == after_seq && out.n <= after_n))
			continue;
		n++;
		rc = fn(arg, &out);
	}
	return rc;
}

/* ---- Care ------------------------------------------------------------------------------- */

static int mem_check(struct store *s, struct fail *f)
{
	const struct mem_rows *rows = &((struct memstore *)s)->rows[MEM_EVENT];

	for (size_t i = 0; i < rows->count; i++)
		if (rows->list[i].head.seq != i + 1)
			return fail_set(f, REASON_INTERNAL, "event %zu is missing", i + 1);
	return 0;
}

static int mem_backup(struct store *s, const char *path, struct fail *f)
{
	(void)s;
	return fail_set(f, REASON_NOT_IMPLEMENTED, "no copy at '%s': this store has no file", path);
}

static void mem_close(struct store *s)
{
	struct memstore *m = (struct memstore *)s;

	for (int i = 0; i < MEM_KINDS; i++) {
		free(m->rows[i].list);
		free(m->rows[i].place);
	}
	buf_release(&m->staged);
	free(m);
}

int memstore_open(struct memdisk *d, struct store **out, struct fail *f)
{
	static const struct store_calls calls = { .name = "memory",
		.append = mem_append,
		.keep_answer = mem_keep_answer,
		.snapshot = mem_snapshot,
		.forget_answers = mem_forget_answers,
		.log_append = mem_log_append,
		.log_drop = mem_log_drop,
		.log_end = mem_log_end,
		.logs = mem_logs,
		.log_heads = mem_log_heads,
		.commit = mem_commit,
		.rollback = mem_rollback,
		.last_seq = mem_last_seq,
		.load_snapshot = mem_load_snapshot,
		.events = mem_events,
		.find_answer = mem_find_answer,
		.orders = mem_orders,
		.leases = mem_leases,
		.postings = mem_postings,
		.notices = mem_notices,
		.check = mem_check,
		.backup = mem_backup,
		.fence = mem_fence,
		.close = mem_close };
	struct memstore *m = mem_more(NULL, 1, sizeof *m);

	(void)f;
	*m = (struct memstore){ .base.calls = &calls, .disk = d };
	buf_init(&m->staged, DISK_MOST);
	mem_read(m);
	m->staged_seq = m->seq;
	*out = &m->base;
	return 0;
}

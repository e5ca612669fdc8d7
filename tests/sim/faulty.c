/* SPDX-License-Identifier: Apache-2.0 */
#include "faulty.h"

#include <stdlib.h>

#include "market/reason.h"

static struct faulty *own(struct store *s)
{
	return (struct faulty *)s;
}

/* Whether this call fails, at so many of a thousand. */
static bool fails(struct faulty *d, int rate, struct fail *f)
{
	if (!d->dead && rng_below(d->rng, 1000) >= rate)
		return false;
	d->failed++;
	fail_set(f, REASON_UNAVAILABLE, d->dead ? "the process is dead" : "the disk failed, as it was told to");
	return true;
}

static int f_append(struct store *s, uint64_t seq, const struct event *ev, const struct effects *did, struct fail *f)
{
	struct faulty *d = own(s);

	return fails(d, d->faults.write, f) ? REASON_UNAVAILABLE : d->inner->calls->append(d->inner, seq, ev, did, f);
}

static int f_keep_answer(struct store *s, const struct answer *a, struct fail *f)
{
	struct faulty *d = own(s);

	return fails(d, d->faults.write, f) ? REASON_UNAVAILABLE : d->inner->calls->keep_answer(d->inner, a, f);
}

static int f_snapshot(struct store *s, uint64_t seq, const void *bytes, size_t len, uint64_t hash, struct fail *f)
{
	struct faulty *d = own(s);

	return fails(d, d->faults.write, f) ? REASON_UNAVAILABLE
					    : d->inner->calls->snapshot(d->inner, seq, bytes, len, hash, f);
}

static int f_forget_answers(struct store *s, int64_t before, size_t max, struct fail *f)
{
	struct faulty *d = own(s);

	return fails(d, d->faults.write, f) ? REASON_UNAVAILABLE
					    : d->inner->calls->forget_answers(d->inner, before, max, f);
}

static void f_rollback(struct store *s)
{
	struct faulty *d = own(s);

	if (!d->dead)
		d->inner->calls->rollback(d->inner);
}

/* The process dies: before anything is written, half-way, or after all was. Nobody hears which. */
static int die(struct faulty *d, struct fail *f)
{
	struct fail why = { .code = 0 };

	switch (rng_below(d->rng, d->disk ? 3 : 2)) {
	case 0:
		break;
	case 1:
		d->unsure = true;
		d->inner->calls->commit(d->inner, &why);
		break;
	default:
		d->disk->tear = true;
		d->disk->hole = rng_percent(d->rng, 50);
		d->disk->torn = (size_t)rng_below(d->rng, 100000);
		d->inner->calls->commit(d->inner, &why);
		d->disk->tear = false;
		break;
	}
	d->dead = true;
	d->died++;
	return fail_set(f, REASON_UNAVAILABLE, "the process died");
}

static int f_commit(struct store *s, struct fail *f)
{
	struct faulty *d = own(s);
	int rc;

	if (d->state)
		d->asked = d->state(d->arg);
	if (!d->dead && rng_below(d->rng, 1000) < d->faults.die)
		return die(d, f);
	if (!fails(d, d->faults.commit, f)) {
		rc = d->inner->calls->commit(d->inner, f);
		d->heard = rc == 0;
		d->kept = d->asked;
		return rc;
	}
	if (!d->dead)
		d->inner->calls->rollback(d->inner);
	return REASON_UNAVAILABLE;
}

static uint64_t f_last_seq(struct store *s)
{
	return own(s)->inner->calls->last_seq(own(s)->inner);
}

static int f_load_snapshot(struct store *s, struct buf *out, uint64_t *seq, uint64_t *hash, struct fail *f)
{
	struct faulty *d = own(s);

	return fails(d, d->faults.read, f) ? REASON_UNAVAILABLE
					   : d->inner->calls->load_snapshot(d->inner, out, seq, hash, f);
}

static int f_events(struct store *s, uint64_t after, store_event_fn fn, void *arg, struct fail *f)
{
	struct faulty *d = own(s);

	return fails(d, d->faults.read, f) ? REASON_UNAVAILABLE : d->inner->calls->events(d->inner, after, fn, arg, f);
}

static int f_find_answer(struct store *s, uint64_t account, const char *key, struct answer *out, struct buf *body,
	struct fail *f)
{
	struct faulty *d = own(s);

	return fails(d, d->faults.read, f) ? REASON_UNAVAILABLE
					   : d->inner->calls->find_answer(d->inner, account, key, out, body, f);
}

static int f_orders(struct store *s, const struct order_filter *w, const struct store_page *p, store_order_fn fn,
	void *arg, struct fail *f)
{
	return own(s)->inner->calls->orders(own(s)->inner, w, p, fn, arg, f);
}

static int f_leases(struct store *s, uint64_t order, uint64_t sku, int64_t since, const struct store_page *p,
	store_lease_fn fn, void *arg, struct fail *f)
{
	return own(s)->inner->calls->leases(own(s)->inner, order, sku, since, p, fn, arg, f);
}

static int f_postings(struct store *s, uint64_t account, uint64_t after_seq, uint64_t after_n, size_t limit,
	store_posting_fn fn, void *arg, struct fail *f)
{
	return own(s)->inner->calls->postings(own(s)->inner, account, after_seq, after_n, limit, fn, arg, f);
}

static int f_notices(struct store *s, uint64_t account, uint64_t after_seq, uint64_t after_n, size_t limit,
	store_notice_fn fn, void *arg, struct fail *f)
{
	return own(s)->inner->calls->notices(own(s)->inner, account, after_seq, after_n, limit, fn, arg, f);
}

static int f_log_append(struct store *s, uint64_t instance, const struct log_line *lines, size_t count, struct fail *f)
{
	struct faulty *d = own(s);

	return fails(d, d->faults.write, f) ? REASON_UNAVAILABLE
					    : d->inner->calls->log_append(d->inner, instance, lines, count, f);
}

static int f_log_drop(struct store *s, uint64_t instance, struct fail *f)
{
	struct faulty *d = own(s);

	return fails(d, d->faults.write, f) ? REASON_UNAVAILABLE : d->inner->calls->log_drop(d->inner, instance, f);
}

static int f_log_end(struct store *s, uint64_t instance, struct log_head *out, struct fail *f)
{
	return own(s)->inner->calls->log_end(own(s)->inner, instance, out, f);
}

static int f_logs(struct store *s, uint64_t instance, const struct log_filter *filter, store_log_fn fn, void *arg,
	struct fail *f)
{
	return own(s)->inner->calls->logs(own(s)->inner, instance, filter, fn, arg, f);
}

static int f_log_heads(struct store *s, uint64_t after, size_t limit, store_log_head_fn fn, void *arg, struct fail *f)
{
	return own(s)->inner->calls->log_heads(own(s)->inner, after, limit, fn, arg, f);
}

static int f_check(struct store *s, struct fail *f)
{
	return own(s)->inner->calls->check(own(s)->inner, f);
}

static int f_backup(struct store *s, const char *path, struct fail *f)
{
	return own(s)->inner->calls->backup(own(s)->inner, path, f);
}

static int f_fence(struct store *s, struct fail *f)
{
	struct faulty *d = own(s);

	return fails(d, d->faults.write, f) ? REASON_UNAVAILABLE : d->inner->calls->fence(d->inner, f);
}

/* What is staged and not committed goes with it. */
static void f_close(struct store *s)
{
	own(s)->inner->calls->close(own(s)->inner);
	free(s);
}

struct faulty *faulty_new(struct store *inner, struct memdisk *disk, struct rng *rng)
{
	static const struct store_calls calls = { .name = "faulty",
		.append = f_append,
		.keep_answer = f_keep_answer,
		.snapshot = f_snapshot,
		.forget_answers = f_forget_answers,
		.commit = f_commit,
		.rollback = f_rollback,
		.last_seq = f_last_seq,
		.load_snapshot = f_load_snapshot,
		.events = f_events,
		.find_answer = f_find_answer,
		.orders = f_orders,
		.leases = f_leases,
		.postings = f_postings,
		.notices = f_notices,
		.check = f_check,
		.log_append = f_log_append,
		.log_drop = f_log_drop,
		.log_end = f_log_end,
		.logs = f_logs,
		.log_heads = f_log_heads,
		.backup = f_backup,
		.fence = f_fence,
		.close = f_close };
	struct faulty *d = calloc(1, sizeof *d);

	if (!d)
		abort();
	d->base.calls = &calls;
	d->inner = inner;
	d->disk = disk;
	d->rng = rng;
	return d;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every store must do, through its calls alone: one list of openers at the end, and a store
 * that is added there has to pass all of it.
 */
#include "marketd/store/chain.h"

#include "market/reason.h"

#include "storelists.h"

/* ---- Events ------------------------------------------------------------------------------ */

struct replayed { struct make m; uint64_t count; bool good; uint64_t stop_at; };

/* Each event must be the one that is made at that place. */
static int see_event(void *arg, uint64_t seq, const struct event *ev)
{
	struct replayed *r = arg;
	const struct event *want = &r->m.ev;

	make_next(&r->m);
	r->good = r->good && seq == r->m.seq && ev->kind == want->kind && ev->at == want->at &&
		ev->account == want->account && ev->token == want->token && ev->u.order.pool == want->u.order.pool &&
		ev->u.order.start == want->u.order.start && ev->u.order.end == want->u.order.end &&
		ev->u.order.price == want->u.order.price;
	r->count++;
	return seq == r->stop_at ? 77 : 0;
}

static uint64_t events_in(struct store *s, bool *good)
{
	struct replayed r = { .good = true };

	make_begin(&r.m);
	*good = CALL(s, events, 0, see_event, &r, &f) == 0 && r.good;
	make_end(&r.m);
	return r.count;
}

static void test_events(void)
{
	const char *place = new_place();
	struct store *s = open_at(place);
	struct replayed r = { .good = true, .stop_at = 3 };
	struct make m;
	bool good;

	make_begin(&m);
	is_int(s->calls->last_seq(s), 0, "%s: a new one has no events", kind->name);
	make_next(&m);
	is_int(CALL(s, append, 1, &m.ev, &m.did, &f), REASON_UNAVAILABLE, "who has not taken the lease cannot write");
	s->calls->rollback(s);
	is_int(CALL(s, fence, &f), 0, "the lease is taken");
	is_int(CALL(s, append, 1, &m.ev, &m.did, &f), 0, "and then it can");
	is_int(s->calls->last_seq(s), 0, "what is only staged is not the last event");
	is_int(CALL(s, commit, &f), 0, "it is committed");
	is_int(s->calls->last_seq(s), 1, "and then it is");
	is_int(CALL(s, commit, &f), 0, "a commit of nothing is good");
	ok(make_append(&m, s, 9, &f) == 0 && CALL(s, commit, &f) == 0, "nine more");
	ok(make_append(&m, s, 5, &f) == 0, "five more are staged");
	s->calls->rollback(s);
	is_int(s->calls->last_seq(s), 10, "and taken back");
	ok(events_in(s, &good) == 10 && good, "the ten are there, as they were made");
	s->calls->close(s);

	s = writer_at(place);
	ok(s->calls->last_seq(s) == 10 && events_in(s, &good) == 10 && good, "and when it is opened again");
	make_next(&m);
	ok(CALL(s, append, 12, &m.ev, &m.did, &f) != 0, "an event that leaves one out is refused");
	ok(CALL(s, commit, &f) == REASON_UNAVAILABLE && s->calls->last_seq(s) == 10,
		"and nothing of that turn is committed");
	make_begin(&r.m);
	is_int(CALL(s, events, 0, see_event, &r, &f), 77, "who reads can stop it, and its word comes back");
	is_int(r.count, 3, "at that event");
	make_end(&r.m);
	make_end(&m);
	s->calls->close(s);
}

/* ---- Leases, postings, notices ----------------------------------------------------------- */

struct count {
	uint64_t rows, last, last_n, want_account;
	int64_t amount;
	bool good, down;
	uint8_t chain[CHAIN_BYTES];
	int over;
};

static int see_lease(void *arg, const struct lease *l, bool over)
{
	struct count *c = arg;

	c->good = c->good && (!c->rows || (c->down ? l->id < c->last : l->id > c->last)) && l->price == 249000 &&
		l->settled == l->start && l->filled_at >= c->amount;
	c->last = l->id;
	c->over += over;
	c->rows++;
	return 0;
}

static uint64_t leases(struct store *s, uint64_t order, uint64_t sku, int64_t since, struct store_page page,
	struct count *c)
{
	*c = (struct count){ .good = true, .down = page.descending, .amount = since };
	return CALL(s, leases, order, sku, since, &page, see_lease, c, &f) == 0 && c->good ? c->rows : UINT64_MAX;
}

static void test_leases(struct store *s, struct make *m)
{
	struct store_page up = { 0 }, down = { .descending = true, .limit = 10 };
	struct effect *e;
	struct count c;
	struct lease l;
	uint64_t order, lease;

	is_int(leases(s, 0, 0, 0, up, &c), 299, "every lease is there");
	is_int(leases(s, 0, 301, 0, up, &c), 299, "of the SKU");
	is_int(leases(s, 0, 302, 0, up, &c), 0, "none of another");
	is_int(leases(s, 0, 0, 0, down, &c), 10, "a page of ten from the newest");
	lease = c.last;
	down.before = lease;
	ok(leases(s, 0, 301, 0, down, &c) == 10 && c.last < lease, "and the next");
	is_int(leases(s, 0, 301, m->at - 20, up, &c),
		leases(s, 0, 0, m->at - 20, (struct store_page){ .descending = true }, &c),
		"since a time, up and down the same");
	ok(c.rows > 5 && c.rows < 100, "and not all (%d)", (int)c.rows);

	l = m->did.list[5].u.lease.lease;
	order = l.order;
	is_int(leases(s, order, 0, 0, up, &c), 1, "of one order");
	is_int(leases(s, order, 302, 0, up, &c), 0, "of one order, of another SKU");
	is_int(leases(s, m->sell.id, 0, 0, up, &c), 299, "what a sell order sold");
	is_int(leases(s, m->sell.id, 0, 0, (struct store_page){ .descending = true, .limit = 5 }, &c), 5,
		"the newest five of it");
	is_int(leases(s, 5, 0, 0, up, &c), 0, "of an order that is not there");
	l.end -= 5;
	l.paid_end = l.end - 1;
	m->seq++;
	m->did.count = 0;
	e = make_effect(m, EFFECT_LEASE);
	e->u.lease.lease = l;
	e->u.lease.over = true;
	m->ev = (struct event){ .kind = EVENT_TICK, .at = m->at, .u.tick.minute = 5 };
	is_int(CALL(s, append, m->seq, &m->ev, &m->did, &f), 0, "it ends early");
	ok(leases(s, order, 0, 0, up, &c) == 1 && c.over == 1, "and its row says so");
	is_int(CALL(s, commit, &f), 0, "committed");
}

static int see_posting(void *arg, const struct posting_row *row)
{
	struct count *c = arg;

	chain_next(c->chain, row);
	c->good = c->good &&
		(c->want_account == EVERYBODY ||
			(row->posting.account == c->want_account && memcmp(c->chain, row->chain, CHAIN_BYTES) == 0)) &&
		(row->seq > c->last || (row->seq == c->last && row->n > c->last_n));
	c->last = row->seq;
	c->last_n = row->n;
	c->amount += row->posting.amount;
	c->rows++;
	return 0;
}

static void test_postings(struct store *s, struct make *m)
{
	struct count all = { .good = true, .want_account = EVERYBODY };
	uint64_t rows = 0;
	bool good = true;

	for (uint64_t account = 1; account < MAKE_ACCOUNTS; account++) {
		struct count c = { .good = true, .want_account = account };
		uint64_t before;

		do {
			before = c.rows;
			good = good && CALL(s, postings, account, c.last, c.last_n, 11, see_posting, &c, &f) == 0;
		} while (good && c.rows - before == 11);
		good = good && c.good && c.amount == m->available[account] + m->escrow[account] + m->capacity[account] +
			(account == 1 ? m->issued : 0);
		rows += c.rows;
	}
	ok(good && rows == 2 + 4 * 299, "statements in pages of 11: every posting once, chains and sums right (%d)",
		(int)rows);
	for (uint64_t before = UINT64_MAX; before != all.rows;) {
		before = all.rows;
		good = good && CALL(s, postings, EVERYBODY, all.last, all.last_n, 11, see_posting, &all, &f) == 0;
	}
	ok(good && all.good && all.rows == rows, "everybody's at once, in the order of the ledger (%d)", (int)all.rows);
}

static int see_notice(void *arg, const struct notice_row *row)
{
	struct count *c = arg;

	c->good = c->good && (!c->want_account || row->notice.account == c->want_account) &&
		(row->seq > c->last || (row->seq == c->last && row->n > c->last_n)) && row->at > 0;
	c->last = row->seq;
	c->last_n = row->n;
	c->rows++;
	return 0;
}

static uint64_t notices(struct store *s, uint64_t account, size_t limit)
{
	struct count c = { .good = true, .want_account = account };
	uint64_t before;

	do {
		before = c.rows;
		if (CALL(s, notices, account, c.last, c.last_n, limit, see_notice, &c, &f) || !c.good)
			return UINT64_MAX;
	} while (limit && c.rows - before == limit);
	return c.rows;
}

static void test_notices(struct store *s)
{
	uint64_t sum = 0;

	is_int(notices(s, 0, 13), 4 * 299, "everybody's notices in pages of 13");
	for (uint64_t account = 1; account < MAKE_ACCOUNTS; account++)
		sum += notices(s, account, 5);
	is_int(sum, 4 * 299, "each account's in pages of 5 are as many");
	is_int(notices(s, 1, 0), 299, "the seller's, without pages");
	is_int(notices(s, 99, 5), 0, "a stranger's");
}

static void test_rows(void)
{
	const char *place = new_place();
	struct store *s = writer_at(place);
	struct make m;

	make_begin(&m);
	for (int i = 0; i < 30; i++)
		if (make_append(&m, s, 10, &f) || CALL(s, commit, &f))
			diag("%s", f.text);
	s->calls->close(s);
	s = writer_at(place);
	test_postings(s, &m);
	test_notices(s);
	test_leases(s, &m);
	ok(make_append(&m, s, 20, &f) == 0, "twenty events are staged");
	s->calls->rollback(s);
	is_int(CALL(s, check, &f), 0, "the check is content (%s)", f.text);
	make_end(&m);
	s->calls->close(s);
}

/* ---- Answers, snapshots ------------------------------------------------------------------ */

static bool answer_is(struct store *s, uint64_t account, const char *key, int status, const char *body)
{
	struct answer got;
	struct buf b;
	bool good;

	buf_init(&b, 1 << 20);
	good = CALL(s, find_answer, account, key, &got, &b, &f) == 1 && got.status == status &&
		got.account == account && got.body_len == strlen(body) && memcmp(got.body, body, got.body_len) == 0 &&
		got.digest[0] == 7 && got.digest[31] == 9;
	buf_release(&b);
	return good;
}

static void test_answers(void)
{
	const char *place = new_place();
	struct store *s = writer_at(place);
	struct answer a = { .account = 5,
		.key = "k-1",
		.digest = { [0] = 7, [31] = 9 },
		.at = 100,
		.status = 201,
		.body = "{}",
		.body_len = 2 };
	char key[32];
	struct buf b;
	int left = 0;

	buf_init(&b, 1 << 20);
	is_int(CALL(s, find_answer, 5, "k-1", &a, &b, &f), 0, "no answer is there");
	is_int(CALL(s, keep_answer, &a, &f), 0, "one is kept");
	ok(answer_is(s, 5, "k-1", 201, "{}"), "and found in the same turn");
	is_int(CALL(s, commit, &f), 0, "committed");
	ok(answer_is(s, 5, "k-1", 201, "{}") && CALL(s, find_answer, 6, "k-1", &a, &b, &f) == 0,
		"found, and not for another account");
	a.body = "";
	a.body_len = 0;
	a.status = 204;
	ok(CALL(s, keep_answer, &a, &f) == 0 && answer_is(s, 5, "k-1", 204, ""), "an empty one in its place");
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof key, "old-%d", i);
		a.key = key;
		a.at = 1000 + i;
		CALL(s, keep_answer, &a, &f);
	}
	ok(CALL(s, forget_answers, 1050, 7, &f) == 0 && CALL(s, commit, &f) == 0, "seven of them are forgotten");
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof key, "old-%d", i);
		left += CALL(s, find_answer, 5, key, &a, &b, &f);
	}
	is_int(left, 94, "the oldest seven are gone: 'k-1' and six");
	for (int i = 0; i < 20; i++)
		CALL(s, forget_answers, 1050, 7, &f);
	is_int(CALL(s, commit, &f), 0, "the rest bite by bite");
	ok(CALL(s, find_answer, 5, "old-49", &a, &b, &f) == 0 && answer_is(s, 5, "old-50", 204, ""),
		"up to that time and not further");
	buf_release(&b);
	s->calls->close(s);
}

static bool snapshot_is(struct store *s, uint64_t seq, size_t len, char fill, uint64_t hash)
{
	uint64_t got_seq, got_hash;
	struct buf b;
	bool good;

	buf_init(&b, 1 << 24);
	good = CALL(s, load_snapshot, &b, &got_seq, &got_hash, &f) == 0 && got_seq == seq && got_hash == hash &&
		b.len == len;
	for (size_t i = 0; good && i < len; i++)
		good = b.data[i] == fill;
	buf_release(&b);
	return good;
}

static void test_snapshots(void)
{
	static char big[3500000], other[1 << 20];
	const char *place = new_place();
	struct store *s = writer_at(place);
	struct make m;

	make_begin(&m);
	memset(big, 'b', sizeof big);
	memset(other, 'o', sizeof other);
	ok(snapshot_is(s, 0, 0, 0, 0), "none is there");
	ok(make_append(&m, s, 5, &f) == 0 && CALL(s, snapshot, 5, big, sizeof big, UINT64_MAX - 1, &f) == 0,
		"one of 3.5 MB");
	is_int(CALL(s, commit, &f), 0, "with its events");
	s->calls->close(s);
	s = writer_at(place);
	ok(snapshot_is(s, 5, sizeof big, 'b', UINT64_MAX - 1), "it comes back");
	ok(make_append(&m, s, 1, &f) == 0 && CALL(s, snapshot, 6, other, sizeof other, 2, &f) == 0, "a second");
	s->calls->rollback(s);
	ok(snapshot_is(s, 5, sizeof big, 'b', UINT64_MAX - 1), "that is taken back leaves the first");
	make_end(&m);
	make_begin(&m);
	for (int i = 0; i < 5; i++)
		make_next(&m);
	for (uint64_t seq = 6; seq < 10; seq++)
		ok(make_append(&m, s, 1, &f) == 0 && CALL(s, snapshot, seq, other, sizeof other - seq, seq, &f) == 0 &&
				CALL(s, commit, &f) == 0 && snapshot_is(s, seq, sizeof other - seq, 'o', seq),
			"one at event %d", (int)seq);
	ok(CALL(s, snapshot, 9, other, 3, 4, &f) == 0 && CALL(s, commit, &f) == 0 && snapshot_is(s, 9, 3, 'o', 4),
		"another at that event");
	is_int(CALL(s, check, &f), 0, "the check is content (%s)", f.text);
	make_end(&m);
	s->calls->close(s);
}

/* ---- Writers, backup --------------------------------------------------------------------- */

static void test_fence(void)
{
	const char *place = new_place();
	struct store *first = writer_at(place), *second;
	struct make m, theirs;
	bool good;

	make_begin(&m);
	ok(make_append(&m, first, 10, &f) == 0 && CALL(first, commit, &f) == 0, "the first writes ten");
	second = open_at(place);
	ok(events_in(second, &good) == 10 && good, "a second reads them");
	ok(make_append(&m, first, 5, &f) == 0 && CALL(first, commit, &f) == 0, "and takes nothing by that");
	is_int(CALL(second, fence, &f), 0, "the second takes the lease");
	is_int(second->calls->last_seq(second), 15, "and knows what was written before");
	ok(make_append(&m, first, 1, &f) == REASON_WRONG_STATE || CALL(first, commit, &f) == REASON_WRONG_STATE,
		"the first cannot write: %s", f.text);
	has_str(f.text, "taken over", "and is told why");
	is_int(CALL(first, fence, &f), REASON_WRONG_STATE, "it cannot take it back");
	make_begin(&theirs);
	while (theirs.seq < 15)
		make_next(&theirs);
	ok(make_append(&theirs, second, 5, &f) == 0 && CALL(second, commit, &f) == 0, "the second writes five");
	is_int(CALL(second, fence, &f), 0, "it renews");
	first->calls->close(first);
	ok(make_append(&theirs, second, 5, &f) == 0 && CALL(second, commit, &f) == 0,
		"and five after the first is gone");
	ok(events_in(second, &good) == 25 && good, "all 25 are there");
	is_int(CALL(second, check, &f), 0, "the check is content (%s)", f.text);
	second->calls->close(second);
	make_end(&m);
	make_end(&theirs);
}

static void test_backup(void)
{
	char to[500];
	const char *place = new_place();
	struct store *s = writer_at(place), *copy;
	struct make m;
	bool good;

	snprintf(to, sizeof to, "%s-copy", place);
	make_begin(&m);
	ok(make_append(&m, s, 200, &f) == 0 && CALL(s, commit, &f) == 0, "200 events");
	make_append(&m, s, 1, &f);
	ok(CALL(s, backup, to, &f) != 0, "no copy within a turn: %s", f.text);
	is_int(CALL(s, commit, &f), 0, "the turn ends");
	is_int(CALL(s, backup, to, &f), 0, "a copy while it is open");
	ok(make_append(&m, s, 50, &f) == 0 && CALL(s, commit, &f) == 0, "which goes on");
	copy = writer_at(to);
	ok(events_in(copy, &good) == 201 && good, "the copy has what was there");
	is_int(CALL(copy, check, &f), 0, "and is whole (%s)", f.text);
	copy->calls->close(copy);
	is_int(CALL(s, backup, to, &f), 0, "another over it");
	copy = open_at(to);
	ok(events_in(copy, &good) == 251 && good, "has more");
	copy->calls->close(copy);
	ok(CALL(s, backup, place, &f) != 0, "no copy over itself: %s", f.text);
	ok(CALL(s, backup, "/nowhere/at/all", &f) == REASON_NOT_FOUND, "no copy where no folder is: %s", f.text);
	ok(events_in(s, &good) == 251 && good, "and all is still there");
	s->calls->close(s);
	make_end(&m);
}

/* ---- Consoles ---------------------------------------------------------------------------- */

struct seen { uint64_t seqs[64]; size_t count; int64_t at; bool good; size_t stop; };

static int see_line(void *arg, const struct log_line *l)
{
	struct seen *x = arg;
	char text[32];

	snprintf(text, sizeof text, "line %d", (int)l->seq);
	x->good = x->good && l->at == (int64_t)l->seq * 10 && l->len == strlen(text) &&
		memcmp(l->data, text, l->len) == 0;
	if (x->count < 64)
		x->seqs[x->count] = l->seq;
	x->count++;
	return x->stop && x->count == x->stop ? 77 : 0;
}

static int say(struct store *s, uint64_t instance, uint64_t first, size_t count)
{
	struct log_line lines[64];
	char texts[64][32];

	for (size_t i = 0; i < count; i++) {
		snprintf(texts[i], sizeof texts[i], "line %d", (int)(first + i));
		lines[i] = (struct log_line){ .seq = first + i,
			.at = (int64_t)(first + i) * 10,
			.data = texts[i],
			.len = strlen(texts[i]) };
	}
	return CALL(s, log_append, instance, lines, count, &f);
}

/* "3..7", "7..3", "none" or "mixed". */
static const char *seen(struct store *s, uint64_t instance, struct log_filter w)
{
	static char room[64];
	struct seen x = { .good = true };
	int64_t step = w.descending ? -1 : 1;

	if (CALL(s, logs, instance, &w, see_line, &x, &f) || !x.good)
		return "wrong";
	for (size_t i = 1; i < x.count && i < 64; i++)
		if ((int64_t)x.seqs[i] != (int64_t)x.seqs[i - 1] + step)
			return "mixed";
	if (!x.count)
		return "none";
	snprintf(room, sizeof room, "%d..%d", (int)x.seqs[0], (int)x.seqs[x.count - 1]);
	return room;
}

static int see_head(void *arg, const struct log_head *h)
{
	uint64_t *sum = arg;

	*sum = *sum * 1000 + h->instance * 100 + h->next;
	return 0;
}

static void test_log_pages(struct store *s)
{
	struct seen x = { .good = true, .stop = 3 };
	uint64_t sum = 0;

	is_str(seen(s, 5, (struct log_filter){ 0 }), "1..20", "all of it");
	is_str(seen(s, 5, (struct log_filter){ .descending = true }), "20..1", "from its end");
	is_str(seen(s, 5, (struct log_filter){ .limit = 3 }), "1..3", "the first three");
	is_str(seen(s, 5, (struct log_filter){ .limit = 3, .descending = true }), "20..18", "the last three");
	is_str(seen(s, 5, (struct log_filter){ .after = 6, .before = 9 }), "6..9", "from one to another");
	is_str(seen(s, 5, (struct log_filter){ .after_at = 95, .before_at = 120 }), "10..12", "by time");
	is_str(seen(s, 5, (struct log_filter){ .after = 21 }), "none", "behind its end");
	is_str(seen(s, 7, (struct log_filter){ 0 }), "none", "of one that said nothing");
	is_int(CALL(s, logs, 5, &(struct log_filter){ 0 }, see_line, &x, &f), 77, "who reads can stop it");
	is_int(x.count, 3, "where he wants");
	is_int(CALL(s, log_heads, 0, 0, see_head, &sum, &f), 0, "all consoles");
	is_int(sum, (UINT64_C(5) * 100 + 21) * 1000 + 6 * 100 + 3, "by their instances");
	sum = 0;
	ok(CALL(s, log_heads, 5, 1, see_head, &sum, &f) == 0 && sum == 603, "those after one");
}

static void test_log_limit(struct store *s)
{
	static char text[60000];
	struct log_head h = { 0 };
	struct log_line l = { .at = 1, .data = text, .len = sizeof text };
	int64_t most = 0, least = INT64_MAX;
	bool good = true;

	for (l.seq = 1; l.seq <= 60; l.seq++) {
		good = good && CALL(s, log_append, 8, &l, 1, &f) == 0 && CALL(s, log_end, 8, &h, &f) == 1 &&
			h.next == l.seq + 1;
		most = h.bytes > most ? h.bytes : most;
		least = l.seq > 20 && h.bytes < least ? h.bytes : least;
	}
	ok(good, "sixty long lines");
	ok(most <= LOG_KEEP, "a MiB is kept (%d)", (int)most);
	ok(least >= LOG_KEEP / 2, "and not much less (%d)", (int)least);
	ok(h.first > 40 && h.first < 60, "the oldest went, their numbers stay (%d)", (int)h.first);
	is_int(h.bytes, (int64_t)(h.next - h.first) * (int64_t)(sizeof text + LOG_LINE), "what is there is counted");
	is_int(CALL(s, commit, &f), 0, "it is committed");
	is_int(CALL(s, check, &f), 0, "the check is content (%s)", f.text);
}

static void test_logs(void)
{
	const char *place = new_place();
	struct store *s = writer_at(place);
	struct log_head h = { 0 };

	is_int(CALL(s, log_end, 5, &h, &f), 0, "no node has said anything");
	ok(say(s, 5, 1, 12) == 0 && say(s, 6, 1, 2) == 0, "two do");
	is_str(seen(s, 5, (struct log_filter){ 0 }), "1..12", "what is staged is read");
	is_int(say(s, 5, 14, 1), REASON_INVALID, "a gap is refused (%s)", f.text);
	is_int(say(s, 5, 12, 1), REASON_INVALID, "and what is there");
	ok(say(s, 5, 13, 8) == 0 && CALL(s, commit, &f) == 0, "it goes on all the same, and is committed");
	ok(say(s, 5, 21, 3) == 0, "three more");
	s->calls->rollback(s);
	ok(CALL(s, log_end, 5, &h, &f) == 1 && h.first == 1 && h.next == 21, "are taken back");
	test_log_pages(s);
	s->calls->close(s);
	s = writer_at(place);
	test_log_pages(s);
	test_log_limit(s);
	ok(CALL(s, log_drop, 5, &f) == 0 && CALL(s, commit, &f) == 0, "a console is dropped");
	is_str(seen(s, 5, (struct log_filter){ 0 }), "none", "nothing of it is left");
	ok(CALL(s, log_end, 5, &h, &f) == 0 && say(s, 5, 1, 1) == 0, "and its numbers begin anew");
	is_int(CALL(s, commit, &f), 0, "committed");
	is_int(CALL(s, check, &f), 0, "the check is content (%s)", f.text);
	s->calls->close(s);
}

/* Every store that there is. */
static const struct kind kinds[] = {
	{ "sqlite", store_sqlite_open, "sqlite" },
};

int main(void)
{
	plan_none;
	if (!tool_begin())
		return 1;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		kind = &kinds[i];
		test_events();
		test_orders();
		test_rows();
		test_answers();
		test_snapshots();
		test_logs();
		test_fence();
		test_backup();
	}
	tool_end();
	return done();
}

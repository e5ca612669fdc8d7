/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that wait for something to happen, and streams that stay open. A stream has no queue: it
 * remembers how far it got, and asks for the next piece when its client has taken the last one.
 */
#include <microhttpd.h>

#include <assert.h>
#include <string.h>

#include "marketd/api/authorize.h"
#include "marketd/http/http_own.h"

static int64_t *http_stream_counter(struct exchange *x)
{
	struct metrics *m = x->http->metrics;

	return x->counted == COUNTED_STREAM ? &m->streams : x->counted == COUNTED_POLL ? &m->polls : &m->parked;
}

/* Each agent waits on one connection, and connections are limited: no account may take all of them. */
static bool admit_poll(struct exchange *x)
{
	struct list *lists[] = { &x->http->polls, &x->http->streams };
	struct list *at, *tmp;
	int mine = 0, ours = 0;

	for (int i = 0; i < 2; i++)
		list_each (at, tmp, lists[i]) {
			const struct exchange *other = list_entry(at, struct exchange, link);

			mine += other->q.agent == x->q.agent;
			ours += other->q.agent && other->q.account == x->q.account;
		}
	if (mine >= WAITING_PER_AGENT || ours >= x->http->set.connections / 2)
		return false;
	x->counted = COUNTED_POLL;
	*http_stream_counter(x) += 1;
	return true;
}

/* Whose they are: an account's, or one stranger's. */
static bool waiting_same(const struct exchange *x, const struct exchange *other)
{
	return x->q.account == other->q.account && (x->q.account || x->q.address == other->q.address);
}

static bool waiting_stranger(const struct exchange *x)
{
	return !x->q.token && !x->q.agent && !x->q.local;
}

bool waiting_admit(struct exchange *x)
{
	struct http *h = x->http;
	struct list *lists[] = { &h->parked, &h->streams };
	struct list *at, *tmp;
	int mine = 0, strangers = 0;

	if (x->counted)
		return true;
	if (x->q.agent)
		return admit_poll(x);
	for (int i = 0; i < 2; i++)
		list_each (at, tmp, lists[i]) {
			const struct exchange *other = list_entry(at, struct exchange, link);

			mine += !other->q.agent && waiting_same(x, other);
			strangers += waiting_stranger(other);
		}
	if (h->metrics->parked + h->metrics->streams >= WAITING_MAX || (mine >= WAITING_PER_ACCOUNT && !x->q.local) ||
		(strangers >= WAITING_STRANGERS && waiting_stranger(x)))
		return false;
	x->counted = x->r.stream ? COUNTED_STREAM : COUNTED_PARKED;
	*http_stream_counter(x) += 1;
	return true;
}

void waiting_release(struct exchange *x)
{
	if (!x->counted)
		return;
	assert(*http_stream_counter(x) > 0);
	*http_stream_counter(x) -= 1;
	x->counted = 0;
}

struct list *waiting_place(struct exchange *x)
{
	struct http *h = x->http;

	if (x->counted != COUNTED_POLL)
		return &h->parked;
	if (x->deadline < h->poll_due)
		h->poll_due = x->deadline;
	return &h->polls;
}

/* ---- Streams ---------------------------------------------------------------------------- */

/* It may have something to say, and its pace allows that. */
static bool stream_due(const struct exchange *x)
{
	return x->paced <= x->http->now_ms && (x->seen != x->http->commits || x->tick <= x->http->now_ms);
}

/*
 * Asks for the next piece after one that was not empty, and after each commit. Not while something is
 * staged: the store would show it although its commit can still fail.
 */
static void next_piece(struct exchange *x)
{
	int64_t now = x->http->now_ms;

	if (x->r.body.len > 0)
		x->seen = UINT64_MAX;
	if (x->r.body.len > 0 && x->r.pace)
		x->paced = now + (int64_t)x->r.body.len * 1000 / x->r.pace;
	x->taken = 0;
	buf_clear(&x->r.body);
	if (!x->r.steady && (!stream_due(x) || market_dirty(x->http->api->market)))
		return;
	x->paced = 0;
	x->q.tick = x->tick <= now;
	exchange_ask(x);
	if (x->q.tick)
		x->tick = x->r.tick_ms ? now + x->r.tick_ms : INT64_MAX;
	if (x->r.status != 200 || !x->r.stream) {
		x->over = true; /* its token or the market has ended */
		buf_clear(&x->r.body);
	}
}

static ssize_t read_stream(void *cls, uint64_t pos, char *room, size_t max)
{
	static const char heartbeat[] = ":\n\n";
	struct exchange *x = cls;
	size_t n;

	(void)pos;
	if (x->taken >= x->r.body.len && !x->over)
		next_piece(x);
	if (x->taken < x->r.body.len) {
		n = x->r.body.len - x->taken;
		n = n > max ? max : n;
		memcpy(room, x->r.body.data + x->taken, n);
		x->taken += n;
		x->beat = x->http->now_ms + x->http->set.heartbeat_ms;
		if (!x->r.steady) /* else all of it has the time of one answer, however slow its reader is */
			conn_state_set(x->conn, CONN_STREAM);
		return (ssize_t)n;
	}
	if (x->over || x->http->quiet)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (x->beat <= x->http->now_ms && max >= sizeof heartbeat) {
		x->beat = x->http->now_ms + x->http->set.heartbeat_ms;
		memcpy(room, heartbeat, sizeof heartbeat - 1);
		conn_state_set(x->conn, CONN_STREAM);
		return sizeof heartbeat - 1;
	}
	x->suspended = true;
	conn_state_set(x->conn, CONN_WAIT);
	MHD_suspend_connection(x->conn->mhd);
	return 0;
}

struct MHD_Response *stream_response(struct exchange *x)
{
	x->beat = x->http->now_ms + x->http->set.heartbeat_ms;
	x->tick = x->r.tick_ms ? x->http->now_ms + x->r.tick_ms : INT64_MAX;
	list_remove(&x->link);
	list_append(&x->http->streams, &x->link);
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 * 1024, read_stream, x, NULL);
}

/* A stream that continues stays in its list; only its connection is woken. Nothing is staged now, so ask at once. */
static void wake_stream(struct exchange *x)
{
	if (!x->suspended)
		return;
	if (!x->over)
		next_piece(x);
	x->suspended = false;
	x->http->resumed = true;
	conn_state_set(x->conn, CONN_STREAM);
	MHD_resume_connection(x->conn->mhd);
}

/* When it has something to do, though nothing happens. */
static int64_t stream_wakes(const struct exchange *x)
{
	bool more = x->paced && x->seen != x->http->commits; /* there may be, once its pace allows that */
	int64_t at = more || x->tick < x->paced ? x->paced : x->tick;

	return at < x->beat ? at : x->beat;
}

/* ---- Turns ------------------------------------------------------------------------------ */

static void ask_again(struct exchange *x, bool last)
{
	x->q.last_ask = last;
	exchange_ask(x);
	if (x->r.wait && !last)
		return;
	x->r.wait = false;
	if (!x->r.changed && !market_dirty(x->http->api->market)) {
		exchange_ready(x);
		return;
	}
	list_remove(&x->link);
	x->state = EXCHANGE_COMMIT;
	list_append(&x->http->turn, &x->link);
}

void waiting_errands(struct http *h)
{
	bool ended = h->errands != h->api->errands_ended;
	struct list *at, *tmp;

	h->errands = h->api->errands_ended;
	list_each (at, tmp, &h->parked) {
		struct exchange *x = list_entry(at, struct exchange, link);

		if (x->r.away && (ended || x->deadline <= h->now_ms))
			ask_again(x, x->deadline <= h->now_ms);
	}
}

/* A commit concerns one or two of a thousand agents: skips the others, and all of them while nothing is due. */
static void poll_turn(struct http *h)
{
	const struct engine *e = market_engine(h->api->market);
	bool wake = h->commits != h->polled && h->now_ms - h->last_poll >= WAKE_POLL_MS;
	struct list *at, *tmp;

	if (!wake && h->poll_due > h->now_ms)
		return;
	h->poll_due = INT64_MAX;
	if (wake) {
		h->polled = h->commits;
		h->last_poll = h->now_ms;
	}
	list_each(at, tmp, &h->polls) {
		struct exchange *x = list_entry(at, struct exchange, link);

		if (x->deadline <= h->now_ms)
			ask_again(x, true);
		else if (wake && auth_moved(e, &x->q))
			ask_again(x, false);
		if (x->state == EXCHANGE_WAIT && x->deadline < h->poll_due)
			h->poll_due = x->deadline;
	}
}

void waiting_turn(struct http *h)
{
	bool wake = h->commits != h->woken && h->now_ms - h->last_wake >= WAKE_MS;
	struct list *at, *tmp;

	list_each(at, tmp, &h->parked) {
		struct exchange *x = list_entry(at, struct exchange, link);

		if (x->r.away)
			continue;
		if (x->deadline <= h->now_ms)
			ask_again(x, true);
		else if (wake)
			ask_again(x, false);
	}
	poll_turn(h);
	list_each(at, tmp, &h->streams) {
		struct exchange *x = list_entry(at, struct exchange, link);

		if (wake || stream_wakes(x) <= h->now_ms)
			wake_stream(x);
	}
	if (wake) {
		h->woken = h->commits;
		h->last_wake = h->now_ms;
	}
}

void waiting_end(struct http *h)
{
	struct list *at, *tmp;

	list_each(at, tmp, &h->parked)
		ask_again(list_entry(at, struct exchange, link), true);
	list_each(at, tmp, &h->polls)
		ask_again(list_entry(at, struct exchange, link), true);
	list_each(at, tmp, &h->streams) {
		struct exchange *x = list_entry(at, struct exchange, link);

		x->over = true;
		wake_stream(x);
	}
}

int64_t waiting_deadline(const struct http *h)
{
	bool due = h->commits != h->woken, poll = h->commits != h->polled;
	int64_t first = h->poll_due;
	struct list *at, *tmp;

	list_each(at, tmp, &h->parked) {
		const struct exchange *x = list_entry(at, struct exchange, link);

		first = x->deadline < first ? x->deadline : first;
	}
	list_each(at, tmp, &h->streams) {
		const struct exchange *x = list_entry(at, struct exchange, link);

		if (x->suspended && stream_wakes(x) < first)
			first = stream_wakes(x);
	}
	if (due && (!list_empty(&h->parked) || !list_empty(&h->streams)) && h->last_wake + WAKE_MS < first)
		first = h->last_wake + WAKE_MS;
	if (poll && !list_empty(&h->polls) && h->last_poll + WAKE_POLL_MS < first)
		first = h->last_poll + WAKE_POLL_MS;
	return first;
}

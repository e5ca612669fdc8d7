/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of requests while they come in: whose are kept, and how much of them at once. Who shows no valid token
 * makes the market keep little, in a room of its own, and no account can fill its memory for the others.
 */
#include <assert.h>
#include <malloc.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/http/http_own.h"

enum {
	OPEN_BODY_MAX = 4096,         /* of a route that needs no token: as small as a sign-in */
	RAW_BODY_MAX = 64 << 10,      /* of one that the handler reads itself, and of which it knows who sent it */
	UPLOADS_MAX = 64 << 20,       /* all bodies that are under way; small ones do not count */
	UPLOADS_STRANGERS = 16 << 20, /* and of who shows no token, as Stripe does */
	UPLOADS_PER_ACCOUNT = 16 << 20,
	UPLOAD_SMALL = 16 << 10,
	TRIM_BYTES = 16 << 20, /* of bodies and answers: the system gets back what they had */
	TRIM_MS = 10000,       /* but not more often */
};

void upload_begin(struct exchange *x, uint64_t owner)
{
	const struct request *q = &x->q;

	x->drops = api_route_is(x->http->api, q, ROUTE_DROPS);
	x->raw = api_route_is(x->http->api, q, ROUTE_RAW);
	if (q->local || q->scopes || q->joined)
		x->room = HTTP_BODY_MAX;
	else if (x->raw && api_route_is(x->http->api, q, ROUTE_POLICY))
		x->room = api_policy_server(x->http->api, q) ? RAW_BODY_MAX : 0;
	else if (x->raw)
		x->room = RAW_BODY_MAX;
	else
		x->room = api_route_is(x->http->api, q, ROUTE_OPEN) ? OPEN_BODY_MAX : 0;
	if (x->room == HTTP_BODY_MAX || api_policy_server(x->http->api, q))
		x->slot = &x->http->uploads_of[(owner * x->http->uploads_factor) >> 52];
}

/* Bytes of all strangers of this address. */
static uint32_t *upload_slot_stranger(const struct exchange *x)
{
	return &x->http->strangers_of[(x->q.address * x->http->uploads_factor) >> 52];
}

/*
 * Who gives way: the oldest of the address that holds the most. Who means well has sent it all in a moment, and sends
 * little at once, so a few addresses crowd out themselves alone.
 */
static struct exchange *upload_oldest(const struct http *h)
{
	struct exchange *oldest = NULL;
	struct list *at, *next;

	list_each (at, next, &h->strangers) {
		struct exchange *x = list_entry(at, struct exchange, older);

		if (!oldest || *upload_slot_stranger(x) > *upload_slot_stranger(oldest))
			oldest = x;
	}
	return oldest;
}

static int upload_count_stranger(struct exchange *x, uint32_t more)
{
	struct http *h = x->http;
	struct exchange *oldest;

	while (h->strangers_bytes + more > UPLOADS_STRANGERS) {
		oldest = upload_oldest(h);
		oldest = oldest ? oldest : x;
		oldest->fault = REASON_UNAVAILABLE;
		oldest->fault_text = "too many large requests are under way; nothing was done";
		upload_release(oldest);
		if (oldest == x)
			return x->fault;
	}
	if (!x->counted_bytes)
		list_append(&h->strangers, &x->older);
	h->strangers_bytes += more;
	*upload_slot_stranger(x) += more;
	x->counted_bytes += more;
	h->metrics->upload_bytes += more;
	return 0;
}

/* Whether there is room for all of this body so far. */
static int upload_count(struct exchange *x, size_t total)
{
	struct http *h = x->http;
	uint32_t more = (uint32_t)(total - x->counted_bytes);

	if (total <= UPLOAD_SMALL || x->q.local)
		return 0;
	if (!x->slot)
		return upload_count_stranger(x, more);
	if (*x->slot + more > UPLOADS_PER_ACCOUNT) {
		x->fault_text = "too many large requests are under way, of this account or one that shares its "
				"counter; send fewer at once";
		return REASON_RATE;
	}
	if (h->metrics->upload_bytes - h->strangers_bytes + more > UPLOADS_MAX) {
		x->fault_text = "too many large requests are under way; nothing was done";
		return REASON_UNAVAILABLE;
	}
	*x->slot += more;
	x->counted_bytes += more;
	h->metrics->upload_bytes += more;
	return 0;
}

void upload_take(struct exchange *x, const char *data, size_t len)
{
	size_t total = x->upload.len + len;

	if (x->fault)
		return;
	if (x->drops)
		x->q.dropped += (int64_t)len;
	if (x->drops && x->taken <= HTTP_BODY_MAX)
		return;
	if (x->taken > HTTP_BODY_MAX || (x->room && total > x->room))
		x->fault = REASON_TOO_LARGE;
	else if (x->room)
		x->fault = upload_count(x, total);
	if (!x->fault && x->room && buf_add(&x->upload, data, len) != 0)
		x->fault = REASON_UNAVAILABLE;
	if (x->fault)
		upload_release(x);
}

void upload_end(struct exchange *x)
{
	list_remove(&x->older);
}

void upload_release(struct exchange *x)
{
	buf_release(&x->upload);
	list_remove(&x->older);
	if (!x->counted_bytes)
		return;
	assert(x->http->metrics->upload_bytes >= x->counted_bytes);
	assert(x->slot ? *x->slot >= x->counted_bytes : x->http->strangers_bytes >= x->counted_bytes);
	if (x->slot) {
		*x->slot -= x->counted_bytes;
	} else {
		*upload_slot_stranger(x) -= x->counted_bytes;
		x->http->strangers_bytes -= x->counted_bytes;
	}
	x->http->metrics->upload_bytes -= x->counted_bytes;
	x->http->freed_bytes += x->counted_bytes;
	x->counted_bytes = 0;
}

void upload_trim(struct http *h)
{
	if (h->freed_bytes < TRIM_BYTES || h->now_ms < h->next_trim)
		return;
	malloc_trim(0);
	h->freed_bytes = 0;
	h->next_trim = h->now_ms + TRIM_MS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a page that stays open has to hear: the account's events, each once, and what its nodes do now. A page that
 * comes back, or whose market was killed, says which event it had last, so that it misses none and hears none twice.
 */
#include <inttypes.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/np/np.h"
#include "marketd/api/render.h"

enum {
	LIVE_EVERY_MS = 10000,       /* samples */
	LIVE_BYTES_A_SECOND = 10000, /* to one page, however much happens */
	LIVE_EVENTS_BYTES = 8000,    /* in one piece */
	LIVE_SAMPLES_BYTES = 40000,
};

/* Where this page is: after what this stream sent, what it says that it has, or at the end of all that happened. */
static bool live_since(struct api *api, const struct request *q, struct reply *r, uint64_t *since)
{
	if (!np_events_since(q, r, since))
		return false;
	if (!*since && !q->last_event_id && !api_query(q, "since_seq"))
		*since = np_events_end(api);
	if (!*since) /* 0 would mean that nothing was sent yet */
		*since = 1;
	return true;
}

/* A page that gets this knows the number of the last event before what it reads next. */
static int live_hello(struct api *api, struct reply *r, uint64_t since)
{
	return buf_addf(&r->body, "id: %" PRIu64 "\nevent: hello\ndata: {\"now\":%" PRId64 ",\"samples_every\":%d}\n\n",
		since, market_now(api->market), LIVE_EVERY_MS / 1000);
}

static int live_samples(struct api *api, const struct request *q, struct reply *r)
{
	json_t *o = np_samples_brief(api, q->account, LIVE_SAMPLES_BYTES);
	char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(4)) : NULL;
	int failed = text ? buf_addf(&r->body, "event: samples\ndata: %s\n\n", text) : 0;

	free(text);
	json_decref(o);
	return failed;
}

static int get_live(struct api *api, const struct request *q, struct reply *r)
{
	struct fail why = { 0 };
	uint64_t account, since;
	int rc;

	if (!q->accept || !strstr(q->accept, "text/event-stream"))
		return api_refuse(q, r, REASON_INVALID, "Accept",
			"this is a stream; ask with 'Accept: text/event-stream', or for /np/v1/events");
	if (!api_whose(q, r, &account) || !live_since(api, q, r, &since))
		return r->status;
	buf_clear(&r->body);
	rc = q->resume ? 0 : live_hello(api, r, since);
	rc = rc ? rc : np_events_append(api, account, LIVE_EVENTS_BYTES, &since, &r->body, &why);
	if (!rc && q->tick)
		rc = live_samples(api, q, r);
	if (rc)
		return api_failed(q, r, REASON_UNAVAILABLE, NULL, &why);
	r->type = "text/event-stream";
	r->resume = since;
	r->stream = true;
	r->tick_ms = LIVE_EVERY_MS;
	r->pace = LIVE_BYTES_A_SECOND;
	return r->status = 200;
}

const struct route api_np_live_routes[] = {
	{ METHOD_GET, "/np/v1/live", get_live, SCOPE_READ, ROUTE_STREAM,
		"Stream what happens, and every ten seconds what the nodes do: for a page that stays open",
		"since_seq:integer", NULL, "np.Event", 200 },
	{ 0 },
};

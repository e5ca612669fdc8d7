/* SPDX-License-Identifier: Apache-2.0 */
/* What agents measure their way to the market with: bytes down, bytes up, nothing kept. */
#include <inttypes.h>

#include "base/buf.h"
#include "market/reason.h"
#include "marketd/api/np/np.h"
#include "marketd/api/may/quota.h"
#include "marketd/api/render.h"

enum { SPEED_BYTES = 1000 * 1000, SPEED_PIECE = 16 * 1024 };

/* Only an agent, and only as much as it may take within a day. */
static bool np_speed_may(struct api *api, const struct request *q, struct reply *r, int64_t bytes)
{
	struct fail why = { 0 };
	int rc;

	if (!q->agent) {
		api_refuse(q, r, REASON_FORBIDDEN, NULL, "only an agent may do this, with the token of its session");
		return false;
	}
	rc = quota_speed(api, q, bytes, &why);
	if (rc)
		api_failed(q, r, rc, NULL, &why);
	return rc == 0;
}

/* Appends digits that nothing on the way can make much smaller. */
static int np_speed_fill(struct buf *out, size_t len, uint64_t x)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	char text[SPEED_PIECE];

	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		text[i] = digits[x & 63];
	}
	return buf_add(out, text, len);
}

/* np.Speed in pieces, so that others are served between them; q->resume: how much of `data` is out. */
static int get_speed(struct api *api, const struct request *q, struct reply *r)
{
	int64_t bytes = 0, done = (int64_t)q->resume, piece;
	int rc = 0;

	if (!api_query_int(q, r, "bytes", 0, SPEED_BYTES, 0, &bytes) || (!done && !np_speed_may(api, q, r, bytes)))
		return r->status;
	piece = bytes - done < SPEED_PIECE ? bytes - done : SPEED_PIECE;
	if (done && !piece) /* asked again after the end */
		return api_nothing(r);
	if (!done)
		rc = buf_addf(&r->body, "{\"object\":\"speed\",\"bytes\":%" PRId64 ",\"data\":\"", bytes);
	rc = rc ? rc : np_speed_fill(&r->body, (size_t)piece, (uint64_t)(api->now_ms + done) | 1);
	if (!rc && done + piece == bytes)
		rc = buf_adds(&r->body, "\"}\n");
	if (rc)
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory; nothing was done");
	r->stream = r->steady = bytes > SPEED_PIECE;
	r->resume = (uint64_t)(done + piece);
	return r->status = 200;
}

static int post_speed(struct api *api, const struct request *q, struct reply *r)
{
	if (!np_speed_may(api, q, r, q->dropped))
		return r->status;
	return api_json(q, r, 200, json_pack("{s:s, s:I}", "object", "speed", "bytes", (json_int_t)q->dropped));
}

const struct route api_np_speed_routes[] = {
	{ METHOD_GET, "/np/v1/speed", get_speed, SCOPE_AGENT, 0,
		"Get so many bytes, for an agent that measures its way to the market", "bytes:integer", NULL,
		"np.Speed", 200 },
	{ METHOD_POST, "/np/v1/speed", post_speed, SCOPE_AGENT, ROUTE_DROPS,
		"Send bytes that the market counts and drops, for an agent that measures its way to it", NULL,
		"np.SpeedRequest", "np.Speed", 200 },
	{ 0 },
};

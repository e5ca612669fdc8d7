/* SPDX-License-Identifier: Apache-2.0 */
/* What agents measure their way to the market with: bytes down, bytes up, nothing kept. */
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/api/np/np.h"
#include "marketd/api/quota.h"
#include "marketd/api/render.h"

enum { SPEED_BYTES = 1000 * 1000 };

/* Only an agent, and only as much as its account may take within a day. */
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

/* Digits that nothing on the way can make much smaller. */
static void np_speed_fill(char *text, size_t len, uint64_t x)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		text[i] = digits[x & 63];
	}
}

static int get_speed(struct api *api, const struct request *q, struct reply *r)
{
	int64_t bytes = 0;
	json_t *data = NULL;
	char *text;

	if (!api_query_int(q, r, "bytes", 0, SPEED_BYTES, 0, &bytes) || !np_speed_may(api, q, r, bytes))
		return r->status;
	text = malloc((size_t)bytes + 1);
	if (text) {
		np_speed_fill(text, (size_t)bytes, (uint64_t)api->now_ms | 1);
		data = json_stringn_nocheck(text, (size_t)bytes);
	}
	free(text);
	return api_json(q, r, 200,
		json_pack("{s:s, s:I, s:o}", "object", "speed", "bytes", (json_int_t)bytes, "data", data));
}

static int post_speed(struct api *api, const struct request *q, struct reply *r)
{
	size_t bytes = strlen(body_text(q->body, "data"));

	if (!np_speed_may(api, q, r, (int64_t)bytes))
		return r->status;
	return api_json(q, r, 200, json_pack("{s:s, s:I}", "object", "speed", "bytes", (json_int_t)bytes));
}

const struct route api_np_speed_routes[] = {
	{ METHOD_GET, "/np/v1/speed", get_speed, SCOPE_AGENT, 0,
		"Get so many bytes, for an agent that measures its way to the market", "bytes:integer", NULL,
		"np.Speed", 200 },
	{ METHOD_POST, "/np/v1/speed", post_speed, SCOPE_AGENT, 0,
		"Send bytes that the market drops, for an agent that measures its way to it", NULL, "np.SpeedRequest",
		"np.Speed", 200 },
	{ 0 },
};

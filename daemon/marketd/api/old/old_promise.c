/* SPDX-License-Identifier: Apache-2.0 */
/* What the market still has to do for a pool stands in the pool's tags, as does what kept it from doing so. */
#include "marketd/api/old/v1.h"

#include <stdlib.h>

#include "market/reason.h"

#define TAG_REFUSED "sfc_refused"

json_t *old_tags(const struct pool *p)
{
	return p && p->tags ? json_loads(p->tags, 0, NULL) : NULL;
}

static int old_tags_write(struct api *api, const struct pool *p, const json_t *tags, struct fail *why)
{
	char *text = json_dumps(tags, JSON_COMPACT | JSON_SORT_KEYS);
	struct event ev = { .kind = EVENT_POOL_CHANGE, .account = p->account, .subject = p->id, .text = text };
	int rc = text ? market_apply(api->market, &ev, NULL, why) : REASON_UNAVAILABLE;

	free(text);
	return rc;
}

int old_tags_done(struct api *api, const struct pool *p, json_t *tags, struct fail *why)
{
	json_object_del(tags, TAG_REFUSED);
	return old_tags_write(api, p, tags, why);
}

bool old_tags_refused(struct api *api, const struct pool *p, int rc)
{
	json_t *tags = old_tags(p);
	bool first = !json_object_get(tags, TAG_REFUSED);

	if (first && tags) {
		json_object_set_new(tags, TAG_REFUSED, json_string(reason_row(rc)->code));
		old_tags_write(api, p, tags, NULL);
	}
	json_decref(tags);
	return first;
}

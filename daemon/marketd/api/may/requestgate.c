/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/may/requestgate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/table.h"
#include "market/reason.h"

enum { GATE_MINUTE = 60, GATE_DAY = 86400 };

struct gates {
	struct table counts; /* struct gate_count by account */
};

struct gate_count {
	struct {
		int64_t window, count; /* which minute or day since 1970 */
	} spans[2];
};

static struct gate_count *gate_of(struct api *api, uint64_t account)
{
	struct gate_count *c;
	char key[24];

	if (!api->gates) {
		api->gates = calloc(1, sizeof *api->gates);
		if (!api->gates)
			return NULL;
		table_init(&api->gates->counts);
	}
	snprintf(key, sizeof key, "%" PRIu64, account);
	c = table_get(&api->gates->counts, key);
	if (c)
		return c;
	c = calloc(1, sizeof *c);
	if (c && table_set(&api->gates->counts, key, c) == 0)
		return c;
	free(c);
	return NULL;
}

int gate_take(struct api *api, uint64_t account, const struct decision *d, int64_t now, int *retry_s, struct fail *why)
{
	static const int seconds[] = { GATE_MINUTE, GATE_DAY };
	const int64_t limits[] = { d->gates[GATE_REQUESTS_MINUTE], d->gates[GATE_REQUESTS_DAY] };
	struct gate_count *c = limits[0] || limits[1] ? gate_of(api, account) : NULL;

	if (!limits[0] && !limits[1])
		return 0;
	if (!c)
		return fail_set(why, REASON_RATE, "the market is out of memory");
	for (int i = 0; i < 2; i++) {
		if (c->spans[i].window != now / seconds[i])
			c->spans[i].count = 0;
		c->spans[i].window = now / seconds[i];
	}
	for (int i = 1; i >= 0; i--) {
		if (!limits[i] || c->spans[i].count < limits[i])
			continue;
		*retry_s = (int)(seconds[i] - now % seconds[i]);
		return fail_set(why, REASON_RATE, "policy '%s' allows %" PRId64 " requests a %s", d->rule, limits[i],
			i ? "day" : "minute");
	}
	c->spans[0].count++;
	c->spans[1].count++;
	return 0;
}

void gates_free(struct gates *g)
{
	size_t at = 0;
	const char *key;
	void *count;

	while (g && table_next(&g->counts, &at, &key, &count))
		free(count);
	if (g)
		table_release(&g->counts);
	free(g);
}

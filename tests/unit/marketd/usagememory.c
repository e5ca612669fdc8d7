/* SPDX-License-Identifier: Apache-2.0 */
/* Usage events when any of their allocations fails: all of them are answered, or none. */
#include <jansson.h>

#include "marketd/api/api.h"

#include "watchmarket.h"

static long left = -1; /* allocations that work before one that fails; below 0: all work */

static void *some(size_t size)
{
	if (left >= 0 && left-- == 0)
		return NULL;
	return malloc(size);
}

extern const struct route api_np_usage_routes[];

int main(void)
{
	struct api api = { .name = "test" };
	struct request q = { .path = "/np/v1/usage", .local = true };
	struct reply r = { 0 };
	char *whole;
	long failed = 0, torn = 0, n = 0;

	if (!tool_begin())
		return 99;
	json_set_alloc_funcs(some, free);
	make_market();
	buy_node(make_pool("train"), now / 60 + 1, 60);
	now += 2 * 3600;
	if (market_time(m, now, &f) || market_commit(m, &f))
		return 99;
	api.market = m;
	buf_init(&r.body, 1 << 20);
	is_int(api_np_usage_routes[0].handler(&api, &q, &r), 200, "with memory");
	has_str(buf_text(&r.body), "node_minutes", "there is usage");
	whole = strdup(buf_text(&r.body));
	for (; n < 100000; n++) {
		left = n;
		r.status = 0;
		api_np_usage_routes[0].handler(&api, &q, &r);
		if (r.status == 200 && left >= 0)
			break;
		failed += r.status >= 500;
		if (r.status == 200 && strcmp(buf_text(&r.body), whole) != 0 && ++torn)
			diag("allocation %ld: %s", n, buf_text(&r.body));
	}
	left = -1;
	ok(failed > 50 && n < 100000, "each of %ld allocations failed", n);
	is_int(torn, 0, "and no page that passes over an event went out");
	free(whole);
	buf_release(&r.body);
	watch_free(w);
	market_free(m);
	tool_end();
	return done();
}

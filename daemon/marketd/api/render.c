/* SPDX-License-Identifier: Apache-2.0 */
/* The small parts of every answer: ids, prices, amounts, times, schedules, lists. */
#include "marketd/api/render.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/money.h"
#include "market/reason.h"

json_t *render_id(enum ident kind, uint64_t id)
{
	char room[IDENT_TEXT];

	return json_string(ident_text(kind, id, room));
}

json_t *render_price(int64_t price)
{
	char room[MONEY_TEXT];

	return json_string(price_wire(price, room));
}

json_t *render_average(int64_t cost, int64_t node_minutes)
{
	char room[MONEY_TEXT];
	int64_t whole, rest;

	if (node_minutes <= 0)
		return json_null();
	whole = cost / node_minutes * 60;
	rest = (cost % node_minutes * 60 + node_minutes / 2) / node_minutes;
	return json_string(money_wire(whole + rest, room));
}

json_t *render_minute(int64_t minute)
{
	return minute >= MINUTE_MAX ? json_null() : json_integer(minute * 60);
}

json_t *render_text(const char *text)
{
	json_t *made;
	char *copy;

	if (!text)
		return json_null();
	made = json_string(text);
	if (made || !(copy = strdup(text)))
		return made;
	for (char *p = copy; *p; p++)
		if ((unsigned char)*p > 126)
			*p = '?';
	made = json_string(copy);
	free(copy);
	return made;
}

json_t *render_reason(int reason)
{
	return reason ? json_string(reason_row(reason)->code) : json_null();
}

int render_money(json_t *object, const char *name, int64_t micros)
{
	char key[96], room[MONEY_TEXT];

	snprintf(key, sizeof key, "%s_dollars", name);
	if (json_object_set_new(object, key, json_string(money_wire(micros, room))))
		return -ENOMEM;
	snprintf(key, sizeof key, "%s_micros", name);
	return json_object_set_new(object, key, json_integer(micros)) ? -ENOMEM : 0;
}

json_t *render_tags(const char *tags)
{
	json_t *made = tags && *tags ? json_loads(tags, 0, NULL) : NULL;

	return made ? made : json_null();
}

json_t *render_path(const struct engine *e, const char *kind, uint64_t account, const char *name)
{
	const struct account *owner = engine_account(e, account);

	return json_sprintf("sfc:%s:%s:default:%s", kind, owner ? owner->name : "", name ? name : "");
}

json_t *render_span(int64_t start, int64_t end, int32_t nodes)
{
	return json_pack("{s:o, s:o, s:i}", "start_at", json_integer(start * 60), "end_at", render_minute(end),
		"node_count", (int)nodes);
}

json_t *render_spans(const struct span *spans, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++)
		if (json_array_append_new(list, render_span(spans[i].start, spans[i].end, spans[i].nodes))) {
			json_decref(list);
			return NULL;
		}
	return list;
}

int spans_add(struct spans *s, int64_t start, int64_t end, int32_t nodes)
{
	if (s->count == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 8;
		struct span *list = reallocarray(s->list, cap, sizeof *list);

		if (!list)
			return -ENOMEM;
		s->list = list;
		s->cap = cap;
	}
	s->list[s->count++] = (struct span){ .start = start, .end = end, .nodes = nodes };
	return 0;
}

struct edge { int64_t minute; int64_t nodes; };

static int by_minute(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->minute < y->minute ? -1 : x->minute > y->minute;
}

int spans_sum(const struct span *spans, size_t count, struct spans *out)
{
	struct edge *edges;
	int64_t nodes = 0;
	size_t n = 0;
	int failed = 0;

	if (!count)
		return 0;
	edges = calloc(count, 2 * sizeof *edges);
	if (!edges)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (spans[i].start < spans[i].end) {
			edges[n++] = (struct edge){ spans[i].start, spans[i].nodes };
			edges[n++] = (struct edge){ spans[i].end, -(int64_t)spans[i].nodes };
		}
	qsort(edges, n, sizeof *edges, by_minute);
	for (size_t i = 0; !failed && i < n;) {
		int64_t from = edges[i].minute, before = nodes;
		struct span *last = out->count ? &out->list[out->count - 1] : NULL;

		for (; i < n && edges[i].minute == from; i++)
			nodes += edges[i].nodes;
		if (nodes == before)
			continue;
		if (last && last->end == MINUTE_MAX)
			last->end = from;
		if (nodes)
			failed = spans_add(out, from, MINUTE_MAX, (int32_t)nodes);
	}
	free(edges);
	return failed;
}

json_t *render_list(json_t *data, json_t *cursor, bool has_more)
{
	return json_pack("{s:s, s:o, s:b, s:o}", "object", "list", "cursor", cursor ? cursor : json_null(),
		"has_more", (int)has_more, "data", data);
}

json_t *render_pool_summary(const struct engine *e, uint64_t pool)
{
	const struct pool *p = engine_pool(e, pool);

	return json_pack("{s:o, s:o}", "id", render_id(IDENT_POOL, pool), "name", render_text(p ? p->name : "deleted"));
}

json_t *render_sku_summary(const struct engine *e, uint64_t sku)
{
	const struct sku *s = engine_sku(e, sku);

	return json_pack("{s:s, s:o, s:o}", "object", "instance_sku", "id", render_id(IDENT_SKU, sku),
		"alias", render_text(s ? s->alias : ""));
}

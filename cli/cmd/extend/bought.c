/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/extend/bought.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "market/money.h"

struct bought_reading {
	struct bought *b;
	const char *sku;
};

void bought_release(struct bought *b)
{
	free(b->orders);
	free(b->given_up);
	*b = (struct bought){ 0 };
}

static void *bought_more(void *list, size_t count, size_t *room, size_t size)
{
	void *more = list;

	if (count < *room)
		return list;
	*room = *room ? *room * 2 : 16;
	more = reallocarray(list, *room, size);
	if (!more)
		command_nomem();
	return more;
}

static void bought_add_given_up(struct bought *b, const struct model_fill *fill)
{
	if (!fill->given_up || !fill->schedule.count)
		return;
	b->given_up = bought_more(b->given_up, b->given_up_count, &b->given_up_room, sizeof *b->given_up);
	b->given_up[b->given_up_count++] = fill->schedule.list[0].start;
}

static int bought_add(void *arg, struct doc *d, long at, struct fail *f)
{
	struct bought_reading *r = arg;
	struct bought *b = r->b;
	struct model_order o;
	int rc = wire_order(d, at, &o, f);

	if (!rc && !*b->last) /* the market lists the newest first */
		snprintf(b->last, sizeof b->last, "%s", o.id);
	if (rc || o.sell || !o.sku.id || strcmp(o.sku.id, r->sku) != 0)
		return rc;
	if (o.filled_total == MODEL_NONE || money_add(b->sum, o.filled_total, &b->sum))
		return fail_set(f, -EPROTO, "an order does not say what it cost");
	b->orders = bought_more(b->orders, b->count, &b->room, sizeof *b->orders);
	order_status_copy(&b->orders[b->count], &o);
	b->count += b->orders[b->count].filled_minutes > 0;
	for (size_t i = 0; i < o.fill_count; i++)
		bought_add_given_up(b, &o.fills[i]);
	return 0;
}

int bought_read(struct market_link *m, const char *reservation, const char *sku, struct bought *out)
{
	struct bought made = { 0 };
	struct bought_reading r = { &made, sku };
	char path[160];
	int rc;

	snprintf(path, sizeof path, "/v2/orders?limit=200&side=buy&pool=%.80s", reservation);
	rc = market_each(m, path, bought_add, &r);
	if (rc)
		bought_release(&made);
	else
		*out = made;
	return rc;
}

size_t bought_ends(const struct bought *b, struct part_end_at *list, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct part_end_at end = list[i];

		for (size_t k = 0; k < b->given_up_count; k++)
			end.nodes -= b->given_up[k] == end.at;
		if (end.nodes > 0)
			list[kept++] = end;
	}
	return kept;
}

int64_t bought_since(const struct bought *before, const struct order_status *now)
{
	for (size_t i = 0; i < before->count; i++)
		if (strcmp(before->orders[i].id, now->id) == 0)
			return now->total - before->orders[i].total;
	return now->total;
}

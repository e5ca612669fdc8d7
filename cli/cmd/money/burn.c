/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod burn: what each reservation costs an hour, until when, and in total. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/cell.h"
#include "cli/trade/market_link.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "market/money.h"
#include "market/when.h"

enum { MINUTE = 60 };

static const struct column columns[] = {
	{ "reservation", COLUMN_ID, "its name" },
	{ "type", 0, "type of node" },
	{ "nodes", COLUMN_RIGHT | COLUMN_RAW, "nodes that run now" },
	{ "per_hour", COLUMN_RIGHT, "what they cost an hour" },
	{ "per_hour_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" },
	{ "until", 0, "when its last node ends" },
	{ "to_the_end", COLUMN_RIGHT, "cost from now until then" },
	{ "to_the_end_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" },
	{ "pending", COLUMN_RIGHT | COLUMN_RAW | COLUMN_WIDE, "nodes that start next" },
	{ "starts", COLUMN_WIDE, "when the first of those starts" },
	{ "interruptible", COLUMN_RAW | COLUMN_WIDE, "the market may take it back" },
	{ "pool", COLUMN_WIDE, "its id" },
	{ 0 },
};

struct spent {
	char *pool, *name, *type;
	int64_t nodes, pending, per_hour, rest, until, starts;
	bool interruptible;
};

struct burn {
	int64_t now;
	struct spent *list;
	size_t count;
	bool overflow;
};

static char *burn_copy(const char *text)
{
	char *made = strdup(text ? text : "");

	if (!made)
		command_nomem();
	return made;
}

static struct spent *spent_of(struct burn *b, const struct model_lease *l)
{
	const char *pool = l->pool.id ? l->pool.id : "";

	for (size_t i = 0; i < b->count; i++)
		if (strcmp(b->list[i].pool, pool) == 0 && strcmp(b->list[i].type, l->sku.name ? l->sku.name : "") == 0)
			return &b->list[i];
	b->list = reallocarray(b->list, b->count + 1, sizeof *b->list);
	if (!b->list)
		command_nomem();
	b->list[b->count] = (struct spent){ .pool = burn_copy(pool),
		.name = burn_copy(l->pool.name ? l->pool.name : pool),
		.type = burn_copy(l->sku.name),
		.interruptible = l->interruptible };
	return &b->list[b->count++];
}

static int add_lease(void *arg, struct doc *d, long at, struct fail *f)
{
	struct burn *b = arg;
	struct model_lease l;
	struct spent *s;
	int64_t from, hour, rest;
	int rc = wire_lease(d, at, &l, f);

	if (rc || l.end <= b->now)
		return rc;
	s = spent_of(b, &l);
	from = l.start > b->now ? l.start : b->now;
	b->overflow |= money_cost(l.price, l.nodes, MINUTE, &hour) ||
		money_cost(l.price, l.nodes, (l.end - from) / MINUTE, &rest);
	if (b->overflow)
		return 0;
	if (l.start <= b->now) {
		s->nodes += l.nodes;
		b->overflow |= money_add(s->per_hour, hour, &s->per_hour) != 0;
	} else {
		/* Counts only the nodes that start next: later windows are often extensions of the same nodes. */
		if (!s->starts || l.start < s->starts)
			s->pending = 0;
		if (!s->starts || l.start <= s->starts) {
			s->pending += l.nodes;
			s->starts = l.start;
		}
	}
	b->overflow |= money_add(s->rest, rest, &s->rest) != 0;
	s->until = l.end > s->until ? l.end : s->until;
	return 0;
}

/* The line below the table. Everything in it is already paid, so nothing listed can run out of money. */
static void burn_forecast(struct nanopod *np, const struct burn *b, const struct model_balance *balance)
{
	int64_t hour = 0, rest = 0, until = 0;
	char a[CELL_TEXT], c[CELL_TEXT], there[CELL_TEXT], held[CELL_TEXT], at[WHEN_TEXT], when[WHEN_TEXT];

	for (size_t i = 0; i < b->count; i++) {
		if (money_add(hour, b->list[i].per_hour, &hour) || money_add(rest, b->list[i].rest, &rest))
			return;
		until = b->list[i].until > until ? b->list[i].until : until;
	}
	if (!b->count)
		print_note(np, "no running or pending nodes; %s available", money_text(balance->available, there));
	else
		print_note(np, "%s an hour now, %s until %s (%s), all paid; %s remains available%s%s%s",
			money_text(hour, a), money_text(rest, c), when_local(until, b->now, at),
			when_relative(until, b->now, when), money_text(balance->available, there),
			balance->held > 0 ? ", less up to " : "",
			balance->held > 0 ? money_text(balance->held, held) : "",
			balance->held > 0 ? " for orders in the book" : "");
}

static int burn_show(struct nanopod *np, const struct options *o, const struct burn *b)
{
	struct rows *r;
	int rc;

	r = rows_new(np, o, columns, &rc);
	if (!r)
		return rc;
	for (size_t i = 0; i < b->count; i++) {
		const struct spent *s = &b->list[i];
		char nodes[CELL_TEXT], hour[CELL_TEXT], hour_n[CELL_TEXT], until[CELL_TEXT], rest[CELL_TEXT],
			rest_n[CELL_TEXT];
		char pending[CELL_TEXT], starts[CELL_TEXT];

		rows_add(r,
			(const char *[]){ s->name, s->type, cell_int(s->nodes, nodes),
				cell_money(np, s->per_hour, hour), cell_micros(s->per_hour, hour_n),
				cell_time(np, s->until, until), cell_money(np, s->rest, rest),
				cell_micros(s->rest, rest_n), cell_int(s->pending, pending),
				cell_time(np, s->starts, starts), cell_bool(s->interruptible), s->pool });
	}
	return rows_end(r);
}

static int burn_command(struct nanopod *np, const struct options *o)
{
	struct burn b = { .now = (int64_t)time(NULL) };
	struct model_balance balance;
	struct market_link *m;
	int rc;

	if (!rows_check(np, o, columns, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	rc = rc ? rc : market_need_ours(m, "burn");
	if (!rc) {
		/* By the market's clock; a minute that has begun counts as used. */
		b.now = m->about_doc && m->about.now > 0 ? m->about.now : b.now;
		b.now -= b.now % MINUTE;
		if (market_each(m, "/np/v1/leases", add_lease, &b) || market_get(m, "/np/v1/balance") ||
			wire_balance(m->doc, WIRE_WHOLE, &balance, &m->fail))
			rc = market_fail(m, "cannot list what runs");
		else if (b.overflow)
			rc = print_fail(np, STATUS_FAILURE, NULL,
				"cannot list what runs: the sum is too large to compute");
		else
			rc = burn_show(np, o, &b);
		if (!rc && cell_for_people(np) && !option_given(o, "quiet"))
			burn_forecast(np, &b, &balance);
	}
	for (size_t i = 0; i < b.count; i++) {
		free(b.list[i].pool);
		free(b.list[i].name);
		free(b.list[i].type);
	}
	free(b.list);
	market_sign_out(m);
	return rc;
}

static const struct example examples[] = {
	{ "nanopod burn", "show what each reservation costs an hour, until when, and in total" },
	{ "nanopod burn -o json | jq 'map(.per_hour_micros) | add'", "micro-dollars an hour, for an alert" },
	{ "nanopod burn -q", "names of running and pending reservations" },
	{ 0 },
};

const struct command cmd_burn = {
	.name = "burn",
	.args = "",
	.summary = "show what reservations cost, and until when",
	.examples = examples,
	.description = "One row for each reservation and type of node. You paid the cost until its end when you "
		       "bought it; the market keeps it in escrow. The line below the table shows the sum and what "
		       "remains available.",
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.run = burn_command,
};

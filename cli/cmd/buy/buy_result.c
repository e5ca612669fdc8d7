/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/buy/buy_result.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/frame/cell.h"
#include "cli/frame/json.h"
#include "cli/nodes/node.h"
#include "cli/nodes/nodewait.h"
#include "cli/frame/print.h"
#include "cli/frame/remember.h"
#include "market/when.h"

/* What starts later is waited for first. */
enum { BUY_RESULT_SOON = 3 * 60 };

const struct column buy_result_columns[] = {
	{ "reservation", COLUMN_ID, "its name" },
	{ "id", COLUMN_WIDE, "its id" },
	{ "order", 0, "the order's id" },
	{ "status", COLUMN_STATE, "of the order" },
	{ "type", 0, "type of node" },
	{ "nodes", COLUMN_RAW | COLUMN_RIGHT, "number of nodes bought" },
	{ "start", 0, "start" },
	{ "end", 0, "end" },
	{ "price", COLUMN_RIGHT, "paid, in dollars per GPU-hour (per node-hour without GPUs or with --per node)" },
	{ "total", COLUMN_RIGHT, "paid in total, in dollars" },
	{ "total_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in millionths of a dollar" },
	{ "price_micros_per_node_hour", COLUMN_RAW | COLUMN_HIDDEN, "price in millionths of a dollar per node-hour" },
	{ "node_names", COLUMN_RAW | COLUMN_WIDE, "the nodes that were started" },
	{ "replayed", COLUMN_RAW | COLUMN_HIDDEN, "an earlier command did it, or part of it" },
	{ 0 },
};

static void nodes_json(const struct purchase *p, struct buf *out)
{
	struct json j = json_to(out);

	json_begin_array(&j, NULL);
	for (size_t i = 0; i < p->node_count; i++)
		json_text(&j, NULL, p->nodes[i]);
	json_end(&j);
	if (j.error)
		command_nomem();
}

/* For tables: the names with blanks between them. */
static void buy_result_nodes_text(const struct purchase *p, struct buf *out)
{
	for (size_t i = 0; i < p->node_count; i++)
		if (buf_addf(out, "%s%s", i ? " " : "", p->nodes[i]))
			command_nomem();
}

static void buy_result_next_steps(struct nanopod *np, const struct options *o, const struct purchase *p,
	const struct sku *sku, int64_t now)
{
	char total[MONEY_TEXT];

	if (!p->order.filled_nodes)
		return;
	print_note(np, "bought %" PRId64 " node%s of %s for %s as '%s'%s", p->order.filled_nodes,
		p->order.filled_nodes == 1 ? "" : "s", sku->alias ? sku->alias : sku->id,
		money_text(p->order.total, total), p->name, p->replayed ? " (replayed)" : "");
	if (option_given(o, "stack"))
		return; /* its cluster comes next */
	if (p->node_count && p->order.filled_start - now > BUY_RESULT_SOON)
		print_note(np, "next: 'nanopod wait %s', 'nanopod show %s', 'nanopod extend %s -d 12h'", p->name,
			p->name, p->name);
	else if (p->node_count)
		print_note(np,
			"next: 'nanopod ssh %s', 'nanopod run -r %s -- COMMAND', 'nanopod extend %s -d 12h', 'nanopod "
			"show %s'",
			p->nodes[0], p->name, p->name, p->name);
	else if (p->order.granted)
		print_note(np, "next: 'nanopod show %s', 'nanopod extend %s -d 12h', 'nanopod grants'", p->name,
			p->name);
	else
		print_note(np,
			"next: 'nanopod show %s', 'nanopod extend %s -d 12h', 'nanopod sell %s --last 6h -p PRICE'",
			p->name, p->name, p->name);
}

int buy_result_print(struct nanopod *np, const struct options *o, const struct purchase *p, const struct sku *sku,
	unsigned gpus, int64_t now, int status)
{
	const struct order_status *d = &p->order;
	char rooms[8][CELL_TEXT];
	struct buf nodes;
	struct rows *r;
	int rc;

	remember_one(REMEMBER_RESERVATIONS, p->m->url, p->name, NULL);
	remember_one(REMEMBER_ORDERS, p->m->url, d->id, d->status_text);
	for (size_t i = p->node_count; i-- > 0;)
		remember_one(REMEMBER_NODES, p->m->url, p->nodes[i], p->name);
	r = rows_new(np, o, buy_result_columns, &rc);
	if (!r)
		return rc;
	buf_init(&nodes, 1 << 20);
	if (!cell_for_people(np))
		nodes_json(p, &nodes);
	else
		buy_result_nodes_text(p, &nodes);
	rows_add(r,
		(const char *[]){ p->name, p->pool, d->id, order_status_cell(np, d), sku->alias ? sku->alias : sku->id,
			cell_int(d->filled_nodes, rooms[0]),
			cell_time(np, d->filled_minutes ? d->filled_start : d->start, rooms[1]),
			cell_time(np, d->filled_minutes ? d->filled_end : d->end, rooms[2]),
			cell_price(d->average, gpus, rooms[3]), cell_money(np, d->total, rooms[4]),
			cell_int(d->total, rooms[5]), d->average < 0 ? NULL : cell_int(d->average * 60, rooms[6]),
			buf_text(&nodes), p->replayed ? "true" : "false" });
	rc = rows_end(r);
	buf_release(&nodes);
	buy_result_next_steps(np, o, p, sku, now);
	return rc ? rc : status;
}

/* Nodes of a reservation, called `name`, whose time begins at `start`. */
struct buy_result_nodes {
	const char *name, *pool;
	const char *const *list;
	size_t count;
	int64_t start;
};

static int buy_result_await(struct market_link *m, const struct buy_result_nodes *n, int64_t wait_ms, int64_t now)
{
	char when[WHEN_TEXT], hint[400];
	int rc, number = 0;

	if (!wait_ms || !n->count)
		return 0;
	if (wait_ms > 0 && (n->start - now) * 1000 > wait_ms) {
		print_note(m->np, "the nodes of '%s' start %s", n->name, when_relative(n->start, now, when));
		return 0;
	}
	snprintf(hint, sizeof hint, "you have it and it continues to start; 'nanopod nodes -r %.200s' shows its state",
		n->name);
	rc = nodewait_by(m, n->pool, n->list, n->count, n->start, now, wait_ms, &number);
	return nodewait_told(m, rc, number, hint);
}

int buy_result_wait(struct purchase *p, int64_t wait_ms, int64_t now)
{
	struct buy_result_nodes n = { p->name, p->pool, (const char *const *)p->nodes, p->node_count,
		p->order.filled_start };

	return buy_result_await(p->m, &n, wait_ms, now);
}

int buy_result_wait_have(struct market_link *m, const struct reservation *r, int64_t wait_ms, int64_t now)
{
	struct buy_result_nodes wanted = { .name = r->name, .pool = r->id, .start = part_begins(&r->parts[0], now) };
	struct nodes *n = NULL;
	const char **names;
	int rc;

	if (!wait_ms)
		return 0;
	if (nodes_load(m, r->id, false, &n))
		return market_fail(m, "cannot list the nodes of '%s'", r->name);
	names = calloc(n->count + 1, sizeof *names);
	if (!names)
		command_nomem();
	/* Not those of a later time of it. */
	for (size_t i = 0; i < n->count; i++)
		if (n->list[i].start <= wanted.start)
			names[wanted.count++] = n->list[i].id;
	wanted.list = names;
	rc = buy_result_await(m, &wanted, wait_ms, now);
	free(names);
	nodes_free(n);
	return rc;
}

int buy_result_print_have(struct nanopod *np, const struct options *o, const struct reservation *r,
	const struct sku *sku, int64_t now)
{
	const struct reservation_part *part = &r->parts[0];
	int64_t nodes = part_nodes_at(part, now);
	char rooms[3][CELL_TEXT];
	struct rows *rows;
	int rc;

	rows = rows_new(np, o, buy_result_columns, &rc);
	if (!rows)
		return rc;
	rows_add(rows,
		(const char *[]){ r->name, r->id, NULL, reservation_state(r, now), sku->alias ? sku->alias : sku->id,
			cell_int(nodes ? nodes : part_most(part), rooms[0]), cell_time(np, part_start(part), rooms[1]),
			cell_time(np, part_end(part), rooms[2]), NULL, NULL, NULL, NULL, NULL, "false" });
	return rows_end(rows);
}

int buy_result_print_quote(struct nanopod *np, const struct options *o, const char *name, const struct quote *q,
	const struct sku *sku, unsigned gpus)
{
	char rooms[8][CELL_TEXT];
	struct rows *r;
	int rc;

	/* A script that reads names must not take this one for a purchase. */
	if (np->format == FORMAT_NAME || option_given(o, "quiet"))
		return 0;
	r = rows_new(np, o, buy_result_columns, &rc);
	if (!r)
		return rc;
	rows_add(r,
		(const char *[]){ name, NULL, NULL, q->fills ? "would fill" : "would wait",
			sku->alias ? sku->alias : sku->id, cell_int(q->nodes, rooms[0]),
			cell_time(np, q->start, rooms[1]), cell_time(np, q->end, rooms[2]),
			q->known ? cell_price(quote_average(q), gpus, rooms[3]) : NULL,
			q->known ? cell_money(np, q->cost, rooms[4]) : NULL,
			q->known ? cell_int(q->cost, rooms[5]) : NULL,
			q->known ? cell_int(quote_average(q) * 60, rooms[6]) : NULL, !cell_for_people(np) ? "[]" : NULL,
			"false" });
	return rows_end(r);
}

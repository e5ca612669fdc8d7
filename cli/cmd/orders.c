/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod orders: lists orders, and purchases that were cut off before their answer came. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/cell.h"
#include "cli/trade/resume_file.h"
#include "cli/trade/market_link.h"
#include "cli/trade/order_status.h"
#include "cli/trade/purchase.h"
#include "cli/frame/print.h"
#include "cli/frame/remember.h"
#include "cli/trade/reservation.h"
#include "cli/frame/rows.h"
#include "cli/frame/signals.h"
#include "cli/trade/sku_list.h"
#include "cli/frame/value.h"
#include "market/when.h"

static const struct column columns[] = {
	{ "order", COLUMN_ID, "its id" },
	{ "side", 0, "buy or sell" },
	{ "status", COLUMN_STATE,
		"pending, standing, partly filled (partially_filled in JSON), filled, cancelled, rejected" },
	{ "reservation", 0, "its reservation" },
	{ "type", COLUMN_MINOR, "type of node" },
	{ "nodes", COLUMN_RAW | COLUMN_RIGHT, "number of nodes ordered" },
	{ "filled", COLUMN_RAW | COLUMN_RIGHT | COLUMN_MINOR, "most nodes that filled at once" },
	{ "start", COLUMN_MINOR, "start" },
	{ "end", 0, "end" },
	{ "limit", COLUMN_RIGHT, "in dollars per GPU-hour" },
	{ "paid", COLUMN_RIGHT | COLUMN_MINOR, "average price that it filled at" },
	{ "total", COLUMN_RIGHT | COLUMN_WIDE, "paid in total, in dollars" },
	{ "held", COLUMN_RIGHT | COLUMN_WIDE, "money that the market holds for it" },
	{ "reason", COLUMN_WIDE | COLUMN_TEXT, "why it did not fill" },
	{ "created", COLUMN_WIDE, "when it was placed" },
	{ "total_micros", COLUMN_RAW | COLUMN_HIDDEN, "the total in millionths of a dollar" },
	{ "limit_micros_per_node_hour", COLUMN_RAW | COLUMN_HIDDEN,
		"the limit in millionths of a dollar per node-hour" },
	{ 0 },
};

struct listing {
	struct nanopod *np;
	struct rows *rows;
	const struct skus *skus;
	bool all;
	char names[512][64], help[512][32];
	size_t count;
};

static void orders_add_row(struct listing *l, const struct model_order *o, const struct order_status *p)
{
	const struct sku *sku = skus_by_id(l->skus, p->sku);
	unsigned gpus = sku ? sku->gpus : 0;
	char r[12][CELL_TEXT];

	rows_add(l->rows,
		(const char *[]){ p->id, p->sell ? "sell" : "buy", order_status_cell(l->np, p),
			*p->pool_name ? p->pool_name : p->pool,
			sku && sku->alias     ? sku->alias
				: o->sku.name ? o->sku.name
					      : p->sku,
			cell_int(p->nodes, r[0]), cell_int(p->filled_nodes, r[1]), cell_time(l->np, p->start, r[2]),
			cell_time(l->np, p->end, r[3]), cell_price(p->limit, gpus, r[4]),
			cell_price(p->average, gpus, r[5]), cell_money(l->np, p->total, r[6]),
			cell_money(l->np, p->hold, r[7]), *p->reason_text ? p->reason_text : NULL,
			cell_time(l->np, o->created_at, r[8]), cell_int(p->total, r[9]),
			cell_int(p->limit * 60, r[10]) });
}

/* Without --all only orders that can still change. */
static int orders_list_one(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_order o;
	struct order_status p;
	int rc = wire_order(d, at, &o, f);

	if (rc)
		return rc;
	order_status_copy(&p, &o);
	if (l->count < sizeof l->names / sizeof *l->names) {
		snprintf(l->names[l->count], sizeof *l->names, "%s", p.id);
		snprintf(l->help[l->count++], sizeof *l->help, "%s", p.status_text);
	}
	if (l->all || !order_status_decided(&p))
		orders_add_row(l, &o, &p);
	return 0;
}

static void orders_remember(const struct market_link *m, const struct listing *l)
{
	const char *names[512], *help[512];

	for (size_t i = 0; i < l->count; i++) {
		names[i] = l->names[i];
		help[i] = l->help[i];
	}
	remember_all(REMEMBER_ORDERS, m->where, names, help, l->count);
}

/* ---- Purchases that were cut off --------------------------------------------------------- */

struct unfinished {
	char *command, *order; /* order: NULL where its answer is not known */
	int64_t begun;
};

struct unfinished_list {
	struct unfinished list[64];
	size_t count;
};

static bool unfinished_take(void *arg, const struct resume_file *i)
{
	struct unfinished_list *all = arg;
	struct unfinished *u = &all->list[all->count++];
	const char *order = resume_file_get(i, "order");

	*u = (struct unfinished){ .command = strdup(resume_file_command(i)),
		.order = order ? strdup(order) : NULL,
		.begun = resume_file_begun(i) };
	if (!u->command || (order && !u->order))
		command_nomem();
	return all->count < sizeof all->list / sizeof *all->list;
}

/* An order that was left in the book on purpose: it is in the list, and nothing can be done before it fills. */
static bool unfinished_waits(struct market_link *m, const struct unfinished *u)
{
	struct order_status p;

	return u->order && !m->explain && order_status_look(m, u->order, &p) == 0 && p.standing &&
		!order_status_decided(&p) && !p.filled_minutes;
}

/* Nobody may begin a purchase while the files are listed, so the market is asked afterwards. */
static void tell_all_unfinished(struct market_link *m)
{
	static const char *const verbs[] = { "buy", "extend", "sell", "release" };
	struct unfinished_list all = { .count = 0 };
	char *prefix, when[WHEN_TEXT];

	purchase_forget_cancelled(m);
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		if (asprintf(&prefix, "%s\n%s\n", verbs[i], m->url) < 0)
			command_nomem();
		if (all.count < sizeof all.list / sizeof *all.list)
			resume_file_each(prefix, unfinished_take, &all);
		free(prefix);
	}
	for (size_t i = 0; i < all.count; i++) {
		struct unfinished *u = &all.list[i];

		if (!unfinished_waits(m, u))
			print_note(m->np, "a purchase that began %s is not finished: '%s' continues it",
				when_relative(u->begun, (int64_t)time(NULL), when), u->command);
		free(u->command);
		free(u->order);
	}
}

/* ---- The list ----------------------------------------------------------------------------- */

static int make_path(struct market_link *m, const struct options *o, struct buf *path)
{
	static const char *const open[] = { "pending", "standing", "partially_filled" };
	struct reservation r = { 0 };
	int rc = 0;

	buf_adds(path, "/v2/orders?limit=200&sort_by=-created_at");
	if (option_given(o, "side"))
		buf_addf(path, "&side=%s", option_text(o, "side"));
	for (size_t i = 0; i < option_count(o, "status"); i++)
		buf_addf(path, "&status=%s", option_at(o, "status", i));
	for (size_t i = 0; i < sizeof open / sizeof *open && !option_given(o, "all") && !option_given(o, "status"); i++)
		buf_addf(path, "&status=%s", open[i]);
	if (option_given(o, "reservation")) {
		rc = reservation_find(m, option_text(o, "reservation"), &r);
		if (!rc)
			buf_addf(path, "&pool=%s", r.id);
		reservation_release(&r);
	}
	return rc;
}

static int orders_check(struct nanopod *np, const struct options *o)
{
	static const char words[] = "pending|standing|partially_filled|filled|cancelled|rejected";
	struct fail f = { 0 };
	size_t at;

	for (size_t i = 0; i < option_count(o, "status"); i++)
		if (value_enum(option_at(o, "status", i), words, &at, &f))
			return print_fail_field(np, STATUS_USAGE, "--status", NULL, "cannot use '--status': %s",
				f.text);
	return 0;
}

static int cmd_orders_list(struct market_link *m, const struct options *o)
{
	struct skus skus = { 0 };
	struct listing *l = calloc(1, sizeof *l);
	struct buf path;
	int rc;

	if (!l)
		command_nomem();
	buf_init(&path, 65536);
	rc = skus_load(m, &skus);
	rc = rc ? rc : make_path(m, o, &path);
	*l = (struct listing){ .np = m->np, .skus = &skus, .all = option_given(o, "all") || option_given(o, "status") };
	l->rows = rc ? NULL : rows_new(m->np, o, columns, &rc);
	if (l->rows) {
		if (market_each(m, buf_text(&path), orders_list_one, l))
			rc = market_fail(m, "cannot list the orders");
		else
			orders_remember(m, l);
		if (rc || m->explain)
			rows_drop(l->rows);
		else
			rows_end(l->rows);
		if (!rc && !m->explain && !l->count && cell_for_people(m->np) && !option_given(o, "quiet"))
			print_note(m->np, "no order %s",
				l->all ? "fits" : "is in the book; '--all' lists the others too");
		tell_all_unfinished(m);
	}
	buf_release(&path);
	skus_release(&skus);
	free(l);
	return rc;
}

static int orders_command(struct nanopod *np, const struct options *o)
{
	struct market_link *m = NULL;
	int rc = orders_check(np, o);

	if (rc)
		return rc;
	if (signals_begin())
		command_nomem();
	rc = market_sign_in(np, o, 0, &m);
	rc = rc ? rc : cmd_orders_list(m, o);
	market_sign_out(m);
	signals_end();
	return rc;
}

static const struct option options[] = {
	{ "all", 'a', OPTION_FLAG, .help = "list filled, cancelled and rejected orders too" },
	{ "side", 0, OPTION_ENUM, .values = "buy|sell", .help = "only orders of this side",
		.complete = COMPLETE_VALUES },
	{ "status", 0, OPTION_LIST, "STATUS",
		.help = "only these: pending, standing, partially_filled, filled, cancelled, rejected; "
			"repeatable" },
	{ "reservation", 'r', OPTION_STRING, "RESERVATION", .help = "only orders for this reservation",
		.complete = COMPLETE_RESERVATION },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod orders", "list what waits in the book" },
	{ "nanopod orders --all -o wide", "list all, with the reasons" },
	{ "nanopod orders -q --side sell", "ids only, for scripts" },
	{ 0 },
};

const struct command cmd_orders = {
	.name = "orders",
	.args = "",
	.summary = "list orders",
	.examples = examples,
	.description = "Lists the latest first. Standard error names your purchases that were cut off before their "
		       "answer came, with the command that continues each.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.run = orders_command,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod cancel: takes orders out of the book. An order may fill first; the result says which of the two happened. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/frame/cell.h"
#include "cli/trade/market_link.h"
#include "cli/trade/order_status.h"
#include "cli/trade/purchase.h"
#include "cli/trade/reservation.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/frame/signals.h"
#include "market/ident.h"

enum { CONFIRM_MS = 60000, NAMED = 3 };

static const struct column columns[] = {
	{ "order", COLUMN_ID, "its id" },
	{ "result", COLUMN_STATE, "cancelled, filled or failed" },
	{ "status", COLUMN_WIDE, "the status that the market gives it" },
	{ "nodes", COLUMN_RAW | COLUMN_RIGHT, "number of nodes ordered" },
	{ "filled", COLUMN_RAW | COLUMN_RIGHT, "number of nodes that filled before" },
	{ "reservation", 0, "its reservation" },
	{ "message", COLUMN_TEXT, "why it failed" },
	{ 0 },
};

struct named_orders {
	struct buf text;
	size_t count;
};

static int cancel_take_name(void *arg, struct doc *d, long at, struct fail *f)
{
	struct named_orders *n = arg;
	struct model_order o;
	int rc = wire_order(d, at, &o, f);

	if (rc)
		return rc;
	if (n->count++ < NAMED && buf_addf(&n->text, " %.63s", o.id))
		command_nomem();
	return 0;
}

/* What was typed is no id: where it is a reservation, names its orders. A negative code in m->fail. */
static int cancel_refuse(struct market_link *m, const char *typed)
{
	struct named_orders n = { .count = 0 };
	struct reservation r = { 0 };
	struct fail why = { 0 };
	char path[256];
	int rc = REASON_INVALID;

	buf_init(&n.text, 4096);
	if (!m->explain && reservation_check_name(typed, &why) == 0 && reservation_look(m, typed, &r) == 0) {
		snprintf(path, sizeof path,
			"/v2/orders?limit=200&pool=%.63s&status=pending&status=standing&status=partially_filled", r.id);
		if (market_each(m, path, cancel_take_name, &n) == 0)
			rc = 0;
	}
	if (rc)
		rc = fail_set(&m->fail, REASON_INVALID,
			"'%.60s' is not the id of an order; 'nanopod orders' lists them", typed);
	else if (!n.count)
		rc = fail_set(&m->fail, REASON_INVALID,
			"it is a reservation, and has no open order; 'nanopod orders' lists yours");
	else
		rc = fail_set(&m->fail, REASON_INVALID, "it is a reservation; 'nanopod cancel%s' cancels %s",
			buf_text(&n.text),
			n.count == 1               ? "its open order"
				: n.count <= NAMED ? "its open orders"
						   : "some of its open orders, and 'nanopod orders' lists them");
	reservation_release(&r);
	buf_release(&n.text);
	return rc;
}

/* 0 or a negative code in m->fail; *p is what is known of the order. */
static int cancel_one(struct market_link *m, const char *id, struct order_status *p)
{
	char path[128];
	int number = 0, rc;

	if (!ident_looks(IDENT_ORDER, id))
		return cancel_refuse(m, id);
	snprintf(path, sizeof path, "/v2/orders/%.60s", id);
	rc = market_send(m, "DELETE", path, NULL, NULL);
	if (rc == MARKET_EXPLAINED)
		return rc;
	if (rc && rc != REASON_INVALID && rc != REASON_WRONG_STATE && rc != REASON_MALFORMED)
		return rc;
	/* The answer only means that the market took the request; the order shows when it is cancelled. */
	rc = order_status_look(m, id, p);
	if (!rc && p->status != MODEL_ORDER_CANCELLED && p->status != MODEL_ORDER_FILLED &&
		p->status != MODEL_ORDER_REJECTED)
		rc = order_status_wait(m, p, CONFIRM_MS, &number);
	if (rc == 1)
		return fail_set(&m->fail, CLIENT_LOST, "the market took the request and has not confirmed it yet");
	if (rc == 2)
		return fail_set(&m->fail, CLIENT_STOPPED, "interrupted; the market has the request");
	if (!rc && p->status == MODEL_ORDER_FILLED)
		return fail_set(&m->fail, REASON_WRONG_STATE,
			"it was filled before; 'nanopod release %s' or 'nanopod sell %s' gives it up", p->pool_name,
			p->pool_name);
	return rc;
}

static int cancel_command(struct nanopod *np, const struct options *o)
{
	struct market_link *m = NULL;
	char **ids = option_argv(o), r1[CELL_TEXT], r2[CELL_TEXT];
	int status = STATUS_OK, count = option_argc(o), failed = 0, rc;
	struct rows *r = NULL;
	bool people;

	if (signals_begin())
		command_nomem();
	rc = market_sign_in(np, o, 0, &m);
	r = rc ? NULL : rows_new(np, o, columns, &rc);
	if (!r) {
		market_sign_out(m);
		signals_end();
		return rc;
	}
	people = cell_for_people(np);
	for (int i = 0; i < count; i++) {
		struct order_status p = { .filled_nodes = 0 };

		rc = cancel_one(m, ids[i], &p);
		if (rc == MARKET_EXPLAINED)
			continue;
		rows_add(r,
			(const char *[]){ ids[i],
				!rc                                      ? "cancelled"
					: p.status == MODEL_ORDER_FILLED ? "filled"
									 : "failed",
				order_status_cell(np, &p), *p.id ? cell_int(p.nodes, r1) : NULL,
				*p.id ? cell_int(p.filled_nodes, r2) : NULL, *p.pool_name ? p.pool_name : NULL,
				rc && !people ? m->fail.text : NULL });
		if (rc) {
			failed++;
			status = market_fail(m, "cannot cancel '%.60s'", ids[i]);
		}
	}
	purchase_forget_cancelled(m);
	/* For a person the sentence has said it. */
	if (m->explain || (people && count == 1 && failed))
		rows_drop(r);
	else
		rows_end(r);
	market_sign_out(m);
	signals_end();
	return failed && failed < count ? STATUS_PARTLY : status;
}

static const struct option options[] = {
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod cancel ordr_2f8c1e7ab90d4", "cancel one order" },
	{ "nanopod orders -q --status standing | xargs nanopod cancel", "cancel all that wait" },
	{ 0 },
};

const struct command cmd_cancel = {
	.name = "cancel",
	.args = "ORDER...",
	.summary = "cancel orders",
	.examples = examples,
	.description = "Returns when the market has confirmed it. The market frees the money that it held for what "
		       "did not fill. An order that filled before cannot be cancelled: the exit status is 5. With "
		       "several orders the exit status is 10 if only some failed.",
	.positional = "ORDER  the id of an order; 'nanopod orders' lists them",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET,
	.min_args = 1,
	.max_args = -1,
	.complete_first = COMPLETE_ORDER,
	.complete_rest = COMPLETE_ORDER,
	.run = cancel_command,
};

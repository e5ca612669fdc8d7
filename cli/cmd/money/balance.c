/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod balance: money that is available, held for orders, and paid for time that has not passed. */
#include "cli/frame/cell.h"
#include "cli/trade/market_link.h"
#include "cli/frame/rows.h"
#include "cli/cmd/money/debt.h"

static const struct column columns[] = {
	{ "available", COLUMN_ID, "what you can spend" },
	{ "available_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" },
	{ "held", 0, "reserved for orders that wait in the book, and for payouts" },
	{ "held_micros", COLUMN_RAW | COLUMN_HIDDEN, NULL },
	{ "payouts", COLUMN_WIDE, "of what is held: payouts that were not sent yet" },
	{ "payouts_micros", COLUMN_RAW | COLUMN_HIDDEN, NULL },
	{ "escrow", 0, "paid for time that has not passed yet" },
	{ "escrow_micros", COLUMN_RAW | COLUMN_HIDDEN, NULL },
	{ "unsettled", 0, "earned by selling, not available yet" },
	{ "unsettled_micros", COLUMN_RAW | COLUMN_HIDDEN, NULL },
	{ "floor", COLUMN_WIDE, "the lowest that 'available' may become" },
	{ "floor_micros", COLUMN_RAW | COLUMN_HIDDEN, NULL },
	{ "burn_per_hour", 0, "what the running nodes cost an hour" },
	{ "burn_per_hour_micros", COLUMN_RAW | COLUMN_HIDDEN, NULL },
	DEBT_COLUMNS(COLUMN_WIDE),
	{ 0 },
};

static int balance_show(struct nanopod *np, const struct options *o, const struct model_balance *b,
	const struct model_debt *debt)
{
	const int64_t amounts[] = { b->available, b->held, b->payouts, b->escrow, b->unsettled, b->floor, b->burn };
	enum { AMOUNTS = sizeof amounts / sizeof *amounts };
	char rooms[2 * AMOUNTS][CELL_TEXT];
	const char *cells[2 * AMOUNTS + DEBT_CELLS];
	struct debt_cells owed;
	struct rows *r;
	int rc;

	if (option_given(o, "quiet"))
		np->format = FORMAT_NAME; /* for scripts: without a dollar sign and commas */
	for (size_t i = 0; i < AMOUNTS; i++) {
		cells[2 * i] = cell_money(np, amounts[i], rooms[2 * i]);
		cells[2 * i + 1] = cell_micros(amounts[i], rooms[2 * i + 1]);
	}
	debt_fill(np, debt, &owed);
	for (size_t i = 0; i < DEBT_CELLS; i++)
		cells[2 * AMOUNTS + i] = owed.at[i];
	r = rows_new(np, o, columns, &rc);
	if (!r)
		return rc;
	rows_add(r, cells);
	rc = rows_end(r);
	debt_say(np, debt);
	return rc;
}

static int balance_command(struct nanopod *np, const struct options *o)
{
	struct model_debt debt;
	struct model_balance b;
	struct market_link *m;
	int rc, ours;

	if (!rows_check(np, o, columns, &rc))
		return rc;
	rc = market_sign_in(np, o, 0, &m);
	if (rc)
		return rc;
	ours = market_ours(m);
	if (ours < 0 || market_get(m, "%s", ours ? "/np/v1/balance" : "/v1/balances") ||
		wire_balance(m->doc, WIRE_WHOLE, &b, &m->fail) || wire_debt(m->doc, WIRE_WHOLE, &debt, &m->fail))
		rc = market_fail(m, "cannot show the balance");
	else
		rc = balance_show(np, o, &b, &debt);
	market_sign_out(m);
	return rc;
}

static const struct example examples[] = {
	{ "nanopod balance", "show what you can spend, what is held, what runs" },
	{ "nanopod balance -q", "what you can spend, for scripts: 12.500000" },
	{ "nanopod balance -o json", "every amount as a decimal and in micro-dollars" },
	{ 0 },
};

const struct command cmd_balance = {
	.name = "balance",
	.args = "",
	.summary = "show the balance of the account",
	.examples = examples,
	.description = "You pay for a reservation when you buy it; the market keeps that money in escrow until its "
		       "minutes have passed. 'nanopod burn' shows the cost of each reservation, 'nanopod ledger' "
		       "every posting.",
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_MARKET | COMMAND_ACCOUNT,
	.run = balance_command,
};

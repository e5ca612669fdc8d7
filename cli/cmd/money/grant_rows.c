/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/money/grant_rows.h"

#include "cli/frame/cell.h"

const struct column grant_columns[] = {
	{ "grant", COLUMN_ID, "its name" },
	{ "account", 0, "account whose buys it pays for" },
	{ "sponsor", 0, "account that pays" },
	{ "state", COLUMN_STATE, "open, spent or ended" },
	{ "max", COLUMN_RIGHT, "what it pays in all, at most" },
	{ "spent", COLUMN_RIGHT, "what it paid, without what came back" },
	{ "left", COLUMN_RIGHT, "what it has left" },
	{ "ends", 0, "until when it pays" },
	{ "id", COLUMN_WIDE, "its id, for 'admin grant end'" },
	{ "created", COLUMN_WIDE, "when it was made" },
	{ "left_micros", COLUMN_RAW | COLUMN_HIDDEN, "what is left in micro-dollars" },
	{ "spent_micros", COLUMN_RAW | COLUMN_HIDDEN, NULL },
	{ 0 },
};

int grant_row(void *arg, struct doc *d, long at, struct fail *f)
{
	struct listing *l = arg;
	struct model_grant g;
	char rooms[7][CELL_TEXT];
	int rc = wire_grant(d, at, &g, f);

	if (!rc)
		rows_add(l->rows,
			(const char *[]){ g.name, g.account, g.sponsor, g.state, cell_money(l->np, g.max, rooms[0]),
				cell_money(l->np, g.spent, rooms[1]), cell_money(l->np, g.left, rooms[2]),
				cell_time(l->np, g.end, rooms[3]), g.id, cell_time(l->np, g.created_at, rooms[4]),
				cell_micros(g.left, rooms[5]), cell_micros(g.spent, rooms[6]) });
	return rc;
}

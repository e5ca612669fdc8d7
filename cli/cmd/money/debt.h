/* SPDX-License-Identifier: Apache-2.0 */
/* What people read of an account that owes: how much, since when, what happens when, how to pay. */
#ifndef CLI_CMD_MONEY_DEBT_H
#define CLI_CMD_MONEY_DEBT_H

#include "cli/frame/rows.h"
#include "market/wire.h"

enum { DEBT_CELLS = 4 };

/* The columns of a debt; flags: of those that people need not see. */
#define DEBT_COLUMNS(flags) \
	{ "owes", COLUMN_RIGHT | (flags), "what the account spent beyond what it had" }, \
		{ "owes_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" }, \
		{ "owes_since", flags, "since when" }, \
	{ \
		"suspends", COLUMN_WIDE | (flags), "when the market suspends the account for that, or did" \
	}

struct debt_cells {
	const char *at[DEBT_CELLS]; /* of DEBT_COLUMNS */
	char rooms[DEBT_CELLS][64];
};

void debt_fill(const struct nanopod *np, const struct model_debt *d, struct debt_cells *c);

/* A note for the people of the account, where it owes. */
void debt_say(struct nanopod *np, const struct model_debt *d);

#endif

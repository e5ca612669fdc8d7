/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/money/debt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "market/money.h"

enum { DEBT_CENT = 10000, DEBT_LEAST = 50 };

void debt_fill(const struct nanopod *np, const struct model_debt *d, struct debt_cells *c)
{
	c->at[0] = d->owed ? cell_money(np, d->owed, c->rooms[0]) : NULL;
	c->at[1] = d->owed ? cell_micros(d->owed, c->rooms[1]) : NULL;
	c->at[2] = cell_time(np, d->since, c->rooms[2]);
	c->at[3] = cell_time(np, d->suspends, c->rooms[3]);
}

/* As it is typed: whole cents, at least what payment services take. */
static const char *debt_topup(int64_t micros, char room[MONEY_TEXT])
{
	int64_t cents = (micros + DEBT_CENT - 1) / DEBT_CENT;

	cents = cents < DEBT_LEAST ? DEBT_LEAST : cents;
	snprintf(room, MONEY_TEXT, "%" PRId64 ".%02d", cents / 100, (int)(cents % 100));
	return room;
}

void debt_say(struct nanopod *np, const struct model_debt *d)
{
	char owed[MONEY_TEXT], pay[MONEY_TEXT], since[CELL_TEXT], end[CELL_TEXT];

	if (!d->owed || !cell_for_people(np))
		return;
	money_text(d->owed, owed);
	debt_topup(d->owed, pay);
	cell_time(np, d->since, since);
	if (!d->suspends)
		print_note(np, "you owe %s since %s; pay with 'nanopod topup %s'", owed, since, pay);
	else if (strcmp(d->step, "suspended") == 0)
		print_note(np,
			"you owe %s since %s, so the market suspended your account at %s; it is open again once you "
			"pay, with 'nanopod topup %s'",
			owed, since, cell_time(np, d->suspends, end), pay);
	else
		print_note(np,
			"you owe %s since %s; your account is suspended at %s unless you pay, with 'nanopod topup %s'",
			owed, since, cell_time(np, d->suspends, end), pay);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A command that lists what one path of the market lists: sign-in, every page, one row for each member. */
#ifndef CLI_TRADE_ROWS_LIST_H
#define CLI_TRADE_ROWS_LIST_H

#include "cli/frame/rows.h"
#include "cli/trade/market_link.h"

/* What `add` gets as its first argument. */
struct listing {
	struct nanopod *np;
	struct rows *rows;
	const char *remember; /* as what remember.h keeps the names; NULL: not */
	char **names;
	size_t name_count;
};

struct rows_list {
	const char *command; /* "token list": refused on a market that is not one of ours */
	const char *path;
	const char *what; /* "the tokens", for "cannot list the tokens" */
	const struct column *columns;
	market_each_fn add; /* adds one row to its struct listing */
	const char *none;   /* what people read where there is nothing to list; NULL: nothing */
};

/* `add` names a thing that completion offers from then on. */
void listing_name(struct listing *l, const char *kind, const char *name);

/* --all-accounts of a command with COMMAND_ACCOUNT: np->account is all of them. 0 or an exit status. */
int rows_all_accounts(struct nanopod *np, const struct options *o);

/* An exit status, everything said. */
int rows_list(struct nanopod *np, const struct options *o, const struct rows_list *l);

/* The one that the market has just answered with, as a row; what: "the account", for "cannot show the account". */
int rows_one(struct market_link *m, const struct options *o, const struct column *columns, market_each_fn add,
	const char *what);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an order would do now. A nanopod market answers this itself, with the full check that the order will
 * get. For another market it is computed from its public order book.
 */
#ifndef CLI_TRADE_QUOTE_H
#define CLI_TRADE_QUOTE_H

#include "cli/trade/market_link.h"
#include "cli/frame/retype.h"
#include "cli/trade/sku_list.h"
#include "market/money.h"

enum { QUOTE_LEVELS = 32, QUOTE_ALTERNATIVES = 8, QUOTE_WHOLE = 1000000 };

struct quote {
	bool fills;
	bool firm;           /* the market checked it; else computed from its book */
	bool known;          /* the members below are known */
	int64_t cost, price; /* price: of the dearest node-minute: the lowest limit that fills */
	int64_t granted;     /* what a grant pays besides the cost */
	int64_t share;       /* millionths of a price that the buyer pays, by the market's policy */
	char rule[64], why[256], grant[256]; /* of the policy; "": none */
	int64_t nodes, start, end;
	int64_t available_after;   /* MODEL_NONE: not known */
	int reason;                /* enum reason; REASON_NONE where it fills */
	char message[400];
	struct { char kind[12]; int64_t price, nodes, start, end; } alternatives[QUOTE_ALTERNATIVES];
	size_t alternative_count;
};

/* It could be bought, but for the money, or for what may be spent. */
bool quote_only_money(int reason);

/* Reads m->doc, the answer of POST /np/v1/quote or of a dry run. */
int quote_take(struct market_link *m, struct quote *q);

/* "grant 'study' pays $14.40 of $14.40 (policy 'subsidy')"; "": the policy does nothing to the price. */
enum { QUOTE_POLICY = 512 };
const char *quote_policy(const struct quote *q, bool standing, char room[QUOTE_POLICY]);

/* 0 or a negative code in m->fail: the market does not answer, or the order is invalid. */
int quote_ask(struct market_link *m, const struct model_order_new *order, const struct sku *sku, struct quote *q);

/* The offers that last through a whole window, by price. */
struct quote_level {
	int64_t price, nodes; /* nodes: on sale through the whole window */
};

struct quote_book {
	struct quote_level levels[QUOTE_LEVELS]; /* cheapest first */
	size_t count;
	bool more; /* the book has dearer ones */
};

int quote_book(struct market_link *m, const struct sku *sku, int64_t start, int64_t end, struct quote_book *book);

/* The average price, rounded; only the total is exact. -1: not known. */
int64_t quote_average(const struct quote *q);
int64_t quote_own(const struct quote *q); /* the same of what the buyer pays, without a grant's part */

/* The highest limit whose total cost does not overflow. */
int64_t quote_any_price(int64_t nodes, int64_t minutes);

/* The price as text for -p, never below it: "2.1", per GPU-hour (gpus 0: per node-hour). */
const char *quote_limit_text(int64_t price, unsigned gpus, char room[MONEY_TEXT]);

/*
 * "'nanopod buy … -p 2.1' or '… -n 1' would fill": the alternatives as commands; "" where this command has
 * options for none of them. words: the arguments to name; NULL: all that were typed. gpus: as for -p on this
 * command line.
 */
void quote_hint(const struct quote *q, const struct command *cmd, const struct options *o, char *const *words,
	unsigned gpus, struct buf *out);

#endif

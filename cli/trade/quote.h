/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an order would do now, asked of the market before anything is agreed to: one of ours is asked
 * itself, with the full check that the order will get; of another one's open book it is worked out.
 */
#ifndef CLI_TRADE_QUOTE_H
#define CLI_TRADE_QUOTE_H

#include "cli/trade/market_link.h"
#include "cli/frame/retype.h"
#include "cli/trade/sku_list.h"
#include "market/money.h"

enum { QUOTE_LEVELS = 32, QUOTE_ALTERNATIVES = 8 };

struct quote {
	bool fills;
	bool firm;                 /* the market checked it; else worked out from its book */
	bool known;                /* cost, price and what is below it are told */
	int64_t cost, price;       /* price: of the dearest node-minute, as a limit would have to be */
	int64_t nodes, start, end;
	int64_t available_after;   /* MODEL_NONE: not told */
	int reason;                /* enum reason; REASON_NONE where it fills */
	char message[400];
	struct { char kind[12]; int64_t price, nodes, start, end; } alternatives[QUOTE_ALTERNATIVES];
	size_t alternative_count;
};

/* From m->doc, where it is an answer of POST /np/v1/quote or of a dry run. */
int quote_take(struct market_link *m, struct quote *q);

/* 0 or a negative code in m->fail: it could not be asked, or the order is impossible as it is. */
int quote_ask(struct market_link *m, const struct model_order_new *order, const struct sku *sku, struct quote *q);

/* What is on sale all through a window, by price. */
struct quote_level {
	int64_t price, nodes;      /* nodes: had all through the window */
};

struct quote_book {
	struct quote_level levels[QUOTE_LEVELS]; /* cheapest first */
	size_t count;
	bool more;                 /* there are dearer ones */
};

int quote_book(struct market_link *m, const struct sku *sku, int64_t start, int64_t end, struct quote_book *book);

/* As one price for all of it, for comparing: levels differ, and only the total is exact. -1: not known. */
int64_t quote_average(const struct quote *q);

/* A limit above which nothing can go wrong: the highest that such an order can be counted with. */
int64_t quote_any_price(int64_t nodes, int64_t minutes);

/* A price as text for -p that is not below it: "2.1", per GPU-hour (gpus 0: per node-hour). */
const char *quote_limit_text(int64_t price, unsigned gpus, char room[MONEY_TEXT]);

/*
 * "'nanopod buy … -p 2.1' would fill, or '… -n 1'": the alternatives as commands; "" where there are
 * none that this command has options for. words: those of them it is about; NULL: all that were typed.
 * gpus as for -p of this command line.
 */
void quote_hint(const struct quote *q, const struct command *cmd, const struct options *o, char *const *words,
	unsigned gpus, struct buf *out);

#endif

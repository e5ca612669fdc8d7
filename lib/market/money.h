/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Money is int64 micro-dollars, a price is micro-dollars per node-minute (so the smallest step is $0.00006
 * per node-hour). Functions that round say so, and none overflows.
 */
#ifndef MARKET_MONEY_H
#define MARKET_MONEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

enum { MONEY_TEXT = 32 };

/* 0, or -ERANGE with *out untouched. */
int money_add(int64_t a, int64_t b, int64_t *out);
int money_mul(int64_t a, int64_t b, int64_t *out);
int money_cost(int64_t price, int64_t nodes, int64_t minutes, int64_t *out); /* all not negative */

/* What a person types: "12", "$12.50", at most six decimals, not negative. 0 or -EINVAL / -ERANGE. */
int money_parse(const char *text, int64_t *micros, struct fail *f);

/* What goes over the wire: digits, a point, digits; a minus only where negative is allowed. */
int money_parse_wire(const char *text, bool negative, int64_t *micros);
const char *money_wire(int64_t micros, char room[MONEY_TEXT]); /* "-12.500000" */
const char *money_text(int64_t micros, char room[MONEY_TEXT]); /* "$1,234.50"; more than cents if needed */
const char *money_cents(int64_t micros, char room[MONEY_TEXT]); /* to the nearest cent, if it is one at least */

/* Dollars per node-hour on the wire; rounded to the nearest step; *exact: it was one. */
int price_parse_wire(const char *text, int64_t *price, bool *exact);
const char *price_wire(int64_t price, char room[MONEY_TEXT]); /* "14.940000" per node-hour */

/*
 * Dollars per GPU-hour (gpus > 0) or per node-hour (gpus 0) as a person types it, to the nearest
 * step, so that an offer and a limit in the same words have the same price. 0 or -EINVAL / -ERANGE.
 */
int price_parse(const char *text, unsigned gpus, int64_t *price, struct fail *f);

/* "2.10" per GPU-hour (gpus 0: node-hour): the shortest text that price_parse reads back as this price. */
const char *price_text(int64_t price, unsigned gpus, char room[MONEY_TEXT]);

/* The same to within a step, for means, which fall between steps. */
const char *price_about(int64_t price, unsigned gpus, char room[MONEY_TEXT]);

#endif

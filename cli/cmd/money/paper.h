/* SPDX-License-Identifier: Apache-2.0 */
/* What statements and invoices have in common: whose they are, of which month, their number and their first lines. */
#ifndef CLI_CMD_MONEY_PAPER_H
#define CLI_CMD_MONEY_PAPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/frame/json.h"
#include "cli/trade/account_report.h"

struct paper {
	struct nanopod *np;
	struct market_link *m;
	struct period month;
	char *account, *account_id, number[STATEMENT_NUMBER];
};

/* Whose it is; with --explain of nobody. 0 or a negative code. */
int paper_whose(struct paper *p);
void paper_release(struct paper *p);

char *paper_copy(const char *text); /* NULL: NULL */
bool paper_same(const char *a, const char *b);

/* What a line of either is for. */
struct paper_line {
	char *type, *thing, *reason; /* thing: the reservation, host or volume; NULL: none */
};
void paper_line_init(struct paper_line *l, const struct model_report_row *row, const char *reason);
bool paper_line_is(const struct paper_line *l, const struct model_report_row *row); /* the same type and thing */
void paper_line_release(struct paper_line *l);

const char *paper_market(const struct paper *p);
void paper_month(const struct paper *p, char *room, size_t size); /* "October 2026, 2026-10-01 to 2026-10-31 (UTC)" */
/* what: "Invoice". columns: where the texts begin. */
void paper_head(const struct paper *p, const char *what, unsigned columns);

void paper_json_head(const struct paper *p, struct json *j);
/* "amount" in dollars and "amount_micros". */
void paper_json_money(struct json *j, const char *name, int64_t micros);

#endif

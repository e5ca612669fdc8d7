/* SPDX-License-Identifier: Apache-2.0 */
/* Every page of the market's report of money and node time, row by row. */
#ifndef CLI_TRADE_ACCOUNT_REPORT_H
#define CLI_TRADE_ACCOUNT_REPORT_H

#include "cli/trade/market_link.h"
#include "cli/trade/period.h"

/* A row; it lives for the call. Rows of several pages may be for the same: their numbers are added up. */
typedef int (*account_report_fn)(void *arg, const struct model_report_row *row, struct fail *f);

/* books NULL: not wanted. 0 or a negative code in m->fail. */
int account_report_read(struct market_link *m, const struct period *p, struct model_report_books *books,
	account_report_fn fn, void *arg);

/* Of one account and month, and never of another: "2026-10-3WW656SZHFXDS". */
enum { STATEMENT_NUMBER = 80 };
const char *statement_number(const char *account_id, int64_t at, char room[STATEMENT_NUMBER]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of 'nanopod report' share. */
#ifndef CLI_CMD_REPORT_H
#define CLI_CMD_REPORT_H

#include "cli/frame/rows.h"
#include "cli/trade/account_report.h"

/* The period of --from and --to. 0 or an exit status. */
int report_period(struct nanopod *np, const struct options *o, int64_t now, struct period *out);

/* Prints what was spent with the columns of FOCUS. An exit status. */
int report_focus(struct market_link *m, const struct options *o, const struct period *p);

#endif

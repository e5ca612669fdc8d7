/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as rows, for their customers and for the operator. */
#ifndef CLI_CMD_MONEY_SUBSCRIBE_H
#define CLI_CMD_MONEY_SUBSCRIBE_H

#include "cli/trade/rows_list.h"

extern const struct column subscribe_columns[];
int subscribe_row(void *arg, struct doc *d, long at, struct fail *f); /* arg: struct listing */

#endif

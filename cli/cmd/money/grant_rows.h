/* SPDX-License-Identifier: Apache-2.0 */
/* Grants as rows, for their account and for the operator. */
#ifndef CLI_CMD_MONEY_GRANT_ROWS_H
#define CLI_CMD_MONEY_GRANT_ROWS_H

#include "cli/trade/rows_list.h"

extern const struct column grant_columns[];
int grant_row(void *arg, struct doc *d, long at, struct fail *f); /* arg: struct listing */

#endif

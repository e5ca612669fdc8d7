/* SPDX-License-Identifier: Apache-2.0 */
/* `extend --auto-extend`: one reservation again and again, shortly before each end, until a budget is used up. */
#ifndef CLI_CMD_EXTEND_EXTEND_AUTO_H
#define CLI_CMD_EXTEND_EXTEND_AUTO_H

#include "cli/frame/rows.h"
#include "cli/trade/deal.h"

/* What can be refused without the network. 0, or an exit status after saying why. */
int extend_auto_check(struct deal *d);

/* columns: those of `extend`; one row an extension. An exit status. */
int extend_auto(struct deal *d, const struct column *columns);

#endif

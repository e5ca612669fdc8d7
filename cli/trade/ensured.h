/* SPDX-License-Identifier: Apache-2.0 */
/* `buy --ensure`: is there a reservation of this name already, and is it what would be bought? */
#ifndef CLI_TRADE_ENSURED_H
#define CLI_TRADE_ENSURED_H

#include "cli/trade/deal.h"

enum { ENSURED_BUY = -2 };

/*
 * Where it is pending or running with the type and number of nodes of `want`: 0, says so, *out. ENSURED_BUY: there is
 * none. Else an exit status after saying what differs. A reservation is empty while another command buys it: waits.
 */
int ensured_find(struct deal *d, const struct deal_order *want, const char *name, struct reservation *out);

#endif
